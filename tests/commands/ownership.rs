//! Whose run it is: sessions, worktrees, children and hand-overs.

use std::fs;

use beadlock::kernel::ledger::Outcome;
use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene, epic_row, task_row};

#[test]
fn a_wandering_agent_is_not_free() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    fs::create_dir_all(scene.path("deep/er")).unwrap();
    let deep = scene.path("deep/er");
    scene
        .stop()
        .dir(&deep)
        .set("cwd", json!(deep))
        .blocks("open_work");
    // A repository inside the repository changes nothing.
    scene.git_in(&deep, &["init", "-q"]);
    scene
        .stop()
        .dir(&deep)
        .set("cwd", json!(deep))
        .blocks("open_work");
    // Outside, the project's directory still tells.
    let outside = tempfile::tempdir().unwrap();
    scene
        .stop()
        .dir(outside.path())
        .set("cwd", json!(outside.path()))
        .env("CLAUDE_PROJECT_DIR", scene.root.to_str().unwrap())
        .blocks("open_work");
    // So does what the agent says itself.
    scene.stop().dir(outside.path()).blocks("open_work");
}

#[test]
fn a_linked_worktree_shares_the_run_and_the_tracker() {
    let scene = Scene::with_tasks(1);
    scene.git(&["worktree", "add", "-q", "../linked"]);
    let linked = scene.root.parent().unwrap().join("linked");
    let done = scene
        .beadlock(&["start", EPIC, "--session", SESSION])
        .dir(&linked)
        .done();
    assert_eq!(done.status, 0, "{}", done.stderr);
    scene
        .stop()
        .dir(&linked)
        .set("cwd", json!(linked))
        .blocks("open_work");
    scene.stop().blocks("open_work");
    let status = scene.beadlock(&["status", "--json"]).dir(&linked).done();
    assert_eq!(status.json()["store"], json!(scene.path(".git/beadlock")));
    // Closed in the main work tree's tracker, which is the one that counts.
    scene.set_status(1, "closed");
    scene.commit_all("done");
    scene.stop().allows("complete");
}

#[test]
fn from_a_linked_worktree_the_tracker_of_the_main_one_must_be_committed_too() {
    let scene = Scene::with_tasks(1);
    scene.git(&["worktree", "add", "-q", "../linked"]);
    let linked = scene.root.parent().unwrap().join("linked");
    scene.write("notes", "the person's own, in the main work tree");
    let start = ["start", EPIC, "--session", SESSION];
    assert_eq!(scene.beadlock(&start).dir(&linked).done().status, 0);
    scene.set_status(1, "closed");
    let reason = scene.stop().dir(&linked).blocks("unsaved_work");
    assert!(
        reason.contains("../project/.beads/issues.jsonl"),
        "{reason}"
    );
    assert!(!reason.contains("notes"), "{reason}");
    scene.git(&["commit", "-q", "-m", "done", ".beads/issues.jsonl"]);
    scene.stop().dir(&linked).allows("complete");
}

#[test]
fn from_a_linked_worktree_a_tracker_that_git_does_not_track_holds_nobody() {
    let scene = Scene::repository();
    scene.git(&["worktree", "add", "-q", "../linked"]);
    scene.rows(&[epic_row(), task_row(1, "open")]);
    let linked = scene.root.parent().unwrap().join("linked");
    let start = ["start", EPIC, "--session", SESSION];
    assert_eq!(scene.beadlock(&start).dir(&linked).done().status, 0);
    scene.set_status(1, "closed");
    scene.stop().dir(&linked).allows("complete");
}

#[test]
fn two_runs_of_two_sessions_do_not_touch_each_other() {
    let scene = with_two_epics();
    scene.start(SESSION);
    let done = scene
        .beadlock(&["start", "bd-other", "--session", "second"])
        .done();
    assert_eq!(done.status, 0, "{}", done.stderr);
    let fed = scene.stop().session("second").blocks("open_work");
    assert!(fed.contains("bd-other.1"), "{fed}");
    scene.stop().blocks("open_work");
    scene.stop().blocks("open_work");
    assert_eq!(scene.run_of("second").counters.cycles, 1);
    assert_eq!(scene.run().counters.cycles, 2);
    // Several runs: `abort` takes the one that is named, the others are listed.
    let pause = scene.beadlock(&["pause"]).done();
    pause.fails(64, "several runs could be meant");
    assert_eq!(scene.beadlock(&["abort", "bd-other"]).done().status, 0);
    scene.stop().session("second").allows_untraced("idle");
    scene.stop().blocks("open_work");
}

