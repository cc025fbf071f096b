//! The published decision table against the kernel: whole products of small fact spaces. What is
//! expected stands in `TABLE`, written from the contract's words; it shares no code with the kernel.
//! The brakes have their own product; reading on demand is checked over the same cases.

mod facts;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use beadlock::kernel::judge::fingerprint;
use beadlock::kernel::ledger::{
    Fingerprint, Member, Outcome, Prompt, PromptKind, Rule, Run, State, Streak, Territory,
};
use beadlock::kernel::policy::{Exits, OnUserPrompt, Policy, WhenUnknown};
use beadlock::kernel::signal::{Escalation, Words};
use beadlock::kernel::snapshot::{
    Background, Baseline, Fault, Footing, Git, Glance, Reading, Sensor, Snapshot, WorkTree,
};
use beadlock::kernel::task::{Cause, Claim, Edge, EdgeKind, Epic, Kind, Status, Task, TaskId};
use beadlock::kernel::verdict::{
    Allow, Answer, Block, Brake, Need, Ready, Row, Ruling, SavedWork, Stuck, Unsaved, Verdict,
};
use beadlock::kernel::{brake, judge, wanted};
use facts::{ACTOR, MINUTE, NOW, changed, new_file, run, stop_of};

#[test]
fn before_anything_is_judged_rows_one_to_eight_apply_in_order() {
    let cases = Case::entrances().inspect(Case::is_answered_by_the_table);
    assert_eq!(cases.count(), 483_840);
}

#[test]
fn every_combination_of_facts_is_answered_as_the_table_says() {
    let cases = Case::works().inspect(Case::is_answered_by_the_table);
    assert_eq!(cases.count(), 450_560);
}

#[test]
fn rows_that_hold_a_few_times_count_their_own_stops_in_a_row() {
    let cases = Case::streaks().inspect(Case::is_answered_by_the_table);
    assert_eq!(cases.count(), 253_440);
}

#[test]
fn what_is_read_on_demand_rules_as_if_all_had_been_read() {
    Case::works().for_each(|case| case.is_ruled_alike_on_demand());
    Case::streaks().for_each(|case| case.is_ruled_alike_on_demand());
}

#[test]
fn memory_may_hold_and_never_lets_go() {
    Case::entrances()
        .step_by(5)
        .for_each(|case| case.is_never_let_go_from_memory());
    Case::works()
        .step_by(3)
        .for_each(|case| case.is_never_let_go_from_memory());
    Case::streaks().for_each(|case| case.is_never_let_go_from_memory());
}

#[test]
fn a_glance_may_hold_and_never_lets_go() {
    Case::entrances()
        .step_by(5)
        .for_each(|case| case.is_never_let_go_at_a_glance());
    Case::works()
        .step_by(3)
        .for_each(|case| case.is_never_let_go_at_a_glance());
    Case::streaks().for_each(|case| case.is_never_let_go_at_a_glance());
}

/// A limit lets go too, and it does not know what memory is.
#[test]
fn a_limit_lets_nobody_go_from_memory() {
    let mut limited = 0;
    for load in Load::all() {
        let (mut snapshot, policy) = load.snapshot();
        snapshot.own_ready = Reading::Known(None);
        snapshot.remembered = Reading::Known(snapshot.epic.known().cloned());
        snapshot.branches = Reading::Known(Vec::new());
        let fresh = brake(judge(&snapshot, &policy), &snapshot, &policy);
        snapshot.epic = Reading::Unread;
        let is_remembered = matches!(snapshot.remembered, Reading::Known(Some(_)));
        if is_remembered && matches!(fresh.answer, Answer::Allow(_)) {
            limited += usize::from(fresh.brake.is_some());
            assert_eq!(wanted(&snapshot, &policy), [Sensor::Tasks], "{load:#?}");
        }
    }
    assert!(limited > 100, "{limited}");
}

#[test]
fn memory_alone_is_as_good_as_nothing_where_the_agent_would_be_let_go() {
    let policy = Policy::default();
    let mut let_go = 0;
    for tasks in TASKS.iter() {
        let mut snapshot = stop_of(run(&policy));
        snapshot.enabled = Reading::Known(true);
        snapshot.words = Reading::Known(Words::default());
        snapshot.git = Reading::Known(Git::Tree(WorkTree::default()));
        snapshot.branches = Reading::Known(Vec::new());
        snapshot.epic.clone_from(&tasks.reading);
        let fresh = judge(&snapshot, &policy);
        snapshot.remembered = Reading::Known(tasks.reading.known().cloned());
        snapshot.epic = Reading::Unread;
        let expected = match fresh.answer {
            Answer::Allow(_) => Row::TrackerUnknown,
            Answer::Block(_) => fresh.row,
        };
        let_go += usize::from(expected != fresh.row);
        assert_eq!(judge(&snapshot, &policy).row, expected, "{}", tasks.name);
    }
    assert!(let_go > 5, "{let_go}");
}

/// The agent says it is done, and by our count it is not: the tracker's own word is asked for.
#[test]
fn a_contested_claim_is_unknown_only_if_the_tracker_calls_nothing_ready() {
    let policy = Policy::default();
    let fault = || Reading::Failed(Fault::new(Sensor::Tasks, "timed out"));
    let ids = |ids: &[&str]| ids.iter().map(|id| TaskId::from(*id)).collect::<Vec<_>>();
    let cases: [(Reading<Option<Vec<TaskId>>>, &str); 5] = [
        (Reading::Known(None), "false_promise"),
        (Reading::Known(Some(ids(&["t-e.1"]))), "false_promise"),
        (Reading::Known(Some(ids(&["t-e.9"]))), "false_promise"),
        (fault(), "false_promise"),
        (Reading::Known(Some(Vec::new())), "unknown"),
    ];
    for (own_ready, name) in cases {
        let mut case = open_and_claimed(&policy);
        assert_eq!(wanted(&case, &policy), [Sensor::OwnReady]);
        case.own_ready = own_ready;
        assert_eq!(wanted(&case, &policy), []);
        let ruling = judge(&case, &policy);
        assert_eq!(ruling.answer.name(), name, "{:?}", case.own_ready);
        if let Answer::Block(Block::Unknown(fault)) = &ruling.answer {
            assert_eq!(ruling.row, Row::TrackerUnknown);
            assert!(fault.what.contains("t-e.1"), "{fault:?}");
        }
    }
    let mut silent = open_and_claimed(&policy);
    silent.words = Reading::Known(Words::default());
    assert_eq!(
        wanted(&silent, &policy),
        [],
        "without a claim nobody is asked"
    );
}

/// What is remembered says that work is left, the tracker itself says that none is.
#[test]
fn a_contradicted_memory_is_read_afresh() {
    let policy = Policy::default();
    let mut case = open_and_claimed(&policy);
    case.remembered = Reading::Known(case.epic.known().cloned());
    case.epic = Reading::Unread;
    assert_eq!(wanted(&case, &policy), [Sensor::OwnReady]);
    case.own_ready = Reading::Known(Some(vec![TaskId::from("t-e.1")]));
    assert_eq!(wanted(&case, &policy), []);
    case.own_ready = Reading::Known(Some(Vec::new()));
    assert_eq!(wanted(&case, &policy), [Sensor::Tasks]);
    assert_eq!(judge(&case, &policy).row, Row::TrackerUnknown);
    let mut over = open("t-e.1");
    over.status = Status::Closed;
    let tasks = [Task::open("t-e"), over];
    case.epic = Epic::of(&tasks, "t-e", NOW).map_or(Reading::Unread, Reading::Known);
    case.branches = Reading::Known(Vec::new());
    assert_eq!(judge(&case, &policy).row, Row::Complete);
}

/// bd's list of what is ready names no epics.
#[test]
fn an_epic_that_no_list_names_contests_nothing() {
    let policy = Policy::default();
    let sub_epic = Task {
        kind: Kind::Epic,
        ..open("t-e.1")
    };
    let nothing = || Reading::Known(Some(Vec::new()));
    let mut case = open_and_claimed(&policy);
    let tasks = [Task::open("t-e"), sub_epic.clone()];
    case.epic = Epic::of(&tasks, "t-e", NOW).map_or(Reading::Unread, Reading::Known);
    assert_eq!(wanted(&case, &policy), [], "there is nothing to ask about");
    let ready = Ready {
        tasks: vec!["t-e.1".into()],
        epics: vec!["t-e.1".into()],
    };
    let expected = Answer::Block(Block::FalsePromise(ready));
    assert_eq!(judge(&case, &policy).answer, expected);

    let tasks = [Task::open("t-e"), sub_epic, open("t-e.2")];
    case.epic = Epic::of(&tasks, "t-e", NOW).map_or(Reading::Unread, Reading::Known);
    assert_eq!(wanted(&case, &policy), [Sensor::OwnReady]);
    case.own_ready = nothing();
    match judge(&case, &policy).answer {
        Answer::Block(Block::Unknown(fault)) => {
            assert!(fault.what.contains("(t-e.2)"), "{fault:?}");
        }
        other => panic!("{other:?}"),
    }
}

