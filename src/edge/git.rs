//! A repository as the git program sees it: HEAD, branch, unfinished operation, and every change
//! with its content. Reads only and takes no lock. libgit2 finds the repository, and stands in
//! where no git is installed. Whether a change matters is for others to say.

mod branches;
mod content;
mod glance;
mod library;
mod outside;
mod place;
mod status;
mod unfinished;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::git_place::GitPlace;
use super::process::{self, Call, Output};
use crate::kernel::snapshot::{self, WorkTree};
pub use outside::path_from;
use status::{EACH_UNTRACKED, STATUS_BYTES_MAX};

/// Git, asked from one directory.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    program: OsString,
    watched: Option<PathBuf>,
}

/// Where a directory lies within its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nothing in a bare repository.
    pub root: Option<PathBuf>,
    /// Nothing where the main repository is bare.
    pub main_root: Option<PathBuf>,
    pub is_linked: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error("could not enter `{}`", dir.display())]
    NoDirectory { dir: PathBuf, source: io::Error },
    #[error("`git {command}` {}: {line}", ended(*code))]
    Refused {
        command: String,
        code: Option<i32>,
        line: String,
    },
    #[error("`git {command}` printed what is not understood: `{record}`")]
    Garbled { command: String, record: String },
    #[error("`git {command}` did not print its whole answer")]
    Cut { command: String },
    #[error("`git {command}` printed more than {bytes_max} bytes")]
    TooLong { command: String, bytes_max: usize },
    #[error("could not read {what} within {seconds} s")]
    Late { what: &'static str, seconds: u64 },
    #[error("libgit2 could not read the repository at `{}`", dir.display())]
    Library { dir: PathBuf, source: git2::Error },
}

/// Set by git around hooks and aliases, and by people; every one of them would have us read
/// another repository than the one we stand in. `git rev-parse --local-env-vars` as of 2.51, the
/// name that only older ones list, and two more that change the answer.
pub const LOCAL_ENVIRONMENT: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// For answers that are a line long.
const SHORT_DEADLINE: Duration = Duration::from_secs(5);

const STDERR_LINE_CHARS_MAX: usize = 400;

impl Git {
    pub fn at(dir: impl Into<PathBuf>) -> Git {
        Git {
            dir: dir.into(),
            program: "git".into(),
            watched: None,
        }
    }

    /// Reads the change of one more file, if it lies outside of the work tree: a tracker in
    /// another one, which has to be saved all the same.
    #[must_use]
    pub fn watching(mut self, file: Option<PathBuf>) -> Git {
        self.watched = file;
        self
    }

    /// Another git than the first on the path.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<OsString>) -> Git {
        self.program = program.into();
        self
    }

    /// HEAD, branch, unfinished operation and changes. That there is no repository, or no work
    /// tree, is an answer; that it cannot be read is not.
    pub fn read(&self, deadline: Duration) -> Result<snapshot::Git, Error> {
        let clock = Clock::new(deadline);
        // Begun before libgit2 has opened the repository, which takes a while of its own.
        let place = GitPlace::of(&self.dir);
        let guess = place.map_or_else(|| self.dir.clone(), |place| place.work_tree);
        let call = self.status_call(&guess, EACH_UNTRACKED, &clock, STATUS_BYTES_MAX);
        let begun = guess.join(".git").exists().then(|| call.start());
        let Some(found) = self.find(&clock)? else {
            return Ok(snapshot::Git::NoRepository);
        };
        let Some(root) = found.place.root.as_deref() else {
            return Ok(snapshot::Git::NoWorkTree);
        };
        let answer = match begun.filter(|_| guess == root) {
            Some(begun) => self.status_of(begun, &guess, &clock),
            None => self.status(root, &clock, STATUS_BYTES_MAX),
        };
        let status = self.or_approximate(answer, &found)?;
        let mut changes = self.changes(root, &status, &clock)?;
        if let Some(file) = &self.watched {
            changes.extend(self.change_outside(root, file, &clock)?);
        }
        Ok(snapshot::Git::Tree(WorkTree {
            place: format!(
                "{} {}",
                path_from(&self.dir, root),
                path_from(&self.dir, &found.git_dir)
            ),
            unfinished: self.unfinished(&found, &clock)?.map(str::to_owned),
            changes,
            head: status.head,
            branch: status.branch,
            is_approximate: status.is_approximate,
        }))
    }

    /// Nothing where there is no repository.
    pub fn place(&self) -> Result<Option<Place>, Error> {
        let found = self.find(&Clock::new(SHORT_DEADLINE))?;
        Ok(found.map(|found| found.place))
    }

    /// The same, told by git's files alone: for a repository that cannot be read just now.
    pub fn place_by_files(&self) -> Option<Place> {
        let place = GitPlace::of(&self.dir)?;
        let is_linked = place.main_work_tree.is_some();
        Some(Place {
            main_root: place.main_work_tree.or(Some(place.work_tree.clone())),
            root: Some(place.work_tree),
            is_linked,
        })
    }

    /// The person's name as git's configuration has it here.
    pub fn user_name(&self) -> Option<String> {
        let call = self.call(&self.dir, &Clock::new(SHORT_DEADLINE));
        let name = match call.args(["config", "--get", "user.name"]).run() {
            Ok(output) if output.code == Some(0) => {
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            Ok(_) => return None,
            Err(_) => library::configured(&self.dir, "user.name").ok()?,
        };
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }
}

/// How much is left of a time that several steps share.
struct Clock {
    started: Instant,
    total: Duration,
}

impl Clock {
    fn new(total: Duration) -> Clock {
        Clock {
            started: Instant::now(),
            total,
        }
    }

