//! Repositories to stop in, and the programs that are compared.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::case::{Case, payload};
use crate::{ACTIVE, BASH, BEADLOCK, EMPTY, EPIC, HUGE, IDLE, IDLE_STORE, LARGE};

/// A hook written in bash and jq: the way it is done without a tool. Where tasks are ready it
/// asks the tracker three questions, keeps a counter in a file and answers in JSON. `git` it does
/// not look at.
const BASH_HOOK: &str = r#"#!/usr/bin/env bash
input=$(cat)
session=$(jq -r '.session_id' <<<"$input")
said=$(jq -r '.last_assistant_message // ""' <<<"$input")
counter="$STATE_DIR/$session"
cycles=$(( $(cat "$counter" 2>/dev/null || echo 0) + 1 ))
echo "$cycles" >"$counter"
if [ "$cycles" -gt 100000 ]; then exit 0; fi
if grep -q '<promise>BLOCKED - NEEDS USER</promise>' <<<"$said"; then exit 0; fi
ready=$(bd ready --json | jq 'length')
if [ "$ready" -eq 0 ]; then
  in_progress=$(bd list --status in_progress --parent "$EPIC" --json | jq 'length')
  if [ "$in_progress" -eq 0 ]; then exit 0; fi
fi
open=$(bd list --status open --parent "$EPIC" --json | jq 'length')
blocked=$(bd list --status blocked --parent "$EPIC" --json | jq 'length')
if [ "$open" -eq "$blocked" ]; then exit 0; fi
prompt=$(sed "s/{epic_id}/$EPIC/" "$STATE_DIR/prompt.md")
jq -n --arg n "$ready" --arg prompt "$prompt" '{decision: "block", reason: ($n + " tasks still ready\n" + $prompt)}'
"#;

/// A tracker that answers at once, in the shape that bd has.
const FAKE_BD: &str = r#"fn main() {
    let rows: Vec<String> = (1..=30).map(|n| format!("{{\"id\":\"bd-x7y8.{n}\",\"title\":\"Task {n}\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"task\"}}")).collect();
    println!("[{}]", rows.join(","));
}"#;

pub struct World {
    pub base: PathBuf,
    pub path: String,
    bash: Option<PathBuf>,
}

impl World {
    pub fn new(base: &Path) -> World {
        let bin = base.join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(base.join("bash-state")).unwrap();
        compile(base, "fn main() {}", &bin.join("empty"));
        compile(base, FAKE_BD, &bin.join("bd"));
        fs::write(base.join("hook.sh"), BASH_HOOK).unwrap();
        let jq =
            std::env::var_os("BEADLOCK_BENCH_JQ").map_or_else(|| find("jq"), |jq| Some(jq.into()));
        if let Some(jq) = &jq {
            println!("jq: {}", said(jq, "--version"));
            link(jq, &bin.join("jq"));
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let world = World {
            base: base.to_owned(),
            path,
            bash: find("bash").filter(|_| jq.is_some()),
        };
        if world.bash.is_none() {
            println!("left out: bash or jq is not there");
        }
        world
    }

    pub fn cases(&self) -> Vec<Case> {
        let plain = self.repository("plain", 30);
        let stored = self.repository("stored", 30);
        Self::start(&stored, "another");
        let mut cases = vec![
            self.case(EMPTY, &self.base.join("bin/empty"), &[], &plain),
            self.case(IDLE, Path::new(BEADLOCK), &["hook", "stop"], &plain),
            self.case(IDLE_STORE, Path::new(BEADLOCK), &["hook", "stop"], &stored),
        ];
        for (name, folder, tasks) in [
            (ACTIVE, "active", 30),
            (LARGE, "large", 10_000),
            (HUGE, "huge", 100_000),
        ] {
            let dir = self.repository(folder, tasks);
            Self::start(&dir, "s");
            cases.push(self.case(name, Path::new(BEADLOCK), &["hook", "stop"], &dir));
        }
        let prompt = said_in(&plain, &["prompt", EPIC]);
        fs::write(self.base.join("bash-state/prompt.md"), prompt).unwrap();
        cases.extend(self.bash(BASH, &plain));
        cases
    }

    /// The hook in bash, if there is a bash and a jq to run it with.
    pub fn bash(&self, name: &'static str, dir: &Path) -> Option<Case> {
        let hook = self.base.join("hook.sh");
        let bash = self.bash.as_ref()?;
        Some(self.case(name, bash, &[hook.to_str().unwrap()], dir))
    }

    pub fn case(&self, name: &'static str, program: &Path, args: &[&str], dir: &Path) -> Case {
        Case {
            name,
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            dir: dir.to_owned(),
            path: self.path.clone(),
            stdin: payload(dir, Some("Good progress so far."), None),
        }
    }

    /// A repository whose tasks are in a file.
    pub fn repository(&self, name: &str, tasks: usize) -> PathBuf {
        let dir = self.base.join(name);
        fs::create_dir_all(dir.join(".beads")).unwrap();
        fs::write(dir.join(".beads/issues.jsonl"), rows(tasks)).unwrap();
        for args in ["init -q", "add -A", COMMIT] {
            git(&dir, args);
        }
        dir
    }

    pub fn start(dir: &Path, session: &str) {
        let limits = ["--set=max_cycles=1000", "--set=no_progress_cycles=1000"];
        said_in(
            dir,
            &[&["start", EPIC, "--session", session][..], &limits].concat(),
        );
    }
}

pub const COMMIT: &str =
    "-c user.name=b -c user.email=b@example.com commit -q --allow-empty -m plan";

pub fn git(dir: &Path, args: &str) {
    let status = Command::new("git")
        .args(args.split(' '))
        .current_dir(dir)
        .status();
    assert!(status.unwrap().success(), "git {args}");
}

/// An epic and its tasks, a line each, in the shape that bd imports.
pub fn rows(tasks: usize) -> String {
    let mut lines = format!(
        "{{\"id\":\"{EPIC}\",\"title\":\"Epic\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"epic\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}}\n"
    );
    for n in 1..=tasks {
        let _ = writeln!(
            lines,
            "{{\"id\":\"{EPIC}.{n}\",\"title\":\"Task number {n} of the epic\",\"description\":\"What has to be done, in a sentence or two, as people write it.\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"task\",\"created_at\":\"2026-01-01T00:00:00Z\",\"created_by\":\"dev\",\"updated_at\":\"2026-01-01T00:00:00Z\",\"dependencies\":[{{\"issue_id\":\"{EPIC}.{n}\",\"depends_on_id\":\"{EPIC}\",\"type\":\"parent-child\",\"created_at\":\"2026-01-01T00:00:00Z\",\"created_by\":\"dev\",\"metadata\":\"{{}}\"}}]}}"
        );
    }
    lines
}

/// What Beadlock prints there; it has to succeed.
fn said_in(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new(BEADLOCK);
    let output = command
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a program prints of itself.
pub fn said(program: &Path, args: &str) -> String {
    let output = Command::new(program)
        .args(args.split(' '))
        .env("BD_DISABLE_METRICS", "1")
        .env("BD_DISABLE_EVENT_FLUSH", "1")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn compile(base: &Path, source: &str, to: &Path) {
    let file = base.join("source.rs");
    fs::write(&file, source).unwrap();
    let built = Command::new("rustc")
        .arg("-O")
        .arg("-o")
        .arg(to)
        .arg(&file)
        .status()
        .unwrap();
    assert!(built.success());
}

pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())
}

pub fn link(from: &Path, to: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(from, to).unwrap();
    #[cfg(not(unix))]
    fs::copy(from, to).map(drop).unwrap();
}