#[test]
fn a_second_epic_in_one_session_wants_replace() {
    let scene = Scene::with_tasks(1);
    let mut rows = scene.read_rows();
    let mut other = epic_row();
    other["id"] = json!("bd-other");
    rows.push(other);
    scene.rows(&rows);
    scene.start(SESSION);
    scene
        .beadlock(&["start", "bd-other", "--session", SESSION])
        .done()
        .fails(1, "already has a run, on epic `bd-x7y8`");
    let done = scene
        .beadlock(&["start", "bd-other", "--session", SESSION, "--replace"])
        .done();
    assert_eq!(done.status, 0, "{}", done.stderr);
    let outcomes: Vec<_> = scene
        .runs()
        .iter()
        .filter_map(|kept| kept.run.outcome)
        .collect();
    assert_eq!(
        outcomes.iter().map(|o| o.name()).collect::<Vec<_>>(),
        ["replaced"]
    );
}

#[test]
fn a_live_run_is_not_taken_but_can_be_adopted() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .beadlock(&["start", EPIC, "--session", "thief"])
        .done()
        .fails(1, "is being worked on by session");
    scene.stop().session("thief").allows_untraced("idle");
    let done = scene.beadlock(&["adopt", "--session", "heir"]).done();
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    scene.stop().allows_untraced("idle");
    scene.stop().session("heir").blocks("open_work");
}

#[test]
fn no_agent_undoes_a_persons_pause() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    assert_eq!(scene.beadlock(&["pause"]).done().status, 0);
    let agent = |args: &[&str]| {
        let call = scene.beadlock(args).env("CLAUDE_CODE_SESSION_ID", SESSION);
        call.done()
    };
    agent(&["resume"]).fails(1, "a person paused this run");
    agent(&["adopt"]).fails(1, "an agent cannot take the run");
    assert_eq!(agent(&["pause"]).status, 0);
    agent(&["resume"]).fails(1, "a person paused this run");
    scene.stop().allows_untraced("resting");
    // Nor does another session's hook line.
    let other = scene.stop().session("other").arg("--epic").arg(EPIC);
    other.allows_untraced("idle");
    scene.stop().allows_untraced("resting");
    assert_eq!(scene.run().outcome, Some(Outcome::Paused));
}

/// A hook that is called with another session's environment was called by a shell in that one.
#[test]
fn an_agent_gives_its_run_to_no_session_that_it_makes_up() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let agent = |args: &[&str]| {
        let call = scene.beadlock(args).env("CLAUDE_CODE_SESSION_ID", SESSION);
        call.done()
    };
    assert_eq!(agent(&["pause"]).status, 0);
    let made_up = || scene.stop().session("made-up").arg("--epic").arg(EPIC);
    made_up().env("CLAUDE_CODE_SESSION_ID", SESSION).done();
    let fixture = include_str!("../fixtures/claude/UserPromptSubmit.json");
    let mut typed = scene.payload(fixture);
    typed.insert("session_id".into(), json!("made-up"));
    typed.insert("prompt".into(), json!(format!("/run-tasks {EPIC}")));
    let typed = serde_json::to_vec(&typed).unwrap();
    let call = scene.beadlock(&["hook", "user-prompt"]).stdin(&typed);
    call.env("CLAUDE_CODE_SESSION_ID", SESSION).done();
    let run = scene.run();
    assert_eq!(
        (run.session.as_str(), run.state.name()),
        (SESSION, "paused")
    );
    // A session of its own is another matter.
    made_up()
        .env("CLAUDE_CODE_SESSION_ID", "made-up")
        .blocks("open_work");
}

