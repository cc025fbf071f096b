//! Coding agents: what they tell a hook, and the answers they understand.

mod claude;
pub mod run_tasks;
mod scope;
pub mod settings;

use std::path::PathBuf;

use super::store::{Places, Signposts};
use crate::kernel::ledger::PromptKind;
use crate::kernel::snapshot::Stop;

pub use claude::Claude;
pub use scope::Scope;

/// One agent's dialect.
pub trait Agent: Send + Sync {
    /// What a hook was told, as far as it can be understood.
    fn read(&self, input: &[u8], ambient: &Ambient) -> Event;
    /// The answer as the bytes for stdout; nothing at all to let things take their course.
    fn answer(&self, answer: &Answer) -> String;
    /// The session that this process runs inside, if an agent started it.
    fn session_inside(&self, ambient: &Ambient) -> Option<String>;
    /// Whether an agent started this process, even if the session cannot be told.
    fn is_around(&self, ambient: &Ambient) -> bool;
    /// Where somebody stands: in the directory of this process, and in the project of the agent
    /// that started it.
    fn places(&self, ambient: &Ambient) -> Places;
}

/// The environment as the agent left it to its hook.
#[derive(Clone, Debug, Default)]
pub struct Ambient {
    pub variables: Vec<(String, String)>,
    pub cwd: Option<PathBuf>,
    /// The user's own, if there is a place for them.
    pub signposts: Option<Signposts>,
}

impl Ambient {
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }
}

/// Any event of a session. What the agent did not say is missing.
#[derive(Clone, Debug, Default)]
pub struct Event {
    pub session: Option<String>,
    /// Where the agent is: the hook's directory, its project, what it says itself.
    pub places: Places,
    pub transcript: Option<PathBuf>,
    pub stop: Stop,
    /// The agent's last message, where the event carries it.
    pub last_words: Option<String>,
    /// It goes on because of a hook already.
    pub stop_hook_active: bool,
    pub prompt: Option<Typed>,
    /// A command is about to be expanded: the same prompt is, or was, reported by itself as well.
    pub is_expansion: bool,
    pub began: Option<Began>,
    /// What was wrong with the input.
    pub fault: Option<String>,
}

/// A prompt as it came in. Its text is looked at and forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub kind: PromptKind,
    /// What follows the command, for the one that arms a run.
    pub arguments: Option<String>,
    /// A fingerprint of all of it.
    pub words: String,
}

/// How a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    Fresh,
    /// With a context of its own past: resumed or compacted.
    Continued,
}

/// What a hook has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Silence,
    /// A line for the person.
    Tell(String),
    /// The agent goes on, with this.
    Block {
        reason: String,
        tell: Option<String>,
    },
    /// Context for a session that begins.
    Context {
        context: String,
        tell: Option<String>,
    },
}
