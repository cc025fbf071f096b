//! The database's file: put in its place whole, and out of the way when it is damaged, by one
//! process at a time. Nobody ever finds half of it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};

use super::super::error::{Error, from_sqlite, is_corrupt};
use super::super::place::{ASIDE, StoreDir};
use super::{BUSY_SECONDS_MAX, busy_handler};

/// What the name of an unfinished database begins with.
const UNFINISHED: &str = "state.db.new-";
const LOCK: &str = "state.db.lock";
/// What belongs to a database and must not be taken for a part of the next one.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Puts a database that `build` has filled into its place, unless there is one.
pub fn make(
    dir: &StoreDir,
    build: impl FnOnce(&Path) -> rusqlite::Result<()>,
) -> Result<(), Error> {
    let path = dir.database();
    if !is_absent_or_empty(&path) {
        return Ok(());
    }
    let unreadable = |error: io::Error| unreadable(&path, &error);
    fs::create_dir_all(dir.path()).map_err(unreadable)?;
    let turn = Turn::take(dir)?;
    if !is_absent_or_empty(&path) {
        return Ok(());
    }
    // A journal whose database is gone would be played into the new one.
    put_aside(&path).map_err(unreadable)?;
    turn.sweep(dir);
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .make_in(dir.path(), |path| File::create_new(path))
        .map_err(unreadable)?
        .into_temp_path();
    build(&unfinished).map_err(|error| from_sqlite(&error, &path, BUSY_SECONDS_MAX))?;
    match unfinished.persist_noclobber(&path) {
        Ok(()) => Ok(()),
        Err(_) if path.exists() => Ok(()),
        // Some file systems rename only, and whatever is in the way is lost: there it is the lock
        // alone that keeps two apart.
        Err(refused) => fs::rename(&refused.path, &path).map_err(unreadable),
    }
}

/// Renames a damaged database and says where it is now. Nothing if it is sound: another process
/// has begun a new one meanwhile.
pub fn set_aside_if_damaged(dir: &StoreDir) -> Result<Option<PathBuf>, Error> {
    let path = dir.database();
    let _turn = Turn::take(dir)?;
    if is_sound(&path)? {
        return Ok(None);
    }
    put_aside(&path)
        .map(Some)
        .map_err(|error| Error::Unreadable {
            path,
            what: format!("it is damaged and could not be put aside: {error}"),
        })
}

/// Forgets every session, unless a database is there again.
pub fn unmark_all_if_missing(dir: &StoreDir) -> Result<(), Error> {
    let _turn = Turn::take(dir)?;
    if is_absent_or_empty(&dir.database()) {
        dir.unmark_all();
    }
    Ok(())
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

fn is_absent_or_empty(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(metadata) => metadata.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// The right to make a database or to put one aside, until dropped; the lock ends with its
/// process. Where files cannot be locked, `lock` is nothing.
struct Turn {
    lock: Option<File>,
}

impl Turn {
    fn take(dir: &StoreDir) -> Result<Turn, Error> {
        let path = dir.path().join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        // A lock needs no right to write, only a file.
        let Ok(file) = options.open(&path).or_else(|_| File::open(&path)) else {
            return Ok(Turn { lock: None });
        };
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn { lock: Some(file) }),
                Err(TryLockError::Error(_)) => return Ok(Turn { lock: None }),
                Err(TryLockError::WouldBlock)
                    if began.elapsed() < Duration::from_secs(BUSY_SECONDS_MAX) =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Busy {
                        path,
                        seconds: BUSY_SECONDS_MAX,
                    });
                }
            }
        }
    }

    /// Removes what killed processes have left unfinished; under the lock no living one has any.
    fn sweep(&self, dir: &StoreDir) {
        let entries = self
            .lock
            .as_ref()
            .and_then(|_| fs::read_dir(dir.path()).ok());
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// An error if that cannot be told: what is only busy must not be taken away.
fn is_sound(path: &Path) -> Result<bool, Error> {
    // SQLite would take an empty file for a new database and count from zero.
    if is_empty(path) {
        return Ok(false);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let answer = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        connection.busy_handler(Some(busy_handler()))?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    });
    match answer {
        Ok(answer) => Ok(answer == "ok"),
        Err(error) if is_corrupt(&error) => Ok(false),
        Err(_) if !path.exists() => Err(Error::Missing {
            path: path.to_owned(),
        }),
        Err(error) => Err(from_sqlite(&error, path, BUSY_SECONDS_MAX)),
    }
}

/// Renames what is there of a database and of what belongs to it; says what the database would
/// be called.
fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let stamp = fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |age| age.as_millis());
    let with = |path: &Path, suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(OsStr::new(suffix));
        PathBuf::from(name)
    };
    let suffixes = || [""].into_iter().chain(COMPANIONS);
    let free = |number: &u32| {
        let kept = path.with_file_name(format!("{ASIDE}-{stamp}-{number}"));
        let is_taken = suffixes().any(|suffix| with(&kept, suffix).exists());
        (!is_taken).then_some(kept)
    };
    let kept = (0..1000).find_map(|number| free(&number));
    let kept = kept.unwrap_or_else(|| path.with_file_name(ASIDE));
    for suffix in suffixes() {
        match fs::rename(with(path, suffix), with(&kept, suffix)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(kept)
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::Unreadable {
        path: path.to_owned(),
        what: error.to_string(),
    }
}
