//! What a stop was judged by, as it is kept with its record: enough to decide it again. The parts
//! that grow with the epic stand aside, since most stops of a run share them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Id, StoredBaseline, StoredRoster, StoredRun};
use crate::kernel::ledger::Run;
use crate::kernel::moment::Moment;
use crate::kernel::signal::{Escalation, Words};
use crate::kernel::snapshot::{
    Background, Baseline, Change, Fault, Git, Glance, Reading, Sensor, Snapshot, Stop, WorkTree,
};
use crate::kernel::task::{Cause, Claim, Epic, EpicTask, Stage, Status, TaskId};

/// A snapshot with a run, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evidence {
    now: i64,
    stop: StoredStop,
    run: StoredRun,
    roster: Part,
    baseline: StoredReading<Part>,
    enabled: StoredReading<bool>,
    words: StoredReading<StoredWords>,
    remembered: StoredReading<Part>,
    epic: StoredReading<Part>,
    own_ready: StoredReading<Option<Vec<String>>>,
    glance: Option<StoredGlance>,
    git: StoredReading<StoredGit>,
    branches: StoredReading<Vec<String>>,
}

/// JSON of its own: in a file as it is, in the store a name under which it is found.
pub type Part = Box<RawValue>;

impl Evidence {
    /// Nothing where nobody's run was judged.
    pub fn of(snapshot: &Snapshot) -> Result<Option<Evidence>, serde_json::Error> {
        let Some(run) = snapshot.run.known().and_then(Option::as_ref) else {
            return Ok(None);
        };
        let epic = |epic: &Epic| part(&StoredEpic::from(epic));
        Ok(Some(Evidence {
            now: snapshot.now.0,
            stop: StoredStop::from(&snapshot.stop),
            run: StoredRun::from(run),
            roster: part(&run.roster.as_deref().map(StoredRoster::of))?,
            baseline: StoredReading::of(&snapshot.baseline, |it| part(&StoredBaseline::from(it)))?,
            enabled: StoredReading::of(&snapshot.enabled, |it| Ok(*it))?,
            words: StoredReading::of(&snapshot.words, |it| Ok(StoredWords::from(it)))?,
            remembered: StoredReading::of(&snapshot.remembered, |it| match it {
                Some(it) => epic(it),
                None => part(&()),
            })?,
            epic: StoredReading::of(&snapshot.epic, epic)?,
            own_ready: StoredReading::of(&snapshot.own_ready, |it| Ok(it.as_deref().map(names)))?,
            glance: snapshot.glance.as_ref().map(StoredGlance::from),
            git: StoredReading::of(&snapshot.git, |it| Ok(StoredGit::from(it)))?,
            branches: StoredReading::of(&snapshot.branches, |it| Ok(it.clone()))?,
        }))
    }

    /// The parts that are put by under a name of their own.
    pub fn parts(&mut self) -> Vec<&mut Part> {
        let mut parts = vec![&mut self.roster];
        for reading in [&mut self.baseline, &mut self.remembered, &mut self.epic] {
            if let StoredReading::Known(part) = reading {
                parts.push(part);
            }
        }
        parts
    }

