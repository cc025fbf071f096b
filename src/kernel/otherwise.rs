//! What it would have taken to decide a stop otherwise, found by deciding it again with the change.

use super::brake::decide;
use super::ledger::{Fingerprint, Run};
use super::moment::Moment;
use super::policy::{CYCLES_MAX, OnUserPrompt, Policy, WhenUnknown};
use super::signal::{ESCALATIONS, Escalation, Words};
use super::snapshot::{Footing, Git, Reading, Snapshot, WorkTree};
use super::task::{EpicTask, Stage, Status, TaskId};
use super::verdict::{Answer, Row, Verdict};

/// Something that might have been different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    TasksClosed(Vec<TaskId>),
    /// Everything committed, merged and brought to its end.
    WorkSaved,
    /// Nobody misses them.
    TasksFound(Vec<TaskId>),
    TaskReady(TaskId),
    /// There was a task to work on.
    TaskAdded,
    /// The agent said this.
    Said(&'static str),
    /// The agent had not said its tag.
    Unsaid,
    /// The work had moved.
    Moved,
    BackgroundOver,
    PlanningOver,
    /// No person had spoken.
    Unprompted,
    /// The stops before it had been decided otherwise.
    FirstInARow,
    /// It came before the run was stale.
    Sooner,
    SwitchedOn,
    Setting(Setting),
    /// The same stop again, so many times.
    Again(u32),
}

/// A setting other than the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    CheckReadyTasks(bool),
    CheckInProgress(bool),
    CheckGit(bool),
    WhenUnknown(WhenUnknown),
    OnUserPrompt(OnUserPrompt),
    ExitOnAllBlocked(bool),
    ExitOnContextCheckpoint(bool),
    MaxCycles(u32),
    NoProgressCycles(u32),
    StaleAfterMinutes(u32),
}

/// What would have had to be different, all of it, and what the verdict had been then.
#[derive(Clone, Debug)]
pub struct Alternative {
    pub differences: Vec<Difference>,
    pub verdict: Verdict,
}

/// The ways in which a stop that was let go had been held, or one that was held let go. What the
/// stop did not read is taken for what stands in nobody's way.
pub fn otherwise(snapshot: &Snapshot) -> Vec<Alternative> {
    let was = decide(snapshot);
    let is_other = |verdict: &Verdict| is_block(verdict) != is_block(&was);
    let assumed = assumed(snapshot);
    let mut found: Vec<Alternative> = to_complete(&assumed)
        .filter(|_| is_block(&was))
        .into_iter()
        .collect();
    for difference in candidates(&assumed, was.row) {
        let is_in_the_first = found
            .first()
            .is_some_and(|it| it.differences == [difference.clone()]);
        if is_in_the_first {
            continue;
        }
        let verdict = decide(&changed(&assumed, &difference));
        if is_other(&verdict) {
            let differences = vec![difference];
            found.push(Alternative {
                differences,
                verdict,
            });
        }
    }
    found.extend(again(snapshot).filter(|_| is_block(&was)));
    found
}

fn is_block(verdict: &Verdict) -> bool {
    matches!(verdict.answer, Answer::Block(_))
}

/// The same stop, with what it did not read as harmless as can be.
fn assumed(snapshot: &Snapshot) -> Snapshot {
    let mut assumed = snapshot.clone();
    if let (true, Reading::Known(Some(epic))) = (assumed.rests_on_memory(), &snapshot.remembered) {
        assumed.epic = Reading::Known(epic.clone());
    }
    if assumed.git.is_unread() {
        let glance = snapshot.glance.clone().unwrap_or_default();
        let footing = snapshot.baseline.known().and_then(|it| it.footing.clone());
        assumed.git = Reading::Known(Git::Tree(WorkTree {
            place: match footing {
                Some(Footing::Tree(place)) => place,
                Some(Footing::NoRepository | Footing::NoWorkTree) | None => String::new(),
            },
            head: glance.head,
            changes: glance.changes,
            ..WorkTree::default()
        }));
    }
    let harmless = |reading: &mut Reading<_>, value| {
        if reading.is_unread() {
            *reading = Reading::Known(value);
        }
    };
    harmless(&mut assumed.words, Words::default());
    if assumed.enabled.is_unread() {
        assumed.enabled = Reading::Known(true);
    }
    if assumed.own_ready.is_unread() {
        assumed.own_ready = Reading::Known(None);
    }
    if assumed.branches.is_unread() {
        assumed.branches = Reading::Known(Vec::new());
    }
    assumed
}