fn ready_tasks(tasks: Vec<TaskId>) -> Ready {
    let epics = Vec::new();
    Ready { tasks, epics }
}

/// One task is ready, and the agent says that all is complete.
fn open_and_claimed(policy: &Policy) -> Snapshot {
    let tasks = [Task::open("t-e"), open("t-e.1")];
    let mut snapshot = stop_of(run(policy));
    snapshot.enabled = Reading::Known(true);
    snapshot.words = Reading::Known(Words {
        claim: Some("EPIC COMPLETE".into()),
        ..Words::default()
    });
    snapshot.epic = Epic::of(&tasks, "t-e", NOW).map_or(Reading::Unread, Reading::Known);
    snapshot.git = Reading::Known(Git::Tree(WorkTree::default()));
    snapshot
}

#[test]
fn a_stop_that_is_not_judged_starts_no_slow_reading() {
    Case::entrances().for_each(|case| case.is_ruled_alike_on_demand());
}

#[test]
fn a_sensor_that_was_not_read_counts_as_one_that_failed() {
    for case in Case::works().step_by(7) {
        let policy = case.policy;
        for sensor in Sensor::ALL {
            let mut unread = case.snapshot();
            let mut failed = unread.clone();
            forget(&mut unread, sensor);
            fail(&mut failed, sensor);
            let (unread, failed) = (judge(&unread, policy), judge(&failed, policy));
            assert_eq!(unread, failed, "{sensor:?} of {case:#?}");
        }
    }
}

