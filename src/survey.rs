//! The seam in: reads what the kernel wants to know, side by side and within a deadline, and
//! fills the snapshot. Whatever goes wrong on the way becomes a reading that failed.

mod tasks;

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::config::{self, Sources};
use crate::edge::git::Git;
use crate::edge::transcript;
use crate::kernel::ledger::{Fingerprint, Run};
use crate::kernel::moment::Moment;
use crate::kernel::policy::Policy;
use crate::kernel::signal::{self, Words};
use crate::kernel::snapshot::{self, Fault, Glance, Reading, Sensor, Snapshot, Stop};
use crate::kernel::task::{Epic, TaskId};
use crate::kernel::wanted;
pub use tasks::{Tasks, remedy};

/// What the tracker, and git, may take; a second try included.
pub const SENSOR_TIME_MAX: Duration = Duration::from_secs(20);
/// What a whole hook may take; agents are told to wait for 60 s.
pub const HOOK_SECONDS_MAX: u64 = 50;
/// Each sensor is asked at most once, so there cannot be more rounds than sensors.
const ROUNDS_MAX: usize = Sensor::ALL.len();
/// A sensor whose time is up still has to end what it started, and to say so.
const GRACE: Duration = Duration::from_secs(2);

/// The outside, as one run sees it.
pub struct Edges {
    pub tasks: Tasks,
    pub git: Git,
    pub words: Spoken,
    pub sources: Sources,
}

/// Where the agent's last message is.
pub enum Spoken {
    Here(String),
    InTranscript(PathBuf),
    Nowhere,
}

/// When a sensor answered, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub sensor: Sensor,
    pub at: Instant,
    pub took: Duration,
}

/// Reads until nothing more is wanted. Says what was read, in the order of the answers.
pub fn survey(
    edges: &Arc<Edges>,
    snapshot: &mut Snapshot,
    policy: &Policy,
    deadline: Instant,
) -> Vec<Taken> {
    let mut taken = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let sensors = wanted(snapshot, policy);
        if sensors.is_empty() {
            break;
        }
        let Some(question) = Question::of(snapshot, &sensors, deadline) else {
            break;
        };
        let began = Instant::now();
        for (sensor, answer, at) in ask_all(edges, &Arc::new(question), &sensors) {
            answer.fill(snapshot);
            let took = at.saturating_duration_since(began);
            taken.push(Taken { sensor, at, took });
        }
    }
    taken
}

/// What the work looks like now, for comparing with later. Reads tracker and git side by side.
pub fn fingerprint(edges: &Arc<Edges>, run: &Run, now: Moment, deadline: Instant) -> Fingerprint {
    let question = Arc::new(Question::about(run, now, deadline));
    let mut seen = Snapshot::of(Stop::default(), now);
    ask(edges, &question, Sensor::Remembered).fill(&mut seen);
    let sensors = if seen.rests_on_memory() {
        &[Sensor::Git][..]
    } else {
        &[Sensor::Tasks, Sensor::Git]
    };
    for (_, answer, _) in ask_all(edges, &question, sensors) {
        answer.fill(&mut seen);
    }
    Fingerprint::of(seen.known_epic(), seen.git.known(), &run.territory)
}

/// An error as a fault, with everything that caused it.
pub fn fault(sensor: Sensor, error: &dyn Error) -> Fault {
    let mut what = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        what = format!("{what}: {deeper}");
        cause = deeper.source();
    }
    Fault::new(sensor, what)
}

/// What is left until `deadline`.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// What the sensors have to know to answer.
struct Question {
    epic: TaskId,
    now: Moment,
    promises: Vec<String>,
    prompt: String,
    /// Those whose branches are asked about.
    tasks: Vec<TaskId>,
    /// For every sensor of this round.
    deadline: Instant,
}

impl Question {
    fn of(snapshot: &Snapshot, sensors: &[Sensor], deadline: Instant) -> Option<Question> {
        let run = snapshot.run.known()?.as_ref()?;
        let mut question = Question::about(run, snapshot.now, deadline);
        if let Some(epic) = snapshot.known_epic()
            && sensors.contains(&Sensor::Branches)
        {
            question.tasks = epic.tasks.iter().map(|task| task.id.clone()).collect();
        }
        Some(question)
    }

    fn about(run: &Run, now: Moment, deadline: Instant) -> Question {
        Question {
            epic: run.epic.clone(),
            now,
            promises: run.policy.completion_promises.clone(),
            prompt: run.prompt.clone(),
            tasks: Vec::new(),
            deadline: deadline.min(Instant::now() + SENSOR_TIME_MAX),
        }
    }
}

enum Answer {
    /// Nobody can be surveyed without a run, so there is only one: that there is none.
    Run(Fault),
    /// It comes with the run.
    Baseline(Fault),
    Enabled(Reading<bool>),
    Words(Reading<Words>),
    Remembered(Reading<Option<Epic>>),
    Tasks(Reading<Epic>),
    OwnReady(Reading<Option<Vec<TaskId>>>),
    Glance(Glance),
    Git(Reading<snapshot::Git>),
    Branches(Reading<Vec<String>>),
}

impl Answer {
    fn fill(self, snapshot: &mut Snapshot) {
        match self {
            Answer::Run(fault) => snapshot.run = Reading::Failed(fault),
            Answer::Baseline(fault) => snapshot.baseline = Reading::Failed(fault),
            Answer::Enabled(reading) => snapshot.enabled = reading,
            Answer::Words(reading) => snapshot.words = reading,
            Answer::Remembered(reading) => snapshot.remembered = reading,
            Answer::Tasks(reading) => snapshot.epic = reading,
            Answer::OwnReady(reading) => snapshot.own_ready = reading,
            Answer::Glance(glance) => snapshot.glance = Some(glance),
            Answer::Git(reading) => snapshot.git = reading,
            Answer::Branches(reading) => snapshot.branches = reading,
        }
    }

