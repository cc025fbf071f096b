//! `claude -p`: nobody is there to ask, and the process ends with the agent's turn.

use crate::desk::{Desk, RUN_TASKS};
use crate::model::{runs, says};
use crate::scene::SESSION;
use crate::trials::{Needs, Test};

pub const TESTS: &[Test] = &[
    Test {
        name: "the_session_ends_when_the_tracker_says_so",
        needs: Needs::Agent,
        run: the_session_ends_when_the_tracker_says_so,
    },
    Test {
        name: "a_checkpoint_ends_the_session_and_its_resumption_goes_on_with_the_run",
        needs: Needs::Agent,
        run: a_checkpoint_ends_the_session_and_its_resumption_goes_on_with_the_run,
    },
];

fn the_session_ends_when_the_tracker_says_so(desk: &Desk) {
    desk.model.will([
        says("I have had a look around. Shall I begin?"),
        runs("beadlock task start bd-x7y8.1 && echo one > one.txt"),
        says("It is all done.\n\n<promise>ALL TASKS COMPLETE</promise>"),
        runs("git add one.txt && git commit -q -m One one.txt && beadlock task close bd-x7y8.1"),
        runs("beadlock task start bd-x7y8.2 && beadlock task start bd-x7y8.3"),
        says("The rest is as good as done."),
        runs(
            "beadlock task close bd-x7y8.2 && beadlock task close bd-x7y8.3 && echo two > two.txt",
        ),
        says("<promise>ALL TASKS COMPLETE</promise>"),
        runs("git add two.txt && git commit -q -m Two two.txt .beads"),
        says("I do not know whether I am done."),
    ]);
    let ended = desk.headless(RUN_TASKS, &["--session-id", SESSION]);
    desk.was_held_by(&[
        "[beadlock 1/50: open_work] Not over yet. Ready: bd-x7y8.1, bd-x7y8.2, bd-x7y8.3.",
        "[beadlock 2/50: false_promise] You said it is complete, but these are ready: \
         bd-x7y8.2, bd-x7y8.3.",
        "[beadlock 3/50: in_progress] Still in progress: bd-x7y8.2, bd-x7y8.3. \
         Finish and close, then go on.",
        "[beadlock 4/50: unsaved_work] Not committed: .beads/issues.jsonl, two.txt. \
         Commit just what is yours, by path.",
    ]);
    // Every word of the script was wanted, and none beyond it.
    assert_eq!((desk.model.left(), desk.model.asked().len()), (0, 10));
    assert_eq!(ended["result"], "I do not know whether I am done.");
    assert_eq!(ended["is_error"], false, "{ended}");
    desk.stops_were(&[
        ("block", "open_work"),
        ("block", "false_promise"),
        ("block", "in_progress"),
        ("block", "unsaved_work"),
        ("allow", "complete"),
    ]);
    desk.stands("ended", "complete");
    desk.is_decided_alike_again();
}

fn a_checkpoint_ends_the_session_and_its_resumption_goes_on_with_the_run(desk: &Desk) {
    let checkpoint = "Too much to keep in mind.\n\n<promise>CONTEXT LIMIT - CHECKPOINT</promise>";
    desk.model.will([
        runs("beadlock task start bd-x7y8.1 && echo one > one.txt"),
        says(checkpoint),
        runs("beadlock task close bd-x7y8.1 && git add one.txt && git commit -q -m One one.txt .beads"),
        says(checkpoint),
    ]);
    let first = desk.headless(RUN_TASKS, &["--session-id", SESSION]);
    let unsaved = "[beadlock 1/50: unsaved_work] Not committed: .beads/issues.jsonl, one.txt. \
                   Commit just what is yours, by path.";
    desk.was_held_by(&[unsaved]);
    assert_eq!((desk.model.left(), desk.model.asked().len()), (0, 4));
    assert_eq!(first["result"], checkpoint);
    desk.stands("waiting", "checkpoint");
    let run = desk.scene.run();

    desk.model.will([
        says("Where was I?"),
        runs("beadlock task close bd-x7y8.2 && beadlock task close bd-x7y8.3"),
        runs("git commit -q -m Rest .beads"),
        says("<promise>ALL TASKS COMPLETE</promise>"),
    ]);
    let second = desk.headless("Go on.", &["--resume", SESSION]);
    let open = "[beadlock 3/50: open_work] Not over yet. Ready: bd-x7y8.2, bd-x7y8.3.";
    desk.was_held_by(&[unsaved, open]);
    let asked = desk.model.asked();
    assert_eq!((desk.model.left(), asked.len()), (0, 8));
    let reminded = asked[4].with_reminders().concat();
    assert!(reminded.contains(&run.prompt), "{reminded}");
    assert_eq!(second["session_id"], SESSION);
    assert_eq!(desk.scene.run().id, run.id);
    desk.stops_were(&[
        ("block", "unsaved_work"),
        ("allow", "checkpoint"),
        ("block", "open_work"),
        ("allow", "complete"),
    ]);
    desk.stands("ended", "complete");
    desk.is_decided_alike_again();
}
