//! Every answer that a stop can get, reached through the binary.

use serde_json::{Value, json};

use crate::scene::{EPIC, SESSION, Scene, edge, epic_row, task_row};

fn started(open: usize) -> Scene {
    let scene = Scene::with_tasks(open);
    scene.start(SESSION);
    scene
}

#[test]
fn an_epic_is_held_from_first_task_to_last_commit() {
    let scene = started(2);
    let fed = scene
        .stop()
        .says("Good progress so far!")
        .blocks("open_work");
    assert!(fed.contains("bd-x7y8.1, bd-x7y8.2"), "{fed}");
    scene.set_status(1, "closed");
    scene.set_status(2, "in_progress");
    let fed = scene.stop().blocks("in_progress");
    assert!(fed.contains("bd-x7y8.2"), "{fed}");
    scene.set_status(2, "closed");
    scene.write("work.txt", "done\n");
    let fed = scene
        .stop()
        .says("<promise>ALL TASKS COMPLETE</promise>")
        .blocks("unsaved_work");
    assert!(fed.contains(".beads/issues.jsonl"), "{fed}");
    assert!(!fed.contains("git add -A"), "{fed}");
    scene.commit_all("work");
    let told = scene
        .stop()
        .says("<promise>ALL TASKS COMPLETE</promise>")
        .allows("complete");
    assert!(told.contains("complete after 4 cycles"), "{told}");
    assert_eq!(scene.run().state.name(), "ended");
    scene.stop().allows_untraced("idle");
}

#[test]
fn a_claim_that_the_tracker_contradicts_is_answered_with_the_ids() {
    let scene = started(1);
    let fed = scene
        .stop()
        .says("All finished. <promise>epic  complete</promise>")
        .blocks("false_promise");
    assert!(fed.contains("bd-x7y8.1"), "{fed}");
}

#[test]
fn the_switch_in_the_environment_comes_before_everything() {
    let scene = started(1);
    scene
        .stop()
        .env("BEADLOCK_DISABLE", "1")
        .allows_untraced("disabled");
    scene.stop().blocks("open_work");
}

#[test]
fn a_config_that_says_no_is_told_once() {
    let scene = started(1);
    scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    enabled: false\n",
    );
    let told = scene.stop().allows("disabled");
    assert!(told.contains("switched off"), "{told}");
    scene.stop().allows_silently("disabled");
    // The agent may have called that hook itself: a prompt at the screen shows it, and once.
    let told = scene.prompt("p1", "how is it going?").tells();
    assert!(told.contains("`enabled` is false"), "{told}");
    scene.prompt("p2", "and now?").is_silent();
    scene.stop().allows_silently("disabled");
    std::fs::remove_file(scene.path("project.yaml")).unwrap();
    scene.stop().blocks("open_work");
}

#[test]
fn a_session_without_a_run_is_nobodys_business() {
    let scene = started(1);
    scene.stop().session("another").allows_untraced("idle");
    scene
        .stop()
        .set("hook_event_name", json!("SubagentStop"))
        .set("agent_id", json!("a0f8bff149235d853"))
        .allows_untraced("idle");
    scene.stop().blocks("open_work");
    assert_eq!(scene.run().counters.cycles, 1);
}

#[test]
fn a_run_that_rests_lets_its_session_go_without_a_word() {
    let scene = started(1);
    assert_eq!(scene.beadlock(&["pause"]).done().status, 0);
    scene.stop().allows_untraced("resting");
    assert_eq!(scene.beadlock(&["resume"]).done().status, 0);
    scene.stop().blocks("open_work");
}

#[test]
fn a_prompt_after_two_silent_hours_finds_the_run_stale() {
    let scene = started(1);
    scene.prompt("p1", "work through it").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    scene.pass_minutes(121);
    // A turn that merely lasts long is not stale.
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    scene.pass_minutes(121);
    scene.prompt("p2", "still there?");
    let told = scene.stop().set("prompt_id", json!("p2")).allows("stale");
    assert!(told.contains("beadlock resume"), "{told}");
    assert_eq!(scene.run().state.name(), "stale");
}

