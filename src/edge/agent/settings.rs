//! Claude Code's settings files: our hooks put in and taken out, and not a byte of anything else
//! changed. As strict as the agent itself (2.1.327 and 2.1.197): it leaves a file with a comment, or
//! with a wrong type among its hooks, unread without a word.

mod entry;
mod json;
mod layout;
mod revision;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use entry::{Entry, Whose, program_of, whose};
use json::{Kind, Node, line_at, parse};
use layout::{Item, Style, without};
pub use revision::{Change, Revision, undo};

/// The agent's events that we answer, with the name of each in `beadlock hook NAME`. A command is
/// expanded before its prompt is submitted in 2.1.197, and after it in 2.1.327: both arm.
pub const EVENTS: [(&str, &str); 6] = [
    ("Stop", "stop"),
    ("SessionStart", "session-start"),
    ("SessionEnd", "session-end"),
    ("UserPromptSubmit", "user-prompt"),
    ("UserPromptExpansion", "user-prompt"),
    ("StopFailure", "stop-failure"),
];

const HOOKS: &str = "hooks";
const MATCHER: &str = "matcher";
const DISABLED: &str = "disableAllHooks";
const ENVIRONMENT: &str = "env";

/// More hooks of ours than anybody has in one file.
const REMOVED_MAX: usize = 1000;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    #[error("line {line}: {what}")]
    Syntax { line: usize, what: String },
    #[error("line {line}: `{place}` is {found}, where the agent reads {wanted} only")]
    Shape {
        line: usize,
        place: String,
        found: &'static str,
        wanted: &'static str,
    },
}

/// What a settings file says of our hooks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Calls of ours, as (the agent's event, line).
    pub calls: Vec<(String, usize)>,
    /// Lines with a call of ours in somebody's own command.
    pub composed: Vec<usize>,
    /// The programs that the calls name, each once.
    pub programs: Vec<String>,
    /// Every event has the call that we would write, and there is no other.
    pub is_wired: bool,
    pub disables_all: Option<bool>,
    /// What it puts into the agent's environment.
    pub environment: BTreeMap<String, String>,
}

impl Seen {
    pub fn has_any(&self) -> bool {
        !self.calls.is_empty() || !self.composed.is_empty()
    }
}

pub fn look(text: &str, program: &str) -> Result<Seen, Error> {
    let root = document(text)?;
    let found = found(text, root.as_ref(), program);
    let lines = found.iter().filter(|it| it.whose == Whose::Composed);
    let ours: Vec<&Found> = found.iter().filter(|it| it.is_ours()).collect();
    let has_one = |(event, name): &(&str, &str)| {
        let mut calls = ours.iter().filter(|it| it.event == *event);
        let is_one = calls.next().is_some_and(|it| it.is_right(program, name));
        is_one && calls.next().is_none()
    };
    let disables = root.as_ref().and_then(|root| root.value(DISABLED));
    let programs: BTreeSet<String> = ours.iter().filter_map(|it| program_of(&it.value)).collect();
    Ok(Seen {
        programs: programs.into_iter().collect(),
        environment: root
            .as_ref()
            .map_or_else(BTreeMap::new, |root| environment(text, root)),
        composed: lines.map(|it| line_at(text, it.node.span.start)).collect(),
        calls: ours
            .iter()
            .map(|it| (it.event.clone(), line_at(text, it.node.span.start)))
            .collect(),
        is_wired: EVENTS.iter().all(has_one) && ours.len() == EVENTS.len(),
        disables_all: disables.map(|node| &text[node.span.clone()] == "true"),
    })
}

/// The settings with our hooks in them, each once. Calls of ours in another form give way; a call
/// in somebody's own command stays, and no other is put beside it.
pub fn wire(text: &str, program: &str) -> Result<Revision, Error> {
    let mut revision = Revision::of(text);
    for (event, name) in EVENTS {
        let root = document(revision.text())?;
        let all = found(revision.text(), root.as_ref(), program);
        let here: Vec<&Found> = all.iter().filter(|it| it.event == event).collect();
        let ours: Vec<&Found> = here.iter().copied().filter(|it| it.is_ours()).collect();
        let right = ours.iter().position(|it| it.is_right(program, name));
        let kept = match right.or_else(|| ours.iter().position(|it| it.is_always)) {
            Some(index) => {
                if right.is_none() {
                    put_instead(&mut revision, root.as_ref(), ours[index], program);
                }
                index
            }
            None if here.iter().any(|it| it.whose == Whose::Composed) => continue,
            None => {
                let root = root.as_ref();
                add(
                    &mut revision,
                    root,
                    event,
                    &Entry::wanted(program, name, None),
                );
                ours.len()
            }
        };
        remove_others(&mut revision, program, event, kept)?;
    }
    Ok(revision)
}

