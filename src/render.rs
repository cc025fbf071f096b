//! The seam out: verdicts as words. To the agent through `prompts/`, each template named for its
//! reason; to people in plain sentences. A template of the project's that does not work is
//! replaced by the built-in one, and said to be.

pub mod reasons;

use std::fs;
use std::io::Read;
use std::mem;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tera::{Context, Tera};

use crate::edge::tracker::Commands;
use crate::kernel::ledger::{Outcome, Run, State};
use crate::kernel::policy::Policy;
use crate::kernel::snapshot::Fault;
use crate::kernel::task::{Cause, TaskId};
use crate::kernel::verdict::{Allow, Block, Need, SavedWork, Stuck, Unsaved};

/// How many ids, paths or branches one line names.
const NAMES_MAX: usize = 5;
const NAME_BYTES_MAX: usize = 60;
/// All names together, where an agent pays for them: a token may be as little as a byte.
const BRIEF_BYTES_MAX: usize = 72;
const FAULT_BYTES_MAX: usize = 300;
const FAULT_BRIEF_BYTES_MAX: usize = 100;
/// What a rendered line and the constant prompt may be at most.
const LINE_BYTES_MAX: usize = 700;
const PROMPT_BYTES_MAX: usize = 1200;
const TEMPLATE_BYTES_MAX: u64 = 16 * 1024;
/// A line or two take well under a millisecond.
const TEMPLATE_TIME_MAX: Duration = Duration::from_secs(2);

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        /// The built-in templates by name.
        pub const TEMPLATES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../prompts/", $name, ".tera")))),*];
    };
}

templates![
    "orchestration",
    "open_work",
    "false_promise",
    "in_progress",
    "unsaved_work",
    "unknown",
    "scope_shrunk",
    "blocked_work",
];

/// Text, and what was wrong with the project's own template for it, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub fault: Option<String>,
}

/// The constant prompt: the same bytes for a whole run.
pub fn orchestration(
    epic: &TaskId,
    policy: &Policy,
    commands: &Commands,
    overrides: &Path,
) -> Rendered {
    let mut context = Context::new();
    context.insert("epic", epic.as_str());
    context.insert("ready", &commands.ready.replace("EPIC", epic.as_str()));
    context.insert("claim", &commands.claim);
    context.insert("close", &commands.close);
    let complete = policy.completion_promises.first();
    let complete = complete.map_or("ALL TASKS COMPLETE", String::as_str);
    context.insert("complete", complete);
    context.insert("checkpoint", &policy.exits.context_checkpoint);
    rendered("orchestration", &context, Some(overrides), PROMPT_BYTES_MAX)
}

/// What a held agent reads: one line about why, then the constant prompt. Without `overrides`
/// nothing is read and nobody is waited for.
pub fn block(block: &Block, run: &Run, overrides: Option<&Path>) -> Rendered {
    let (names, others, kind) = match block {
        Block::OpenWork(ready) | Block::FalsePromise(ready) => {
            (ids_brief(&ready.tasks), ids_brief(&ready.epics), "")
        }
        Block::ScopeShrunk(ids) | Block::BlockedWork(ids) => (ids_brief(ids), String::new(), ""),
        Block::InProgress { tasks, stuck } => (ids_brief(tasks), ids_brief(stuck), ""),
        Block::Unknown(fault) => {
            let what = format!("{}: {}", fault.sensor.name(), fault.what);
            (bounded(&what, FAULT_BRIEF_BYTES_MAX), String::new(), "")
        }
        Block::UnsavedWork(unsaved) => {
            let kind = match unsaved {
                Unsaved::Unfinished(_) => "unfinished",
                Unsaved::Changed(_) => "changed",
                Unsaved::New(_) => "new",
                Unsaved::Branches(_) => "branches",
            };
            (names_brief(&unsaved.named()), String::new(), kind)
        }
    };
    let mut context = Context::new();
    context.insert("cycle", &run.counters.cycles);
    context.insert("cycles_max", &run.policy.max_cycles);
    context.insert("epic", run.epic.as_str());
    context.insert("names", &names);
    context.insert("others", &others);
    context.insert("kind", kind);
    let line = rendered(block.name(), &context, overrides, LINE_BYTES_MAX);
    Rendered {
        text: format!("{}\n\n{}", line.text.trim_end(), run.prompt),
        fault: line.fault,
    }
}

