//! A run, and what one event leaves for the next: counters, streaks, the turn and its prompt,
//! the roster, and the fingerprints by which progress is told from going to and fro.

mod fingerprint;
mod outcome;
mod turn;

use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

use super::moment::Moment;
use super::ownership::Refused;
use super::policy::Policy;
use super::snapshot::Change;
use super::task::{Claim, Epic, EpicTask, Stage, TaskId};
use super::verdict::Row;
pub use fingerprint::Fingerprint;
pub use outcome::{Outcome, State};
pub use turn::{Asked, Prompt, PromptId, PromptKind, Turn};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: String,
    pub epic: TaskId,
    /// The agent's own id of the conversation that is held.
    pub session: String,
    /// The name under which this run's agent claims tasks.
    pub actor: String,
    pub state: State,
    /// Why it waits, or how it ended.
    pub outcome: Option<Outcome>,
    pub policy: Policy,
    /// The constant prompt, rendered once.
    pub prompt: String,
    pub territory: Territory,
    pub started_at: Moment,
    pub last_event_at: Moment,
    pub counters: Counters,
    pub streak: Option<Streak>,
    /// Every fingerprint of the work that this run has been seen in.
    pub seen: Vec<u128>,
    /// Nothing until the tracker has answered for the first time.
    pub roster: Option<Vec<Member>>,
    /// Tasks whose absence was reported and that nobody has accepted yet.
    pub missing: Vec<TaskId>,
    /// Tasks whose absence was accepted; whoever reads that all is complete should know of them.
    pub given_up: BTreeSet<TaskId>,
    pub turn: Turn,
    /// Tasks that somebody took while this run's agent was at work: in all likelihood the agent.
    pub taken: BTreeSet<TaskId>,
    /// Background work that the agent has been let go for.
    pub background: BTreeSet<String>,
    /// Fingerprints of the prompts that the agent has scheduled for itself.
    pub scheduled: BTreeSet<String>,
    /// A hook reports the prompts of its session.
    pub hears_prompts: bool,
    pub told: Told,
}

/// Paths, relative to the work tree, that the run's own machinery writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Territory {
    /// Never unsaved work: a file; a folder, if it ends with a slash; all that begins so, if it
    /// ends with a star.
    pub not_work: Vec<String>,
    /// The tracker, where it is a file. It must be saved if git tracks it, but its bytes are no
    /// progress: the tasks' states already say what moved.
    pub tracker_file: Option<String>,
}

impl Territory {
    pub fn is_work(&self, change: &Change) -> bool {
        let is_own = |own: &String| match (own.strip_suffix('/'), own.strip_suffix('*')) {
            (Some(folder), _) => change
                .path
                .strip_prefix(folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            (None, Some(beginning)) => change.path.starts_with(beginning),
            (None, None) => change.path == *own,
        };
        let is_untracked_tracker = change.is_untracked && self.is_tracker(change);
        !is_untracked_tracker && !self.not_work.iter().any(is_own)
    }

    fn is_tracker(&self, change: &Change) -> bool {
        self.tracker_file.as_deref() == Some(change.path.as_str())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Stops of any kind.
    pub stops: u32,
    /// Stops that were judged.
    pub cycles: u32,
    /// Blocks since the work last moved.
    pub blocks_idle: u32,
    /// Blocks in all.
    pub blocks: u32,
    /// Turns that ended although their last stop was blocked: by the person, or by the agent's
    /// own cap on blocks.
    pub turns_cut: u32,
}

/// Consecutive judged stops that one rule decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    pub rule: Rule,
    pub length: u32,
}

/// A row, or the part of one that counts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub row: Row,
    /// Only new files were left to save.
    pub only_new_files: bool,
}

/// One task of the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: TaskId,
    /// As last read.
    pub is_closed: bool,
    /// An epic without children when it was first read: it may yet be planned, and then is no
    /// task any more. Work that turns itself into an epic has no such excuse.
    pub is_epic: bool,
}

/// What the person has been told, and has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub switched_off: bool,
    /// Something happened where nobody could see it; the next event that can show a line does.
    pub is_owed: bool,
}

/// Who asks: the person, or the agent from inside the held session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Person,
    Agent,
}

impl Run {
    pub fn is_over(&self) -> bool {
        self.state == State::Ended
    }

    pub fn is_paused_by_person(&self) -> bool {
        self.state == State::Paused && self.outcome == Some(Outcome::Paused)
    }

    /// Whether any hook of the session has fired for this run.
    pub fn is_called(&self) -> bool {
        self.counters.stops > 0 || self.turn.prompt.is_some()
    }

