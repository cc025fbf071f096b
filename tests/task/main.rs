//! `beadlock task`, run as a whole: status, stdout and stderr of the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod crowd;
mod hostile;
mod scene;
#[cfg(unix)]
mod unix;
