//! The command line: one file per subcommand, dispatched here.

mod ambient;
mod exit;
mod hook;
mod prompt;
mod report;
mod runs;
mod start;
mod status;
mod task;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    Start(start::Args),
    Status(status::Args),
    Pause(runs::PauseArgs),
    Resume(runs::ResumeArgs),
    Abort(runs::AbortArgs),
    Adopt(runs::AdoptArgs),
    Prompt(prompt::Args),
    Task(task::Args),
    Hook(hook::Args),
}

pub fn main() -> ExitCode {
    // The one line that runs at every stop of every session: building the whole command tree
    // would cost it more than everything else it does for a session without a run.
    let args: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if args == ["hook", "stop"] || args == ["hook", "stop", "--agent", "claude"] {
        return hook::run(&hook::Args::stop()).into();
    }
    let exit = match Cli::try_parse() {
        Ok(cli) => dispatch(&cli.command).unwrap_or_else(|error| report::report(&error)),
        Err(error) => usage(&error),
    };
    exit.into()
}

fn dispatch(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Start(args) => start::run(args),
        Command::Status(args) => status::run(args),
        Command::Pause(args) => runs::pause(args),
        Command::Resume(args) => runs::resume(args),
        Command::Abort(args) => runs::abort(args),
        Command::Adopt(args) => runs::adopt(args),
        Command::Prompt(args) => prompt::run(args),
        Command::Task(args) => task::run(args),
        Command::Hook(args) => Ok(hook::run(args)),
    }
}

/// Help and version are fine; everything else is a usage error, never clap's own 2.
fn usage(error: &clap::Error) -> Exit {
    // A closed pipe is no reason to fail.
    let _ = error.print();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Fine
    }
}

/// Data for stdout: one write, last. A closed pipe is no error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Talk for stderr.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
