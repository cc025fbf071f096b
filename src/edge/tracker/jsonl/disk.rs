//! The file on disk: read as one piece, replaced as one piece, by one writer at a time.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::edge::git_place::GitPlace;
use crate::edge::replacing::{keep_owner, sync_folder};
use crate::edge::tracker::error::Error;
use crate::edge::tracker::{Token, Workspace};

/// Half a gigabyte is a million long tasks; beyond it something else is meant.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// How often a file is read again because somebody wrote into it meanwhile.
const READS_MAX: u32 = 10;

/// A writer's file starts with this until it takes the real one's place.
const TEMPORARY_PREFIX: &str = ".issues.jsonl.beadlock-";

/// Beadlock's folder where it cannot use git's.
pub const OWN_FOLDER: &str = ".beadlock";

/// What in it is Beadlock's own: the lock, the store with its journals and damaged predecessors,
/// the marks, and what it takes to undo `init`. A star stands for any ending. The rest, such as
/// templates, is the project's.
pub const OWN_FILES: [&str; 4] = [LOCK_NAME, "state.db*", "sessions/", "init/"];

const LOCK_NAME: &str = "tracker.lock";

pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// A file's text, and the token it had then.
#[derive(Debug)]
pub struct Copy {
    pub text: String,
    pub token: Token,
}

/// The whole file as it was at one moment, or nothing if there is none.
pub fn read(path: &Path, deadline: Duration) -> Result<Option<Copy>, Error> {
    let unreadable = |what: &str| Error::Unreadable {
        path: path.to_path_buf(),
        line: None,
        what: what.to_owned(),
    };
    let began = Instant::now();
    for attempt in 1..=READS_MAX {
        match fs::metadata(path) {
            // Opening a pipe would wait for somebody to write into it.
            Ok(metadata) if !metadata.is_file() => return Err(unreadable("not a regular file")),
            Ok(metadata) if metadata.len() > FILE_BYTES_MAX => {
                return Err(unreadable(&format!("more than {FILE_BYTES_MAX} bytes")));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(_) => Err(unreadable("a symbolic link that leads nowhere")),
                    Err(_) => Ok(None),
                };
            }
            Err(error) => return Err(unreadable(&error.to_string())),
        }
        match read_once(path) {
            Ok(Some((bytes, token))) => return decoded(bytes, token, path).map(Some),
            // Replaced or removed between the two looks at it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&error.to_string())),
            Ok(None) => {}
        }
        if began.elapsed() > deadline {
            break;
        }
        thread::sleep(Duration::from_millis(2) * attempt);
    }
    Err(unreadable("kept changing while it was read"))
}

/// The open file's content, or nothing if somebody wrote into it meanwhile. (Somebody who puts
/// another file in its place does no harm: the one that is open stays as it was.)
fn read_once(path: &Path) -> io::Result<Option<(Vec<u8>, Token)>> {
    let mut file = File::open(path)?;
    let before = file.metadata()?;
    let size = usize::try_from(before.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size + 1);
    (&mut file)
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    let token = token_of(&before);
    let is_whole = bytes.len() == size && token_of(&file.metadata()?) == token;
    Ok(is_whole.then_some((bytes, token)))
}

fn decoded(bytes: Vec<u8>, token: Token, path: &Path) -> Result<Copy, Error> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Copy { text, token }),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            Err(Error::Unreadable {
                path: path.to_path_buf(),
                line: Some(1 + memchr::memchr_iter(b'\n', valid).count()),
                what: "not UTF-8".to_owned(),
            })
        }
    }
}

/// The token of the file as it is now; nothing if there is no file.
pub fn token(path: &Path) -> Option<Token> {
    fs::metadata(path).ok().map(|metadata| token_of(&metadata))
}

