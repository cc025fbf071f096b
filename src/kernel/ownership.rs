//! Whose run it is: who may arm, wake, take, move or bind one. Tables like the decision's, since
//! a way to lose a run is a way out. What an agent asks for never loosens what holds an agent.

use super::ledger::{By, Run, State};
use super::moment::Moment;

/// Somebody who wants a session held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'a> {
    /// The session that is to be held.
    pub session: &'a str,
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
    /// Of another epic, and kept where no one step can end it and begin the next.
    Apart(&'a Run),
}

impl<'a> Own<'a> {
    pub fn run(self) -> &'a Run {
        match self {
            Own::OfThisEpic(run) | Own::OfAnother(run) | Own::Apart(run) => run,
        }
    }
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
    /// An agent would take another session's run, or hold another session.
    NotAnAgents,
    /// An agent would begin again what was ended in its session.
    Again,
    /// An agent would go on with what a person paused.
    PausedByPerson,
    /// The session has a run of its own already.
    HasOne,
    LiveElsewhere,
}

/// What becomes of a wish. A new run or one that is taken over replaces the session's own.
pub fn settle(
    asker: &Asker<'_>,
    holdings: &Holdings<'_>,
    now: Moment,
) -> Result<Disposition, Refused> {
    let is_active = |run: &Run| run.state == State::Active;
    let is_own_session = asker.inside == Some(asker.session);
    // A session's hook has that session's environment; with another's a shell has called it.
    let is_hook = asker.how != How::ByHand;
    if is_hook && asker.inside.is_some() && !is_own_session {
        return Err(Refused::NotAnAgents);
    }
    match (holdings.own, holdings.elsewhere, asker.how) {
        (Some(Own::OfThisEpic(_)), _, _) if asker.by == By::Agent => Ok(Disposition::Show),
        (_, _, _) if asker.by == By::Agent && !is_own_session => Err(Refused::NotAnAgents),
        (Some(Own::OfThisEpic(_)), _, _) => Ok(Disposition::Wake),
        (Some(Own::OfAnother(_)), _, _) if !asker.replace => Err(Refused::SecondEpic),
        (Some(Own::Apart(_)), _, _) => Err(Refused::SecondEpic),
        (Some(Own::OfAnother(run)), _, _) if asker.by == By::Agent && run.is_paused_by_person() => {
            Err(Refused::PausedByPerson)
        }
        (_, _, How::AtStop) if holdings.had_it => Err(Refused::NotThisSession),
        (_, Some(run), How::AtStop) if is_active(run) || run.is_paused_by_person() => {
            Err(Refused::NotThisSession)
        }
        // Otherwise no limit would be one: the next run starts counting from nothing.
        (_, None, _) if asker.by == By::Agent && holdings.had_it => Err(Refused::Again),
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

/// Whether somebody may move a run, by force, to the session of `asker`, which has `own`.
pub fn may_adopt(run: &Run, asker: &Asker<'_>, own: Option<&Run>) -> Result<(), Refused> {
    if run.session != asker.session {
        may_leave(run, asker.inside, asker.by)?;
    } else if asker.by == By::Agent {
        // It would move nothing, but start what was counted in a row anew.
        return Err(Refused::NotAnAgents);
    }
    match own {
        Some(own) if own.id != run.id && !own.is_over() => Err(Refused::HasOne),
        Some(_) | None => Ok(()),
    }
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

/// A session that is seen with a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    pub session: &'a str,
    /// The session whose environment the hook has.
    pub inside: Option<&'a str>,
}

/// Whose a launch is. `bound` is the session that was first seen with it.
pub fn launched(run: &Run, seen: Seen<'_>, bound: Option<&str>, now: Moment) -> Launch {
    let session = seen.session;
    match bound {
        _ if run.is_over() => Launch::Over,
        // No session's own hook: somebody inside of another one has called it.
        None if seen.inside.is_some_and(|inside| inside != session) => Launch::Child,
        Some(bound) if bound != session => Launch::Child,
        Some(_) => Launch::Owner,
        // It is somebody's, called yet or not: a driver lets a run wait before it launches anybody.
        None if run.session != session && (!run.is_free(now) || run.is_paused_by_person()) => {
            Launch::Child
        }
        None => Launch::Owner,
    }
}
