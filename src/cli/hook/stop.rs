//! `hook stop`: the path of a stop from the agent's JSON to the verdict. Gathers, calls the
//! kernel, records, replies; decides nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Reply;
use crate::arm::{self, Armed, How, Wish};
use crate::cli::ambient::{actor, now, sources};
use crate::edge::agent::{Ambient, Answer, Event};
use crate::edge::store::{Bound, Error, Kept, Record, Site, Store, StoreDir, Told, Writer};
use crate::kernel::ledger::{By, Run, State};
use crate::kernel::policy::Policy;
use crate::kernel::snapshot::{Fault, Git as GitState, Reading, Snapshot};
use crate::kernel::verdict::{self, Row, Verdict};
use crate::kernel::{brake, judge, wanted};
use crate::render::{self, Reader};
use crate::survey::{self, Edges, Spoken};

/// How often a stop may be overtaken by another one of the same run before it is decided blind.
const ATTEMPTS_MAX: usize = 5;

pub fn respond(epic: Option<&str>, event: &Event, ambient: &Ambient) -> Reply {
    let deadline = Instant::now() + Duration::from_secs(survey::HOOK_SECONDS_MAX);
    let mut snapshot = Snapshot::of(event.stop.clone(), now());
    let owned = match owned_run(epic, event, ambient) {
        Owned::Nothing => {
            let reply = reply(&decide(&snapshot), None, event);
            return match &event.fault {
                // Whose stop it was cannot be told, so no record of a run can say it.
                Some(fault) => Reply::aside(format!("beadlock: {fault}; nobody is held")),
                None => reply,
            };
        }
        Owned::Refused(what) => return told(what, event),
        Owned::Broken(fault) => {
            snapshot.run = Reading::Failed(fault);
            return reply(&decide(&snapshot), None, event);
        }
        Owned::Run(owned) => owned,
    };
    let (mut store, kept) = *owned;
    snapshot.baseline = baseline(&mut store, &kept.run);
    snapshot.run = Reading::Known(Some(kept.run.clone()));
    let case = Case {
        edges: Arc::new(edges(&kept.site, event, ambient)),
        kept: &kept,
        event,
        deadline,
    };
    let verdict = case.settle(&mut store, &mut snapshot);
    if let Some(run) = &verdict.run
        && run.is_over()
        && !owes_here(run, event)
    {
        store.dir().unmark(&run.session);
    }
    let mut reply = reply(&verdict, Some(&kept), event);
    if let Some(fault) = snapshot.enabled.fault()
        && kept.run.state == State::Active
    {
        let what = "the run keeps the settings it was started with";
        reply.tell_also(&format!("Beadlock: {}; {what}.", fault.what));
    }
    if event.stop.is_interactive
        && let Ok(lines) = owed_lines(&mut store, &kept.run)
        && !lines.is_empty()
    {
        reply.tell_also(&lines.join("\n"));
    }
    reply
}

/// What became of earlier runs of this session, where nobody was told yet.
fn owed_lines(store: &mut Store, run: &Run) -> Result<Vec<String>, Error> {
    let owed = store.owed_beside(run)?;
    if owed.is_empty() {
        return Ok(Vec::new());
    }
    store.write(|writer| {
        for kept in &owed {
            let mut told = kept.run.clone();
            told.told.is_owed = false;
            writer.save(&told)?;
        }
        Ok(())
    })?;
    let line = |kept: &Kept| render::owed(&kept.run, Reader::OwnSession);
    Ok(owed.iter().map(line).collect())
}

/// Whose stop this is.
enum Owned {
    /// Nobody's that we know of.
    Nothing,
    /// A run was wanted at this stop and cannot be had.
    Refused(String),
    /// There is a run, but the store cannot say which.
    Broken(Fault),
    Run(Box<(Store, Kept)>),
}

