//! Tasks, and what the graph between them says: which are ready, which wait, and for what.
//! The rules are those of bd 1.3; every tracker's tasks are judged by this one computation.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;

use foldhash::{HashMap, HashMapExt};
use smol_str::SmolStr;

use super::moment::Moment;

/// Ids are short and copied all over; up to 23 bytes of them need no memory of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(SmolStr);

impl TaskId {
    pub fn new(id: impl Into<SmolStr>) -> Self {
        TaskId(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id can stand in a prompt or on a command line as it is.
    pub fn is_plain(&self) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        self.0.len() <= Self::PLAIN_BYTES_MAX
            && self.0.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.0.chars().all(plain)
    }

    /// Longer ids are never quoted in full; bd's own stay well under this.
    pub const PLAIN_BYTES_MAX: usize = 48;

    /// Whether bd takes both ids for the same workspace's. Since 1.3 no other one's blocks.
    pub fn shares_workspace(&self, other: &TaskId) -> bool {
        self.prefix() == other.prefix()
    }

    /// bd reads the text before the first dash as the workspace an id belongs to.
    fn prefix(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for TaskId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for TaskId {
    fn from(id: &str) -> Self {
        TaskId(id.into())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
    InProgress,
    /// In progress under a worker's own hook; bd's word for it.
    Hooked,
    Blocked,
    Deferred,
    Closed,
    Pinned,
    /// Deleted, but still mentioned in the file.
    Tombstone,
    /// A status that the project invented. Only a person knows what it means.
    Other(Box<str>),
}

impl Status {
    pub fn parse(name: &str) -> Status {
        match name {
            "open" => Status::Open,
            "in_progress" => Status::InProgress,
            "hooked" => Status::Hooked,
            "blocked" => Status::Blocked,
            "deferred" => Status::Deferred,
            "closed" => Status::Closed,
            "pinned" => Status::Pinned,
            "tombstone" => Status::Tombstone,
            other => Status::Other(other.into()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Status::Open => "open",
            Status::InProgress => "in_progress",
            Status::Hooked => "hooked",
            Status::Blocked => "blocked",
            Status::Deferred => "deferred",
            Status::Closed => "closed",
            Status::Pinned => "pinned",
            Status::Tombstone => "tombstone",
            Status::Other(name) => name,
        }
    }

    /// The statuses that bd knows without being told.
    pub const NAMES: [&str; 7] = [
        "open",
        "in_progress",
        "hooked",
        "blocked",
        "deferred",
        "closed",
        "pinned",
    ];

    /// An inactive task blocks nobody and is blocked by nobody.
    fn is_active(&self) -> bool {
        !matches!(self, Status::Closed | Status::Pinned)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything a worker does.
    Work,
    Epic,
    /// Waits for an event or a person; blocks others, is no task itself.
    Gate,
    /// bd's own machinery (merge requests, molecules, agents, …): never offered as ready.
    Workflow,
}

impl Kind {
    pub fn parse(name: &str) -> Kind {
        match name {
            "epic" => Kind::Epic,
            "gate" => Kind::Gate,
            "merge-request" | "molecule" | "rig" | "agent" | "role" | "message" => Kind::Workflow,
            _ => Kind::Work,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Blocks,
    ConditionalBlocks,
    ParentChild,
    /// Waits for the target's children, or with `also_blocks` for the target too.
    WaitsFor {
        any_child: bool,
        also_blocks: bool,
    },
    /// Related, discovered-from and the like: no bearing on readiness.
    Loose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub target: TaskId,
    pub kind: EdgeKind,
}

/// Who works on a task, and until when their word is good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub actor: String,
    pub since: Option<Moment>,
    pub lease_until: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub status: Status,
    pub kind: Kind,
    pub priority: u8,
    pub pinned: bool,
    pub ephemeral: bool,
    pub template: bool,
    pub defer_until: Option<Moment>,
    pub claim: Option<Claim>,
    pub edges: Vec<Edge>,
}

impl Task {
    /// An open piece of work without any ties: what most tasks are to begin with.
    pub fn open(id: impl Into<TaskId>) -> Task {
        Task {
            id: id.into(),
            title: String::new(),
            status: Status::Open,
            kind: Kind::Work,
            priority: 2,
            pinned: false,
            ephemeral: false,
            template: false,
            defer_until: None,
            claim: None,
            edges: Vec::new(),
        }
    }

    fn is_deferred(&self, now: Moment) -> bool {
        self.defer_until.is_some_and(|until| until > now)
    }
}

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

/// All tasks of a tracker, with the blocked ones worked out.
pub struct Graph<'a> {
    tasks: &'a [Task],
    now: Moment,
    index: HashMap<&'a str, u32>,
    /// Those that `index` leads to.
    living: Vec<u32>,
    children: Vec<Vec<u32>>,
    /// Children by dotted id alone; bd counts them as descendants, but they inherit no blocker.
    children_by_name: Vec<Vec<u32>>,
    blocked: Vec<bool>,
    /// Something that is not over waits for it.
    is_waited_for: Vec<bool>,
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

    fn task(&self, number: u32) -> &'a Task {
        &self.tasks[number as usize]
    }

    fn find(&self, id: &str) -> Option<u32> {
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
                        self.children[parent as usize].push(number);
                    }
                }
            }
            if !has_parent && let Some(parent) = self.parent_by_name(task.id.as_str()) {
                self.children_by_name[parent as usize].push(number);
            }
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
        for number in self.living.clone() {
            let blockers = self.blockers(number);
            if !blockers.is_empty() {
                self.blocked[number as usize] = true;
                below.push(number);
            }
            for blocker in blockers {
                self.is_waited_for[blocker as usize] = true;
            }
        }
        while let Some(number) = below.pop() {
            for child in self.children[number as usize].clone() {
                let unmarked = !self.blocked[child as usize];
                if unmarked && self.task(child).status.is_active() {
                    self.blocked[child as usize] = true;
                    below.push(child);
                }
            }
        }
    }

    /// What a task waits for by its own edges, inheritance aside.
    fn blockers(&self, number: u32) -> Vec<u32> {
        let task = self.task(number);
        if !task.status.is_active() {
            return Vec::new();
        }
        let mut blockers = Vec::new();
        for edge in &task.edges {
            let Some(target) = self.find(edge.target.as_str()) else {
                continue;
            };
            match edge.kind {
                EdgeKind::Blocks | EdgeKind::ConditionalBlocks => {
                    let at_home = edge.target.shares_workspace(&task.id);
                    if at_home && self.task(target).status.is_active() {
                        blockers.push(target);
                    }
                }
                EdgeKind::WaitsFor {
                    any_child,
                    also_blocks,
                } => {
                    blockers.extend(self.unfinished_children(target, any_child));
                    if also_blocks && self.task(target).status.is_active() {
                        blockers.push(target);
                    }
                }
                EdgeKind::ParentChild | EdgeKind::Loose => {}
            }
        }
        blockers
    }

    fn unfinished_children(&self, spawner: u32, any_child: bool) -> Vec<u32> {
        let children = &self.children[spawner as usize];
        let status = |&child: &u32| &self.task(child).status;
        if any_child && children.iter().map(status).any(|s| *s == Status::Closed) {
            return Vec::new();
        }
        children
            .iter()
            .copied()
            .filter(|child| status(child).is_active())
            .collect()
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
    fn family(&self, root: u32) -> Vec<u32> {
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

    fn counts_as_task(&self, number: u32) -> bool {
        let task = self.task(number);
        let is_outside_the_count = task.pinned
            || task.status == Status::Pinned
            || task.ephemeral
            || task.template
            || task.kind == Kind::Gate;
        !is_outside_the_count && (!self.is_container(number) || self.is_to_be_closed(number))
    }

    /// An epic that is only there for its children.
    fn is_container(&self, number: u32) -> bool {
        self.task(number).kind == Kind::Epic && self.all_children(number).next().is_some()
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

    fn stage(&self, number: u32) -> Stage {
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
                let id = &self.task(blocker).id;
                if named.len() < max && !named.contains(id) {
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
    fn reaches_anchor(&self) -> Vec<bool> {
        let mut waiters: Vec<Vec<u32>> = vec![Vec::new(); self.tasks.len()];
        let mut freed = vec![false; self.tasks.len()];
        let mut next: Vec<u32> = Vec::new();
        for &number in &self.living {
            let waits_for = self.waits_for(number);
            if waits_for.is_empty() || self.is_anchor(number) {
                freed[number as usize] = true;
                next.push(number);
            }
            for waited in waits_for {
                waiters[waited as usize].push(number);
            }
        }
        while let Some(number) = next.pop() {
            for &waiter in &waiters[number as usize] {
                if !freed[waiter as usize] {
                    freed[waiter as usize] = true;
                    next.push(waiter);
                }
            }
        }
        freed
    }

    /// Everything that has to be over before this can be: its blockers, its parents' where it
    /// inherits them, and a container's own open children.
    fn waits_for(&self, number: u32) -> Vec<u32> {
        let mut waits_for = self.blockers(number);
        waits_for.extend(self.blocked_parents(number));
        if self.is_container(number) && self.task(number).status.is_active() {
            let open = |child: &u32| self.task(*child).status.is_active();
            waits_for.extend(self.all_children(number).filter(open));
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
