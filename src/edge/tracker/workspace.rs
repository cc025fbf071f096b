//! Which folder's tasks are meant, and who keeps them. Told by files alone, and by looking at
//! them only: nothing is started, created or locked.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::edge::git_place::{GitPlace, read_small};
use crate::kernel::task::TaskId;

/// A folder with a tracker in it, or where one would be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub root: PathBuf,
    /// The tracker's folder, where `BEADS_DIR` named it instead of the files around us.
    pub named: Option<PathBuf>,
    pub owner: Owner,
}

/// Who keeps the tasks of a workspace. `told_by` says how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// bd 1.x, on Dolt; or something so odd that writing beside it would be reckless.
    Bd {
        told_by: String,
    },
    /// A database in one file: br, or bd up to 0.49. Their files look alike.
    BdOrBr {
        told_by: String,
    },
    /// A file that nobody else keeps a database for.
    Jsonl,
    Nobody,
}

impl Workspace {
    /// The workspace of just this folder, whatever stands around it.
    pub fn at(root: &Path, named: Option<&Path>) -> Workspace {
        let folder = named.map_or_else(|| root.join(".beads"), Path::to_path_buf);
        Workspace {
            root: root.to_owned(),
            named: named.map(Path::to_path_buf),
            owner: owner(&folder),
        }
    }

    /// How it is known who keeps the tasks here.
    pub fn told_by(&self) -> String {
        match &self.owner {
            Owner::Bd { told_by } | Owner::BdOrBr { told_by } => told_by.clone(),
            Owner::Jsonl => format!("nobody keeps a database in `{}`", self.folder().display()),
            Owner::Nobody => format!("there is no `{}` yet", self.folder().display()),
        }
    }

    /// Where the tracker's own files are.
    pub fn folder(&self) -> PathBuf {
        self.named
            .clone()
            .unwrap_or_else(|| self.root.join(".beads"))
    }
}

