//! Text to file structs, with errors that name the line and, for a misspelt key, the nearest one.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_saphyr::{Error as Yaml, MessageFormatter, UserMessageFormatter};

use super::file::{Project, StopHook, Switch, User};

#[derive(Debug, thiserror::Error)]
#[error("`{}`{}: {what}", source_name, line.map(|line| format!(" line {line}")).unwrap_or_default())]
pub struct Error {
    /// A path, a variable or a flag.
    pub source_name: String,
    pub line: Option<u64>,
    pub what: String,
}

/// A config file is a page or two; anything larger is something else.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

pub fn project(path: &Path, text: &str) -> Result<Project, Error> {
    if text.trim().is_empty() {
        return Ok(Project::default());
    }
    let file: Option<Project> = yaml(&path.display().to_string(), text)?;
    Ok(file.unwrap_or_default())
}

/// Only whether a file switches everything off, or back on.
pub fn switch(path: &Path, text: &str) -> Result<Switch, Error> {
    if text.trim().is_empty() {
        return Ok(Switch::default());
    }
    let source_name = path.display().to_string();
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return toml::from_str(text).map_err(|error| toml_error(&source_name, text, &error));
    }
    let file: Option<Switch> = yaml(&source_name, text)?;
    Ok(file.unwrap_or_default())
}

pub fn user(path: &Path, text: &str) -> Result<User, Error> {
    let source_name = path.display().to_string();
    toml::from_str(text).map_err(|error| toml_error(&source_name, text, &error))
}

fn toml_error(source_name: &str, text: &str, error: &toml::de::Error) -> Error {
    Error {
        source_name: source_name.to_owned(),
        line: error.span().map(|span| line_at(text, span.start)),
        what: one_line(error.message()),
    }
}

/// One `key=value` of the environment or a flag, the value as YAML would read it.
pub fn setting(source_name: &str, key: &str, value: &str) -> Result<StopHook, Error> {
    if !StopHook::KEYS.contains(&key) {
        return Err(Error {
            source_name: source_name.to_owned(),
            line: None,
            what: unknown_key(key, &StopHook::KEYS),
        });
    }
    if value.trim().is_empty() {
        return Err(Error {
            source_name: source_name.to_owned(),
            line: None,
            what: format!("`{key}` has no value"),
        });
    }
    let is_bare_list = StopHook::LISTS.contains(&key) && !value.trim_start().starts_with('[');
    let value = if is_bare_list {
        format!("[{value}]")
    } else {
        value.to_owned()
    };
    let mut parsed: Result<StopHook, Error> = yaml(source_name, &format!("{key}: {value}"));
    if let Err(error) = &mut parsed {
        error.line = None;
    }
    parsed
}

fn yaml<T: DeserializeOwned>(source_name: &str, text: &str) -> Result<T, Error> {
    // YAML 1.1 would take `no` and `on` for booleans.
    let options = serde_saphyr::options! { strict_booleans: true, };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let plain = error.without_snippet();
        Error {
            source_name: source_name.to_owned(),
            line: error.location().map(|location| location.line()),
            what: match plain {
                Yaml::SerdeUnknownField {
                    field, expected, ..
                } => unknown_key(field, expected),
                Yaml::SerdeUnknownVariant {
                    variant, expected, ..
                } => format!("`{variant}` is none of {}", listed(expected)),
                // Its words for people, without the position, which we name ourselves.
                other => one_line(&UserMessageFormatter.format_message(other)),
            },
        }
    })
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{key}`; known are {}", listed(known)),
    }
}

fn listed(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The known key that takes the fewest edits, if it takes few enough to be a slip.
fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let edits_max = key.chars().count().div_ceil(2);
    known
        .iter()
        .map(|candidate| (edits(key, candidate), *candidate))
        .filter(|(edits, _)| *edits <= edits_max)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, one row at a time.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

fn line_at(text: &str, byte: usize) -> u64 {
    let before = text.as_bytes().iter().take(byte);
    before.filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