/// Step by step to where the work is complete; nothing where that cannot be told from here.
fn to_complete(snapshot: &Snapshot) -> Option<Alternative> {
    let mut snapshot = snapshot.clone();
    let mut differences = Vec::new();
    // Each row asks for its own change, and none comes back once it is made.
    for _ in 0..=Row::ALL.len() {
        let verdict = decide(&snapshot);
        let difference = match verdict.row {
            Row::Complete => {
                return Some(Alternative {
                    differences,
                    verdict,
                });
            }
            Row::ScopeShrunk => Difference::TasksFound(missing(&snapshot)),
            Row::Ready | Row::InProgress | Row::AllBlocked | Row::Deadlocked => {
                Difference::TasksClosed(open(&snapshot))
            }
            Row::Unsaved | Row::GitUnknown => Difference::WorkSaved,
            Row::Checkpoint => Difference::Unsaid,
            Row::Disabled
            | Row::Idle
            | Row::Corrupt
            | Row::SwitchedOff
            | Row::Resting
            | Row::Stale
            | Row::Planning
            | Row::Conversation
            | Row::Escalation
            | Row::TrackerUnknown
            | Row::Empty
            | Row::Unchecked => return None,
        };
        if differences.contains(&difference) {
            return None;
        }
        snapshot = changed(&snapshot, &difference);
        differences.push(difference);
    }
    None
}

/// How often the same stop would still be held.
fn again(snapshot: &Snapshot) -> impl Iterator<Item = Alternative> {
    let mut snapshot = snapshot.clone();
    let mut found = None;
    for times in 1..=CYCLES_MAX {
        let Some(run) = decide(&snapshot).run else {
            break;
        };
        snapshot.run = Reading::Known(Some(run));
        let verdict = decide(&snapshot);
        if !is_block(&verdict) {
            let differences = vec![Difference::Again(times)];
            found = Some(Alternative {
                differences,
                verdict,
            });
            break;
        }
    }
    found.into_iter()
}

fn candidates(snapshot: &Snapshot, row: Row) -> Vec<Difference> {
    let open = open(snapshot);
    let stuck = snapshot.epic.known().and_then(|epic| {
        let mut tasks = epic.tasks.iter();
        tasks.find(|task| matches!(task.stage, Stage::Stuck(_)))
    });
    let missing = missing(snapshot);
    let has_tag = snapshot
        .words
        .known()
        .is_some_and(|words| words.escalation.is_some() || words.is_checkpoint);
    let facts = [
        (!open.is_empty()).then(|| Difference::TasksClosed(open.clone())),
        Some(Difference::WorkSaved),
        (!missing.is_empty()).then_some(Difference::TasksFound(missing)),
        stuck.map(|task| Difference::TaskReady(task.id.clone())),
        open.is_empty().then_some(Difference::TaskAdded),
        (!has_tag).then_some(Difference::Said(ESCALATIONS[0])),
        has_tag.then_some(Difference::Unsaid),
        Some(Difference::Moved),
        Some(Difference::BackgroundOver),
        Some(Difference::PlanningOver),
        (row == Row::Conversation).then_some(Difference::Unprompted),
        Some(Difference::FirstInARow),
        Some(Difference::Sooner),
        Some(Difference::SwitchedOn),
    ];
    let settings = settings(&snapshot.policy())
        .into_iter()
        .map(Difference::Setting);
    facts.into_iter().flatten().chain(settings).collect()
}

/// Each setting the other way round, or as far as it goes.
fn settings(policy: &Policy) -> [Setting; 10] {
    [
        Setting::CheckReadyTasks(!policy.check_ready_tasks),
        Setting::CheckInProgress(!policy.check_in_progress),
        Setting::CheckGit(!policy.check_git),
        Setting::WhenUnknown(match policy.when_unknown {
            WhenUnknown::Hold => WhenUnknown::Allow,
            WhenUnknown::Allow => WhenUnknown::Hold,
        }),
        Setting::OnUserPrompt(match policy.on_user_prompt {
            OnUserPrompt::Release => OnUserPrompt::Hold,
            OnUserPrompt::Hold => OnUserPrompt::Release,
        }),
        Setting::ExitOnAllBlocked(!policy.exits.all_blocked),
        Setting::ExitOnContextCheckpoint(!policy.exits.context_checkpoint),
        Setting::MaxCycles(CYCLES_MAX),
        Setting::NoProgressCycles(CYCLES_MAX),
        Setting::StaleAfterMinutes(u32::MAX),
    ]
}

fn open(snapshot: &Snapshot) -> Vec<TaskId> {
    let tasks = snapshot.epic.known().map(|epic| &epic.tasks);
    let open = tasks
        .into_iter()
        .flatten()
        .filter(|task| task.stage != Stage::Closed);
    open.map(|task| task.id.clone()).collect()
}

