//! The commands for people: what they print, how they end.

use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene};

#[test]
fn status_has_the_documented_shape() {
    let scene = Scene::with_tasks(2);
    let none = scene.beadlock(&["status", "--json"]).done();
    assert_eq!(
        (none.status, none.json()),
        (0, json!({"schema": 1, "run": null}))
    );
    scene.start(SESSION);
    scene.set_status(1, "closed");
    scene.stop().blocks("open_work");
    let json = scene.beadlock(&["status", "--json"]).done().json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["epic"], EPIC);
    assert_eq!(json["session"], SESSION);
    assert_eq!(json["state"], "active");
    assert_eq!(json["outcome"], json!(null));
    assert_eq!(
        (&json["cycles"], &json["max_cycles"]),
        (&json!(1), &json!(50))
    );
    let counts =
        json!({"ready": 1, "in_progress": 0, "blocked": 0, "deferred": 0, "closed": 1, "total": 2});
    assert_eq!(json["counts"], counts);
    assert_eq!(json["store"], json!(scene.store_dir().path()));
}

#[test]
fn status_says_when_no_hook_was_ever_called() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let before = scene.beadlock(&["status"]).done();
    assert!(
        before.stdout.contains("armed, never called"),
        "{}",
        before.stdout
    );
    scene.stop().blocks("open_work");
    let after = scene.beadlock(&["status"]).done();
    assert!(!after.stdout.contains("never called"), "{}", after.stdout);
    assert!(
        after.stdout.contains("last     block open_work"),
        "{}",
        after.stdout
    );
}

#[test]
fn status_of_an_unreadable_tracker_is_still_a_status() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.write(".beads/issues.jsonl", "{");
    let done = scene.beadlock(&["status"]).done();
    assert_eq!(done.status, 0);
    assert!(done.stdout.contains("tasks    unknown:"), "{}", done.stdout);
    let json = scene.beadlock(&["status", "--json"]).done().json();
    assert_eq!(json["counts"], json!(null));
}

#[test]
fn a_session_that_was_pasted_with_white_space_is_the_same() {
    let scene = Scene::with_tasks(1);
    let pasted = format!(" {SESSION}\n");
    let start = ["start", EPIC, "--session", &pasted];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    scene.stop().blocks("open_work");
}

#[test]
fn start_refuses_with_the_code_of_its_reason() {
    let scene = Scene::with_tasks(1);
    let start = |epic: &str| {
        scene
            .beadlock(&["start", epic, "--session", SESSION])
            .done()
    };
    start("bd-nope").fails(1, "epic `bd-nope` was not found");
    start("no such").fails(64, "cannot be an epic's id");
    start(&"x".repeat(49)).fails(64, "cannot be an epic's id: at most 48 letters");
    scene
        .beadlock(&["start", EPIC])
        .done()
        .fails(64, "no session was named");
    scene.write(".beads/issues.jsonl", "garbage");
    start(EPIC).fails(4, "could not read the tracker");
    assert!(!scene.store_dir().has_marks());
}

#[test]
fn start_warns_of_what_it_finds() {
    let scene = Scene::with_tasks(3);
    let start = ["start", EPIC, "--session", SESSION, "--set", "max_cycles=2"];
    let done = scene.beadlock(&start).done();
    assert!(
        done.stderr
            .contains("3 tasks are open, but `max_cycles` is 2"),
        "{}",
        done.stderr
    );
    scene.close_all();
    let done = scene
        .beadlock(&["start", EPIC, "--session", SESSION])
        .done();
    assert_eq!(done.status, 0);
    assert!(done.stderr.contains("is closed already"), "{}", done.stderr);
}

#[test]
fn a_workspace_of_bd_is_not_read_by_mistake() {
    let scene = Scene::with_tasks(1);
    scene.write(
        ".beads/metadata.json",
        r#"{"database":"dolt","backend":"dolt"}"#,
    );
    let start = ["start", EPIC, "--session", SESSION];
    let done = scene.beadlock(&start).done();
    done.fails(4, "could not read the tracker: `bd`");
    // Its file may be an export of any age, whoever chose it.
    scene.write("project.yaml", "workflow:\n  tracker: jsonl\n");
    scene.beadlock(&start).done().fails(4, "kept by bd");
}

#[test]
fn a_workspace_that_becomes_bds_in_mid_run_is_unknown() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.set_status(1, "closed");
    scene.commit_all("done");
    scene.write(".beads/metadata.json", r#"{"backend":"dolt"}"#);
    let reason = scene.stop().blocks("unknown");
    assert!(reason.contains("kept by bd"), "{reason}");
}

#[test]
fn exits_without_a_run_say_so() {
    let scene = Scene::repository();
    scene.beadlock(&["pause"]).done().fails(1, "no run here");
    scene.beadlock(&["resume"]).done().fails(1, "no run here");
    scene
        .beadlock(&["adopt", "--session", "x"])
        .done()
        .fails(1, "no run here");
    let abort = scene.beadlock(&["abort", "--json"]).done();
    assert_eq!(
        (abort.status, abort.json()),
        (0, json!({"schema": 1, "runs": []}))
    );
    assert!(!scene.store_dir().path().exists());
}

#[test]
fn an_unknown_id_is_refused() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    for verb in ["pause", "resume", "abort"] {
        scene
            .beadlock(&[verb, "bd-nope"])
            .done()
            .fails(1, "no open run, epic or session `bd-nope`");
    }
    for id in [EPIC, SESSION, &scene.run().id] {
        assert_eq!(scene.beadlock(&["pause", id]).done().status, 0);
    }
}

