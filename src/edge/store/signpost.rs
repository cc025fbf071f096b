//! Signposts: in a folder of the user's own, a small file for each session that owns a run, named
//! like its mark, which says where the store is. A session that works beside or above the
//! repository with its run is known by it.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::error::Error;
use crate::edge::git_place::read_small;

/// The folder of signposts, whether or not it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signposts(PathBuf);

const UNFINISHED: &str = ".new-";

impl Signposts {
    /// Within the folder where the user's programs keep their state.
    pub fn within(state: &Path) -> Signposts {
        Signposts(state.join("beadlock").join("sessions"))
    }

    /// The store that the signpost of this name leads to, which may be gone.
    pub fn read(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let path = self.0.join(name);
        match fs::symlink_metadata(&path) {
            Ok(_) => {}
            Err(error) if is_absence(&error) => return Ok(None),
            // Another user's home is none of our business.
            Err(_) if fs::symlink_metadata(&self.0).is_err() => return Ok(None),
            Err(error) => return Err(unreadable(&path, error.to_string())),
        }
        match read_small(&path) {
            Ok(text) if Path::new(&text).is_absolute() => Ok(Some(PathBuf::from(text))),
            Ok(_) => Err(unreadable(&path, "it leads nowhere".to_owned())),
            // Taken away a moment ago.
            Err(_) if !path.exists() => Ok(None),
            Err(what) => Err(unreadable(&path, what)),
        }
    }

    /// Leads everybody who looks for this name to `store`. Nobody ever reads half of it.
    pub fn set(&self, name: &str, store: &Path) -> io::Result<()> {
        if self.leads_to(name, store) {
            return Ok(());
        }
        let text = store.to_str().filter(|_| store.is_absolute());
        let text = text.ok_or(ErrorKind::InvalidData)?;
        fs::create_dir_all(&self.0)?;
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.0)?;
        file.write_all(text.as_bytes())?;
        file.persist(self.0.join(name))?;
        Ok(())
    }

    pub fn leads_to(&self, name: &str, store: &Path) -> bool {
        self.read(name)
            .is_ok_and(|found| found.as_deref() == Some(store))
    }

    /// Takes a signpost away, unless it leads elsewhere by now. One that stays costs a look at
    /// that store at each stop.
    pub fn remove(&self, name: &str, store: &Path) {
        if self.leads_to(name, store) {
            let _ = fs::remove_file(self.0.join(name));
        }
    }

    /// Takes away all that lead to `store`, but for those of the names in `kept`.
    pub fn keep_only(&self, kept: &[String], store: &Path) {
        for name in self.names() {
            if !kept.contains(&name) {
                self.remove(&name, store);
            }
        }
    }

    /// Every store that a signpost leads to.
    pub fn stores(&self) -> Vec<PathBuf> {
        let read = |name: &String| self.read(name).ok().flatten();
        let mut stores: Vec<PathBuf> = self.names().iter().filter_map(read).collect();
        stores.sort();
        stores.dedup();
        stores
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| !name.starts_with('.')).collect()
    }
}

pub fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unreadable(path: &Path, what: String) -> Error {
    Error::Unreadable {
        path: path.to_owned(),
        what,
    }
}
