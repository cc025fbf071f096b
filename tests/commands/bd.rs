//! bd as the tracker, played by a script: what a real one does only on a bad day. The script
//! imitates one list of tasks and nothing else of bd; real ones are asked in `tests/live`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::scene::{Call, EPIC, SESSION, Scene, Stop, epic_row, task_row};

/// Dolt's name for its journal.
const JOURNAL: &str = "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv";
const NOMS: &str = ".beads/embeddeddolt/fake/.dolt/noms";

/// A repository whose tasks a bd keeps, with a script in bd's place.
struct Desk {
    scene: Scene,
    bin: PathBuf,
}

impl Desk {
    fn with_tasks(open: usize) -> Desk {
        let scene = Scene::repository();
        let metadata = json!({
            "database": "dolt", "backend": "dolt", "dolt_mode": "embedded", "dolt_database": "fake",
        });
        scene.write(".beads/metadata.json", metadata.to_string());
        scene.write(&format!("{NOMS}/manifest"), "5:__DOLT__:root");
        scene.write(&format!("{NOMS}/{JOURNAL}"), "journal");
        scene.write(".beads/config.yaml", "# Nothing is set.\n");
        scene.write(".gitignore", ".beads/embeddeddolt\n");
        scene.commit_all("bd");
        let bin = scene.root.parent().unwrap().join("bin");
        fs::create_dir(&bin).unwrap();
        let desk = Desk { scene, bin };
        desk.tasks(&["open"].repeat(open));
        desk.bd("cat \"$BIN/list\"");
        desk
    }

    /// What bd does, but for noting down how it was called.
    fn bd(&self, script: &str) {
        let bin = self.bin.display();
        let text = format!("#!/bin/sh\nBIN='{bin}'\necho \"$@\" >> \"$BIN/calls\"\n{script}\n");
        let path = self.bin.join("bd");
        let next = self.bin.join("next");
        fs::write(&next, text).unwrap();
        fs::set_permissions(&next, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(next, path).unwrap();
    }

    fn tasks(&self, statuses: &[&str]) {
        let mut rows = vec![epic_row()];
        let numbered = statuses.iter().enumerate();
        rows.extend(numbered.map(|(index, status)| task_row(index + 1, status)));
        self.list(&rows);
    }

    fn list(&self, rows: &[Value]) {
        fs::write(self.bin.join("list"), json!(rows).to_string()).unwrap();
    }

    /// A file in the user's own folder.
    fn home(&self, path: &str, text: &str) {
        let path = self.scene.root.with_file_name("home").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// As any write of bd's does.
    fn move_on(&self) {
        let path = self.scene.path(&format!("{NOMS}/{JOURNAL}"));
        let journal = fs::read_to_string(&path).unwrap();
        fs::write(path, journal + "x").unwrap();
    }

    /// What bd was asked since the last time somebody looked.
    fn calls(&self) -> Vec<String> {
        let path = self.bin.join("calls");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, "").unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Ends the bd that wrote down its number, and says whether it was still there.
    fn signal_last(&self) -> bool {
        let pid = fs::read_to_string(self.bin.join("pid")).unwrap();
        let mut kill = self.scene.command("kill", &self.bin);
        kill.arg(pid.trim()).output().unwrap().status.success()
    }

    fn path_variable(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.bin.display())
    }

    fn beadlock(&self, args: &[&str]) -> Call {
        let call = self.scene.beadlock(args);
        call.env("PATH", self.path_variable())
    }

    fn start(&self) {
        let done = self.beadlock(&["start", EPIC, "--session", SESSION]).done();
        assert_eq!(done.status, 0, "{done:?}");
    }

    fn stop(&self) -> Stop<'_> {
        self.scene.stop().env("PATH", &self.path_variable())
    }
}

