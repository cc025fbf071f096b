//! One hook of the settings: whether it calls Beadlock, and the one that should stand there.

use std::path::Path;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::EVENTS;

/// Claude Code counts a hook's time in seconds; our own plan ends before this.
const TIMEOUT_SECONDS: u32 = 60;

/// What of an entry is ours to say. The rest is kept as it was found.
const OWN_KEYS: [&str; 7] = [
    "type",
    "command",
    "args",
    "timeout",
    "async",
    "asyncRewake",
    "shell",
];

/// Whose hook it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A plain call of ours.
    Ours(Call),
    /// Somebody's own line with a call of ours in it.
    Composed,
    Theirs,
}

/// `beadlock hook EVENT`, however it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// As in `hook stop`.
    pub event: String,
    pub epic: Option<String>,
}

/// A hook entry, with what somebody has added to the one in whose place it stands.
#[derive(Debug)]
pub struct Entry<'a> {
    program: &'a str,
    args: Vec<String>,
    more: Map<String, Value>,
}

impl<'a> Entry<'a> {
    /// The one that is wanted for an event; `old` is the one that it takes the place of.
    pub fn wanted(program: &'a str, event: &str, old: Option<(&Call, &Value)>) -> Entry<'a> {
        let mut args: Vec<String> = ["hook", event, "--agent", "claude"]
            .map(str::to_owned)
            .into();
        let mut more = Map::new();
        if let Some((call, value)) = old {
            if let Some(epic) = call.epic.as_ref().filter(|_| call.event == event) {
                args.extend(["--epic".to_owned(), epic.clone()]);
            }
            more = value.as_object().cloned().unwrap_or_default();
            more.retain(|key, _| !OWN_KEYS.contains(&key.as_str()));
        }
        Entry {
            program,
            args,
            more,
        }
    }

    /// Whether `value` is such an entry already. Somebody may give it more time, and a name.
    pub fn is(&self, value: &Value) -> bool {
        let is_flag = |key: &str| value.get(key).is_some_and(|flag| flag != false);
        let time = value.get("timeout");
        let has_time = |time: &Value| {
            time.as_f64()
                .is_some_and(|it| it >= f64::from(TIMEOUT_SECONDS))
        };
        value.get("command").and_then(Value::as_str) == Some(self.program)
            && value.get("args") == Some(&Value::from(self.args.clone()))
            && time.is_none_or(has_time)
            && !is_flag("async")
            && !is_flag("asyncRewake")
    }
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "command")?;
        map.serialize_entry("command", self.program)?;
        map.serialize_entry("args", &self.args)?;
        map.serialize_entry("timeout", &TIMEOUT_SECONDS)?;
        for (key, value) in &self.more {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// The program that a plain call names.
pub fn program_of(value: &Value) -> Option<String> {
    let command = value.get("command").and_then(Value::as_str)?;
    if value.get("args").is_some_and(Value::is_array) {
        return Some(command.to_owned());
    }
    shlex::split(command)?.into_iter().next()
}

pub fn whose(value: &Value, program: &str) -> Whose {
    if value.get("type").and_then(Value::as_str) != Some("command") {
        return Whose::Theirs;
    }
    let Some(command) = value.get("command").and_then(Value::as_str) else {
        return Whose::Theirs;
    };
    let args = value.get("args").and_then(Value::as_array);
    let words: Option<Vec<String>> = match args {
        Some(args) => {
            let args = args.iter().filter_map(Value::as_str).map(str::to_owned);
            Some([command.to_owned()].into_iter().chain(args).collect())
        }
        None if command.contains(|c| "|&;<>\n`".contains(c)) => None,
        None => shlex::split(command),
    };
    let found = words.as_ref().and_then(|words| {
        let at = words.windows(3).position(|words| {
            is_program(&words[0], program) && words[1] == "hook" && is_event(&words[2])
        })?;
        Some((at, call(&words[at + 2], &words[at + 3..])))
    });
    match found {
        Some((0, Some(call))) => Whose::Ours(call),
        Some(_) => Whose::Composed,
        None if is_mentioned(command, words.as_deref().unwrap_or_default()) => Whose::Composed,
        None => Whose::Theirs,
    }
}

/// Whether a call of ours is somewhere in a line that only a shell could take apart.
fn is_mentioned(command: &str, words: &[String]) -> bool {
    let all = [command]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    all.into_iter().any(|text| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(3).any(|words| {
            let event = words[2].trim_matches(|c: char| !c.is_ascii_lowercase());
            words[0].contains("beadlock") && words[1] == "hook" && is_event(event)
        })
    })
}

fn is_event(word: &str) -> bool {
    EVENTS.iter().any(|(_, event)| *event == word)
}

fn is_program(word: &str, program: &str) -> bool {
    // Windows' separators are looked for on every system: settings are shared through git.
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str());
    word == program || stem.is_some_and(|stem| stem.eq_ignore_ascii_case("beadlock"))
}

/// A call, if it has options that we know and no others.
fn call(event: &str, options: &[String]) -> Option<Call> {
    let mut words = options.iter();
    let mut epic = None;
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (word.as_str(), words.next()?.clone()),
        };
        match name {
            "--agent" => {}
            "--epic" => epic = Some(value),
            _ => return None,
        }
    }
    let event = event.to_owned();
    Some(Call { event, epic })
}
