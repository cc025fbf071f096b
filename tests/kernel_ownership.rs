//! Whose run it is: every combination of who asks, how, and what runs there are, against the
//! contract's sentences about ownership and waking.

#[expect(
    dead_code,
    reason = "shared with the tests of the decision, which need more"
)]
mod facts;

use beadlock::kernel::ledger::{By, Outcome, Rule, Run, State, Streak};
use beadlock::kernel::ownership::{
    Asker, Disposition, Holdings, How, Launch, Own, Refused, Seen, launched, may_adopt, settle,
};
use beadlock::kernel::policy::Policy;
use beadlock::kernel::verdict::Row;
use facts::{MINUTE, NOW, run};

/// The session that is to be held, the one that has the epic's run, and one that has nothing.
const OURS: &str = "session-1";
const THEIRS: &str = "session-2";
const THIRD: &str = "session-3";

/// A run in this state whose last event was so many minutes ago.
fn run_in(session: &str, state: State, minutes: i64) -> Run {
    let mut run = run(&Policy::default());
    run.session = session.into();
    run.state = state;
    run.last_event_at = NOW.plus_millis(-minutes * MINUTE);
    run
}

fn paused(by: By) -> Run {
    let mut run = run_in(THEIRS, State::Active, 1);
    run.pause(by, NOW);
    run
}

/// Another session's run, and whether a person may have it without force.
fn elsewhere() -> Vec<(Option<Run>, bool)> {
    let at = |state, minutes| Some(run_in(THEIRS, state, minutes));
    vec![
        (None, true),
        (at(State::Active, 1), false),
        (at(State::Active, 120), false),
        (at(State::Active, 121), true),
        (at(State::Waiting, 1), true),
        (at(State::Stale, 1), true),
        (Some(paused(By::Agent)), true),
        (Some(paused(By::Person)), true),
    ]
}

const INSIDE: [Option<&str>; 4] = [None, Some(OURS), Some(THEIRS), Some(THIRD)];
const BY: [By; 2] = [By::Person, By::Agent];

/// The run that the session has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mine {
    OfThisEpic,
    OfAnother,
    Apart,
}

struct Case<'a> {
    asker: Asker<'a>,
    own: Option<Mine>,
    elsewhere: Option<&'a Run>,
    is_free: bool,
    had_it: bool,
}

/// The contract's sentences, the first that applies.
fn expected(case: &Case<'_>) -> Result<Disposition, Refused> {
    let Case { asker, own, .. } = case;
    let is_agent = asker.by == By::Agent;
    // A session's hook has that session's environment; with another's a shell has called it.
    let is_hook = asker.how != How::ByHand;
    if is_hook && asker.inside.is_some_and(|inside| inside != OURS) {
        return Err(Refused::NotAnAgents);
    }
    let is_active = case.elsewhere.is_some_and(|run| run.state == State::Active);
    if *own == Some(Mine::OfThisEpic) {
        // Start again in the same session wakes; from an agent it only prints the prompt.
        return Ok(if is_agent {
            Disposition::Show
        } else {
            Disposition::Wake
        });
    }
    // An agent has nobody held but itself.
    if is_agent && asker.inside != Some(OURS) {
        return Err(Refused::NotAnAgents);
    }
    if *own == Some(Mine::OfAnother) && !asker.replace {
        return Err(Refused::SecondEpic);
    }
    // It would have to give way in one place while the new one begins in another.
    if *own == Some(Mine::Apart) {
        return Err(Refused::SecondEpic);
    }
    // `--epic` arms only if this session never had such a run and nobody else has an active one.
    // What a person paused is nobody's to take by the way.
    let is_paused = case
        .elsewhere
        .is_some_and(|run| run.outcome == Some(Outcome::Paused));
    if asker.how == How::AtStop && (case.had_it || is_active || is_paused) {
        return Err(Refused::NotThisSession);
    }
    if case.elsewhere.is_none() {
        // What was ended in this session, by a limit or by a person, no agent begins again.
        return if is_agent && case.had_it {
            Err(Refused::Again)
        } else {
            Ok(Disposition::New)
        };
    }
    if asker.inside == Some(THEIRS) {
        return Err(Refused::GivenAway);
    }
    if is_agent {
        return Err(Refused::NotAnAgents);
    }
    if case.is_free {
        Ok(Disposition::TakeOver)
    } else {
        Err(Refused::LiveElsewhere)
    }
}

