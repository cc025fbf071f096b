//! The laws of the decision, over long random histories: prompts, stops, wakings, pauses, and
//! readings of any kind in any order, each verdict's run fed to the next stop.

mod facts;

use std::collections::BTreeMap;

use beadlock::kernel::judge::fingerprint;
use beadlock::kernel::ledger::{
    Asked, By, Fingerprint, Outcome, PromptKind, Run, State, Territory,
};
use beadlock::kernel::otherwise::Difference;
use beadlock::kernel::policy::{Exits, OnUserPrompt, Policy, WhenUnknown};
use beadlock::kernel::signal::{Escalation, Words};
use beadlock::kernel::snapshot::{
    Background, Baseline, Change, Fault, Footing, Git, Glance, Reading, Sensor, Snapshot, WorkTree,
};
use beadlock::kernel::task::{Claim, Edge, EdgeKind, Epic, Kind, Status, Task, TaskId};
use beadlock::kernel::verdict::{Allow, Answer, Block, Need, Row, SavedWork, Verdict};
use beadlock::kernel::{brake, decide, judge, otherwise, wanted};
use facts::{ACTOR, MINUTE, NOW, changed, clean_start, new_file, run, stop_of};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_holds_no_more_than_max_cycles_times_whatever_happens(policy in policies(), history in histories()) {
        let mut blocks = BTreeMap::new();
        for stop in play(&policy, &history) {
            let blocks: &mut u32 = blocks.entry(stop.before.id.clone()).or_default();
            *blocks += u32::from(stop.is_block());
            prop_assert!(*blocks <= policy.max_cycles);
        }
    }

    #[test]
    fn between_two_wakings_only_progress_holds_more_than_no_progress_cycles_times(policy in policies(), history in histories()) {
        let mut idle = 0;
        for stop in play(&policy, &history) {
            if stop.woke || stop.is_new_state {
                idle = 0;
            }
            if stop.is_block() {
                idle += 1;
            }
            prop_assert!(idle <= policy.no_progress_cycles);
        }
    }

    #[test]
    fn facts_that_do_not_move_hold_at_most_no_progress_cycles_times(policy in policies(), facts in readings(), start in any::<bool>()) {
        let mut run = run(&policy);
        if start {
            run.seen.extend(facts.print(&run).progress());
        }
        let mut blocks = 0;
        loop {
            let verdict = facts.judged(run, &policy);
            match verdict.answer {
                Answer::Block(_) => blocks += 1,
                Answer::Allow(_) => break,
            }
            prop_assert!(blocks <= policy.no_progress_cycles);
            run = verdict.run.expect("a run");
        }
    }

    #[test]
    fn what_had_turned_the_verdict_around_is_found_by_deciding_again(policy in policies(), facts in readings()) {
        let mut run = run(&policy);
        for _ in 0..4 {
            let snapshot = facts.seen_by(run);
            let verdict = decide(&snapshot);
            let is_block = matches!(verdict.answer, Answer::Block(_));
            let found = otherwise(&snapshot);
            for other in &found {
                prop_assert_eq!(matches!(other.verdict.answer, Answer::Block(_)), !is_block);
            }
            if is_block {
                let again = found.iter().find_map(|other| match other.differences[..] {
                    [Difference::Again(times)] => Some(times),
                    _ => None,
                });
                let again = again.expect("every turn ends");
                let mut same = snapshot.clone();
                for _ in 0..again {
                    let verdict = decide(&same);
                    prop_assert!(matches!(verdict.answer, Answer::Block(_)));
                    same.run = Reading::Known(verdict.run);
                }
                prop_assert!(matches!(decide(&same).answer, Answer::Allow(_)));
            }
            run = verdict.run.expect("a run");
        }
    }

    #[test]
    fn going_to_and_fro_is_no_progress(policy in policies(), one in readings(), other in readings()) {
        let policy = Policy { max_cycles: 1000, ..policy };
        let mut run = run(&policy);
        let mut blocks = 0;
        for facts in [&one, &other].into_iter().cycle() {
            let verdict = facts.judged(run, &policy);
            match verdict.answer {
                Answer::Block(_) => blocks += 1,
                Answer::Allow(_) => break,
            }
            // Each of the two may be progress once.
            prop_assert!(blocks <= policy.no_progress_cycles + 1);
            run = verdict.run.expect("a run");
        }
    }

    #[test]
    fn complete_is_said_only_when_every_fact_proves_it(policy in policies(), history in histories()) {
        for stop in play(&policy, &history) {
            if let Answer::Allow(Allow::Complete { new_files }) = &stop.verdict.answer {
                prop_assert!(stop.proves_completion(&policy), "{:#?}", stop.facts);
                // The only new file that these worlds have is nobody's but the agent's.
                let is_left = policy.check_git && stop.has_new_file();
                prop_assert_eq!(!new_files.is_empty(), is_left, "{:?}", new_files);
            }
            let run = stop.verdict.run.as_ref().expect("a run");
            let is_said = stop.is_complete();
            let was_said = stop.before.outcome == Some(Outcome::Complete);
            prop_assert_eq!(run.outcome == Some(Outcome::Complete), is_said || was_said);
        }
    }

    #[test]
    fn a_work_tree_that_is_not_there_any_more_is_never_called_saved(policy in policies(), history in histories()) {
        for stop in play(&policy, &history) {
            let saved = Answer::Allow(Allow::Checkpoint { git: SavedWork::Saved });
            let is_called_saved = stop.is_complete() || stop.verdict.answer == saved;
            if policy.check_git && is_called_saved {
                prop_assert!(stop.is_where_it_began(), "{:#?}", stop.facts);
            }
        }
    }

    #[test]
    fn open_work_is_never_called_done(policy in policies(), history in histories()) {
        for stop in play(&policy, &history) {
            let is_open = stop.facts.epic.known().is_some_and(|epic| {
                epic.tasks.iter().any(|task| task.status != Status::Closed)
            });
            if is_open {
                prop_assert!(!stop.is_complete());
            }
        }
    }

    #[test]
    fn an_unknown_tracker_is_worth_what_policy_says(policy in policies(), facts in readings(), earlier in 0u32..4) {
        let facts = Facts { git: facts.git, background: facts.background, epic: failed(Sensor::Tasks), ..Facts::ready() };
        let policy = Policy { max_cycles: 1000, no_progress_cycles: 1000, ..policy };
        let mut run = run(&policy);
        for _ in 0..earlier {
            run = facts.judged(run, &policy).run.expect("a run");
        }
        let verdict = facts.judged(run, &policy);
        let holds = policy.when_unknown == WhenUnknown::Hold && earlier < 2;
        prop_assert_eq!(verdict.row, Row::TrackerUnknown);
        prop_assert_eq!(verdict.answer.name(), "unknown");
        prop_assert_eq!(matches!(verdict.answer, Answer::Block(_)), holds);
        prop_assert_eq!(verdict.run.expect("a run").state, State::Active);
    }

    #[test]
    fn an_unknown_git_is_worth_what_policy_says(policy in policies(), earlier in 0u32..4) {
        let facts = Facts { git: failed(Sensor::Git), ..Facts::done() };
        let policy = Policy { max_cycles: 1000, no_progress_cycles: 1000, ..policy };
        let mut run = run(&policy);
        for _ in 0..earlier {
            let mut next = facts.judged(run, &policy).run.expect("a run");
            next.state = State::Active;
            run = next;
        }
        let verdict = facts.judged(run, &policy);
        let holds = policy.when_unknown == WhenUnknown::Hold && earlier < 2;
        let name = if policy.check_git { "unknown" } else { "complete" };
        prop_assert_eq!(verdict.answer.name(), name);
        prop_assert_eq!(matches!(verdict.answer, Answer::Block(_)), policy.check_git && holds);
    }

    #[test]
    fn a_block_that_nobody_counted_is_withdrawn(policy in policies(), history in histories()) {
        for stop in play(&policy, &history) {
            let recorded = stop.verdict.answer.clone();
            let verdict = stop.verdict.unrecorded(Fault::new(Sensor::Run, "disk full"));
            match recorded {
                Answer::Block(_) => prop_assert_eq!(verdict.answer.name(), "unrecorded"),
                Answer::Allow(_) => prop_assert_eq!(&verdict.answer, &recorded),
            }
            prop_assert!(matches!(verdict.answer, Answer::Allow(_)));
        }
    }

    #[test]
    fn the_same_facts_always_give_the_same_verdict(policy in policies(), history in histories()) {
        for (one, other) in play(&policy, &history).iter().zip(play(&policy, &history)) {
            prop_assert_eq!(&one.verdict.answer, &other.verdict.answer);
            prop_assert_eq!(&one.verdict.run, &other.verdict.run);
        }
    }

    #[test]
    fn a_stop_that_is_judged_is_one_cycle_and_no_other_is(policy in policies(), history in histories()) {
        for stop in play(&policy, &history) {
            let run = stop.verdict.run.as_ref().expect("a run");
            let cycle = u32::from(stop.verdict.row as u8 >= 9);
            let block = u32::from(stop.is_block());
            prop_assert_eq!(run.counters.cycles, stop.before.counters.cycles + cycle);
            prop_assert_eq!(run.counters.blocks, stop.before.counters.blocks + block);
            prop_assert_eq!(run.counters.stops, stop.before.counters.stops + 1);
        }
    }

    #[test]
    fn totals_never_decrease(policy in policies(), history in histories()) {
        let totals = |run: &Run| {
            let counters = run.counters;
            [counters.stops, counters.cycles, counters.blocks]
        };
        let mut totals_of = BTreeMap::new();
        for stop in play(&policy, &history) {
            let last = totals_of.entry(stop.before.id.clone()).or_insert([0; 3]);
            for run in [&stop.before, stop.verdict.run.as_ref().expect("a run")] {
                let now = totals(run);
                prop_assert!(last.iter().zip(now).all(|(&last, now)| last <= now));
                *last = now;
            }
        }
    }

    #[test]
    fn a_run_at_rest_holds_nobody_and_stays_as_it_is(policy in policies(), history in histories()) {
        for stop in play(&policy, &history) {
            if stop.before.state != State::Active {
                let run = stop.verdict.run.as_ref().expect("a run");
                prop_assert!(matches!(stop.verdict.answer, Answer::Allow(_)));
                prop_assert_eq!((run.state, run.outcome), (stop.before.state, stop.before.outcome));
            }
        }
    }

    #[test]
    fn the_epics_own_status_proves_nothing(policy in policies(), tasks in vec(tasks(), 0..4), facts in readings(), status in select(STATUSES.to_vec())) {
        let with_root = |status: Status| {
            let root = Task { status, kind: Kind::Epic, ..Task::open("t-e") };
            let all: Vec<Task> = std::iter::once(root).chain(numbered(&tasks)).collect();
            let epic = Epic::of(&all, "t-e", NOW).expect("an epic");
            let facts = Facts { epic: Reading::Known(epic), ..facts.clone() };
            facts.judged(run(&policy), &policy)
        };
        let (open, other) = (with_root(Status::Open), with_root(status));
        prop_assert_eq!(open.answer, other.answer);
        prop_assert_eq!(open.row, other.row);
    }

    #[test]
    fn the_order_of_gits_changes_means_nothing(facts in readings(), seed in any::<u64>()) {
        let run = run(&Policy::default());
        let mut turned = facts.clone();
        if let Reading::Known(Git::Tree(tree)) = &mut turned.git {
            let length = tree.changes.len().max(1);
            tree.changes.rotate_left(usize::try_from(seed % length as u64).expect("small"));
            tree.changes.reverse();
        }
        prop_assert_eq!(facts.print(&run), turned.print(&run));
    }
}

