//! What a stop costs, as ratios measured side by side in one run: every command once a round,
//! medians over all rounds. `cargo bench --bench ratios`.
//!
//! Needs bash and jq for the comparison (`BEADLOCK_BENCH_JQ` names another jq), beads' bd
//! (`BEADLOCK_BENCH_BD` names one) and valgrind for the instruction counts; what is missing is left
//! out with a line that says so.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints its figures, stops at the first surprise and starts programs"
)]

mod case;
mod real_bd;
mod transcripts;
mod world;

use world::World;

pub const ROUNDS: usize = 41;
pub const EPIC: &str = "bd-x7y8";
pub const BEADLOCK: &str = env!("CARGO_BIN_EXE_beadlock");

pub const EMPTY: &str = "empty Rust program";
pub const IDLE: &str = "hook stop, no run, no store";
pub const IDLE_STORE: &str = "hook stop, no run, a store is there";
pub const ACTIVE: &str = "hook stop, run of 30 tasks (blocks)";
pub const BASH: &str = "bash + jq hook, instant bd, 30 tasks";
pub const LARGE: &str = "hook stop, run of 10,000 tasks";
pub const HUGE: &str = "hook stop, run of 100,000 tasks";

fn main() {
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let world = World::new(temp.path());
    println!("{ROUNDS} rounds, interleaved; medians in milliseconds\n");
    let cases = world.cases();
    let mut medians: Medians = Vec::new();
    medians.extend(
        cases
            .iter()
            .map(|case| case.name)
            .zip(case::measure(&cases)),
    );
    medians.extend(real_bd::measure(&world));
    report(&medians);
    transcripts::compare(&world);
}

/// Names and milliseconds.
type Medians = Vec<(&'static str, f64)>;

fn report(medians: &Medians) {
    for (name, median) in medians {
        println!("{name:<50} {median:>9.2}");
    }
    println!();
    let median = |name: &str| medians.iter().find(|it| it.0 == name).map(|it| it.1);
    for (text, a, b, limit) in [
        (
            "stop without a run, no store / empty program",
            IDLE,
            EMPTY,
            1.8,
        ),
        (
            "stop without a run, store there / empty program",
            IDLE_STORE,
            EMPTY,
            1.8,
        ),
        ("stop with a run of 30 tasks / bash + jq", ACTIVE, BASH, 0.2),
        ("100,000 tasks / 10,000 tasks", HUGE, LARGE, 12.0),
        (
            "real bd: stop after a change / bash + jq",
            real_bd::CHANGED,
            real_bd::BASH,
            0.4,
        ),
        (
            "real bd: stop with nothing changed / bash + jq",
            real_bd::SAME,
            real_bd::BASH,
            0.03,
        ),
    ] {
        if let (Some(a), Some(b)) = (median(a), median(b)) {
            println!("{text:<58} {:>7.3}x   (wanted: at most {limit}x)", a / b);
        }
    }
    for (text, name, limit) in [
        ("10,000 tasks", LARGE, 30),
        ("real bd: a stop beyond its one call", real_bd::BEYOND, 8),
    ] {
        if let Some(median) = median(name) {
            println!("{text:<58} {median:>6.1} ms  (wanted: at most {limit} ms)");
        }
    }
}
