//! The command line: one file per subcommand, dispatched here.

mod exit;
mod report;
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
    Task(task::Args),
}

pub fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => dispatch(&cli.command).unwrap_or_else(|error| report::report(&error)),
        Err(error) => usage(&error),
    };
    exit.into()
}

fn dispatch(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Task(args) => task::run(args),
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
