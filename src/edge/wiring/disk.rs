//! A small text file: read as a whole, and replaced as a whole by a rename, wherever a link in its
//! place leads.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::Error;
use crate::edge::replacing::{keep_owner, sync_folder};

/// Settings are a page or two; anything of this size is something else.
const FILE_BYTES_MAX: u64 = 16 << 20;
const TEMPORARY_PREFIX: &str = ".beadlock-";

/// The file's text, or nothing where there is no such file.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    let unreadable = |what: String| Error::Unreadable {
        path: path.to_owned(),
        what,
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(unreadable("a symbolic link that leads nowhere".to_owned())),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(unreadable(error.to_string())),
    };
    // Opening a pipe would wait for somebody to write into it.
    if !metadata.is_file() {
        return Err(unreadable("not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(format!("more than {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        Error::NotText {
            path: path.to_owned(),
            line: 1 + memchr::memchr_iter(b'\n', valid).count(),
        }
    })
}

/// Puts `text` where `expected` is now, or where nothing is.
pub fn replace(path: &Path, expected: Option<&str>, text: &str) -> Result<(), Error> {
    let target = match expected {
        // The link stays, and what it leads to is replaced.
        Some(_) => fs::canonicalize(path).map_err(|source| failed("find", path, source))?,
        None => path.to_path_buf(),
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|source| failed("create", folder, source))?;
    let old = match expected {
        Some(_) => Some(writable(&target)?),
        None => None,
    };
    let written = aside(folder, text, old.as_ref());
    let temporary = written.map_err(|source| failed("write", &target, source))?;
    if read(path)?.as_deref() != expected {
        return Err(Error::Changed {
            path: path.to_owned(),
        });
    }
    let placed = match expected {
        Some(_) => temporary.persist(&target),
        // Somebody may have made one meanwhile.
        None => temporary.persist_noclobber(&target),
    };
    placed.map_err(|error| failed("write", &target, error.error))?;
    sync_folder(folder);
    Ok(())
}

/// Removes the file that says `expected`.
pub fn remove(path: &Path, expected: Option<&str>) -> Result<(), Error> {
    let Some(expected) = expected else {
        return Ok(());
    };
    if read(path)?.as_deref() != Some(expected) {
        return Err(Error::Changed {
            path: path.to_owned(),
        });
    }
    fs::remove_file(path).map_err(|source| failed("remove", path, source))
}

/// What is known of a file that may be written. Taking its place needs no right to write it, but
/// whoever took that right away meant it.
fn writable(target: &Path) -> Result<Metadata, Error> {
    let metadata = fs::metadata(target).map_err(|source| failed("find", target, source))?;
    if metadata.permissions().readonly() {
        let source = io::Error::new(ErrorKind::PermissionDenied, "it is read-only");
        return Err(failed("write", target, source));
    }
    Ok(metadata)
}

fn aside(folder: &Path, text: &str, old: Option<&Metadata>) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    open_to_others(&mut builder);
    let mut temporary = builder.tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    if let Some(old) = old {
        keep_owner(temporary.as_file(), old);
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// A new file is to be what any other is, less what the person's mask takes away.
#[cfg(unix)]
fn open_to_others(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn open_to_others(_: &mut tempfile::Builder<'_, '_>) {}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io {
        doing,
        path: PathBuf::from(path),
        source,
    }
}
