//! Answers by libgit2 alone, for where no git is installed.

use std::fs;
use std::path::Path;

use git2::{
    ErrorCode, FileMode, Repository, StatusEntry, StatusOptions, SubmoduleIgnore, SubmoduleStatus,
};

use super::status::{Entry, EntryKind, Mode, Status};

/// How large an index is tells how long libgit2 takes with it.
pub(super) fn index_bytes(repository: &Repository) -> u64 {
    let index = fs::metadata(repository.path().join("index"));
    index.map_or(0, |index| index.len())
}

/// Changes by libgit2 1.9, which takes files outside a sparse checkout for deleted ones and runs
/// no filter programs.
pub(super) fn approximate_status(repository: &Repository) -> Result<Status, git2::Error> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    status(repository, &mut options)
}

/// The same with a new directory for all that is in it.
pub(super) fn folded_status(repository: &Repository) -> Result<Status, git2::Error> {
    status(repository, StatusOptions::new().include_untracked(true))
}

/// The same of tracked files only.
pub(super) fn tracked_status(repository: &Repository) -> Result<Status, git2::Error> {
    status(repository, &mut StatusOptions::new())
}

fn status(repository: &Repository, options: &mut StatusOptions) -> Result<Status, git2::Error> {
    let mut status = Status {
        is_approximate: true,
        ..Status::default()
    };
    let head = repository.find_reference("HEAD")?;
    status.branch = head
        .symbolic_target()?
        .and_then(|name| name.strip_prefix("refs/heads/"))
        .map(str::to_owned);
    status.head = head_commit(repository)?.map(|id| id.to_string());
    options.exclude_submodules(true);
    for entry in repository.statuses(Some(options))?.iter() {
        let found = if entry.status() == git2::Status::WT_NEW {
            EntryKind::Untracked.into()
        } else {
            tracked(&entry)
        };
        status.insert(entry.path_bytes(), found);
    }
    for submodule in repository.submodules()? {
        let path = submodule.path().to_string_lossy().replace('\\', "/");
        let state = repository.submodule_status(&path, SubmoduleIgnore::Untracked)?;
        if let Some(flags) = submodule_flags(state) {
            status.insert(path.as_bytes(), EntryKind::Submodule(flags).into());
        }
    }
    Ok(status)
}

/// As `git status` would have it.
fn tracked(entry: &StatusEntry<'_>) -> Entry {
    let state = entry.status();
    let (of_index, of_tree) = (entry.head_to_index(), entry.index_to_workdir());
    let is_gone = git2::Status::INDEX_DELETED;
    let newest = of_tree.as_ref().or(of_index.as_ref());
    let mode = match newest.map(|delta| delta.new_file().mode()) {
        _ if state.contains(is_gone) => Mode::AsOnDisk,
        Some(FileMode::BlobExecutable) => Mode::Executable,
        Some(_) | None => Mode::Plain,
    };
    let staged = match (&of_index, &of_tree) {
        (Some(of_index), Some(_)) if !state.intersects(is_gone | git2::Status::CONFLICTED) => {
            let file = of_index.new_file();
            Some(format!("{:06o} {}", i32::from(file.mode()), file.id()))
        }
        (_, _) => None,
    };
    Entry {
        kind: EntryKind::Tracked(mode),
        staged,
    }
}

/// As `git status` writes them; nothing for a submodule that is as the index wants it.
fn submodule_flags(state: SubmoduleStatus) -> Option<String> {
    let staged = SubmoduleStatus::INDEX_ADDED
        | SubmoduleStatus::INDEX_DELETED
        | SubmoduleStatus::INDEX_MODIFIED;
    let moved = SubmoduleStatus::WD_MODIFIED | SubmoduleStatus::WD_DELETED;
    let edited = SubmoduleStatus::WD_INDEX_MODIFIED | SubmoduleStatus::WD_WD_MODIFIED;
    let letter = |flags, letter| if state.intersects(flags) { letter } else { '.' };
    let is_change = state.intersects(staged | moved | edited);
    is_change.then(|| format!("S{}{}.", letter(moved, 'C'), letter(edited, 'M')))
}

/// Nothing on a branch without commits.
pub(super) fn head_commit(repository: &Repository) -> Result<Option<git2::Oid>, git2::Error> {
    match repository.head() {
        Ok(head) => Ok(Some(head.peel_to_commit()?.id())),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn configured(dir: &Path, key: &str) -> Result<String, git2::Error> {
    let config = match Repository::discover(dir) {
        Ok(repository) => repository.config()?,
        Err(_) => git2::Config::open_default()?,
    };
    config.get_string(key)
}
