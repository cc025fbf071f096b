//! Ready, blocked and knotted, against references written from bd's rules as slowly and plainly as
//! possible: repeat until nothing changes, and ask every question of every pair.

use std::collections::{BTreeMap, BTreeSet};

use beadlock::kernel::moment::Moment;
use beadlock::kernel::task::{
    Cause, Claim, Edge, EdgeKind, Epic, Graph, Kind, Stage, Status, Task, TaskId,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const NOW: Moment = Moment(1_800_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ready_and_blocked_are_what_bd_says(tasks in graphs()) {
        let graph = Graph::new(&tasks, NOW);
        let reference = Reference::of(&tasks);
        prop_assert_eq!(ids(&graph.blocked()), reference.blocked.clone());
        prop_assert_eq!(ids(&graph.ready()), reference.ready());
    }

    #[test]
    fn nothing_is_both_ready_and_blocked(tasks in graphs()) {
        let graph = Graph::new(&tasks, NOW);
        let (ready, blocked) = (ids(&graph.ready()), ids(&graph.blocked()));
        prop_assert!(ready.is_disjoint(&blocked));
    }

    #[test]
    fn ready_tasks_come_by_priority_then_id(tasks in graphs()) {
        let ready = Graph::new(&tasks, NOW).ready();
        let keys: Vec<_> = ready.iter().map(|task| (task.priority, task.id.as_str())).collect();
        prop_assert!(keys.is_sorted());
    }

    #[test]
    fn closing_a_task_makes_no_other_unready(tasks in graphs(), number in any::<prop::sample::Index>()) {
        let before = ids(&Graph::new(&tasks, NOW).ready());
        let mut after = tasks.clone();
        let number = number.index(tasks.len());
        // What was deleted cannot be closed: it would come back to life.
        if after[number].status == Status::Tombstone {
            return Ok(());
        }
        after[number].status = Status::Closed;
        let after = ids(&Graph::new(&after, NOW).ready());
        for id in before {
            prop_assert!(after.contains(&id) || id == tasks[number].id);
        }
    }

    #[test]
    fn every_task_of_an_epic_is_told_once_and_nothing_else(tasks in graphs()) {
        let Some(epic) = Epic::of(&tasks, "t-e", NOW) else {
            prop_assert!(!Reference::of(&tasks).all.contains_key("t-e"));
            return Ok(());
        };
        let told: Vec<&TaskId> = epic.tasks.iter().map(|task| &task.id).collect();
        let once: BTreeSet<TaskId> = told.iter().map(|id| (*id).clone()).collect();
        prop_assert_eq!(told.len(), once.len());
        prop_assert_eq!(once, Reference::of(&tasks).tasks_of("t-e"));
    }

    #[test]
    fn a_tasks_stage_follows_from_its_status_and_the_graph(tasks in graphs()) {
        let reference = Reference::of(&tasks);
        let Some(epic) = Epic::of(&tasks, "t-e", NOW) else { return Ok(()) };
        for task in &epic.tasks {
            let expected = reference.stage(&task.id);
            let is = match &task.stage {
                Stage::Closed => "closed",
                Stage::Ready => "ready",
                Stage::InProgress(claim) => {
                    prop_assert_eq!(claim, &reference.task(&task.id).claim);
                    "in progress"
                }
                Stage::Stuck(Cause::Status) => "blocked",
                Stage::Stuck(Cause::Deferred) => "deferred",
                Stage::Stuck(Cause::Person(_)) => "person",
                Stage::Stuck(Cause::Waits(named)) => {
                    prop_assert!(!named.is_empty() && named.len() <= 3);
                    prop_assert!(named.iter().all(|id| reference.is_waited_for(&task.id, id)));
                    "waits"
                }
            };
            prop_assert_eq!(is, expected, "{}", task.id);
            prop_assert_eq!(&task.status, &reference.task(&task.id).status);
        }
    }

    #[test]
    fn the_counts_of_an_epic_add_up(tasks in graphs()) {
        let Some(epic) = Epic::of(&tasks, "t-e", NOW) else { return Ok(()) };
        let counts = epic.counts();
        let reference = Reference::of(&tasks);
        let count = |stages: &[&str]| {
            let of = |task: &&beadlock::kernel::task::EpicTask| stages.contains(&reference.stage(&task.id));
            epic.tasks.iter().filter(of).count()
        };
        prop_assert_eq!(counts.total, epic.tasks.len());
        prop_assert_eq!(counts.ready, count(&["ready"]));
        prop_assert_eq!(counts.in_progress, count(&["in progress"]));
        prop_assert_eq!(counts.deferred, count(&["deferred"]));
        prop_assert_eq!(counts.closed, count(&["closed"]));
        prop_assert_eq!(counts.blocked, count(&["blocked", "person", "waits"]));
        let ready: BTreeSet<TaskId> = epic.ready().cloned().collect();
        prop_assert_eq!(ready.len(), counts.ready);
        prop_assert!(ready.iter().all(|id| epic.contains(id)));
    }

    #[test]
    fn a_knot_is_what_waits_for_nothing_but_itself(tasks in graphs()) {
        let reference = Reference::of(&tasks);
        let Some(epic) = Epic::of(&tasks, "t-e", NOW) else { return Ok(()) };
        let knot: BTreeSet<TaskId> = epic.knot.iter().cloned().collect();
        prop_assert_eq!(&knot, &reference.knot("t-e"));
        for task in &epic.tasks {
            let is_stuck = matches!(task.stage, Stage::Stuck(Cause::Waits(_)));
            prop_assert!(is_stuck || !knot.contains(&task.id));
        }
    }
}

fn ids(tasks: &[&Task]) -> BTreeSet<TaskId> {
    tasks.iter().map(|task| task.id.clone()).collect()
}

/// bd's rules, read aloud.
struct Reference<'a> {
    all: BTreeMap<&'a str, &'a Task>,
    blocked: BTreeSet<TaskId>,
}