    /// Whether nobody would be robbed if another session took the run.
    pub fn is_free(&self, now: Moment) -> bool {
        let quiet = now.millis_since(self.last_event_at);
        match self.state {
            State::Waiting | State::Stale | State::Paused => true,
            State::Active => quiet > self.policy.stale_after_millis(),
            State::Ended => false,
        }
    }

    /// The run is held again. Whatever was counted in a row starts anew; totals do not.
    pub fn wake(&mut self, now: Moment) {
        if self.is_over() {
            return;
        }
        self.state = State::Active;
        self.outcome = None;
        self.streak = None;
        self.counters.blocks_idle = 0;
        self.last_event_at = now;
        self.turn = self.turn.next(now, None);
    }

    /// Somebody holds the run again from outside of its session. An agent may not undo what a
    /// person stopped.
    pub fn resume(&mut self, by: By, now: Moment) -> Result<(), Refused> {
        match by {
            By::Agent if self.is_paused_by_person() => return Err(Refused::PausedByPerson),
            By::Agent if self.state == State::Active || self.is_over() => {}
            By::Agent => {
                // No agent starts anew what is counted against it in a row.
                let (streak, idle) = (self.streak, self.counters.blocks_idle);
                self.wake(now);
                self.streak = streak;
                self.counters.blocks_idle = idle;
            }
            By::Person => {
                self.wake(now);
                self.accept_scope();
                self.note_told();
            }
        }
        Ok(())
    }

    /// The run moves to another session, under the name that its agent claims tasks by.
    pub fn move_to(&mut self, session: &str, actor: &str, now: Moment) {
        self.move_into(session);
        actor.clone_into(&mut self.actor);
        self.wake(now);
        self.note_told();
    }

    /// What one session's hooks report says nothing of another's.
    fn move_into(&mut self, session: &str) {
        if session != self.session {
            session.clone_into(&mut self.session);
            self.hears_prompts = false;
        }
    }

    /// A person has seen that tasks are gone from the epic, and goes on.
    pub fn accept_scope(&mut self) {
        // Only what was reported: whatever vanishes after this was not seen by anybody.
        let missing = std::mem::take(&mut self.missing);
        if let Some(roster) = &mut self.roster {
            roster.retain(|member| !missing.contains(&member.id));
        }
        self.given_up.extend(missing);
    }

    /// A prompt begins a turn. One that somebody typed wakes a waiting run, and a person who
    /// types at the screen has seen what was reported of the scope.
    pub fn prompted(&mut self, asked: Asked, now: Moment) {
        self.hears_prompts = true;
        let is_typed = asked.kind.is_typed();
        let woke = is_typed && self.state == State::Waiting;
        if self.state == State::Active && self.is_of_this_turn(&asked) {
            if is_typed && asked.is_interactive {
                self.accept_scope();
            }
            self.last_event_at = now;
            return;
        }
        let is_opening = self.turn.prompt.is_none();
        let prompt = Prompt {
            id: asked.id,
            kind: asked.kind,
            // Whoever has just started or woken a run may take their time.
            quiet_before: if is_opening {
                0
            } else {
                now.millis_since(self.last_event_at)
            },
            woke,
            is_first: is_opening && self.counters.stops == 0,
            before: asked.before,
        };
        if woke {
            self.wake(now);
        }
        if self.state != State::Active {
            return;
        }
        if is_typed && asked.is_interactive {
            self.accept_scope();
        }
        self.begin_turn(Some(prompt), now);
    }

    /// Who really prompted: what the agent has scheduled for itself comes as a person's words would,
    /// and nobody has typed it.
    pub fn who_asked(&self, kind: PromptKind, words: &str) -> PromptKind {
        if self.scheduled.contains(words) {
            PromptKind::Machine
        } else {
            kind
        }
    }

    /// Words put in while the agent is at work: they steer the turn and begin none, so they are
    /// no conversation, and the turn was not cut.
    fn is_of_this_turn(&self, asked: &Asked) -> bool {
        let current = self.turn.prompt.as_ref().and_then(|it| it.id.as_ref());
        asked.id.is_some() && asked.id.as_ref() == current
    }

    pub fn begin_turn(&mut self, prompt: Option<Prompt>, now: Moment) {
        self.note_cut();
        self.turn = self.turn.next(now, prompt);
        self.last_event_at = now;
    }

    /// A new turn, or none at all, where the agent had been told to go on.
    pub fn note_cut(&mut self) {
        if self.turn.blocks > 0 {
            self.counters.turns_cut = self.counters.turns_cut.saturating_add(1);
            self.turn.blocks = 0;
        }
    }

    /// The session is over while the run was not.
    pub fn session_over(&mut self, now: Moment) {
        if self.state == State::Active {
            self.note_cut();
            self.state = State::Waiting;
            self.outcome = Some(Outcome::SessionOver);
            self.last_event_at = now;
            self.told.is_owed = true;
        }
    }

