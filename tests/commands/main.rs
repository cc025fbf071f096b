//! Whole runs of the real binary: status, stdout and stderr, by behaviour.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod advice;
mod bad_input;
mod bd;
mod commands;
mod config;
mod decision;
#[cfg(unix)]
mod doctor;
mod looking_back;
mod ownership;
mod places;
mod prompts;
#[cfg(unix)]
mod readme;
mod saving;
mod scene;
mod sessions;
mod state;
mod tampering;
