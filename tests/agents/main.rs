//! With the real agent: Claude Code, offline, against a model that obeys a script, and Beadlock
//! wired to it. Every test runs once for each program that `BEADLOCK_TEST_CLAUDES` names (as PATH
//! names folders), else for the `claude` on PATH; and a second time with `true` in the Stop hook's
//! line, where it has to fail because the agent is let go. Missing agents and a missing tmux are
//! counted as ignored, in a line that says so; `BEADLOCK_TEST_ALL=1` makes them a failure, and asks
//! for every version in `claude-versions.txt`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[cfg(unix)]
mod at_the_screen;
#[cfg(unix)]
mod background;
#[cfg(unix)]
mod desk;
#[cfg(unix)]
mod model;
#[path = "../commands/scene.rs"]
#[expect(
    dead_code,
    reason = "the other half is for the tests without neighbours"
)]
mod scene;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod trials;
#[cfg(unix)]
mod without_a_screen;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, trials()).exit_code()
}

#[cfg(unix)]
fn trials() -> Vec<Trial> {
    let tests = [
        without_a_screen::TESTS,
        at_the_screen::TESTS,
        background::TESTS,
    ];
    trials::trials(&tests.concat())
}

/// The screen is tmux's, and the programs are links.
#[cfg(not(unix))]
fn trials() -> Vec<Trial> {
    Vec::new()
}
