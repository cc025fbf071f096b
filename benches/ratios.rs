//! What a stop costs, as ratios measured side by side in one run: every command once a round,
//! medians over all rounds. `cargo bench --bench ratios`.
//!
//! Needs bash and jq for the comparison (`BEADLOCK_BENCH_JQ` names another jq) and valgrind for
//! the instruction counts; what is missing is left out with a line that says so.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints its figures, stops at the first surprise and starts programs"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 41;
const EPIC: &str = "bd-x7y8";
const BEADLOCK: &str = env!("CARGO_BIN_EXE_beadlock");

/// A hook written in bash and jq: the way it is done without a tool. It asks the tracker four
/// questions, keeps a counter in a file and answers in JSON. `git` it does not look at.
const BASH_HOOK: &str = r#"#!/usr/bin/env bash
input=$(cat)
session=$(jq -r '.session_id' <<<"$input")
said=$(jq -r '.last_assistant_message // ""' <<<"$input")
counter="$STATE_DIR/$session"
cycles=$(( $(cat "$counter" 2>/dev/null || echo 0) + 1 ))
echo "$cycles" >"$counter"
if [ "$cycles" -gt 100000 ]; then exit 0; fi
ready=$(bd ready --json | jq 'length')
in_progress=$(bd list --status in_progress --json | jq 'length')
open=$(bd list --status open --parent "$EPIC" --json | jq 'length')
blocked=$(bd list --status blocked --parent "$EPIC" --json | jq 'length')
if grep -q '<promise>BLOCKED - NEEDS USER</promise>' <<<"$said"; then exit 0; fi
if { [ "$ready" -eq 0 ] && [ "$in_progress" -eq 0 ]; } || [ "$open" -eq 0 ] && [ "$blocked" -eq 0 ]; then exit 0; fi
prompt=$(sed "s/{epic_id}/$EPIC/" "$STATE_DIR/prompt.md")
jq -n --arg n "$ready" --arg prompt "$prompt" '{decision: "block", reason: ($n + " tasks still ready\n" + $prompt)}'
"#;

/// A tracker that answers at once, in the shape that bd has.
const FAKE_BD: &str = r#"fn main() {
    let rows: Vec<String> = (1..=30).map(|n| format!("{{\"id\":\"bd-x7y8.{n}\",\"title\":\"Task {n}\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"task\"}}")).collect();
    println!("[{}]", rows.join(","));
}"#;

fn main() {
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let world = World::new(temp.path());
    let cases = world.cases();
    let medians = measure(&cases);
    let median = |name: &str| {
        let found = cases.iter().position(|case| case.name == name);
        found.map(|position| medians[position])
    };
    println!("{ROUNDS} rounds, interleaved; medians in milliseconds\n");
    for (case, median) in cases.iter().zip(&medians) {
        println!("{:<44} {median:>9.2}", case.name);
    }
    println!();
    let ratio = |text: &str, a: &str, b: &str, limit: f64| {
        if let (Some(a), Some(b)) = (median(a), median(b)) {
            println!("{text:<58} {:>6.2}x   (wanted: at most {limit}x)", a / b);
        }
    };
    ratio(
        "stop without a run, no store / empty program",
        IDLE,
        EMPTY,
        1.8,
    );
    ratio(
        "stop without a run, store there / empty program",
        IDLE_STORE,
        EMPTY,
        1.8,
    );
    ratio("stop with a run of 30 tasks / bash + jq", ACTIVE, BASH, 0.2);
    ratio("100,000 tasks / 10,000 tasks", HUGE, LARGE, 12.0);
    if let Some(large) = median(LARGE) {
        println!(
            "{:<58} {large:>6.1} ms  (wanted: at most 30 ms)",
            "10,000 tasks"
        );
    }
    world.transcripts();
}

const EMPTY: &str = "empty Rust program";
const IDLE: &str = "hook stop, no run, no store";
const IDLE_STORE: &str = "hook stop, no run, a store is there";
const ACTIVE: &str = "hook stop, run of 30 tasks (blocks)";
const BASH: &str = "bash + jq hook, instant bd, 30 tasks";
const LARGE: &str = "hook stop, run of 10,000 tasks";
const HUGE: &str = "hook stop, run of 100,000 tasks";

