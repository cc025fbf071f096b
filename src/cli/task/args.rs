//! What can be said to `beadlock task`.

use clap::{Subcommand, ValueEnum};

/// Keep tasks in `.beads/issues.jsonl`, for projects without a tracker of their own
///
/// An epic is a task with tasks below it. A task is ready when it is open and nothing it waits
/// for is. The file is made for git: one task a line, and nothing but that line changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  epic=$(beadlock task add 'Ship the parser' --type epic)
  beadlock task add 'Write the lexer' --epic $epic
  beadlock task ready --epic $epic")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// In whose name: else `BEADS_ACTOR`, `BD_ACTOR`, git's `user.name` or the login name
    #[arg(long, global = true, value_name = "NAME")]
    pub actor: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Add(AddArgs),
    List(ListArgs),
    Ready(ReadyArgs),
    /// Show all that is known about one task
    #[command(after_help = "Example:\n  beadlock task show app-x7y8.1")]
    Show(OneArgs),
    /// Take a task, for five minutes at a time; start it again to keep it
    #[command(after_help = "Example:\n  beadlock task start app-x7y8.1")]
    Start(OneArgs),
    Close(CloseArgs),
    Block(BlockArgs),
    Note(NoteArgs),
    /// Give a task back, so that anybody can take it
    #[command(after_help = "Example:\n  beadlock task release app-x7y8.1")]
    Release(OneArgs),
    /// Open a closed or blocked task again
    #[command(after_help = "Example:\n  beadlock task reopen app-x7y8.1")]
    Reopen(OneArgs),
}

/// Write a new task down; prints its id
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  beadlock task add 'Write the parser' --epic app-x7y8 --blocked-by app-x7y8.1")]
pub struct AddArgs {
    /// What is to be done, in one line
    #[arg(value_parser = title)]
    pub title: String,
    /// The epic or task it belongs to
    #[arg(long, visible_alias = "epic", value_name = "ID")]
    pub parent: Option<String>,
    /// What sort of task; an epic is there to have tasks below it
    #[arg(long = "type", value_enum, default_value_t = TaskType::Task, value_name = "TYPE")]
    pub type_name: TaskType,
    /// 0 is the most urgent, 4 the least
    #[arg(long, default_value_t = 2, value_name = "0-4",
        value_parser = clap::value_parser!(u8).range(0..=4))]
    pub priority: u8,
    /// Everything a worker has to know
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
    /// A task that has to be closed first; can be given several times
    #[arg(long, value_name = "ID")]
    pub blocked_by: Vec<String>,
    /// An id of your own choice
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
}

/// bd's own types for what people work on. A misspelt one must not quietly become a task.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TaskType {
    Task,
    Epic,
    Bug,
    Feature,
    Chore,
    Decision,
}

impl TaskType {
    pub fn name(self) -> &'static str {
        match self {
            TaskType::Task => "task",
            TaskType::Epic => "epic",
            TaskType::Bug => "bug",
            TaskType::Feature => "feature",
            TaskType::Chore => "chore",
            TaskType::Decision => "decision",
        }
    }
}

/// bd imports no longer ones.
const TITLE_CHARS_MAX: usize = 500;

fn title(text: &str) -> Result<String, String> {
    let title = text.trim();
    match title.chars().count() {
        0 => Err("a task needs a title".to_owned()),
        1..=TITLE_CHARS_MAX => Ok(title.to_owned()),
        _ => Err(format!(
            "longer than {TITLE_CHARS_MAX} characters; `--description` has room for more"
        )),
    }
}

fn words(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("it has to say something".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// List tasks that are not closed, the most urgent first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  beadlock task list --epic app-x7y8 --all")]
pub struct ListArgs {
    /// Only the tasks below this one
    #[arg(long, value_name = "ID")]
    pub epic: Option<String>,
    /// Only tasks with this status, as written down: `open`, `in_progress`, `closed`, …
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub status: Vec<String>,
    /// Closed tasks too
    #[arg(long)]
    pub all: bool,
}

/// List tasks that can be worked on now, the most urgent first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  beadlock task ready --epic app-x7y8")]
pub struct ReadyArgs {
    /// Only the tasks below this one
    #[arg(long, value_name = "ID")]
    pub epic: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct OneArgs {
    pub id: String,
}

/// Close a task that is done
///
/// Refused while something it waits for, or a task below it, is still open.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  beadlock task close app-x7y8.1 --reason 'lexer and its tests are in'")]
pub struct CloseArgs {
    pub id: String,
    /// What came of it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
}

/// Mark a task as one that only a person can move on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  beadlock task block app-x7y8.1 --reason 'needs the API key of the test account'")]
pub struct BlockArgs {
    pub id: String,
    /// What is missing; it is added to the task's notes
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = words)]
    pub reason: String,
}

/// Add a line to a task's notes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  beadlock task note app-x7y8.1 'the old lexer is in attic/'")]
pub struct NoteArgs {
    pub id: String,
    #[arg(value_parser = words)]
    pub text: String,
}
