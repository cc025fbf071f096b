//! Whose stop it is: the run that the session owns, found in the store that has its mark, or
//! bound or armed now. The rules are `kernel::ownership`'s; here they are carried out.

use crate::arm::{self, Wish};
use crate::cli::ambient::{actor, now, sources};
use crate::edge::agent::{Agent, Ambient, Claude, Event};
use crate::edge::store::{Error, Kept, Store, StoreDir, Writer};
use crate::kernel::ledger::By;
use crate::kernel::ownership::{How, Launch, Seen, launched};
use crate::kernel::snapshot::{Fault, Sensor};
use crate::survey;

pub enum Owned {
    /// Nobody's that we know of.
    Nothing,
    /// A run was wanted at this stop and cannot be had.
    Refused(String),
    /// There is a run, but the store cannot say which.
    Broken(Fault),
    Run(Box<OwnRun>),
}

pub struct OwnRun {
    pub store: Store,
    pub kept: Kept,
    /// What the person should know of a run that begins with this stop.
    pub news: Vec<String>,
}

impl From<Result<Option<(Store, Kept)>, Error>> for Owned {
    fn from(found: Result<Option<(Store, Kept)>, Error>) -> Owned {
        match found {
            Ok(Some((store, kept))) => Owned::Run(Box::new(OwnRun {
                store,
                kept,
                news: Vec::new(),
            })),
            Ok(None) => Owned::Nothing,
            Err(error) => broken(&error),
        }
    }
}

fn broken(error: &dyn std::error::Error) -> Owned {
    Owned::Broken(survey::fault(Sensor::Run, error))
}

/// The run of the event's session. A session without a mark costs a few `stat`s, unless its
/// environment or its hook's own line asks for more.
pub fn owned_run(epic: Option<&str>, event: &Event, ambient: &Ambient) -> Owned {
    let Some(session) = &event.session else {
        return Owned::Nothing;
    };
    let launch = ambient.variable("BEADLOCK_RUN");
    let inside = Claude.session_inside(ambient);
    let seen = Seen {
        session,
        inside: inside.as_deref(),
    };
    match (event.places.of_session(session), launch, epic) {
        (Err(error), _, _) => broken(&error),
        (Ok(Some(dir)), launch, _) => marked_run(&dir, seen, launch).map(Some).into(),
        (Ok(None), Some(launch), _) => launched_run(launch, seen, event).into(),
        (Ok(None), None, Some(epic)) => armed_run(epic, session, event, ambient),
        (Ok(None), None, None) => Owned::Nothing,
    }
}

/// Whether no store is asked at all.
pub fn is_unknown(event: &Event, ambient: &Ambient) -> bool {
    let is_marked = |session: &String| {
        let found = event.places.of_session(session);
        !matches!(found, Ok(None))
    };
    ambient.variable("BEADLOCK_RUN").is_none() && !event.session.as_ref().is_some_and(is_marked)
}

fn marked_run(
    dir: &StoreDir,
    seen: Seen<'_>,
    launch: Option<&str>,
) -> Result<(Store, Kept), Error> {
    let session = seen.session;
    let mut store = Store::open(dir)?;
    let Some(kept) = store.run_of_session(session)? else {
        return Err(Error::NoRun {
            path: dir.database(),
            what: "of this session".to_owned(),
        });
    };
    let Some(launch) = launch.filter(|launch| run_named_by(launch) == kept.run.id) else {
        return Ok((store, kept));
    };
    // The owner is seen with it: whoever else has it inherited it.
    let bound = store.write(|writer| bind(writer, launch, kept, seen))?;
    Ok((store, bound.kept))
}

/// `BEADLOCK_RUN=RUN/LAUNCH`: the run is the first session's that is seen with it.
fn launched_run(
    launch: &str,
    seen: Seen<'_>,
    event: &Event,
) -> Result<Option<(Store, Kept)>, Error> {
    let mut fault = None;
    for dir in event.places.around() {
        let found = Store::open(&dir).and_then(|mut store| {
            let bound = bind_in(&mut store, launch, seen)?;
            Ok((store, bound))
        });
        match found {
            Ok((_, bound)) if bound.launch != Launch::Owner => return Ok(None),
            Ok((mut store, bound)) => {
                if let Some(former) = bound.former {
                    store.unmark_unless_held(&former);
                }
                return Ok(Some((store, bound.kept)));
            }
            // A repository around this one may have the run.
            Err(error) => {
                fault.get_or_insert(error);
            }
        }
    }
    fault.map_or(Ok(None), Err)
}

