//! bd, asked by its own program. One call reads everything there is, and what comes back is
//! believed only if it is whole; whatever is changed is looked at again afterwards.

mod answer;
mod token;
mod write;

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use self::token::Around;
use super::{Commands, Error, Files, Kind, List, Patience, Token, Tracker, WhenLate, Workspace};
use crate::edge::git::LOCAL_ENVIRONMENT;
use crate::edge::process::{self, Call, Output};
use crate::kernel::moment::Moment;
use crate::kernel::task::{Task, TaskId};

const PROGRAM: &str = "bd";

/// Everything in one call: every status, and no limit, whatever the version's default is.
const LIST: [&str; 6] = ["list", "--all", "--include-gates", "--json", "--limit", "0"];

/// What bd hides from a list and yet offers as ready, or blocks others with: tasks that keep no
/// history, types that the project calls infrastructure, templates.
const HIDDEN: [&str; 2] = ["--include-infra", "--include-templates"];

/// What a version says, 0.49 for one, that does not hide them and has no such switch.
const UNKNOWN_SWITCH: &str = "unknown flag";

/// Nothing leaves the machine: the first is what bd 1.2 and 1.3 go by, and OpenTelemetry would also
/// stand before the answer. Set to nothing rather than taken away, since bd reads whatever is absent
/// from `.beads/.env`.
const QUIET: [(&str, &str); 9] = [
    ("BD_DISABLE_METRICS", "1"),
    ("DO_NOT_TRACK", "1"),
    ("BD_DISABLE_EVENT_FLUSH", "1"),
    ("BD_METRICS_DISABLED", "true"),
    ("OTEL_SDK_DISABLED", "true"),
    ("BD_OTEL_ENABLED", ""),
    ("BD_OTEL_METRICS_URL", ""),
    ("BD_OTEL_LOGS_URL", ""),
    ("BD_OTEL_STDOUT", ""),
];

/// What would else change the answer or do more than was asked: an envelope, a limit, a backup that
/// runs even after a read. Of `directory.labels` bd looks for the folders' names anywhere in our
/// path, and leaves out tasks without the label, of what is listed and of what is ready. A database
/// newer than the program is unknown, whoever chose to read it all the same.
const PLAIN: [(&str, &str); 9] = [
    ("BD_JSON_ENVELOPE", "0"),
    ("BD_BACKUP_ENABLED", "false"),
    ("BD_NON_INTERACTIVE", "1"),
    ("BD_NO_PAGER", "1"),
    ("NO_COLOR", "1"),
    ("BEADS_NO_DAEMON", "1"),
    ("BEADS_MAX_ROWS", ""),
    ("BD_DIRECTORY_LABELS", "{}"),
    ("BD_IGNORE_SCHEMA_SKEW", ""),
];

/// A thousand tasks are one megabyte.
const OUTPUT_BYTES_MAX: usize = 128 << 20;

/// A write is never ended; this is how long we wait to see what became of it.
const WRITE_DEADLINE: Duration = Duration::from_secs(60);

const GATE_LOCK: &str = ".beads.gate.lock";

/// How much of what a program said is passed on.
const SAID_BYTES_MAX: usize = 300;

#[derive(Clone, Debug)]
pub struct Bd {
    workspace: Workspace,
    program: Option<PathBuf>,
    around: Around,
    write_deadline: Duration,
}

impl Bd {
    pub fn of(workspace: &Workspace) -> Bd {
        Bd {
            workspace: workspace.clone(),
            program: process::locate(PROGRAM),
            around: Around::ours(),
            write_deadline: WRITE_DEADLINE,
        }
    }

