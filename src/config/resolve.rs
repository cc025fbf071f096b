//! Layers to policy: defaults, then the user's file, the project's, the environment, flags.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::file::{self, ExitOn, ExitsOn, StopHook, TrackerChoice, Workflow};
use super::parse::{self, Error, FILE_BYTES_MAX};
use crate::kernel::policy::{Exits, OnUserPrompt, Policy, WhenUnknown};

/// Where settings come from. The ambient is read by the caller.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The user's `config.toml`, whether or not it is there.
    pub user: Option<PathBuf>,
    /// The project's `project.yaml`, whether or not it is there.
    pub project: Option<PathBuf>,
    /// `BEADLOCK_…` variables.
    pub environment: Vec<(String, String)>,
    /// `key=value` from the command line.
    pub flags: Vec<String>,
    /// Where `BEADS_DIR` says that the tracker is.
    pub beads_dir: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Config {
    pub is_enabled: bool,
    pub policy: Policy,
    pub tracker: TrackerChoice,
    /// Where the project keeps prompts of its own.
    pub prompts: PathBuf,
}

const PROMPTS_DEFAULT: &str = ".beadlock/prompts";
const VARIABLE_PREFIX: &str = "BEADLOCK_";
const ENABLED: &str = "enabled";

impl Sources {
    pub fn resolve(&self) -> Result<Config, Error> {
        let user = self.user_workflow()?;
        let project = self.project_workflow()?;
        let tracker = project.tracker.or(user.tracker);
        let prompts = project.prompts.or(user.prompts);
        let files = project
            .stop_hook
            .unwrap_or_default()
            .over(user.stop_hook.unwrap_or_default());
        let stop_hook = self.flags()?.over(self.environment()?.over(files));
        Ok(Config {
            is_enabled: stop_hook.enabled.unwrap_or(true),
            policy: policy(&stop_hook, Policy::default()),
            tracker: tracker.unwrap_or(TrackerChoice::Auto),
            prompts: prompts.unwrap_or_else(|| PathBuf::from(PROMPTS_DEFAULT)),
        })
    }

    fn user_workflow(&self) -> Result<Workflow, Error> {
        let Some((path, text)) = read(self.user.as_deref())? else {
            return Ok(Workflow::default());
        };
        Ok(parse::user(&path, &text)?.workflow.unwrap_or_default())
    }

    fn project_workflow(&self) -> Result<Workflow, Error> {
        let Some((path, text)) = read(self.project.as_deref())? else {
            return Ok(Workflow::default());
        };
        Ok(parse::project(&path, &text)?.workflow.unwrap_or_default())
    }

    /// Other variables of ours (`BEADLOCK_DISABLE`, `BEADLOCK_RUN`) are no settings.
    fn environment(&self) -> Result<StopHook, Error> {
        self.environment_of(|key| StopHook::KEYS.contains(&key))
    }

    fn environment_of(&self, is_wanted: impl Fn(&str) -> bool) -> Result<StopHook, Error> {
        let mut layer = StopHook::default();
        for (name, value) in &self.environment {
            let key = name.strip_prefix(VARIABLE_PREFIX).unwrap_or(name);
            let key = key.to_ascii_lowercase();
            // An empty variable is an unset one, as everywhere.
            if is_wanted(&key) && !value.trim().is_empty() {
                layer = parse::setting(name, &key, value)?.over(layer);
            }
        }
        Ok(layer)
    }

    fn flags(&self) -> Result<StopHook, Error> {
        let mut layer = StopHook::default();
        for flag in &self.flags {
            let source_name = format!("--set {flag}");
            let Some((key, value)) = flag.split_once('=') else {
                return Err(Error {
                    source_name,
                    line: None,
                    what: "expected `key=value`".to_owned(),
                });
            };
            if key.trim() == ENABLED {
                return Err(Error {
                    source_name,
                    line: None,
                    what: "`enabled` is read afresh at every stop, so it cannot be set for a run; \
                           put it into `project.yaml`, or do not start the run"
                        .to_owned(),
                });
            }
            layer = parse::setting(&source_name, key.trim(), value)?.over(layer);
        }
        Ok(layer)
    }
}

/// The one key that is read afresh at every stop.
pub fn is_enabled(sources: &Sources) -> Result<bool, Error> {
    // A mistake in another variable must not keep this one from being heard.
    let environment = sources.environment_of(|key| key == ENABLED)?.enabled;
    if let Some(is_enabled) = environment {
        return Ok(is_enabled);
    }
    for path in [&sources.project, &sources.user] {
        if let Some((path, text)) = read(path.as_deref())?
            && let Some(is_enabled) = parse::switch(&path, &text)?.enabled()
        {
            return Ok(is_enabled);
        }
    }
    Ok(true)
}

/// A run's own policy with some settings changed, each as `key=value`.
pub fn with_settings(policy: Policy, settings: &[String]) -> Result<Policy, Error> {
    let sources = Sources {
        flags: settings.to_vec(),
        ..Sources::default()
    };
    Ok(self::policy(&sources.flags()?, policy))
}

fn policy(layer: &StopHook, default: Policy) -> Policy {
    let exits = match &layer.allow_exit_on {
        None => default.exits,
        Some(ExitsOn(listed)) => Exits {
            all_blocked: listed.contains(&ExitOn::AllBlocked),
            context_checkpoint: listed.contains(&ExitOn::ContextCheckpoint),
        },
    };
    Policy {
        check_ready_tasks: layer.check_ready_tasks.unwrap_or(default.check_ready_tasks),
        check_in_progress: layer.check_in_progress.unwrap_or(default.check_in_progress),
        check_git: layer.check_git.unwrap_or(default.check_git),
        max_cycles: layer.max_cycles.map_or(default.max_cycles, |n| n.0),
        no_progress_cycles: layer
            .no_progress_cycles
            .map_or(default.no_progress_cycles, |n| n.0),
        stale_after_minutes: layer
            .stale_after_minutes
            .map_or(default.stale_after_minutes, |n| n.0),
        when_unknown: match layer.when_unknown {
            None => default.when_unknown,
            Some(file::WhenUnknown::Hold) => WhenUnknown::Hold,
            Some(file::WhenUnknown::Allow) => WhenUnknown::Allow,
        },
        on_user_prompt: match layer.on_user_prompt {
            None => default.on_user_prompt,
            Some(file::OnUserPrompt::Release) => OnUserPrompt::Release,
            Some(file::OnUserPrompt::Hold) => OnUserPrompt::Hold,
        },
        exits,
        completion_promises: layer
            .completion_promises
            .clone()
            .unwrap_or(default.completion_promises),
    }
}

/// The file's text, or nothing where there is no such file.
fn read(path: Option<&Path>) -> Result<Option<(PathBuf, String)>, Error> {
    let Some(path) = path else { return Ok(None) };
    let failed = |what: String| Error {
        source_name: path.display().to_string(),
        line: None,
        what,
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if !metadata.is_file() {
        return Err(failed("is not a regular file".to_owned()));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(failed(format!("is larger than {FILE_BYTES_MAX} bytes")));
    }
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| failed(error.to_string()))?;
    Ok(Some((path.to_owned(), text)))
}
