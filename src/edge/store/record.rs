//! The record of one stop: what was read, what was decided, and why. Versioned, append-only.

use serde::{Deserialize, Serialize};

pub const RECORD_VERSION: u32 = 2;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    pub version: u32,
    pub at_ms: i64,
    pub session: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prompt: Option<String>,
    pub row: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub brake: Option<String>,
    /// `allow` or `block`.
    pub answer: String,
    pub reason: String,
    pub cycle: u32,
    /// The agent says that it is going on because of a hook already. Kept, never counted by.
    pub stop_hook_active: bool,
    /// What the person was shown, if anything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told: Option<Told>,
    /// What was read, in the order in which it was answered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub readings: Vec<ReadingTime>,
    /// Sensors that failed, and other trouble on the way to the answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tasks: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub git: Option<serde_json::Value>,
    /// The end of the agent's last message.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub said: String,
}

/// When a sensor answered, seen from the verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadingTime {
    pub sensor: String,
    pub age_ms: u64,
    pub took_ms: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    pub text: String,
}

impl Record {
    /// How much of the agent's last message is kept.
    pub const SAID_BYTES_MAX: usize = 1024;
}
