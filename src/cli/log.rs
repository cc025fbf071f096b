//! `log`: the stops of a run, one a line.

use serde_json::{Value, json};

use super::ambient::{ambient, now};
use super::chosen::Chosen;
use super::report::Refusal;
use super::status::age;
use super::{Exit, print};
use crate::edge::store::Record;

/// List the stops of a run, the oldest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock log\n  beadlock log bd-x7y8 --last 10\n  beadlock log --json"
)]
pub struct Args {
    /// A run, an epic or a session; without it this session's run, else the newest here
    id: Option<String>,
    /// Only the last so many stops
    #[arg(long, value_name = "COUNT")]
    last: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut chosen = Chosen::of(args.id.as_deref(), &ambient())?;
    let run = chosen.run;
    let records = chosen.store.records(&run.id).map_err(Refusal::from)?;
    let skipped = args
        .last
        .map_or(0, |last| records.len().saturating_sub(last));
    let stops: Vec<(u32, &Record)> = (1..).zip(&records).skip(skipped).collect();
    if args.json {
        let stops: Vec<Value> = stops.iter().map(|(number, it)| fact(*number, it)).collect();
        print(&format!(
            "{}\n",
            json!({ "schema": 1, "run": run.id, "epic": run.epic.as_str(), "stops": stops })
        ));
    } else if stops.is_empty() {
        print(&format!("no stop of {} was judged yet\n", run.epic));
    } else {
        print(&table(&stops));
    }
    Ok(Exit::Fine)
}

fn fact(number: u32, record: &Record) -> Value {
    json!({
        "stop": number,
        "at_ms": record.at_ms,
        "session": record.session,
        "cycle": record.cycle,
        "answer": record.answer,
        "reason": record.reason,
        "row": record.row,
        "brake": record.brake,
        "tasks": record.tasks,
        "faults": record.faults,
        "told": record.told.as_ref().map(|told| &told.text),
    })
}

fn table(stops: &[(u32, &Record)]) -> String {
    let now = now().0;
    let mut text = format!(
        "{:>5}  {:>8}  {:>5}  {:<6}  {:<14}  {:>3}  {:<12}  {}\n",
        "STOP", "AGO", "CYCLE", "ANSWER", "REASON", "ROW", "LIMIT", "TASKS"
    );
    for (number, record) in stops {
        let line = format!(
            "{number:>5}  {:>8}  {:>5}  {:<6}  {:<14}  {:>3}  {:<12}  {}",
            age(now.saturating_sub(record.at_ms)),
            record.cycle,
            record.answer,
            record.reason,
            record.row,
            record.brake.as_deref().unwrap_or("-"),
            tasks(record)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn tasks(record: &Record) -> String {
    let Some(tasks) = &record.tasks else {
        return "not read".to_owned();
    };
    let count = |name: &str| tasks.get(name).and_then(Value::as_u64).unwrap_or(0);
    format!("{} of {} closed", count("closed"), count("total"))
}