    fn failed(sensor: Sensor, what: &str) -> Answer {
        let fault = Fault::new(sensor, what);
        match sensor {
            Sensor::Run => Answer::Run(fault),
            Sensor::Baseline => Answer::Baseline(fault),
            Sensor::Enabled => Answer::Enabled(Reading::Failed(fault)),
            Sensor::Words => Answer::Words(Reading::Failed(fault)),
            Sensor::Remembered => Answer::Remembered(Reading::Failed(fault)),
            Sensor::Tasks => Answer::Tasks(Reading::Failed(fault)),
            Sensor::OwnReady => Answer::OwnReady(Reading::Failed(fault)),
            Sensor::Glance | Sensor::Git => {
                let fault = Fault::new(Sensor::Git, fault.what);
                Answer::Git(Reading::Failed(fault))
            }
            Sensor::Branches => Answer::Branches(Reading::Failed(fault)),
        }
    }
}

/// A sensor's answer, and when it was there.
type Answered = (Sensor, Answer, Instant);

/// Every sensor's answer, all asked at once. One that does not answer in time has failed; its
/// thread is left behind and ends with the process.
fn ask_all(edges: &Arc<Edges>, question: &Arc<Question>, sensors: &[Sensor]) -> Vec<Answered> {
    let answered = |sensor, answer| (sensor, answer, Instant::now());
    if let [sensor] = sensors
        && is_immediate(edges, *sensor)
    {
        return vec![answered(*sensor, ask(edges, question, *sensor))];
    }
    let (sender, receiver) = mpsc::channel();
    for &sensor in sensors {
        let (their_edges, their_question) = (edges.clone(), question.clone());
        let their_sender = sender.clone();
        let started = thread::Builder::new().spawn(move || {
            let answer = ask(&their_edges, &their_question, sensor);
            // Nobody listens any more once the deadline has passed.
            let _ = their_sender.send((sensor, answer));
        });
        if started.is_err() {
            // The system has no thread left: then one after the other. Each has its own deadline.
            let _ = sender.send((sensor, ask(edges, question, sensor)));
        }
    }
    drop(sender);
    let mut missing = sensors.to_vec();
    let mut answers = Vec::new();
    while !missing.is_empty() {
        match receiver.recv_timeout(left(question.deadline) + GRACE) {
            Ok((sensor, answer)) => {
                missing.retain(|waiting| *waiting != sensor);
                answers.push(answered(sensor, answer));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let late =
                    |sensor| answered(sensor, Answer::failed(sensor, "did not answer in time"));
                answers.extend(missing.drain(..).map(late));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let died =
                    |sensor| answered(sensor, Answer::failed(sensor, "failed while reading"));
                answers.extend(missing.drain(..).map(died));
            }
        }
    }
    answers
}

fn is_immediate(edges: &Edges, sensor: Sensor) -> bool {
    match sensor {
        Sensor::Run | Sensor::Baseline | Sensor::Enabled | Sensor::Remembered => true,
        Sensor::Words => !matches!(edges.words, Spoken::InTranscript(_)),
        Sensor::Tasks | Sensor::OwnReady | Sensor::Glance | Sensor::Git | Sensor::Branches => false,
    }
}

fn ask(edges: &Edges, question: &Question, sensor: Sensor) -> Answer {
    match sensor {
        Sensor::Run | Sensor::Baseline => {
            Answer::failed(sensor, "is found before anything is surveyed")
        }
        Sensor::Enabled => {
            let enabled = config::is_enabled(&edges.sources);
            let enabled = enabled.map_err(|error| fault(sensor, &error));
            Answer::Enabled(enabled.into())
        }
        Sensor::Words => Answer::Words(words(edges, question)),
        Sensor::Remembered => {
            let epic = edges.tasks.remembered(&question.epic, question.now);
            Answer::Remembered(Reading::Known(epic))
        }
        Sensor::Tasks => {
            let epic = edges
                .tasks
                .read(&question.epic, question.now, question.deadline);
            Answer::Tasks(epic.into())
        }
        Sensor::OwnReady => {
            let ready = edges.tasks.own_ready(&question.epic, question.deadline);
            Answer::OwnReady(ready.into())
        }
        Sensor::Glance => match edges.git.glance(left(question.deadline)) {
            Some(glance) => Answer::Glance(glance),
            None => ask(edges, question, Sensor::Git),
        },
        Sensor::Git => {
            let git = edges.git.read(left(question.deadline));
            Answer::Git(git.map_err(|error| fault(sensor, &error)).into())
        }
        Sensor::Branches => {
            let patience = left(question.deadline);
            let branches = edges.git.unmerged(&question.tasks, patience);
            Answer::Branches(branches.map_err(|error| fault(sensor, &error)).into())
        }
    }
}

fn words(edges: &Edges, question: &Question) -> Reading<Words> {
    let read = |text: &str| signal::read(text, &question.promises, &question.prompt);
    match &edges.words {
        Spoken::Here(text) => Reading::Known(read(text)),
        Spoken::Nowhere => Reading::Known(Words::default()),
        Spoken::InTranscript(path) => match transcript::last_words(path) {
            Ok(Some(text)) => Reading::Known(read(&text)),
            // Not written yet, or nothing but tool calls.
            Ok(None) => Reading::Known(Words::default()),
            Err(error) => Reading::Failed(fault(Sensor::Words, &error)),
        },
    }
}