impl<'a> Reference<'a> {
    fn of(tasks: &'a [Task]) -> Reference<'a> {
        let living = tasks.iter().filter(|task| task.status != Status::Tombstone);
        let mut reference = Reference {
            all: living.map(|task| (task.id.as_str(), task)).collect(),
            blocked: BTreeSet::new(),
        };
        loop {
            let blocked: BTreeSet<TaskId> = (reference.all.values())
                .filter(|task| reference.is_blocked(task))
                .map(|task| task.id.clone())
                .collect();
            if blocked == reference.blocked {
                return reference;
            }
            reference.blocked = blocked;
        }
    }

    fn task(&self, id: &TaskId) -> &'a Task {
        self.all[id.as_str()]
    }

    fn is_active(&self, id: &str) -> bool {
        (self.all.get(id))
            .is_some_and(|task| !matches!(task.status, Status::Closed | Status::Pinned))
    }

    fn is_blocked(&self, task: &Task) -> bool {
        let by_itself = !self.blockers(task).is_empty();
        let by_parent = self
            .parents(task)
            .any(|parent| self.blocked.contains(&parent.id));
        self.is_active(task.id.as_str()) && (by_itself || by_parent)
    }

    fn parents(&self, task: &'a Task) -> impl Iterator<Item = &'a Task> {
        (task.edges.iter())
            .filter(|edge| edge.kind == EdgeKind::ParentChild)
            .filter_map(|edge| self.all.get(edge.target.as_str()).copied())
    }

    fn children(&self, id: &str) -> Vec<&'a Task> {
        let is_child = |task: &&&Task| {
            let edge =
                |edge: &Edge| edge.kind == EdgeKind::ParentChild && edge.target.as_str() == id;
            task.edges.iter().any(edge)
        };
        self.all.values().filter(is_child).copied().collect()
    }

    /// What an active task waits for by its own edges.
    fn blockers(&self, task: &Task) -> BTreeSet<TaskId> {
        let workspace = |id: &TaskId| id.as_str().split('-').next().map(str::to_owned);
        let mut blockers = BTreeSet::new();
        if !self.is_active(task.id.as_str()) {
            return blockers;
        }
        for edge in &task.edges {
            let target = edge.target.as_str();
            let Some(waited) = self.all.get(target) else {
                continue;
            };
            match edge.kind {
                EdgeKind::Blocks | EdgeKind::ConditionalBlocks => {
                    if self.is_active(target) && workspace(&edge.target) == workspace(&task.id) {
                        blockers.insert(waited.id.clone());
                    }
                }
                EdgeKind::WaitsFor {
                    any_child,
                    also_blocks,
                } => {
                    let children = self.children(target);
                    let is_enough =
                        any_child && children.iter().any(|child| child.status == Status::Closed);
                    for child in children {
                        if !is_enough && self.is_active(child.id.as_str()) {
                            blockers.insert(child.id.clone());
                        }
                    }
                    if also_blocks && self.is_active(target) {
                        blockers.insert(waited.id.clone());
                    }
                }
                EdgeKind::ParentChild | EdgeKind::Loose => {}
            }
        }
        blockers
    }

