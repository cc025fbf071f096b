//! Changes through bd: what is done, and what is refused and why.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use beadlock::edge::tracker::bd::Bd;
use beadlock::edge::tracker::{Error, Tracker};
use beadlock::kernel::moment::Moment;
use beadlock::kernel::task::{Status, Task, TaskId};

use crate::desk::{Build, Desk, PATIENCE, Test};
use crate::scene::EPIC;

pub const TESTS: &[Test] = &[
    (
        "a_task_is_claimed_by_one_at_a_time",
        a_task_is_claimed_by_one_at_a_time,
    ),
    (
        "a_claim_is_renewed_by_its_holder_alone",
        a_claim_is_renewed_by_its_holder_alone,
    ),
    (
        "a_task_is_given_back_by_its_holder_with_a_note",
        a_task_is_given_back_by_its_holder_with_a_note,
    ),
    ("notes_are_added_as_they_are", notes_are_added_as_they_are),
    (
        "what_is_not_over_cannot_be_closed",
        what_is_not_over_cannot_be_closed,
    ),
    (
        "a_task_is_blocked_with_its_reason",
        a_task_is_blocked_with_its_reason,
    ),
    ("no_odd_id_reaches_bd", no_odd_id_reaches_bd),
    (
        "a_write_that_takes_too_long_is_left_to_finish",
        a_write_that_takes_too_long_is_left_to_finish,
    ),
];

fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Moment(i64::try_from(since.as_millis()).unwrap())
}

fn first() -> TaskId {
    TaskId::from("bd-x7y8.1")
}

fn task(bd: &Bd, id: &TaskId) -> Task {
    let tasks = bd.tasks(PATIENCE).unwrap().tasks;
    tasks.into_iter().find(|task| task.id == *id).unwrap()
}

fn notes(desk: &Desk, id: &TaskId) -> String {
    let said = desk.bd_json(&["show", id.as_str(), "--json"]);
    said[0]["notes"].as_str().unwrap_or_default().to_owned()
}

fn holder(task: &Task) -> Option<&str> {
    task.claim.as_ref().map(|claim| claim.actor.as_str())
}

fn a_task_is_claimed_by_one_at_a_time(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let bd = desk.tracker(build);
    bd.claim(&first(), "host/ann", now()).unwrap();
    bd.claim(&first(), "host/ann", now()).unwrap();
    let error = bd.claim(&first(), "host/bob", now()).unwrap_err();
    assert!(
        matches!(&error, Error::Held { by, .. } if by == "host/ann"),
        "{error}"
    );
    let task = task(&bd, &first());
    assert_eq!(task.status, Status::InProgress);
    assert_eq!(holder(&task), Some("host/ann"));
    let lease = task.claim.unwrap().lease_until;
    assert_eq!(
        lease.is_some_and(|until| until > now()),
        build.is_at_least(1, 3)
    );

    bd.close(&first(), None, "host/ann", now()).unwrap();
    let error = bd.claim(&first(), "host/bob", now()).unwrap_err();
    assert!(matches!(&error, Error::Closed { .. }), "{error}");
    let gone = TaskId::from("bd-x7y8.9");
    let error = bd.claim(&gone, "host/bob", now()).unwrap_err();
    assert!(matches!(&error, Error::NotFound { .. }), "{error}");
}

fn a_claim_is_renewed_by_its_holder_alone(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let bd = desk.tracker(build);
    let error = bd.heartbeat(&first(), "ann", now()).unwrap_err();
    assert!(matches!(&error, Error::NotHeld { .. }), "{error}");
    bd.claim(&first(), "ann", now()).unwrap();
    let lease = || task(&bd, &first()).claim.unwrap().lease_until;
    let before = lease();
    // bd keeps whole seconds.
    thread::sleep(Duration::from_millis(1100));
    bd.heartbeat(&first(), "ann", now()).unwrap();
    assert_eq!(lease() > before, build.is_at_least(1, 3));
    let error = bd.heartbeat(&first(), "bob", now()).unwrap_err();
    let is_foreign = matches!(&error, Error::Held { by, .. } if by == "ann");
    assert!(
        is_foreign || matches!(&error, Error::NotHeld { .. }),
        "{error}"
    );
}

fn a_task_is_given_back_by_its_holder_with_a_note(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let bd = desk.tracker(build);
    bd.claim(&first(), "ann", now()).unwrap();
    let error = bd.release(&first(), "bob", now(), None).unwrap_err();
    let is_foreign = matches!(&error, Error::Held { by, .. } if by == "ann");
    assert!(
        is_foreign || matches!(&error, Error::NotHeld { .. }),
        "{error}"
    );
    bd.release(&first(), "ann", now(), Some("the worker died"))
        .unwrap();
    let task = task(&bd, &first());
    assert_eq!((&task.status, holder(&task)), (&Status::Open, None));
    assert_eq!(notes(&desk, &first()), "the worker died");
    bd.claim(&first(), "bob", now()).unwrap();
}

