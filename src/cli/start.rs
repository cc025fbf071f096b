//! `start`: arms a run by hand, for an agent's session that somebody else launches.

use serde_json::json;

use super::ambient::{actor, ambient, asked_by, dir, now, session, sources};
use super::report::{Refusal, plain};
use super::{Exit, print, say};
use crate::arm::{self, Armed, Wish};
use crate::edge::agent::{Agent, Claude};
use crate::kernel::ledger::State;
use crate::kernel::ownership::{Disposition, How};
use crate::render::command;

/// Hold an agent's session until an epic is done
///
/// Arms a run for the session and prints the prompt to give to the agent. From then on every
/// attempt of that session to stop is judged by `beadlock hook stop`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    beadlock start bd-x7y8 --session 844dc4cf-50bf-4aa7-ae34-049ddab17e10\n  \
    beadlock start bd-x7y8 --session \"$ID\" --set max_cycles=20")]
pub struct Args {
    /// The epic's id in the tracker
    epic: String,
    /// The agent's own id of the session; inside a session it is known
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// End the session's run of another epic
    #[arg(long)]
    replace: bool,
    /// A setting for this run, over every file: `--set max_cycles=20`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Print facts as JSON instead of the prompt
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let inside = Claude.session_inside(&ambient);
    let session = session(args.session.as_ref(), inside.as_ref())?;
    let dir = dir(&ambient)?;
    let wish = Wish {
        epic: args.epic.clone(),
        by: asked_by(&ambient),
        places: Claude.places(&ambient),
        session,
        actor: actor(None, &ambient, &dir),
        dir,
        inside: inside.clone(),
        how: How::ByHand,
        prompt: None,
        replace: args.replace,
        sources: sources(&ambient, &args.settings),
        now: now(),
    };
    let armed = arm::arm(&wish).map_err(Refusal::from)?;
    for warning in &armed.warnings {
        say(&format!("warning: {}", plain(warning)));
    }
    if args.json {
        print(&facts(&armed));
    } else {
        say(&summary(&armed));
        print(&format!("{}\n", armed.kept.run.prompt));
    }
    Ok(Exit::Fine)
}

fn summary(armed: &Armed) -> String {
    let run = &armed.kept.run;
    let (id, epic, session) = (&run.id, &run.epic, plain(&run.session));
    match (armed.what, run.state) {
        (Disposition::New, _) => {
            format!("run `{id}` holds session `{session}` until `{epic}` is done")
        }
        (Disposition::Wake, _) => {
            format!("run `{id}` goes on and holds session `{session}` until `{epic}` is done")
        }
        (Disposition::TakeOver, _) => {
            format!(
                "run `{id}` was taken over and holds session `{session}` until `{epic}` is done"
            )
        }
        (Disposition::Show, State::Active) => {
            format!("run `{id}` holds session `{session}` already, until `{epic}` is done")
        }
        (Disposition::Show, state) => format!(
            "run `{id}` of session `{session}` is {} and holds nobody; a person's {} goes on",
            state.name(),
            command("resume", epic.as_str())
        ),
    }
}

fn facts(armed: &Armed) -> String {
    let run = &armed.kept.run;
    let what = match armed.what {
        Disposition::New => "new",
        Disposition::Wake => "woken",
        Disposition::TakeOver => "taken_over",
        Disposition::Show => "shown",
    };
    let facts = json!({
        "schema": 1,
        "run": run.id,
        "epic": run.epic.as_str(),
        "session": run.session,
        "armed": what,
        "prompt": run.prompt,
        "warnings": armed.warnings,
        "store": armed.store.path().to_string_lossy(),
    });
    format!("{facts}\n")
}
