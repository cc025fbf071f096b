//! Adapters to the outside, one thing each, with a small type and an error of its own.

pub mod git;
pub mod process;
pub mod tracker;
pub mod transcript;
