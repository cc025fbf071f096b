//! What bd prints: JSON documents one after another, with or without an envelope, tasks or an
//! error in them. Anything else is no answer, and half of one is none either.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::brief;
use crate::edge::tracker::row::Row;
use crate::kernel::task::{Task, TaskId};

/// Every task of an answer, or why it is none.
pub fn tasks(said: &str) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    let mut is_answered = false;
    let mut rest = said.trim_start();
    while !rest.is_empty() {
        rest = match rest.as_bytes()[0] {
            b'[' | b'n' => {
                let (rows, rest) = first::<Option<Vec<Row<'_>>>>(rest)?;
                is_answered = true;
                collect(rows.unwrap_or_default(), &mut tasks)?;
                rest
            }
            b'{' => {
                let (object, rest) = first::<Object<'_>>(rest)?;
                is_answered |= object.collect(&mut tasks)?;
                rest
            }
            _ => return Err(format!("printed no JSON: {}", brief(&start(rest)))),
        }
        .trim_start();
    }
    if !is_answered {
        return Err("printed nothing".to_owned());
    }
    unambiguous(&tasks)?;
    Ok(tasks)
}

/// Whether it is no JSON at all, but something.
pub fn is_words(said: &str) -> bool {
    let said = said.trim_start();
    !said.is_empty() && !said.starts_with(['[', '{']) && !said.starts_with("null")
}

/// The error that an answer is, if it is one.
pub fn error_in(said: &str) -> Option<String> {
    let mut rest = said.trim_start();
    while rest.starts_with('{') {
        let (object, after) = first::<Object<'_>>(rest).ok()?;
        if let Some(error) = object.error {
            // bd's own advice is to read on by rules that it does not know.
            let advice = match object.schema_skew {
                Some(_) => Some("this bd is too old for its database: upgrade it".to_owned()),
                None => object.hint,
            };
            let hint = advice.map(|hint| format!(" ({hint})"));
            return Some(brief(&format!("{error}{}", hint.unwrap_or_default())));
        }
        rest = after.trim_start();
    }
    None
}

/// What is wrong, out of all that bd says beside its answer: from the first line on that is an error,
/// or the one in JSON. Warnings come first, and would use up the room.
pub fn complaint(talk: &str) -> String {
    let lines = || {
        talk.split_inclusive('\n').scan(0, |start, line| {
            let at = *start;
            *start += line.len();
            Some((at, line))
        })
    };
    let begins = |word: &str| {
        let mut found = lines().filter(|(_, line)| {
            let start = line.trim_start().get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        });
        found.next().map(|(at, _)| at)
    };
    match (begins("error"), begins("{")) {
        // What went wrong, before JSON that only says how often.
        (Some(error), Some(json)) if error < json => brief(&talk[error..json]),
        (Some(error), None) => brief(&talk[error..]),
        (_, Some(json)) => error_in(&talk[json..]).unwrap_or_else(|| brief(talk)),
        (None, None) => brief(talk),
    }
}

/// Whether the task of this name, as it stands in the answer to a change, has the note.
pub fn has_note(said: &str, id: &TaskId, note: &str) -> bool {
    let documents = Deserializer::from_str(said).into_iter::<Vec<Noted<'_>>>();
    let rows = documents.map_while(Result::ok).flatten();
    let mut rows = rows.filter(|row| row.id == id.as_str());
    rows.any(|row| row.notes.is_some_and(|notes| notes.contains(note)))
}

#[derive(Deserialize)]
struct Noted<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    notes: Option<Cow<'a, str>>,
}

/// An object that is no task: an envelope, an error, or a list with something beside it.
#[derive(Deserialize)]
struct Object<'a> {
    error: Option<String>,
    hint: Option<String>,
    schema_skew: Option<IgnoredAny>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    issues: Option<Vec<Row<'a>>>,
    pagination: Option<Pagination>,
}

#[derive(Deserialize)]
struct Pagination {
    #[serde(default)]
    truncated: bool,
}

impl Object<'_> {
    /// Whether there was a list in it.
    fn collect(self, tasks: &mut Vec<Task>) -> Result<bool, String> {
        if let Some(error) = self.error {
            return Err(format!("answered with an error: {}", brief(&error)));
        }
        if self
            .pagination
            .is_some_and(|pagination| pagination.truncated)
        {
            return Err("answered with only a part of the tasks".to_owned());
        }
        if let Some(rows) = self.issues {
            collect(rows, tasks)?;
            return Ok(true);
        }
        match self.data {
            None => Err("answered with an object that holds no tasks".to_owned()),
            Some(data) => {
                let (rows, _) = first::<Option<Vec<Row<'_>>>>(data.get())?;
                collect(rows.unwrap_or_default(), tasks)?;
                Ok(true)
            }
        }
    }
}

fn collect(rows: Vec<Row<'_>>, tasks: &mut Vec<Task>) -> Result<(), String> {
    for row in rows {
        if !row.is_foreign() {
            let task = Task::try_from(row).map_err(|what| format!("printed {what}"))?;
            tasks.push(task);
        }
    }
    Ok(())
}

/// The first JSON document of a text, and what comes after it.
fn first<'a, T: Deserialize<'a>>(text: &'a str) -> Result<(T, &'a str), String> {
    let mut stream = Deserializer::from_str(text).into_iter::<T>();
    match stream.next() {
        Some(Ok(value)) => {
            let end = stream.byte_offset();
            Ok((value, &text[end..]))
        }
        Some(Err(error)) if error.is_eof() => Err("printed only a part of its answer".to_owned()),
        Some(Err(error)) => Err(format!(
            "printed what is no list of tasks ({error}): {}",
            brief(&start(text))
        )),
        None => Err("printed nothing".to_owned()),
    }
}

