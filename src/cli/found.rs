//! Which runs a command means: looked for in every store around, and by their name wherever a
//! signpost leads. Nobody has to know in which of several repositories a run is kept.

use super::report::{Refusal, inline};
use super::{Exit, say};
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::{Error, Kept, Places, Store, StoreDir, Unread};
use crate::kernel::ledger::Run;
use crate::render::command;

/// How many runs elsewhere are worth a line each.
const ELSEWHERE_MAX: usize = 5;

/// A run, and where it is kept.
pub struct Found {
    pub dir: StoreDir,
    pub kept: Kept,
}

/// The stores that a command may be about.
pub struct Stores {
    places: Places,
    around: Vec<StoreDir>,
}

impl Stores {
    /// `sessions` may be any names: where one is a session's, its store counts as well.
    pub fn of(ambient: &Ambient, sessions: &[Option<&str>]) -> Stores {
        let places = Claude.places(ambient);
        let mut around = places.around();
        for session in sessions.iter().copied().flatten() {
            // A place that cannot be looked into takes no exit away.
            let known = places.of_session(session).ok().flatten();
            around.extend(known.filter(|known| !around.contains(known)));
        }
        Stores { places, around }
    }

    /// Those that may hold somebody here, the nearest first.
    pub fn around(&self) -> &[StoreDir] {
        &self.around
    }

    /// Those here that are gone, although a signpost still leads there.
    pub fn lost(&self) -> Vec<StoreDir> {
        let mut lost = self.elsewhere();
        lost.retain(|dir| self.places.is_around(dir));
        lost
    }

    /// All others that a signpost leads to.
    pub fn elsewhere(&self) -> Vec<StoreDir> {
        let mut posted = self.places.posted();
        posted.retain(|dir| !self.around.contains(dir));
        posted
    }

    /// A line for each run elsewhere that is not over, for whoever looks for one here.
    pub fn lines_elsewhere(&self) -> Vec<String> {
        let live = live_in(&self.elsewhere(), |_| true);
        let described = |found: &Found| {
            let run = &found.kept.run;
            let workspace = found.kept.site.workspace.display().to_string();
            format!(
                "{} is kept in {}; {} ends it",
                inline(run.epic.as_str()),
                inline(&workspace),
                command("abort", &run.id)
            )
        };
        live.found
            .iter()
            .take(ELSEWHERE_MAX)
            .map(described)
            .collect()
    }

    /// The one run that is not over and meant by `id`, or by nothing; an error that lists them if
    /// that is not clear. Whoever names none inside of a session means its own.
    pub fn one(&self, id: Option<&str>, inside: Option<&str>) -> Result<Found, Refusal> {
        let is_meant = |run: &Run| match id {
            None => inside.is_none_or(|own| own == run.session),
            Some(id) => is_named(run, id),
        };
        let mut live = live_in(&self.around, is_meant);
        if let (Some(fault), false) = (&live.fault, live.found.is_empty()) {
            say(&format!("warning: {fault}"));
        }
        if live.found.is_empty() && id.is_some() {
            live.found = live_in(&self.elsewhere(), is_meant).found;
        }
        match (live.found.len(), live.fault, id) {
            (1, _, _) => Ok(live.found.remove(0)),
            (0, Some(fault), _) => Err(fault.into()),
            (0, None, Some(id)) => Err(unknown(id)),
            (0, None, None) => Err(self.no_run()),
            (_, _, _) => Err(several(&live.found)),
        }
    }

    /// The one store elsewhere that has runs of this name, be they readable or not.
    pub fn only_one_elsewhere(&self, name: &str) -> Result<Option<StoreDir>, Refusal> {
        let elsewhere = self.elsewhere();
        let live = live_in(&elsewhere, |run| is_named(run, name));
        let has_live = |dir: &StoreDir| live.found.iter().any(|found| found.dir == *dir);
        let mut dirs = elsewhere;
        dirs.retain(|dir| has_live(dir) || has_unread(dir, name));
        match dirs.len() {
            0 | 1 => Ok(dirs.pop()),
            _ => Err(several(&live.found)),
        }
    }

    pub fn no_run(&self) -> Refusal {
        let mut hints = self.lines_elsewhere();
        if hints.is_empty() {
            hints.push("`beadlock start EPIC --session ID` begins one".to_owned());
        }
        Refusal::new(Exit::NotDone, "no run here").hint(hints.join("\n  "))
    }
}

/// Runs that were looked for, and the first store that could not be read.
pub struct Looked {
    pub found: Vec<Found>,
    pub fault: Option<Error>,
}

fn live_in(dirs: &[StoreDir], is_meant: impl Fn(&Run) -> bool) -> Looked {
    runs_in(dirs, |run| !run.is_over() && is_meant(run))
}

pub fn runs_in(dirs: &[StoreDir], is_meant: impl Fn(&Run) -> bool) -> Looked {
    let mut found: Vec<Found> = Vec::new();
    let mut fault = None;
    for dir in dirs {
        match Store::open(dir).and_then(|mut store| store.runs()) {
            Ok(runs) => {
                for kept in runs {
                    // One store may be reached by two ways.
                    let is_new = found.iter().all(|known| known.kept.run.id != kept.run.id);
                    if is_new && is_meant(&kept.run) {
                        let dir = dir.clone();
                        found.push(Found { dir, kept });
                    }
                }
            }
            Err(error) => {
                fault.get_or_insert(error);
            }
        }
    }
    Looked { found, fault }
}

fn has_unread(dir: &StoreDir, name: &str) -> bool {
    let unread = Store::open(dir).and_then(|mut store| store.unread());
    let is_named = |run: &Unread| [&run.run, &run.epic, &run.session].contains(&&name.to_owned());
    unread.is_ok_and(|unread| unread.iter().any(is_named))
}

pub fn is_named(run: &Run, id: &str) -> bool {
    run.id == id || run.epic.as_str() == id || run.session == id
}

pub fn unknown(id: &str) -> Refusal {
    let what = format!("no open run, epic or session `{}` here", inline(id));
    Refusal::new(Exit::NotDone, what).hint("`beadlock status --all` lists them")
}

fn several(found: &[Found]) -> Refusal {
    let described = |found: &Found| {
        let run = &found.kept.run;
        let session = inline(&run.session);
        let workspace = inline(&found.kept.site.workspace.display().to_string());
        format!(
            "{} on {} ({}, session {session}, {workspace})",
            run.id,
            run.epic,
            run.state.name()
        )
    };
    let lines: Vec<String> = found.iter().map(described).collect();
    let what = format!("several runs could be meant:\n  {}", lines.join("\n  "));
    Refusal::new(Exit::Usage, what).hint("name one of them")
}
