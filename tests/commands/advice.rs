//! What people are told to type: true where several runs share a repository, and whether or not
//! a hook reports their prompts.

use std::collections::BTreeSet;

use beadlock::kernel::ledger::{Outcome, Prompt, PromptKind, Run, State};
use beadlock::kernel::snapshot::Fault;
use beadlock::kernel::task::{Cause, TaskId};
use beadlock::kernel::verdict::{Allow, Need, SavedWork, Stuck};
use beadlock::render::{self, Reader};
use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene, epic_row, task_row};

const END: &str = include_str!("../fixtures/claude/SessionEnd.interactive.json");
const FAILURE: &str = include_str!("../fixtures/claude/StopFailure.rate_limit.json");
const FRESH: &str = include_str!("../fixtures/claude/SessionStart.interactive.json");

/// Two epics of one ready task each, with a run of each: ours, and `bd-other` in `second`.
fn with_two_runs() -> Scene {
    let scene = Scene::with_tasks(1);
    let mut rows = scene.read_rows();
    let mut epic = epic_row();
    epic["id"] = json!("bd-other");
    let mut task = task_row(1, "open");
    task["id"] = json!("bd-other.1");
    task["dependencies"][0]["issue_id"] = json!("bd-other.1");
    task["dependencies"][0]["depends_on_id"] = json!("bd-other");
    rows.extend([epic, task]);
    scene.rows(&rows);
    scene.commit_all("more");
    scene.start(SESSION);
    let other = ["start", "bd-other", "--session", "second"];
    assert_eq!(scene.beadlock(&other).done().status, 0);
    scene
}

/// Each command in a line that changes a run names the run's epic.
#[track_caller]
fn names_the_epic(line: &str) {
    for verb in ["resume", "abort", "pause", "adopt"] {
        for (at, _) in line.match_indices(&format!("beadlock {verb}")) {
            let named = format!("beadlock {verb} {EPIC}");
            assert!(line[at..].starts_with(&named), "{line}");
        }
    }
}

