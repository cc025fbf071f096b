//! `project.yaml` and `config.toml`, the environment and flags, resolved to one policy.

mod file;
mod parse;
mod resolve;

pub use file::{StopHook, TrackerChoice};
pub use parse::Error;
pub use resolve::{Config, Sources, is_enabled, with_settings};
