//! A task as bd writes it to JSON, in its file and on its standard output alike.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::stamp;
use crate::kernel::moment::Moment;
use crate::kernel::task::{Claim, Edge, EdgeKind, Kind, Status, Task, TaskId};

/// How much of a title is kept.
const TITLE_CHARS_MAX: usize = 200;

/// bd's own column holds 255 characters.
const ID_BYTES_MAX: usize = 512;

/// What bd gives a task that names no priority.
const PRIORITY_DEFAULT: u8 = 2;

/// One task out of its JSON.
pub fn parse(json: &str) -> Result<Task, String> {
    let row: Row<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    Task::try_from(row)
}

/// The tasks one a line, with all that bears on a decision and nothing else.
pub fn written(tasks: &[Task]) -> String {
    let mut text = String::new();
    for task in tasks {
        // A struct of strings and numbers has no way to fail.
        text += &serde_json::to_string(&Brief::from(task)).unwrap_or_default();
        text.push('\n');
    }
    text
}

/// Keys that a task needs nothing of are skipped unread. A missing key and `null` mean the same.
#[derive(Deserialize)]
pub struct Row<'a> {
    #[serde(rename = "_type", borrow)]
    sort: Option<Text<'a>>,
    #[serde(rename = "_schema")]
    schema: Option<IgnoredAny>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    title: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    issue_type: Option<Text<'a>>,
    priority: Option<i64>,
    pinned: Option<bool>,
    ephemeral: Option<bool>,
    is_template: Option<bool>,
    #[serde(borrow)]
    defer_until: Option<Text<'a>>,
    #[serde(borrow)]
    assignee: Option<Text<'a>>,
    #[serde(borrow)]
    started_at: Option<Text<'a>>,
    #[serde(borrow)]
    lease_expires_at: Option<Text<'a>>,
    #[serde(borrow)]
    dependencies: Option<Vec<Dependency<'a>>>,
}

#[derive(Deserialize)]
struct Dependency<'a> {
    #[serde(borrow)]
    depends_on_id: Text<'a>,
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// A string that is only copied if it holds escapes. (`Option<Cow<str>>` alone never borrows.)
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Row<'_> {
    /// Headers, memories and other lines that bd puts beside its tasks.
    pub fn is_foreign(&self) -> bool {
        let is_other = self.sort.as_ref().is_some_and(|kind| kind.0 != "issue");
        is_other || (self.schema.is_some() && self.id.is_none())
    }
}

impl TryFrom<Row<'_>> for Task {
    type Error = String;

    fn try_from(row: Row<'_>) -> Result<Task, String> {
        let id = match row.id {
            None => return Err("a task without an id".to_owned()),
            Some(id) if id.0.is_empty() => return Err("a task with an empty id".to_owned()),
            Some(id) if id.0.len() > ID_BYTES_MAX => {
                return Err(format!("an id of more than {ID_BYTES_MAX} bytes"));
            }
            Some(id) => TaskId::new(id.0),
        };
        let name = |text: Option<Text<'_>>| text.map(|text| text.0.into_owned());
        let actor = name(row.assignee).filter(|actor| !actor.is_empty());
        let since = moment("started_at", row.started_at.as_ref())?;
        let lease_until = moment("lease_expires_at", row.lease_expires_at.as_ref())?;
        Ok(Task {
            id,
            title: row.title.map(|title| cut(&title.0)).unwrap_or_default(),
            // Go leaves out what is empty, and an empty status is what bd imports as open.
            status: match row.status {
                None => Status::Open,
                Some(status) if status.0.is_empty() => Status::Open,
                Some(status) => Status::parse(&status.0),
            },
            kind: row
                .issue_type
                .map_or(Kind::Work, |kind| Kind::parse(&kind.0)),
            priority: match row.priority {
                None => PRIORITY_DEFAULT,
                Some(priority) => u8::try_from(priority.max(0)).unwrap_or(u8::MAX),
            },
            pinned: row.pinned.unwrap_or(false),
            ephemeral: row.ephemeral.unwrap_or(false),
            template: row.is_template.unwrap_or(false),
            defer_until: moment("defer_until", row.defer_until.as_ref())?,
            claim: actor.map(|actor| Claim {
                actor,
                since,
                lease_until,
            }),
            edges: row
                .dependencies
                .into_iter()
                .flatten()
                .map(Edge::from)
                .collect(),
        })
    }
}

