//! Runs in a workspace of bd's: what the agent is held for, what it is let go for, and how often
//! bd is asked.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use beadlock::edge::tracker::Tracker;
use beadlock::kernel::moment::Moment;
use beadlock::kernel::task::{Graph, Task};
use serde_json::Value;

use crate::desk::{Build, Desk, PATIENCE, Test, builds};
use crate::scene::{EPIC, SESSION, Scene};

pub const TESTS: &[Test] = &[
    (
        "an_agent_is_held_until_bd_says_that_all_is_done",
        an_agent_is_held_until_bd_says_that_all_is_done,
    ),
    (
        "bd_is_asked_once_after_a_change_and_not_at_all_without_one",
        bd_is_asked_once_after_a_change_and_not_at_all_without_one,
    ),
    (
        "tasks_of_every_kind_are_in_their_right_place",
        tasks_of_every_kind_are_in_their_right_place,
    ),
    (
        "an_unknown_epic_is_not_an_empty_one",
        an_unknown_epic_is_not_an_empty_one,
    ),
    (
        "a_claim_to_be_done_is_held_against_bds_own_word",
        a_claim_to_be_done_is_held_against_bds_own_word,
    ),
    (
        "what_somebody_else_holds_is_theirs_while_their_lease_lasts",
        what_somebody_else_holds_is_theirs_while_their_lease_lasts,
    ),
    (
        "a_linked_work_tree_has_the_main_ones_tasks",
        a_linked_work_tree_has_the_main_ones_tasks,
    ),
    (
        "a_workspace_is_found_by_redirect_and_by_name",
        a_workspace_is_found_by_redirect_and_by_name,
    ),
    (
        "the_environment_does_not_change_what_bd_says",
        the_environment_does_not_change_what_bd_says,
    ),
    ("ten_at_once_are_all_answered", ten_at_once_are_all_answered),
    (
        "a_workspace_without_its_database_is_unknown",
        a_workspace_without_its_database_is_unknown,
    ),
    (
        "the_embedded_tracker_reads_what_bd_exports_and_bd_what_it_writes",
        the_embedded_tracker_reads_what_bd_exports_and_bd_what_it_writes,
    ),
    (
        "what_is_ready_is_what_bd_calls_ready",
        what_is_ready_is_what_bd_calls_ready,
    ),
    (
        "another_bd_in_the_same_place_is_never_taken_for_done",
        another_bd_in_the_same_place_is_never_taken_for_done,
    ),
];

fn an_agent_is_held_until_bd_says_that_all_is_done(build: &Build) {
    let desk = Desk::with_tasks(build, 3);
    desk.start();
    let task = |number: usize| format!("{EPIC}.{number}");
    let fed = desk.stop().blocks("open_work");
    assert!(
        fed.contains("Ready: bd-x7y8.1, bd-x7y8.2, bd-x7y8.3."),
        "{fed}"
    );
    desk.bd(&["update", &task(1), "--claim"]);
    desk.bd(&["close", &task(2), "--reason", "done"]);
    desk.bd(&["close", &task(3), "--reason", "done"]);
    let fed = desk.stop().blocks("in_progress");
    assert!(fed.contains(&task(1)) && !fed.contains(&task(2)), "{fed}");
    desk.scene.write("work.txt", "x");
    desk.scene.git(&["add", "work.txt"]);
    desk.bd(&["close", &task(1), "--reason", "done"]);
    let fed = desk.stop().blocks("unsaved_work");
    assert!(fed.contains("work.txt") && !fed.contains(".beads"), "{fed}");
    desk.scene.git(&["commit", "-q", "-m", "work"]);
    desk.stop().allows("complete");
}

const LIST: &str =
    "list --all --include-gates --json --limit 0 --include-infra --include-templates";

fn bd_is_asked_once_after_a_change_and_not_at_all_without_one(build: &Build) {
    let desk = Desk::with_tasks(build, 2);
    desk.count_calls(build);
    desk.start();
    assert_eq!(desk.calls(), [LIST]);
    desk.stop().blocks("open_work");
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [""; 0], "nothing has changed");
    desk.bd(&["note", "bd-x7y8.1", "so far so good"]);
    desk.bd(&["list"]);
    desk.calls();
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [LIST]);
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    desk.bd(&["close", "bd-x7y8.2", "--reason", "done"]);
    desk.calls();
    desk.stop().allows("complete");
    assert_eq!(desk.calls(), [LIST], "an allow is read afresh");
}