/// Something about bd's files that is not as it was seen.
type Surprise = (&'static str, fn(&Desk));

const LIST: &str =
    "list --all --include-gates --json --limit 0 --include-infra --include-templates";

#[test]
fn a_stop_that_blocks_while_nothing_changed_asks_nobody() {
    let desk = Desk::with_tasks(2);
    desk.start();
    assert_eq!(desk.calls(), [LIST]);
    let fed = desk.stop().blocks("open_work");
    assert!(fed.contains("bd ready --parent bd-x7y8"), "{fed}");
    assert!(fed.contains("bd update ID --claim"), "{fed}");
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [""; 0]);
    desk.move_on();
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [LIST]);
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [""; 0]);
}

#[test]
fn what_is_let_go_was_read_afresh_whatever_the_token_says() {
    let desk = Desk::with_tasks(1);
    desk.tasks(&["closed"]);
    desk.start();
    // A write that the token missed: it must not be the agent's way out.
    desk.tasks(&["open"]);
    desk.calls();
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [LIST]);
    desk.tasks(&["closed"]);
    desk.move_on();
    desk.stop().allows("complete");
    assert_eq!(desk.calls(), [LIST]);
}

#[test]
fn a_limit_lets_nobody_go_without_asking() {
    let desk = Desk::with_tasks(1);
    desk.scene.write(
        "project.yaml",
        "workflow:\n  stop_hook:\n    max_cycles: 1\n",
    );
    desk.start();
    desk.stop().blocks("open_work");
    desk.calls();
    desk.stop().allows("max_cycles");
    assert_eq!(desk.calls(), [LIST]);
}

#[test]
fn without_a_token_every_stop_asks() {
    let surprises: [Surprise; 12] = [
        ("server mode", |desk| {
            let metadata =
                json!({"backend": "dolt", "dolt_mode": "server", "dolt_database": "fake"});
            desk.scene
                .write(".beads/metadata.json", metadata.to_string());
        }),
        ("another layout", |desk| {
            let noms = desk.scene.path(NOMS);
            fs::rename(noms.join(JOURNAL), noms.join("journal")).unwrap();
        }),
        ("another backend", |desk| {
            let metadata =
                json!({"backend": "sqlite", "dolt_mode": "embedded", "dolt_database": "fake"});
            desk.scene
                .write(".beads/metadata.json", metadata.to_string());
        }),
        ("variables in a file", |desk| {
            desk.scene
                .write(".beads/.env", "BEADS_DOLT_SERVER_MODE=1\n");
        }),
        ("a server by the settings", |desk| {
            desk.scene
                .write(".beads/config.yaml", "dolt:\n  host: far\n");
        }),
        ("a server by this machine's settings", |desk| {
            desk.scene
                .write(".beads/config.local.yaml", "dolt.host: far\n");
        }),
        ("a server by the user's settings", |desk| {
            desk.home(".config/bd/config.yaml", "dolt:\n  host: far\n");
        }),
        ("a route to another repository", |desk| {
            desk.home(".beads/config.yaml", "routing:\n  mode: auto\n");
        }),
        ("no settings of its own", |desk| {
            fs::remove_file(desk.scene.path(".beads/config.yaml")).unwrap();
        }),
        ("no manifest", |desk| {
            fs::remove_file(desk.scene.path(NOMS).join("manifest")).unwrap();
        }),
        ("two databases", |desk| {
            desk.scene.write(".beads/embeddeddolt/other/.dolt/x", "");
        }),
        ("a name that leads elsewhere", |desk| {
            let metadata =
                json!({"backend": "dolt", "dolt_mode": "embedded", "dolt_database": "../x"});
            desk.scene
                .write(".beads/metadata.json", metadata.to_string());
        }),
    ];
    for (name, surprise) in surprises {
        let desk = Desk::with_tasks(1);
        surprise(&desk);
        desk.start();
        desk.calls();
        desk.stop().blocks("open_work");
        desk.stop().blocks("open_work");
        assert_eq!(desk.calls(), [LIST, LIST], "{name}");
    }
}

#[test]
fn a_variable_that_may_lead_bd_elsewhere_makes_every_stop_ask() {
    for name in [
        "BEADS_DOLT_SERVER_MODE",
        "BD_DB",
        "BEADS_DB",
        "BD_ROUTING_MODE",
    ] {
        let desk = Desk::with_tasks(1);
        desk.start();
        desk.stop().env("BEADS_ACTOR", "ann").blocks("open_work");
        desk.calls();
        desk.stop().env(name, "1").blocks("open_work");
        desk.stop().env(name, "1").blocks("open_work");
        assert_eq!(desk.calls(), [LIST, LIST], "{name}");
    }
}

