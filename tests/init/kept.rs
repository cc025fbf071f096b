//! Settings that were there before: not a byte of theirs changes, whatever they look like.

use std::fs;

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::wiring::{RUN_TASKS, SETTINGS, call, everything, hooks, init, install_in, wire};

const THEIRS: &str = r#"{"type":"command","command":"say done"}"#;

#[test]
fn odd_files_come_back_to_the_byte() {
    for text in [
        "",
        "\u{feff}{\r\n\t\"model\": \"x\",\r\n\t\"env\": {\"TOKEN\": \"geheim\"}\r\n}",
        "{\"hooks\":{}}",
        "{\"z\":1,   \"a\":{\"b\":[]}}\n\n\n",
        "{\n    \"hooks\": {\n        \"Stop\": [],\n        \"PreToolUse\": []\n    },\n    \"zoé\": \"日本\"\n}",
        "{}",
        "{\"hooks\": {\"Stop\": null}}\n",
    ] {
        let scene = Scene::with_tasks(1);
        scene.write(SETTINGS, text);
        scene.write(".claude/commands/other.md", "other\n");
        wire(&scene);
        let with = everything(&scene.root);
        assert_eq!(init(&scene, &[]).stderr, "nothing to do\n");
        assert_eq!(everything(&scene.root), with);
        assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
        let done = init(&scene, &["--remove"]);
        assert_eq!(done.status, 0, "{done:?}");
        assert_eq!(fs::read_to_string(scene.path(SETTINGS)).unwrap(), text);
        assert_eq!(
            fs::read_dir(scene.path(".claude/commands"))
                .unwrap()
                .count(),
            1
        );
    }
}

#[test]
fn somebody_elses_stop_hook_keeps_its_place() {
    let scene = Scene::with_tasks(1);
    let text = format!(
        "{{\n  \"hooks\": {{\n    \"Stop\": [\n      {{\"hooks\": [{THEIRS}]}}\n    ]\n  }}\n}}\n"
    );
    scene.write(SETTINGS, &text);
    let done = init(&scene, &[]);
    // The group gets a comma behind it, and nothing else is touched.
    let taken = done.stdout.lines().filter(|line| line.starts_with("-  "));
    let theirs = format!("-      {{\"hooks\": [{THEIRS}]}}");
    assert_eq!(
        taken.collect::<Vec<_>>(),
        [theirs, "-    ]".to_owned()][..1]
    );
    let found = hooks(&scene.path(SETTINGS), "Stop");
    assert_eq!(found[0], serde_json::from_str::<Value>(THEIRS).unwrap());
    assert_eq!(found.len(), 2);
    init(&scene, &["--remove"]);
    assert_eq!(fs::read_to_string(scene.path(SETTINGS)).unwrap(), text);
}

#[test]
fn what_was_added_meanwhile_survives_the_removal() {
    let scene = Scene::with_tasks(1);
    wire(&scene);
    let text = fs::read_to_string(scene.path(SETTINGS)).unwrap();
    let edited = text.replacen("{\n", "{\n  \"model\": \"x\",\n", 1);
    let edited = edited.replacen("\"hooks\": [", &format!("\"hooks\": [{THEIRS}, "), 1);
    scene.write(SETTINGS, &edited);
    assert_eq!(init(&scene, &[]).stderr, "nothing to do\n");
    init(&scene, &["--remove"]);
    let left: Value =
        serde_json::from_str(&fs::read_to_string(scene.path(SETTINGS)).unwrap()).unwrap();
    let theirs: Value = serde_json::from_str(THEIRS).unwrap();
    assert_eq!(
        left,
        json!({ "model": "x", "hooks": { "Stop": [{ "hooks": [theirs] }] } })
    );
    assert!(!scene.path(RUN_TASKS).exists());
}