#[test]
fn the_end_of_a_background_task_makes_nothing_stale() {
    let scene = started(1);
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    scene.pass_minutes(200);
    let fixture =
        include_str!("../fixtures/claude/UserPromptSubmit.2.1.327.task-notification.json");
    let payload = scene.payload(fixture);
    let id = payload["prompt_id"].clone();
    scene.hook("user-prompt", &payload).is_silent();
    scene.stop().set("prompt_id", id).blocks("open_work");
}

#[test]
fn planning_is_not_counted() {
    let scene = started(1);
    scene
        .stop()
        .set("permission_mode", json!("plan"))
        .allows_silently("planning");
    assert_eq!(scene.run().counters.cycles, 0);
}

#[test]
fn a_question_in_the_middle_is_answered_and_not_held() {
    let scene = started(1);
    scene.prompt("p1", "work through it").is_silent();
    // The first prompt of a run is its marching orders.
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    scene.prompt("p2", "what are you doing?").is_silent();
    let told = scene
        .stop()
        .set("prompt_id", json!("p2"))
        .allows("conversation");
    assert!(told.contains("still open"), "{told}");
    assert_eq!(scene.run().counters.cycles, 1);
    // As soon as something moves it is work again: a new file counts.
    scene.prompt("p3", "then write it down").is_silent();
    scene.write("notes.txt", "x");
    scene
        .stop()
        .set("prompt_id", json!("p3"))
        .blocks("open_work");
}

#[test]
fn a_headless_prompt_is_no_conversation() {
    let scene = started(1);
    scene.prompt("p1", "go").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    scene.prompt("p2", "and?").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p2"))
        .env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
        .blocks("open_work");
}

#[test]
fn talk_can_be_held_by_config() {
    let scene = Scene::with_tasks(1);
    scene.write(
        "project.yaml",
        "workflow: {stop_hook: {on_user_prompt: hold}}\n",
    );
    scene.commit_all("config");
    scene.start(SESSION);
    scene.prompt("p1", "go").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p1"))
        .blocks("open_work");
    scene.prompt("p2", "and?").is_silent();
    scene
        .stop()
        .set("prompt_id", json!("p2"))
        .blocks("open_work");
}

#[test]
fn an_agent_that_needs_a_person_is_let_go_and_waits() {
    let scene = started(1);
    let told = scene
        .stop()
        .says("I am stuck.\n\n<promise>BLOCKED - NEEDS USER</promise>\nThe API key is missing.")
        .allows("needs_human");
    assert!(told.contains("The API key is missing. To go on"), "{told}");
    assert_eq!(scene.run().state.name(), "waiting");
    // A stop says it again each time: an agent may have called its hook itself.
    let records = scene.records().len();
    for _ in 0..2 {
        scene.stop().tells_of("resting", "is waiting (needs_human)");
    }
    assert_eq!(scene.records().len(), records);
    // What a person types wakes it, and is the last to hear of it.
    let told = scene.prompt("p9", "here is the key").tells();
    assert!(told.contains("was waiting (needs_human)"), "{told}");
    scene.write("key.txt", "k");
    scene
        .stop()
        .set("prompt_id", json!("p9"))
        .blocks("open_work");
}

#[test]
fn a_checkpoint_asks_for_unsaved_work_twice_at_most() {
    let scene = started(1);
    scene.write("README", "changed\n");
    let words = "<promise>CONTEXT LIMIT - CHECKPOINT</promise>";
    scene.stop().says(words).blocks("unsaved_work");
    scene.stop().says(words).blocks("unsaved_work");
    let told = scene.stop().says(words).allows("checkpoint");
    assert!(told.contains("unsaved work: README"), "{told}");
    assert!(told.contains("/run-tasks bd-x7y8"), "{told}");
    assert_eq!(scene.run().state.name(), "waiting");
}

#[test]
fn an_unknown_tracker_holds_twice_and_is_never_done() {
    let scene = started(1);
    scene.write(".beads/issues.jsonl", "{\"id\":\"bd-x7y8\",\"stat");
    let fed = scene
        .stop()
        .says("<promise>EPIC COMPLETE</promise>")
        .blocks("unknown");
    assert!(fed.contains("tracker"), "{fed}");
    scene.stop().blocks("unknown");
    let told = scene.stop().allows("unknown");
    assert!(told.contains("without knowing"), "{told}");
    assert_eq!(scene.run().state.name(), "active");
}

