//! `edge::git` against the real git, in repositories that are built here.

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests, but not their helpers"
)]

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use beadlock::edge::git::{Error, Git, Place};
use beadlock::edge::process::{Call, Output, locate};
use beadlock::kernel::snapshot::{Change, Git as Answer, Glance, WorkTree};
use beadlock::kernel::task::TaskId;

const LONG: Duration = Duration::from_secs(60);

/// A directory of its own, with a home beside it, so that nobody's settings reach the test.
struct World {
    _temp: tempfile::TempDir,
    dir: PathBuf,
}

impl World {
    fn new() -> World {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        fs::create_dir(dir.join("home")).unwrap();
        World { _temp: temp, dir }
    }

    /// A repository with one commit of one file, `a`.
    fn repository(&self, name: &str) -> Repo<'_> {
        let repo = self.empty_repository(name, &[]);
        repo.write("a", "one\n");
        repo.commit();
        repo
    }

    fn empty_repository(&self, name: &str, options: &[&str]) -> Repo<'_> {
        let repo = self.at(name);
        let mut args = vec!["init", "--quiet", "--initial-branch=main"];
        args.extend(options);
        args.push(name);
        answer(&self.git(&self.dir, &args));
        repo
    }

    fn at(&self, name: &str) -> Repo<'_> {
        Repo {
            world: self,
            root: self.dir.join(name),
        }
    }

    fn git(&self, dir: &Path, args: &[&str]) -> Output {
        let call = Call::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(["-c", "protocol.file.allow=always", "-c", "core.editor=true"])
            .args(args)
            .dir(dir)
            .deadline(LONG);
        self.clear(call).run().unwrap()
    }

    /// Only what programs need to run at all is left of the environment.
    fn clear(&self, call: Call) -> Call {
        let is_needed = |name: &OsString| {
            ["PATH", "SystemRoot", "TEMP", "TMP"]
                .iter()
                .any(|needed| name.eq_ignore_ascii_case(needed))
        };
        std::env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| !is_needed(name))
            .fold(call, Call::env_remove)
            .env("HOME", self.dir.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
    }
}

struct Repo<'a> {
    world: &'a World,
    root: PathBuf,
}

impl Repo<'_> {
    fn git(&self, args: &[&str]) -> String {
        answer(&self.world.git(&self.root, args))
    }

    /// For commands that end in a conflict.
    fn git_stuck(&self, args: &[&str]) {
        assert_eq!(self.world.git(&self.root, args).code, Some(1), "{args:?}");
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=work"]);
    }

    /// Two branches, `main` and `other`, that changed `a` differently.
    fn fork(&self) {
        self.git(&["checkout", "--quiet", "-b", "other"]);
        self.write("a", "theirs\n");
        self.commit();
        self.git(&["checkout", "--quiet", "main"]);
        self.write("a", "ours\n");
        self.commit();
    }

    fn read(&self) -> Result<Answer, Error> {
        Git::at(&self.root).read(LONG)
    }

    fn tree(&self) -> WorkTree {
        let tree = tree(self.read());
        if let Some(glance) = self.glance() {
            assert_eq!(glance, tracked_part(&tree), "at a glance");
        }
        tree
    }

    fn glance(&self) -> Option<Glance> {
        Git::at(&self.root).glance(LONG)
    }

    fn place(&self) -> Place {
        Git::at(&self.root).place().unwrap().unwrap()
    }

    fn unmerged(&self, tasks: &[&str]) -> Vec<String> {
        Git::at(&self.root).unmerged(&ids(tasks), LONG).unwrap()
    }
}

fn tracked_part(tree: &WorkTree) -> Glance {
    let changes = tree.changes.iter().filter(|change| !change.is_untracked);
    Glance {
        head: tree.head.clone(),
        changes: changes.cloned().collect(),
    }
}

fn ids(tasks: &[&str]) -> Vec<TaskId> {
    tasks.iter().map(|id| TaskId::from(*id)).collect()
}