#[test]
fn each_brake_grips_at_its_limit_and_not_before() {
    let mut cases = 0;
    for load in Load::all() {
        for block in every_block() {
            let ruling = Ruling {
                row: block.0,
                answer: Answer::Block(block.1),
            };
            let (snapshot, policy) = load.snapshot();
            let verdict = brake(ruling.clone(), &snapshot, &policy);
            let expected = load.expected(ruling.answer);
            assert_eq!((verdict.answer, verdict.brake), expected, "{load:?}");
            let after = verdict.run.expect("a run").state;
            let state = match expected.1 {
                Some(Brake::MaxCycles) => State::Ended,
                Some(Brake::NoProgress) => State::Waiting,
                Some(Brake::Background | Brake::Unrecorded) | None => State::Active,
            };
            assert_eq!(after, state, "{load:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 28_800);
}

#[test]
fn a_brake_never_changes_an_allow() {
    for load in Load::all() {
        for (row, allow) in every_allow() {
            let ruling = Ruling {
                row,
                answer: Answer::Allow(allow),
            };
            let (snapshot, policy) = load.snapshot();
            let verdict = brake(ruling.clone(), &snapshot, &policy);
            assert_eq!(verdict.answer, ruling.answer, "{load:?}");
            assert_eq!((verdict.row, verdict.brake), (row, None), "{load:?}");
        }
    }
}

#[test]
fn a_block_that_was_not_recorded_is_withdrawn_and_an_allow_stays() {
    let verdict = |row, answer| Verdict {
        row,
        brake: None,
        answer,
        run: Some(run(&Policy::default())),
    };
    let fault = || Fault::new(Sensor::Run, "disk full");
    for (row, block) in every_block() {
        let withdrawn = verdict(row, Answer::Block(block)).unrecorded(fault());
        assert_eq!(withdrawn.answer, Answer::Allow(Allow::Unrecorded(fault())));
        assert_eq!(withdrawn.brake, Some(Brake::Unrecorded));
        assert_eq!(withdrawn.run, None);
        assert_eq!(withdrawn.row, row);
    }
    for (row, allow) in every_allow() {
        let stays = verdict(row, Answer::Allow(allow.clone())).unrecorded(fault());
        assert_eq!(stays.answer, Answer::Allow(allow));
        assert_eq!((stays.row, stays.brake), (row, None));
        // The store still has the run as it was, and so has the mark.
        assert_eq!(stays.run, None);
    }
}

/// How near a run is to each of its limits.
#[derive(Clone, Debug)]
struct Load {
    cycles: u32,
    cycles_max: u32,
    idle: u32,
    idle_max: u32,
    /// Ids of what runs in the background, `old` having been waited for already.
    background: &'static [&'static str],
    interactive: bool,
    tasks: &'static Tasks,
}

impl Load {
    fn all() -> Vec<Load> {
        let tasks = ["unreadable", "a ready task", "ours by name", "all closed"];
        let mut loads = Vec::new();
        let mut number = 0;
        loop {
            let mut dial = Dial(number);
            let idle_max = dial.pick(&[1, 2, 5]);
            let cycles_max = dial.pick(&[1, 50]);
            let load = Load {
                cycles: cycles_max + dial.pick(&[0, 1, 2]) - 1,
                cycles_max,
                idle: idle_max + dial.pick(&[0, 1, 2, 3, 4]) - 1,
                idle_max,
                background: dial.pick(&[&[][..], &["new"], &["old"], &["old", "new"]]),
                interactive: dial.flip(),
                tasks: tasks_named(dial.pick(&tasks)),
            };
            if dial.0 != 0 {
                return loads;
            }
            loads.push(load);
            number += 1;
        }
    }

    fn expected(&self, block: Answer) -> (Answer, Option<Brake>) {
        let allow = |allow, brake| (Answer::Allow(allow), Some(brake));
        let has_new = self.background.contains(&"new");
        let is_nothing_ready = !self.tasks.is_unknown && !self.tasks.has_ready;
        // This stop is counted before the brakes look.
        if self.cycles + 1 > self.cycles_max {
            allow(Allow::MaxCycles, Brake::MaxCycles)
        } else if self.idle >= self.idle_max {
            allow(Allow::NoProgress, Brake::NoProgress)
        } else if is_nothing_ready && self.interactive && has_new {
            let named = vec!["new work".to_owned()];
            allow(Allow::Background(named), Brake::Background)
        } else {
            (block, None)
        }
    }

    fn snapshot(&self) -> (Snapshot, Policy) {
        let policy = Policy {
            max_cycles: self.cycles_max,
            no_progress_cycles: self.idle_max,
            ..Policy::default()
        };
        let clean = tree_named("clean");
        let print = Fingerprint {
            tasks: self.tasks.print,
            ..clean.print
        };
        let mut run = run(&policy);
        run.counters.cycles = self.cycles;
        run.counters.blocks_idle = self.idle;
        run.territory = territory();
        run.seen = print.progress().into_iter().collect();
        run.background = BTreeSet::from(["old".into()]);
        let mut snapshot = stop_of(run);
        snapshot.enabled = Reading::Known(true);
        snapshot.words = Reading::Known(Words::default());
        snapshot.epic.clone_from(&self.tasks.reading);
        snapshot.git.clone_from(&clean.git);
        snapshot.stop.is_interactive = self.interactive;
        let work = |id: &&str| Background {
            id: (*id).into(),
            label: format!("{id} work"),
        };
        snapshot.stop.background = self.background.iter().map(work).collect();
        (snapshot, policy)
    }
}

fn every_block() -> Vec<(Row, Block)> {
    let ids = || vec![TaskId::from("t-e.1")];
    let unknown = || Block::Unknown(Fault::new(Sensor::Tasks, "timed out"));
    vec![
        (
            Row::Checkpoint,
            Block::UnsavedWork(Unsaved::Changed(vec!["a.rs".into()])),
        ),
        (Row::TrackerUnknown, unknown()),
        (Row::ScopeShrunk, Block::ScopeShrunk(ids())),
        (Row::Ready, Block::OpenWork(ready_tasks(ids()))),
        (Row::Ready, Block::FalsePromise(ready_tasks(ids()))),
        (
            Row::InProgress,
            Block::InProgress {
                tasks: ids(),
                stuck: ids(),
            },
        ),
        (Row::AllBlocked, Block::BlockedWork(ids())),
        (Row::GitUnknown, unknown()),
        (
            Row::Unsaved,
            Block::UnsavedWork(Unsaved::New(vec!["a.rs".into()])),
        ),
        (
            Row::Unsaved,
            Block::UnsavedWork(Unsaved::Branches(vec!["agent-a".into()])),
        ),
    ]
}

fn every_allow() -> Vec<(Row, Allow)> {
    let fault = || Fault::new(Sensor::Tasks, "timed out");
    let ids = || vec![TaskId::from("t-e.1")];
    let git = SavedWork::Saved;
    vec![
        (Row::Disabled, Allow::Disabled { is_news: false }),
        (Row::Idle, Allow::Idle),
        (Row::Corrupt, Allow::Corrupt(fault())),
        (Row::SwitchedOff, Allow::Disabled { is_news: true }),
        (Row::Resting, Allow::Resting),
        (Row::Stale, Allow::Stale),
        (Row::Planning, Allow::Planning),
        (Row::Conversation, Allow::Conversation),
        (Row::Escalation, Allow::NeedsHuman(Need::Shrunk(ids()))),
        (Row::Checkpoint, Allow::Checkpoint { git }),
        (Row::TrackerUnknown, Allow::Unknown(fault())),
        (Row::ScopeShrunk, Allow::NeedsHuman(Need::Shrunk(ids()))),
        (Row::Empty, Allow::Empty),
        (
            Row::AllBlocked,
            Allow::NeedsHuman(Need::Blocked(Vec::new())),
        ),
        (Row::Deadlocked, Allow::Deadlocked(ids())),
        (Row::Unchecked, Allow::Unchecked(ids())),
        (Row::GitUnknown, Allow::Unknown(fault())),
        (
            Row::Complete,
            Allow::Complete {
                new_files: vec!["new.rs".into()],
            },
        ),
    ]
}

#[test]
fn an_answer_names_the_tasks_it_is_about() {
    let ids = |ids: &[&str]| -> Vec<TaskId> { ids.iter().map(|id| TaskId::from(*id)).collect() };
    let answer = |tasks: &str| Case::plain(tasks, "clean", 0).ruling().answer;
    let held = |id: &str| (TaskId::from(id), Stuck::HeldBy("other".into()));
    let blocked = |id: &str| (TaskId::from(id), Stuck::Cause(Cause::Status));
    assert_eq!(
        answer("ready and ours"),
        Answer::Block(Block::OpenWork(ready_tasks(ids(&["t-e.1"]))))
    );
    assert_eq!(
        answer("ours and another's"),
        Answer::Block(Block::InProgress {
            tasks: ids(&["t-e.2"]),
            stuck: Vec::new(),
        })
    );
    for ownerless in ["another's whose lease is over", "another's without a lease"] {
        assert_eq!(
            answer(ownerless),
            Answer::Block(Block::InProgress {
                tasks: ids(&["t-e.1"]),
                stuck: ids(&["t-e.1"]),
            })
        );
    }
    assert_eq!(
        answer("another's and blocked"),
        Answer::Allow(Allow::NeedsHuman(Need::Blocked(vec![
            blocked("t-e.3"),
            held("t-e.4"),
        ])))
    );
    assert_eq!(
        answer("another's and a knot"),
        Answer::Allow(Allow::Deadlocked(ids(&["t-e.5", "t-e.6"])))
    );
    assert_eq!(
        answer("a task vanished, another is ready"),
        Answer::Block(Block::ScopeShrunk(ids(&["t-e.91"])))
    );
    let unchecked = Case::plain("ready and ours", "clean", 0b11_0000)
        .ruling()
        .answer;
    assert_eq!(
        unchecked,
        Answer::Allow(Allow::Unchecked(ids(&["t-e.1", "t-e.2"])))
    );
    let unlisted = Case::plain("another's and blocked", "clean", 0b1000)
        .ruling()
        .answer;
    assert_eq!(
        unlisted,
        Answer::Block(Block::BlockedWork(ids(&["t-e.3", "t-e.4"])))
    );
}

#[test]
fn an_answer_names_what_is_unsaved() {
    let paths =
        |paths: &[&str]| -> Vec<String> { paths.iter().map(|path| (*path).into()).collect() };
    let answer = |tree: &str| Case::plain("all closed", tree, 0).ruling().answer;
    let refused = |unsaved| Answer::Block(Block::UnsavedWork(unsaved));
    assert_eq!(
        answer("an edit and a new file"),
        refused(Unsaved::Changed(paths(&["a.rs", "new.rs"])))
    );
    assert_eq!(
        answer("a new file beside the person's own"),
        refused(Unsaved::New(paths(&["new.rs"])))
    );
    assert_eq!(
        answer("a merge in the middle"),
        refused(Unsaved::Unfinished("merge".into()))
    );
    assert_eq!(
        answer("a task's branch and a new file"),
        refused(Unsaved::Branches(paths(&["agent-t-e.1"])))
    );
}

#[test]
fn the_end_names_the_new_files_that_were_left() {
    let complete = |tree: &str, policy: usize| {
        let case = Case {
            in_a_row: InARow::NewFiles(1),
            ..Case::plain("all closed", tree, policy)
        };
        match case.ruling().answer {
            Answer::Allow(Allow::Complete { new_files }) => new_files,
            answer => panic!("{answer:?}"),
        }
    };
    let nothing: [&str; 0] = [];
    assert_eq!(
        complete("a new file beside the person's own", 0),
        ["new.rs"]
    );
    assert_eq!(complete("the person's own half-finished files", 0), nothing);
    assert_eq!(complete("what the machinery writes", 0), nothing);
    assert_eq!(complete("no repository", 0), nothing);
    assert_eq!(complete("a new file", 1), nothing);
}

#[test]
fn a_checkpoint_says_what_is_known_of_the_work_tree() {
    let checkpoint = |tree: &str, policy: usize| {
        let case = Case {
            said: Said::Checkpoint,
            in_a_row: InARow::Row(Row::Checkpoint, 2),
            ..Case::plain("a ready task", tree, policy)
        };
        match case.ruling().answer {
            Answer::Allow(Allow::Checkpoint { git }) => git,
            answer => panic!("{answer:?}"),
        }
    };
    let timed_out = Fault::new(Sensor::Git, "timed out");
    let edit = vec!["a.rs".to_owned()];
    assert_eq!(checkpoint("clean", 0), SavedWork::Saved);
    assert_eq!(checkpoint("no repository", 0), SavedWork::Saved);
    assert_eq!(checkpoint("unreadable", 0), SavedWork::Unknown(timed_out));
    assert_eq!(checkpoint("an edit", 0), SavedWork::Unsaved(edit));
    assert_eq!(checkpoint("an edit", 1), SavedWork::Unchecked);
}

#[test]
fn an_escalation_is_passed_on_in_the_agents_own_words() {
    let case = Case {
        said: Said::BlockedAndDone,
        ..Case::plain("a ready task", "clean", 0)
    };
    let need = Need::Said {
        tag: "BLOCKED".into(),
        lines: vec!["no key".into()],
    };
    assert_eq!(case.ruling().answer, Answer::Allow(Allow::NeedsHuman(need)));
}

fn forget(snapshot: &mut Snapshot, sensor: Sensor) {
    match sensor {
        Sensor::Run => snapshot.run = Reading::Unread,
        Sensor::Baseline => snapshot.baseline = Reading::Unread,
        Sensor::Enabled => snapshot.enabled = Reading::Unread,
        Sensor::Words => snapshot.words = Reading::Unread,
        Sensor::Remembered => snapshot.remembered = Reading::Unread,
        Sensor::Tasks => snapshot.epic = Reading::Unread,
        Sensor::OwnReady => snapshot.own_ready = Reading::Unread,
        Sensor::Glance | Sensor::Git => snapshot.git = Reading::Unread,
        Sensor::Branches => snapshot.branches = Reading::Unread,
    }
}

fn fail(snapshot: &mut Snapshot, sensor: Sensor) {
    let fault = Fault::unread(sensor);
    match sensor {
        Sensor::Run => snapshot.run = Reading::Failed(fault),
        Sensor::Baseline => snapshot.baseline = Reading::Failed(fault),
        Sensor::Enabled => snapshot.enabled = Reading::Failed(fault),
        Sensor::Words => snapshot.words = Reading::Failed(fault),
        Sensor::Remembered => snapshot.remembered = Reading::Failed(fault),
        Sensor::Tasks => snapshot.epic = Reading::Failed(fault),
        Sensor::OwnReady => snapshot.own_ready = Reading::Failed(fault),
        Sensor::Glance | Sensor::Git => {
            snapshot.git = Reading::Failed(Fault::unread(Sensor::Git));
        }
        Sensor::Branches => snapshot.branches = Reading::Failed(fault),
    }
}

fn read(snapshot: &mut Snapshot, sensor: Sensor, world: &Snapshot) {
    match sensor {
        Sensor::Run => snapshot.run.clone_from(&world.run),
        Sensor::Baseline => snapshot.baseline.clone_from(&world.baseline),
        Sensor::Enabled => snapshot.enabled.clone_from(&world.enabled),
        Sensor::Words => snapshot.words.clone_from(&world.words),
        Sensor::Remembered => snapshot.remembered.clone_from(&world.remembered),
        Sensor::Tasks => snapshot.epic.clone_from(&world.epic),
        Sensor::OwnReady => snapshot.own_ready.clone_from(&world.own_ready),
        Sensor::Glance if world.glance.is_some() => snapshot.glance.clone_from(&world.glance),
        Sensor::Glance | Sensor::Git => snapshot.git.clone_from(&world.git),
        Sensor::Branches => snapshot.branches.clone_from(&world.branches),
    }
}

/// One line of the contract's table. The first that applies decides.
struct Line {
    row: u8,
    applies: fn(&Case) -> bool,
    expected: fn(&Case) -> Expected,
}

enum Expected {
    /// And the run stays what it is.
    Allow(&'static str),
    Waits(&'static str),
    Stale(&'static str),
    Ends(&'static str),
    Block(&'static str),
}

use Expected::{Allow as Lets, Block as Holds, Ends, Stale, Waits};

#[rustfmt::skip]
const TABLE: &[Line] = &[
    Line { row: 1, applies: |c| c.entrance.disabled, expected: |_| Lets("disabled") },
    Line { row: 2, applies: |c| c.entrance.sub_agent || c.entrance.run == RunIs::None, expected: |_| Lets("idle") },
    Line { row: 3, applies: |c| c.entrance.run == RunIs::Unreadable, expected: |_| Lets("corrupt") },
    Line { row: 4, applies: |c| c.entrance.config == Config::Off, expected: |_| Lets("disabled") },
    Line { row: 5, applies: |c| c.entrance.run != RunIs::In(State::Active), expected: |_| Lets("resting") },
    Line { row: 6, applies: Case::is_stale, expected: |_| Stale("stale") },
    Line { row: 7, applies: |c| c.entrance.planning, expected: |_| Lets("planning") },
    Line { row: 8, applies: Case::is_talk, expected: |_| Lets("conversation") },
    Line { row: 9, applies: |c| c.said.is_blocked(), expected: |_| Waits("needs_human") },
    Line { row: 10, applies: |c| c.said.is_checkpoint() && c.policy.exits.context_checkpoint, expected: Case::checkpoint },
    Line { row: 11, applies: |c| c.tasks.is_unknown, expected: |c| c.unknown(11) },
    Line { row: 12, applies: |c| c.tasks.is_shrunk, expected: Case::shrunk },
    Line { row: 13, applies: |c| c.tasks.is_empty, expected: |_| Ends("empty") },
    Line { row: 14, applies: |c| c.tasks.has_ready && c.policy.check_ready_tasks, expected: Case::open_work },
    Line { row: 15, applies: |c| c.tasks.has_ours && c.policy.check_in_progress, expected: |_| Holds("in_progress") },
    Line { row: 16, applies: |c| c.tasks.is_quiet() && c.tasks.has_rest && !c.tasks.has_knot, expected: Case::all_blocked },
    Line { row: 17, applies: |c| c.tasks.is_quiet() && c.tasks.has_knot, expected: |_| Waits("deadlocked") },
    Line { row: 18, applies: |c| !c.tasks.is_quiet(), expected: |_| Ends("unchecked") },
    Line { row: 19, applies: |c| c.policy.check_git && c.is_unknown_to_row_19(), expected: |c| c.unknown(19) },
    Line { row: 20, applies: |c| c.policy.check_git && c.must_save(), expected: |_| Holds("unsaved_work") },
    Line { row: 22, applies: |_| true, expected: |_| Ends("complete") },
];

impl Case {
    fn is_stale(&self) -> bool {
        let Entrance { began, quiet, .. } = self.entrance;
        let is_late = match began {
            // Age alone decides, or the first stop dates the prompt.
            Began::WithoutId | Began::Unreported => quiet != Quiet::Never,
            // Here the prompt is the last event, and age is counted from it.
            Began::PersonWithoutId => quiet == Quiet::WithinTurn,
            Began::Machine | Began::Waking => false,
            Began::Person | Began::Command | Began::First | Began::RunTasks => {
                quiet == Quiet::BeforePrompt
            }
            Began::PersonAndJudged => quiet == Quiet::BeforePrompt,
        };
        is_late && !self.entrance.first_stop
    }

    fn is_talk(&self) -> bool {
        let is_question = match self.entrance.began {
            Began::Person | Began::PersonWithoutId | Began::Command | Began::Waking => true,
            Began::First | Began::RunTasks | Began::Machine | Began::PersonAndJudged => false,
            Began::WithoutId | Began::Unreported => false,
        };
        let has_moved = match self.entrance.moved {
            Moved::No | Moved::Unreadable => false,
            Moved::NewFile => self.tree.is_readable,
            Moved::Task => !self.tasks.is_unknown,
        };
        let may_talk = self.policy.on_user_prompt == OnUserPrompt::Release;
        is_question && may_talk && self.entrance.interactive && !has_moved
    }

    fn checkpoint(&self) -> Expected {
        let has_unsaved = !self.is_git_unknown() && (self.has_work() || self.has_new());
        if self.policy.check_git && has_unsaved && self.decided_by(10) < 2 {
            Holds("unsaved_work")
        } else {
            Waits("checkpoint")
        }
    }

    fn unknown(&self, row: u8) -> Expected {
        match self.policy.when_unknown {
            WhenUnknown::Hold if self.decided_by(row) < 2 => Holds("unknown"),
            WhenUnknown::Hold | WhenUnknown::Allow => Lets("unknown"),
        }
    }

    fn shrunk(&self) -> Expected {
        if self.decided_by(12) == 0 {
            Holds("scope_shrunk")
        } else {
            Waits("needs_human")
        }
    }

    fn open_work(&self) -> Expected {
        if self.said.is_claim() {
            Holds("false_promise")
        } else {
            Holds("open_work")
        }
    }

    fn all_blocked(&self) -> Expected {
        if self.policy.exits.all_blocked {
            Waits("needs_human")
        } else {
            Holds("blocked_work")
        }
    }

    fn must_save(&self) -> bool {
        let was_asked_for_new_files = match self.in_a_row {
            InARow::NewFiles(length) => length > 0 && !self.is_progress(),
            InARow::Nothing | InARow::Row(..) => false,
        };
        self.has_work()
            || self.tree.has_branches == Some(true)
            || self.has_new() && !was_asked_for_new_files
    }

    /// Without an answer, or with one that is not about the work that the run began with: what was
    /// a work tree then has to be the same one now, and nothing to save in is only good enough if
    /// there was nothing then.
    fn is_git_unknown(&self) -> bool {
        let is_as_then = match (self.began_in, self.tree.stands_in) {
            (BeganIn::TheSame, _) => true,
            (BeganIn::AnotherTree, _) => false,
            (BeganIn::NoRepository, StandsIn::Nothing) => true,
            (BeganIn::BareRepository, StandsIn::Bare) => true,
            // The tree is new, or it is not known whether it is.
            (_, StandsIn::Tree) => true,
            (_, StandsIn::Nothing | StandsIn::Bare) => false,
        };
        self.tree.is_unknown || !is_as_then
    }

    /// Branches are only asked for where nothing else is left to do.
    fn is_unknown_to_row_19(&self) -> bool {
        self.is_git_unknown() || self.tree.has_branches.is_none() && !self.has_work()
    }

    /// Nothing was anybody's where there was nothing to save in.
    fn is_all_the_agents(&self) -> bool {
        match self.began_in {
            BeganIn::NoRepository | BeganIn::BareRepository => self.tree.has_own,
            BeganIn::TheSame | BeganIn::AnotherTree | BeganIn::NotNoted => false,
        }
    }

    fn has_work(&self) -> bool {
        self.tree.has_work || self.is_all_the_agents()
    }

    fn has_new(&self) -> bool {
        self.tree.has_new || self.is_all_the_agents()
    }

    /// Consecutive judged stops that a row decided before this one; progress restarts them.
    fn decided_by(&self, row: u8) -> u32 {
        match self.in_a_row {
            InARow::Row(at, length) if at as u8 == row && !self.is_progress() => length,
            InARow::Nothing | InARow::Row(..) | InARow::NewFiles(_) => 0,
        }
    }

    /// A stop whose tracker or git is unknown makes none.
    fn is_progress(&self) -> bool {
        self.is_new_state && !self.tasks.is_unknown && self.tree.is_readable
    }
}

/// One combination of facts, in the contract's words.
#[derive(Clone, Copy, Debug)]
struct Case {
    entrance: Entrance,
    said: Said,
    tasks: &'static Tasks,
    tree: &'static Tree,
    began_in: BeganIn,
    policy: &'static Policy,
    in_a_row: InARow,
    /// The run has never seen the work like this.
    is_new_state: bool,
}

#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named"
)]
struct Entrance {
    disabled: bool,
    sub_agent: bool,
    run: RunIs,
    config: Config,
    planning: bool,
    began: Began,
    first_stop: bool,
    quiet: Quiet,
    moved: Moved,
    interactive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RunIs {
    None,
    Unreadable,
    In(State),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Config {
    On,
    Off,
    Unreadable,
}

/// What began this turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Began {
    WithoutId,
    Unreported,
    Person,
    PersonWithoutId,
    PersonAndJudged,
    Command,
    /// A person's prompt that woke the run.
    Waking,
    /// A person's prompt, the run's marching orders.
    First,
    RunTasks,
    Machine,
}

/// When nothing happened for longer than `stale_after_minutes`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quiet {
    Never,
    BeforePrompt,
    WithinTurn,
}

/// Since the prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moved {
    No,
    NewFile,
    Task,
    /// Nothing could be read when the prompt came.
    Unreadable,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Nothing,
    Blocked,
    BlockedAndDone,
    BlockedAndCheckpoint,
    Checkpoint,
    CheckpointAndDone,
    Done,
    Unreadable,
}

impl Said {
    fn is_blocked(self) -> bool {
        matches!(
            self,
            Said::Blocked | Said::BlockedAndDone | Said::BlockedAndCheckpoint
        )
    }

    fn is_checkpoint(self) -> bool {
        matches!(
            self,
            Said::Checkpoint | Said::CheckpointAndDone | Said::BlockedAndCheckpoint
        )
    }

    fn is_claim(self) -> bool {
        matches!(
            self,
            Said::Done | Said::CheckpointAndDone | Said::BlockedAndDone
        )
    }
}

/// What decided the stops just before this one, and how many of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum InARow {
    Nothing,
    Row(Row, u32),
    /// Row 20, with nothing but new files left.
    NewFiles(u32),
}

/// What the baseline says that git found when the run began.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BeganIn {
    /// What it finds now.
    TheSame,
    AnotherTree,
    NoRepository,
    BareRepository,
    NotNoted,
}

/// What git finds now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StandsIn {
    Nothing,
    Bare,
    Tree,
}

/// A tracker's answer, and what a person would say about it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named"
)]
struct Tasks {
    name: &'static str,
    reading: Reading<Epic>,
    roster: Vec<Member>,
    print: Option<u128>,
    is_unknown: bool,
    is_shrunk: bool,
    is_empty: bool,
    has_ready: bool,
    /// In progress, and not in another live actor's hands.
    has_ours: bool,
    /// Neither closed, nor ready, nor in our hands.
    has_rest: bool,
    has_knot: bool,
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Tasks {
    fn is_quiet(&self) -> bool {
        !self.has_ready && !self.has_ours
    }
}

/// Git's answer, and what a person would say about it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named"
)]
struct Tree {
    name: &'static str,
    git: Reading<Git>,
    baseline: Reading<Baseline>,
    branches: Reading<Vec<String>>,
    print: Fingerprint,
    is_readable: bool,
    stands_in: StandsIn,
    /// Whether anything is unsaved cannot be told.
    is_unknown: bool,
    /// Changes of tracked files, or something unfinished.
    has_work: bool,
    has_new: bool,
    /// An edit and a new file that the baseline has too.
    has_own: bool,
    /// Nothing where that cannot be told.
    has_branches: Option<bool>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Takes one option after the other off a number, so that counting up visits every combination.
struct Dial(usize);

impl Dial {
    fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        let option = options[self.0 % options.len()];
        self.0 /= options.len();
        option
    }