fn missing(snapshot: &Snapshot) -> Vec<TaskId> {
    let run = snapshot.run.known().and_then(Option::as_ref);
    match (run, snapshot.epic.known()) {
        (Some(run), Some(epic)) => run.missing_from(epic),
        (_, _) => Vec::new(),
    }
}

/// The snapshot as it had been then.
fn changed(snapshot: &Snapshot, difference: &Difference) -> Snapshot {
    let mut snapshot = snapshot.clone();
    change_world(&mut snapshot, difference);
    if let Reading::Known(Some(run)) = &mut snapshot.run {
        change_run(run, difference, snapshot.now);
    }
    snapshot
}

/// What is not the run's own.
fn change_world(snapshot: &mut Snapshot, difference: &Difference) {
    match difference {
        Difference::TasksClosed(_) => change_tasks(snapshot, |task| task.stage = Stage::Closed),
        Difference::TaskReady(ready) => change_tasks(snapshot, |task| {
            if task.id == *ready {
                task.stage = Stage::Ready;
            }
        }),
        Difference::TaskAdded => {
            if let Reading::Known(epic) = &mut snapshot.epic {
                epic.tasks.push(EpicTask {
                    id: TaskId::new("new"),
                    status: Status::Open,
                    stage: Stage::Ready,
                    is_epic: false,
                });
            }
        }
        Difference::WorkSaved => {
            if let Reading::Known(Git::Tree(tree)) = &mut snapshot.git {
                tree.changes.clear();
                tree.unfinished = None;
            }
            snapshot.branches = Reading::Known(Vec::new());
        }
        Difference::Said(tag) => {
            let escalation = Escalation {
                tag: (*tag).to_owned(),
                lines: Vec::new(),
            };
            snapshot.words = Reading::Known(Words {
                escalation: Some(escalation),
                ..Words::default()
            });
        }
        Difference::Unsaid => {
            if let Reading::Known(words) = &mut snapshot.words {
                words.escalation = None;
                words.is_checkpoint = false;
            }
        }
        Difference::BackgroundOver => snapshot.stop.background.clear(),
        Difference::PlanningOver => snapshot.stop.is_planning = false,
        Difference::SwitchedOn => snapshot.enabled = Reading::Known(true),
        Difference::TasksFound(_)
        | Difference::Moved
        | Difference::Unprompted
        | Difference::FirstInARow
        | Difference::Sooner
        | Difference::Setting(_)
        | Difference::Again(_) => {}
    }
}

fn change_tasks(snapshot: &mut Snapshot, change: impl Fn(&mut EpicTask)) {
    if let Reading::Known(epic) = &mut snapshot.epic {
        epic.tasks.iter_mut().for_each(change);
        epic.knot.clear();
    }
}

/// What the run itself remembers.
fn change_run(run: &mut Run, difference: &Difference, now: Moment) {
    match difference {
        Difference::TasksFound(found) => {
            if let Some(roster) = &mut run.roster {
                roster.retain(|member| !found.contains(&member.id));
            }
        }
        Difference::Moved => {
            run.seen.clear();
            if let Some(prompt) = &mut run.turn.prompt {
                prompt.before = Fingerprint {
                    tasks: prompt.before.tasks.map(|print| !print),
                    ..prompt.before
                };
            }
        }
        Difference::Unprompted => run.turn.prompt = None,
        Difference::FirstInARow => run.streak = None,
        Difference::Sooner => {
            run.last_event_at = now;
            if let Some(prompt) = &mut run.turn.prompt {
                prompt.quiet_before = 0;
            }
        }
        Difference::Setting(setting) => set(&mut run.policy, *setting),
        Difference::TasksClosed(_)
        | Difference::TaskReady(_)
        | Difference::TaskAdded
        | Difference::WorkSaved
        | Difference::Said(_)
        | Difference::Unsaid
        | Difference::BackgroundOver
        | Difference::PlanningOver
        | Difference::SwitchedOn
        | Difference::Again(_) => {}
    }
}

fn set(policy: &mut Policy, setting: Setting) {
    match setting {
        Setting::CheckReadyTasks(check) => policy.check_ready_tasks = check,
        Setting::CheckInProgress(check) => policy.check_in_progress = check,
        Setting::CheckGit(check) => policy.check_git = check,
        Setting::WhenUnknown(what) => policy.when_unknown = what,
        Setting::OnUserPrompt(what) => policy.on_user_prompt = what,
        Setting::ExitOnAllBlocked(exit) => policy.exits.all_blocked = exit,
        Setting::ExitOnContextCheckpoint(exit) => policy.exits.context_checkpoint = exit,
        Setting::MaxCycles(limit) => policy.max_cycles = limit,
        Setting::NoProgressCycles(limit) => policy.no_progress_cycles = limit,
        Setting::StaleAfterMinutes(limit) => policy.stale_after_minutes = limit,
    }
}
