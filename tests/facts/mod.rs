//! A run in the middle of its work, and a stop of its session with nothing read yet: what every
//! kernel test starts from. Plain values, no opinions about verdicts.

use std::collections::BTreeSet;

use beadlock::kernel::ledger::{Counters, Run, State, Territory, Told, Turn};
use beadlock::kernel::moment::Moment;
use beadlock::kernel::policy::Policy;
use beadlock::kernel::snapshot::{Baseline, Change, Git, Reading, Snapshot, Stop, WorkTree};

pub const MINUTE: i64 = 60_000;
pub const NOW: Moment = Moment(1_800_000_000_000);

/// The name under which the run's own agent claims tasks.
pub const ACTOR: &str = "host/agent";

pub fn run(policy: &Policy) -> Run {
    Run {
        id: "run-1".into(),
        epic: "t-e".into(),
        session: "session-1".into(),
        actor: ACTOR.into(),
        state: State::Active,
        outcome: None,
        policy: policy.clone(),
        prompt: String::new(),
        territory: Territory::default(),
        started_at: NOW.plus_millis(-600 * MINUTE),
        last_event_at: NOW.plus_millis(-MINUTE),
        counters: Counters {
            stops: 1,
            ..Counters::default()
        },
        streak: None,
        seen: Vec::new(),
        roster: None,
        missing: Vec::new(),
        given_up: BTreeSet::new(),
        turn: Turn::begun(NOW.plus_millis(-10 * MINUTE), None),
        taken: BTreeSet::new(),
        background: BTreeSet::new(),
        scheduled: BTreeSet::new(),
        hears_prompts: false,
        told: Told::default(),
    }
}

/// A stop of the run's own session, interactive, in a turn without a prompt id.
pub fn stop_of(run: Run) -> Snapshot {
    let stop = Stop {
        is_interactive: true,
        ..Stop::default()
    };
    let mut snapshot = Snapshot::of(stop, NOW);
    snapshot.run = Reading::Known(Some(run));
    snapshot.baseline = Reading::Known(clean_start());
    snapshot
}

/// Of a run that began in a work tree as it was committed.
pub fn clean_start() -> Baseline {
    Baseline::of(&Git::Tree(WorkTree::default()))
}

pub fn changed(path: &str, content: &str) -> Change {
    Change {
        path: path.into(),
        is_untracked: false,
        content: content.into(),
        staged: None,
    }
}

pub fn new_file(path: &str, content: &str) -> Change {
    Change {
        is_untracked: true,
        ..changed(path, content)
    }
}
