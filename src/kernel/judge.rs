//! What do the facts say? The decision table, row by row.
//! Limits are none of its business; see `brake`.

use super::ledger::{Fingerprint, Prompt, PromptKind, Rule, Run, State};
use super::policy::{OnUserPrompt, Policy, WhenUnknown};
use super::signal::Words;
use super::snapshot::{Change, Fault, Git, Reading, Sensor, Snapshot, WorkTree};
use super::task::{Claim, Epic, Stage, TaskId};
use super::verdict::{Allow, Answer, Block, Need, Ready, Row, Ruling, SavedWork, Stuck, Unsaved};

/// How often in a row an unknown answer may hold, and unsaved work a checkpoint.
pub const HOLDS_IN_A_ROW_MAX: u32 = 2;

/// How many ids a contested count names.
const CONTESTED_NAMED_MAX: usize = 3;

/// What the facts say. A sensor that is wanted and was not read counts as one that failed.
pub fn judge(snapshot: &Snapshot, policy: &Policy) -> Ruling {
    let unread = match walk(snapshot, policy) {
        Ok(ruling) => {
            let is_proven = match ruling.answer {
                Answer::Allow(_) => snapshot.unproven().is_empty(),
                Answer::Block(_) => true,
            };
            if is_proven {
                return ruling;
            }
            snapshot.unproven()
        }
        Err(unread) => unread,
    };
    let mut blind = snapshot.clone();
    for sensor in unread {
        blind.mark_unread_as_failed(sensor);
    }
    // Each call settles at least one sensor for good, so this ends.
    judge(&blind, policy)
}

/// Whether this stop finds the work in a state that the run has not seen before.
pub fn is_progress(snapshot: &Snapshot, run: &Run) -> bool {
    let prints = prints(snapshot, run);
    !prints.is_empty() && prints.iter().all(|print| !run.seen.contains(print))
}

/// By what progress is told at this stop; nothing if tracker or git could not be read. Where git
/// was read after a glance there are two of them: in odd repositories the readers differ, and
/// work that either of them has seen before has not moved.
pub(super) fn prints(snapshot: &Snapshot, run: &Run) -> Vec<u128> {
    let Some(print) = fingerprint(snapshot, run).progress() else {
        return Vec::new();
    };
    let glanced = glanced(snapshot, run).filter(|glanced| *glanced != print);
    [print].into_iter().chain(glanced).collect()
}

fn glanced(snapshot: &Snapshot, run: &Run) -> Option<u128> {
    let glance = snapshot.glance.as_ref()?;
    Fingerprint::at_a_glance(snapshot.known_epic(), glance, &run.territory).progress()
}

pub fn fingerprint(snapshot: &Snapshot, run: &Run) -> Fingerprint {
    let epic = snapshot.known_epic();
    match &snapshot.glance {
        Some(glance) if snapshot.git.is_unread() => {
            Fingerprint::at_a_glance(epic, glance, &run.territory)
        }
        Some(_) | None => Fingerprint::of(epic, snapshot.git.known(), &run.territory),
    }
}

/// Whether a stop of the turn that such a prompt begins may turn out to be talk: only then is it
/// worth looking at the work now.
pub fn may_be_conversation(policy: &Policy, kind: PromptKind, is_interactive: bool) -> bool {
    let is_question = match kind {
        PromptKind::Person | PromptKind::Command => true,
        PromptKind::RunTasks | PromptKind::Machine | PromptKind::Unreported => false,
    };
    is_question && is_interactive && policy.on_user_prompt == OnUserPrompt::Release
}

/// What differs from the baseline and is the agent's to save.
pub fn unsaved<'a>(snapshot: &'a Snapshot, run: &Run, tree: &'a WorkTree) -> Vec<&'a Change> {
    let baseline = snapshot.baseline.known();
    tree.changes
        .iter()
        .filter(|change| run.territory.is_work(change))
        .filter(|change| !baseline.is_some_and(|baseline| baseline.has(change)))
        .collect()
}

pub(super) type Decision = Result<Ruling, Vec<Sensor>>;

fn allow(row: Row, allow: Allow) -> Ruling {
    Ruling {
        row,
        answer: Answer::Allow(allow),
    }
}

fn block(row: Row, block: Block) -> Ruling {
    Ruling {
        row,
        answer: Answer::Block(block),
    }
}

