//! Operations that were begun and not ended.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::place::Found;
use super::{Clock, Error, Git};

impl Git {
    /// An operation that was begun and not ended, by git's name for it. A bisection is none: it
    /// leaves nothing to be saved.
    pub(super) fn unfinished(
        &self,
        found: &Found,
        clock: &Clock,
    ) -> Result<Option<&'static str>, Error> {
        if let Some(operation) = unfinished_in(&found.git_dir) {
            return Ok(Some(operation));
        }
        // In a reftable these two are no files.
        if !found.git_dir.join("reftable").exists() {
            return Ok(None);
        }
        for (name, operation) in PICKS {
            let args = ["rev-parse", "--quiet", "--verify", name];
            let output = self.call(&found.git_dir, clock).args(args).run()?;
            if output.code == Some(0) {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }
}

/// What git leaves while a commit is being picked, and what it calls the operation.
const PICKS: [(&str, &str); 2] = [
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
];

fn unfinished_in(git_dir: &Path) -> Option<&'static str> {
    let has = |name: &str| git_dir.join(name).exists();
    // A rebase may pass through a merge or a pick, and is what has to be ended.
    if has("rebase-apply/applying") {
        return Some("am");
    }
    if has("rebase-merge") || has("rebase-apply") {
        return Some("rebase");
    }
    if has("MERGE_HEAD") {
        return Some("merge");
    }
    if let Some((_, operation)) = PICKS.iter().find(|(name, _)| has(name)) {
        return Some(operation);
    }
    // Of a series of picks, after a commit in the middle, only the list of what is left remains.
    let mut todo = String::new();
    let list = File::open(git_dir.join("sequencer/todo")).ok()?;
    list.take(64).read_to_string(&mut todo).ok()?;
    match todo.split_whitespace().next()? {
        "revert" => Some("revert"),
        _ => Some("cherry-pick"),
    }
}
