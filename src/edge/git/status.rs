//! What `git status` says of a work tree.

use std::collections::BTreeMap;
use std::path::Path;

use super::place::Found;
use super::{Clock, Error, Git, answered, command, library, too_long};
use crate::edge::process::{self, Call, Started};

/// What `git status` says, before anybody has looked at the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub head: Option<String>,
    pub branch: Option<String>,
    /// By path, as bytes.
    pub entries: BTreeMap<Vec<u8>, Entry>,
    pub is_approximate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub kind: EntryKind,
    /// Mode and id of what the index has, if neither HEAD nor the work tree has it.
    pub staged: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Untracked,
    Tracked(Mode),
    /// Not to be looked for on disk: behind a symbolic link there may be a file of that name.
    Deleted,
    /// With its flags.
    Submodule(String),
}

/// Whether a file may be run, as far as git cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Executable,
    /// Git did not say.
    AsOnDisk,
}

impl From<EntryKind> for Entry {
    fn from(kind: EntryKind) -> Entry {
        Entry { kind, staged: None }
    }
}

pub(super) const STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-ahead-behind",
    // A moved file is a new one and a deleted one, and finding that out would read blobs.
    "--no-renames",
    "--ignore-submodules=untracked",
];

pub(super) const EACH_UNTRACKED: &str = "--untracked-files=all";
/// Whole directories only, where naming each file in them would be too much.
const UNTRACKED_FOLDED: &str = "--untracked-files=normal";

/// Git says these of every work tree.
const HEADERS: [&[u8]; 2] = [b"# branch.oid ", b"# branch.head "];

/// A list of changes longer than this, some hundred thousand paths, helps nobody.
pub(super) const STATUS_BYTES_MAX: usize = 16 << 20;

/// Changes by the git program.
impl Git {
    pub(super) fn status(
        &self,
        root: &Path,
        clock: &Clock,
        bytes_max: usize,
    ) -> Result<Status, Error> {
        let dir = self.stand(root);
        let whole = self.status_call(dir, EACH_UNTRACKED, clock, bytes_max);
        self.status_of(whole.start(), dir, clock)
    }

    /// What a call for each untracked file comes to.
    pub(super) fn status_of(
        &self,
        begun: Result<Started<'_>, process::Error>,
        dir: &Path,
        clock: &Clock,
    ) -> Result<Status, Error> {
        let begun = begun?;
        let bytes_max = begun.call().output_bytes_max;
        let mut output = answered(begun.end()?, &STATUS)?;
        if output.is_truncated {
            let folded = self.status_call(dir, UNTRACKED_FOLDED, clock, bytes_max);
            output = answered(folded.run()?, &STATUS)?;
        }
        if output.is_truncated {
            return Err(too_long(&STATUS, bytes_max));
        }
        Status::parse(&output.stdout)
    }

    pub(super) fn status_call(
        &self,
        dir: &Path,
        untracked: &str,
        clock: &Clock,
        bytes_max: usize,
    ) -> Call {
        let mut call = self.call(dir, clock).args(STATUS).arg(untracked);
        call.output_bytes_max = bytes_max;
        call
    }

    /// The git program's answer, or libgit2's where there is no such program.
    pub(super) fn or_approximate(
        &self,
        answer: Result<Status, Error>,
        found: &Found,
    ) -> Result<Status, Error> {
        match (answer, &found.repository) {
            (Err(Error::Process(process::Error::NotFound { .. })), Some(repository)) => {
                library::approximate_status(repository).map_err(|source| self.library(source))
            }
            (answer, _) => answer,
        }
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
    /// That a tree is clean has to be said, so an answer that was cut short is none. (A cut right
    /// between two changes cannot be seen: git does not mark the end.)
    pub(super) fn parse(bytes: &[u8]) -> Result<Status, Error> {
        let cut = || Error::Cut {
            command: command(&STATUS),
        };
        let records = bytes.strip_suffix(b"\0").ok_or_else(cut)?;
        let mut missing = HEADERS.to_vec();
        let mut status = Status::default();
        for record in records.split(|byte| *byte == 0) {
            if status.take(record).is_none() {
                return Err(Error::Garbled {
                    command: command(&STATUS),
                    record: String::from_utf8_lossy(record).into_owned(),
                });
            }
            missing.retain(|header| !record.starts_with(header));
        }
        if missing.is_empty() {
            Ok(status)
        } else {
            Err(cut())
        }
    }

    /// Takes in one record, or says by returning nothing that it is none.
    fn take(&mut self, record: &[u8]) -> Option<()> {
        let (kind, rest) = record.split_at_checked(2)?;
        match kind {
            b"# " => self.take_header(&String::from_utf8_lossy(rest)),
            // XY, submodule, three modes (of HEAD, index and work tree), two ids, path.
            b"1 " => {
                let fields = fields::<8>(rest)?;
                let entry = Entry {
                    kind: changed(fields[1], fields[4]),
                    staged: staged(fields[0], fields[3], fields[6]),
                };
                self.insert(fields[7], entry);
            }
            // XY, submodule, four modes (the last is the work tree's), three ids, path.
            b"u " => {
                let fields = fields::<10>(rest)?;
                self.insert(fields[9], changed(fields[1], fields[5]).into());
            }
            b"? " if !rest.is_empty() => self.insert(rest, EntryKind::Untracked.into()),
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

    /// A file that was taken out of the index and left on disk is named twice, and is tracked.
    pub(super) fn insert(&mut self, path: &[u8], entry: Entry) {
        let path = path.strip_suffix(b"/").unwrap_or(path).to_vec();
        let former = self.entries.remove(&path).map(|entry| entry.kind);
        let entry = match (former, &entry.kind) {
            (Some(EntryKind::Deleted), EntryKind::Untracked) => {
                EntryKind::Tracked(Mode::AsOnDisk).into()
            }
            (_, _) => entry,
        };
        self.entries.insert(path, entry);
    }
}

/// The parts of a record, the path at its end with whatever is in it.
fn fields<const COUNT: usize>(rest: &[u8]) -> Option<[&[u8]; COUNT]> {
    let found: Vec<&[u8]> = rest.splitn(COUNT, |byte| *byte == b' ').collect();
    let has_path = found.last().is_some_and(|path| !path.is_empty());
    found.try_into().ok().filter(|_| has_path)
}

/// By the submodule's flags and the mode in the work tree.
fn changed(flags: &[u8], mode: &[u8]) -> EntryKind {
    match (flags, mode) {
        (_, b"000000") => EntryKind::Deleted,
        (flags, _) if flags.starts_with(b"S") => {
            EntryKind::Submodule(String::from_utf8_lossy(flags).into_owned())
        }
        (_, b"100755") => EntryKind::Tracked(Mode::Executable),
        (_, _) => EntryKind::Tracked(Mode::Plain),
    }
}

/// By how the index differs from HEAD and the work tree from the index: what equals one of the
/// two is not the index's own.
fn staged(differs: &[u8], mode: &[u8], id: &[u8]) -> Option<String> {
    let text = |bytes| String::from_utf8_lossy(bytes);
    let is_its_own = !differs.contains(&b'.');
    is_its_own.then(|| format!("{} {}", text(mode), text(id)))
}
