//! Pure: facts in, verdict out. No file, no clock, no environment, no other room.

pub mod brake;
pub mod judge;
pub mod ledger;
pub mod moment;
pub mod otherwise;
pub mod ownership;
pub mod policy;
mod prose;
pub mod signal;
pub mod snapshot;
pub mod task;
pub mod verdict;
mod wanted;

pub use brake::{brake, decide};
pub use judge::judge;
pub use otherwise::otherwise;
pub use wanted::wanted;
