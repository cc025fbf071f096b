//! Several at once.

use std::fs;
use std::thread;

use serde_json::Value;

use crate::scene::Scene;
use crate::wiring::{RUN_TASKS, SETTINGS, call, everything, hooks, init, install};

const CALLERS: usize = 8;

#[test]
fn of_many_at_once_one_wires() {
    for _ in 0..3 {
        let scene = Scene::with_tasks(1);
        let program = install(&scene);
        scene.write(SETTINGS, "{\"a\": 1}");
        let done: Vec<_> = thread::scope(|scope| {
            let calls: Vec<_> = (0..CALLERS)
                .map(|_| scope.spawn(|| call(&scene, &program, &["init"]).done()))
                .collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        for done in &done {
            assert_eq!(done.status, 0, "{done:?}");
        }
        let wrote = done
            .iter()
            .filter(|done| done.stderr.starts_with("Beadlock is in"));
        assert_eq!(wrote.count(), 1);
        assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
        init(&scene, &["--remove"]);
        assert_eq!(
            fs::read_to_string(scene.path(SETTINGS)).unwrap(),
            "{\"a\": 1}"
        );
    }
}

#[test]
fn wiring_and_unwiring_at_once_leaves_one_or_the_other() {
    let scene = Scene::with_tasks(1);
    let program = install(&scene);
    scene.write(SETTINGS, "{\"a\": 1}\n");
    let before = everything(&scene.root);
    thread::scope(|scope| {
        for index in 0..CALLERS {
            let options: &[&str] = if index % 2 == 0 {
                &["init"]
            } else {
                &["init", "--remove"]
            };
            let (scene, program) = (&scene, &program);
            scope.spawn(move || {
                for _ in 0..3 {
                    let done = call(scene, program, options).done();
                    // Whoever comes between is told to try again.
                    assert!(
                        done.status == 0 || done.stderr.contains("try again"),
                        "{done:?}"
                    );
                }
            });
        }
    });
    let text = fs::read_to_string(scene.path(SETTINGS)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["a"], 1);
    let is_wired = !hooks(&scene.path(SETTINGS), "Stop").is_empty();
    assert_eq!(scene.path(RUN_TASKS).exists(), is_wired);
    init(&scene, &["--remove"]);
    assert_eq!(everything(&scene.root), before);
}
