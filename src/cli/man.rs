//! `man`: the manual, a page for each command.

use anyhow::Context;
use clap_mangen::Man;

use super::report::{Refusal, inline};
use super::{Exit, print};

/// Print a page of the manual
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock man > ~/.local/share/man/man1/beadlock.1\n  beadlock man task add > ~/.local/share/man/man1/beadlock-task-add.1\n  beadlock man start | man -l -"
)]
pub struct Args {
    /// The command whose page it is; without it the page about all of them
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut command = super::command();
    // Each command by its whole name from here on, as its page is called.
    command.build();
    for (depth, name) in args.path.iter().enumerate() {
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| {
            let path = args.path[..=depth].join(" ");
            Refusal::new(
                Exit::Usage,
                format!("there is no command `{}`", inline(&path)),
            )
            .hint("`beadlock --help` lists them")
        })?;
    }
    let name = command.get_display_name().unwrap_or("beadlock").to_owned();
    let mut page = Vec::new();
    let man = Man::new(command).title(name).manual("Beadlock");
    man.render(&mut page).context("could not make the page")?;
    print(&String::from_utf8_lossy(&page));
    Ok(Exit::Fine)
}
