//! `hook user-prompt`: notes who spoke and what the work looked like then, never what was said.
//! `/run-tasks EPIC` arms a run here, before a token is spent, or is refused with the reason. Claude
//! Code 2.1.327 reports a prompt before it expands the command in it, 2.1.197 only afterwards: so
//! both are heard, and the run is armed by whichever comes first.

use std::sync::Arc;
use std::time::Instant;

use super::Reply;
use super::owner::wish;
use super::session::store_of;
use crate::arm;
use crate::cli::ambient::{now, sources};
use crate::cli::report::Refusal;
use crate::edge::agent::{Ambient, Answer, Event, Typed};
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
        if is_scheduled(session, typed, event) {
            return refused(
                "Beadlock: the agent has scheduled these very words for itself, so they arm nothing. `beadlock start EPIC --session ID` in a terminal does."
                    .to_owned(),
            );
        }
        if event.is_expansion && is_armed_by(event, session) {
            return Reply::silence();
        }
        return run_tasks(arguments, session, event, ambient);
    }
    if event.is_expansion {
        return Reply::silence();
    }
    let noted = store_of(session, event).and_then(|found| match found {
        None => Ok(Reply::silence()),
        Some((dir, unmarked)) => {
            let mut reply = note(&dir, typed, event, ambient)?;
            if let Some(run) = unmarked {
                reply.tell_also(&render::found_again(&run));
            }
            Ok(reply)
        }
    });
    match noted {
        Ok(reply) => reply,
        Err(error @ (Error::Missing { .. } | Error::NoRun { .. })) => {
            lost(&error, session, typed, event)
        }
        // Whatever was waiting still waits, and the next stop would be let go without a word.
        Err(error) => super::told(
            format!(
                "Beadlock could not note your prompt: {error}. A run that waits was not woken; type again, or `beadlock resume`."
            ),
            event,
        ),
    }
}

/// The run is lost with its store. Told until a person has seen it at the screen; then there is
/// nothing left that the session could be held by.
fn lost(error: &Error, session: &str, typed: &Typed, event: &Event) -> Reply {
    if typed.kind.is_typed()
        && event.stop.is_interactive
        && let Ok(Some(dir)) = event.places.of_session(session)
    {
        dir.unmark(session);
    }
    super::told(
        format!(
            "Beadlock: {error}. What this session was held by is lost with it; `/run-tasks EPIC` begins anew."
        ),
        event,
    )
}

fn run_tasks(arguments: &str, session: &str, event: &Event, ambient: &Ambient) -> Reply {
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
        // 2.1.197 shows nobody what is said here, and reports the prompt next.
        Ok(_) if event.is_expansion => Reply::silence(),
        Ok(armed) => {
            let warnings = armed.warnings.join("; ");
            let run = &armed.kept.run;
            let mut text = format!(
                "Beadlock holds this session until {} is done (at most {} cycles). {} ends that at any time.",
                run.epic,
                run.policy.max_cycles,
                render::command("abort", run.epic.as_str())
            );
            if !warnings.is_empty() {
                text = format!("{text} Mind: {warnings}.");
            }
            Reply::tell(text)
        }
        Err(error) => {
            let refusal = Refusal::from(error);
            let hint = refusal.hint.map(|hint| format!("\nHint: {hint}"));
            refused(format!(
                "Beadlock: {}{}",
                refusal.what,
                hint.unwrap_or_default()
            ))
        }
    }
}

fn refused(reason: String) -> Reply {
    Reply {
        answer: Answer::Block { reason, tell: None },
        aside: None,
    }
}

/// Whether this very prompt has armed the session's run already.
fn is_armed_by(event: &Event, session: &str) -> bool {
    let kept = kept_of(session, event);
    kept.is_some_and(|kept| {
        let prompt = kept
            .run
            .turn
            .prompt
            .filter(|prompt| prompt.kind == PromptKind::RunTasks);
        let id = prompt.and_then(|prompt| prompt.id);
        kept.run.state == State::Active && id.is_some() && id == event.stop.prompt
    })
}

