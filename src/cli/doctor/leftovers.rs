//! What runs that are dead have left behind.

use super::{Finding, Place, quoted};
use crate::cli::ambient::now;
use crate::cli::status::age;
use crate::edge::store::{Error, Kept, Store, StoreDir};
use crate::kernel::ledger::State;

pub fn findings(place: &Place) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut open = 0;
    for dir in &place.stores {
        // What is wrong with the store itself is told with it.
        let Ok(mut store) = Store::open(dir) else {
            continue;
        };
        match looked_over(dir, &mut store) {
            Ok(looked) => {
                open += looked.open;
                findings.extend(looked.findings);
            }
            Err(error) => {
                let told = Finding::unknown("runs", error.to_string());
                findings.push(told.remedy("beadlock status --all"));
            }
        }
    }
    if findings.is_empty() {
        findings.push(Finding::fine("runs", format!("{open} open")));
    }
    findings
}

struct Looked {
    findings: Vec<Finding>,
    /// How many runs are not over.
    open: usize,
}

fn looked_over(dir: &StoreDir, store: &mut Store) -> Result<Looked, Error> {
    let mut findings = Vec::new();
    for unread in store.unread()? {
        let told = format!("{} on {} cannot be read", unread.run, unread.epic);
        let end = format!("beadlock abort {}", unread.run);
        findings.push(Finding::problem("runs", told).remedy(end));
    }
    let live: Vec<Kept> = store
        .runs()?
        .into_iter()
        .filter(|kept| !kept.run.is_over())
        .collect();
    for kept in &live {
        findings.extend(unmarked(dir, kept)?);
        findings.extend(silent(kept));
    }
    findings.extend(marks_of_nobody(dir, store)?);
    findings.extend(set_aside(dir));
    Ok(Looked {
        findings,
        open: live.len(),
    })
}

/// Its stops would pass without a word.
fn unmarked(dir: &StoreDir, kept: &Kept) -> Result<Option<Finding>, Error> {
    let run = &kept.run;
    if dir.is_marked(&run.session)? {
        return Ok(None);
    }
    let told = format!("{} on {} lost its mark, and holds nobody", run.id, run.epic);
    let (dir, session) = (dir.clone(), run.session.clone());
    let mark = move || match dir.mark(&session) {
        Ok(()) => {
            dir.post(&session);
            Ok("it is marked again".to_owned())
        }
        Err(error) => Err(error.to_string()),
    };
    let finding = Finding::problem("runs", told).remedy("beadlock doctor --fix");
    Ok(Some(finding.fix(mark)))
}

/// An active run that nobody has heard of for long.
fn silent(kept: &Kept) -> Option<Finding> {
    let run = &kept.run;
    if run.state != State::Active || !run.is_free(now()) {
        return None;
    }
    let quiet = age(now().millis_since(run.last_event_at));
    let told = format!("{} on {} was last heard of {quiet} ago", run.id, run.epic);
    Some(Finding::note("runs", told).remedy(format!("beadlock abort {}", run.id)))
}

/// Each costs its session a look at the store at every stop.
fn marks_of_nobody(dir: &StoreDir, store: &mut Store) -> Result<Option<Finding>, Error> {
    let count = store.idle_marks()?;
    if count == 0 {
        return Ok(None);
    }
    let dir = dir.clone();
    let sweep = move || {
        let swept = Store::open(&dir).and_then(|mut store| store.sweep_marks());
        swept
            .map(|()| "removed".to_owned())
            .map_err(|error| error.to_string())
    };
    let told = format!("{count} marks of sessions that hold no run");
    let finding = Finding::problem("runs", told).remedy("beadlock doctor --fix");
    Ok(Some(finding.fix(sweep)))
}

/// Damaged databases that were put aside.
fn set_aside(dir: &StoreDir) -> Option<Finding> {
    let kept = dir.set_aside();
    let first = kept.first()?;
    let told = format!("{} damaged database(s) were put aside", kept.len());
    let pattern = first.with_file_name("state.db.corrupt");
    Some(Finding::note("runs", told).remedy(format!("rm {}*", quoted(&pattern))))
}
