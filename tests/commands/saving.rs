//! What counts as saved: which work tree is asked, what becomes of a stop when it is not there any
//! more, and which edits on top of the person's own are seen.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scene::{EPIC, SESSION, Scene, Stop, epic_row, task_row};

const CHECKPOINT: &str = "<promise>CONTEXT LIMIT - CHECKPOINT</promise>";

/// A run whose only task is closed and committed.
fn closed() -> Scene {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    close(&scene);
    scene
}

fn close(scene: &Scene) {
    scene.set_status(1, "closed");
    scene.git(&["commit", "-q", "-m", "close", ".beads"]);
}

/// The same in a linked work tree, with an edit in it that nobody has saved.
fn closed_in_linked(folder: &str) -> (Scene, PathBuf) {
    let scene = Scene::with_tasks(1);
    scene.write(".git/info/exclude", "/trees/\n");
    scene.git(&["worktree", "add", "-q", folder]);
    let linked = scene.path(folder).canonicalize().unwrap();
    let start = scene.beadlock(&["start", EPIC, "--session", SESSION]);
    assert_eq!(start.dir(&linked).done().status, 0);
    close(&scene);
    fs::write(linked.join("README"), "changed\n").unwrap();
    (scene, linked)
}

/// A stop in a work tree of a session whose project is the main one.
fn stop_in<'a>(scene: &'a Scene, dir: &Path) -> Stop<'a> {
    let project = scene.root.to_str().unwrap();
    scene.stop().dir(dir).env("CLAUDE_PROJECT_DIR", project)
}

#[test]
fn a_repository_that_became_bare_is_not_saved() {
    let scene = closed();
    scene.write("README", "changed\n");
    scene.git(&["config", "core.bare", "true"]);
    for _ in 0..2 {
        let fed = scene.stop().blocks("unknown");
        assert!(fed.contains("git: found no work tree"), "{fed}");
    }
    let told = scene.stop().allows("unknown");
    assert!(told.contains("without knowing whether"), "{told}");
    assert_eq!(scene.run().state.name(), "active");
    scene.git(&["config", "core.bare", "false"]);
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("README"), "{fed}");
}

#[test]
fn nor_is_it_at_a_checkpoint() {
    let scene = closed();
    scene.write("README", "changed\n");
    scene.git(&["config", "core.bare", "true"]);
    let told = scene.stop().says(CHECKPOINT).allows("checkpoint");
    assert!(told.contains("git is unknown"), "{told}");
}

#[test]
fn a_linked_work_tree_without_its_repository_is_not_saved() {
    let (scene, linked) = closed_in_linked("../linked");
    fs::rename(linked.join(".git"), linked.join("away")).unwrap();
    let fed = stop_in(&scene, &linked).blocks("unknown");
    assert!(fed.contains("git: found no repository"), "{fed}");
    let told = stop_in(&scene, &linked).says(CHECKPOINT);
    assert!(told.allows("checkpoint").contains("git is unknown"));
    assert_eq!(scene.beadlock(&["resume"]).done().status, 0);
    fs::rename(linked.join("away"), linked.join(".git")).unwrap();
    stop_in(&scene, &linked).blocks("unsaved_work");
}

/// Git looks further up then, and finds the main work tree in its best order.
#[test]
fn another_work_tree_around_the_lost_one_does_not_answer_for_it() {
    let (scene, linked) = closed_in_linked("trees/linked");
    fs::rename(linked.join(".git"), linked.join("away")).unwrap();
    let fed = stop_in(&scene, &linked).blocks("unknown");
    assert!(fed.contains("git: found another work tree"), "{fed}");
    let told = stop_in(&scene, &linked).says(CHECKPOINT);
    assert!(told.allows("checkpoint").contains("git is unknown"));
}

#[test]
fn nor_does_a_repository_that_was_begun_in_its_place() {
    let (scene, linked) = closed_in_linked("../linked");
    fs::remove_file(linked.join(".git")).unwrap();
    scene.git_in(&linked, &["init", "-q"]);
    scene.git_in(&linked, &["add", "-A"]);
    scene.git_in(&linked, &["commit", "-q", "-m", "all new"]);
    let fed = stop_in(&scene, &linked).blocks("unknown");
    assert!(fed.contains("git: found another work tree"), "{fed}");
}

/// There was nothing to save in at the start. Whose the files are that git now calls new, nobody
/// can tell, so they are asked for once; whatever is in the index is the agent's.
#[test]
fn a_repository_that_the_agent_began_is_one_to_save_in() {
    let scene = Scene::folder();
    scene.rows(&[epic_row(), task_row(1, "open")]);
    scene.write("theirs", "x");
    scene.start(SESSION);
    scene.set_status(1, "closed");
    scene.git(&["init", "-q", "-b", "main"]);
    scene.write("work", "w");
    // The store stays where the run began.
    let stop = || {
        let stop = scene.stop().env("CLAUDE_CODE_ENTRYPOINT", "cli");
        stop.done().stdout
    };
    let asked = stop();
    assert!(asked.contains("git does not know: theirs, work"), "{asked}");
    scene.git(&["add", "work"]);
    for _ in 0..2 {
        let asked = stop();
        assert!(asked.contains("Not committed: work, theirs"), "{asked}");
    }
    scene.git(&["commit", "-q", "-m", "work"]);
    let asked = stop();
    assert!(asked.contains("git does not know: theirs"), "{asked}");
    let told = stop();
    assert!(told.contains("is complete after 5 cycles"), "{told}");
}

