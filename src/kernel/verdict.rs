//! The answer to a stop: what the facts say, what the limits made of it, and what becomes of the run.

use super::ledger::{Outcome, Run};
use super::snapshot::Fault;
use super::task::{Cause, TaskId};

/// The row of the decision table that decided. Numbers are those of the published table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    Disabled = 1,
    Idle = 2,
    Corrupt = 3,
    SwitchedOff = 4,
    Resting = 5,
    Stale = 6,
    Planning = 7,
    Conversation = 8,
    Escalation = 9,
    Checkpoint = 10,
    TrackerUnknown = 11,
    ScopeShrunk = 12,
    Empty = 13,
    Ready = 14,
    InProgress = 15,
    AllBlocked = 16,
    Deadlocked = 17,
    Unchecked = 18,
    GitUnknown = 19,
    Unsaved = 20,
    // 21 is the gates' place.
    Complete = 22,
}

impl Row {
    pub const ALL: [Row; 21] = [
        Row::Disabled,
        Row::Idle,
        Row::Corrupt,
        Row::SwitchedOff,
        Row::Resting,
        Row::Stale,
        Row::Planning,
        Row::Conversation,
        Row::Escalation,
        Row::Checkpoint,
        Row::TrackerUnknown,
        Row::ScopeShrunk,
        Row::Empty,
        Row::Ready,
        Row::InProgress,
        Row::AllBlocked,
        Row::Deadlocked,
        Row::Unchecked,
        Row::GitUnknown,
        Row::Unsaved,
        Row::Complete,
    ];

    pub fn from_number(number: u8) -> Option<Row> {
        Row::ALL.into_iter().find(|row| *row as u8 == number)
    }