struct Case {
    name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    dir: PathBuf,
    path: String,
    stdin: Vec<u8>,
}

impl Case {
    fn run(&self) {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.dir)
            .env("EPIC", EPIC)
            .env("STATE_DIR", self.dir.parent().unwrap().join("bash-state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The empty program reads nothing.
        let _ = child.stdin.take().unwrap().write_all(&self.stdin);
        assert!(child.wait().unwrap().success(), "{}", self.name);
    }
}

fn measure(cases: &[Case]) -> Vec<f64> {
    for case in cases {
        case.run();
    }
    let mut times = vec![Vec::new(); cases.len()];
    for round in 0..ROUNDS {
        for offset in 0..cases.len() {
            let number = (round + offset) % cases.len();
            let start = Instant::now();
            cases[number].run();
            times[number].push(start.elapsed().as_secs_f64() * 1000.0);
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    times.into_iter().map(median).collect()
}

struct World {
    base: PathBuf,
    path: String,
    jq: Option<PathBuf>,
}

impl World {
    fn new(base: &Path) -> World {
        let bin = base.join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(base.join("bash-state")).unwrap();
        compile(base, "fn main() {}", &bin.join("empty"));
        compile(base, FAKE_BD, &bin.join("bd"));
        fs::write(base.join("hook.sh"), BASH_HOOK).unwrap();
        let jq =
            std::env::var_os("BEADLOCK_BENCH_JQ").map_or_else(|| find("jq"), |jq| Some(jq.into()));
        if let Some(jq) = &jq {
            let version = Command::new(jq).arg("--version").output().unwrap();
            println!("jq: {}", String::from_utf8_lossy(&version.stdout).trim());
            link(jq, &bin.join("jq"));
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        World {
            base: base.to_owned(),
            path,
            jq,
        }
    }

    fn cases(&self) -> Vec<Case> {
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
        if let (Some(bash), Some(_)) = (find("bash"), &self.jq) {
            let prompt = Command::new(BEADLOCK)
                .args(["prompt", EPIC])
                .current_dir(&plain)
                .output();
            fs::write(
                self.base.join("bash-state/prompt.md"),
                prompt.unwrap().stdout,
            )
            .unwrap();
            let hook = self.base.join("hook.sh");
            cases.push(self.case(BASH, &bash, &[hook.to_str().unwrap()], &plain));
        } else {
            println!("left out: bash or jq is not there");
        }
        cases
    }

    fn case(&self, name: &'static str, program: &Path, args: &[&str], dir: &Path) -> Case {
        Case {
            name,
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            dir: dir.to_owned(),
            path: self.path.clone(),
            stdin: payload(dir, Some("Good progress so far."), None),
        }
    }

    fn repository(&self, name: &str, tasks: usize) -> PathBuf {
        let dir = self.base.join(name);
        fs::create_dir_all(dir.join(".beads")).unwrap();
        let mut lines = format!(
            "{{\"id\":\"{EPIC}\",\"title\":\"Epic\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"epic\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}}\n"
        );
        for n in 1..=tasks {
            let _ = writeln!(
                lines,
                "{{\"id\":\"{EPIC}.{n}\",\"title\":\"Task number {n} of the epic\",\"description\":\"What has to be done, in a sentence or two, as people write it.\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"task\",\"created_at\":\"2026-01-01T00:00:00Z\",\"created_by\":\"dev\",\"updated_at\":\"2026-01-01T00:00:00Z\",\"dependencies\":[{{\"issue_id\":\"{EPIC}.{n}\",\"depends_on_id\":\"{EPIC}\",\"type\":\"parent-child\",\"created_at\":\"2026-01-01T00:00:00Z\",\"created_by\":\"dev\",\"metadata\":\"{{}}\"}}]}}"
            );
        }
        fs::write(dir.join(".beads/issues.jsonl"), lines).unwrap();
        for args in [
            &["init", "-q"][..],
            &["add", "-A"],
            &[
                "-c",
                "user.name=b",
                "-c",
                "user.email=b@example.com",
                "commit",
                "-q",
                "-m",
                "plan",
            ],
        ] {
            assert!(
                Command::new("git")
                    .args(args)
                    .current_dir(&dir)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        dir
    }

    fn start(dir: &Path, session: &str) {
        let limits = [
            "--set",
            "max_cycles=1000",
            "--set",
            "no_progress_cycles=1000",
        ];
        let started = Command::new(BEADLOCK)
            .args(["start", EPIC, "--session", session])
            .args(limits)
            .current_dir(dir)
            .env("HOME", dir)
            .output()
            .unwrap();
        assert!(started.status.success());
    }

    /// Instructions of a stop whose words are only in the transcript, for a small and a huge one.
    fn transcripts(&self) {
        let Some(valgrind) = find("valgrind") else {
            println!("left out: valgrind is not there");
            return;
        };
        let dir = self.repository("transcript", 3);
        Self::start(&dir, "s");
        let count = |bytes: u64| {
            let path = self.base.join("transcript.jsonl");
            let mut file = fs::File::create(&path).unwrap();
            // As a session looks: tool results, answers and the odd line of the agent's own.
            let block = format!(
                "{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n{{\"type\":\"assistant\",\"message\":{{\"id\":\"o\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]}}}}\n{{\"type\":\"progress\"}}\n",
                "x".repeat(900),
                "y".repeat(900)
            )
            .repeat(50);
            let mut written = 0;
            while written < bytes {
                file.write_all(block.as_bytes()).unwrap();
                written += block.len() as u64;
            }
            writeln!(
                file,
                "{{\"type\":\"user\",\"message\":{{\"content\":\"go on\"}}}}"
            )
            .unwrap();
            writeln!(file, "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"content\":[{{\"type\":\"text\",\"text\":\"Good progress.\"}}]}}}}").unwrap();
            let out = self.base.join("callgrind.out");
            let mut child = Command::new(&valgrind)
                .args(["--tool=callgrind", "--trace-children=no"])
                .arg(format!("--callgrind-out-file={}", out.display()))
                .args([BEADLOCK, "hook", "stop"])
                .current_dir(&dir)
                .env("HOME", &dir)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(&payload(&dir, None, Some(&path)))
                .unwrap();
            assert!(child.wait().unwrap().success());
            let text = fs::read_to_string(out).unwrap();
            let totals = text
                .lines()
                .find_map(|line| line.strip_prefix("summary: "))
                .unwrap();
            totals.trim().parse::<u64>().unwrap()
        };
        // Alternating, least of each: waiting threads add a little noise of their own.
        let (mut small, mut huge) = (u64::MAX, u64::MAX);
        for _ in 0..5 {
            small = small.min(count(100 * 1024));
            huge = huge.min(count(1024 * 1024 * 1024));
        }
        let (a, b) = (f64_of(small), f64_of(huge));
        println!(
            "{:<58} {:>6.2} %  (wanted: at most 1 %)",
            format!("instructions, transcript of 1 GB / 100 KB ({huge} / {small})"),
            (b / a - 1.0) * 100.0
        );
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "instruction counts are far below 2^52"
)]
fn f64_of(count: u64) -> f64 {
    count as f64
}

fn payload(dir: &Path, words: Option<&str>, transcript: Option<&Path>) -> Vec<u8> {
    let mut payload = serde_json::json!({
        "session_id": "s", "cwd": dir, "prompt_id": "p", "permission_mode": "default",
        "hook_event_name": "Stop", "stop_hook_active": false,
        "background_tasks": [], "session_crons": [],
    });
    if let Some(words) = words {
        payload["last_assistant_message"] = words.into();
    }
    if let Some(path) = transcript {
        payload["transcript_path"] = path.to_str().unwrap().into();
    }
    serde_json::to_vec(&payload).unwrap()
}

fn compile(base: &Path, source: &str, to: &Path) {
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

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())
}

fn link(from: &Path, to: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(from, to).unwrap();
    #[cfg(not(unix))]
    fs::copy(from, to).map(drop).unwrap();
}
