//! Where a run stands, and why.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Active,
    Waiting,
    Stale,
    Paused,
    Ended,
}

impl State {
    pub const ALL: [State; 5] = [
        State::Active,
        State::Waiting,
        State::Stale,
        State::Paused,
        State::Ended,
    ];

    pub fn name(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Waiting => "waiting",
            State::Stale => "stale",
            State::Paused => "paused",
            State::Ended => "ended",
        }
    }
}

/// Why a run waits, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    NeedsHuman,
    Deadlocked,
    Checkpoint,
    Empty,
    Unchecked,
    MaxCycles,
    NoProgress,
    /// A person ended it.
    Aborted,
    /// The agent ended it from inside.
    Abandoned,
    /// Another epic took its session.
    Replaced,
    /// Its session ended, failed or was cleared.
    SessionOver,
    /// A person paused it.
    Paused,
    /// The agent paused it from inside.
    PausedByAgent,
    Stale,
}

impl Outcome {
    pub const ALL: [Outcome; 15] = [
        Outcome::Complete,
        Outcome::NeedsHuman,
        Outcome::Deadlocked,
        Outcome::Checkpoint,
        Outcome::Empty,
        Outcome::Unchecked,
        Outcome::MaxCycles,
        Outcome::NoProgress,
        Outcome::Aborted,
        Outcome::Abandoned,
        Outcome::Replaced,
        Outcome::SessionOver,
        Outcome::Paused,
        Outcome::PausedByAgent,
        Outcome::Stale,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::NeedsHuman => "needs_human",
            Outcome::Deadlocked => "deadlocked",
            Outcome::Checkpoint => "checkpoint",
            Outcome::Empty => "empty",
            Outcome::Unchecked => "unchecked",
            Outcome::MaxCycles => "max_cycles",
            Outcome::NoProgress => "no_progress",
            Outcome::Aborted => "aborted",
            Outcome::Abandoned => "abandoned",
            Outcome::Replaced => "replaced",
            Outcome::SessionOver => "session_over",
            Outcome::Paused => "paused",
            Outcome::PausedByAgent => "paused_by_agent",
            Outcome::Stale => "stale",
        }
    }
}