fn tasks_of_every_kind_are_in_their_right_place(build: &Build) {
    let desk = Desk::with_tasks(build, 0);
    let create = |title: &str, args: &[&str]| {
        let mut all = vec!["create", title, "--silent"];
        all.extend(args);
        desk.bd(&all).trim().to_owned()
    };
    let outside = create("outside", &[]);
    let sub_epic = create("sub-epic", &["-t", "epic", "--parent", EPIC]);
    let deep = create("deep", &["--parent", &sub_epic]);
    let waits = create("waits", &["--parent", EPIC]);
    desk.bd(&["dep", "add", &waits, &outside]);
    let gated = create("gated", &["--parent", EPIC]);
    desk.bd(&["gate", "create", "--blocks", &gated]);
    let later = create("later", &["--parent", EPIC]);
    desk.bd(&["defer", &later, "--until", "2099-01-01"]);
    let iceboxed = create("iceboxed", &["--parent", EPIC]);
    desk.bd(&["defer", &iceboxed]);
    let stuck = create("stuck", &["--parent", EPIC]);
    desk.bd(&["update", &stuck, "--status", "blocked"]);
    let pinned = create("pinned", &["--parent", EPIC]);
    desk.bd(&["update", &pinned, "--status", "pinned"]);
    desk.bd(&["config", "set", "status.custom", "review"]);
    let reviewed = create("reviewed", &["--parent", EPIC]);
    desk.bd(&["update", &reviewed, "--status", "review"]);
    desk.start();
    let counts = desk.beadlock(&["status", "--json"]).done().json()["counts"].clone();
    // The sub-epic and what is pinned are no tasks.
    let expected = serde_json::json!({
        "ready": 1, "in_progress": 0, "blocked": 4, "deferred": 2, "closed": 0, "total": 7,
    });
    assert_eq!(counts, expected);
    let fed = desk.stop().blocks("open_work");
    assert!(fed.contains(&format!("Ready: {deep}.")), "{fed}");
    desk.bd(&["close", &deep, "--reason", "done"]);
    let told = desk.stop().allows("needs_human");
    assert!(!told.contains("beadlock task"), "{told}");
    for id in [&waits, &gated, &later, &iceboxed, &stuck] {
        assert!(told.contains(id.as_str()), "{id}: {told}");
    }
}

fn an_unknown_epic_is_not_an_empty_one(build: &Build) {
    let desk = Desk::with_tasks(build, 0);
    let start = desk.beadlock(&["start", "bd-nope", "--session", SESSION]);
    start.done().fails(1, "`bd list --all --limit 0` shows");
    // bd itself says `[]` and 0 of it.
    let said = desk.bd(&["ready", "--parent", "bd-nope", "--json"]);
    assert_eq!(said.trim(), "[]");
    desk.start();
    desk.stop().allows("empty");
}

fn a_claim_to_be_done_is_held_against_bds_own_word(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.count_calls(build);
    desk.start();
    desk.calls();
    let claim = "<promise>EPIC COMPLETE</promise>";
    let fed = desk.stop().says(claim).blocks("false_promise");
    assert!(fed.contains("bd-x7y8.1"), "{fed}");
    let own = "ready --parent bd-x7y8 --limit 0 --exclude-type=epic --json";
    assert_eq!(desk.calls(), [own]);
}

fn what_somebody_else_holds_is_theirs_while_their_lease_lasts(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.start();
    // In an earlier turn than this one.
    let claimed = desk.bd_as("ann", &desk.scene.root, &["update", "bd-x7y8.1", "--claim"]);
    assert!(claimed.status.success(), "{claimed:?}");
    desk.scene
        .edit_run(|run| run.turn.claims_since.0 += 3_600_000);
    if build.is_at_least(1, 3) {
        let told = desk.stop().allows("needs_human");
        assert!(told.contains("ann"), "{told}");
    } else {
        // Without leases nobody can tell whether she is still there.
        let fed = desk.stop().blocks("in_progress");
        assert!(fed.contains("bd-x7y8.1"), "{fed}");
    }
}

fn a_linked_work_tree_has_the_main_ones_tasks(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let side = desk.scene.root.with_file_name("side");
    desk.scene
        .git(&["worktree", "add", "-q", side.to_str().unwrap()]);
    let start = desk
        .beadlock(&["start", EPIC, "--session", SESSION])
        .dir(&side);
    let done = start.done();
    assert_eq!(done.status, 0, "{done:?}");
    let side_name = side.to_str().unwrap().to_owned();
    let stop = || {
        desk.stop()
            .dir(&side)
            .set("cwd", Value::from(side_name.clone()))
    };
    stop().blocks("open_work");
    desk.bd_in(&side, &["close", "bd-x7y8.1", "--reason", "done"]);
    stop().allows("complete");
}