/// The project's template if it is there and works, else the built-in one.
fn rendered(name: &str, context: &Context, overrides: Option<&Path>, bytes_max: usize) -> Rendered {
    let path = overrides.map(|folder| folder.join(format!("{name}.tera")));
    let path = path.unwrap_or_default();
    let own = match overrides.map(|_| read_template(&path)) {
        None | Some(Ok(None)) => None,
        Some(Ok(Some(template))) => Some(one_off_in_time(template, context.clone(), bytes_max)),
        Some(Err(what)) => Some(Err(what)),
    };
    let fault = match own {
        Some(Ok(text)) => return Rendered { text, fault: None },
        Some(Err(what)) => Some(format!("`{}` {what}", path.display())),
        None => None,
    };
    let built_in = TEMPLATES.iter().find(|(known, _)| *known == name);
    let text = built_in
        .and_then(|(_, template)| one_off(template, context, usize::MAX).ok())
        // Only a defect of our own gets here; the agent is still told to go on.
        .unwrap_or_else(|| format!("[beadlock: {name}] The work is not over; go on."));
    Rendered { text, fault }
}

fn read_template(path: &Path) -> Result<Option<String>, String> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("could not be read: {error}")),
    };
    if !metadata.is_file() || metadata.len() > TEMPLATE_BYTES_MAX {
        return Err("is no small regular file".to_owned());
    }
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(TEMPLATE_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| format!("could not be read: {error}"))?;
    Ok(Some(text))
}

/// A template of the project's own may loop for hours. It is given up then; its thread ends with
/// the process.
fn one_off_in_time(template: String, context: Context, bytes_max: usize) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    let render = move || {
        let _ = sender.send(one_off(&template, &context, bytes_max));
    };
    let started = thread::Builder::new().spawn(render);
    started.map_err(|error| format!("could not be tried: {error}"))?;
    match receiver.recv_timeout(TEMPLATE_TIME_MAX) {
        Ok(text) => text,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(format!("takes more than {} s", TEMPLATE_TIME_MAX.as_secs()))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("made its engine fail".to_owned()),
    }
}

fn one_off(template: &str, context: &Context, bytes_max: usize) -> Result<String, String> {
    let text = Tera::one_off(template, context, false).map_err(|error| {
        let text = error.to_string();
        format!("does not work: {}", text.lines().next().unwrap_or_default())
    })?;
    if text.trim().is_empty() {
        Err("renders to nothing".to_owned())
    } else if text.len() > bytes_max {
        Err(format!("renders to more than {bytes_max} bytes"))
    } else {
        Ok(text.trim_end().to_owned())
    }
}

/// A few sentences for the person at the screen, where there is something to say.
pub fn allow(allow: &Allow, run: Option<&Run>) -> Option<String> {
    let epic = run.map(|run| shown(run.epic.as_str())).unwrap_or_default();
    let cycles = run.map_or(0, |run| run.counters.cycles);
    let resume = command("resume", &epic);
    Some(match allow {
        Allow::Idle | Allow::Resting | Allow::Planning => return None,
        Allow::Disabled { is_news: false } => return None,
        Allow::Disabled { is_news: true } => format!(
            "Beadlock is switched off (`enabled` is false under `workflow.stop_hook` in project.yaml or config.toml, or in BEADLOCK_ENABLED); {epic} is not guarded until it is `true` again."
        ),
        Allow::Corrupt(fault) => format!(
            "Beadlock let the agent go without knowing whether its work is done: {} {}",
            sentence(&fault_named(fault)),
            store_remedy(&fault.what)
        ),
        Allow::Stale => format!(
            "Beadlock let {epic} rest: nothing had happened for a long time. {resume} goes on, {} ends it.",
            command("abort", &epic)
        ),
        Allow::Conversation => {
            format!("Beadlock: the run on {epic} is still open; the agent goes on when you say so.")
        }
        Allow::NeedsHuman(need) => {
            format!(
                "Beadlock: {epic} needs you. {}",
                need_named(need, &epic, run)
            )
        }
        Allow::Checkpoint { git } => format!(
            "Beadlock: {epic} stopped at a context checkpoint{}. Start a fresh session and type `/run-tasks {epic}`, or `beadlock start {epic} --session ID`.",
            saved_named(git)
        ),
        Allow::Unknown(fault) => format!(
            "Beadlock let the agent go without knowing whether {epic} is done: {} The run stays open; `beadlock status {epic}` shows it.",
            sentence(&fault_named(fault))
        ),
        Allow::Empty => format!(
            "Beadlock: {epic} has no tasks, so there was nothing to hold the agent for. The run is over."
        ),
        Allow::Deadlocked(knot) => format!(
            "Beadlock: {epic} is deadlocked; these wait only for each other: {}. Untie them. {}",
            ids_named(knot),
            to_go_on("prompt the agent", &epic, run)
        ),
        Allow::Unchecked(ids) => format!(
            "Beadlock: {epic} ended unchecked, because a check is switched off. Not done are {}, and whatever is blocked, deferred or held.",
            ids_named(ids)
        ),
        Allow::Complete { new_files } => {
            format!(
                "Beadlock: {epic} is complete after {}{}.",
                counted(cycles, "cycle"),
                lost_and_left(run, new_files)
            )
        }
        Allow::MaxCycles => format!(
            "Beadlock let {epic} go: the limit of cycles (max_cycles) is spent after {cycles}. The run is over; `beadlock start {epic} --session ID` begins another."
        ),
        Allow::NoProgress => format!(
            "Beadlock let {epic} go: nothing moved for several cycles. `beadlock status {epic}` shows what is left. {}",
            to_go_on("prompt the agent", &epic, run)
        ),
        Allow::Background(labels) => format!(
            "Beadlock lets the agent wait for its background work: {}. {epic} stays open.",
            names(labels)
        ),
        Allow::Unrecorded(fault) => format!(
            "Beadlock let the agent go because it could not record the stop: {} {epic} is not done.",
            sentence(&fault_named(fault))
        ),
    })
}

