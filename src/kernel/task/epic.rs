//! The epic's tasks with the stages they stand at: everything about them that a decision rests on.

use super::graph::Graph;
use super::{Claim, Kind, Status, Task, TaskId};
use crate::kernel::moment::Moment;

/// Where a task stands, seen from the epic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    Closed,
    Ready,
    InProgress(Option<Claim>),
    /// Nobody can work on it now; the cause says what it waits for.
    Stuck(Cause),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its own status says blocked.
    Status,
    /// It, or its parent, is put off.
    Deferred,
    /// A status or type that only a person can move on from.
    Person(String),
    /// Other tasks, gates or epics that are not over yet; at most [`BLOCKERS_NAMED_MAX`] of them.
    Waits(Vec<TaskId>),
}

/// How many blockers are named for one task.
pub const BLOCKERS_NAMED_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpicTask {
    pub id: TaskId,
    pub status: Status,
    pub stage: Stage,
    pub is_epic: bool,
}

/// The epic's tasks with their stages: everything about them that a decision rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epic {
    pub id: TaskId,
    pub tasks: Vec<EpicTask>,
    /// Epics below this one that are only there for their children.
    pub containers: Vec<TaskId>,
    /// Tasks that wait for nothing but each other, wherever in the tracker those others are.
    pub knot: Vec<TaskId>,
}

impl Epic {
    /// The epic as `tasks` describe it at `now`, or nothing if they do not mention it.
    pub fn of(tasks: &[Task], id: &str, now: Moment) -> Option<Epic> {
        let graph = Graph::new(tasks, now);
        let root = graph.find(id)?;
        let family = graph.family(root);
        let below = family.iter().copied().filter(|&member| member != root);
        let (mut members, others): (Vec<u32>, Vec<u32>) =
            below.partition(|&member| graph.counts_as_task(member));
        members.sort_unstable_by_key(|&member| {
            let task = graph.task(member);
            (task.priority, &task.id)
        });
        let freed = graph.reaches_anchor();
        let mut knot = Vec::new();
        let mut tasks = Vec::with_capacity(members.len());
        for member in members {
            let task = graph.task(member);
            let stage = graph.stage(member);
            if matches!(stage, Stage::Stuck(Cause::Waits(_))) && !freed[member as usize] {
                knot.push(task.id.clone());
            }
            tasks.push(EpicTask {
                id: task.id.clone(),
                status: task.status.clone(),
                stage,
                is_epic: task.kind == Kind::Epic,
            });
        }
        Some(Epic {
            id: graph.task(root).id.clone(),
            containers: others
                .into_iter()
                .filter(|&other| graph.is_container(other))
                .map(|other| graph.task(other).id.clone())
                .collect(),
            knot,
            tasks,
        })
    }

    pub fn ready(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks
            .iter()
            .filter(|task| task.stage == Stage::Ready)
            .map(|task| &task.id)
    }

    pub fn contains(&self, id: &TaskId) -> bool {
        self.tasks.iter().any(|task| task.id == *id)
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            total: self.tasks.len(),
            ..Counts::default()
        };
        for task in &self.tasks {
            match &task.stage {
                Stage::Closed => counts.closed += 1,
                Stage::Ready => counts.ready += 1,
                Stage::InProgress(_) => counts.in_progress += 1,
                Stage::Stuck(Cause::Deferred) => counts.deferred += 1,
                Stage::Stuck(_) => counts.blocked += 1,
            }
        }
        counts
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub ready: usize,
    pub in_progress: usize,
    pub blocked: usize,
    pub deferred: usize,
    pub closed: usize,
    pub total: usize,
}
