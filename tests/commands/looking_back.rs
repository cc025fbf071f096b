//! `why`, `log` and `replay`: what was decided, by what, and whether it would be again.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use beadlock::kernel::verdict::{Allow, Block, Row};
use serde_json::{Value, json};

use crate::scene::{EPIC, SESSION, Scene};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records")
}

/// Two stops: held for an open task, then for a claim that the tracker contradicts.
fn held_twice() -> Scene {
    let scene = Scene::with_tasks(2);
    scene.start(SESSION);
    scene.stop().blocks("open_work");
    scene
        .stop()
        .says("<promise>EPIC COMPLETE</promise>")
        .blocks("false_promise");
    scene
}

fn said(scene: &Scene, args: &[&str]) -> String {
    let done = scene.beadlock(args).done();
    assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{args:?}");
    done.stdout
}

#[test]
fn why_names_the_row_what_was_read_and_the_ways_out() {
    let scene = held_twice();
    let text = said(&scene, &["why"]);
    for line in [
        "stop 2 of bd-x7y8, ",
        ": the agent was held (false_promise)",
        "row 14   tasks are ready",
        "counted  cycle 2 of 50; 2 of 5 blocks without progress",
        "words    claims `EPIC COMPLETE` (",
        "tracker  0 of 2 closed; 2 ready, 0 in progress, 0 blocked, 0 deferred (",
        "it would be let go\n",
        "  if bd-x7y8.1, bd-x7y8.2 were closed, and nothing unsaved (complete)\n",
        "  with check_ready_tasks: false (unchecked)\n",
        "  at the 4th stop like it from now (no_progress)\n",
        "now      the run is active\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    let first = said(&scene, &["why", "1"]);
    assert!(first.contains("stop 1 of bd-x7y8"), "{first}");
    assert!(first.contains("words    no promise ("), "{first}");
    let epic = said(&scene, &["why", "1", "--run", EPIC]);
    assert_eq!(epic.lines().nth(1), first.lines().nth(1));
}

#[test]
fn why_says_what_would_have_held_an_agent_that_went() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene
        .stop()
        .says("<promise>BLOCKED - NEEDS USER</promise>\nWhich colour?")
        .allows("needs_human");
    let text = said(&scene, &["why"]);
    for line in [
        ": the agent was let go (needs_human)\n",
        "row 9    the agent says that it needs a person\n",
        "it would have been held\n  if the agent had not said its tag (by what tracker says, which was not read)\n",
        "now      the run is waiting\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
}

/// What `why` promises comes true when it is done.
#[test]
fn a_way_out_that_why_names_is_one() {
    let scene = held_twice();
    let text = said(&scene, &["why"]);
    assert!(
        text.contains("were closed, and nothing unsaved (complete)"),
        "{text}"
    );
    scene.close_all();
    scene.commit_all("done");
    scene.stop().allows("complete");
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.stop().blocks("open_work");
    let text = said(&scene, &["why"]);
    assert!(text.contains("at the 5th stop like it"), "{text}");
    for _ in 0..4 {
        scene.stop().blocks("open_work");
    }
    scene.stop().allows("no_progress");
    let text = said(&scene, &["why"]);
    let limit = "limit    5 blocks in a row without progress, and no_progress_cycles is 5\n";
    assert!(text.contains(limit), "{text}");
    let way = "  with a higher no_progress_cycles (open_work)\n";
    assert!(text.contains(way), "{text}");
}

#[test]
fn why_says_when_a_reading_failed() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.write(".beads/issues.jsonl", "{");
    scene.stop().blocks("unknown");
    let text = said(&scene, &["why"]);
    assert!(
        text.contains("row 11   nobody knows what the tracker says"),
        "{text}"
    );
    assert!(text.contains("tracker  failed: "), "{text}");
}

