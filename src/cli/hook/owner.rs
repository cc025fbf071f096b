//! Whose stop it is: the run that the session owns, found in the store that has its mark, or
//! bound or armed now. The rules are `kernel::ownership`'s; here they are carried out.

use crate::arm::{self, Armed, Wish};
use crate::cli::ambient::{actor, now, sources};
use crate::edge::agent::{Ambient, Event};
use crate::edge::store::{Error, Kept, Store, StoreDir, Writer};
use crate::kernel::ledger::By;
use crate::kernel::ownership::{How, Launch, launched};
use crate::kernel::snapshot::Fault;

pub enum Owned {
    /// Nobody's that we know of.
    Nothing,
    /// A run was wanted at this stop and cannot be had.
    Refused(String),
    /// There is a run, but the store cannot say which.
    Broken(Fault),
    Run(Box<(Store, Kept)>),
}

impl From<Result<Option<(Store, Kept)>, Error>> for Owned {
    fn from(found: Result<Option<(Store, Kept)>, Error>) -> Owned {
        match found {
            Ok(Some(owned)) => Owned::Run(Box::new(owned)),
            Ok(None) => Owned::Nothing,
            Err(error) => Owned::Broken(Fault::new("store", error.to_string())),
        }
    }
}

/// The run of the event's session. A session without a mark costs a few `stat`s, unless its
/// environment or its hook's own line asks for more.
pub fn owned_run(epic: Option<&str>, event: &Event, ambient: &Ambient) -> Owned {
    let Some(session) = &event.session else {
        return Owned::Nothing;
    };
    let launch = ambient.variable("BEADLOCK_RUN");
    if let Some(dir) = StoreDir::of_session(session, &event.dirs) {
        return marked_run(&dir, session, launch).map(Some).into();
    }
    match (launch, epic) {
        (Some(launch), _) => launched_run(launch, session, event).into(),
        (None, Some(epic)) => armed_run(epic, session, event, ambient),
        (None, None) => Owned::Nothing,
    }
}

fn marked_run(dir: &StoreDir, session: &str, launch: Option<&str>) -> Result<(Store, Kept), Error> {
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
    let bound = store.write(|writer| bind(writer, launch, kept, session))?;
    Ok((store, bound.kept))
}

/// `BEADLOCK_RUN=RUN/LAUNCH`: the run is the first session's that is seen with it.
fn launched_run(
    launch: &str,
    session: &str,
    event: &Event,
) -> Result<Option<(Store, Kept)>, Error> {
    let Some(dir) = StoreDir::nearest(&event.dirs) else {
        return Ok(None);
    };
    let mut store = Store::open(&dir)?;
    let run = run_named_by(launch);
    let bound = store.write(|writer| match writer.run(run)? {
        Some(kept) => bind(writer, launch, kept, session),
        None => Err(Error::NoRun {
            path: dir.database(),
            what: format!("`{run}`"),
        }),
    })?;
    if bound.launch != Launch::Owner {
        return Ok(None);
    }
    dir.mark(session).map_err(|error| Error::Unreadable {
        path: dir.path().to_owned(),
        what: error.to_string(),
    })?;
    if let Some(former) = bound.former {
        dir.unmark(&former);
    }
    Ok(Some((store, bound.kept)))
}

/// What seeing a session with a launch led to.
struct Bound {
    launch: Launch,
    kept: Kept,
    /// The session that no longer has the run.
    former: Option<String>,
}

fn bind(writer: &Writer<'_>, launch: &str, mut kept: Kept, session: &str) -> Result<Bound, Error> {
    let now = now();
    let bound = writer.bound(launch)?;
    let whose = launched(&kept.run, session, bound.as_deref(), now);
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
    let Some(wish) = wish(epic, session, How::AtStop, event, ambient) else {
        return Owned::Nothing;
    };
    match arm::arm(&wish) {
        Ok(Armed { kept, store, .. }) => {
            Store::open(&store).map(|store| Some((store, kept))).into()
        }
        Err(arm::Error::NotThisSession { .. }) => Owned::Nothing,
        Err(error) => Owned::Refused(format!(
            "Beadlock guards nothing here: {error}. The hook's own line names the epic."
        )),
    }
}

/// What a hook asks for on the person's behalf; nothing where no directory is left to stand in.
pub fn wish(epic: &str, session: &str, how: How, event: &Event, ambient: &Ambient) -> Option<Wish> {
    let dir = event.dirs.iter().find(|dir| dir.is_dir())?;
    Some(Wish {
        epic: epic.to_owned(),
        session: session.to_owned(),
        dir: dir.clone(),
        by: By::Person,
        inside: None,
        how,
        prompt: event.stop.prompt.clone(),
        replace: false,
        sources: sources(ambient, &[]),
        actor: actor(None, ambient, dir),
        now: now(),
    })
}
