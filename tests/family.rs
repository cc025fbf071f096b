//! Who is below whom, and who has to wait: what the graph tells those who change tasks.

use beadlock::kernel::moment::Moment;
use beadlock::kernel::task::{Cause, Edge, EdgeKind, Graph, Kind, Stage, Status, Task, TaskId};

const NOW: Moment = Moment(0);

fn task(id: &str, edges: &[(&str, EdgeKind)]) -> Task {
    let edge = |&(target, kind): &(&str, EdgeKind)| Edge {
        target: target.into(),
        kind,
    };
    Task {
        edges: edges.iter().map(edge).collect(),
        ..Task::open(id)
    }
}

fn epic(id: &str, edges: &[(&str, EdgeKind)]) -> Task {
    Task {
        kind: Kind::Epic,
        ..task(id, edges)
    }
}

fn closed(task: Task) -> Task {
    Task {
        status: Status::Closed,
        ..task
    }
}

fn parent<'a>(graph: &Graph<'a>, id: &str) -> Option<&'a str> {
    graph.parent_of(id).map(TaskId::as_str)
}

#[test]
fn a_parent_is_told_by_the_edge_and_only_then_by_the_name() {
    let below = EdgeKind::ParentChild;
    let tasks = [
        task("t-a", &[]),
        task("t-b", &[]),
        task("t-a.1", &[]),
        task("t-a.2", &[("t-b", below)]),
        task("t-a.3", &[("t-gone", below)]),
        task("t-a.4.1", &[]),
    ];
    let graph = Graph::new(&tasks, NOW);
    assert_eq!(parent(&graph, "t-a"), None);
    assert_eq!(parent(&graph, "t-a.1"), Some("t-a"));
    assert_eq!(parent(&graph, "t-a.2"), Some("t-b"));
    assert_eq!(parent(&graph, "t-a.3"), None);
    assert_eq!(parent(&graph, "t-a.4.1"), Some("t-a"));
    assert_eq!(parent(&graph, "t-x"), None);
}

#[test]
fn children_are_open_until_closed_or_deleted() {
    let below = &[("t-a", EdgeKind::ParentChild)];
    let deleted = Task {
        status: Status::Tombstone,
        ..task("t-d", below)
    };
    let tasks = [
        task("t-a", &[]),
        task("t-b", below),
        task("t-a.1", &[]),
        closed(task("t-c", below)),
        deleted,
    ];
    let graph = Graph::new(&tasks, NOW);
    let children: Vec<&str> = graph
        .open_children("t-a")
        .iter()
        .map(|id| id.as_str())
        .collect();
    assert_eq!(children, ["t-b", "t-a.1"]);
    assert!(graph.open_children("t-b").is_empty());
    assert!(graph.open_children("t-d").is_empty());
}

#[test]
fn blockers_are_named_from_near_to_far() {
    let blocks = EdgeKind::Blocks;
    let tasks = [
        task("t-x", &[]),
        task("t-y", &[]),
        epic("t-e", &[("t-y", blocks)]),
        task("t-e.1", &[("t-e", EdgeKind::ParentChild), ("t-x", blocks)]),
        closed(task("t-e.2", &[("t-e", EdgeKind::ParentChild)])),
    ];
    let graph = Graph::new(&tasks, NOW);
    let blockers = |id, max| -> Vec<String> {
        let ids = graph.blockers_of(id, max);
        ids.iter().map(TaskId::to_string).collect()
    };
    assert_eq!(blockers("t-e.1", 9), ["t-x", "t-y"]);
    assert_eq!(blockers("t-e.1", 1), ["t-x"]);
    assert!(blockers("t-e.2", 9).is_empty());
    assert!(blockers("t-x", 9).is_empty());
}

#[test]
fn only_tasks_have_a_stage_and_are_offered() {
    let below = EdgeKind::ParentChild;
    let template = Task {
        template: true,
        ..task("t-t", &[])
    };
    let tasks = [
        epic("t-e", &[]),
        epic("t-empty", &[]),
        task("t-e.1", &[("t-e", below)]),
        task("t-e.2", &[("t-e", below), ("t-e.1", EdgeKind::Blocks)]),
        template,
    ];
    let graph = Graph::new(&tasks, NOW);
    let offered: Vec<&str> = graph
        .offered()
        .iter()
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(offered, ["t-e.1", "t-empty"]);
    assert_eq!(graph.stage_of("t-e"), None);
    assert_eq!(graph.stage_of("t-t"), None);
    assert_eq!(graph.stage_of("t-x"), None);
    assert_eq!(graph.stage_of("t-e.1"), Some(Stage::Ready));
    let waits = Stage::Stuck(Cause::Waits(vec!["t-e.1".into()]));
    assert_eq!(graph.stage_of("t-e.2"), Some(waits));
}