    fn one_of<T>(&mut self, options: &'static [T]) -> &'static T {
        let option = &options[self.0 % options.len()];
        self.0 /= options.len();
        option
    }

    fn flip(&mut self) -> bool {
        self.pick(&[false, true])
    }
}

fn all(case: impl Fn(&mut Dial) -> Case) -> impl Iterator<Item = Case> {
    (0..).map_while(move |number| {
        let mut dial = Dial(number);
        let case = case(&mut dial);
        (dial.0 == 0).then_some(case)
    })
}

const OPEN: Entrance = Entrance {
    disabled: false,
    sub_agent: false,
    run: RunIs::In(State::Active),
    config: Config::On,
    planning: false,
    began: Began::RunTasks,
    first_stop: false,
    quiet: Quiet::Never,
    moved: Moved::No,
    interactive: true,
};

const RUNS: [RunIs; 7] = [
    RunIs::None,
    RunIs::Unreadable,
    RunIs::In(State::Active),
    RunIs::In(State::Waiting),
    RunIs::In(State::Stale),
    RunIs::In(State::Paused),
    RunIs::In(State::Ended),
];

const BEGAN: [Began; 10] = [
    Began::WithoutId,
    Began::Unreported,
    Began::Person,
    Began::PersonWithoutId,
    Began::PersonAndJudged,
    Began::Command,
    Began::Waking,
    Began::First,
    Began::RunTasks,
    Began::Machine,
];

const SAID: [Said; 8] = [
    Said::Nothing,
    Said::Blocked,
    Said::BlockedAndDone,
    Said::BlockedAndCheckpoint,
    Said::Checkpoint,
    Said::CheckpointAndDone,
    Said::Done,
    Said::Unreadable,
];

const IN_A_ROW: [InARow; 12] = [
    InARow::Nothing,
    InARow::Row(Row::Checkpoint, 1),
    InARow::Row(Row::Checkpoint, 2),
    InARow::Row(Row::TrackerUnknown, 1),
    InARow::Row(Row::TrackerUnknown, 2),
    InARow::Row(Row::ScopeShrunk, 1),
    InARow::Row(Row::Ready, 3),
    InARow::Row(Row::GitUnknown, 1),
    InARow::Row(Row::GitUnknown, 2),
    InARow::Row(Row::Unsaved, 1),
    InARow::NewFiles(1),
    InARow::NewFiles(2),
];

const BEGAN_IN: [BeganIn; 5] = [
    BeganIn::TheSame,
    BeganIn::AnotherTree,
    BeganIn::NoRepository,
    BeganIn::BareRepository,
    BeganIn::NotNoted,
];

const LATE: i64 = 120 * MINUTE + 1;
const STILL_IN_TIME: i64 = 120 * MINUTE;

impl Case {
    /// One of the works, for those who want to see the whole answer.
    fn plain(tasks: &str, tree: &str, policy: usize) -> Case {
        Case {
            entrance: OPEN,
            said: Said::Nothing,
            tasks: tasks_named(tasks),
            tree: tree_named(tree),
            began_in: BeganIn::TheSame,
            policy: &POLICIES[policy],
            in_a_row: InARow::Nothing,
            is_new_state: false,
        }
    }

