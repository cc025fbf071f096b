//! Which facts a verdict still wants, so that slow ones are read only when they matter.

use super::brake::brake;
use super::judge::decide;
use super::policy::Policy;
use super::snapshot::{Sensor, Snapshot};
use super::verdict::Answer;

/// The sensors that the next row to decide needs, all at once; none when a verdict can be given.
/// A block may rest on what is remembered, an allow never does, whoever gives it.
pub fn wanted(snapshot: &Snapshot, policy: &Policy) -> Vec<Sensor> {
    match decide(snapshot, policy) {
        Err(unread) => unread,
        Ok(ruling) if snapshot.rests_on_memory() => match brake(ruling, snapshot, policy).answer {
            Answer::Allow(_) => vec![Sensor::Tasks],
            Answer::Block(_) => Vec::new(),
        },
        Ok(_) => Vec::new(),
    }
}
