//! `abort`, `pause`, `resume` and `adopt`: the person's exits and hand-overs. None of them needs
//! the model, the tracker or git.

use serde_json::json;

use super::ambient::{ambient, asked_by, dir, now, session, store_here};
use super::report::{Refusal, plain};
use super::status::is_named;
use super::{Exit, print, say};
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::{self, Kept, Store, StoreDir, Writer};
use crate::kernel::ledger::{By, Outcome, Run};
use crate::kernel::ownership::{Refused, may_adopt};

/// End a run: the agent is free from its next stop on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without an id every run here is ended; inside an agent's session only its own.\n\nExample:\n  beadlock abort"
)]
pub struct AbortArgs {
    #[command(flatten)]
    which: Which,
}

/// Let the agent go for a while; the run is kept
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  beadlock pause")]
pub struct PauseArgs {
    #[command(flatten)]
    which: Which,
}

/// Hold the agent again after a pause, a wait or a long silence
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  beadlock resume")]
pub struct ResumeArgs {
    #[command(flatten)]
    which: Which,
}

/// Move a run to another session, whoever has it now
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  beadlock adopt bd-x7y8 --session 1e89e035-0000-4000-8000-000000000000"
)]
pub struct AdoptArgs {
    #[command(flatten)]
    which: Which,
    /// The session that is to be held; inside a session it is known
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// A run, an epic or a session; needed where there are several
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn abort(args: &AbortArgs) -> anyhow::Result<Exit> {
    let ambient = ambient();
    // An agent that names nothing means its own run, and nobody else's.
    let inside = Claude.session_inside(&ambient);
    let Some(dir) = store_here(&dir(&ambient)?) else {
        return Ok(done(&args.which, "aborted", &[]));
    };
    let mut store = match Store::open(&dir) {
        Ok(store) => store,
        Err(error @ (store::Error::Missing { .. } | store::Error::Corrupt { .. })) => {
            // Whatever was guarded is so no longer, and no session shall be told so for ever.
            dir.unmark_all();
            say(&format!("warning: {error}"));
            return Ok(done(&args.which, "aborted", &[]));
        }
        Err(error) => return Err(Refusal::from(error).into()),
    };
    let ended = store.write(|writer| -> Result<Vec<Run>, store::Error> {
        let mut ended = Vec::new();
        for mut kept in matching(writer.live_runs()?, &args.which) {
            let is_own = inside.as_ref().is_none_or(|own| *own == kept.run.session);
            if args.which.id.is_none() && !is_own {
                continue;
            }
            kept.run.abort(asked_by(&ambient), now());
            writer.save(&kept.run)?;
            ended.push(kept.run);
        }
        Ok(ended)
    });
    let ended = ended.map_err(Refusal::from)?;
    for run in ended.iter().filter(|run| !run.told.is_owed) {
        dir.unmark(&run.session);
    }
    if ended.is_empty()
        && let Some(id) = &args.which.id
    {
        return Err(unknown(id).into());
    }
    Ok(done(&args.which, "aborted", &ended))
}

pub fn pause(args: &PauseArgs) -> anyhow::Result<Exit> {
    change(&args.which, "paused", |run, ambient| {
        run.pause(asked_by(ambient), now());
    })
}

pub fn resume(args: &ResumeArgs) -> anyhow::Result<Exit> {
    change(&args.which, "resumed", |run, ambient| {
        run.wake(now());
        if asked_by(ambient) == By::Person {
            run.accept_scope();
        }
    })
}

pub fn adopt(args: &AdoptArgs) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let inside = Claude.session_inside(&ambient);
    let session = session(args.session.as_ref(), inside.as_ref())?;
    let (mut store, dir) = open_here(&ambient)?;
    // The mark comes first: a run without one would let its session go without a word.
    dir.mark(&session).map_err(|error| {
        Refusal::new(
            Exit::Unknown,
            format!("could not mark the session: {error}"),
        )
    })?;
    let moved = store.write(|writer| -> Result<(String, Run), Refusal> {
        let mut kept = one(writer, &args.which)?;
        may_adopt(&kept.run, &session, inside.as_deref(), asked_by(&ambient))
            .map_err(|refused| not_moved(refused, &kept.run))?;
        let former = std::mem::replace(&mut kept.run.session, session.clone());
        let own = writer.run_of_session(&session)?;
        if own.is_some_and(|own| !own.run.is_over() && own.run.id != kept.run.id) {
            let what = format!("session `{}` has a run already", plain(&session));
            return Err(
                Refusal::new(Exit::NotDone, what).hint("end it with `beadlock abort` first")
            );
        }
        kept.run.wake(now());
        writer.save(&kept.run)?;
        Ok((former, kept.run))
    });
    let (former, run) = match moved {
        Ok(moved) => moved,
        Err(refusal) => {
            store.unmark_unless_held(&session);
            return Err(refusal.into());
        }
    };
    if former != session {
        dir.unmark(&former);
    }
    Ok(done(&args.which, "adopted", &[run]))
}

