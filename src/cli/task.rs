//! `task`: the embedded tracker, for projects without one.

mod args;
mod listing;

use std::time::Duration;

use anyhow::Context;

pub use args::Args;
use args::{AddArgs, BlockArgs, CloseArgs, Command, ListArgs, NoteArgs, OneArgs, ReadyArgs};
use listing::{Listing, Shown};

use super::ambient::{actor, ambient, dir, now};
use super::report::{Refusal, of_owner, pasted};
use super::{Exit, print, say};
use crate::edge::tracker::jsonl::{Jsonl, NewTask};
use crate::edge::tracker::{self, Kind, KindChoice, Tracker, Workspace};
use crate::kernel::moment::Moment;
use crate::kernel::task::{Status, TaskId};

/// A person waits for the answer.
const READ_DEADLINE: Duration = Duration::from_secs(20);

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let dir = dir(&ambient)?;
    let workspace = tracker::locate(&dir, ambient.variable("BEADS_DIR"));
    let desk = Desk {
        actor: actor(args.actor.as_deref(), &ambient, &dir),
        jsonl: Jsonl::of(&workspace),
        workspace,
        now: now(),
        args,
    };
    match &args.command {
        Command::Add(args) => desk.add(args),
        Command::List(args) => desk.list(args),
        Command::Ready(args) => desk.ready(args),
        Command::Show(args) => desk.show(args),
        Command::Start(args) => desk.start(args),
        Command::Close(args) => desk.close(args),
        Command::Block(args) => desk.block(args),
        Command::Note(args) => desk.note(args),
        Command::Release(args) => desk.release(args),
        Command::Reopen(args) => desk.reopen(args),
    }
}

/// Everything that a subcommand works with.
struct Desk<'a> {
    workspace: Workspace,
    jsonl: Jsonl,
    now: Moment,
    actor: String,
    args: &'a Args,
}

