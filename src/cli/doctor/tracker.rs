//! The tracker: whose it is, whether it answers in time, and whether epics can be read from it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::tools::{is_older, version};
use super::{Finding, Place};
use crate::cli::ambient::now;
use crate::cli::found::runs_in;
use crate::edge::process::locate;
use crate::edge::tracker::{self, Kind, List};
use crate::ground::{self, Ground};
use crate::kernel::task::{Epic, TaskId};
use crate::render::reasons;
use crate::survey::{self, Tasks};

/// The oldest that is tried at every change of Beadlock.
const BD_OLDEST: [u32; 3] = [1, 2, 2];
/// Beyond this a stop would often find no answer in time.
const SLOW: Duration = Duration::from_secs(5);

const INSTALL_BD: &str = "npm install -g @beads/bd";

pub fn findings(place: &Place, epic: Option<&str>) -> Vec<Finding> {
    let ground = match &place.ground {
        Ok(ground) => ground,
        Err(ground::Error::Tracker(error)) => return vec![refused(error)],
        // Which one it is stands in the configuration, and what is wrong with that is told.
        Err(ground::Error::Config(_)) => return Vec::new(),
    };
    let mut findings: Vec<Finding> = match ground.tracker.kind() {
        Kind::Bd => vec![bd(place)],
        Kind::Jsonl => Vec::new(),
    };
    let began = Instant::now();
    let tasks = Tasks::of(Ok(ground.tracker.clone()), None);
    let list = tasks.list(now(), began + survey::SENSOR_TIME_MAX);
    let took = began.elapsed();
    let list = match list {
        Ok(list) => list,
        Err(fault) if !ground.has_tracker => {
            let told = format!("there is none here: {}", fault.what);
            let add = "beadlock task add TITLE --type epic";
            findings.push(Finding::problem("tracker", told).remedy(add));
            return findings;
        }
        Err(fault) => {
            let by_hand = match ground.tracker.kind() {
                Kind::Bd => "bd list --all --limit 0",
                Kind::Jsonl => "beadlock task list --all",
            };
            findings.push(Finding::unknown("tracker", fault.what).remedy(by_hand));
            return findings;
        }
    };
    findings.push(answered(ground, &list, took));
    findings.extend(
        epics(place, epic)
            .iter()
            .map(|id| self::epic(id, &list, ground)),
    );
    findings
}

fn refused(error: &tracker::Error) -> Finding {
    let told = Finding::problem("tracker", error.to_string());
    told.remedy("name it in project.yaml: `workflow: {tracker: bd}` (or jsonl)")
}

fn bd(place: &Place) -> Finding {
    let Some(program) = locate("bd") else {
        let told = "this workspace is bd's, and there is no `bd` on PATH";
        return Finding::problem("bd", told).remedy(INSTALL_BD);
    };
    match version(&program, &place.dir) {
        Err(what) => Finding::unknown("bd", what).remedy("bd version"),
        Ok(said) if !said.starts_with("bd ") => {
            let told = format!("{} is another program: {said}", program.display());
            Finding::problem("bd", told).remedy(INSTALL_BD)
        }
        Ok(said) if is_older(&said, &BD_OLDEST) => {
            let oldest = BD_OLDEST.map(|part| part.to_string()).join(".");
            let told = format!("{said} is older than {oldest}, the oldest that is tried");
            Finding::note("bd", told).remedy(INSTALL_BD)
        }
        Ok(said) => Finding::fine("bd", format!("{said}, {}", program.display())),
    }
}

fn answered(ground: &Ground, list: &List, took: Duration) -> Finding {
    let told = format!(
        "{} ({}): {} tasks in {} ms",
        ground.tracker.kind().name(),
        ground::tracker_told_by(&ground.site()),
        list.tasks.len(),
        took.as_millis()
    );
    if took < SLOW {
        Finding::fine("tracker", told)
    } else {
        let told = format!(
            "{told}; a stop waits {} s for it",
            survey::SENSOR_TIME_MAX.as_secs()
        );
        Finding::problem("tracker", told).remedy(match ground.tracker.kind() {
            Kind::Bd => "bd doctor",
            Kind::Jsonl => "move the repository to a local disk",
        })
    }
}

/// The one that was named, and those of open runs.
fn epics(place: &Place, named: Option<&str>) -> BTreeSet<TaskId> {
    // A store that cannot be read is told of where stores are looked at.
    let looked = runs_in(&place.stores, |run| !run.is_over());
    let epics = looked.found.into_iter().map(|found| found.kept.run.epic);
    epics.chain(named.map(TaskId::from)).collect()
}

fn epic(id: &TaskId, list: &List, ground: &Ground) -> Finding {
    match Epic::of(&list.tasks, id.as_str(), now()) {
        None => {
            let told = format!("{id} was not found");
            let list = match ground.tracker.kind() {
                Kind::Bd => "bd list --all --limit 0",
                Kind::Jsonl => "beadlock task list --all",
            };
            Finding::problem("epic", told).remedy(list)
        }
        Some(epic) if epic.tasks.is_empty() => {
            let told = format!("{id} has no tasks: nobody is held for it");
            let add = match ground.tracker.kind() {
                Kind::Bd => format!("bd create TITLE --parent {id}"),
                Kind::Jsonl => format!("beadlock task add TITLE --epic {id}"),
            };
            Finding::problem("epic", told).remedy(add)
        }
        Some(epic) => Finding::fine("epic", format!("{id}: {}", reasons::counts(&epic))),
    }
}
