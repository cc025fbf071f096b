//! A repository whose tasks a real bd keeps, and the tests that are run with each build of it.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use beadlock::edge::tracker::bd::Bd;
use beadlock::edge::tracker::{Patience, WhenLate, Workspace};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::scene::{Call, Done, EPIC, SESSION, Scene, Stop};

/// A test, and what it is called.
pub type Test = (&'static str, fn(&Build));

/// One build of bd.
#[derive(Clone, Debug)]
pub struct Build {
    pub program: PathBuf,
    pub version: String,
}

impl Build {
    /// As bd says it of itself; another program of that name says something else.
    fn of(program: &Path) -> Option<Build> {
        let mut command = command(program);
        let output = command.args(["version", "--json"]).output().ok()?;
        let said: Value = serde_json::from_slice(&output.stdout).ok()?;
        said.get("schema_version")?;
        Some(Build {
            program: program.to_owned(),
            version: said["version"].as_str()?.to_owned(),
        })
    }

    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let mut numbers = self
            .version
            .split('.')
            .map(|part| part.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next()) >= (major, minor)
    }
}

pub fn builds() -> Vec<Build> {
    let named = std::env::var_os("BEADLOCK_TEST_BDS");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs: Vec<PathBuf> = match &named {
        Some(list) => std::env::split_paths(list).collect(),
        None => std::env::split_paths(&path)
            .map(|dir| dir.join("bd"))
            .collect(),
    };
    let there = programs.iter().filter(|program| program.is_file());
    let builds = there.filter_map(|program| Build::of(program));
    if named.is_some() {
        builds.collect()
    } else {
        builds.take(1).collect()
    }
}

/// Every test with every build of bd; ignored if there is none, or if something else is `missing`.
pub fn trials(tests: &[Test], missing: Option<&'static str>) -> Vec<Trial> {
    let builds = builds();
    let must_run = std::env::var_os("BEADLOCK_TEST_ALL").is_some();
    let no_bd = "there is no bd here (BEADLOCK_TEST_BDS may name some)";
    let missing = missing.or(builds.is_empty().then_some(no_bd));
    let Some(missing) = missing else {
        return builds.iter().flat_map(|build| with(build, tests)).collect();
    };
    if !must_run {
        let line = format!("skipped: {} live tests, {missing}\n", tests.len());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let absent = tests.iter().map(|(name, _)| {
        let trial = Trial::test(*name, move || Err(Failed::from(missing)));
        trial.with_ignored_flag(!must_run)
    });
    absent.collect()
}

fn with(build: &Build, tests: &[Test]) -> Vec<Trial> {
    let trial = |(name, test): &Test| {
        let (build, test) = (build.clone(), *test);
        Trial::test(format!("bd {}: {name}", build.version), move || {
            test(&build);
            Ok(())
        })
    };
    tests.iter().map(trial).collect()
}

/// Another program that a test needs, by the variable that names it, else from PATH.
pub fn neighbour(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(name));
    found.find(|program| program.is_file())
}

/// A program with nothing around it that could change what it says.
fn command(program: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", std::env::temp_dir())
        .envs(QUIET);
    command
}

/// Metrics would go to an outside address.
const QUIET: [(&str, &str); 7] = [
    ("BD_DISABLE_METRICS", "1"),
    ("DO_NOT_TRACK", "1"),
    ("BD_DISABLE_EVENT_FLUSH", "1"),
    ("BD_BACKUP_ENABLED", "false"),
    ("BD_NON_INTERACTIVE", "1"),
    ("DOLT_DISABLE_EVENT_FLUSH", "1"),
    ("USER", "Test"),
];

pub struct Desk {
    pub scene: Scene,
    pub bin: PathBuf,
}

impl Desk {
    /// A repository in which bd has been initialised, with an epic of `open` tasks.
    pub fn with_tasks(build: &Build, open: usize) -> Desk {
        let desk = Desk::empty(build);
        desk.bd(&["create", "The epic", "-t", "epic", "--id", EPIC]);
        for number in 1..=open {
            desk.bd(&["create", &format!("Task {number}"), "--parent", EPIC]);
        }
        desk
    }

    pub fn empty(build: &Build) -> Desk {
        let scene = Scene::repository();
        let desk = Desk::beside(scene, build);
        desk.bd(&INIT);
        desk
    }

    /// A repository in which nobody has called bd yet.
    pub fn beside(scene: Scene, build: &Build) -> Desk {
        let bin = scene.root.parent().unwrap().join("bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(&build.program, bin.join("bd")).unwrap();
        Desk { scene, bin }
    }

    /// What bd prints; it has to succeed.
    #[track_caller]
    pub fn bd(&self, args: &[&str]) -> String {
        self.bd_in(&self.scene.root, args)
    }

    #[track_caller]
    pub fn bd_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.try_bd(dir, args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "bd {args:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    pub fn try_bd(&self, dir: &Path, args: &[&str]) -> Output {
        self.bd_as("Test", dir, args)
    }

    /// As somebody else.
    pub fn bd_as(&self, actor: &str, dir: &Path, args: &[&str]) -> Output {
        let mut command = self.scene.command("bd", dir);
        command.args(args).env("PATH", self.path()).envs(QUIET);
        command.env("BEADS_ACTOR", actor).output().unwrap()
    }

    #[track_caller]
    pub fn bd_json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.bd(args)).unwrap()
    }

    pub fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap();
        let dirs = std::iter::once(self.bin.clone()).chain(std::env::split_paths(&path));
        std::env::join_paths(dirs).unwrap()
    }

    pub fn beadlock(&self, args: &[&str]) -> Call {
        let call = self.scene.beadlock(args).env("PATH", self.path());
        call.env("BEADS_ACTOR", "Test")
    }

    #[track_caller]
    pub fn start(&self) {
        let done = self.try_start();
        assert_eq!(done.status, 0, "{done:?}");
    }

    pub fn try_start(&self) -> Done {
        self.beadlock(&["start", EPIC, "--session", SESSION]).done()
    }

    pub fn stop(&self) -> Stop<'_> {
        self.scene.stop().env("PATH", self.path().to_str().unwrap())
    }

    /// The library's own way to this bd.
    pub fn tracker(&self, build: &Build) -> Bd {
        Bd::of(&Workspace::at(&self.scene.root, None)).with_program(&build.program)
    }

    /// Puts a script in bd's place, from which `$BD` is the real one.
    pub fn wrap(&self, build: &Build, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let (program, bin) = (build.program.display(), self.bin.display());
        let text = format!("#!/bin/sh\nBD='{program}'\nBIN='{bin}'\n{script}\n");
        let next = self.bin.join("next");
        fs::write(&next, text).unwrap();
        fs::set_permissions(&next, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(next, self.bin.join("bd")).unwrap();
    }

    /// Notes down every call of bd from here on.
    pub fn count_calls(&self, build: &Build) {
        self.wrap(build, "echo \"$@\" >> \"$BIN/calls\"\nexec \"$BD\" \"$@\"");
    }

    /// What bd was asked since the last time somebody looked.
    pub fn calls(&self) -> Vec<String> {
        let path = self.bin.join("calls");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, "").unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

/// bd is never hurried here.
pub const PATIENCE: Patience = Patience {
    deadline: Duration::from_secs(120),
    when_late: WhenLate::Leave,
};

/// Without the files for agents and the git hooks that it else brings along.
pub const INIT: [&str; 7] = [
    "init",
    "-p",
    "bd",
    "--skip-agents",
    "--skip-hooks",
    "--quiet",
    "--non-interactive",
];