    pub fn snapshot(self) -> Result<Snapshot, String> {
        let roster: Option<StoredRoster<'_>> = parsed(&self.roster)?;
        let mut run = Run::try_from(self.run)?;
        run.roster = roster.map(StoredRoster::members).transpose()?;
        let epic = |part: Part| parsed::<StoredEpic<'_>>(&part).map(Epic::from);
        let mut snapshot = Snapshot::of(Stop::from(self.stop), Moment(self.now));
        snapshot.run = Reading::Known(Some(run));
        snapshot.baseline = self
            .baseline
            .reading(|part| parsed::<StoredBaseline<'_>>(&part).map(Baseline::from))?;
        snapshot.enabled = self.enabled.reading(Ok)?;
        snapshot.words = self.words.reading(|words| Ok(Words::from(words)))?;
        snapshot.remembered = self.remembered.reading(|part| {
            let epic: Option<StoredEpic<'_>> = parsed(&part)?;
            Ok(epic.map(Epic::from))
        })?;
        snapshot.epic = self.epic.reading(epic)?;
        snapshot.own_ready = self.own_ready.reading(|ids| Ok(ids.map(task_ids)))?;
        snapshot.glance = self.glance.map(Glance::from);
        snapshot.git = self.git.reading(|git| Ok(Git::from(git)))?;
        snapshot.branches = self.branches.reading(Ok)?;
        Ok(snapshot)
    }
}

fn part(value: &impl Serialize) -> Result<Part, serde_json::Error> {
    serde_json::value::to_raw_value(value)
}

fn parsed<'a, T: Deserialize<'a>>(part: &'a Part) -> Result<T, String> {
    serde_json::from_str(part.get()).map_err(|error| error.to_string())
}

fn names(ids: &[TaskId]) -> Vec<String> {
    ids.iter().map(TaskId::to_string).collect()
}

fn task_ids(names: Vec<String>) -> Vec<TaskId> {
    names.into_iter().map(TaskId::new).collect()
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredReading<T> {
    Unread,
    Known(T),
    Failed { sensor: String, what: String },
}

impl<T> StoredReading<T> {
    fn of<U>(
        reading: &Reading<U>,
        store: impl FnOnce(&U) -> Result<T, serde_json::Error>,
    ) -> Result<StoredReading<T>, serde_json::Error> {
        Ok(match reading {
            Reading::Unread => StoredReading::Unread,
            Reading::Known(value) => StoredReading::Known(store(value)?),
            Reading::Failed(fault) => StoredReading::Failed {
                sensor: sensor_key(fault.sensor).to_owned(),
                what: fault.what.clone(),
            },
        })
    }

    fn reading<U>(self, read: impl FnOnce(T) -> Result<U, String>) -> Result<Reading<U>, String> {
        Ok(match self {
            StoredReading::Unread => Reading::Unread,
            StoredReading::Known(value) => Reading::Known(read(value)?),
            StoredReading::Failed { sensor, what } => {
                let mut all = Sensor::ALL.into_iter();
                let sensor = all
                    .find(|known| sensor_key(*known) == sensor)
                    .ok_or_else(|| format!("no sensor is called `{sensor}`"))?;
                Reading::Failed(Fault::new(sensor, what))
            }
        })
    }
}

/// What a sensor is called in a record; several share a name for people.
pub fn sensor_key(sensor: Sensor) -> &'static str {
    match sensor {
        Sensor::Run => "run",
        Sensor::Baseline => "baseline",
        Sensor::Enabled => "enabled",
        Sensor::Words => "words",
        Sensor::Remembered => "remembered",
        Sensor::Tasks => "tasks",
        Sensor::OwnReady => "own_ready",
        Sensor::Glance => "glance",
        Sensor::Git => "git",
        Sensor::Branches => "branches",
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredStop {
    is_sub_agent: bool,
    is_planning: bool,
    is_interactive: bool,
    prompt: Option<String>,
    /// Id and label.
    background: Vec<(String, String)>,
    scheduled: Vec<String>,
}

impl From<&Stop> for StoredStop {
    fn from(stop: &Stop) -> StoredStop {
        let pair = |work: &Background| (work.id.clone(), work.label.clone());
        StoredStop {
            is_sub_agent: stop.is_sub_agent,
            is_planning: stop.is_planning,
            is_interactive: stop.is_interactive,
            prompt: stop.prompt.clone(),
            background: stop.background.iter().map(pair).collect(),
            scheduled: stop.scheduled.clone(),
        }
    }
}

impl From<StoredStop> for Stop {
    fn from(stored: StoredStop) -> Stop {
        let work = |(id, label): (String, String)| Background { id, label };
        Stop {
            is_sub_agent: stored.is_sub_agent,
            is_planning: stored.is_planning,
            is_interactive: stored.is_interactive,
            prompt: stored.prompt,
            background: stored.background.into_iter().map(work).collect(),
            scheduled: stored.scheduled,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredWords {
    /// A tag, and what was said after it.
    escalation: Option<(String, Vec<String>)>,
    is_checkpoint: bool,
    claim: Option<String>,
}

impl From<&Words> for StoredWords {
    fn from(words: &Words) -> StoredWords {
        let escalation = words.escalation.as_ref();
        StoredWords {
            escalation: escalation.map(|it| (it.tag.clone(), it.lines.clone())),
            is_checkpoint: words.is_checkpoint,
            claim: words.claim.clone(),
        }
    }
}

impl From<StoredWords> for Words {
    fn from(stored: StoredWords) -> Words {
        let escalation = |(tag, lines): (String, Vec<String>)| Escalation { tag, lines };
        Words {
            escalation: stored.escalation.map(escalation),
            is_checkpoint: stored.is_checkpoint,
            claim: stored.claim,
        }
    }
}

/// An epic. It may have thousands of tasks, so no key is repeated for each.
#[derive(Serialize, Deserialize)]
struct StoredEpic<'a> {
    #[serde(borrow)]
    id: Id<'a>,
    /// Id, status and stage.
    #[serde(borrow)]
    tasks: Vec<(Id<'a>, Cow<'a, str>, StoredStage<'a>)>,
    /// Positions in `tasks`.
    epics: Vec<u32>,
    #[serde(borrow)]
    containers: Vec<Id<'a>>,
    #[serde(borrow)]
    knot: Vec<Id<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredStage<'a> {
    Closed,
    Ready,
    InProgress(Option<StoredClaim<'a>>),
    /// Stuck by its own status.
    Blocked,
    Deferred,
    Person(Cow<'a, str>),
    Waits(#[serde(borrow)] Vec<Id<'a>>),
}

#[derive(Serialize, Deserialize)]
struct StoredClaim<'a> {
    actor: Cow<'a, str>,
    since: Option<i64>,
    lease_until: Option<i64>,
}

impl<'a> From<&'a Epic> for StoredEpic<'a> {
    fn from(epic: &'a Epic) -> StoredEpic<'a> {
        let id = |id: &'a TaskId| Id(Cow::Borrowed(id.as_str()));
        let task = |task: &'a EpicTask| {
            let status = Cow::Borrowed(task.status.name());
            (id(&task.id), status, StoredStage::from(&task.stage))
        };
        let numbered = (0u32..).zip(&epic.tasks);
        let epics = numbered.filter(|(_, task)| task.is_epic);
        StoredEpic {
            id: id(&epic.id),
            tasks: epic.tasks.iter().map(task).collect(),
            epics: epics.map(|(position, _)| position).collect(),
            containers: epic.containers.iter().map(id).collect(),
            knot: epic.knot.iter().map(id).collect(),
        }
    }
}

impl From<StoredEpic<'_>> for Epic {
    fn from(stored: StoredEpic<'_>) -> Epic {
        let id = |id: Id<'_>| TaskId::new(id.0);
        let epics = stored.epics;
        let task = |(position, (name, status, stage)): (u32, (Id<'_>, Cow<'_, str>, _))| EpicTask {
            id: id(name),
            status: Status::parse(&status),
            stage: Stage::from(stage),
            is_epic: epics.binary_search(&position).is_ok(),
        };
        Epic {
            id: id(stored.id),
            tasks: (0u32..).zip(stored.tasks).map(task).collect(),
            containers: stored.containers.into_iter().map(id).collect(),
            knot: stored.knot.into_iter().map(id).collect(),
        }
    }
}

impl<'a> From<&'a Stage> for StoredStage<'a> {
    fn from(stage: &'a Stage) -> StoredStage<'a> {
        let claim = |claim: &'a Claim| StoredClaim {
            actor: Cow::Borrowed(&claim.actor),
            since: claim.since.map(|at| at.0),
            lease_until: claim.lease_until.map(|at| at.0),
        };
        let id = |id: &'a TaskId| Id(Cow::Borrowed(id.as_str()));
        match stage {
            Stage::Closed => StoredStage::Closed,
            Stage::Ready => StoredStage::Ready,
            Stage::InProgress(held) => StoredStage::InProgress(held.as_ref().map(claim)),
            Stage::Stuck(Cause::Status) => StoredStage::Blocked,
            Stage::Stuck(Cause::Deferred) => StoredStage::Deferred,
            Stage::Stuck(Cause::Person(what)) => StoredStage::Person(Cow::Borrowed(what)),
            Stage::Stuck(Cause::Waits(ids)) => StoredStage::Waits(ids.iter().map(id).collect()),
        }
    }
}

impl From<StoredStage<'_>> for Stage {
    fn from(stored: StoredStage<'_>) -> Stage {
        let claim = |claim: StoredClaim<'_>| Claim {
            actor: claim.actor.into_owned(),
            since: claim.since.map(Moment),
            lease_until: claim.lease_until.map(Moment),
        };
        match stored {
            StoredStage::Closed => Stage::Closed,
            StoredStage::Ready => Stage::Ready,
            StoredStage::InProgress(held) => Stage::InProgress(held.map(claim)),
            StoredStage::Blocked => Stage::Stuck(Cause::Status),
            StoredStage::Deferred => Stage::Stuck(Cause::Deferred),
            StoredStage::Person(what) => Stage::Stuck(Cause::Person(what.into_owned())),
            StoredStage::Waits(ids) => {
                let ids = ids.into_iter().map(|id| TaskId::new(id.0));
                Stage::Stuck(Cause::Waits(ids.collect()))
            }
        }
    }
}

/// Path, whether git does not know it yet, and a hash of the content; then what only the index has,
/// if it has anything of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredChange {
    Plain(String, bool, String),
    Staged(String, bool, String, String),
}

fn stored_changes(changes: &[Change]) -> Vec<StoredChange> {
    let stored = |it: &Change| {
        let (path, content) = (it.path.clone(), it.content.clone());
        match it.staged.clone() {
            None => StoredChange::Plain(path, it.is_untracked, content),
            Some(staged) => StoredChange::Staged(path, it.is_untracked, content, staged),
        }
    };
    changes.iter().map(stored).collect()
}

fn changes(stored: Vec<StoredChange>) -> Vec<Change> {
    let change = |stored| {
        let (path, is_untracked, content, staged) = match stored {
            StoredChange::Plain(path, is_untracked, content) => (path, is_untracked, content, None),
            StoredChange::Staged(path, is_untracked, content, staged) => {
                (path, is_untracked, content, Some(staged))
            }
        };
        Change {
            path,
            is_untracked,
            content,
            staged,
        }
    };
    stored.into_iter().map(change).collect()
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredGlance {
    head: Option<String>,
    changes: Vec<StoredChange>,
}

impl From<&Glance> for StoredGlance {
    fn from(glance: &Glance) -> StoredGlance {
        StoredGlance {
            head: glance.head.clone(),
            changes: stored_changes(&glance.changes),
        }
    }
}

impl From<StoredGlance> for Glance {
    fn from(stored: StoredGlance) -> Glance {
        Glance {
            head: stored.head,
            changes: changes(stored.changes),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredGit {
    NoRepository,
    NoWorkTree,
    Tree {
        #[serde(default)]
        place: String,
        head: Option<String>,
        branch: Option<String>,
        unfinished: Option<String>,
        changes: Vec<StoredChange>,
        is_approximate: bool,
    },
}

impl From<&Git> for StoredGit {
    fn from(git: &Git) -> StoredGit {
        match git {
            Git::NoRepository => StoredGit::NoRepository,
            Git::NoWorkTree => StoredGit::NoWorkTree,
            Git::Tree(tree) => StoredGit::Tree {
                place: tree.place.clone(),
                head: tree.head.clone(),
                branch: tree.branch.clone(),
                unfinished: tree.unfinished.clone(),
                changes: stored_changes(&tree.changes),
                is_approximate: tree.is_approximate,
            },
        }
    }
}

impl From<StoredGit> for Git {
    fn from(stored: StoredGit) -> Git {
        match stored {
            StoredGit::NoRepository => Git::NoRepository,
            StoredGit::NoWorkTree => Git::NoWorkTree,
            StoredGit::Tree {
                place,
                head,
                branch,
                unfinished,
                changes: stored,
                is_approximate,
            } => Git::Tree(WorkTree {
                place,
                head,
                branch,
                unfinished,
                changes: changes(stored),
                is_approximate,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::kernel::ledger::{
        Counters, Fingerprint, Member, Outcome, Prompt, PromptKind, Rule, State, Streak, Territory,
        Told, Turn,
    };
    use crate::kernel::policy::Policy;
    use crate::kernel::snapshot::Footing;
    use crate::kernel::verdict::Row;

    fn task(id: &str, status: &str, stage: Stage) -> EpicTask {
        EpicTask {
            id: id.into(),
            status: Status::parse(status),
            stage,
            is_epic: id.ends_with('e'),
        }
    }

    /// One task of each stage.
    fn epic() -> Epic {
        let claim = Claim {
            actor: "ann \"é\"".into(),
            since: Some(Moment(5)),
            lease_until: None,
        };
        Epic {
            id: "t-e".into(),
            tasks: vec![
                task("t-1", "closed", Stage::Closed),
                task("t-\"2\"", "open", Stage::Ready),
                task("t-3e", "in_progress", Stage::InProgress(Some(claim))),
                task("t-4", "hooked", Stage::InProgress(None)),
                task("t-5", "blocked", Stage::Stuck(Cause::Status)),
                task("t-6e", "deferred", Stage::Stuck(Cause::Deferred)),
                task(
                    "t-7",
                    "review",
                    Stage::Stuck(Cause::Person("review".into())),
                ),
                task(
                    "t-8",
                    "open",
                    Stage::Stuck(Cause::Waits(vec!["t-4".into()])),
                ),
            ],
            containers: vec!["t-c".into()],
            knot: vec!["t-8".into()],
        }
    }

    fn run() -> Run {
        Run {
            id: "run-1".into(),
            epic: "t-e".into(),
            session: "s/1\n".into(),
            actor: "host/agent".into(),
            state: State::Active,
            outcome: Some(Outcome::NoProgress),
            policy: Policy::default(),
            prompt: "go on".into(),
            territory: Territory {
                not_work: vec![".beadlock/".into()],
                tracker_file: Some(".beads/issues.jsonl".into()),
            },
            started_at: Moment(1),
            last_event_at: Moment(2),
            counters: Counters {
                stops: 3,
                cycles: 2,
                blocks_idle: 1,
                blocks: 1,
                turns_cut: 4,
            },
            streak: Some(Streak {
                rule: Rule {
                    row: Row::Unsaved,
                    only_new_files: true,
                },
                length: 1,
            }),
            seen: vec![1, u128::MAX],
            roster: Some(vec![Member {
                id: "t-1".into(),
                is_closed: true,
                is_epic: true,
            }]),
            missing: vec!["t-0".into()],
            given_up: BTreeSet::from(["t-9".into()]),
            turn: Turn {
                claims_since: Moment(1),
                prompt: Some(Prompt {
                    id: Some("p".into()),
                    kind: PromptKind::Machine,
                    quiet_before: 7,
                    woke: true,
                    is_first: true,
                    before: Fingerprint {
                        tasks: Some(3),
                        ..Fingerprint::default()
                    },
                }),
                is_judged: true,
                blocks: 1,
                is_settled: true,
            },
            taken: BTreeSet::from(["t-3e".into()]),
            background: BTreeSet::from(["b-1".into()]),
            scheduled: BTreeSet::from(["w".into()]),
            hears_prompts: true,
            told: Told {
                switched_off: true,
                is_owed: true,
            },
        }
    }

    /// A snapshot in which nothing is as it is to begin with.
    fn full() -> Snapshot {
        let stop = Stop {
            is_sub_agent: true,
            is_planning: true,
            is_interactive: true,
            prompt: Some("p".into()),
            background: vec![Background {
                id: "b-2".into(),
                label: "a server".into(),
            }],
            scheduled: vec!["w".into()],
        };
        let change = Change {
            path: "a b/\"c\"".into(),
            is_untracked: true,
            content: "hash".into(),
            staged: None,
        };
        let staged = Change {
            staged: Some("100644 1b".into()),
            ..change.clone()
        };
        let mut snapshot = Snapshot::of(stop, Moment(1_800_000_000_123));
        snapshot.run = Reading::Known(Some(run()));
        snapshot.baseline = Reading::Known(Baseline {
            footing: Some(Footing::Tree(" .git".into())),
            paths: BTreeMap::from([("x".into(), "y".into())]),
            staged: BTreeMap::from([("x".into(), "z".into())]),
            unfinished: Some("rebase".into()),
        });
        snapshot.enabled = Reading::Known(true);
        snapshot.words = Reading::Known(Words {
            escalation: Some(Escalation {
                tag: "BLOCKED".into(),
                lines: vec!["no key".into()],
            }),
            is_checkpoint: true,
            claim: Some("ALL".into()),
        });
        snapshot.remembered = Reading::Known(Some(epic()));
        snapshot.epic = Reading::Known(epic());
        snapshot.own_ready = Reading::Known(Some(vec!["t-1".into()]));
        snapshot.glance = Some(Glance {
            head: Some("1a".into()),
            changes: vec![change.clone()],
        });
        snapshot.git = Reading::Known(Git::Tree(WorkTree {
            place: " .git".into(),
            head: Some("1a".into()),
            branch: Some("main".into()),
            unfinished: Some("merge".into()),
            changes: vec![change, staged],
            is_approximate: true,
        }));
        snapshot.branches = Reading::Known(vec!["agent-t-1".into()]);
        snapshot
    }

    fn comes_back(snapshot: &Snapshot) {
        let evidence = Evidence::of(snapshot).unwrap().unwrap();
        let text = serde_json::to_string(&evidence).unwrap();
        let read: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(&read.snapshot().unwrap(), snapshot);
    }

    #[test]
    fn what_a_stop_was_judged_by_comes_back_as_it_was() {
        comes_back(&full());
    }

    #[test]
    fn what_was_not_read_or_failed_comes_back_as_that() {
        let mut unread = Snapshot::of(Stop::default(), Moment(0));
        unread.run = Reading::Known(Some(Run {
            roster: None,
            ..run()
        }));
        comes_back(&unread);
        let mut odd = full();
        odd.remembered = Reading::Known(None);
        odd.own_ready = Reading::Known(None);
        for git in [Git::NoRepository, Git::NoWorkTree] {
            odd.baseline = Reading::Known(Baseline::of(&git));
            odd.git = Reading::Known(git);
            comes_back(&odd);
        }
        odd.baseline = Reading::Known(Baseline::default());
        comes_back(&odd);
        for sensor in Sensor::ALL {
            odd.words = Reading::Failed(Fault::new(sensor, "timed out: `x`"));
            comes_back(&odd);
        }
        odd.mark_unread_as_failed(Sensor::Tasks);
        comes_back(&odd);
    }

    /// What was kept before the footing was noted.
    #[test]
    fn evidence_without_a_footing_is_read() {
        let mut old = full();
        if let (Reading::Known(baseline), Reading::Known(Git::Tree(tree))) =
            (&mut old.baseline, &mut old.git)
        {
            baseline.footing = None;
            tree.place.clear();
        }
        let text = serde_json::to_string(&Evidence::of(&old).unwrap()).unwrap();
        let text = text.replace("\"footing\":null,", "");
        let text = text.replace("\"place\":\"\",", "");
        assert!(
            !text.contains("footing") && !text.contains("place"),
            "{text}"
        );
        let read: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(read.snapshot().unwrap(), old);
    }

    #[test]
    fn a_stop_that_was_nobodys_leaves_no_evidence() {
        let mut idle = full();
        idle.run = Reading::Known(None);
        assert!(Evidence::of(&idle).unwrap().is_none());
    }

    #[test]
    fn evidence_of_a_sensor_that_nobody_knows_is_refused() {
        let mut snapshot = full();
        snapshot.git = Reading::Failed(Fault::new(Sensor::Git, "x"));
        let text = serde_json::to_string(&Evidence::of(&snapshot).unwrap()).unwrap();
        let text = text.replace("\"sensor\":\"git\"", "\"sensor\":\"svn\"");
        let read: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(
            read.snapshot().unwrap_err(),
            "no sensor is called `svn`".to_owned()
        );
    }
}