fn answer(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.code, Some(0), "{stderr}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn tree(answer: Result<Answer, Error>) -> WorkTree {
    match answer.unwrap() {
        Answer::Tree(tree) => tree,
        other => panic!("{other:?}"),
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

fn tracked(path: &str, content: impl Into<String>) -> Change {
    Change {
        path: path.to_owned(),
        is_untracked: false,
        content: content.into(),
        staged: None,
    }
}

fn untracked(path: &str, content: impl Into<String>) -> Change {
    Change {
        is_untracked: true,
        ..tracked(path, content)
    }
}

/// Past the test harness, which swallows what a passing test prints.
fn skipped(why: &str) {
    let line = format!("skipped: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// True in a second process that runs only this test, in an environment of its own.
fn is_inside(test: &str, world: &World, env: &[(&str, &Path)]) -> bool {
    const MARK: &str = "BEADLOCK_TEST_INSIDE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let call = Call::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .deadline(LONG);
    let call = world.clear(call).env(MARK, "1");
    let call = env
        .iter()
        .fold(call, |call, (name, value)| call.env(name, *value));
    let output = call.run().unwrap();
    let said = answer(&output);
    assert!(said.contains("1 passed"), "{said}");
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        if let Some(why) = line.strip_prefix("skipped: ") {
            skipped(why);
        }
    }
    false
}

#[test]
fn a_clean_tree_has_a_head_a_branch_and_no_changes() {
    let world = World::new();
    let repo = world.repository("repo");
    let expected = WorkTree {
        place: " .git".to_owned(),
        head: Some(repo.git(&["rev-parse", "HEAD"])),
        branch: Some("main".to_owned()),
        ..WorkTree::default()
    };
    assert_eq!(repo.tree(), expected);
}

#[test]
fn every_kind_of_change_is_one() {
    let world = World::new();
    let repo = world.empty_repository("repo", &[]);
    for name in ["modified", "staged", "deleted", "removed", "kept", "same"] {
        repo.write(name, "old\n");
    }
    repo.write(".gitignore", "*.log\n");
    repo.commit();
    repo.write("modified", "new\n");
    repo.write("staged", "new\n");
    repo.git(&["add", "staged"]);
    repo.remove("deleted");
    repo.git(&["rm", "--quiet", "removed"]);
    repo.git(&["rm", "--quiet", "--cached", "kept"]);
    repo.write("new dir/deep/file", "x");
    repo.write("noise.log", "x");
    let expected = [
        tracked("deleted", "deleted"),
        tracked("kept", hash("old\n")),
        tracked("modified", hash("new\n")),
        untracked("new dir/deep/file", hash("x")),
        tracked("removed", "deleted"),
        tracked("staged", hash("new\n")),
    ];
    assert_eq!(repo.tree().changes, expected);
}

#[test]
fn a_renamed_file_is_a_new_one_and_a_deleted_one() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["config", "status.renames", "copies"]);
    repo.git(&["mv", "a", "b"]);
    let expected = [tracked("a", "deleted"), tracked("b", hash("one\n"))];
    assert_eq!(repo.tree().changes, expected);
}

#[test]
fn a_directory_within_the_tree_answers_for_the_whole() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.write("top", "x");
    repo.write("sub/file", "x");
    let expected = [
        untracked("sub/file", hash("x")),
        untracked("top", hash("x")),
    ];
    let below = world.at("repo/sub");
    assert_eq!(below.tree().changes, expected);
    assert_eq!(below.place(), repo.place());
    assert_eq!(world.at("repo/.git/objects").tree().changes, expected);
}

#[test]
fn a_work_tree_elsewhere_is_read_where_it_is() {
    let world = World::new();
    let repo = world.repository("repo");
    let elsewhere = world.repository("elsewhere");
    fs::remove_dir_all(elsewhere.root.join(".git")).unwrap();
    repo.git(&["config", "core.worktree", "../../elsewhere"]);
    elsewhere.write("new", "x");
    assert_eq!(repo.tree().changes, [untracked("new", hash("x"))]);
    assert_eq!(repo.place().root, Some(elsewhere.root));
}

#[test]
fn content_follows_the_bytes_and_not_the_clock() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.write("a", "two\n");
    let before = repo.tree();
    let file = fs::File::options().write(true).open(repo.root.join("a"));
    let past = SystemTime::now() - Duration::from_secs(1000);
    file.unwrap().set_modified(past).unwrap();
    assert_eq!(repo.tree(), before);
    repo.write("a", "six\n");
    assert_ne!(repo.tree().changes[0].content, before.changes[0].content);
}

#[test]
fn a_file_too_large_to_hash_is_known_by_size_and_time() {
    let world = World::new();
    let repo = world.repository("repo");
    let image = fs::File::create(repo.root.join("image")).unwrap();
    image.set_len((64 << 20) + 1).unwrap();
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    image.set_modified(modified).unwrap();
    let expected = untracked("image", "67108865:1000000000000000000");
    assert_eq!(repo.tree().changes, [expected]);
}

#[test]
fn a_branch_without_commits_has_no_head() {
    let world = World::new();
    let repo = world.empty_repository("repo", &[]);
    repo.write("a", "x");
    let tree = repo.tree();
    assert_eq!((tree.head, tree.branch.as_deref()), (None, Some("main")));
    assert_eq!(tree.changes, [untracked("a", hash("x"))]);
}

#[test]
fn a_detached_head_is_on_no_branch() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["checkout", "--quiet", "--detach"]);
    let tree = repo.tree();
    assert_eq!(tree.head, Some(repo.git(&["rev-parse", "HEAD"])));
    assert_eq!(tree.branch, None);
}

#[test]
fn an_operation_that_was_not_ended_is_named() {
    let world = World::new();
    let cases: [(&str, &[&str]); 5] = [
        ("merge", &["merge", "other"]),
        ("rebase", &["rebase", "other"]),
        ("rebase", &["rebase", "--apply", "other"]),
        ("cherry-pick", &["cherry-pick", "other"]),
        ("revert", &["revert", "--no-edit", "other"]),
    ];
    for (number, (name, command)) in cases.into_iter().enumerate() {
        let repo = world.repository(&number.to_string());
        repo.fork();
        assert_eq!(repo.tree().unfinished, None);
        repo.git_stuck(command);
        let tree = repo.tree();
        assert_eq!(tree.unfinished.as_deref(), Some(name), "{command:?}");
        let paths: Vec<&str> = tree.changes.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a"], "{command:?}");
        assert!(!tree.changes[0].is_untracked);
    }
}