/// The settings without any hook of ours, and without what only held them.
pub fn unwire(text: &str, program: &str) -> Result<Revision, Error> {
    let mut revision = Revision::of(text);
    for _ in 0..REMOVED_MAX {
        let root = document(revision.text())?;
        let all = found(revision.text(), root.as_ref(), program);
        match (&root, all.iter().find(|it| it.is_ours())) {
            (Some(root), Some(hook)) => revision.replace(hook.removal(root), ""),
            _ => break,
        }
    }
    Ok(revision)
}

fn environment(text: &str, root: &Node) -> BTreeMap<String, String> {
    let members = root.value(ENVIRONMENT).and_then(Node::members);
    let read = |member: &json::Member| {
        let value = &text[member.value.span.clone()];
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
        (member.key.clone(), value)
    };
    members.unwrap_or_default().iter().map(read).collect()
}

/// Whether the document says nothing at all.
pub fn is_empty(text: &str) -> bool {
    let children = |root: Option<Node>| root.map_or(0, |root| root.children().len());
    parse(text).is_ok_and(|root| children(root) == 0)
}

/// Leaves of our calls for an event just the one that is the `kept`th of them.
fn remove_others(
    revision: &mut Revision,
    program: &str,
    event: &str,
    mut kept: usize,
) -> Result<(), Error> {
    for _ in 0..REMOVED_MAX {
        let root = document(revision.text())?;
        let all = found(revision.text(), root.as_ref(), program);
        let mut ours = all.iter().filter(|it| it.event == event && it.is_ours());
        let surplus = if kept == 0 { ours.nth(1) } else { ours.next() };
        match (&root, surplus) {
            (Some(root), Some(hook)) => revision.replace(hook.removal(root), ""),
            _ => break,
        }
        kept = kept.saturating_sub(1);
    }
    Ok(())
}

/// One hook, and where it stands.
#[derive(Debug)]
struct Found {
    event: String,
    whose: Whose,
    value: Value,
    node: Node,
    /// Its group names no matcher that could keep it from being called.
    is_always: bool,
    /// Its place among the groups of the event, and among the group's hooks.
    place: (usize, usize),
}

impl Found {
    fn is_ours(&self) -> bool {
        matches!(self.whose, Whose::Ours(_))
    }

    /// Whether it is, and stands, as we would write it.
    fn is_right(&self, program: &str, name: &str) -> bool {
        match &self.whose {
            Whose::Ours(call) => {
                let wanted = Entry::wanted(program, name, Some((call, &self.value)));
                self.is_always && wanted.is(&self.value)
            }
            Whose::Composed | Whose::Theirs => false,
        }
    }

    /// The stretch to delete: the hook, with whatever there was for its sake alone.
    fn removal(&self, root: &Node) -> Range<usize> {
        let nothing = 0..0;
        let Some((hooks_index, hooks)) = root.indexed(HOOKS) else {
            return nothing;
        };
        let Some((event_index, event)) = hooks.indexed(&self.event) else {
            return nothing;
        };
        let groups = event.items().unwrap_or_default();
        let Some(group) = groups.get(self.place.0) else {
            return nothing;
        };
        let Some(list) = group.value(HOOKS) else {
            return nothing;
        };
        let is_held_only = |member: &json::Member| [HOOKS, MATCHER].contains(&member.key.as_str());
        let members = group.members().unwrap_or_default();
        if list.children().len() > 1 || !members.iter().all(is_held_only) {
            without(list, self.place.1)
        } else if groups.len() > 1 || !hooks.has_one(&self.event) {
            without(event, self.place.0)
        } else if hooks.children().len() > 1 || !root.has_one(HOOKS) {
            without(hooks, event_index)
        } else {
            without(root, hooks_index)
        }
    }
}

/// Every hook of a document whose shape is known to be good.
fn found(text: &str, root: Option<&Node>, program: &str) -> Vec<Found> {
    let hooks = root.and_then(|root| root.value(HOOKS));
    let mut all = Vec::new();
    for member in hooks.into_iter().flat_map(Node::counted) {
        for (group_index, group) in member.value.items().unwrap_or_default().iter().enumerate() {
            let matcher = group.value(MATCHER).map(|node| &text[node.span.clone()]);
            let is_always = matcher.is_none_or(|it| ["\"\"", "\"*\""].contains(&it));
            let list = group.value(HOOKS).and_then(Node::items);
            for (index, node) in list.unwrap_or_default().iter().enumerate() {
                // One that serde cannot hold has escapes that no line of ours has.
                let value = serde_json::from_str(&text[node.span.clone()]).unwrap_or_default();
                all.push(Found {
                    event: member.key.clone(),
                    whose: whose(&value, program),
                    value,
                    node: node.clone(),
                    is_always,
                    place: (group_index, index),
                });
            }
        }
    }
    all
}

