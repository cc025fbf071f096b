//! The agent's settings: whether its hooks call us, each once, and whether they can.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tools::version;
use super::{Finding, Place, quoted};
use crate::cli::init;
use crate::edge::agent::settings::{self, Seen};
use crate::edge::agent::{Scope, run_tasks};
use crate::edge::process::{Call, locate};
use crate::edge::wiring;
use crate::kernel::policy::Policy;

/// After how many blocks without a tool call Claude Code ends a turn by itself.
const CAP_DEFAULT: i64 = 8;
const CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";
/// A hook that nobody is waiting for answers at once.
const HOOK_TIME_MAX: Duration = Duration::from_secs(20);

pub fn findings(place: &Place) -> Vec<Finding> {
    // One that is nowhere to be found is told with the programs.
    let program = init::program().unwrap_or_else(|_| "beadlock".to_owned());
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for (scope, path) in init::every_settings(&place.dir, &place.ambient) {
        match looked_at(&path, &program) {
            Ok(seen) => files.push(Settings { scope, path, seen }),
            Err(what) => {
                let path = &path;
                let told = format!("`{}` {what}: the agent reads none of it", path.display());
                let edit = format!("$EDITOR {}", quoted(path));
                findings.push(Finding::problem("hook", told).remedy(edit));
            }
        }
    }
    findings.extend(calls(place, &files, !findings.is_empty()));
    findings.extend(switched_off(&files));
    findings.extend(cap(place, &files));
    if findings.is_empty() {
        let calling = files.iter().filter(|it| it.seen.has_any());
        let paths: Vec<String> = calling.map(|it| it.path.display().to_string()).collect();
        let told = format!("called by {}", paths.join(" and "));
        findings.push(Finding::fine("hook", told));
    }
    findings
}

fn looked_at(path: &Path, program: &str) -> Result<Seen, String> {
    let text = wiring::read(path).map_err(|error| error.to_string())?;
    settings::look(&text.unwrap_or_default(), program).map_err(|error| error.to_string())
}

/// A settings file, and what it says of us.
struct Settings {
    scope: Scope,
    path: PathBuf,
    seen: Seen,
}

impl Settings {
    fn init(&self) -> String {
        format!("beadlock init{}", self.scope.option())
    }
}

fn calls(place: &Place, files: &[Settings], is_one_unread: bool) -> Vec<Finding> {
    let calling: Vec<&Settings> = files.iter().filter(|it| it.seen.has_any()).collect();
    let Some(first) = calling.first() else {
        if is_one_unread {
            return Vec::new();
        }
        let told = "no settings of Claude Code call Beadlock here, so nobody is held";
        return vec![Finding::problem("hook", told).remedy("beadlock init")];
    };
    let mut findings = Vec::new();
    // The same call in two files is made once.
    if calling.len() > 1 && !calling.iter().all(|it| it.seen.is_wired) {
        let paths: Vec<String> = calling
            .iter()
            .map(|it| it.path.display().to_string())
            .collect();
        let told = format!(
            "{} both call it: a stop is judged twice",
            paths.join(" and ")
        );
        let remove = if first.seen.calls.is_empty() {
            format!("$EDITOR {}", quoted(&first.path))
        } else {
            format!("{} --remove", first.init())
        };
        findings.push(Finding::problem("hook", told).remedy(remove));
    }
    for settings in &calling {
        findings.extend(unlike_ours(settings));
        for program in &settings.seen.programs {
            findings.extend(unreachable(place, settings, program));
        }
        findings.extend(without_command(settings));
    }
    findings
}

fn unlike_ours(settings: &Settings) -> Option<Finding> {
    let path = settings.path.display();
    if let Some(line) = settings.seen.composed.first() {
        let told = format!(
            "line {line} of `{path}` calls it in a command of somebody's own, which nobody can check"
        );
        return Some(
            Finding::note("hook", told).remedy(format!("$EDITOR {}", quoted(&settings.path))),
        );
    }
    if settings.seen.is_wired {
        return None;
    }
    let told = format!(
        "`{path}` misses a call at some event, or calls it in another way than `init` writes"
    );
    Some(Finding::problem("hook", told).remedy(settings.init()))
}

