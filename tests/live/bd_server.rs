//! Several machines share what bd's own server shares: two clones, one `dolt sql-server` on
//! loopback.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::desk::{Build, Desk, INIT, Test, neighbour};
use crate::scene::{EPIC, SESSION, Scene};

pub const TESTS: &[Test] = &[
    (
        "two_clones_share_the_tasks_of_a_server_and_miss_it_when_it_is_gone",
        two_clones_share_the_tasks_of_a_server_and_miss_it_when_it_is_gone,
    ),
    (
        "nobody_is_held_for_a_database_that_bd_does_not_read",
        nobody_is_held_for_a_database_that_bd_does_not_read,
    ),
];

/// A server of this test's own, ended with it.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(dolt: &Path, scene: &Scene) -> Server {
        // Free a moment ago; whoever takes it meanwhile makes the test fail, not lie.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let folder = scene.root.with_file_name("server");
        fs::create_dir_all(&folder).unwrap();
        let name = dolt.to_str().unwrap();
        let child = scene
            .command(name, &folder)
            .args([
                "sql-server",
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
            ])
            .env("DOLT_DISABLE_EVENT_FLUSH", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { child, port };
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not answer");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One server at a time is enough for a small machine.
static ALONE: Mutex<()> = Mutex::new(());

pub fn dolt() -> Option<PathBuf> {
    neighbour("BEADLOCK_TEST_DOLT", "dolt")
}

/// A repository whose tasks are on a server, with an epic of two tasks, and a clone of it.
fn served(build: &Build) -> (Server, Desk, PathBuf) {
    let one = Desk::beside(Scene::repository(), build);
    let server = Server::start(&dolt().unwrap(), &one.scene);
    let mut init = INIT.to_vec();
    let port = server.port.to_string();
    init.extend(["--server", "--external", "--server-host", "127.0.0.1"]);
    init.extend(["--server-port", &port, "--server-user", "root"]);
    one.bd(&init);
    one.bd(&["create", "The epic", "-t", "epic", "--id", EPIC]);
    for number in 1..=2 {
        one.bd(&["create", &format!("Task {number}"), "--parent", EPIC]);
    }
    let two = one.scene.root.with_file_name("two");
    one.scene.git(&["clone", "-q", ".", two.to_str().unwrap()]);
    copy_beads(&one.scene.root, &two);
    (server, one, two)
}

fn two_clones_share_the_tasks_of_a_server_and_miss_it_when_it_is_gone(build: &Build) {
    let _alone = ALONE.lock();
    let (mut server, one, two) = served(build);
    let on_two = |args: &[&str]| {
        let output = one.bd_as("bob", &two, args);
        assert!(output.status.success(), "{output:?}");
    };
    on_two(&["update", "bd-x7y8.1", "--claim"]);
    // bd keeps whole seconds, rounded, and what is claimed in a turn of the run's is its agent's.
    thread::sleep(Duration::from_millis(2100));
    one.count_calls(build);
    one.start();
    let start = one.beadlock(&["start", EPIC, "--session", "two"]).dir(&two);
    let done = start.done();
    assert_eq!(done.status, 0, "each machine has its own runs: {done:?}");
    one.calls();
    let fed = one.stop().blocks("open_work");
    assert!(fed.contains("Ready: bd-x7y8.2."), "{fed}");
    one.stop().blocks("open_work");
    assert_eq!(one.calls().len(), 2, "without a token every stop asks");

    on_two(&["close", "bd-x7y8.2", "--reason", "done there"]);
    if build.is_at_least(1, 3) {
        let told = one.stop().allows("needs_human");
        assert!(told.contains("bob"), "{told}");
        one.beadlock(&["resume", EPIC]).done();
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let fed = one.stop().blocks("unknown");
    assert!(fed.contains("bd list"), "{fed}");
    let cwd = Value::from(two.to_str().unwrap());
    let stop = one.stop().session("two").dir(&two).set("cwd", cwd);
    let held = stop.done().json();
    let reason = held["reason"].as_str().unwrap();
    assert!(reason.contains(": unknown]"), "{held}");
    assert_eq!(one.scene.run_of(SESSION).state.name(), "active");
}

/// Its settings say that the database beside them is meant, and a file with variables leads bd to
/// the server in spite of them.
fn nobody_is_held_for_a_database_that_bd_does_not_read(build: &Build) {
    let _alone = ALONE.lock();
    let (server, one, _) = served(build);
    let led = Desk::with_tasks(build, 2);
    let metadata = one.scene.path(".beads/metadata.json");
    let metadata: Value = serde_json::from_slice(&fs::read(metadata).unwrap()).unwrap();
    let mut embedded = metadata.clone();
    embedded["dolt_mode"] = Value::from("embedded");
    led.scene
        .write(".beads/metadata.json", embedded.to_string());
    let variables = format!(
        "BEADS_DOLT_SERVER_MODE=1\nBEADS_DOLT_SERVER_HOST=127.0.0.1\nBEADS_DOLT_SERVER_PORT={}\n\
         BEADS_DOLT_SERVER_DATABASE={}\n",
        server.port,
        metadata["dolt_database"].as_str().unwrap()
    );
    led.scene.write(".beads/.env", variables);
    led.scene.commit_all("led elsewhere");
    led.start();
    led.stop().blocks("open_work");
    one.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    one.bd(&["close", "bd-x7y8.2", "--reason", "done"]);
    led.stop().allows("complete");
}

/// What bd keeps out of git, but for databases and locks.
fn copy_beads(from: &Path, to: &Path) {
    fs::create_dir_all(to.join(".beads")).unwrap();
    for entry in fs::read_dir(from.join(".beads")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(".beads").join(path.file_name().unwrap())).unwrap();
        }
    }
}