fn saved_named(git: &SavedWork) -> String {
    match git {
        SavedWork::Saved => String::new(),
        SavedWork::Unchecked => " (git was not checked)".to_owned(),
        SavedWork::Unknown(fault) => format!(" (git is unknown: {})", fault_named(fault)),
        SavedWork::Unsaved(paths) => format!(" with unsaved work: {}", names(paths)),
    }
}

/// A command of ours about one run, to be typed as it stands. It names the epic: where several
/// runs share a repository, `abort` alone would end them all and `resume` alone none.
pub fn command(verb: &str, epic: &str) -> String {
    format!("`beadlock {verb} {epic}`")
}

/// A prompt that would have woken a run, if the agent had not scheduled its words.
pub fn nobodys_words(run: &Run) -> String {
    let resume = command("resume", run.epic.as_str());
    format!(
        "Beadlock: {} still waits, since the agent has scheduled these very words for itself; {resume} goes on with it.",
        run.epic
    )
}

/// What a person types so that a waiting run holds its agent again. Where no hook reports
/// prompts, a prompt wakes nothing.
fn to_go_on(prompt: &str, epic: &str, run: Option<&Run>) -> String {
    let resume = command("resume", epic);
    if run.is_some_and(|run| run.hears_prompts) {
        format!("To go on, {prompt}, or type {resume}.")
    } else {
        format!("To go on, type {resume} first, then {prompt}.")
    }
}

/// What helps against a store that could not answer. A fault is only words; these are our own.
fn store_remedy(what: &str) -> &'static str {
    let remedies = [
        ("newer beadlock", "Use the newer beadlock."),
        (
            "could not use",
            "Look at the permissions of that directory.",
        ),
        (
            "stayed busy",
            "The run is still there, and its next stop is judged again.",
        ),
        (
            "the disk is full",
            "Free some space; the run is still there.",
        ),
        (
            "changing hands",
            "`beadlock status --all` shows who has which run now.",
        ),
        ("cannot be read", "`beadlock status --all` shows what can."),
    ];
    let remedy = remedies.iter().find(|(part, _)| what.contains(part));
    remedy.map_or(
        "This session is not guarded now; `beadlock start EPIC --session ID` begins anew.",
        |(_, remedy)| remedy,
    )
}

/// Where a line about a run is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// In another session, or in none.
    Elsewhere,
    /// In the run's own session, which is still there.
    OwnSession,
    /// Together with a prompt that has just woken the run.
    Waker,
}

