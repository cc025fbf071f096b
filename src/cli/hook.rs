//! `hook`: what agents call. JSON on stdin, the agent's own dialect on stdout, exit 0 whatever
//! happens: a fault of ours may hold nobody.

mod input;
mod owner;
mod session;
mod stop;
mod user_prompt;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use super::{Exit, ambient, print};
use crate::edge::agent::{Agent, Ambient, Answer, Claude, Event};

/// What agents call at the ends and beginnings of things (people need not)
///
/// Each event reads the agent's JSON from stdin and answers in the agent's own dialect on stdout.
/// Nothing on stdout lets the agent take its course. `BEADLOCK_DISABLE=1` switches all of it off.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example, in .claude/settings.json:\n  \
    {\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"beadlock hook stop\",\"timeout\":60}]}]}}")]
pub struct Args {
    #[command(subcommand)]
    event: EventArgs,
    /// Whose dialect to speak
    #[arg(long, global = true, value_enum, default_value_t = Dialect::Claude)]
    agent: Dialect,
}

impl Args {
    /// What `hook stop` alone parses to.
    pub fn stop() -> Args {
        Args {
            event: EventArgs::Stop { epic: None },
            agent: Dialect::Claude,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Dialect {
    Claude,
}

/// Agents are told to wait for 60 s; a whole hook plans for 50.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(54);

#[derive(Clone, Debug, clap::Subcommand)]
enum EventArgs {
    /// The agent wants to end its turn: let it go, or feed it the prompt again
    Stop {
        /// Arm a run on this epic at the session's first stop
        #[arg(long, value_name = "EPIC")]
        epic: Option<String>,
    },
    /// A session begins, is resumed or was compacted: give it its prompt back
    SessionStart,
    /// A session is over: its run waits
    SessionEnd,
    /// A prompt was entered: note who spoke; `/run-tasks EPIC` arms a run
    UserPrompt,
    /// A turn died of an error: its run waits
    StopFailure,
}

pub fn run(args: &Args) -> Exit {
    let ambient = ambient::ambient();
    if stop::is_disabled(&ambient) && !matches!(args.event, EventArgs::Stop { .. }) {
        return Exit::Fine;
    }
    let Dialect::Claude = args.agent;
    let read = || Claude.read(&input::read(), &ambient);
    let reply = match catch_unwind(AssertUnwindSafe(read)) {
        Ok(event) => {
            let event_args = args.event.clone();
            let is_quick = is_quick(&event_args, &event, &ambient);
            let work = move || respond(&event_args, &event, &ambient);
            if is_quick {
                done(&Mutex::new(Some(work)))
            } else {
                in_time(work)
            }
        }
        Err(_) => failed(),
    };
    if let Some(aside) = &reply.aside {
        // Where the agent shows nobody what a hook says, stderr is what is left.
        let _ = writeln!(std::io::stderr().lock(), "{aside}");
    }
    print(&Claude.answer(&reply.answer));
    Exit::Fine
}

/// A stop of a session that nobody knows is answered by a few looks at files, and a watch would
/// cost more than that.
fn is_quick(event_args: &EventArgs, event: &Event, ambient: &Ambient) -> bool {
    matches!(event_args, EventArgs::Stop { epic: None }) && owner::is_unknown(event, ambient)
}

/// The answer, if it comes before the agent would end us. Every sensor has a deadline of its own;
/// this one is for what has none, such as a file on a mount that is gone.
fn in_time(work: impl FnOnce() -> Reply + Send + 'static) -> Reply {
    let work = Arc::new(Mutex::new(Some(work)));
    let theirs = work.clone();
    let (sender, receiver) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        // Nobody listens any more once the time is up.
        let _ = sender.send(done(&theirs));
    });
    if started.is_err() {
        // The system has no thread left; then without a watch.
        return done(&work);
    }
    receiver.recv_timeout(ANSWER_TIME_MAX).unwrap_or_else(|_| {
        Reply::tell(
            "Beadlock let the agent go without knowing whether its work is done: it had no answer in time. `beadlock status` shows what is guarded.",
        )
    })
}

fn done(work: &Mutex<Option<impl FnOnce() -> Reply>>) -> Reply {
    let work = work.lock().ok().and_then(|mut work| work.take());
    let reply = work.and_then(|work| catch_unwind(AssertUnwindSafe(work)).ok());
    reply.unwrap_or_else(failed)
}

fn failed() -> Reply {
    Reply::tell("Beadlock failed and let the agent go; please report it with the text on stderr.")
}

/// What goes to stdout, and what to stderr.
struct Reply {
    answer: Answer,
    aside: Option<String>,
}

impl Reply {
    fn silence() -> Reply {
        Reply {
            answer: Answer::Silence,
            aside: None,
        }
    }

    fn tell(text: impl Into<String>) -> Reply {
        Reply {
            answer: Answer::Tell(text.into()),
            aside: None,
        }
    }

    /// Adds a line for the person to whatever is said.
    fn tell_also(&mut self, line: &str) {
        let joined = |told: &Option<String>| match told {
            Some(told) => Some(format!("{told}\n{line}")),
            None => Some(line.to_owned()),
        };
        match &mut self.answer {
            Answer::Silence => self.answer = Answer::Tell(line.to_owned()),
            Answer::Tell(told) => *told = format!("{told}\n{line}"),
            Answer::Block { tell, .. } | Answer::Context { tell, .. } => *tell = joined(tell),
        }
    }

    fn aside(text: String) -> Reply {
        Reply {
            answer: Answer::Silence,
            aside: Some(text),
        }
    }
}

/// For the person: on the screen where there is one, and on stderr where there is none.
fn told(text: String, event: &Event) -> Reply {
    Reply {
        aside: (!event.stop.is_interactive).then(|| text.clone()),
        answer: Answer::Tell(text),
    }
}

fn respond(event_args: &EventArgs, event: &Event, ambient: &Ambient) -> Reply {
    match event_args {
        EventArgs::Stop { epic } => stop::respond(epic.as_deref(), event, ambient),
        EventArgs::SessionStart => session::started(event, ambient),
        EventArgs::SessionEnd | EventArgs::StopFailure => session::ended(event),
        EventArgs::UserPrompt => user_prompt::respond(event, ambient),
    }
}