#[test]
fn a_waking_starts_the_counts_in_a_row_anew() {
    let policy = Policy::default();
    let facts = Facts::ready();
    let mut run = run(&policy);
    for _ in 0..2 {
        for _ in 0..policy.no_progress_cycles {
            let verdict = facts.judged(run, &policy);
            assert_eq!(verdict.answer.name(), "open_work");
            run = verdict.run.expect("a run");
        }
        let verdict = facts.judged(run, &policy);
        assert_eq!(verdict.answer.name(), "no_progress");
        run = verdict.run.expect("a run");
        assert_eq!(facts.judged(run.clone(), &policy).answer.name(), "resting");
        run.wake(NOW);
    }
    assert_eq!(run.counters.blocks, 10);
    assert_eq!(run.counters.cycles, 12);
}

#[test]
fn a_vanished_task_is_accepted_only_after_it_was_reported() {
    let policy = Policy::default();
    let both = Facts::with_tasks(&[Task::open("t-e.1"), Task::open("t-e.2")]);
    let one = Facts::with_tasks(&[Task::open("t-e.1")]);
    let blocked = Words {
        escalation: Some(Escalation {
            tag: "BLOCKED".into(),
            lines: Vec::new(),
        }),
        ..Words::default()
    };
    let run = both.judged(run(&policy), &policy).run.expect("a run");
    let escalated = Facts {
        words: Reading::Known(blocked),
        ..one.clone()
    };
    let mut run = escalated.judged(run, &policy).run.expect("a run");
    run.wake(NOW);
    run.accept_scope();
    let verdict = one.judged(run, &policy);
    let gone = vec![TaskId::from("t-e.2")];
    assert_eq!(
        verdict.answer,
        Answer::Block(Block::ScopeShrunk(gone.clone()))
    );
    let mut run = verdict.run.expect("a run");
    let told = one.judged(run.clone(), &policy);
    assert_eq!(
        told.answer,
        Answer::Allow(Allow::NeedsHuman(Need::Shrunk(gone)))
    );
    run.accept_scope();
    assert_eq!(one.judged(run, &policy).answer.name(), "open_work");
}

#[test]
fn a_task_that_came_back_is_not_given_up_by_the_next_prompt() {
    let policy = Policy::default();
    let both = Facts::with_tasks(&[Task::open("t-e.1"), Task::open("t-e.2")]);
    let one = Facts::with_tasks(&[Task::open("t-e.1")]);
    let mut run = run(&policy);
    for facts in [&both, &one, &both] {
        run = facts.judged(run, &policy).run.expect("a run");
    }
    run.accept_scope();
    assert_eq!(one.judged(run, &policy).answer.name(), "scope_shrunk");
}

#[test]
fn a_claim_made_in_our_turns_stays_ours_in_the_next() {
    let policy = Policy::default();
    let claim = Claim {
        actor: "dev".into(),
        since: Some(NOW.plus_millis(-MINUTE)),
        lease_until: Some(NOW.plus_millis(MINUTE)),
    };
    let taken = Task {
        status: Status::InProgress,
        claim: Some(claim),
        ..Task::open("t-e.1")
    };
    let facts = Facts::with_tasks(&[taken]);
    let mut run = facts.judged(run(&policy), &policy).run.expect("a run");
    run.wake(NOW);
    assert_eq!(
        facts.judged(run.clone(), &policy).answer.name(),
        "in_progress"
    );
    // Somebody else's, if it was made while nobody was at work here.
    run.taken.clear();
    run.turn.claims_since = NOW;
    assert_eq!(facts.judged(run, &policy).answer.name(), "needs_human");
}

