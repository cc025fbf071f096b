//! What had turned a verdict around, row by row.

mod facts;

use beadlock::kernel::ledger::{PromptKind, Run};
use beadlock::kernel::otherwise::{Difference, Setting, otherwise};
use beadlock::kernel::policy::{OnUserPrompt, Policy, WhenUnknown};
use beadlock::kernel::signal::{Escalation, Words};
use beadlock::kernel::snapshot::{
    Background, Baseline, Fault, Git, Glance, Reading, Sensor, Snapshot, WorkTree,
};
use beadlock::kernel::task::{Cause, Epic, EpicTask, Stage, Status, TaskId};
use facts::{MINUTE, NOW, changed, new_file, run, stop_of};

fn task(id: &str, stage: Stage) -> EpicTask {
    EpicTask {
        id: id.into(),
        status: Status::Open,
        stage,
        is_epic: false,
    }
}

fn epic(tasks: Vec<EpicTask>) -> Reading<Epic> {
    Reading::Known(Epic {
        id: "t-e".into(),
        tasks,
        containers: Vec::new(),
        knot: Vec::new(),
    })
}

fn clean() -> Reading<Git> {
    Reading::Known(Git::Tree(WorkTree::default()))
}

/// Everything is done and read.
fn done() -> Snapshot {
    let mut snapshot = stop_of(run(&Policy::default()));
    snapshot.enabled = Reading::Known(true);
    snapshot.words = Reading::Known(Words::default());
    snapshot.epic = epic(vec![task("t-1", Stage::Closed)]);
    snapshot.git = clean();
    snapshot.branches = Reading::Known(Vec::new());
    snapshot
}

fn ready() -> Snapshot {
    Snapshot {
        epic: epic(vec![task("t-1", Stage::Closed), task("t-2", Stage::Ready)]),
        ..done()
    }
}

fn edit(snapshot: &mut Snapshot, edit: impl FnOnce(&mut Run)) {
    let Reading::Known(Some(run)) = &mut snapshot.run else {
        panic!("a run");
    };
    edit(run);
}

/// Every way, and what the answer had been.
fn ways(snapshot: &Snapshot) -> Vec<(Vec<Difference>, &'static str)> {
    let found = otherwise(snapshot).into_iter();
    found
        .map(|other| (other.differences, other.verdict.answer.name()))
        .collect()
}

fn ids(ids: &[&str]) -> Vec<TaskId> {
    ids.iter().map(|id| TaskId::from(*id)).collect()
}

const BLOCKED: Difference = Difference::Said("BLOCKED - NEEDS USER");

#[test]
fn open_work_is_over_when_it_is_closed_said_to_be_blocked_unchecked_or_idle() {
    assert_eq!(
        ways(&ready()),
        [
            (vec![Difference::TasksClosed(ids(&["t-2"]))], "complete"),
            (vec![BLOCKED], "needs_human"),
            (
                vec![Difference::Setting(Setting::CheckReadyTasks(false))],
                "unchecked"
            ),
            (vec![Difference::Again(5)], "no_progress"),
        ]
    );
}

#[test]
fn what_was_only_remembered_and_glanced_at_is_asked_of_the_way_to_the_end_too() {
    let mut snapshot = ready();
    snapshot.remembered = match &snapshot.epic {
        Reading::Known(epic) => Reading::Known(Some(epic.clone())),
        other => panic!("{other:?}"),
    };
    snapshot.epic = Reading::Unread;
    snapshot.git = Reading::Unread;
    snapshot.branches = Reading::Unread;
    snapshot.glance = Some(Glance {
        head: None,
        changes: vec![changed("a", "x")],
    });
    let closed = Difference::TasksClosed(ids(&["t-2"]));
    assert_eq!(
        ways(&snapshot)[0],
        (vec![closed, Difference::WorkSaved], "complete")
    );
}