    fn is_put_off(&self, task: &'a Task) -> bool {
        let later = |task: &Task| task.defer_until.is_some_and(|until| until > NOW);
        let for_good = task.status == Status::Deferred && task.defer_until.is_none();
        for_good || later(task) || self.parents(task).any(later)
    }

    fn is_ready(&self, task: &'a Task) -> bool {
        let is_open = match task.status {
            Status::Open => true,
            Status::Deferred => task.defer_until.is_some_and(|until| until <= NOW),
            _ => false,
        };
        let is_workable = !matches!(task.kind, Kind::Gate | Kind::Workflow);
        let is_shown = !task.pinned && !task.ephemeral;
        let is_free = !self.blocked.contains(&task.id) && !self.is_put_off(task);
        is_open && is_workable && is_shown && is_free
    }

    fn ready(&self) -> BTreeSet<TaskId> {
        let ready = self.all.values().filter(|task| self.is_ready(task));
        ready.map(|task| task.id.clone()).collect()
    }

    /// Is `id` directly under `parent`, by an edge or, without any, by the nearest dotted name?
    fn is_under(&self, id: &str, parent: &str) -> bool {
        let edges = &self.all[id].edges;
        if edges.iter().any(|edge| edge.kind == EdgeKind::ParentChild) {
            return self
                .parents(self.all[id])
                .any(|task| task.id.as_str() == parent);
        }
        let is_above = |other: &&&str| {
            id.strip_prefix(**other)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let nearest = self
            .all
            .keys()
            .filter(is_above)
            .max_by_key(|other| other.len());
        nearest == Some(&parent)
    }

    fn family(&self, root: &str) -> BTreeSet<&'a str> {
        let mut family = BTreeSet::new();
        loop {
            let size = family.len();
            for &id in self.all.keys() {
                let is_in = |parent: &&str| self.is_under(id, parent);
                if is_in(&root) || family.iter().any(|parent: &&str| is_in(parent)) {
                    family.insert(id);
                }
            }
            if family.len() == size {
                return family;
            }
        }
    }

    fn tasks_of(&self, root: &str) -> BTreeSet<TaskId> {
        let mut family = self.family(root);
        family.remove(root);
        let ids = family.into_iter().filter(|id| self.is_task(id));
        ids.map(TaskId::from).collect()
    }

    fn is_task(&self, id: &str) -> bool {
        let task = self.all[id];
        let is_left_out = task.pinned
            || task.status == Status::Pinned
            || task.ephemeral
            || task.template
            || task.kind == Kind::Gate;
        !is_left_out && (!self.is_container(id) || self.is_all_but_closed(id))
    }

    /// An epic whose own tasks are over while something else waits for it.
    fn is_all_but_closed(&self, id: &str) -> bool {
        let is_wanted = |task: &&&Task| self.blockers(task).iter().any(|by| by.as_str() == id);
        let mut below = self.family(id);
        below.remove(id);
        self.all.values().any(|task| is_wanted(&task)) && !below.iter().any(|id| self.is_active(id))
    }

    fn is_container(&self, id: &str) -> bool {
        let is_lasting = |child: &str| !self.all[child].ephemeral && !self.all[child].template;
        let mut children = self.all.keys().filter(|child| self.is_under(child, id));
        self.all[id].kind == Kind::Epic && children.any(|child| is_lasting(child))
    }

