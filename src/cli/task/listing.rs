//! Tasks as rows for people and for programs.

use std::collections::HashMap;
use std::fmt::Write;

use serde::Serialize;

use crate::cli::report::plain;
use crate::edge::tracker::Error;
use crate::edge::tracker::jsonl::Book;
use crate::kernel::moment::Moment;
use crate::kernel::task::{Cause, Epic, Graph, Stage, Status, TaskId};

/// How many blockers a row names.
const BLOCKERS_MAX: usize = 100;

/// How wide a column is made for what stands in it. Whatever is longer takes its room from the
/// rest of its own row alone.
const WIDTH_MAX: usize = 24;

/// The tasks of a file, with what the graph says about them.
pub struct Listing<'a> {
    book: &'a Book,
    graph: Graph<'a>,
    index: HashMap<&'a str, usize>,
    now: Moment,
}

/// What is printed about a task: a row of a list, or all there is.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Shown {
    Row(Row),
    Whole(Whole),
}

#[derive(Serialize)]
pub struct Row {
    id: String,
    title: String,
    status: String,
    /// Nothing for what is no task of its own, such as an epic with children.
    stage: Option<&'static str>,
    priority: u8,
    #[serde(rename = "type")]
    type_name: String,
    parent: Option<String>,
    blocked_by: Vec<String>,
    assignee: Option<String>,
    /// The stage in a few more words.
    #[serde(skip)]
    why: String,
}

#[derive(Serialize)]
pub struct Whole {
    #[serde(flatten)]
    row: Row,
    description: Option<String>,
    design: Option<String>,
    acceptance_criteria: Option<String>,
    notes: Option<String>,
    close_reason: Option<String>,
}

impl<'a> Listing<'a> {
    pub fn new(book: &'a Book, now: Moment) -> Listing<'a> {
        let ids = book.tasks().iter().map(|task| task.id.as_str());
        Listing {
            book,
            graph: Graph::new(book.tasks(), now),
            index: ids.zip(0..).collect(),
            now,
        }
    }

    pub fn find(&self, id: &TaskId) -> Result<usize, Error> {
        let task = self.graph.get(id.as_str());
        task.map(|task| self.index[task.id.as_str()])
            .ok_or_else(|| Error::NotFound { id: id.clone() })
    }

    pub fn everything(&self) -> Vec<usize> {
        let tasks = self.book.tasks();
        let mut living: Vec<usize> = (0..tasks.len())
            .filter(|&index| self.graph.get(tasks[index].id.as_str()).is_some())
            .collect();
        living.sort_by_key(|&index| (tasks[index].priority, &tasks[index].id));
        living
    }

    pub fn of_epic(&self, id: &str) -> Result<Vec<usize>, Error> {
        let epic = self.epic(id)?;
        Ok(self.indices(epic.tasks.iter().map(|task| &task.id)))
    }

    pub fn ready_of_epic(&self, id: &str) -> Result<Vec<usize>, Error> {
        let epic = self.epic(id)?;
        Ok(self.indices(epic.ready()))
    }

    pub fn ready(&self) -> Vec<usize> {
        self.indices(self.graph.offered().into_iter().map(|task| &task.id))
    }

    pub fn row(&self, index: usize) -> Row {
        let task = &self.book.tasks()[index];
        let id = task.id.as_str();
        let stage = self.graph.stage_of(id);
        let blockers = self.graph.blockers_of(id, BLOCKERS_MAX);
        Row {
            id: id.to_owned(),
            title: task.title.clone(),
            status: task.status.name().to_owned(),
            stage: stage.as_ref().map(stage_name),
            priority: task.priority,
            type_name: self
                .book
                .text(index, "issue_type")
                .unwrap_or_else(|| "task".to_owned()),
            parent: self.graph.parent_of(id).map(TaskId::to_string),
            blocked_by: blockers.iter().map(TaskId::to_string).collect(),
            assignee: task.claim.as_ref().map(|claim| claim.actor.clone()),
            why: match stage {
                Some(stage) => self.why(index, stage),
                None if task.status == Status::Open => String::new(),
                None => task.status.name().to_owned(),
            },
        }
    }

    pub fn whole(&self, index: usize) -> Whole {
        let text = |key: &str| self.book.text(index, key).filter(|text| !text.is_empty());
        let mut row = self.row(index);
        row.title = text("title").unwrap_or_default();
        let lease = self.book.tasks()[index].claim.as_ref();
        if lease.is_some_and(|claim| claim.lease_until > Some(self.now))
            && row.stage == Some("in_progress")
            && let Some(until) = text("lease_expires_at")
        {
            row.why = format!("{} until {until}", row.why);
        }
        Whole {
            row,
            description: text("description"),
            design: text("design"),
            acceptance_criteria: text("acceptance_criteria"),
            notes: text("notes"),
            close_reason: text("close_reason"),
        }
    }

    fn epic(&self, id: &str) -> Result<Epic, Error> {
        Epic::of(self.book.tasks(), id, self.now).ok_or_else(|| Error::NotFound { id: id.into() })
    }

    fn indices<'i>(&self, ids: impl Iterator<Item = &'i TaskId>) -> Vec<usize> {
        ids.map(|id| self.index[id.as_str()]).collect()
    }

