//! `hook`: what agents call. JSON on stdin, the agent's own dialect on stdout, exit 0 whatever
//! happens: a fault of ours may hold nobody.

mod input;
mod owner;
mod record;
mod session;
mod stop;
mod user_prompt;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Exit, ambient, print};
use crate::edge::agent::{Agent, Ambient, Answer, Claude, Event};

/// What agents call at the ends and beginnings of things (people need not)
///
/// Each event reads the agent's JSON from stdin and answers in the agent's own dialect on stdout.
/// Nothing on stdout lets the agent take its course. `BEADLOCK_DISABLE=1` switches all of it off.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`beadlock init` writes these into the agent's settings, each like this:\n  \
    {\"type\":\"command\",\"command\":\"/path/to/beadlock\",\"args\":[\"hook\",\"stop\",\"--agent\",\"claude\"],\"timeout\":60}\n\n\
    Example:\n  beadlock hook stop --agent claude < payload.json"
)]
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

#[derive(Debug, clap::Subcommand)]
enum EventArgs {
    /// The agent wants to end its turn: let it go, or feed it the prompt again
    #[command(
        after_help = "Examples:\n  beadlock hook stop < payload.json\n  beadlock hook stop --epic bd-x7y8 < payload.json    # holds every session whose hook this is"
    )]
    Stop {
        /// Arm a run on this epic at the session's first stop
        #[arg(long, value_name = "EPIC")]
        epic: Option<String>,
    },
    /// A session begins, is resumed or was compacted: give it its prompt back
    #[command(after_help = "Example:\n  beadlock hook session-start < payload.json")]
    SessionStart,
    /// A session is over: its run waits
    #[command(after_help = "Example:\n  beadlock hook session-end < payload.json")]
    SessionEnd,
    /// A prompt was entered: note who spoke; `/run-tasks EPIC` arms a run
    #[command(after_help = "Example:\n  beadlock hook user-prompt < payload.json")]
    UserPrompt,
    /// A turn died of an error: its run waits
    #[command(after_help = "Example:\n  beadlock hook stop-failure < payload.json")]
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
            let work = || respond(&args.event, &event, &ambient);
            if is_quick(&args.event, &event, &ambient) {
                done(work)
            } else {
                in_time(ANSWER_TIME_MAX, give_up, work)
            }
        }
        Err(_) => failed(),
    };
    answer(&reply);
    Exit::Fine
}

/// A stop of a session that nobody knows is answered by a few looks at files, and a watch would
/// cost more than that.
fn is_quick(event_args: &EventArgs, event: &Event, ambient: &Ambient) -> bool {
    matches!(event_args, EventArgs::Stop { epic: None }) && owner::is_unknown(event, ambient)
}

/// The answer, if it comes before the agent would end us; else `late` has the last word. Every
/// sensor has a deadline of its own; this one is for what has none, such as a file on a mount that
/// is gone. The watch is what gets a thread of its own: to be woken by a worker takes longer.
fn in_time(
    time_max: Duration,
    late: impl FnOnce() + Send + 'static,
    work: impl FnOnce() -> Reply,
) -> Reply {
    let is_answered = Arc::new(AtomicBool::new(false));
    let theirs = is_answered.clone();
    // Where the system has no thread left there is no watch.
    let _watch = thread::Builder::new().spawn(move || {
        thread::sleep(time_max);
        if !theirs.swap(true, Ordering::SeqCst) {
            late();
        }
    });
    let reply = done(work);
    if is_answered.swap(true, Ordering::SeqCst) {
        // The time was up a moment ago: the agent is being answered, and must be only once.
        loop {
            thread::park();
        }
    }
    reply
}

fn give_up() {
    answer(&Reply::tell(
        "Beadlock let the agent go without knowing whether its work is done: it had no answer in time. `beadlock status` shows what is guarded.",
    ));
    end();
}

#[expect(clippy::exit, reason = "what hangs would keep the agent waiting")]
fn end() {
    std::process::exit(0);
}

fn answer(reply: &Reply) {
    if let Some(aside) = &reply.aside {
        // Where the agent shows nobody what a hook says, stderr is what is left.
        let _ = writeln!(std::io::stderr().lock(), "{aside}");
    }
    print(&Claude.answer(&reply.answer));
}

fn done(work: impl FnOnce() -> Reply) -> Reply {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| failed())
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
    if event.stop.is_sub_agent && !matches!(event_args, EventArgs::Stop { .. }) {
        // It has prompts and an end of its own, under its session's name.
        return Reply::silence();
    }
    match event_args {
        EventArgs::Stop { epic } => stop::respond(epic.as_deref(), event, ambient),
        EventArgs::SessionStart => session::started(event, ambient),
        EventArgs::SessionEnd | EventArgs::StopFailure => session::ended(event),
        EventArgs::UserPrompt => user_prompt::respond(event, ambient),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_takes_too_long_is_answered_by_the_watch_alone() {
        let (sender, receiver) = mpsc::channel();
        let (late, answered) = (sender.clone(), sender);
        thread::spawn(move || {
            let slow = || {
                thread::sleep(Duration::from_millis(200));
                Reply::silence()
            };
            let late = move || late.send("late").unwrap();
            in_time(Duration::from_millis(1), late, slow);
            answered.send("answered").unwrap();
        });
        assert_eq!(receiver.recv(), Ok("late"));
        let second = receiver.recv_timeout(Duration::from_secs(1));
        assert_eq!(second, Err(mpsc::RecvTimeoutError::Timeout));
    }

    #[test]
    fn what_is_in_time_is_answered_once() {
        let (late, receiver) = mpsc::channel();
        let late = move || late.send("late").unwrap();
        let reply = in_time(Duration::from_millis(300), late, || Reply::tell("done"));
        assert!(matches!(reply.answer, Answer::Tell(text) if text == "done"));
        assert_eq!(receiver.recv(), Err(mpsc::RecvError));
    }

    #[test]
    fn a_fault_of_ours_lets_go_and_says_so() {
        let reply = in_time(ANSWER_TIME_MAX, || {}, || panic!("a fault"));
        assert!(matches!(reply.answer, Answer::Tell(_)));
    }
}
