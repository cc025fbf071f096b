//! Where stores are, found by looking at directories only: no repository is opened, no process
//! started. Inside the common git directory, so that all work trees share it and `git status`
//! never sees it; in `.beadlock/` where there is no git.

use std::fs;
use std::path::{Path, PathBuf};

use crate::edge::git_place::GitPlace;

/// A store's directory, whether or not it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreDir(PathBuf);

const INSIDE_GIT: &str = "beadlock";
const WITHOUT_GIT: &str = ".beadlock";
const MARKS: &str = "sessions";

impl StoreDir {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("state.db")
    }

    fn marks(&self) -> PathBuf {
        self.0.join(MARKS)
    }

    fn mark_path(&self, session: &str) -> PathBuf {
        self.marks().join(mark_name(session))
    }

    /// Makes the session's stops matter.
    pub fn mark(&self, session: &str) -> std::io::Result<()> {
        fs::create_dir_all(self.marks())?;
        fs::write(self.mark_path(session), [])
    }

    /// The session's stops no longer matter. A mark that cannot be removed costs a look at the
    /// store at each stop, nothing else.
    pub fn unmark(&self, session: &str) {
        let _ = fs::remove_file(self.mark_path(session));
    }

    /// Forgets every session, for a store that is gone.
    pub fn unmark_all(&self) {
        let _ = fs::remove_dir_all(self.marks());
    }

    pub fn has_marks(&self) -> bool {
        fs::read_dir(self.marks()).is_ok_and(|mut marks| marks.next().is_some())
    }

    /// The store that has the session's mark, looked for from each directory upwards.
    /// Enclosing repositories count: an agent that has wandered off is not free.
    pub fn of_session(session: &str, from: &[PathBuf]) -> Option<StoreDir> {
        let name = mark_name(session);
        candidates(from).find(|dir| dir.0.join(MARKS).join(&name).exists())
    }

    /// The nearest store that is there.
    pub fn nearest(from: &[PathBuf]) -> Option<StoreDir> {
        candidates(from).find(|dir| dir.database().exists() || dir.has_marks())
    }
}

/// Where the store of a workspace belongs: the first repository from `root` upwards, else `root`.
pub fn store_dir_at(root: &Path) -> StoreDir {
    let inside_git = root
        .ancestors()
        .find_map(|dir| common_git_dir(dir).or_else(|| bare_git_dir(dir)));
    match inside_git {
        Some(git) => StoreDir(git.join(INSIDE_GIT)),
        None => StoreDir(root.join(WITHOUT_GIT)),
    }
}

/// Session ids are other people's text; a hash is a file name on every system.
fn mark_name(session: &str) -> String {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    hash.as_str().chars().take(32).collect()
}

fn candidates(from: &[PathBuf]) -> impl Iterator<Item = StoreDir> + '_ {
    from.iter().flat_map(|dir| dir.ancestors()).flat_map(|dir| {
        let git = common_git_dir(dir).map(|git| git.join(INSIDE_GIT));
        let bare = bare_git_dir(dir).map(|git| git.join(INSIDE_GIT));
        let plain = Some(dir.join(WITHOUT_GIT));
        [git, bare, plain].into_iter().flatten().map(StoreDir)
    })
}

/// The directory that all work trees of a repository share, given the root of one of them.
fn common_git_dir(work_tree: &Path) -> Option<PathBuf> {
    GitPlace::at(work_tree).map(|place| place.common)
}

/// A directory that is itself a git directory: a bare repository, or the inside of a `.git`.
fn bare_git_dir(dir: &Path) -> Option<PathBuf> {
    let is_git_dir = dir.join("HEAD").is_file() && dir.join("objects").is_dir();
    is_git_dir.then(|| dir.to_owned())
}