    fn left(&self) -> Duration {
        self.total.saturating_sub(self.started.elapsed())
    }

    fn late(&self, what: &'static str) -> Error {
        Error::Late {
            what,
            seconds: self.total.as_secs(),
        }
    }
}

/// Asking the git program.
impl Git {
    fn call(&self, dir: &Path, clock: &Clock) -> Call {
        let call = Call::new(&self.program)
            .arg("-C")
            .arg(dir)
            // Else the repository names a program here that every status runs, or starts a daemon.
            // Older ones take any word for a program's name, so nothing is what says "no".
            .args(["-c", "core.fsmonitor="])
            .env("LC_ALL", "C")
            // A status that refreshes the index makes the agent's own commands fail meanwhile.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            // A partial clone fetches what it lacks: a write, and a wait for the network.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1")
            .deadline(clock.left());
        LOCAL_ENVIRONMENT.iter().fold(call, Call::env_remove)
    }

    fn ask(&self, dir: &Path, args: &[&str], clock: &Clock) -> Result<Output, Error> {
        let output = self.call(dir, clock).args(args).run()?;
        answered(output, args)
    }
}

fn answered(output: Output, args: &[&str]) -> Result<Output, Error> {
    if output.code == Some(0) {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_fatal = |line: &&str| line.starts_with("fatal: ");
    // Warnings may come before the reason.
    let line = stderr.lines().find(is_fatal).or(stderr.lines().next());
    Err(Error::Refused {
        command: command(args),
        code: output.code,
        line: line
            .unwrap_or("no message")
            .chars()
            .take(STDERR_LINE_CHARS_MAX)
            .collect(),
    })
}

fn too_long(args: &[&str], bytes_max: usize) -> Error {
    Error::TooLong {
        command: command(args),
        bytes_max,
    }
}

fn command(args: &[&str]) -> String {
    args.first().copied().unwrap_or_default().to_owned()
}

fn ended(code: Option<i32>) -> String {
    match code {
        Some(code) => format!("exited with {code}"),
        None => "was killed by a signal".to_owned(),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Git for Windows speaks UTF-8.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use git2::Repository;

    use super::status::Status;
    use super::*;
    use crate::kernel::snapshot::Change;

    fn clock() -> Clock {
        Clock::new(Duration::from_secs(60))
    }

    #[test]
    fn every_variable_that_git_calls_local_is_removed() {
        let git = Git::at(".");
        let args = ["rev-parse", "--local-env-vars"];
        let output = git.ask(Path::new("."), &args, &clock()).unwrap();
        let names = String::from_utf8(output.stdout).unwrap();
        assert!(names.contains("GIT_DIR"));
        for name in names.lines() {
            assert!(LOCAL_ENVIRONMENT.contains(&name), "{name}");
        }
    }

    #[test]
    fn of_too_many_untracked_files_the_directories_are_named() {
        let temp = tempfile::tempdir().unwrap();
        Repository::init(temp.path()).unwrap();
        let dir = temp.path().join("many");
        fs::create_dir(&dir).unwrap();
        for number in 0..100 {
            fs::write(dir.join(number.to_string()), "").unwrap();
        }
        let git = Git::at(temp.path());
        let status = git.status(temp.path(), &clock(), 500).unwrap();
        let changes = git.changes(temp.path(), &status, &clock()).unwrap();
        let expected = Change {
            path: "many".to_owned(),
            is_untracked: true,
            content: "directory".to_owned(),
            staged: None,
        };
        assert_eq!(changes, [expected]);
        let error = git.status(temp.path(), &clock(), 5).unwrap_err();
        assert!(matches!(error, Error::TooLong { bytes_max: 5, .. }));
    }

    const CLEAN: &[u8] = b"# branch.oid (initial)\0# branch.head (detached)\0";

    fn said(record: &str) -> Vec<u8> {
        [CLEAN, record.as_bytes(), b"\0"].concat()
    }

    #[test]
    fn a_record_that_is_not_understood_is_an_error() {
        for record in [
            "x",
            "2 R. N... 1 1 1 a b R100 c",
            "1 M. N... 1 1 1 a b",
            "?",
            "? ",
            "1 M. N... 1 1 1 a b ",
            "",
        ] {
            let error = Status::parse(&said(record)).unwrap_err();
            assert!(matches!(error, Error::Garbled { .. }), "{record}");
        }
        let future = Status::parse(&said("# branch.moon full\0# lone\0! ignored")).unwrap();
        assert_eq!(future, Status::default());
    }

    #[test]
    fn of_half_an_answer_nothing_is_believed() {
        let whole = said("? file");
        Status::parse(&whole).unwrap();
        Status::parse(CLEAN).unwrap();
        for length in (0..whole.len()).filter(|length| *length != CLEAN.len()) {
            let error = Status::parse(&whole[..length]).unwrap_err();
            assert!(matches!(error, Error::Cut { .. }), "{length}: {error}");
        }
        let without_headers = Status::parse(b"? file\0");
        assert!(matches!(without_headers, Err(Error::Cut { .. })));
    }

    #[test]
    fn contents_take_no_longer_than_allowed_and_what_is_gone_has_none() {
        let temp = tempfile::tempdir().unwrap();
        let status = Status::parse(&said("? gone")).unwrap();
        let git = Git::at(temp.path());
        assert_eq!(git.changes(temp.path(), &status, &clock()).unwrap(), []);
        let error = git.changes(temp.path(), &status, &Clock::new(Duration::ZERO));
        assert!(matches!(error, Err(Error::Late { .. })));
    }
}
