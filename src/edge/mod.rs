//! Adapters to the outside, one thing each, with a small type and an error of its own.

pub mod agent;
pub mod git;
mod git_place;
pub mod process;
mod replacing;
pub mod store;
mod surrogates;
pub mod tracker;
pub mod transcript;
pub mod wiring;
