//! Settings: both files, the environment and flags, in that order; and what is wrong with them.

use beadlock::config::StopHook;

use crate::scene::{EPIC, SESSION, Scene};

#[test]
fn flags_beat_the_environment_beats_the_project_beats_the_user() {
    let scene = Scene::with_tasks(1);
    let cycles = |scene: &Scene| scene.run().policy.max_cycles;
    scene.start(SESSION);
    assert_eq!(cycles(&scene), 50);
    scene.user_config("[workflow.stop_hook]\nmax_cycles = 10\nno_progress_cycles = 9\n");
    scene.start(SESSION);
    assert_eq!(cycles(&scene), 10);
    scene.write(
        "project.yaml",
        "name: x\nworkflow:\n  stop_hook:\n    max_cycles: 20\n",
    );
    scene.start(SESSION);
    assert_eq!(cycles(&scene), 20);
    assert_eq!(scene.run().policy.no_progress_cycles, 9);
    let start = ["start", EPIC, "--session", SESSION];
    scene
        .beadlock(&start)
        .env("BEADLOCK_MAX_CYCLES", "30")
        .done();
    assert_eq!(cycles(&scene), 30);
    let start = [
        "start",
        EPIC,
        "--session",
        SESSION,
        "--set",
        "max_cycles=40",
    ];
    scene
        .beadlock(&start)
        .env("BEADLOCK_MAX_CYCLES", "30")
        .done();
    assert_eq!(cycles(&scene), 40);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let scene = Scene::with_tasks(1);
    let cases = [
        (
            "workflow:\n  stop_hook:\n    max_cylces: 3\n",
            "line 3: unknown key `max_cylces`; did you mean `max_cycles`?",
        ),
        (
            "workflow:\n  stop_hok: {}\n",
            "line 2: unknown key `stop_hok`; did you mean `stop_hook`?",
        ),
        (
            "workflow:\n  stop_hook:\n    max_cycles: 0\n",
            "line 3: `0` is not between 1 and 1000",
        ),
        ("workflow:\n  stop_hook:\n    max_cycles: lots\n", "line 3"),
        (
            "workflow:\n  stop_hook:\n    when_unknown: maybe\n",
            "line 3: `maybe` is none of `hold`, `allow`",
        ),
        (
            "workflow:\n  stop_hook:\n    allow_exit_on: [all_blocked]\n",
            "must list `all_complete`",
        ),
        (
            "workflow:\n  stop_hook:\n    enabled: yes please\n",
            "line 3",
        ),
        ("workflow:\n  tracker: jira\n", "line 2: `jira` is none of"),
        ("workflow: [\n", "project.yaml"),
        (
            "workflow:\n  stop_hook:\n    max_cycles: 3\n    max_cycles: 4\n",
            "line 4",
        ),
    ];
    for (text, expected) in cases {
        scene.write("project.yaml", text);
        let done = scene
            .beadlock(&["start", EPIC, "--session", SESSION])
            .done();
        done.fails(64, expected);
    }
    std::fs::remove_file(scene.path("project.yaml")).unwrap();
    scene.user_config("[workflow.stop_hook]\nmax_cylces = 3\n");
    scene
        .beadlock(&["start", EPIC, "--session", SESSION])
        .done()
        .fails(64, "line 2");
    scene.user_config("");
    let start = ["start", EPIC, "--session", SESSION, "--set", "max_cycles"];
    scene
        .beadlock(&start)
        .done()
        .fails(64, "expected `key=value`");
    let start = scene.beadlock(&["start", EPIC, "--session", SESSION]);
    start
        .env("BEADLOCK_MAX_CYCLES", "many")
        .done()
        .fails(64, "BEADLOCK_MAX_CYCLES");
}

#[test]
fn no_phrase_of_a_library_leaks_out_of_an_error() {
    let scene = Scene::with_tasks(1);
    let start = || {
        let done = scene.beadlock(&["start", EPIC, "--session", SESSION]);
        let stderr = done.done().stderr;
        let prefix = format!("error: `{}`", scene.path("project.yaml").display());
        let what = stderr.strip_prefix(&prefix).unwrap().to_owned();
        what.split("\nhint").next().unwrap().to_owned()
    };
    for (text, expected) in [
        (
            "workflow: {}\n---\nworkflow: {}\n",
            " line 3: only single YAML document expected but multiple found",
        ),
        (
            "workflow:\n  stop_hook:\n    max_cycles: 3\n    max_cycles: 4\n",
            " line 4: duplicate mapping key: max_cycles not allowed here",
        ),
        (
            "workflow:\n  stop_hook:\n    enabled: yes please\n",
            " line 3: invalid boolean (true or false expected)",
        ),
    ] {
        scene.write("project.yaml", text);
        assert_eq!(start(), expected, "{text}");
    }
    for text in [
        "workflow: [\n",
        "workflow:\n  stop_hook:\n    max_cycles: lots\n",
        "workflow:\n  stop_hook:\n    enabled: &a [*a]\n",
        "workflow:\n\tstop_hook: {}\n",
        "workflow: \"a\n",
        "workflow: 7\n",
    ] {
        scene.write("project.yaml", text);
        let what = start();
        assert!(what.starts_with(" line "), "{text}: {what}");
        assert!(!what.contains(" at line "), "{text}: {what}");
        assert!(!what.contains("column"), "{text}: {what}");
    }
}

