//! Branches of tasks that were never merged.

use std::collections::HashSet;
use std::time::Duration;

use git2::Repository;

use super::library::head_commit;
use super::{Clock, Error, Git, command, too_long};
use crate::kernel::task::TaskId;

const BRANCHES: &str = "refs/heads/";

impl Git {
    /// The branches of these tasks that hold commits which HEAD does not. An epic may have far
    /// more tasks than there are branches, so it is the branches that are gone through.
    pub fn unmerged(&self, tasks: &[TaskId], deadline: Duration) -> Result<Vec<String>, Error> {
        let clock = Clock::new(deadline);
        let Some(found) = self.find(&clock)? else {
            return Ok(Vec::new());
        };
        let names: HashSet<String> = tasks.iter().map(TaskId::branch).collect();
        let repository = found.repository.as_ref();
        let refused = match repository.map(|it| by_library(it, &names, &clock)) {
            Some(Ok(Some(unmerged))) => return Ok(unmerged),
            Some(Ok(None)) => return Err(clock.late("all branches")),
            Some(Err(refused)) => Some(refused),
            None => None,
        };
        self.or_library(self.by_program(&names, &clock), refused)
    }

    fn by_program(&self, names: &HashSet<String>, clock: &Clock) -> Result<Vec<String>, Error> {
        let head = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let has_head = self.call(&self.dir, clock).args(head).run()?.code == Some(0);
        let mut args = vec!["for-each-ref", "--format=%(refname)"];
        // On a branch without commits nothing can have been merged.
        if has_head {
            args.push("--no-merged=HEAD");
        }
        let pattern = pattern();
        // To git a star ends at a slash, and an id may hold one.
        let deeper = format!("{pattern}/**");
        args.extend([pattern.as_str(), deeper.as_str()]);
        let output = self.ask(&self.dir, &args, clock)?;
        if output.is_truncated {
            return Err(too_long(&args, output.stdout.len()));
        }
        if output.stdout.last().is_some_and(|last| *last != b'\n') {
            return Err(Error::Cut {
                command: command(&args),
            });
        }
        let listed = String::from_utf8_lossy(&output.stdout);
        let names = listed.lines().filter_map(|line| wanted(line, names));
        Ok(names.map(str::to_owned).collect())
    }
}

/// Nothing if time was up before all branches were looked at.
fn by_library(
    repository: &Repository,
    names: &HashSet<String>,
    clock: &Clock,
) -> Result<Option<Vec<String>>, git2::Error> {
    let head = head_commit(repository)?;
    let mut unmerged = Vec::new();
    for branch in repository.references_glob(&pattern())? {
        if clock.left().is_zero() {
            return Ok(None);
        }
        let branch = branch?;
        // No task is called by what is no text.
        let Some(name) = branch.name().ok().and_then(|name| wanted(name, names)) else {
            continue;
        };
        let tip = branch.peel_to_commit()?.id();
        let is_merged = match head {
            Some(head) => head == tip || repository.graph_descendant_of(head, tip)?,
            None => false,
        };
        if !is_merged {
            unmerged.push(name.to_owned());
        }
    }
    unmerged.sort_unstable();
    Ok(Some(unmerged))
}

/// What the branches of all tasks fit, and few others do.
fn pattern() -> String {
    format!("{BRANCHES}{}*", TaskId::BRANCH_PREFIX)
}

/// The name of a branch, if it is one of those asked about.
fn wanted<'a>(reference: &'a str, names: &HashSet<String>) -> Option<&'a str> {
    let name = reference.strip_prefix(BRANCHES)?;
    names.contains(name).then_some(name)
}