/// A hook that cannot be started holds nobody, and the agent tells nobody.
fn unreachable(place: &Place, settings: &Settings, program: &str) -> Option<Finding> {
    let problem = |told: String| Some(Finding::problem("hook", told).remedy(settings.init()));
    let found = if Path::new(program).is_absolute() {
        Some(PathBuf::from(program)).filter(|path| path.is_file())
    } else {
        locate(program)
    };
    let Some(found) = found else {
        return problem(format!(
            "`{program}`, which the hooks call, is not there: nobody is held"
        ));
    };
    let call = Call::new(&found)
        .args(["hook", "stop", "--agent", "claude"])
        .dir(&place.dir)
        .env_remove("CLAUDE_CODE_SESSION_ID")
        .env_remove("BEADLOCK_RUN")
        .deadline(HOOK_TIME_MAX);
    match call.run() {
        Ok(output) if output.code == Some(0) && output.stdout.is_empty() => {}
        Ok(output) => {
            let code = output
                .code
                .map_or("a signal".to_owned(), |code| code.to_string());
            return problem(format!(
                "`{program} hook stop` ended with {code}, and held nobody"
            ));
        }
        Err(error) => return problem(format!("the hooks cannot be called: {error}")),
    }
    let ours = format!("beadlock {}", env!("CARGO_PKG_VERSION"));
    match version(&found, &place.dir) {
        Ok(theirs) if theirs != ours => {
            let told = format!("the hooks call {theirs}, and this is {ours}");
            Some(Finding::note("hook", told).remedy(settings.init()))
        }
        Ok(_) | Err(_) => None,
    }
}

fn without_command(settings: &Settings) -> Option<Finding> {
    let base = settings.path.ancestors().nth(match settings.scope {
        Scope::Project | Scope::Local => 2,
        Scope::User => 1,
    })?;
    let path = base.join(settings.scope.run_tasks());
    let text = wiring::read(&path).ok().flatten();
    if text.is_some_and(|text| run_tasks::is_ours(&text)) {
        return None;
    }
    let told = format!(
        "`{}` is not Beadlock's, so `/run-tasks` gives the agent no prompt",
        path.display()
    );
    Some(Finding::note("hook", told).remedy(settings.init()))
}

fn switched_off(files: &[Settings]) -> Option<Finding> {
    // The narrowest has the last word.
    let said = |it: &Settings| it.seen.disables_all.map(|is_off| (it.path.clone(), is_off));
    let (path, is_off) = files.iter().find_map(said)?;
    let told = format!(
        "`{}` has `disableAllHooks`: Claude Code calls no hook at all",
        path.display()
    );
    let edit = format!("$EDITOR {}", quoted(&path));
    is_off.then(|| Finding::problem("hook", told).remedy(edit))
}

/// The agent's own cap has to be above our limit, or it ends turns that we would hold.
fn cap(place: &Place, files: &[Settings]) -> Option<Finding> {
    let limit = match &place.ground {
        Ok(ground) => ground.config.policy.no_progress_cycles,
        Err(_) => Policy::default().no_progress_cycles,
    };
    let named = place.ambient.variable(CAP).map(str::to_owned);
    let set = || {
        files
            .iter()
            .find_map(|it| it.seen.environment.get(CAP).cloned())
    };
    let cap = match named.or_else(set) {
        Some(text) => text.trim().parse().unwrap_or(CAP_DEFAULT),
        None => CAP_DEFAULT,
    };
    if cap <= 0 || cap > i64::from(limit) {
        return None;
    }
    let told = format!(
        "Claude Code ends a turn after {cap} blocks without a tool call, before `no_progress_cycles` ({limit}) lets it go"
    );
    Some(Finding::problem("cap", told).remedy(format!("export {CAP}={}", limit + 3)))
}
