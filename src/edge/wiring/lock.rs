//! One writer at a time. The lock's file goes when its holder does, so that nothing is left behind.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Error;

const NAME: &str = "lock";
const WAIT_MAX: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(3);

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    folder: PathBuf,
    _file: File,
}

impl Lock {
    pub fn take(folder: &Path) -> Result<Lock, Error> {
        let path = folder.join(NAME);
        let began = Instant::now();
        while began.elapsed() < WAIT_MAX {
            match attempt(folder, &path) {
                Ok(Some(file)) => {
                    return Ok(Lock {
                        folder: folder.to_owned(),
                        _file: file,
                    });
                }
                Ok(None) => {}
                // Its last holder has just removed the folder.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::Io {
                        doing: "take the lock",
                        path,
                        source,
                    });
                }
            }
            thread::sleep(PAUSE);
        }
        Err(Error::Busy {
            path,
            seconds: WAIT_MAX.as_secs(),
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(NAME));
        // The folder, and the store's, if nothing else is in them.
        for folder in self.folder.ancestors().take(2) {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The locked file, if it is still the one of that name.
fn attempt(folder: &Path, path: &Path) -> io::Result<Option<File>> {
    fs::create_dir_all(folder)?;
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(is_at(&file, path).then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let own = file.metadata().map(inode).ok();
    own.is_some() && own == fs::metadata(path).map(inode).ok()
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn of_many_one_holds_it_and_nothing_is_left() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("store/init");
        let is_held = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let lock = Lock::take(&folder).unwrap();
                        assert!(!is_held.swap(true, Ordering::SeqCst));
                        thread::yield_now();
                        is_held.store(false, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}