#[test]
fn an_exit_that_cannot_be_left_out_is_missed_where_it_was_left_out() {
    let scene = Scene::with_tasks(1);
    let set = "allow_exit_on=all_blocked";
    let start = ["start", EPIC, "--session", SESSION, "--set", set];
    let must = "`allow_exit_on` must list `all_complete`";
    let from = |source: &str| format!("error: `{source}`: {must}");
    let done = scene.beadlock(&start).done();
    done.fails(64, &from("--set allow_exit_on=all_blocked"));
    let start = || scene.beadlock(&["start", EPIC, "--session", SESSION]);
    let done = start().env("BEADLOCK_ALLOW_EXIT_ON", "all_blocked").done();
    done.fails(64, &from("BEADLOCK_ALLOW_EXIT_ON"));
    scene.user_config("[workflow.stop_hook]\nallow_exit_on = [\"all_blocked\"]\n");
    start()
        .done()
        .fails(64, "config.toml` line 2: `allow_exit_on` must list");
    scene.user_config("");
    scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    allow_exit_on: [all_blocked]\n",
    );
    start()
        .done()
        .fails(64, "project.yaml` line 3: `allow_exit_on` must list");
}

#[test]
fn a_list_on_the_command_line_needs_no_brackets() {
    let scene = Scene::with_tasks(1);
    let set = "allow_exit_on=all_complete, context_checkpoint";
    let start = ["start", EPIC, "--session", SESSION, "--set", set];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    let exits = scene.run().policy.exits;
    assert!(!exits.all_blocked && exits.context_checkpoint);
}

#[test]
fn the_file_has_other_owners() {
    let scene = Scene::with_tasks(1);
    scene.write(
        "project.yaml",
        "name: app\nbuild: {anything: [goes]}\nworkflow:\n",
    );
    scene.start(SESSION);
}

#[test]
fn a_run_keeps_the_policy_it_was_started_with() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.write(
        "project.yaml",
        "workflow: {stop_hook: {check_ready_tasks: false}}\n",
    );
    scene.stop().blocks("open_work");
    // One that became unreadable changes nothing and is told.
    scene.write("project.yaml", "workflow: [\n");
    let json = scene.stop().done().json();
    assert_eq!(json["decision"], "block");
    let told = json["systemMessage"].as_str().unwrap();
    assert!(told.contains("keeps the settings"), "{told}");
    let records = scene.records();
    assert!(
        records.last().unwrap().faults[0].starts_with("config:"),
        "{records:?}"
    );
}

#[test]
fn switching_off_is_heard_even_beside_a_mistake() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.write(
        "project.yaml",
        "workflow:\n  no_such_key: 1\n  stop_hook:\n    max_cycles: lots\n    enabled: false\n",
    );
    scene.stop().allows("disabled");
}

#[test]
fn the_example_shows_every_key_with_its_default() {
    let text = include_str!("../../project.yaml.example");
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let default = scene.run().policy;
    scene.write("project.yaml", text);
    scene.start(SESSION);
    assert_eq!(scene.run().policy, default);
    for line in [
        "enabled: true",
        "tracker: auto",
        "prompts: .beadlock/prompts",
    ] {
        assert!(text.contains(line), "{line} is missing");
    }
    let keys = StopHook::KEYS.into_iter().chain(["tracker", "prompts"]);
    for key in keys {
        let uncommented = text
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("{key}:")));
        assert!(uncommented, "{key} is missing");
    }
}

#[test]
fn a_mistake_in_the_environment_does_not_keep_the_switch_from_being_heard() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    enabled: false\n",
    );
    let stop = scene.stop().env("BEADLOCK_MAX_CYCLES", "lots");
    stop.allows("disabled");
}

#[test]
fn a_run_cannot_be_started_switched_off() {
    let scene = Scene::with_tasks(1);
    let start = [
        "start",
        EPIC,
        "--session",
        SESSION,
        "--set",
        "enabled=false",
    ];
    let done = scene.beadlock(&start).done();
    done.fails(64, "read afresh at every stop");
}

#[test]
fn a_setting_without_a_value_is_a_mistake() {
    let scene = Scene::with_tasks(1);
    let empty = scene.beadlock(&["start", EPIC, "--session", "s"]);
    assert_eq!(empty.env("BEADLOCK_MAX_CYCLES", "").done().status, 0);
    for set in ["max_cycles=", "allow_exit_on= "] {
        let start = ["start", EPIC, "--session", SESSION, "--set", set];
        scene.beadlock(&start).done().fails(64, "has no value");
    }
}

/// As service accounts have it.
#[cfg(unix)]
#[test]
fn a_home_that_is_no_directory_has_no_settings() {
    let scene = Scene::with_tasks(1);
    let start = ["start", EPIC, "--session", SESSION];
    let call = scene.beadlock(&start).env("HOME", "/dev/null");
    let done = call.env("XDG_CONFIG_HOME", "/dev/null").done();
    assert_eq!(done.status, 0, "{done:?}");
}