impl From<Dependency<'_>> for Edge {
    fn from(dependency: Dependency<'_>) -> Edge {
        Edge {
            kind: match &*dependency.kind.0 {
                "blocks" => EdgeKind::Blocks,
                "conditional-blocks" => EdgeKind::ConditionalBlocks,
                "parent-child" => EdgeKind::ParentChild,
                "waits-for" => waits_for(dependency.metadata),
                _ => EdgeKind::Loose,
            },
            target: TaskId::new(dependency.depends_on_id.0),
        }
    }
}

/// The metadata is JSON inside of a string, and sometimes JSON. What cannot be understood waits
/// for all children, which is bd's default and the most careful reading.
fn waits_for(metadata: Option<&RawValue>) -> EdgeKind {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Metadata {
        gate: String,
        also_blocks: bool,
    }
    let raw = metadata.map_or("{}", RawValue::get);
    let metadata: Metadata = match serde_json::from_str::<String>(raw) {
        Ok(inner) => serde_json::from_str(&inner).unwrap_or_default(),
        Err(_) => serde_json::from_str(raw).unwrap_or_default(),
    };
    EdgeKind::WaitsFor {
        any_child: metadata.gate == "any-children",
        also_blocks: metadata.also_blocks,
    }
}

/// A task as it is put by, under the names that it was read by.
#[derive(Serialize)]
struct Brief<'a> {
    id: &'a str,
    status: &'a str,
    issue_type: &'static str,
    priority: u8,
    #[serde(skip_serializing_if = "is_false")]
    pinned: bool,
    #[serde(skip_serializing_if = "is_false")]
    ephemeral: bool,
    #[serde(skip_serializing_if = "is_false")]
    is_template: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    defer_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_expires_at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dependencies: Vec<BriefDependency<'a>>,
}

#[derive(Serialize)]
struct BriefDependency<'a> {
    depends_on_id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BriefGate>,
}

#[derive(Serialize)]
struct BriefGate {
    gate: &'static str,
    also_blocks: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl<'a> From<&'a Task> for Brief<'a> {
    fn from(task: &'a Task) -> Brief<'a> {
        let claim = task.claim.as_ref();
        Brief {
            id: task.id.as_str(),
            status: task.status.name(),
            issue_type: match task.kind {
                Kind::Work => "task",
                Kind::Epic => "epic",
                Kind::Gate => "gate",
                Kind::Workflow => "molecule",
            },
            priority: task.priority,
            pinned: task.pinned,
            ephemeral: task.ephemeral,
            is_template: task.template,
            defer_until: task.defer_until.map(stamp::exact),
            assignee: claim.map(|claim| claim.actor.as_str()),
            started_at: claim.and_then(|claim| claim.since).map(stamp::exact),
            lease_expires_at: claim.and_then(|claim| claim.lease_until).map(stamp::exact),
            dependencies: task.edges.iter().filter_map(brief_dependency).collect(),
        }
    }
}

/// Ties without a bearing on readiness are left out.
fn brief_dependency(edge: &Edge) -> Option<BriefDependency<'_>> {
    let (kind, metadata) = match edge.kind {
        EdgeKind::Blocks => ("blocks", None),
        EdgeKind::ConditionalBlocks => ("conditional-blocks", None),
        EdgeKind::ParentChild => ("parent-child", None),
        EdgeKind::WaitsFor {
            any_child,
            also_blocks,
        } => {
            let gate = if any_child {
                "any-children"
            } else {
                "all-children"
            };
            ("waits-for", Some(BriefGate { gate, also_blocks }))
        }
        EdgeKind::Loose => return None,
    };
    Some(BriefDependency {
        depends_on_id: edge.target.as_str(),
        kind,
        metadata,
    })
}

fn moment(key: &str, text: Option<&Text<'_>>) -> Result<Option<Moment>, String> {
    let Some(Text(text)) = text else {
        return Ok(None);
    };
    match stamp::parse(text) {
        Some(moment) => Ok(Some(moment)),
        None => Err(format!("`{key}` is not a time: `{}`", cut(text))),
    }
}

fn cut(text: &str) -> String {
    if text.len() <= TITLE_CHARS_MAX {
        return text.to_owned();
    }
    match text.char_indices().nth(TITLE_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].to_owned(),
    }
}
