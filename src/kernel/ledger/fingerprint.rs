//! Fingerprints of the work, by which progress is told from going to and fro.

use super::Territory;
use crate::kernel::snapshot::{Change, Git, Glance};
use crate::kernel::task::{Epic, EpicTask};

/// What the work looked like. A part that could not be read is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    pub tasks: Option<u128>,
    pub head: Option<u128>,
    pub tracked: Option<u128>,
    pub untracked: Option<u128>,
}

impl Fingerprint {
    pub fn of(epic: Option<&Epic>, git: Option<&Git>, territory: &Territory) -> Fingerprint {
        let changes = |is_untracked: bool| {
            let all = match git? {
                Git::NoRepository | Git::NoWorkTree => &[][..],
                Git::Tree(tree) => &tree.changes,
            };
            Some(contents(all, is_untracked, territory))
        };
        let head = |git: &Git| match git {
            Git::NoRepository => digest(["no repository"]),
            Git::NoWorkTree => digest(["no work tree"]),
            Git::Tree(tree) => commit(tree.head.as_deref()),
        };
        Fingerprint {
            tasks: epic.map(states),
            head: git.map(head),
            tracked: changes(false),
            untracked: changes(true),
        }
    }

    /// The same as far as progress goes, which does not ask for new files.
    pub fn at_a_glance(epic: Option<&Epic>, glance: &Glance, territory: &Territory) -> Fingerprint {
        Fingerprint {
            tasks: epic.map(states),
            head: Some(commit(glance.head.as_deref())),
            tracked: Some(contents(&glance.changes, false, territory)),
            untracked: None,
        }
    }

    /// What progress is measured by; nothing if tracker or git could not be read.
    pub fn progress(&self) -> Option<u128> {
        let parts = [self.tasks?, self.head?, self.tracked?].map(|part| part.to_string());
        Some(digest(parts.iter().map(String::as_str)))
    }

    /// Whether anything differs for certain. What could not be read has not moved.
    pub fn has_moved_since(&self, before: &Fingerprint) -> bool {
        let differs = |now: Option<u128>, then: Option<u128>| matches!((now, then), (Some(now), Some(then)) if now != then);
        differs(self.tasks, before.tasks)
            || differs(self.head, before.head)
            || differs(self.tracked, before.tracked)
            || differs(self.untracked, before.untracked)
    }
}

fn states(epic: &Epic) -> u128 {
    // A sum does not see the order: a changed priority alone is no change of state.
    let state = |task: &EpicTask| digest([task.id.as_str(), task.status.name()]);
    epic.tasks.iter().map(state).fold(0, u128::wrapping_add)
}

fn commit(head: Option<&str>) -> u128 {
    digest([head.unwrap_or("no commit")])
}

fn contents(changes: &[Change], is_untracked: bool, territory: &Territory) -> u128 {
    let mut versions: Vec<(&str, &str, Option<&str>)> = changes
        .iter()
        .filter(|change| change.is_untracked == is_untracked)
        .filter(|change| territory.is_work(change) && !territory.is_tracker(change))
        .map(|change| {
            let staged = change.staged.as_deref();
            (change.path.as_str(), change.content.as_str(), staged)
        })
        .collect();
    // Readers differ in their order.
    versions.sort_unstable();
    digest(
        versions
            .into_iter()
            .flat_map(|(path, content, staged)| [path, content].into_iter().chain(staged)),
    )
}

/// In the manner of FNV-1a, eight bytes at a time, over the parts with their lengths. Kept with
/// runs, so it must never change; the standard library's hasher makes no such promise.
fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let step = |hash: u128, word: u64| (hash ^ u128::from(word)).wrapping_mul(PRIME);
    let word = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    };
    parts.into_iter().fold(OFFSET, |hash, part| {
        let hash = part.as_bytes().chunks(8).map(word).fold(hash, step);
        step(hash, part.len() as u64)
    })
}
