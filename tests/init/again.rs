//! A wiring that was cut short, or undone by somebody else.

use std::fs;

use crate::scene::Scene;
use crate::wiring::{RUN_TASKS, SETTINGS, everything, hooks, init, install, wire};

#[test]
fn what_cannot_be_read_leaves_all_as_it_was() {
    let scene = Scene::with_tasks(1);
    install(&scene);
    scene.write(SETTINGS, "{\"a\": 1}");
    // No folder can be made of this.
    scene.write(".claude/commands", "a file\n");
    let before = everything(&scene.root);
    init(&scene, &[]).fails(1, "commands");
    assert_eq!(everything(&scene.root), before);
}

#[test]
fn a_wiring_that_was_killed_is_finished_or_undone() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, "{\"a\": 1}");
    install(&scene);
    let before = everything(&scene.root);
    wire(&scene);
    // As if only the note and one of the files had been written.
    scene.write(SETTINGS, "{\"a\": 1}");
    fs::remove_file(scene.path("project.yaml")).unwrap();
    let half = everything(&scene.root);
    wire(&scene);
    assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
    init(&scene, &["--remove"]);
    assert_eq!(everything(&scene.root), before);

    wire(&scene);
    scene.write(SETTINGS, "{\"a\": 1}");
    fs::remove_file(scene.path("project.yaml")).unwrap();
    assert_eq!(everything(&scene.root), half);
    init(&scene, &["--remove"]);
    assert_eq!(everything(&scene.root), before);
}

#[test]
fn files_that_somebody_has_removed_are_forgotten() {
    let scene = Scene::with_tasks(1);
    install(&scene);
    let before = everything(&scene.root);
    wire(&scene);
    fs::remove_dir_all(scene.path(".claude")).unwrap();
    fs::remove_file(scene.path("project.yaml")).unwrap();
    let done = init(&scene, &["--remove"]);
    assert_eq!((done.status, done.stderr.as_str()), (0, "nothing to do\n"));
    assert_eq!(everything(&scene.root), before);
    wire(&scene);
    assert!(scene.path(RUN_TASKS).exists());
}
