//! Git's places, found by looking at files: a lock, a store and a workspace need no more of git
//! than this, and a stop that is nobody's must not cost more.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Where git keeps its things, seen from a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    pub work_tree: PathBuf,
    /// The folder that all work trees of the repository share.
    pub common: PathBuf,
    /// Only where `work_tree` is a linked one.
    pub main_work_tree: Option<PathBuf>,
}

impl GitPlace {
    pub fn of(dir: &Path) -> Option<GitPlace> {
        dir.ancestors().find_map(GitPlace::at)
    }

    /// The shared folder of the repository whose work tree this is, even if git itself would not
    /// take it for one.
    pub fn common_of(work_tree: &Path) -> Option<PathBuf> {
        own_of(work_tree).map(|own| shared_by(&own))
    }

    pub fn at(work_tree: &Path) -> Option<GitPlace> {
        let own = own_of(work_tree)?;
        if !own.join("HEAD").exists() {
            return None;
        }
        let common = shared_by(&own);
        let is_linked = common != own;
        let main = common
            .parent()
            .filter(|_| is_linked && common.ends_with(".git"));
        Some(GitPlace {
            work_tree: work_tree.to_path_buf(),
            main_work_tree: main.map(Path::to_path_buf),
            common,
        })
    }
}

/// A work tree's own git directory, whatever is in it.
fn own_of(work_tree: &Path) -> Option<PathBuf> {
    let dot_git = work_tree.join(".git");
    if fs::metadata(&dot_git).ok()?.is_dir() {
        return Some(dot_git);
    }
    let text = read_small(&dot_git).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    Some(normal(&work_tree.join(path)))
}

/// The directory that a git directory shares with those of other work trees.
fn shared_by(own: &Path) -> PathBuf {
    if let Ok(path) = read_small(&own.join("commondir")) {
        return normal(&own.join(path.trim()));
    }
    match own.parent().filter(|parent| parent.ends_with("worktrees")) {
        // A linked work tree that git has given up.
        Some(worktrees) => worktrees.parent().unwrap_or(own).to_owned(),
        None => own.to_owned(),
    }
}

/// Without `.` and `..`. Git's pointers lead through no links of their own, so names suffice;
/// asking the system instead would bring Windows' long form of paths into messages.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// bd's metadata and git's pointers are a few hundred bytes.
const SMALL_BYTES_MAX: u64 = 1 << 20;

/// A small regular file; a pipe of that name must not hold us up.
pub fn read_small(path: &Path) -> Result<String, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > SMALL_BYTES_MAX {
        return Err(format!("more than {SMALL_BYTES_MAX} bytes"));
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}
