//! A project that Beadlock was never in: everything is wired, works as an agent would call it, and
//! goes again without a trace.

use std::fs;

use serde_json::{Value, json};

use crate::scene::{EPIC, SESSION, Scene};
use crate::wiring::{RUN_TASKS, SETTINGS, everything, hooks, init, install, wire};

const EVENTS: [(&str, &str); 6] = [
    ("Stop", "stop"),
    ("SessionStart", "session-start"),
    ("SessionEnd", "session-end"),
    ("UserPromptSubmit", "user-prompt"),
    ("UserPromptExpansion", "user-prompt"),
    ("StopFailure", "stop-failure"),
];

#[test]
fn one_command_wires_all_of_it() {
    let scene = Scene::with_tasks(1);
    let done = init(&scene, &[]);
    let root = scene.root.display();
    let says = format!(
        "Beadlock is in `{root}/.claude/settings.json`\n\
         next: start `claude` in `{root}` and type `/run-tasks EPIC`\n\
         undo: `beadlock init --remove`\n"
    );
    assert_eq!((done.status, done.stderr), (0, says));
    let program = install(&scene);
    for (event, name) in EVENTS {
        let args = json!(["hook", name, "--agent", "claude"]);
        let entry = json!({ "type": "command", "command": program, "args": args, "timeout": 60 });
        assert_eq!(hooks(&scene.path(SETTINGS), event), [entry]);
    }
    let command = fs::read_to_string(scene.path(RUN_TASKS)).unwrap();
    let line = format!("'{}' prompt --armed", program.display());
    assert!(command.ends_with(&format!("---\n!`{line}`\n")), "{command}");
    assert!(
        command.contains(&format!("  - \"Bash({line})\"\n")),
        "{command}"
    );
    let project = fs::read_to_string(scene.path("project.yaml")).unwrap();
    assert!(project.contains("\n  tracker: jsonl\n"), "{project}");
    for (path, begins) in [
        (SETTINGS, "+{\n+  \"hooks\": {\n+    \"Stop\": [\n"),
        (RUN_TASKS, "+---\n+description: "),
        ("project.yaml", "+# Settings for Beadlock"),
    ] {
        let head = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,");
        let (_, rest) = done.stdout.split_once(&head).unwrap();
        let (_, rest) = rest.split_once(" @@\n").unwrap();
        assert!(rest.starts_with(begins), "{rest}");
    }
}

#[test]
fn the_second_time_there_is_nothing_to_do() {
    let scene = Scene::with_tasks(1);
    wire(&scene);
    let before = everything(&scene.root);
    let modified = fs::metadata(scene.path(SETTINGS)).unwrap().modified();
    let done = init(&scene, &[]);
    assert_eq!(
        (done.status, done.stdout.as_str(), done.stderr.as_str()),
        (0, "", "nothing to do\n")
    );
    assert_eq!(everything(&scene.root), before);
    let again = fs::metadata(scene.path(SETTINGS)).unwrap().modified();
    assert_eq!(again.unwrap(), modified.unwrap());
}

#[test]
fn nothing_is_left_of_what_was_taken_out() {
    for scene in [Scene::with_tasks(1), Scene::repository(), Scene::folder()] {
        let before = everything(scene.root.parent().unwrap());
        let _ = install(&scene);
        let with_binary = everything(scene.root.parent().unwrap());
        wire(&scene);
        let done = init(&scene, &["--remove"]);
        let says = format!(
            "Beadlock is no longer in `{}/.claude/settings.json`\n",
            scene.root.display()
        );
        assert_eq!((done.status, done.stderr), (0, says));
        assert_eq!(everything(scene.root.parent().unwrap()), with_binary);
        assert!(before.len() < with_binary.len());
        let done = init(&scene, &["--remove"]);
        assert_eq!(
            (done.status, done.stdout.as_str(), done.stderr.as_str()),
            (0, "", "nothing to do\n")
        );
        assert_eq!(everything(scene.root.parent().unwrap()), with_binary);
    }
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    let scene = Scene::folder();
    install(&scene);
    let before = everything(scene.root.parent().unwrap());
    let shown = init(&scene, &["--dry-run"]);
    assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
    assert_eq!(everything(scene.root.parent().unwrap()), before);
    assert_eq!(init(&scene, &[]).stdout, shown.stdout);
    let wired = everything(scene.root.parent().unwrap());
    let shown = init(&scene, &["--remove", "--dry-run"]);
    assert!(shown.stdout.contains("+++ /dev/null"), "{shown:?}");
    assert_eq!(everything(scene.root.parent().unwrap()), wired);
}

