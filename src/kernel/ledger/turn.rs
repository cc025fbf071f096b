//! A turn of the agent, and the prompt that began it.

use super::Fingerprint;
use crate::kernel::moment::Moment;

/// The agent's own name for a prompt; the same in every event of one turn.
pub type PromptId = String;

/// The agent's time from a prompt (or the run's start) to the stop that is let go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Claims made since then are this run's, whatever name they carry. The turn's beginning, or
    /// that of an earlier turn whose claims nobody has looked at yet.
    pub claims_since: Moment,
    pub prompt: Option<Prompt>,
    /// A stop of this turn was judged already.
    pub is_judged: bool,
    /// Blocks in this turn; back to none once it is let go.
    pub blocks: u32,
    /// It was let go, and the tasks were read then.
    pub is_settled: bool,
}

impl Turn {
    pub fn begun(now: Moment, prompt: Option<Prompt>) -> Turn {
        Turn {
            claims_since: now,
            prompt,
            is_judged: false,
            blocks: 0,
            is_settled: false,
        }
    }

    pub(super) fn next(&self, now: Moment, prompt: Option<Prompt>) -> Turn {
        let mut next = Turn::begun(now, prompt);
        if !self.is_settled {
            next.claims_since = self.claims_since;
        }
        next
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub id: Option<PromptId>,
    pub kind: PromptKind,
    /// Milliseconds between the run's event before it and this prompt.
    pub quiet_before: i64,
    /// It woke the run.
    pub woke: bool,
    /// The first prompt of the run: its marching orders.
    pub is_first: bool,
    pub before: Fingerprint,
}

/// A prompt as a hook reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub id: Option<PromptId>,
    pub kind: PromptKind,
    pub is_interactive: bool,
    pub before: Fingerprint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// Words that somebody typed.
    Person,
    /// A command that somebody typed.
    Command,
    /// The command that arms a run.
    RunTasks,
    /// The agent's own machinery: a background task that came to its end.
    Machine,
    /// No hook reported it; it is dated by its first stop.
    Unreported,
}

impl PromptKind {
    pub const ALL: [PromptKind; 5] = [
        PromptKind::Person,
        PromptKind::Command,
        PromptKind::RunTasks,
        PromptKind::Machine,
        PromptKind::Unreported,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PromptKind::Person => "person",
            PromptKind::Command => "command",
            PromptKind::RunTasks => "run_tasks",
            PromptKind::Machine => "machine",
            PromptKind::Unreported => "unreported",
        }
    }

    pub fn is_typed(self) -> bool {
        match self {
            PromptKind::Person | PromptKind::Command | PromptKind::RunTasks => true,
            PromptKind::Machine | PromptKind::Unreported => false,
        }
    }
}
