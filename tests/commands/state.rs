//! The store: nothing lost under many processes, nobody trapped by what is damaged.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use beadlock::edge::store::Store;
use serde_json::json;

use crate::scene::{EPIC, SESSION, Scene, edge, epic_row, task_row};

const STOP: &str = include_str!("../fixtures/claude/Stop.first.json");

#[test]
fn thirty_two_stops_at_once_lose_no_cycle() {
    let scene = Scene::with_tasks(1);
    let start = [
        "start",
        EPIC,
        "--session",
        SESSION,
        "--set",
        "no_progress_cycles=1000",
    ];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    let bytes = serde_json::to_vec(&scene.payload(STOP)).unwrap();
    let mut children: Vec<_> = (0..32)
        .map(|_| {
            let mut command = scene.command(env!("CARGO_BIN_EXE_beadlock"), &scene.root);
            command
                .args(["hook", "stop"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(&bytes).unwrap();
            child
        })
        .collect();
    let mut blocked = 0;
    for child in children.drain(..) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        blocked += u32::from(!output.stdout.is_empty());
    }
    assert_eq!(blocked, 32);
    assert_eq!(scene.run().counters.cycles, 32);
    let cycles: Vec<u32> = scene.records().iter().map(|record| record.cycle).collect();
    let mut sorted = cycles.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=32).collect::<Vec<_>>());
}

/// A project in which nobody has started anything yet, with `count` epics of one task each.
fn fresh_project(count: usize) -> Scene {
    let scene = Scene::repository();
    let mut rows = Vec::new();
    for number in 0..count {
        let (mut epic, mut task) = (epic_row(), task_row(1, "open"));
        let (epic_id, task_id) = (format!("bd-e{number}"), format!("bd-e{number}.1"));
        task["dependencies"] = json!([edge(&task_id, &epic_id, "parent-child")]);
        (epic["id"], task["id"]) = (json!(epic_id), json!(task_id));
        rows.extend([epic, task]);
    }
    scene.rows(&rows);
    scene
}

