//! A run as it is kept: one JSON document with a version, checked when it is read. Adding a field
//! raises the database's format, so that an older program never writes a newer run back without it.

mod evidence;
mod site;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kernel::ledger::{
    Counters, Fingerprint, Member, Outcome, Prompt, PromptKind, Rule, Run, State, Streak,
    Territory, Told, Turn,
};
use crate::kernel::moment::Moment;
use crate::kernel::policy::{Exits, OnUserPrompt, Policy, WhenUnknown};
use crate::kernel::snapshot::{Baseline, Footing};
use crate::kernel::task::TaskId;
use crate::kernel::verdict::Row;
pub use evidence::{Evidence, Part, sensor_key};
pub use site::StoredSite;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "JSON has no better word for yes and no"
)]
pub struct StoredRun {
    id: String,
    epic: String,
    session: String,
    actor: String,
    state: String,
    outcome: Option<String>,
    policy: StoredPolicy,
    prompt: String,
    not_work: Vec<String>,
    tracker_file: Option<String>,
    started_at: i64,
    last_event_at: i64,
    counters: StoredCounters,
    streak: Option<StoredStreak>,
    seen: Vec<String>,
    missing: Vec<String>,
    given_up: Vec<String>,
    turn_claims_since: i64,
    turn_is_judged: bool,
    turn_blocks: u32,
    turn_is_settled: bool,
    turn_prompt: Option<StoredPrompt>,
    taken: Vec<String>,
    background: Vec<String>,
    scheduled: Vec<String>,
    hears_prompts: bool,
    told_switched_off: bool,
    tell_is_owed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "JSON has no better word for yes and no"
)]
struct StoredPolicy {
    check_ready_tasks: bool,
    check_in_progress: bool,
    check_git: bool,
    max_cycles: u32,
    no_progress_cycles: u32,
    stale_after_minutes: u32,
    hold_when_unknown: bool,
    hold_on_user_prompt: bool,
    exit_on_all_blocked: bool,
    exit_on_context_checkpoint: bool,
    completion_promises: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredCounters {
    stops: u32,
    cycles: u32,
    blocks_idle: u32,
    blocks: u32,
    turns_cut: u32,
}

/// A run's roster. It may have thousands of members, so no key is repeated for each.
#[derive(Serialize, Deserialize)]
pub struct StoredRoster<'a> {
    #[serde(borrow)]
    ids: Vec<Id<'a>>,
    /// Positions in `ids`.
    closed: Vec<u32>,
    epics: Vec<u32>,
}

