//! Which run, and which of its stops, somebody means who looks back.

use super::Exit;
use super::ambient::{dir, store_here};
use super::report::{Refusal, inline};
use super::status::is_named;
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::{Kept, Stop, Store};

/// A run and the store that it is in.
pub struct Chosen {
    pub store: Store,
    pub kept: Kept,
}

impl Chosen {
    /// The run that is named, else the one of this session, else the newest here.
    pub fn of(named: Option<&str>, ambient: &Ambient) -> anyhow::Result<Chosen> {
        let Some(store_dir) = store_here(&dir(ambient)?)? else {
            return Err(no_run().into());
        };
        let mut store = Store::open(&store_dir).map_err(Refusal::from)?;
        let runs = store.runs().map_err(Refusal::from)?;
        let inside = Claude.session_inside(ambient);
        let matching = |kept: &Kept| named.is_none_or(|id| is_named(&kept.run, id));
        let mut chosen: Vec<Kept> = runs.into_iter().filter(matching).collect();
        let own = |kept: &Kept| inside.as_deref() == Some(kept.run.session.as_str());
        let position = chosen.iter().position(own).unwrap_or(0);
        if chosen.is_empty() {
            return Err(match named {
                Some(id) => Refusal::new(
                    Exit::NotDone,
                    format!("no run, epic or session `{}` here", inline(id)),
                )
                .hint("`beadlock status --all` lists them"),
                None => no_run(),
            }
            .into());
        }
        let kept = chosen.swap_remove(position);
        Ok(Chosen { store, kept })
    }

    /// The stop of this number, else the last one.
    pub fn stop(&mut self, number: Option<u32>) -> anyhow::Result<Stop> {
        let run = &self.kept.run;
        let count = self.store.stops(&run.id).map_err(Refusal::from)?;
        let wanted = number.unwrap_or(count);
        let found = self.store.stop(&run.id, wanted).map_err(Refusal::from)?;
        found.ok_or_else(|| {
            let epic = inline(run.epic.as_str());
            let what = match (number, count) {
                (_, 0) => format!("no stop of {epic} was judged yet"),
                (Some(number), _) => {
                    format!("{epic} has no stop {number}: they are numbered from 1 to {count}")
                }
                (None, _) => format!("the last stop of {epic} is not in the store"),
            };
            let refusal = Refusal::new(Exit::NotDone, what);
            refusal.hint("`beadlock log` lists the stops").into()
        })
    }
}

fn no_run() -> Refusal {
    Refusal::new(Exit::NotDone, "no run here").hint("`beadlock start EPIC --session ID` begins one")
}