#[test]
fn no_launch_takes_what_a_person_paused() {
    let scene = with_two_epics();
    scene.start(SESSION);
    assert_eq!(scene.beadlock(&["pause"]).done().status, 0);
    let launch = format!("{}/1", scene.run().id);
    for session in ["other", SESSION] {
        let stop = scene.stop().session(session).env("BEADLOCK_RUN", &launch);
        stop.env("CLAUDE_CODE_SESSION_ID", session)
            .done()
            .is_silent();
        let run = scene.run();
        assert_eq!(
            (run.session.as_str(), run.state.name()),
            (SESSION, "paused")
        );
    }
    let replace = ["start", "bd-other", "--session", SESSION, "--replace"];
    let call = scene
        .beadlock(&replace)
        .env("CLAUDE_CODE_SESSION_ID", SESSION);
    call.done().fails(1, "a person paused the run");
}

#[test]
fn a_session_whose_run_moved_on_and_ended_there_is_not_armed_again() {
    let scene = Scene::with_tasks(1);
    scene.stop().arg("--epic").arg(EPIC).blocks("open_work");
    let adopt = ["adopt", EPIC, "--session", "heir"];
    assert_eq!(scene.beadlock(&adopt).done().status, 0);
    assert_eq!(scene.beadlock(&["abort"]).done().status, 0);
    scene.stop().arg("--epic").arg(EPIC).allows_untraced("idle");
    let heir = scene.stop().session("heir").arg("--epic").arg(EPIC);
    heir.allows_untraced("idle");
}

#[test]
fn a_run_that_waits_is_taken_over_by_the_next_session() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .stop()
        .says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>")
        .allows("checkpoint");
    let done = scene
        .beadlock(&["start", EPIC, "--session", "fresh"])
        .done();
    assert_eq!(done.status, 0);
    assert!(done.stderr.contains("was taken over"), "{}", done.stderr);
    assert_eq!(scene.runs().len(), 1);
    scene.stop().session("fresh").blocks("open_work");
    scene.stop().allows_untraced("idle");
    assert_eq!(scene.run_of("fresh").counters.cycles, 2);
}

#[test]
fn a_run_without_an_event_for_hours_is_free_to_take() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.pass_minutes(121);
    assert_eq!(
        scene
            .beadlock(&["start", EPIC, "--session", "fresh"])
            .done()
            .status,
        0
    );
}

#[test]
fn start_again_wakes_the_run_with_todays_policy_and_yesterdays_baseline() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .stop()
        .says("<promise>BLOCKED</promise>")
        .allows("needs_human");
    scene.write("agent.txt", "left behind");
    scene.write("project.yaml", "workflow: {stop_hook: {max_cycles: 7}}\n");
    scene.start(SESSION);
    let run = scene.run();
    assert_eq!(
        (run.state.name(), run.policy.max_cycles, run.counters.cycles),
        ("active", 7, 1)
    );
    scene.set_status(1, "closed");
    scene.git(&["add", "project.yaml"]);
    scene.git(&["commit", "-q", "-m", "x", ".beads", "project.yaml"]);
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("agent.txt"), "{fed}");
}

#[test]
fn from_inside_start_only_prints_the_prompt() {
    let scene = Scene::with_tasks(1);
    let prompt = scene.start(SESSION).stdout;
    scene.write("project.yaml", "workflow: {stop_hook: {max_cycles: 1}}\n");
    let done = scene
        .beadlock(&["start", EPIC])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    assert_eq!((done.status, &done.stdout), (0, &prompt));
    assert_eq!(scene.run().policy.max_cycles, 50);
}

