//! `init`: wires the hooks of Claude Code, installs its `/run-tasks` command, and takes both out
//! again without a trace.

mod plan;
mod project_file;
mod removal;
mod shown;

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use serde_json::json;

use super::ambient::{ambient, asked_by, dir};
use super::found::Stores;
use super::report::{Refusal, inline};
use super::{Exit, LOST, print, say};
use crate::edge::agent::{Ambient, Scope};
use crate::edge::store::Store;
use crate::edge::{process, wiring};
use crate::kernel::ledger::By;
use crate::render::command;
pub use plan::every_settings;
use plan::{Aim, Desk, Plan};

/// Wire Beadlock into Claude Code, or take it out again
///
/// Puts Beadlock's hooks into Claude Code's settings, adds its `/run-tasks` command, and writes
/// `project.yaml` where there is none. Shows the difference first, asks if there is a terminal to
/// ask at, changes nothing that is not its own, and has nothing to do the second time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    beadlock init                 # .claude/settings.json of this project, shared through git\n  \
    beadlock init --local         # .claude/settings.local.json, yours alone\n  \
    beadlock init --user          # your own settings, for every project\n  \
    beadlock init --dry-run       # only show what would change\n  \
    beadlock init --remove        # give the files back as they were")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Args {
    /// This project's settings of yours alone: `.claude/settings.local.json`
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// Your own settings, for every project: `~/.claude/settings.json`
    #[arg(long)]
    user: bool,
    /// Only show the difference
    #[arg(long)]
    dry_run: bool,
    /// Take out what `init` has put in
    #[arg(long)]
    remove: bool,
    /// Do not ask; without a terminal nobody is asked anyway
    #[arg(long, short)]
    yes: bool,
    /// Print facts as JSON, the difference among them; asks nothing
    #[arg(long)]
    json: bool,
}

impl Args {
    fn aim(&self) -> Aim {
        if self.remove {
            Aim::TakeOut
        } else {
            Aim::PutIn
        }
    }
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let desk = desk(args, &ambient)?;
    let warnings = match args.aim() {
        Aim::PutIn => Vec::new(),
        Aim::TakeOut => live_runs(&ambient)?,
    };
    let mut plan = desk.plan(args.aim())?;
    plan.warnings.splice(0..0, warnings);
    if plan.is_nothing() {
        for warning in &plan.warnings {
            say(&format!("warning: {}", inline(warning)));
        }
        if !args.dry_run && !plan.files.is_empty() {
            // Only what was noted of files that have gone their own way.
            carry_out(args, &desk, &plan)?;
        }
        return Ok(ended(args, &desk, &plan, false));
    }
    if !args.json {
        print(&shown::difference(&plan.files));
        if LOST.get().is_some() {
            // Nobody has seen what would be changed.
            return Ok(Exit::Internal);
        }
    }
    for warning in &plan.warnings {
        say(&format!("warning: {}", inline(warning)));
    }
    if args.dry_run {
        return Ok(ended(args, &desk, &plan, false));
    }
    if !args.yes && !args.json && std::io::stdin().is_terminal() && !is_agreed() {
        return Err(Refusal::new(Exit::NotDone, "nothing was changed").into());
    }
    let is_written = carry_out(args, &desk, &plan)?;
    Ok(ended(args, &desk, &plan, is_written))
}

/// Whether it was done here, and not by somebody else meanwhile.
fn carry_out(args: &Args, desk: &Desk, shown: &Plan) -> anyhow::Result<bool> {
    let lock = desk.base.lock().map_err(Refusal::from)?;
    let now = desk.plan(args.aim())?;
    if now.is_nothing() && !shown.is_nothing() {
        return Ok(false);
    }
    if now.files != shown.files {
        let what = "the files were changed while they were being shown";
        return Err(Refusal::new(Exit::NotDone, what).hint("try again").into());
    }
    let done = desk.base.carry_out(&now.files, &lock);
    done.map_err(Refusal::from)?;
    Ok(true)
}

fn is_agreed() -> bool {
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "Write this? [y/N] ").and_then(|()| stderr.flush());
    let mut line = Vec::new();
    // Byte by byte: a terminal gives a line at a time, and no more than one is wanted.
    for byte in std::io::stdin().lock().take(ANSWER_BYTES_MAX).bytes() {
        match byte {
            Ok(b'\n') | Err(_) => break,
            Ok(byte) => line.push(byte),
        }
    }
    let answer = String::from_utf8_lossy(&line).trim().to_lowercase();
    asked.is_ok() && ["y", "yes"].contains(&answer.as_str())
}

