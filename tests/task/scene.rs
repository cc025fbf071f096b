//! One test's whole world: a folder, the binary, and what it ended with.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own, with nothing else in the environment.
pub struct Scene {
    pub folder: TempDir,
}

/// How a command ended, all of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Scene {
    pub fn new() -> Scene {
        Scene {
            folder: tempfile::Builder::new().prefix("scene").tempdir().unwrap(),
        }
    }

    pub fn with(text: impl AsRef<[u8]>) -> Scene {
        let scene = Scene::new();
        fs::create_dir(scene.path(".beads")).unwrap();
        fs::write(scene.file(), text).unwrap();
        scene
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self) -> PathBuf {
        self.path(".beads/issues.jsonl")
    }

    pub fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_beadlock"));
        command
            .arg("task")
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("BEADS_ACTOR", "ann")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::of(&self.command(args).output().unwrap())
    }

    /// A command that is fine and says nothing on the side.
    pub fn fine(&self, args: &[&str]) -> String {
        let ended = self.run(args);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
        ended.stdout
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let document: Value = serde_json::from_str(&self.fine(&args)).unwrap();
        assert_eq!(document["schema"], 1);
        document["tasks"].clone()
    }

    pub fn ids(&self, args: &[&str]) -> Vec<String> {
        let tasks = self.json(args);
        let ids = tasks.as_array().unwrap().iter();
        ids.map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Ended {
    pub fn of(output: &Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test starts the program under test itself"
)]
pub fn command(program: &str) -> Command {
    Command::new(program)
}

pub fn ended(code: i32, stdout: &str, stderr: &str) -> Ended {
    Ended {
        code: Some(code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}
