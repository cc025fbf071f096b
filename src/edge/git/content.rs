//! What is at the paths that git names: the content by which two versions are told apart.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use git2::Repository;

use super::status::{EntryKind, Mode, Status};
use super::{Clock, Error, Git, is_absent, library, path_of};
use crate::kernel::snapshot::Change;

/// One forgotten disk image must not use up the time of a stop; hashing it would take seconds.
const HASHED_BYTES_MAX: u64 = 64 << 20;

/// The content of what git names without its files.
const DIRECTORY: &str = "directory";

/// Hexadecimal digits of a content hash: 128 bits are plenty to tell two versions apart.
const HASH_DIGITS: usize = 32;

/// How many repositories within the work tree one reading looks into.
const WITHIN_MAX: u32 = 32;
/// Some forty thousand files, which take libgit2 the better part of a second.
const WITHIN_INDEX_BYTES_MAX: u64 = 4 << 20;

/// Contents.
impl Git {
    pub(super) fn changes(
        &self,
        root: &Path,
        status: &Status,
        clock: &Clock,
    ) -> Result<Vec<Change>, Error> {
        let mut within_left = WITHIN_MAX;
        self.changes_of(root, status, &mut within_left, clock)
    }

    fn changes_of(
        &self,
        root: &Path,
        status: &Status,
        within_left: &mut u32,
        clock: &Clock,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::with_capacity(status.entries.len());
        for (name, entry) in &status.entries {
            if clock.left().is_zero() {
                return Err(clock.late("the content of all changes"));
            }
            let path = root.join(path_of(name));
            let content = match &entry.kind {
                EntryKind::Deleted => None,
                EntryKind::Tracked(mode) => content(&path, *mode),
                EntryKind::Untracked => content(&path, Mode::AsOnDisk),
                EntryKind::Submodule(flags) => self.submodule_content(&path, flags, clock),
            };
            let content = match (content, &entry.kind) {
                (Some(content), _) => content,
                // Somebody's scratch file, gone since git named it.
                (None, EntryKind::Untracked) => continue,
                (None, _) => "deleted".to_owned(),
            };
            let within = match &entry.kind {
                EntryKind::Submodule(flags) if flags.contains('M') => {
                    self.uncommitted(&path, library::tracked_status, within_left, clock)?
                }
                EntryKind::Untracked if content == DIRECTORY && path.join(".git").exists() => {
                    self.uncommitted(&path, library::folded_status, within_left, clock)?
                }
                _ => None,
            };
            changes.push(Change {
                path: text_of(name),
                is_untracked: entry.kind == EntryKind::Untracked,
                content: match within {
                    Some(hash) => format!("{content} {hash}"),
                    None => content,
                },
                staged: entry.staged.clone(),
            });
        }
        Ok(changes)
    }

    /// A hash of what a repository within the work tree has not committed; nothing if it has
    /// nothing of the kind, or if that cannot be told. By libgit2, since the program would run the
    /// filters that a strange repository names, and a glance starts none.
    fn uncommitted(
        &self,
        path: &Path,
        read: fn(&Repository) -> Result<Status, git2::Error>,
        left: &mut u32,
        clock: &Clock,
    ) -> Result<Option<String>, Error> {
        *left = match left.checked_sub(1) {
            Some(left) => left,
            None => return Ok(None),
        };
        let repository = Repository::open(path).ok();
        let small = repository.filter(|it| library::index_bytes(it) <= WITHIN_INDEX_BYTES_MAX);
        let Some(Ok(status)) = small.as_ref().map(read) else {
            return Ok(None);
        };
        let changes = self.changes_of(path, &status, left, clock)?;
        let mut hasher = blake3::Hasher::new();
        for change in &changes {
            let staged = change.staged.as_deref().unwrap_or_default();
            for part in [&change.path, &change.content, staged] {
                hasher.update(part.as_bytes()).update(b"\0");
            }
        }
        Ok((!changes.is_empty()).then(|| digits(&hasher.finalize())))
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
fn content(path: &Path, mode: Mode) -> Option<String> {
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
        Ok(DIRECTORY.to_owned())
    } else if !kind.is_file() {
        // Opening a pipe waits for whoever writes to it, and opening a device may do anything.
        Ok("special".to_owned())
    } else if metadata.len() > HASHED_BYTES_MAX {
        Ok(size_and_time(&metadata) + run_mark(&metadata, mode))
    } else {
        hash(path).map(|hash| hash + run_mark(&metadata, mode))
    };
    Some(content.unwrap_or_else(|_| unreadable()))
}

/// A path as text. What is no text in it is escaped, so that no two names become one.
fn text_of(name: &[u8]) -> String {
    let escaped = |bytes: &[u8]| -> String {
        let escapes = bytes.iter().map(|byte| format!("\\x{byte:02x}"));
        escapes.collect()
    };
    let chunks = name.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().to_owned() + &escaped(chunk.invalid()))
        .collect()
}

fn run_mark(metadata: &Metadata, mode: Mode) -> &'static str {
    let is_executable = match mode {
        Mode::Plain => false,
        Mode::Executable => true,
        Mode::AsOnDisk => may_be_run(metadata),
    };
    if is_executable { " executable" } else { "" }
}

/// As git takes it: by the owner's bit.
#[cfg(unix)]
fn may_be_run(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn may_be_run(_metadata: &Metadata) -> bool {
    false
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
