//! Other settings that the agent reads as well, other places to stand in, and who is asking.

use std::fs;

use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene};
use crate::wiring::{SETTINGS, call, hooks, init, install, install_in, wire};

const LOCAL: &str = ".claude/settings.local.json";

#[test]
fn a_persons_own_settings_are_theirs() {
    let scene = Scene::with_tasks(1);
    let own = scene.home.join(".claude/settings.json");
    let done = init(&scene, &["--user"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert!(
        done.stderr
            .contains("undo: `beadlock init --user --remove`"),
        "{done:?}"
    );
    assert_eq!(hooks(&own, "Stop").len(), 1);
    assert!(scene.home.join(".claude/commands/run-tasks.md").exists());
    assert!(!scene.path(".claude").exists() && !scene.path("project.yaml").exists());
    init(&scene, &["--user", "--remove"]);
    assert_eq!(
        fs::read_dir(scene.home.join(".claude"))
            .ok()
            .map(Iterator::count),
        None
    );
    assert_eq!(
        crate::wiring::everything(&scene.home)
            .into_values()
            .filter(|it| *it != crate::wiring::Thing::Folder)
            .count(),
        0
    );
}

#[test]
fn the_agents_own_variable_says_where_they_are() {
    let scene = Scene::with_tasks(1);
    let program = install(&scene);
    let folder = scene.root.parent().unwrap().join("config dir");
    let done = call(&scene, &program, &["init", "--user"])
        .env("CLAUDE_CONFIG_DIR", &folder)
        .done();
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(hooks(&folder.join("settings.json"), "Stop").len(), 1);
    assert!(!scene.home.join(".claude").exists());
    call(&scene, &program, &["init", "--user", "--remove"])
        .env("CLAUDE_CONFIG_DIR", &folder)
        .done();
    assert!(!folder.exists());
}

#[test]
fn without_a_home_a_persons_settings_are_nowhere() {
    let scene = Scene::with_tasks(1);
    let program = install(&scene);
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let done = call(&scene, &program, &["init", "--user"])
        .env(name, "")
        .done();
    done.fails(
        64,
        "error: your own settings cannot be found: HOME is not set\nhint: ",
    );
    let done = call(&scene, &program, &["init"]).env(name, "").done();
    assert_eq!(done.status, 0, "{done:?}");
}

#[test]
fn local_settings_are_beside_the_shared_ones() {
    let scene = Scene::with_tasks(1);
    let done = init(&scene, &["--local"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(hooks(&scene.path(LOCAL), "Stop").len(), 1);
    assert!(!scene.path(SETTINGS).exists());
    init(&scene, &["--local", "--remove"]);
    assert!(!scene.path(".claude").exists());
}

#[test]
fn a_hook_is_wired_once_whatever_scope() {
    let scene = Scene::with_tasks(1);
    init(&scene, &["--user"]);
    let done = init(&scene, &[]);
    let own = scene.home.join(".claude/settings.json");
    let said = format!(
        "the hooks are in `{}` already, and that is enough\n",
        own.display()
    );
    assert!(
        done.status == 0 && done.stderr.starts_with(&said),
        "{done:?}"
    );
    assert!(!scene.path(".claude").exists() && scene.path("project.yaml").exists());
    // Removing from here says where they are.
    let done = init(&scene, &["--remove"]);
    assert!(
        done.stderr
            .contains("`beadlock init --user --remove` takes it out there"),
        "{done:?}"
    );

    let other = install_in(&scene.root.parent().unwrap().join("other"));
    let done = call(&scene, &other, &["init"]).done();
    let said = format!(
        "error: `{}` line 6 calls Beadlock already, in another way",
        own.display()
    );
    done.fails(1, &said);
    assert!(
        done.stderr
            .contains("hint: `beadlock init --user --remove`"),
        "{done:?}"
    );
    assert!(!scene.path(".claude").exists());
}

#[test]
fn an_older_call_beside_a_good_one_is_no_wiring() {
    let scene = Scene::with_tasks(1);
    init(&scene, &["--user"]);
    let older = "{\"hooks\": {\"Stop\": [{\"hooks\": [\n{\"type\": \"command\", \"command\": \"beadlock hook stop\"}]}]}}";
    scene.write(SETTINGS, older);
    let said = format!(
        "error: `{}` line 2 calls Beadlock already",
        scene.path(SETTINGS).display()
    );
    init(&scene, &[]).fails(1, &said);
    assert_eq!(init(&scene, &["--remove"]).status, 0);
    assert!(init(&scene, &[]).stderr.starts_with("the hooks are in `"));
}

#[test]
fn a_persons_settings_may_repeat_a_projects_to_the_letter() {
    let scene = Scene::with_tasks(1);
    wire(&scene);
    // The agent calls the same hook of two files once.
    assert_eq!(init(&scene, &["--user"]).status, 0);
    assert_eq!(init(&scene, &["--local"]).status, 0);
    assert!(!scene.path(LOCAL).exists());
}

#[test]
fn other_settings_that_cannot_be_read_are_named() {
    let scene = Scene::with_tasks(1);
    scene.write(LOCAL, "{");
    let done = init(&scene, &[]);
    let said = format!(
        "warning: whether other settings call Beadlock too is not known: `{}` line 1: ",
        scene.path(LOCAL).display()
    );
    assert!(
        done.status == 0 && done.stderr.starts_with(&said),
        "{done:?}"
    );
}

#[test]
fn hooks_that_are_switched_off_are_told() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, "{\"disableAllHooks\": true}");
    let done = init(&scene, &[]);
    let said = format!(
        "warning: `{}` has `disableAllHooks`, so Claude Code calls no hook at all\n",
        scene.path(SETTINGS).display()
    );
    assert!(
        done.status == 0 && done.stderr.starts_with(&said),
        "{done:?}"
    );
    // One that cannot be read says nothing of it.
    scene.write(LOCAL, "{");
    let warned = init(&scene, &[]).stderr;
    assert!(warned.contains(&said), "{warned}");
    // A narrower file has the last word.
    scene.write(LOCAL, "{\"disableAllHooks\": false}");
    assert_eq!(init(&scene, &[]).stderr, "nothing to do\n");
    scene.write(LOCAL, "{\"disableAllHooks\": true}");
    assert!(init(&scene, &[]).stderr.contains(LOCAL));
}

#[test]
fn a_subfolder_means_its_work_tree() {
    let scene = Scene::with_tasks(1);
    scene.write("a/b/file", "");
    let program = install(&scene);
    let done = call(&scene, &program, &["init"])
        .dir(&scene.path("a/b"))
        .done();
    let said = format!(
        "warning: Claude Code reads these settings where it is started: start it in `{}`, not here\n",
        scene.root.display()
    );
    assert!(
        done.status == 0 && done.stderr.starts_with(&said),
        "{done:?}"
    );
    assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
    assert!(!scene.path("a/b/.claude").exists() && scene.path("project.yaml").exists());
    call(&scene, &program, &["init", "--remove"])
        .dir(&scene.path("a/b"))
        .done();
    assert!(!scene.path(".claude").exists());
}

#[test]
fn a_linked_work_tree_is_one_of_its_own() {
    let scene = Scene::with_tasks(1);
    let side = scene.root.parent().unwrap().join("side");
    scene.git(&["worktree", "add", "-q", side.to_str().unwrap()]);
    let program = install(&scene);
    let before = crate::wiring::everything(&side);
    let done = call(&scene, &program, &["init"]).dir(&side).done();
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(hooks(&side.join(SETTINGS), "Stop").len(), 1);
    assert!(!scene.path(".claude").exists());
    wire(&scene);
    // Each has a way back of its own.
    call(&scene, &program, &["init", "--remove"])
        .dir(&side)
        .done();
    assert_eq!(crate::wiring::everything(&side), before);
    assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
    init(&scene, &["--remove"]);
    assert!(!scene.path(".claude").exists() && !scene.path(".git/beadlock").exists());
}

#[test]
fn a_project_of_any_name_is_wired() {
    let scene = Scene::with_tasks(1);
    let odd = scene
        .root
        .parent()
        .unwrap()
        .join("it's \"my\" project, déjà 日本 $x");
    fs::rename(&scene.root, &odd).unwrap();
    fs::create_dir(&scene.root).unwrap();
    let program = install(&scene);
    let done = call(&scene, &program, &["init"]).dir(&odd).done();
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(hooks(&odd.join(SETTINGS), "Stop").len(), 1);
    call(&scene, &program, &["init", "--remove"])
        .dir(&odd)
        .done();
    assert!(!odd.join(".claude").exists());
}

#[test]
fn no_agent_frees_itself_and_a_person_is_told_who_goes_unguarded() {
    let scene = Scene::with_tasks(1);
    let program = wire(&scene);
    scene.start(SESSION);
    let inside = call(&scene, &program, &["init", "--remove"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    inside.fails(1, "and no agent takes them out\nhint: a person can");
    assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
    let done = init(&scene, &["--remove"]);
    let said = format!("`beadlock abort {EPIC}` ends it");
    assert!(done.status == 0 && done.stderr.contains(&said), "{done:?}");
    assert!(!scene.path(".claude").exists());
    scene.stop().blocks("open_work");
}

#[test]
fn a_program_that_nobody_would_find_by_name_is_told() {
    let scene = Scene::with_tasks(1);
    let done = scene.beadlock(&["init"]).env("PATH", "/nowhere").done();
    assert!(
        done.stderr.contains("warning: `beadlock` is not on PATH"),
        "{done:?}"
    );
    let command = &hooks(&scene.path(SETTINGS), "Stop")[0]["command"];
    assert_eq!(*command, json!(env!("CARGO_BIN_EXE_beadlock")));
}

/// A line of somebody's own is theirs to change: `init` would not take it out.
#[test]
fn a_call_in_somebodys_own_command_is_named_by_its_line() {
    let scene = Scene::repository();
    let own = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"log; beadlock hook stop"}]}]}}"#;
    scene.write(".claude/settings.local.json", own);
    let done = init(&scene, &["--yes"]);
    assert_eq!(done.status, 1, "{done:?}");
    assert!(
        done.stderr.contains("take it out of line 1 of "),
        "{done:?}"
    );
    assert!(!done.stderr.contains("--remove"), "{done:?}");
}
