//! Finding the repository that a directory belongs to: by libgit2, and by the git program where
//! that one knows more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::{Clock, Error, Git, Place, is_absent, path_of};
use crate::edge::process;

pub(super) struct Found {
    pub place: Place,
    /// This work tree's own, where its HEAD and its unfinished operations are.
    pub git_dir: PathBuf,
    /// Nothing where libgit2 refuses what the git program accepts: reftable, SHA-256, partial
    /// clones, owners that git's own configuration trusts.
    pub repository: Option<Repository>,
}

/// Finding the repository.
impl Git {
    pub(super) fn find(&self, clock: &Clock) -> Result<Option<Found>, Error> {
        let here = directory(&self.dir).map_err(|source| Error::NoDirectory {
            dir: self.dir.clone(),
            source,
        })?;
        // Mount points within a work tree are common in containers; git would stop at them.
        let flags = RepositoryOpenFlags::CROSS_FS;
        let refused = match Repository::open_ext(&self.dir, flags, &[] as &[&Path]) {
            Ok(repository) => return Ok(Some(Found::of(repository))),
            Err(error) => error,
        };
        if refused.code() == ErrorCode::NotFound && !is_repository_above(&here) {
            return Ok(None);
        }
        self.or_library(self.find_by_program(clock).map(Some), Some(refused))
    }

    fn find_by_program(&self, clock: &Clock) -> Result<Found, Error> {
        let ask = |dir: &Path, question: &str| -> Result<Vec<u8>, Error> {
            let mut answer = self.ask(dir, &["rev-parse", question], clock)?.stdout;
            match answer.pop() {
                Some(b'\n') => Ok(answer),
                _ => Err(Error::Cut {
                    command: "rev-parse".to_owned(),
                }),
            }
        };
        let is_bare = |dir: &Path| Ok::<_, Error>(ask(dir, "--is-bare-repository")? == b"true");
        let git_dir = tidy(&path_of(&ask(&self.dir, "--absolute-git-dir")?));
        let root = if is_bare(&self.dir)? {
            None
        } else {
            Some(tidy(&path_of(&ask(&self.dir, "--show-toplevel")?)))
        };
        // The answer may be relative to where it is asked.
        let asked_at = root.as_ref().unwrap_or(&git_dir);
        let common_dir = tidy(&asked_at.join(path_of(&ask(asked_at, "--git-common-dir")?)));
        let is_linked = git_dir != common_dir;
        let main_root = if !is_linked {
            root.clone()
        } else if is_bare(&common_dir)? {
            None
        } else {
            root_beside(&common_dir)
        };
        Ok(Found {
            place: Place {
                root,
                main_root,
                is_linked,
            },
            git_dir,
            repository: None,
        })
    }

    /// Git's own answer, unless there is no git to ask: then what libgit2 had to say.
    pub(super) fn or_library<T>(
        &self,
        answer: Result<T, Error>,
        refused: Option<git2::Error>,
    ) -> Result<T, Error> {
        match (answer, refused) {
            (Err(Error::Process(process::Error::NotFound { .. })), Some(source)) => {
                Err(self.library(source))
            }
            (answer, _) => answer,
        }
    }

    pub(super) fn library(&self, source: git2::Error) -> Error {
        Error::Library {
            dir: self.dir.clone(),
            source,
        }
    }
}

impl Found {
    fn of(repository: Repository) -> Found {
        let root = repository.workdir().map(tidy);
        let common_dir = tidy(repository.commondir());
        let is_linked = repository.is_worktree();
        let main_root = if is_linked {
            match Repository::open(&common_dir) {
                Ok(main) => main.workdir().map(tidy),
                Err(_) => root_beside(&common_dir),
            }
        } else {
            root.clone()
        };
        Found {
            place: Place {
                root,
                main_root,
                is_linked,
            },
            git_dir: tidy(repository.path()),
            repository: Some(repository),
        }
    }
}

/// A directory by its real path.
fn directory(dir: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(dir)?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

/// Whether something here or above looks like a repository, sound or not. What cannot be looked
/// at might be one.
fn is_repository_above(here: &Path) -> bool {
    let is_there = |path: PathBuf| match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !is_absent(&error),
    };
    let is_bare = |dir: &Path| {
        ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| dir.join(name).exists())
    };
    here.ancestors()
        .any(|dir| is_there(dir.join(".git")) || is_bare(dir))
}

fn root_beside(common_dir: &Path) -> Option<PathBuf> {
    let is_usual = common_dir.file_name().is_some_and(|name| name == ".git");
    common_dir.parent().filter(|_| is_usual).map(tidy)
}

/// Without a trailing slash and without `.`, so that paths of different origin compare.
fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}
