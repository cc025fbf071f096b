//! What outlives a process: runs, baselines and the record of every stop, in one `SQLite` database,
//! and an empty file per session that owns a run, so that everybody else is told apart by a `stat`.
//! Signposts lead to it from elsewhere.

mod apart;
mod database;
mod error;
mod place;
mod record;
mod signpost;
mod wire;

pub use apart::live_run_apart;
pub use database::{Kept, Site, Stop, Store, Unread, Writer};
pub use error::Error;
pub use place::{Places, StoreDir};
pub use record::{RECORD_VERSION, ReadingTime, Record, Told};
pub use signpost::Signposts;
pub use wire::{Evidence, sensor_key};