#[test]
fn log_is_a_table_of_the_stops() {
    let scene = held_twice();
    let text = said(&scene, &["log"]);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|it| it.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "STOP", "AGO", "CYCLE", "ANSWER", "REASON", "ROW", "LIMIT", "TASKS"
        ]
    );
    assert_eq!(lines.len(), 3, "{text}");
    // Behind the number stands an age, of two words.
    assert_eq!(lines[1][0], "1");
    assert_eq!(lines[1][3..8], ["1", "block", "open_work", "14", "-"]);
    assert_eq!(lines[2][3..8], ["2", "block", "false_promise", "14", "-"]);
    assert_eq!(lines[2][8..].join(" "), "0 of 2 closed");
    let last = said(&scene, &["log", EPIC, "--last", "1"]);
    assert_eq!(last.lines().count(), 2);
    assert!(last.contains("false_promise"), "{last}");
    let json: Value = serde_json::from_str(&said(&scene, &["log", "--json"])).unwrap();
    assert_eq!((&json["schema"], &json["epic"]), (&json!(1), &json!(EPIC)));
    assert_eq!(json["stops"][1]["stop"], 2);
    assert_eq!(json["stops"][1]["reason"], "false_promise");
}

#[test]
fn looking_back_at_nothing_says_so() {
    let scene = Scene::with_tasks(1);
    for command in ["why", "log", "replay"] {
        scene.beadlock(&[command]).done().fails(1, "no run here");
    }
    scene.start(SESSION);
    for command in ["why", "replay"] {
        let done = scene.beadlock(&[command]).done();
        done.fails(1, "no stop of bd-x7y8 was judged yet");
    }
    assert_eq!(
        said(&scene, &["log"]),
        "no stop of bd-x7y8 was judged yet\n"
    );
    scene.stop().blocks("open_work");
    for command in ["why", "replay"] {
        let done = scene.beadlock(&[command, "7"]).done();
        done.fails(1, "bd-x7y8 has no stop 7: they are numbered from 1 to 1");
    }
    let done = scene.beadlock(&["why", "--run", "bd-nope"]).done();
    done.fails(1, "no run, epic or session `bd-nope` here");
    scene.beadlock(&["why", "one"]).done().fails(64, "one");
}

#[test]
fn a_stop_is_decided_again_as_it_was() {
    let scene = held_twice();
    // What has changed since is not asked.
    fs::remove_file(scene.path(".beads/issues.jsonl")).unwrap();
    assert_eq!(
        said(&scene, &["replay"]),
        "stop 2 of bd-x7y8: held, false_promise (row 14): the same\n"
    );
    let all = said(&scene, &["replay", "--all"]);
    assert!(
        all.ends_with("2 the same, 0 different, 0 undecided\n"),
        "{all}"
    );
    let json: Value = serde_json::from_str(&said(&scene, &["replay", "1", "--json"])).unwrap();
    assert_eq!(json["replayed"][0]["same"], true);
    assert_eq!(json["replayed"][0]["now"]["reason"], "open_work");
}

#[test]
fn another_policy_may_decide_otherwise() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.close_all();
    scene.stop().blocks("unsaved_work");
    scene.stop().blocks("unsaved_work");
    let done = scene
        .beadlock(&["replay", "2", "--set", "max_cycles=1"])
        .done();
    let line = "stop 2 of bd-x7y8: was held, unsaved_work (row 20); now let go, max_cycles \
                (row 20, limit max_cycles)\n";
    assert_eq!((done.status, done.stdout.as_str()), (1, line));
    let done = scene
        .beadlock(&["replay", "1", "--set", "max_cycles=1"])
        .done();
    assert_eq!(done.status, 0, "{done:?}");
    let done = scene
        .beadlock(&["replay", "--set", "check_git=false"])
        .done();
    assert_eq!(done.status, 1, "{done:?}");
    assert!(
        done.stdout.contains("now let go, complete (row 22)"),
        "{done:?}"
    );
}

#[test]
fn what_nobody_read_then_is_not_made_up() {
    let scene = held_twice();
    let done = scene
        .beadlock(&["replay", "1", "--set", "check_ready_tasks=false"])
        .done();
    assert_eq!(done.status, 4, "{done:?}");
    let what = "cannot be decided again: it would also have to know what git said";
    assert!(done.stdout.contains(what), "{done:?}");
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let scene = held_twice();
    for (setting, with) in [
        ("max_cycles=0", "max_cycles"),
        ("max_cycels=3", "max_cycels"),
        ("max_cycles", "max_cycles"),
        ("completion_promises=DONE", "are not kept"),
    ] {
        let done = scene.beadlock(&["replay", "--set", setting]).done();
        done.fails(64, with);
    }
}