fn put_instead(revision: &mut Revision, root: Option<&Node>, old: &Found, program: &str) {
    let Whose::Ours(call) = &old.whose else {
        return;
    };
    let name = EVENTS.iter().find(|(event, _)| *event == old.event);
    let name = name.map_or(call.event.as_str(), |(_, name)| name);
    let entry = Entry::wanted(program, name, Some((call, &old.value)));
    let style = Style::of(revision.text(), root);
    let new = style.instead(revision.text(), &old.node, &entry);
    revision.replace(old.node.span.clone(), &new);
}

#[derive(Serialize)]
struct Group<'a> {
    hooks: [&'a Entry<'a>; 1],
}

/// Adds a hook in a group of its own, with whatever must be there to hold it.
fn add(revision: &mut Revision, root: Option<&Node>, event: &str, entry: &Entry<'_>) {
    let text = revision.text();
    let style = Style::of(text, root);
    let group = Group { hooks: [entry] };
    let list = [&group];
    let hooks = root.and_then(|root| root.value(HOOKS));
    let (range, put) = match (root, hooks, hooks.and_then(|hooks| hooks.value(event))) {
        (None, ..) => {
            let end = text.len();
            (end..end, style.document(&One(HOOKS, One(event, list))))
        }
        (Some(root), None, _) => {
            let value = &One(event, list);
            let key = Some(HOOKS);
            style.appended(text, root, &Item { key, value })
        }
        (_, Some(hooks), None) => {
            let (key, value) = (Some(event), &list);
            style.appended(text, hooks, &Item { key, value })
        }
        (_, _, Some(node)) if matches!(node.kind, Kind::Null) => {
            (node.span.clone(), style.instead(text, node, &list))
        }
        (_, _, Some(node)) => {
            let (key, value) = (None, &group);
            style.appended(text, node, &Item { key, value })
        }
    };
    revision.replace(range, &put);
}

/// An object with one member.
struct One<'a, T>(&'a str, T);

impl<T: Serialize> Serialize for One<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}

/// The document, if the agent would read it: it takes no file whose hooks have a wrong type.
fn document(text: &str) -> Result<Option<Node>, Error> {
    let Some(root) = parse(text)? else {
        return Ok(None);
    };
    let shape = Shape { text };
    shape.is(&root, "an object", "the document")?;
    if let Some(node) = root.value(DISABLED) {
        shape.is(node, "true or false", DISABLED)?;
    }
    let Some(hooks) = root.value(HOOKS) else {
        return Ok(Some(root));
    };
    shape.is(hooks, "an object", HOOKS)?;
    for member in hooks.counted() {
        let place = format!("{HOOKS}.{}", member.key);
        if matches!(member.value.kind, Kind::Null) {
            continue;
        }
        shape.is(&member.value, "a list", &place)?;
        for (index, group) in member.value.items().unwrap_or_default().iter().enumerate() {
            shape.group(group, &format!("{place}[{index}]"))?;
        }
    }
    Ok(Some(root))
}

struct Shape<'a> {
    text: &'a str,
}

impl Shape<'_> {
    fn group(&self, group: &Node, place: &str) -> Result<(), Error> {
        self.is(group, "an object", place)?;
        if let Some(matcher) = group.value(MATCHER) {
            self.is(matcher, "a text", &format!("{place}.{MATCHER}"))?;
        }
        let Some(list) = group.value(HOOKS) else {
            return Ok(());
        };
        let place = format!("{place}.{HOOKS}");
        self.is(list, "a list", &place)?;
        for (index, entry) in list.items().unwrap_or_default().iter().enumerate() {
            let place = format!("{place}[{index}]");
            self.is(entry, "an object", &place)?;
            for (key, wanted) in [
                ("type", "a text"),
                ("command", "a text"),
                ("args", "a list"),
                ("timeout", "a number"),
            ] {
                if let Some(node) = entry.value(key) {
                    self.is(node, wanted, &format!("{place}.{key}"))?;
                }
            }
        }
        Ok(())
    }

    fn is(&self, node: &Node, wanted: &'static str, place: &str) -> Result<(), Error> {
        if node.kind_name() == wanted {
            return Ok(());
        }
        Err(Error::Shape {
            line: line_at(self.text, node.span.start),
            place: place.to_owned(),
            found: node.kind_name(),
            wanted,
        })
    }
}
