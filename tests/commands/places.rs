//! Where a session's run is found: plain folders, repositories in repositories and beside them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::scene::{Done, EPIC, SESSION, Scene, epic_row, task_row};

fn start_in(scene: &Scene, dir: &Path, epic: &str, session: &str) -> Done {
    let start = ["start", epic, "--session", session];
    scene.beadlock(&start).dir(dir).done()
}

/// A folder below the project.
fn folder(scene: &Scene, name: &str) -> PathBuf {
    let dir = scene.path(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// A repository of its own, which need not lie within the project.
fn repository(scene: &Scene, name: &str) -> PathBuf {
    let dir = folder(scene, name);
    scene.git_in(&dir, &["init", "-q", "-b", "main"]);
    scene.git_in(&dir, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    dir
}

#[test]
fn without_git_a_run_begun_in_a_subfolder_holds_the_whole_workspace() {
    let scene = Scene::folder();
    scene.rows(&[epic_row(), task_row(1, "open")]);
    let (sub, other) = (folder(&scene, "sub/deep"), folder(&scene, "other"));
    let done = start_in(&scene, &sub, EPIC, SESSION);
    assert_eq!(done.status, 0, "{}", done.stderr);
    scene.stop().blocks("open_work");
    for dir in [&other, &sub] {
        let stop = scene.stop().dir(dir).set("cwd", json!(dir));
        stop.blocks("open_work");
    }
    let again = start_in(&scene, &scene.root, EPIC, "second");
    again.fails(1, "is being worked on by session");
    assert!(!sub.join(".beadlock").exists());
}

#[test]
fn a_repository_without_a_tracker_keeps_its_runs_where_the_tracker_is() {
    let scene = Scene::with_tasks(1);
    let nested = repository(&scene, "nested");
    let library = repository(&scene, "../library");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];
    let add = [&add[..], &["add", library.to_str().unwrap(), "module"]].concat();
    scene.git(&add);
    for (number, dir) in [nested, scene.path("module")].iter().enumerate() {
        let session = format!("session-{number}");
        let done = start_in(&scene, dir, EPIC, &session);
        assert_eq!(done.status, 0, "{}", done.stderr);
        scene.stop().session(&session).blocks("open_work");
        let stop = scene.stop().session(&session).dir(dir);
        stop.set("cwd", json!(dir)).blocks("open_work");
        let again = start_in(&scene, &scene.root, EPIC, "second");
        again.fails(1, "is being worked on by session");
        assert_eq!(scene.beadlock(&["abort"]).dir(dir).done().status, 0);
        scene.stop().session(&session).allows_untraced("idle");
    }
}
