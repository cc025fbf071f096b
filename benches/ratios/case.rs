//! One command, run and timed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{EPIC, ROUNDS};

pub struct Case {
    pub name: &'static str,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub dir: PathBuf,
    pub path: String,
    pub stdin: Vec<u8>,
}

impl Case {
    /// How many milliseconds it takes.
    pub fn timed(&self) -> f64 {
        let start = Instant::now();
        self.run();
        start.elapsed().as_secs_f64() * 1000.0
    }

    pub fn run(&self) {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.dir)
            .env("EPIC", EPIC)
            .env("BD_DISABLE_METRICS", "1")
            .env("BD_DISABLE_EVENT_FLUSH", "1")
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

/// Medians of every case, one of each a round; the order turns.
pub fn measure(cases: &[Case]) -> Vec<f64> {
    for case in cases {
        case.run();
    }
    let mut times = vec![Vec::new(); cases.len()];
    for round in 0..ROUNDS {
        for offset in 0..cases.len() {
            let number = (round + offset) % cases.len();
            times[number].push(cases[number].timed());
        }
    }
    times.into_iter().map(median).collect()
}

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub fn payload(dir: &Path, words: Option<&str>, transcript: Option<&Path>) -> Vec<u8> {
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
