//! `hook user-prompt`: notes who spoke and what the work looked like then, never what was said.
//! `/run-tasks EPIC` arms a run here, before a token is spent, or is refused with the reason.

use std::sync::Arc;
use std::time::Instant;

use super::Reply;
use super::owner::wish;
use crate::arm;
use crate::cli::ambient::{now, sources};
use crate::cli::report::Refusal;
use crate::edge::agent::{Ambient, Answer, Event};
use crate::edge::store::{Error, Kept, Store, StoreDir};
use crate::ground;
use crate::kernel::judge::may_be_conversation;
use crate::kernel::ledger::{Asked, Fingerprint, PromptKind, Run, State};
use crate::kernel::ownership::How;
use crate::render::{self, Reader};
use crate::survey::{self, Spoken};

/// Claude Code ends a turn by itself after this many blocks without a tool call.
const AGENT_BLOCKS_MAX: u32 = 8;

pub fn respond(event: &Event, ambient: &Ambient) -> Reply {
    let (Some(session), Some(typed)) = (&event.session, &event.prompt) else {
        return Reply::silence();
    };
    if typed.kind == PromptKind::RunTasks {
        let arguments = typed.arguments.as_deref().unwrap_or_default();
        return run_tasks(arguments, session, event, ambient);
    }
    let Some(dir) = StoreDir::of_session(session, &event.dirs) else {
        return Reply::silence();
    };
    match note(&dir, session, typed.kind, event, ambient) {
        Ok(reply) => reply,
        // The next stop finds the same store and says what is wrong with it.
        Err(error) => Reply::aside(format!("beadlock: {error}")),
    }
}

fn run_tasks(arguments: &str, session: &str, event: &Event, ambient: &Ambient) -> Reply {
    let refused = |what: String| Reply {
        answer: Answer::Block {
            reason: what,
            tell: None,
        },
        aside: None,
    };
    let mut words = arguments.split_whitespace();
    let (Some(epic), None) = (words.next(), words.next()) else {
        return refused(
            "Beadlock: type `/run-tasks EPIC` with the id of one epic, for example `/run-tasks bd-x7y8`."
                .to_owned(),
        );
    };
    let Some(wish) = wish(epic, session, How::Typed, event, ambient) else {
        return refused("Beadlock: the session's directory does not exist any more.".to_owned());
    };
    match arm::arm(&wish) {
        Ok(armed) => {
            let warnings = armed.warnings.join("; ");
            let run = &armed.kept.run;
            let mut text = format!(
                "Beadlock holds this session until {} is done (at most {} cycles). `beadlock abort` ends that at any time.",
                run.epic, run.policy.max_cycles
            );
            if !warnings.is_empty() {
                text = format!("{text} Mind: {warnings}.");
            }
            Reply::tell(text)
        }
        Err(error) => {
            let refusal = Refusal::from(error);
            let hint = refusal.hint.map(|hint| format!(" Hint: {hint}."));
            refused(format!(
                "Beadlock: {}.{}",
                refusal.what,
                hint.unwrap_or_default()
            ))
        }
    }
}

fn note(
    dir: &StoreDir,
    session: &str,
    kind: PromptKind,
    event: &Event,
    ambient: &Ambient,
) -> Result<Reply, Error> {
    let mut store = Store::open(dir)?;
    let Some(kept) = store.run_of_session(session)? else {
        return Ok(Reply::silence());
    };
    if !kept.run.is_listening() {
        return Ok(Reply::silence());
    }
    let asked = Asked {
        id: event.stop.prompt.clone(),
        kind,
        is_interactive: event.stop.is_interactive,
        before: before(&mut store, &kept, kind, event, ambient),
    };
    let before = kept.run;
    let reader = store.write(|writer| -> Result<Reader, Error> {
        let Some(mut newest) = writer.run_of_session(session)? else {
            return Ok(Reader::OwnSession);
        };
        let was_awake = newest.run.state == State::Active;
        newest.run.prompted(asked, now());
        if event.stop.is_interactive {
            newest.run.note_told();
        }
        writer.save(&newest.run)?;
        let is_awake = newest.run.state == State::Active;
        Ok(if is_awake && !was_awake {
            Reader::Waker
        } else {
            Reader::OwnSession
        })
    })?;
    Ok(match line(&before, reader, event) {
        Some(text) => Reply::tell(text),
        None => Reply::silence(),
    })
}

/// What the person did not see yet.
fn line(before: &Run, reader: Reader, event: &Event) -> Option<String> {
    if !event.stop.is_interactive {
        None
    } else if before.told.is_owed {
        Some(render::owed(before, reader))
    } else if before.state == State::Active && before.turn.blocks >= AGENT_BLOCKS_MAX {
        Some(format!(
            "Beadlock: the last turn ended by the agent's own cap after {} blocks in a row, not by Beadlock. {} is still open.",
            before.turn.blocks, before.epic
        ))
    } else {
        None
    }
}

/// What the work looks like now, if a stop of this turn may ask whether it moved.
fn before(
    store: &mut Store,
    kept: &Kept,
    kind: PromptKind,
    event: &Event,
    ambient: &Ambient,
) -> Fingerprint {
    if !may_be_conversation(&kept.run.policy, kind, event.stop.is_interactive) {
        return Fingerprint::default();
    }
    let deadline = Instant::now() + survey::SENSOR_TIME_MAX;
    let sources = sources(ambient, &[]);
    let last = store.memory(&kept.site).ok().flatten();
    let edges = Arc::new(ground::edges(&kept.site, last, Spoken::Nowhere, sources));
    survey::fingerprint(&edges, &kept.run, now(), deadline)
}
