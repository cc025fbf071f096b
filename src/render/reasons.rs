//! Why a stop was decided as it was, in words: rows, limits, readings, and what would have turned
//! the verdict around.

use super::{counted, fault_named, ids_named, names, shown};
use crate::kernel::ledger::Run;
use crate::kernel::otherwise::{Difference, Setting};
use crate::kernel::policy::{OnUserPrompt, WhenUnknown};
use crate::kernel::signal::Words;
use crate::kernel::snapshot::{Change, Fault, Git, Reading, Sensor, Snapshot};
use crate::kernel::task::Epic;
use crate::kernel::verdict::{Allow, Answer, Block, Brake, Row};

/// The situation of a row.
pub fn row(row: Row) -> &'static str {
    match row {
        Row::Disabled => "BEADLOCK_DISABLE=1 is set",
        Row::Idle => "this session owns no run",
        Row::Corrupt => "the store could not say which run it was",
        Row::SwitchedOff => "`enabled` is false",
        Row::Resting => "the run rests",
        Row::Stale => "the prompt came long after the run's last event",
        Row::Planning => "the session is in plan mode",
        Row::Conversation => "a person asked something, and nothing has moved since",
        Row::Escalation => "the agent says that it needs a person",
        Row::Checkpoint => "the agent asks for a fresh context",
        Row::TrackerUnknown => "nobody knows what the tracker says",
        Row::ScopeShrunk => "tasks left the epic without being closed",
        Row::Empty => "the epic has no tasks",
        Row::Ready => "tasks are ready",
        Row::InProgress => "tasks are in progress",
        Row::AllBlocked => "what remains can only be moved on by somebody else",
        Row::Deadlocked => "tasks wait only for each other",
        Row::Unchecked => "tasks remain, and their check is switched off",
        Row::GitUnknown => "nobody knows what git says",
        Row::Unsaved => "work is not saved",
        Row::Complete => "everything is closed and saved",
    }
}

/// How a limit turned a block into an allow.
pub fn brake(brake: Brake, run: &Run) -> String {
    let (counters, policy) = (&run.counters, &run.policy);
    match brake {
        Brake::MaxCycles => format!(
            "{} with this one, and max_cycles is {}",
            counted(counters.cycles.saturating_add(1), "cycle"),
            policy.max_cycles
        ),
        Brake::NoProgress => format!(
            "{} in a row without progress, and no_progress_cycles is {}",
            counted(counters.blocks_idle, "block"),
            policy.no_progress_cycles
        ),
        Brake::Background => {
            "nothing is ready, and the agent waits for work of its own in the background".to_owned()
        }
        Brake::Unrecorded => "the stop could not be recorded".to_owned(),
    }
}

/// What a sensor said.
pub fn reading(sensor: Sensor, snapshot: &Snapshot) -> String {
    match sensor {
        Sensor::Run | Sensor::Baseline => String::new(),
        Sensor::Enabled => known(&snapshot.enabled, |is_enabled| {
            if *is_enabled {
                "enabled"
            } else {
                "switched off"
            }
            .to_owned()
        }),
        Sensor::Words => known(&snapshot.words, words),
        Sensor::Remembered => known(&snapshot.remembered, |remembered| match remembered {
            Some(epic) => format!("{} (nothing has changed since)", counts(epic)),
            None => "nothing that is still good".to_owned(),
        }),
        Sensor::Tasks => known(&snapshot.epic, counts),
        Sensor::OwnReady => known(&snapshot.own_ready, |ready| match ready {
            Some(ready) if ready.is_empty() => "calls nothing ready".to_owned(),
            Some(ready) => format!("calls ready: {}", ids_named(ready)),
            None => "has no say of its own in what is ready".to_owned(),
        }),
        Sensor::Glance => match &snapshot.glance {
            Some(glance) => tree(glance.head.as_deref(), None, &glance.changes),
            None => reading(Sensor::Git, snapshot),
        },
        Sensor::Git => known(&snapshot.git, |git| match git {
            Git::NoRepository => "no repository".to_owned(),
            Git::NoWorkTree => "no work tree".to_owned(),
            Git::Tree(it) => {
                let text = tree(it.head.as_deref(), it.branch.as_deref(), &it.changes);
                match &it.unfinished {
                    Some(operation) => format!("{text}, a {operation} under way"),
                    None => text,
                }
            }
        }),
        Sensor::Branches => known(&snapshot.branches, |branches| match branches.len() {
            0 => "none is unmerged".to_owned(),
            _ => format!("unmerged: {}", names(branches)),
        }),
    }
}

fn known<T>(reading: &Reading<T>, say: impl FnOnce(&T) -> String) -> String {
    match reading {
        Reading::Unread => "was not read".to_owned(),
        Reading::Known(value) => say(value),
        Reading::Failed(fault) => format!("failed: {}", fault_named(fault)),
    }
}

