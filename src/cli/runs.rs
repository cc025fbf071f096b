//! `abort`, `pause`, `resume` and `adopt`: the person's exits and hand-overs. None of them needs
//! the model, the tracker or git.

use serde_json::json;

use super::ambient::{actor, ambient, asked_by, dir, now, session, store_here, stores_here};
use super::report::{Refusal, inline};
use super::status::is_named;
use super::{Exit, print, say};
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::{self, Kept, Store, StoreDir, Unread, Writer};
use crate::kernel::ledger::{By, Outcome, Run};
use crate::kernel::ownership::{Asker, How, Refused, may_adopt};
use crate::render::command;

/// End a run: the agent is free from its next stop on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without an id every run here is ended; inside an agent's session only its own.\n\nExamples:\n  beadlock abort\n  beadlock abort bd-x7y8"
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
    /// A run, an epic or a session; without it the one run here is meant
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn abort(args: &AbortArgs) -> anyhow::Result<Exit> {
    let ambient = ambient();
    // An agent that names nothing means its own run, and nobody else's.
    let inside = Claude.session_inside(&ambient);
    let mut ended = Vec::new();
    let mut unread = Vec::new();
    // An agent that has wandered into another repository is held there too.
    for dir in stores_here(&dir(&ambient)?)? {
        let mut store = match Store::open(&dir) {
            Ok(store) => store,
            Err(error @ (store::Error::Missing { .. } | store::Error::Corrupt { .. })) => {
                // No session shall be told for ever.
                Store::unmark_all_if_missing(&dir).map_err(Refusal::from)?;
                say(&format!("warning: {error}"));
                continue;
            }
            Err(error) => return Err(Refusal::from(error).into()),
        };
        let aborted = abort_in(&mut store, args, inside.as_deref(), asked_by(&ambient));
        let aborted = aborted.map_err(Refusal::from)?;
        ended.extend(aborted.runs);
        unread.extend(aborted.unread);
    }
    for run in &unread {
        let (id, epic) = (inline(&run.run), inline(&run.epic));
        say(&format!(
            "warning: {id} on {epic} could not be read, and is over"
        ));
    }
    match &args.which.id {
        Some(id) if ended.is_empty() && unread.is_empty() => Err(unknown(id).into()),
        Some(_) | None => Ok(done(&args.which, "aborted", &ended)),
    }
}

/// What an abort ended in one store.
struct Aborted {
    runs: Vec<Run>,
    unread: Vec<Unread>,
}

fn abort_in(
    store: &mut Store,
    args: &AbortArgs,
    inside: Option<&str>,
    by: By,
) -> Result<Aborted, store::Error> {
    let is_meant = |id: &str, epic: &str, session: &str| match &args.which.id {
        Some(name) => [id, epic, session].contains(&name.as_str()),
        None => inside.is_none_or(|own| own == session),
    };
    let mut unread = store.unread()?;
    unread.retain(|run| is_meant(&run.run, &run.epic, &run.session));
    let runs = store.write(|writer| -> Result<Vec<Run>, store::Error> {
        let mut ended = Vec::new();
        for mut kept in writer.live_runs()? {
            let run = &mut kept.run;
            if is_meant(&run.id, run.epic.as_str(), &run.session) {
                run.abort(by, now());
                writer.save(run)?;
                ended.push(kept.run);
            }
        }
        for run in &unread {
            writer.end_unread(&run.run)?;
        }
        Ok(ended)
    })?;
    let sessions = runs.iter().map(|run| &run.session);
    let sessions = sessions.chain(unread.iter().map(|run| &run.session));
    for session in sessions {
        store.unmark_unless_held(session);
    }
    if args.which.id.is_none() && inside.is_none() {
        store.sweep_marks()?;
    }
    Ok(Aborted { runs, unread })
}

pub fn pause(args: &PauseArgs) -> anyhow::Result<Exit> {
    change(&args.which, "paused", |run, ambient| {
        run.pause(asked_by(ambient), now());
        Ok(())
    })
}

pub fn resume(args: &ResumeArgs) -> anyhow::Result<Exit> {
    change(&args.which, "resumed", |run, ambient| {
        run.resume(asked_by(ambient), now())
    })
}