fn owned_run(epic: Option<&str>, event: &Event, ambient: &Ambient) -> Owned {
    let Some(session) = &event.session else {
        return Owned::Nothing;
    };
    if event.stop.is_sub_agent {
        return Owned::Nothing;
    }
    if let Some(dir) = StoreDir::of_session(session, &event.dirs) {
        let launch = ambient.variable("BEADLOCK_RUN");
        return match open(&dir, session, launch) {
            Ok(owned) => Owned::Run(Box::new(owned)),
            Err(error) => Owned::Broken(Fault::new("store", error.to_string())),
        };
    }
    if let Some(launch) = ambient.variable("BEADLOCK_RUN") {
        return launched_run(launch, session, event);
    }
    match epic {
        Some(epic) => armed_run(epic, session, event, ambient),
        None => Owned::Nothing,
    }
}

fn open(dir: &StoreDir, session: &str, launch: Option<&str>) -> Result<(Store, Kept), Error> {
    let mut store = Store::open(dir)?;
    match store.run_of_session(session)? {
        Some(kept) => {
            if let Some(launch) = launch.filter(|launch| run_named_by(launch) == kept.run.id) {
                // The owner is seen with it: whoever else has it inherited it.
                store.write(|writer| writer.bind(launch, &kept.run.id, session))?;
            }
            Ok((store, kept))
        }
        None => Err(Error::NoRun {
            path: dir.database(),
            what: "of this session".to_owned(),
        }),
    }
}

/// `BEADLOCK_RUN=RUN/LAUNCH`: the run is the first session's that is seen with it.
fn launched_run(launch: &str, session: &str, event: &Event) -> Owned {
    let run = run_named_by(launch);
    let bound = || -> Result<Option<(Store, Kept)>, Error> {
        let Some(dir) = StoreDir::nearest(&event.dirs) else {
            return Ok(None);
        };
        let mut store = Store::open(&dir)?;
        let path = dir.database();
        let kept = store.write(|writer| {
            let kept = writer.run(run)?.filter(|kept| !kept.run.is_over());
            let Some(mut kept) = kept else {
                return Err(Error::NoRun {
                    path,
                    what: format!("`{run}`"),
                });
            };
            let owner = kept.run.session.as_str();
            let is_at_work = kept.run.is_at_work(now());
            let first = if is_at_work { owner } else { session };
            writer.bind(launch, run, first)?;
            if writer.bind(launch, run, session)? == Bound::Child {
                return Ok(None);
            }
            session.clone_into(&mut kept.run.session);
            writer.save(&kept.run)?;
            Ok(Some(kept))
        })?;
        if kept.is_some() {
            let marked = dir.mark(session);
            marked.map_err(|error| Error::Unreadable {
                path: dir.path().to_owned(),
                what: error.to_string(),
            })?;
        }
        Ok(kept.map(|kept| (store, kept)))
    };
    match bound() {
        Ok(Some(owned)) => Owned::Run(Box::new(owned)),
        Ok(None) => Owned::Nothing,
        Err(error) => Owned::Broken(Fault::new("store", error.to_string())),
    }
}

fn run_named_by(launch: &str) -> &str {
    launch.split('/').next().unwrap_or(launch)
}

/// `--epic`: the session's run is armed now, if it never had one.
fn armed_run(epic: &str, session: &str, event: &Event, ambient: &Ambient) -> Owned {
    let Some(dir) = event.dirs.iter().find(|dir| dir.is_dir()) else {
        return Owned::Nothing;
    };
    let wish = Wish {
        epic: epic.to_owned(),
        session: session.to_owned(),
        dir: dir.clone(),
        by: By::Person,
        inside: None,
        how: How::AtStop,
        replace: false,
        sources: sources(ambient, &[]),
        actor: actor(None, ambient, dir),
        now: now(),
    };
    match arm::arm(&wish) {
        Ok(Armed { kept, store, .. }) => match Store::open(&store) {
            Ok(opened) => Owned::Run(Box::new((opened, kept))),
            Err(error) => Owned::Broken(Fault::new("store", error.to_string())),
        },
        Err(arm::Error::NotThisSession { .. }) => Owned::Nothing,
        Err(error) => Owned::Refused(format!(
            "Beadlock guards nothing here: {error}. The hook's own line names the epic."
        )),
    }
}