#[test]
fn other_settings_are_another_token() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.stop().blocks("open_work");
    for place in [".beads/config.yaml", ".beads/config.local.yaml"] {
        desk.calls();
        desk.scene.write(place, "types:\n  infra: [chore]\n");
        desk.stop().blocks("open_work");
        desk.stop().blocks("open_work");
        assert_eq!(desk.calls(), [LIST], "{place}");
    }
}

#[test]
fn a_list_during_which_somebody_wrote_is_not_remembered() {
    let desk = Desk::with_tasks(1);
    let journal = desk.scene.path(&format!("{NOMS}/{JOURNAL}"));
    desk.bd(&format!(
        "echo x >> '{}'; cat \"$BIN/list\"",
        journal.display()
    ));
    desk.start();
    desk.calls();
    desk.stop().blocks("open_work");
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [LIST, LIST]);
}

#[test]
fn another_build_of_bd_is_asked_anew() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.calls();
    desk.bd("cat \"$BIN/list\" # another build");
    desk.stop().blocks("open_work");
    assert_eq!(desk.calls(), [LIST]);
}

/// A name, what bd does, and what of it the person reads.
const BAD_ANSWERS: [(&str, &str, &str); 18] = [
    (
        "text first",
        "echo 'Hint: upgrade'; cat \"$BIN/list\"",
        "printed no JSON: Hint: upgrade",
    ),
    (
        "text after",
        "cat \"$BIN/list\"; echo 'Showing 1 of 9'",
        "printed no JSON: Showing 1 of 9",
    ),
    (
        "text instead",
        "echo 'No issues found.'",
        "printed no JSON: No issues found.",
    ),
    ("silence", "exit 0", "printed nothing"),
    ("silent failure", "exit 1", "exited with 1 and said nothing"),
    (
        "an error and exit 0",
        r#"echo '{"error":"database is locked"}'"#,
        "answered with an error: database is locked",
    ),
    (
        "an error on stdout",
        r#"echo '{"error":"no","hint":"run x"}'; exit 1"#,
        "exited with 1: no (run x)",
    ),
    (
        "half an answer",
        "head -c 300 \"$BIN/list\"",
        "printed only a part of its answer",
    ),
    (
        "killed half-way",
        "head -c 300 \"$BIN/list\"; kill -9 $$",
        "was ended by a signal",
    ),
    (
        "another bd",
        "echo 'bd: go back to a parent directory' >&2; exit 2",
        "exited with 2: bd: go back to a parent directory",
    ),
    (
        "no database",
        "echo 'Error: no beads database found' >&2; echo \"Hint: run 'bd where'\" >&2; exit 1",
        "exited with 1: Error: no beads database found Hint: run 'bd where'",
    ),
    (
        "an empty database",
        "echo '[]'",
        "epic bd-x7y8 was not found",
    ),
    (
        "a migration",
        "echo 'Error: database needs a migration; run bd migrate schema' >&2; exit 1",
        "needs a migration",
    ),
    (
        "a newer schema",
        "echo '{\"error\":\"schema version mismatch: v66\",\"schema_skew\":{}}' >&2; exit 1",
        "schema version mismatch: v66 (this bd is too old for its database: upgrade it)",
    ),
    (
        "warnings before the error",
        "echo 'Warning: .beads has permissions 0755' >&2; echo 'Error: broken' >&2; exit 1",
        "exited with 1: Error: broken",
    ),
    (
        "an error beside nothing",
        "echo 'Error: broken' >&2",
        "printed nothing: Error: broken",
    ),
    (
        "a lost server",
        "echo 'Error: dial tcp 127.0.0.1:3307: connect: connection refused' >&2; exit 1",
        "connection refused",
    ),
    (
        "only a part",
        r#"printf '{"data":%s,"pagination":{"truncated":true}}' "$(cat "$BIN/list")""#,
        "answered with only a part of the tasks",
    ),
];