impl Desk<'_> {
    fn add(&self, args: &AddArgs) -> anyhow::Result<Exit> {
        let id_of = |text: &String| TaskId::from(text.as_str());
        let parent = args.parent.as_ref().map(id_of);
        let blocked_by: Vec<TaskId> = args.blocked_by.iter().map(id_of).collect();
        let id = args.id.as_ref().map(id_of);
        let new = NewTask {
            title: &args.title,
            description: args.description.as_deref(),
            type_name: args.type_name.name(),
            priority: args.priority,
            parent: parent.as_ref(),
            blocked_by: &blocked_by,
            id: id.as_ref(),
        };
        let added = self
            .jsonl
            .add(&new, &self.actor, self.now)
            .map_err(Refusal::from)
            .context("could not add the task")?;
        if self.args.json {
            return self.print_changed(&added);
        }
        print(&format!("{added}\n"));
        Ok(Exit::Fine)
    }

    fn list(&self, args: &ListArgs) -> anyhow::Result<Exit> {
        let doing = "could not list the tasks";
        let book = self.read("list").context(doing)?;
        let listing = Listing::new(&book, self.now);
        let mut chosen = match &args.epic {
            Some(epic) => listing
                .of_epic(epic)
                .map_err(Refusal::from)
                .context(doing)?,
            None => listing.everything(),
        };
        for status in &args.status {
            let is_used = book.tasks().iter().any(|it| it.status.name() == status);
            if !is_used && !Status::NAMES.contains(&status.as_str()) {
                let refusal = Refusal::new(Exit::Usage, format!("no task is `{status}`"));
                let known = Status::NAMES.join("`, `");
                return Err(refusal.hint(format!("known are `{known}`")).into());
            }
        }
        chosen.retain(|&index| {
            let status = &book.tasks()[index].status;
            if args.status.is_empty() {
                args.all || *status != Status::Closed
            } else {
                args.status.iter().any(|wanted| wanted == status.name())
            }
        });
        self.print_rows(&listing, &chosen, "no tasks")
    }

    fn ready(&self, args: &ReadyArgs) -> anyhow::Result<Exit> {
        let doing = "could not list the ready tasks";
        let book = self.read("ready").context(doing)?;
        let listing = Listing::new(&book, self.now);
        let ready = match &args.epic {
            Some(epic) => listing
                .ready_of_epic(epic)
                .map_err(Refusal::from)
                .context(doing)?,
            None => listing.ready(),
        };
        self.print_rows(&listing, &ready, "nothing is ready")
    }

    fn show(&self, args: &OneArgs) -> anyhow::Result<Exit> {
        let id = TaskId::from(args.id.as_str());
        let doing = || format!("could not show `{id}`");
        let book = self.read(&shows(&id)).with_context(doing)?;
        let listing = Listing::new(&book, self.now);
        let index = listing
            .find(&id)
            .map_err(Refusal::from)
            .with_context(doing)?;
        let shown = Shown::Whole(listing.whole(index));
        print(&listing::printed(&[shown], self.args.json)?);
        Ok(Exit::Fine)
    }

    fn start(&self, args: &OneArgs) -> anyhow::Result<Exit> {
        self.change("start", &args.id, |id, actor| {
            self.jsonl.claim(id, actor, self.now)
        })
    }

    fn close(&self, args: &CloseArgs) -> anyhow::Result<Exit> {
        let reason = args.reason.as_deref();
        self.change("close", &args.id, |id, actor| {
            self.jsonl.close(id, reason, actor, self.now)
        })
    }

    fn block(&self, args: &BlockArgs) -> anyhow::Result<Exit> {
        self.change("block", &args.id, |id, actor| {
            self.jsonl.block(id, &args.reason, actor, self.now)
        })
    }

    fn note(&self, args: &NoteArgs) -> anyhow::Result<Exit> {
        self.change("add a note to", &args.id, |id, actor| {
            self.jsonl.note(id, &args.text, actor, self.now)
        })
    }

    fn release(&self, args: &OneArgs) -> anyhow::Result<Exit> {
        self.change("release", &args.id, |id, actor| {
            self.jsonl.release(id, actor, self.now, None)
        })
    }

    fn reopen(&self, args: &OneArgs) -> anyhow::Result<Exit> {
        self.change("reopen", &args.id, |id, _| self.jsonl.reopen(id, self.now))
    }

    /// The tasks, where they are ours; `command` is what the owner's own program calls the
    /// question.
    fn read(&self, command: &str) -> Result<tracker::jsonl::Book, Refusal> {
        // Beside a database of bd's the file is an export of any age.
        tracker::choose(&self.workspace, KindChoice::Named(Kind::Jsonl)).map_err(|error| {
            match &error {
                tracker::Error::Unsupported { owner, .. } => {
                    let hint = format!("use {}", of_owner(owner, command));
                    Refusal::from(error).hint(hint)
                }
                _ => Refusal::from(error),
            }
        })?;
        Ok(self.jsonl.read(READ_DEADLINE)?)
    }

    /// Does one thing to one task and prints the task as it is then.
    fn change(
        &self,
        verb: &str,
        id: &str,
        act: impl FnOnce(&TaskId, &str) -> Result<(), tracker::Error>,
    ) -> anyhow::Result<Exit> {
        let id = TaskId::from(id);
        act(&id, &self.actor)
            .map_err(Refusal::from)
            .with_context(|| format!("could not {verb} `{id}`"))?;
        self.print_changed(&id)
    }

    fn print_changed(&self, id: &TaskId) -> anyhow::Result<Exit> {
        let doing = || format!("`{id}` was written, but could not be read again");
        let book = self.read(&shows(id)).with_context(doing)?;
        let listing = Listing::new(&book, self.now);
        let index = listing
            .find(id)
            .map_err(Refusal::from)
            .with_context(doing)?;
        self.print_rows(&listing, &[index], "")
    }

    fn print_rows(
        &self,
        listing: &Listing<'_>,
        chosen: &[usize],
        when_none: &str,
    ) -> anyhow::Result<Exit> {
        let rows: Vec<Shown> = chosen
            .iter()
            .map(|&index| Shown::Row(listing.row(index)))
            .collect();
        if rows.is_empty() && !self.args.json {
            say(when_none);
        }
        print(&listing::printed(&rows, self.args.json)?);
        Ok(Exit::Fine)
    }
}

fn shows(id: &TaskId) -> String {
    format!("show {}", pasted(id))
}