#[test]
fn a_merge_without_conflict_is_unfinished_until_it_is_committed() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["branch", "other"]);
    repo.write("b", "x");
    repo.commit();
    repo.git(&["checkout", "--quiet", "other"]);
    repo.write("c", "x");
    repo.commit();
    repo.git(&["merge", "--quiet", "--no-commit", "--strategy=ours", "main"]);
    let tree = repo.tree();
    assert_eq!(tree.unfinished.as_deref(), Some("merge"));
    assert_eq!(tree.changes, []);
}

#[test]
fn a_series_of_picks_is_unfinished_between_two_of_them() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.fork();
    repo.git(&["checkout", "--quiet", "other"]);
    repo.write("b", "x");
    repo.commit();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git_stuck(&["cherry-pick", "other~1", "other"]);
    repo.commit();
    assert_eq!(repo.tree().unfinished.as_deref(), Some("cherry-pick"));
    repo.git(&["cherry-pick", "--continue"]);
    assert_eq!(repo.tree().unfinished, None);
}

#[test]
fn patches_being_applied_are_unfinished() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.fork();
    let patch = repo.git(&["format-patch", "-1", "--output-directory=..", "other"]);
    let output = world.git(&repo.root, &["am", "--quiet", &patch]);
    assert_ne!(output.code, Some(0));
    assert_eq!(repo.tree().unfinished.as_deref(), Some("am"));
}

#[test]
fn a_bisection_is_nothing_unfinished() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["bisect", "start"]);
    assert_eq!(repo.tree().unfinished, None);
}

#[test]
fn a_linked_work_tree_has_its_own_state_and_shares_the_rest() {
    let world = World::new();
    let main = world.repository("main tree");
    main.write("mess", "x");
    main.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let side = world.at("side");
    let tree = side.tree();
    assert_eq!(tree.branch.as_deref(), Some("side"));
    assert_eq!(tree.changes, []);
    let expected = Place {
        root: Some(main.root.clone()),
        main_root: Some(main.root.clone()),
        is_linked: false,
    };
    assert_eq!(main.place(), expected);
    let expected = Place {
        root: Some(side.root.clone()),
        main_root: Some(main.root.clone()),
        is_linked: true,
    };
    assert_eq!(side.place(), expected);
    main.fork();
    main.git_stuck(&["merge", "other"]);
    assert_eq!(side.tree().unfinished, None);
}

#[test]
fn a_work_tree_is_known_by_where_it_and_its_repository_lie() {
    let world = World::new();
    for format in ["sha1", "sha256"] {
        let main = world.empty_repository(format, &[&format!("--object-format={format}")]);
        main.write("sub/a", "x");
        main.commit();
        let place = |at: &str| world.at(&format!("{format}/{at}")).tree().place;
        main.git(&["worktree", "add", "--quiet", "trees/side"]);
        assert_eq!(place(""), " .git");
        assert_eq!(place("sub"), ".. ../.git");
        assert_eq!(place("trees/side"), " ../../.git/worktrees/side");
        // Without its own, git finds the one around it.
        main.remove("trees/side/.git");
        assert_eq!(place("trees/side"), "../.. ../../.git");
        main.git(&["init", "--quiet", "trees/side"]);
        assert_eq!(place("trees/side"), " .git");
    }
}

#[test]
fn a_bare_repository_has_no_work_tree_but_its_linked_ones_do() {
    let world = World::new();
    let origin = world.repository("origin");
    origin.git(&["clone", "--quiet", "--bare", ".", "../bare"]);
    let bare = world.at("bare");
    assert_eq!(bare.read().unwrap(), Answer::NoWorkTree);
    let expected = Place {
        root: None,
        main_root: None,
        is_linked: false,
    };
    assert_eq!(bare.place(), expected);
    bare.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let side = world.at("side");
    assert_eq!(side.tree().changes, []);
    let expected = Place {
        root: Some(side.root.clone()),
        main_root: None,
        is_linked: true,
    };
    assert_eq!(side.place(), expected);
}

#[test]
fn shallow_and_partial_clones_are_read_like_any_other() {
    let world = World::new();
    let origin = world.repository("origin");
    origin.write("b", "x");
    origin.commit();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.root.display());
    for (name, option) in [("shallow", "--depth=1"), ("blobless", "--filter=blob:none")] {
        origin.git(&["clone", "--quiet", option, &url, &format!("../{name}")]);
        let clone = world.at(name);
        assert_eq!(clone.tree().changes, [], "{name}");
        clone.git(&["branch", "agent-old"]);
        clone.write("b", "y");
        clone.git(&["checkout", "--quiet", "-b", "agent-new"]);
        clone.commit();
        clone.git(&["checkout", "--quiet", "main"]);
        assert_eq!(clone.unmerged(&["old", "new"]), ["agent-new"], "{name}");
        assert_eq!(clone.place().main_root.as_ref(), Some(&clone.root));
    }
}

#[test]
fn files_outside_a_sparse_checkout_are_not_deleted() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.write("in/file", "x");
    repo.write("out/file", "x");
    repo.commit();
    repo.git(&["sparse-checkout", "set", "--cone", "in"]);
    assert!(!repo.root.join("out").exists());
    assert_eq!(tree(repo.read()).changes, []);
    // libgit2 errs here, so what it glances at may never decide by itself.
    let glance = repo.glance().unwrap();
    assert_eq!(glance.changes, [tracked("out/file", "deleted")]);
}

