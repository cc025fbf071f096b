//! What the ties between tasks say: which are ready, which wait, and for what.
//! The rules are those of bd 1.3; every tracker's tasks are judged by this one computation.

use std::collections::HashSet;

use foldhash::{HashMap, HashMapExt};

use super::epic::{BLOCKERS_NAMED_MAX, Cause, Stage};
use super::{EdgeKind, Kind, Status, Task, TaskId};
use crate::kernel::moment::Moment;

/// All tasks of a tracker, with the blocked ones worked out.
pub struct Graph<'a> {
    tasks: &'a [Task],
    now: Moment,
    index: HashMap<&'a str, u32>,
    /// Those that `index` leads to.
    living: Vec<u32>,
    children: Vec<Vec<u32>>,
    /// Those of them that are not over: one list, however many wait for it.
    unfinished: Vec<Vec<u32>>,
    has_closed_child: Vec<bool>,
    /// Children by dotted id alone; bd counts them as descendants, but they inherit no blocker.
    children_by_name: Vec<Vec<u32>>,
    blocked: Vec<bool>,
    /// Something that is not over waits for it.
    is_waited_for: Vec<bool>,
}

/// What a task waits for by one edge.
#[derive(Clone, Copy)]
enum Wait {
    Task(u32),
    /// All that are unfinished; there is at least one.
    ChildrenOf(u32),
}

impl<'a> Graph<'a> {
    pub fn new(tasks: &'a [Task], now: Moment) -> Self {
        let mut index = HashMap::with_capacity(tasks.len());
        let mut living = Vec::with_capacity(tasks.len());
        for (number, task) in (0u32..).zip(tasks) {
            if task.status == Status::Tombstone {
                continue;
            }
            living.push(number);
            if let Some(earlier) = index.insert(task.id.as_str(), number) {
                living.retain(|&number| number != earlier);
            }
        }
        let mut graph = Graph {
            tasks,
            now,
            index,
            living,
            children: vec![Vec::new(); tasks.len()],
            unfinished: vec![Vec::new(); tasks.len()],
            has_closed_child: vec![false; tasks.len()],
            children_by_name: vec![Vec::new(); tasks.len()],
            blocked: vec![false; tasks.len()],
            is_waited_for: vec![false; tasks.len()],
        };
        graph.link_children();
        graph.spread_blocks();
        graph
    }

