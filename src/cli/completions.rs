//! `completions`: what a shell needs to complete our commands.

use clap_complete::Shell;

use super::{Exit, print};

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock completions bash > ~/.local/share/bash-completion/completions/beadlock\n  beadlock completions zsh > ~/.zfunc/_beadlock    # with ~/.zfunc in fpath\n  beadlock completions fish > ~/.config/fish/completions/beadlock.fish\n  beadlock completions powershell >> $PROFILE"
)]
pub struct Args {
    shell: Shell,
}

pub fn run(args: &Args) -> Exit {
    let mut command = super::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "beadlock", &mut script);
    print(&String::from_utf8_lossy(&script));
    Exit::Fine
}