#[test]
fn there_is_a_glance_only_where_libgit2_is_soon_done() {
    let world = World::new();
    let repo = world.repository("repo");
    assert_eq!(repo.glance(), Some(tracked_part(&repo.tree())));
    for number in 0..1000 {
        repo.write(&format!("many/{number}"), "x");
    }
    // Not tracked yet, so nobody looks at them.
    assert_eq!(repo.glance(), Some(tracked_part(&repo.tree())));
    repo.commit();
    assert_eq!(repo.glance(), None);

    let bare = world.empty_repository("bare", &["--bare"]);
    assert_eq!(bare.glance(), None);
    assert_eq!(world.at("home").glance(), None);
    assert_eq!(world.at("gone").glance(), None);
}

#[test]
fn a_submodule_is_changed_by_commits_and_edits_but_not_by_stray_files() {
    let world = World::new();
    let library = world.repository("library");
    let repo = world.repository("repo");
    repo.git(&["submodule", "--quiet", "add", "../library", "lib"]);
    repo.commit();
    let lib = world.at("repo/lib");
    lib.write("stray", "x");
    for git in [Git::at(&repo.root), without_git(&repo)] {
        assert_eq!(tree(git.read(LONG)).changes, []);
    }
    lib.write("a", "two\n");
    let old = library.git(&["rev-parse", "HEAD"]);
    for git in [Git::at(&repo.root), without_git(&repo)] {
        let changes = tree(git.read(LONG)).changes;
        assert_eq!(changes.len(), 1);
        assert!(!changes[0].is_untracked);
        let flags = format!("{old} S.M. ");
        assert!(changes[0].content.starts_with(&flags), "{changes:?}");
    }
    lib.commit();
    let new = lib.git(&["rev-parse", "HEAD"]);
    for git in [Git::at(&repo.root), without_git(&repo)] {
        let expected = tracked("lib", format!("{new} SC.."));
        assert_eq!(tree(git.read(LONG)).changes, [expected]);
    }
    assert_eq!(lib.place().main_root, Some(lib.root.clone()));
    assert!(!lib.place().is_linked);
}

/// Of somebody's half-finished file the names alone tell nothing: it was changed before.
fn tells_apart(repo: &Repo, edits: &[&dyn Fn()]) {
    let mut seen = vec![repo.tree().changes];
    for (number, edit) in edits.iter().enumerate() {
        edit();
        let changes = repo.tree().changes;
        assert_eq!(repo.tree().changes, changes, "edit {number}");
        assert!(!seen.contains(&changes), "edit {number}: {changes:?}");
        seen.push(changes);
    }
}

#[test]
fn each_edit_in_a_submodule_that_was_edited_before_is_seen() {
    let world = World::new();
    world.repository("library");
    let repo = world.repository("repo");
    repo.git(&["submodule", "--quiet", "add", "../library", "lib"]);
    repo.commit();
    let lib = world.at("repo/lib");
    lib.write("b", "x");
    lib.commit();
    lib.write("a", "theirs\n");
    tells_apart(
        &repo,
        &[
            &|| lib.write("a", "ours\n"),
            &|| lib.write("b", "ours\n"),
            &|| lib.remove("a"),
            &|| lib.commit(),
        ],
    );
    lib.write("a", "theirs\n");
    let before = repo.tree().changes;
    lib.write("stray", "x");
    assert_eq!(repo.tree().changes, before);
}

#[test]
fn each_edit_in_a_repository_within_is_seen() {
    let world = World::new();
    let repo = world.repository("repo");
    let inner = world.repository("repo/inner");
    let clean = repo.tree().changes;
    inner.write("a", "theirs\n");
    tells_apart(
        &repo,
        &[
            &|| inner.write("a", "ours\n"),
            &|| inner.write("new", "x"),
            &|| inner.write("new", "y"),
        ],
    );
    // It is saved there, whoever did it.
    inner.commit();
    assert_eq!(repo.tree().changes, clean);
}

#[test]
fn what_only_the_index_has_is_seen() {
    let world = World::new();
    let repo = world.repository("repo");
    let stage = |text: &str| {
        repo.write("a", text);
        repo.git(&["add", "a"]);
        repo.write("a", "theirs\n");
    };
    repo.write("a", "theirs\n");
    let theirs = repo.tree().changes;
    assert_eq!(theirs, [tracked("a", hash("theirs\n"))]);
    tells_apart(&repo, &[&|| stage("ours\n"), &|| stage("more\n")]);
    // What is in the work tree as well is not the index's own.
    repo.git(&["add", "a"]);
    assert_eq!(repo.tree().changes, theirs);
    repo.git(&["reset", "--quiet"]);
    assert_eq!(repo.tree().changes, theirs);
    // Nor is a file that is no longer in it.
    repo.git(&["rm", "--quiet", "--cached", "a"]);
    assert_eq!(repo.tree().changes, theirs);
}

