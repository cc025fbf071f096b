//! What outlives a process: runs, baselines and the record of every stop, in one `SQLite` database,
//! and an empty file per session that owns a run, so that everybody else is told apart by a `stat`.

mod database;
mod error;
mod place;
mod record;
mod wire;

pub use database::{Kept, Site, Stop, Store, Unread, Writer};
pub use error::Error;
pub use place::{StoreDir, store_dir_at};
pub use record::{RECORD_VERSION, ReadingTime, Record, Told};
pub use wire::{Evidence, sensor_key};