/// Each is unknown, twice held and then let go, and the person reads what bd said.
#[test]
fn no_bad_answer_is_ever_taken_for_done() {
    for (name, script, said) in BAD_ANSWERS {
        let desk = Desk::with_tasks(1);
        desk.tasks(&["closed"]);
        desk.start();
        desk.bd(script);
        desk.stop().blocks("unknown");
        desk.stop()
            .says("<promise>EPIC COMPLETE</promise>")
            .blocks("unknown");
        let told = desk.stop().allows("unknown");
        assert!(told.contains(said), "{name}: {told}");
        assert!(told.contains("`beadlock status bd-x7y8`"), "{name}: {told}");
        let fault = desk.scene.records().last().unwrap().faults.join(" ");
        assert!(fault.contains(said), "{name}: {fault}");
        assert_eq!(desk.scene.run().state.name(), "active", "{name}");
        // Once it answers again, nothing is lost.
        desk.bd("cat \"$BIN/list\"");
        desk.stop().allows("complete");
    }
}

/// As 0.59 did, which lists its tasks in words unless it is asked not to.
#[test]
fn a_tree_of_words_is_asked_for_again_as_a_list() {
    let desk = Desk::with_tasks(1);
    desk.bd("case \"$*\" in *--flat*) cat \"$BIN/list\";; *) echo 'o bd-x7y8 The epic';; esac");
    desk.start();
    let flat = format!("{LIST} --flat");
    assert_eq!(desk.calls(), [LIST, &flat]);
    desk.stop().blocks("open_work");
}

/// As 0.49 did, which hides none of them.
#[test]
fn a_bd_without_the_switches_for_what_is_hidden_is_asked_without_them() {
    let desk = Desk::with_tasks(1);
    desk.bd(
        "case \"$*\" in *infra*) echo 'Error: unknown flag: --include-infra' >&2; exit 1;; \
        *) cat \"$BIN/list\";; esac",
    );
    desk.start();
    assert_eq!(
        desk.calls(),
        [LIST, "list --all --include-gates --json --limit 0"]
    );
    desk.stop().blocks("open_work");
}

#[test]
fn a_bd_that_is_gone_is_named_with_what_to_do() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.move_on();
    fs::remove_file(desk.bin.join("bd")).unwrap();
    desk.stop().blocks("unknown");
    desk.stop().blocks("unknown");
    let told = desk.stop().allows("unknown");
    assert!(
        told.contains("'bd' was not found; install it, or put it on the agent's PATH"),
        "{told}"
    );
    let done = desk.beadlock(&["start", EPIC, "--session", "s-2"]).done();
    done.fails(4, "`bd` was not found");
}

#[test]
fn two_hundred_megabytes_are_no_answer() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.move_on();
    desk.bd("printf '['; head -c 200000000 /dev/zero | tr '\\0' ' '; echo ']'");
    let fed = desk.stop().blocks("unknown");
    assert!(fed.contains("printed more than"), "{fed}");
}

#[test]
fn a_daemon_that_keeps_the_stream_open_delays_nobody() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.move_on();
    desk.bd("cat \"$BIN/list\"; sleep 20 & echo $! > \"$BIN/daemon\"");
    let begun = std::time::Instant::now();
    desk.stop().blocks("open_work");
    assert!(begun.elapsed().as_secs() < 15, "we waited for the daemon");
    let daemon = fs::read_to_string(desk.bin.join("daemon")).unwrap();
    let call = desk
        .scene
        .command("kill", &desk.bin)
        .arg(daemon.trim())
        .status();
    assert!(call.unwrap().success(), "the daemon was ended with bd");
}

#[test]
fn a_bd_that_hangs_is_ended_once_its_time_is_up() {
    let desk = Desk::with_tasks(1);
    desk.bd("echo $$ > \"$BIN/pid\"; [ -e \"$BIN/hang\" ] && exec sleep 60; cat \"$BIN/list\"");
    desk.start();
    desk.move_on();
    fs::write(desk.bin.join("hang"), "").unwrap();
    let fed = desk.stop().blocks("unknown");
    assert!(fed.contains("had not ended after 20 s"), "{fed}");
    assert!(!desk.signal_last(), "it is still there");
}