    pub fn pause(&mut self, by: By, now: Moment) {
        if self.is_over() || (by == By::Agent && self.is_paused_by_person()) {
            return;
        }
        self.state = State::Paused;
        self.outcome = Some(match by {
            By::Person => Outcome::Paused,
            By::Agent => Outcome::PausedByAgent,
        });
        self.told.is_owed = by == By::Agent;
        self.last_event_at = now;
    }

    pub fn abort(&mut self, by: By, now: Moment) {
        if self.is_over() {
            return;
        }
        self.state = State::Ended;
        self.outcome = Some(match by {
            By::Person => Outcome::Aborted,
            By::Agent => Outcome::Abandoned,
        });
        self.told.is_owed = by == By::Agent;
        self.last_event_at = now;
    }

    /// Another epic takes the session.
    pub fn replace(&mut self, by: By, now: Moment) {
        self.abort(by, now);
        if by == By::Person {
            self.outcome = Some(Outcome::Replaced);
        }
    }

    /// A driver's new launch takes the run for a session.
    pub fn launch(&mut self, session: &str, now: Moment) {
        self.move_into(session);
        if self.state != State::Active && !self.is_paused_by_person() {
            self.wake(now);
        }
    }

    /// The person has been shown what was owed.
    pub fn note_told(&mut self) {
        self.told.is_owed = false;
    }

    /// Whether its stops are let go as they come: not even a record is kept.
    pub fn is_at_rest(&self) -> bool {
        self.state != State::Active
    }

    /// Something happened unseen, and here is a screen to show it on.
    pub fn owes(&self, is_interactive: bool) -> bool {
        self.told.is_owed && is_interactive
    }

    /// Whether a prompt means anything to the run, or to the person who is owed a word about it.
    pub fn is_listening(&self) -> bool {
        match self.state {
            State::Active | State::Waiting => true,
            State::Stale | State::Paused | State::Ended => self.told.is_owed,
        }
    }

    /// Tasks of the roster that were not closed when last read and are no longer in the epic.
    pub fn missing_from(&self, epic: &Epic) -> Vec<TaskId> {
        let here: HashSet<&TaskId> = epic.tasks.iter().map(|task| &task.id).collect();
        self.roster
            .iter()
            .flatten()
            .filter(|member| !member.is_closed && !here.contains(&member.id))
            .filter(|member| !(member.is_epic && epic.containers.contains(&member.id)))
            .map(|member| member.id.clone())
            .collect()
    }

    /// Whether `claim` on `task` belongs to another worker who is alive.
    pub fn is_held_by_other(&self, task: &TaskId, claim: &Claim, now: Moment) -> bool {
        let is_live = claim.lease_until.is_some_and(|until| until > now);
        is_live && !self.is_ours(task, claim)
    }

    /// Claimed by this run's agent, under its own name or another.
    pub fn is_ours(&self, task: &TaskId, claim: &Claim) -> bool {
        // Trackers keep whole seconds.
        let since_turn = Moment(self.turn.claims_since.0.div_euclid(1000) * 1000);
        claim.actor == self.actor
            || self.taken.contains(task)
            || claim.since.is_some_and(|since| since >= since_turn)
    }

    /// What a reading of the tasks leaves behind: the roster's states, and who took what.
    pub fn note_tasks(&mut self, epic: &Epic) {
        match &mut self.roster {
            None => self.roster = Some(roster_of(epic)),
            Some(roster) => {
                let is_closed = |task: &EpicTask| task.stage == Stage::Closed;
                let here: HashMap<&TaskId, bool> = epic
                    .tasks
                    .iter()
                    .map(|task| (&task.id, is_closed(task)))
                    .collect();
                for member in roster {
                    if let Some(is_closed) = here.get(&member.id) {
                        member.is_closed = *is_closed;
                    }
                }
            }
        }
        if !self.missing.is_empty() {
            self.missing.retain(|id| !epic.contains(id));
        }
        let taken = epic.tasks.iter().filter_map(|task| match &task.stage {
            Stage::InProgress(Some(claim)) => {
                self.is_ours(&task.id, claim).then(|| task.id.clone())
            }
            Stage::InProgress(None) | Stage::Closed | Stage::Ready | Stage::Stuck(_) => None,
        });
        self.taken = taken.collect();
    }
}

pub fn roster_of(epic: &Epic) -> Vec<Member> {
    let member = |task: &EpicTask| Member {
        id: task.id.clone(),
        is_closed: task.stage == Stage::Closed,
        is_epic: task.is_epic,
    };
    epic.tasks.iter().map(member).collect()
}
