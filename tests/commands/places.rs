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

/// A tracker of its own in `dir`, with an epic of one task.
fn track(dir: &Path, epic: &str) {
    let (mut epic_row, mut task) = (epic_row(), task_row(1, "open"));
    epic_row["id"] = json!(epic);
    task["id"] = json!(format!("{epic}.1"));
    task["dependencies"][0]["issue_id"] = task["id"].clone();
    task["dependencies"][0]["depends_on_id"] = json!(epic);
    fs::create_dir_all(dir.join(".beads")).unwrap();
    fs::write(
        dir.join(".beads/issues.jsonl"),
        format!("{epic_row}\n{task}\n"),
    )
    .unwrap();
}

/// Repositories and a folder with trackers of their own, whose stores no look upwards from the
/// project's directory would find.
fn out_of_sight(scene: &Scene) -> Vec<(PathBuf, String)> {
    let nested = repository(scene, "nested");
    let sibling = repository(scene, "../sibling");
    let plain = folder(scene, "../plain");
    let below = folder(scene, "../plain/below");
    let places = [nested, sibling, plain, below];
    let named = (1..)
        .zip(places)
        .map(|(number, dir)| (dir, format!("bd-p{number}")));
    let named: Vec<_> = named.collect();
    for (dir, epic) in &named {
        track(dir, epic);
    }
    named
}

#[test]
fn a_session_is_held_wherever_its_run_is_kept() {
    let scene = Scene::with_tasks(1);
    for (number, (dir, epic)) in out_of_sight(&scene).iter().enumerate() {
        let session = format!("session-{number}");
        let done = start_in(&scene, dir, epic, &session);
        assert_eq!((done.status, done.stderr.contains("warning")), (0, false));
        let stop = || scene.stop().session(&session);
        for _ in 0..2 {
            let held = stop().done();
            assert!(held.stdout.contains("open_work"), "{dir:?}: {held:?}");
        }
        // After a compaction it gets its prompt back.
        let fixture = include_str!("../fixtures/claude/SessionStart.json");
        let mut compacted = scene.payload(fixture);
        compacted.insert("source".into(), json!("compact"));
        compacted.insert("session_id".into(), json!(session));
        let context = scene.hook("session-start", &compacted);
        assert!(context.stdout.contains(epic), "{context:?}");
        let armed = scene.beadlock(&["prompt", "--armed"]);
        let armed = armed.env("CLAUDE_CODE_SESSION_ID", &session).done();
        assert!(armed.stdout.contains(epic), "{armed:?}");
        // And the exit is where the person is, by whatever name.
        let name = [epic, &session][number % 2];
        let abort = scene.beadlock(&["abort", name]).done();
        assert_eq!((abort.status, abort.stderr.as_str()), (0, ""), "{abort:?}");
        stop().done().is_silent();
        assert_eq!(fs::read_dir(scene.signposts()).unwrap().count(), 0);
    }
}

#[cfg(unix)]
#[test]
fn a_place_around_that_cannot_be_read_takes_nothing_away() {
    let scene = Scene::with_tasks(1);
    let nested = repository(&scene, "nested");
    track(&nested, "bd-p1");
    scene.start("of the outer one");
    // Root may read everything, but not follow a link that leads to itself.
    let outer = scene.store_dir().path().to_owned();
    fs::rename(&outer, outer.with_file_name("away")).unwrap();
    std::os::unix::fs::symlink("beadlock", &outer).unwrap();
    let call = |args: &[&str]| scene.beadlock(args).dir(&nested).done();
    let stop = || {
        let stop = scene.stop().dir(&nested).set("cwd", json!(nested));
        stop.arg("--epic").arg("bd-p1").done()
    };
    let start = call(&["start", "bd-p1", "--session", SESSION]);
    assert_eq!(start.status, 0, "{start:?}");
    assert!(stop().stdout.contains("open_work"));
    for verb in ["status", "pause", "resume", "abort"] {
        let done = call(&[verb]);
        assert_eq!(done.status, 0, "{done:?}");
        assert!(done.stderr.contains("warning: could not use"), "{done:?}");
    }
}

