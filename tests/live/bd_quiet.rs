//! bd tells nobody that we called it, and its answer stays clean of what else it may be set to say.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::desk::{Build, Desk, Test};
use crate::scene::{EPIC, SESSION};

pub const TESTS: &[Test] = &[
    (
        "nothing_is_sent_and_nothing_is_left_behind",
        nothing_is_sent_and_nothing_is_left_behind,
    ),
    (
        "telemetry_does_not_stand_before_the_answer",
        telemetry_does_not_stand_before_the_answer,
    ),
];

/// Long enough for a sender that bd leaves behind.
const SENDING: Duration = Duration::from_secs(3);

fn nothing_is_sent_and_nothing_is_left_behind(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    sink.set_nonblocking(true).unwrap();
    let address = sink.local_addr().unwrap();
    let endpoint = format!("http://{address}/x");
    // Neither the environment nor the project's own file may switch it on again.
    desk.scene.write(".beads/.env", "BD_DISABLE_METRICS=0\n");
    let noisy = |args: &[&str]| {
        let call = desk.beadlock(args).env("BEADS_METRICS_ENDPOINT", &endpoint);
        call.env("BD_DISABLE_METRICS", "0").done()
    };
    let done = noisy(&["start", EPIC, "--session", SESSION]);
    assert_eq!(done.status, 0, "{done:?}");
    noisy(&["doctor"]);
    noisy(&["status"]);
    let claim = "<promise>EPIC COMPLETE</promise>";
    let stop = desk.stop().says(claim);
    let stop = stop.env("BEADS_METRICS_ENDPOINT", &endpoint);
    stop.blocks("false_promise");
    let left: Vec<_> = [".beads", ".config/bd"]
        .into_iter()
        .map(|name| desk.scene.root.with_file_name("home").join(name))
        .filter(|path| path.exists())
        .collect();
    assert!(left.is_empty(), "bd left {left:?} in the home folder");
    thread::sleep(SENDING);
    assert!(sink.accept().is_err(), "something was sent");
}

fn telemetry_does_not_stand_before_the_answer(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.scene.write(".beads/.env", "BD_OTEL_STDOUT=true\n");
    desk.start();
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    desk.stop().env("BD_OTEL_STDOUT", "true").allows("complete");
}
