//! What becomes of a git that does not answer in time, as a stop sees it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use beadlock::config::Sources;
use beadlock::edge::git::Git;
use beadlock::kernel::policy::Policy;
use beadlock::kernel::snapshot::{Fault, Reading, Sensor};
use beadlock::kernel::task::{Edge, EdgeKind, Epic, Kind, Status, Task};
use beadlock::survey::{Edges, Spoken, Tasks, survey};

#[expect(
    dead_code,
    reason = "shared with the tests of the decision, which need more"
)]
mod facts;

const STOPS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(1);

/// Says which process group it leads, and then nothing more.
const SLEEPER: &str = "#!/bin/sh\n: > \"${0%/*}/groups/$$\"\nsleep 87 & sleep 87\n";

fn done() -> Epic {
    let root = Task {
        kind: Kind::Epic,
        ..Task::open("t-e")
    };
    let home = Edge {
        target: "t-e".into(),
        kind: EdgeKind::ParentChild,
    };
    let child = Task {
        status: Status::Closed,
        edges: vec![home],
        ..Task::open("t-e.1")
    };
    Epic::of(&[root, child], "t-e", facts::NOW).unwrap()
}

/// What a stop at which only git is left to ask says of it.
fn git_fault(git: &Git) -> Fault {
    let policy = Policy::default();
    let edges = Edges {
        tasks: Tasks::of(Err(Fault::new(Sensor::Tasks, "is not asked here")), None),
        git: git.clone(),
        words: Spoken::Nowhere,
        sources: Sources::default(),
    };
    let mut snapshot = facts::stop_of(facts::run(&policy));
    snapshot.remembered = Reading::Known(None);
    snapshot.epic = Reading::Known(done());
    let deadline = Instant::now() + PATIENCE;
    survey(&Arc::new(edges), &mut snapshot, &policy, deadline);
    snapshot.git.fault().unwrap().clone()
}

/// The living members of these process groups.
fn members(groups: &BTreeSet<String>) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    // One may be gone by now, and other entries are no processes.
    let stats = processes.filter_map(|it| fs::read_to_string(it.path().join("stat")).ok());
    let is_member = |stat: &String| {
        // After the name: state, parent, group.
        let rest = stat.rsplit(") ").next().unwrap_or_default();
        let fields: Vec<&str> = rest.split(' ').take(3).collect();
        fields.len() == 3 && fields[0] != "Z" && groups.contains(fields[2])
    };
    stats.filter(is_member).collect()
}

#[test]
fn a_git_that_sleeps_is_named_and_ended_with_all_it_started() {
    let temp = tempfile::tempdir().unwrap();
    let (program, groups) = (temp.path().join("git"), temp.path().join("groups"));
    fs::create_dir(&groups).unwrap();
    fs::write(&program, SLEEPER).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    git2::Repository::init(temp.path()).unwrap();
    let git = Git::at(temp.path()).with_program(&program);
    let faults: Vec<Fault> = thread::scope(|scope| {
        let stops = [(); STOPS].map(|()| scope.spawn(|| git_fault(&git)));
        stops.into_iter().map(|stop| stop.join().unwrap()).collect()
    });
    let expected = format!("`{}` had not ended after 1 s", program.display());
    let expected = Fault::new(Sensor::Git, expected);
    assert_eq!(faults, vec![expected; STOPS]);
    let groups = names(&groups);
    assert!(!groups.is_empty());
    // A killed process may take a moment to go.
    let killed = Instant::now();
    while !members(&groups).is_empty() && killed.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(members(&groups), [""; 0]);
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}