/// Whether the agent has scheduled these words itself: then nobody has typed them.
fn is_scheduled(session: &str, typed: &Typed, event: &Event) -> bool {
    let kept = kept_of(session, event);
    kept.is_some_and(|kept| kept.run.who_asked(typed.kind, &typed.words) != typed.kind)
}

fn kept_of(session: &str, event: &Event) -> Option<Kept> {
    let kept = store_of(session, event).and_then(|found| match found {
        None => Ok(None),
        Some((dir, _)) => Store::open(&dir)?.run_of_session(session),
    });
    // A store that cannot be read refuses by itself what is to be armed in it.
    kept.ok().flatten()
}

fn note(dir: &StoreDir, typed: &Typed, event: &Event, ambient: &Ambient) -> Result<Reply, Error> {
    let Some(session) = &event.session else {
        return Ok(Reply::silence());
    };
    let mut store = Store::open(dir)?;
    let Some(kept) = store.run_of_session(session)? else {
        // It has the session's mark: another store was begun in the place of the one with its run.
        return Err(Error::NoRun {
            path: dir.database(),
            what: "of this session".to_owned(),
        });
    };
    let kind = kept.run.who_asked(typed.kind, &typed.words);
    let is_seen = kind.is_typed() && event.stop.is_interactive;
    let owed = if is_seen {
        store.owed(Some(session))?
    } else {
        Vec::new()
    };
    let mut reader = Reader::OwnSession;
    if kept.run.is_listening() {
        let asked = Asked {
            id: event.stop.prompt.clone(),
            kind,
            is_interactive: event.stop.is_interactive,
            before: before(&mut store, &kept, kind, event, ambient),
        };
        reader = noted(&mut store, session, asked)?;
    }
    store.note_told(&owed)?;
    let mut lines: Vec<String> = Vec::new();
    for told in &owed {
        let is_this = told.run.id == kept.run.id;
        let reader = if is_this { reader } else { Reader::OwnSession };
        lines.push(render::owed(&told.run, reader));
    }
    if kind != typed.kind && kept.run.state == State::Waiting {
        lines.push(render::nobodys_words(&kept.run));
    }
    let is_told = owed.iter().any(|told| told.run.id == kept.run.id);
    if is_seen && !is_told {
        lines.extend(cut_line(&kept.run));
    }
    Ok(if lines.is_empty() {
        Reply::silence()
    } else {
        Reply::tell(lines.join("\n"))
    })
}

/// Begins a turn of the session's newest run; says whether the prompt has woken it.
fn noted(store: &mut Store, session: &str, asked: Asked) -> Result<Reader, Error> {
    store.write(|writer| {
        let Some(mut newest) = writer.run_of_session(session)? else {
            return Ok(Reader::OwnSession);
        };
        let was_awake = newest.run.state == State::Active;
        newest.run.prompted(asked, now());
        writer.save(&newest.run)?;
        let is_awake = newest.run.state == State::Active;
        Ok(if is_awake && !was_awake {
            Reader::Waker
        } else {
            Reader::OwnSession
        })
    })
}

/// The turn before was blocked to the agent's own limit. Whether that ended it, or somebody did,
/// cannot be told.
fn cut_line(before: &Run) -> Option<String> {
    let is_cut = before.state == State::Active && before.turn.blocks >= AGENT_BLOCKS_MAX;
    is_cut.then(|| {
        format!(
            "Beadlock: the last turn ended although its last {} stops were held, by the agent's own cap or by hand. {} is still open.",
            before.turn.blocks, before.epic
        )
    })
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
    let recall = || store.memory(&kept.site).ok().flatten();
    let edges = Arc::new(ground::edges(&kept.site, recall, Spoken::Nowhere, sources));
    survey::fingerprint(&edges, &kept.run, now(), deadline)
}