#[test]
fn policy_may_let_go_at_the_first_doubt() {
    let scene = Scene::with_tasks(1);
    scene.user_config("[workflow.stop_hook]\nwhen_unknown = \"allow\"\n");
    scene.start(SESSION);
    scene.rows(&[]);
    scene.stop().allows("unknown");
}

#[test]
fn a_task_that_vanishes_is_asked_for_once_and_then_a_persons_affair() {
    let scene = started(2);
    scene.rows(&[epic_row(), task_row(1, "closed")]);
    scene.commit_all("cheat");
    let fed = scene.stop().blocks("scope_shrunk");
    assert!(fed.contains("bd-x7y8.2"), "{fed}");
    let told = scene.stop().allows("needs_human");
    assert!(told.contains("bd-x7y8.2"), "{told}");
    // The person goes on without it.
    scene.prompt("p2", "fine, that one was obsolete").tells();
    scene.write("x", "y");
    scene.commit_all("x");
    let told = scene
        .stop()
        .set("prompt_id", json!("p2"))
        .allows("complete");
    // Whoever did not type that prompt learns of it here.
    assert!(
        told.contains("without bd-x7y8.2, which left the epic"),
        "{told}"
    );
}

#[test]
fn an_epic_without_tasks_is_never_complete() {
    let scene = Scene::repository();
    scene.rows(&[epic_row()]);
    scene.commit_all("plan");
    let done = scene
        .beadlock(&["start", EPIC, "--session", crate::scene::SESSION])
        .done();
    assert!(done.stderr.contains("has no tasks"), "{}", done.stderr);
    let told = scene.stop().allows("empty");
    assert!(told.contains("no tasks"), "{told}");
    assert_eq!(scene.run().state.name(), "ended");
}

#[test]
fn work_that_only_a_person_can_move_on_lets_the_agent_go_naming_it() {
    let scene = started(3);
    scene.set_status(1, "blocked");
    scene.set_status(2, "review");
    scene.edit_row("bd-x7y8.3", |row| {
        row.insert("defer_until".into(), json!("2099-01-01T00:00:00Z"));
    });
    let told = scene.stop().allows("needs_human");
    for part in [
        "bd-x7y8.1 (blocked)",
        "bd-x7y8.2 (status review)",
        "bd-x7y8.3 (deferred)",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn that_exit_can_be_switched_off() {
    let scene = Scene::with_tasks(1);
    scene.write(
        "project.yaml",
        "workflow: {stop_hook: {allow_exit_on: [all_complete]}}\n",
    );
    scene.start(SESSION);
    scene.set_status(1, "blocked");
    let fed = scene.stop().blocks("blocked_work");
    assert!(fed.contains("bd-x7y8.1"), "{fed}");
}

#[test]
fn a_task_held_by_another_live_worker_is_not_this_agents() {
    let scene = started(1);
    let held = |row: &mut serde_json::Map<String, Value>| {
        row.insert("status".into(), json!("in_progress"));
        row.insert("assignee".into(), json!("somebody-else"));
        row.insert("started_at".into(), json!("2026-01-01T00:00:00Z"));
        row.insert("lease_expires_at".into(), json!("2099-01-01T00:00:00Z"));
    };
    scene.edit_row("bd-x7y8.1", held);
    let told = scene.stop().allows("needs_human");
    assert!(told.contains("held by somebody-else"), "{told}");
    // A lease that has run out holds nothing.
    scene.beadlock(&["resume"]).done();
    scene.edit_row("bd-x7y8.1", |row| {
        row.insert("lease_expires_at".into(), json!("2026-01-01T00:05:00Z"));
    });
    let fed = scene.stop().blocks("in_progress");
    assert!(fed.contains("Nobody holds bd-x7y8.1"), "{fed}");
}

#[test]
fn tasks_that_wait_for_each_other_are_named_as_the_knot() {
    let scene = started(2);
    for (from, to) in [("bd-x7y8.1", "bd-x7y8.2"), ("bd-x7y8.2", "bd-x7y8.1")] {
        scene.edit_row(from, |row| {
            let edges = row["dependencies"].as_array_mut().unwrap();
            edges.push(edge(from, to, "blocks"));
        });
    }
    let told = scene.stop().allows("deadlocked");
    assert!(told.contains("bd-x7y8.1, bd-x7y8.2"), "{told}");
    assert_eq!(scene.run().state.name(), "waiting");
}

#[test]
fn work_whose_check_is_off_is_unchecked_and_not_complete() {
    let scene = Scene::with_tasks(1);
    scene.write(
        "project.yaml",
        "workflow: {stop_hook: {check_ready_tasks: false}}\n",
    );
    scene.start(SESSION);
    let told = scene.stop().allows("unchecked");
    assert!(told.contains("bd-x7y8.1"), "{told}");
}

#[test]
fn the_persons_own_changes_are_never_asked_for() {
    let scene = Scene::with_tasks(1);
    scene.write("README", "half an idea\n");
    scene.write("scratch.txt", "mine\n");
    scene.start(SESSION);
    scene.set_status(1, "closed");
    scene.git(&["commit", "-q", "-m", "close", ".beads"]);
    scene.stop().allows("complete");
}

#[test]
fn what_the_agent_changes_on_top_of_them_is() {
    let scene = Scene::with_tasks(1);
    scene.write("README", "half an idea\n");
    scene.start(SESSION);
    scene.set_status(1, "closed");
    scene.git(&["commit", "-q", "-m", "close", ".beads"]);
    scene.write("README", "the agent's idea\n");
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("README"), "{fed}");
}

#[test]
fn new_files_alone_are_asked_for_once() {
    let scene = started(1);
    scene.set_status(1, "closed");
    scene.git(&["commit", "-q", "-m", "close", ".beads"]);
    scene.write("left-over.log", "x");
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("left-over.log"), "{fed}");
    let told = scene.stop().allows("complete");
    assert!(
        told.ends_with("after 2 cycles; left as new files: left-over.log."),
        "{told}"
    );
    let record = scene.records().pop().unwrap();
    assert_eq!(record.told.unwrap().text, told);
}