#[test]
fn a_submodule_that_is_not_checked_out_does_not_borrow_our_commit() {
    let world = World::new();
    let repo = world.repository("repo");
    let link = format!("160000,{},lib", repo.git(&["rev-parse", "HEAD"]));
    repo.git(&["update-index", "--add", "--cacheinfo", &link]);
    fs::create_dir(repo.root.join("lib")).unwrap();
    assert_eq!(repo.tree().changes, [tracked("lib", "no commit S...")]);
}

#[test]
fn a_repository_within_is_a_directory() {
    let world = World::new();
    let repo = world.repository("repo");
    world.repository("repo/inner");
    assert_eq!(repo.tree().changes, [untracked("inner", "directory")]);
}

#[test]
fn without_any_repository_there_is_nothing_to_read() {
    let world = World::new();
    let home = world.at("home");
    assert_eq!(home.read().unwrap(), Answer::NoRepository);
    assert_eq!(Git::at(&home.root).place().unwrap(), None);
    assert!(home.unmerged(&["a"]).is_empty());
}

#[test]
fn a_repository_that_git_cannot_read_is_an_error() {
    let world = World::new();
    let repo = world.repository("repo");
    fs::write(repo.root.join(".git/index"), "garbage").unwrap();
    let error = repo.read().unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("`git status` exited with 128: fatal: ")
    );
    fs::create_dir_all(world.dir.join("hollow/.git")).unwrap();
    let error = world.at("hollow").read().unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        "-f",
        "--no-checkout",
        "../side",
    ]);
    fs::remove_dir_all(repo.root.join(".git/worktrees")).unwrap();
    let error = world.at("side").read().unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
}

#[test]
fn a_directory_that_is_gone_is_named() {
    let world = World::new();
    let error = world.at("gone").read().unwrap_err();
    let path = world.dir.join("gone");
    let expected = format!("could not enter `{}`", path.display());
    assert_eq!(error.to_string(), expected);
    assert!(Git::at(&path).place().is_err());
    assert_eq!(Git::at(&path).user_name(), None);
}

#[test]
fn a_repository_of_somebody_else_is_read_only_if_git_trusts_it() {
    let world = World::new();
    let inside = is_inside(
        "a_repository_of_somebody_else_is_read_only_if_git_trusts_it",
        &world,
        &[],
    );
    if !inside {
        return;
    }
    let repo = world.repository("repo");
    let chown = Call::new("chown").args(["-R", "12345"]).arg(&repo.root);
    if !chown.run().is_ok_and(|output| output.code == Some(0)) {
        return skipped("a foreign owner needs root and chown");
    }
    let error = repo.read().unwrap_err();
    let Error::Refused { code, line, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*code, Some(128));
    assert!(
        line.starts_with("fatal: detected dubious ownership"),
        "{line}"
    );
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let config = format!("[safe]\n\tdirectory = {}\n", repo.root.display());
    fs::write(home.join(".gitconfig"), config).unwrap();
    assert_eq!(repo.tree().changes, []);
}

#[test]
fn formats_that_libgit2_refuses_are_read_by_git() {
    let world = World::new();
    for (name, option) in [
        ("sha256", "--object-format=sha256"),
        ("reftable", "--ref-format=reftable"),
    ] {
        let args = ["init", "--quiet", option, &format!("{name}-probe")];
        if world.git(&world.dir, &args).code != Some(0) {
            skipped(&format!("this git knows no {name}"));
            continue;
        }
        let repo = world.empty_repository(name, &[option]);
        assert!(git2::Repository::open(&repo.root).is_err());
        assert_eq!(repo.tree().head, None);
        repo.write("a", "one\n");
        repo.git(&["branch", "--quiet", "-m", "main"]);
        repo.commit();
        repo.fork();
        repo.write("b", "x");
        let tree = repo.tree();
        assert_eq!(tree.head, Some(repo.git(&["rev-parse", "HEAD"])));
        assert_eq!(tree.branch.as_deref(), Some("main"));
        assert_eq!(tree.changes, [untracked("b", hash("x"))]);
        assert!(!tree.is_approximate);
        for (branch, tip) in [("agent-new", "other"), ("agent-a/b", "other")] {
            repo.git(&["branch", branch, tip]);
        }
        repo.git(&["branch", "agent-old", "main"]);
        let tasks = ["new", "old", "none", "a/b"];
        assert_eq!(repo.unmerged(&tasks), ["agent-a/b", "agent-new"]);
        repo.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
        let side = world.at("side");
        let expected = Place {
            root: Some(side.root.clone()),
            main_root: Some(repo.root.clone()),
            is_linked: true,
        };
        assert_eq!(side.place(), expected);
        for operation in ["cherry-pick", "revert"] {
            side.git_stuck(&[operation, "other"]);
            assert_eq!(side.tree().unfinished.as_deref(), Some(operation));
            assert_eq!(repo.tree().unfinished, None);
            side.git(&["reset", "--quiet", "--hard"]);
            assert_eq!(side.tree().unfinished, None);
        }
        fs::remove_dir_all(&side.root).unwrap();
    }
}

fn without_git(repo: &Repo) -> Git {
    Git::at(&repo.root).with_program("no-such-git")
}