fn every_allow() -> Vec<Allow> {
    let fault = || Fault::new("store", "is gone");
    let ids = || vec![TaskId::from("bd-x7y8.1")];
    let said = |lines: &[&str]| Need::Said {
        tag: "BLOCKED".into(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let stuck = |stuck| Need::Blocked(vec![(TaskId::from("bd-x7y8.1"), stuck)]);
    let needs = [
        said(&[]),
        said(&["Why?"]),
        Need::Shrunk(ids()),
        stuck(Stuck::HeldBy("ann".into())),
        stuck(Stuck::Cause(Cause::Status)),
        stuck(Stuck::Cause(Cause::Deferred)),
        stuck(Stuck::Cause(Cause::Person("status review".into()))),
        stuck(Stuck::Cause(Cause::Waits(ids()))),
    ];
    let others = [
        Allow::Disabled { is_news: true },
        Allow::Disabled { is_news: false },
        Allow::Idle,
        Allow::Corrupt(fault()),
        Allow::Resting,
        Allow::Stale,
        Allow::Planning,
        Allow::Conversation,
        Allow::Checkpoint {
            git: SavedWork::Saved,
        },
        Allow::Unknown(fault()),
        Allow::Empty,
        Allow::Deadlocked(ids()),
        Allow::Unchecked(ids()),
        Allow::Complete,
        Allow::MaxCycles,
        Allow::NoProgress,
        Allow::Background(vec!["bg".into()]),
        Allow::Unrecorded(fault()),
    ];
    let all: Vec<Allow> = needs
        .into_iter()
        .map(Allow::NeedsHuman)
        .chain(others)
        .collect();
    let names: BTreeSet<&str> = all.iter().map(Allow::name).collect();
    assert_eq!(names, BTreeSet::from(Allow::NAMES));
    all
}

/// A run whose last prompt was reported by a hook, and one that no hook told of its prompt.
fn both_runs() -> [Run; 2] {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let with = |kind: PromptKind| {
        let mut run = scene.run();
        run.turn.prompt = Some(Prompt {
            id: None,
            kind,
            quiet_before: 0,
            woke: false,
            is_first: true,
            before: beadlock::kernel::ledger::Fingerprint::default(),
        });
        run
    };
    [with(PromptKind::Person), with(PromptKind::Unreported)]
}

#[test]
fn every_command_that_people_are_told_names_its_epic() {
    for mut run in both_runs() {
        for allow in every_allow() {
            if let Some(line) = render::allow(&allow, Some(&run)) {
                names_the_epic(&line);
                assert!(!line.contains("?.") && !line.contains(".."), "{line}");
                let waits = matches!(
                    allow,
                    Allow::Stale | Allow::NeedsHuman(_) | Allow::Deadlocked(_) | Allow::NoProgress
                );
                let resume = line.contains("`beadlock resume bd-x7y8`");
                assert_eq!(resume, waits, "{line}");
            }
        }
        let outcomes = Outcome::ALL.into_iter().map(Some).chain([None]);
        for outcome in outcomes {
            for state in State::ALL {
                for reader in [Reader::Elsewhere, Reader::OwnSession, Reader::Waker] {
                    (run.outcome, run.state) = (outcome, state);
                    names_the_epic(&render::owed(&run, reader));
                }
            }
        }
    }
}

#[test]
fn status_names_the_epic_in_whatever_it_advises() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    for state in State::ALL {
        for outcome in [None, Some(Outcome::SessionOver), Some(Outcome::NeedsHuman)] {
            scene.edit_run(|run| (run.state, run.outcome) = (state, outcome));
            let status = scene.beadlock(&["status"]).done().stdout;
            let next = status.lines().find(|line| line.starts_with("next"));
            assert_eq!(next.is_some(), state != State::Ended, "{status}");
            names_the_epic(next.unwrap_or_default());
            let advises = next.unwrap_or_default().contains("beadlock abort bd-x7y8");
            assert_eq!(advises, state != State::Ended, "{status}");
        }
    }
}

#[test]
fn what_is_told_can_be_typed_where_two_runs_share_the_repository() {
    let scene = with_two_runs();
    scene.beadlock(&["resume"]).done().fails(64, "several runs");
    let stop = scene.stop().says("<promise>BLOCKED</promise>\nNo key.");
    let told = stop.allows("needs_human");
    assert!(told.contains("`beadlock resume bd-x7y8`"), "{told}");
    let resumed = scene.beadlock(&["resume", EPIC]).done();
    assert!(
        resumed.stdout.ends_with(" on bd-x7y8\n"),
        "{}",
        resumed.stdout
    );
    scene.stop().blocks("open_work");
    let paused = scene.beadlock(&["pause", EPIC]).done();
    assert_eq!(paused.status, 0, "{paused:?}");
    let aborted = scene.beadlock(&["abort", EPIC]).done();
    assert_eq!(aborted.stdout.lines().count(), 1, "{aborted:?}");
    assert_eq!(scene.run().state, State::Ended);
    assert_eq!(scene.run_of("second").state, State::Active);
}

#[test]
fn the_greeting_ends_the_run_that_it_greets() {
    let scene = Scene::with_tasks(1);
    let told = scene.prompt("p1", "/run-tasks bd-x7y8").tells();
    assert!(told.contains("`beadlock abort bd-x7y8`"), "{told}");
}

#[test]
fn a_run_that_is_in_the_way_is_named() {
    let scene = with_two_runs();
    let start = ["start", "bd-other", "--session", SESSION];
    // The other one's own session gives way first.
    let abort = ["abort", "bd-other"];
    assert_eq!(scene.beadlock(&abort).done().status, 0);
    let refused = scene.beadlock(&start).done();
    refused.fails(1, "end it with `beadlock abort bd-x7y8`");
    let again = ["start", "bd-other", "--session", "second"];
    assert_eq!(scene.beadlock(&again).done().status, 0);
    let adopt = ["adopt", "bd-other", "--session", SESSION];
    let refused = scene.beadlock(&adopt).done();
    refused.fails(1, "end it with `beadlock abort bd-x7y8` first");
    assert_eq!(scene.run().state, State::Active);
}

#[test]
fn an_answer_goes_on_by_itself_only_where_prompts_are_reported() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let blocked = |prompt: &str| {
        let stop = scene.stop().set("prompt_id", json!(prompt));
        let stop = stop.says("<promise>BLOCKED</promise>\nThe key is missing");
        stop.allows("needs_human")
    };
    let told = blocked("p1");
    assert!(told.contains("The key is missing. To go on"), "{told}");
    assert!(
        told.contains("type `beadlock resume bd-x7y8` first, then answer the agent"),
        "{told}"
    );
    let status = scene.beadlock(&["status"]).done().stdout;
    assert!(
        status.contains("next     `beadlock resume bd-x7y8`"),
        "{status}"
    );
    // It is as told: an answer that nobody reports wakes nothing, `resume` does.
    let stop = scene.stop().set("prompt_id", json!("p2"));
    stop.allows_untraced("resting");
    assert_eq!(scene.beadlock(&["resume", EPIC]).done().status, 0);
    let stop = scene.stop().set("prompt_id", json!("p3"));
    stop.blocks("open_work");
    // With a hook on prompts the answer is enough.
    scene.prompt("p4", "go on");
    scene.write("moved", "x");
    let told = blocked("p4");
    assert!(
        told.contains("answer the agent, or type `beadlock resume bd-x7y8`"),
        "{told}"
    );
    let status = scene.beadlock(&["status"]).done().stdout;
    assert!(
        status.contains("next     type into the session"),
        "{status}"
    );
    scene.prompt("p5", "here it is");
    assert_eq!(scene.run().state, State::Active);
}