#[test]
fn unsaved_work_is_over_when_it_is_saved() {
    let mut snapshot = done();
    snapshot.git = Reading::Known(Git::Tree(WorkTree {
        changes: vec![changed("a", "x"), new_file("b", "y")],
        unfinished: Some("merge".into()),
        ..WorkTree::default()
    }));
    let ways = ways(&snapshot);
    assert_eq!(ways[0], (vec![Difference::WorkSaved], "complete"));
    let unchecked = vec![Difference::Setting(Setting::CheckGit(false))];
    assert!(ways.contains(&(unchecked, "complete")), "{ways:?}");
}

#[test]
fn a_tracker_that_does_not_answer_leaves_the_limits_and_the_agents_word() {
    let mut snapshot = done();
    snapshot.epic = Reading::Failed(Fault::new(Sensor::Tasks, "timed out"));
    let allow = Difference::Setting(Setting::WhenUnknown(WhenUnknown::Allow));
    assert_eq!(
        ways(&snapshot),
        [
            (vec![BLOCKED], "needs_human"),
            (vec![allow], "unknown"),
            (vec![Difference::Again(2)], "unknown"),
        ]
    );
    // The third in a row was let go because of the two before it.
    for _ in 0..2 {
        let kept = beadlock::kernel::decide(&snapshot).run;
        snapshot.run = Reading::Known(kept);
    }
    assert_eq!(
        ways(&snapshot),
        [(vec![Difference::FirstInARow], "unknown")]
    );
}

#[test]
fn new_files_that_were_left_had_been_asked_for_at_first() {
    let mut snapshot = done();
    snapshot.git = Reading::Known(Git::Tree(WorkTree {
        changes: vec![new_file("left.log", "x")],
        ..WorkTree::default()
    }));
    let again = vec![Difference::Again(1)];
    let held = ways(&snapshot);
    assert_eq!(held[0], (vec![Difference::WorkSaved], "complete"));
    assert!(held.contains(&(again, "complete")), "{held:?}");
    let verdict = beadlock::kernel::decide(&snapshot);
    snapshot.run = Reading::Known(verdict.run);
    assert_eq!(
        ways(&snapshot),
        [
            (vec![Difference::TaskAdded], "open_work"),
            (vec![Difference::Moved], "unsaved_work"),
            (vec![Difference::FirstInARow], "unsaved_work"),
        ]
    );
}

/// What is asked of git is the tree that the run began in, wherever git was not asked.
#[test]
fn work_is_complete_only_where_it_began() {
    let here = Git::Tree(WorkTree {
        place: " .git".into(),
        ..WorkTree::default()
    });
    let mut snapshot = ready();
    snapshot.baseline = Reading::Known(Baseline::of(&here));
    snapshot.git = Reading::Unread;
    snapshot.glance = Some(Glance::default());
    let closed = vec![Difference::TasksClosed(ids(&["t-2"]))];
    assert_eq!(ways(&snapshot)[0], (closed.clone(), "complete"));
    let unchecked = vec![Difference::Setting(Setting::CheckGit(false))];
    let mut gone = done();
    gone.baseline = Reading::Known(Baseline::of(&here));
    gone.git = Reading::Known(Git::NoRepository);
    let ways = ways(&gone);
    assert_eq!(ways[0], (vec![BLOCKED], "needs_human"));
    assert!(ways.contains(&(unchecked, "complete")), "{ways:?}");
}

#[test]
fn lost_tasks_are_missed_by_nobody_once_they_are_found() {
    let mut snapshot = done();
    edit(&mut snapshot, |run| {
        run.roster = Some(vec![beadlock::kernel::ledger::Member {
            id: "t-0".into(),
            is_closed: false,
            is_epic: false,
        }]);
    });
    let found = Difference::TasksFound(ids(&["t-0"]));
    assert_eq!(ways(&snapshot)[0], (vec![found], "complete"));
}

#[test]
fn an_agent_that_was_let_go_had_been_held_for_a_task_to_work_on() {
    let task_added = (vec![Difference::TaskAdded], "open_work");
    assert_eq!(ways(&done()), std::slice::from_ref(&task_added));
    let empty = Snapshot {
        epic: epic(Vec::new()),
        ..done()
    };
    assert_eq!(ways(&empty), [task_added]);
    let stuck = Snapshot {
        epic: epic(vec![task("t-1", Stage::Stuck(Cause::Status))]),
        ..done()
    };
    let all_blocked = Difference::Setting(Setting::ExitOnAllBlocked(false));
    assert_eq!(
        ways(&stuck),
        [
            (vec![Difference::TaskReady("t-1".into())], "open_work"),
            (vec![all_blocked], "blocked_work"),
        ]
    );
}

