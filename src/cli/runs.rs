//! `abort`, `pause`, `resume` and `adopt`: the person's exits and hand-overs. None of them needs
//! the model, the tracker or git.

use serde_json::json;

use super::ambient::{actor, ambient, asked_by, dir, now, session};
use super::found::{Stores, unknown};
use super::report::{Refusal, inline};
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
    let name = args.which.id.as_deref();
    let stores = Stores::of(&ambient, &[inside.as_deref(), name]);
    let mut aborted = Aborted::default();
    let mut faults: Vec<store::Error> = Vec::new();
    // An agent that has wandered into another repository is held there too.
    for dir in stores.around().iter().chain(&stores.lost()) {
        let mut store = match Store::open(dir) {
            Ok(store) => store,
            Err(error @ (store::Error::Missing { .. } | store::Error::Corrupt { .. })) => {
                // No session shall be told for ever; but an agent that has deleted the store is not to
                // have the last word on it.
                if asked_by(&ambient) == By::Person {
                    Store::unmark_all_if_missing(dir).map_err(Refusal::from)?;
                }
                say(&format!("warning: {error}"));
                continue;
            }
            Err(error) => {
                faults.push(error);
                continue;
            }
        };
        match abort_in(&mut store, name, inside.as_deref(), asked_by(&ambient)) {
            Ok(ended) => aborted.add(ended),
            Err(error) => faults.push(error),
        }
    }
    match name {
        Some(name) if aborted.is_empty() => {
            if let Some(dir) = stores.only_one_elsewhere(name)? {
                let mut store = Store::open(&dir).map_err(Refusal::from)?;
                let ended = abort_in(&mut store, Some(name), None, asked_by(&ambient));
                aborted.add(ended.map_err(Refusal::from)?);
            }
        }
        None if aborted.is_empty() && inside.is_none() => {
            for line in stores.lines_elsewhere() {
                say(&line);
            }
        }
        Some(_) | None => {}
    }
    for run in &aborted.unread {
        let (id, epic) = (inline(&run.run), inline(&run.epic));
        say(&format!(
            "warning: {id} on {epic} could not be read, and is over"
        ));
    }
    if aborted.is_empty() && !faults.is_empty() {
        return Err(Refusal::from(faults.remove(0)).into());
    }
    for fault in &faults {
        say(&format!("warning: {fault}"));
    }
    match name {
        Some(name) if aborted.is_empty() => Err(unknown(name).into()),
        Some(_) | None => Ok(done(&args.which, "aborted", &aborted.runs)),
    }
}

/// What an abort ended.
#[derive(Default)]
struct Aborted {
    runs: Vec<Run>,
    unread: Vec<Unread>,
}

impl Aborted {
    fn add(&mut self, more: Aborted) {
        self.runs.extend(more.runs);
        self.unread.extend(more.unread);
    }

    fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.unread.is_empty()
    }
}

fn abort_in(
    store: &mut Store,
    name: Option<&str>,
    inside: Option<&str>,
    by: By,
) -> Result<Aborted, store::Error> {
    let is_meant = |id: &str, epic: &str, session: &str| match name {
        Some(name) => [id, epic, session].contains(&name),
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
    if name.is_none() && inside.is_none() {
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
    let stores = Stores::of(&ambient, &[args.which.id.as_deref()]);
    let found = stores.one(args.which.id.as_deref(), None)?;
    let apart = store::live_run_apart(&Claude.places(&ambient), &session, &found.dir);
    let apart = apart.map_err(Refusal::from)?.map(|(_, kept)| kept.run);
    let (id, dir) = (found.kept.run.id, found.dir);
    let mut store = Store::open(&dir).map_err(Refusal::from)?;
    let actor = actor(None, &ambient, &self::dir(&ambient)?);
    // The mark comes first: a run without one would let its session go without a word.
    mark(&dir, &session)?;
    let moved = store.write(|writer| -> Result<(String, Run), Refusal> {
        let mut kept = live(writer, &id)?;
        let own = writer.run_of_session(&session)?.map(|own| own.run);
        let own = own.filter(|own| !own.is_over());
        let own = own.as_ref().or(apart.as_ref());
        let asker = Asker {
            session: &session,
            inside: inside.as_deref(),
            by: asked_by(&ambient),
            how: How::ByHand,
            replace: false,
        };
        match may_adopt(&kept.run, &asker, own) {
            Ok(()) => {}
            // Here its epic may be the name of another run.
            Err(Refused::HasOne) if own == apart.as_ref() => {
                return Err(has_one(&session, apart.as_ref().map_or("", |own| &own.id)));
            }
            Err(refused) => return Err(not_moved(refused, own.unwrap_or(&kept.run))),
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
        dir.post(&session);
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
        Refused::HasOne => return has_one(&run.session, run.epic.as_str()),
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

/// `name` is the run's that the session has.
fn has_one(session: &str, name: &str) -> Refusal {
    let session = inline(session);
    let what = format!("session `{session}` has a run already");
    Refusal::new(Exit::NotDone, what).hint(format!("end it with {} first", command("abort", name)))
}

/// Changes the one run that is meant.
fn change(
    which: &Which,
    verb: &str,
    apply: impl FnOnce(&mut Run, &Ambient) -> Result<(), Refused>,
) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let inside = Claude.session_inside(&ambient);
    let stores = Stores::of(&ambient, &[inside.as_deref(), which.id.as_deref()]);
    let found = stores.one(which.id.as_deref(), inside.as_deref())?;
    let mut store = Store::open(&found.dir).map_err(Refusal::from)?;
    let run = store.write(|writer| -> Result<Run, Refusal> {
        let mut kept = live(writer, &found.kept.run.id)?;
        apply(&mut kept.run, &ambient).map_err(|refused| not_moved(refused, &kept.run))?;
        writer.save(&kept.run)?;
        Ok(kept.run)
    })?;
    Ok(done(which, verb, &[run]))
}

/// The run as it is now, unless it has ended meanwhile.
fn live(writer: &Writer<'_>, id: &str) -> Result<Kept, Refusal> {
    let kept = writer.run(id)?.filter(|kept| !kept.run.is_over());
    kept.ok_or_else(|| unknown(id))
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