    fn stage(&self, id: &TaskId) -> &'static str {
        let task = self.task(id);
        match &task.status {
            Status::Closed => "closed",
            Status::InProgress | Status::Hooked => "in progress",
            Status::Blocked => "blocked",
            Status::Other(_) => "person",
            _ if self.is_ready(task) => "ready",
            _ if self.is_put_off(task) => "deferred",
            _ if self.blocked.contains(id) => "waits",
            _ => "person",
        }
    }

    /// Whether a task waits for another by its own edges or by those of something above it.
    fn is_waited_for(&self, id: &TaskId, other: &TaskId) -> bool {
        let mut above = vec![self.task(id)];
        let mut next = 0;
        while next < above.len() {
            let parents: Vec<&Task> = self.parents(above[next]).collect();
            for parent in parents {
                if !above.iter().any(|task| task.id == parent.id) {
                    above.push(parent);
                }
            }
            next += 1;
        }
        above.iter().any(|task| self.blockers(task).contains(other))
    }

    /// What a task's wait leads to in one step: its blockers, parents that are blocked, and an
    /// epic's own open children.
    fn steps(&self, task: &'a Task) -> BTreeSet<TaskId> {
        let mut steps = self.blockers(task);
        let parents = self
            .parents(task)
            .filter(|parent| self.blocked.contains(&parent.id));
        steps.extend(parents.map(|parent| parent.id.clone()));
        let id = task.id.as_str();
        if self.is_container(id) && self.is_active(id) {
            let open = |child: &&&str| self.is_under(child, id) && self.is_active(child);
            steps.extend(
                self.all
                    .keys()
                    .filter(open)
                    .map(|child| TaskId::from(*child)),
            );
        }
        steps
    }

    /// Waiting tasks from which no path of waiting leads to anything that can move by itself.
    fn knot(&self, root: &str) -> BTreeSet<TaskId> {
        let tasks = self.tasks_of(root);
        let can_move = |id: &TaskId| {
            let task = self.task(id);
            let is_worked_on = match task.status {
                Status::InProgress | Status::Hooked => !self.is_container(id.as_str()),
                Status::Open | Status::Deferred => self.is_put_off(task),
                _ => true,
            };
            self.steps(task).is_empty() || is_worked_on
        };
        let leads_on = |id: &TaskId| {
            let mut reached = BTreeSet::from([id.clone()]);
            loop {
                if reached.iter().any(can_move) {
                    return true;
                }
                let further: BTreeSet<TaskId> = reached
                    .iter()
                    .flat_map(|id| self.steps(self.task(id)))
                    .collect();
                let size = reached.len();
                reached.extend(further);
                if reached.len() == size {
                    return false;
                }
            }
        };
        let waits = tasks.iter().filter(|id| self.stage(id) == "waits");
        waits.filter(|id| !leads_on(id)).cloned().collect()
    }
}

/// Dotted names with and without their parents, another workspace, and a name that nobody has.
const NAMES: [&str; 11] = [
    "t-e", "t-e.1", "t-e.1.1", "t-e.1.2", "t-e.2", "t-e.3.1", "t-a", "t-b", "t-ea", "t-g", "u-x",
];

fn graphs() -> impl Strategy<Value = Vec<Task>> {
    (subsequence(NAMES.to_vec(), 1..=NAMES.len()), any::<bool>()).prop_flat_map(
        |(names, is_tame)| {
            let tasks: Vec<_> = names.into_iter().map(|name| task(name, is_tame)).collect();
            tasks.prop_shuffle()
        },
    )
}

/// A tame task is open and work; its graph is about edges alone.
fn task(name: &'static str, is_tame: bool) -> impl Strategy<Value = Task> {
    let statuses = [
        "open",
        "in_progress",
        "hooked",
        "blocked",
        "deferred",
        "closed",
        "pinned",
        "tombstone",
        "review",
    ];
    let status = if is_tame {
        select(vec!["open", "open", "open", "closed", "in_progress"])
    } else {
        select(statuses.to_vec())
    };
    let kind = if is_tame {
        select(vec![Kind::Work])
    } else {
        select(vec![Kind::Work, Kind::Epic, Kind::Gate, Kind::Workflow])
    };
    let date = || of(select(vec![Moment(NOW.0 - 1), NOW, Moment(NOW.0 + 1)]));
    let rarely = move || proptest::bool::weighted(if is_tame { 0.0 } else { 0.1 });
    let flags = (rarely(), rarely(), rarely(), rarely());
    let rest = (
        0u8..3,
        date(),
        of(Just(claim())),
        vec(edge(name), 0..3),
        flags,
    );
    (status, kind, rest).prop_map(move |(status, kind, rest)| {
        let (priority, date, claim, edges, flags) = rest;
        let status = Status::parse(status);
        let is_epic = name == "t-e";
        Task {
            kind: if is_epic { Kind::Epic } else { kind },
            priority,
            defer_until: date.filter(|_| flags.3 || status == Status::Deferred),
            claim,
            edges,
            pinned: flags.0,
            ephemeral: flags.1,
            template: flags.2,
            status,
            ..Task::open(name)
        }
    })
}

