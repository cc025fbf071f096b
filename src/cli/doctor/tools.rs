//! The programs beside us: git, the agent, and ourselves.

use std::path::Path;
use std::time::Duration;

use super::{Finding, Place};
use crate::edge::process::{Call, locate};
use crate::edge::tracker::bd;

/// The first with `--no-optional-locks`, without which a look at the work tree would write to it.
const GIT_OLDEST: [u32; 2] = [2, 15];
/// The oldest that is tried at every change of Beadlock.
const CLAUDE_OLDEST: [u32; 3] = [2, 1, 197];
/// The agent takes a while to start.
const VERSION_TIME_MAX: Duration = Duration::from_secs(20);

pub fn findings(place: &Place) -> Vec<Finding> {
    vec![ourselves(), git(place), agent(place)]
}

fn ourselves() -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    match std::env::current_exe() {
        Ok(program) => Finding::fine("beadlock", format!("{version}, {}", program.display())),
        Err(error) => Finding::unknown(
            "beadlock",
            format!("{version}, nobody knows where: {error}"),
        ),
    }
}

fn git(place: &Place) -> Finding {
    let install = if cfg!(target_os = "macos") {
        "xcode-select --install"
    } else if cfg!(windows) {
        "winget install Git.Git"
    } else {
        "sudo apt-get install git"
    };
    let Some(program) = locate("git") else {
        let told = Finding::problem(
            "git",
            "there is none on PATH, so nobody can tell what is saved",
        );
        return told.remedy(install);
    };
    match version(&program, &place.dir) {
        Err(what) => Finding::problem("git", what).remedy("git --version"),
        Ok(said) if is_older(&said, &GIT_OLDEST) => {
            let [major, minor] = GIT_OLDEST;
            let told = format!("{said} is older than {major}.{minor}");
            Finding::problem("git", told).remedy(install)
        }
        Ok(said) => Finding::fine("git", format!("{said}, {}", program.display())),
    }
}

fn agent(place: &Place) -> Finding {
    let install = "npm install -g @anthropic-ai/claude-code";
    let Some(program) = locate("claude") else {
        // It may be an editor's, which brings its own.
        return Finding::note("agent", "there is no `claude` on PATH").remedy(install);
    };
    match version(&program, &place.dir) {
        Err(what) => Finding::unknown("agent", what).remedy("claude --version"),
        Ok(said) if is_older(&said, &CLAUDE_OLDEST) => {
            let oldest = CLAUDE_OLDEST.map(|part| part.to_string()).join(".");
            let told = format!("{said} is older than {oldest}, the oldest that is tried");
            Finding::note("agent", told).remedy(install)
        }
        Ok(said) => Finding::fine("agent", format!("{said}, {}", program.display())),
    }
}

/// What a program says of its version, on one line.
pub fn version(program: &Path, dir: &Path) -> Result<String, String> {
    // Whichever program it is, one of them is bd.
    let call = bd::quiet(Call::new(program))
        .arg("--version")
        .dir(dir)
        .deadline(VERSION_TIME_MAX);
    let output = call.run().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().next().unwrap_or_default().trim();
    match output.code {
        Some(0) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(format!(
            "`{} --version` says nothing of use",
            program.display()
        )),
    }
}

/// Whether the first version number in a text is below `oldest`; one that cannot be read is not.
pub fn is_older(said: &str, oldest: &[u32]) -> bool {
    let words = said.split_whitespace();
    let numbers = words.filter_map(|word| {
        let word = word.trim_start_matches('v');
        let parts: Vec<u32> = word
            .split(['.', '-', '+'])
            .map_while(|part| part.parse().ok())
            .collect();
        (parts.len() >= 2).then_some(parts)
    });
    numbers.take(1).any(|found| found.as_slice() < oldest)
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn versions_are_read_out_of_what_programs_say() {
        for (said, oldest, expected) in [
            ("git version 2.39.5 (Apple Git-154)", &[2, 15][..], false),
            ("git version 2.11.0.windows.1", &[2, 15], true),
            ("git version 2.15.0", &[2, 15], false),
            ("2.1.197 (Claude Code)", &[2, 1, 197], false),
            ("2.1.99 (Claude Code)", &[2, 1, 197], true),
            ("bd version v1.10.0 (dev)", &[1, 2, 2], false),
            ("bd version 0.49.6", &[1, 2, 2], true),
            ("who knows", &[9], false),
        ] {
            assert_eq!(is_older(said, oldest), expected, "{said}");
        }
    }
}
