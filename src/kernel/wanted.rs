//! Which facts a verdict still wants, so that slow ones are read only when they matter.

use super::brake::brake;
use super::judge::walk;
use super::policy::Policy;
use super::snapshot::{Sensor, Snapshot};
use super::verdict::Answer;

/// The sensors that the next row to decide needs, all at once; none when a verdict can be given.
/// A block may rest on what is remembered or glanced at, an allow never does, whoever gives it.
pub fn wanted(snapshot: &Snapshot, policy: &Policy) -> Vec<Sensor> {
    let unproven = snapshot.unproven();
    match walk(snapshot, policy) {
        Err(unread) => unread,
        Ok(_) if unproven.is_empty() => Vec::new(),
        Ok(ruling) => match brake(ruling, snapshot, policy).answer {
            Answer::Allow(_) => unproven,
            Answer::Block(_) => Vec::new(),
        },
    }
}
