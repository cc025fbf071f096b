//! `hook stop`: the path of a stop from the agent's JSON to the verdict. Gathers, calls the
//! kernel, records, replies; decides nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::owner::{Owned, owned_run};
use super::record::record;
use super::{Reply, told};
use crate::cli::ambient::{now, sources};
use crate::edge::agent::{Ambient, Answer, Event};
use crate::edge::store::{Error, Kept, Site, Store, Writer};
use crate::ground;
use crate::kernel::ledger::{Run, State};
use crate::kernel::policy::Policy;
use crate::kernel::snapshot::{Baseline, Fault, Reading, Sensor, Snapshot};
use crate::kernel::verdict::{self, Row, Verdict};
use crate::kernel::{decide, wanted};
use crate::render::{self, Reader, Rendered};
use crate::survey::{self, Edges, Spoken, Taken};

/// How often a stop may be overtaken by another one of the same run before it is decided blind.
const ATTEMPTS_MAX: usize = 5;

pub fn respond(epic: Option<&str>, event: &Event, ambient: &Ambient) -> Reply {
    let deadline = Instant::now() + Duration::from_secs(survey::HOOK_SECONDS_MAX);
    let mut snapshot = Snapshot::of(event.stop.clone(), now());
    snapshot.is_disabled = is_disabled(ambient);
    let mut news: Vec<String> = Vec::new();
    for _ in 0..ATTEMPTS_MAX {
        if wanted(&snapshot, &Policy::default()) != [Sensor::Run] {
            // Nobody's business, whoever has a run.
            return reply_without_run(&snapshot, event);
        }
        let owned = match owned_run(epic, event, ambient) {
            Owned::Refused(what) => return told(what, event),
            Owned::Nothing => {
                snapshot.run = Reading::Known(None);
                return reply_without_run(&snapshot, event);
            }
            Owned::Broken(fault) => {
                snapshot.run = Reading::Failed(fault);
                return reply_without_run(&snapshot, event);
            }
            Owned::Run(owned) => *owned,
        };
        news.extend(owned.news);
        let (mut store, kept) = (owned.store, owned.kept);
        store.leave_syncing_to_others();
        snapshot.baseline = baseline(&mut store, &kept.run);
        snapshot.run = Reading::Known(Some(kept.run.clone()));
        let case = Case {
            edges: Arc::new(edges(&mut store, &kept.site, event, ambient)),
            kept: &kept,
            event,
            deadline,
        };
        if let Some(settled) = case.settle(&mut store, &mut snapshot) {
            let mut reply = case.reply(&mut store, &snapshot, settled);
            if !news.is_empty() {
                reply.tell_also(&format!("Beadlock: mind that {}.", news.join("; ")));
            }
            return reply;
        }
        // The session has another run by now, or none: nothing that was read is of use.
        snapshot = Snapshot::of(event.stop.clone(), now());
    }
    let what = "the session's run kept changing hands";
    snapshot.run = Reading::Failed(Fault::new(Sensor::Run, what));
    reply_without_run(&snapshot, event)
}

/// `BEADLOCK_DISABLE=1`.
pub fn is_disabled(ambient: &Ambient) -> bool {
    ambient.variable("BEADLOCK_DISABLE") == Some("1")
}

fn reply_without_run(snapshot: &Snapshot, event: &Event) -> Reply {
    let verdict = decide(snapshot);
    match (&event.fault, verdict.row) {
        // Whose stop it was cannot be told, so no record of a run can say it.
        (Some(fault), Row::Idle) => Reply::aside(format!("beadlock: {fault}; nobody is held")),
        _ => reply(&verdict, None, None, event),
    }
}

/// What became of this session's runs, where no prompt or session has shown it yet. A stop says
/// it again each time: an agent can call its hook itself, and would be the only one to read it.
fn owed_lines(store: &mut Store, run: &Run, verdict: &Verdict) -> Vec<String> {
    let is_news = verdict.row != Row::Resting;
    let owed = store.owed(Some(&run.session)).unwrap_or_default();
    let line = |kept: &Kept| render::owed(&kept.run, Reader::OwnSession);
    owed.iter()
        // The verdict's own line has just said it.
        .filter(|kept| !(is_news && kept.run.id == run.id))
        .map(line)
        .collect()
}

