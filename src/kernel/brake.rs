//! What the limits make of a ruling, and the run to keep. A brake only ever turns a block into an
//! allow, so that no limit can hold anybody, nor hide that the work is complete.

use std::collections::BTreeSet;

use super::judge::{is_progress, judge, prints};
use super::ledger::{Fingerprint, Outcome, Prompt, PromptKind, Rule, Run, State, Streak};
use super::policy::Policy;
use super::snapshot::{Background, Snapshot};
use super::verdict::{After, Allow, Answer, Block, Brake, Row, Ruling, Unsaved, Verdict};

/// How many of the agent's own prompts are remembered.
const SCHEDULED_MAX: usize = 100;

/// The verdict on a stop, under the policy that its run was started with.
pub fn decide(snapshot: &Snapshot) -> Verdict {
    let policy = snapshot.policy();
    brake(judge(snapshot, &policy), snapshot, &policy)
}

/// Applies the limits to what the facts say.
pub fn brake(ruling: Ruling, snapshot: &Snapshot, policy: &Policy) -> Verdict {
    let owned = snapshot.run.known().and_then(Option::as_ref);
    // A stop that is nobody's, or that may not count, leaves no trace in a run.
    let Some(run) = owned.filter(|_| ruling.row > Row::Corrupt) else {
        return Verdict {
            row: ruling.row,
            brake: None,
            answer: ruling.answer,
            run: None,
        };
    };
    let mut run = run.clone();
    note_stop(&mut run, snapshot, &ruling);
    if ruling.row.is_judged() {
        note_cycle(&mut run, snapshot, rule_of(&ruling));
    }
    let (answer, brake) = match ruling.answer {
        Answer::Block(block) => applied(block, &run, snapshot, policy),
        Answer::Allow(_) => (ruling.answer, None),
    };
    keep(&mut run, &answer, snapshot);
    Verdict {
        row: ruling.row,
        brake,
        answer,
        run: Some(run),
    }
}

/// The brakes, in order of precedence.
fn applied(
    block: Block,
    run: &Run,
    snapshot: &Snapshot,
    policy: &Policy,
) -> (Answer, Option<Brake>) {
    let background = fresh_background(run, snapshot);
    if run.counters.cycles > policy.max_cycles {
        (Answer::Allow(Allow::MaxCycles), Some(Brake::MaxCycles))
    } else if run.counters.blocks_idle >= policy.no_progress_cycles {
        (Answer::Allow(Allow::NoProgress), Some(Brake::NoProgress))
    } else if nothing_is_ready(snapshot) && !background.is_empty() {
        let labels = background.iter().map(|work| work.label.clone()).collect();
        let answer = Answer::Allow(Allow::Background(labels));
        (answer, Some(Brake::Background))
    } else {
        (Answer::Block(block), None)
    }
}

fn nothing_is_ready(snapshot: &Snapshot) -> bool {
    snapshot
        .known_epic()
        .is_some_and(|epic| epic.ready().next().is_none())
}

/// Background work that this run has not let its agent go for yet.
fn fresh_background<'a>(run: &Run, snapshot: &'a Snapshot) -> Vec<&'a Background> {
    let stop = &snapshot.stop;
    let is_fresh = |work: &&Background| !run.background.contains(&work.id);
    if stop.is_interactive {
        stop.background.iter().filter(is_fresh).collect()
    } else {
        Vec::new()
    }
}

fn rule_of(ruling: &Ruling) -> Rule {
    let only_new_files = ruling.row == Row::Unsaved
        && matches!(
            ruling.answer,
            Answer::Block(Block::UnsavedWork(Unsaved::New(_)))
        );
    Rule {
        row: ruling.row,
        only_new_files,
    }
}

