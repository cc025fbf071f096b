//! What is known at one stop: readings, each of them known, failed, or not read.

use std::collections::BTreeMap;

use super::ledger::{PromptId, Run};
use super::moment::Moment;
use super::policy::Policy;
use super::signal::Words;
use super::task::{Epic, TaskId};

/// A sensor's answer. A failure is a fact like any other, and policy weighs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reading<T> {
    #[default]
    Unread,
    Known(T),
    Failed(Fault),
}

impl<T> Reading<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Reading::Known(value) => Some(value),
            Reading::Unread | Reading::Failed(_) => None,
        }
    }

    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Reading::Failed(fault) => Some(fault),
            Reading::Unread | Reading::Known(_) => None,
        }
    }

    fn fail_if_unread(&mut self, sensor: Sensor) {
        if self.is_unread() {
            *self = Reading::Failed(Fault::unread(sensor));
        }
    }

    pub fn is_unread(&self) -> bool {
        matches!(self, Reading::Unread)
    }
}

impl<T> From<Result<T, Fault>> for Reading<T> {
    fn from(result: Result<T, Fault>) -> Self {
        match result {
            Ok(value) => Reading::Known(value),
            Err(fault) => Reading::Failed(fault),
        }
    }
}

/// Something that can be asked about the outside. In the order in which a stop cares for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sensor {
    /// The run that this session owns, if any.
    Run,
    /// The work tree as the run's start found it, kept with the run.
    Baseline,
    /// Whether the project still wants to be guarded.
    Enabled,
    /// What the agent said last.
    Words,
    /// The epic's tasks as they were last read, if the tracker proves that nothing has changed.
    Remembered,
    /// The epic's tasks, read afresh.
    Tasks,
    /// What the tracker itself calls ready, where it has a say of its own.
    OwnReady,
    /// HEAD and the tracked changes, from git's library if it can tell soon, else as `Git`.
    Glance,
    /// HEAD and the state of the work tree.
    Git,
    /// Task branches that were never merged.
    Branches,
}

impl Sensor {
    pub const ALL: [Sensor; 10] = [
        Sensor::Run,
        Sensor::Baseline,
        Sensor::Enabled,
        Sensor::Words,
        Sensor::Remembered,
        Sensor::Tasks,
        Sensor::OwnReady,
        Sensor::Glance,
        Sensor::Git,
        Sensor::Branches,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Sensor::Run => "store",
            Sensor::Baseline => "baseline",
            Sensor::Enabled => "config",
            Sensor::Words => "words",
            Sensor::Remembered => "memory",
            Sensor::Tasks | Sensor::OwnReady => "tracker",
            Sensor::Glance | Sensor::Git => "git",
            Sensor::Branches => "branches",
        }
    }
}

/// Why a sensor has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub sensor: Sensor,
    pub what: String,
}

impl Fault {
    pub fn new(sensor: Sensor, what: impl Into<String>) -> Fault {
        Fault {
            sensor,
            what: what.into(),
        }
    }

    pub fn unread(sensor: Sensor) -> Fault {
        let what = match sensor {
            Sensor::Baseline => "was never recorded",
            _ => "was not read",
        };
        Fault::new(sensor, what)
    }
}

/// An agent's request to end its turn, in no agent's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    pub is_sub_agent: bool,
    pub is_planning: bool,
    /// A person sits in front of this session.
    pub is_interactive: bool,
    pub prompt: Option<PromptId>,
    pub background: Vec<Background>,
    /// Fingerprints of the prompts that the agent has scheduled for itself.
    pub scheduled: Vec<String>,
}

/// Work of the agent's own that goes on behind its back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    pub id: String,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Git {
    NoRepository,
    /// A bare repository: nothing can be unsaved in it.
    NoWorkTree,
    Tree(WorkTree),
}

/// What git stood on when it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Footing {
    NoRepository,
    NoWorkTree,
    /// And which one, by `WorkTree::place`.
    Tree(String),
}