fn edges(store: &mut Store, site: &Site, event: &Event, ambient: &Ambient) -> Edges {
    let words = match (&event.last_words, &event.transcript) {
        (Some(text), _) => Spoken::Here(text.clone()),
        (None, Some(path)) => Spoken::InTranscript(path.clone()),
        (None, None) => Spoken::Nowhere,
    };
    let mut sources = sources(ambient, &[]);
    sources.project = Some(site.project_file.clone());
    // Without its memory a stop costs a call more, and nothing else.
    let recall = || store.memory(site).ok().flatten();
    ground::edges(site, recall, words, sources)
}

fn baseline(store: &mut Store, run: &Run) -> Reading<Baseline> {
    match store.baseline(&run.id) {
        Ok(Some(baseline)) => Reading::Known(baseline),
        Ok(None) => Reading::Unread,
        Err(error) => Reading::Failed(Fault::new(Sensor::Baseline, error.to_string())),
    }
}

/// One stop of a run that is known.
pub struct Case<'a> {
    pub edges: Arc<Edges>,
    pub kept: &'a Kept,
    pub event: &'a Event,
    deadline: Instant,
}

/// A verdict, what a held agent reads, and when the facts were read.
pub struct Settled {
    pub verdict: Verdict,
    pub text: Option<Rendered>,
    pub taken: Vec<Taken>,
}

/// What became of an attempt to decide and record under the lock.
enum Attempt {
    Done(Box<Settled>),
    /// Another stop of the same run was faster, and the run wants facts not read yet.
    WantsMore,
    /// The session has another run, or none.
    Moved,
}

