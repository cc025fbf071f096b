//! The store: nothing lost under many processes, nobody trapped by what is damaged.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use beadlock::edge::store::{Store, store_dir_at};

use crate::scene::{EPIC, SESSION, Scene};

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
        let kept: Vec<_> = fs::read_dir(scene.store_dir().path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("corrupt"))
            .collect();
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
    // With the mark gone too, nobody knows of a run.
    scene.stop().done().is_silent();
    let status = scene.beadlock(&["status", "--json"]).done();
    assert_eq!(status.stdout, "{\"run\":null,\"schema\":1}\n");
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
    assert!(store_dir_at(&scene.root).path().ends_with(".git/beadlock"));
    assert!(Store::open(&scene.store_dir()).is_ok());
}
