//! The record of a stop: what was read and when, what was decided, and what was said about it.

use std::time::Duration;

use super::stop::{Case, Settled};
use crate::cli::status::counts_json;
use crate::edge::store::{RECORD_VERSION, ReadingTime, Record, Told, sensor_key};
use crate::kernel::moment::Moment;
use crate::kernel::snapshot::{Git, Sensor, Snapshot};
use crate::kernel::verdict::Answer;
use crate::render;
use crate::survey::Taken;

/// The stop as it is kept.
pub fn record(snapshot: &Snapshot, settled: &Settled, case: &Case<'_>) -> Record {
    let event = case.event;
    let verdict = &settled.verdict;
    let faults = snapshot.faults().into_iter();
    let faults = faults.map(|fault| format!("{}: {}", fault.sensor.name(), fault.what));
    let template_fault = settled.text.as_ref().and_then(|text| text.fault.clone());
    let (answer, told) = match &verdict.answer {
        Answer::Allow(allow) => ("allow", render::allow(allow, verdict.run.as_ref())),
        Answer::Block(_) => ("block", None),
    };
    Record {
        version: RECORD_VERSION,
        at_ms: snapshot.now.0,
        session: case.kept.run.session.clone(),
        prompt: snapshot.stop.prompt.clone(),
        row: verdict.row as u8,
        brake: verdict.brake.map(|brake| brake.name().to_owned()),
        answer: answer.to_owned(),
        reason: verdict.answer.name().to_owned(),
        cycle: verdict.run.as_ref().map_or(0, |run| run.counters.cycles),
        stop_hook_active: event.stop_hook_active,
        told: told.map(|text| Told { text }),
        readings: reading_times(settled, case.edges.tasks.remembered_at(), snapshot.now),
        faults: faults
            .chain(event.fault.clone())
            .chain(template_fault)
            .collect(),
        tasks: snapshot.known_epic().map(|epic| counts_json(epic.counts())),
        git: seen_of_git(snapshot),
        said: event.last_words.as_deref().map(tail).unwrap_or_default(),
    }
}

/// What is remembered is as old as its reading, however soon it was at hand.
fn reading_times(
    settled: &Settled,
    remembered_at: Option<Moment>,
    now: Moment,
) -> Vec<ReadingTime> {
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let age = |taken: &Taken| match (taken.sensor, remembered_at) {
        (Sensor::Remembered, Some(at)) => now.millis_since(at).unsigned_abs(),
        (_, _) => millis(taken.at.elapsed()),
    };
    let time = |taken: &Taken| ReadingTime {
        sensor: sensor_key(taken.sensor).to_owned(),
        age_ms: age(taken),
        took_ms: millis(taken.took),
    };
    settled.taken.iter().map(time).collect()
}

fn seen_of_git(snapshot: &Snapshot) -> Option<serde_json::Value> {
    match &snapshot.glance {
        Some(glance) if snapshot.rests_on_glance() => Some(serde_json::json!({
            "head": glance.head, "changes": glance.changes.len(), "glance": true,
        })),
        Some(_) | None => snapshot.git.known().map(git_summary),
    }
}

fn git_summary(git: &Git) -> serde_json::Value {
    match git {
        Git::NoRepository => serde_json::json!("no repository"),
        Git::NoWorkTree => serde_json::json!("no work tree"),
        Git::Tree(tree) => serde_json::json!({
            "head": tree.head, "branch": tree.branch, "unfinished": tree.unfinished,
            "changes": tree.changes.len(), "approximate": tree.is_approximate,
        }),
    }
}

/// The end of what was said; no more of it is kept.
fn tail(text: &str) -> String {
    let mut start = text.len().saturating_sub(Record::SAID_BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}