#[test]
fn many_first_calls_at_once_lose_no_run_and_take_nothing_for_damage() {
    const ROUNDS: usize = 6;
    const STARTS: usize = 12;
    const AT_STOP: usize = 4;
    for _ in 0..ROUNDS {
        let scene = fresh_project(STARTS + AT_STOP);
        let session = |number: usize| format!("session-{number}");
        let calls = (0..STARTS).flat_map(|number| {
            let (epic, session) = (format!("bd-e{number}"), session(number));
            let start = vec!["start".to_owned(), epic, "--session".to_owned(), session];
            let status = ["status", "--all", "--json"].map(str::to_owned).to_vec();
            [(start, None), (status, None)]
        });
        let stops = (STARTS..STARTS + AT_STOP).map(|number| {
            let mut payload = scene.payload(STOP);
            payload.insert("session_id".into(), json!(session(number)));
            let stop = ["hook", "stop", "--epic", &format!("bd-e{number}")].map(str::to_owned);
            (stop.to_vec(), Some(serde_json::to_vec(&payload).unwrap()))
        });
        let calls: Vec<_> = stops.chain(calls).collect();
        let children: Vec<_> = calls
            .iter()
            .map(|(args, stdin)| {
                let mut command = scene.command(env!("CARGO_BIN_EXE_beadlock"), &scene.root);
                let command = command.args(args).stdin(Stdio::piped());
                let mut child = command
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                let mut pipe = child.stdin.take().unwrap();
                pipe.write_all(stdin.as_deref().unwrap_or_default())
                    .unwrap();
                child
            })
            .collect();
        for (child, (args, stdin)) in children.into_iter().zip(&calls) {
            let output = child.wait_with_output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
            assert!(!said.contains("damaged"), "{args:?}: {said}");
            assert_eq!(said.contains("[beadlock 1/50"), stdin.is_some(), "{said}");
        }
        let mut held: Vec<String> = scene.runs().into_iter().map(|it| it.run.session).collect();
        held.sort();
        let mut all: Vec<String> = (0..STARTS + AT_STOP).map(session).collect();
        all.sort();
        assert_eq!(held, all);
        for session in all {
            assert!(scene.store_dir().is_marked(&session).unwrap(), "{session}");
        }
        assert_eq!(names_with(&scene, "corrupt"), [""; 0]);
        assert_eq!(names_with(&scene, "new"), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_kill_at_any_moment_leaves_a_store_that_counts_right() {
    let scene = Scene::with_tasks(1);
    let start = [
        "start",
        EPIC,
        "--session",
        SESSION,
        "--set",
        "no_progress_cycles=1000",
        "--set",
        "max_cycles=1000",
    ];
    assert_eq!(scene.beadlock(&start).done().status, 0);
    let bytes = serde_json::to_vec(&scene.payload(STOP)).unwrap();
    let mut answered = 0;
    for round in 0..60u64 {
        let mut command = scene.command(env!("CARGO_BIN_EXE_beadlock"), &scene.root);
        command
            .args(["hook", "stop"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 300));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        answered += u32::from(!output.stdout.is_empty());
    }
    let run = scene.run();
    let records = scene.records();
    assert_eq!(usize::try_from(run.counters.cycles).unwrap(), records.len());
    // Whatever was answered was counted.
    assert!(run.counters.cycles >= answered);
    scene.stop().blocks("open_work");
}

/// The names in the store's directory that have `part` in them.
fn names_with(scene: &Scene, part: &str) -> Vec<String> {
    let entries = fs::read_dir(scene.store_dir().path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(part)).collect()
}

#[test]
fn a_first_start_killed_at_any_moment_stands_in_nobodys_way() {
    for round in 0..40u64 {
        let scene = fresh_project(2);
        let mut command = scene.command(env!("CARGO_BIN_EXE_beadlock"), &scene.root);
        let command = command.args(["start", "bd-e0", "--session", "killed"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 500));
        // It may be done already.
        let _ = child.kill();
        child.wait().unwrap();
        let status = scene.beadlock(&["status"]).done();
        assert_eq!((status.status, status.stderr.as_str()), (0, ""));
        let start = ["start", "bd-e1", "--session", SESSION];
        let done = scene.beadlock(&start).done();
        assert_eq!(done.status, 0, "{done:?}");
        scene.stop().blocks("open_work");
        assert_eq!(names_with(&scene, "new"), [""; 0]);
        assert_eq!(names_with(&scene, "corrupt"), [""; 0]);
    }
}

#[test]
fn a_store_that_begins_beside_those_who_find_the_old_one_damaged_is_not_put_aside() {
    for round in 0..6 {
        let scene = fresh_project(12);
        let first = ["start", "bd-e0", "--session", SESSION];
        assert_eq!(scene.beadlock(&first).done().status, 0);
        for name in names_with(&scene, "state.db-") {
            fs::remove_file(scene.store_dir().path().join(name)).unwrap();
        }
        let damage = ["", "this is no database at all"][round % 2];
        fs::write(scene.store_dir().database(), damage).unwrap();
        let start = |number: usize| {
            let (epic, session) = (format!("bd-e{number}"), format!("session-{number}"));
            ["start", &epic, "--session", &session].map(str::to_owned)
        };
        let done: Vec<i32> = std::thread::scope(|scope| {
            let scene = &scene;
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(scene.stop().done().status, 0));
            }
            let starts: Vec<_> = (1..12)
                .map(|number| {
                    scope.spawn(move || {
                        let args = start(number);
                        let args: Vec<&str> = args.iter().map(String::as_str).collect();
                        scene.beadlock(&args).done().status
                    })
                })
                .collect();
            starts.into_iter().map(|it| it.join().unwrap()).collect()
        });
        // Whoever came upon the damage has said so; what was armed stays armed.
        let armed = (1..12).zip(done).filter(|(_, status)| *status == 0);
        let mut armed: Vec<String> = armed
            .map(|(number, _)| format!("session-{number}"))
            .collect();
        let mut held: Vec<String> = scene.runs().into_iter().map(|it| it.run.session).collect();
        armed.sort();
        held.sort();
        assert_eq!(held, armed);
        assert_eq!(names_with(&scene, "corrupt").len(), 1);
    }
}

#[test]
fn a_store_that_has_begun_again_keeps_its_marks() {
    let scene = Scene::with_tasks(1);
    let dir = scene.store_dir();
    dir.mark("of a store that is gone").unwrap();
    Store::unmark_all_if_missing(&dir).unwrap();
    assert!(!dir.has_marks());
    // Between the look of `abort` and what it does then, somebody else has started a run.
    scene.start(SESSION);
    Store::unmark_all_if_missing(&dir).unwrap();
    assert!(dir.is_marked(SESSION).unwrap());
}

#[test]
fn a_journal_without_its_database_is_no_part_of_the_next_one() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.stop().blocks("open_work");
    assert!(scene.store_dir().journal().exists());
    fs::remove_file(scene.store_dir().database()).unwrap();
    scene.stop().tells_of("corrupt", "there is no store");
    scene.start("another");
    let sessions: Vec<String> = scene.runs().into_iter().map(|it| it.run.session).collect();
    assert_eq!(sessions, ["another"]);
    assert!(!names_with(&scene, "corrupt").is_empty());
    scene.stop().session("another").blocks("open_work");
}

#[test]
fn a_damaged_database_is_kept_and_lets_go() {
    let damages: [&[u8]; 2] = [
        b"",
        b"this is no database, though it is long enough to be one",
    ];
    for damage in damages {
        let scene = Scene::with_tasks(1);
        scene.start(SESSION);
        let database = scene.store_dir().database();
        for suffix in ["-wal", "-shm"] {
            let mut name = database.clone().into_os_string();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
        fs::write(&database, damage).unwrap();
        scene.stop().tells_of("corrupt", "was damaged and is kept");
        assert!(!database.exists());
        let kept = names_with(&scene, "corrupt");
        assert_eq!(kept.len(), 1, "{kept:?}");
        // A new start begins anew.
        scene.start(SESSION);
        scene.stop().blocks("open_work");
    }
}

#[test]
fn a_page_damaged_in_the_middle_lets_go_and_is_kept() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let database = scene.store_dir().database();
    // Fold the journal into the file, then spoil everything behind the header page.
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(connection);
    let mut bytes = fs::read(&database).unwrap();
    for byte in bytes.iter_mut().skip(4096) {
        *byte = 0xa5;
    }
    fs::write(&database, bytes).unwrap();
    let told = scene
        .stop()
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .done()
        .tells();
    assert!(told.contains("was damaged and is kept"), "{told}");
}