fn token_of(metadata: &Metadata) -> Token {
    // Nanoseconds before 1970 are as good a stamp as any; only a change matters.
    let modified =
        metadata
            .modified()
            .map_or(0, |time| match time.duration_since(std::time::UNIX_EPOCH) {
                Ok(after) => after.as_nanos(),
                Err(before) => before.duration().as_nanos(),
            });
    Token::new(format!("{}-{modified}-{}", metadata.len(), inode(metadata)))
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// The right to write, until dropped. It is kept out of the sight of git.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn take(workspace: &Workspace, wait: Duration) -> Result<Lock, Error> {
        let (file, path) = lock_file(&workspace.root)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) if began.elapsed() < wait => {
                    thread::sleep(Duration::from_millis(3));
                }
                Err(TryLockError::WouldBlock) => {
                    let seconds = wait.as_secs();
                    return Err(Error::Busy { path, seconds });
                }
                Err(TryLockError::Error(source)) => return Err(io_error("lock", &path, source)),
            }
        }
    }
}

/// In the repository's own folder, shared by all work trees; or beside the tracker where there is
/// no repository, or where a sandbox forbids to write into it.
fn lock_file(root: &Path) -> Result<(File, PathBuf), Error> {
    if let Some(place) = GitPlace::of(root) {
        let path = place.common.join("beadlock").join(LOCK_NAME);
        if let Ok(file) = open_lock(&path) {
            return Ok((file, path));
        }
    }
    let folder = root.join(OWN_FOLDER);
    let path = folder.join(LOCK_NAME);
    let file = open_lock(&path).map_err(|source| io_error("open", &path, source))?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        // Only spares people a line of `git status`.
        let names = OWN_FILES.iter().chain(&[".gitignore"]);
        let lines: Vec<String> = names.map(|name| format!("/{name}\n")).collect();
        let _ = fs::write(ignore, lines.concat());
    }
    Ok((file, path))
}

fn open_lock(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let created = fs::create_dir_all(folder).and_then(|()| {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).open(path)
    });
    // A lock needs no right to write, only a file.
    created.or_else(|error| File::open(path).map_err(|_| error))
}

/// What became of an attempt to put a new text in the file's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    Done,
    /// The file is no longer the one that the new text was made from.
    Changed,
}

/// Puts `text` in the place of the file that had `token`, or of no file. To be called under the
/// lock. Readers see the old file or the new one, and a failure leaves the old one.
pub fn replace(path: &Path, text: &str, expected: Option<&Token>) -> Result<Replaced, Error> {
    let target = match expected {
        // The link stays, and what it leads to is replaced.
        Some(_) => fs::canonicalize(path).map_err(|source| io_error("find", path, source))?,
        None => path.to_path_buf(),
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    if expected.is_none() {
        fs::create_dir_all(folder).map_err(|source| io_error("create", folder, source))?;
    }
    sweep(folder);
    let temporary = folder.join(format!("{TEMPORARY_PREFIX}{}", std::process::id()));
    let result = write_aside(&temporary, &target, text).and_then(|()| {
        if token(&target).as_ref() != expected {
            return Ok(Replaced::Changed);
        }
        match fs::rename(&temporary, &target) {
            Ok(()) => Ok(Replaced::Done),
            // A writer that had to use another lock file has swept ours away.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Replaced::Changed),
            Err(error) => Err(error),
        }
    });
    match result {
        Ok(Replaced::Done) => {
            sync_folder(folder);
            Ok(Replaced::Done)
        }
        Ok(Replaced::Changed) => {
            let _ = fs::remove_file(&temporary);
            Ok(Replaced::Changed)
        }
        Err(source) => {
            let _ = fs::remove_file(&temporary);
            Err(io_error("write", &target, source))
        }
    }
}

/// What the paths of temporary files begin with. They are beside the file itself, wherever a link
/// in its place leads.
pub fn temporary(path: &Path) -> PathBuf {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    target.with_file_name(TEMPORARY_PREFIX)
}

/// Removes what killed writers have left; under the lock there is no living one.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name
            .as_encoded_bytes()
            .starts_with(TEMPORARY_PREFIX.as_bytes())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn write_aside(temporary: &Path, target: &Path, text: &str) -> io::Result<()> {
    let old = match fs::metadata(target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // Taking the place of a file needs no right to write it, but whoever took that right away
    // meant it.
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(temporary)?;
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        keep_owner(&file, &old);
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io {
        doing,
        path: path.to_path_buf(),
        source,
    }
}
