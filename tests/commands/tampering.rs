//! What an agent with a shell, or bad luck, can do to its own hooks, store and marks: nothing of it
//! may let it leave without a word.

use std::fs;

use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene, epic_row, task_row};

const BLOCKED: &str = "<promise>BLOCKED</promise>";

fn started(tasks: usize) -> Scene {
    let scene = Scene::with_tasks(tasks);
    scene.start(SESSION);
    scene
}

/// Where the session's mark is.
fn marks(scene: &Scene) -> std::path::PathBuf {
    scene.path(".git/beadlock/sessions")
}

#[test]
fn a_store_that_was_begun_anew_by_another_session_is_told_until_a_prompt_has_shown_it() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    fs::remove_dir_all(scene.store_dir().path()).unwrap();
    scene.start("other");
    let stop = || scene.stop().env("CLAUDE_CODE_ENTRYPOINT", "cli").done();
    assert!(stop().tells().contains("of this session"));
    assert!(stop().tells().contains("of this session"));
    let told = scene.prompt("p1", "what happened?").tells();
    assert!(told.contains("is lost with it"), "{told}");
    scene.prompt("p2", "I see").is_silent();
    stop().is_silent();
    scene.stop().session("other").blocks("open_work");
}

/// Told until a person has seen it at the screen.
#[test]
fn a_store_that_is_gone_is_told_until_a_prompt_has_shown_it() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    fs::remove_dir_all(scene.store_dir().path()).unwrap();
    let gone = || scene.stop().env("CLAUDE_CODE_ENTRYPOINT", "cli").done();
    assert!(gone().tells().contains("no store"));
    // The agent has deleted it, and would have the last word.
    let abort = scene
        .beadlock(&["abort"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION);
    abort.done();
    assert!(gone().tells().contains("no store"));
    let doctor = scene.beadlock(&["doctor"]).done();
    assert!(
        doctor.stdout.contains("is gone with its runs"),
        "{doctor:?}"
    );
    let told = scene.prompt("p1", "what happened?").tells();
    assert!(told.contains("is lost with it"), "{told}");
    scene.prompt("p2", "I see").is_silent();
    gone().is_silent();
}

#[test]
fn an_agent_that_calls_its_hook_itself_does_not_swallow_the_message() {
    let scene = started(1);
    // Its own call, whose answer only it reads; by another prompt's name, or by the same.
    for prompt in ["p1", "forged"] {
        let own = scene.stop().says(BLOCKED).set("prompt_id", json!(prompt));
        assert_eq!(own.done().status, 0);
    }
    let told = scene.stop().set("prompt_id", json!("p1"));
    told.tells_of("resting", "is waiting (needs_human)");
}

#[test]
fn a_message_that_was_lost_with_its_hook_is_said_again() {
    let scene = started(1);
    let lost = scene.stop().says(BLOCKED).done();
    assert!(lost.stdout.contains("needs you"), "{lost:?}");
    let begun = scene.payload(include_str!(
        "../fixtures/claude/SessionStart.interactive.json"
    ));
    let told = scene.hook("session-start", &begun).tells();
    assert!(told.contains("is waiting (needs_human)"), "{told}");
    // Shown once where somebody begins to read, it is told.
    scene.hook("session-start", &begun).is_silent();
}

#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_looked_into_is_not_one_without_a_mark() {
    let scene = started(1);
    fs::rename(marks(&scene), scene.path(".git/beadlock/away")).unwrap();
    std::os::unix::fs::symlink("sessions", marks(&scene)).unwrap();
    scene.stop().tells_of("corrupt", "without knowing whether");
    fs::remove_file(marks(&scene)).unwrap();
    fs::rename(scene.path(".git/beadlock/away"), marks(&scene)).unwrap();
    scene.stop().blocks("open_work");
}

#[test]
fn a_repository_that_lost_its_head_still_has_its_runs() {
    let scene = started(1);
    fs::rename(scene.path(".git/HEAD"), scene.path(".git/HEAD.away")).unwrap();
    let held = scene.stop().done();
    assert_eq!(held.json()["decision"], "block", "{held:?}");
}

#[test]
fn a_mark_that_is_gone_is_set_again_and_told() {
    let begun = include_str!("../fixtures/claude/SessionStart.interactive.json");
    for event in ["user-prompt", "session-start"] {
        let scene = started(1);
        fs::remove_dir_all(marks(&scene)).unwrap();
        scene.stop().blocks("open_work");
        fs::remove_dir_all(scene.signposts()).unwrap();
        scene.stop().done().is_silent();
        let told = match event {
            "user-prompt" => scene.prompt("p2", "are you still there?").tells(),
            _ => scene.hook(event, &scene.payload(begun)).tells(),
        };
        assert!(told.contains("whose mark was gone"), "{told}");
        scene.stop().blocks("open_work");
    }
}

