//! The other hooks: sessions that begin, end and fail, and prompts.

use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene};

const COMPACT: &str = include_str!("../fixtures/claude/SessionStart.compact.json");
const RESUME: &str = include_str!("../fixtures/claude/SessionStart.resume.json");
const FRESH: &str = include_str!("../fixtures/claude/SessionStart.interactive.json");
const END: &str = include_str!("../fixtures/claude/SessionEnd.interactive.json");
const FAILURE: &str = include_str!("../fixtures/claude/StopFailure.rate_limit.json");

#[test]
fn compaction_and_resumption_give_the_prompt_back() {
    let scene = Scene::with_tasks(1);
    let prompt = scene.start(SESSION).stdout;
    for fixture in [COMPACT, RESUME] {
        let done = scene.hook("session-start", &scene.payload(fixture));
        assert_eq!((done.status, done.stderr.as_str()), (0, ""));
        let expected = json!({ "hookSpecificOutput": {
            "hookEventName": "SessionStart", "additionalContext": prompt.trim_end(),
        }});
        assert_eq!(done.json(), expected);
    }
    scene
        .hook("session-start", &scene.payload(FRESH))
        .is_silent();
    let mut foreign = scene.payload(RESUME);
    foreign.insert("session_id".into(), json!("foreign"));
    scene.hook("session-start", &foreign).is_silent();
}

#[test]
fn a_session_that_ends_leaves_its_run_waiting_and_the_next_one_tells() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let done = scene.hook("session-end", &scene.payload(END));
    assert_eq!((done.status, done.stdout.as_str()), (0, ""));
    assert_eq!(scene.run().state.name(), "waiting");
    let mut next = scene.payload(FRESH);
    next.insert("session_id".into(), json!("next"));
    let told = scene.hook("session-start", &next).tells();
    assert!(
        told.contains("its session or its turn ended while work remained"),
        "{told}"
    );
    assert!(told.contains("/run-tasks bd-x7y8"), "{told}");
    scene.hook("session-start", &next).is_silent();
}

#[test]
fn what_to_type_depends_on_where_it_is_read() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.prompt("p1", "go").is_silent();
    scene.hook("session-end", &scene.payload(END));
    let status = scene.beadlock(&["status"]).done().stdout;
    let next = "next     type `/run-tasks bd-x7y8` in the session that is to go on";
    assert!(status.contains(next), "{status}");
    // Resumed, the run's own session needs no command.
    let told = scene.hook("session-start", &scene.payload(RESUME)).json();
    let told = told["systemMessage"].as_str().unwrap();
    assert!(
        told.contains("the next prompt here goes on with it"),
        "{told}"
    );
    scene.beadlock(&["pause"]).done();
    scene.edit_run(|run| run.told.is_owed = true);
    let told = scene.prompt("p2", "hello").tells();
    assert!(told.contains("bd-x7y8 is paused"), "{told}");
    assert!(
        told.contains("`beadlock resume bd-x7y8` to go on"),
        "{told}"
    );
}

#[test]
fn a_turn_that_dies_of_an_error_leaves_the_run_waiting() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let done = scene.hook("stop-failure", &scene.payload(FAILURE));
    assert_eq!((done.status, done.stdout.as_str()), (0, ""));
    assert_eq!(scene.run().state.name(), "waiting");
    // The next prompt in that session tells, and wakes it.
    let told = scene.prompt("p2", "try again").tells();
    assert!(told.contains("bd-x7y8 was waiting"), "{told}");
    assert!(told.contains("your prompt goes on with it"), "{told}");
    scene.write("x", "y");
    scene
        .stop()
        .set("prompt_id", json!("p2"))
        .blocks("open_work");
}

#[test]
fn what_a_headless_run_ends_with_is_told_on_stderr_and_at_the_next_session() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let stop = scene.stop().says("<promise>BLOCKED</promise>");
    let done = stop.env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").done();
    assert!(done.stderr.contains("needs you"), "{done:?}");
    let mut next = scene.payload(FRESH);
    next.insert("session_id".into(), json!("next"));
    let told = scene.hook("session-start", &next).tells();
    assert!(told.contains("needs_human"), "{told}");
}

#[test]
fn the_command_arms_the_run_before_a_token_is_spent() {
    let scene = Scene::with_tasks(1);
    let told = scene.prompt("p1", "/run-tasks bd-x7y8").tells();
    assert!(
        told.contains("holds this session until bd-x7y8 is done"),
        "{told}"
    );
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    // Typed again it goes on; a plugin's name in front of it changes nothing.
    scene.prompt("p2", "/beadlock:run-tasks bd-x7y8").tells();
    scene
        .stop()
        .set("prompt_id", json!("p2"))
        .blocks("open_work");
    assert_eq!(scene.runs().len(), 1);
}

/// A command that the agent is about to expand, for a prompt that is reported as well.
fn expansion(scene: &Scene, id: &str, text: &str) -> crate::scene::Done {
    let mut payload = scene.payload(include_str!("../fixtures/claude/UserPromptExpansion.json"));
    payload.insert("prompt_id".into(), json!(id));
    payload.insert("prompt".into(), json!(text));
    scene.hook("user-prompt", &payload)
}