#[test]
fn a_second_epic_in_one_session_is_refused_wherever_it_is() {
    let scene = Scene::with_tasks(1);
    let places = out_of_sight(&scene);
    scene.start(SESSION);
    for (dir, epic) in &places {
        for flags in [&[][..], &["--replace"]] {
            let start = [&["start", epic, "--session", SESSION][..], flags].concat();
            let done = scene.beadlock(&start).dir(dir).done();
            let workspace = scene.root.display();
            let what = format!("already has a run, on epic `{EPIC}` of `{workspace}`");
            done.fails(1, &what);
        }
        let mut typed = scene.payload(include_str!("../fixtures/claude/UserPromptSubmit.json"));
        typed.insert("cwd".into(), json!(dir));
        typed.insert("prompt".into(), json!(format!("/run-tasks {epic}")));
        let call = scene.beadlock(&["hook", "user-prompt"]).dir(dir);
        let done = call.stdin(&serde_json::to_vec(&typed).unwrap()).done();
        assert!(done.stdout.contains("already has a run"), "{done:?}");
        // Nor can one be moved there.
        let other = format!("session-of-{epic}");
        assert_eq!(start_in(&scene, dir, epic, &other).status, 0);
        let adopt = ["adopt", epic, "--session", SESSION];
        let done = scene.beadlock(&adopt).dir(dir).done();
        done.fails(1, "has a run already");
        let stop = scene.stop().dir(dir).set("cwd", json!(dir));
        stop.blocks("open_work");
    }
    // Once its own is over it may have any of them.
    let run = scene.run().id;
    let (dir, epic) = &places[1];
    let abort = scene.beadlock(&["abort", &run]).dir(dir).done();
    assert_eq!(abort.status, 0, "{abort:?}");
    let adopt = ["adopt", epic, "--session", SESSION];
    assert_eq!(scene.beadlock(&adopt).done().status, 0);
    let held = scene.stop().done();
    assert!(held.stdout.contains(epic), "{held:?}");
}

#[test]
fn every_exit_is_found_from_everywhere() {
    let scene = Scene::with_tasks(1);
    let places = out_of_sight(&scene);
    let (nested, nested_epic) = &places[0];
    scene.start(SESSION);
    assert_eq!(start_in(&scene, nested, nested_epic, "second").status, 0);
    let state = |session| scene.run_of(session).state.name();
    for (dir, _) in &places {
        let call = |args: &[&str]| scene.beadlock(args).dir(dir).done();
        let status = call(&["status", EPIC, "--json"]).json();
        assert_eq!(status["session"], json!(SESSION));
        assert_eq!(status["store"], json!(scene.store_dir().path()));
        assert_eq!(call(&["pause", SESSION]).status, 0);
        assert_eq!(state(SESSION), "paused");
        assert_eq!(call(&["resume", EPIC]).status, 0);
        assert_eq!(state(SESSION), "active");
        assert_eq!(call(&["adopt", EPIC, "--session", "heir"]).status, 0);
        assert_eq!(call(&["adopt", EPIC, "--session", SESSION]).status, 0);
        scene.stop().blocks("open_work");
    }
    // Without a name the runs around are meant, and those elsewhere are named.
    let call = |args: &[&str], dir: &Path| scene.beadlock(args).dir(dir).done();
    call(&["pause"], nested).fails(64, "several runs could be meant");
    let all = call(&["status", "--all", "--json"], nested).json();
    assert_eq!(all["runs"].as_array().unwrap().len(), 2);
    let (sibling, _) = &places[1];
    let run = scene.run().id;
    for verb in ["pause", "resume"] {
        call(&[verb], sibling).fails(1, &format!("`beadlock abort {run}` ends it"));
    }
    for verb in ["abort", "status"] {
        let done = call(&[verb], sibling);
        assert_eq!((done.status, done.stdout.as_str()), (0, "no run here\n"));
        assert!(done.stderr.contains(&run), "{done:?}");
    }
    scene.stop().blocks("open_work");
    call(&["abort", "bd-nowhere"], sibling).fails(1, "no open run");
    assert_eq!(call(&["abort"], nested).status, 0);
    scene.stop().allows_untraced("idle");
    scene.stop().session("second").done().is_silent();
}