#[test]
fn a_store_that_cannot_be_read_is_no_strangers_business() {
    let scene = started(1);
    let database = rusqlite::Connection::open(scene.store_dir().database()).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let mut payload = scene.payload(include_str!("../fixtures/claude/UserPromptSubmit.json"));
    payload.insert("session_id".into(), json!("a-stranger"));
    scene.hook("user-prompt", &payload).is_silent();
    scene.stop().session("a-stranger").done().is_silent();
    // Whoever has a run there is told, and that the prompt was not noted.
    let told = scene.prompt("p2", "go on").tells();
    assert!(told.contains("could not note your prompt"), "{told}");
}

#[test]
fn a_launch_by_an_invented_name_takes_nothing_from_inside() {
    let scene = started(1);
    let launch = format!("{}/z", scene.run().id);
    let ghost = scene.stop().session("ghost").env("BEADLOCK_RUN", &launch);
    ghost
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .allows_untraced("idle");
    assert_eq!(scene.run().session, SESSION);
    scene.stop().blocks("open_work");
}

#[test]
fn another_agents_payload_is_nobodys_stop() {
    let scene = started(1);
    for payload in [
        json!({"conversation_id": "c", "generation_id": "g", "hook_event_name": "stop",
               "status": "completed", "loop_count": 0, "workspace_roots": [scene.root]}),
        json!({"sessionId": "s", "timestamp": 1, "cwd": scene.root, "stopReason": "end_turn"}),
    ] {
        let call = scene.beadlock(&["hook", "stop"]);
        let call = call.env("CLAUDE_CODE_SESSION_ID", SESSION);
        let bytes = serde_json::to_vec(&payload).unwrap();
        call.stdin(&bytes).done().is_silent();
    }
    assert_eq!(scene.run().counters.stops, 0);
}

#[test]
fn an_end_without_a_payload_ends_nothing() {
    let scene = started(1);
    for event in ["session-end", "stop-failure"] {
        for stdin in ["", "{}", "{\"session_id\":", "[]"] {
            let call = scene.beadlock(&["hook", event]);
            let call = call.env("CLAUDE_CODE_SESSION_ID", SESSION);
            call.stdin(stdin.as_bytes()).done().is_silent();
            assert_eq!(scene.run().state.name(), "active", "{event} {stdin}");
        }
    }
    scene.stop().blocks("open_work");
}

#[test]
fn an_agent_is_known_by_more_than_its_session() {
    for name in [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_CHILD_SESSION",
        "AI_AGENT",
    ] {
        let scene = started(1);
        let done = scene.beadlock(&["abort"]).env(name, "1").done();
        assert_eq!(done.status, 0);
        assert_eq!(scene.run().outcome.unwrap().name(), "abandoned", "{name}");
        scene.stop().tells_of("resting", "an agent aborted it");
    }
}

#[test]
fn an_agent_undoes_no_exit_of_a_persons() {
    let scene = started(1);
    let agent = |args: &[&str]| {
        let call = scene.beadlock(args).env("CLAUDE_CODE_SESSION_ID", SESSION);
        call.done()
    };
    assert_eq!(scene.beadlock(&["pause"]).done().status, 0);
    agent(&["resume"]).fails(1, "a person paused this run");
    scene.stop().allows_untraced("resting");
    assert_eq!(scene.beadlock(&["abort"]).done().status, 0);
    agent(&["start", EPIC]).fails(1, "an agent cannot begin it again");
    agent(&["start", EPIC, "--session", "a-person"]).fails(1, "cannot have session");
    scene.stop().allows_untraced("idle");
    scene.stop().session("a-person").allows_untraced("idle");
}