fn edges(site: &Site, event: &Event, ambient: &Ambient) -> Edges {
    let words = match (&event.last_words, &event.transcript) {
        (Some(text), _) => Spoken::Here(text.clone()),
        (None, Some(path)) => Spoken::InTranscript(path.clone()),
        (None, None) => Spoken::Nowhere,
    };
    let mut sources = sources(ambient, &[]);
    sources.project = Some(site.project_file.clone());
    arm::edges(site, words, sources)
}

fn baseline(store: &mut Store, run: &Run) -> Reading<crate::kernel::snapshot::Baseline> {
    if run.state != State::Active {
        return Reading::Unread;
    }
    match store.baseline(&run.id) {
        Ok(Some(baseline)) => Reading::Known(baseline),
        Ok(None) => Reading::Unread,
        Err(error) => Reading::Failed(Fault::new("store", error.to_string())),
    }
}

/// One stop of a run that is known.
struct Case<'a> {
    edges: Arc<Edges>,
    kept: &'a Kept,
    event: &'a Event,
    deadline: Instant,
}

impl Case<'_> {
    /// Surveys, then decides and records under the store's lock. If another stop of the same run
    /// was faster and its run wants other facts, those are read and the decision is made again.
    fn settle(&self, store: &mut Store, snapshot: &mut Snapshot) -> Verdict {
        for attempt in 1..=ATTEMPTS_MAX {
            let policy = policy_of(snapshot);
            survey::survey(&self.edges, snapshot, &policy, self.deadline);
            if is_resting(snapshot, self.event) {
                return decide(snapshot);
            }
            let is_last = attempt == ATTEMPTS_MAX;
            match store.write(|writer| self.record_verdict(writer, snapshot, is_last)) {
                Ok(Some(verdict)) => return verdict,
                Ok(None) => {}
                Err(error) => {
                    let fault = Fault::new("store", error.to_string());
                    return decide(snapshot).unrecorded(fault);
                }
            }
        }
        decide(snapshot)
    }

    /// The verdict on the newest run, recorded; nothing if that run wants facts not read yet.
    fn record_verdict(
        &self,
        writer: &Writer<'_>,
        snapshot: &mut Snapshot,
        is_last: bool,
    ) -> Result<Option<Verdict>, Error> {
        let newest = writer.newest_of_session(&self.kept.run.session, self.kept)?;
        let Some(newest) = newest else {
            return Err(Error::NoRun {
                path: self.kept.site.tree.clone(),
                what: "of this session any more".to_owned(),
            });
        };
        snapshot.run = Reading::Known(Some(newest.run));
        if !is_last && !wanted(snapshot, &policy_of(snapshot)).is_empty() {
            return Ok(None);
        }
        let verdict = decide(snapshot);
        if let Some(run) = &verdict.run {
            writer.save(run)?;
            let record = record(snapshot, &verdict, self.kept, self.event);
            writer.record(&run.id, &record)?;
        }
        Ok(Some(verdict))
    }
}

/// A run that is not held, and owes nobody a word, is left as it is: not even a write.
fn is_resting(snapshot: &Snapshot, event: &Event) -> bool {
    let run = snapshot.run.known().and_then(Option::as_ref);
    run.is_some_and(|run| run.state != State::Active && !owes_here(run, event))
        && decide(snapshot).row == Row::Resting
}

/// Something happened unseen, and this stop has a screen to show it on.
fn owes_here(run: &Run, event: &Event) -> bool {
    run.told.is_owed && event.stop.is_interactive
}

fn policy_of(snapshot: &Snapshot) -> Policy {
    let run = snapshot.run.known().and_then(Option::as_ref);
    run.map(|run| run.policy.clone()).unwrap_or_default()
}

