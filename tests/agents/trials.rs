//! Which agents there are, and each test with each of them: once as it is, once with `true` in the
//! Stop hook's line.

use std::cell::Cell;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use libtest_mimic::{Failed, Trial};

use crate::desk::{Claude, Desk, LET_GO, Wiring};

/// The versions that have to be there where everything has to be.
const PINNED: &str = include_str!("claude-versions.txt");

#[derive(Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub needs: Needs,
    pub run: fn(&Desk),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Agent,
    /// And a screen to show it on.
    Screen,
}

pub fn trials(tests: &[Test]) -> Vec<Trial> {
    let must_run = std::env::var_os("BEADLOCK_TEST_ALL").is_some();
    let agents = agents();
    let no_agent = agents.is_empty().then_some(NO_AGENT);
    let no_screen = on_path("tmux").is_none().then_some("there is no tmux here");
    let missing = |test: &Test| match test.needs {
        Needs::Agent => no_agent,
        Needs::Screen => no_agent.or(no_screen),
    };
    let mut trials = Vec::new();
    for test in tests {
        match missing(test) {
            None => trials.extend(agents.iter().flat_map(|agent| with(agent, *test))),
            Some(what) => trials.push(absent(test, what, must_run)),
        }
    }
    if must_run {
        trials.extend(missing_versions(&agents));
    }
    trials
}

const NO_AGENT: &str = "there is no Claude Code here (BEADLOCK_TEST_CLAUDES may name some)";

fn absent(test: &Test, what: &'static str, must_run: bool) -> Trial {
    if !must_run {
        let line = format!("skipped: {}: {what}\n", test.name);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let trial = Trial::test(test.name, move || Err(Failed::from(what)));
    trial.with_ignored_flag(!must_run)
}

/// A failure for each version that ought to be here.
fn missing_versions(agents: &[Claude]) -> Vec<Trial> {
    let is_there = |version: &&str| agents.iter().any(|agent| agent.version == *version);
    let missing = PINNED.lines().filter(|version| !is_there(version));
    let trial = |version: &str| {
        let name = format!("claude {version} is here");
        Trial::test(name, || Err(Failed::from("it is missing")))
    };
    missing.map(trial).collect()
}

fn with(agent: &Claude, test: Test) -> [Trial; 2] {
    let (wired, unwired) = (agent.clone(), agent.clone());
    let name = format!("claude {}: {}", agent.version, test.name);
    let twin = format!("{name}, which fails without us");
    [
        Trial::test(name, move || {
            (test.run)(&Desk::new(&wired, Wiring::Beadlock));
            Ok(())
        }),
        Trial::test(twin, move || fails(test, &unwired)),
    ]
}

/// The same test where nobody asks whether the agent may stop: any other failure proves nothing.
fn fails(test: Test, agent: &Claude) -> Result<(), Failed> {
    let desk = Desk::new(agent, Wiring::Nothing);
    match silently(|| (test.run)(&desk)) {
        Ok(()) => Err(Failed::from("it does not need us to be green")),
        Err(what) if what.contains(LET_GO) => Ok(()),
        Err(what) => Err(Failed::from(format!("another failure than ours: {what}"))),
    }
}

thread_local! {
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// What it panicked with, which is expected and shown to nobody.
fn silently(work: impl FnOnce()) -> Result<(), String> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_SILENT.get() {
                shown(info);
            }
        }));
    });
    IS_SILENT.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_SILENT.set(false);
    done.map_err(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload
            .downcast::<&str>()
            .map_or_else(|_| "nothing in words".to_owned(), |text| (*text).to_owned()),
    })
}

fn agents() -> Vec<Claude> {
    let programs = match std::env::var_os("BEADLOCK_TEST_CLAUDES") {
        Some(list) => std::env::split_paths(&list).collect(),
        None => on_path("claude").into_iter().collect::<Vec<_>>(),
    };
    programs.iter().filter_map(|it| agent(it)).collect()
}

/// As it says of itself: `2.1.327 (Claude Code)`.
fn agent(program: &Path) -> Option<Claude> {
    let home = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path());
    let output = command.arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (version, name) = said.trim().split_once(' ')?;
    (name == "(Claude Code)").then(|| Claude {
        program: program.to_owned(),
        version: version.to_owned(),
    })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(name));
    found.find(|program| program.is_file())
}
