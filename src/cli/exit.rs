//! How a command ends. Agents read 2 from a hook as "block", so no variant has it.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, allowed, fine.
    Fine = 0,
    /// Not done, or refused.
    NotDone = 1,
    /// A sensor failed and nothing can be concluded.
    Unknown = 4,
    /// Wrong usage or configuration.
    Usage = 64,
    /// A fault of our own.
    Internal = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