#[test]
fn abort_from_inside_is_obeyed_and_told() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let done = scene
        .beadlock(&["abort"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    assert_eq!(done.status, 0);
    assert_eq!(scene.run().outcome.unwrap().name(), "abandoned");
    for _ in 0..2 {
        scene.stop().tells_of("resting", "an agent aborted it");
    }
    let told = scene.prompt("p2", "what happened?").tells();
    assert!(told.contains("an agent aborted it"), "{told}");
    scene.prompt("p3", "I see").is_silent();
    scene.stop().allows_untraced("idle");
}

#[test]
fn pause_from_inside_is_the_agents_and_told() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .beadlock(&["pause"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    assert_eq!(scene.run().outcome.unwrap().name(), "paused_by_agent");
    for _ in 0..2 {
        scene.stop().tells_of("resting", "an agent paused it");
    }
    let told = scene.prompt("p2", "what happened?").tells();
    assert!(told.contains("an agent paused it"), "{told}");
    scene.stop().allows_untraced("resting");
}

#[test]
fn abort_from_outside_is_a_persons_and_frees_at_once() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let done = scene.beadlock(&["abort"]).done();
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    assert_eq!(scene.run().outcome.unwrap().name(), "aborted");
    scene.stop().allows_untraced("idle");
    let again = scene.beadlock(&["abort"]).done();
    assert_eq!((again.status, again.stdout.as_str()), (0, "no run here\n"));
}

#[test]
fn an_epic_on_the_hook_line_arms_at_the_first_stop_and_only_once() {
    let scene = Scene::with_tasks(1);
    scene.stop().arg("--epic").arg(EPIC).blocks("open_work");
    scene.set_status(1, "closed");
    scene.commit_all("done");
    scene.stop().arg("--epic").arg(EPIC).allows("complete");
    scene.set_status(1, "open");
    scene.commit_all("again");
    // This session had its run.
    scene.stop().arg("--epic").arg(EPIC).allows_untraced("idle");
    // Another one may have its own, but not while that is active.
    scene
        .stop()
        .session("b")
        .arg("--epic")
        .arg(EPIC)
        .blocks("open_work");
    scene
        .stop()
        .session("c")
        .arg("--epic")
        .arg(EPIC)
        .allows_untraced("idle");
}

#[test]
fn an_unknown_epic_on_the_hook_line_holds_nobody_and_says_so() {
    let scene = Scene::with_tasks(1);
    let stop = scene.stop().arg("--epic").arg("bd-nope");
    let told = stop.env("CLAUDE_CODE_ENTRYPOINT", "cli").done().tells();
    assert!(told.contains("`bd-nope` was not found"), "{told}");
}

#[test]
fn a_launch_binds_to_the_first_session_and_its_children_are_idle() {
    let scene = Scene::with_tasks(1);
    scene.start("driver");
    // As a driver leaves its run between two sessions.
    let stop = scene.stop().session("driver");
    stop.says("<promise>BLOCKED</promise>")
        .allows("needs_human");
    let launch = format!("{}/1", scene.run_of("driver").id);
    scene
        .stop()
        .session("first")
        .env("BEADLOCK_RUN", &launch)
        .blocks("open_work");
    scene
        .stop()
        .session("child")
        .env("BEADLOCK_RUN", &launch)
        .allows_untraced("idle");
    scene
        .stop()
        .session("first")
        .env("BEADLOCK_RUN", &launch)
        .blocks("open_work");
    assert_eq!(scene.run_of("first").counters.cycles, 3);
}

#[test]
fn a_child_agent_with_its_own_session_is_not_held() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .stop()
        .session("child")
        .env("CLAUDE_CODE_SESSION_ID", "child")
        .env("CLAUDE_CODE_CHILD_SESSION", "1")
        .allows_untraced("idle");
}

#[test]
fn a_forked_or_cleared_session_is_another_session() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.stop().session("the-fork").allows_untraced("idle");
    let mut ended = scene.payload(include_str!("../fixtures/claude/SessionEnd.json"));
    ended.insert("reason".into(), json!("clear"));
    let done = scene.hook("session-end", &ended);
    assert_eq!((done.status, done.stdout.as_str()), (0, ""));
    assert_eq!(scene.run().state.name(), "waiting");
    scene.stop().session("after-clear").allows_untraced("idle");
}

