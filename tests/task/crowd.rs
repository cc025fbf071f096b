//! Many at once, and some of them killed.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use crate::scene::Scene;

#[test]
fn sixteen_at_once_lose_nothing() {
    let scene = Scene::with("{\"id\":\"t-e\",\"issue_type\":\"epic\",\"x\":1.0}\n");
    thread::scope(|scope| {
        for worker in 0..16 {
            let scene = &scene;
            scope.spawn(move || {
                for number in 0..4 {
                    let title = format!("{worker} {number}");
                    let id = scene.fine(&["add", &title, "--epic", "t-e"]);
                    scene.fine(&["note", "t-e", &title]);
                    scene.fine(&["close", id.trim(), "--reason", &title]);
                }
            });
        }
    });
    let tasks = scene.json(&["list", "--epic", "t-e", "--all"]);
    let tasks = tasks.as_array().unwrap();
    assert_eq!(tasks.len(), 64);
    let mut titles: Vec<&str> = tasks
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), 64);
    assert!(tasks.iter().all(|task| task["stage"] == "closed"));
    let notes = scene.json(&["show", "t-e"])[0]["notes"]
        .as_str()
        .unwrap()
        .lines()
        .count();
    assert_eq!(notes, 64);
}

#[test]
fn of_sixteen_who_want_a_task_one_gets_it() {
    let scene = Scene::with("{\"id\":\"t-1\"}\n");
    let codes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|worker| {
                let scene = &scene;
                scope.spawn(move || {
                    scene
                        .run(&["start", "t-1", "--actor", &format!("w{worker}")])
                        .code
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1);
    assert_eq!(codes.iter().filter(|code| **code == Some(1)).count(), 15);
}

#[test]
fn killed_writers_leave_a_whole_file() {
    // Long lines of somebody else's make the writing slow and the reading quick.
    let foreign = format!(
        "{{\"_type\":\"memory\",\"x\":\"{}\"}}\n",
        "x".repeat(1 << 20)
    );
    let text = foreign.repeat(16) + "{\"id\":\"t-1\"}\n";
    let scene = Scene::with(&text);
    let leftovers = || fs::read_dir(scene.path(".beads")).unwrap().count() - 1;
    let began = Instant::now();
    scene.fine(&["note", "t-1", "whole"]);
    let whole = began.elapsed();
    let mut interrupted = 0;
    for round in 0..60 {
        let mut command = scene.command(&["note", "t-1", "again"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        thread::sleep(whole * (round % 20) / 20);
        let _ = child.kill();
        child.wait().unwrap();
        interrupted += leftovers();
        let now = scene.text();
        assert!(now.starts_with(&text[..text.len() - 2]), "round {round}");
        assert!(now.ends_with("\"}\n"), "round {round}");
    }
    // How many were caught in the act depends on the machine; what they leave must not.
    println!("{interrupted} writers were killed while writing");
    scene.fine(&["note", "t-1", "last"]);
    assert_eq!(leftovers(), 0);
}
