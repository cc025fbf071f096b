//! The command line: one file per subcommand, dispatched here.

mod ambient;
mod chosen;
mod completions;
mod doctor;
mod exit;
mod found;
mod hook;
mod init;
mod log;
mod man;
mod prompt;
mod replay;
mod report;
mod runs;
mod start;
mod status;
mod task;
mod why;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser, Subcommand};

use crate::edge::process;

pub use exit::Exit;

/// Holds a coding agent at its Stop hook until the task tracker says the epic is done.
#[derive(Debug, Parser)]
#[command(name = "beadlock", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Start(start::Args),
    Status(status::Args),
    Why(why::Args),
    Log(log::Args),
    Replay(replay::Args),
    Doctor(doctor::Args),
    Pause(runs::PauseArgs),
    Resume(runs::ResumeArgs),
    Abort(runs::AbortArgs),
    Adopt(runs::AdoptArgs),
    Prompt(prompt::Args),
    Task(task::Args),
    Hook(hook::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The whole tree of commands, as it is parsed, completed and printed.
pub fn command() -> clap::Command {
    Cli::command()
}

pub fn main() -> ExitCode {
    process::outlive_file_limits();
    // The one line that runs at every stop of every session: building the whole command tree
    // would cost it more than everything else it does for a session without a run.
    let args: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if args == ["hook", "stop"] || args == ["hook", "stop", "--agent", "claude"] {
        return hook::run(&hook::Args::stop()).into();
    }
    let exit = match Cli::try_parse() {
        Ok(cli) => {
            let exit = dispatch(&cli.command).unwrap_or_else(|error| report::report(&error));
            match cli.command {
                // A fault of ours may hold nobody, whatever it is.
                Command::Hook(_) => exit,
                _ => delivered(exit),
            }
        }
        Err(error) => usage(&error),
    };
    exit.into()
}

fn dispatch(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Init(args) => init::run(args),
        Command::Start(args) => start::run(args),
        Command::Status(args) => status::run(args),
        Command::Why(args) => why::run(args),
        Command::Log(args) => log::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Pause(args) => runs::pause(args),
        Command::Resume(args) => runs::resume(args),
        Command::Abort(args) => runs::abort(args),
        Command::Adopt(args) => runs::adopt(args),
        Command::Prompt(args) => prompt::run(args),
        Command::Task(args) => task::run(args),
        Command::Hook(args) => Ok(hook::run(args)),
        Command::Completions(args) => Ok(completions::run(args)),
        Command::Man(args) => man::run(args),
    }
}

/// Help and version are fine; everything else is a usage error, never clap's own 2.
fn usage(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // A closed pipe is no reason to fail.
        let _ = error.print();
        return Exit::Fine;
    }
    let text = error.render().to_string();
    if text.len() > USAGE_BYTES_MAX {
        // It repeats what it was given, and an agent would have to read all of that.
        let start: String = text.chars().take(USAGE_CHARS_SHOWN).collect();
        say(&format!("{start}…\n\nFor more information, try '--help'."));
    } else {
        let _ = error.print();
    }
    Exit::Usage
}

/// More than any message about a line that a person has typed.
const USAGE_BYTES_MAX: usize = 4000;
const USAGE_CHARS_SHOWN: usize = 400;

/// What kept data from stdout. Commands print last, and once: nobody in between needs to know.
static LOST: OnceLock<std::io::Error> = OnceLock::new();

/// Data for stdout: one write, last. A closed pipe is no error: the reader has seen enough.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error);
    }
}

/// How a command ends whose data may not have got anywhere.
fn delivered(exit: Exit) -> Exit {
    let Some(error) = LOST.get() else {
        return exit;
    };
    say(&format!(
        "error: could not write to stdout\n  caused by: {error}"
    ));
    Exit::Internal
}

/// Talk for stderr.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