    /// Another bd than the first on the path.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<PathBuf>) -> Bd {
        self.program = Some(program.into());
        self
    }

    /// Waits only so long to see what became of a write.
    #[must_use]
    pub fn with_write_deadline(mut self, deadline: Duration) -> Bd {
        self.write_deadline = deadline;
        self
    }

    /// A call that reads.
    fn reading(&self, patience: Patience) -> Result<Call, Error> {
        let call = self.call()?;
        Ok(call
            .deadline(patience.deadline)
            .when_late(patience.when_late))
    }

    /// A call that changes something, under the name of whoever does it.
    fn writing(&self, actor: &str) -> Result<Call, Error> {
        let call = self
            .call()?
            .env("BEADS_ACTOR", actor)
            .env_remove("BD_ACTOR");
        Ok(call
            .deadline(self.write_deadline)
            .when_late(WhenLate::Leave))
    }

    /// bd with everything switched off that is none of our business.
    fn call(&self) -> Result<Call, Error> {
        let Some(program) = &self.program else {
            return Err(Error::NoProgram { program: PROGRAM });
        };
        let call = quiet(Call::new(program.as_os_str()));
        let mut call = with(call, &PLAIN)
            .dir(&self.workspace.root)
            .env_remove("BD_JSON");
        call.output_bytes_max = OUTPUT_BYTES_MAX;
        // Inside a git hook these name another repository.
        call = LOCAL_ENVIRONMENT.iter().fold(call, Call::env_remove);
        Ok(match &self.workspace.named {
            Some(folder) => call.env("BEADS_DIR", folder),
            None => call.env_remove("BEADS_DIR"),
        })
    }

    fn read(&self, patience: Patience) -> Result<Vec<Task>, Error> {
        if let Some(path) = token::missing_database(&self.workspace, &self.around) {
            return Err(Error::NoDatabase { path });
        }
        let mut call = self.reading(patience)?.args(LIST).args(HIDDEN);
        let mut said = said_by(&call);
        if let Err(Error::Program { what, .. }) = &said
            && what.contains(UNKNOWN_SWITCH)
        {
            call = self.reading(patience)?.args(LIST);
            said = said_by(&call);
        }
        let mut said = said?;
        if answer::is_words(&said.answer) {
            // 0.59 prints a tree in spite of `--json`; before it nobody knows the switch.
            let flat = said_by(&call.clone().arg("--flat"));
            said = flat.unwrap_or(said);
        }
        said.tasks(&call)
    }
}

impl Tracker for Bd {
    fn kind(&self) -> Kind {
        Kind::Bd
    }

    fn tasks(&self, patience: Patience) -> Result<List, Error> {
        let before = self.token();
        let tasks = self.read(patience)?;
        let after = self.token();
        Ok(List {
            tasks,
            // Somebody wrote while bd was reading: which of the two states this is cannot be told.
            token: after.filter(|after| Some(after) == before.as_ref()),
        })
    }

    fn token(&self) -> Option<Token> {
        token::of(&self.workspace, &self.program()?, &self.around)
    }

    fn is_slow(&self) -> bool {
        true
    }

    /// Where the program is, and what tells it from another build in the same place.
    fn program(&self) -> Option<String> {
        let path = self.program.as_ref()?;
        let metadata = path.metadata().ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(format!(
            "{} {} {}",
            path.display(),
            metadata.len(),
            modified.as_nanos()
        ))
    }

    fn own_ready(&self, epic: &TaskId, patience: Patience) -> Result<Option<Vec<TaskId>>, Error> {
        if !epic.is_plain() {
            return Err(Error::Id { id: epic.clone() });
        }
        let call = self
            .reading(patience)?
            // Since 1.3 it wakes deferred tasks on the way: a write, and those are never ended.
            .when_late(WhenLate::Leave)
            .args(["ready", "--parent", epic.as_str(), "--limit", "0"])
            .args(["--exclude-type=epic", "--json"]);
        let ready = said_by(&call)?.tasks(&call)?;
        Ok(Some(ready.into_iter().map(|task| task.id).collect()))
    }

