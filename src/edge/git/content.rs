//! What is at the paths that git names: the content by which two versions are told apart.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use git2::Repository;

use super::status::{Entry, Status};
use super::{Clock, Error, Git, is_absent, path_of};
use crate::kernel::snapshot::Change;

/// One forgotten disk image must not use up the time of a stop; hashing it would take seconds.
const HASHED_BYTES_MAX: u64 = 64 << 20;

/// Hexadecimal digits of a content hash: 128 bits are plenty to tell two versions apart.
const HASH_DIGITS: usize = 32;

/// Contents.
impl Git {
    pub(super) fn changes(
        &self,
        root: &Path,
        status: &Status,
        clock: &Clock,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::with_capacity(status.entries.len());
        for (name, entry) in &status.entries {
            if clock.left().is_zero() {
                return Err(clock.late("the content of all changes"));
            }
            let path = root.join(path_of(name));
            let content = match entry {
                Entry::Deleted => None,
                Entry::Tracked | Entry::Untracked => content(&path),
                Entry::Submodule(flags) => self.submodule_content(&path, flags, clock),
            };
            let content = match (content, entry) {
                (Some(content), _) => content,
                // Somebody's scratch file, gone since git named it.
                (None, Entry::Untracked) => continue,
                (None, _) => "deleted".to_owned(),
            };
            changes.push(Change {
                path: String::from_utf8_lossy(name).into_owned(),
                is_untracked: *entry == Entry::Untracked,
                content,
            });
        }
        Ok(changes)
    }

    fn submodule_content(&self, path: &Path, flags: &str, clock: &Clock) -> Option<String> {
        path.symlink_metadata().ok()?;
        let by_library = || {
            Some(
                Repository::open(path)
                    .ok()?
                    .head()
                    .ok()?
                    .target()?
                    .to_string(),
            )
        };
        let by_program = || {
            // Without one of its own, git would answer for the repository around it.
            path.join(".git").exists().then_some(())?;
            let output = self.ask(path, &["rev-parse", "HEAD"], clock).ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let head = by_library().or_else(by_program);
        Some(format!(
            "{} {flags}",
            head.as_deref().unwrap_or("no commit")
        ))
    }
}

/// A hash of what is at a path, or a word for what has none; nothing if nothing is there.
fn content(path: &Path) -> Option<String> {
    let unreadable = || "unreadable".to_owned();
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return None,
        Err(_) => return Some(unreadable()),
    };
    let kind = metadata.file_type();
    let content = if kind.is_symlink() {
        fs::read_link(path).map(|target| {
            let target = target.into_os_string();
            format!("link:{}", digits(&blake3::hash(target.as_encoded_bytes())))
        })
    } else if kind.is_dir() {
        Ok("directory".to_owned())
    } else if !kind.is_file() {
        // Opening a pipe waits for whoever writes to it, and opening a device may do anything.
        Ok("special".to_owned())
    } else if metadata.len() > HASHED_BYTES_MAX {
        Ok(size_and_time(&metadata))
    } else {
        hash(path)
    };
    Some(content.unwrap_or_else(|_| unreadable()))
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    // It may be growing while we read.
    hasher.update_reader(File::open(path)?.take(HASHED_BYTES_MAX))?;
    Ok(digits(&hasher.finalize()))
}

fn digits(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(HASH_DIGITS).collect()
}

fn size_and_time(metadata: &Metadata) -> String {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{}:{}",
        metadata.len(),
        since.unwrap_or_default().as_nanos()
    )
}
