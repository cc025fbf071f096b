//! What git's library sees of a work tree in passing: HEAD and the tracked changes, without a
//! program to start. Good enough to tell whether the work moves, and for nothing else.

use std::path::Path;
use std::time::Duration;

use git2::{Repository, RepositoryOpenFlags};

use super::{Clock, Git, library};
use crate::kernel::snapshot::Glance;

/// Some seven hundred files. With more of them libgit2 takes longer than starting git does.
const INDEX_BYTES_MAX: u64 = 64 << 10;

impl Git {
    /// Nothing where the program has to be asked: in a large repository, in one that libgit2
    /// refuses, and where there is none.
    pub fn glance(&self, deadline: Duration) -> Option<Glance> {
        let clock = Clock::new(deadline);
        let flags = RepositoryOpenFlags::CROSS_FS;
        let repository = Repository::open_ext(&self.dir, flags, &[] as &[&Path]).ok()?;
        let root = repository.workdir()?;
        if library::index_bytes(&repository) > INDEX_BYTES_MAX {
            return None;
        }
        let status = library::tracked_status(&repository).ok()?;
        let changes = self.changes(root, &status, &clock).ok()?;
        Some(Glance {
            head: status.head,
            changes,
        })
    }
}
