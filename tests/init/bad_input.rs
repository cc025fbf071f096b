//! Files that are not what they should be: an error with its place, and nothing changed.

use std::fs;

use crate::scene::Scene;
use crate::wiring::{SETTINGS, everything, init, install};

#[test]
fn settings_that_the_agent_would_not_read_are_an_error() {
    for (text, said) in [
        ("{\n  \"a\": 1,\n  oops\n}", "line 3: key must be a string"),
        (
            "{\n  // mine\n  \"a\": 1\n}",
            "line 2: a comment, for which Claude Code leaves the whole file unread",
        ),
        ("{\n  \"a\": 1,\n}", "line 3: trailing comma"),
        (
            "[]",
            "line 1: `the document` is a list, where the agent reads an object only",
        ),
        (
            "{\n\"hooks\": []}",
            "line 2: `hooks` is a list, where the agent reads an object only",
        ),
        (
            "{\"hooks\": {\n\n\"Stop\": {}}}",
            "line 3: `hooks.Stop` is an object, where the agent reads a list only",
        ),
        (
            "{\"hooks\": {\"Stop\": [\"beadlock hook stop\"]}}",
            "line 1: `hooks.Stop[0]` is a text, where the agent reads an object only",
        ),
        (
            "{\"hooks\": {\"PreToolUse\": 7}}",
            "line 1: `hooks.PreToolUse` is a number, where the agent reads a list only",
        ),
    ] {
        let scene = Scene::with_tasks(1);
        install(&scene);
        scene.write(SETTINGS, text);
        let before = everything(&scene.root);
        let path = scene.path(SETTINGS);
        let said = format!(
            "error: `{}` {said}\nhint: nothing was changed;",
            path.display()
        );
        for options in [&[][..], &["--remove"], &["--dry-run"], &["--json"]] {
            init(&scene, options).fails(64, &said);
        }
        assert_eq!(everything(&scene.root), before);
    }
}

#[test]
fn what_is_no_text_is_an_error() {
    let scene = Scene::with_tasks(1);
    let path = scene.path(SETTINGS);
    scene.write(SETTINGS, b"{\n\"a\": \"\xff\"}");
    init(&scene, &[]).fails(
        64,
        &format!("error: `{}` line 2: not UTF-8", path.display()),
    );
    let wide: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    scene.write(SETTINGS, [&b"\xff\xfe"[..], &wide].concat());
    init(&scene, &[]).fails(64, "line 1: not UTF-8");
}

#[test]
fn what_is_no_file_is_an_error() {
    let scene = Scene::with_tasks(1);
    fs::create_dir_all(scene.path(SETTINGS)).unwrap();
    init(&scene, &[]).fails(1, "not a regular file");
    let scene = Scene::with_tasks(1);
    scene.write(".claude", "a file\n");
    let done = init(&scene, &[]);
    assert_eq!(done.status, 1, "{done:?}");
    assert_eq!(
        fs::read_to_string(scene.path(".claude")).unwrap(),
        "a file\n"
    );
}

#[test]
fn endless_settings_are_an_error() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, " ".repeat((16 << 20) + 1));
    init(&scene, &[]).fails(1, "more than 16777216 bytes");
    scene.write(SETTINGS, "[".repeat(1 << 20));
    init(&scene, &[]).fails(64, "line 1: ");
}

#[test]
fn a_difference_cannot_steer_a_terminal() {
    let scene = Scene::with_tasks(1);
    scene.write(
        SETTINGS,
        "{\n\t\"a\u{7f}\u{202e}\": 1,\n\t\"b\u{9b}2J\": 2\n}",
    );
    let done = init(&scene, &["--dry-run"]);
    assert!(
        done.stdout.contains("\t\"a\u{fffd}\u{fffd}\": 1"),
        "{done:?}"
    );
    assert!(!done.stdout.contains('\u{9b}'));
}
