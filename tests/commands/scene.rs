//! Builds a test's whole world: a repository with an embedded tracker, a home of its own, a
//! cleared environment, and the real binary. Reads the store only to see what was recorded.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use beadlock::edge::store::{Kept, Places, Record, Store, StoreDir};
use beadlock::kernel::decide;
use beadlock::kernel::ledger::Run;
use beadlock::kernel::moment::Moment;
use beadlock::kernel::verdict::{Allow, Block};
use serde_json::{Map, Value, json};

pub const SESSION: &str = "844dc4cf-50bf-4aa7-ae34-049ddab17e10";
pub const EPIC: &str = "bd-x7y8";
const STOP: &str = include_str!("../fixtures/claude/Stop.first.json");

pub struct Scene {
    _temp: tempfile::TempDir,
    pub root: PathBuf,
    pub home: PathBuf,
}

impl Scene {
    /// A repository with one commit and an epic of `open` ready tasks, committed.
    pub fn with_tasks(open: usize) -> Scene {
        let scene = Scene::repository();
        let mut rows = vec![epic_row()];
        rows.extend((1..=open).map(|number| task_row(number, "open")));
        scene.rows(&rows);
        scene.commit_all("plan");
        scene
    }

    /// A repository with one commit and no tracker.
    pub fn repository() -> Scene {
        let scene = Scene::folder();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.write("README", "hello\n");
        scene.commit_all("begin");
        scene
    }

    /// A folder without git.
    pub fn folder() -> Scene {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (root, home) = (base.join("project"), base.join("home"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&home).unwrap();
        Scene {
            _temp: temp,
            root,
            home,
        }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Replaces the tracker's rows.
    pub fn rows(&self, rows: &[Value]) {
        let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
        self.write(".beads/issues.jsonl", lines.join("\n") + "\n");
    }

    /// Sets the status of task `number` by hand, as an agent with an editor would.
    pub fn set_status(&self, number: usize, status: &str) {
        self.edit_row(&format!("{EPIC}.{number}"), |row| {
            row.insert("status".into(), json!(status));
        });
    }

    pub fn edit_row(&self, id: &str, edit: impl FnOnce(&mut Map<String, Value>)) {
        let mut rows = self.read_rows();
        let row = rows.iter_mut().find(|row| row["id"] == id).unwrap();
        edit(row.as_object_mut().unwrap());
        self.rows(&rows);
    }

    pub fn read_rows(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path(".beads/issues.jsonl")).unwrap();
        let row = |line: &str| serde_json::from_str(line).unwrap();
        text.lines().map(row).collect()
    }

    pub fn close_all(&self) {
        let mut rows = self.read_rows();
        for row in rows.iter_mut().skip(1) {
            row["status"] = json!("closed");
        }
        self.rows(&rows);
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root, args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.command("git", dir).args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            text(&output.stderr)
        );
        text(&output.stdout).trim_end().to_owned()
    }