    fn ruling(&self) -> Ruling {
        judge(&self.snapshot(), self.policy)
    }

    /// Everything that rows 1 to 8 look at, before three kinds of work.
    fn entrances() -> impl Iterator<Item = Case> {
        let moved = [Moved::No, Moved::NewFile, Moved::Task, Moved::Unreadable];
        let work = [
            (
                tasks_named("a ready task"),
                tree_named("clean"),
                Said::Nothing,
            ),
            (
                tasks_named("a ready task"),
                tree_named("clean"),
                Said::Blocked,
            ),
            (
                tasks_named("unreadable"),
                tree_named("unreadable"),
                Said::Nothing,
            ),
        ];
        all(move |dial| {
            let entrance = Entrance {
                disabled: dial.flip(),
                sub_agent: dial.flip(),
                run: dial.pick(&RUNS),
                config: dial.pick(&[Config::On, Config::Off, Config::Unreadable]),
                planning: dial.flip(),
                began: dial.pick(&BEGAN),
                first_stop: dial.flip(),
                quiet: dial.pick(&[Quiet::Never, Quiet::BeforePrompt, Quiet::WithinTurn]),
                moved: dial.pick(&moved),
                interactive: dial.flip(),
            };
            let (tasks, tree, said) = dial.pick(&work);
            Case {
                entrance,
                said,
                tasks,
                tree,
                began_in: BeganIn::TheSame,
                policy: dial.one_of(&TALKING),
                in_a_row: InARow::Nothing,
                is_new_state: false,
            }
        })
    }

    /// Everything that rows 9 to 22 look at, at a first such stop.
    fn works() -> impl Iterator<Item = Case> {
        all(|dial| Case {
            entrance: OPEN,
            said: dial.pick(&SAID),
            tasks: dial.one_of(&TASKS),
            tree: dial.one_of(&TREES),
            began_in: BeganIn::TheSame,
            policy: dial.one_of(&POLICIES),
            in_a_row: InARow::Nothing,
            is_new_state: false,
        })
    }

    /// Stops that came after others like them, in runs that began here or elsewhere.
    fn streaks() -> impl Iterator<Item = Case> {
        let tasks = [
            "unreadable",
            "a ready task",
            "a task vanished, the rest closed",
            "all closed",
        ];
        let tasks = tasks.map(tasks_named);
        all(move |dial| Case {
            entrance: OPEN,
            said: dial.pick(&[Said::Nothing, Said::Done, Said::Checkpoint]),
            tasks: dial.pick(&tasks),
            tree: dial.one_of(&TREES),
            began_in: dial.pick(&BEGAN_IN),
            policy: dial.one_of(&DOUBTING),
            in_a_row: dial.pick(&IN_A_ROW),
            is_new_state: dial.flip(),
        })
    }