/// The tasks that were lost on the way and that somebody accepted as lost, and the files that the
/// agent was asked for once and left as they were.
fn lost_and_left(run: Option<&Run>, new_files: &[String]) -> String {
    let mut text = String::new();
    let lost: Vec<TaskId> = run
        .into_iter()
        .flat_map(|run| run.given_up.iter().cloned())
        .collect();
    if !lost.is_empty() {
        text = format!(", without {}, which left the epic", ids_named(&lost));
    }
    if !new_files.is_empty() {
        text = format!("{text}; left as new files: {}", names(new_files));
    }
    text
}

/// A live run of a session was found that stops of the session did not know of.
pub fn found_again(run: &Run) -> String {
    let epic = shown(run.epic.as_str());
    format!(
        "Beadlock: this session has a run on {epic} whose mark was gone, so its stops went by unjudged; it is held again."
    )
}

/// One line about a run that changed where nobody could see it.
pub fn owed(run: &Run, reader: Reader) -> String {
    let epic = shown(run.epic.as_str());
    let why = match run.outcome {
        Some(Outcome::SessionOver) => "its session or its turn ended while work remained",
        Some(Outcome::PausedByAgent) => "an agent paused it",
        Some(Outcome::Abandoned) => "an agent aborted it",
        Some(other) => other.name(),
        None => "it is open",
    };
    let (resume, abort) = (command("resume", &epic), command("abort", &epic));
    if run.state == State::Active && run.told.switched_off {
        return format!(
            "Beadlock: the run on {epic} holds nobody while `enabled` is false in a configuration file; {abort} ends it."
        );
    }
    if run.state == State::Active {
        return format!(
            "Beadlock: the run on {epic} goes on, and no prompt of yours has woken it; {abort} ends it."
        );
    }
    let next = match (run.state, reader) {
        (State::Ended, _) => format!("`beadlock start {epic} --session ID` begins another run"),
        (State::Waiting, Reader::Waker) => "your prompt goes on with it".to_owned(),
        (State::Waiting, Reader::OwnSession) if run.hears_prompts => {
            format!("the next prompt here goes on with it, {abort} ends it")
        }
        // Its session may be gone for good: waking the run there would guard nobody.
        (_, Reader::Elsewhere) => format!("{}, {abort} ends it", moved(&epic)),
        (State::Active | State::Waiting | State::Stale | State::Paused, _) => {
            format!("type {resume} to go on, {abort} to end it")
        }
    };
    let state = match reader {
        Reader::Waker => "was",
        Reader::Elsewhere | Reader::OwnSession => "is",
    };
    format!(
        "Beadlock: the run on {epic} {state} {} ({why}); {next}.",
        run.state.name()
    )
}

/// What is typed to go on in whatever session that is to be.
pub fn moved(epic: &str) -> String {
    format!(
        "type `/run-tasks {epic}` in the session that is to go on (or `beadlock start {epic} --session ID`)"
    )
}

