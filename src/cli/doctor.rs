//! `doctor`: looks at everything that holding an agent rests on, and names a remedy for whatever is
//! wrong with it.

mod leftovers;
mod store;
mod tools;
mod tracker;
mod wiring;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::ambient::{ambient, dir, sources};
use super::found::Stores;
use super::report::plain;
use super::{Exit, print};
use crate::edge::agent::{Agent, Ambient, Claude};
use crate::edge::store::StoreDir;
use crate::ground::{self, Ground};

/// Find out what would keep an agent from being held, and how to mend it
///
/// Exit code 0: nothing is wrong; 1: something is, with its remedy; 4: something could not be found out.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  beadlock doctor\n  beadlock doctor bd-x7y8      # and whether this epic can be read\n  beadlock doctor --fix"
)]
pub struct Args {
    /// An epic that is to be worked on; the epics of open runs are looked at in any case
    epic: Option<String>,
    /// Apply the remedies that are safe
    #[arg(long)]
    fix: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ambient = ambient();
    let place = Place::of(&dir(&ambient)?, &ambient);
    let mut findings = tools::findings(&place);
    findings.push(config(&place));
    findings.extend(wiring::findings(&place));
    findings.extend(tracker::findings(&place, args.epic.as_deref()));
    findings.extend(store::findings(&place));
    findings.extend(leftovers::findings(&place));
    if args.fix {
        findings = findings.into_iter().map(Finding::mended).collect();
    }
    if args.json {
        let findings: Vec<Value> = findings.iter().map(Finding::fact).collect();
        print(&format!(
            "{}\n",
            json!({ "schema": 1, "findings": findings })
        ));
    } else {
        let lines: Vec<String> = findings.iter().map(Finding::text).collect();
        print(&lines.concat());
        print(&summary(&findings, args.fix));
    }
    Ok(exit(&findings))
}

/// Where the doctor was called.
struct Place {
    dir: PathBuf,
    ambient: Ambient,
    ground: Result<Ground, ground::Error>,
    /// Those that may hold somebody here, the nearest first.
    stores: Vec<StoreDir>,
    /// Those that sessions are still led to, although they are gone.
    lost: Vec<StoreDir>,
    /// Where one would be made.
    store: StoreDir,
}

impl Place {
    fn of(dir: &Path, ambient: &Ambient) -> Place {
        let ground = Ground::of(dir, &sources(ambient, &[]));
        let home = ground.as_ref().map_or(dir, |ground| &ground.home);
        let inside = Claude.session_inside(ambient);
        let stores = Stores::of(ambient, &[inside.as_deref()]);
        let mut lost = stores.elsewhere();
        lost.retain(|dir| !dir.database().exists());
        Place {
            stores: stores.around().to_vec(),
            lost,
            store: Claude.places(ambient).store_at(home),
            dir: dir.to_owned(),
            ambient: ambient.clone(),
            ground,
        }
    }
}

/// What one look came to.
struct Finding {
    /// What was looked at, in a word.
    subject: &'static str,
    health: Health,
    said: String,
    /// A command, mostly; what a person can do about it.
    remedy: Option<String>,
    fix: Option<Fix>,
}

/// Mends it and says how, or why not.
type Fix = Box<dyn FnOnce() -> Result<String, String>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Fine,
    /// Worth knowing, and nothing that has to be mended.
    Note,
    Problem,
    /// It could not be found out.
    Unknown,
    Mended,
}

impl Health {
    fn name(self) -> &'static str {
        match self {
            Health::Fine => "ok",
            Health::Note => "note",
            Health::Problem => "problem",
            Health::Unknown => "unknown",
            Health::Mended => "mended",
        }
    }
}

impl Finding {
    fn new(subject: &'static str, health: Health, said: impl Into<String>) -> Finding {
        Finding {
            subject,
            health,
            said: said.into(),
            remedy: None,
            fix: None,
        }
    }

    fn fine(subject: &'static str, said: impl Into<String>) -> Finding {
        Finding::new(subject, Health::Fine, said)
    }

    fn note(subject: &'static str, said: impl Into<String>) -> Finding {
        Finding::new(subject, Health::Note, said)
    }

    fn problem(subject: &'static str, said: impl Into<String>) -> Finding {
        Finding::new(subject, Health::Problem, said)
    }

    fn unknown(subject: &'static str, said: impl Into<String>) -> Finding {
        Finding::new(subject, Health::Unknown, said)
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }

    fn fix(mut self, fix: impl FnOnce() -> Result<String, String> + 'static) -> Finding {
        self.fix = Some(Box::new(fix));
        self
    }

    fn mended(mut self) -> Finding {
        let Some(fix) = self.fix.take() else {
            return self;
        };
        match fix() {
            Ok(how) => Finding {
                said: format!("{}: {how}", self.said),
                health: Health::Mended,
                remedy: None,
                ..self
            },
            Err(what) => Finding {
                said: format!("{}; it could not be mended: {what}", self.said),
                ..self
            },
        }
    }

    fn text(&self) -> String {
        let (health, said) = (self.health.name(), plain(&self.said));
        let remedy = self.remedy.as_deref().map_or(String::new(), |remedy| {
            format!("{:18} remedy: {}\n", "", plain(remedy))
        });
        format!("{health:<8} {:<9} {said}\n{remedy}", self.subject)
    }

    fn fact(&self) -> Value {
        json!({
            "subject": self.subject,
            "health": self.health.name(),
            "said": self.said,
            "remedy": self.remedy,
            "fixable": self.fix.is_some(),
        })
    }
}

fn config(place: &Place) -> Finding {
    match &place.ground {
        Err(ground::Error::Config(error)) => {
            let told = Finding::problem("config", error.to_string());
            told.remedy("correct it there; `project.yaml.example` of Beadlock has every key")
        }
        Ok(ground) if !ground.config.is_enabled => {
            let told = "`enabled` is false: every stop is let go";
            Finding::problem("config", told).remedy("take `enabled: false` out of the settings")
        }
        Ok(ground) if ground.project_file.exists() => {
            let file = ground.project_file.display();
            Finding::fine("config", format!("{file} is valid"))
        }
        Ok(_) => Finding::fine("config", "no project.yaml here: the defaults are used"),
        // What is wrong is the tracker, and is said there.
        Err(ground::Error::Tracker(_)) => Finding::fine("config", "what there is of it is valid"),
    }
}

/// A path in a line that is made to be pasted into a shell.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    shlex::try_quote(&path).map_or_else(|_| path.to_string(), std::borrow::Cow::into_owned)
}

fn summary(findings: &[Finding], is_fixing: bool) -> String {
    let count = |health| findings.iter().filter(|it| it.health == health).count();
    let fixable = findings.iter().filter(|it| it.fix.is_some()).count();
    let wrong = match (count(Health::Problem), count(Health::Unknown)) {
        (0, 0) => "nothing is wrong\n".to_owned(),
        (problems, 0) => format!("{problems} to be mended\n"),
        (problems, unknown) => format!("{problems} to be mended, {unknown} not found out\n"),
    };
    if fixable == 0 || is_fixing {
        return wrong;
    }
    format!("{wrong}`beadlock doctor --fix` mends {fixable} by itself\n")
}

fn exit(findings: &[Finding]) -> Exit {
    let any = |health| findings.iter().any(|it| it.health == health);
    if any(Health::Problem) {
        Exit::NotDone
    } else if any(Health::Unknown) {
        Exit::Unknown
    } else {
        Exit::Fine
    }
}
