//! What can be wrong with a store.

use std::path::PathBuf;

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no store at `{}`", path.display())]
    Missing { path: PathBuf },
    #[error("the store was damaged and is kept as `{}`", kept.display())]
    Corrupt { kept: PathBuf },
    #[error(
        "the store `{}` was written by a newer beadlock (format {found}, this one knows {known})",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("the store `{}` stayed busy for {seconds} s", path.display())]
    Busy { path: PathBuf, seconds: u64 },
    #[error("the disk is full at `{}`", path.display())]
    Full { path: PathBuf },
    #[error("could not use the store `{}`: {what}", path.display())]
    Unreadable { path: PathBuf, what: String },
    #[error("the store `{}` holds no run {what}", path.display())]
    NoRun { path: PathBuf, what: String },
    #[error("run `{run}` cannot be read: {what}")]
    BadRun { run: String, what: String },
    /// Another process was faster: an epic or session has a run by now.
    #[error("another run is in the way")]
    Taken,
}

/// The damage that calls for putting the file aside.
pub fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// `SQLite`'s error as ours. Damage is seen to by the store, which puts the file aside.
pub fn from_sqlite(error: &rusqlite::Error, path: &std::path::Path, seconds: u64) -> Error {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        _ if is_corrupt(error) => Error::Corrupt { kept: path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path, seconds },
        Some(ErrorCode::DiskFull) => Error::Full { path },
        Some(ErrorCode::ConstraintViolation) => Error::Taken,
        _ => Error::Unreadable {
            path,
            what: error.to_string(),
        },
    }
}