    pub fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// A program with nothing of our own environment but PATH.
    pub fn command(&self, program: &str, dir: &Path) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join(".config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@example.com")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@example.com");
        command
    }

    pub fn user_config(&self, text: &str) {
        let path = self.home.join(".config/beadlock/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn beadlock(&self, args: &[&str]) -> Call {
        self.program(env!("CARGO_BIN_EXE_beadlock"), args)
    }

    /// A call of any program, in the project's folder.
    pub fn program(&self, program: &str, args: &[&str]) -> Call {
        let mut command = self.command(program, &self.root);
        command.args(args);
        Call {
            command,
            stdin: Vec::new(),
        }
    }

    /// A shell script in which `$0` is the binary, with a stop's payload on its stdin.
    #[cfg(unix)]
    pub fn stop_by_shell(&self, script: &str) -> Call {
        let mut command = self.command("sh", &self.root);
        command
            .args(["-c", script])
            .arg(env!("CARGO_BIN_EXE_beadlock"));
        Call {
            command,
            stdin: serde_json::to_vec(&self.payload(STOP)).unwrap(),
        }
    }

    pub fn start(&self, session: &str) -> Done {
        let done = self.beadlock(&["start", EPIC, "--session", session]).done();
        assert_eq!(done.status, 0, "{}", done.stderr);
        done
    }

    pub fn stop(&self) -> Stop<'_> {
        Stop {
            scene: self,
            call: self.beadlock(&["hook", "stop", "--agent", "claude"]),
            payload: self.payload(STOP),
            session: SESSION.to_owned(),
        }
    }

    /// A stop whose hook runs as nobody in particular, if we are root: what root may do proves
    /// nothing about permissions.
    #[cfg(unix)]
    pub fn stop_of_nobody(&self) -> Stop<'_> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        const NOBODY: u32 = 65_534;
        let mut stop = self.stop();
        let base = self.root.parent().unwrap();
        if fs::metadata(base).unwrap().uid() == 0 {
            // The way to the binary may be closed to others, and the way here is.
            fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
            let program = base.join("beadlock");
            // By a process of its own: while we have the copy open for writing, a child that another
            // test starts just now inherits it, and nobody can run it.
            let mut copy = self.command("cp", base);
            let copied = copy.arg(env!("CARGO_BIN_EXE_beadlock")).arg(&program);
            assert!(copied.status().unwrap().success());
            let mut command = self.command(program.to_str().unwrap(), &self.root);
            command.args(["hook", "stop", "--agent", "claude"]);
            command.uid(NOBODY).gid(NOBODY);
            stop.call.command = command;
        }
        stop
    }

    /// A captured hook input, with this scene's directory and session.
    pub fn payload(&self, fixture: &str) -> Map<String, Value> {
        let mut payload: Map<String, Value> = serde_json::from_str(fixture).unwrap();
        payload.insert("cwd".into(), json!(self.root));
        payload.insert("session_id".into(), json!(SESSION));
        payload.insert(
            "transcript_path".into(),
            json!(self.home.join("no-such-transcript.jsonl")),
        );
        payload
    }

    pub fn hook(&self, event: &str, payload: &Map<String, Value>) -> Done {
        self.beadlock(&["hook", event])
            .env("CLAUDE_CODE_ENTRYPOINT", "cli")
            .stdin(&serde_json::to_vec(payload).unwrap())
            .done()
    }

    /// A prompt, typed at the screen.
    pub fn prompt(&self, id: &str, text: &str) -> Done {
        let fixture = include_str!("../fixtures/claude/UserPromptSubmit.json");
        let mut payload = self.payload(fixture);
        payload.insert("prompt_id".into(), json!(id));
        payload.insert("prompt".into(), json!(text));
        self.hook("user-prompt", &payload)
    }

    /// The folder of signposts, in whichever of the places where systems have it.
    pub fn signposts(&self) -> PathBuf {
        let states = [".local/state", "Library/Application Support"];
        let folders = states.map(|state| self.home.join(state).join("beadlock/sessions"));
        folders.into_iter().find(|folder| folder.exists()).unwrap()
    }

    pub fn store_dir(&self) -> StoreDir {
        Places::default().store_at(&self.root)
    }

    pub fn runs(&self) -> Vec<Kept> {
        match Store::open(&self.store_dir()) {
            Ok(mut store) => store.runs().unwrap(),
            Err(_) => Vec::new(),
        }
    }

    /// The run of a session.
    pub fn run_of(&self, session: &str) -> Run {
        let mut store = Store::open(&self.store_dir()).unwrap();
        store.run_of_session(session).unwrap().unwrap().run
    }

    pub fn run(&self) -> Run {
        self.run_of(SESSION)
    }

    pub fn edit_run(&self, edit: impl FnOnce(&mut Run)) {
        let mut store = Store::open(&self.store_dir()).unwrap();
        store
            .write(|writer| {
                let mut kept = writer.run_of_session(SESSION)?.unwrap();
                edit(&mut kept.run);
                writer.save(&kept.run)
            })
            .unwrap();
    }

    /// Makes everything that the run remembers older, as if the clock had gone on.
    pub fn pass_minutes(&self, minutes: i64) {
        let earlier = |moment: Moment| Moment(moment.0 - minutes * 60_000);
        self.edit_run(|run| {
            run.started_at = earlier(run.started_at);
            run.last_event_at = earlier(run.last_event_at);
            run.turn.claims_since = earlier(run.turn.claims_since);
        });
    }

    pub fn records(&self) -> Vec<Record> {
        let Ok(mut store) = Store::open(&self.store_dir()) else {
            return Vec::new();
        };
        let runs = store.runs().unwrap();
        let mut records: Vec<Record> = Vec::new();
        for kept in runs {
            records.extend(store.records(&kept.run.id).unwrap());
        }
        records.sort_by_key(|record| record.at_ms);
        records
    }
}

