//! The embedded tracker: `.beads/issues.jsonl`, one task a line, read and written here without
//! any other program. A workspace that bd or br keep a database for is left to them.

mod add;
mod book;
mod change;
mod disk;
mod line;
mod reader;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

pub use add::NewTask;
pub use book::Book;
pub use disk::{OWN_FILES, OWN_FOLDER};

use super::workspace::{Act, Owner};
use super::{Commands, Error, Files, Kind, List, Patience, Token, Tracker, Workspace};
use crate::kernel::moment::Moment;
use crate::kernel::task::{Graph, Status, TaskId};
use change::Case;
use disk::{Lock, Replaced};
use line::Edit;

/// How often a write starts over because somebody who does not know our lock was faster.
const WRITES_MAX: u32 = 10;

/// What is said where the tracker's file is not there.
pub const NO_FILE: &str = "no such file";

/// How long a writer may read; the file is local, so this is never the limit that bites.
const READ_FOR_WRITE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct Jsonl {
    workspace: Workspace,
    path: PathBuf,
}

impl Jsonl {
    pub fn of(workspace: &Workspace) -> Jsonl {
        Jsonl {
            path: workspace.folder().join("issues.jsonl"),
            workspace: workspace.clone(),
        }
    }

    /// Everything the file says; an empty book where there is no file yet.
    pub fn read(&self, deadline: Duration) -> Result<Book, Error> {
        self.written(deadline).map(|(book, _)| book)
    }

    /// Writes a new task down and says what it is called.
    pub fn add(&self, new: &NewTask<'_>, actor: &str, now: Moment) -> Result<TaskId, Error> {
        let mut added = None;
        self.change(Act::Add, |book| {
            let (id, row) = new.row(book, &self.workspace.root, actor, now)?;
            added = Some(id);
            Ok(Some(book.appended(&row)))
        })?;
        added.ok_or_else(|| Error::Changed {
            path: self.path.clone(),
        })
    }

    /// Opens a closed or blocked task again, for anybody to take.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is not general enough in its lifetime"
    )]
    pub fn reopen(&self, id: &TaskId, now: Moment) -> Result<(), Error> {
        self.change_task(Act::Reopen(id), id, now, |case| case.reopened())
    }

    fn read_with_token(&self, deadline: Duration) -> Result<(Book, Option<Token>), Error> {
        match disk::read(&self.path, deadline)? {
            Some(copy) => Ok((Book::parse(copy.text, &self.path)?, Some(copy.token))),
            None => Ok((Book::default(), None)),
        }
    }

    /// What is written down. That there is no file says nothing about tasks: it may be lost.
    fn written(&self, deadline: Duration) -> Result<(Book, Token), Error> {
        match self.read_with_token(deadline)? {
            (book, Some(token)) => Ok((book, token)),
            (_, None) => Err(Error::Unreadable {
                path: self.path.clone(),
                line: None,
                what: NO_FILE.to_owned(),
            }),
        }
    }

    /// Changes one task's line as `rule` says; no edits mean that all is as it should be.
    fn change_task(
        &self,
        act: Act<'_>,
        id: &TaskId,
        now: Moment,
        rule: impl Fn(&Case<'_>) -> Result<Vec<Edit>, Error>,
    ) -> Result<(), Error> {
        self.change(act, |book| {
            let index = book.find(id);
            let index = index.filter(|&index| book.tasks()[index].status != Status::Tombstone);
            let not_found = || Error::NotFound { id: id.clone() };
            let index = index.ok_or_else(not_found)?;
            let line = book.line(index).ok_or_else(not_found)?;
            let mut edits = rule(&Case {
                graph: &Graph::new(book.tasks(), now),
                task: &book.tasks()[index],
                line: &line,
                path: &self.path,
                now,
            })?;
            if edits.is_empty() {
                return Ok(None);
            }
            edits.push(Edit::text("updated_at", &super::stamp::format(now)));
            Ok(book.edited(index, &edits))
        })
    }

    /// Replaces the file by what `decide` makes of it. Nobody else writes in between: those who
    /// know the lock wait for it, and a change by anybody else starts this over.
    fn change(
        &self,
        act: Act<'_>,
        mut decide: impl FnMut(&Book) -> Result<Option<String>, Error>,
    ) -> Result<(), Error> {
        if let Owner::Bd { told_by } | Owner::BdOrBr { told_by } = &self.workspace.owner {
            return Err(Error::Foreign {
                owner: self.workspace.owner.tool(),
                told_by: told_by.clone(),
                instead: self.workspace.owner.instead(act),
            });
        }
        // A refusal leaves no trace, not even a lock file where there is no tracker at all.
        let (book, _) = self.read_with_token(READ_FOR_WRITE)?;
        if decide(&book)?.is_none() {
            return Ok(());
        }
        let _lock = Lock::take(&self.workspace, disk::LOCK_WAIT)?;
        for _ in 0..WRITES_MAX {
            let (book, token) = self.read_with_token(READ_FOR_WRITE)?;
            let Some(text) = decide(&book)? else {
                return Ok(());
            };
            match disk::replace(&self.path, &text, token.as_ref())? {
                Replaced::Done => return Ok(()),
                Replaced::Changed => {}
            }
        }
        Err(Error::Changed {
            path: self.path.clone(),
        })
    }
}

impl Tracker for Jsonl {
    fn kind(&self) -> Kind {
        Kind::Jsonl
    }

    fn tasks(&self, patience: Patience) -> Result<List, Error> {
        let (book, token) = self.written(patience.deadline)?;
        Ok(List {
            tasks: book.into_tasks(),
            token: Some(token),
        })
    }

    fn token(&self) -> Option<Token> {
        disk::token(&self.path)
    }

    fn is_slow(&self) -> bool {
        false
    }

    fn program(&self) -> Option<String> {
        None
    }

    /// What is ready is the kernel's to say.
    fn own_ready(&self, _epic: &TaskId, _patience: Patience) -> Result<Option<Vec<TaskId>>, Error> {
        Ok(None)
    }

    fn claim(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error> {
        self.change_task(Act::Claim(id), id, now, |case| case.claimed(actor))
    }

    fn heartbeat(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error> {
        self.change_task(Act::Heartbeat(id), id, now, |case| case.renewed(actor))
    }

    fn release(
        &self,
        id: &TaskId,
        actor: &str,
        now: Moment,
        note: Option<&str>,
    ) -> Result<(), Error> {
        let act = Act::Release(id);
        self.change_task(act, id, now, |case| case.released(actor, note))
    }

    fn note(&self, id: &TaskId, text: &str, _actor: &str, now: Moment) -> Result<(), Error> {
        self.change_task(Act::Note(id), id, now, |case| case.noted(text))
    }

    fn close(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        _actor: &str,
        now: Moment,
    ) -> Result<(), Error> {
        self.change_task(Act::Close(id), id, now, |case| case.closed(reason))
    }

    fn block(&self, id: &TaskId, reason: &str, _actor: &str, now: Moment) -> Result<(), Error> {
        self.change_task(Act::Block(id), id, now, |case| case.blocked(reason))
    }

    fn commands(&self) -> Commands {
        Commands {
            ready: "beadlock task ready --epic EPIC".to_owned(),
            claim: "beadlock task start ID".to_owned(),
            close: "beadlock task close ID --reason TEXT".to_owned(),
            block: "beadlock task block ID --reason TEXT".to_owned(),
        }
    }

    fn files(&self) -> Files {
        Files {
            tracker_file: Some(self.path.clone()),
            not_work: Vec::new(),
            temporary: Some(disk::temporary(&self.path)),
        }
    }
}
