//! A person sits there: what they type, and every way out that they have.

use crate::desk::{Desk, RUN_TASKS};
use crate::model::{ponders, runs, says};
use crate::scene::SESSION;
use crate::screen::Screen;
use crate::trials::{Needs, Test};

const fn test(name: &'static str, run: fn(&Desk)) -> Test {
    Test {
        name,
        needs: Needs::Screen,
        run,
    }
}

pub const TESTS: &[Test] = &[
    test(
        "a_typed_command_arms_the_run_before_the_model_is_asked",
        a_typed_command_arms_the_run_before_the_model_is_asked,
    ),
    test(
        "a_question_in_the_middle_is_answered_and_not_held",
        a_question_in_the_middle_is_answered_and_not_held,
    ),
    test(
        "an_interrupted_agent_and_one_that_plans_are_not_held",
        an_interrupted_agent_and_one_that_plans_are_not_held,
    ),
    test(
        "a_cleared_session_leaves_its_run_behind",
        a_cleared_session_leaves_its_run_behind,
    ),
    test(
        "a_person_can_leave_a_held_session_and_come_back",
        a_person_can_leave_a_held_session_and_come_back,
    ),
];

const ALL_OPEN: &str = "Not over yet. Ready: bd-x7y8.1, bd-x7y8.2, bd-x7y8.3.";
const TWO_OPEN: &str = "Not over yet. Ready: bd-x7y8.2, bd-x7y8.3.";

/// A run whose agent was held once, and is in the middle of saying something.
fn held(desk: &Desk) -> Screen<'_> {
    let screen = Screen::open(desk, &["--session-id", SESSION]);
    begins(&screen, desk);
    screen
}

fn begins(screen: &Screen<'_>, desk: &Desk) {
    desk.model
        .will([says("I have had a look around."), ponders("Let me think.")]);
    screen.enters(RUN_TASKS);
    screen.asks();
    screen.is_held_by(&format!("[beadlock 1/50: open_work] {ALL_OPEN}"));
    screen.shows("Let me think.");
}

fn a_typed_command_arms_the_run_before_the_model_is_asked(desk: &Desk) {
    let screen = Screen::open(desk, &["--session-id", SESSION]);
    screen.enters("/run-tasks bd-nope");
    screen.shows("epic `bd-nope` was not found");
    screen.comes_to_rest();
    assert_eq!(desk.scene.runs().len(), 0);

    begins(&screen, desk);
    let fed = desk.model.asked()[0].fed();
    let prompt = desk.scene.run().prompt;
    let is_there = fed.iter().any(|text| text.starts_with(&prompt));
    assert!(is_there && prompt.starts_with("The tracker"), "{fed:?}");
    screen.shows("Beadlock holds this session until bd-x7y8 is done");
}

fn a_question_in_the_middle_is_answered_and_not_held(desk: &Desk) {
    let screen = held(desk);
    screen.key("Escape");
    screen.comes_to_rest();
    desk.model.will([says("Because it has rained.")]);
    screen.enters("Why is the wall wet?");
    assert_eq!(screen.asks().fed().last().unwrap(), "Why is the wall wet?");
    screen.shows("Because it has rained.");
    screen.comes_to_rest();
    desk.stops_were(&[("block", "open_work"), ("allow", "conversation")]);

    desk.model.will([
        runs("beadlock task close bd-x7y8.1"),
        says("That was one."),
        ponders("Let me see."),
    ]);
    screen.enters("Then close the first one.");
    screen.asks();
    screen.asks();
    screen.is_held_by(&format!("[beadlock 2/50: open_work] {TWO_OPEN}"));
}

fn an_interrupted_agent_and_one_that_plans_are_not_held(desk: &Desk) {
    let screen = held(desk);
    screen.key("Escape");
    screen.shows("Interrupted");
    screen.comes_to_rest();
    desk.stops_were(&[("block", "open_work")]);

    cycles_to(&screen, |footer| footer.contains("plan mode on"));
    desk.model.will([says("First the roof, I would say.")]);
    screen.enters("Make a plan.");
    screen.asks();
    screen.shows("First the roof, I would say.");
    screen.comes_to_rest();
    desk.stops_were(&[("block", "open_work"), ("allow", "planning")]);

    cycles_to(&screen, |footer| !footer.contains("plan mode on"));
    desk.model.will([
        runs("beadlock task close bd-x7y8.1"),
        says("That was one."),
        ponders("Let me see."),
    ]);
    screen.enters("Then do as you planned.");
    screen.asks();
    screen.asks();
    screen.is_held_by(&format!("[beadlock 2/50: open_work] {TWO_OPEN}"));
}

/// Changes the agent's mode, one key at a time.
fn cycles_to(screen: &Screen<'_>, is_there: impl Fn(&str) -> bool) {
    for _ in 0..MODES_MAX {
        let before = screen.now();
        if is_there(&before) {
            return;
        }
        screen.key("BTab");
        screen.wait("another mode", || screen.now() != before);
    }
    panic!("no such mode:\n{}", screen.now());
}

const MODES_MAX: usize = 6;

fn a_cleared_session_leaves_its_run_behind(desk: &Desk) {
    let screen = held(desk);
    screen.key("Escape");
    screen.comes_to_rest();
    screen.enters("/clear");
    screen.wait("run that waits", || {
        desk.scene.run().state.name() == "waiting"
    });
    desk.stands("waiting", "session_over");
    desk.model.will([says("Good morning.")]);
    screen.enters("Is anybody there?");
    screen.asks();
    screen.shows("Good morning.");
    screen.comes_to_rest();
    desk.stops_were(&[("block", "open_work")]);
}

fn a_person_can_leave_a_held_session_and_come_back(desk: &Desk) {
    let screen = held(desk);
    screen.enters("/exit");
    screen.ends();
    desk.stands("waiting", "session_over");
    desk.stops_were(&[("block", "open_work")]);
    drop(screen);

    desk.model.will([
        runs("beadlock task close bd-x7y8.1"),
        says("That was one."),
        ponders("Let me see."),
    ]);
    let screen = Screen::open(desk, &["--resume", SESSION]);
    screen.enters("Now go on.");
    screen.asks();
    screen.asks();
    screen.is_held_by(&format!("[beadlock 2/50: open_work] {TWO_OPEN}"));
}
