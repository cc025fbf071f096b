//! What a file that takes another one's place owes to it: its owner, and to last.

use std::fs::{File, Metadata};
use std::path::Path;

/// So that a person's file stays theirs when root writes it. Nobody else can, or needs to.
#[cfg(unix)]
pub fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
pub fn keep_owner(_: &File, _: &Metadata) {}

/// Makes the new name last. Where folders cannot be synced, the rename still holds.
pub fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
