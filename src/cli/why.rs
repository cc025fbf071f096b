//! `why`: which row and limit decided a stop, what it stood on, and what would have turned it
//! around.

use serde_json::{Value, json};

use super::ambient::{ambient, now};
use super::chosen::Chosen;
use super::report::inline;
use super::status::age;
use super::{Exit, print};
use crate::edge::store::{Evidence, ReadingTime, Stop, sensor_key};
use crate::kernel::ledger::Run;
use crate::kernel::otherwise::{Alternative, otherwise};
use crate::kernel::snapshot::{Sensor, Snapshot};
use crate::kernel::verdict::{Answer, Verdict};
use crate::kernel::{decide, verdict::Row};
use crate::render::reasons;

/// How many ways out are worth a line each.
const WAYS_MAX: usize = 6;

/// Say why a stop was decided as it was, and what would have turned it around
///
/// Decides the recorded stop again with one thing changed, or step by step until the work is
/// complete. What the stop did not read is taken for harmless: nobody knows what it would have said.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock why\n  beadlock why 3\n  beadlock why 3 --json > stop.json    # to be decided again: beadlock replay stop.json"
)]
pub struct Args {
    /// A stop by its number in `beadlock log`; without it the last one
    number: Option<u32>,
    /// A run, an epic or a session; without it this session's run, else the newest here
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print JSON, with all that the stop was judged by
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut chosen = Chosen::of(args.run.as_deref(), &ambient())?;
    let stop = chosen.stop(args.number)?;
    let snapshot = stop.evidence.clone().map(Evidence::snapshot);
    let explained = match snapshot {
        Some(Ok(snapshot)) => Ok(Explained::of(snapshot)),
        Some(Err(what)) => Err(format!("what it stood on cannot be read: {what}")),
        None => Err("what it stood on was too much to keep".to_owned()),
    };
    if args.json {
        print(&format!("{}\n", facts(&chosen.run, &stop, &explained)));
    } else {
        print(&text(&chosen.run, &stop, &explained));
    }
    Ok(Exit::Fine)
}

/// A stop that was decided again.
struct Explained {
    snapshot: Snapshot,
    verdict: Verdict,
    alternatives: Vec<Alternative>,
}

impl Explained {
    fn of(snapshot: Snapshot) -> Explained {
        Explained {
            verdict: decide(&snapshot),
            alternatives: otherwise(&snapshot),
            snapshot,
        }
    }

    /// The run as the stop found it.
    fn run(&self) -> Option<&Run> {
        self.snapshot.run.known().and_then(Option::as_ref)
    }

    fn brake(&self) -> Option<String> {
        let brake = self.verdict.brake?;
        Some(reasons::brake(brake, self.run()?))
    }
}

fn text(run: &Run, stop: &Stop, explained: &Result<Explained, String>) -> String {
    let record = &stop.record;
    let verdict = match record.answer.as_str() {
        "block" => "the agent was held",
        _ => "the agent was let go",
    };
    let ago = age(now().0.saturating_sub(record.at_ms));
    let mut lines = vec![format!(
        "stop {} of {}, {ago} ago: {verdict} ({})",
        stop.number, run.epic, record.reason
    )];
    let said = Row::from_number(record.row).map_or("", reasons::row);
    lines.push(format!("row {:<5}{said}", record.row));
    match explained {
        Ok(explained) => lines.extend(explained_lines(stop, explained)),
        Err(what) => lines.push(format!("         {what}")),
    }
    for fault in &record.faults {
        lines.push(format!("trouble  {}", inline(fault)));
    }
    if let Ok(explained) = explained {
        lines.extend(ways(explained));
    }
    lines.push(format!("now      the run is {}", run.state.name()));
    lines.join("\n") + "\n"
}

fn explained_lines(stop: &Stop, explained: &Explained) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(brake) = explained.brake() {
        lines.push(format!("limit    {brake}"));
    }
    if let (Some(before), Some(after)) = (explained.run(), &explained.verdict.run) {
        lines.push(format!(
            "counted  cycle {} of {}; {} of {} blocks without progress",
            after.counters.cycles,
            before.policy.max_cycles,
            after.counters.blocks_idle,
            before.policy.no_progress_cycles
        ));
    }
    for (sensor, time) in sensors(stop) {
        let age = match time.age_ms {
            young @ 0..=9_999 => format!("{young} ms old"),
            old => format!("{} old", age(i64::try_from(old).unwrap_or(i64::MAX))),
        };
        let said = reasons::reading(sensor, &explained.snapshot);
        lines.push(format!("{:<8} {said} ({age})", sensor.name()));
    }
    lines
}

/// What was read, in the order of the answers.
fn sensors(stop: &Stop) -> Vec<(Sensor, &ReadingTime)> {
    let known = |time| {
        let time: &ReadingTime = time;
        let mut all = Sensor::ALL.into_iter();
        all.find(|sensor| sensor_key(*sensor) == time.sensor)
            .map(|sensor| (sensor, time))
    };
    stop.record.readings.iter().filter_map(known).collect()
}

fn ways(explained: &Explained) -> Vec<String> {
    let alternatives = &explained.alternatives;
    if alternatives.is_empty() {
        return Vec::new();
    }
    let is_held = matches!(explained.verdict.answer, Answer::Block(_));
    let mut lines = vec![if is_held {
        "it would be let go".to_owned()
    } else {
        "it would have been held".to_owned()
    }];
    // What a limit does comes last, and is always worth its line.
    let (others, last) = alternatives.split_at(alternatives.len() - 1);
    let shown = others.iter().take(WAYS_MAX - 1).chain(last);
    lines.extend(shown.map(|way| format!("  {}", sentence(way))));
    lines
}

fn sentence(way: &Alternative) -> String {
    let differences: Vec<String> = way.differences.iter().map(reasons::difference).collect();
    let differences = differences.join(", and ");
    let answer = reasons::answer(&way.verdict.answer);
    format!("{differences} ({answer})")
}

fn facts(run: &Run, stop: &Stop, explained: &Result<Explained, String>) -> Value {
    let record = &stop.record;
    let told = explained.as_ref().ok();
    let readings = sensors(stop).into_iter().map(|(sensor, time)| {
        json!({
            "sensor": sensor_key(sensor),
            "age_ms": time.age_ms,
            "took_ms": time.took_ms,
            "said": told.map(|it| reasons::reading(sensor, &it.snapshot)),
        })
    });
    let ways = told.into_iter().flat_map(|it| &it.alternatives).map(|way| {
        json!({
            "differences": way.differences.iter().map(reasons::difference).collect::<Vec<_>>(),
            "answer": answer_name(&way.verdict),
            "reason": way.verdict.answer.name(),
            "row": way.verdict.row as u8,
        })
    });
    json!({
        "schema": 1,
        "run": run.id,
        "epic": run.epic.as_str(),
        "stop": stop.number,
        "at_ms": record.at_ms,
        "answer": record.answer,
        "reason": record.reason,
        "row": record.row,
        "row_says": Row::from_number(record.row).map(reasons::row),
        "brake": record.brake,
        "brake_says": told.and_then(Explained::brake),
        "cycle": record.cycle,
        "readings": readings.collect::<Vec<_>>(),
        "otherwise": ways.collect::<Vec<_>>(),
        "fault": explained.as_ref().err(),
        "record": record,
        "evidence": stop.evidence,
    })
}

/// `allow` or `block`.
pub fn answer_name(verdict: &Verdict) -> &'static str {
    match verdict.answer {
        Answer::Allow(_) => "allow",
        Answer::Block(_) => "block",
    }
}