#[test]
fn whichever_comes_first_of_prompt_and_expansion_arms() {
    // As 2.1.197 does it: what the command's own line prints is asked for in between.
    let scene = Scene::with_tasks(1);
    expansion(&scene, "p1", "/run-tasks bd-x7y8").is_silent();
    let armed = scene
        .beadlock(&["prompt", "--armed"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    assert!(armed.stdout.contains(EPIC), "{armed:?}");
    let told = scene.prompt("p1", "/run-tasks bd-x7y8").tells();
    assert!(told.contains("holds this session"), "{told}");
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    let first = scene.run();

    // As 2.1.327 does it: the second is not asked again.
    scene.prompt("p2", "/run-tasks bd-x7y8").tells();
    let before = scene.run();
    expansion(&scene, "p2", "/run-tasks bd-x7y8").is_silent();
    assert_eq!(scene.run(), before);
    assert_eq!((scene.runs().len(), before.id), (1, first.id));
    let refused = expansion(&scene, "p3", "/run-tasks bd-nope").json();
    assert_eq!(refused["decision"], "block");
}

#[test]
fn the_expansion_of_another_command_is_no_prompt() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let before = scene.run();
    expansion(&scene, "p1", "/review all").is_silent();
    assert_eq!(scene.run(), before);
}

#[test]
fn the_command_is_refused_on_the_spot() {
    let scene = Scene::with_tasks(1);
    let refused = |text: &str| {
        let done = scene.prompt("p1", text);
        assert_eq!((done.status, done.stderr.as_str()), (0, ""));
        let json = done.json();
        assert_eq!(json["decision"], "block");
        assert_eq!(json.as_object().unwrap().len(), 2);
        json["reason"].as_str().unwrap().to_owned()
    };
    assert!(refused("/run-tasks bd-nope").contains("`bd-nope` was not found"));
    assert!(refused("/run-tasks").contains("type `/run-tasks EPIC`"));
    assert!(refused("/run-tasks a b").contains("type `/run-tasks EPIC`"));
    assert!(refused("/run-tasks $(reboot)").contains("cannot be an epic's id"));
    scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    max_cylces: 3\n",
    );
    assert!(refused("/run-tasks bd-x7y8").contains("did you mean `max_cycles`?"));
    scene.write("project.yaml", "");
    scene.write(".beads/issues.jsonl", "<<<<<<< HEAD\n");
    assert!(refused("/run-tasks bd-x7y8").contains("could not read the tracker"));
    assert!(!scene.store_dir().has_marks());
}

#[test]
fn no_word_of_a_prompt_is_kept() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.prompt("p1", "first").is_silent();
    scene.prompt("p2", "my-secret-words").is_silent();
    scene.stop().set("prompt_id", json!("p2")).done();
    for entry in std::fs::read_dir(scene.store_dir().path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(path).unwrap();
            let found = bytes.windows(15).any(|part| part == b"my-secret-words");
            assert!(!found);
        }
    }
}

#[test]
fn a_turn_that_the_agents_own_cap_ended_is_noticed() {
    let scene = Scene::with_tasks(1);
    let start = [
        "start",
        EPIC,
        "--session",
        SESSION,
        "--set",
        "no_progress_cycles=20",
    ];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    for _ in 0..8 {
        scene
            .stop()
            .set("prompt_id", json!("p1"))
            .blocks("open_work");
    }
    let told = scene.prompt("p2", "hm?").tells();
    assert!(told.contains("agent's own cap"), "{told}");
    assert_eq!(scene.run().counters.turns_cut, 1);
}

#[test]
fn hooks_in_a_directory_without_a_store_say_nothing() {
    let scene = Scene::repository();
    scene.stop().allows_untraced("idle");
    scene
        .hook("session-start", &scene.payload(FRESH))
        .is_silent();
    scene.hook("session-end", &scene.payload(END)).is_silent();
    scene
        .hook("stop-failure", &scene.payload(FAILURE))
        .is_silent();
    scene.prompt("p", "hello").is_silent();
    assert!(!scene.store_dir().path().exists());
}

/// Claude Code 2.1.327 lists them at every stop, and hands them in like words that were typed.
#[test]
fn what_the_agent_has_scheduled_for_itself_is_no_persons_prompt() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.prompt("p1", "go").is_silent();
    let scheduled = json!([{"id": "c1", "schedule": "*/5 * * * *", "recurring": true, "prompt": "Is it done? "}]);
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .set("session_crons", scheduled)
        .blocks("open_work");
    scene.prompt("p2", "Is it done?").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p2"))
        .blocks("open_work");
    scene.prompt("p3", "Is it done yet?").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p3"))
        .allows("conversation");

    scene.prompt("p4", "Is it done?").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p4"))
        .says("<promise>BLOCKED</promise>")
        .allows("needs_human");
    let told = scene.prompt("p5", "Is it done?").tells();
    assert!(told.contains("`beadlock resume bd-x7y8`"), "{told}");
    assert_eq!(scene.run().state.name(), "waiting");
    scene.prompt("p6", "Is it done yet?").tells();
    assert_eq!(scene.run().state.name(), "active");
}

#[test]
fn a_run_that_rests_notes_what_the_agent_schedules() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .stop()
        .says("<promise>BLOCKED</promise>")
        .allows("needs_human");
    scene.prompt("p1", "and?").tells();
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .says("<promise>BLOCKED</promise>")
        .allows("conversation");
    scene.beadlock(&["pause"]).done();
    let scheduled = json!([{"prompt": "/run-tasks bd-x7y8"}]);
    scene
        .stop()
        .set("session_crons", scheduled)
        .allows_silently("resting");
    let refused = scene.prompt("p2", "/run-tasks bd-x7y8").json();
    assert_eq!(refused["decision"], "block");
    let reason = refused["reason"].as_str().unwrap();
    assert!(
        reason.contains("has scheduled these very words"),
        "{reason}"
    );
    assert_eq!(scene.run().state.name(), "paused");
}
