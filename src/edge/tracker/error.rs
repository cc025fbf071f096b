//! Why a tracker did not do what was asked.

use std::io;
use std::path::PathBuf;

use super::stamp;
use crate::kernel::moment::Moment;
use crate::kernel::task::{Status, TaskId};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no task `{id}`")]
    NotFound { id: TaskId },
    #[error("`{id}` waits for {}", listed(by))]
    Blocked { id: TaskId, by: Vec<TaskId> },
    #[error("`{id}` has open children: {}", listed(children))]
    OpenChildren { id: TaskId, children: Vec<TaskId> },
    #[error("`{id}` is held by `{by}` until {}", stamp::format(*until))]
    Held {
        id: TaskId,
        by: String,
        until: Moment,
    },
    #[error("`{id}` is not held by `{actor}`")]
    NotHeld { id: TaskId, actor: String },
    #[error("`{id}` is closed")]
    Closed { id: TaskId },
    /// Neither closed nor blocked by others, and yet not in a state that allows this.
    #[error("the status of `{id}` is `{}`", status.name())]
    Status { id: TaskId, status: Status },
    #[error("there is a task `{id}` already")]
    Exists { id: TaskId },
    #[error("`{id}` is no usable id")]
    Id { id: TaskId },
    /// bd takes what stands before the first dash for the workspace: without one each task would
    /// be its own, and none could wait for another.
    #[error("`{id}` has no prefix")]
    NoPrefix { id: TaskId },
    #[error("`{id}` would not wait for `{blocker}`: their prefixes differ")]
    OtherPrefix { id: TaskId, blocker: TaskId },
    #[error("nothing below `{ancestor}` can wait for it: each would wait for the other")]
    Knot { ancestor: TaskId },
    #[error("the tasks here are kept by {owner} ({told_by})")]
    Foreign {
        owner: &'static str,
        told_by: String,
        /// The owner's own command for what was asked.
        instead: String,
    },
    #[error("the tasks here are kept by {owner} ({told_by}), not in a file of our own")]
    Unsupported {
        owner: &'static str,
        told_by: String,
    },
    #[error("`{program}` was not found")]
    NoProgram { program: &'static str },
    #[error("bd's database `{}` is not there", path.display())]
    NoDatabase { path: PathBuf },
    #[error("`{command}` {what}")]
    Program { command: String, what: String },
    #[error("`{}`{}: {what}", path.display(), at(*line))]
    Unreadable {
        path: PathBuf,
        line: Option<usize>,
        what: String,
    },
    #[error("`{}` was changed by somebody else each time it was about to be written", path.display())]
    Changed { path: PathBuf },
    #[error("`{}` was locked by somebody else for {seconds} seconds", path.display())]
    Busy { path: PathBuf, seconds: u64 },
    #[error("could not {doing} `{}`: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// How many ids a message names.
const IDS_NAMED_MAX: usize = 5;

fn listed(ids: &[TaskId]) -> String {
    let named: Vec<String> = ids
        .iter()
        .take(IDS_NAMED_MAX)
        .map(|id| format!("`{id}`"))
        .collect();
    match ids.len().saturating_sub(IDS_NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}"))
        .unwrap_or_default()
}