#[test]
fn abort_mends_what_a_lost_store_left_behind() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    std::fs::remove_file(scene.store_dir().database()).unwrap();
    let done = scene.beadlock(&["abort"]).done();
    assert_eq!(done.status, 0, "{}", done.stderr);
    scene.stop().done().is_silent();
}

#[test]
fn the_armed_prompt_tells_a_missing_hook_at_once() {
    let scene = Scene::with_tasks(1);
    let armed = |scene: &Scene| {
        scene
            .beadlock(&["prompt", "--armed"])
            .env("CLAUDE_CODE_SESSION_ID", SESSION)
            .done()
    };
    armed(&scene).fails(1, "no run holds this session");
    scene
        .beadlock(&["prompt", "--armed"])
        .done()
        .fails(1, "no agent's session");
    let prompt = scene.start(SESSION).stdout;
    assert_eq!(armed(&scene).stdout, prompt);
    scene
        .beadlock(&["prompt", "bd-nope"])
        .done()
        .fails(1, "was not found");
    scene.beadlock(&["prompt"]).done().fails(64, "EPIC");
}

#[test]
fn prompt_writes_nothing() {
    let scene = Scene::with_tasks(1);
    assert_eq!(scene.beadlock(&["prompt", EPIC]).done().status, 0);
    assert!(!scene.store_dir().path().exists());
}

#[test]
fn every_command_has_help_with_an_example() {
    let scene = Scene::repository();
    for path in paths(&beadlock::cli::command()) {
        let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let done = scene.beadlock(&args).done();
        assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{path:?}");
        assert!(done.stdout.contains("Example"), "{path:?}: {}", done.stdout);
    }
}

/// Every command below this one, by the words that call it.
fn paths(command: &clap::Command) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for below in command.get_subcommands() {
        let name = below.get_name().to_owned();
        paths.push(vec![name.clone()]);
        for path in self::paths(below) {
            paths.push([vec![name.clone()], path].concat());
        }
    }
    paths
}

#[test]
fn every_shell_is_given_completions() {
    let scene = Scene::folder();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let done = scene.beadlock(&["completions", shell]).done();
        assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{shell}");
        for word in ["start", "replay", "release", "blocked-by"] {
            assert!(done.stdout.contains(word), "{shell}: {word}");
        }
    }
    scene
        .beadlock(&["completions", "csh"])
        .done()
        .fails(64, "csh");
}

#[test]
fn every_command_has_a_page_in_the_manual() {
    let scene = Scene::folder();
    let page = |path: &[String]| {
        let args: Vec<&str> = ["man"]
            .into_iter()
            .chain(path.iter().map(String::as_str))
            .collect();
        let done = scene.beadlock(&args).done();
        assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{path:?}");
        done.stdout
    };
    let whole = page(&[]);
    assert!(whole.contains(".TH beadlock 1"), "{whole}");
    assert!(whole.contains("replay"), "{whole}");
    for path in paths(&beadlock::cli::command()) {
        let name = format!("beadlock-{}", path.join("-"));
        let page = page(&path);
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    scene
        .beadlock(&["man", "task", "nope"])
        .done()
        .fails(64, "no command `task nope`");
}

#[test]
fn nothing_is_coloured_where_nobody_looks() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    for args in [
        &["--help"][..],
        &["status"],
        &["log"],
        &["nonsense"],
        &["task", "list"],
    ] {
        let done = scene.beadlock(args).done();
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(!said.contains('\u{1b}'), "{args:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn the_first_look_shows_a_held_agent_and_ends_complete() {
    let scene = Scene::folder();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/try.sh");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_beadlock"));
    let done = scene
        .command("sh", &scene.root)
        .arg(script)
        .env("BEADLOCK_TRY_BIN", binary.parent().unwrap())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{shown}");
    for part in [
        "open_work",
        "in_progress",
        "false_promise",
        "unsaved_work",
        "ended (complete)",
    ] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_no_success() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let lost = |line: &str| {
        let script = format!("exec \"$0\" {line} > /dev/full");
        scene.stop_by_shell(&script).done()
    };
    for line in ["status", "status --json", "prompt bd-x7y8", "task list"] {
        let done = lost(line);
        assert_eq!(done.status, 70, "{line}: {done:?}");
        assert!(done.stderr.contains("could not write"), "{line}: {done:?}");
    }
    // A hook's fault holds nobody, and a reader that has seen enough is no fault.
    assert_eq!(lost("hook stop").status, 0);
    let script = "(sleep 0.2; \"$0\" status; echo $? >&2) | true";
    let closed = scene.stop_by_shell(script).done();
    assert_eq!(closed.stderr, "0\n");
}

#[test]
fn a_usage_error_does_not_repeat_a_book() {
    let scene = Scene::with_tasks(1);
    let title = "T".repeat(100_000);
    let done = scene.beadlock(&["task", "add", &title]).done();
    assert_eq!(done.status, 64);
    assert!(done.stderr.len() < 2000, "{}", done.stderr.len());
    assert!(
        done.stderr.starts_with("error: invalid value 'TTT"),
        "{done:?}"
    );
}

#[test]
fn a_name_that_nothing_has_is_told() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let done = scene.beadlock(&["status", "bd-typo"]).done();
    assert_eq!(done.stdout, "no run here\n");
    assert_eq!(done.stderr, "nothing here is called bd-typo\n");
}

#[test]
fn a_name_cannot_pass_for_a_line_of_ours() {
    let scene = Scene::with_tasks(1);
    let session = "x\nstate    ended (complete)";
    scene.start(session);
    let done = scene.beadlock(&["status"]).done();
    assert!(!done.stdout.contains("\nstate    ended"), "{done:?}");
}
