//! `task`: the embedded tracker, for projects without one.

use super::Exit;

/// Keep tasks in `.beads/issues.jsonl`, for projects without a tracker of their own
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    Ok(Exit::Fine)
}