#[test]
fn of_many_new_files_that_are_left_a_few_are_named() {
    let scene = Scene::with_tasks(1);
    scene.write("0-theirs", "x");
    scene.start(SESSION);
    scene.set_status(1, "closed");
    scene.git(&["commit", "-q", "-m", "close", ".beads"]);
    for name in ["a", "b\u{202e}", "c", "d", "e", "f"] {
        scene.write(name, "x");
    }
    scene.stop().blocks("unsaved_work");
    let told = scene.stop().allows("complete");
    assert!(
        told.ends_with("left as new files: a, b, c, d, e and 1 more."),
        "{told}"
    );
}

#[test]
fn an_unmerged_task_branch_is_unsaved_work() {
    let scene = started(1);
    scene.git(&["checkout", "-q", "-b", "agent-bd-x7y8.1"]);
    scene.write("work", "w");
    scene.git(&["add", "work"]);
    scene.git(&["commit", "-q", "-m", "work"]);
    scene.git(&["checkout", "-q", "main"]);
    scene.set_status(1, "closed");
    scene.git(&["commit", "-q", "-m", "close", ".beads"]);
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("agent-bd-x7y8.1"), "{fed}");
    scene.git(&["merge", "-q", "agent-bd-x7y8.1"]);
    scene.stop().allows("complete");
}

#[test]
fn an_unfinished_merge_is_unsaved_work() {
    let scene = started(1);
    scene.git(&["checkout", "-q", "-b", "other"]);
    scene.write("README", "theirs\n");
    scene.commit_all("theirs");
    scene.git(&["checkout", "-q", "main"]);
    scene.write("README", "ours\n");
    scene.set_status(1, "closed");
    scene.commit_all("ours");
    let merge = scene
        .command("git", &scene.root)
        .args(["merge", "other"])
        .output()
        .unwrap();
    assert!(!merge.status.success());
    let fed = scene.stop().blocks("unsaved_work");
    assert!(fed.contains("merge"), "{fed}");
}

#[test]
fn a_git_that_cannot_be_read_is_unknown_and_not_saved() {
    let scene = started(1);
    scene.set_status(1, "closed");
    scene.commit_all("close");
    scene.write(".git/HEAD", "not a head\n");
    let fed = scene.stop().blocks("unknown");
    assert!(fed.contains("git"), "{fed}");
}

#[test]
fn without_a_repository_there_is_nothing_to_save() {
    let scene = Scene::folder();
    scene.rows(&[epic_row(), task_row(1, "open")]);
    scene.start(SESSION);
    assert!(scene.path(".beadlock/state.db").is_file());
    scene.stop().blocks("open_work");
    scene.set_status(1, "closed");
    scene.stop().allows("complete");
}

