//! `doctor`: each trouble is found, has a remedy, and is mended where that is safe.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::scene::{Call, Done, EPIC, SESSION, Scene, epic_row, task_row};

const SETTINGS: &str = ".claude/settings.json";

/// A scene with nothing on PATH but git and what a test puts there.
struct Clinic {
    scene: Scene,
    bin: PathBuf,
}

impl Clinic {
    fn new(scene: Scene) -> Clinic {
        let bin = scene.root.parent().unwrap().join("bin");
        fs::create_dir(&bin).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let git = std::env::split_paths(&path).map(|dir| dir.join("git"));
        let git = git.into_iter().find(|git| git.is_file()).unwrap();
        symlink(git, bin.join("git")).unwrap();
        let clinic = Clinic { scene, bin };
        clinic.program("claude", "echo '2.1.327 (Claude Code)'");
        clinic.init(&["--yes"]);
        clinic
    }

    fn init(&self, args: &[&str]) {
        let args: Vec<&str> = ["init"].iter().chain(args).copied().collect();
        let done = self.scene.beadlock(&args).env("PATH", &self.bin).done();
        assert_eq!(done.status, 0, "{done:?}");
    }

    /// Changes the project's settings of the agent.
    fn settings(&self, edit: impl FnOnce(&mut Value)) {
        let path = self.scene.path(SETTINGS);
        let mut settings = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        edit(&mut settings);
        fs::write(path, settings.to_string()).unwrap();
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn call(&self, args: &[&str]) -> Call {
        let args: Vec<&str> = ["doctor"].iter().chain(args).copied().collect();
        self.scene.beadlock(&args).env("PATH", &self.bin)
    }

    fn doctor(&self, args: &[&str]) -> Done {
        self.call(args).done()
    }

    /// Exactly this is wrong, and ends the command with this status; answers the remedies.
    #[track_caller]
    fn finds(&self, status: i32, expected: &[(&str, &str, &str)]) -> Vec<String> {
        let done = self.doctor(&["--json"]);
        let json = done.json();
        let wrong: Vec<&Value> = json["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["health"] != "ok")
            .collect();
        let found: Vec<(&str, &str)> = wrong
            .iter()
            .map(|it| {
                (
                    it["subject"].as_str().unwrap(),
                    it["health"].as_str().unwrap(),
                )
            })
            .collect();
        let subjects: Vec<(&str, &str)> = expected.iter().map(|it| (it.0, it.1)).collect();
        assert_eq!((done.status, found), (status, subjects), "{json:#}");
        for (finding, (_, _, said)) in wrong.iter().zip(expected) {
            assert!(
                finding["said"].as_str().unwrap().contains(said),
                "{finding}"
            );
        }
        let remedy = |it: &&Value| it["remedy"].as_str().unwrap().to_owned();
        wrong.iter().map(remedy).collect()
    }
}

fn healthy() -> Clinic {
    let scene = Scene::with_tasks(2);
    scene.start(SESSION);
    scene.stop().blocks("open_work");
    Clinic::new(scene)
}

#[test]
fn where_nothing_is_wrong_it_says_so() {
    let clinic = healthy();
    clinic.finds(0, &[]);
    let done = clinic.doctor(&[]);
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    for line in [
        "ok       git       git version ",
        "ok       agent     2.1.327 (Claude Code), ",
        "ok       config    ",
        "/project.yaml is valid\n",
        "ok       hook      called by ",
        "ok       tracker   jsonl (",
        "ok       epic      bd-x7y8: 0 of 2 closed; 2 ready, ",
        "ok       store     ",
        "ok       runs      1 open\n",
        "nothing is wrong\n",
    ] {
        assert!(done.stdout.contains(line), "{line}\n{}", done.stdout);
    }
}

#[test]
fn programs_that_are_missing_or_old_are_found() {
    let clinic = healthy();
    fs::remove_file(clinic.bin.join("claude")).unwrap();
    let remedies = clinic.finds(0, &[("agent", "note", "no `claude` on PATH")]);
    assert_eq!(remedies, ["npm install -g @anthropic-ai/claude-code"]);
    clinic.program("claude", "echo '2.0.1 (Claude Code)'");
    clinic.finds(0, &[("agent", "note", "older than 2.1.197")]);
    clinic.program("claude", "exit 3");
    clinic.finds(4, &[("agent", "unknown", "says nothing of use")]);
    clinic.program("claude", "echo '2.1.327 (Claude Code)'");
    fs::remove_file(clinic.bin.join("git")).unwrap();
    let remedies = clinic.finds(1, &[("git", "problem", "none on PATH")]);
    assert!(
        remedies[0].contains("git") || remedies[0].contains("xcode"),
        "{remedies:?}"
    );
    clinic.program("git", "echo 'git version 2.7.4'");
    clinic.finds(1, &[("git", "problem", "older than 2.15")]);
}

#[test]
fn a_mistake_in_the_settings_is_found() {
    let clinic = healthy();
    clinic
        .scene
        .write("project.yaml", "workflow: {stop_hook: {max_cycels: 3}}\n");
    let wrong = [("config", "problem", "max_cycels")];
    clinic.finds(1, &wrong);
    clinic
        .scene
        .write("project.yaml", "workflow: {stop_hook: {enabled: false}}\n");
    clinic.finds(1, &[("config", "problem", "every stop is let go")]);
    clinic
        .scene
        .write("project.yaml", "workflow: {tracker: jsonl}\n");
    clinic.finds(0, &[]);
}

#[test]
fn a_tracker_that_does_not_answer_is_found() {
    let clinic = Clinic::new(Scene::repository());
    let remedies = clinic.finds(1, &[("tracker", "problem", "there is none here")]);
    assert_eq!(remedies, ["beadlock task add TITLE --type epic"]);
    clinic.scene.write(".beads/issues.jsonl", "{");
    clinic.finds(4, &[("tracker", "unknown", "issues.jsonl")]);
    clinic.scene.rows(&[epic_row(), task_row(1, "open")]);
    clinic.finds(0, &[]);
    // bd's own workspace, and another program of that name.
    clinic.scene.write(
        ".beads/metadata.json",
        r#"{"database":"dolt","backend":"dolt"}"#,
    );
    fs::create_dir_all(clinic.scene.path(".beads/embeddeddolt")).unwrap();
    let missing = [
        ("bd", "problem", "no `bd` on PATH"),
        ("tracker", "unknown", "`bd`"),
    ];
    let remedies = clinic.finds(1, &missing);
    assert_eq!(remedies[0], "npm install -g @beads/bd");
    clinic.program("bd", "echo 'BusyBox daemon 1'");
    let other = [
        ("bd", "problem", "is another program"),
        ("tracker", "unknown", ""),
    ];
    clinic.finds(1, &other);
    clinic.program(
        "bd",
        "[ \"$1\" = --version ] && echo 'bd version 0.40.0 (dev)' || echo '[]'",
    );
    clinic.finds(0, &[("bd", "note", "older than 1.2.2")]);
}

#[test]
fn an_epic_that_holds_nobody_is_found() {
    let clinic = healthy();
    let done = clinic.doctor(&["bd-nope"]);
    assert_eq!(done.status, 1, "{done:?}");
    assert!(
        done.stdout
            .contains("problem  epic      bd-nope was not found\n"),
        "{done:?}"
    );
    clinic.scene.rows(&[epic_row()]);
    let remedies = clinic.finds(1, &[("epic", "problem", "bd-x7y8 has no tasks")]);
    assert_eq!(remedies, ["beadlock task add TITLE --epic bd-x7y8"]);
}

#[test]
fn a_run_that_lost_its_mark_gets_it_back() {
    let clinic = healthy();
    let marks = clinic.scene.store_dir().path().join("sessions");
    fs::remove_dir_all(&marks).unwrap();
    let remedies = clinic.finds(1, &[("runs", "problem", "lost its mark")]);
    assert_eq!(remedies, ["beadlock doctor --fix"]);
    let done = clinic.doctor(&["--fix"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert!(done.stdout.contains("mended   runs"), "{done:?}");
    clinic.scene.stop().blocks("open_work");
    clinic.finds(0, &[]);
}

#[test]
fn what_dead_runs_left_behind_is_found_and_removed() {
    let clinic = healthy();
    clinic.scene.store_dir().mark("ghost").unwrap();
    clinic.finds(
        1,
        &[("runs", "problem", "1 marks of sessions that hold no run")],
    );
    assert_eq!(clinic.doctor(&["--fix"]).status, 0);
    clinic.finds(0, &[]);
    assert!(clinic.scene.store_dir().is_marked(SESSION).unwrap());
    clinic.scene.pass_minutes(300);
    let remedies = clinic.finds(0, &[("runs", "note", "was last heard of 5 h ago")]);
    let run = clinic.scene.run().id;
    assert_eq!(remedies, [format!("beadlock abort {run}")]);
    clinic
        .scene
        .write(".git/beadlock/state.db.corrupt-1-0", "x");
    clinic
        .scene
        .edit_run(|run| run.last_event_at = run.last_event_at.plus_millis(18_000_000));
    let remedies = clinic.finds(0, &[("runs", "note", "put aside")]);
    assert!(remedies[0].starts_with("rm "), "{remedies:?}");
}

#[test]
fn a_store_that_cannot_be_used_is_found() {
    let clinic = healthy();
    let database = clinic.scene.store_dir().database();
    let whole = fs::read(&database).unwrap();
    fs::write(&database, &whole[..whole.len() / 2]).unwrap();
    let done = clinic.doctor(&["--json"]);
    assert_eq!(done.status, 1, "{done:?}");
    let store = done.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["subject"] == "store")
        .cloned()
        .unwrap();
    assert_eq!(store["health"], "problem");
    let remedy = store["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("beadlock abort; mv "), "{remedy}");
}

#[test]
fn looking_changes_nothing() {
    let clinic = Clinic::new(Scene::with_tasks(1));
    let listed = || {
        let mut find = clinic.scene.command("find", &clinic.scene.root);
        let found = find.args([".", "-type", "f", "-newer", "README"]).output();
        String::from_utf8(found.unwrap().stdout).unwrap()
    };
    let before = listed();
    clinic.finds(0, &[]);
    let below = clinic.scene.path(".beads");
    let done = clinic.call(&[EPIC]).dir(&below).done();
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(listed(), before);
}

#[test]
fn hooks_that_are_not_there_are_found() {
    let clinic = healthy();
    fs::remove_file(clinic.scene.path(SETTINGS)).unwrap();
    let remedies = clinic.finds(1, &[("hook", "problem", "so nobody is held")]);
    assert_eq!(remedies, ["beadlock init"]);
    clinic.init(&["--yes"]);
    clinic.settings(|settings| {
        settings["hooks"]
            .as_object_mut()
            .unwrap()
            .remove("SessionEnd");
    });
    let remedies = clinic.finds(1, &[("hook", "problem", "misses a call")]);
    assert_eq!(remedies, ["beadlock init"]);
    clinic.init(&["--yes"]);
    fs::remove_file(clinic.scene.path(".claude/commands/run-tasks.md")).unwrap();
    clinic.finds(
        0,
        &[("hook", "note", "`/run-tasks` gives the agent no prompt")],
    );
}

#[test]
fn a_binary_that_was_moved_is_found_and_blocks_nobody() {
    let clinic = healthy();
    let settings = fs::read_to_string(clinic.scene.path(SETTINGS)).unwrap();
    let ours = env!("CARGO_BIN_EXE_beadlock");
    assert!(settings.contains(ours), "{settings}");
    clinic
        .scene
        .write(SETTINGS, settings.replace(ours, "/moved/away/beadlock"));
    let wrong = [
        ("hook", "problem", "misses a call"),
        (
            "hook",
            "problem",
            "`/moved/away/beadlock`, which the hooks call, is not there",
        ),
    ];
    let remedies = clinic.finds(1, &wrong);
    assert_eq!(remedies, ["beadlock init", "beadlock init"]);
    clinic.program("beadlock", "exit 2");
    let other = clinic.bin.join("beadlock");
    let settings = settings.replace(ours, other.to_str().unwrap());
    clinic.scene.write(SETTINGS, settings);
    let wrong = [
        ("hook", "problem", "misses a call"),
        ("hook", "problem", "ended with 2, and held nobody"),
    ];
    clinic.finds(1, &wrong);
    clinic.init(&["--yes"]);
    clinic.finds(0, &[]);
}

#[test]
fn hooks_that_are_called_twice_or_not_at_all_are_found() {
    let clinic = healthy();
    let again =
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"beadlock hook stop"}]}]}}"#;
    clinic.scene.write(".claude/settings.local.json", again);
    let done = clinic.doctor(&["--json"]);
    assert_eq!(done.status, 1, "{done:?}");
    let said = done.stdout;
    assert!(said.contains("a stop is judged twice"), "{said}");
    assert!(said.contains("beadlock init --local --remove"), "{said}");
    let line = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"log; beadlock hook stop"}]}]}}"#;
    clinic.scene.write(".claude/settings.local.json", line);
    assert!(clinic.doctor(&[]).stdout.contains("which nobody can check"));
    clinic
        .scene
        .write(".claude/settings.local.json", "{\n  \"env\": {},\n}\n");
    let wrong = [("hook", "problem", "settings.local.json` line 3")];
    let remedies = clinic.finds(1, &wrong);
    assert!(remedies[0].starts_with("$EDITOR "), "{remedies:?}");
    clinic.scene.write(
        ".claude/settings.local.json",
        r#"{"disableAllHooks": true}"#,
    );
    clinic.finds(1, &[("hook", "problem", "calls no hook at all")]);
}

#[test]
fn an_agents_cap_below_our_limit_is_found() {
    let clinic = healthy();
    clinic.settings(|settings| {
        settings["env"] = json!({ "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "4" });
    });
    let remedies = clinic.finds(1, &[("cap", "problem", "after 4 blocks")]);
    assert_eq!(remedies, ["export CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=8"]);
    for (cap, status) in [("8", 0), ("5", 1), ("0", 0), ("-1", 0), ("many", 0)] {
        let call = clinic.call(&[]).env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", cap);
        assert_eq!(call.done().status, status, "{cap}");
    }
    clinic.settings(|settings| settings["env"] = json!({}));
    clinic.scene.write(
        "project.yaml",
        "workflow: {stop_hook: {no_progress_cycles: 9}}\n",
    );
    clinic.finds(1, &[("cap", "problem", "after 8 blocks")]);
}
