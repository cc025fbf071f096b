//! Which run, and which of its stops, somebody means who looks back.

use std::cmp::Reverse;

use super::Exit;
use super::found::{Found, Stores, is_named, runs_in};
use super::report::{Refusal, inline};
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::{Stop, Store};
use crate::kernel::ledger::Run;

/// A run, and the store that it is in.
pub struct Chosen {
    pub store: Store,
    pub run: Run,
}

impl Chosen {
    /// The run that is named, else the one of this session, else the newest here.
    pub fn of(named: Option<&str>, ambient: &Ambient) -> Result<Chosen, Refusal> {
        let inside = Claude.session_inside(ambient);
        let mut all = found(named, ambient)?;
        let own = |it: &Found| inside.as_deref() == Some(it.kept.run.session.as_str());
        let position = all.iter().position(own).unwrap_or(0);
        Chosen::opened(all.swap_remove(position))
    }

    /// Every run here, or every one of a name, the oldest first; never none.
    pub fn all(
        named: Option<&str>,
        ambient: &Ambient,
    ) -> Result<impl Iterator<Item = Result<Chosen, Refusal>>, Refusal> {
        let found = found(named, ambient)?;
        Ok(found.into_iter().rev().map(Chosen::opened))
    }

    fn opened(found: Found) -> Result<Chosen, Refusal> {
        Ok(Chosen {
            store: Store::open(&found.dir)?,
            run: found.kept.run,
        })
    }

    /// The stop of this number, else the last one.
    pub fn stop(&mut self, number: Option<u32>) -> Result<Stop, Refusal> {
        let count = self.store.stops(&self.run.id)?;
        let found = self.store.stop(&self.run.id, number.unwrap_or(count))?;
        found.ok_or_else(|| {
            let epic = inline(self.run.epic.as_str());
            let what = match (number, count) {
                (_, 0) => format!("no stop of {epic} was judged yet"),
                (Some(number), _) => {
                    format!("{epic} has no stop {number}: they are numbered from 1 to {count}")
                }
                (None, _) => format!("the last stop of {epic} is not in the store"),
            };
            Refusal::new(Exit::NotDone, what).hint("`beadlock log` lists the stops")
        })
    }
}

/// The newest first.
fn found(named: Option<&str>, ambient: &Ambient) -> Result<Vec<Found>, Refusal> {
    let inside = Claude.session_inside(ambient);
    let stores = Stores::of(ambient, &[inside.as_deref(), named]);
    let is_meant = |run: &Run| named.is_none_or(|id| is_named(run, id));
    let mut looked = runs_in(stores.around(), is_meant);
    if looked.found.is_empty() && named.is_some() {
        // Its name is enough, wherever it is kept.
        looked.found = runs_in(&stores.elsewhere(), is_meant).found;
    }
    looked
        .found
        .sort_by_key(|it| Reverse(it.kept.run.started_at.0));
    match (looked.found.is_empty(), looked.fault, named) {
        (false, _, _) => Ok(looked.found),
        (true, Some(fault), _) => Err(fault.into()),
        (true, None, Some(id)) => {
            let what = format!("no run, epic or session `{}` here", inline(id));
            Err(Refusal::new(Exit::NotDone, what).hint("`beadlock status --all` lists them"))
        }
        (true, None, None) => Err(stores.no_run()),
    }
}