#[test]
fn one_epic_begun_from_two_places_is_one_run() {
    let scene = Scene::with_tasks(1);
    let library = repository(&scene, "../library");
    scene.start(SESSION);
    // The same tracker, by name: the store would be the library's.
    let start = ["start", EPIC, "--session", SESSION];
    let call = scene.beadlock(&start).dir(&library);
    let done = call.env("BEADS_DIR", scene.path(".beads")).done();
    assert_eq!(done.status, 0, "{done:?}");
    assert!(done.stderr.contains("goes on"), "{done:?}");
    assert_eq!(scene.runs().len(), 1);
    assert!(!library.join(".git/beadlock").exists());
}

#[test]
fn a_session_that_cannot_be_posted_is_held_at_home_and_the_person_told() {
    let scene = Scene::with_tasks(1);
    let start = scene.beadlock(&["start", EPIC, "--session", SESSION]);
    let nowhere = scene.path("README");
    let done = start.env("XDG_STATE_HOME", &nowhere).env("HOME", &nowhere);
    let done = done.done();
    assert_eq!(done.status, 0, "{done:?}");
    let warned = done.stderr.contains("no signpost could be set");
    assert!(warned, "{done:?}");
    scene.stop().blocks("open_work");
}

#[test]
fn a_name_that_several_places_have_is_asked_back() {
    let scene = Scene::repository();
    for session in ["one", "two"] {
        let dir = repository(&scene, &format!("../{session}"));
        track(&dir, "bd-same");
        assert_eq!(start_in(&scene, &dir, "bd-same", session).status, 0);
    }
    for verb in ["abort", "pause", "resume"] {
        let done = scene.beadlock(&[verb, "bd-same"]).done();
        done.fails(64, "several runs could be meant");
        for session in ["one", "two"] {
            assert!(done.stderr.contains(&format!("session {session}")));
        }
    }
    assert_eq!(scene.beadlock(&["abort", "one"]).done().status, 0);
    assert_eq!(scene.beadlock(&["abort", "bd-same"]).done().status, 0);
    for session in ["one", "two"] {
        scene.stop().session(session).done().is_silent();
    }
}

#[test]
fn what_the_hook_line_arms_somewhere_else_is_held_at_home() {
    let scene = Scene::with_tasks(1);
    for (number, (dir, epic)) in out_of_sight(&scene).iter().enumerate() {
        let session = format!("session-{number}");
        let stop = || scene.stop().session(&session).arg("--epic").arg(epic);
        let project = scene.root.to_str().unwrap();
        let away = stop().dir(dir).env("CLAUDE_PROJECT_DIR", project);
        for stop in [away, stop(), scene.stop().session(&session)] {
            let held = stop.done();
            assert!(held.stdout.contains(&format!("{epic}.1")), "{held:?}");
        }
    }
}

#[test]
fn a_run_that_is_over_nearby_does_not_hide_the_one_that_is_not() {
    let scene = Scene::with_tasks(1);
    let places = out_of_sight(&scene);
    let (sibling, epic) = &places[1];
    scene.start(SESSION);
    // Its mark stays, since nobody was shown yet that an agent ended it.
    let abort = scene.beadlock(&["abort"]);
    abort.env("CLAUDE_CODE_SESSION_ID", SESSION).done();
    assert!(scene.store_dir().is_marked(SESSION).unwrap());
    assert_eq!(start_in(&scene, sibling, epic, SESSION).status, 0);
    let held = scene.stop().done();
    assert!(held.stdout.contains(&format!("{epic}.1")), "{held:?}");
}
