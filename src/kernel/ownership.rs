//! Whose run it is: who may arm, wake, take, move or bind one. Tables like the decision's, since
//! a way to lose a run is a way out. What an agent asks for never loosens what holds an agent.

use super::ledger::{By, Run, State};
use super::moment::Moment;

/// Somebody who wants a session held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'a> {
    /// The session that an agent asks from, whichever is to be held.
    pub inside: Option<&'a str>,
    pub by: By,
    pub how: How,
    /// A run of another epic in the same session gives way.
    pub replace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `start`.
    ByHand,
    /// `/run-tasks` typed into the session.
    Typed,
    /// `hook stop --epic`: at the session's first stop.
    AtStop,
}

/// The runs that a wish meets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Holdings<'a> {
    /// The session's own run that is not over.
    pub own: Option<Own<'a>>,
    /// The epic's run that is not over, in another session.
    pub elsewhere: Option<&'a Run>,
    /// The session had a run of the epic at any time.
    pub had_it: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    OfThisEpic(&'a Run),
    OfAnother(&'a Run),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    New,
    /// The session's own run is held again, under today's policy.
    Wake,
    /// Asked by an agent: nothing changes.
    Show,
    /// The run moves here from another session, under today's policy.
    TakeOver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The session holds another epic.
    SecondEpic,
    /// Nothing to arm at this stop: the session had its run, or another one has it.
    NotThisSession,
    /// A held session would give its own run away.
    GivenAway,
    /// An agent would take another session's run.
    NotAnAgents,
    LiveElsewhere,
}

/// What becomes of a wish. A new run or one that is taken over replaces the session's own.
pub fn settle(
    asker: &Asker<'_>,
    holdings: &Holdings<'_>,
    now: Moment,
) -> Result<Disposition, Refused> {
    let is_active = |run: &Run| run.state == State::Active;
    match (holdings.own, holdings.elsewhere, asker.how) {
        (Some(Own::OfThisEpic(_)), _, _) if asker.by == By::Agent => Ok(Disposition::Show),
        (Some(Own::OfThisEpic(_)), _, _) => Ok(Disposition::Wake),
        (Some(Own::OfAnother(_)), _, _) if !asker.replace => Err(Refused::SecondEpic),
        (_, _, How::AtStop) if holdings.had_it => Err(Refused::NotThisSession),
        (_, Some(run), How::AtStop) if is_active(run) => Err(Refused::NotThisSession),
        (_, None, _) => Ok(Disposition::New),
        (_, Some(run), _) => {
            may_leave(run, asker.inside, asker.by)?;
            if run.is_free(now) {
                Ok(Disposition::TakeOver)
            } else {
                Err(Refused::LiveElsewhere)
            }
        }
    }
}

/// Whether somebody may move a run, by force, to `session`.
pub fn may_adopt(run: &Run, session: &str, inside: Option<&str>, by: By) -> Result<(), Refused> {
    if run.session == session {
        return Ok(());
    }
    may_leave(run, inside, by)
}

/// Whether a run may leave its session: a person may move it, an agent may not.
fn may_leave(run: &Run, inside: Option<&str>, by: By) -> Result<(), Refused> {
    match (inside, by) {
        (Some(inside), _) if inside == run.session => Err(Refused::GivenAway),
        (_, By::Agent) => Err(Refused::NotAnAgents),
        (_, By::Person) => Ok(()),
    }
}

/// What a launch makes of the session that is seen with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// The session has the run, from now on or as before.
    Owner,
    /// It inherited the environment from the session that has it.
    Child,
    /// The run is over: nothing is left to hold anybody with.
    Over,
}

/// Whose a launch is. `bound` is the session that was first seen with it.
pub fn launched(run: &Run, session: &str, bound: Option<&str>, now: Moment) -> Launch {
    match bound {
        _ if run.is_over() => Launch::Over,
        Some(bound) if bound != session => Launch::Child,
        Some(_) => Launch::Owner,
        // The owner itself is at work; whoever else has the value is its child.
        None if run.session != session && run.is_at_work(now) => Launch::Child,
        None => Launch::Owner,
    }
}