#[test]
fn a_bd_that_may_be_migrating_is_left_to_finish() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.move_on();
    // Not the build that has answered here.
    desk.bd("echo $$ > \"$BIN/pid\"; exec sleep 60");
    let fed = desk.stop().blocks("unknown");
    assert!(fed.contains("had not ended after 20 s"), "{fed}");
    assert!(desk.signal_last(), "it was ended half-way");
}

/// On the way it wakes deferred tasks whose date has passed, and commits that.
#[test]
fn a_bd_that_says_what_is_ready_is_left_to_finish() {
    let desk = Desk::with_tasks(1);
    desk.bd(
        "case $1 in ready) echo $$ > \"$BIN/pid\"; exec sleep 60;; *) cat \"$BIN/list\";; esac",
    );
    desk.start();
    let claim = "<promise>EPIC COMPLETE</promise>";
    desk.stop().says(claim).blocks("false_promise");
    assert!(desk.signal_last(), "it was ended half-way");
}

#[test]
fn a_claim_that_bd_itself_contradicts_is_unknown_and_both_are_named() {
    let desk = Desk::with_tasks(2);
    desk.bd("case $1 in ready) echo '[]';; *) cat \"$BIN/list\";; esac");
    desk.start();
    desk.calls();
    let fed = desk
        .stop()
        .says("<promise>EPIC COMPLETE</promise>")
        .blocks("unknown");
    let ready = "ready --parent bd-x7y8 --limit 0 --exclude-type=epic --json";
    assert_eq!(desk.calls(), [ready, LIST], "each asked once");
    assert!(fed.contains("bd-x7y8.1"), "{fed}");
    desk.bd("case $1 in ready) exit 1;; *) cat \"$BIN/list\";; esac");
    desk.stop()
        .says("<promise>EPIC COMPLETE</promise>")
        .blocks("false_promise");
    desk.bd("cat \"$BIN/list\"");
    desk.stop()
        .says("<promise>EPIC COMPLETE</promise>")
        .blocks("false_promise");
}

/// `bd ready` is asked without epics, so that it names none proves nothing.
#[test]
fn an_epic_that_nobody_has_planned_is_told_and_not_contested() {
    let desk = Desk::with_tasks(0);
    let mut sub_epic = task_row(1, "open");
    sub_epic["issue_type"] = json!("epic");
    desk.list(&[epic_row(), sub_epic]);
    desk.bd("case $1 in ready) echo '[]';; *) cat \"$BIN/list\";; esac");
    desk.start();
    let fed = desk.stop().blocks("open_work");
    assert!(fed.contains("With nothing open below bd-x7y8.1:"), "{fed}");
    let claim = "<promise>EPIC COMPLETE</promise>";
    let fed = desk.stop().says(claim).blocks("false_promise");
    assert!(fed.contains("With nothing open below bd-x7y8.1:"), "{fed}");
}

/// Somebody closed it in a way that the token did not see.
#[test]
fn a_memory_that_bd_contradicts_is_read_afresh() {
    let desk = Desk::with_tasks(1);
    desk.bd("case $1 in ready) echo '[]';; *) cat \"$BIN/list\";; esac");
    desk.start();
    desk.stop().blocks("open_work");
    desk.tasks(&["closed"]);
    desk.calls();
    let claim = "<promise>EPIC COMPLETE</promise>";
    desk.stop().says(claim).allows("complete");
    assert_eq!(desk.calls().len(), 2);
}

