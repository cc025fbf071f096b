//! What a person sees of a plan: the difference, and what to do next.

use serde_json::{Value, json};
use similar::TextDiff;

use super::plan::{Aim, Desk};
use crate::cli::report::{inline, plain};
use crate::edge::agent::Scope;
use crate::edge::wiring::{Base, Planned};

/// Beyond this a line is somebody's data, and not for reading.
const LINE_CHARS_MAX: usize = 2000;
const NOWHERE: &str = "/dev/null";

/// A unified diff of every file that would change.
pub fn difference(files: &[Planned]) -> String {
    let mut all = String::new();
    for file in files.iter().filter(|file| file.before != file.after) {
        let side = |text: &Option<String>, letter| match text {
            Some(_) => format!("{letter}/{}", file.path),
            None => NOWHERE.to_owned(),
        };
        let before = file.before.as_deref().unwrap_or_default();
        let after = file.after.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(before, after);
        let (old, new) = (side(&file.before, 'a'), side(&file.after, 'b'));
        let text = diff.unified_diff().header(&old, &new).to_string();
        for line in text.split_inclusive('\n') {
            all.push_str(&readable(line.trim_end_matches(['\r', '\n'])));
            all.push('\n');
        }
    }
    all
}

/// A line that cannot steer a terminal. Tabs are what many a file is indented by.
fn readable(line: &str) -> String {
    let parts: Vec<String> = line.split('\t').map(plain).collect();
    let line = parts.join("\t");
    if line.chars().count() <= LINE_CHARS_MAX {
        return line;
    }
    line.chars().take(LINE_CHARS_MAX).chain(['…']).collect()
}

pub fn facts(base: &Base, files: &[Planned]) -> Vec<Value> {
    let changing = files.iter().filter(|file| file.before != file.after);
    changing
        .map(|file| {
            let change = match (&file.before, &file.after) {
                (None, _) => "create",
                (Some(_), None) => "remove",
                (Some(_), Some(_)) => "edit",
            };
            json!({ "path": base.at(file.path), "change": change })
        })
        .collect()
}

/// What was done, and what comes next.
pub fn summary(aim: Aim, desk: &Desk) -> Vec<String> {
    let settings = inline(&desk.settings_path().display().to_string());
    if aim == Aim::TakeOut {
        return vec![format!("Beadlock is no longer in `{settings}`")];
    }
    let place = match desk.scope {
        Scope::User => "anywhere".to_owned(),
        Scope::Project | Scope::Local => {
            format!("in `{}`", inline(&desk.base.folder.display().to_string()))
        }
    };
    let option = desk.scope.option();
    vec![
        format!("Beadlock is in `{settings}`"),
        format!("next: start `claude` {place} and type `/run-tasks EPIC`"),
        format!("undo: `beadlock init{option} --remove`"),
    ]
}
