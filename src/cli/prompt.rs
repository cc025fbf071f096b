//! `prompt`: the constant prompt, as the agent will see it.

use serde_json::json;

use super::ambient::{ambient, dir, now, sources};
use super::report::Refusal;
use super::{Exit, print, say};
use crate::arm;
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::Store;

/// Print the constant prompt that an agent is fed for an epic
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  beadlock prompt bd-x7y8\n  beadlock prompt --armed")]
pub struct Args {
    /// The epic's id in the tracker
    #[arg(required_unless_present = "armed", conflicts_with = "armed")]
    epic: Option<String>,
    /// The prompt of the run that holds this session; without one, what is wrong with the wiring
    #[arg(long)]
    armed: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let text = match &args.epic {
        Some(epic) => {
            let preview = arm::preview(epic, &dir(&ambient)?, &sources(&ambient, &[]), now());
            let prompt = preview.map_err(Refusal::from)?;
            if let Some(fault) = &prompt.fault {
                say(&format!("warning: the built-in prompt is used: {fault}"));
            }
            prompt.text
        }
        None => armed(&ambient)?,
    };
    if args.json {
        print(&format!("{}\n", json!({ "schema": 1, "prompt": text })));
    } else {
        print(&format!("{text}\n"));
    }
    Ok(Exit::Fine)
}

/// What the `/run-tasks` command shows the model: its prompt, or why it is not held.
fn armed(ambient: &Ambient) -> anyhow::Result<String> {
    let Some(session) = Claude.session_inside(ambient) else {
        return Err(Refusal::new(
            Exit::NotDone,
            "this is no agent's session: CLAUDE_CODE_SESSION_ID is not set",
        )
        .hint("`beadlock prompt EPIC` shows the prompt of any epic")
        .into());
    };
    let places = Claude.places(ambient);
    let dirs = match places.of_session(&session).map_err(Refusal::from)? {
        Some(known) => vec![known],
        None => places.around(),
    };
    for dir in dirs {
        let mut store = Store::open(&dir).map_err(Refusal::from)?;
        let kept = store.run_of_session(&session).map_err(Refusal::from)?;
        if let Some(kept) = kept.filter(|kept| !kept.run.is_over()) {
            return Ok(kept.run.prompt);
        }
    }
    Err(not_armed().into())
}

fn not_armed() -> Refusal {
    Refusal::new(Exit::NotDone, "no run holds this session, so nobody is guarded")
        .hint("the hook `beadlock hook user-prompt` is not wired where the agent was started (`beadlock init` wires it), or was refused; tell the person, and do not start the work")
}
