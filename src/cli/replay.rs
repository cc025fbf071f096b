//! `replay`: decides recorded stops again, offline, by today's rules or under other settings.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::ambient::ambient;
use super::chosen::Chosen;
use super::report::{Refusal, inline};
use super::why::answer_name;
use super::{Exit, print};
use crate::config;
use crate::edge::store::{Evidence, RECORD_VERSION, Record, Stop};
use crate::kernel::snapshot::{Reading, Sensor, Snapshot};
use crate::kernel::verdict::{Brake, Verdict};
use crate::kernel::{decide, wanted};

/// Decide a recorded stop again, offline, and say whether the verdict is the same
///
/// Exit code 0: all the same; 1: at least one differs; 4: at least one cannot be decided.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock replay\n  beadlock replay 3 --set max_cycles=3\n  beadlock replay stop.json            # from: beadlock why 3 --json > stop.json\n  beadlock replay --all\n  beadlock replay --all records/"
)]
pub struct Args {
    /// A stop by its number in `beadlock log`, or a file; with `--all` a folder of files
    target: Option<String>,
    /// Every stop of every run here, or every `.json` file of a folder
    #[arg(long)]
    all: bool,
    /// A run, an epic or a session; without it this session's run, else the newest here
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Decide under another setting than the run's: `--set max_cycles=3`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A file with a record is small; anything larger is something else.
const FILE_BYTES_MAX: u64 = 16 << 20;

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.settings.iter().any(|it| it.starts_with(WORDS_SETTING)) {
        return Err(Refusal::new(
            Exit::Usage,
            format!(
                "`{WORDS_SETTING}` cannot be changed afterwards: the agent's words are not kept"
            ),
        )
        .into());
    }
    let replays: Vec<Replay> = match (&args.target, args.all) {
        (Some(folder), true) => in_folder(Path::new(folder), &args.settings)?,
        (None, true) => in_store(args)?,
        (Some(file), false) if file.parse::<u32>().is_err() => {
            vec![in_file(Path::new(file), &args.settings)?]
        }
        (number, false) => {
            let number = number.as_ref().and_then(|it| it.parse().ok());
            let mut chosen = Chosen::of(args.run.as_deref(), &ambient())?;
            let stop = chosen.stop(number)?;
            let name = format!("stop {} of {}", stop.number, chosen.run.epic);
            vec![Replay::of_stop(name, stop, &args.settings)?]
        }
    };
    if args.json {
        let replayed: Vec<Value> = replays.iter().map(Replay::fact).collect();
        print(&format!(
            "{}\n",
            json!({ "schema": 1, "replayed": replayed })
        ));
    } else {
        let lines: String = replays.iter().map(Replay::line).collect();
        print(&format!("{lines}{}", summary(&replays)));
    }
    Ok(exit(&replays))
}

const WORDS_SETTING: &str = "completion_promises";

/// One stop, decided again.
struct Replay {
    name: String,
    was: Record,
    now: Result<Verdict, String>,
}

impl Replay {
    fn of_stop(name: String, stop: Stop, settings: &[String]) -> anyhow::Result<Replay> {
        Replay::of(name, stop.record, stop.evidence, settings)
    }

    fn of(
        name: String,
        record: Record,
        evidence: Option<Evidence>,
        settings: &[String],
    ) -> anyhow::Result<Replay> {
        let now = match evidence.map(Evidence::snapshot) {
            None => Err("what it stood on was too much to keep".to_owned()),
            Some(Err(what)) => Err(format!("what it stood on cannot be read: {what}")),
            Some(Ok(_)) if record.version > RECORD_VERSION => Err(format!(
                "it was recorded by a newer beadlock (version {}, this one knows {RECORD_VERSION})",
                record.version
            )),
            Some(Ok(snapshot)) => decided(snapshot, settings)?,
        };
        Ok(Replay {
            name,
            was: record,
            now,
        })
    }

    fn is_same(&self) -> Option<bool> {
        let now = self.now.as_ref().ok()?;
        let (was, cycle) = (&self.was, now.run.as_ref().map(|run| run.counters.cycles));
        let is_same = was.row == now.row as u8
            && was.brake.as_deref() == now.brake.map(Brake::name)
            && was.answer == answer_name(now)
            && was.reason == now.answer.name()
            && cycle.is_none_or(|cycle| cycle == was.cycle);
        Some(is_same)
    }