    /// Tasks that can be worked on now, the most urgent first.
    pub fn ready(&self) -> Vec<&'a Task> {
        let mut ready: Vec<&Task> = self
            .living
            .iter()
            .copied()
            .filter(|&number| self.is_ready(number))
            .map(|number| self.task(number))
            .collect();
        ready.sort_by_key(|task| (task.priority, &task.id));
        ready
    }

    /// Tasks that wait for another one to be over.
    pub fn blocked(&self) -> Vec<&'a Task> {
        self.living
            .iter()
            .filter(|&&number| self.blocked[number as usize])
            .map(|&number| self.task(number))
            .collect()
    }

    /// Ready tasks that a worker can take: epics with children and whatever is no task left out.
    pub fn offered(&self) -> Vec<&'a Task> {
        let mut ready = self.ready();
        ready.retain(|task| self.stage_of(task.id.as_str()).is_some());
        ready
    }

    pub fn get(&self, id: &str) -> Option<&'a Task> {
        self.find(id).map(|number| self.task(number))
    }

    /// Where a task stands; nothing for what is not there or does not count as a task.
    pub fn stage_of(&self, id: &str) -> Option<Stage> {
        self.find(id)
            .filter(|&number| self.counts_as_task(number))
            .map(|number| self.stage(number))
    }

    /// What keeps a task from being ready: its own blockers first, then its parents', at most `max`.
    pub fn blockers_of(&self, id: &str, max: usize) -> Vec<TaskId> {
        self.find(id)
            .filter(|&number| self.blocked[number as usize])
            .map(|number| self.named_blockers(number, max))
            .unwrap_or_default()
    }

    /// Children, by edge or by dotted id, that are not over.
    pub fn open_children(&self, id: &str) -> Vec<&'a TaskId> {
        let Some(number) = self.find(id) else {
            return Vec::new();
        };
        let by_edge = &self.children[number as usize];
        let by_name = &self.children_by_name[number as usize];
        by_edge
            .iter()
            .chain(by_name)
            .map(|&child| self.task(child))
            .filter(|child| child.status.is_active())
            .map(|child| &child.id)
            .collect()
    }

    pub fn parent_of(&self, id: &str) -> Option<&'a TaskId> {
        let task = self.get(id)?;
        let mut by_edge = task
            .edges
            .iter()
            .filter(|edge| edge.kind == EdgeKind::ParentChild)
            .peekable();
        let parent = match by_edge.peek() {
            Some(_) => by_edge.find_map(|edge| self.find(edge.target.as_str())),
            None => self.parent_by_name(id),
        };
        parent.map(|parent| &self.task(parent).id)
    }

    pub(super) fn task(&self, number: u32) -> &'a Task {
        &self.tasks[number as usize]
    }

    pub(super) fn find(&self, id: &str) -> Option<u32> {
        self.index.get(id).copied()
    }

    fn link_children(&mut self) {
        for number in self.living.clone() {
            let task = self.task(number);
            let mut has_parent = false;
            for edge in &task.edges {
                if edge.kind == EdgeKind::ParentChild {
                    has_parent = true;
                    if let Some(parent) = self.find(edge.target.as_str()) {
                        self.adopt(parent as usize, number);
                    }
                }
            }
            if !has_parent && let Some(parent) = self.parent_by_name(task.id.as_str()) {
                self.children_by_name[parent as usize].push(number);
            }
        }
    }

    fn adopt(&mut self, parent: usize, child: u32) {
        self.children[parent].push(child);
        let status = &self.task(child).status;
        if status.is_active() {
            self.unfinished[parent].push(child);
        } else if *status == Status::Closed {
            self.has_closed_child[parent] = true;
        }
    }

    /// The nearest dotted ancestor that exists; `e.1.1` is under `e` if there is no `e.1`.
    fn parent_by_name(&self, mut name: &str) -> Option<u32> {
        while let Some((ancestor, _)) = name.rsplit_once('.') {
            if let Some(parent) = self.find(ancestor) {
                return Some(parent);
            }
            name = ancestor;
        }
        None
    }

    /// Marks what is blocked by itself, then everything below it.
    fn spread_blocks(&mut self) {
        let mut below: Vec<u32> = Vec::new();
        let mut is_awaited = vec![false; self.tasks.len()];
        for number in self.living.clone() {
            let waits: Vec<Wait> = self.waits(number).collect();
            if !waits.is_empty() {
                self.blocked[number as usize] = true;
                below.push(number);
            }
            for wait in waits {
                match wait {
                    Wait::Task(task) => self.is_waited_for[task as usize] = true,
                    Wait::ChildrenOf(spawner) => is_awaited[spawner as usize] = true,
                }
            }
        }
        for (children, _) in self.unfinished.iter().zip(is_awaited).filter(|it| it.1) {
            for &child in children {
                self.is_waited_for[child as usize] = true;
            }
        }
        while let Some(number) = below.pop() {
            for &child in &self.unfinished[number as usize] {
                if !self.blocked[child as usize] {
                    self.blocked[child as usize] = true;
                    below.push(child);
                }
            }
        }
    }

    /// What a task waits for by its own edges, inheritance aside.
    fn waits(&self, number: u32) -> impl Iterator<Item = Wait> + '_ {
        let task = self.task(number);
        let edges = task.edges.iter().filter(|_| task.status.is_active());
        edges.flat_map(move |edge| {
            let target = self.find(edge.target.as_str());
            let is_active = |target: &u32| self.task(*target).status.is_active();
            let (spawner, blocker) = match edge.kind {
                EdgeKind::Blocks | EdgeKind::ConditionalBlocks => {
                    let at_home = edge.target.shares_workspace(&task.id);
                    (None, target.filter(|_| at_home))
                }
                EdgeKind::WaitsFor {
                    any_child,
                    also_blocks,
                } => (
                    target.filter(|&spawner| self.has_to_finish(spawner, any_child)),
                    target.filter(|_| also_blocks),
                ),
                EdgeKind::ParentChild | EdgeKind::Loose => (None, None),
            };
            let children = spawner.map(Wait::ChildrenOf);
            let itself = blocker.filter(is_active).map(Wait::Task);
            children.into_iter().chain(itself)
        })
    }

    /// The same, task by task. For each of n waiters that may be n children, so nobody who asks
    /// this of all of them may go on to the end.
    fn blockers(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        self.waits(number).flat_map(|wait| {
            let (task, children) = match wait {
                Wait::Task(task) => (Some(task), &[][..]),
                Wait::ChildrenOf(spawner) => (None, &self.unfinished[spawner as usize][..]),
            };
            task.into_iter().chain(children.iter().copied())
        })
    }

    /// Whether those who wait for the spawner's children, or with `any_child` for the first of
    /// them, still have to.
    fn has_to_finish(&self, spawner: u32, any_child: bool) -> bool {
        let spawner = spawner as usize;
        let is_enough = any_child && self.has_closed_child[spawner];
        !is_enough && !self.unfinished[spawner].is_empty()
    }

    fn is_ready(&self, number: u32) -> bool {
        let task = self.task(number);
        let open = match task.status {
            Status::Open => true,
            // bd 1.3 wakes a dated deferral once its date has passed.
            Status::Deferred => task.defer_until.is_some_and(|until| until <= self.now),
            Status::InProgress
            | Status::Hooked
            | Status::Blocked
            | Status::Closed
            | Status::Pinned
            | Status::Tombstone
            | Status::Other(_) => false,
        };
        open && !task.pinned
            && !task.ephemeral
            && matches!(task.kind, Kind::Work | Kind::Epic)
            && !self.blocked[number as usize]
            && !self.is_put_off(number)
    }

    /// Deferred itself, with a date to come or none, or directly below something with such a date.
    fn is_put_off(&self, number: u32) -> bool {
        let task = self.task(number);
        let is_undated = task.status == Status::Deferred && task.defer_until.is_none();
        let parents = task
            .edges
            .iter()
            .filter(|edge| edge.kind == EdgeKind::ParentChild)
            .filter_map(|edge| self.find(edge.target.as_str()));
        is_undated
            || task.is_deferred(self.now)
            || parents
                .into_iter()
                .any(|parent| self.task(parent).is_deferred(self.now))
    }

    /// The root and everything below it, by edge or by dotted id.
    pub(super) fn family(&self, root: u32) -> Vec<u32> {
        let mut seen = HashSet::from([root]);
        let mut family = vec![root];
        let mut next = 0;
        while let Some(&number) = family.get(next) {
            next += 1;
            for child in self.all_children(number) {
                if seen.insert(child) {
                    family.push(child);
                }
            }
        }
        family
    }

    pub(super) fn counts_as_task(&self, number: u32) -> bool {
        let task = self.task(number);
        let is_outside_the_count = task.pinned
            || task.status == Status::Pinned
            || task.ephemeral
            || task.template
            || task.kind == Kind::Gate;
        !is_outside_the_count && (!self.is_container(number) || self.is_to_be_closed(number))
    }

    /// An epic that is only there for its children. What passes by itself, and what is copied and
    /// never done, leaves it as empty as it was.
    pub(super) fn is_container(&self, number: u32) -> bool {
        let is_lasting = |child: u32| {
            let child = self.task(child);
            !child.ephemeral && !child.template
        };
        self.task(number).kind == Kind::Epic && self.all_children(number).any(is_lasting)
    }

    /// A container whose own work is over while others wait for it: closing it is all that is
    /// left to do, and somebody has to.
    fn is_to_be_closed(&self, number: u32) -> bool {
        self.is_waited_for[number as usize]
            && !self
                .family(number)
                .into_iter()
                .filter(|&member| member != number)
                .any(|member| self.task(member).status.is_active())
    }

    fn all_children(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let by_edge = &self.children[number as usize];
        let by_name = &self.children_by_name[number as usize];
        by_edge.iter().chain(by_name).copied()
    }

    pub(super) fn stage(&self, number: u32) -> Stage {
        let task = self.task(number);
        match &task.status {
            Status::Closed => Stage::Closed,
            Status::InProgress | Status::Hooked => Stage::InProgress(task.claim.clone()),
            Status::Blocked => Stage::Stuck(Cause::Status),
            Status::Other(name) => Stage::Stuck(Cause::Person(format!("status {name}"))),
            // Neither is a task of an epic, so neither comes here; waiting is the safe answer.
            Status::Pinned | Status::Tombstone => Stage::Stuck(Cause::Status),
            Status::Open | Status::Deferred if self.is_ready(number) => Stage::Ready,
            Status::Open | Status::Deferred if self.is_put_off(number) => {
                Stage::Stuck(Cause::Deferred)
            }
            Status::Open | Status::Deferred if self.blocked[number as usize] => Stage::Stuck(
                Cause::Waits(self.named_blockers(number, BLOCKERS_NAMED_MAX)),
            ),
            Status::Open | Status::Deferred => {
                Stage::Stuck(Cause::Person("a type that nobody works on".to_owned()))
            }
        }
    }

    /// The nearest tasks that keep this one from being ready, its own first, then its parents'.
    fn named_blockers(&self, number: u32, max: usize) -> Vec<TaskId> {
        let mut named: Vec<TaskId> = Vec::new();
        let mut seen = HashSet::from([number]);
        let mut path = vec![number];
        let mut next = 0;
        while let Some(&at) = path.get(next) {
            next += 1;
            for blocker in self.blockers(at) {
                if named.len() == max {
                    return named;
                }
                let id = &self.task(blocker).id;
                if !named.contains(id) {
                    named.push(id.clone());
                }
            }
            path.extend(
                self.blocked_parents(at)
                    .into_iter()
                    .filter(|&parent| seen.insert(parent)),
            );
        }
        named
    }

    fn blocked_parents(&self, number: u32) -> Vec<u32> {
        self.task(number)
            .edges
            .iter()
            .filter(|edge| edge.kind == EdgeKind::ParentChild)
            .filter_map(|edge| self.find(edge.target.as_str()))
            .filter(|&parent| self.blocked[parent as usize])
            .collect()
    }

    /// For every task: does following what it waits for lead to something that waits for nobody
    /// in the graph? Walked backwards from those, so that cycles need no special care.
    pub(super) fn reaches_anchor(&self) -> Vec<bool> {
        let count = self.tasks.len();
        // The second half stands for the unfinished children of each task, taken together: a tie
        // from every waiter to every child would be their product.
        let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); 2 * count];
        let mut freed = vec![false; 2 * count];
        let mut next: Vec<usize> = Vec::new();
        for &number in &self.living {
            let waits_for = self.waits_for(number);
            let number_at = number as usize;
            if waits_for.is_empty() || self.is_anchor(number) {
                freed[number_at] = true;
                next.push(number_at);
            }
            for wait in waits_for {
                match wait {
                    Wait::Task(task) => waiters[task as usize].push(number_at),
                    Wait::ChildrenOf(spawner) => waiters[count + spawner as usize].push(number_at),
                }
            }
        }
        for (spawner, children) in self.unfinished.iter().enumerate() {
            let together = count + spawner;
            if !waiters[together].is_empty() {
                for &child in children {
                    waiters[child as usize].push(together);
                }
            }
        }
        while let Some(node) = next.pop() {
            for &waiter in &waiters[node] {
                if !freed[waiter] {
                    freed[waiter] = true;
                    next.push(waiter);
                }
            }
        }
        freed.truncate(count);
        freed
    }

    /// Everything that has to be over before this can be: what it waits for by its own edges, its
    /// parents' waits where it inherits them, and a container's own open children.
    fn waits_for(&self, number: u32) -> Vec<Wait> {
        let mut waits_for: Vec<Wait> = self.waits(number).collect();
        waits_for.extend(self.blocked_parents(number).into_iter().map(Wait::Task));
        if self.is_container(number) && self.task(number).status.is_active() {
            let open = |child: &u32| self.task(*child).status.is_active();
            waits_for.extend(self.all_children(number).filter(open).map(Wait::Task));
        }
        waits_for
    }

    /// A task that a person, a date or a worker can move on, whatever it waits for.
    fn is_anchor(&self, number: u32) -> bool {
        match &self.task(number).status {
            Status::Blocked | Status::Other(_) => true,
            Status::InProgress | Status::Hooked => !self.is_container(number),
            Status::Open | Status::Deferred => self.is_put_off(number),
            Status::Closed | Status::Pinned | Status::Tombstone => true,
        }
    }
}
