//! Where tasks live: one trait, one adapter per kind of tracker, and the choice between them.
//! Which tasks are ready is not decided here; a tracker only says what is written down.

pub mod bd;
mod error;
pub mod jsonl;
mod memory;
mod row;
mod stamp;
mod workspace;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use super::process::WhenLate;
pub use error::Error;
pub use memory::Memory;
pub use workspace::{Owner, Workspace, at_folder, find, locate};

use crate::kernel::moment::Moment;
use crate::kernel::task::{Task, TaskId};

/// A place where tasks are kept. Claims are leases in the tracker itself, so that several
/// machines that share one agree on who works on what.
pub trait Tracker: Send + Sync {
    fn kind(&self) -> Kind;

    /// Every task, whatever its status. What cannot be read is an error, never an empty list.
    fn tasks(&self, patience: Patience) -> Result<List, Error>;

    /// Equal tokens: nothing has changed in between. Nothing: this tracker cannot tell just now.
    fn token(&self) -> Option<Token>;

    /// Whether asking is so slow that a list is worth keeping for as long as its token is good.
    fn is_slow(&self) -> bool;

    /// The program that answers, told from other builds of it; nothing where there is none.
    fn program(&self) -> Option<String>;

    /// What the tracker itself calls ready below an epic; nothing where it has no say of its own.
    fn own_ready(&self, epic: &TaskId, patience: Patience) -> Result<Option<Vec<TaskId>>, Error>;

    /// Takes a task for `actor` until the lease ends; taking one's own again renews the lease.
    fn claim(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error>;

    /// Renews the lease on a task that `actor` holds.
    fn heartbeat(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error>;

    /// Gives a task back, so that anybody can take it.
    fn release(
        &self,
        id: &TaskId,
        actor: &str,
        now: Moment,
        note: Option<&str>,
    ) -> Result<(), Error>;

    fn note(&self, id: &TaskId, text: &str, actor: &str, now: Moment) -> Result<(), Error>;

    /// Closes a task. A closed one stays as it is: the first reason counts.
    fn close(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        actor: &str,
        now: Moment,
    ) -> Result<(), Error>;

    /// Marks a task as one that only a person can move on.
    fn block(&self, id: &TaskId, reason: &str, actor: &str, now: Moment) -> Result<(), Error>;

    fn commands(&self) -> Commands;

    fn files(&self) -> Files;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bd,
    Jsonl,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Bd, Kind::Jsonl];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Bd => "bd",
            Kind::Jsonl => "jsonl",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KindChoice {
    /// Whatever the workspace's own files say.
    #[default]
    Auto,
    Named(Kind),
}

/// How long a reading may take, and what becomes of a program that takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub deadline: Duration,
    pub when_late: WhenLate,
}

/// Tasks as they were read, all at one moment.
#[derive(Clone, Debug)]
pub struct List {
    pub tasks: Vec<Task>,
    /// Good for as long as the tracker's token is the same.
    pub token: Option<Token>,
}

/// Says whether a tracker has changed. It can be kept, and compared by another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The command lines that an agent works with, for the prompt. `EPIC`, `ID` and `TEXT` stand for
/// what the agent fills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    pub ready: String,
    pub claim: String,
    pub close: String,
    pub block: String,
}

/// What a tracker keeps in the work tree, for those who look for unsaved work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The file that is the tracker. If git tracks it, a change in it is work.
    pub tracker_file: Option<PathBuf>,
    /// Folders in which nothing is ever work.
    pub not_work: Vec<PathBuf>,
    /// What the paths of its own locks and temporary files begin with; a killed writer leaves such.
    pub temporary: Option<PathBuf>,
}

/// The tracker of a workspace. PATH has no say in it: a binary that happens to be installed
/// says nothing about who wrote these files.
pub fn open(workspace: &Workspace, choice: KindChoice) -> Result<Arc<dyn Tracker>, Error> {
    match choose(workspace, choice)? {
        Kind::Bd => Ok(Arc::new(bd::Bd::of(workspace))),
        Kind::Jsonl => Ok(Arc::new(jsonl::Jsonl::of(workspace))),
    }
}

/// The kind that `choice` means in this workspace.
pub fn choose(workspace: &Workspace, choice: KindChoice) -> Result<Kind, Error> {
    match (choice, &workspace.owner) {
        (KindChoice::Auto | KindChoice::Named(Kind::Jsonl), Owner::Jsonl | Owner::Nobody) => {
            Ok(Kind::Jsonl)
        }
        (KindChoice::Auto | KindChoice::Named(Kind::Bd), Owner::Bd { .. }) => Ok(Kind::Bd),
        // bd up to 0.49 leaves the same files as br, and only the person knows which it was.
        (KindChoice::Named(Kind::Bd), Owner::BdOrBr { .. }) => Ok(Kind::Bd),
        // Its file may be an export of any age; whatever was chosen, it is not the tracker.
        (KindChoice::Named(Kind::Jsonl), Owner::Bd { told_by } | Owner::BdOrBr { told_by })
        | (KindChoice::Auto, Owner::BdOrBr { told_by }) => Err(Error::Unsupported {
            owner: workspace.owner.tool(),
            told_by: told_by.clone(),
        }),
        // Made somewhere else than in this folder, or not yet: bd itself says which.
        (KindChoice::Named(Kind::Bd), Owner::Jsonl | Owner::Nobody) => Ok(Kind::Bd),
    }
}
