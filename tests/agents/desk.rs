//! A project in which a real Claude Code works for a model of ours, and Beadlock is wired to it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::model::{Asked, Model};
use crate::scene::{EPIC, Scene};

/// The machine may be busy with everything else that is tested.
pub const PATIENCE: Duration = Duration::from_secs(180);
pub const TICK: Duration = Duration::from_millis(50);
/// What an assertion says that would hold if somebody asked at a stop.
pub const LET_GO: &str = "the agent was let go";
/// What a person types to begin.
pub const RUN_TASKS: &str = "/run-tasks bd-x7y8";
const TASKS: usize = 3;

/// One version of the agent.
#[derive(Clone, Debug)]
pub struct Claude {
    pub program: PathBuf,
    pub version: String,
}

/// What stands in the Stop hook's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    Beadlock,
    /// `true`, as if nobody asked.
    Nothing,
}

/// A repository with an epic of three ready tasks, committed.
pub struct Desk {
    pub scene: Scene,
    pub model: Model,
    claude: Claude,
    base: PathBuf,
}

impl Desk {
    pub fn new(claude: &Claude, wiring: Wiring) -> Desk {
        let scene = Scene::with_tasks(TASKS);
        let base = scene.root.parent().unwrap().to_owned();
        let bin = base.join("bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(BEADLOCK, bin.join("beadlock")).unwrap();
        wire(&scene);
        if wiring == Wiring::Nothing {
            unwire_stop(&scene);
        }
        Desk {
            scene,
            model: Model::new(),
            claude: claude.clone(),
            base,
        }
    }

    /// The agent with all of its environment; it may run commands without asking.
    pub fn claude(&self, args: &[&str]) -> Command {
        let program = self.claude.program.to_str().unwrap();
        let mut command = self.scene.command(program, &self.scene.root);
        command
            .args(args)
            .args(["--model", "claude-sonnet-4-5", "--allowedTools", "Bash"])
            .env("PATH", self.path())
            .env("SHELL", "/bin/bash")
            .env("LANG", "C.UTF-8")
            .env("TMPDIR", &self.base)
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_AUTH_TOKEN", "none")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_TELEMETRY", "1");
        command
    }

    fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap();
        let dirs = std::iter::once(self.base.join("bin")).chain(std::env::split_paths(&path));
        std::env::join_paths(dirs).unwrap()
    }

    /// A file beside the project, in nobody's way.
    pub fn aside(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// A person has seen it before, and trusts this folder.
    pub fn know_this_place(&self) {
        let known = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "projects": { self.scene.root.to_str().unwrap(): {
                "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
            } },
        });
        let path = self.aside("home").join(".claude.json");
        if !path.exists() {
            fs::write(path, known.to_string()).unwrap();
        }
    }

    /// One whole session without a screen; answers how it says it has ended.
    #[track_caller]
    pub fn headless(&self, prompt: &str, args: &[&str]) -> Value {
        let all = [&["-p", prompt, "--output-format", "json"], args].concat();
        let (out, err) = (self.aside("stdout"), self.aside("stderr"));
        let mut command = self.claude(&all);
        command
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap());
        let status = ended(command.spawn().unwrap());
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let (out, err) = (read(&out), read(&err));
        let result = serde_json::from_str(&out);
        result.unwrap_or_else(|error| panic!("the agent failed ({status}, {error}): {out}{err}"))
    }

    /// What a held agent is fed: the line, and below it the constant prompt.
    #[track_caller]
    pub fn is_fed(&self, asked: &Asked, line: &str) {
        let expected = format!("{FEEDBACK}{line}\n\n{}", self.scene.run().prompt);
        assert_eq!(asked.fed(), [expected]);
    }

    /// The lines that the model was fed at the stops of all its sessions so far, in their order,
    /// each with the constant prompt below it; and nothing else at any stop.
    #[track_caller]
    pub fn was_held_by(&self, lines: &[&str]) {
        let asked = self.model.asked();
        assert!(!asked.is_empty(), "the model was asked nothing");
        let is_held = |asked: &&Asked| asked.fed().iter().any(|it| it.starts_with(FEEDBACK));
        let held: Vec<&Asked> = asked.iter().filter(is_held).collect();
        for (index, line) in lines.iter().enumerate() {
            match held.get(index) {
                Some(asked) => self.is_fed(asked, line),
                None => self.was_let_go(line),
            }
        }
        let last = held.last().map(|asked| asked.fed());
        assert_eq!(held.len(), lines.len(), "{last:?}");
    }

    /// It was not, and should have been.
    #[track_caller]
    pub fn was_let_go(&self, line: &str) -> ! {
        assert_eq!(self.scene.runs().len(), 1, "nothing was armed");
        panic!("{LET_GO}, and was to be fed: {line}")
    }

    /// Every stop that was recorded: the answer, and its reason.
    #[track_caller]
    pub fn stops_were(&self, expected: &[(&str, &str)]) {
        let records = self.scene.records();
        let stops = records
            .iter()
            .map(|it| (it.answer.as_str(), it.reason.as_str()));
        assert_eq!(stops.collect::<Vec<_>>(), expected);
    }

    /// The run as `beadlock status` shows it.
    #[track_caller]
    pub fn stands(&self, state: &str, outcome: &str) {
        let status = self
            .scene
            .beadlock(&["status", EPIC, "--json"])
            .done()
            .json();
        assert_eq!(
            (status["state"].as_str(), status["outcome"].as_str()),
            (Some(state), Some(outcome)),
            "{status}"
        );
    }

    /// What was decided there is decided again.
    #[track_caller]
    pub fn is_decided_alike_again(&self) {
        let stops = self.scene.records().len();
        let done = self.scene.beadlock(&["replay", "--all"]).done();
        let all = format!("{stops} the same, 0 different, 0 undecided\n");
        assert!(done.status == 0 && done.stdout.ends_with(&all), "{done:?}");
    }
}

/// How Claude Code hands on what a Stop hook has said.
const FEEDBACK: &str = "Stop hook feedback:\n";

fn ended(mut child: Child) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        thread::sleep(TICK);
    }
    let _ = child.kill();
    child.wait().unwrap()
}

const BEADLOCK: &str = env!("CARGO_BIN_EXE_beadlock");
const SETTINGS: &str = ".claude/settings.json";

fn wire(scene: &Scene) {
    let done = scene.beadlock(&["init", "--yes"]).done();
    assert_eq!(done.status, 0, "{done:?}");
}

/// Nobody is asked at a stop any more; every other hook stays as it is.
fn unwire_stop(scene: &Scene) {
    let path = scene.path(SETTINGS);
    let text = fs::read_to_string(&path).unwrap();
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    let program = settings
        .pointer_mut("/hooks/Stop/0/hooks/0/command")
        .unwrap();
    *program = json!("true");
    fs::write(path, settings.to_string()).unwrap();
}