    fn line(&self) -> String {
        let (name, was) = (inline(&self.name), &self.was);
        let before = named(&was.answer, &was.reason, was.row, was.brake.as_deref());
        match (&self.now, self.is_same()) {
            (Err(what), _) => format!("{name}: {before}; cannot be decided again: {what}\n"),
            (Ok(_), Some(true)) => format!("{name}: {before}: the same\n"),
            (Ok(now), _) => {
                let brake = now.brake.map(Brake::name);
                let after = named(answer_name(now), now.answer.name(), now.row as u8, brake);
                format!("{name}: was {before}; now {after}\n")
            }
        }
    }

    fn fact(&self) -> Value {
        let was = &self.was;
        let now = self.now.as_ref().ok().map(|now| {
            json!({
                "answer": answer_name(now),
                "reason": now.answer.name(),
                "row": now.row as u8,
                "brake": now.brake.map(Brake::name),
            })
        });
        json!({
            "name": self.name,
            "same": self.is_same(),
            "was": {
                "answer": was.answer, "reason": was.reason, "row": was.row, "brake": was.brake,
            },
            "now": now,
            "fault": self.now.as_ref().err(),
        })
    }
}

/// `held, open_work (row 14)`.
fn named(answer: &str, reason: &str, row: u8, brake: Option<&str>) -> String {
    let verb = if answer == "block" { "held" } else { "let go" };
    let brake = brake.map_or(String::new(), |brake| format!(", limit {brake}"));
    format!("{verb}, {reason} (row {row}{brake})")
}

/// The verdict, or what would have to be known for it besides.
fn decided(mut snapshot: Snapshot, settings: &[String]) -> anyhow::Result<Result<Verdict, String>> {
    if let Reading::Known(Some(run)) = &mut snapshot.run {
        let policy = config::with_settings(run.policy.clone(), settings);
        run.policy = policy.map_err(|error| Refusal::new(Exit::Usage, error.to_string()))?;
    }
    let wanted = wanted(&snapshot, &snapshot.policy());
    if settings.is_empty() || wanted.is_empty() {
        // As it stands: a sensor that was late then is late now.
        return Ok(Ok(decide(&snapshot)));
    }
    let names: Vec<&str> = wanted.into_iter().map(Sensor::name).collect();
    Ok(Err(format!(
        "it would also have to know what {} said, which nobody read then",
        names.join(" and ")
    )))
}

/// What `why --json` prints, as far as it is of use here.
#[derive(Deserialize)]
struct Kept {
    record: Record,
    evidence: Option<Evidence>,
}

fn in_file(path: &Path, settings: &[String]) -> anyhow::Result<Replay> {
    let name = path.display().to_string();
    let bad = |what: String| {
        Refusal::new(
            Exit::Unknown,
            format!("could not read `{}`: {what}", inline(&name)),
        )
        .hint("`beadlock why N --json` prints what this command reads")
    };
    let metadata = fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(bad("it is no small regular file".to_owned()).into());
    }
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let kept: Kept = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    Replay::of(name, kept.record, kept.evidence, settings)
}

fn in_folder(folder: &Path, settings: &[String]) -> anyhow::Result<Vec<Replay>> {
    let entries = fs::read_dir(folder).map_err(|error| {
        let folder = inline(&folder.display().to_string());
        Refusal::new(Exit::Unknown, format!("could not list `{folder}`: {error}"))
    })?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    let replays = files.iter().map(|file| in_file(file, settings));
    replays.collect()
}

fn in_store(args: &Args) -> anyhow::Result<Vec<Replay>> {
    let mut replays = Vec::new();
    for chosen in Chosen::all(args.run.as_deref(), &ambient())? {
        let Chosen { mut store, run } = chosen?;
        for number in 1..=store.stops(&run.id).map_err(Refusal::from)? {
            let stop = store.stop(&run.id, number).map_err(Refusal::from)?;
            if let Some(stop) = stop {
                let name = format!("stop {number} of {} ({})", run.epic, run.id);
                replays.push(Replay::of_stop(name, stop, &args.settings)?);
            }
        }
    }
    Ok(replays)
}

fn summary(replays: &[Replay]) -> String {
    let count = |same: Option<bool>| replays.iter().filter(|it| it.is_same() == same).count();
    if replays.len() == 1 {
        return String::new();
    }
    format!(
        "{} the same, {} different, {} undecided\n",
        count(Some(true)),
        count(Some(false)),
        count(None)
    )
}

fn exit(replays: &[Replay]) -> Exit {
    let any = |same: Option<bool>| replays.iter().any(|it| it.is_same() == same);
    if any(None) {
        Exit::Unknown
    } else if any(Some(false)) {
        Exit::NotDone
    } else {
        Exit::Fine
    }
}
