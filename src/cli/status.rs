//! `status`: where a run stands.

use std::cmp::Reverse;
use std::time::Instant;

use serde_json::{Value, json};

use super::ambient::{ambient, now};
use super::found::{Stores, is_named};
use super::report::{Refusal, inline};
use super::{Exit, print, say};
use crate::edge::agent::{Agent, Claude};
use crate::edge::store::{self, Kept, Store, StoreDir};
use crate::ground;
use crate::kernel::ledger::{Outcome, Run, State};
use crate::kernel::moment::Moment;
use crate::kernel::task::{Counts, Epic};
use crate::render::{command, counted, moved, reasons};
use crate::survey;

/// Show where the run stands
///
/// Without an id: the run of this session, else the newest one here.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock status\n  beadlock status --all\n  beadlock status --json"
)]
pub struct Args {
    /// A run, an epic or a session
    id: Option<String>,
    /// The run of this session
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    session: Option<String>,
    /// Every run here, also those that are over
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let inside = Claude.session_inside(&ambient);
    let named = args.id.as_deref().or(args.session.as_deref());
    let stores = Stores::of(&ambient, &[inside.as_deref(), named]);
    let mut runs = Runs::default();
    let fault = runs.add(stores.around(), named);
    if let (true, Some(_)) = (runs.kept.is_empty(), named) {
        // Its name is enough, wherever it is kept; what else is wrong there is not asked for.
        let _ = runs.add(&stores.elsewhere(), named);
    }
    match (fault, runs.kept.is_empty()) {
        (Some(fault), true) => return Err(Refusal::from(fault).into()),
        (Some(fault), false) => say(&format!("warning: {fault}")),
        (None, _) => {}
    }
    if runs.kept.is_empty() {
        let lines = match named {
            Some(id) => vec![format!("nothing here is called {}", inline(id))],
            None => stores.lines_elsewhere(),
        };
        for line in lines {
            say(&line);
        }
        return Ok(none(args));
    }
    let Runs {
        dirs,
        mut stores,
        mut kept,
    } = runs;
    kept.sort_by_key(|(_, kept)| Reverse(kept.run.started_at.0));
    let mut chosen: Vec<&(usize, Kept)> = kept.iter().collect();
    if !args.all {
        let own = |found: &&&(usize, Kept)| inside.as_deref() == Some(&found.1.run.session);
        let first = chosen.iter().find(own).or(chosen.first()).copied();
        chosen = first.into_iter().collect();
    }
    let views: Result<Vec<View>, store::Error> = chosen
        .iter()
        .map(|(number, kept)| View::of(kept, &mut stores[*number], &dirs[*number], args.all))
        .collect();
    let views = views.map_err(Refusal::from)?;
    if args.json && args.all {
        let runs: Vec<Value> = views.iter().map(View::json).collect();
        print(&format!("{}\n", json!({ "schema": 1, "runs": runs })));
    } else if args.json {
        let lines: Vec<String> = views.iter().map(|view| view.json().to_string()).collect();
        print(&format!("{}\n", lines.join("\n")));
    } else {
        let texts: Vec<String> = views.iter().map(View::text).collect();
        print(&texts.join("\n"));
    }
    Ok(Exit::Fine)
}

/// Runs out of several stores.
#[derive(Default)]
struct Runs {
    dirs: Vec<StoreDir>,
    stores: Vec<Store>,
    /// Each with the number of its store.
    kept: Vec<(usize, Kept)>,
}

impl Runs {
    /// Adds the runs of these stores, those of a name if there is one. Answers the first store
    /// that could not be read.
    fn add(&mut self, dirs: &[StoreDir], named: Option<&str>) -> Option<store::Error> {
        let mut fault = None;
        for dir in dirs {
            if let Err(error) = self.add_one(dir, named) {
                fault.get_or_insert(error);
            }
        }
        fault
    }

    fn add_one(&mut self, dir: &StoreDir, named: Option<&str>) -> Result<(), store::Error> {
        let mut store = Store::open(dir)?;
        let runs = store.runs()?;
        for unread in store.unread()? {
            let (run, epic) = (inline(&unread.run), inline(&unread.epic));
            say(&format!(
                "warning: {run} on {epic} cannot be read; `beadlock abort {run}` ends it"
            ));
        }
        let number = self.stores.len();
        for kept in runs {
            let is_meant = named.is_none_or(|id| is_named(&kept.run, id));
            // One store may be reached by two ways.
            let is_new = self
                .kept
                .iter()
                .all(|(_, known)| known.run.id != kept.run.id);
            if is_meant && is_new {
                self.kept.push((number, kept));
            }
        }
        self.dirs.push(dir.clone());
        self.stores.push(store);
        Ok(())
    }
}

fn none(args: &Args) -> Exit {
    if args.json && args.all {
        print(&format!("{}\n", json!({ "schema": 1, "runs": [] })));
    } else if args.json {
        print(&format!("{}\n", json!({ "schema": 1, "run": null })));
    } else {
        print("no run here\n");
    }
    Exit::Fine
}

