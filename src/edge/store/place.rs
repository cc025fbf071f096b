//! Where stores are, found by looking at directories and small files only: no repository is
//! opened, no process started. Inside the common git directory, so that all work trees share it
//! and `git status` never sees it; in `.beadlock/` where there is no git.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::signpost::{Signposts, is_absence};
use crate::edge::git_place::GitPlace;

/// A store's directory, whether or not it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreDir {
    path: PathBuf,
    signposts: Option<Signposts>,
}

/// Where stores are looked for: from each of some directories upwards, and by signposts.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub dirs: Vec<PathBuf>,
    pub signposts: Option<Signposts>,
}

const INSIDE_GIT: &str = "beadlock";
const WITHOUT_GIT: &str = ".beadlock";
const MARKS: &str = "sessions";
const DATABASE: &str = "state.db";
/// What the name of a damaged database begins with.
pub const ASIDE: &str = "state.db.corrupt";

impl StoreDir {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// What was written and is not in the database yet.
    pub fn journal(&self) -> PathBuf {
        self.path.join(format!("{DATABASE}-wal"))
    }

    fn marks(&self) -> PathBuf {
        self.path.join(MARKS)
    }

    fn mark_path(&self, session: &str) -> PathBuf {
        self.marks().join(mark_name(session))
    }

    pub fn is_marked(&self, session: &str) -> Result<bool, Error> {
        self.has(&Path::new(MARKS).join(mark_name(session)))
    }

    /// Makes the session's stops matter.
    pub fn mark(&self, session: &str) -> std::io::Result<()> {
        fs::create_dir_all(self.marks())?;
        fs::write(self.mark_path(session), [])
    }

    /// Makes them matter wherever the session works. Only for a run that is certain: it takes the
    /// place of a signpost to another store. Most sessions need none, and `is_posted` tells.
    pub fn post(&self, session: &str) {
        if let Some(signposts) = &self.signposts {
            let _ = signposts.set(&mark_name(session), &self.path);
        }
    }

    /// Whether the session is known from anywhere, and not only from below the store's place.
    pub fn is_posted(&self, session: &str) -> bool {
        let signposts = self.signposts.as_ref();
        signposts.is_some_and(|it| it.leads_to(&mark_name(session), &self.path))
    }

    /// The session's stops no longer matter. A mark that cannot be removed costs a look at the
    /// store at each stop, nothing else.
    pub fn unmark(&self, session: &str) {
        let _ = fs::remove_file(self.mark_path(session));
        if let Some(signposts) = &self.signposts {
            signposts.remove(&mark_name(session), &self.path);
        }
    }

    /// Forgets every session, for a store that is gone.
    pub fn unmark_all(&self) {
        let _ = fs::remove_dir_all(self.marks());
        if let Some(signposts) = &self.signposts {
            signposts.keep_only(&[], &self.path);
        }
    }

    /// Forgets sessions that none of `sessions` is, such as those whose `start` was killed.
    pub fn keep_only(&self, sessions: &[String]) {
        let kept: Vec<String> = sessions.iter().map(|it| mark_name(it)).collect();
        for entry in fs::read_dir(self.marks()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !kept.iter().any(|kept| name.to_str() == Some(kept)) {
                // One that stays costs a look at the store at each stop.
                let _ = fs::remove_file(entry.path());
            }
        }
        if let Some(signposts) = &self.signposts {
            signposts.keep_only(&kept, &self.path);
        }
    }

    /// How many sessions are marked that none of `sessions` is.
    pub fn marks_beyond(&self, sessions: &[String]) -> usize {
        let kept: Vec<String> = sessions.iter().map(|it| mark_name(it)).collect();
        let marks = fs::read_dir(self.marks()).into_iter().flatten().flatten();
        let is_beyond = |mark: &fs::DirEntry| {
            let name = mark.file_name();
            !kept.iter().any(|kept| name.to_str() == Some(kept))
        };
        marks.filter(is_beyond).count()
    }

    /// Whether a file can be made where the store is, or is going to be; nothing is left there.
    pub fn can_be_made(&self) -> Result<(), String> {
        let there = self.path.ancestors().find(|dir| dir.is_dir());
        let there = there.ok_or_else(|| "there is no such directory".to_owned())?;
        let probe = tempfile::NamedTempFile::new_in(there);
        probe.map(drop).map_err(|error| error.to_string())
    }

    /// Whether the file system keeps two who lock the same file apart.
    pub fn can_lock(&self) -> Result<bool, String> {
        let text = |error: std::io::Error| error.to_string();
        let first = tempfile::NamedTempFile::new_in(&self.path).map_err(text)?;
        let second = first.reopen().map_err(text)?;
        if first.as_file().try_lock().is_err() {
            return Ok(false);
        }
        Ok(matches!(
            second.try_lock(),
            Err(fs::TryLockError::WouldBlock)
        ))
    }