pub fn epic_row() -> Value {
    json!({
        "id": EPIC, "title": "The epic", "status": "open", "priority": 2, "issue_type": "epic",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    })
}

pub fn task_row(number: usize, status: &str) -> Value {
    let id = format!("{EPIC}.{number}");
    json!({
        "id": id, "title": format!("Task {number}"), "status": status, "priority": 2,
        "issue_type": "task",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        "dependencies": [edge(&id, EPIC, "parent-child")],
    })
}

pub fn edge(from: &str, to: &str, kind: &str) -> Value {
    json!({ "issue_id": from, "depends_on_id": to, "type": kind,
            "created_at": "2026-01-01T00:00:00Z", "created_by": "t" })
}

/// One call of the binary.
pub struct Call {
    command: Command,
    stdin: Vec<u8>,
}

impl Call {
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Call {
        self.command.env(name, value);
        self
    }

    pub fn arg(mut self, arg: &str) -> Call {
        self.command.arg(arg);
        self
    }

    pub fn dir(mut self, dir: &Path) -> Call {
        self.command.current_dir(dir);
        self
    }

    pub fn stdin(mut self, bytes: &[u8]) -> Call {
        self.stdin = bytes.to_vec();
        self
    }

    pub fn done(mut self) -> Done {
        let command = self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawned(command.stderr(Stdio::piped()));
        let mut pipe = child.stdin.take().unwrap();
        let bytes = self.stdin;
        let writer = std::thread::spawn(move || {
            // The hook may stop reading at any time.
            let _ = pipe.write_all(&bytes);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Done::of(&output)
    }
}

/// A program that was copied a moment ago may still be open in what another test forked just then.
fn spawned(command: &mut Command) -> Child {
    for _ in 0..500 {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            spawned => return spawned.unwrap(),
        }
    }
    panic!("{command:?} stayed busy");
}

#[derive(Debug)]
pub struct Done {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    fn of(output: &Output) -> Done {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Done {
            status: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn is_silent(&self) {
        assert_eq!(
            (self.status, self.stdout.as_str(), self.stderr.as_str()),
            (0, "", "")
        );
    }

    /// Exactly a line for the person; answers it.
    #[track_caller]
    pub fn tells(&self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""));
        let json = self.json();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["systemMessage"], "{self:?}");
        json["systemMessage"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn fails(&self, status: i32, with: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.stderr.contains(with), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
    }
}

/// A stop of an agent, about to happen.
pub struct Stop<'a> {
    scene: &'a Scene,
    call: Call,
    payload: Map<String, Value>,
    session: String,
}

impl Stop<'_> {
    pub fn says(mut self, words: &str) -> Self {
        self.payload
            .insert("last_assistant_message".into(), json!(words));
        self
    }

    pub fn session(mut self, session: &str) -> Self {
        self.payload.insert("session_id".into(), json!(session));
        session.clone_into(&mut self.session);
        self
    }

    pub fn set(mut self, key: &str, value: Value) -> Self {
        self.payload.insert(key.into(), value);
        self
    }

    pub fn without(mut self, key: &str) -> Self {
        self.payload.remove(key);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.call = self.call.env(name, value);
        self
    }

    pub fn arg(mut self, arg: &str) -> Self {
        self.call = self.call.arg(arg);
        self
    }

    pub fn dir(mut self, dir: &Path) -> Self {
        self.call = self.call.dir(dir);
        self
    }

    pub fn done(self) -> Done {
        let bytes = serde_json::to_vec(&self.payload).unwrap();
        self.call.stdin(&bytes).done()
    }