fn decide(snapshot: &Snapshot) -> Verdict {
    let policy = policy_of(snapshot);
    brake(judge(snapshot, &policy), snapshot, &policy)
}

fn record(snapshot: &Snapshot, verdict: &Verdict, kept: &Kept, event: &Event) -> Record {
    let faults = [
        snapshot.baseline.fault(),
        snapshot.enabled.fault(),
        snapshot.words.fault(),
        snapshot.epic.fault(),
        snapshot.git.fault(),
        snapshot.branches.fault(),
    ];
    let faults = faults.into_iter().flatten();
    let faults = faults.map(|fault| format!("{}: {}", fault.sensor, fault.what));
    let (answer, text, template_fault) = match &verdict.answer {
        verdict::Answer::Allow(allow) => {
            let text = render::allow(allow, verdict.run.as_ref());
            ("allow", text, None)
        }
        verdict::Answer::Block(block) => {
            let run = verdict.run.as_ref().unwrap_or(&kept.run);
            let fault = render::block(block, run, &kept.site.prompts).fault;
            ("block", None, fault)
        }
    };
    Record {
        version: 0,
        at_ms: snapshot.now.0,
        session: kept.run.session.clone(),
        prompt: snapshot.stop.prompt.clone(),
        row: verdict.row as u8,
        brake: verdict.brake.map(|brake| brake.name().to_owned()),
        answer: answer.to_owned(),
        reason: verdict.answer.name().to_owned(),
        cycle: verdict.run.as_ref().map_or(0, |run| run.counters.cycles),
        stop_hook_active: event.stop_hook_active,
        told: text.map(|text| Told { text }),
        faults: faults
            .chain(event.fault.clone())
            .chain(template_fault)
            .collect(),
        tasks: snapshot.epic.known().map(|epic| {
            let counts = epic.counts();
            serde_json::json!({
                "ready": counts.ready, "in_progress": counts.in_progress,
                "blocked": counts.blocked, "deferred": counts.deferred,
                "closed": counts.closed, "total": counts.total,
            })
        }),
        git: snapshot.git.known().map(git_summary),
        said: event.last_words.as_deref().map(tail).unwrap_or_default(),
    }
}

fn git_summary(git: &GitState) -> serde_json::Value {
    match git {
        GitState::NoRepository => serde_json::json!("no repository"),
        GitState::NoWorkTree => serde_json::json!("no work tree"),
        GitState::Tree(tree) => serde_json::json!({
            "head": tree.head, "branch": tree.branch, "unfinished": tree.unfinished,
            "changes": tree.changes.len(), "approximate": tree.is_approximate,
        }),
    }
}

/// The end of what was said; no more of it is kept.
fn tail(text: &str) -> String {
    let mut start = text.len().saturating_sub(Record::SAID_BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

fn reply(verdict: &Verdict, kept: Option<&Kept>, event: &Event) -> Reply {
    match &verdict.answer {
        verdict::Answer::Block(block) => match (kept, &verdict.run) {
            (Some(kept), Some(run)) => Reply {
                answer: Answer::Block {
                    reason: render::block(block, run, &kept.site.prompts).text,
                    tell: None,
                },
                aside: None,
            },
            // A block without a run was never counted.
            _ => Reply::silence(),
        },
        verdict::Answer::Allow(allow) => {
            let before = kept.map(|kept| &kept.run);
            let text = match render::allow(allow, verdict.run.as_ref().or(before)) {
                Some(text) => Some(text),
                None => before
                    .filter(|run| owes_here(run, event))
                    .map(|run| render::owed(run, Reader::OwnSession)),
            };
            match text {
                Some(text) => told(text, event),
                None => Reply::silence(),
            }
        }
    }
}

/// For the person: on the screen where there is one, and on stderr where there is none.
fn told(text: String, event: &Event) -> Reply {
    Reply {
        aside: (!event.stop.is_interactive).then(|| text.clone()),
        answer: Answer::Tell(text),
    }
}
