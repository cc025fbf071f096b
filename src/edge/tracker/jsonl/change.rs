//! What may be done to a task, and which keys of its line that changes.

use std::path::Path;

use super::line::{Edit, Line};
use crate::edge::tracker::error::Error;
use crate::edge::tracker::stamp;
use crate::kernel::moment::Moment;
use crate::kernel::task::{Claim, Graph, Stage, Status, Task};

/// bd's own lease.
const LEASE_MILLIS: i64 = 5 * 60 * 1000;

/// How many blockers an error carries.
const BLOCKERS_MAX: usize = 100;

/// One task about to be changed, with all that a rule may look at.
pub struct Case<'a> {
    pub graph: &'a Graph<'a>,
    pub task: &'a Task,
    pub line: &'a Line<'a>,
    pub path: &'a Path,
    pub now: Moment,
}

impl Case<'_> {
    /// Taken by `actor`. Only a living lease of somebody else protects a task that is in
    /// progress: without one nobody vouches for it, and it has to go on.
    pub fn claimed(&self, actor: &str) -> Result<Vec<Edit>, Error> {
        match &self.task.status {
            Status::InProgress | Status::Hooked if self.is_held_by(actor) => Ok(self.lease()),
            Status::InProgress | Status::Hooked | Status::Open => {
                self.refuse_held(actor)?;
                self.refuse_blocked()?;
                Ok(self.taken(actor))
            }
            Status::Deferred => {
                self.refuse_held(actor)?;
                self.refuse_blocked()?;
                match self.graph.stage_of(self.task.id.as_str()) {
                    Some(Stage::Ready) => Ok(self.taken(actor)),
                    _ => Err(self.wrong_status()),
                }
            }
            Status::Closed => Err(self.is_closed()),
            Status::Blocked | Status::Pinned | Status::Tombstone | Status::Other(_) => {
                Err(self.wrong_status())
            }
        }
    }

    pub fn renewed(&self, actor: &str) -> Result<Vec<Edit>, Error> {
        match &self.task.status {
            Status::InProgress | Status::Hooked if self.is_held_by(actor) => Ok(self.lease()),
            Status::Closed => Err(self.is_closed()),
            _ => {
                self.refuse_held(actor)?;
                Err(Error::NotHeld {
                    id: self.task.id.clone(),
                    actor: actor.to_owned(),
                })
            }
        }
    }

    pub fn released(&self, actor: &str, note: Option<&str>) -> Result<Vec<Edit>, Error> {
        let mut edits = match &self.task.status {
            Status::InProgress | Status::Hooked => vec![Edit::text("status", "open")],
            Status::Open | Status::Deferred => Vec::new(),
            Status::Closed => return Err(self.is_closed()),
            Status::Blocked | Status::Pinned | Status::Tombstone | Status::Other(_) => {
                return Err(self.wrong_status());
            }
        };
        self.refuse_held(actor)?;
        edits.extend(self.removed(&["assignee", "lease_expires_at", "heartbeat_at"]));
        if let Some(note) = note {
            edits.extend(self.noted(note)?);
        }
        Ok(edits)
    }

    pub fn noted(&self, text: &str) -> Result<Vec<Edit>, Error> {
        let notes = match self.line.value("notes") {
            None | Some("null") => None,
            Some(_) => match self.line.text("notes") {
                Some(notes) => Some(notes).filter(|notes| !notes.is_empty()),
                None => {
                    return Err(Error::Unreadable {
                        path: self.path.to_path_buf(),
                        line: None,
                        what: format!("the notes of `{}` are not a text", self.task.id),
                    });
                }
            },
        };
        let notes = notes.map_or_else(|| text.to_owned(), |notes| format!("{notes}\n{text}"));
        Ok(vec![Edit::text("notes", &notes)])
    }

    /// Over. What is over already stays as it was, with its first reason.
    pub fn closed(&self, reason: Option<&str>) -> Result<Vec<Edit>, Error> {
        match &self.task.status {
            Status::Closed => return Ok(Vec::new()),
            Status::Open
            | Status::InProgress
            | Status::Hooked
            | Status::Blocked
            | Status::Deferred
            | Status::Other(_) => {}
            Status::Pinned | Status::Tombstone => return Err(self.wrong_status()),
        }
        self.refuse_blocked()?;
        let children = self.graph.open_children(self.task.id.as_str());
        if !children.is_empty() {
            return Err(Error::OpenChildren {
                id: self.task.id.clone(),
                children: children.into_iter().cloned().collect(),
            });
        }
        let mut edits = vec![
            Edit::text("status", "closed"),
            Edit::text("closed_at", &stamp::format(self.now)),
        ];
        edits.extend(reason.map(|reason| Edit::text("close_reason", reason)));
        edits.extend(self.removed(&["lease_expires_at", "heartbeat_at"]));
        Ok(edits)
    }

    pub fn blocked(&self, reason: &str) -> Result<Vec<Edit>, Error> {
        match &self.task.status {
            Status::Closed => return Err(self.is_closed()),
            Status::Pinned | Status::Tombstone => return Err(self.wrong_status()),
            Status::Open
            | Status::InProgress
            | Status::Hooked
            | Status::Blocked
            | Status::Deferred
            | Status::Other(_) => {}
        }
        let mut edits = vec![Edit::text("status", "blocked")];
        edits.extend(self.noted(reason)?);
        edits.extend(self.removed(&["lease_expires_at", "heartbeat_at"]));
        Ok(edits)
    }

    /// Open for anybody again. What is open already stays as it is.
    pub fn reopened(&self) -> Result<Vec<Edit>, Error> {
        match &self.task.status {
            Status::Open => Ok(Vec::new()),
            Status::Closed | Status::Blocked => {
                let mut edits = vec![Edit::text("status", "open")];
                edits.extend(self.removed(&[
                    "closed_at",
                    "close_reason",
                    "assignee",
                    "lease_expires_at",
                    "heartbeat_at",
                ]));
                Ok(edits)
            }
            Status::InProgress
            | Status::Hooked
            | Status::Deferred
            | Status::Pinned
            | Status::Tombstone
            | Status::Other(_) => Err(self.wrong_status()),
        }
    }

    fn taken(&self, actor: &str) -> Vec<Edit> {
        let mut edits = vec![
            Edit::text("status", "in_progress"),
            Edit::text("assignee", actor),
            Edit::text("started_at", &stamp::format(self.now)),
        ];
        edits.extend(self.lease());
        edits
    }

    fn lease(&self) -> Vec<Edit> {
        let until = self.now.plus_millis(LEASE_MILLIS);
        vec![
            Edit::text("lease_expires_at", &stamp::format(until)),
            Edit::text("heartbeat_at", &stamp::format(self.now)),
        ]
    }

    /// Those of the keys that are there, so that a line without them is left alone.
    fn removed(&self, keys: &[&'static str]) -> Vec<Edit> {
        keys.iter()
            .filter(|key| self.line.value(key).is_some())
            .map(|key| Edit::Remove(key))
            .collect()
    }

    fn is_held_by(&self, actor: &str) -> bool {
        let claim = self.task.claim.as_ref();
        claim.is_some_and(|claim| claim.actor == actor)
    }

    /// Fails while somebody else's lease lives.
    fn refuse_held(&self, actor: &str) -> Result<(), Error> {
        match &self.task.claim {
            Some(Claim {
                actor: by,
                lease_until: Some(until),
                ..
            }) if by != actor && *until > self.now => Err(Error::Held {
                id: self.task.id.clone(),
                by: by.clone(),
                until: *until,
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn refuse_blocked(&self) -> Result<(), Error> {
        let by = self.graph.blockers_of(self.task.id.as_str(), BLOCKERS_MAX);
        if by.is_empty() {
            return Ok(());
        }
        Err(Error::Blocked {
            id: self.task.id.clone(),
            by,
        })
    }

    fn is_closed(&self) -> Error {
        Error::Closed {
            id: self.task.id.clone(),
        }
    }

    fn wrong_status(&self) -> Error {
        Error::Status {
            id: self.task.id.clone(),
            status: self.task.status.clone(),
        }
    }
}
