//! `hook session-start`, `session-end` and `stop-failure`: a run outlives its session, and people
//! learn what happened where nobody could see it.

use super::Reply;
use crate::cli::ambient::now;
use crate::edge::agent::{Agent, Ambient, Answer, Began, Claude, Event};
use crate::edge::store::{Error, Kept, Store, StoreDir};
use crate::kernel::ledger::{Run, State};
use crate::render::{self, Reader};

/// A session begins: its own constant prompt if it goes on with an old context, and a line about
/// every run that changed unseen.
pub fn started(event: &Event, ambient: &Ambient) -> Reply {
    let inside = Claude.session_inside(ambient);
    // A hook with another session's environment was called from inside of that one: who reads it
    // is an agent, and not the person. And Claude Code 2.1.327 swallows the line on most resumes.
    let is_own = inside.is_none() || inside == event.session;
    let is_seen = event.stop.is_interactive && is_own && event.began == Some(Began::Fresh);
    match greet(event, is_seen) {
        Ok(reply) => reply,
        Err(error) => super::told(format!("Beadlock: {error}."), event),
    }
}

fn greet(event: &Event, is_seen: bool) -> Result<Reply, Error> {
    let mut dirs = event.places.around();
    if let Some(session) = &event.session
        && let Some(own) = event.places.of_session(session)?
        && !dirs.contains(&own)
    {
        dirs.insert(0, own);
    }
    let mut own = None;
    let mut lines: Vec<String> = Vec::new();
    for (number, dir) in dirs.iter().enumerate() {
        match news(dir, event, is_seen) {
            Ok(news) => {
                lines.extend(news.lines);
                own = own.or(news.own);
            }
            Err(error) if number == 0 => lines.push(format!("Beadlock: {error}.")),
            // What is wrong in a repository around this one is told to its own sessions.
            Err(_) => {}
        }
    }
    let tell = (!lines.is_empty()).then(|| lines.join("\n"));
    let goes_on = |run: &Run| match run.state {
        State::Active | State::Waiting => event.began == Some(Began::Continued),
        State::Stale | State::Paused | State::Ended => false,
    };
    Ok(match (own.filter(goes_on), tell) {
        (Some(run), tell) => Reply {
            answer: Answer::Context {
                context: run.prompt,
                tell,
            },
            aside: None,
        },
        (None, Some(tell)) => Reply::tell(tell),
        (None, None) => Reply::silence(),
    })
}

/// What one store has to say to a session that begins.
struct News {
    /// The session's own run, if it is not over.
    own: Option<Run>,
    lines: Vec<String>,
}

fn news(dir: &StoreDir, event: &Event, is_seen: bool) -> Result<News, Error> {
    let mut store = Store::open(dir)?;
    let own = match &event.session {
        Some(session) => own_run(&mut store, session)?,
        None => None,
    };
    let owed = store.owed(None)?;
    let found = own.as_ref().filter(|own| own.was_unmarked);
    let mut lines: Vec<String> = found
        .map(|own| render::found_again(&own.run))
        .into_iter()
        .collect();
    let reader = |kept: &Kept| {
        if Some(&kept.run.session) == event.session.as_ref() {
            Reader::OwnSession
        } else {
            Reader::Elsewhere
        }
    };
    lines.extend(
        owed.iter()
            .map(|kept| render::owed(&kept.run, reader(kept))),
    );
    if is_seen {
        store.note_told(&owed)?;
    }
    Ok(News {
        own: own.map(|own| own.run).filter(|run| !run.is_over()),
        lines,
    })
}

/// A session's run, and whether its mark had to be set again.
struct OwnRun {
    run: Run,
    was_unmarked: bool,
}

/// The session's run as the store has it. A live one without a mark is marked again: its stops
/// would pass without a word.
fn own_run(store: &mut Store, session: &str) -> Result<Option<OwnRun>, Error> {
    let Some(kept) = store.run_of_session(session)? else {
        return Ok(None);
    };
    let was_unmarked = !kept.run.is_over() && !store.dir().is_marked(session)?;
    if was_unmarked {
        store
            .dir()
            .mark(session)
            .map_err(|error| Error::Unreadable {
                path: store.dir().path().to_owned(),
                what: error.to_string(),
            })?;
        store.dir().post(session);
    }
    Ok(Some(OwnRun {
        run: kept.run,
        was_unmarked,
    }))
}

/// The store that knows the session: by its mark, or by a live run whose mark is gone. Says too
/// if the mark had to be set again.
pub fn store_of(session: &str, event: &Event) -> Result<Option<(StoreDir, Option<Run>)>, Error> {
    let known = event.places.of_session(session)?;
    if let Some(dir) = &known
        && dir.is_marked(session)?
    {
        return Ok(known.map(|dir| (dir, None)));
    }
    // Most sessions have no run, and a store that cannot be read is none of their business.
    let around = event.places.around();
    for dir in known.iter().chain(&around) {
        let found = Store::open(dir).and_then(|mut store| own_run(&mut store, session));
        if let Some(found) = found.ok().flatten().filter(|found| found.was_unmarked) {
            return Ok(Some((dir.clone(), Some(found.run))));
        }
    }
    Ok(known.map(|dir| (dir, None)))
}

/// A session is over, or its turn died: an active run waits for somebody to go on with it.
pub fn ended(event: &Event) -> Reply {
    // A payload that cannot be read ends nobody's session.
    let (Some(session), None) = (&event.session, &event.fault) else {
        return Reply::silence();
    };
    let left = store_of(session, event).and_then(|found| match found {
        None => Ok(None),
        Some((dir, _)) => Store::open(&dir)?.write(|writer| {
            let kept = writer.run_of_session(session)?;
            let Some(mut kept) = kept.filter(|kept| kept.run.state == State::Active) else {
                return Ok(None);
            };
            kept.run.session_over(now());
            writer.save(&kept.run)?;
            Ok(Some(kept.run))
        }),
    });
    match left {
        Ok(None) => Reply::silence(),
        Ok(Some(run)) => Reply::aside(render::owed(&run, Reader::Elsewhere)),
        Err(error) => Reply::aside(format!("beadlock: {error}")),
    }
}