#[test]
fn a_session_that_is_back_is_told_what_wakes_its_run() {
    let resumed = include_str!("../fixtures/claude/SessionStart.resume.json");
    for is_reported in [false, true] {
        let scene = Scene::with_tasks(1);
        scene.start(SESSION);
        if is_reported {
            scene.prompt("p1", "go").is_silent();
        }
        scene.hook("session-end", &scene.payload(END));
        let told = scene.hook("session-start", &scene.payload(resumed)).json();
        let told = told["systemMessage"].as_str().unwrap();
        let expected = if is_reported {
            "the next prompt here goes on with it"
        } else {
            "type `beadlock resume bd-x7y8` to go on"
        };
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_turn_that_failed_did_not_end_its_session() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.hook("stop-failure", &scene.payload(FAILURE));
    let mut next = scene.payload(FRESH);
    next.insert("session_id".into(), json!("next"));
    let told = scene.hook("session-start", &next).tells();
    assert!(told.contains("its session or its turn ended"), "{told}");
    assert!(
        told.contains("`/run-tasks bd-x7y8` in the session that is to go on"),
        "{told}"
    );
    assert!(
        told.contains("`beadlock start bd-x7y8 --session ID`"),
        "{told}"
    );
}

#[test]
fn start_inside_its_own_session_says_a_whole_sentence() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let inside = |expected: &str| {
        let start = scene.beadlock(&["start", EPIC]);
        let done = start.env("CLAUDE_CODE_SESSION_ID", SESSION).done();
        let expected = format!("run `{}` {expected}\n", scene.run().id);
        assert_eq!(done.stderr, expected);
    };
    inside(&format!(
        "holds session `{SESSION}` already, until `bd-x7y8` is done"
    ));
    assert_eq!(scene.beadlock(&["pause", EPIC]).done().status, 0);
    inside(&format!(
        "of session `{SESSION}` is paused and holds nobody; a person's `beadlock resume bd-x7y8` goes on"
    ));
}

#[test]
fn status_says_a_state_once() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let state = || {
        let status = scene.beadlock(&["status"]).done().stdout;
        let line = status.lines().find(|line| line.starts_with("state"));
        line.unwrap().to_owned()
    };
    assert_eq!(scene.beadlock(&["pause"]).done().status, 0);
    assert_eq!(state(), "state    paused");
    scene.edit_run(|run| (run.state, run.outcome) = (State::Stale, Some(Outcome::Stale)));
    assert_eq!(state(), "state    stale");
    scene.edit_run(|run| (run.state, run.outcome) = (State::Paused, Some(Outcome::PausedByAgent)));
    assert_eq!(state(), "state    paused (paused_by_agent)");
}

#[test]
fn a_refused_command_ends_its_sentence_once() {
    let scene = Scene::with_tasks(1);
    scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    max_cylces: 3\n",
    );
    let refused = scene.prompt("p1", "/run-tasks bd-x7y8").json();
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("did you mean `max_cycles`?"), "{reason}");
    let stop = scene.stop().arg("--epic").arg(EPIC);
    let told = stop.env("CLAUDE_CODE_ENTRYPOINT", "cli").done().tells();
    assert!(told.contains("did you mean `max_cycles`?"), "{told}");
    for text in [reason, &told] {
        assert!(!text.contains("?.") && !text.contains("?;"), "{text}");
        assert!(!text.contains("project.yaml.example"), "{text}");
    }
}

#[test]
fn without_a_tracker_the_command_that_begins_one_is_named() {
    let scene = Scene::repository();
    let start = ["start", EPIC, "--session", SESSION];
    let done = scene.beadlock(&start).done();
    done.fails(4, "hint: `beadlock task add TITLE --type epic` begins one");
    scene.write(".beads/issues.jsonl", "");
    let done = scene.beadlock(&start).done();
    done.fails(1, "`beadlock task add TITLE --type epic` begins one");
    std::fs::remove_dir_all(scene.path(".beads")).unwrap();
    let refused = scene.prompt("p1", "/run-tasks bd-x7y8").json();
    let reason = refused["reason"].as_str().unwrap();
    assert!(
        reason.contains("`beadlock task add TITLE --type epic`"),
        "{reason}"
    );
}
