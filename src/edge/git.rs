//! A repository as the git program sees it: HEAD, branch, unfinished operation, and every change
//! with its content. Reads only and takes no lock. libgit2 finds the repository, and stands in
//! where no git is installed. Whether a change matters is for others to say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use git2::{
    BranchType, ErrorCode, Repository, RepositoryOpenFlags, StatusOptions, SubmoduleIgnore,
    SubmoduleStatus,
};

use super::process::{self, Call, Output};
use crate::kernel::snapshot::{self, Change, WorkTree};

/// Git, asked from one directory.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    program: OsString,
}

/// Where a directory lies within its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nothing in a bare repository.
    pub root: Option<PathBuf>,
    /// Shared by all work trees.
    pub common_dir: PathBuf,
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
    #[error("`git {command}` printed more than {bytes_max} bytes")]
    TooLong { command: String, bytes_max: usize },
    #[error("could not read the content of all changes within {seconds} s")]
    Late { seconds: u64 },
    #[error("libgit2 could not read the repository at `{}`", dir.display())]
    Library { dir: PathBuf, source: git2::Error },
}

/// Set by git around hooks and aliases, and by people; every one of them would have us read
/// another repository than the one we stand in. `git rev-parse --local-env-vars` as of 2.51, the
/// name that only older ones list, and two more that change the answer.
const LOCAL_ENVIRONMENT: [&str; 18] = [
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

/// A list of changes longer than this, some hundred thousand paths, helps nobody.
const STATUS_BYTES_MAX: usize = 16 << 20;

/// One forgotten disk image must not use up the time of a stop; hashing it would take seconds.
const HASHED_BYTES_MAX: u64 = 64 << 20;

/// Hexadecimal digits of a content hash: 128 bits are plenty to tell two versions apart.
const HASH_DIGITS: usize = 32;

const STDERR_LINE_CHARS_MAX: usize = 400;

impl Git {
    pub fn at(dir: impl Into<PathBuf>) -> Git {
        Git {
            dir: dir.into(),
            program: "git".into(),
        }
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
        let Some(found) = self.find(&clock)? else {
            return Ok(snapshot::Git::NoRepository);
        };
        let Some(root) = found.place.root.as_deref() else {
            return Ok(snapshot::Git::NoWorkTree);
        };
        let answer = self.status(root, &clock, STATUS_BYTES_MAX);
        let status = match (answer, &found.repository) {
            (Err(Error::Process(process::Error::NotFound { .. })), Some(repository)) => {
                approximate_status(repository).map_err(|source| self.library(source))?
            }
            (answer, _) => answer?,
        };
        Ok(snapshot::Git::Tree(WorkTree {
            unfinished: self.unfinished(&found, &clock)?.map(str::to_owned),
            changes: self.changes(root, &status, &clock)?,
            head: status.head,
            branch: status.branch,
            is_approximate: status.is_approximate,
        }))
    }

    /// Which of these local branches exist and hold commits that HEAD does not.
    pub fn unmerged(&self, names: &[String], deadline: Duration) -> Result<Vec<String>, Error> {
        let clock = Clock::new(deadline);
        let Some(found) = self.find(&clock)? else {
            return Ok(Vec::new());
        };
        let refused = match found.repository.as_ref().map(|it| unmerged(it, names)) {
            Some(Ok(unmerged)) => return Ok(unmerged),
            Some(Err(refused)) => Some(refused),
            None => None,
        };
        self.or_library(self.unmerged_by_program(names, &clock), refused)
    }

    /// Nothing where there is no repository.
    pub fn place(&self) -> Result<Option<Place>, Error> {
        let found = self.find(&Clock::new(SHORT_DEADLINE))?;
        Ok(found.map(|found| found.place))
    }

    /// The person's name as git's configuration has it here.
    pub fn user_name(&self) -> Option<String> {
        let call = self.call(&self.dir, &Clock::new(SHORT_DEADLINE));
        let name = match call.args(["config", "--get", "user.name"]).run() {
            Ok(output) if output.code == Some(0) => {
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            Ok(_) => return None,
            Err(_) => configured(&self.dir, "user.name").ok()?,
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
}

struct Found {
    place: Place,
    /// This work tree's own, where its HEAD and its unfinished operations are.
    git_dir: PathBuf,
    /// Nothing where libgit2 refuses what the git program accepts: reftable, SHA-256, partial
    /// clones, owners that git's own configuration trusts.
    repository: Option<Repository>,
}

/// Finding the repository.
impl Git {
    fn find(&self, clock: &Clock) -> Result<Option<Found>, Error> {
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
            answer.pop_if(|last| *last == b'\n');
            Ok(answer)
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
                common_dir,
                main_root,
                is_linked,
            },
            git_dir,
            repository: None,
        })
    }

    /// Git's own answer, unless there is no git to ask: then what libgit2 had to say.
    fn or_library<T>(
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

    fn library(&self, source: git2::Error) -> Error {
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
                common_dir,
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

    /// An operation that was begun and not ended, by git's name for it. A bisection is none: it
    /// leaves nothing to be saved.
    fn unfinished(&self, found: &Found, clock: &Clock) -> Result<Option<&'static str>, Error> {
        if let Some(operation) = unfinished_in(&found.git_dir) {
            return Ok(Some(operation));
        }
        // In a reftable these two are no files.
        if !found.git_dir.join("reftable").exists() {
            return Ok(None);
        }
        for (name, operation) in PICKS {
            let args = ["rev-parse", "--quiet", "--verify", name];
            let output = self.call(&found.git_dir, clock).args(args).run()?;
            if output.code == Some(0) {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }

    fn unmerged_by_program(&self, names: &[String], clock: &Clock) -> Result<Vec<String>, Error> {
        let head = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let has_head = self.call(&self.dir, clock).args(head).run()?.code == Some(0);
        let mut args = vec!["for-each-ref", "--format=%(refname)"];
        // On a branch without commits nothing can have been merged.
        if has_head {
            args.push("--no-merged=HEAD");
        }
        args.push("refs/heads/");
        let output = self.ask(&self.dir, &args, clock)?;
        if output.is_truncated {
            return Err(too_long(&args, output.stdout.len()));
        }
        let listed = String::from_utf8_lossy(&output.stdout);
        let is_listed = |name: &&String| {
            listed
                .lines()
                .any(|line| line.strip_prefix("refs/heads/") == Some(name.as_str()))
        };
        Ok(names.iter().filter(is_listed).cloned().collect())
    }
}

/// What git leaves while a commit is being picked, and what it calls the operation.
const PICKS: [(&str, &str); 2] = [
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
];

fn unfinished_in(git_dir: &Path) -> Option<&'static str> {
    let has = |name: &str| git_dir.join(name).exists();
    // A rebase may pass through a merge or a pick, and is what has to be ended.
    if has("rebase-apply/applying") {
        return Some("am");
    }
    if has("rebase-merge") || has("rebase-apply") {
        return Some("rebase");
    }
    if has("MERGE_HEAD") {
        return Some("merge");
    }
    if let Some((_, operation)) = PICKS.iter().find(|(name, _)| has(name)) {
        return Some(operation);
    }
    // Of a series of picks, after a commit in the middle, only the list of what is left remains.
    let mut todo = String::new();
    let list = File::open(git_dir.join("sequencer/todo")).ok()?;
    list.take(64).read_to_string(&mut todo).ok()?;
    match todo.split_whitespace().next()? {
        "revert" => Some("revert"),
        _ => Some("cherry-pick"),
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

/// What `git status` says, before anybody has looked at the files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    head: Option<String>,
    branch: Option<String>,
    /// By path, as bytes.
    entries: BTreeMap<Vec<u8>, Entry>,
    is_approximate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Untracked,
    Tracked,
    /// Not to be looked for on disk: behind a symbolic link there may be a file of that name.
    Deleted,
    /// With its flags.
    Submodule(String),
}

const STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-ahead-behind",
    // A moved file is a new one and a deleted one, and finding that out would read blobs.
    "--no-renames",
    "--ignore-submodules=untracked",
];

/// Changes by the git program.
impl Git {
    fn status(&self, root: &Path, clock: &Clock, bytes_max: usize) -> Result<Status, Error> {
        // Whole directories only where naming each file in them would be too much.
        for untracked in ["--untracked-files=all", "--untracked-files=normal"] {
            let mut call = self
                .call(self.stand(root), clock)
                .args(STATUS)
                .arg(untracked);
            call.output_bytes_max = bytes_max;
            let output = answered(call.run()?, &STATUS)?;
            if !output.is_truncated {
                return Status::parse(&output.stdout);
            }
        }
        Err(too_long(&STATUS, bytes_max))
    }

    /// The root may lie elsewhere (`core.worktree`), where git would not find this repository.
    fn stand<'a>(&'a self, root: &'a Path) -> &'a Path {
        if root.join(".git").exists() {
            root
        } else {
            &self.dir
        }
    }
}

impl Status {
    fn parse(bytes: &[u8]) -> Result<Status, Error> {
        let mut status = Status::default();
        for record in bytes.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
            if status.take(record).is_none() {
                return Err(Error::Garbled {
                    command: command(&STATUS),
                    record: String::from_utf8_lossy(record).into_owned(),
                });
            }
        }
        Ok(status)
    }

    /// Takes in one record, or says by returning nothing that it is none.
    fn take(&mut self, record: &[u8]) -> Option<()> {
        let (kind, rest) = record.split_at_checked(2)?;
        match kind {
            b"# " => self.take_header(&String::from_utf8_lossy(rest)),
            // XY, submodule, three modes (the last is the work tree's), two ids, path.
            b"1 " => self.take_tracked(rest, 4, 8)?,
            // XY, submodule, four modes, three ids, path.
            b"u " => self.take_tracked(rest, 5, 10)?,
            b"? " => self.insert(rest, Entry::Untracked),
            b"! " => {}
            _ => return None,
        }
        Some(())
    }

    fn take_header(&mut self, header: &str) {
        let known = |value: &str, nothing: &str| (value != nothing).then(|| value.to_owned());
        match header.split_once(' ') {
            Some(("branch.oid", id)) => self.head = known(id, "(initial)"),
            Some(("branch.head", name)) => self.branch = known(name, "(detached)"),
            // Git's manual asks to skip headers that one does not know.
            Some(_) | None => {}
        }
    }

    fn take_tracked(&mut self, rest: &[u8], mode: usize, fields: usize) -> Option<()> {
        let fields_found: Vec<&[u8]> = rest.splitn(fields, |byte| *byte == b' ').collect();
        let path = *fields_found.get(fields - 1)?;
        let entry = match (fields_found[mode], fields_found[1]) {
            (b"000000", _) => Entry::Deleted,
            (_, flags) if flags.starts_with(b"S") => {
                Entry::Submodule(String::from_utf8_lossy(flags).into_owned())
            }
            _ => Entry::Tracked,
        };
        self.insert(path, entry);
        Some(())
    }

    /// A file that was taken out of the index and left on disk is named twice, and is tracked.
    fn insert(&mut self, path: &[u8], entry: Entry) {
        let path = path.strip_suffix(b"/").unwrap_or(path).to_vec();
        let entry = match (self.entries.remove(&path), entry) {
            (Some(Entry::Deleted), Entry::Untracked) => Entry::Tracked,
            (_, entry) => entry,
        };
        self.entries.insert(path, entry);
    }
}

/// Contents.
impl Git {
    fn changes(&self, root: &Path, status: &Status, clock: &Clock) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::with_capacity(status.entries.len());
        for (name, entry) in &status.entries {
            if clock.left().is_zero() {
                return Err(Error::Late {
                    seconds: clock.total.as_secs(),
                });
            }
            let path = root.join(path_of(name));
            let content = match entry {
                Entry::Deleted => None,
                Entry::Tracked | Entry::Untracked => content(&path),
                Entry::Submodule(flags) => self.submodule_content(&path, flags, clock),
            };
            let content = match (content, entry) {
                (Some(content), _) => content,
                // Somebody's scratch file, gone since git named it.
                (None, Entry::Untracked) => continue,
                (None, _) => "deleted".to_owned(),
            };
            changes.push(Change {
                path: String::from_utf8_lossy(name).into_owned(),
                is_untracked: *entry == Entry::Untracked,
                content,
            });
        }
        Ok(changes)
    }

    fn submodule_content(&self, path: &Path, flags: &str, clock: &Clock) -> Option<String> {
        path.symlink_metadata().ok()?;
        let by_library = || {
            Some(
                Repository::open(path)
                    .ok()?
                    .head()
                    .ok()?
                    .target()?
                    .to_string(),
            )
        };
        let by_program = || {
            // Without one of its own, git would answer for the repository around it.
            path.join(".git").exists().then_some(())?;
            let output = self.ask(path, &["rev-parse", "HEAD"], clock).ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let head = by_library().or_else(by_program);
        Some(format!(
            "{} {flags}",
            head.as_deref().unwrap_or("no commit")
        ))
    }
}

/// A hash of what is at a path, or a word for what has none; nothing if nothing is there.
fn content(path: &Path) -> Option<String> {
    let unreadable = || "unreadable".to_owned();
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return None,
        Err(_) => return Some(unreadable()),
    };
    let kind = metadata.file_type();
    let content = if kind.is_symlink() {
        fs::read_link(path).map(|target| {
            let target = target.into_os_string();
            format!("link:{}", digits(&blake3::hash(target.as_encoded_bytes())))
        })
    } else if kind.is_dir() {
        Ok("directory".to_owned())
    } else if !kind.is_file() {
        // Opening a pipe waits for whoever writes to it, and opening a device may do anything.
        Ok("special".to_owned())
    } else if metadata.len() > HASHED_BYTES_MAX {
        Ok(size_and_time(&metadata))
    } else {
        hash(path)
    };
    Some(content.unwrap_or_else(|_| unreadable()))
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    // It may be growing while we read.
    hasher.update_reader(File::open(path)?.take(HASHED_BYTES_MAX))?;
    Ok(digits(&hasher.finalize()))
}

fn digits(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(HASH_DIGITS).collect()
}

fn size_and_time(metadata: &Metadata) -> String {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{}:{}",
        metadata.len(),
        since.unwrap_or_default().as_nanos()
    )
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

/// Changes by libgit2 1.9, which takes files outside a sparse checkout for deleted ones and runs
/// no filter programs.
fn approximate_status(repository: &Repository) -> Result<Status, git2::Error> {
    let mut status = Status {
        is_approximate: true,
        ..Status::default()
    };
    let head = repository.find_reference("HEAD")?;
    status.branch = head
        .symbolic_target()?
        .and_then(|name| name.strip_prefix("refs/heads/"))
        .map(str::to_owned);
    status.head = head_commit(repository)?.map(|id| id.to_string());
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .exclude_submodules(true);
    for entry in repository.statuses(Some(&mut options))?.iter() {
        let is_untracked = entry.status() == git2::Status::WT_NEW;
        let entry_kind = if is_untracked {
            Entry::Untracked
        } else {
            Entry::Tracked
        };
        status.insert(entry.path_bytes(), entry_kind);
    }
    for submodule in repository.submodules()? {
        let path = submodule.path().to_string_lossy().replace('\\', "/");
        let state = repository.submodule_status(&path, SubmoduleIgnore::Untracked)?;
        if let Some(flags) = submodule_flags(state) {
            status.insert(path.as_bytes(), Entry::Submodule(flags));
        }
    }
    Ok(status)
}

/// As `git status` writes them; nothing for a submodule that is as the index wants it.
fn submodule_flags(state: SubmoduleStatus) -> Option<String> {
    let staged = SubmoduleStatus::INDEX_ADDED
        | SubmoduleStatus::INDEX_DELETED
        | SubmoduleStatus::INDEX_MODIFIED;
    let moved = SubmoduleStatus::WD_MODIFIED | SubmoduleStatus::WD_DELETED;
    let edited = SubmoduleStatus::WD_INDEX_MODIFIED | SubmoduleStatus::WD_WD_MODIFIED;
    let letter = |flags, letter| if state.intersects(flags) { letter } else { '.' };
    let is_change = state.intersects(staged | moved | edited);
    is_change.then(|| format!("S{}{}.", letter(moved, 'C'), letter(edited, 'M')))
}

/// Nothing on a branch without commits.
fn head_commit(repository: &Repository) -> Result<Option<git2::Oid>, git2::Error> {
    match repository.head() {
        Ok(head) => Ok(Some(head.peel_to_commit()?.id())),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(error),
    }
}

fn unmerged(repository: &Repository, names: &[String]) -> Result<Vec<String>, git2::Error> {
    let head = head_commit(repository)?;
    let mut unmerged = Vec::new();
    for name in names {
        let branch = match repository.find_branch(name, BranchType::Local) {
            Ok(branch) => branch,
            Err(error) if is_no_branch(&error) => continue,
            Err(error) => return Err(error),
        };
        let tip = branch.into_reference().peel_to_commit()?.id();
        let is_merged = match head {
            Some(head) => head == tip || repository.graph_descendant_of(head, tip)?,
            None => false,
        };
        if !is_merged {
            unmerged.push(name.clone());
        }
    }
    Ok(unmerged)
}

fn is_no_branch(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec)
}