#[test]
fn bd_is_called_with_everything_switched_off_that_is_not_ours() {
    let desk = Desk::with_tasks(1);
    desk.bd("env > \"$BIN/env\"; pwd > \"$BIN/pwd\"; cat > \"$BIN/stdin\"; cat \"$BIN/list\"");
    let start = desk.beadlock(&["start", EPIC, "--session", SESSION]);
    let start = start
        .env("BD_JSON_ENVELOPE", "1")
        .env("BEADS_MAX_ROWS", "1")
        .env("BD_OTEL_STDOUT", "true")
        .env("BD_DISABLE_METRICS", "0")
        .env("GIT_DIR", "/no/such/place");
    assert_eq!(start.done().status, 0);
    let env = fs::read_to_string(desk.bin.join("env")).unwrap();
    for line in [
        "BD_DISABLE_METRICS=1",
        "DO_NOT_TRACK=1",
        "BD_DISABLE_EVENT_FLUSH=1",
        "OTEL_SDK_DISABLED=true",
        "BD_OTEL_STDOUT=",
        "BEADS_MAX_ROWS=",
        "BD_DIRECTORY_LABELS={}",
        "BD_IGNORE_SCHEMA_SKEW=",
        "BD_BACKUP_ENABLED=false",
        "BD_JSON_ENVELOPE=0",
        "BD_NON_INTERACTIVE=1",
        "NO_COLOR=1",
    ] {
        assert!(env.lines().any(|it| it == line), "{line} is missing: {env}");
    }
    for name in ["GIT_DIR", "BEADS_DIR"] {
        assert!(!env.contains(&format!("{name}=")), "{name}: {env}");
    }
    let pwd = fs::read_to_string(desk.bin.join("pwd")).unwrap();
    assert_eq!(PathBuf::from(pwd.trim()), desk.scene.root);
    assert_eq!(fs::read_to_string(desk.bin.join("stdin")).unwrap(), "");
}

#[test]
fn bds_own_folder_is_never_unsaved_work() {
    let desk = Desk::with_tasks(1);
    desk.start();
    desk.tasks(&["closed"]);
    desk.move_on();
    desk.scene.write(".beads/issues.jsonl", "{}\n");
    desk.scene.write(".beads/metadata.json.bak", "x");
    desk.scene.write(".beads.gate.lock", "");
    desk.stop().allows("complete");
}

#[test]
fn status_says_which_tracker_it_is_and_why() {
    let desk = Desk::with_tasks(1);
    desk.start();
    let done = desk.beadlock(&["status"]).done();
    let folder = desk.scene.path(".beads/embeddeddolt");
    let why = format!("tracker  bd (`{}` is its database)\n", folder.display());
    assert!(done.stdout.contains(&why), "{done:?}");
    let json = desk.beadlock(&["status", "--json"]).done().json();
    assert_eq!(json["tracker"], "bd");
}

#[test]
fn the_embedded_tracker_leaves_a_workspace_of_bd_alone() {
    let desk = Desk::with_tasks(1);
    desk.scene
        .write(".beads/issues.jsonl", "{\"id\":\"bd-x7y8\"}\n");
    desk.calls();
    let add = desk.beadlock(&["task", "add", "x"]).done();
    add.fails(1, "use `bd create TITLE`");
    let list = desk.beadlock(&["task", "list"]).done();
    list.fails(4, "use `bd list`");
    assert_eq!(desk.calls(), [""; 0]);
}

#[test]
fn beads_dir_names_a_tracker_that_lies_elsewhere() {
    let desk = Desk::with_tasks(1);
    let elsewhere = Scene::repository();
    desk.bd("echo \"$BEADS_DIR\" > \"$BIN/named\"; cat \"$BIN/list\"");
    let folder = desk.scene.path(".beads");
    let start = ["start", EPIC, "--session", SESSION];
    let start = elsewhere.beadlock(&start).env("PATH", desk.path_variable());
    let done = start.env("BEADS_DIR", &folder).done();
    assert_eq!(done.status, 0, "{done:?}");
    // What the hook's own environment says does not matter any more.
    let stop = elsewhere.stop().env("PATH", &desk.path_variable());
    stop.blocks("open_work");
    let named = fs::read_to_string(desk.bin.join("named")).unwrap();
    assert_eq!(PathBuf::from(named.trim()), folder);
    let gone = elsewhere.beadlock(&["start", EPIC, "--session", "s-2"]);
    let gone = gone.env("BEADS_DIR", elsewhere.path("nowhere/.beads"));
    gone.done()
        .fails(4, "which is not there: correct or unset it");
}