/// The way through the table: the ruling, or the sensors that the next row to decide needs, all
/// at once. Rows 1 to 3 need no run; with one, the rest of the table follows.
pub(super) fn walk(snapshot: &Snapshot, policy: &Policy) -> Decision {
    if snapshot.is_disabled {
        let is_news = false;
        return Ok(allow(Row::Disabled, Allow::Disabled { is_news }));
    }
    if snapshot.stop.is_sub_agent {
        return Ok(allow(Row::Idle, Allow::Idle));
    }
    match &snapshot.run {
        Reading::Unread => Err(vec![Sensor::Run]),
        Reading::Known(None) => Ok(allow(Row::Idle, Allow::Idle)),
        Reading::Failed(fault) => Ok(allow(Row::Corrupt, Allow::Corrupt(fault.clone()))),
        Reading::Known(Some(run)) => Facts {
            snapshot,
            policy,
            run,
        }
        .decide(),
    }
}

/// A stop of a session that owns a run.
struct Facts<'a> {
    snapshot: &'a Snapshot,
    policy: &'a Policy,
    run: &'a Run,
}

impl Facts<'_> {
    fn decide(&self) -> Decision {
        match self.before_judging()? {
            Some(ruling) => Ok(ruling),
            None => match self.by_words()? {
                Some(ruling) => Ok(ruling),
                None => match self.by_tasks()? {
                    Some(ruling) => Ok(ruling),
                    None => self.by_git(),
                },
            },
        }
    }

    /// Rows 4 to 8.
    fn before_judging(&self) -> Result<Option<Ruling>, Vec<Sensor>> {
        let stop = &self.snapshot.stop;
        let ruling = match &self.snapshot.enabled {
            Reading::Unread => return Err(vec![Sensor::Enabled]),
            Reading::Known(false) => {
                let is_news = !self.run.told.switched_off;
                Some(allow(Row::SwitchedOff, Allow::Disabled { is_news }))
            }
            // A config that became unreadable changes nothing.
            Reading::Known(true) | Reading::Failed(_) => match self.run.state {
                State::Waiting | State::Stale | State::Paused | State::Ended => {
                    Some(allow(Row::Resting, Allow::Resting))
                }
                State::Active if self.is_stale() => Some(allow(Row::Stale, Allow::Stale)),
                State::Active if stop.is_planning => Some(allow(Row::Planning, Allow::Planning)),
                State::Active if self.is_conversation()? => {
                    Some(allow(Row::Conversation, Allow::Conversation))
                }
                State::Active => None,
            },
        };
        Ok(ruling)
    }

    fn is_stale(&self) -> bool {
        let limit = self.policy.stale_after_millis();
        let quiet = self.snapshot.now.millis_since(self.run.last_event_at);
        if self.run.counters.stops == 0 {
            return false;
        }
        match (&self.snapshot.stop.prompt, &self.run.turn.prompt) {
            // No id to tell turns apart by: age alone decides.
            (None, _) => quiet > limit,
            (Some(id), Some(prompt)) if prompt.id.as_ref() == Some(id) => {
                prompt.kind != PromptKind::Machine && !prompt.woke && prompt.quiet_before > limit
            }
            // The turn that `start` or a wake-up opened.
            (Some(_), None) => false,
            // Nobody reported this prompt; its first stop dates it.
            (Some(_), Some(_)) => quiet > limit,
        }
    }

    /// Row 8. Wants to see the work only if a person's question began this turn.
    fn is_conversation(&self) -> Result<bool, Vec<Sensor>> {
        let Some(prompt) = self.conversation_prompt() else {
            return Ok(false);
        };
        self.want_work(Sensor::Git)?;
        Ok(!fingerprint(self.snapshot, self.run).has_moved_since(&prompt.before))
    }

    fn conversation_prompt(&self) -> Option<&Prompt> {
        let prompt = self.run.turn.prompt.as_ref()?;
        let is_this_turn = prompt.id == self.snapshot.stop.prompt;
        let is_interactive = self.snapshot.stop.is_interactive;
        let may_talk = may_be_conversation(self.policy, prompt.kind, is_interactive);
        // Once a stop of this turn was judged, the agent has been at work: undoing it is no talk.
        let is_talk = is_this_turn && may_talk && !prompt.is_first && !self.run.turn.is_judged;
        is_talk.then_some(prompt)
    }

    /// Rows 9 and 10.
    fn by_words(&self) -> Result<Option<Ruling>, Vec<Sensor>> {
        let silence = Words::default();
        let words = match &self.snapshot.words {
            Reading::Unread => return Err(vec![Sensor::Words]),
            // An agent whose words cannot be read has said nothing.
            Reading::Failed(_) => &silence,
            Reading::Known(words) => words,
        };
        if let Some(escalation) = &words.escalation {
            let need = Need::Said {
                tag: escalation.tag.clone(),
                lines: escalation.lines.clone(),
            };
            return Ok(Some(allow(Row::Escalation, Allow::NeedsHuman(need))));
        }
        if words.is_checkpoint && self.policy.exits.context_checkpoint {
            return self.checkpoint().map(Some);
        }
        Ok(None)
    }

    /// Row 10.
    fn checkpoint(&self) -> Decision {
        if !self.policy.check_git {
            let git = SavedWork::Unchecked;
            return Ok(allow(Row::Checkpoint, Allow::Checkpoint { git }));
        }
        // The tasks too: whether there was progress since the last time decides how often to ask.
        self.want_work(Sensor::Git)?;
        let git = match self.git_answer()? {
            Err(fault) => SavedWork::Unknown(fault),
            Ok(None) => SavedWork::Saved,
            Ok(Some(tree)) => match self.tree_unsaved(tree) {
                None => SavedWork::Saved,
                Some(unsaved) if self.streak(Row::Checkpoint) < HOLDS_IN_A_ROW_MAX => {
                    return Ok(block(Row::Checkpoint, Block::UnsavedWork(unsaved)));
                }
                Some(unsaved) => SavedWork::Unsaved(unsaved.named()),
            },
        };
        Ok(allow(Row::Checkpoint, Allow::Checkpoint { git }))
    }

    /// Rows 11 to 18.
    fn by_tasks(&self) -> Result<Option<Ruling>, Vec<Sensor>> {
        self.want_work(Sensor::Glance)?;
        let epic = match (&self.snapshot.epic, self.snapshot.known_epic()) {
            (_, Some(epic)) => epic,
            (Reading::Failed(fault), None) => {
                return Ok(Some(self.unknown(Row::TrackerUnknown, fault.clone())));
            }
            (Reading::Unread | Reading::Known(_), None) => return Err(vec![Sensor::Tasks]),
        };
        let missing = self.run.missing_from(epic);
        let sorted = Sorted::of(epic, self.run, self.snapshot);
        let ruling = if !missing.is_empty() {
            Some(self.shrunk(missing))
        } else if epic.tasks.is_empty() {
            Some(allow(Row::Empty, Allow::Empty))
        } else if !sorted.ready.tasks.is_empty() && self.policy.check_ready_tasks {
            Some(self.open_work(sorted.ready)?)
        } else if !sorted.in_progress.is_empty() && self.policy.check_in_progress {
            let tasks = sorted.in_progress;
            let stuck = sorted.ownerless;
            Some(block(Row::InProgress, Block::InProgress { tasks, stuck }))
        } else if sorted.is_quiet() && sorted.rest.is_empty() {
            None
        } else if sorted.is_quiet() && epic.knot.is_empty() {
            Some(self.all_blocked(sorted.rest))
        } else if sorted.is_quiet() {
            let knot = epic.knot.clone();
            Some(allow(Row::Deadlocked, Allow::Deadlocked(knot)))
        } else {
            let unchecked = [sorted.ready.tasks, sorted.in_progress].concat();
            Some(allow(Row::Unchecked, Allow::Unchecked(unchecked)))
        };
        Ok(ruling)
    }

    /// Row 12.
    fn shrunk(&self, missing: Vec<TaskId>) -> Ruling {
        if self.streak(Row::ScopeShrunk) == 0 {
            block(Row::ScopeShrunk, Block::ScopeShrunk(missing))
        } else {
            let need = Need::Shrunk(missing);
            allow(Row::ScopeShrunk, Allow::NeedsHuman(need))
        }
    }

    /// Row 14.
    fn open_work(&self, ready: Ready) -> Decision {
        let claim = self.snapshot.words.known().and_then(|w| w.claim.as_ref());
        if claim.is_none() {
            return Ok(block(Row::Ready, Block::OpenWork(ready)));
        }
        // That no list of work names an epic contradicts nobody.
        let is_listed = |id: &&TaskId| !ready.epics.contains(id);
        let listed: Vec<&TaskId> = ready.tasks.iter().filter(is_listed).collect();
        if listed.is_empty() {
            return Ok(block(Row::Ready, Block::FalsePromise(ready)));
        }
        match &self.snapshot.own_ready {
            Reading::Unread => Err(vec![Sensor::OwnReady]),
            // What is remembered may be what is wrong.
            Reading::Known(Some(own)) if own.is_empty() && self.snapshot.rests_on_memory() => {
                Err(vec![Sensor::Tasks])
            }
            Reading::Known(Some(own)) if own.is_empty() => {
                Ok(self.unknown(Row::TrackerUnknown, contested(&listed)))
            }
            // A tracker that cannot confirm our count has not contradicted it either.
            Reading::Known(_) | Reading::Failed(_) => {
                Ok(block(Row::Ready, Block::FalsePromise(ready)))
            }
        }
    }

    /// Row 16.
    fn all_blocked(&self, rest: Vec<(TaskId, Stuck)>) -> Ruling {
        if self.policy.exits.all_blocked {
            allow(Row::AllBlocked, Allow::NeedsHuman(Need::Blocked(rest)))
        } else {
            let ids = rest.into_iter().map(|(id, _)| id).collect();
            block(Row::AllBlocked, Block::BlockedWork(ids))
        }
    }

    /// Rows 19, 20 and 22. The gates' row 21 belongs between the last two.
    fn by_git(&self) -> Decision {
        let mut new_files = Vec::new();
        if self.policy.check_git {
            match self.git_answer()? {
                Err(fault) => return Ok(self.unknown(Row::GitUnknown, fault)),
                Ok(None) => {}
                Ok(Some(tree)) => match self.left_in(tree)? {
                    Err(ruling) => return Ok(ruling),
                    Ok(left) => new_files = left,
                },
            }
        }
        Ok(allow(Row::Complete, Allow::Complete { new_files }))
    }

    /// The new files that may stay; else row 20, or 19 where branches are unknown.
    fn left_in(&self, tree: &WorkTree) -> Result<Result<Vec<String>, Ruling>, Vec<Sensor>> {
        let refuse = |unsaved| Err(block(Row::Unsaved, Block::UnsavedWork(unsaved)));
        let left = self.tree_unsaved(tree);
        if let Some(unsaved @ (Unsaved::Unfinished(_) | Unsaved::Changed(_))) = left {
            return Ok(refuse(unsaved));
        }
        match &self.snapshot.branches {
            Reading::Unread => return Err(vec![Sensor::Branches]),
            Reading::Failed(fault) => {
                return Ok(Err(self.unknown(Row::GitUnknown, fault.clone())));
            }
            Reading::Known(branches) if !branches.is_empty() => {
                return Ok(refuse(Unsaved::Branches(branches.clone())));
            }
            Reading::Known(_) => {}
        }
        Ok(match left {
            Some(unsaved) if self.streak_of_new_files() == 0 => refuse(unsaved),
            // Asked for once; the agent knows of them and leaves them.
            Some(unsaved) => Ok(unsaved.named()),
            None => Ok(Vec::new()),
        })
    }

    /// The tree, or none where there never was anything to save in; a fault if that cannot be told.
    fn git_answer(&self) -> Result<Result<Option<&WorkTree>, Fault>, Vec<Sensor>> {
        let git = match &self.snapshot.git {
            Reading::Unread => return Err(vec![Sensor::Git]),
            Reading::Failed(fault) => return Ok(Err(fault.clone())),
            Reading::Known(git) => git,
        };
        Ok(match &self.snapshot.baseline {
            Reading::Failed(fault) => Err(fault.clone()),
            // Without it the person's own changes would be asked for, and nobody knows whether
            // there was anything to save in.
            Reading::Unread => Err(Fault::unread(Sensor::Baseline)),
            Reading::Known(baseline) => match (baseline.lost_footing(git), git) {
                (Some(what), _) => Err(Fault::new(Sensor::Git, what)),
                (None, Git::NoRepository | Git::NoWorkTree) => Ok(None),
                (None, Git::Tree(tree)) => Ok(Some(tree)),
            },
        })
    }

    fn tree_unsaved(&self, tree: &WorkTree) -> Option<Unsaved> {
        let baseline = self.snapshot.baseline.known();
        let theirs = baseline.and_then(|baseline| baseline.unfinished.as_ref());
        if let Some(operation) = tree.unfinished.as_ref().filter(|it| theirs != Some(*it)) {
            return Some(Unsaved::Unfinished(operation.clone()));
        }
        let unsaved = unsaved(self.snapshot, self.run, tree);
        let paths = |is_untracked: bool| -> Vec<String> {
            unsaved
                .iter()
                .filter(|change| change.is_untracked == is_untracked)
                .map(|change| change.path.clone())
                .collect()
        };
        let (tracked, new) = (paths(false), paths(true));
        match (tracked.is_empty(), new.is_empty()) {
            (false, _) => Some(Unsaved::Changed([tracked, new].concat())),
            (true, false) => Some(Unsaved::New(new)),
            (true, true) => None,
        }
    }

    /// Rows 11 and 19.
    fn unknown(&self, row: Row, fault: Fault) -> Ruling {
        match self.policy.when_unknown {
            WhenUnknown::Allow => allow(row, Allow::Unknown(fault)),
            WhenUnknown::Hold if self.streak(row) < HOLDS_IN_A_ROW_MAX => {
                block(row, Block::Unknown(fault))
            }
            WhenUnknown::Hold => allow(row, Allow::Unknown(fault)),
        }
    }

    /// How many judged stops in a row a row has decided, this one not counted.
    fn streak(&self, row: Row) -> u32 {
        self.streak_by(|rule| rule.row == row)
    }

    fn streak_of_new_files(&self) -> u32 {
        self.streak_by(|rule| rule.only_new_files)
    }

    fn streak_by(&self, applies: impl Fn(Rule) -> bool) -> u32 {
        match self.run.streak {
            Some(streak) if applies(streak.rule) && !is_progress(self.snapshot, self.run) => {
                streak.length
            }
            Some(_) | None => 0,
        }
    }

    /// Tasks and work tree, both at once; the tasks from memory, where there is one, and the work
    /// tree as exactly as `git` says.
    fn want_work(&self, git: Sensor) -> Result<(), Vec<Sensor>> {
        let snapshot = self.snapshot;
        if snapshot.epic.is_unread() && snapshot.remembered.is_unread() {
            return Err(vec![Sensor::Remembered]);
        }
        let mut unread = Vec::new();
        if snapshot.epic.is_unread() && !snapshot.rests_on_memory() {
            unread.push(Sensor::Tasks);
        }
        if snapshot.is_unread(git) {
            unread.push(git);
        }
        if unread.is_empty() {
            Ok(())
        } else {
            Err(unread)
        }
    }
}

