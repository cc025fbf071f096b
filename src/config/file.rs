//! The files as they are written: `project.yaml`, whose section `workflow` is ours, and the
//! user's `config.toml`. Every key is optional; what is missing is another layer's business.

use std::path::PathBuf;

use serde::Deserialize;

use crate::kernel::policy::{CYCLES_MAX, CYCLES_MIN};

/// `project.yaml` has other owners: only `workflow` is looked at.
#[derive(Debug, Default, Deserialize)]
pub struct Project {
    pub workflow: Option<Workflow>,
}

/// The one key that is read at every stop. Whoever switches everything off must be heard, even
/// if something else in the file is wrong.
#[derive(Debug, Default, Deserialize)]
pub struct Switch {
    workflow: Option<SwitchWorkflow>,
}

#[derive(Debug, Deserialize)]
struct SwitchWorkflow {
    stop_hook: Option<SwitchHook>,
}

#[derive(Debug, Deserialize)]
struct SwitchHook {
    enabled: Option<bool>,
}

impl Switch {
    pub fn enabled(&self) -> Option<bool> {
        self.workflow.as_ref()?.stop_hook.as_ref()?.enabled
    }
}

/// `config.toml` is all ours.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    pub workflow: Option<Workflow>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    pub tracker: Option<TrackerChoice>,
    pub prompts: Option<PathBuf>,
    pub stop_hook: Option<StopHook>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackerChoice {
    Auto,
    Bd,
    Jsonl,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopHook {
    pub enabled: Option<bool>,
    pub check_ready_tasks: Option<bool>,
    pub check_in_progress: Option<bool>,
    pub check_git: Option<bool>,
    pub max_cycles: Option<Cycles>,
    pub no_progress_cycles: Option<Cycles>,
    pub stale_after_minutes: Option<Minutes>,
    pub when_unknown: Option<WhenUnknown>,
    pub on_user_prompt: Option<OnUserPrompt>,
    pub allow_exit_on: Option<ExitsOn>,
    pub completion_promises: Option<Vec<String>>,
}

impl StopHook {
    /// The keys by name, for the environment and for `--set`.
    pub const KEYS: [&str; 11] = [
        "enabled",
        "check_ready_tasks",
        "check_in_progress",
        "check_git",
        "max_cycles",
        "no_progress_cycles",
        "stale_after_minutes",
        "when_unknown",
        "on_user_prompt",
        "allow_exit_on",
        "completion_promises",
    ];

    /// Those that take several values, separated by commas on a command line.
    pub const LISTS: [&str; 2] = ["allow_exit_on", "completion_promises"];

    /// These keys where they are set, the other layer's where they are not.
    #[must_use]
    pub fn over(self, lower: StopHook) -> StopHook {
        StopHook {
            enabled: self.enabled.or(lower.enabled),
            check_ready_tasks: self.check_ready_tasks.or(lower.check_ready_tasks),
            check_in_progress: self.check_in_progress.or(lower.check_in_progress),
            check_git: self.check_git.or(lower.check_git),
            max_cycles: self.max_cycles.or(lower.max_cycles),
            no_progress_cycles: self.no_progress_cycles.or(lower.no_progress_cycles),
            stale_after_minutes: self.stale_after_minutes.or(lower.stale_after_minutes),
            when_unknown: self.when_unknown.or(lower.when_unknown),
            on_user_prompt: self.on_user_prompt.or(lower.on_user_prompt),
            allow_exit_on: self.allow_exit_on.or(lower.allow_exit_on),
            completion_promises: self.completion_promises.or(lower.completion_promises),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u32")]
pub struct Cycles(pub u32);

impl TryFrom<u32> for Cycles {
    type Error = String;

    fn try_from(cycles: u32) -> Result<Self, String> {
        if (CYCLES_MIN..=CYCLES_MAX).contains(&cycles) {
            Ok(Cycles(cycles))
        } else {
            Err(format!(
                "`{cycles}` is not between {CYCLES_MIN} and {CYCLES_MAX}"
            ))
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u32")]
pub struct Minutes(pub u32);

impl TryFrom<u32> for Minutes {
    type Error = String;

    fn try_from(minutes: u32) -> Result<Self, String> {
        if minutes > 0 {
            Ok(Minutes(minutes))
        } else {
            Err("`0` minutes would make every run stale at once".to_owned())
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenUnknown {
    Hold,
    Allow,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUserPrompt {
    Release,
    Hold,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<ExitOn>")]
pub struct ExitsOn(pub Vec<ExitOn>);

impl TryFrom<Vec<ExitOn>> for ExitsOn {
    type Error = String;

    fn try_from(listed: Vec<ExitOn>) -> Result<Self, String> {
        if listed.contains(&ExitOn::AllComplete) {
            Ok(ExitsOn(listed))
        } else {
            Err("`allow_exit_on` must list `all_complete`: \
                 without it no work would ever be over"
                .to_owned())
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitOn {
    AllComplete,
    AllBlocked,
    ContextCheckpoint,
}
