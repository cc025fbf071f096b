//! Limits and leanings: what a project wants held, and how hard. Fixed when a run starts.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub check_ready_tasks: bool,
    pub check_in_progress: bool,
    pub check_git: bool,
    pub max_cycles: u32,
    pub no_progress_cycles: u32,
    pub stale_after_minutes: u32,
    pub when_unknown: WhenUnknown,
    pub on_user_prompt: OnUserPrompt,
    pub exits: Exits,
    /// Texts that count as a completion claim, without the tag around them.
    pub completion_promises: Vec<String>,
}

/// What to do while a sensor does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenUnknown {
    Hold,
    Allow,
}

/// What a person's own question in the middle of a run does to the stop that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUserPrompt {
    Release,
    Hold,
}

/// The ways out that a project may switch off. That all is complete always lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exits {
    pub all_blocked: bool,
    pub context_checkpoint: bool,
}

/// The range of both cycle limits.
pub const CYCLES_MIN: u32 = 1;
pub const CYCLES_MAX: u32 = 1000;

impl Policy {
    pub fn stale_after_millis(&self) -> i64 {
        i64::from(self.stale_after_minutes) * 60_000
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            check_ready_tasks: true,
            check_in_progress: true,
            check_git: true,
            max_cycles: 50,
            no_progress_cycles: 5,
            stale_after_minutes: 120,
            when_unknown: WhenUnknown::Hold,
            on_user_prompt: OnUserPrompt::Release,
            exits: Exits {
                all_blocked: true,
                context_checkpoint: true,
            },
            completion_promises: vec!["ALL TASKS COMPLETE".into(), "EPIC COMPLETE".into()],
        }
    }
}
