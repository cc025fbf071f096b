//! The kernel's ready and blocked sets against bd 1.3.0's, read through the embedded tracker.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use beadlock::edge::tracker::{self, KindChoice, Patience, WhenLate, Workspace};
use beadlock::kernel::moment::Moment;
use beadlock::kernel::task::{Graph, Task};
use serde_json::Value;

/// 2026-11-18, when bd was asked; the vectors' dates are well before or well after.
const NOW: Moment = Moment(1_794_960_000_000);

fn names(value: &Value) -> BTreeSet<String> {
    let names = value.as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn ids(tasks: &[&Task]) -> BTreeSet<String> {
    tasks.iter().map(|task| task.id.to_string()).collect()
}

fn tasks_of(vector: &Value) -> Vec<Task> {
    let folder = tempfile::tempdir().unwrap();
    let issues = vector["issues"].as_array().unwrap();
    let lines: Vec<String> = issues.iter().map(Value::to_string).collect();
    fs::create_dir(folder.path().join(".beads")).unwrap();
    fs::write(folder.path().join(".beads/issues.jsonl"), lines.join("\n")).unwrap();
    let workspace: Workspace = tracker::locate(folder.path(), None);
    let tracker = tracker::open(&workspace, KindChoice::Auto).unwrap();
    let patience = Patience {
        deadline: Duration::from_secs(5),
        when_late: WhenLate::End,
    };
    tracker.tasks(patience).unwrap().tasks
}

#[test]
fn every_vector_is_ready_and_blocked_as_in_bd() {
    let text = include_str!("fixtures/beads-vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(text).unwrap();
    assert_eq!(vectors.len(), 24);
    for vector in &vectors {
        let name = &vector["name"];
        let tasks = tasks_of(vector);
        let graph = Graph::new(&tasks, NOW);
        assert_eq!(
            ids(&graph.ready()),
            names(&vector["bd"]["ready"]),
            "{name}: ready"
        );
        assert_eq!(
            ids(&graph.blocked()),
            names(&vector["bd"]["blocked"]),
            "{name}: blocked"
        );
    }
}
