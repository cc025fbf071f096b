//! A run's site as it is kept. Paths are text, or the bytes of one that is none.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::edge::store::Site;

#[derive(Serialize, Deserialize)]
pub struct StoredSite {
    workspace: StoredPath,
    beads: Option<StoredPath>,
    tree: StoredPath,
    project_file: StoredPath,
    tracker: String,
    prompts: StoredPath,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl TryFrom<&Site> for StoredSite {
    type Error = String;

    fn try_from(site: &Site) -> Result<StoredSite, String> {
        let path = |path: &PathBuf| StoredPath::try_from(path.as_path());
        Ok(StoredSite {
            workspace: path(&site.workspace)?,
            beads: site.beads.as_ref().map(path).transpose()?,
            tree: path(&site.tree)?,
            project_file: path(&site.project_file)?,
            tracker: site.tracker.clone(),
            prompts: path(&site.prompts)?,
        })
    }
}

impl TryFrom<StoredSite> for Site {
    type Error = String;

    fn try_from(stored: StoredSite) -> Result<Site, String> {
        Ok(Site {
            workspace: stored.workspace.path()?,
            beads: stored.beads.map(StoredPath::path).transpose()?,
            tree: stored.tree.path()?,
            project_file: stored.project_file.path()?,
            tracker: stored.tracker,
            prompts: stored.prompts.path()?,
        })
    }
}

impl TryFrom<&Path> for StoredPath {
    type Error = String;

    fn try_from(path: &Path) -> Result<StoredPath, String> {
        match path.to_str() {
            Some(text) => Ok(StoredPath::Text(text.to_owned())),
            None => bytes_of(path).map(StoredPath::Bytes),
        }
    }
}

impl StoredPath {
    fn path(self) -> Result<PathBuf, String> {
        match self {
            StoredPath::Text(text) => Ok(text.into()),
            StoredPath::Bytes(bytes) => path_of(bytes),
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every system can")]
fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    use std::os::unix::ffi::OsStrExt;
    Ok(path.as_os_str().as_bytes().to_vec())
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every system can")]
fn path_of(bytes: Vec<u8>) -> Result<PathBuf, String> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    Err(format!("the path `{}` is no text", path.display()))
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Result<PathBuf, String> {
    let text = String::from_utf8_lossy(&bytes);
    Err(format!("the path `{text}` is no text"))
}
