//! Words errors, once, for every command: what was being done, what came back, what to do next.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use super::exit::Exit;
use crate::arm;
use crate::edge::tracker::Kind;
use crate::edge::tracker::jsonl::NO_FILE;
use crate::edge::{store, tracker};
use crate::kernel::task::{Status, TaskId};
use crate::render::command;
use crate::survey::remedy;

/// For whoever has no epic yet, or no tracker at all.
const BEGINS_ONE: &str = "`beadlock task add TITLE --type epic` begins one";

/// An error that knows how the command ends and what the person can do.
#[derive(Debug)]
pub struct Refusal {
    pub exit: Exit,
    pub what: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub fn new(exit: Exit, what: impl Into<String>) -> Refusal {
        Refusal {
            exit,
            what: what.into(),
            hint: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

impl From<tracker::Error> for Refusal {
    fn from(error: tracker::Error) -> Refusal {
        let refusal = Refusal::new(tracker_exit(&error), error.to_string());
        match tracker_hint(&error) {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Refusal {
        use store::Error;
        let hint = match &error {
            Error::Missing { .. } | Error::Corrupt { .. } => {
                "nothing is guarded here; `beadlock start EPIC --session ID` begins anew"
            }
            Error::Newer { .. } => "use the newer beadlock",
            Error::Busy { .. } => "try again in a moment",
            Error::Full { .. } => "free some space and try again",
            Error::Unreadable { .. } => "look at the permissions of that directory",
            Error::NoRun { .. } | Error::BadRun { .. } | Error::Taken => {
                "`beadlock status --all` lists the runs"
            }
        };
        Refusal::new(Exit::Unknown, error.to_string()).hint(hint)
    }
}

impl From<arm::Error> for Refusal {
    fn from(error: arm::Error) -> Refusal {
        use arm::Error;
        let exit = match &error {
            Error::BadId { .. } => Exit::Usage,
            Error::NotFound { .. }
            | Error::LiveElsewhere { .. }
            | Error::SecondEpic { .. }
            | Error::SecondPlace { .. }
            | Error::GivenAway { .. }
            | Error::NotAnAgents { .. }
            | Error::NotItsSession { .. }
            | Error::Again { .. }
            | Error::PausedByPerson { .. }
            | Error::NotThisSession { .. } => Exit::NotDone,
            Error::Store(store::Error::Taken) => Exit::NotDone,
            Error::Tracker { .. } => Exit::Unknown,
            Error::Config(_) => Exit::Usage,
            Error::Store(_) | Error::Mark { .. } => Exit::Unknown,
        };
        let hint = match &error {
            Error::BadId { .. } => None,
            Error::NotFound { kept_by, .. } => Some(match kept_by {
                Kind::Bd => "`bd list --all --limit 0` shows what is there".to_owned(),
                Kind::Jsonl => {
                    format!("`beadlock task list --all` shows what is there; {BEGINS_ONE}")
                }
            }),
            Error::LiveElsewhere { epic, .. } => Some(format!(
                "wait for it, or move the run with `beadlock adopt {} --session ID`",
                plain(epic)
            )),
            Error::SecondEpic { epic, .. } => Some(format!(
                "end it with {}, or pass `--replace` to `beadlock start`",
                command("abort", &plain(epic))
            )),
            Error::SecondPlace { run, .. } => Some(format!(
                "{} ends it, from anywhere",
                command("abort", &plain(run))
            )),
            Error::GivenAway { .. }
            | Error::NotAnAgents { .. }
            | Error::NotItsSession { .. }
            | Error::Again { .. }
            | Error::PausedByPerson { .. } => {
                Some("a person can, from a terminal of their own".to_owned())
            }
            Error::NotThisSession { .. } => None,
            Error::Tracker {
                nowhere: Some(folder),
                ..
            } => Some(format!(
                "`BEADS_DIR` names `{}`, which is not there: correct or unset it",
                folder.display()
            )),
            Error::Tracker { what, .. } if what.ends_with(NO_FILE) => Some(BEGINS_ONE.to_owned()),
            Error::Tracker { .. } => Some("mend the tracker and try again".to_owned()),
            Error::Config(_) => Some("correct it there and try again".to_owned()),
            Error::Store(_) | Error::Mark { .. } => {
                Some("nothing was armed; mend the store's directory and try again".to_owned())
            }
        };
        Refusal {
            exit,
            what: error.to_string(),
            hint,
        }
    }
}

fn tracker_exit(error: &tracker::Error) -> Exit {
    use tracker::Error;
    match error {
        Error::NotFound { .. }
        | Error::Blocked { .. }
        | Error::OpenChildren { .. }
        | Error::Held { .. }
        | Error::NotHeld { .. }
        | Error::Closed { .. }
        | Error::Status { .. }
        | Error::Exists { .. }
        | Error::OtherPrefix { .. }
        | Error::Knot { .. }
        | Error::Foreign { .. }
        | Error::Changed { .. }
        | Error::Busy { .. }
        | Error::Io { .. } => Exit::NotDone,
        Error::Unsupported { .. }
        | Error::Unreadable { .. }
        | Error::NoProgram { .. }
        | Error::NoDatabase { .. }
        | Error::Program { .. } => Exit::Unknown,
        Error::Id { .. } | Error::NoPrefix { .. } => Exit::Usage,
    }
}

fn tracker_hint(error: &tracker::Error) -> Option<String> {
    use tracker::Error;
    let hint = match error {
        Error::NotFound { .. } => "`beadlock task list --all` lists every task".to_owned(),
        Error::Blocked { .. } | Error::Held { .. } => {
            "`beadlock task ready` lists what can be worked on now".to_owned()
        }
        Error::OpenChildren { .. } => "close them first".to_owned(),
        Error::Closed { id } => format!("`beadlock task reopen {}` opens it again", pasted(id)),
        Error::Status { id, status } if *status == Status::Blocked => {
            let id = pasted(id);
            format!("once nothing stands in its way, `beadlock task reopen {id}` opens it again")
        }
        Error::Exists { .. } => "without `--id` a new one is made up".to_owned(),
        Error::Id { .. } => format!(
            "an id is at most {} letters, digits and `.`, `_`, `-` or `:`, a letter or digit first",
            TaskId::PLAIN_BYTES_MAX
        ),
        Error::NoPrefix { id } => format!(
            "begin it with a word and a dash, as in `app-{}`",
            pasted(id)
        ),
        Error::OtherPrefix { .. } => {
            "give both the same text before the first dash, as in `app-1` and `app-2`".to_owned()
        }
        Error::Foreign { instead, .. } => format!("use {instead}"),
        Error::Unsupported { owner, .. } => format!("use {}", of_owner(owner, "ready")),
        Error::Unreadable { line: Some(_), .. } => "repair that line in an editor".to_owned(),
        Error::Unreadable { what, .. } if what == NO_FILE => BEGINS_ONE.to_owned(),
        Error::Changed { .. } | Error::Busy { .. } => "try again".to_owned(),
        Error::NoProgram { .. } | Error::NoDatabase { .. } | Error::Program { .. } => {
            return remedy(error).map(str::to_owned);
        }
        Error::NotHeld { .. }
        | Error::Status { .. }
        | Error::Knot { .. }
        | Error::Unreadable { .. }
        | Error::Io { .. } => return None,
    };
    Some(hint)
}

/// An id in a command line that is made to be pasted.
pub fn pasted(id: &TaskId) -> &str {
    if id.is_plain() { id.as_str() } else { "ID" }
}

/// The command of each program that may keep the tasks: `bd`, or `bd or br`.
pub fn of_owner(owner: &str, command: &str) -> String {
    let commands = owner
        .split(" or ")
        .map(|tool| format!("`{tool} {command}`"));
    commands.collect::<Vec<_>>().join(" or ")
}

/// Prints an error to stderr and says how the command ends.
pub fn report(error: &anyhow::Error) -> Exit {
    let (text, exit) = worded(error);
    // Nothing is left to tell anybody if stderr is gone too.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    exit
}

/// An error as text, and the exit it stands for.
pub fn worded(error: &anyhow::Error) -> (String, Exit) {
    let refusal = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Refusal>());
    let mut text = format!("error: {}\n", plain(&error.to_string()));
    for cause in error.chain().skip(1) {
        let _ = writeln!(text, "  caused by: {}", plain(&cause.to_string()));
    }
    if let Some(hint) = refusal.and_then(|refusal| refusal.hint.as_deref()) {
        let _ = writeln!(text, "hint: {hint}");
    }
    (text, refusal.map_or(Exit::Internal, |refusal| refusal.exit))
}

/// The same on one line: a name may hold a line break, and what follows would look like ours.
pub fn inline(text: &str) -> String {
    plain(text).replace('\n', "\u{fffd}")
}

/// Other people's text without control characters, so that it cannot steer a terminal, and
/// without those that turn the direction of writing around.
pub fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}
