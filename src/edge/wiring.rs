//! Files that are written for other programs to read: several put in their places together or not
//! at all, with a note of what it takes to have the old ones back.

mod disk;
mod lock;
mod note;

use std::io;
use std::path::{Path, PathBuf};

pub use disk::read;
pub use lock::Lock;
pub use note::{Hash, Note, Noted};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not read `{}`: {what}", path.display())]
    Unreadable { path: PathBuf, what: String },
    #[error("`{}` line {line}: not UTF-8", path.display())]
    NotText { path: PathBuf, line: usize },
    #[error("`{}` was changed by somebody else just now", path.display())]
    Changed { path: PathBuf },
    #[error("another `beadlock init` has held `{}` for {seconds} s", path.display())]
    Busy { path: PathBuf, seconds: u64 },
    #[error("could not {doing} `{}`: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// A folder below which files are written, and where it is noted what they were before.
#[derive(Clone, Debug)]
pub struct Base {
    pub folder: PathBuf,
    notes: PathBuf,
    name: String,
}

/// A file as it is to be. Paths are relative to the base's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub path: &'static str,
    pub before: Option<String>,
    /// Nothing to remove it.
    pub after: Option<String>,
    /// What is kept to undo this, where it is something that shall be undone.
    pub noted: Option<Noted>,
}

impl Base {
    pub fn new(folder: PathBuf, notes: PathBuf, name: String) -> Base {
        Base {
            folder,
            notes,
            name,
        }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            self.folder.clone()
        } else {
            self.folder.join(path)
        }
    }

    fn note_path(&self) -> PathBuf {
        self.notes.join(format!("{}.json", self.name))
    }

    /// The right to change the files and the note.
    pub fn lock(&self) -> Result<Lock, Error> {
        Lock::take(&self.notes)
    }

    /// What was noted here. One that cannot be understood is none: hooks are found without it too.
    pub fn note(&self) -> Result<Note, Error> {
        let text = read(&self.note_path())?;
        Ok(text.map_or_else(Note::default, |text| Note::from_text(&text)))
    }

    /// Puts all of it in place, to be called under the lock; after a failure all is as it was.
    pub fn carry_out(&self, plan: &[Planned], _lock: &Lock) -> Result<(), Error> {
        let old = self.note()?;
        let mut note = old.clone();
        let folders = self.missing_folders(plan);
        note.add_folders(&folders);
        for planned in plan {
            note.set(planned.path, planned.noted.clone());
        }
        // The note is there for as long as any file is: whoever is killed leaves a way back.
        let is_removal = !note.has_files();
        if !is_removal {
            self.keep(&note)?;
        }
        for (index, planned) in plan.iter().enumerate() {
            let Err(error) = self.put(planned, planned.before.as_deref(), planned.after.as_deref())
            else {
                continue;
            };
            for done in plan[..index].iter().rev() {
                // What cannot be put back is still noted.
                if self
                    .put(done, done.after.as_deref(), done.before.as_deref())
                    .is_err()
                {
                    return Err(error);
                }
            }
            if !is_removal {
                self.remove_empty(&folders);
                let _ = self.keep(&old);
            }
            return Err(error);
        }
        if is_removal {
            self.remove_empty(note.folders());
            self.keep(&note)?;
        }
        Ok(())
    }

    fn put(&self, planned: &Planned, from: Option<&str>, to: Option<&str>) -> Result<(), Error> {
        if from == to {
            return Ok(());
        }
        let path = self.at(planned.path);
        match to {
            Some(text) => disk::replace(&path, from, text),
            None => disk::remove(&path, from),
        }
    }

    /// The folders that writing would create, the outer ones first.
    fn missing_folders(&self, plan: &[Planned]) -> Vec<String> {
        let mut folders: Vec<String> = Vec::new();
        for planned in plan.iter().filter(|it| it.after.is_some()) {
            let mut inner = Vec::new();
            for folder in Path::new(planned.path).ancestors().skip(1) {
                let name = folder.to_string_lossy().into_owned();
                if !self.at(&name).exists() && !folders.contains(&name) {
                    inner.push(name);
                }
            }
            folders.extend(inner.into_iter().rev());
        }
        folders
    }

    /// Removes folders, the inner ones first, as far as nobody has put anything into them.
    fn remove_empty(&self, folders: &[String]) {
        for folder in folders.iter().rev() {
            let _ = std::fs::remove_dir(self.at(folder));
        }
    }

    fn keep(&self, note: &Note) -> Result<(), Error> {
        let path = self.note_path();
        let old = read(&path)?;
        if note.has_files() {
            disk::replace(&path, old.as_deref(), &note.to_text())
        } else {
            disk::remove(&path, old.as_deref())
        }
    }
}