    /// The agent is held, for this reason; answers what it is fed.
    #[track_caller]
    pub fn blocks(self, reason: &str) -> String {
        assert!(
            Block::NAMES.contains(&reason),
            "no block is called {reason}"
        );
        let scene = self.scene;
        let done = self.done();
        assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{done:?}");
        let json = done.json();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["decision", "reason"], "{done:?}");
        assert_eq!(json["decision"], "block");
        scene.last_record_is("block", reason);
        let fed = json["reason"].as_str().unwrap().to_owned();
        assert!(fed.starts_with("[beadlock "), "{fed}");
        assert!(fed.contains(&format!(": {reason}]")), "{fed}");
        fed
    }

    /// The agent is let go, for this reason; answers what the person is told.
    #[track_caller]
    pub fn allows(self, reason: &str) -> String {
        assert!(
            Allow::NAMES.contains(&reason),
            "no allow is called {reason}"
        );
        let scene = self.scene;
        let done = self.env("CLAUDE_CODE_ENTRYPOINT", "cli").done();
        scene.last_record_is("allow", reason);
        done.tells()
    }

    /// The agent is let go without a word, and the stop is recorded for this reason.
    #[track_caller]
    pub fn allows_silently(self, reason: &str) {
        assert!(
            Allow::NAMES.contains(&reason),
            "no allow is called {reason}"
        );
        let scene = self.scene;
        self.done().is_silent();
        scene.last_record_is("allow", reason);
    }

    /// The agent is let go and the person told, for a reason that no record can say.
    #[track_caller]
    pub fn tells_of(self, reason: &str, text: &str) -> String {
        assert!(
            Allow::NAMES.contains(&reason),
            "no allow is called {reason}"
        );
        let told = self.env("CLAUDE_CODE_ENTRYPOINT", "cli").done().tells();
        assert!(told.contains(text), "{reason}: {told}");
        told
    }

    /// The agent is let go without a word or a trace. Nothing but the state of things tells why:
    /// the session has no run, or one that rests; `disabled` is seen by its contrast alone.
    #[track_caller]
    pub fn allows_untraced(self, reason: &str) {
        let scene = self.scene;
        let before = scene.records().len();
        let is_sub_agent = self.payload.contains_key("agent_id");
        let session = self.session.clone();
        self.done().is_silent();
        assert_eq!(scene.records().len(), before);
        let runs = scene.runs().into_iter().map(|kept| kept.run);
        let mut live = runs.filter(|run| run.session == session && !run.is_over());
        match (reason, live.next()) {
            ("idle", None) | ("disabled", Some(_)) => {}
            ("idle", Some(_)) => assert!(is_sub_agent, "the session has a run"),
            ("resting", Some(run)) => assert_ne!(run.state.name(), "active"),
            (reason, _) => panic!("no such state of things: {reason}"),
        }
    }
}

impl Scene {
    #[track_caller]
    fn last_record_is(&self, answer: &str, reason: &str) {
        let records = self.records();
        let last = records.last().unwrap();
        assert_eq!(
            (last.answer.as_str(), last.reason.as_str()),
            (answer, reason)
        );
        self.is_decided_alike_again(last);
    }

    /// What was recorded of a stop is enough to decide it a second time.
    #[track_caller]
    fn is_decided_alike_again(&self, record: &Record) {
        let mut store = Store::open(&self.store_dir()).unwrap();
        let runs = store.runs().unwrap().into_iter();
        let stops = runs.flat_map(|kept| {
            let count = u32::try_from(store.records(&kept.run.id).unwrap().len()).unwrap();
            let stop = |number| store.stop(&kept.run.id, number).unwrap().unwrap();
            (1..=count).map(stop).collect::<Vec<_>>()
        });
        let is_this = |stop: &beadlock::edge::store::Stop| {
            (stop.record.at_ms, &stop.record.session) == (record.at_ms, &record.session)
        };
        let stop = stops.filter(is_this).last().unwrap();
        if let Some(folder) = std::env::var_os("BEADLOCK_TEST_RECORDS") {
            self.keep_for_the_corpus(Path::new(&folder), &stop);
        }
        let Some(evidence) = stop.evidence else {
            return;
        };
        let verdict = decide(&evidence.snapshot().unwrap());
        let brake = verdict.brake.map(|brake| brake.name().to_owned());
        assert_eq!(
            (verdict.row as u8, brake, verdict.answer.name()),
            (record.row, record.brake.clone(), record.reason.as_str())
        );
    }

    /// Puts a recorded stop where `tests/fixtures/records` comes from, the first of its kind.
    fn keep_for_the_corpus(&self, folder: &Path, stop: &beadlock::edge::store::Stop) {
        let record = &stop.record;
        let brake = record
            .brake
            .as_deref()
            .map_or(String::new(), |it| format!("-{it}"));
        let name = format!(
            "{:02}{brake}-{}-{}.json",
            record.row, record.answer, record.reason
        );
        let number = stop.number.to_string();
        let shown = self
            .beadlock(&[
                "why",
                &number,
                &format!("--run={}", record.session),
                "--json",
            ])
            .done();
        let path = folder.join(name);
        if shown.status == 0 && !path.exists() {
            fs::write(path, shown.stdout).unwrap();
        }
    }
}