#[test]
fn a_file_of_ours_that_was_only_rearranged_goes() {
    let scene = Scene::with_tasks(1);
    wire(&scene);
    let text = fs::read_to_string(scene.path(SETTINGS)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    scene.write(SETTINGS, value.to_string());
    init(&scene, &["--remove"]);
    assert!(!scene.path(".claude").exists());
}

#[test]
fn a_changed_file_stays_and_that_is_said() {
    let scene = Scene::with_tasks(1);
    wire(&scene);
    scene.write("project.yaml", "workflow: {}\n");
    let done = init(&scene, &["--remove"]);
    let said = format!(
        "`{}` was changed since and stays\n",
        scene.path("project.yaml").display()
    );
    assert!(done.stderr.starts_with(&said), "{done:?}");
    assert!(scene.path("project.yaml").exists());
    assert!(!scene.path(".git/beadlock").exists());
}

#[test]
fn hooks_put_in_by_hand_give_way_and_come_back() {
    let scene = Scene::with_tasks(1);
    let text = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beadlock hook stop\", \"timeout\": 60}]}],\n    \"SessionEnd\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beadlock hook session-end\"}]}]\n  }\n}\n";
    scene.write(SETTINGS, text);
    let program = wire(&scene);
    let found = hooks(&scene.path(SETTINGS), "Stop");
    assert_eq!((found.len(), &found[0]["command"]), (1, &json!(program)));
    assert_eq!(found[0]["args"][1], "stop");
    let done = init(&scene, &["--remove"]);
    assert_eq!(fs::read_to_string(scene.path(SETTINGS)).unwrap(), text);
    assert!(done.stderr.contains("warning: line 3 of "), "{done:?}");
    assert!(
        done.stderr.contains("`beadlock init --remove` once more"),
        "{done:?}"
    );
    init(&scene, &["--remove"]);
    assert_eq!(fs::read_to_string(scene.path(SETTINGS)).unwrap(), "{}\n");
}

#[test]
fn a_program_that_has_moved_is_wired_anew_and_the_way_back_stays() {
    let scene = Scene::with_tasks(1);
    let text = "{\"a\":1,\"hooks\":{ \"Stop\":[] }}\n";
    scene.write(SETTINGS, text);
    wire(&scene);
    let elsewhere = install_in(&scene.root.parent().unwrap().join("new bin"));
    let done = call(&scene, &elsewhere, &["init"]).done();
    assert_eq!(done.status, 0, "{done:?}");
    let found = hooks(&scene.path(SETTINGS), "Stop");
    assert_eq!((found.len(), &found[0]["command"]), (1, &json!(elsewhere)));
    let command = fs::read_to_string(scene.path(RUN_TASKS)).unwrap();
    assert!(
        command.contains("new bin") && !command.contains("/bin/"),
        "{command}"
    );
    init(&scene, &["--remove"]);
    assert_eq!(fs::read_to_string(scene.path(SETTINGS)).unwrap(), text);
    assert!(!scene.path(".claude/commands").exists());
}

#[test]
fn a_command_of_somebody_elses_is_left_alone() {
    let scene = Scene::with_tasks(1);
    scene.write(RUN_TASKS, "Do what I say.\n");
    let done = init(&scene, &[]);
    assert!(done.stderr.starts_with("warning: `"), "{done:?}");
    assert!(
        done.stderr.contains("is not Beadlock's and stays as it is"),
        "{done:?}"
    );
    init(&scene, &["--remove"]);
    assert_eq!(
        fs::read_to_string(scene.path(RUN_TASKS)).unwrap(),
        "Do what I say.\n"
    );
}

#[test]
fn a_call_in_somebodys_own_line_is_not_doubled() {
    let scene = Scene::with_tasks(1);
    let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [\n{\"type\": \"command\", \"command\": \"beadlock hook stop; true\"}]}]}}";
    scene.write(SETTINGS, text);
    let done = init(&scene, &[]);
    assert!(
        done.stderr
            .contains("line 2 calls Beadlock in a command of its own"),
        "{done:?}"
    );
    assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
    assert_eq!(hooks(&scene.path(SETTINGS), "SessionEnd").len(), 1);
}

#[test]
fn no_secret_is_copied_into_the_store() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, "{\"env\": {\"TOKEN\": \"geheim\"}, \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\":\"command\",\"command\":\"beadlock hook stop\"}]}]}}");
    wire(&scene);
    let notes: Vec<_> = fs::read_dir(scene.path(".git/beadlock/init"))
        .unwrap()
        .collect();
    assert_eq!(notes.len(), 1);
    let note = fs::read_to_string(notes[0].as_ref().unwrap().path()).unwrap();
    assert!(
        note.contains("beadlock hook stop") && !note.contains("geheim"),
        "{note}"
    );
}

#[test]
fn a_lost_or_damaged_note_costs_only_the_white_space() {
    for damage in ["", "{", "{\"version\":99}"] {
        let scene = Scene::with_tasks(1);
        scene.write(SETTINGS, "{\n  \"a\": 1\n}\n");
        wire(&scene);
        scene.write(".git/beadlock/init/project.json", damage);
        let done = init(&scene, &["--remove"]);
        assert_eq!(done.status, 0, "{done:?}");
        assert_eq!(
            fs::read_to_string(scene.path(SETTINGS)).unwrap(),
            "{\n  \"a\": 1\n}\n"
        );
        assert!(!scene.path(RUN_TASKS).exists());
        assert!(scene.path("project.yaml").exists());
    }
}

#[test]
fn a_repository_that_was_moved_still_knows_its_way_back() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, "{ }");
    wire(&scene);
    let moved = scene.root.parent().unwrap().join("moved");
    fs::rename(&scene.root, &moved).unwrap();
    let program = crate::wiring::install(&scene);
    fs::create_dir(&scene.root).unwrap();
    call(&scene, &program, &["init", "--remove"])
        .dir(&moved)
        .done();
    assert_eq!(fs::read_to_string(moved.join(SETTINGS)).unwrap(), "{ }");
    assert!(!moved.join("project.yaml").exists());
}