#[test]
fn one_run_that_cannot_be_read_takes_no_exit_away() {
    let scene = Scene::with_tasks(1);
    let mut rows = scene.read_rows();
    rows.push(json!({"id": "bd-other", "issue_type": "epic", "status": "open", "priority": 2}));
    rows.push(json!({"id": "bd-other.1", "status": "open", "priority": 2}));
    scene.rows(&rows);
    scene.commit_all("two");
    scene.start(SESSION);
    let start = ["start", "bd-other", "--session", "second"];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    let database = rusqlite::Connection::open(scene.store_dir().database()).unwrap();
    // What is left of it says that something is owed, which nobody can tell any more.
    let damage = "UPDATE run SET doc = '{\"tell_is_owed\":true}' WHERE session = ?1";
    database.execute(damage, [SESSION]).unwrap();
    drop(database);
    scene.stop().tells_of("corrupt", "cannot be read");
    let status = scene.beadlock(&["status", "bd-other"]).done();
    assert_eq!(status.status, 0, "{status:?}");
    assert!(status.stderr.contains("cannot be read"), "{status:?}");
    let pause = scene.beadlock(&["pause", "bd-other"]).done();
    assert_eq!(pause.status, 0, "{pause:?}");
    let abort = scene.beadlock(&["abort", EPIC]).done();
    assert_eq!(abort.status, 0, "{abort:?}");
    assert!(abort.stderr.contains("could not be read"), "{abort:?}");
    scene.stop().done().is_silent();
    scene.start(SESSION);
    scene.stop().blocks("open_work");
    scene.close_all();
    scene.commit_all("done");
    scene.stop().allows("complete");
    scene.stop().allows_untraced("idle");
}

#[test]
fn abort_reaches_every_store_around_and_every_mark_without_a_run() {
    let scene = started(1);
    scene.git(&["init", "-q", "nested"]);
    let nested = scene.path("nested");
    // A start that was killed before it had written anything.
    fs::write(marks(&scene).join("0123456789abcdef0123456789abcdef"), "").unwrap();
    let done = scene.beadlock(&["abort"]).dir(&nested).done();
    assert!(done.stdout.contains("aborted"), "{done:?}");
    scene.stop().allows_untraced("idle");
    assert_eq!(fs::read_dir(marks(&scene)).unwrap().count(), 0);
}

#[test]
fn a_template_that_never_ends_is_given_up() {
    let scene = started(1);
    scene.write(
        ".beadlock/prompts/open_work.tera",
        "{% for a in range(end=100000) %}{% for b in range(end=100000) %}{% endfor %}{% endfor %}x",
    );
    let fed = scene.stop().blocks("open_work");
    assert!(fed.contains("Ready: bd-x7y8.1"), "{fed}");
    let faults = scene.records().last().unwrap().faults.join(" ");
    assert!(faults.contains("takes more than 2 s"), "{faults}");
}

#[test]
fn what_the_hook_line_arms_late_says_what_it_takes_for_the_persons() {
    let scene = Scene::with_tasks(1);
    scene.write("README", "half done\n");
    let stop = scene.stop().arg("--epic").arg(EPIC);
    let json = stop.env("CLAUDE_CODE_ENTRYPOINT", "cli").done().json();
    assert_eq!(json["decision"], "block");
    let told = json["systemMessage"].as_str().unwrap();
    assert!(told.contains("not committed by now (1 paths)"), "{told}");
}

#[test]
fn a_session_that_had_its_run_costs_no_look_at_the_tracker() {
    let scene = Scene::with_tasks(1);
    scene.rows(&[epic_row(), task_row(1, "closed")]);
    scene.commit_all("done");
    scene.stop().arg("--epic").arg(EPIC).allows("complete");
    // Neither an epic that is gone nor anything else is this session's business any more.
    fs::remove_dir_all(scene.path(".beads")).unwrap();
    scene.stop().arg("--epic").arg(EPIC).allows_untraced("idle");
}

/// Whoever reads that is the agent, or a child of its.
#[test]
fn what_is_shown_to_a_session_inside_of_another_counts_for_nothing() {
    let scene = started(1);
    let abort = scene.beadlock(&["abort"]);
    abort.env("CLAUDE_CODE_SESSION_ID", SESSION).done();
    let fixture = include_str!("../fixtures/claude/SessionStart.json");
    let mut begun = scene.payload(fixture);
    begun.insert("session_id".into(), json!("invented"));
    let greet = |inside: &str| {
        let call = scene.beadlock(&["hook", "session-start"]);
        let call = call.env("CLAUDE_CODE_ENTRYPOINT", "cli");
        let call = call.env("CLAUDE_CODE_SESSION_ID", inside);
        call.stdin(&serde_json::to_vec(&begun).unwrap()).done()
    };
    let told = greet(SESSION).tells();
    assert!(told.contains("an agent aborted it"), "{told}");
    scene.stop().tells_of("resting", "an agent aborted it");
    // A session of its own shows it to a person.
    greet("invented").tells();
    scene.stop().allows_untraced("idle");
}