fn a_workspace_is_found_by_redirect_and_by_name(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let elsewhere = Desk::beside(Scene::repository(), build);
    let beads = desk.scene.path(".beads");
    let done = elsewhere
        .beadlock(&["start", EPIC, "--session", SESSION])
        .env("BEADS_DIR", &beads)
        .done();
    assert_eq!(done.status, 0, "{done:?}");
    elsewhere.stop().blocks("open_work");

    let third = Desk::beside(Scene::repository(), build);
    third
        .scene
        .write(".beads/redirect", beads.to_str().unwrap());
    let said = third.bd_json(&["list", "--json"]);
    assert_eq!(said.as_array().unwrap().len(), 2, "bd itself follows it");
    third.start();
    third.stop().blocks("open_work");
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    third.stop().allows("complete");
    elsewhere.stop().allows("complete");
}

fn the_environment_does_not_change_what_bd_says(build: &Build) {
    let desk = Desk::with_tasks(build, 3);
    let start = desk.beadlock(&["start", EPIC, "--session", SESSION]);
    let start = start
        .env("BD_JSON_ENVELOPE", "1")
        .env("BEADS_MAX_ROWS", "1")
        .env("CLAUDE_CODE", "1")
        .env("BD_AGENT_MODE", "1")
        .env("BD_LIST_LIMIT", "1");
    assert_eq!(start.done().status, 0);
    let status = desk.beadlock(&["status", "--json"]).done().json();
    assert_eq!(status["counts"]["total"], 3);
}

fn ten_at_once_are_all_answered(build: &Build) {
    let desk = Desk::with_tasks(build, 4);
    let start = desk.beadlock(&["start", EPIC, "--session", SESSION]);
    let start = start.arg("--set").arg("no_progress_cycles=10");
    assert_eq!(start.done().status, 0);
    thread::scope(|scope| {
        for number in 1..=4 {
            let (desk, id) = (&desk, format!("{EPIC}.{number}"));
            scope.spawn(move || desk.bd(&["note", &id, "at once"]));
        }
        for _ in 0..6 {
            scope.spawn(|| {
                let done = desk.stop().done();
                assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{done:?}");
                assert_eq!(done.json()["decision"], "block", "{done:?}");
                let reason = done.json()["reason"].as_str().unwrap().to_owned();
                assert!(reason.contains(": open_work]"), "{reason}");
            });
        }
    });
    // None of them moved anything, and each was counted.
    assert_eq!(desk.scene.run().counters.cycles, 6);
}

fn a_workspace_without_its_database_is_unknown(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    desk.start();
    let database = desk.scene.path(".beads/embeddeddolt");
    fs::rename(&database, desk.bin.join("embeddeddolt")).unwrap();
    let fed = desk.stop().blocks("unknown");
    assert!(fed.contains("bd's database"), "{fed}");
    desk.stop().blocks("unknown");
    let told = desk.stop().allows("unknown");
    assert!(told.contains("is not there; put it back, or run"), "{told}");
    assert!(!database.exists(), "an empty one was made in its place");
    fs::rename(desk.bin.join("embeddeddolt"), &database).unwrap();
    desk.stop().allows("complete");

    // A clone brings bd's settings along and not its database.
    let clone = desk.scene.root.with_file_name("clone");
    desk.scene
        .git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let start = desk
        .beadlock(&["start", EPIC, "--session", "s-2"])
        .dir(&clone);
    start.done().fails(4, "could not read the tracker");
}

