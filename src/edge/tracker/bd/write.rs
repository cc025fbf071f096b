//! Changes through bd, one task a call. bd's own refusals are texts that differ by version, so
//! what became of a change is read from the tasks afterwards, and so is why it was refused. They
//! are read before it as well: of an id that does not exist bd would look for the rest.

use super::{Bd, Error, Patience, WRITE_DEADLINE, WhenLate, answer, answer_of, named};
use crate::edge::process::Call;
use crate::kernel::moment::Moment;
use crate::kernel::task::{Graph, Status, Task, TaskId};

/// How many blockers a refusal names.
const BLOCKERS_NAMED_MAX: usize = 5;

impl Bd {
    pub(super) fn claimed(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error> {
        self.task(usable(id)?)?;
        let call = self.update(id, actor)?.arg("--claim");
        let said = answer_of(&call);
        let task = self.task(id)?;
        let holder = task.claim.as_ref().map(|claim| claim.actor.as_str());
        match (&task.status, holder) {
            (Status::InProgress, Some(holder)) if holder == actor => Ok(()),
            (Status::InProgress | Status::Hooked, Some(_)) => Err(held(&task, now)),
            (Status::Closed, _) => Err(Error::Closed { id: id.clone() }),
            (_, _) => Err(unexplained(said, &call, &task)),
        }
    }

    /// The lease of a task that `actor` holds, made good for a while longer.
    pub(super) fn renewed(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error> {
        let before = self.task(usable(id)?)?;
        own(&before, actor, now)?;
        let lease = before.claim.and_then(|claim| claim.lease_until);
        if lease.is_none() {
            // Before 1.3 a claim lasts until it is given back.
            return Ok(());
        }
        let call = self.writing(actor)?.arg("heartbeat").arg(id.as_str());
        let said = answer_of(&call);
        let task = self.task(id)?;
        own(&task, actor, now)?;
        said.map(drop)
    }

    pub(super) fn released(
        &self,
        id: &TaskId,
        actor: &str,
        now: Moment,
        note: Option<&str>,
    ) -> Result<(), Error> {
        let before = self.task(usable(id)?)?;
        if before.claim.is_some() {
            own(&before, actor, now)?;
        }
        let mut call = self
            .update(id, actor)?
            .args(["--status=open", "--assignee="]);
        if let Some(note) = note {
            call = call.arg(format!("--append-notes={note}"));
        }
        let said = answer_of(&call);
        let task = self.task(id)?;
        match (&task.status, &task.claim) {
            (Status::Open, None) => noted_beside(said, note, &call, id),
            (_, _) => Err(unexplained(said, &call, &task)),
        }
    }

    pub(super) fn noted(&self, id: &TaskId, text: &str, actor: &str) -> Result<(), Error> {
        self.task(usable(id)?)?;
        let call = self
            .update(id, actor)?
            .arg(format!("--append-notes={text}"));
        let said = answer_of(&call)?;
        if answer::has_note(&said, id, text) {
            Ok(())
        } else {
            Err(lost_note(&call, id))
        }
    }

    pub(super) fn closed(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        actor: &str,
        now: Moment,
    ) -> Result<(), Error> {
        self.task(usable(id)?)?;
        let mut call = self.writing(actor)?.args(["close", id.as_str(), "--json"]);
        if let Some(reason) = reason {
            call = call.arg(format!("--reason={reason}"));
        }
        let said = answer_of(&call);
        let tasks = self.read(UNHURRIED)?;
        let graph = Graph::new(&tasks, now);
        let Some(task) = graph.get(id.as_str()) else {
            return Err(Error::NotFound { id: id.clone() });
        };
        if task.status == Status::Closed {
            return Ok(());
        }
        let by = graph.blockers_of(id.as_str(), BLOCKERS_NAMED_MAX);
        let children = graph.open_children(id.as_str());
        if !by.is_empty() {
            Err(Error::Blocked { id: id.clone(), by })
        } else if !children.is_empty() {
            let children = children.into_iter().cloned().collect();
            Err(Error::OpenChildren {
                id: id.clone(),
                children,
            })
        } else {
            Err(unexplained(said, &call, task))
        }
    }

    pub(super) fn blocked(&self, id: &TaskId, reason: &str, actor: &str) -> Result<(), Error> {
        let before = self.task(usable(id)?)?;
        if before.status == Status::Closed {
            return Err(Error::Closed { id: id.clone() });
        }
        let call = self
            .update(id, actor)?
            .arg("--status=blocked")
            .arg(format!("--append-notes={reason}"));
        let said = answer_of(&call);
        let task = self.task(id)?;
        match task.status {
            Status::Blocked => noted_beside(said, Some(reason), &call, id),
            _ => Err(unexplained(said, &call, &task)),
        }
    }

    fn update(&self, id: &TaskId, actor: &str) -> Result<Call, Error> {
        let id = usable(id)?;
        Ok(self.writing(actor)?.args(["update", id.as_str(), "--json"]))
    }

    /// The task as it is now.
    fn task(&self, id: &TaskId) -> Result<Task, Error> {
        let tasks = self.read(UNHURRIED)?;
        let task = tasks.into_iter().find(|task| task.id == *id);
        task.ok_or_else(|| Error::NotFound { id: id.clone() })
    }
}

const UNHURRIED: Patience = Patience {
    deadline: WRITE_DEADLINE,
    when_late: WhenLate::Leave,
};

/// An id that bd takes for exactly that: an empty one means the task touched last, and a part of
/// one is looked up.
fn usable(id: &TaskId) -> Result<&TaskId, Error> {
    if id.is_plain() {
        Ok(id)
    } else {
        Err(Error::Id { id: id.clone() })
    }
}

fn own(task: &Task, actor: &str, now: Moment) -> Result<(), Error> {
    match &task.claim {
        Some(claim) if claim.actor == actor => Ok(()),
        Some(_) if is_live(task, now) => Err(held(task, now)),
        Some(_) | None => Err(Error::NotHeld {
            id: task.id.clone(),
            actor: actor.to_owned(),
        }),
    }
}

fn is_live(task: &Task, now: Moment) -> bool {
    let lease = task.claim.as_ref().and_then(|claim| claim.lease_until);
    lease.is_some_and(|until| until > now)
}

fn held(task: &Task, now: Moment) -> Error {
    let claim = task.claim.clone().unwrap_or_default();
    Error::Held {
        id: task.id.clone(),
        by: claim.actor,
        until: claim.lease_until.unwrap_or(now),
    }
}

/// The change was made; whether its note came along is in what bd said, if it said anything. A call
/// that was not waited for to its end writes both or neither.
fn noted_beside(
    said: Result<String, Error>,
    note: Option<&str>,
    call: &Call,
    id: &TaskId,
) -> Result<(), Error> {
    match (said, note) {
        (Ok(said), Some(note)) if !answer::has_note(&said, id, note) => Err(lost_note(call, id)),
        (Ok(_) | Err(_), _) => Ok(()),
    }
}

fn lost_note(call: &Call, id: &TaskId) -> Error {
    Error::Program {
        command: named(call),
        what: format!("went well, yet `{id}` has no such note"),
    }
}

/// bd did not do it, and nothing about the task says why: its own words, or that it had none.
fn unexplained(said: Result<String, Error>, call: &Call, task: &Task) -> Error {
    match said {
        Err(error) => error,
        Ok(said) => Error::Program {
            command: named(call),
            what: match answer::error_in(&said) {
                Some(what) => what,
                None => format!("went well, yet `{}` is `{}`", task.id, task.status.name()),
            },
        },
    }
}