#[test]
fn where_no_git_is_installed_the_answer_is_approximate() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.write(".gitignore", "*.log\n");
    repo.write("kept", "x");
    repo.commit();
    repo.write("a", "two\n");
    repo.git(&["rm", "--quiet", "--cached", "kept"]);
    repo.write("dir/new", "x");
    repo.write("noise.log", "x");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    let tree = tree(without_git(&repo).read(LONG));
    let mut expected = repo.tree();
    assert!(!expected.is_approximate);
    expected.is_approximate = true;
    assert_eq!(tree, expected);
    let place = without_git(&repo).place().unwrap();
    assert_eq!(place, Some(repo.place()));
}

#[test]
fn where_no_git_is_installed_heads_are_still_told_apart() {
    let world = World::new();
    let unborn = world.empty_repository("unborn", &[]);
    let answer = tree(without_git(&unborn).read(LONG));
    assert_eq!(
        (answer.head, answer.branch.as_deref()),
        (None, Some("main"))
    );
    let repo = world.repository("repo");
    repo.git(&["checkout", "--quiet", "--detach"]);
    let answer = tree(without_git(&repo).read(LONG));
    assert_eq!(answer.head, Some(repo.git(&["rev-parse", "HEAD"])));
    assert_eq!(answer.branch, None);
    let sha256 = world.empty_repository("sha256", &["--object-format=sha256"]);
    let error = without_git(&sha256).read(LONG).unwrap_err();
    assert!(matches!(error, Error::Library { .. }), "{error:?}");
}

#[test]
fn settings_do_not_hide_changes() {
    let world = World::new();
    let repo = world.repository("repo");
    for (name, value) in [
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "true"),
        ("status.showStash", "true"),
        ("status.short", "true"),
        ("status.branch", "false"),
        ("color.status", "always"),
        ("core.quotePath", "true"),
    ] {
        repo.git(&["config", name, value]);
    }
    repo.write("a", "two\n");
    repo.git(&["stash", "--quiet"]);
    repo.write("dir/ä b", "x");
    assert_eq!(repo.tree().changes, [untracked("dir/ä b", hash("x"))]);
}

#[test]
fn reading_changes_nothing_and_runs_nothing() {
    let world = World::new();
    let repo = world.repository("repo");
    let mark = world.dir.join("mark");
    for name in ["fsmonitor", "post-index-change"] {
        let hook = repo.root.join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        let script = format!("#!/bin/sh\necho {name} >> '{}'\n", mark.display());
        fs::write(&hook, script).unwrap();
        executable(&hook);
    }
    repo.git(&["config", "core.fsmonitor", ".git/hooks/fsmonitor"]);
    // An index that no longer fits the files' times is one that git would like to refresh.
    let file = fs::File::options().write(true).open(repo.root.join("a"));
    let past = SystemTime::now() - Duration::from_secs(1000);
    file.unwrap().set_modified(past).unwrap();
    let index = repo.root.join(".git/index");
    let before = fs::read(&index).unwrap();
    let _ = fs::remove_file(&mark);
    assert_eq!(repo.tree().changes, []);
    assert!(fs::read(&index).unwrap() == before);
    assert!(!mark.exists());
    // The agent's own git is at work.
    fs::write(repo.root.join(".git/index.lock"), "").unwrap();
    assert_eq!(repo.tree().changes, []);
    assert_eq!(tree(without_git(&repo).read(LONG)).changes, []);
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn executable(_path: &Path) {}

#[test]
fn another_repository_in_the_environment_is_ignored() {
    let world = World::new();
    let other = world.repository("other");
    other.write("mess", "x");
    other.git(&["branch", "agent-stray"]);
    let git_dir = other.root.join(".git");
    let index = git_dir.join("index");
    let env = [
        ("GIT_DIR", git_dir.as_path()),
        ("GIT_COMMON_DIR", &git_dir),
        ("GIT_WORK_TREE", &other.root),
        ("GIT_INDEX_FILE", &index),
        ("GIT_CEILING_DIRECTORIES", Path::new("/")),
    ];
    let test = "another_repository_in_the_environment_is_ignored";
    if !is_inside(test, &world, &env) {
        return;
    }
    assert!(std::env::var_os("GIT_DIR").is_some());
    for format in ["sha1", "sha256"] {
        let repo = world.empty_repository(format, &[&format!("--object-format={format}")]);
        repo.write("sub/a", "x");
        assert_eq!(repo.tree().changes, [untracked("sub/a", hash("x"))]);
        assert_eq!(repo.place().root, Some(repo.root.clone()));
        let below = world.at(&format!("{format}/sub"));
        assert_eq!(below.place(), repo.place());
        assert!(repo.unmerged(&["stray"]).is_empty());
    }
    assert_eq!(world.at("home").read().unwrap(), Answer::NoRepository);
}

#[test]
fn a_deadline_that_has_passed_is_an_error() {
    let world = World::new();
    let repo = world.repository("repo");
    // Git itself may be quick enough; the content of what it found may not.
    repo.write("a", "two\n");
    assert!(Git::at(&repo.root).read(Duration::ZERO).is_err());
}

#[test]
fn a_branch_is_merged_when_head_has_its_tip() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["branch", "agent-equal"]);
    repo.fork();
    repo.git(&["branch", "agent-ancestor", "HEAD~1"]);
    repo.git(&["branch", "agent-new", "other"]);
    repo.git(&["branch", "agent-deep/er", "other"]);
    repo.git(&["branch", "agent-somebody's", "other"]);
    repo.git(&["branch", "new", "other"]);
    repo.git(&["tag", "agent-tag", "other"]);
    let tasks = [
        "new",
        "equal",
        "ancestor",
        "tag",
        "none",
        "deep/er",
        "",
        "--all",
        "two words",
        "new^{/work}",
        "*",
    ];
    assert_eq!(repo.unmerged(&tasks), ["agent-deep/er", "agent-new"]);
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(repo.unmerged(&tasks), ["agent-deep/er", "agent-new"]);
    repo.git(&["merge", "--quiet", "--strategy=ours", "agent-new"]);
    assert!(repo.unmerged(&tasks).is_empty());
    repo.git(&["checkout", "--quiet", "--orphan", "agent-fresh"]);
    repo.git(&["branch", "agent-lone", "main"]);
    assert_eq!(repo.unmerged(&["lone", "fresh"]), ["agent-lone"]);
}