    /// Rows 9 and up judge the work; a stop decided there is a cycle.
    pub fn is_judged(self) -> bool {
        self >= Row::Escalation
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brake {
    MaxCycles,
    // The budget's place is between these two.
    NoProgress,
    Background,
    Unrecorded,
}

impl Brake {
    pub fn name(self) -> &'static str {
        match self {
            Brake::MaxCycles => "max_cycles",
            Brake::NoProgress => "no_progress",
            Brake::Background => "background",
            Brake::Unrecorded => "unrecorded",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow(Allow),
    Block(Block),
}

impl Answer {
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Allow(allow) => allow.name(),
            Answer::Block(block) => block.name(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allow {
    Disabled {
        /// The person does not know yet.
        is_news: bool,
    },
    Idle,
    Corrupt(Fault),
    /// The run waits, is stale, paused or over.
    Resting,
    Stale,
    Planning,
    Conversation,
    NeedsHuman(Need),
    Checkpoint {
        git: SavedWork,
    },
    Unknown(Fault),
    Empty,
    Deadlocked(Vec<TaskId>),
    Unchecked(Vec<TaskId>),
    Complete {
        /// They were asked for once, and the agent left them.
        new_files: Vec<String>,
    },
    MaxCycles,
    NoProgress,
    Background(Vec<String>),
    Unrecorded(Fault),
}

/// What a person has to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The agent's own words.
    Said { tag: String, lines: Vec<String> },
    /// Every remaining task and what it waits for.
    Blocked(Vec<(TaskId, Stuck)>),
    /// Tasks that were there and are gone.
    Shrunk(Vec<TaskId>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    Cause(Cause),
    HeldBy(String),
}

/// What is known of the work tree at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedWork {
    Saved,
    /// It was asked for twice and is still there.
    Unsaved(Vec<String>),
    Unknown(Fault),
    Unchecked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    UnsavedWork(Unsaved),
    Unknown(Fault),
    ScopeShrunk(Vec<TaskId>),
    OpenWork(Ready),
    FalsePromise(Ready),
    InProgress {
        tasks: Vec<TaskId>,
        /// Those of them that nobody alive works on.
        stuck: Vec<TaskId>,
    },
    BlockedWork(Vec<TaskId>),
}

/// What can be worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    pub tasks: Vec<TaskId>,
    /// Those of them that are epics with nothing open below: trackers name them in no list of work.
    pub epics: Vec<TaskId>,
}

/// What git still has to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsaved {
    /// A merge, rebase or the like in the middle.
    Unfinished(String),
    Changed(Vec<String>),
    /// Only files that git does not know yet.
    New(Vec<String>),
    /// Task branches that were never merged.
    Branches(Vec<String>),
}

impl Allow {
    pub const NAMES: [&str; 18] = [
        "disabled",
        "idle",
        "corrupt",
        "resting",
        "stale",
        "planning",
        "conversation",
        "needs_human",
        "checkpoint",
        "unknown",
        "empty",
        "deadlocked",
        "unchecked",
        "complete",
        "max_cycles",
        "no_progress",
        "background",
        "unrecorded",
    ];

    pub fn name(&self) -> &'static str {
        match self {
            Allow::Disabled { .. } => "disabled",
            Allow::Idle => "idle",
            Allow::Corrupt(_) => "corrupt",
            Allow::Resting => "resting",
            Allow::Stale => "stale",
            Allow::Planning => "planning",
            Allow::Conversation => "conversation",
            Allow::NeedsHuman(_) => "needs_human",
            Allow::Checkpoint { .. } => "checkpoint",
            Allow::Unknown(_) => "unknown",
            Allow::Empty => "empty",
            Allow::Deadlocked(_) => "deadlocked",
            Allow::Unchecked(_) => "unchecked",
            Allow::Complete { .. } => "complete",
            Allow::MaxCycles => "max_cycles",
            Allow::NoProgress => "no_progress",
            Allow::Background(_) => "background",
            Allow::Unrecorded(_) => "unrecorded",
        }
    }

    /// What becomes of the run.
    pub fn after(&self) -> After {
        match self {
            Allow::Disabled { .. } | Allow::Idle | Allow::Corrupt(_) | Allow::Resting => {
                After::AsItIs
            }
            Allow::Stale => After::Stale,
            Allow::Planning | Allow::Conversation => After::GoesOn,
            Allow::NeedsHuman(_) => After::Waits(Outcome::NeedsHuman),
            Allow::Checkpoint { .. } => After::Waits(Outcome::Checkpoint),
            Allow::Unknown(_) => After::GoesOn,
            Allow::Empty => After::Ends(Outcome::Empty),
            Allow::Deadlocked(_) => After::Waits(Outcome::Deadlocked),
            Allow::Unchecked(_) => After::Ends(Outcome::Unchecked),
            Allow::Complete { .. } => After::Ends(Outcome::Complete),
            Allow::MaxCycles => After::Ends(Outcome::MaxCycles),
            Allow::NoProgress => After::Waits(Outcome::NoProgress),
            Allow::Background(_) => After::GoesOn,
            Allow::Unrecorded(_) => After::AsItIs,
        }
    }
}

impl Block {
    pub const NAMES: [&str; 7] = [
        "unsaved_work",
        "unknown",
        "scope_shrunk",
        "open_work",
        "false_promise",
        "in_progress",
        "blocked_work",
    ];

    pub fn name(&self) -> &'static str {
        match self {
            Block::UnsavedWork(_) => "unsaved_work",
            Block::Unknown(_) => "unknown",
            Block::ScopeShrunk(_) => "scope_shrunk",
            Block::OpenWork(_) => "open_work",
            Block::FalsePromise(_) => "false_promise",
            Block::InProgress { .. } => "in_progress",
            Block::BlockedWork(_) => "blocked_work",
        }
    }
}

/// What becomes of a run after a stop was let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    AsItIs,
    GoesOn,
    Waits(Outcome),
    Stale,
    Ends(Outcome),
}

/// What the facts say, before any limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub row: Row,
    pub answer: Answer,
}

/// What is answered, and the run to keep.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub row: Row,
    pub brake: Option<Brake>,
    pub answer: Answer,
    /// The run after this stop, where there is one.
    pub run: Option<Run>,
}

impl Verdict {
    /// What a failure to record makes of it (brake e): a block that nobody counted is withdrawn.
    /// What was let go stays let go, but the run is what the store still says.
    #[must_use]
    pub fn unrecorded(self, fault: Fault) -> Verdict {
        match self.answer {
            Answer::Allow(_) => Verdict { run: None, ..self },
            Answer::Block(_) => Verdict {
                brake: Some(Brake::Unrecorded),
                answer: Answer::Allow(Allow::Unrecorded(fault)),
                run: None,
                ..self
            },
        }
    }
}