    fn is_answered_by_the_table(&self) {
        let line = TABLE.iter().find(|line| (line.applies)(self));
        let line = line.unwrap_or_else(|| panic!("no row for {self:#?}"));
        let snapshot = self.snapshot();
        let verdict = brake(judge(&snapshot, self.policy), &snapshot, self.policy);
        assert_eq!(verdict.row as u8, line.row, "the row of {self:#?}");
        assert_eq!(verdict.brake, None, "no limit is near in {self:#?}");
        let (name, is_block, after) = match (line.expected)(self) {
            Holds(name) => (name, true, None),
            Lets(name) => (name, false, None),
            Waits(name) => (name, false, Some((State::Waiting, name))),
            Stale(name) => (name, false, Some((State::Stale, name))),
            Ends(name) => (name, false, Some((State::Ended, name))),
        };
        let is_held = matches!(verdict.answer, Answer::Block(_));
        assert_eq!(
            (verdict.answer.name(), is_held),
            (name, is_block),
            "{self:#?}"
        );
        let Reading::Known(before) = &snapshot.run else {
            assert!(verdict.run.is_none(), "{self:#?}");
            return;
        };
        if line.row <= 2 {
            assert!(verdict.run.is_none(), "a trace in the run: {self:#?}");
            return;
        }
        let state = |run: &Run| (run.state, run.outcome.map(Outcome::name));
        let is = verdict.run.as_ref().map(state);
        let expected = match after {
            None => before.as_ref().map(state),
            Some((state, outcome)) => Some((state, Some(outcome))),
        };
        assert_eq!(is, expected, "the run after {self:#?}");
        let cycles = |run: &Run| run.counters.cycles;
        let counted = u32::from(line.row >= 9);
        let expected = before.as_ref().map(|run| cycles(run) + counted);
        assert_eq!(verdict.run.as_ref().map(cycles), expected, "{self:#?}");
    }

    /// What is remembered is what would be read. It may hold, and it never lets go.
    fn is_never_let_go_from_memory(&self) {
        let mut world = self.snapshot();
        let Some(epic) = world.epic.known().cloned() else {
            return;
        };
        world.remembered = Reading::Known(Some(epic));
        let (snapshot, asked) = self.surveyed(&world);
        let verdict = brake(judge(&snapshot, self.policy), &snapshot, self.policy);
        let eager = brake(judge(&world, self.policy), &world, self.policy);
        let is_block = matches!(verdict.answer, Answer::Block(_));
        let looked = asked.contains(&Sensor::Remembered);
        assert_eq!(verdict.row, eager.row, "{self:#?}");
        assert_eq!(verdict.answer, eager.answer, "{self:#?}");
        assert!(!looked || verdict.run == eager.run, "{self:#?}");
        let is_fresh = asked.contains(&Sensor::Tasks);
        assert_eq!(is_fresh, looked && !is_block, "{self:#?}");
    }

    /// What is seen at a glance is what git would say. It may hold, and it never lets go; what
    /// holds the agent because of git is not told by a glance either.
    fn is_never_let_go_at_a_glance(&self) {
        let mut world = self.snapshot();
        let Some(Git::Tree(tree)) = world.git.known() else {
            return;
        };
        let tracked = tree.changes.iter().filter(|change| !change.is_untracked);
        world.glance = Some(Glance {
            head: tree.head.clone(),
            changes: tracked.cloned().collect(),
        });
        let (snapshot, asked) = self.surveyed(&world);
        let verdict = brake(judge(&snapshot, self.policy), &snapshot, self.policy);
        let eager = brake(judge(&world, self.policy), &world, self.policy);
        assert_eq!(verdict.row, eager.row, "{self:#?}");
        assert_eq!(verdict.answer, eager.answer, "{self:#?}");
        if asked.contains(&Sensor::Glance) {
            assert_eq!(verdict.run, eager.run, "{self:#?}");
            let is_told =
                matches!(verdict.answer, Answer::Block(_)) && verdict.row < Row::GitUnknown;
            assert_eq!(!asked.contains(&Sensor::Git), is_told, "{self:#?}");
        }
    }

    /// The world as far as it was asked for, and what was asked. Tasks and git are asked together,
    /// unless the tasks are remembered.
    fn surveyed(&self, world: &Snapshot) -> (Snapshot, BTreeSet<Sensor>) {
        let mut snapshot = Snapshot {
            is_disabled: world.is_disabled,
            baseline: world.baseline.clone(),
            ..Snapshot::of(world.stop.clone(), world.now)
        };
        let mut asked = BTreeSet::new();
        loop {
            let sensors = wanted(&snapshot, self.policy);
            if sensors.is_empty() {
                return (snapshot, asked);
            }
            let has = |sensor| sensors.contains(&sensor);
            let is_remembered = matches!(world.remembered, Reading::Known(Some(_)));
            // Git alone only where it has been glanced at before.
            let git = has(Sensor::Glance) || (has(Sensor::Git) && snapshot.glance.is_none());
            assert!(
                is_remembered || has(Sensor::Tasks) == git,
                "together, in {self:#?}"
            );
            for sensor in sensors {
                assert!(asked.insert(sensor), "{sensor:?} asked twice in {self:#?}");
                read(&mut snapshot, sensor, world);
            }
        }
    }

    fn is_ruled_alike_on_demand(&self) {
        let world = self.snapshot();
        let (snapshot, asked) = self.surveyed(&world);
        let (ruling, eager) = (judge(&snapshot, self.policy), judge(&world, self.policy));
        assert_eq!(ruling, eager, "{self:#?}");
        let asked: Vec<Sensor> = asked.into_iter().collect();
        match ruling.row as u8 {
            1 => assert_eq!(asked, [], "{self:#?}"),
            2 if self.entrance.sub_agent => assert_eq!(asked, [], "{self:#?}"),
            2..=3 => assert_eq!(asked, [Sensor::Run], "{self:#?}"),
            4..=7 => assert_eq!(asked, [Sensor::Run, Sensor::Enabled], "{self:#?}"),
            _ => {}
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut run = run(self.policy);
        let prints = Fingerprint {
            tasks: self.tasks.print,
            ..self.tree.print
        };
        let entrance = self.entrance;
        let fault = Fault::new(Sensor::Run, "is corrupt");
        run.roster = Some(self.tasks.roster.clone());
        run.taken = BTreeSet::from(["t-e.7".into()]);
        run.territory = territory();
        run.seen = match (self.is_new_state, prints.progress()) {
            (false, Some(print)) => vec![7, print],
            (true, _) | (_, None) => vec![7],
        };
        run.streak = self.in_a_row.streak();
        run.counters.stops = u32::from(!entrance.first_stop);
        run.last_event_at = NOW.plus_millis(match entrance.quiet {
            Quiet::WithinTurn => -LATE,
            Quiet::Never | Quiet::BeforePrompt => -STILL_IN_TIME,
        });
        entrance.begin_turn(&mut run, prints);
        let mut snapshot = stop_of(run);
        snapshot.is_disabled = entrance.disabled;
        snapshot.stop.is_sub_agent = entrance.sub_agent;
        snapshot.stop.is_planning = entrance.planning;
        snapshot.stop.is_interactive = entrance.interactive;
        snapshot.stop.prompt = entrance.began.prompt_id();
        match (entrance.run, &mut snapshot.run) {
            (RunIs::None, run) => *run = Reading::Known(None),
            (RunIs::Unreadable, run) => *run = Reading::Failed(fault),
            (RunIs::In(state), Reading::Known(Some(run))) => run.state = state,
            (RunIs::In(_), _) => {}
        }
        snapshot.enabled = match entrance.config {
            Config::On => Reading::Known(true),
            Config::Off => Reading::Known(false),
            Config::Unreadable => Reading::Failed(Fault::new(Sensor::Enabled, "is no YAML")),
        };
        snapshot.words = self.said.words();
        snapshot.remembered = Reading::Known(None);
        snapshot.epic.clone_from(&self.tasks.reading);
        snapshot.own_ready = Reading::Known(None);
        snapshot.git.clone_from(&self.tree.git);
        snapshot.baseline = self.began_in.baseline(&self.tree.baseline);
        snapshot.branches.clone_from(&self.tree.branches);
        snapshot
    }
}

impl BeganIn {
    fn baseline(self, here: &Reading<Baseline>) -> Reading<Baseline> {
        let Reading::Known(here) = here else {
            return here.clone();
        };
        let with = |footing| Baseline {
            footing,
            ..here.clone()
        };
        Reading::Known(match self {
            BeganIn::TheSame => here.clone(),
            BeganIn::AnotherTree => with(Some(Footing::Tree("elsewhere".into()))),
            BeganIn::NotNoted => with(None),
            BeganIn::NoRepository => Baseline::of(&Git::NoRepository),
            BeganIn::BareRepository => Baseline::of(&Git::NoWorkTree),
        })
    }
}

impl InARow {
    fn streak(self) -> Option<Streak> {
        let (row, only_new_files, length) = match self {
            InARow::Nothing => return None,
            InARow::Row(row, length) => (row, false, length),
            InARow::NewFiles(length) => (Row::Unsaved, true, length),
        };
        let rule = Rule {
            row,
            only_new_files,
        };
        Some(Streak { rule, length })
    }
}

impl Began {
    fn prompt_id(self) -> Option<String> {
        match self {
            Began::WithoutId | Began::PersonWithoutId => None,
            _ => Some("this".to_owned()),
        }
    }
}

impl Entrance {
    fn begin_turn(&self, run: &mut Run, now: Fingerprint) {
        let is_late = self.quiet == Quiet::BeforePrompt;
        let is_reported = !matches!(self.began, Began::WithoutId | Began::Unreported);
        if is_late && !is_reported {
            run.last_event_at = NOW.plus_millis(-LATE);
        }
        let (kind, id) = match self.began {
            Began::WithoutId => return,
            // What is known is an earlier prompt, a person's and late; it must not be taken for ours.
            Began::Unreported => (PromptKind::Person, Some("earlier".to_owned())),
            Began::Person | Began::PersonAndJudged | Began::Waking | Began::First => {
                (PromptKind::Person, self.began.prompt_id())
            }
            Began::PersonWithoutId => (PromptKind::Person, None),
            Began::Command => (PromptKind::Command, self.began.prompt_id()),
            Began::RunTasks => (PromptKind::RunTasks, self.began.prompt_id()),
            Began::Machine => (PromptKind::Machine, self.began.prompt_id()),
        };
        let other = |print: Option<u128>| print.map(|print| print ^ 1);
        let before = match self.moved {
            Moved::No => now,
            Moved::NewFile => Fingerprint {
                untracked: other(now.untracked),
                ..now
            },
            Moved::Task => Fingerprint {
                tasks: other(now.tasks),
                ..now
            },
            Moved::Unreadable => Fingerprint::default(),
        };
        run.turn.is_judged = self.began == Began::PersonAndJudged;
        run.turn.prompt = Some(Prompt {
            id,
            kind,
            quiet_before: if is_late { LATE } else { STILL_IN_TIME },
            woke: self.began == Began::Waking,
            is_first: self.began == Began::First,
            before,
        });
    }
}

impl Said {
    fn words(self) -> Reading<Words> {
        if self == Said::Unreadable {
            return Reading::Failed(Fault::new(Sensor::Words, "no such transcript"));
        }
        let escalation = Escalation {
            tag: "BLOCKED".into(),
            lines: vec!["no key".into()],
        };
        Reading::Known(Words {
            escalation: self.is_blocked().then_some(escalation),
            is_checkpoint: self.is_checkpoint(),
            claim: self.is_claim().then(|| "EPIC COMPLETE".into()),
        })
    }
}

/// What the work looks like, by the kernel's own measure: a given here, not an expectation.
fn print_of(epic: &Reading<Epic>, git: &Reading<Git>) -> Fingerprint {
    let mut run = run(&Policy::default());
    run.territory = territory();
    let mut snapshot = stop_of(run.clone());
    snapshot.epic.clone_from(epic);
    snapshot.git.clone_from(git);
    fingerprint(&snapshot, &run)
}

static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let policy = |bits: u32| {
        let is = |bit: u32| bits & (1 << bit) == 0;
        Policy {
            check_git: is(0),
            when_unknown: if is(1) {
                WhenUnknown::Hold
            } else {
                WhenUnknown::Allow
            },
            exits: Exits {
                context_checkpoint: is(2),
                all_blocked: is(3),
            },
            check_ready_tasks: is(4),
            check_in_progress: is(5),
            // Out of reach: the limits have their own product.
            max_cycles: 1000,
            no_progress_cycles: 1000,
            ..Policy::default()
        }
    };
    (0..64).map(policy).collect()
});