#[test]
fn a_child_does_not_take_a_run_from_the_session_that_is_at_work() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let launch = format!("{}/1", scene.run().id);
    scene.prompt("p1", "go").is_silent();
    // The child stops before its parent ever does.
    let child = scene.stop().session("child").env("BEADLOCK_RUN", &launch);
    child.allows_untraced("idle");
    scene
        .stop()
        .env("BEADLOCK_RUN", &launch)
        .blocks("open_work");
    assert_eq!(scene.run().counters.cycles, 1);
}

#[test]
fn a_held_session_cannot_give_its_run_away() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .beadlock(&["adopt", "--session", "ghost"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done()
        .fails(1, "cannot give its own run away");
    scene.stop().blocks("open_work");
    scene
        .beadlock(&["pause"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done();
    scene
        .beadlock(&["start", EPIC, "--session", "ghost"])
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .done()
        .fails(1, "cannot take the run");
}

#[test]
fn an_agent_ends_its_own_run_only_and_whatever_it_ends_is_told() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let other = scene.beadlock(&["abort"]);
    other.env("CLAUDE_CODE_SESSION_ID", "other").done();
    scene.stop().blocks("open_work");
    let other = scene.beadlock(&["abort", EPIC]);
    other.env("CLAUDE_CODE_SESSION_ID", "other").done();
    let told = scene
        .stop()
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .done()
        .tells();
    assert!(told.contains("an agent aborted it"), "{told}");
}

#[test]
fn a_run_that_the_agent_replaced_is_told_at_its_next_stop() {
    let scene = Scene::with_tasks(1);
    let mut rows = scene.read_rows();
    let mut easy = epic_row();
    easy["id"] = json!("bd-easy");
    rows.push(easy);
    scene.rows(&rows);
    scene.start(SESSION);
    let start = scene.beadlock(&["start", "bd-easy", "--replace"]);
    assert_eq!(
        start.env("CLAUDE_CODE_SESSION_ID", SESSION).done().status,
        0
    );
    let told = scene
        .stop()
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .done()
        .tells();
    assert!(
        told.contains("bd-x7y8 is ended (an agent aborted it"),
        "{told}"
    );
}

/// Two epics of one ready task each.
fn with_two_epics() -> Scene {
    let scene = Scene::with_tasks(1);
    let mut rows = scene.read_rows();
    let mut other_epic = epic_row();
    other_epic["id"] = json!("bd-other");
    let mut other_task = task_row(1, "open");
    other_task["id"] = json!("bd-other.1");
    other_task["dependencies"] = json!([]);
    rows.extend([other_epic, other_task]);
    scene.rows(&rows);
    scene.commit_all("more");
    scene
}

#[test]
fn a_refused_replacement_leaves_the_session_held() {
    let scene = with_two_epics();
    scene.start(SESSION);
    let start = ["start", "bd-other", "--session", "second"];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    let start = ["start", "bd-other", "--session", SESSION, "--replace"];
    let refused = "`bd-other` is being worked on by session `second`";
    scene.beadlock(&start).done().fails(1, refused);
    assert_eq!(scene.run().state.name(), "active");
    scene.stop().blocks("open_work");
}

#[test]
fn another_agent_loosens_nothing_and_what_it_replaces_is_told() {
    let scene = with_two_epics();
    scene.start(SESSION);
    let child = |args: &[&str]| {
        let call = scene.beadlock(args).env("CLAUDE_CODE_SESSION_ID", "child");
        call.done()
    };
    let start = [
        "start",
        EPIC,
        "--session",
        SESSION,
        "--set",
        "check_ready_tasks=false",
    ];
    assert_eq!(child(&start).status, 0);
    assert!(scene.run().policy.check_ready_tasks);
    let adopt = ["adopt", EPIC, "--session", "child"];
    child(&adopt).fails(1, "an agent cannot take the run");
    scene.stop().blocks("open_work");
    // Nor may it take one that waits.
    scene
        .stop()
        .says("<promise>BLOCKED</promise>")
        .allows("needs_human");
    let take = ["start", EPIC, "--session", "child"];
    child(&take).fails(1, "an agent cannot take the run");
    scene.prompt("p2", "go on").tells();
    let replace = ["start", "bd-other", "--session", SESSION, "--replace"];
    child(&replace).fails(1, "cannot have session");
    let call = scene.beadlock(&replace);
    let done = call.env("CLAUDE_CODE_SESSION_ID", SESSION).done();
    assert_eq!(done.status, 0, "{done:?}");
    let outcomes: Vec<_> = scene
        .runs()
        .iter()
        .map(|kept| kept.run.outcome.map(Outcome::name))
        .collect();
    assert_eq!(outcomes, [None, Some("abandoned")]);
    let stop = scene.stop().env("CLAUDE_CODE_ENTRYPOINT", "cli").done();
    let told = stop.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(told.contains("an agent aborted it"), "{told}");
}

#[test]
fn a_launch_takes_a_waiting_run_and_wakes_it() {
    let scene = Scene::with_tasks(1);
    scene.start("driver");
    let stop = scene
        .stop()
        .session("driver")
        .says("<promise>BLOCKED</promise>");
    stop.allows("needs_human");
    let launch = format!("{}/1", scene.run_of("driver").id);
    let stop = || scene.stop().session("first").env("BEADLOCK_RUN", &launch);
    stop().blocks("open_work");
    // The driver's own session has it no longer, and is not told that something is wrong.
    scene.stop().session("driver").allows_untraced("idle");
    scene.close_all();
    scene.commit_all("done");
    stop().allows("complete");
    stop().allows_untraced("idle");
}

#[cfg(unix)]
#[test]
fn a_session_that_gets_another_run_during_its_stop_is_judged_by_that_one() {
    let scene = with_two_epics();
    scene.start(SESSION);
    // All is closed, so git is asked; and it is slow, so that there is time to replace the run.
    scene.set_status(1, "closed");
    let bin = scene.path("../bin");
    std::fs::create_dir(&bin).unwrap();
    let script = "#!/bin/sh\nif [ -e \"$HOME/slow\" ]; then touch \"$HOME/asked\"; sleep 2; fi\nPATH=\"${PATH#*:}\" exec git \"$@\"\n";
    std::fs::write(bin.join("git"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("git"), mode).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let home = scene.path("../home");
    std::fs::write(home.join("slow"), "").unwrap();
    let reason = std::thread::scope(|scope| {
        let stop = scope.spawn(|| scene.stop().env("PATH", &path).done());
        for _ in 0..600 {
            if home.join("asked").exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        std::fs::remove_file(home.join("slow")).unwrap();
        let start = ["start", "bd-other", "--session", SESSION, "--replace"];
        assert_eq!(scene.beadlock(&start).done().status, 0);
        let done = stop.join().unwrap();
        done.json()["reason"].as_str().unwrap().to_owned()
    });
    assert!(reason.contains("Ready: bd-other.1."), "{reason}");
    let run = scene.run();
    assert_eq!((run.epic.as_str(), run.counters.cycles), ("bd-other", 1));
}

#[test]
fn what_was_armed_for_one_session_is_taken_by_no_invented_launch() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let launch = format!("{}/1", scene.run().id);
    let stranger = scene.stop().session("x").env("BEADLOCK_RUN", &launch);
    stranger.allows_untraced("idle");
    assert_eq!(scene.run().session, SESSION);
    scene.stop().blocks("open_work");
}

#[test]
fn whoever_names_no_run_inside_a_session_means_its_own() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    for verb in ["pause", "resume"] {
        let call = scene.beadlock(&[verb]);
        let done = call.env("CLAUDE_CODE_SESSION_ID", "other").done();
        done.fails(1, "no run here");
    }
    scene.stop().blocks("open_work");
    let own = scene.beadlock(&["pause"]);
    let done = own.env("CLAUDE_CODE_SESSION_ID", SESSION).done();
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(scene.run().state.name(), "paused");
}

#[test]
fn without_any_tracker_a_stop_arms_nothing() {
    let scene = Scene::folder();
    let stop = scene.stop().arg("--epic").arg(EPIC);
    let told = stop.env("CLAUDE_CODE_ENTRYPOINT", "cli").done().tells();
    assert!(told.contains("could not read the tracker"), "{told}");
    assert!(!scene.path(".beadlock").exists());
}
