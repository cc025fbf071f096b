//! What people are told to type: true where several runs share a repository, and whether or not
//! a hook reports their prompts.

use beadlock::kernel::ledger::{Outcome, State};

use crate::scene::{EPIC, SESSION, Scene};

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