#[test]
fn background_work_is_waited_for_once() {
    let policy = Policy::default();
    let work = |id: &str| Background {
        id: id.into(),
        label: format!("{id} server"),
    };
    let with = |ids: &[&str]| Facts {
        background: ids.iter().map(|id| work(id)).collect(),
        git: Reading::Known(Git::Tree(WorkTree {
            changes: vec![changed("a.rs", "1")],
            ..WorkTree::default()
        })),
        ..Facts::done()
    };
    let named = |labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Answer::Allow(Allow::Background(labels))
    };
    let first = with(&["dev", "test"]).judged(run(&policy), &policy);
    assert_eq!(first.answer, named(&["dev server", "test server"]));
    let second = with(&["dev", "test"]).judged(first.run.expect("a run"), &policy);
    assert_eq!(second.answer.name(), "unsaved_work");
    let third = with(&["dev", "new"]).judged(second.run.expect("a run"), &policy);
    assert_eq!(third.answer, named(&["new server"]));
    assert_eq!(third.run.expect("a run").state, State::Active);
}

#[test]
fn progress_is_tasks_head_and_tracked_changes_and_nothing_else() {
    let run = Run {
        territory: Territory {
            not_work: vec![".beads/".into(), "progress.txt".into()],
            tracker_file: Some("tasks.jsonl".into()),
        },
        ..run(&Policy::default())
    };
    let tree = |head: &str, changes: &[Change]| {
        Facts {
            git: Reading::Known(Git::Tree(WorkTree {
                head: Some(head.into()),
                changes: changes.to_vec(),
                ..WorkTree::default()
            })),
            ..Facts::ready()
        }
        .print(&run)
    };
    let base = tree("c0", &[]);
    let done = Facts::done().print(&run);
    assert_ne!(base.progress(), tree("c1", &[]).progress());
    assert_ne!(
        base.progress(),
        tree("c0", &[changed("a.rs", "1")]).progress()
    );
    assert_ne!(
        tree("c0", &[changed("a.rs", "1")]).progress(),
        tree("c0", &[changed("a.rs", "2")]).progress()
    );
    let staged = Change {
        staged: Some("2".into()),
        ..changed("a.rs", "1")
    };
    assert_ne!(
        tree("c0", &[changed("a.rs", "1")]).progress(),
        tree("c0", &[staged]).progress()
    );
    assert_ne!(Facts::ready().print(&run).progress(), done.progress());
    for change in [
        new_file("new.rs", "1"),
        changed("tasks.jsonl", "1"),
        changed(".beads/issues", "1"),
        changed("progress.txt", "1"),
    ] {
        let with = tree("c0", std::slice::from_ref(&change));
        assert_eq!(base.progress(), with.progress(), "{}", change.path);
        assert_eq!(with.has_moved_since(&base), change.path == "new.rs");
    }
    for change in [changed(".beadsmith", "1"), changed("a/progress.txt", "1")] {
        let with = tree("c0", std::slice::from_ref(&change));
        assert_ne!(base.progress(), with.progress(), "{}", change.path);
    }
    assert!(tree("c1", &[]).has_moved_since(&base));
    assert!(tree("c0", &[changed("a.rs", "1")]).has_moved_since(&base));
    assert!(done.has_moved_since(&Facts::ready().print(&run)));
    assert!(!base.has_moved_since(&base));
    assert!(!base.has_moved_since(&Fingerprint::default()));
    assert!(!Fingerprint::default().has_moved_since(&base));
}

#[test]
fn of_the_persons_own_file_only_a_new_version_in_the_index_is_work() {
    let policy = Policy::default();
    let own = |staged: Option<&str>| Change {
        staged: staged.map(str::to_owned),
        ..changed("own.rs", "1")
    };
    let tree = |change: Change| {
        Git::Tree(WorkTree {
            changes: vec![change],
            ..WorkTree::default()
        })
    };
    for (then, now, name) in [
        (None, None, "complete"),
        (None, Some("a"), "unsaved_work"),
        (Some("a"), Some("a"), "complete"),
        (Some("a"), Some("b"), "unsaved_work"),
        // As `git stash pop` leaves it; what the work tree has is still theirs.
        (Some("a"), None, "complete"),
    ] {
        let facts = Facts {
            baseline: Reading::Known(Baseline::of(&tree(own(then)))),
            git: Reading::Known(tree(own(now))),
            ..Facts::done()
        };
        let verdict = facts.judged(run(&policy), &policy);
        assert_eq!(verdict.answer.name(), name, "{then:?} {now:?}");
    }
}

#[test]
fn an_agent_whose_work_moves_is_held_every_time() {
    let policy = Policy {
        no_progress_cycles: 1,
        ..Policy::default()
    };
    for eye in [Eye::Shut, Eye::Clear, Eye::Odd] {
        let mut run = run(&policy);
        for head in 0..8 {
            let tree = WorkTree {
                head: Some(format!("c{head}")),
                ..WorkTree::default()
            };
            let facts = Facts {
                git: Reading::Known(Git::Tree(tree)),
                eye,
                ..Facts::ready()
            };
            let verdict = facts.judged(run, &policy);
            assert_eq!(verdict.answer.name(), "open_work", "{eye:?}");
            run = verdict.run.expect("a run");
        }
    }
}

#[test]
fn what_the_agent_schedules_is_known_again_within_limits() {
    let policy = Policy::default();
    let scheduling = |run: Run, words: Vec<String>| {
        let mut snapshot = Facts::ready().seen_by(run);
        snapshot.stop.scheduled = words;
        let verdict = brake(judge(&snapshot, &policy), &snapshot, &policy);
        verdict.run.expect("a run")
    };
    let first = scheduling(run(&policy), vec!["a".into()]);
    let second = scheduling(first, vec!["b".into()]);
    for (words, kind) in [
        ("a", PromptKind::Machine),
        ("b", PromptKind::Machine),
        ("c", PromptKind::Person),
    ] {
        assert_eq!(second.who_asked(PromptKind::Person, words), kind);
    }
    let many = (0..150).map(|number| number.to_string()).collect();
    let full = scheduling(run(&policy), many);
    assert_eq!(full.scheduled.len(), 100);
    assert!(full.scheduled.contains("99"));
}

#[test]
fn what_git_or_the_tracker_did_not_say_is_no_progress() {
    let run = run(&Policy::default());
    for facts in [
        Facts {
            git: failed(Sensor::Git),
            ..Facts::ready()
        },
        Facts {
            epic: failed(Sensor::Tasks),
            ..Facts::ready()
        },
    ] {
        assert_eq!(facts.print(&run).progress(), None);
    }
    let kinds = [Git::NoRepository, Git::NoWorkTree].map(|git| {
        let facts = Facts {
            git: Reading::Known(git),
            ..Facts::ready()
        };
        facts.print(&run).progress()
    });
    assert!(kinds.iter().all(Option::is_some));
    assert_ne!(kinds[0], kinds[1]);
}

#[test]
fn a_sessions_end_leaves_only_an_active_run_waiting() {
    for state in State::ALL {
        let before = Run {
            state,
            ..run(&Policy::default())
        };
        let mut after = before.clone();
        after.session_over(NOW);
        if state == State::Active {
            assert_eq!(after.state, State::Waiting);
            assert_eq!(after.outcome, Some(Outcome::SessionOver));
            assert!(after.told.is_owed);
            assert_eq!(after.last_event_at, NOW);
        } else {
            assert_eq!(after, before);
        }
    }
}