/// The agent says that it is done, the tracker itself calls nothing ready, and we count work.
fn contested(ready: &[&TaskId]) -> Fault {
    let named = ready.iter().take(CONTESTED_NAMED_MAX);
    let ids: Vec<&str> = named.map(|id| id.as_str()).collect();
    let what = format!(
        "asked what is ready it names nothing, yet by its own list {} can be worked on ({})",
        ready.len(),
        ids.join(", ")
    );
    Fault::new(Sensor::OwnReady, what)
}

impl Unsaved {
    /// Paths or branches, or the name of what is unfinished.
    pub fn named(&self) -> Vec<String> {
        match self {
            Unsaved::Unfinished(operation) => vec![operation.clone()],
            Unsaved::Changed(names) | Unsaved::New(names) | Unsaved::Branches(names) => {
                names.clone()
            }
        }
    }
}

/// The epic's remaining tasks, sorted by whose move it is.
struct Sorted {
    ready: Ready,
    in_progress: Vec<TaskId>,
    /// Those in progress without a live owner.
    ownerless: Vec<TaskId>,
    rest: Vec<(TaskId, Stuck)>,
}

impl Sorted {
    fn of(epic: &Epic, run: &Run, snapshot: &Snapshot) -> Sorted {
        let mut sorted = Sorted {
            ready: Ready::default(),
            in_progress: Vec::new(),
            ownerless: Vec::new(),
            rest: Vec::new(),
        };
        for task in &epic.tasks {
            let id = || task.id.clone();
            match &task.stage {
                Stage::Closed => {}
                Stage::Ready => {
                    sorted.ready.tasks.push(id());
                    if task.is_epic {
                        sorted.ready.epics.push(id());
                    }
                }
                Stage::InProgress(Some(claim))
                    if run.is_held_by_other(&task.id, claim, snapshot.now) =>
                {
                    let holder = Stuck::HeldBy(claim.actor.clone());
                    sorted.rest.push((id(), holder));
                }
                Stage::InProgress(claim) => {
                    sorted.in_progress.push(id());
                    // The agent at this stop is alive by definition.
                    let is_ours = |claim: &Claim| run.is_ours(&task.id, claim);
                    if !claim.as_ref().is_some_and(is_ours) {
                        sorted.ownerless.push(id());
                    }
                }
                Stage::Stuck(cause) => sorted.rest.push((id(), Stuck::Cause(cause.clone()))),
            }
        }
        sorted
    }

    /// Nothing is ready or in progress.
    fn is_quiet(&self) -> bool {
        self.ready.tasks.is_empty() && self.in_progress.is_empty()
    }
}