/// Two rows of the same name cannot both be right.
fn unambiguous(tasks: &[Task]) -> Result<(), String> {
    let mut ids: Vec<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("named `{}` twice", pair[0])),
        None => Ok(()),
    }
}

fn start(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(said: &str) -> Vec<String> {
        let tasks = tasks(said).unwrap();
        tasks.iter().map(|task| task.id.to_string()).collect()
    }

    #[test]
    fn every_shape_that_bd_wraps_its_tasks_in_is_understood() {
        let row = |id: &str| format!(r#"{{"id":"{id}","status":"open","labels":["x"]}}"#);
        let (a, b) = (row("t-a"), row("t-b"));
        for said in [
            format!("[{a},{b}]"),
            format!("\n  [\n{a},\n{b}\n]\n\n"),
            // Up to 1.0.4 several documents came in a row.
            format!("[{a}]\n[{b}]\n"),
            format!(r#"{{"schema_version":1,"data":[{a},{b}]}}"#),
            format!(
                r#"{{"schema_version":1,"data":[{a},{b}],"pagination":{{"returned":2,"total":2}}}}"#
            ),
            format!(r#"{{"issues":[{a},{b}],"meta":{{"count":2}},"schema_version":1}}"#),
        ] {
            assert_eq!(ids(&said), ["t-a", "t-b"], "{said}");
        }
        for said in ["[]", "null", " null\n", r#"{"data":[],"schema_version":1}"#] {
            assert_eq!(ids(said), [""; 0], "{said}");
        }
    }

    #[test]
    fn what_is_no_whole_answer_is_none() {
        for (said, why) in [
            ("", "printed nothing"),
            (" \n", "printed nothing"),
            ("No issues found.\n", "printed no JSON: No issues found."),
            ("Hint: try again\n[]", "printed no JSON: Hint: try again []"),
            ("[]\nShowing 50 of 90", "printed no JSON: Showing 50 of 90"),
            (
                r#"[{"id":"t-a"},{"id":"#,
                "printed only a part of its answer",
            ),
            (r#"[{"id":"t-a"}"#, "printed only a part of its answer"),
            (
                r#"{"error":"database is locked"}"#,
                "answered with an error: database is locked",
            ),
            (
                r#"[]{"error":"half way"}"#,
                "answered with an error: half way",
            ),
            (
                r#"{"schema_version":1}"#,
                "answered with an object that holds no tasks",
            ),
            (
                r#"{"data":null}"#,
                "answered with an object that holds no tasks",
            ),
            (
                r#"{"data":[],"pagination":{"returned":0,"total":9,"truncated":true}}"#,
                "answered with only a part of the tasks",
            ),
            (r#"[{"status":"open"}]"#, "printed a task without an id"),
            (r#"[{"id":"t-a"},{"id":"t-a"}]"#, "named `t-a` twice"),
        ] {
            assert_eq!(tasks(said).unwrap_err(), why, "{said}");
        }
        let wrong = tasks(r#"[{"id":7}]"#).unwrap_err();
        assert!(
            wrong.starts_with("printed what is no list of tasks"),
            "{wrong}"
        );
    }

    #[test]
    fn a_note_is_looked_for_in_the_tasks_own_row() {
        let said = r#"[{"id":"t-a","notes":"one\n\"two\"","status":"open"},{"id":"t-b"}]"#;
        let has = |said: &str, id: &str, note: &str| has_note(said, &TaskId::from(id), note);
        assert!(has(said, "t-a", "\"two\""));
        assert!(has(said, "t-a", "one\n\"two"));
        assert!(!has(said, "t-a", "three"));
        assert!(!has(said, "t-b", "one"));
        assert!(has(&format!("[]\n{said}"), "t-a", "one"));
        for none in ["", "null", "{}", "Updated issue: t-a one"] {
            assert!(!has(none, "t-a", "one"), "{none}");
        }
    }

    #[test]
    fn a_complaint_is_told_without_the_warnings_before_it() {
        let warning = "Warning: /a/.beads has permissions 0755 (recommended: 0700).\n";
        let skew = "{\n  \"error\": \"schema version mismatch: v66\",\n  \"hint\": \"ignore it\",\n  \
                    \"schema_skew\": {\"delta\": 13}\n}\n";
        let told = "schema version mismatch: v66 (this bd is too old for its database: upgrade it)";
        assert_eq!(complaint(&format!("{warning}{skew}")), told);
        let error = "Error: no beads database found\nHint: run 'bd where'\n";
        let told = "Error: no beads database found Hint: run 'bd where'";
        assert_eq!(complaint(&format!("{warning}{warning}{error}")), told);
        // As bd 1.3.0 refuses a claim.
        let twice = "Error updating t-1: status blocked\n{\"error\":\"1 of 1 issues failed\"}\n";
        assert_eq!(complaint(twice), "Error updating t-1: status blocked");
        assert_eq!(complaint("words\nof no kind"), "words of no kind");
        assert_eq!(complaint("{ half"), "{ half");
        assert_eq!(complaint("é\nerror: x"), "error: x");
        assert_eq!(complaint(""), "");
    }

    #[test]
    fn an_error_is_found_whatever_stands_before_it() {
        let found = |said: &str| error_in(said);
        assert_eq!(
            found(r#"{"error":"no","hint":"try `bd where`","schema_version":1}"#).unwrap(),
            "no (try `bd where`)"
        );
        assert_eq!(
            found(r#"{"schema_version":1} {"error":"late"}"#).unwrap(),
            "late"
        );
        assert_eq!(found(r#"[{"id":"t-a","error":"x"}]"#), None);
        assert_eq!(found("Error: text"), None);
        assert_eq!(found(""), None);
    }
}