fn bind_in(store: &mut Store, launch: &str, seen: Seen<'_>) -> Result<Bound, Error> {
    let dir = store.dir().clone();
    let run = run_named_by(launch);
    store.write(|writer| match writer.run(run)? {
        Some(kept) => {
            let bound = bind(writer, launch, kept, seen)?;
            if bound.launch == Launch::Owner {
                mark(&dir, seen.session)?;
                dir.post(seen.session);
            }
            Ok(bound)
        }
        None => Err(Error::NoRun {
            path: dir.database(),
            what: format!("`{run}`"),
        }),
    })
}

fn mark(dir: &StoreDir, session: &str) -> Result<(), Error> {
    dir.mark(session).map_err(|error| Error::Unreadable {
        path: dir.path().to_owned(),
        what: error.to_string(),
    })
}

/// What seeing a session with a launch led to.
struct Bound {
    launch: Launch,
    kept: Kept,
    /// The session that no longer has the run.
    former: Option<String>,
}

fn bind(writer: &Writer<'_>, launch: &str, mut kept: Kept, seen: Seen<'_>) -> Result<Bound, Error> {
    let now = now();
    let session = seen.session;
    let bound = writer.bound(launch)?;
    let whose = launched(&kept.run, seen, bound.as_deref(), now);
    let is_new = bound.is_none();
    let mut former = None;
    match whose {
        Launch::Owner if is_new => {
            former = Some(kept.run.session.clone()).filter(|former| former != session);
            writer.bind(launch, &kept.run.id, session)?;
            kept.run.launch(session, now);
            writer.save(&kept.run)?;
        }
        Launch::Child if is_new => writer.bind(launch, &kept.run.id, &kept.run.session)?,
        Launch::Owner | Launch::Child | Launch::Over => {}
    }
    Ok(Bound {
        launch: whose,
        kept,
        former,
    })
}

fn run_named_by(launch: &str) -> &str {
    launch.split('/').next().unwrap_or(launch)
}

/// `--epic`: the session's run is armed now, if it never had one.
fn armed_run(epic: &str, session: &str, event: &Event, ambient: &Ambient) -> Owned {
    let refused = |what: &dyn std::fmt::Display| {
        Owned::Refused(format!(
            "Beadlock guards nothing here, although the hook's own line names an epic: {what}"
        ))
    };
    let Some(wish) = wish(epic, session, How::AtStop, event, ambient) else {
        return refused(&"the session's directory does not exist any more");
    };
    match had_it(epic, session, event) {
        Ok(false) => {}
        // Settled without a look at the tracker.
        Ok(true) => return Owned::Nothing,
        Err(error) => return broken(&error),
    }
    match arm::arm(&wish) {
        Ok(armed) => match Store::open(&armed.store) {
            Ok(store) => Owned::Run(Box::new(OwnRun {
                store,
                kept: armed.kept,
                news: armed.warnings,
            })),
            Err(error) => broken(&error),
        },
        Err(arm::Error::NotThisSession { .. }) => Owned::Nothing,
        Err(error @ (arm::Error::Store(_) | arm::Error::Mark { .. })) => broken(&error),
        Err(error) => refused(&error),
    }
}

/// Whether the session ever had a run of the epic.
fn had_it(epic: &str, session: &str, event: &Event) -> Result<bool, Error> {
    for (number, dir) in event.places.around().iter().enumerate() {
        let ever_ran =
            Store::open(dir).and_then(|mut store| store.write(|it| it.ever_ran(session, epic)));
        match ever_ran {
            Ok(false) => {}
            Ok(true) => return Ok(true),
            Err(error @ Error::Corrupt { .. }) => return Err(error),
            Err(error) if number == 0 => return Err(error),
            // What is wrong in a repository around this one is told to its own sessions.
            Err(_) => {}
        }
    }
    Ok(false)
}

/// What a hook asks for on the person's behalf; nothing where no directory is left to stand in.
pub fn wish(epic: &str, session: &str, how: How, event: &Event, ambient: &Ambient) -> Option<Wish> {
    let dir = event.places.dirs.iter().find(|dir| dir.is_dir())?;
    Some(Wish {
        epic: epic.to_owned(),
        session: session.to_owned(),
        dir: dir.clone(),
        places: event.places.clone(),
        by: By::Person,
        inside: Claude.session_inside(ambient),
        how,
        prompt: event.stop.prompt.clone(),
        replace: false,
        sources: sources(ambient, &[]),
        actor: actor(None, ambient, dir),
        now: now(),
    })
}
