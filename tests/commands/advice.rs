//! What people are told to type: true where several runs share a repository, and whether or not
//! a hook reports their prompts.

use std::collections::BTreeSet;
use std::fs;

use beadlock::kernel::ledger::{Outcome, Prompt, PromptKind, Run, State};
use beadlock::kernel::snapshot::{Fault, Sensor};
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
    let fault = || Fault::new(Sensor::Run, "is gone");
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
        Allow::Complete {
            new_files: Vec::new(),
        },
        Allow::Complete {
            new_files: vec!["left.log".into()],
        },
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
    stop.tells_of("resting", "`beadlock resume bd-x7y8`");
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
fn what_blocks_each_task_is_named_with_what_frees_it() {
    let scene = Scene::with_tasks(5);
    scene.start(SESSION);
    let reason = ["task", "block", "bd-x7y8.1", "--reason", "no key"];
    assert_eq!(scene.beadlock(&reason).done().status, 0);
    scene.set_status(2, "review");
    scene.edit_row("bd-x7y8.3", |row| {
        row.insert("defer_until".into(), json!("2099-01-01T00:00:00Z"));
    });
    scene.edit_row("bd-x7y8.4", |row| {
        row.insert("status".into(), json!("in_progress"));
        row.insert("assignee".into(), json!("ann"));
        row.insert("started_at".into(), json!("2026-01-01T00:00:00Z"));
        row.insert("lease_expires_at".into(), json!("2099-01-01T00:00:00Z"));
    });
    scene.edit_row("bd-x7y8.5", |row| {
        let edges = row["dependencies"].as_array_mut().unwrap();
        edges.push(crate::scene::edge("bd-x7y8.5", "bd-x7y8.1", "blocks"));
    });
    let told = scene.stop().allows("needs_human");
    for part in [
        "bd-x7y8.1 (blocked)",
        "bd-x7y8.2 (status review)",
        "bd-x7y8.3 (deferred)",
        "bd-x7y8.4 (held by ann)",
        "bd-x7y8.5 (waits for bd-x7y8.1)",
        "its notes say why",
        "`beadlock task show bd-x7y8.1`",
        "`beadlock task reopen bd-x7y8.1`",
        "Until when bd-x7y8.3 is deferred, `beadlock task show bd-x7y8.3` says",
        "bd-x7y8.4 comes free when ann is done with it or the lease ends",
        "bd-x7y8.2 needs a status",
        "A task has to be freed first: an answer alone frees none",
        "`beadlock resume bd-x7y8`",
    ] {
        assert!(told.contains(part), "{part} is missing: {told}");
    }
    assert!(told.len() < 2048, "{told}");
    // The commands do what is said of them.
    let show = |id: &str| scene.beadlock(&["task", "show", id]).done().stdout;
    assert!(show("bd-x7y8.1").contains("no key"));
    assert!(show("bd-x7y8.3").contains("deferred (not before 2099-01-01T00:00:00Z)"));
    assert!(show("bd-x7y8.4").contains("(held by ann until 2099-01-01T00:00:00Z)"));
    let reopen = ["task", "reopen", "bd-x7y8.1"];
    assert_eq!(scene.beadlock(&reopen).done().status, 0);
    assert_eq!(scene.beadlock(&["resume", EPIC]).done().status, 0);
    scene.stop().blocks("open_work");
}

#[test]
fn only_what_there_is_is_advised() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.set_status(1, "blocked");
    let told = scene.stop().allows("needs_human");
    for absent in ["until when", "lease", "needs a status", "Answer"] {
        assert!(!told.contains(absent), "{absent}: {told}");
    }
}

#[test]
fn the_advice_about_a_store_fits_what_is_wrong_with_it() {
    let damaged = |damage: &dyn Fn(&Scene)| {
        let scene = Scene::with_tasks(1);
        scene.start(SESSION);
        damage(&scene);
        let told = scene.stop().tells_of("corrupt", "without knowing");
        let anew = told.contains("begins anew");
        (told, anew)
    };
    let database = |scene: &Scene| scene.store_dir().database();
    let (told, anew) = damaged(&|scene| {
        let connection = rusqlite::Connection::open(database(scene)).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
    });
    assert!(told.contains("Use the newer beadlock") && !anew, "{told}");
    let (told, anew) = damaged(&|scene| {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = database(scene).into_os_string();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
        fs::create_dir(database(scene)).unwrap();
    });
    assert!(told.contains("Look at the permissions") && !anew, "{told}");
    let (told, anew) = damaged(&|scene| fs::remove_file(database(scene)).unwrap());
    assert!(
        told.contains("`beadlock start EPIC --session ID`") && anew,
        "{told}"
    );
    let (told, anew) = damaged(&|scene| fs::write(database(scene), "").unwrap());
    assert!(told.contains("is kept as") && anew, "{told}");
    let (told, anew) = damaged(&|scene| {
        scene.edit_run(|run| run.session = "another".into());
    });
    assert!(
        told.contains("holds no run of this session") && anew,
        "{told}"
    );
}

#[test]
fn going_on_without_vanished_tasks_is_said_to_accept_it() {
    for is_reported in [false, true] {
        let scene = Scene::with_tasks(2);
        scene.start(SESSION);
        if is_reported {
            scene.prompt("p1", "go").is_silent();
        }
        scene.rows(&[epic_row(), task_row(1, "open")]);
        let stop = || scene.stop().set("prompt_id", json!("p1"));
        stop().blocks("scope_shrunk");
        let told = stop().allows("needs_human");
        assert!(told.contains("bd-x7y8.2"), "{told}");
        let expected = if is_reported {
            "a prompt typed at the agent's screen, or `beadlock resume bd-x7y8`, accepts that they are gone"
        } else {
            "`beadlock resume bd-x7y8` accepts that they are gone"
        };
        assert!(told.to_lowercase().contains(expected), "{told}");
    }
}

#[test]
fn unchecked_work_is_not_said_to_be_all_that_is_left() {
    let scene = Scene::with_tasks(2);
    scene.write(
        "project.yaml",
        "workflow: {stop_hook: {check_ready_tasks: false}}\n",
    );
    scene.start(SESSION);
    scene.set_status(2, "blocked");
    let told = scene.stop().allows("unchecked");
    assert!(
        told.contains("bd-x7y8.1, and whatever is blocked, deferred or held"),
        "{told}"
    );
}

#[test]
fn whoever_is_told_that_it_is_off_is_told_how_to_switch_it_on() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    enabled: false\n",
    );
    let told = scene.stop().allows("disabled");
    assert!(told.contains("`enabled` is false"), "{told}");
    assert!(told.contains("`workflow.stop_hook`"), "{told}");
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
