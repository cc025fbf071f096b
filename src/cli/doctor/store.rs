//! The store: whether it is sound, can be written, and keeps two processes apart.

use super::{Finding, Place, quoted};
use crate::edge::store::{Error, Store, StoreDir};

pub fn findings(place: &Place) -> Vec<Finding> {
    let mut findings: Vec<Finding> = place.lost.iter().map(lost).collect();
    if place.stores.is_empty() && findings.is_empty() {
        return vec![none_yet(&place.store)];
    }
    for dir in &place.stores {
        findings.push(sound(dir));
        findings.extend(locking(dir));
    }
    findings
}

fn lost(dir: &StoreDir) -> Finding {
    let told = format!(
        "{} is gone with its runs, and its sessions are told so at every stop",
        dir.database().display()
    );
    let dir = dir.clone();
    let finding = Finding::problem("store", told).remedy("beadlock doctor --fix");
    finding.fix(move || {
        dir.unmark_all();
        Ok("they are told no more".to_owned())
    })
}

fn none_yet(dir: &StoreDir) -> Finding {
    match dir.can_be_made() {
        Ok(()) => {
            let path = dir.path().display();
            let told = format!("there is none yet; `beadlock start` makes it in {path}");
            Finding::fine("store", told)
        }
        Err(what) => unwritable(dir, &what),
    }
}

fn unwritable(dir: &StoreDir, what: &str) -> Finding {
    let path = dir.path().display();
    let told = format!("{path} cannot be written: {what}");
    Finding::problem("store", told).remedy(format!("chmod -R u+rwX {}", quoted(dir.path())))
}

fn sound(dir: &StoreDir) -> Finding {
    if let Err(what) = dir.can_be_made() {
        return unwritable(dir, &what);
    }
    let checked = Store::open(dir).and_then(|mut store| store.trouble());
    match checked {
        Ok(None) => Finding::fine("store", format!("{} is sound", dir.database().display())),
        Ok(Some(what)) => {
            let told = format!("{} is damaged: {what}", dir.database().display());
            let database = quoted(&dir.database());
            let away = format!("beadlock abort; mv {database} {database}.old");
            Finding::problem("store", told).remedy(away)
        }
        Err(error @ Error::Newer { .. }) => {
            let told = Finding::problem("store", error.to_string());
            told.remedy("cargo install --path . --locked    # of a newer Beadlock")
        }
        Err(error @ (Error::Missing { .. } | Error::Corrupt { .. })) => {
            Finding::problem("store", error.to_string()).remedy("beadlock abort")
        }
        Err(error @ Error::Busy { .. }) => {
            Finding::unknown("store", error.to_string()).remedy("beadlock doctor    # again")
        }
        Err(error) => {
            let database = quoted(&dir.database());
            let told = Finding::problem("store", error.to_string());
            told.remedy(format!("mv {database} {database}.old"))
        }
    }
}

/// Two hooks at once must not both decide.
fn locking(dir: &StoreDir) -> Option<Finding> {
    let path = dir.path().display();
    let elsewhere = "move the repository to a local disk";
    match dir.can_lock() {
        Ok(true) => None,
        Ok(false) => {
            let told = format!(
                "the file system of {path} does not lock files: two stops at once may lose one"
            );
            Some(Finding::problem("lock", told).remedy(elsewhere))
        }
        Err(what) => Some(Finding::unknown("lock", format!("{path}: {what}")).remedy(elsewhere)),
    }
}
