//! What a huge transcript costs, in instructions: those are the same at every run.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::BEADLOCK;
use crate::case::payload;
use crate::world::{World, find};

/// Instructions of a stop whose words are only in the transcript, for a small and a huge one.
pub fn compare(world: &World) {
    let Some(valgrind) = find("valgrind") else {
        println!("left out: valgrind is not there");
        return;
    };
    let dir = world.repository("transcript", 3);
    World::start(&dir, "s");
    let count = |bytes: u64| {
        let path = world.base.join("transcript.jsonl");
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
        let out = world.base.join("callgrind.out");
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

#[expect(
    clippy::cast_precision_loss,
    reason = "instruction counts are far below 2^52"
)]
fn f64_of(count: u64) -> f64 {
    count as f64
}