/// What every stop of the run leaves behind, judged or not.
fn note_stop(run: &mut Run, snapshot: &Snapshot, ruling: &Ruling) {
    run.counters.stops = run.counters.stops.saturating_add(1);
    let is_switched_off = ruling.row == Row::SwitchedOff;
    if is_switched_off && !run.told.switched_off && run.state == State::Active {
        // An agent that called its own hook would be the only one to have read it.
        run.told.is_owed = true;
    }
    run.told.switched_off = is_switched_off;
    note_schedule(run, snapshot);
    if run.state != State::Active {
        return;
    }
    let is_reported = match (&snapshot.stop.prompt, &run.turn.prompt) {
        (Some(id), Some(prompt)) => prompt.id.as_ref() == Some(id),
        (Some(_), None) => false,
        (None, _) => true,
    };
    if !is_reported {
        let prompt = unreported_prompt(run, snapshot);
        match run.turn.prompt {
            // The turn that `start` or a wake-up opened is this one.
            None => run.turn.prompt = Some(prompt),
            Some(_) => run.begin_turn(Some(prompt), run.last_event_at),
        }
    }
    run.last_event_at = snapshot.now;
}

fn note_schedule(run: &mut Run, snapshot: &Snapshot) {
    for words in &snapshot.stop.scheduled {
        if run.scheduled.len() < SCHEDULED_MAX {
            run.scheduled.insert(words.clone());
        }
    }
}

/// A prompt that nobody reported, dated by its first stop.
fn unreported_prompt(run: &Run, snapshot: &Snapshot) -> Prompt {
    let is_opening = run.turn.prompt.is_none();
    Prompt {
        id: snapshot.stop.prompt.clone(),
        kind: PromptKind::Unreported,
        quiet_before: if is_opening {
            0
        } else {
            snapshot.now.millis_since(run.last_event_at)
        },
        woke: false,
        is_first: run.counters.stops == 1,
        before: Fingerprint::default(),
    }
}

/// What a judged stop leaves behind, whatever the answer.
fn note_cycle(run: &mut Run, snapshot: &Snapshot, rule: Rule) {
    let has_moved = is_progress(snapshot, run);
    run.counters.cycles = run.counters.cycles.saturating_add(1);
    run.turn.is_judged = true;
    if has_moved {
        run.counters.blocks_idle = 0;
        run.streak = None;
        run.seen.extend(prints(snapshot, run));
    }
    run.streak = Some(match run.streak {
        Some(streak) if streak.rule == rule => Streak {
            rule,
            length: streak.length.saturating_add(1),
        },
        Some(_) | None => Streak { rule, length: 1 },
    });
    if let Some(epic) = snapshot.known_epic() {
        run.note_tasks(epic);
        if rule.row == Row::ScopeShrunk {
            run.missing = run.missing_from(epic);
        }
    }
}

/// What the answer itself makes of the run.
fn keep(run: &mut Run, answer: &Answer, snapshot: &Snapshot) {
    match answer {
        Answer::Block(_) => {
            run.counters.blocks = run.counters.blocks.saturating_add(1);
            run.counters.blocks_idle = run.counters.blocks_idle.saturating_add(1);
            run.turn.blocks = run.turn.blocks.saturating_add(1);
        }
        Answer::Allow(allow) => {
            run.turn.blocks = 0;
            run.turn.is_settled = snapshot.known_epic().is_some();
            if let Allow::Background(_) = allow {
                let ids: BTreeSet<String> = snapshot
                    .stop
                    .background
                    .iter()
                    .map(|work| work.id.clone())
                    .collect();
                run.background.extend(ids);
            }
            let (state, outcome) = match allow.after() {
                After::AsItIs | After::GoesOn => (run.state, run.outcome),
                After::Waits(outcome) => (State::Waiting, Some(outcome)),
                After::Stale => (State::Stale, Some(Outcome::Stale)),
                After::Ends(outcome) => (State::Ended, Some(outcome)),
            };
            // A headless session shows nobody what it is told, and a line on a screen can be lost
            // with the hook that printed it, or swallowed by an agent that called the hook itself.
            // Whatever leaves work behind is said again, until a prompt or a session shows it.
            if state != run.state {
                let is_done = outcome == Some(Outcome::Complete);
                run.told.is_owed = !is_done || !snapshot.stop.is_interactive;
            }
            run.state = state;
            run.outcome = outcome;
        }
    }
}