fn not_moved(refused: Refused, run: &Run) -> Refusal {
    let what = match refused {
        Refused::GivenAway => "a held session cannot give its own run away".to_owned(),
        Refused::SecondEpic
        | Refused::NotThisSession
        | Refused::NotAnAgents
        | Refused::LiveElsewhere => {
            format!(
                "an agent cannot take the run of session `{}`",
                plain(&run.session)
            )
        }
    };
    Refusal::new(Exit::NotDone, what).hint("a person can, from a terminal of their own")
}

/// Changes the one run that is meant.
fn change(
    which: &Which,
    verb: &str,
    apply: impl FnOnce(&mut Run, &Ambient),
) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let (mut store, _) = open_here(&ambient)?;
    let run = store.write(|writer| -> Result<Run, Refusal> {
        let mut kept = one(writer, which)?;
        apply(&mut kept.run, &ambient);
        writer.save(&kept.run)?;
        Ok(kept.run)
    })?;
    Ok(done(which, verb, &[run]))
}

fn open_here(ambient: &Ambient) -> anyhow::Result<(Store, StoreDir)> {
    let Some(dir) = store_here(&dir(ambient)?) else {
        return Err(no_run().into());
    };
    let store = Store::open(&dir).map_err(Refusal::from)?;
    Ok((store, dir))
}

/// The one live run that is meant; an error that lists them if that is not clear.
fn one(writer: &Writer<'_>, which: &Which) -> Result<Kept, Refusal> {
    let live = writer.live_runs()?;
    let mut meant = matching(live, which);
    match (meant.len(), &which.id) {
        (1, _) => Ok(meant.remove(0)),
        (0, Some(id)) => Err(unknown(id)),
        (0, None) => Err(no_run()),
        (_, _) => {
            let described = |kept: &Kept| {
                let run = &kept.run;
                let session = plain(&run.session);
                format!(
                    "{} on {} ({}, session {session})",
                    run.id,
                    run.epic,
                    run.state.name()
                )
            };
            let lines: Vec<String> = meant.iter().map(described).collect();
            let what = format!("several runs are here:\n  {}", lines.join("\n  "));
            Err(Refusal::new(Exit::Usage, what).hint("name one of them"))
        }
    }
}

fn matching(runs: Vec<Kept>, which: &Which) -> Vec<Kept> {
    let is_meant = |kept: &Kept| match &which.id {
        None => true,
        Some(id) => is_named(&kept.run, id),
    };
    runs.into_iter().filter(is_meant).collect()
}

fn no_run() -> Refusal {
    Refusal::new(Exit::NotDone, "no run here").hint("`beadlock start EPIC --session ID` begins one")
}

fn unknown(id: &str) -> Refusal {
    let what = format!("no open run, epic or session `{}` here", plain(id));
    Refusal::new(Exit::NotDone, what).hint("`beadlock status --all` lists them")
}

fn done(which: &Which, verb: &str, runs: &[Run]) -> Exit {
    if which.json {
        let ids: Vec<_> = runs
            .iter()
            .map(|run| {
                json!({
                    "run": run.id, "epic": run.epic.as_str(), "session": run.session,
                    "state": run.state.name(), "outcome": run.outcome.map(Outcome::name),
                })
            })
            .collect();
        print(&format!("{}\n", json!({ "schema": 1, "runs": ids })));
    } else if runs.is_empty() {
        print("no run here\n");
    } else {
        let line = |run: &Run| format!("{verb} {} on {}\n", run.id, run.epic);
        print(&runs.iter().map(line).collect::<String>());
    }
    Exit::Fine
}
