//! `hook session-start`, `session-end` and `stop-failure`: a run outlives its session, and people
//! learn what happened where nobody could see it.

use super::Reply;
use crate::cli::ambient::now;
use crate::edge::agent::{Answer, Began, Event};
use crate::edge::store::{Error, Kept, Store, StoreDir};
use crate::kernel::ledger::State;
use crate::render::{self, Reader};

/// How many runs one line each is spent on.
const LINES_MAX: usize = 3;

/// A session begins: its own constant prompt if it goes on with an old context, and a line about
/// every run that changed unseen.
pub fn started(event: &Event) -> Reply {
    let Some(dir) = StoreDir::nearest(&event.dirs) else {
        return Reply::silence();
    };
    match greet(&dir, event) {
        Ok(reply) => reply,
        Err(error) => Reply::aside(format!("beadlock: {error}")),
    }
}

fn greet(dir: &StoreDir, event: &Event) -> Result<Reply, Error> {
    let mut store = Store::open(dir)?;
    let runs = store.runs()?;
    let owed: Vec<&Kept> = runs
        .iter()
        .filter(|kept| kept.run.told.is_owed)
        .take(LINES_MAX)
        .collect();
    let tell = (!owed.is_empty()).then(|| {
        let line = |kept: &&Kept| {
            let is_own = Some(&kept.run.session) == event.session.as_ref();
            let reader = if is_own {
                Reader::OwnSession
            } else {
                Reader::Elsewhere
            };
            render::owed(&kept.run, reader)
        };
        let lines: Vec<String> = owed.iter().map(line).collect();
        lines.join("\n")
    });
    if event.stop.is_interactive && !owed.is_empty() {
        store.write(|writer| -> Result<(), Error> {
            for kept in &owed {
                if let Some(mut newest) = writer.run(&kept.run.id)? {
                    newest.run.note_told();
                    writer.save(&newest.run)?;
                }
            }
            Ok(())
        })?;
    }
    let own = runs
        .iter()
        .find(|kept| Some(&kept.run.session) == event.session.as_ref());
    let goes_on = |kept: &&Kept| match kept.run.state {
        State::Active | State::Waiting => event.began == Some(Began::Continued),
        State::Stale | State::Paused | State::Ended => false,
    };
    Ok(match (own.filter(goes_on), tell) {
        (Some(kept), tell) => Reply {
            answer: Answer::Context {
                context: kept.run.prompt.clone(),
                tell,
            },
            aside: None,
        },
        (None, Some(tell)) => Reply::tell(tell),
        (None, None) => Reply::silence(),
    })
}

/// A session is over, or its turn died: an active run waits for somebody to go on with it.
pub fn ended(event: &Event) -> Reply {
    let Some(session) = &event.session else {
        return Reply::silence();
    };
    let Some(dir) = StoreDir::of_session(session, &event.dirs) else {
        return Reply::silence();
    };
    let left = Store::open(&dir).and_then(|mut store| {
        store.write(|writer| {
            let kept = writer.run_of_session(session)?;
            let Some(mut kept) = kept.filter(|kept| kept.run.state == State::Active) else {
                return Ok(None);
            };
            kept.run.session_over(now());
            writer.save(&kept.run)?;
            Ok(Some(kept.run))
        })
    });
    match left {
        Ok(None) => Reply::silence(),
        Ok(Some(run)) => Reply::aside(render::owed(&run, Reader::Elsewhere)),
        Err(error) => Reply::aside(format!("beadlock: {error}")),
    }
}