    fn claim(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error> {
        self.claimed(id, actor, now)
    }

    fn heartbeat(&self, id: &TaskId, actor: &str, now: Moment) -> Result<(), Error> {
        self.renewed(id, actor, now)
    }

    fn release(
        &self,
        id: &TaskId,
        actor: &str,
        now: Moment,
        note: Option<&str>,
    ) -> Result<(), Error> {
        self.released(id, actor, now, note)
    }

    fn note(&self, id: &TaskId, text: &str, actor: &str, _now: Moment) -> Result<(), Error> {
        self.noted(id, text, actor)
    }

    fn close(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        actor: &str,
        now: Moment,
    ) -> Result<(), Error> {
        self.closed(id, reason, actor, now)
    }

    fn block(&self, id: &TaskId, reason: &str, actor: &str, _now: Moment) -> Result<(), Error> {
        self.blocked(id, reason, actor)
    }

    fn commands(&self) -> Commands {
        Commands {
            ready: "bd ready --parent EPIC --exclude-type=epic --limit 0".to_owned(),
            claim: "bd update ID --claim".to_owned(),
            close: "bd close ID --reason TEXT".to_owned(),
            block: "bd update ID --status blocked --append-notes TEXT".to_owned(),
        }
    }

    fn files(&self) -> Files {
        Files {
            tracker_file: None,
            not_work: vec![self.workspace.folder()],
            // 1.3 leaves it beside its folder, and hides it from git only where it made that one.
            temporary: Some(self.workspace.folder().with_file_name(GATE_LOCK)),
        }
    }
}

/// A call of bd that tells nobody about it.
pub fn quiet(call: Call) -> Call {
    with(call, &QUIET)
}

fn with(call: Call, variables: &[(&str, &str)]) -> Call {
    let set = |call: Call, (name, value): &(&str, &str)| call.env(*name, *value);
    variables.iter().fold(call, set)
}

/// What a call that went well printed.
struct Said {
    answer: String,
    /// Beside the answer, on the stream for errors.
    talk: String,
}

impl Said {
    fn tasks(&self, call: &Call) -> Result<Vec<Task>, Error> {
        answer::tasks(&self.answer).map_err(|what| {
            let talk = answer::complaint(&self.talk);
            let is_all = self.answer.trim().is_empty() && !talk.is_empty();
            let what = if is_all {
                format!("{what}: {talk}")
            } else {
                what
            };
            let command = named(call);
            Error::Program { command, what }
        })
    }
}

/// Runs a call and gives back its answer, if it says that all went well.
fn answer_of(call: &Call) -> Result<String, Error> {
    said_by(call).map(|said| said.answer)
}

fn said_by(call: &Call) -> Result<Said, Error> {
    let refused = |what: String| Error::Program {
        command: named(call),
        what,
    };
    let output = call.run().map_err(|error| match error {
        process::Error::NotFound { .. } => Error::NoProgram { program: PROGRAM },
        process::Error::Deadline {
            seconds,
            stderr_tail,
            ..
        } => {
            let tail = answer::complaint(&stderr_tail);
            let said = if tail.is_empty() {
                tail
            } else {
                format!(": {tail}")
            };
            refused(format!("had not ended after {seconds} s{said}"))
        }
        error @ (process::Error::Spawn { .. } | process::Error::Io { .. }) => {
            refused(format!("could not be run: {error}"))
        }
    })?;
    if output.is_truncated {
        let mebibytes = OUTPUT_BYTES_MAX >> 20;
        return Err(refused(format!("printed more than {mebibytes} MiB")));
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.code {
        Some(0) => match answer::error_in(&said) {
            Some(what) => Err(refused(format!("answered with an error: {what}"))),
            None => Ok(Said {
                answer: said,
                talk: String::from_utf8_lossy(&output.stderr).into_owned(),
            }),
        },
        Some(code) => Err(refused(format!(
            "exited with {code}{}",
            reason(&output, &said)
        ))),
        None => Err(refused(format!(
            "was ended by a signal{}",
            reason(&output, &said)
        ))),
    }
}

/// The call by its name: enough to run it by hand, and short enough for one line.
fn named(call: &Call) -> String {
    let what = call.args.first().map(|word| word.to_string_lossy());
    format!("{PROGRAM} {}", what.unwrap_or_default())
}

/// What a program had to say about its failure: on the stream for errors, or in its JSON.
fn reason(output: &Output, said: &str) -> String {
    let told = answer::error_in(said);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let text = told.unwrap_or_else(|| answer::complaint(&stderr));
    if text.is_empty() {
        " and said nothing".to_owned()
    } else {
        format!(": {text}")
    }
}

/// The lines of a message as one, cut to what is worth passing on.
fn brief(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let mut line = line.join(" ");
    if line.len() > SAID_BYTES_MAX {
        let mut end = SAID_BYTES_MAX;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        line.push('…');
    }
    line
}