#[test]
fn an_agent_that_was_heard_had_been_held_without_its_tag() {
    let mut snapshot = ready();
    snapshot.words = Reading::Known(Words {
        escalation: Some(Escalation {
            tag: "BLOCKED".into(),
            lines: Vec::new(),
        }),
        ..Words::default()
    });
    assert_eq!(ways(&snapshot), [(vec![Difference::Unsaid], "open_work")]);
    snapshot.words = Reading::Known(Words {
        is_checkpoint: true,
        ..Words::default()
    });
    let switched_off = Difference::Setting(Setting::ExitOnContextCheckpoint(false));
    assert_eq!(
        ways(&snapshot),
        [
            (vec![Difference::Unsaid], "open_work"),
            (vec![switched_off], "open_work"),
        ]
    );
}

#[test]
fn a_limit_that_let_go_had_not_done_so_if_it_were_higher() {
    let mut snapshot = ready();
    edit(&mut snapshot, |run| {
        run.counters.cycles = 50;
        run.counters.stops = 50;
    });
    let cycles = Difference::Setting(Setting::MaxCycles(1000));
    assert_eq!(ways(&snapshot), [(vec![cycles], "open_work")]);
    let mut snapshot = ready();
    for _ in 0..5 {
        let kept = beadlock::kernel::decide(&snapshot).run;
        snapshot.run = Reading::Known(kept);
    }
    let idle = Difference::Setting(Setting::NoProgressCycles(1000));
    assert_eq!(
        ways(&snapshot),
        [
            (vec![Difference::Moved], "open_work"),
            (vec![idle], "open_work"),
        ]
    );
    let mut snapshot = Snapshot {
        epic: epic(vec![task("t-1", Stage::InProgress(None))]),
        ..done()
    };
    snapshot.stop.background.push(Background {
        id: "b".into(),
        label: "a server".into(),
    });
    let ways = ways(&snapshot);
    let over = (vec![Difference::BackgroundOver], "in_progress");
    assert!(ways.contains(&over), "{ways:?}");
}

#[test]
fn a_turn_that_was_nobodys_had_been_judged_in_another_mode_or_at_another_time() {
    let mut planning = ready();
    planning.stop.is_planning = true;
    assert_eq!(
        ways(&planning),
        [(vec![Difference::PlanningOver], "open_work")]
    );
    let mut off = ready();
    off.enabled = Reading::Known(false);
    assert_eq!(ways(&off), [(vec![Difference::SwitchedOn], "open_work")]);
    let mut stale = ready();
    edit(&mut stale, |run| {
        run.last_event_at = NOW.plus_millis(-121 * MINUTE);
    });
    let later = Difference::Setting(Setting::StaleAfterMinutes(u32::MAX));
    assert_eq!(
        ways(&stale),
        [
            (vec![Difference::Sooner], "open_work"),
            (vec![later], "open_work"),
        ]
    );
}

#[test]
fn talk_had_been_work_if_anything_had_moved_or_nobody_had_asked() {
    let mut talk = ready();
    talk.stop.prompt = Some("p".into());
    let before = beadlock::kernel::judge::fingerprint(&talk, &run(&Policy::default()));
    edit(&mut talk, |run| {
        run.turn.prompt = Some(beadlock::kernel::ledger::Prompt {
            id: Some("p".into()),
            kind: PromptKind::Person,
            quiet_before: 0,
            woke: false,
            is_first: false,
            before,
        });
    });
    let hold = Difference::Setting(Setting::OnUserPrompt(OnUserPrompt::Hold));
    assert_eq!(
        ways(&talk),
        [
            (vec![Difference::Moved], "open_work"),
            (vec![Difference::Unprompted], "open_work"),
            (vec![hold], "open_work"),
        ]
    );
}
