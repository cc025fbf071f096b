//! What bd leaves out of a list unless it is told not to, and yet offers as work or blocks with.

use beadlock::edge::tracker::Tracker;
use beadlock::kernel::moment::Moment;
use beadlock::kernel::task::Graph;

use crate::bd_run::{ids_in, ids_of};
use crate::desk::{Build, Desk, PATIENCE, Test};
use crate::scene::EPIC;

pub const TESTS: &[Test] = &[
    (
        "a_task_that_keeps_no_history_is_work",
        a_task_that_keeps_no_history_is_work,
    ),
    (
        "a_type_that_the_project_calls_infrastructure_is_work",
        a_type_that_the_project_calls_infrastructure_is_work,
    ),
    (
        "a_label_for_the_folder_hides_no_task",
        a_label_for_the_folder_hides_no_task,
    ),
    (
        "what_is_hidden_blocks_and_is_ready_as_bd_says",
        what_is_hidden_blocks_and_is_ready_as_bd_says,
    ),
];

const CLAIM: &str = "<promise>EPIC COMPLETE</promise>";

/// All that bd lists by default is closed, and this is left.
#[track_caller]
fn is_work(desk: &Desk, id: &str) {
    let fed = desk.stop().says(CLAIM).blocks("false_promise");
    assert!(fed.contains(id), "{fed}");
    desk.bd(&["close", id, "--reason", "done"]);
    desk.stop().says(CLAIM).allows("complete");
}

fn a_task_that_keeps_no_history_is_work(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.bd(&["create", "Quiet", "--parent", EPIC, "--no-history"]);
    desk.start();
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    is_work(&desk, "bd-x7y8.2");
}

fn a_type_that_the_project_calls_infrastructure_is_work(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.bd(&["create", "Sweep", "--parent", EPIC, "-t", "chore"]);
    desk.start();
    desk.bd(&["config", "set", "types.infra", "chore,agent"]);
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    is_work(&desk, "bd-x7y8.2");

    let desk = Desk::with_tasks(build, 1);
    desk.bd(&["create", "Sweep", "--parent", EPIC, "-t", "chore"]);
    append(&desk, ".beads/config.yaml", "types:\n  infra: [chore]\n");
    desk.start();
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    is_work(&desk, "bd-x7y8.2");
}

/// bd looks for the name anywhere in the path of the folder that it is called in.
fn a_label_for_the_folder_hides_no_task(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.bd(&["label", "add", EPIC, "ours"]);
    desk.bd(&["label", "add", "bd-x7y8.1", "ours"]);
    desk.bd(&["create", "Bare", "--parent", EPIC, "--no-inherit-labels"]);
    let folder = desk.scene.root.file_name().unwrap().to_str().unwrap();
    let labels = format!("directory.labels:\n  {folder}: ours\n");
    append(&desk, ".beads/config.yaml", &labels);
    let listed = desk.bd(&["list", "--all", "--json"]);
    assert!(!listed.contains("bd-x7y8.2"), "bd hides it: {listed}");
    desk.start();
    desk.scene.commit_all("settings");
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    is_work(&desk, "bd-x7y8.2");
}

fn what_is_hidden_blocks_and_is_ready_as_bd_says(build: &Build) {
    let desk = Desk::empty(build);
    let create = |args: &[&str]| {
        let args = [&["create", "--silent", "x"], args].concat();
        desk.bd(&args).trim().to_owned()
    };
    let epic = create(&["-t", "epic", "--no-history"]);
    let below = |args: &[&str]| create(&[&["--parent", &epic], args].concat());
    let quiet = below(&["--no-history"]);
    let wisp = below(&["--ephemeral"]);
    let sub = below(&["-t", "epic", "--no-history"]);
    create(&["--parent", &sub]);
    below(&["--no-history", "--defer", "2099-01-01"]);
    below(&["-t", "message"]);
    let row = format!(
        "{{\"id\":\"bd-form\",\"title\":\"x\",\"status\":\"open\",\"priority\":2,\
         \"issue_type\":\"task\",\"is_template\":true,\"created_at\":\"2026-01-01T00:00:00Z\",\
         \"dependencies\":[{{\"issue_id\":\"bd-form\",\"depends_on_id\":\"{epic}\",\
         \"type\":\"parent-child\",\"created_at\":\"2026-01-01T00:00:00Z\"}}]}}"
    );
    desk.scene.write("rows.jsonl", row);
    desk.bd(&["import", "rows.jsonl"]);
    for blocker in [&quiet, &wisp, "bd-form"] {
        let waiting = below(&[]);
        desk.bd(&["dep", "add", &waiting, blocker]);
    }
    desk.bd(&["config", "set", "types.infra", "chore,agent"]);

    let tasks = desk.tracker(build).tasks(PATIENCE).unwrap().tasks;
    let graph = Graph::new(&tasks, Moment(1_794_960_000_000));
    let theirs = ids_in(&desk.bd(&["ready", "--limit", "0", "--json"]));
    assert_eq!(ids_of(&graph.ready()), theirs);
    let theirs = ids_in(&desk.bd(&["blocked", "--json"]));
    assert_eq!(ids_of(&graph.blocked()), theirs);
    assert_eq!(theirs.len(), 3, "{theirs:?}");

    let start = desk.beadlock(&["start", &epic, "--session", "s-2"]);
    let done = start.done();
    assert_eq!(done.status, 0, "an epic without history is found: {done:?}");
}

fn append(desk: &Desk, path: &str, text: &str) {
    let before = std::fs::read_to_string(desk.scene.path(path)).unwrap_or_default();
    desk.scene.write(path, before + text);
}