impl Case<'_> {
    /// Surveys, then decides and records under the store's lock; nothing if the session's run is
    /// another one by then. If another stop of the same run was faster and its run wants other
    /// facts, those are read and the decision is made again.
    fn settle(&self, store: &mut Store, snapshot: &mut Snapshot) -> Option<Settled> {
        let mut taken = Vec::new();
        for attempt in 1..=ATTEMPTS_MAX {
            let policy = snapshot.policy();
            let read = survey::survey(&self.edges, snapshot, &policy, self.deadline);
            taken.extend(read);
            if is_at_rest(snapshot) {
                let verdict = decide(snapshot);
                return Some(Settled {
                    verdict,
                    text: None,
                    taken,
                });
            }
            let mut draft = self.worded(decide(snapshot));
            draft.taken.clone_from(&taken);
            match store.write(|writer| self.record_verdict(writer, snapshot, draft, attempt)) {
                Ok(Attempt::Done(settled)) => return Some(*settled),
                Ok(Attempt::WantsMore) => {}
                Ok(Attempt::Moved) => return None,
                Err(error) => return Some(self.unrecorded(snapshot, &error.to_string())),
            }
        }
        Some(self.unrecorded(snapshot, "it was overtaken too often"))
    }

    /// The verdict on the newest run, recorded.
    fn record_verdict(
        &self,
        writer: &Writer<'_>,
        snapshot: &mut Snapshot,
        draft: Settled,
        attempt: usize,
    ) -> Result<Attempt, Error> {
        // Later attempts are about a newer run than this stop found.
        let settled = if attempt == 1 && writer.is_unchanged(self.kept)? {
            draft
        } else {
            let newest = writer.run_of_session(&self.kept.run.session)?;
            let newest = newest.filter(|newest| newest.run.id == self.kept.run.id);
            let Some(newest) = newest else {
                return Ok(Attempt::Moved);
            };
            snapshot.run = Reading::Known(Some(newest.run));
            let may_ask = attempt < ATTEMPTS_MAX;
            if may_ask && !wanted(snapshot, &snapshot.policy()).is_empty() {
                return Ok(Attempt::WantsMore);
            }
            self.worded_like(&draft, decide(snapshot))
        };
        if let Some(memory) = self.edges.tasks.news() {
            writer.remember(&self.kept.site, memory)?;
        }
        if let Some(run) = &settled.verdict.run {
            writer.save(run)?;
            let record = record(snapshot, &settled, self);
            writer.record(&run.id, &record, snapshot)?;
        }
        Ok(Attempt::Done(Box::new(settled)))
    }

    fn unrecorded(&self, snapshot: &Snapshot, what: &str) -> Settled {
        self.worded(decide(snapshot).unrecorded(Fault::new(Sensor::Run, what)))
    }

    /// The verdict with what a held agent reads, by the project's own template where it has one.
    fn worded(&self, verdict: Verdict) -> Settled {
        let run = verdict.run.as_ref().unwrap_or(&self.kept.run);
        let text = match &verdict.answer {
            verdict::Answer::Block(block) => {
                Some(render::block(block, run, Some(&self.kept.site.prompts)))
            }
            verdict::Answer::Allow(_) => None,
        };
        Settled {
            verdict,
            text,
            taken: Vec::new(),
        }
    }

    /// The same under the store's lock, where nobody may wait for a template: if another stop
    /// came between, the built-in one says it.
    fn worded_like(&self, draft: &Settled, verdict: Verdict) -> Settled {
        let cycles = |verdict: &Verdict| verdict.run.as_ref().map(|run| run.counters.cycles);
        let is_as_drafted =
            verdict.answer == draft.verdict.answer && cycles(&verdict) == cycles(&draft.verdict);
        let run = verdict.run.as_ref().unwrap_or(&self.kept.run);
        let text = match &verdict.answer {
            verdict::Answer::Block(_) if is_as_drafted => draft.text.clone(),
            verdict::Answer::Block(block) => Some(render::block(block, run, None)),
            verdict::Answer::Allow(_) => None,
        };
        Settled {
            verdict,
            text,
            taken: draft.taken.clone(),
        }
    }

    fn reply(&self, store: &mut Store, snapshot: &Snapshot, settled: Settled) -> Reply {
        let (event, before) = (self.event, &self.kept.run);
        let is_interactive = event.stop.is_interactive;
        if settled.verdict.run.as_ref().is_some_and(Run::is_over) {
            store.unmark_unless_held(&before.session);
        }
        let owed = if is_interactive {
            owed_lines(store, before, &settled.verdict)
        } else {
            Vec::new()
        };
        let mut reply = reply(&settled.verdict, settled.text, Some(before), event);
        if let Some(fault) = snapshot.enabled.fault()
            && before.state == State::Active
        {
            let what = "the run keeps the settings it was started with";
            reply.tell_also(&format!("Beadlock: {what}: {}", fault.what));
        }
        if !owed.is_empty() {
            reply.tell_also(&owed.join("\n"));
        }
        reply
    }
}

/// A run that is not held is left as it is: not even a write, unless the agent has meanwhile
/// scheduled what could pass for a person's prompt.
fn is_at_rest(snapshot: &Snapshot) -> bool {
    let Some(run) = snapshot.run.known().and_then(Option::as_ref) else {
        return false;
    };
    let mut scheduled = snapshot.stop.scheduled.iter();
    let is_known = scheduled.all(|words| run.scheduled.contains(words));
    run.is_at_rest() && is_known && decide(snapshot).row == Row::Resting
}

/// The verdict in words. `before` is the run as the stop found it.
fn reply(verdict: &Verdict, text: Option<Rendered>, before: Option<&Run>, event: &Event) -> Reply {
    let run = verdict.run.as_ref().or(before);
    match (&verdict.answer, text) {
        (verdict::Answer::Block(_), Some(text)) => Reply {
            answer: Answer::Block {
                reason: text.text,
                tell: None,
            },
            aside: None,
        },
        // Only a run's own stop is ever held, and that has words.
        (verdict::Answer::Block(_), None) => Reply::silence(),
        (verdict::Answer::Allow(allow), _) => {
            render::allow(allow, run).map_or_else(Reply::silence, |line| told(line, event))
        }
    }
}