/// As a run was kept before anybody noted what git had found.
#[test]
fn a_run_that_did_not_note_where_it_began_is_judged_by_what_is_there() {
    let scene = closed();
    let database = rusqlite::Connection::open(scene.store_dir().database()).unwrap();
    let old = r#"UPDATE baseline SET doc = '{"paths":{},"unfinished":null}'"#;
    database.execute(old, []).unwrap();
    drop(database);
    scene.git(&["config", "core.bare", "true"]);
    scene.stop().blocks("unknown");
    scene.git(&["config", "core.bare", "false"]);
    scene.write("README", "changed\n");
    scene.stop().blocks("unsaved_work");
    scene.git(&["checkout", "-q", "README"]);
    scene.stop().allows("complete");
}

/// The task is closed and committed; the agent is held for its edit, and complete once that is
/// undone and only the person's own are left.
fn is_held_for(scene: &Scene, named: &str, edit: impl FnOnce(), undo: impl FnOnce()) {
    scene.start(SESSION);
    close(scene);
    edit();
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains(&format!(": {named}. Commit")), "{fed}");
    undo();
    scene.stop().allows("complete");
}

#[test]
fn an_edit_in_a_submodule_that_the_person_had_edited_is_seen() {
    let scene = Scene::with_tasks(1);
    let library = scene.path("../library");
    fs::create_dir(&library).unwrap();
    scene.git_in(&library, &["init", "-q"]);
    fs::write(library.join("a"), "one\n").unwrap();
    scene.git_in(&library, &["add", "a"]);
    scene.git_in(&library, &["commit", "-q", "-m", "a"]);
    let allow = "protocol.file.allow=always";
    scene.git(&[
        "-c",
        allow,
        "submodule",
        "--quiet",
        "add",
        "../library",
        "lib",
    ]);
    scene.commit_all("lib");
    scene.write("lib/a", "theirs\n");
    let edit = |text| {
        let path = scene.path("lib/a");
        move || fs::write(path, text).unwrap()
    };
    is_held_for(&scene, "lib", edit("ours\n"), edit("theirs\n"));
}

#[test]
fn an_edit_in_a_repository_of_the_persons_within_is_seen() {
    let scene = Scene::with_tasks(1);
    scene.git(&["init", "-q", "inner"]);
    scene.write("inner/a", "theirs\n");
    let edit = || scene.write("inner/b", "ours\n");
    let undo = || fs::remove_file(scene.path("inner/b")).unwrap();
    is_held_for(&scene, "inner", edit, undo);
}

#[test]
fn what_is_staged_of_the_persons_file_and_nowhere_else_is_seen() {
    let scene = Scene::with_tasks(1);
    scene.write("README", "theirs\n");
    let edit = || {
        scene.write("README", "ours\n");
        scene.git(&["add", "README"]);
        scene.write("README", "theirs\n");
    };
    // Staged, it is no more than what the work tree has.
    let undo = || drop(scene.git(&["add", "README"]));
    is_held_for(&scene, "README", edit, undo);
}

#[cfg(unix)]
#[test]
fn a_file_of_the_persons_that_may_be_run_now_is_seen() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::with_tasks(1);
    scene.write("README", "theirs\n");
    let mode = |mode| {
        let path = scene.path("README");
        move || fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
    };
    is_held_for(&scene, "README", mode(0o755), mode(0o644));
}

/// A name that some other machine took for text.
#[cfg(unix)]
#[test]
fn a_run_stands_wherever_its_directory_is_named_so() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::folder();
    let root = scene.root.join(OsStr::from_bytes(b"caf\xe9"));
    if fs::create_dir(&root).is_err() {
        // This file system wants names to be text.
        return;
    }
    scene.git_in(&root, &["init", "-q"]);
    let rows = [epic_row(), task_row(1, "open")].map(|row| row.to_string() + "\n");
    fs::create_dir(root.join(".beads")).unwrap();
    fs::write(root.join(".beads/issues.jsonl"), rows.concat()).unwrap();
    let start = scene.beadlock(&["start", EPIC, "--session", SESSION, "--json"]);
    assert_eq!(start.dir(&root).done().json()["epic"], EPIC);
    let stop = || {
        let stop = scene.stop().dir(&root).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        stop.done().stdout
    };
    assert!(stop().contains("Ready: bd-x7y8.1"));
    let closed = rows[1].replace("\"open\"", "\"closed\"");
    fs::write(root.join(".beads/issues.jsonl"), rows[0].clone() + &closed).unwrap();
    // Two names of the kind, with the same in them, are still two files.
    fs::write(root.join(OsStr::from_bytes(b"\xfe")), "x").unwrap();
    let asked = stop();
    assert!(asked.contains("git does not know: \\\\xfe."), "{asked}");
    let status = scene.beadlock(&["status", "--json"]).dir(&root).done();
    assert_eq!(status.json()["state"], "active");
    let told = stop();
    assert!(told.contains("left as new files: \\\\xfe."), "{told}");
}

#[cfg(unix)]
#[test]
fn a_new_file_is_not_taken_for_the_persons_by_a_name_that_is_no_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::with_tasks(1);
    let file = |byte| scene.root.join(OsStr::from_bytes(&[b'n', byte]));
    if fs::write(file(0xfe), "x").is_err() {
        // This file system wants names to be text.
        return;
    }
    scene.start(SESSION);
    close(&scene);
    fs::write(file(0xff), "x").unwrap();
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("git does not know: n\\xff."), "{fed}");
}