/// Those that differ in what they make of git, doubt and checkpoints.
static DOUBTING: LazyLock<Vec<Policy>> = LazyLock::new(|| POLICIES[..8].to_vec());

/// Those that differ in what they make of a person's prompt.
static TALKING: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let hold = Policy {
        on_user_prompt: OnUserPrompt::Hold,
        ..POLICIES[0].clone()
    };
    vec![POLICIES[0].clone(), hold]
});

fn tasks_named(name: &str) -> &'static Tasks {
    let found = TASKS.iter().find(|tasks| tasks.name == name);
    found.unwrap_or_else(|| panic!("no tasks named {name}"))
}

fn tree_named(name: &str) -> &'static Tree {
    let found = TREES.iter().find(|tree| tree.name == name);
    found.unwrap_or_else(|| panic!("no tree named {name}"))
}

fn territory() -> Territory {
    Territory {
        not_work: vec![".beads/".into(), "progress.txt".into()],
        tracker_file: Some("tasks.jsonl".into()),
    }
}

/// A child of the epic.
fn child(id: &str, status: Status) -> Task {
    below(
        "t-e",
        Task {
            status,
            ..Task::open(id)
        },
    )
}

fn below(parent: &str, mut task: Task) -> Task {
    task.edges.push(Edge {
        target: parent.into(),
        kind: EdgeKind::ParentChild,
    });
    task
}

fn waits_for(mut task: Task, target: &str) -> Task {
    task.edges.push(Edge {
        target: target.into(),
        kind: EdgeKind::Blocks,
    });
    task
}

fn open(id: &str) -> Task {
    child(id, Status::Open)
}

fn closed(id: &str) -> Task {
    child(id, Status::Closed)
}

/// In progress since some minutes ago, with a lease for some more minutes, or none.
fn claimed(id: &str, actor: &str, since: i64, lease: Option<i64>) -> Task {
    let claim = Claim {
        actor: actor.into(),
        since: Some(NOW.plus_millis(-since * MINUTE)),
        lease_until: lease.map(|minutes| NOW.plus_millis(minutes * MINUTE)),
    };
    Task {
        claim: Some(claim),
        ..child(id, Status::InProgress)
    }
}

/// Taken before this turn, by somebody who is alive.
fn held(id: &str) -> Task {
    claimed(id, "other", 30, Some(5))
}

fn epic() -> Task {
    Task {
        kind: Kind::Epic,
        ..Task::open("t-e")
    }
}

/// What a person would say about some tasks, in letters: `r`eady, `o`urs in progress, the `b`locked
/// and held rest, a `k`not, `e`mpty, `s`hrunk.
fn tasks(name: &'static str, says: &str, children: Vec<Task>) -> Tasks {
    let mut all = vec![epic()];
    all.extend(children);
    tasks_of(name, says, &all)
}

fn tasks_of(name: &'static str, says: &str, all: &[Task]) -> Tasks {
    let epic = Epic::of(all, "t-e", NOW);
    let epic = epic.unwrap_or_else(|| panic!("{name} has no epic"));
    let reading = Reading::Known(epic);
    let member = |id: &str, is_closed: bool| Member {
        id: id.into(),
        is_closed,
        is_epic: false,
    };
    // One that was closed when last read may vanish.
    let mut roster = vec![member("t-e.90", true)];
    roster.extend(
        all.iter()
            .filter(|task| task.id.as_str() == "t-e.1")
            .map(|task| member("t-e.1", task.status == Status::Closed)),
    );
    roster.extend(says.contains('s').then(|| member("t-e.91", false)));
    Tasks {
        name,
        print: print_of(&reading, &Reading::Unread).tasks,
        reading,
        roster,
        is_unknown: false,
        is_shrunk: says.contains('s'),
        is_empty: says.contains('e'),
        has_ready: says.contains('r'),
        has_ours: says.contains('o'),
        has_rest: says.contains('b'),
        has_knot: says.contains('k'),
    }
}

fn knot() -> [Task; 2] {
    [
        waits_for(open("t-e.5"), "t-e.6"),
        waits_for(open("t-e.6"), "t-e.5"),
    ]
}

static TASKS: LazyLock<Vec<Tasks>> = LazyLock::new(|| {
    let unreadable = Tasks {
        reading: Reading::Failed(Fault::new(Sensor::Tasks, "exited with 1")),
        print: None,
        is_unknown: true,
        ..tasks("unreadable", "e", Vec::new())
    };
    let mut all = vec![unreadable];
    all.extend(no_tasks());
    all.extend(ready_or_ours());
    all.extend(stuck_or_closed());
    all.extend(several_kinds_of_tasks());
    all
});

fn one(name: &'static str, says: &str, task: Task) -> Tasks {
    tasks(name, says, vec![task])
}

fn of_kind(kind: Kind, task: Task) -> Task {
    Task { kind, ..task }
}

fn put_off_until(millis_from_now: i64, task: Task) -> Task {
    let defer_until = Some(NOW.plus_millis(millis_from_now));
    Task {
        defer_until,
        ..task
    }
}

fn sub_epic() -> Task {
    of_kind(Kind::Epic, open("t-e.8"))
}

fn no_tasks() -> Vec<Tasks> {
    let pinned = Task {
        pinned: true,
        ..open("t-e.4")
    };
    let ephemeral = Task {
        ephemeral: true,
        ..open("t-e.5")
    };
    let template = Task {
        template: true,
        ..open("t-e.6")
    };
    let gate = of_kind(Kind::Gate, open("t-e.2"));
    let unpinned = child("t-e.3", Status::Pinned);
    let rows = vec![gate, unpinned, pinned, ephemeral, template];
    vec![
        tasks("none", "e", Vec::new()),
        tasks("only rows that are no tasks", "e", rows),
    ]
}

