//! A session's runs in several stores.

use super::database::{Kept, Store};
use super::error::Error;
use super::place::{Places, StoreDir};

/// The session's run that is not over and is kept by another store than `here`.
pub fn live_run_apart(
    places: &Places,
    session: &str,
    here: &StoreDir,
) -> Result<Option<(StoreDir, Kept)>, Error> {
    for dir in places.every_of_session(session) {
        if dir == *here {
            continue;
        }
        let found = Store::open(&dir).and_then(|mut store| store.run_of_session(session));
        match found {
            Ok(Some(kept)) if !kept.run.is_over() => return Ok(Some((dir, kept))),
            // What is gone or cannot be read holds nobody.
            Ok(_) | Err(Error::Missing { .. } | Error::BadRun { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