#[test]
fn every_wish_is_settled_as_the_contract_says() {
    let mut cases = 0;
    let mine = run_in(OURS, State::Active, 1);
    for (elsewhere, is_free) in elsewhere() {
        let owns = [Mine::OfThisEpic, Mine::OfAnother, Mine::Apart].map(Some);
        for own in owns.into_iter().chain([None]) {
            for inside in INSIDE {
                for by in BY {
                    for how in [How::ByHand, How::Typed, How::AtStop] {
                        for (replace, had_it) in
                            [(false, false), (false, true), (true, false), (true, true)]
                        {
                            let case = Case {
                                asker: Asker {
                                    session: OURS,
                                    inside,
                                    by,
                                    how,
                                    replace,
                                },
                                own,
                                elsewhere: elsewhere.as_ref(),
                                is_free,
                                had_it,
                            };
                            let holdings = Holdings {
                                own: own.map(|own| match own {
                                    Mine::OfThisEpic => Own::OfThisEpic(&mine),
                                    Mine::OfAnother => Own::OfAnother(&mine),
                                    Mine::Apart => Own::Apart(&mine),
                                }),
                                elsewhere: elsewhere.as_ref(),
                                had_it,
                            };
                            let settled = settle(&case.asker, &holdings, NOW);
                            let what = format!("{:?} {own:?} {elsewhere:?} {had_it}", case.asker);
                            assert_eq!(settled, expected(&case), "{what}");
                            cases += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(cases, 3072);
}

#[test]
fn a_person_moves_any_run_and_an_agent_none() {
    for state in State::ALL {
        let run = run_in(THEIRS, state, 1);
        for inside in INSIDE {
            for by in BY {
                let asker = |session| Asker {
                    session,
                    inside,
                    by,
                    how: How::ByHand,
                    replace: false,
                };
                // Moving it to where it is moves nothing, but it wakes the run.
                let woken = match by {
                    By::Agent => Err(Refused::NotAnAgents),
                    By::Person => Ok(()),
                };
                assert_eq!(may_adopt(&run, &asker(THEIRS), None), woken);
                assert_eq!(may_adopt(&run, &asker(THEIRS), Some(&run)), woken);
                let expected = match (inside, by) {
                    (Some(THEIRS), _) => Err(Refused::GivenAway),
                    (_, By::Agent) => Err(Refused::NotAnAgents),
                    (_, By::Person) => Ok(()),
                };
                assert_eq!(may_adopt(&run, &asker(OURS), None), expected);
                let mut own = run_in(OURS, State::Waiting, 1);
                own.id = "run-2".into();
                let in_the_way = expected.and(Err(Refused::HasOne));
                assert_eq!(may_adopt(&run, &asker(OURS), Some(&own)), in_the_way);
                own.state = State::Ended;
                assert_eq!(may_adopt(&run, &asker(OURS), Some(&own)), expected);
            }
        }
    }
}

#[test]
fn a_launch_is_the_first_sessions_that_is_seen_with_it() {
    for state in State::ALL {
        for is_called in [false, true] {
            for minutes in [1, 121] {
                let mut run = run_in(THEIRS, state, minutes);
                run.counters.stops = u32::from(is_called);
                // Whether or not it was called: a stranger must not take what was armed for another.
                let is_taken = state == State::Active && minutes == 1;
                for bound in [None, Some(OURS), Some(THEIRS), Some(THIRD)] {
                    let expected = match (state, bound) {
                        (State::Ended, _) => Launch::Over,
                        (_, Some(OURS)) => Launch::Owner,
                        (_, Some(_)) => Launch::Child,
                        (_, None) if is_taken => Launch::Child,
                        (_, None) => Launch::Owner,
                    };
                    for inside in [None, Some(OURS)] {
                        let seen = Seen {
                            session: OURS,
                            inside,
                        };
                        let whose = launched(&run, seen, bound, NOW);
                        assert_eq!(whose, expected, "{run:?} {bound:?}");
                    }
                    let mut paused = run.clone();
                    paused.pause(By::Person, NOW);
                    if state != State::Ended {
                        // What a person paused no launch takes from its session.
                        let whose = launched(
                            &paused,
                            Seen {
                                session: OURS,
                                inside: None,
                            },
                            None,
                            NOW,
                        );
                        assert_eq!(whose, Launch::Child);
                    }
                    // A shell inside of another session takes nothing by a launch's name.
                    for inside in [Some(THEIRS), Some(THIRD)] {
                        let seen = Seen {
                            session: OURS,
                            inside,
                        };
                        let expected = match (state, bound) {
                            (State::Ended, _) => Launch::Over,
                            (_, Some(OURS)) => Launch::Owner,
                            (_, _) => Launch::Child,
                        };
                        assert_eq!(launched(&run, seen, bound, NOW), expected);
                    }
                    let its_own = Seen {
                        session: THEIRS,
                        inside: None,
                    };
                    let own = launched(&run, its_own, None, NOW);
                    let is_over = state == State::Ended;
                    assert_eq!(own, if is_over { Launch::Over } else { Launch::Owner });
                }
            }
        }
    }
}

#[test]
fn an_agent_does_not_undo_what_a_person_paused() {
    for (paused_by, by, expected) in [
        (By::Person, By::Person, Ok(())),
        (By::Person, By::Agent, Err(Refused::PausedByPerson)),
        (By::Agent, By::Person, Ok(())),
        (By::Agent, By::Agent, Ok(())),
    ] {
        let mut run = run_in(OURS, State::Active, 1);
        run.missing = vec!["t-e.9".into()];
        run.pause(paused_by, NOW);
        let was_owed = run.told.is_owed;
        assert_eq!(run.resume(by, NOW), expected);
        assert_eq!(run.state == State::Active, expected.is_ok());
        // Only a person accepts what was lost, and only a person has been told by this.
        assert_eq!(run.missing.is_empty(), by == By::Person);
        assert_eq!(run.given_up.len(), usize::from(by == By::Person));
        assert_eq!(run.told.is_owed, was_owed && by == By::Agent);
    }
}

#[test]
fn an_agent_that_pauses_what_a_person_paused_changes_nothing() {
    let mut run = run_in(OURS, State::Active, 1);
    run.pause(By::Person, NOW);
    let before = run.clone();
    run.pause(By::Agent, NOW.plus_millis(MINUTE));
    assert_eq!(run, before);
    assert_eq!(run.resume(By::Agent, NOW), Err(Refused::PausedByPerson));
}

/// Counters in a row are limits, and no agent starts its own anew.
#[test]
fn an_agent_that_pauses_and_resumes_goes_on_counting() {
    let mut run = run_in(OURS, State::Active, 1);
    run.counters.blocks_idle = 4;
    run.streak = Some(Streak {
        rule: Rule {
            row: Row::TrackerUnknown,
            only_new_files: false,
        },
        length: 2,
    });
    let before = run.clone();
    run.pause(By::Agent, NOW);
    assert_eq!(run.resume(By::Agent, NOW), Ok(()));
    assert_eq!(run.state, State::Active);
    let counts = |run: &Run| (run.counters.blocks_idle, run.streak);
    assert_eq!(counts(&run), counts(&before));
    run.pause(By::Agent, NOW);
    assert_eq!(run.resume(By::Person, NOW), Ok(()));
    assert_eq!(counts(&run), (0, None));
}

#[test]
fn an_agent_that_resumes_a_run_that_goes_on_changes_nothing() {
    let mut run = run_in(OURS, State::Active, 1);
    run.counters.blocks_idle = 4;
    let before = run.clone();
    assert_eq!(run.resume(By::Agent, NOW), Ok(()));
    assert_eq!(run, before);
    assert_eq!(run.resume(By::Person, NOW), Ok(()));
    assert_eq!(run.counters.blocks_idle, 0);
}

#[test]
fn a_run_that_moves_claims_under_its_new_agents_name() {
    let mut run = run_in(THEIRS, State::Waiting, 1);
    run.told.is_owed = true;
    run.move_to(OURS, "host/heir", NOW);
    assert_eq!(
        (run.session.as_str(), run.actor.as_str()),
        (OURS, "host/heir")
    );
    assert_eq!((run.state, run.told.is_owed), (State::Active, false));
}

#[test]
fn a_launch_holds_the_session_whatever_the_run_did_before() {
    for state in [State::Active, State::Waiting, State::Stale, State::Paused] {
        let mut run = run_in(THEIRS, state, 1);
        run.counters.blocks_idle = 3;
        run.told.is_owed = true;
        run.launch(OURS, NOW);
        // Nobody has read anything by this.
        assert!(run.told.is_owed);
        assert_eq!((run.session.as_str(), run.state), (OURS, State::Active));
        // Only waking starts counters anew.
        let expected = if state == State::Active { 3 } else { 0 };
        assert_eq!(run.counters.blocks_idle, expected);
    }
}

#[test]
fn a_launch_wakes_nothing_that_a_person_paused() {
    let mut run = run_in(OURS, State::Active, 1);
    run.pause(By::Person, NOW);
    let before = run.clone();
    run.launch(OURS, NOW);
    assert_eq!(run, before);
    run.pause(By::Agent, NOW);
    assert_eq!(run, before);
}

#[test]
fn an_agent_replaces_nothing_that_a_person_paused() {
    for (by, expected) in [
        (By::Agent, Err(Refused::PausedByPerson)),
        (By::Person, Ok(Disposition::New)),
    ] {
        let mut own = run_in(OURS, State::Active, 1);
        own.pause(By::Person, NOW);
        let asker = Asker {
            session: OURS,
            inside: Some(OURS),
            by,
            how: How::ByHand,
            replace: true,
        };
        let holdings = Holdings {
            own: Some(Own::OfAnother(&own)),
            ..Holdings::default()
        };
        assert_eq!(settle(&asker, &holdings, NOW), expected);
    }
}

#[test]
fn what_an_agent_replaces_is_owed_and_what_a_person_replaces_is_not() {
    let replaced = |by| {
        let mut run = run_in(OURS, State::Active, 1);
        run.replace(by, NOW);
        (run.state, run.outcome.map(Outcome::name), run.told.is_owed)
    };
    assert_eq!(
        replaced(By::Person),
        (State::Ended, Some("replaced"), false)
    );
    assert_eq!(replaced(By::Agent), (State::Ended, Some("abandoned"), true));
}

#[test]
fn a_run_speaks_only_where_there_is_something_to_say() {
    for state in State::ALL {
        for is_owed in [false, true] {
            let mut run = run_in(OURS, state, 1);
            run.told.is_owed = is_owed;
            assert_eq!(run.is_at_rest(), state != State::Active);
            let hears = matches!(state, State::Active | State::Waiting);
            assert_eq!(run.is_listening(), hears || is_owed);
            run.note_told();
            assert!(!run.owes(true));
        }
    }
}