/// A run and what can be read about it now.
struct View<'a> {
    run: &'a Run,
    epic: Result<Epic, String>,
    /// The reason of the last stop, if there was one.
    last: Option<(String, String)>,
    tracker: &'a str,
    told_by: String,
    store: &'a StoreDir,
    now: Moment,
}

impl<'a> View<'a> {
    fn of(
        kept: &'a Kept,
        store: &mut Store,
        store_dir: &'a StoreDir,
        is_one_of_many: bool,
    ) -> Result<View<'a>, store::Error> {
        let now = now();
        let deadline = Instant::now() + survey::SENSOR_TIME_MAX;
        let epic = if kept.run.is_over() && is_one_of_many {
            // There may be hundreds, and a tracker takes its time for each.
            Err("not asked, the run is over".to_owned())
        } else {
            let tasks = ground::tasks(&kept.site, store.memory(&kept.site)?);
            let epic = tasks.epic(&kept.run.epic, now, deadline);
            epic.map_err(|fault| fault.what)
        };
        let last = store.last_record(&kept.run.id)?;
        Ok(View {
            run: &kept.run,
            epic,
            last: last.map(|record| (record.answer, record.reason)),
            tracker: &kept.site.tracker,
            told_by: ground::tracker_told_by(&kept.site),
            store: store_dir,
            now,
        })
    }

    fn json(&self) -> Value {
        let counts = self.epic.as_ref().ok().map(Epic::counts);
        json!({
            "schema": 1,
            "run": self.run.id,
            "epic": self.run.epic.as_str(),
            "session": self.run.session,
            "state": self.run.state.name(),
            "outcome": self.run.outcome.map(Outcome::name),
            "cycles": self.run.counters.cycles,
            "max_cycles": self.run.policy.max_cycles,
            "counts": counts.map(counts_json),
            "store": self.store.path().to_string_lossy(),
            "called": self.run.is_called(),
            "turns_cut": self.run.counters.turns_cut,
            "tracker": self.tracker,
            "tracker_told_by": self.told_by,
            "tracker_fault": self.epic.as_ref().err(),
            "last_stop": self.last.as_ref().map(|(answer, reason)| json!({
                "answer": answer, "reason": reason,
            })),
        })
    }

    fn text(&self) -> String {
        let run = self.run;
        let outcome = run.outcome.map(Outcome::name);
        let outcome = outcome.filter(|outcome| *outcome != run.state.name());
        let outcome = outcome.map(|outcome| format!(" ({outcome})"));
        let mut lines = vec![
            format!("run      {}", run.id),
            format!("epic     {}", run.epic),
            format!("session  {}", inline(&run.session)),
            format!(
                "state    {}{}",
                run.state.name(),
                outcome.unwrap_or_default()
            ),
            format!(
                "cycles   {} of {}",
                run.counters.cycles, run.policy.max_cycles
            ),
            match &self.epic {
                Ok(epic) => format!("tasks    {}", reasons::counts(epic)),
                Err(what) => format!("tasks    unknown: {}", inline(what)),
            },
            format!("tracker  {} ({})", self.tracker, inline(&self.told_by)),
            format!(
                "event    {} ago",
                age(self.now.millis_since(run.last_event_at))
            ),
        ];
        if !self.run.is_called() {
            lines
                .push("         armed, never called: no hook of this session has fired yet".into());
        }
        if let Some((answer, reason)) = &self.last {
            lines.push(format!("last     {answer} {reason}"));
        }
        if run.counters.turns_cut > 0 {
            lines.push(format!(
                "         {} ended although the agent was held",
                counted(run.counters.turns_cut, "turn")
            ));
        }
        if let Some(next) = next_step(run) {
            lines.push(format!("next     {next}"));
        }
        lines.join("\n") + "\n"
    }
}

fn next_step(run: &Run) -> Option<String> {
    let epic = run.epic.as_str();
    let (resume, abort) = (command("resume", epic), command("abort", epic));
    match run.state {
        State::Active => {
            let pause = command("pause", epic);
            Some(format!("{pause} or {abort} lets the agent go"))
        }
        // Whoever opened it may have closed it for good.
        State::Waiting if run.outcome == Some(Outcome::SessionOver) => {
            Some(format!("{}; {abort} ends it", moved(epic)))
        }
        State::Waiting if run.hears_prompts => Some(format!(
            "type into the session, or {resume}; {abort} ends it"
        )),
        State::Waiting | State::Stale | State::Paused => {
            Some(format!("{resume} goes on, {abort} ends it"))
        }
        State::Ended => None,
    }
}

pub fn counts_json(counts: Counts) -> Value {
    json!({
        "ready": counts.ready,
        "in_progress": counts.in_progress,
        "blocked": counts.blocked,
        "deferred": counts.deferred,
        "closed": counts.closed,
        "total": counts.total,
    })
}

/// A span of time, as people say it.
pub fn age(millis: i64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