#[test]
fn what_the_agent_does_to_its_own_run_is_owed_to_the_person() {
    for (by, paused, aborted) in [
        (By::Person, Outcome::Paused, Outcome::Aborted),
        (By::Agent, Outcome::PausedByAgent, Outcome::Abandoned),
    ] {
        let mut pause = run(&Policy::default());
        let mut abort = pause.clone();
        pause.pause(by, NOW);
        abort.abort(by, NOW);
        assert_eq!((pause.state, pause.outcome), (State::Paused, Some(paused)));
        assert_eq!((abort.state, abort.outcome), (State::Ended, Some(aborted)));
        for run in [&pause, &abort] {
            assert_eq!(run.told.is_owed, by == By::Agent);
            assert_eq!(run.last_event_at, NOW);
        }
        assert!(abort.is_over() && !pause.is_over());
    }
}

#[test]
fn a_run_is_free_when_it_rests_or_was_quiet_for_too_long() {
    let policy = Policy::default();
    for state in State::ALL {
        for (quiet, is_long) in [(120 * MINUTE, false), (120 * MINUTE + 1, true)] {
            let run = Run {
                state,
                last_event_at: NOW.plus_millis(-quiet),
                ..run(&policy)
            };
            let is_free = match state {
                State::Active => is_long,
                State::Waiting | State::Stale | State::Paused => true,
                State::Ended => false,
            };
            assert_eq!(run.is_free(NOW), is_free, "{state:?}");
        }
    }
}

fn asked(kind: PromptKind) -> Asked {
    Asked {
        id: Some("p1".into()),
        kind,
        is_interactive: true,
        before: Fingerprint::default(),
    }
}

#[test]
fn only_what_somebody_typed_wakes_and_only_a_run_that_waits() {
    for state in State::ALL {
        for kind in PromptKind::ALL {
            let mut run = Run {
                state,
                outcome: Some(Outcome::NoProgress),
                ..run(&Policy::default())
            };
            run.turn.is_judged = true;
            run.counters.blocks_idle = 5;
            let before = run.clone();
            let now = NOW.plus_millis(MINUTE);
            run.prompted(asked(kind), now);
            let is_typed = matches!(
                kind,
                PromptKind::Person | PromptKind::Command | PromptKind::RunTasks
            );
            let woke = state == State::Waiting && is_typed;
            if state == State::Active || woke {
                let prompt = run.turn.prompt.clone().expect("a prompt");
                assert_eq!((prompt.kind, prompt.woke), (kind, woke));
                assert_eq!((run.state, run.last_event_at), (State::Active, now));
                assert!(!run.turn.is_judged);
                assert_eq!(run.outcome.is_none(), woke);
                assert_eq!(run.counters.blocks_idle == 0, woke);
            } else {
                let hears_prompts = true;
                assert_eq!(
                    run,
                    Run {
                        hears_prompts,
                        ..before
                    }
                );
            }
        }
    }
}

#[test]
fn the_first_prompt_of_a_run_is_its_marching_orders_and_never_late() {
    let mut fresh = run(&Policy::default());
    fresh.counters.stops = 0;
    fresh.last_event_at = NOW.plus_millis(-300 * MINUTE);
    let mut woken = run(&Policy::default());
    woken.last_event_at = NOW.plus_millis(-300 * MINUTE);
    for (mut run, is_first) in [(fresh, true), (woken, false)] {
        run.prompted(asked(PromptKind::Person), NOW);
        let prompt = run.turn.prompt.clone().expect("a prompt");
        assert_eq!((prompt.is_first, prompt.quiet_before), (is_first, 0));
        let mut next = asked(PromptKind::Person);
        next.id = Some("another".to_owned());
        run.prompted(next, NOW.plus_millis(MINUTE));
        let prompt = run.turn.prompt.clone().expect("a prompt");
        assert_eq!((prompt.is_first, prompt.quiet_before), (false, MINUTE));
    }
}

/// Claude Code 2.1.327 reports what is typed while the agent is at work under the turn's own id.
#[test]
fn words_put_in_while_the_agent_works_steer_the_turn_and_begin_none() {
    let mut at_work = run(&Policy::default());
    at_work.prompted(asked(PromptKind::RunTasks), NOW);
    at_work.turn.is_judged = true;
    at_work.turn.blocks = 2;
    at_work.missing = vec!["t-e.9".into()];
    let later = NOW.plus_millis(MINUTE);
    let mut steered = at_work.clone();
    steered.prompted(asked(PromptKind::Person), later);
    assert_eq!(steered.turn, at_work.turn);
    assert_eq!(steered.counters, at_work.counters);
    assert_eq!(steered.last_event_at, later);
    assert_eq!(steered.missing, []);
    // Words that nobody typed at a screen steer too, and accept nothing.
    for (kind, is_interactive) in [(PromptKind::Person, false), (PromptKind::Machine, true)] {
        let mut unseen = at_work.clone();
        let words = Asked {
            is_interactive,
            ..asked(kind)
        };
        unseen.prompted(words, later);
        assert_eq!(unseen.missing, at_work.missing, "{kind:?}");
    }
    let mut unnamed = at_work.clone();
    let mut next = asked(PromptKind::Person);
    next.id = None;
    unnamed.turn.prompt.as_mut().expect("a prompt").id = None;
    unnamed.prompted(next, later);
    assert_eq!(unnamed.counters.turns_cut, at_work.counters.turns_cut + 1);
    let mut waiting = at_work.clone();
    waiting.state = State::Waiting;
    waiting.prompted(asked(PromptKind::Person), later);
    assert_eq!(waiting.state, State::Active);
    assert!(!waiting.turn.is_judged);
}

#[test]
fn scope_is_accepted_at_a_screen_and_nowhere_else() {
    for (kind, is_interactive, accepted) in [
        (PromptKind::Person, true, true),
        (PromptKind::Person, false, false),
        (PromptKind::Machine, true, false),
    ] {
        let mut run = run(&Policy::default());
        run.roster = Some(vec![beadlock::kernel::ledger::Member {
            id: "t-e.9".into(),
            is_closed: false,
            is_epic: false,
        }]);
        run.missing = vec!["t-e.9".into()];
        let asked = Asked {
            is_interactive,
            ..asked(kind)
        };
        run.prompted(asked, NOW);
        assert_eq!(run.roster.expect("a roster").is_empty(), accepted);
    }
}

#[test]
fn a_turn_that_ended_over_a_block_is_noticed_by_every_next_event() {
    let policy = Policy::default();
    let held = Facts::ready()
        .judged(run(&policy), &policy)
        .run
        .expect("a run");
    assert_eq!((held.turn.blocks, held.counters.turns_cut), (1, 0));
    let mut prompted = held.clone();
    prompted.prompted(asked(PromptKind::Person), NOW);
    let mut over = held.clone();
    over.session_over(NOW);
    // Somebody who wakes it from outside has cut nothing.
    let mut woken = held.clone();
    woken.wake(NOW);
    assert_eq!(woken.counters.turns_cut, 0);
    let mut snapshot = Facts::ready().seen_by(held.clone());
    snapshot.stop.prompt = Some("another".into());
    let mut named = held;
    named.turn.prompt = prompted.turn.prompt.clone();
    snapshot.run = Reading::Known(Some(named));
    let next = brake(judge(&snapshot, &policy), &snapshot, &policy);
    for run in [&prompted, &over, &next.run.expect("a run")] {
        assert_eq!(run.counters.turns_cut, 1);
    }
    // One that was let go was not cut.
    let free = Facts::with_tasks(&[]).judged(run(&policy), &policy).run;
    assert_eq!(free.expect("a run").turn.blocks, 0);
}