impl Git {
    fn footing(&self) -> Footing {
        match self {
            Git::NoRepository => Footing::NoRepository,
            Git::NoWorkTree => Footing::NoWorkTree,
            Git::Tree(tree) => Footing::Tree(tree.place.clone()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTree {
    /// Where it lies and where its repository does, seen from where git was asked: git looks
    /// further up, and may find another one, as soon as this one's own `.git` is gone.
    pub place: String,
    /// Nothing on a branch without commits.
    pub head: Option<String>,
    /// Nothing on a detached HEAD.
    pub branch: Option<String>,
    /// A merge, rebase or the like that was begun and not ended.
    pub unfinished: Option<String>,
    pub changes: Vec<Change>,
    /// Read by a substitute that is known to be wrong in rare set-ups.
    pub is_approximate: bool,
}

/// A work tree as git's library sees it in passing: enough to tell whether the work moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    pub head: Option<String>,
    /// Of what git tracks.
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the work tree's root, with forward slashes.
    pub path: String,
    pub is_untracked: bool,
    /// A hash of the content, or a word for what has none.
    pub content: String,
    /// What is in the index and neither in HEAD nor in the work tree.
    pub staged: Option<String>,
}

/// The work tree as the run's start found it: what the person had not ended then is theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Nothing in one that was kept before this was noted.
    pub footing: Option<Footing>,
    /// Every path dirty or untracked then, with its content.
    pub paths: BTreeMap<String, String>,
    /// Those of them of which the index had a version of its own.
    pub staged: BTreeMap<String, String>,
    /// A merge, rebase or the like that was under way.
    pub unfinished: Option<String>,
}

impl Baseline {
    pub fn of(git: &Git) -> Baseline {
        let (changes, unfinished) = match git {
            Git::NoRepository | Git::NoWorkTree => (&[][..], None),
            Git::Tree(tree) => (&tree.changes[..], tree.unfinished.clone()),
        };
        let entry = |change: &Change| (change.path.clone(), change.content.clone());
        let staged = |change: &Change| Some((change.path.clone(), change.staged.clone()?));
        Baseline {
            footing: Some(git.footing()),
            paths: changes.iter().map(entry).collect(),
            staged: changes.iter().filter_map(staged).collect(),
            unfinished,
        }
    }

    /// Why what git says now proves nothing about the work that the run began with.
    pub fn lost_footing(&self, git: &Git) -> Option<&'static str> {
        match (&self.footing, git.footing()) {
            (Some(Footing::NoRepository), Footing::NoRepository) => None,
            (Some(Footing::NoWorkTree), Footing::NoWorkTree) => None,
            (_, Footing::NoRepository) => {
                Some("found no repository, which is not how the run began")
            }
            (_, Footing::NoWorkTree) => Some("found no work tree, which is not how the run began"),
            (Some(Footing::Tree(then)), Footing::Tree(now)) if *then != now => {
                Some("found another work tree than the one that the run began in")
            }
            // One that was made since has nothing in it that was there at the start.
            (Some(_) | None, Footing::Tree(_)) => None,
        }
    }

    pub fn has(&self, change: &Change) -> bool {
        let is_in_tree = self.paths.get(&change.path) == Some(&change.content);
        // A version that the index has lost, or shares with the work tree, hides nothing.
        let is_in_index =
            change.staged.is_none() || self.staged.get(&change.path) == change.staged.as_ref();
        is_in_tree && is_in_index
    }
}

/// Everything one stop is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub now: Moment,
    /// `BEADLOCK_DISABLE=1`.
    pub is_disabled: bool,
    pub stop: Stop,
    /// The run that this session owns; known to be none for everybody else.
    pub run: Reading<Option<Run>>,
    pub baseline: Reading<Baseline>,
    pub enabled: Reading<bool>,
    pub words: Reading<Words>,
    /// The epic as it was last read, if the tracker proves that nothing has changed since.
    pub remembered: Reading<Option<Epic>>,
    /// The epic, read afresh.
    pub epic: Reading<Epic>,
    /// Nothing where the tracker has no say of its own in what is ready.
    pub own_ready: Reading<Option<Vec<TaskId>>>,
    /// Never failed: where there is no glance, git is read instead.
    pub glance: Option<Glance>,
    pub git: Reading<Git>,
    pub branches: Reading<Vec<String>>,
}