pub fn adopt(args: &AdoptArgs) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let inside = Claude.session_inside(&ambient);
    let session = session(args.session.as_ref(), inside.as_ref())?;
    let (mut store, dir) = open_here(&ambient)?;
    let actor = actor(None, &ambient, &self::dir(&ambient)?);
    // The mark comes first: a run without one would let its session go without a word.
    mark(&dir, &session)?;
    let moved = store.write(|writer| -> Result<(String, Run), Refusal> {
        let mut kept = one(writer, &args.which, None)?;
        let own = writer.run_of_session(&session)?.map(|own| own.run);
        let asker = Asker {
            session: &session,
            inside: inside.as_deref(),
            by: asked_by(&ambient),
            how: How::ByHand,
            replace: false,
        };
        if let Err(refused) = may_adopt(&kept.run, &asker, own.as_ref()) {
            return Err(not_moved(refused, own.as_ref().unwrap_or(&kept.run)));
        }
        let former = kept.run.session.clone();
        let actor = if former == session {
            kept.run.actor.clone()
        } else {
            actor.clone()
        };
        kept.run.move_to(&session, &actor, now());
        writer.save(&kept.run)?;
        mark(&dir, &session)?;
        Ok((former, kept.run))
    });
    let (former, run) = match moved {
        Ok(moved) => moved,
        Err(refusal) => {
            store.unmark_unless_held(&session);
            return Err(refusal.into());
        }
    };
    store.unmark_unless_held(&former);
    Ok(done(&args.which, "adopted", &[run]))
}

fn mark(dir: &StoreDir, session: &str) -> Result<(), Refusal> {
    dir.mark(session).map_err(|error| {
        Refusal::new(
            Exit::Unknown,
            format!("could not mark the session: {error}"),
        )
    })
}

/// `run` is the one in question, or the one that is in the way.
fn not_moved(refused: Refused, run: &Run) -> Refusal {
    let session = inline(&run.session);
    let by_hand = "a person can, from a terminal of their own";
    let (what, hint) = match refused {
        Refused::GivenAway => (
            "a held session cannot give its own run away".to_owned(),
            by_hand.to_owned(),
        ),
        Refused::PausedByPerson => (
            "a person paused this run, and an agent cannot go on with it".to_owned(),
            by_hand.to_owned(),
        ),
        Refused::HasOne => (
            format!("session `{session}` has a run already"),
            format!("end it with {} first", command("abort", run.epic.as_str())),
        ),
        Refused::SecondEpic
        | Refused::NotThisSession
        | Refused::NotAnAgents
        | Refused::Again
        | Refused::LiveElsewhere => (
            format!("an agent cannot take the run of session `{session}`"),
            by_hand.to_owned(),
        ),
    };
    Refusal::new(Exit::NotDone, what).hint(hint)
}

/// Changes the one run that is meant.
fn change(
    which: &Which,
    verb: &str,
    apply: impl FnOnce(&mut Run, &Ambient) -> Result<(), Refused>,
) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let inside = Claude.session_inside(&ambient);
    let (mut store, _) = open_here(&ambient)?;
    let run = store.write(|writer| -> Result<Run, Refusal> {
        let mut kept = one(writer, which, inside.as_deref())?;
        apply(&mut kept.run, &ambient).map_err(|refused| not_moved(refused, &kept.run))?;
        writer.save(&kept.run)?;
        Ok(kept.run)
    })?;
    Ok(done(which, verb, &[run]))
}

fn open_here(ambient: &Ambient) -> anyhow::Result<(Store, StoreDir)> {
    let Some(dir) = store_here(&dir(ambient)?)? else {
        return Err(no_run().into());
    };
    let store = Store::open(&dir).map_err(Refusal::from)?;
    Ok((store, dir))
}

/// The one live run that is meant; an error that lists them if that is not clear. Whoever names
/// none inside of a session means its own.
fn one(writer: &Writer<'_>, which: &Which, inside: Option<&str>) -> Result<Kept, Refusal> {
    let live = writer.live_runs()?;
    let mut meant = matching(live, which, inside);
    match (meant.len(), &which.id) {
        (1, _) => Ok(meant.remove(0)),
        (0, Some(id)) => Err(unknown(id)),
        (0, None) => Err(no_run()),
        (_, _) => {
            let described = |kept: &Kept| {
                let run = &kept.run;
                let session = inline(&run.session);
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

fn matching(runs: Vec<Kept>, which: &Which, inside: Option<&str>) -> Vec<Kept> {
    let is_meant = |kept: &Kept| match &which.id {
        None => inside.is_none_or(|own| own == kept.run.session),
        Some(id) => is_named(&kept.run, id),
    };
    runs.into_iter().filter(is_meant).collect()
}

fn no_run() -> Refusal {
    Refusal::new(Exit::NotDone, "no run here").hint("`beadlock start EPIC --session ID` begins one")
}

fn unknown(id: &str) -> Refusal {
    let what = format!("no open run, epic or session `{}` here", inline(id));
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