#[test]
fn what_is_over_stays_as_it_was() {
    let ended = Run {
        state: State::Ended,
        outcome: Some(Outcome::Complete),
        ..run(&Policy::default())
    };
    let changes: [fn(&mut Run); 4] = [
        |run| run.wake(NOW),
        |run| run.pause(By::Agent, NOW),
        |run| run.abort(By::Person, NOW),
        |run| run.session_over(NOW),
    ];
    for change in changes {
        let mut run = ended.clone();
        change(&mut run);
        assert_eq!(run, ended);
    }
}

#[test]
fn what_leaves_work_behind_is_owed_and_no_stop_pays() {
    let policy = Policy::default();
    for is_interactive in [false, true] {
        for (facts, is_owed) in [
            (Facts::with_tasks(&[]), true),
            // That all is done may be read once, where somebody reads.
            (Facts::done(), !is_interactive),
        ] {
            let mut snapshot = facts.seen_by(run(&policy));
            snapshot.stop.is_interactive = is_interactive;
            let verdict = brake(judge(&snapshot, &policy), &snapshot, &policy);
            let ended = verdict.run.expect("a run");
            assert_eq!((ended.is_over(), ended.told.is_owed), (true, is_owed));
            snapshot.run = Reading::Known(Some(ended));
            let verdict = brake(judge(&snapshot, &policy), &snapshot, &policy);
            assert_eq!(verdict.run.expect("a run").told.is_owed, is_owed);
        }
    }
}

#[test]
fn a_stop_that_another_row_decides_does_not_forget_what_is_missing() {
    let policy = Policy::default();
    let asking = Facts {
        words: Reading::Known(Words {
            is_checkpoint: true,
            ..Words::default()
        }),
        ..Facts::done()
    };
    let mut run = run(&policy);
    run.missing = vec!["t-e.9".into()];
    let after = asking.judged(run, &policy);
    assert_eq!(after.answer.name(), "checkpoint");
    assert_eq!(after.run.expect("a run").missing, ["t-e.9".into()]);
}

/// Nobody works on an epic that is only there for its children, whatever its status says.
#[test]
fn an_epic_in_progress_that_its_own_child_waits_for_is_a_knot() {
    let to = |target: &str, kind| Edge {
        target: target.into(),
        kind,
    };
    let epic = Task {
        kind: Kind::Epic,
        ..Task::open("t-e")
    };
    let sub = Task {
        kind: Kind::Epic,
        status: Status::InProgress,
        edges: vec![to("t-e", EdgeKind::ParentChild)],
        ..Task::open("t-e.1")
    };
    let child = Task {
        edges: vec![
            to("t-e.1", EdgeKind::ParentChild),
            to("t-e.1", EdgeKind::Blocks),
        ],
        ..Task::open("t-e.1.1")
    };
    let epic = Epic::of(&[epic, sub, child], "t-e", NOW).expect("the epic");
    assert_eq!(epic.knot, ["t-e.1.1".into()]);
}

#[test]
fn another_rule_in_between_starts_the_count_anew() {
    let policy = Policy::default();
    let blind = Facts {
        epic: failed(Sensor::Tasks),
        ..Facts::ready()
    };
    let mut run = run(&policy);
    run.seen.extend(Facts::ready().print(&run).progress());
    let stops = [
        (&blind, "unknown"),
        (&Facts::ready(), "open_work"),
        (&blind, "unknown"),
        (&blind, "unknown"),
    ];
    for (number, (facts, expected)) in stops.into_iter().enumerate() {
        let verdict = facts.judged(run, &policy);
        let is_block = matches!(verdict.answer, Answer::Block(_));
        assert_eq!(
            (verdict.answer.name(), is_block),
            (expected, true),
            "{number}"
        );
        run = verdict.run.expect("a run");
    }
    let last = blind.judged(run, &policy).answer;
    assert!(
        matches!(last, Answer::Allow(_)),
        "held a third time in a row"
    );
}

/// New files are asked for once, however often something else was asked for before.
#[test]
fn new_files_are_asked_for_once_whatever_was_asked_for_before() {
    let policy = Policy::default();
    let with = |change: Change| {
        let mut facts = Facts::done();
        facts.git = Reading::Known(Git::Tree(WorkTree {
            head: Some("c0ffee".into()),
            changes: vec![change],
            ..WorkTree::default()
        }));
        facts
    };
    let (edited, new) = (with(changed("a.c", "1")), with(new_file("b.c", "1")));
    let asking = Facts {
        words: Reading::Known(Words {
            is_checkpoint: true,
            ..Words::default()
        }),
        ..new.clone()
    };
    for before in [None, Some(&edited), Some(&asking)] {
        let mut run = run(&policy);
        // Going to and fro between states that were seen is no progress.
        for facts in [&edited, &new] {
            run.seen.extend(facts.print(&run).progress());
        }
        if let Some(before) = before {
            let verdict = before.judged(run, &policy);
            assert_eq!(verdict.answer.name(), "unsaved_work");
            run = verdict.run.expect("a run");
        }
        for expected in ["unsaved_work", "complete"] {
            let verdict = new.judged(run, &policy);
            assert_eq!(verdict.answer.name(), expected, "after {before:?}");
            run = verdict.run.expect("a run");
        }
    }
}

#[test]
fn that_it_is_switched_off_is_news_once() {
    let policy = Policy::default();
    let facts = Facts {
        enabled: Reading::Known(false),
        ..Facts::ready()
    };
    let mut run = run(&policy);
    for is_news in [true, false, false] {
        let verdict = facts.judged(run, &policy);
        let expected = beadlock::kernel::verdict::Allow::Disabled { is_news };
        assert_eq!(
            verdict.answer,
            beadlock::kernel::verdict::Answer::Allow(expected)
        );
        run = verdict.run.expect("a run");
    }
    // Switched on and off again, it is news again.
    run = Facts::ready().judged(run, &policy).run.expect("a run");
    assert!(!run.told.switched_off);
}

/// A stop's line may have had no reader but the agent: a prompt has to show it, once.
#[test]
fn that_an_active_run_is_switched_off_is_owed_once() {
    let policy = Policy::default();
    let facts = Facts {
        enabled: Reading::Known(false),
        ..Facts::ready()
    };
    for state in State::ALL {
        for is_told in [false, true] {
            let mut before = run(&policy);
            before.state = state;
            before.told.switched_off = is_told;
            let after = facts.judged(before, &policy).run.expect("a run");
            let is_owed = state == State::Active && !is_told;
            assert_eq!(after.told.is_owed, is_owed, "{state:?} {is_told}");
        }
    }
    let held = Facts::ready().judged(run(&policy), &policy);
    assert!(!held.run.expect("a run").told.is_owed);
}

#[test]
fn a_turn_that_nobody_reported_is_dated_by_its_first_stop() {
    let policy = Policy::default();
    let stop = |run: Run, id: Option<&str>| {
        let mut snapshot = Facts::ready().seen_by(run);
        snapshot.stop.prompt = id.map(str::to_owned);
        let verdict = brake(judge(&snapshot, &policy), &snapshot, &policy);
        verdict.run.expect("a run")
    };
    let mut before = run(&policy);
    before.counters.stops = 0;
    let opened = before.turn.claims_since;
    let first = stop(before, Some("p1"));
    let prompt = first.turn.prompt.clone().expect("a prompt");
    assert_eq!(prompt.kind, PromptKind::Unreported);
    assert_eq!(prompt.id.as_deref(), Some("p1"));
    // The turn that `start` opened is this one, however late its stop.
    assert_eq!(prompt.quiet_before, 0);
    assert!(prompt.is_first && !prompt.woke);
    assert_eq!(first.turn.claims_since, opened);
    assert_eq!(first.last_event_at, NOW);
    let same = stop(first.clone(), Some("p1"));
    assert_eq!(same.turn.prompt, first.turn.prompt);
    let nameless = stop(first.clone(), None);
    assert_eq!(nameless.turn.prompt, first.turn.prompt);
    let mut later = first;
    later.last_event_at = NOW.plus_millis(-5 * MINUTE);
    let next = stop(later, Some("p2"));
    let prompt = next.turn.prompt.clone().expect("a prompt");
    // Held before and not settled: what was claimed then is still ours.
    assert_eq!(next.turn.claims_since, opened);
    assert_eq!(prompt.quiet_before, 5 * MINUTE);
    assert!(!prompt.is_first);
}

