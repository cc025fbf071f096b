//! Against the real neighbours, which have to be installed: a test whose neighbour is missing is
//! counted as ignored, in a line that says so. Every test runs once for each build of bd that
//! `BEADLOCK_TEST_BDS` names (as PATH names folders), else for the `bd` on PATH, if it is beads'.
//! `BEADLOCK_TEST_ALL=1` makes a missing neighbour a failure.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[cfg(unix)]
mod bd_hidden;
#[cfg(unix)]
mod bd_quiet;
#[cfg(unix)]
mod bd_run;
#[cfg(unix)]
mod bd_server;
#[cfg(unix)]
mod bd_token;
#[cfg(unix)]
mod bd_write;
#[cfg(unix)]
mod desk;
#[path = "../commands/scene.rs"]
#[expect(
    dead_code,
    reason = "the other half is for the tests without neighbours"
)]
mod scene;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};

/// In a home of its own: bd leaves files there, and the library hands our environment on to it.
fn main() -> ExitCode {
    const INSIDE: &str = "BEADLOCK_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        let arguments = Arguments::from_args();
        return libtest_mimic::run(&arguments, trials()).exit_code();
    }
    let home = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the same tests, elsewhere")]
    let mut again = Command::new(std::env::current_exe().unwrap());
    let status = again
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .status()
        .unwrap();
    status.code().map_or(ExitCode::FAILURE, |code| {
        ExitCode::from(u8::try_from(code).unwrap_or(1))
    })
}

#[cfg(unix)]
fn trials() -> Vec<Trial> {
    let tests = [
        bd_run::TESTS,
        bd_write::TESTS,
        bd_token::TESTS,
        bd_quiet::TESTS,
        bd_hidden::TESTS,
    ]
    .concat();
    let mut trials = desk::trials(&tests, None);
    let missing = bd_server::dolt().is_none();
    let why = missing.then_some("there is no dolt here (BEADLOCK_TEST_DOLT may name one)");
    trials.extend(desk::trials(bd_server::TESTS, why));
    trials
}

/// The tests put links in place of programs.
#[cfg(not(unix))]
fn trials() -> Vec<Trial> {
    Vec::new()
}
