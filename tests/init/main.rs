//! `beadlock init`, run as a whole: what it writes, what it leaves alone, and that nothing of it is
//! left when it is taken out again.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod again;
mod bad_input;
mod elsewhere;
mod fresh;
mod kept;
#[expect(dead_code, reason = "shared with the tests of the other commands")]
#[path = "../commands/scene.rs"]
mod scene;
mod together;
#[cfg(unix)]
mod unix;
mod wiring;