fn words(words: &Words) -> String {
    let said = [
        words.escalation.as_ref().map(|it| shown(&it.tag)),
        words
            .is_checkpoint
            .then(|| "asks for a checkpoint".to_owned()),
        words
            .claim
            .as_ref()
            .map(|claim| format!("claims `{}`", shown(claim))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    match said.len() {
        0 => "no promise".to_owned(),
        _ => said.join(", "),
    }
}

/// How an epic stands, in numbers.
pub fn counts(epic: &Epic) -> String {
    let counts = epic.counts();
    format!(
        "{} of {} closed; {} ready, {} in progress, {} blocked, {} deferred",
        counts.closed,
        counts.total,
        counts.ready,
        counts.in_progress,
        counts.blocked,
        counts.deferred
    )
}

const COMMIT_DIGITS: usize = 8;

fn tree(head: Option<&str>, branch: Option<&str>, changes: &[Change]) -> String {
    let head = head.map_or("no commit yet".to_owned(), |head| {
        let short: String = head.chars().take(COMMIT_DIGITS).collect();
        format!("HEAD {short}")
    });
    let branch = branch.map_or(String::new(), |branch| format!(" on {}", shown(branch)));
    let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
    match paths.len() {
        0 => format!("{head}{branch}, nothing changed"),
        _ => format!("{head}{branch}, changed: {}", names(&paths)),
    }
}

/// An answer by its name; with the trouble, where it is that.
pub fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Allow(Allow::Unknown(fault)) | Answer::Block(Block::Unknown(fault))
            if *fault == Fault::unread(fault.sensor) =>
        {
            format!("by what {} says, which was not read", fault.sensor.name())
        }
        Answer::Allow(Allow::Unknown(fault)) | Answer::Block(Block::Unknown(fault)) => {
            format!("{}: {}", answer.name(), fault_named(fault))
        }
        Answer::Allow(_) | Answer::Block(_) => answer.name().to_owned(),
    }
}

/// What would have to be otherwise, as it stands in a list of ways.
pub fn difference(difference: &Difference) -> String {
    match difference {
        Difference::TasksClosed(ids) => {
            format!("if {} were closed, and nothing unsaved", ids_named(ids))
        }
        Difference::WorkSaved => "if everything were committed and merged".to_owned(),
        Difference::TasksFound(ids) => format!("if nobody missed {}", ids_named(ids)),
        Difference::TaskReady(id) => format!("if {} were ready", shown(id.as_str())),
        Difference::TaskAdded => "if there were a task to work on".to_owned(),
        Difference::Said(tag) => format!("if the agent said <promise>{tag}</promise>"),
        Difference::Unsaid => "if the agent had not said its tag".to_owned(),
        Difference::Moved => "if anything had moved".to_owned(),
        Difference::BackgroundOver => "if its background work were over".to_owned(),
        Difference::PlanningOver => "if it were not in plan mode".to_owned(),
        Difference::Unprompted => "if no person had spoken".to_owned(),
        Difference::FirstInARow => "if it were the first such stop in a row".to_owned(),
        Difference::Sooner => "if the prompt had come sooner".to_owned(),
        Difference::SwitchedOn => "if `enabled` were true".to_owned(),
        Difference::Setting(setting) => format!("with {}", self::setting(*setting)),
        Difference::Again(1) => "at the next stop like it".to_owned(),
        Difference::Again(times) => format!("at the {} stop like it from now", ordinal(*times)),
    }
}

fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        (_, _) => "th",
    };
    format!("{number}{ending}")
}

fn setting(setting: Setting) -> String {
    match setting {
        Setting::CheckReadyTasks(check) => format!("check_ready_tasks: {check}"),
        Setting::CheckInProgress(check) => format!("check_in_progress: {check}"),
        Setting::CheckGit(check) => format!("check_git: {check}"),
        Setting::WhenUnknown(WhenUnknown::Hold) => "when_unknown: hold".to_owned(),
        Setting::WhenUnknown(WhenUnknown::Allow) => "when_unknown: allow".to_owned(),
        Setting::OnUserPrompt(OnUserPrompt::Hold) => "on_user_prompt: hold".to_owned(),
        Setting::OnUserPrompt(OnUserPrompt::Release) => "on_user_prompt: release".to_owned(),
        Setting::ExitOnAllBlocked(true) => "all_blocked in allow_exit_on".to_owned(),
        Setting::ExitOnAllBlocked(false) => "no all_blocked in allow_exit_on".to_owned(),
        Setting::ExitOnContextCheckpoint(true) => "context_checkpoint in allow_exit_on".to_owned(),
        Setting::ExitOnContextCheckpoint(false) => {
            "no context_checkpoint in allow_exit_on".to_owned()
        }
        Setting::MaxCycles(_) => "a higher max_cycles".to_owned(),
        Setting::NoProgressCycles(_) => "a higher no_progress_cycles".to_owned(),
        Setting::StaleAfterMinutes(_) => "a higher stale_after_minutes".to_owned(),
    }
}
