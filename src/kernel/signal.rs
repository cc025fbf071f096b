//! Promises out of an agent's words.

/// What an agent's last message says about its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// It is blocked, or asks for a person.
    pub escalation: Option<Escalation>,
    /// It asks for a fresh context.
    pub is_checkpoint: bool,
    /// It says that the work is complete.
    pub claim: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    pub tag: String,
    /// What it said after the tag.
    pub lines: Vec<String>,
}