#[test]
fn the_fourth_stop_of_three_is_let_go() {
    let scene = Scene::with_tasks(4);
    scene
        .beadlock(&[
            "start",
            EPIC,
            "--session",
            crate::scene::SESSION,
            "--set",
            "max_cycles=3",
        ])
        .done();
    for number in 1..=3 {
        scene.stop().blocks("open_work");
        scene.set_status(number, "closed");
    }
    let told = scene.stop().allows("max_cycles");
    assert!(told.contains("limit of cycles"), "{told}");
    assert_eq!(scene.run().state.name(), "ended");
}

#[test]
fn five_blocks_without_progress_are_enough() {
    let scene = started(1);
    for _ in 0..5 {
        scene.stop().blocks("open_work");
    }
    scene.stop().allows("no_progress");
    assert_eq!(scene.run().state.name(), "waiting");
    scene.beadlock(&["resume"]).done();
    scene.stop().blocks("open_work");
}

#[test]
fn going_to_and_fro_is_no_progress() {
    let scene = started(1);
    for round in 0..5 {
        scene.set_status(
            1,
            if round % 2 == 0 {
                "open"
            } else {
                "in_progress"
            },
        );
        let done = scene.stop().done();
        assert!(done.stdout.contains("block"), "{done:?}");
    }
    // The one new state seen on the way counts, coming back to it does not.
    scene.set_status(1, "in_progress");
    scene.stop().blocks("in_progress");
    scene.set_status(1, "open");
    scene.stop().allows("no_progress");
}

#[test]
fn background_work_is_waited_for_once() {
    let scene = started(1);
    scene.set_status(1, "in_progress");
    let fixture = include_str!("../fixtures/claude/Stop.2.1.327.background-running.json");
    let background = scene.payload(fixture)["background_tasks"].clone();
    let told = scene
        .stop()
        .set("background_tasks", background.clone())
        .allows("background");
    assert!(told.contains("bg"), "{told}");
    scene
        .stop()
        .set("background_tasks", background)
        .blocks("in_progress");
}

#[test]
fn a_block_that_cannot_be_recorded_is_withdrawn() {
    let scene = started(1);
    // Another process holds the write lock for longer than a stop waits.
    let database = scene.store_dir().database();
    let holder = rusqlite::Connection::open(&database).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    scene
        .stop()
        .tells_of("unrecorded", "could not record the stop");
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(scene.records().is_empty());
    scene.stop().blocks("open_work");
}

#[test]
fn a_store_that_is_gone_lets_go_and_says_so() {
    let scene = started(1);
    std::fs::remove_file(scene.store_dir().database()).unwrap();
    let told = scene.stop().tells_of("corrupt", "there is no store");
    assert!(told.contains("beadlock start"), "{told}");
}

#[test]
fn a_merge_that_was_under_way_at_the_start_is_the_persons() {
    let scene = Scene::with_tasks(1);
    scene.git(&["checkout", "-q", "-b", "other"]);
    scene.write("README", "theirs\n");
    scene.commit_all("theirs");
    scene.git(&["checkout", "-q", "main"]);
    scene.write("README", "ours\n");
    scene.commit_all("ours");
    let merge = scene
        .command("git", &scene.root)
        .args(["merge", "other"])
        .output();
    assert!(!merge.unwrap().status.success());
    let done = scene.start(SESSION);
    assert!(
        done.stderr.contains("a merge is under way here"),
        "{done:?}"
    );
    scene.close_all();
    let fed = scene.stop().blocks("unsaved_work");
    assert!(
        fed.contains("issues.jsonl") && !fed.contains("merge"),
        "{fed}"
    );
}

#[test]
fn an_empty_message_is_one_and_no_older_one_takes_its_place() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let line = json!({"type": "assistant", "message": {"id": "m", "content": [
        {"type": "text", "text": "<promise>BLOCKED</promise>"},
    ]}});
    scene.write("transcript.jsonl", format!("{line}\n"));
    let path = json!(scene.path("transcript.jsonl"));
    let stop = || scene.stop().set("transcript_path", path.clone());
    stop().says("").blocks("open_work");
    stop()
        .without("last_assistant_message")
        .allows("needs_human");
}