    fn why(&self, index: usize, stage: Stage) -> String {
        let task = &self.book.tasks()[index];
        match stage {
            Stage::InProgress(Some(claim)) => {
                let is_live = claim.lease_until.is_some_and(|until| until > self.now);
                let held = if is_live { "held by" } else { "last held by" };
                format!("{held} {}", claim.actor)
            }
            Stage::Stuck(Cause::Waits(ids)) => {
                let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
                format!("waits for {}", ids.join(", "))
            }
            Stage::Stuck(Cause::Person(what)) => what,
            Stage::Stuck(Cause::Status) => "needs a person".to_owned(),
            Stage::Stuck(Cause::Deferred) => {
                let is_ahead = task.defer_until.is_some_and(|until| until > self.now);
                let until = self.book.text(index, "defer_until").filter(|_| is_ahead);
                until.map_or("put off".to_owned(), |until| format!("not before {until}"))
            }
            Stage::Closed | Stage::Ready | Stage::InProgress(None) => String::new(),
        }
    }
}

/// The words that `status --json` counts by.
fn stage_name(stage: &Stage) -> &'static str {
    match stage {
        Stage::Closed => "closed",
        Stage::Ready => "ready",
        Stage::InProgress(_) => "in_progress",
        Stage::Stuck(Cause::Deferred) => "deferred",
        Stage::Stuck(Cause::Status | Cause::Person(_) | Cause::Waits(_)) => "blocked",
    }
}

/// Rows as text for people, or as the one JSON value that programs get.
pub fn printed(shown: &[Shown], json: bool) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        tasks: &'a [Shown],
    }
    if json {
        let document = Document {
            schema: 1,
            tasks: shown,
        };
        return Ok(serde_json::to_string(&document)? + "\n");
    }
    let width = |cell: fn(&Row) -> &str| {
        let widths = shown
            .iter()
            .map(|shown| cell(shown.as_row()).chars().count());
        widths.max().unwrap_or(0).min(WIDTH_MAX)
    };
    let widths = (width(|row| &row.id), width(Row::word));
    let mut text = String::new();
    for shown in shown {
        match shown {
            Shown::Row(row) => text.push_str(&row.printed(widths)),
            Shown::Whole(whole) => text.push_str(&whole.printed()),
        }
    }
    Ok(text)
}

impl Shown {
    fn as_row(&self) -> &Row {
        match self {
            Shown::Row(row) => row,
            Shown::Whole(whole) => &whole.row,
        }
    }
}

impl Row {
    /// The stage; for what is no task of its own, what it is instead.
    fn word(&self) -> &str {
        self.stage.unwrap_or(&self.type_name)
    }

    fn printed(&self, (id_width, word_width): (usize, usize)) -> String {
        let id = one_line(&self.id);
        let word = one_line(self.word());
        let mut line = format!(
            "{id:id_width$}  {word:word_width$}  P{}  {}",
            self.priority,
            one_line(&self.title)
        );
        if !self.why.is_empty() {
            let _ = write!(line, "  ({})", one_line(&self.why));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

impl Whole {
    fn printed(&self) -> String {
        let row = &self.row;
        let stage = match (row.stage, row.why.as_str()) {
            (None, _) => String::new(),
            (Some(stage), "") => stage.to_owned(),
            (Some(stage), why) => format!("{stage} ({why})"),
        };
        let mut text = format!("{}  {}\n", one_line(&row.id), one_line(&row.title));
        for (key, value) in [
            ("status", &row.status),
            ("stage", &stage),
            ("type", &row.type_name),
            ("priority", &row.priority.to_string()),
            ("parent", &row.parent.clone().unwrap_or_default()),
            ("blocked by", &row.blocked_by.join(", ")),
            ("assignee", &row.assignee.clone().unwrap_or_default()),
        ] {
            if !value.is_empty() {
                let _ = writeln!(text, "{key:12}{}", one_line(value));
            }
        }
        for (key, value) in [
            ("description", &self.description),
            ("design", &self.design),
            ("acceptance", &self.acceptance_criteria),
            ("notes", &self.notes),
            ("closed as", &self.close_reason),
        ] {
            if let Some(value) = value {
                let _ = writeln!(text, "\n{key}\n{}", indented(value));
            }
        }
        text
    }
}

/// Other people's text in one line of ours.
fn one_line(text: &str) -> String {
    plain(&text.replace(['\n', '\r', '\t'], " "))
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = format!("  {}", plain(&line.replace('\t', "    ")));
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
