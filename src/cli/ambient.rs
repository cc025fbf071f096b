//! The clock, the environment and the directory: read here and handed down.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Exit;
use super::report::Refusal;
use crate::config::Sources;
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::git::Git;
use crate::edge::store::Signposts;
use crate::kernel::ledger::By;
use crate::kernel::moment::Moment;

pub fn ambient() -> Ambient {
    let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
    Ambient {
        variables: std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        // Gone if somebody deleted the directory that we stand in.
        cwd: std::env::current_dir().ok(),
        signposts: dirs::state_dir()
            .or_else(dirs::data_local_dir)
            .map(|state| Signposts::within(&state)),
    }
}

pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    Moment(millis)
}

/// Settings' sources, the project's file aside: that depends on where the run is.
pub fn sources(ambient: &Ambient, flags: &[String]) -> Sources {
    Sources {
        user: dirs::config_dir().map(|dir| dir.join("beadlock").join("config.toml")),
        project: None,
        environment: ambient
            .variables
            .iter()
            .filter(|(name, _)| name.starts_with("BEADLOCK_"))
            .cloned()
            .collect(),
        flags: flags.to_vec(),
        beads_dir: ambient.variable("BEADS_DIR").map(PathBuf::from),
    }
}

/// The name to claim tasks by: as given, or the one that bd would use in the same place.
pub fn actor(given: Option<&str>, ambient: &Ambient, dir: &Path) -> String {
    let variable = |name: &str| ambient.variable(name).map(str::to_owned);
    let sources: [&dyn Fn() -> Option<String>; 6] = [
        &|| given.map(str::to_owned),
        &|| variable("BEADS_ACTOR"),
        &|| variable("BD_ACTOR"),
        &|| Git::at(dir).user_name(),
        &|| variable("USER"),
        &|| variable("USERNAME"),
    ];
    sources
        .iter()
        .filter_map(|source| source())
        .map(|name| name.trim().to_owned())
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The session that is meant: the one named, else the one that we run inside.
pub fn session(named: Option<&String>, inside: Option<&String>) -> Result<String, Refusal> {
    // What was pasted with a line's end is no other session.
    let session = named.or(inside).map(|id| id.trim());
    let session = session.filter(|id| !id.is_empty()).map(str::to_owned);
    session.ok_or_else(|| {
        Refusal::new(Exit::Usage, "no session was named")
            .hint("pass the agent's own session id with `--session ID`")
    })
}

/// Whether an agent started this very process. It need not be the one whose run it is: what any
/// agent does to a run is told to the person.
pub fn asked_by(ambient: &Ambient) -> By {
    let is_inside = Claude.is_around(ambient);
    if is_inside || ambient.variable("BEADLOCK_RUN").is_some() {
        By::Agent
    } else {
        By::Person
    }
}

/// The directory we stand in.
pub fn dir(ambient: &Ambient) -> anyhow::Result<PathBuf> {
    ambient.cwd.clone().ok_or_else(|| {
        Refusal::new(
            Exit::NotDone,
            "the current directory does not exist any more",
        )
        .hint("`cd` into the repository and try again")
        .into()
    })
}