/// Borrowed unless it holds escapes. (`Vec<Cow<str>>` alone never borrows.)
#[derive(Serialize, Deserialize)]
struct Id<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> StoredRoster<'a> {
    pub fn of(roster: &'a [Member]) -> StoredRoster<'a> {
        let positions = |applies: fn(&Member) -> bool| {
            let numbered = (0u32..).zip(roster);
            let chosen = numbered.filter(|(_, member)| applies(member));
            chosen.map(|(position, _)| position).collect()
        };
        let id = |member: &'a Member| Id(Cow::Borrowed(member.id.as_str()));
        StoredRoster {
            ids: roster.iter().map(id).collect(),
            closed: positions(|member| member.is_closed),
            epics: positions(|member| member.is_epic),
        }
    }

    pub fn members(self) -> Result<Vec<Member>, String> {
        let member = |id: Id<'_>| Member {
            id: TaskId::new(id.0),
            is_closed: false,
            is_epic: false,
        };
        let mut members: Vec<Member> = self.ids.into_iter().map(member).collect();
        let beyond = || "its roster contradicts itself".to_owned();
        for position in self.closed {
            let member = members.get_mut(position as usize).ok_or_else(beyond)?;
            member.is_closed = true;
        }
        for position in self.epics {
            let member = members.get_mut(position as usize).ok_or_else(beyond)?;
            member.is_epic = true;
        }
        Ok(members)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredStreak {
    row: u8,
    only_new_files: bool,
    length: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredPrompt {
    id: Option<String>,
    kind: String,
    quiet_before: i64,
    woke: bool,
    is_first: bool,
    tasks: Option<String>,
    head: Option<String>,
    tracked: Option<String>,
    untracked: Option<String>,
}

impl From<&Run> for StoredRun {
    fn from(run: &Run) -> Self {
        StoredRun {
            id: run.id.clone(),
            epic: run.epic.to_string(),
            session: run.session.clone(),
            actor: run.actor.clone(),
            state: run.state.name().to_owned(),
            outcome: run.outcome.map(|outcome| outcome.name().to_owned()),
            policy: StoredPolicy::from(&run.policy),
            prompt: run.prompt.clone(),
            not_work: run.territory.not_work.clone(),
            tracker_file: run.territory.tracker_file.clone(),
            started_at: run.started_at.0,
            last_event_at: run.last_event_at.0,
            counters: StoredCounters {
                stops: run.counters.stops,
                cycles: run.counters.cycles,
                blocks_idle: run.counters.blocks_idle,
                blocks: run.counters.blocks,
                turns_cut: run.counters.turns_cut,
            },
            streak: run.streak.map(|streak| StoredStreak {
                row: streak.rule.row as u8,
                only_new_files: streak.rule.only_new_files,
                length: streak.length,
            }),
            seen: run.seen.iter().map(|print| hex(*print)).collect(),
            missing: run.missing.iter().map(TaskId::to_string).collect(),
            given_up: run.given_up.iter().map(TaskId::to_string).collect(),
            turn_claims_since: run.turn.claims_since.0,
            turn_is_judged: run.turn.is_judged,
            turn_blocks: run.turn.blocks,
            turn_is_settled: run.turn.is_settled,
            turn_prompt: run.turn.prompt.as_ref().map(StoredPrompt::from),
            taken: run.taken.iter().map(TaskId::to_string).collect(),
            background: run.background.iter().cloned().collect(),
            scheduled: run.scheduled.iter().cloned().collect(),
            hears_prompts: run.hears_prompts,
            told_switched_off: run.told.switched_off,
            tell_is_owed: run.told.is_owed,
        }
    }
}

impl TryFrom<StoredRun> for Run {
    type Error = String;

    fn try_from(stored: StoredRun) -> Result<Run, String> {
        let task = |id: String| TaskId::new(id);
        let state = named(&State::ALL, State::name, &stored.state)?;
        let outcome = match &stored.outcome {
            Some(name) => Some(named(&Outcome::ALL, Outcome::name, name)?),
            None => None,
        };
        let streak = match stored.streak {
            Some(streak) => Some(Streak {
                rule: Rule {
                    row: Row::from_number(streak.row).ok_or("an unknown row")?,
                    only_new_files: streak.only_new_files,
                },
                length: streak.length,
            }),
            None => None,
        };
        let counters = Counters {
            stops: stored.counters.stops,
            cycles: stored.counters.cycles,
            blocks_idle: stored.counters.blocks_idle,
            blocks: stored.counters.blocks,
            turns_cut: stored.counters.turns_cut,
        };
        if counters.cycles > counters.stops || counters.blocks > counters.cycles {
            return Err("its counters contradict each other".to_owned());
        }
        Ok(Run {
            id: stored.id,
            epic: task(stored.epic),
            session: stored.session,
            actor: stored.actor,
            state,
            outcome,
            policy: Policy::from(stored.policy),
            prompt: stored.prompt,
            territory: Territory {
                not_work: stored.not_work,
                tracker_file: stored.tracker_file,
            },
            started_at: Moment(stored.started_at),
            last_event_at: Moment(stored.last_event_at),
            counters,
            streak,
            seen: all(stored.seen, |print| unhex(&print))?,
            // Kept beside the document.
            roster: None,
            missing: stored.missing.into_iter().map(task).collect(),
            given_up: stored.given_up.into_iter().map(task).collect(),
            turn: Turn {
                claims_since: Moment(stored.turn_claims_since),
                prompt: stored.turn_prompt.map(Prompt::try_from).transpose()?,
                is_judged: stored.turn_is_judged,
                blocks: stored.turn_blocks,
                is_settled: stored.turn_is_settled,
            },
            taken: stored.taken.into_iter().map(task).collect(),
            background: stored.background.into_iter().collect(),
            scheduled: stored.scheduled.into_iter().collect(),
            hears_prompts: stored.hears_prompts,
            told: Told {
                switched_off: stored.told_switched_off,
                is_owed: stored.tell_is_owed,
            },
        })
    }
}

impl From<&Policy> for StoredPolicy {
    fn from(policy: &Policy) -> Self {
        StoredPolicy {
            check_ready_tasks: policy.check_ready_tasks,
            check_in_progress: policy.check_in_progress,
            check_git: policy.check_git,
            max_cycles: policy.max_cycles,
            no_progress_cycles: policy.no_progress_cycles,
            stale_after_minutes: policy.stale_after_minutes,
            hold_when_unknown: policy.when_unknown == WhenUnknown::Hold,
            hold_on_user_prompt: policy.on_user_prompt == OnUserPrompt::Hold,
            exit_on_all_blocked: policy.exits.all_blocked,
            exit_on_context_checkpoint: policy.exits.context_checkpoint,
            completion_promises: policy.completion_promises.clone(),
        }
    }
}

impl From<StoredPolicy> for Policy {
    fn from(stored: StoredPolicy) -> Self {
        Policy {
            check_ready_tasks: stored.check_ready_tasks,
            check_in_progress: stored.check_in_progress,
            check_git: stored.check_git,
            max_cycles: stored.max_cycles,
            no_progress_cycles: stored.no_progress_cycles,
            stale_after_minutes: stored.stale_after_minutes,
            when_unknown: if stored.hold_when_unknown {
                WhenUnknown::Hold
            } else {
                WhenUnknown::Allow
            },
            on_user_prompt: if stored.hold_on_user_prompt {
                OnUserPrompt::Hold
            } else {
                OnUserPrompt::Release
            },
            exits: Exits {
                all_blocked: stored.exit_on_all_blocked,
                context_checkpoint: stored.exit_on_context_checkpoint,
            },
            completion_promises: stored.completion_promises,
        }
    }
}

impl From<&Prompt> for StoredPrompt {
    fn from(prompt: &Prompt) -> Self {
        StoredPrompt {
            id: prompt.id.clone(),
            kind: prompt.kind.name().to_owned(),
            quiet_before: prompt.quiet_before,
            woke: prompt.woke,
            is_first: prompt.is_first,
            tasks: prompt.before.tasks.map(hex),
            head: prompt.before.head.map(hex),
            tracked: prompt.before.tracked.map(hex),
            untracked: prompt.before.untracked.map(hex),
        }
    }
}

impl TryFrom<StoredPrompt> for Prompt {
    type Error = String;

    fn try_from(stored: StoredPrompt) -> Result<Prompt, String> {
        let print = |text: Option<String>| text.map(|text| unhex(&text)).transpose();
        Ok(Prompt {
            id: stored.id,
            kind: named(&PromptKind::ALL, PromptKind::name, &stored.kind)?,
            quiet_before: stored.quiet_before,
            woke: stored.woke,
            is_first: stored.is_first,
            before: Fingerprint {
                tasks: print(stored.tasks)?,
                head: print(stored.head)?,
                tracked: print(stored.tracked)?,
                untracked: print(stored.untracked)?,
            },
        })
    }
}

/// The work tree as the run's start found it.
#[derive(Serialize, Deserialize)]
pub struct StoredBaseline<'a> {
    #[serde(default)]
    footing: Option<StoredFooting<'a>>,
    paths: Cow<'a, BTreeMap<String, String>>,
    #[serde(default)]
    staged: Cow<'a, BTreeMap<String, String>>,
    unfinished: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredFooting<'a> {
    NoRepository,
    NoWorkTree,
    Tree(Cow<'a, str>),
}

impl<'a> From<&'a Footing> for StoredFooting<'a> {
    fn from(footing: &'a Footing) -> StoredFooting<'a> {
        match footing {
            Footing::NoRepository => StoredFooting::NoRepository,
            Footing::NoWorkTree => StoredFooting::NoWorkTree,
            Footing::Tree(place) => StoredFooting::Tree(Cow::Borrowed(place)),
        }
    }
}

impl From<StoredFooting<'_>> for Footing {
    fn from(stored: StoredFooting<'_>) -> Footing {
        match stored {
            StoredFooting::NoRepository => Footing::NoRepository,
            StoredFooting::NoWorkTree => Footing::NoWorkTree,
            StoredFooting::Tree(place) => Footing::Tree(place.into_owned()),
        }
    }
}

impl<'a> From<&'a Baseline> for StoredBaseline<'a> {
    fn from(baseline: &'a Baseline) -> StoredBaseline<'a> {
        StoredBaseline {
            footing: baseline.footing.as_ref().map(StoredFooting::from),
            paths: Cow::Borrowed(&baseline.paths),
            staged: Cow::Borrowed(&baseline.staged),
            unfinished: baseline.unfinished.as_deref().map(Cow::Borrowed),
        }
    }
}

impl From<StoredBaseline<'_>> for Baseline {
    fn from(stored: StoredBaseline<'_>) -> Baseline {
        Baseline {
            footing: stored.footing.map(Footing::from),
            paths: stored.paths.into_owned(),
            staged: stored.staged.into_owned(),
            unfinished: stored.unfinished.map(Cow::into_owned),
        }
    }
}

fn named<T: Copy>(all: &[T], name_of: fn(T) -> &'static str, name: &str) -> Result<T, String> {
    let found = all.iter().copied().find(|value| name_of(*value) == name);
    found.ok_or_else(|| format!("`{name}` is not known"))
}

fn all<T, U>(items: Vec<T>, convert: impl Fn(T) -> Result<U, String>) -> Result<Vec<U>, String> {
    items.into_iter().map(convert).collect()
}

// JSON numbers end at 64 bits for most readers.
fn hex(print: u128) -> String {
    format!("{print:032x}")
}

fn unhex(text: &str) -> Result<u128, String> {
    u128::from_str_radix(text, 16).map_err(|_| format!("`{text}` is no fingerprint"))
}