/// A number and what is counted.
pub fn counted(count: u32, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

fn need_named(need: &Need, epic: &str, run: Option<&Run>) -> String {
    match need {
        Need::Said { tag, lines } => {
            let said = match lines.join(" ") {
                said if said.is_empty() => shown(tag),
                said => format!("{}: {}", shown(tag), bounded(&said, 400)),
            };
            let next = to_go_on("answer the agent", epic, run);
            format!("The agent said {} {next}", sentence(&said))
        }
        Need::Shrunk(ids) => {
            let resume = command("resume", epic);
            let accepts = if run.is_some_and(|run| run.hears_prompts) {
                format!("A prompt typed at the agent's screen, or {resume}, accepts")
            } else {
                format!("{resume} accepts")
            };
            format!(
                "Tasks left the epic without being closed: {}. {accepts} that they are gone; put them back first if they are not to be.",
                ids_named(ids)
            )
        }
        Need::Blocked(rest) => {
            let each = |(id, stuck): &(TaskId, Stuck)| {
                let why = match stuck {
                    Stuck::HeldBy(actor) => format!("held by {}", shown(actor)),
                    Stuck::Cause(Cause::Status) => "blocked".to_owned(),
                    Stuck::Cause(Cause::Deferred) => "deferred".to_owned(),
                    Stuck::Cause(Cause::Person(what)) => shown(what),
                    Stuck::Cause(Cause::Waits(on)) => format!("waits for {}", ids_named(on)),
                };
                format!("{} ({why})", shown(id.as_str()))
            };
            let each: Vec<String> = rest.iter().take(NAMES_MAX).map(each).collect();
            let hidden = match rest.len() - each.len() {
                0 => String::new(),
                hidden => format!(" and {hidden} more"),
            };
            format!(
                "What is left: {}{hidden}. {}A task has to be freed first: an answer alone frees none. {}",
                each.join(", "),
                remedies(rest, run),
                to_go_on("prompt the agent", epic, run)
            )
        }
    }
}

/// What frees a task, once for each kind of trouble, with the first task that has it.
fn remedies(rest: &[(TaskId, Stuck)], run: Option<&Run>) -> String {
    // Where the tracker is a file of ours, these are its commands; no other has one in common.
    let is_ours = run.is_some_and(|run| run.territory.tracker_file.is_some());
    let shows = |id: &str| {
        if is_ours {
            format!("`beadlock task show {id}`")
        } else {
            "your tracker".to_owned()
        }
    };
    let kind = |stuck: &Stuck| match stuck {
        Stuck::HeldBy(_) => None,
        Stuck::Cause(cause) => Some(mem::discriminant(cause)),
    };
    let mut seen = Vec::new();
    let mut text = String::new();
    for (id, stuck) in rest {
        if seen.contains(&kind(stuck)) {
            continue;
        }
        seen.push(kind(stuck));
        let id = if id.is_plain() { id.as_str() } else { "ID" };
        let remedy = match stuck {
            Stuck::HeldBy(actor) => format!(
                "{id} comes free when {} is done with it or the lease ends ({} says when).",
                shown(actor),
                shows(id)
            ),
            Stuck::Cause(Cause::Status) if is_ours => format!(
                "{id} is blocked by its own status: its notes say why ({}), and `beadlock task reopen {id}` frees it.",
                shows(id)
            ),
            Stuck::Cause(Cause::Status) => format!(
                "{id} is blocked by its own status: its notes in your tracker say why, and opening it there frees it."
            ),
            Stuck::Cause(Cause::Deferred) => {
                format!("Until when {id} is deferred, {} says.", shows(id))
            }
            Stuck::Cause(Cause::Person(_)) => {
                format!("{id} needs a status or type that agents work on.")
            }
            // What it waits for is named beside it.
            Stuck::Cause(Cause::Waits(_)) => continue,
        };
        text = format!("{text}{remedy} ");
    }
    text
}

/// What is said, as a sentence of its own.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn ids_named(ids: &[TaskId]) -> String {
    listed(ids.iter().map(TaskId::as_str), usize::MAX)
}

fn names(names: &[String]) -> String {
    listed(names.iter().map(String::as_str), usize::MAX)
}

/// For the agent: as many as fit, so that no names can blow up what it is fed.
fn ids_brief(ids: &[TaskId]) -> String {
    listed(ids.iter().map(TaskId::as_str), BRIEF_BYTES_MAX)
}

fn names_brief(names: &[String]) -> String {
    listed(names.iter().map(String::as_str), BRIEF_BYTES_MAX)
}

/// A handful of names, and how many more there are. One is always named.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>, bytes_max: usize) -> String {
    let count = names.len();
    let mut line = String::new();
    let mut shown_count = 0;
    for name in names.take(NAMES_MAX) {
        let name = bounded(name, NAME_BYTES_MAX.min(bytes_max));
        if shown_count > 0 && line.len() + name.len() + 2 > bytes_max {
            break;
        }
        if shown_count > 0 {
            line.push_str(", ");
        }
        line.push_str(&name);
        shown_count += 1;
    }
    match count - shown_count {
        0 => line,
        hidden => format!("{line} and {hidden} more"),
    }
}

fn fault_named(fault: &Fault) -> String {
    bounded(
        &format!("{}: {}", fault.sensor.name(), fault.what),
        FAULT_BYTES_MAX,
    )
}

/// Other people's text on one short line, without anything that steers a terminal or a reader.
fn shown(text: &str) -> String {
    bounded(text, NAME_BYTES_MAX)
}

fn bounded(text: &str, bytes_max: usize) -> String {
    let mut tamed = String::new();
    for c in text.chars() {
        let c = match c {
            c if c.is_control() || c.is_whitespace() => ' ',
            // A name must not be able to open a tag or a code span.
            '<' | '>' | '`' => '\'',
            // Nor to turn the line around or hide in it.
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => ' ',
            c => c,
        };
        if tamed.len() + c.len_utf8() > bytes_max {
            tamed.push('…');
            break;
        }
        tamed.push(c);
    }
    tamed.trim().to_owned()
}