const ANSWER_BYTES_MAX: u64 = 100;

fn desk(args: &Args, ambient: &Ambient) -> anyhow::Result<Desk> {
    let scope = match (args.local, args.user) {
        (true, _) => Scope::Local,
        (_, true) => Scope::User,
        (false, false) => Scope::Project,
    };
    let program = match program() {
        // What is taken out is known by its looks.
        Err(_) if args.remove => "beadlock".to_owned(),
        program => program?,
    };
    Ok(Desk::new(scope, program, dir(ambient)?, ambient)?)
}

/// Where this program is, by a path that will last: the one by which PATH knows it, where it does.
pub fn program() -> Result<String, Refusal> {
    let running = std::env::current_exe()
        .map_err(|error| format!("could not find out which program this is: {error}"));
    let found = running.and_then(|running| {
        let same = |path: &PathBuf| {
            let of = |path: &PathBuf| path.canonicalize().ok();
            of(path).is_some() && of(path) == of(&running)
        };
        if !running.is_file() {
            return Err(format!("`{}` is not there any more", running.display()));
        }
        let stable = process::locate("beadlock").filter(same);
        let path = stable.unwrap_or(running);
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| format!("`{}` is not UTF-8, and settings are", path.display()))
    });
    found.map_err(|what| {
        Refusal::new(Exit::NotDone, what).hint("call `beadlock init` by a program that can stay")
    })
}

/// An agent does not free itself this way; a person is told whose run goes unguarded.
fn live_runs(ambient: &Ambient) -> anyhow::Result<Vec<String>> {
    let is_agent = asked_by(ambient) == By::Agent;
    let mut live = Vec::new();
    for dir in Stores::of(ambient, &[]).around() {
        let runs = Store::open(dir).and_then(|mut store| store.runs());
        match runs {
            Ok(kept) => live.extend(kept.into_iter().filter(|kept| !kept.run.is_over())),
            Err(error) if is_agent => return Err(Refusal::from(error).into()),
            Err(_) => {}
        }
    }
    if let (true, Some(kept)) = (is_agent, live.first()) {
        let what = format!(
            "the hooks hold run `{}` until `{}` is done, and no agent takes them out",
            kept.run.id, kept.run.epic
        );
        let hint = "a person can, from a terminal of their own";
        return Err(Refusal::new(Exit::NotDone, what).hint(hint).into());
    }
    let warning = |kept: crate::edge::store::Kept| {
        let epic = kept.run.epic.as_str();
        format!(
            "run `{}` of `{epic}` is not over; without hooks it holds nobody. {} ends it",
            kept.run.id,
            command("abort", epic)
        )
    };
    Ok(live.into_iter().map(warning).collect())
}

fn ended(args: &Args, desk: &Desk, plan: &Plan, is_written: bool) -> Exit {
    if args.json {
        let facts = json!({
            "schema": 1,
            "agent": "claude",
            "scope": desk.scope.name(),
            "folder": desk.base.folder,
            "program": desk.program,
            "remove": args.remove,
            "written": is_written,
            "files": shown::facts(&desk.base, &plan.files),
            "warnings": plan.warnings,
            "diff": shown::difference(&plan.files),
        });
        print(&format!("{facts}\n"));
    } else if !args.dry_run || plan.is_nothing() {
        for remark in &plan.remarks {
            say(&inline(remark));
        }
        let done = if is_written {
            shown::summary(args.aim(), desk)
        } else {
            vec!["nothing to do".to_owned()]
        };
        say(&done.join("\n"));
    }
    Exit::Fine
}

impl From<wiring::Error> for Refusal {
    fn from(error: wiring::Error) -> Refusal {
        use wiring::Error;
        let (exit, hint) = match &error {
            Error::NotText { .. } => (Exit::Usage, "save it as UTF-8 and try again"),
            Error::Unreadable { .. } => (Exit::NotDone, "look at what it is, and who may read it"),
            Error::Changed { .. } | Error::Busy { .. } => (Exit::NotDone, "try again"),
            Error::Io { .. } => (
                Exit::NotDone,
                "nothing was changed; look at who may write there, or choose another place with `--local` or `--user`",
            ),
        };
        Refusal::new(exit, error.to_string()).hint(hint)
    }
}