impl Snapshot {
    pub fn of(stop: Stop, now: Moment) -> Snapshot {
        Snapshot {
            now,
            is_disabled: false,
            stop,
            run: Reading::Unread,
            baseline: Reading::Unread,
            enabled: Reading::Unread,
            words: Reading::Unread,
            remembered: Reading::Unread,
            epic: Reading::Unread,
            own_ready: Reading::Unread,
            glance: None,
            git: Reading::Unread,
            branches: Reading::Unread,
        }
    }

    /// What the run was started with.
    pub fn policy(&self) -> Policy {
        let run = self.run.known().and_then(Option::as_ref);
        run.map(|run| run.policy.clone()).unwrap_or_default()
    }

    /// The epic as far as it is known: read afresh, or remembered where that was not asked for.
    pub fn known_epic(&self) -> Option<&Epic> {
        if self.rests_on_memory() {
            self.remembered.known().and_then(Option::as_ref)
        } else {
            self.epic.known()
        }
    }

    /// Nobody has read the tasks afresh, because there was no need to.
    pub fn rests_on_memory(&self) -> bool {
        self.epic.is_unread() && matches!(self.remembered, Reading::Known(Some(_)))
    }

    /// Nobody has asked the git program, because there was no need to.
    pub fn rests_on_glance(&self) -> bool {
        self.git.is_unread() && self.glance.is_some()
    }

    /// What would have to be read before anybody may be let go: a block may rest on what was
    /// remembered or glanced at.
    pub fn unproven(&self) -> Vec<Sensor> {
        let tasks = self.rests_on_memory().then_some(Sensor::Tasks);
        let git = self.rests_on_glance().then_some(Sensor::Git);
        tasks.into_iter().chain(git).collect()
    }

    pub fn is_unread(&self, sensor: Sensor) -> bool {
        match sensor {
            Sensor::Run => self.run.is_unread(),
            Sensor::Baseline => self.baseline.is_unread(),
            Sensor::Enabled => self.enabled.is_unread(),
            Sensor::Words => self.words.is_unread(),
            Sensor::Remembered => self.remembered.is_unread(),
            Sensor::Tasks => self.epic.is_unread(),
            Sensor::OwnReady => self.own_ready.is_unread(),
            Sensor::Glance => self.git.is_unread() && self.glance.is_none(),
            Sensor::Git => self.git.is_unread(),
            Sensor::Branches => self.branches.is_unread(),
        }
    }

    /// Everything that could not be read.
    pub fn faults(&self) -> Vec<&Fault> {
        let faults = [
            self.run.fault(),
            self.baseline.fault(),
            self.enabled.fault(),
            self.words.fault(),
            self.remembered.fault(),
            self.epic.fault(),
            self.own_ready.fault(),
            self.git.fault(),
            self.branches.fault(),
        ];
        faults.into_iter().flatten().collect()
    }

    pub fn mark_unread_as_failed(&mut self, sensor: Sensor) {
        match sensor {
            Sensor::Run => self.run.fail_if_unread(sensor),
            Sensor::Baseline => self.baseline.fail_if_unread(sensor),
            Sensor::Enabled => self.enabled.fail_if_unread(sensor),
            Sensor::Words => self.words.fail_if_unread(sensor),
            Sensor::Remembered => self.remembered.fail_if_unread(sensor),
            Sensor::Tasks => self.epic.fail_if_unread(sensor),
            Sensor::OwnReady => self.own_ready.fail_if_unread(sensor),
            Sensor::Glance | Sensor::Git => self.git.fail_if_unread(Sensor::Git),
            Sensor::Branches => self.branches.fail_if_unread(sensor),
        }
    }
}