#[test]
fn a_switched_off_project_is_noted_as_told() {
    let policy = Policy::default();
    let off = Facts {
        enabled: Reading::Known(false),
        ..Facts::ready()
    };
    assert!(
        off.judged(run(&policy), &policy)
            .run
            .expect("a run")
            .told
            .switched_off
    );
    let on = Facts::ready().judged(run(&policy), &policy);
    assert!(!on.run.expect("a run").told.switched_off);
}

#[test]
fn the_roster_keeps_a_tasks_last_known_state() {
    let policy = Policy::default();
    let closed = Task {
        status: Status::Closed,
        ..Task::open("t-e.2")
    };
    let open = Facts::with_tasks(&[Task::open("t-e.1"), Task::open("t-e.2")]);
    let half = Facts::with_tasks(&[Task::open("t-e.1"), closed]);
    let gone = Facts::with_tasks(&[Task::open("t-e.1")]);
    let after = |history: &[&Facts]| {
        let judged = |run, facts: &&Facts| facts.judged(run, &policy).run.expect("a run");
        let run = history.iter().fold(run(&policy), judged);
        gone.judged(run, &policy).answer.name()
    };
    assert_eq!(after(&[&open]), "scope_shrunk");
    assert_eq!(after(&[&open, &half]), "open_work");
    assert_eq!(after(&[&half]), "open_work");
    assert_eq!(after(&[&half, &open]), "scope_shrunk");
    // A task that was added later is no part of the roster.
    assert_eq!(after(&[&gone, &open]), "open_work");
}

/// Everything that is read at one stop.
#[derive(Clone, Debug)]
struct Facts {
    enabled: Reading<bool>,
    words: Reading<Words>,
    epic: Reading<Epic>,
    git: Reading<Git>,
    baseline: Reading<Baseline>,
    branches: Reading<Vec<String>>,
    background: Vec<Background>,
    is_planning: bool,
    is_interactive: bool,
    eye: Eye,
}

/// What git's library makes of the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eye {
    /// It cannot tell.
    Shut,
    /// The same as git.
    Clear,
    /// A file that git knows to be as it should be has changed, as with a filter.
    Odd,
}

impl Facts {
    fn with_tasks(tasks: &[Task]) -> Facts {
        let mut all = vec![Task::open("t-e")];
        all.extend_from_slice(tasks);
        let tree = WorkTree {
            head: Some("c0ffee".into()),
            ..WorkTree::default()
        };
        Facts {
            enabled: Reading::Known(true),
            words: Reading::Known(Words::default()),
            epic: Epic::of(&all, "t-e", NOW).map_or_else(|| failed(Sensor::Tasks), Reading::Known),
            git: Reading::Known(Git::Tree(tree)),
            baseline: Reading::Known(clean_start()),
            branches: Reading::Known(Vec::new()),
            background: Vec::new(),
            is_planning: false,
            is_interactive: true,
            eye: Eye::Shut,
        }
    }

    fn ready() -> Facts {
        Facts::with_tasks(&[Task::open("t-e.1")])
    }

    fn done() -> Facts {
        Facts::with_tasks(&[Task {
            status: Status::Closed,
            ..Task::open("t-e.1")
        }])
    }

    fn seen_by(&self, run: Run) -> Snapshot {
        let mut snapshot = stop_of(run);
        snapshot.enabled.clone_from(&self.enabled);
        snapshot.words.clone_from(&self.words);
        snapshot.epic.clone_from(&self.epic);
        snapshot.git.clone_from(&self.git);
        snapshot.baseline.clone_from(&self.baseline);
        snapshot.branches.clone_from(&self.branches);
        snapshot.stop.background.clone_from(&self.background);
        snapshot.stop.is_planning = self.is_planning;
        snapshot.stop.is_interactive = self.is_interactive;
        snapshot
    }

    fn judged(&self, run: Run, policy: &Policy) -> Verdict {
        self.ruled(self.seen_by(run), policy)
    }

    /// The verdict, with git looked at only as closely as it is asked about.
    fn ruled(&self, mut snapshot: Snapshot, policy: &Policy) -> Verdict {
        if let Some(glance) = self.glance() {
            snapshot.git = Reading::Unread;
            loop {
                let sensors = wanted(&snapshot, policy);
                for sensor in &sensors {
                    match sensor {
                        Sensor::Glance => snapshot.glance = Some(glance.clone()),
                        Sensor::Git => snapshot.git.clone_from(&self.git),
                        unread => snapshot.mark_unread_as_failed(*unread),
                    }
                }
                if sensors.is_empty() {
                    break;
                }
            }
        }
        brake(judge(&snapshot, policy), &snapshot, policy)
    }

    fn glance(&self) -> Option<Glance> {
        let Git::Tree(tree) = self.git.known()? else {
            return None;
        };
        let odd = match self.eye {
            Eye::Shut => return None,
            Eye::Clear => None,
            Eye::Odd => Some(changed("filtered.bin", "1")),
        };
        let tracked = tree.changes.iter().filter(|change| !change.is_untracked);
        Some(Glance {
            head: tree.head.clone(),
            changes: tracked.cloned().chain(odd).collect(),
        })
    }

    fn print(&self, run: &Run) -> Fingerprint {
        fingerprint(&self.seen_by(run.clone()), run)
    }

    /// Task states, HEAD and tracked changes, told apart without the kernel's help.
    fn state(&self) -> Option<String> {
        let mut tasks: Vec<String> = (self.epic.known()?.tasks.iter())
            .map(|task| format!("{} {:?}", task.id, task.status))
            .collect();
        tasks.sort();
        let tree = match self.git.known()? {
            Git::NoRepository => "none".to_owned(),
            Git::NoWorkTree => "bare".to_owned(),
            Git::Tree(tree) => {
                let mut changes: Vec<_> = (tree.changes.iter())
                    .filter(|change| !change.is_untracked)
                    .map(|change| (&change.path, &change.content))
                    .collect();
                changes.sort();
                format!("{:?} {changes:?}", tree.head)
            }
        };
        // An odd eye sees a state of its own.
        let is_odd = self.glance().is_some() && self.eye == Eye::Odd;
        Some(format!("{tasks:?} {tree} {is_odd}"))
    }
}

fn failed<T>(sensor: Sensor) -> Reading<T> {
    Reading::Failed(Fault::new(sensor, "timed out"))
}

#[derive(Clone, Debug)]
enum Event {
    Stop(Box<Facts>, Option<String>),
    Prompt(PromptKind, Option<String>, Box<Facts>),
    Resume,
    Pause,
    SessionOver,
    Minutes(i64),
}

/// One stop of a history.
struct Played {
    before: Run,
    facts: Facts,
    verdict: Verdict,
    /// Since the stop before.
    woke: bool,
    /// Never seen at a judged stop of this run.
    is_new_state: bool,
}

impl Played {
    fn is_block(&self) -> bool {
        matches!(self.verdict.answer, Answer::Block(_))
    }