fn ready_or_ours() -> Vec<Tasks> {
    let grandchild = below("t-e.8", Task::open("t-e.8.1"));
    let woken = put_off_until(0, child("t-e.1", Status::Deferred));
    let family = vec![sub_epic(), grandchild];
    let lease_over = claimed("t-e.1", "other", 30, Some(0));
    let leaseless = claimed("t-e.1", "other", 30, None);
    vec![
        one("a ready task", "r", open("t-e.1")),
        one("an epic without children", "r", sub_epic()),
        one("a deferred task whose date has come", "r", woken),
        tasks("a ready task of a sub-epic", "r", family),
        one("ours by name", "o", claimed("t-e.1", ACTOR, 30, Some(5))),
        one(
            "ours by the hour",
            "o",
            claimed("t-e.1", "dev", 10, Some(5)),
        ),
        one(
            "ours as noted before",
            "o",
            claimed("t-e.7", "dev", 30, Some(5)),
        ),
        one("another's whose lease is over", "o", lease_over),
        one("another's without a lease", "o", leaseless),
        one("hooked by nobody", "o", child("t-e.1", Status::Hooked)),
    ]
}

fn stuck_or_closed() -> Vec<Tasks> {
    let later = put_off_until(1, open("t-e.1"));
    let review = child("t-e.1", Status::parse("review"));
    let molecule = of_kind(Kind::Workflow, open("t-e.1"));
    let gate = of_kind(Kind::Gate, open("t-e.2"));
    let waiting_for = |id: &str| waits_for(open("t-e.1"), id);
    let for_gate = vec![gate, waiting_for("t-e.2")];
    let for_outside = vec![Task::open("t-x"), waiting_for("t-x")];
    let for_child = [waits_for(epic(), "t-e.1"), open("t-e.1")];
    let closed_grandchild = Task {
        status: Status::Closed,
        ..below("t-e.8", Task::open("t-e.8.1"))
    };
    let both_closed = vec![closed("t-e.1"), closed("t-e.2")];
    let family = vec![sub_epic(), closed_grandchild];
    vec![
        one("another's", "b", held("t-e.1")),
        one("blocked", "b", child("t-e.1", Status::Blocked)),
        one("put off", "b", child("t-e.1", Status::Deferred)),
        one("put off for a moment", "b", later),
        one("an unknown status", "b", review),
        one("a type nobody works on", "b", molecule),
        tasks("waits for a gate", "b", for_gate),
        tasks("waits outside the epic", "b", for_outside),
        tasks("a knot", "bk", knot().to_vec()),
        tasks_of("an epic that waits for its child", "bk", &for_child),
        tasks("all closed", "", both_closed),
        tasks("all closed in an open sub-epic", "", family),
    ]
}

fn several_kinds_of_tasks() -> Vec<Tasks> {
    let ready = || open("t-e.1");
    let ours = || claimed("t-e.2", ACTOR, 30, Some(5));
    let blocked = || child("t-e.3", Status::Blocked);
    let held = || held("t-e.4");
    let with_knot = |mut tasks: Vec<Task>| {
        tasks.extend(knot());
        tasks
    };
    vec![
        tasks("a task vanished, none is left", "se", Vec::new()),
        tasks(
            "a task vanished, the rest closed",
            "s",
            vec![closed("t-e.1")],
        ),
        tasks("a task vanished, another is ready", "sr", vec![ready()]),
        tasks("ready and ours", "ro", vec![ready(), ours()]),
        tasks("ready and blocked", "rb", vec![ready(), blocked()]),
        tasks("ready and closed", "r", vec![ready(), closed("t-e.2")]),
        tasks("ready and a knot", "rbk", with_knot(vec![ready()])),
        tasks("ours and blocked", "ob", vec![ours(), blocked()]),
        tasks("ours and another's", "ob", vec![ours(), held()]),
        tasks("ours and a knot", "obk", with_knot(vec![ours()])),
        tasks("ours and closed", "o", vec![ours(), closed("t-e.1")]),
        tasks("another's and blocked", "b", vec![held(), blocked()]),
        tasks("another's and a knot", "bk", with_knot(vec![held()])),
        tasks("another's and closed", "b", vec![held(), closed("t-e.1")]),
        tasks(
            "waits for another's",
            "b",
            vec![held(), waits_for(open("t-e.1"), "t-e.4")],
        ),
    ]
}

/// What a person would say about a work tree, in letters: `w`ork unsaved, `n`ew files, their `o`wn,
/// `b`ranches, branches `u`nreadable; `?` if it cannot be told.
fn tree(name: &'static str, says: &str, work_tree: WorkTree) -> Tree {
    let baseline = Baseline::of(&Git::Tree(WorkTree {
        changes: vec![changed("own.rs", "1"), new_file("own.txt", "1")],
        ..WorkTree::default()
    }));
    tree_of(
        name,
        says,
        Reading::Known(Git::Tree(work_tree)),
        Reading::Known(baseline),
    )
}

fn tree_of(name: &'static str, says: &str, git: Reading<Git>, baseline: Reading<Baseline>) -> Tree {
    let has_branches = (!says.contains('u')).then(|| says.contains('b'));
    Tree {
        name,
        print: print_of(&Reading::Unread, &git),
        is_readable: git.known().is_some(),
        stands_in: match &git {
            Reading::Known(Git::NoRepository) => StandsIn::Nothing,
            Reading::Known(Git::NoWorkTree) => StandsIn::Bare,
            Reading::Known(Git::Tree(_)) | Reading::Failed(_) | Reading::Unread => StandsIn::Tree,
        },
        git,
        baseline,
        branches: match has_branches {
            None => Reading::Failed(Fault::new(Sensor::Branches, "timed out")),
            Some(true) => Reading::Known(vec!["agent-t-e.1".into()]),
            Some(false) => Reading::Known(Vec::new()),
        },
        is_unknown: says.contains('?'),
        has_work: says.contains('w'),
        has_new: says.contains('n'),
        has_own: says.contains('o'),
        has_branches,
    }
}

fn with(changes: Vec<beadlock::kernel::snapshot::Change>) -> WorkTree {
    WorkTree {
        head: Some("c0ffee".into()),
        changes,
        ..WorkTree::default()
    }
}

static TREES: LazyLock<Vec<Tree>> = LazyLock::new(|| {
    let merging = WorkTree {
        unfinished: Some("merge".into()),
        ..with(Vec::new())
    };
    let own = || vec![changed("own.rs", "1"), new_file("own.txt", "1")];
    let machinery = vec![
        changed(".beads/db", "2"),
        new_file(".beads/x", "2"),
        new_file("progress.txt", "2"),
        new_file("tasks.jsonl", "2"),
    ];
    let failed = || Fault::new(Sensor::Git, "timed out");
    let clean = || Reading::Known(Git::Tree(with(Vec::new())));
    let since_then = |git: Git| {
        let baseline = Baseline::of(&git);
        (Reading::Known(git), Reading::Known(baseline))
    };
    let (nowhere, since_nowhere) = since_then(Git::NoRepository);
    let (bare, since_bare) = since_then(Git::NoWorkTree);
    let (_, nothing) = since_then(Git::Tree(with(Vec::new())));
    let new = || new_file("new.rs", "1");
    let edit = || changed("a.rs", "1");
    vec![
        tree_of("unreadable", "?", Reading::Failed(failed()), nothing),
        tree_of("no repository", "", nowhere.clone(), since_nowhere),
        tree_of("bare", "", bare.clone(), since_bare),
        tree_of(
            "no repository, baseline never recorded",
            "?",
            nowhere,
            Reading::Unread,
        ),
        tree_of(
            "bare, baseline unreadable",
            "?",
            bare,
            Reading::Failed(failed()),
        ),
        tree_of(
            "baseline unreadable",
            "?",
            clean(),
            Reading::Failed(failed()),
        ),
        tree_of("baseline never recorded", "?", clean(), Reading::Unread),
        tree("clean", "", with(Vec::new())),
        tree("the person's own half-finished files", "o", with(own())),
        tree("what the machinery writes", "", with(machinery)),
        tree("an edit", "w", with(vec![edit()])),
        tree(
            "an edit of the person's own file",
            "w",
            with(vec![changed("own.rs", "2")]),
        ),
        tree(
            "an edit of the tracker's file",
            "w",
            with(vec![changed("tasks.jsonl", "2")]),
        ),
        tree("a new file", "n", with(vec![new()])),
        tree(
            "a new file beside the person's own",
            "no",
            with([own(), vec![new()]].concat()),
        ),
        tree("an edit and a new file", "wn", with(vec![edit(), new()])),
        tree("a merge in the middle", "w", merging),
        tree("a task's branch", "b", with(Vec::new())),
        tree("a task's branch and a new file", "bn", with(vec![new()])),
        tree("branches unreadable", "u", with(Vec::new())),
        tree("branches unreadable, a new file", "un", with(vec![new()])),
        tree("branches unreadable, an edit", "uw", with(vec![edit()])),
    ]
});