#[test]
fn a_stop_travels_as_a_file() {
    let scene = held_twice();
    scene.write("records/stop.json", said(&scene, &["why", "1", "--json"]));
    let elsewhere = Scene::folder();
    let file = scene.path("records/stop.json");
    let folder = scene.path("records");
    let done = elsewhere
        .beadlock(&["replay", file.to_str().unwrap()])
        .done();
    assert_eq!(done.status, 0, "{done:?}");
    assert!(
        done.stdout
            .ends_with("stop.json: held, open_work (row 14): the same\n")
    );
    let all = ["replay", "--all", folder.to_str().unwrap()];
    assert_eq!(elsewhere.beadlock(&all).done().status, 0);

    // A later change of mind is seen.
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    record["record"]["reason"] = json!("complete");
    record["record"]["answer"] = json!("allow");
    scene.write("records/changed.json", record.to_string());
    let done = elsewhere.beadlock(&all).done();
    assert_eq!(done.status, 1, "{done:?}");
    let counts = "1 the same, 1 different, 0 undecided\n";
    assert!(done.stdout.ends_with(counts), "{done:?}");

    record["record"]["version"] = json!(99);
    scene.write("records/changed.json", record.to_string());
    let done = elsewhere.beadlock(&all).done();
    assert_eq!(done.status, 4, "{done:?}");
    assert!(done.stdout.contains("by a newer beadlock"), "{done:?}");
}

#[test]
fn a_file_that_is_no_record_says_what_it_wants() {
    let scene = Scene::folder();
    let replay = |target: &str| scene.beadlock(&["replay", target]).done();
    replay("nowhere.json").fails(4, "could not read `nowhere.json`");
    for (name, text) in [
        ("empty.json", ""),
        ("truncated.json", "{\"record\":{\"answer\":\"blo"),
        ("other.json", "[1,2]"),
        ("types.json", "{\"record\":7,\"evidence\":false}"),
    ] {
        scene.write(name, text);
        let done = replay(name);
        done.fails(4, &format!("could not read `{name}`"));
        assert!(done.stderr.contains("why N --json"), "{done:?}");
    }
    let done = scene.beadlock(&["replay", "--all", "nowhere"]).done();
    done.fails(4, "could not list `nowhere`");
}

/// Recorded stops of every kind; a change of mind about any of them is seen here. How they came
/// to be stands in `tests/fixtures/README.md`.
#[test]
fn the_corpus_is_decided_as_it_was() {
    let scene = Scene::folder();
    let done = scene
        .beadlock(&["replay", "--all", corpus().to_str().unwrap()])
        .done();
    assert_eq!(done.status, 0, "{}", done.stdout);
}

#[test]
fn the_corpus_has_every_row_limit_and_answer_that_leaves_a_record() {
    let mut rows = BTreeSet::new();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(corpus()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let stop: Value = serde_json::from_str(&text).unwrap();
        rows.insert(stop["row"].as_u64().unwrap());
        for key in ["reason", "brake"] {
            found.extend(stop[key].as_str().map(str::to_owned));
        }
    }
    // Of these nothing is recorded.
    let traceless = [Row::Disabled, Row::Idle, Row::Corrupt, Row::Resting];
    let recorded = Row::ALL.into_iter().filter(|row| !traceless.contains(row));
    let missing: Vec<Row> = recorded
        .filter(|row| !rows.contains(&(*row as u64)))
        .collect();
    assert!(missing.is_empty(), "rows: {missing:?}");
    let traceless = ["idle", "corrupt", "resting", "unrecorded"];
    let names = Allow::NAMES.iter().chain(&Block::NAMES);
    let missing: Vec<&&str> = names
        .filter(|name| !traceless.contains(*name) && !found.contains(**name))
        .collect();
    assert!(missing.is_empty(), "answers: {missing:?}");
}