fn notes_are_added_as_they_are(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let bd = desk.tracker(build);
    let odd = [
        "--status=closed",
        "a \"quote\" and $(rm x) `y`",
        "two\nlines",
        "\u{1f4a1} é",
    ];
    for text in odd {
        bd.note(&first(), text, "ann", now()).unwrap();
    }
    assert_eq!(notes(&desk, &first()), odd.join("\n"));
    assert_eq!(task(&bd, &first()).status, Status::Open);
    let gone = TaskId::from("bd-x7y8.9");
    let error = bd.note(&gone, "x", "ann", now()).unwrap_err();
    assert!(matches!(&error, Error::NotFound { .. }), "{error}");

    // One that says that all went well, and writes nothing down.
    let answer = r#"[{"id":"bd-x7y8.1","notes":"a \"quote\""}]"#;
    let idle = format!("[ \"$1\" = update ] && echo '{answer}' && exit 0\nexec \"$BD\" \"$@\"");
    desk.wrap(build, &idle);
    let idle = desk.tracker(build).with_program(desk.bin.join("bd"));
    let error = idle.note(&first(), "lost", "ann", now()).unwrap_err();
    assert!(error.to_string().contains("has no such note"), "{error}");
}

fn what_is_not_over_cannot_be_closed(build: &Build) {
    let desk = Desk::with_tasks(build, 2);
    let bd = desk.tracker(build);
    desk.bd(&["dep", "add", "bd-x7y8.2", "bd-x7y8.1"]);
    let second = TaskId::from("bd-x7y8.2");
    let error = bd.close(&second, Some("done"), "ann", now()).unwrap_err();
    assert!(
        matches!(&error, Error::Blocked { by, .. } if *by == [first()]),
        "{error}"
    );
    let epic = TaskId::from(EPIC);
    let error = bd.close(&epic, Some("done"), "ann", now()).unwrap_err();
    assert!(
        matches!(&error, Error::OpenChildren { children, .. } if children.len() == 2),
        "{error}"
    );
    bd.close(&first(), Some("done -- really"), "ann", now())
        .unwrap();
    bd.close(&first(), Some("another reason"), "bob", now())
        .unwrap();
    let said = desk.bd_json(&["show", "bd-x7y8.1", "--json"]);
    assert_eq!(
        said[0]["close_reason"], "done -- really",
        "the first reason stays"
    );
    bd.close(&second, None, "ann", now()).unwrap();
    bd.close(&epic, Some("all done"), "ann", now()).unwrap();
    assert_eq!(task(&bd, &epic).status, Status::Closed);
    let gone = TaskId::from("bd-x7y8.9");
    let error = bd.close(&gone, None, "ann", now()).unwrap_err();
    assert!(matches!(&error, Error::NotFound { .. }), "{error}");
}

fn a_task_is_blocked_with_its_reason(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let bd = desk.tracker(build);
    bd.block(&first(), "no key for the shed", "ann", now())
        .unwrap();
    assert_eq!(task(&bd, &first()).status, Status::Blocked);
    assert_eq!(notes(&desk, &first()), "no key for the shed");
    let error = bd.claim(&first(), "ann", now()).unwrap_err();
    assert!(error.to_string().contains("blocked"), "{error}");
    desk.bd(&["close", "bd-x7y8.1", "--reason", "done"]);
    let error = bd.block(&first(), "x", "ann", now()).unwrap_err();
    assert!(matches!(&error, Error::Closed { .. }), "{error}");
    assert_eq!(task(&bd, &first()).status, Status::Closed);
}

/// Without an id bd would take the task touched last, and of a part of one it finds the rest.
fn no_odd_id_reaches_bd(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    let bd = desk.tracker(build);
    for odd in ["", "--all", "bd-x7y8.1 bd-x7y8", "x;y", "-"] {
        let odd = TaskId::from(odd);
        let tried = [
            bd.claim(&odd, "ann", now()),
            bd.heartbeat(&odd, "ann", now()),
            bd.release(&odd, "ann", now(), None),
            bd.note(&odd, "x", "ann", now()),
            bd.close(&odd, None, "ann", now()),
            bd.block(&odd, "x", "ann", now()),
        ];
        for result in tried {
            let error = result.unwrap_err();
            assert!(matches!(&error, Error::Id { .. }), "{odd}: {error}");
        }
    }
    assert_eq!(task(&bd, &first()).status, Status::Open);
    let part = TaskId::from("x7y8.1");
    assert!(bd.close(&part, None, "ann", now()).is_err());
    assert_eq!(task(&bd, &first()).status, Status::Open);
}

fn a_write_that_takes_too_long_is_left_to_finish(build: &Build) {
    let desk = Desk::with_tasks(build, 1);
    desk.wrap(build, "[ \"$1\" = update ] && sleep 4\nexec \"$BD\" \"$@\"");
    let slow = desk.tracker(build).with_program(desk.bin.join("bd"));
    let slow = slow.with_write_deadline(Duration::from_secs(1));
    let error = slow.claim(&first(), "ann", now()).unwrap_err();
    assert!(
        error.to_string().contains("had not ended after 1 s"),
        "{error}"
    );
    let is_done = || task(&desk.tracker(build), &first()).status == Status::InProgress;
    let was_done = (0..60).any(|_| {
        thread::sleep(Duration::from_millis(500));
        is_done()
    });
    assert!(was_done, "it was ended half-way");
}