    /// Damaged databases that were put aside here.
    pub fn set_aside(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let is_aside = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(ASIDE))
        };
        entries.map(|entry| entry.path()).filter(is_aside).collect()
    }

    pub fn has_marks(&self) -> bool {
        fs::read_dir(self.marks()).is_ok_and(|mut marks| marks.next().is_some())
    }

    fn is_there(&self) -> Result<bool, Error> {
        Ok(self.has(Path::new(DATABASE))? || (self.has(Path::new(MARKS))? && self.has_marks()))
    }

    /// Whether a file is in the store's directory.
    fn has(&self, name: &Path) -> Result<bool, Error> {
        let path = self.path.join(name);
        match fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if is_absence(&error) => Ok(false),
            // Above us, or in a folder that is nobody's, there may be much that we cannot see.
            Err(_) if !self.is_in_git() && fs::symlink_metadata(&self.path).is_err() => Ok(false),
            Err(error) => Err(Error::Unreadable {
                path: self.path.clone(),
                what: error.to_string(),
            }),
        }
    }

    fn is_in_git(&self) -> bool {
        self.path.parent().is_some_and(|git| git.ends_with(".git"))
    }
}

impl Places {
    /// The store that knows the session: by its mark, else by nothing but a signpost. Enclosing
    /// repositories count, and so does any other to which a signpost leads: an agent that has
    /// wandered off is not free. A place that cannot be looked into is not one without a mark.
    pub fn of_session(&self, session: &str) -> Result<Option<StoreDir>, Error> {
        let name = mark_name(session);
        let mark = Path::new(MARKS).join(&name);
        let posted = match &self.signposts {
            Some(signposts) => signposts.read(&name)?.map(|path| self.store(path)),
            None => None,
        };
        // The newest run's; an older one of the session may be marked nearer by.
        if let Some(posted) = &posted
            && posted.has(&mark)?
        {
            return Ok(Some(posted.clone()));
        }
        for dir in self.candidates() {
            if dir.has(&mark)? {
                return Ok(Some(dir));
            }
        }
        Ok(posted)
    }

    /// Every store that is known to have the session's mark, or to which its signpost leads.
    pub fn every_of_session(&self, session: &str) -> Vec<StoreDir> {
        let known = self.of_session(session).ok().flatten();
        let mut every: Vec<StoreDir> = known.into_iter().collect();
        for dir in self.candidates() {
            if !every.contains(&dir) && dir.is_marked(session).unwrap_or(false) {
                every.push(dir);
            }
        }
        every
    }

    /// Every store around, the nearest first. A place that cannot be looked into may be one:
    /// whoever opens it is told why it cannot be read.
    pub fn around(&self) -> Vec<StoreDir> {
        let mut around: Vec<StoreDir> = Vec::new();
        for dir in self.candidates() {
            if !around.contains(&dir) && dir.is_there().unwrap_or(true) {
                around.push(dir);
            }
        }
        around
    }

    /// Whether `dir` is where a store around would be.
    pub fn is_around(&self, dir: &StoreDir) -> bool {
        self.candidates().any(|candidate| candidate == *dir)
    }

    /// Every store that a signpost leads to, wherever it is.
    pub fn posted(&self) -> Vec<StoreDir> {
        let paths = self.signposts.iter().flat_map(Signposts::stores);
        paths.map(|path| self.store(path)).collect()
    }

    /// Where the store of a workspace belongs: in the first repository from `root` upwards, else
    /// in `root`.
    pub fn store_at(&self, root: &Path) -> StoreDir {
        let inside_git = root
            .ancestors()
            .find_map(|dir| common_git_dir(dir).or_else(|| bare_git_dir(dir)));
        self.store(match inside_git {
            Some(git) => git.join(INSIDE_GIT),
            None => root.join(WITHOUT_GIT),
        })
    }

    /// Where a store may be. More than git would take for its own: a repository that lost its
    /// HEAD still has its runs.
    fn candidates(&self) -> impl Iterator<Item = StoreDir> + '_ {
        let upwards = self.dirs.iter().flat_map(|dir| dir.ancestors());
        upwards.flat_map(|dir| {
            let git = GitPlace::common_of(dir).map(|git| git.join(INSIDE_GIT));
            let bare = bare_git_dir(dir).map(|git| git.join(INSIDE_GIT));
            let plain = Some(dir.join(WITHOUT_GIT));
            let paths = [git, bare, plain].into_iter().flatten();
            paths.map(|path| self.store(path))
        })
    }

    fn store(&self, path: PathBuf) -> StoreDir {
        StoreDir {
            path,
            signposts: self.signposts.clone(),
        }
    }
}

/// Session ids are other people's text; a hash is a file name on every system.
fn mark_name(session: &str) -> String {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    hash.as_str().chars().take(32).collect()
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