/// Something that would change a task.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    Add,
    Claim(&'a TaskId),
    Heartbeat(&'a TaskId),
    Release(&'a TaskId),
    Note(&'a TaskId),
    Close(&'a TaskId),
    Block(&'a TaskId),
    Reopen(&'a TaskId),
}

impl Owner {
    /// The program that keeps the tasks.
    pub fn tool(&self) -> &'static str {
        match self {
            Owner::Bd { .. } => "bd",
            Owner::BdOrBr { .. } => "bd or br",
            Owner::Jsonl | Owner::Nobody => "beadlock",
        }
    }

    /// The command of the owner's program that does the same.
    pub fn instead(&self, act: Act<'_>) -> String {
        let line = match act {
            Act::Add => "create TITLE".to_owned(),
            Act::Claim(id) | Act::Heartbeat(id) => format!("update {} --claim", shown(id)),
            Act::Release(id) => format!("update {} --status open --assignee ''", shown(id)),
            Act::Note(id) => format!("update {} --append-notes TEXT", shown(id)),
            Act::Close(id) => format!("close {}", shown(id)),
            Act::Block(id) => {
                format!("update {} --status blocked --append-notes TEXT", shown(id))
            }
            Act::Reopen(id) => format!("update {} --status open", shown(id)),
        };
        match self {
            Owner::Bd { .. } => format!("`bd {line}`"),
            Owner::BdOrBr { .. } => format!("`bd {line}` or `br {line}`"),
            Owner::Jsonl | Owner::Nobody => format!("`beadlock task {line}`"),
        }
    }
}

/// An id may be anybody's text, and a command line is made to be pasted.
fn shown(id: &TaskId) -> &str {
    if id.is_plain() { id.as_str() } else { "ID" }
}

/// The workspace that somebody in `dir` means, with git's places found by looking for `.git`.
/// `named` is what `BEADS_DIR` says.
pub fn locate(dir: &Path, named: Option<&str>) -> Workspace {
    match (named, GitPlace::of(dir)) {
        (Some(named), _) => at_folder(&dir.join(named)),
        (None, Some(place)) => find(dir, place.main_work_tree.as_deref(), &place.work_tree),
        (None, None) => find(dir, None, dir),
    }
}

/// The workspace whose tracker's folder somebody named, wherever it lies.
pub fn at_folder(folder: &Path) -> Workspace {
    let is_usual = folder.file_name().is_some_and(|name| name == ".beads");
    let root = folder.parent().filter(|_| is_usual).unwrap_or(folder);
    Workspace::at(root, Some(folder))
}

/// The nearest ancestor of `dir` that has a tracker; in a linked work tree the same folders of
/// the main one are asked first. `fallback` is the root of `dir`'s own work tree, or `dir` where
/// there is none: a new tracker would be made there.
pub fn find(dir: &Path, main_work_tree: Option<&Path>, fallback: &Path) -> Workspace {
    let inside = dir.strip_prefix(fallback).unwrap_or(Path::new(""));
    let in_main = main_work_tree
        .into_iter()
        .flat_map(|main| inside.ancestors().map(|folder| main.join(folder)));
    let here = dir.ancestors().map(Path::to_path_buf);
    in_main
        .chain(here)
        .find(|root| has_tracker(root))
        .map_or_else(
            || Workspace {
                root: fallback.to_path_buf(),
                named: None,
                owner: Owner::Nobody,
            },
            |root| Workspace::at(&root, None),
        )
}

/// What makes a `.beads` folder a tracker's. bd also keeps one in the home folder, with only a
/// registry in it, which must not catch every project below.
const TRACKER_NAMES: [&str; 7] = [
    "issues.jsonl",
    "metadata.json",
    "config.yaml",
    "redirect",
    "beads.db",
    "embeddeddolt",
    "dolt",
];

fn has_tracker(root: &Path) -> bool {
    let folder = root.join(".beads");
    let is_empty = || fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none());
    // A folder that cannot be looked into is a tracker that cannot be read, not none.
    let is_there = |name: &&str| match fs::symlink_metadata(folder.join(name)) {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    folder.is_dir() && (TRACKER_NAMES.iter().any(is_there) || is_empty())
}

fn owner(folder: &Path) -> Owner {
    // A server's folder may lie here too; where it is asked for the tasks stands in the settings.
    let metadata = folder.join("metadata.json");
    if let Some(told_by) = server_named_in(&metadata) {
        return Owner::Bd { told_by };
    }
    for name in ["embeddeddolt", "dolt"] {
        let database = folder.join(name);
        if database.is_dir() {
            let told_by = format!("`{}` is its database", database.display());
            return Owner::Bd { told_by };
        }
    }
    let redirect = folder.join("redirect");
    if fs::symlink_metadata(&redirect).is_ok() {
        let told_by = format!("`{}` points elsewhere", redirect.display());
        return Owner::Bd { told_by };
    }
    if fs::symlink_metadata(&metadata).is_ok() {
        return owner_by_metadata(&metadata);
    }
    let database = folder.join("beads.db");
    if fs::symlink_metadata(&database).is_ok() {
        let told_by = format!("`{}` is its database", database.display());
        return Owner::BdOrBr { told_by };
    }
    Owner::Jsonl
}

fn server_named_in(metadata: &Path) -> Option<String> {
    let map: Map<String, Value> = serde_json::from_str(&read_small(metadata).ok()?).ok()?;
    let is_server = map.get("dolt_mode").and_then(Value::as_str) == Some("server");
    let word = |key: &str| map.get(key).map(|value| value.to_string().replace('"', ""));
    let place = match (word("dolt_server_host"), word("dolt_server_port")) {
        (Some(host), Some(port)) => format!(" at {host}:{port}"),
        (Some(host), None) => format!(" at {host}"),
        (None, Some(port)) => format!(" at port {port}"),
        (None, None) => String::new(),
    };
    is_server.then(|| format!("`{}` names a server{place}", metadata.display()))
}

fn owner_by_metadata(path: &Path) -> Owner {
    let said = |what: String| format!("`{}` {what}", path.display());
    let map: Map<String, Value> = match read_small(path).map(|text| serde_json::from_str(&text)) {
        Ok(Ok(map)) => map,
        Ok(Err(_)) => {
            let told_by = said("is not a JSON object".to_owned());
            return Owner::Bd { told_by };
        }
        Err(what) => {
            let told_by = said(format!("cannot be read: {what}"));
            return Owner::Bd { told_by };
        }
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    if text("backend") == Some("dolt") || text("database") == Some("dolt") {
        let told_by = said("says `dolt`".to_owned());
        return Owner::Bd { told_by };
    }
    for key in ["dolt_mode", "dolt_database"] {
        if map.contains_key(key) {
            let told_by = said(format!("has `{key}`"));
            return Owner::Bd { told_by };
        }
    }
    let is_one_file = |name: &str| Path::new(name).extension().is_some_and(|it| it == "db");
    match text("database") {
        Some(name) if is_one_file(name) => Owner::BdOrBr {
            told_by: said("names an SQLite database".to_owned()),
        },
        Some(_) | None => Owner::Bd {
            told_by: said("names no database that is known".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn scene(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            if name.ends_with('/') {
                fs::create_dir_all(&path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
            }
        }
        folder
    }

    fn owner_of(files: &[(&str, &str)]) -> &'static str {
        let folder = scene(files);
        match find(folder.path(), None, folder.path()).owner {
            Owner::Bd { .. } => "bd",
            Owner::BdOrBr { .. } => "bd or br",
            Owner::Jsonl => "jsonl",
            Owner::Nobody => "nobody",
        }
    }

    #[test]
    fn the_owner_is_told_by_files() {
        let metadata = ".beads/metadata.json";
        let issues = (".beads/issues.jsonl", "");
        assert_eq!(owner_of(&[]), "nobody");
        assert_eq!(owner_of(&[(".beads", "a file")]), "nobody");
        assert_eq!(owner_of(&[(".beads/registry.json", "")]), "nobody");
        assert_eq!(owner_of(&[(".beads/", "")]), "jsonl");
        assert_eq!(owner_of(&[issues]), "jsonl");
        for dolt in [
            r#"{"database":"dolt","backend":"dolt","dolt_mode":"embedded","dolt_database":"x"}"#,
            r#"{"backend":"dolt"}"#,
            r#"{"database":"beads.db","dolt_mode":"server"}"#,
            r#"{"database":"beads.db","dolt_database":null}"#,
        ] {
            assert_eq!(owner_of(&[(metadata, dolt), issues]), "bd", "{dolt}");
        }
        for odd in ["", "{", "[]", "{}", "null", r#"{"database":7}"#] {
            assert_eq!(owner_of(&[(metadata, odd), issues]), "bd", "{odd}");
        }
        assert_eq!(owner_of(&[(".beads/metadata.json/", ""), issues]), "bd");
        assert_eq!(owner_of(&[(".beads/embeddeddolt/", ""), issues]), "bd");
        assert_eq!(owner_of(&[(".beads/dolt/", "")]), "bd");
        assert_eq!(owner_of(&[(".beads/redirect", "../x/.beads")]), "bd");
        let sqlite = r#"{"database":"beads.db","jsonl_export":"issues.jsonl"}"#;
        assert_eq!(owner_of(&[(metadata, sqlite), issues]), "bd or br");
        assert_eq!(owner_of(&[(".beads/beads.db", ""), issues]), "bd or br");
    }

    #[test]
    fn what_told_the_owner_is_named() {
        let folder = scene(&[(".beads/metadata.json", "{")]);
        let path = folder.path().join(".beads/metadata.json");
        let told_by = format!("`{}` is not a JSON object", path.display());
        let workspace = find(folder.path(), None, folder.path());
        assert_eq!(workspace.owner, Owner::Bd { told_by });
    }

    #[test]
    fn a_server_is_named_and_not_the_folder_that_it_keeps_here() {
        let server = r#"{"database":"dolt","dolt_mode":"server","dolt_server_host":"127.0.0.1",
            "dolt_server_port":3307}"#;
        let folder = scene(&[(".beads/metadata.json", server), (".beads/dolt/", "")]);
        let path = folder.path().join(".beads/metadata.json");
        let told_by = format!("`{}` names a server at 127.0.0.1:3307", path.display());
        let workspace = find(folder.path(), None, folder.path());
        assert_eq!(workspace.owner, Owner::Bd { told_by });
    }

    #[test]
    fn the_nearest_ancestor_with_a_tracker_is_meant() {
        let folder = scene(&[
            (".beads/issues.jsonl", ""),
            ("app/.beads/issues.jsonl", ""),
            ("app/src/deep/", ""),
            ("lib/src/", ""),
        ]);
        let root = |dir: &str| find(&folder.path().join(dir), None, folder.path()).root;
        assert_eq!(root("app/src/deep"), folder.path().join("app"));
        assert_eq!(root("app"), folder.path().join("app"));
        assert_eq!(root("lib/src"), folder.path());
    }

    #[test]
    fn without_a_tracker_it_is_the_repositorys_root_or_the_folder_itself() {
        let folder = scene(&[("src/", "")]);
        let dir = folder.path().join("src");
        assert_eq!(locate(&dir, None).root, dir);
        git2::Repository::init(folder.path()).unwrap();
        assert_eq!(locate(&dir, None).root, folder.path());
        assert_eq!(locate(&dir, None).owner, Owner::Nobody);
    }

    /// A repository with a commit, and a linked work tree beside it.
    fn linked(folder: &TempDir) -> (PathBuf, PathBuf) {
        let root = folder.path().canonicalize().unwrap();
        let (main, side) = (root.join("main"), root.join("side"));
        let repository = git2::Repository::init(&main).unwrap();
        let who = git2::Signature::now("t", "t@example.org").unwrap();
        let tree = repository.index().unwrap().write_tree().unwrap();
        let tree = repository.find_tree(tree).unwrap();
        repository
            .commit(Some("HEAD"), &who, &who, "x", &tree, &[])
            .unwrap();
        repository.worktree("side", &side, None).unwrap();
        (main, side)
    }

    #[test]
    fn a_linked_work_tree_means_the_main_ones_tracker() {
        let folder = TempDir::new().unwrap();
        let (main, side) = linked(&folder);
        let place = GitPlace::of(&side).unwrap();
        let repository = git2::Repository::open(&side).unwrap();
        assert_eq!(
            place.common,
            repository.commondir().components().collect::<PathBuf>()
        );
        assert_eq!(place.work_tree, side);
        assert_eq!(place.main_work_tree, Some(main.clone()));
        assert_eq!(GitPlace::of(&main).unwrap().main_work_tree, None);

        fs::create_dir_all(side.join("app/.beads")).unwrap();
        fs::create_dir_all(side.join("app/src")).unwrap();
        assert_eq!(locate(&side.join("app/src"), None).root, side.join("app"));
        fs::create_dir_all(main.join(".beads")).unwrap();
        assert_eq!(locate(&side, None).root, main);
        assert_eq!(locate(&side.join("app/src"), None).root, main);
        fs::create_dir_all(main.join("app/.beads")).unwrap();
        assert_eq!(locate(&side.join("app/src"), None).root, main.join("app"));
    }

    #[test]
    fn a_dot_git_that_leads_nowhere_is_no_repository() {
        for text in ["", "gitdir: /no/such/place", "something else"] {
            let folder = scene(&[(".git", text)]);
            assert_eq!(GitPlace::at(folder.path()), None);
        }
        assert_eq!(GitPlace::at(scene(&[(".git/", "")]).path()), None);
    }

    #[test]
    fn an_odd_id_never_enters_a_command_line() {
        let owner = Owner::Bd {
            told_by: String::new(),
        };
        let odd = TaskId::from("x; rm -rf ~");
        assert_eq!(owner.instead(Act::Close(&odd)), "`bd close ID`");
    }
}
