//! Work that goes on beside the agent, and wakes it when it is done.

use std::fs;

use beadlock::kernel::ledger::PromptKind;

use crate::desk::{Desk, RUN_TASKS};
use crate::model::{ponders, runs, runs_aside, says};
use crate::scene::SESSION;
use crate::screen::Screen;
use crate::trials::{Needs, Test};

pub const TESTS: &[Test] = &[Test {
    name: "a_background_task_is_waited_for_and_its_wake_up_is_nobodys_question",
    needs: Needs::Screen,
    run: a_background_task_is_waited_for_and_its_wake_up_is_nobodys_question,
}];

const ALL_BEGUN: &str =
    "Still in progress: bd-x7y8.1, bd-x7y8.2, bd-x7y8.3. Finish and close, then go on.";

fn a_background_task_is_waited_for_and_its_wake_up_is_nobodys_question(desk: &Desk) {
    let built = desk.aside("built");
    let builds = format!(
        "for _ in $(seq 3000); do [ -e {} ] && break; sleep 0.1; done",
        built.display()
    );
    desk.model.will([
        runs("for n in 1 2 3; do beadlock task start bd-x7y8.$n; done"),
        says("All of them are begun."),
        runs_aside(&builds),
        says("It is being built."),
    ]);
    let screen = Screen::open(desk, &["--session-id", SESSION]);
    screen.enters(RUN_TASKS);
    screen.asks();
    screen.asks();
    screen.is_held_by(&format!("[beadlock 1/50: in_progress] {ALL_BEGUN}"));
    screen.asks();
    screen.comes_to_rest();
    desk.stops_were(&[("block", "in_progress"), ("allow", "background")]);

    desk.model
        .will([says("It is built. What now?"), ponders("Let me think.")]);
    fs::write(&built, "").unwrap();
    let woken = screen.asks().with_reminders().concat();
    assert!(woken.contains("<task-notification>"), "{woken}");
    screen.is_held_by(&format!("[beadlock 3/50: in_progress] {ALL_BEGUN}"));
    let prompt = desk.scene.run().turn.prompt.unwrap();
    assert_eq!(prompt.kind, PromptKind::Machine);
}