fn configured(dir: &Path, key: &str) -> Result<String, git2::Error> {
    let config = match Repository::discover(dir) {
        Ok(repository) => repository.config()?,
        Err(_) => git2::Config::open_default()?,
    };
    config.get_string(key)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        };
        assert_eq!(changes, [expected]);
        let error = git.status(temp.path(), &clock(), 5).unwrap_err();
        assert!(matches!(error, Error::TooLong { bytes_max: 5, .. }));
    }

    #[test]
    fn a_record_that_is_not_understood_is_an_error() {
        for record in [
            "x",
            "2 R. N... 1 1 1 a b R100 c",
            "1 M. N... 1 1 1 a b",
            "?",
        ] {
            let error = Status::parse(record.as_bytes()).unwrap_err();
            assert!(matches!(error, Error::Garbled { .. }), "{record}");
        }
        let future = Status::parse(b"# branch.moon full\0# lone\0! ignored\0").unwrap();
        assert_eq!(future, Status::default());
    }

    #[test]
    fn contents_take_no_longer_than_allowed_and_what_is_gone_has_none() {
        let temp = tempfile::tempdir().unwrap();
        let status = Status::parse(b"? gone\0").unwrap();
        let git = Git::at(temp.path());
        assert_eq!(git.changes(temp.path(), &status, &clock()).unwrap(), []);
        let error = git.changes(temp.path(), &status, &Clock::new(Duration::ZERO));
        assert!(matches!(error, Err(Error::Late { .. })));
    }
}
