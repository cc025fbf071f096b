//! Claude Code's dialect, as observed on 2.1.197 and 2.1.327. It rejects `null` for an optional
//! field and every text beside its one JSON object, so an answer has just the keys it needs.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use super::super::surrogates;
use super::{Agent, Ambient, Answer, Began, Event, Typed};
use crate::edge::store::Places;
use crate::kernel::ledger::PromptKind;
use crate::kernel::snapshot::{Background, Stop};

pub struct Claude;

/// How many prompts of the agent's own are looked at, and how much of a hash tells them apart.
const SCHEDULED_MAX: usize = 100;
const WORDS_DIGITS: usize = 16;
/// How much of a background task's description is worth showing.
const LABEL_CHARS_MAX: usize = 80;
/// Background work beyond this is not told apart; nobody has so much of it.
const BACKGROUND_MAX: usize = 64;
const BACKGROUND_ID_CHARS_MAX: usize = 128;
/// What Claude Code leaves in the environment of everything that it starts.
const ENVIRONMENT: [&str; 5] = [
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_CHILD_SESSION",
    "AI_AGENT",
];
/// By these other agents that read Claude Code's settings name their own sessions and turns.
const FOREIGN: [&str; 4] = ["conversation_id", "generation_id", "sessionId", "turn_id"];
const NOTIFICATION: &str = "<task-notification>";
const RUN_TASKS: &str = "run-tasks";

impl Agent for Claude {
    fn read(&self, input: &[u8], ambient: &Ambient) -> Event {
        // Invalid UTF-8 in one field is no reason to lose the others.
        let text = String::from_utf8_lossy(input);
        let text = text.trim_start_matches('\u{feff}');
        let parsed = serde_json::from_str::<Value>(text);
        let parsed = parsed.or_else(|error| match surrogates::mended(text) {
            Some(mended) => serde_json::from_str(&mended),
            None => Err(error),
        });
        match parsed {
            Ok(Value::Object(fields)) => event(&Fields(fields), ambient, None),
            Ok(_) => event(
                &Fields::default(),
                ambient,
                Some("stdin is no JSON object".to_owned()),
            ),
            Err(error) => event(
                &Fields::default(),
                ambient,
                Some(format!("stdin could not be parsed: {error}")),
            ),
        }
    }

    fn answer(&self, answer: &Answer) -> String {
        let wire = match answer {
            Answer::Silence => return String::new(),
            Answer::Tell(tell) => Wire {
                system_message: Some(tell),
                ..Wire::default()
            },
            Answer::Block { reason, tell } => Wire {
                decision: Some("block"),
                reason: Some(reason),
                system_message: tell.as_deref(),
                ..Wire::default()
            },
            Answer::Context { context, tell } => Wire {
                hook_specific_output: Some(Specific {
                    hook_event_name: "SessionStart",
                    additional_context: context,
                }),
                system_message: tell.as_deref(),
                ..Wire::default()
            },
        };
        // Strings and optional strings always serialise.
        let mut line = serde_json::to_string(&wire).unwrap_or_default();
        line.push('\n');
        line
    }

    fn session_inside(&self, ambient: &Ambient) -> Option<String> {
        ambient
            .variable("CLAUDE_CODE_SESSION_ID")
            .map(str::to_owned)
    }

    fn is_around(&self, ambient: &Ambient) -> bool {
        ENVIRONMENT
            .iter()
            .any(|name| ambient.variable(name).is_some())
    }

    fn places(&self, ambient: &Ambient) -> Places {
        places(None, ambient)
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Specific<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Specific<'a> {
    hook_event_name: &'static str,
    additional_context: &'a str,
}

/// The payload, field by field: one of the wrong type is a missing one, not the end of the rest.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn text(&self, name: &str) -> Option<&str> {
        self.any_text(name).filter(|text| !text.is_empty())
    }

    fn any_text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