    fn is_complete(&self) -> bool {
        matches!(self.verdict.answer, Answer::Allow(Allow::Complete { .. }))
    }

    fn proves_completion(&self, policy: &Policy) -> bool {
        let epic = self.facts.epic.known();
        let is_over = |epic: &Epic| {
            let is_closed = |status: &Status| *status == Status::Closed;
            !epic.tasks.is_empty() && epic.tasks.iter().all(|task| is_closed(&task.status))
        };
        let baseline = self.facts.baseline.known();
        let is_saved = match self.facts.git.known() {
            None => false,
            Some(Git::NoRepository | Git::NoWorkTree) => self.is_where_it_began(),
            Some(Git::Tree(tree)) => {
                let is_left = |(path, content): (&String, &String)| {
                    baseline.is_some_and(|baseline| baseline.paths.get(path) == Some(content))
                };
                let no_branches = self.facts.branches.known().is_some_and(Vec::is_empty);
                let mut tracked = tree.changes.iter().filter(|change| !change.is_untracked);
                baseline.is_some()
                    && no_branches
                    && tree.unfinished.is_none()
                    && tracked.all(|change| is_left((&change.path, &change.content)))
            }
        };
        epic.is_some_and(is_over) && (is_saved || !policy.check_git)
    }

    fn has_new_file(&self) -> bool {
        let Some(Git::Tree(tree)) = self.facts.git.known() else {
            return false;
        };
        tree.changes.iter().any(|change| change.is_untracked)
    }

    /// What git finds is what it found at the start, or a tree where there was none.
    fn is_where_it_began(&self) -> bool {
        let (Some(baseline), Some(git)) = (self.facts.baseline.known(), self.facts.git.known())
        else {
            return false;
        };
        match (&baseline.footing, git) {
            (Some(Footing::Tree(then)), Git::Tree(now)) => *then == now.place,
            (_, Git::Tree(_)) => true,
            (then, Git::NoRepository) => *then == Some(Footing::NoRepository),
            (then, Git::NoWorkTree) => *then == Some(Footing::NoWorkTree),
        }
    }
}

/// Lets a run live through a history. One that has ended is never woken, as nobody may; resuming
/// starts the next.
fn play(policy: &Policy, history: &[Event]) -> Vec<Played> {
    let mut run = run(policy);
    let mut now = NOW;
    let mut woke = false;
    let mut seen = Vec::new();
    let mut stops = Vec::new();
    for event in history {
        match event {
            Event::Minutes(minutes) => now = now.plus_millis(minutes * MINUTE),
            Event::Resume if run.is_over() => {
                run = facts::run(policy);
                run.id = format!("after-{}", stops.len());
                run.last_event_at = now;
                seen.clear();
                woke = true;
            }
            Event::Resume => {
                run.wake(now);
                run.accept_scope();
                woke = true;
            }
            Event::Pause if !run.is_over() => run.pause(By::Person, now),
            Event::Pause => {}
            Event::SessionOver => run.session_over(now),
            Event::Prompt(kind, id, facts) => {
                let wakes = run.state == State::Waiting && kind.is_typed();
                let asked = Asked {
                    id: id.clone(),
                    kind: *kind,
                    is_interactive: true,
                    before: facts.print(&run),
                };
                run.prompted(asked, now);
                woke |= wakes;
            }
            Event::Stop(facts, id) => {
                let before = run.clone();
                let mut snapshot = facts.seen_by(run.clone());
                snapshot.now = now;
                snapshot.stop.prompt.clone_from(id);
                let verdict = facts.ruled(snapshot, policy);
                let state = facts.state().filter(|_| verdict.row as u8 >= 9);
                let is_new_state = state.as_ref().is_some_and(|state| !seen.contains(state));
                seen.extend(state);
                if let Some(kept) = &verdict.run {
                    run.clone_from(kept);
                }
                stops.push(Played {
                    before,
                    facts: (**facts).clone(),
                    verdict,
                    woke: std::mem::take(&mut woke),
                    is_new_state,
                });
            }
        }
    }
    stops
}

const STATUSES: [Status; 7] = [
    Status::Open,
    Status::InProgress,
    Status::Hooked,
    Status::Blocked,
    Status::Deferred,
    Status::Closed,
    Status::Pinned,
];

fn policies() -> impl Strategy<Value = Policy> {
    let limits = (1u32..16, 1u32..6);
    let switches = proptest::array::uniform7(proptest::bool::weighted(0.7));
    (limits, switches).prop_map(|((max_cycles, no_progress_cycles), on)| Policy {
        max_cycles,
        no_progress_cycles,
        check_ready_tasks: on[0],
        check_in_progress: on[1],
        check_git: on[2],
        when_unknown: if on[3] {
            WhenUnknown::Hold
        } else {
            WhenUnknown::Allow
        },
        on_user_prompt: if on[4] {
            OnUserPrompt::Release
        } else {
            OnUserPrompt::Hold
        },
        exits: Exits {
            all_blocked: on[5],
            context_checkpoint: on[6],
        },
        ..Policy::default()
    })
}

fn histories() -> impl Strategy<Value = Vec<Event>> {
    let id = || of(select(vec!["p1".to_owned(), "p2".to_owned()]));
    let facts = || readings().prop_map(Box::new);
    let event = prop_oneof![
        12 => (facts(), id()).prop_map(|(facts, id)| Event::Stop(facts, id)),
        2 => (select(PromptKind::ALL.to_vec()), id(), facts())
            .prop_map(|(kind, id, facts)| Event::Prompt(kind, id, facts)),
        6 => Just(Event::Resume),
        1 => Just(Event::Pause),
        1 => Just(Event::SessionOver),
        1 => select(vec![1i64, 30, 121, -5]).prop_map(Event::Minutes),
    ];
    vec(event, 1..60)
}

fn tasks() -> impl Strategy<Value = Task> {
    let claim = (
        select(vec![ACTOR, "other"]),
        select(vec![-30i64, 0]),
        of(select(vec![-1i64, 5])),
    )
        .prop_map(|(actor, since, lease)| Claim {
            actor: actor.into(),
            since: Some(NOW.plus_millis(since * MINUTE)),
            lease_until: lease.map(|minutes| NOW.plus_millis(minutes * MINUTE)),
        });
    let status = prop_oneof![
        3 => Just(Status::Closed),
        1 => Just(Status::Open),
        1 => select(STATUSES.to_vec()),
    ];
    (status, of(claim), of(0usize..4)).prop_map(|(status, claim, waits_for)| Task {
        status,
        claim,
        edges: waits_for
            .map(|number| Edge {
                target: TaskId::new(format!("t-e.{number}")),
                kind: EdgeKind::Blocks,
            })
            .into_iter()
            .collect(),
        ..Task::open("t-e.0")
    })
}

/// As children of the epic `t-e`.
fn numbered(tasks: &[Task]) -> Vec<Task> {
    let below = |(number, task): (usize, &Task)| {
        let mut task = task.clone();
        task.id = TaskId::new(format!("t-e.{number}"));
        task.edges.push(Edge {
            target: "t-e".into(),
            kind: EdgeKind::ParentChild,
        });
        task
    };
    tasks.iter().enumerate().map(below).collect()
}

/// Mostly an answer; sometimes none, for one reason or the other.
fn reading<T: Clone + std::fmt::Debug + 'static>(
    known: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![
        8 => known.prop_map(Reading::Known),
        1 => Just(failed(Sensor::Words)),
        1 => Just(Reading::Unread),
    ]
}

