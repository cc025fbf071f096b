//! One file that lies outside of the work tree, asked of the repository that it lies in. The
//! tracker of a linked work tree is such a file: the main one has it.

use std::path::{Component, Path};

use super::status::{STATUS, Status};
use super::{Clock, Error, Git, answered, path_of};
use crate::kernel::snapshot::Change;

impl Git {
    /// Nothing if the file lies inside, is as its repository has it, or has no repository.
    pub(super) fn change_outside(
        &self,
        root: &Path,
        file: &Path,
        clock: &Clock,
    ) -> Result<Option<Change>, Error> {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return Ok(None);
        };
        if !path_from(root, file).starts_with("../") || !folder.is_dir() {
            return Ok(None);
        }
        let there = Git {
            dir: folder.to_owned(),
            watched: None,
            ..self.clone()
        };
        let Some(found) = there.find(clock)? else {
            return Ok(None);
        };
        let Some(its_root) = found.place.root.as_deref() else {
            return Ok(None);
        };
        let call = there
            .call(folder, clock)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(STATUS)
            .args(["--untracked-files=all", "--"])
            .arg(name);
        let answer = call
            .run()
            .map_err(Error::from)
            .and_then(|output| answered(output, &STATUS))
            .and_then(|output| Status::parse(&output.stdout));
        let mut status = there.or_approximate(answer, &found)?;
        // libgit2 names them all.
        let inside = path_from(its_root, file);
        status
            .entries
            .retain(|path, _| path_of(path) == Path::new(&inside));
        let changes = there.changes(its_root, &status, clock)?;
        Ok(changes.into_iter().next().map(|change| Change {
            path: path_from(root, file),
            ..change
        }))
    }
}

/// The way from a folder to a file, with forward slashes; the file's full path if there is none.
pub fn path_from(folder: &Path, file: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    // The file itself may be a link, or gone.
    let file = match (file.parent(), file.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => file.to_owned(),
    };
    let common = folder
        .components()
        .zip(file.components())
        .take_while(|(a, b)| a == b)
        .count();
    if common == 0 {
        return file.to_string_lossy().into_owned();
    }
    let up = folder.components().skip(common).map(|_| "..".into());
    let down = file.components().skip(common).map(Component::as_os_str);
    let parts: Vec<_> = up
        .chain(down.map(std::ffi::OsStr::to_string_lossy))
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_down_up_or_across() {
        let temp = tempfile::tempdir().unwrap();
        for name in ["a/b", "c"] {
            std::fs::create_dir_all(temp.path().join(name)).unwrap();
        }
        let way = |from: &str, to: &str| path_from(&temp.path().join(from), &temp.path().join(to));
        assert_eq!(way("a", "a/b/file"), "b/file");
        assert_eq!(way("a/b", "file"), "../../file");
        assert_eq!(way("a/b", "c/file"), "../../c/file");
    }
}
