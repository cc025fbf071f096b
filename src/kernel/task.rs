//! Tasks as any tracker has them. What the ties between them say is worked out in `graph`, and
//! how an epic stands in `epic`.

mod epic;
mod graph;

use std::borrow::Borrow;
use std::fmt;

use smol_str::SmolStr;

use super::moment::Moment;
pub use epic::{BLOCKERS_NAMED_MAX, Cause, Counts, Epic, EpicTask, Stage};
pub use graph::Graph;

/// Ids are short and copied all over; up to 23 bytes of them need no memory of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(SmolStr);

impl TaskId {
    pub fn new(id: impl Into<SmolStr>) -> Self {
        TaskId(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id can stand in a prompt or on a command line as it is.
    pub fn is_plain(&self) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        self.0.len() <= Self::PLAIN_BYTES_MAX
            && self.0.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.0.chars().all(plain)
    }

    /// Longer ids are never quoted in full; bd's own stay well under this.
    pub const PLAIN_BYTES_MAX: usize = 48;

    /// Whether bd takes both ids for the same workspace's. Since 1.3 no other one's blocks.
    pub fn shares_workspace(&self, other: &TaskId) -> bool {
        self.prefix() == other.prefix()
    }

    /// What the branch is called on which a worker does this task. Where an id cannot be part of
    /// a branch's name, there is no such branch.
    pub fn branch(&self) -> String {
        format!("{}{self}", Self::BRANCH_PREFIX)
    }

    /// What every task's branch begins with.
    pub const BRANCH_PREFIX: &str = "agent-";

    /// Whether the id says to which workspace it belongs.
    pub fn has_prefix(&self) -> bool {
        self.prefix().len() < self.0.len()
    }

    /// bd reads the text before the first dash as the workspace an id belongs to.
    fn prefix(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for TaskId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for TaskId {
    fn from(id: &str) -> Self {
        TaskId(id.into())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
    InProgress,
    /// In progress under a worker's own hook; bd's word for it.
    Hooked,
    Blocked,
    Deferred,
    Closed,
    Pinned,
    /// Deleted, but still mentioned in the file.
    Tombstone,
    /// A status that the project invented. Only a person knows what it means.
    Other(Box<str>),
}

impl Status {
    pub fn parse(name: &str) -> Status {
        match name {
            "open" => Status::Open,
            "in_progress" => Status::InProgress,
            "hooked" => Status::Hooked,
            "blocked" => Status::Blocked,
            "deferred" => Status::Deferred,
            "closed" => Status::Closed,
            "pinned" => Status::Pinned,
            "tombstone" => Status::Tombstone,
            other => Status::Other(other.into()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Status::Open => "open",
            Status::InProgress => "in_progress",
            Status::Hooked => "hooked",
            Status::Blocked => "blocked",
            Status::Deferred => "deferred",
            Status::Closed => "closed",
            Status::Pinned => "pinned",
            Status::Tombstone => "tombstone",
            Status::Other(name) => name,
        }
    }

    /// The statuses that bd knows without being told.
    pub const NAMES: [&str; 7] = [
        "open",
        "in_progress",
        "hooked",
        "blocked",
        "deferred",
        "closed",
        "pinned",
    ];

    /// An inactive task blocks nobody and is blocked by nobody.
    fn is_active(&self) -> bool {
        !matches!(self, Status::Closed | Status::Pinned)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything a worker does.
    Work,
    Epic,
    /// Waits for an event or a person; blocks others, is no task itself.
    Gate,
    /// bd's own machinery (merge requests, molecules, agents, …): never offered as ready.
    Workflow,
}

impl Kind {
    pub fn parse(name: &str) -> Kind {
        match name {
            "epic" => Kind::Epic,
            "gate" => Kind::Gate,
            "merge-request" | "molecule" | "rig" | "agent" | "role" | "message" => Kind::Workflow,
            _ => Kind::Work,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Blocks,
    ConditionalBlocks,
    ParentChild,
    /// Waits for the target's children, or with `also_blocks` for the target too.
    WaitsFor {
        any_child: bool,
        also_blocks: bool,
    },
    /// Related, discovered-from and the like: no bearing on readiness.
    Loose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub target: TaskId,
    pub kind: EdgeKind,
}

/// Who works on a task, and until when their word is good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub actor: String,
    pub since: Option<Moment>,
    pub lease_until: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub status: Status,
    pub kind: Kind,
    pub priority: u8,
    pub pinned: bool,
    pub ephemeral: bool,
    pub template: bool,
    pub defer_until: Option<Moment>,
    pub claim: Option<Claim>,
    pub edges: Vec<Edge>,
}

impl Task {
    /// An open piece of work without any ties: what most tasks are to begin with.
    pub fn open(id: impl Into<TaskId>) -> Task {
        Task {
            id: id.into(),
            title: String::new(),
            status: Status::Open,
            kind: Kind::Work,
            priority: 2,
            pinned: false,
            ephemeral: false,
            template: false,
            defer_until: None,
            claim: None,
            edges: Vec::new(),
        }
    }

    fn is_deferred(&self, now: Moment) -> bool {
        self.defer_until.is_some_and(|until| until > now)
    }
}