#[test]
fn a_newer_store_is_left_untouched() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let database = scene.store_dir().database();
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let told = scene
        .stop()
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .done()
        .tells();
    assert!(told.contains("newer beadlock"), "{told}");
    scene
        .beadlock(&["start", EPIC, "--session", SESSION])
        .done()
        .fails(4, "newer beadlock");
    assert!(database.exists());
}

#[test]
fn a_mark_without_its_run_lets_go_and_says_so() {
    let scene = Scene::with_tasks(1);
    scene.start("another");
    scene.store_dir().mark(SESSION).unwrap();
    let told = scene
        .stop()
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .done()
        .tells();
    assert!(told.contains("holds no run of this session"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_withdraws_the_block() {
    // A file size limit is the nearest thing to a full disk that needs no privileges. At 32 KB the
    // store can still be read, but its journal, which is longer already, cannot grow.
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" hook stop";
    let stop = scene.stop_by_shell(script);
    let told = stop.env("CLAUDE_CODE_ENTRYPOINT", "cli").done().tells();
    assert!(told.contains("could not record the stop"), "{told}");
    scene.stop().blocks("open_work");
}

#[test]
fn a_run_whose_end_could_not_be_recorded_keeps_its_mark() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.close_all();
    scene.commit_all("done");
    let holder = rusqlite::Connection::open(scene.store_dir().database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let stop = scene.stop().env("CLAUDE_CODE_ENTRYPOINT", "cli").done();
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(stop.tells().contains("is complete"));
    assert_eq!(scene.run().state.name(), "active");
    scene.stop().allows("complete");
}

#[cfg(unix)]
#[test]
fn a_read_only_store_holds_nobody() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    let dir = scene.store_dir().path().to_owned();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
        }
    }
    // Nothing is read-only to root, so it is somebody else's stop then.
    let stop = scene.stop_of_nobody().env("CLAUDE_CODE_ENTRYPOINT", "cli");
    let done = stop.done();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!done.stdout.contains("\"decision\""), "{done:?}");
    assert!(
        done.tells().contains("Beadlock let the agent go"),
        "{done:?}"
    );
}

#[cfg(unix)]
#[test]
fn marks_that_may_not_be_read_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    for closed in ["beadlock", "beadlock/sessions"] {
        let dir = scene.path(".git").join(closed);
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o000)).unwrap();
        let stop = scene.stop_of_nobody().env("CLAUDE_CODE_ENTRYPOINT", "cli");
        let done = stop.done();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(done.tells().contains("Permission denied"), "{done:?}");
    }
}

#[test]
fn a_store_deleted_during_the_run_is_missed() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    fs::remove_dir_all(scene.store_dir().path()).unwrap();
    // The mark is gone too, but a signpost leads there.
    scene.stop().tells_of("corrupt", "there is no store");
    let status = scene.beadlock(&["status", "--json"]).done();
    assert_eq!(status.stdout, "{\"run\":null,\"schema\":1}\n");
    assert_eq!(scene.beadlock(&["abort"]).done().status, 0);
    scene.stop().done().is_silent();
}

/// Every process that finds nobody else there reads it from end to end.
#[test]
fn the_journal_stays_short_however_long_a_run_is() {
    let scene = Scene::with_tasks(1);
    let start = ["start", EPIC, "--session", SESSION];
    let start = scene.beadlock(&start).arg("--set");
    let start = start.arg("no_progress_cycles=1000").arg("--set");
    assert_eq!(start.arg("max_cycles=1000").done().status, 0);
    let limit = 128 * 4096;
    let mut longest = 0;
    for _ in 0..60 {
        assert_eq!(scene.stop().done().status, 0);
        let journal = fs::metadata(scene.store_dir().journal());
        longest = longest.max(journal.map_or(0, |metadata| metadata.len()));
    }
    assert!(longest > 0 && longest < limit, "{longest}");
}

#[test]
fn git_never_sees_the_store() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    scene.stop().blocks("open_work");
    assert_eq!(scene.git(&["status", "--porcelain", "--ignored"]), "");
    assert!(scene.store_dir().path().ends_with(".git/beadlock"));
    assert!(Store::open(&scene.store_dir()).is_ok());
}

/// `ulimit -f`: what is killed by its signal says nothing, and the agent is gone.
#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_is_told_like_a_full_disk() {
    let scene = Scene::with_tasks(1);
    scene.start(SESSION);
    for blocks in [0, 20] {
        let script = format!("ulimit -f {blocks}; exec \"$0\" hook stop");
        let done = scene.stop_by_shell(&script).done();
        assert_eq!(done.status, 0, "{done:?}");
        let told = done.tells();
        assert!(told.contains("let the agent go"), "{told}");
    }
    scene.stop().blocks("open_work");
}