#[test]
fn branches_that_are_not_all_looked_at_in_time_are_an_error() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["branch", "agent-a"]);
    let unmerged = Git::at(&repo.root).unmerged(&ids(&["a"]), Duration::ZERO);
    assert!(matches!(unmerged, Err(Error::Late { .. })), "{unmerged:?}");
}

#[test]
fn the_person_is_called_as_the_repository_says() {
    let world = World::new();
    let test = "the_person_is_called_as_the_repository_says";
    if !is_inside(test, &world, &[]) {
        return;
    }
    let repo = world.repository("repo");
    assert_eq!(Git::at(&repo.root).user_name(), None);
    repo.git(&["config", "user.name", "Grace Hopper"]);
    for git in [Git::at(&repo.root), without_git(&repo)] {
        assert_eq!(git.user_name().as_deref(), Some("Grace Hopper"));
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn names_that_are_no_text_are_told_apart() {
        let world = World::new();
        let repo = world.repository("repo");
        for name in [&b"n\xfe"[..], b"n\xff", "n\u{fffd}".as_bytes()] {
            let path = repo.root.join(OsStr::from_bytes(name));
            if fs::write(path, "x").is_err() {
                return skipped("this file system wants names to be text");
            }
        }
        let names = ["n\u{fffd}", "n\\xfe", "n\\xff"];
        let expected = names.map(|name| untracked(name, hash("x")));
        assert_eq!(repo.tree().changes, expected);
    }

    /// A git that is this script; `$GIT` in it is the real one.
    fn with_script(repo: &Repo, script: &str) -> Git {
        let path = repo.world.dir.join("script");
        let real = locate("git").unwrap();
        let text = format!("#!/bin/sh\nGIT='{}'\n{script}\n", real.display());
        fs::write(&path, text).unwrap();
        executable(&path);
        Git::at(&repo.root).with_program(path)
    }

    const CUT: &str = "\"$GIT\" \"$@\" | head -c 60";

    #[test]
    fn a_change_that_git_did_not_come_to_say_is_not_taken_for_none() {
        let world = World::new();
        let repo = world.repository("repo");
        repo.write("new", "x");
        for script in ["exit 0", CUT] {
            let error = with_script(&repo, script).read(LONG).unwrap_err();
            let expected = "`git status` did not print its whole answer";
            assert_eq!(error.to_string(), expected, "{script}");
        }
        let whole = with_script(&repo, "\"$GIT\" \"$@\"");
        assert_eq!(
            tree(whole.read(LONG)).changes,
            [untracked("new", hash("x"))]
        );
    }

    #[test]
    fn a_watched_file_is_not_clean_because_git_said_nothing() {
        let world = World::new();
        let repo = world.repository("repo");
        let other = world.repository("other");
        other.write("a", "two\n");
        let git = with_script(&repo, "case $2 in */repo) exec \"$GIT\" \"$@\";; esac");
        let error = git.watching(Some(other.root.join("a"))).read(LONG);
        assert!(matches!(error, Err(Error::Cut { .. })), "{error:?}");
    }

    #[test]
    fn what_only_git_can_read_is_read_whole_or_not_at_all() {
        let world = World::new();
        let repo = world.empty_repository("repo", &["--object-format=sha256"]);
        repo.write("a", "one\n");
        repo.commit();
        repo.git(&["checkout", "--quiet", "-b", "agent-with-a-long-name"]);
        repo.write("a", "two\n");
        repo.commit();
        repo.git(&["checkout", "--quiet", "main"]);
        assert_eq!(repo.unmerged(&["with-a-long-name"]).len(), 1);
        for script in ["exit 0", "\"$GIT\" \"$@\" | head -c 20"] {
            let git = with_script(&repo, script);
            assert!(matches!(git.place(), Err(Error::Cut { .. })), "{script}");
            assert!(git.read(LONG).is_err(), "{script}");
            let unmerged = git.unmerged(&ids(&["with-a-long-name"]), LONG);
            assert!(unmerged.is_err(), "{script}: {unmerged:?}");
        }
        // One that answers only the first questions.
        let script =
            "case $* in *rev-parse*) \"$GIT\" \"$@\";; *) \"$GIT\" \"$@\" | head -c 20;; esac";
        let unmerged = with_script(&repo, script).unmerged(&ids(&["with-a-long-name"]), LONG);
        assert!(matches!(unmerged, Err(Error::Cut { .. })), "{unmerged:?}");
    }

    #[test]
    fn a_file_that_may_be_run_is_another_one() {
        let world = World::new();
        let repo = world.repository("repo");
        repo.write("a", "theirs\n");
        repo.write("new", "x");
        let path = |name: &str| repo.root.join(name);
        tells_apart(
            &repo,
            &[&|| executable(&path("a")), &|| executable(&path("new"))],
        );
        let changes = repo.tree().changes;
        repo.git(&["add", "a"]);
        assert_eq!(repo.tree().changes, changes);
        // Where git does not care, nobody can be asked for it.
        repo.git(&["reset", "--quiet"]);
        repo.git(&["config", "core.fileMode", "false"]);
        assert_eq!(repo.tree().changes[0], tracked("a", hash("theirs\n")));
    }

    #[test]
    fn a_pipe_is_never_opened() {
        let world = World::new();
        let repo = world.repository("repo");
        repo.write("dir/file", "x");
        repo.remove("a");
        for path in ["a", "dir/pipe"] {
            let call = Call::new("mkfifo").arg(repo.root.join(path));
            answer(&call.run().unwrap());
        }
        let expected = [tracked("a", "special"), untracked("dir/file", hash("x"))];
        assert_eq!(repo.tree().changes, expected);
        let answer = tree(without_git(&repo).read(LONG));
        assert!(
            answer
                .changes
                .iter()
                .all(|change| change.content != "unreadable")
        );
    }

    #[test]
    fn a_link_is_its_target_and_nothing_behind_it() {
        let world = World::new();
        let repo = world.repository("repo");
        repo.write("dir/file", "x");
        repo.commit();
        fs::write(world.dir.join("secret"), "x").unwrap();
        symlink("../secret", repo.root.join("link")).unwrap();
        symlink("/dev/zero", repo.root.join("zero")).unwrap();
        repo.git(&["mv", "dir", "moved"]);
        repo.git(&["reset", "--quiet"]);
        symlink("moved", repo.root.join("dir")).unwrap();
        let expected = [
            untracked("dir", format!("link:{}", hash("moved"))),
            tracked("dir/file", "deleted"),
            untracked("link", format!("link:{}", hash("../secret"))),
            untracked("moved/file", hash("x")),
            untracked("zero", format!("link:{}", hash("/dev/zero"))),
        ];
        // libgit2 looks through the link and finds the file that git calls deleted.
        assert_eq!(tree(repo.read()).changes, expected);
    }

    #[test]
    fn a_directory_behind_a_link_is_in_the_repository_that_it_leads_to() {
        let world = World::new();
        let repo = world.repository("repo");
        repo.write("dir/file", "x");
        symlink(repo.root.join("dir"), world.dir.join("link")).unwrap();
        assert_eq!(world.at("link").place().root, Some(repo.root.clone()));
    }

    #[test]
    fn a_file_that_may_not_be_read_is_a_change_still() {
        let world = World::new();
        let repo = world.repository("repo");
        repo.write("closed", "x");
        let path = repo.root.join("closed");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(&path).is_ok() {
            return skipped("root may read everything");
        }
        assert_eq!(repo.tree().changes, [untracked("closed", "unreadable")]);
    }
}

#[test]
fn a_watched_file_counts_wherever_its_work_tree_is() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.git(&["worktree", "add", "--quiet", "../side"]);
    repo.write("dir/watched", "one\n");
    repo.commit();
    let side = world.at("side");
    for git in [Git::at(&side.root), without_git(&side)] {
        let read = |file: &str| {
            let watching = git.clone().watching(Some(repo.root.join(file)));
            tree(watching.read(LONG)).changes
        };
        assert_eq!(read("dir/watched"), []);
        repo.write("dir/watched", "two\n");
        repo.write("dir/new", "new\n");
        assert_eq!(
            read("dir/watched"),
            [tracked("../repo/dir/watched", hash("two\n"))]
        );
        assert_eq!(
            read("dir/new"),
            [untracked("../repo/dir/new", hash("new\n"))]
        );
        repo.remove("dir/watched");
        assert_eq!(
            read("dir/watched"),
            [tracked("../repo/dir/watched", "deleted")]
        );
        assert_eq!(read("no-such-folder/file"), []);
        repo.git(&["checkout", "--quiet", "dir/watched"]);
        repo.remove("dir/new");
    }
}

#[test]
fn a_watched_file_inside_the_work_tree_is_named_once() {
    let world = World::new();
    let repo = world.repository("repo");
    repo.write("a", "two\n");
    let watching = Git::at(&repo.root).watching(Some(repo.root.join("a")));
    let changes = tree(watching.read(LONG)).changes;
    assert_eq!(changes, [tracked("a", hash("two\n"))]);
}

#[test]
fn a_watched_file_without_a_repository_has_no_changes() {
    let world = World::new();
    let repo = world.repository("repo");
    fs::write(world.dir.join("file"), "x").unwrap();
    let watching = Git::at(&repo.root).watching(Some(world.dir.join("file")));
    assert_eq!(tree(watching.read(LONG)).changes, []);
}