/// What the agent does with the settings: the program and its arguments, without a shell.
fn call_hook(scene: &Scene, event: &str, payload: &Value) -> crate::scene::Done {
    let hook = &hooks(&scene.path(SETTINGS), event)[0];
    let args: Vec<&str> = hook["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    scene
        .program(hook["command"].as_str().unwrap(), &args)
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .stdin(&serde_json::to_vec(payload).unwrap())
        .done()
}

#[test]
fn what_was_wired_holds_an_agent() {
    let scene = Scene::with_tasks(1);
    let program = wire(&scene);
    let prompt = include_str!("../fixtures/claude/UserPromptSubmit.json");
    let mut payload = scene.payload(prompt);
    payload.insert("prompt".into(), json!(format!("/run-tasks {EPIC}")));
    let told = call_hook(&scene, "UserPromptSubmit", &payload.into()).tells();
    assert!(told.starts_with("Beadlock holds this session"), "{told}");
    let armed = scene
        .program(program.to_str().unwrap(), &["prompt", "--armed"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    assert!(armed.stdout.contains(EPIC), "{armed:?}");
    let stop = scene.payload(include_str!("../fixtures/claude/Stop.first.json"));
    let held = call_hook(&scene, "Stop", &stop.into());
    assert_eq!(held.json()["decision"], "block", "{held:?}");
}

#[test]
fn the_tracker_that_is_there_is_named() {
    let scene = Scene::repository();
    wire(&scene);
    let text = fs::read_to_string(scene.path("project.yaml")).unwrap();
    assert!(
        text.contains("  tracker: auto\n") && text.contains("nowhere yet"),
        "{text}"
    );

    let scene = Scene::repository();
    scene.write(
        ".beads/metadata.json",
        r#"{"backend":"dolt","dolt_mode":"embedded"}"#,
    );
    wire(&scene);
    let text = fs::read_to_string(scene.path("project.yaml")).unwrap();
    assert!(text.contains("  tracker: bd\n"), "{text}");

    let scene = Scene::repository();
    scene.write(".beads/beads.db", "");
    wire(&scene);
    let text = fs::read_to_string(scene.path("project.yaml")).unwrap();
    assert!(
        text.contains("  tracker: auto\n") && text.contains("only you"),
        "{text}"
    );
}

#[test]
fn a_run_can_be_started_with_what_was_written() {
    let scene = Scene::with_tasks(1);
    wire(&scene);
    scene.start(SESSION);
    scene.stop().blocks("open_work");
}

#[test]
fn a_projects_own_settings_for_beadlock_stay() {
    let scene = Scene::with_tasks(1);
    let own = "workflow: {stop_hook: {max_cycles: 3}}\n";
    scene.write("project.yaml", own);
    wire(&scene);
    init(&scene, &["--remove"]);
    assert_eq!(fs::read_to_string(scene.path("project.yaml")).unwrap(), own);
}

#[test]
fn facts_can_be_had_as_json() {
    let scene = Scene::with_tasks(1);
    let program = install(&scene);
    let shown = init(&scene, &["--json", "--dry-run"]);
    assert_eq!(shown.stderr, "");
    let facts = shown.json();
    let files = json!([
        { "path": scene.path(SETTINGS), "change": "create" },
        { "path": scene.path(RUN_TASKS), "change": "create" },
        { "path": scene.path("project.yaml"), "change": "create" },
    ]);
    assert_eq!(facts["files"], files);
    assert_eq!(facts["written"], false);
    assert_eq!(facts["program"], json!(program));
    assert_eq!(facts["scope"], "project");
    assert!(
        facts["diff"]
            .as_str()
            .unwrap()
            .starts_with("--- /dev/null\n")
    );
    assert!(!scene.path(SETTINGS).exists());
    assert_eq!(init(&scene, &["--json"]).json()["written"], true);
    let again = init(&scene, &["--json"]).json();
    assert_eq!(
        (&again["written"], &again["files"]),
        (&json!(false), &json!([]))
    );
    let removed = init(&scene, &["--json", "--remove"]).json();
    assert_eq!(
        removed["files"][0],
        json!({ "path": scene.path(SETTINGS), "change": "remove" })
    );
}

#[test]
fn help_has_examples_and_a_typo_is_a_usage_error() {
    let scene = Scene::folder();
    let help = init(&scene, &["--help"]);
    assert!(
        help.stdout.contains("Examples:\n  beadlock init "),
        "{help:?}"
    );
    init(&scene, &["--locale"]).fails(64, "--locale");
    init(&scene, &["--local", "--user"]).fails(64, "cannot be used with");
}