fn the_embedded_tracker_reads_what_bd_exports_and_bd_what_it_writes(build: &Build) {
    let desk = Desk::with_tasks(build, 3);
    desk.bd(&["dep", "add", "bd-x7y8.2", "bd-x7y8.1"]);
    desk.bd(&["label", "add", "bd-x7y8.3", "odd"]);
    desk.bd(&[
        "update",
        "bd-x7y8.3",
        "--append-notes",
        "with \"quotes\" and \u{1f4a1}",
    ]);
    desk.bd(&["comment", "bd-x7y8.3", "said"]);
    let exported = desk.bd(&["export"]);

    let file = Desk::beside(Scene::repository(), build);
    file.scene.write(".beads/issues.jsonl", &exported);
    let task = |args: &[&str]| {
        let mut all = vec!["task"];
        all.extend(args);
        let done = file.beadlock(&all).done();
        assert_eq!(done.status, 0, "{args:?}: {done:?}");
        done.stdout
    };
    let ready = task(&["ready", "--epic", EPIC, "--json"]);
    assert_eq!(ids_in(&ready), ids(&["bd-x7y8.1", "bd-x7y8.3"]));
    task(&["start", "bd-x7y8.1"]);
    task(&["close", "bd-x7y8.1", "--reason", "done here"]);
    task(&["note", "bd-x7y8.2", "and another line"]);
    task(&["block", "bd-x7y8.3", "--reason", "a person is needed"]);
    task(&["add", "Task 4", "--epic", EPIC, "--blocked-by", "bd-x7y8.2"]);
    let written = file.scene.path(".beads/issues.jsonl");

    let back = Desk::empty(build);
    back.bd(&["import", written.to_str().unwrap()]);
    let rows = back.bd_json(&["list", "--all", "--json", "--limit", "0"]);
    let row = |id: &str| {
        let mut rows = rows.as_array().unwrap().iter();
        rows.find(|row| row["id"] == id)
            .unwrap_or_else(|| panic!("{id} is lost"))
            .clone()
    };
    assert_eq!(rows.as_array().unwrap().len(), 5);
    assert_eq!(row("bd-x7y8.1")["status"], "closed");
    assert_eq!(row("bd-x7y8.1")["close_reason"], "done here");
    assert_eq!(row("bd-x7y8.2")["notes"], "and another line");
    let third = row("bd-x7y8.3");
    assert_eq!(third["status"], "blocked");
    let notes = third["notes"].as_str().unwrap();
    assert!(notes.contains("with \"quotes\" and \u{1f4a1}"), "{notes}");
    assert!(notes.contains("a person is needed"), "{notes}");
    assert_eq!(third["labels"], serde_json::json!(["odd"]));
    assert_eq!(third["comment_count"], 1);
    let ready = back.bd(&["ready", "--parent", EPIC, "--limit", "0", "--json"]);
    assert_eq!(ids_in(&ready), ids(&["bd-x7y8.2"]));
}

/// In the middle of a run, by an upgrade or by another PATH.
fn another_bd_in_the_same_place_is_never_taken_for_done(build: &Build) {
    let Some(other) = builds().into_iter().find(|it| it.version != build.version) else {
        return;
    };
    let desk = Desk::with_tasks(&other, 1);
    desk.start();
    desk.stop().blocks("open_work");
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    let place = desk.bin.join("bd");
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(&build.program, &place).unwrap();
    if build.is_at_least(1, 3) {
        // Its first reading migrates what the older one wrote.
        desk.stop().allows("complete");
    } else {
        let fed = desk.stop().blocks("unknown");
        assert!(fed.contains("bd list"), "{fed}");
        // It would read on by rules that it does not know.
        let careless = desk.stop().env("BD_IGNORE_SCHEMA_SKEW", "1");
        careless.blocks("unknown");
        let told = desk.stop().allows("unknown");
        assert!(told.contains("schema version mismatch"), "{told}");
        assert!(told.contains("upgrade it"), "{told}");
    }
}

/// The published vectors, all in one workspace: each under names of its own.
fn what_is_ready_is_what_bd_calls_ready(build: &Build) {
    let text = include_str!("../fixtures/beads-vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(text).unwrap();
    let desk = Desk::empty(build);
    let mut lines = String::new();
    for vector in &vectors {
        let name = vector["name"].as_str().unwrap();
        // bd refuses some of its types. Up to 1.2 it leaves a deferral asleep whose date has
        // passed, and loses on import for how many children somebody waits.
        let begins = |number: &&str| name.starts_with(*number);
        let before_1_3 = !build.is_at_least(1, 3);
        if begins(&"v19") || (before_1_3 && ["v16", "v24"].iter().any(begins)) {
            continue;
        }
        for row in vector["issues"].as_array().unwrap() {
            let own = format!("\"t-{}", &name[..3]);
            lines += &row.to_string().replace("\"t-", &own);
            lines.push('\n');
        }
    }
    desk.scene.write("vectors.jsonl", &lines);
    desk.bd(&["import", "vectors.jsonl"]);
    let theirs = ids_in(&desk.bd(&["ready", "--limit", "0", "--json"]));
    let tasks = desk.tracker(build).tasks(PATIENCE).unwrap().tasks;
    let now = Moment(1_794_960_000_000);
    let graph = Graph::new(&tasks, now);
    assert!(theirs.len() > 20, "{theirs:?}");
    assert_eq!(ids_of(&graph.ready()), theirs);
}

fn ids(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub fn ids_of(tasks: &[&Task]) -> BTreeSet<String> {
    tasks.iter().map(|task| task.id.to_string()).collect()
}

/// Of a list of tasks, ours or bd's.
pub fn ids_in(said: &str) -> BTreeSet<String> {
    let said: Value = serde_json::from_str(said).unwrap();
    let rows = said.as_array().or(said["tasks"].as_array()).unwrap();
    let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
    rows.iter().map(id).collect()
}