fn event(fields: &Fields, ambient: &Ambient, fault: Option<String>) -> Event {
    let named = fields.text("session_id").map(str::to_owned);
    let is_foreign = FOREIGN.iter().any(|name| fields.0.contains_key(*name));
    let nameless = || "the payload names no session".to_owned();
    let (session, fault) = match named {
        Some(session) => (Some(session), fault),
        None if is_foreign => (None, fault),
        // Without a readable payload the environment still names the session, so that a broken
        // pipe does not let an agent go.
        None => (
            Claude.session_inside(ambient),
            fault.or_else(|| Some(nameless())),
        ),
    };
    Event {
        session,
        places: places(fields.text("cwd"), ambient),
        transcript: fields.text("transcript_path").map(PathBuf::from),
        stop: Stop {
            is_sub_agent: fields.text("agent_id").is_some()
                || fields.text("hook_event_name") == Some("SubagentStop"),
            is_planning: fields.text("permission_mode") == Some("plan"),
            is_interactive: is_interactive(ambient),
            prompt: fields.text("prompt_id").map(str::to_owned),
            background: background(fields),
            scheduled: scheduled(fields),
        },
        // An empty one was sent as well, and an older message does not take its place.
        last_words: fields.any_text("last_assistant_message").map(str::to_owned),
        stop_hook_active: fields.flag("stop_hook_active"),
        prompt: fields.text("prompt").map(typed),
        is_expansion: fields.text("hook_event_name") == Some("UserPromptExpansion"),
        began: fields.text("source").map(|source| match source {
            "resume" | "compact" => Began::Continued,
            _ => Began::Fresh,
        }),
        fault,
    }
}

/// `said` is where the agent says that it is.
fn places(said: Option<&str>, ambient: &Ambient) -> Places {
    let project = ambient.variable("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let own = said.map(PathBuf::from);
    let mut dirs: Vec<PathBuf> = Vec::new();
    for dir in [ambient.cwd.clone(), project, own].into_iter().flatten() {
        // A path through a symbolic link has other ancestors than the directory it names.
        let resolved = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        for dir in [dir, resolved] {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
    }
    Places {
        dirs,
        signposts: ambient.signposts.clone(),
    }
}

/// `sdk-cli` is a headless run. Where nothing is said, a person may be sitting there.
fn is_interactive(ambient: &Ambient) -> bool {
    !ambient
        .variable("CLAUDE_CODE_ENTRYPOINT")
        .is_some_and(|entry| entry.starts_with("sdk"))
}

fn background(fields: &Fields) -> Vec<Background> {
    let listed = fields.0.get("background_tasks").and_then(Value::as_array);
    let running = |task: &&Value| {
        let status = task.get("status").and_then(Value::as_str);
        status == Some("running")
    };
    let read = |task: &Value| {
        let text = |name| task.get(name).and_then(Value::as_str);
        let label = text("description").or(text("command")).unwrap_or("a task");
        Some(Background {
            id: text("id")?.chars().take(BACKGROUND_ID_CHARS_MAX).collect(),
            label: label.chars().take(LABEL_CHARS_MAX).collect(),
        })
    };
    listed
        .into_iter()
        .flatten()
        .filter(running)
        .filter_map(read)
        .take(BACKGROUND_MAX)
        .collect()
}

/// What the agent will say to itself, as far as it lists it: such a prompt comes as a person's.
fn scheduled(fields: &Fields) -> Vec<String> {
    let listed = fields.0.get("session_crons").and_then(Value::as_array);
    let prompts = listed
        .into_iter()
        .flatten()
        .filter_map(|cron| cron.get("prompt"));
    let prompts = prompts.filter_map(Value::as_str).take(SCHEDULED_MAX);
    prompts.map(words).collect()
}

/// By which a prompt is known again without keeping its text.
fn words(prompt: &str) -> String {
    blake3::hash(prompt.trim().as_bytes()).to_hex()[..WORDS_DIGITS].to_owned()
}

/// Who is speaking: the agent's own machinery, a command, or a person.
fn typed(prompt: &str) -> Typed {
    let words = words(prompt);
    let prompt = prompt.trim_start();
    let (kind, arguments) = kind_of(prompt);
    Typed {
        kind,
        arguments,
        words,
    }
}

fn kind_of(prompt: &str) -> (PromptKind, Option<String>) {
    if prompt.starts_with(NOTIFICATION) {
        return (PromptKind::Machine, None);
    }
    let Some(command) = prompt.strip_prefix('/') else {
        return (PromptKind::Person, None);
    };
    let (name, arguments) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    // A plugin's commands carry its name in front.
    let bare = name.rsplit(':').next().unwrap_or(name).trim();
    if bare == RUN_TASKS {
        (PromptKind::RunTasks, Some(arguments.trim().to_owned()))
    } else {
        (PromptKind::Command, None)
    }
}