fn claim() -> Claim {
    Claim {
        actor: "dev".into(),
        since: None,
        lease_until: Some(NOW.plus_millis(1)),
    }
}

fn edge(name: &'static str) -> impl Strategy<Value = Edge> {
    let waits = |any_child, also_blocks| EdgeKind::WaitsFor {
        any_child,
        also_blocks,
    };
    let kind = prop_oneof![
        4 => Just(EdgeKind::Blocks),
        1 => Just(EdgeKind::ConditionalBlocks),
        4 => Just(EdgeKind::ParentChild),
        1 => Just(EdgeKind::Loose),
        2 => (any::<bool>(), any::<bool>()).prop_map(move |(any, also)| waits(any, also)),
    ];
    let target = prop_oneof![6 => select(NAMES.to_vec()), 1 => Just("t-gone")];
    (target, kind).prop_map(move |(target, kind)| {
        // What bd does with another workspace's spawner or parent was not observed.
        let is_home = target.starts_with('t') == name.starts_with('t');
        let kind = if is_home { kind } else { EdgeKind::Blocks };
        Edge {
            target: target.into(),
            kind,
        }
    })
}

/// From every waiter to every child there would be 400 million ties: a list of its own for each
/// waiter does not fit into memory.
const MANY: usize = 20_000;

fn under(parent: &str, id: &str) -> Task {
    let home = Edge {
        target: parent.into(),
        kind: EdgeKind::ParentChild,
    };
    Task {
        edges: vec![home],
        ..Task::open(id)
    }
}

/// A child of `t-e` that waits for somebody's children, in one way or another.
fn waiter(number: usize, spawner: &str) -> Task {
    let kind = EdgeKind::WaitsFor {
        any_child: number.is_multiple_of(2),
        also_blocks: number.is_multiple_of(3),
    };
    let target = spawner.into();
    let mut task = under("t-e", &format!("t-e{number:05}"));
    task.edges.push(Edge { target, kind });
    task
}

fn epic(id: &str) -> Task {
    Task {
        kind: Kind::Epic,
        ..Task::open(id)
    }
}

#[test]
fn many_may_wait_for_many() {
    let mut tasks = vec![epic("t-e"), epic("t-s")];
    for number in 0..MANY {
        tasks.push(under("t-s", &format!("t-s{number:05}")));
        tasks.push(waiter(number, "t-s"));
    }
    let waiting = Epic::of(&tasks, "t-e", NOW).unwrap();
    assert_eq!((waiting.counts().blocked, waiting.knot.len()), (MANY, 0));
    let named = ["t-s00000", "t-s00001", "t-s00002"].map(TaskId::from);
    let waits = Stage::Stuck(Cause::Waits(named.to_vec()));
    assert!(waiting.tasks.iter().all(|task| task.stage == waits));

    for child in tasks.iter_mut().filter(|task| task.id.as_str() > "t-s") {
        child.status = Status::Closed;
    }
    let free = Epic::of(&tasks, "t-e", NOW).unwrap();
    // The others wait for the epic itself too.
    assert_eq!(free.counts().ready, MANY - MANY.div_ceil(3));
}

#[test]
fn many_may_wait_for_each_other() {
    let mut tasks = vec![epic("t-e")];
    tasks.extend((0..MANY).map(|number| waiter(number, "t-e")));
    let knotted = Epic::of(&tasks, "t-e", NOW).unwrap();
    assert_eq!(knotted.knot.len(), MANY);
    tasks[1].status = Status::Blocked;
    let freed = Epic::of(&tasks, "t-e", NOW).unwrap();
    assert_eq!(freed.knot, []);
}