fn words() -> impl Strategy<Value = Words> {
    let rarely = || proptest::bool::weighted(0.1);
    (rarely(), rarely(), any::<bool>()).prop_map(|(is_blocked, is_checkpoint, is_claim)| {
        let escalation = Escalation {
            tag: "BLOCKED".into(),
            lines: Vec::new(),
        };
        Words {
            escalation: is_blocked.then_some(escalation),
            is_checkpoint,
            claim: is_claim.then(|| "EPIC COMPLETE".into()),
        }
    })
}

fn gits() -> impl Strategy<Value = Git> {
    let change = select(vec![
        changed("a.rs", "1"),
        changed("a.rs", "2"),
        changed("own.rs", "1"),
        new_file("b.rs", "1"),
    ]);
    let tree = (
        select(vec!["c0", "c1", "c2"]),
        vec(change, 0..3),
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(head, changes, is_merging, is_elsewhere)| WorkTree {
            place: if is_elsewhere { ".." } else { "" }.to_owned(),
            head: Some(head.into()),
            changes,
            unfinished: is_merging.then(|| "merge".into()),
            ..WorkTree::default()
        });
    prop_oneof![
        6 => tree.prop_map(Git::Tree),
        1 => Just(Git::NoRepository),
        1 => Just(Git::NoWorkTree),
    ]
}

fn readings() -> impl Strategy<Value = Facts> {
    let epic = prop_oneof![1 => vec(tasks(), 0..1), 9 => vec(tasks(), 1..4)].prop_map(|tasks| {
        let root = Task {
            kind: Kind::Epic,
            ..Task::open("t-e")
        };
        let all: Vec<Task> = std::iter::once(root).chain(numbered(&tasks)).collect();
        Epic::of(&all, "t-e", NOW).unwrap_or_else(|| panic!("the epic is there"))
    });
    let own = Baseline::of(&Git::Tree(WorkTree {
        changes: vec![changed("own.rs", "1")],
        ..WorkTree::default()
    }));
    let unnoted = Baseline {
        footing: None,
        ..own.clone()
    };
    let baseline = prop_oneof![
        8 => Just(own),
        1 => Just(unnoted),
        1 => Just(Baseline::of(&Git::NoRepository)),
        1 => Just(Baseline::of(&Git::NoWorkTree)),
    ];
    let branches = prop_oneof![3 => Just(Vec::new()), 1 => Just(vec!["agent-t-e.1".to_owned()])];
    let background = vec(select(vec!["1", "2", "3"]), 0..2).prop_map(|ids| {
        let work = |id: &str| Background {
            id: id.into(),
            label: "sleep".into(),
        };
        ids.into_iter().map(work).collect()
    });
    let sensed = (
        reading(proptest::bool::weighted(0.95)),
        reading(words()),
        reading(epic),
        reading(gits()),
        reading(baseline),
        reading(branches),
    );
    let stop = (
        background,
        proptest::bool::weighted(0.05),
        proptest::bool::weighted(0.6),
        select(vec![Eye::Shut, Eye::Clear, Eye::Clear, Eye::Odd]),
    );
    (sensed, stop).prop_map(|(sensed, stop)| Facts {
        enabled: sensed.0,
        words: sensed.1,
        epic: sensed.2,
        git: sensed.3,
        baseline: sensed.4,
        branches: sensed.5,
        background: stop.0,
        is_planning: stop.1,
        is_interactive: stop.2,
        eye: stop.3,
    })
}

#[test]
fn claims_of_a_turn_that_nobody_looked_at_stay_ours() {
    let policy = Policy::default();
    let claim = Claim {
        actor: "dev".into(),
        since: Some(NOW.plus_millis(-5 * MINUTE)),
        lease_until: Some(NOW.plus_millis(MINUTE)),
    };
    let taken = Task {
        status: Status::InProgress,
        claim: Some(claim),
        ..Task::open("t-e.1")
    };
    let facts = Facts::with_tasks(&[taken]);
    // The turn that began ten minutes ago was cut short; no stop ever read the tasks.
    let mut run = run(&policy);
    run.prompted(
        Asked {
            id: Some("p2".into()),
            kind: PromptKind::Person,
            is_interactive: true,
            before: Fingerprint::default(),
        },
        NOW,
    );
    assert_eq!(facts.judged(run, &policy).answer.name(), "in_progress");
}

#[test]
fn a_planned_sub_epic_has_not_left_but_work_that_turns_into_one_has() {
    let policy = Policy::default();
    let epic = |id: &str| Task {
        kind: beadlock::kernel::task::Kind::Epic,
        ..Task::open(id)
    };
    let planned = Facts::with_tasks(&[epic("t-e.1"), Task::open("t-e.1.1")]);
    let unplanned = Facts::with_tasks(&[epic("t-e.1")]);
    let work = Facts::with_tasks(&[Task::open("t-e.1")]);
    let after = |first: &Facts| {
        let run = first.judged(run(&policy), &policy).run.expect("a run");
        planned.judged(run, &policy).answer.name()
    };
    assert_eq!(after(&unplanned), "open_work");
    assert_eq!(after(&work), "scope_shrunk");
}

#[test]
fn a_finished_sub_epic_that_others_wait_for_is_work() {
    use beadlock::kernel::task::{Edge, EdgeKind, Kind};
    let policy = Policy::default();
    let sub = Task {
        kind: Kind::Epic,
        ..Task::open("t-e.1")
    };
    let done = Task {
        status: Status::Closed,
        ..Task::open("t-e.1.1")
    };
    let waiting = Task {
        edges: vec![Edge {
            target: "t-e.1".into(),
            kind: EdgeKind::Blocks,
        }],
        ..Task::open("t-e.2")
    };
    let facts = Facts::with_tasks(&[sub, done, waiting]);
    assert_eq!(
        facts.judged(run(&policy), &policy).answer.name(),
        "open_work"
    );
}

#[test]
fn a_turn_opened_by_waking_is_never_stale() {
    let policy = Policy::default();
    let facts = Facts::with_tasks(&[Task::open("t-e.1")]);
    let mut run = facts.judged(run(&policy), &policy).run.expect("a run");
    run.wake(NOW.plus_millis(-300 * MINUTE));
    let mut snapshot = facts.seen_by(run);
    snapshot.stop.prompt = Some("p".into());
    assert_eq!(judge(&snapshot, &policy).answer.name(), "open_work");
}

#[test]
fn a_claim_of_the_second_in_which_the_turn_began_is_ours() {
    let policy = Policy::default();
    let mut run = run(&policy);
    run.turn.claims_since = NOW.plus_millis(900);
    let claim = |millis: i64| Claim {
        actor: "dev".into(),
        since: Some(NOW.plus_millis(millis)),
        lease_until: Some(NOW.plus_millis(10 * MINUTE)),
    };
    assert!(run.is_ours(&"t-e.1".into(), &claim(0)));
    assert!(!run.is_ours(&"t-e.1".into(), &claim(-1000)));
}

#[test]
fn what_a_person_left_unfinished_is_not_asked_for() {
    let policy = Policy::default();
    let merging = WorkTree {
        head: Some("c0ffee".into()),
        unfinished: Some("merge".into()),
        ..WorkTree::default()
    };
    let mut facts = Facts::done();
    facts.git = Reading::Known(Git::Tree(merging.clone()));
    let name = |facts: &Facts| facts.judged(run(&policy), &policy).answer.name();
    assert_eq!(name(&facts), "unsaved_work");
    facts.baseline = Reading::Known(Baseline::of(&Git::Tree(merging)));
    assert_eq!(name(&facts), "complete");
    let rebasing = WorkTree {
        unfinished: Some("rebase".into()),
        ..WorkTree::default()
    };
    facts.baseline = Reading::Known(Baseline::of(&Git::Tree(rebasing)));
    assert_eq!(name(&facts), "unsaved_work");
}
