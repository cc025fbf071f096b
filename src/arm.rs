//! Arms a run: settings, tracker, epic, baseline and prompt gathered, then written in one piece.
//! Shared by everything that can start one; who may have a run is for `kernel::ownership` to say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::config::{self, Sources};
use crate::edge::git::Git;
use crate::edge::store::{self, Kept, Places, Site, Store, StoreDir, Writer};
use crate::edge::tracker::{self, List, Memory};
use crate::ground::{self, Ground};
use crate::kernel::ledger::{
    By, Counters, Fingerprint, Prompt, PromptId, PromptKind, Run, State, Told, Turn, roster_of,
};
use crate::kernel::moment::Moment;
use crate::kernel::ownership::{Asker, Disposition, Holdings, How, Own, Refused, settle};
use crate::kernel::snapshot::{Baseline, Fault, Git as GitState, Sensor};
use crate::kernel::task::{Epic, TaskId};
use crate::render::Rendered;
use crate::survey::{self, Tasks};

/// Somebody's wish to have an epic guarded.
pub struct Wish {
    pub epic: String,
    pub session: String,
    /// Where the person or the agent is.
    pub dir: PathBuf,
    /// Where the session may have a run already.
    pub places: Places,
    pub by: By,
    /// The session that asks, if an agent does.
    pub inside: Option<String>,
    pub how: How,
    /// The prompt that was typed, where one was.
    pub prompt: Option<PromptId>,
    /// A run of another epic in the same session gives way.
    pub replace: bool,
    pub sources: Sources,
    /// The name that the agent claims tasks by.
    pub actor: String,
    pub now: Moment,
}

pub struct Armed {
    pub kept: Kept,
    pub what: Disposition,
    pub warnings: Vec<String>,
    pub store: StoreDir,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "`{epic}` cannot be an epic's id: at most {} letters, digits, dots, colons, dashes and \
         underscores, a letter or digit first",
        TaskId::PLAIN_BYTES_MAX
    )]
    BadId { epic: String },
    #[error("epic `{epic}` was not found in the tracker of `{whereabouts}`")]
    NotFound {
        epic: String,
        whereabouts: String,
        kept_by: tracker::Kind,
    },
    #[error("epic `{epic}` is being worked on by session `{session}`")]
    LiveElsewhere { epic: String, session: String },
    #[error("session `{session}` already has a run, on epic `{epic}`")]
    SecondEpic { epic: String, session: String },
    #[error("session `{session}` already has a run, on epic `{epic}` of `{workspace}`")]
    SecondPlace {
        run: String,
        epic: String,
        session: String,
        workspace: String,
    },
    #[error("a held session cannot give its own run of `{epic}` away")]
    GivenAway { epic: String },
    #[error("an agent cannot take the run of `{epic}` from session `{session}`")]
    NotAnAgents { epic: String, session: String },
    #[error("an agent cannot have session `{session}` held")]
    NotItsSession { session: String },
    #[error("this session had a run of `{epic}`, and an agent cannot begin it again")]
    Again { epic: String },
    #[error("a person paused the run of session `{session}`, and an agent cannot replace it")]
    PausedByPerson { session: String },
    /// Nothing to arm at this stop: the session had its run, or another one has it.
    #[error("this session's run of `{epic}` is over, or another session has it")]
    NotThisSession { epic: String },
    #[error("could not read the tracker: {what}")]
    Tracker {
        what: String,
        /// The folder that `BEADS_DIR` names, if there is none.
        nowhere: Option<PathBuf>,
    },
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("could not mark the session in `{}`: {source}", dir.display())]
    Mark {
        dir: PathBuf,
        source: std::io::Error,
    },
}

impl From<ground::Error> for Error {
    fn from(error: ground::Error) -> Error {
        match error {
            ground::Error::Config(error) => Error::Config(error),
            ground::Error::Tracker(error) => Error::Tracker {
                what: error.to_string(),
                nowhere: None,
            },
        }
    }
}

pub fn arm(wish: &Wish) -> Result<Armed, Error> {
    let gathered = Gathered::of(wish)?;
    let (dir, apart) = gathered.kept_at(wish)?;
    let mut store = Store::create(&dir)?;
    // The mark comes first: a run without one would let its session go without a word.
    dir.mark(&wish.session).map_err(|source| Error::Mark {
        dir: dir.path().to_owned(),
        source,
    })?;
    let written = store.write(|writer| {
        let done = gathered.write(wish, writer, apart.as_ref())?;
        // Again, now that nobody else can take it away for a run that is over.
        dir.mark(&wish.session).map_err(|source| Error::Mark {
            dir: dir.path().to_owned(),
            source,
        })?;
        dir.post(&wish.session);
        Ok(done)
    });
    let (kept, what, former) = match written {
        Ok(done) => done,
        Err(error) => {
            store.unmark_unless_held(&wish.session);
            return Err(error);
        }
    };
    if let Some(former) = former {
        store.unmark_unless_held(&former);
    }
    let mut warnings = gathered.warnings(&kept);
    if !dir.is_posted(&wish.session) {
        warnings.push(format!(
            "no signpost could be set, so the session is known only below `{}`",
            gathered.home.display()
        ));
    }
    Ok(Armed {
        warnings,
        kept,
        what,
        store: dir,
    })
}

/// The constant prompt as a run on `epic` would feed it. Nothing is armed or written.
pub fn preview(epic: &str, dir: &Path, sources: &Sources, now: Moment) -> Result<Rendered, Error> {
    let id = plain_id(epic)?;
    let ground = Ground::of(dir, sources)?;
    let tasks = Tasks::of(Ok(ground.tracker.clone()), None);
    let list = tasks.list(now, Instant::now() + survey::SENSOR_TIME_MAX);
    epic_of(&id, list, &ground, now)?;
    Ok(ground.prompt(&id))
}

/// Everything about a run that is read before anything is written.
struct Gathered {
    home: PathBuf,
    site: Site,
    run: Run,
    epic: Option<Epic>,
    baseline: Result<Baseline, String>,
    memory: Option<Memory>,
    /// The agent has been at work already.
    is_late: bool,
    is_enabled: bool,
    prompt_fault: Option<String>,
}

impl Gathered {
    fn of(wish: &Wish) -> Result<Gathered, Error> {
        let id = plain_id(&wish.epic)?;
        let ground = Ground::of(&wish.dir, &wish.sources)?;
        let git = ground.git();
        let tasks = Tasks::of(Ok(ground.tracker.clone()), None);
        let (list, state) = read_both(&tasks, &git, wish.now);
        let epic = match epic_of(&id, list, &ground, wish.now) {
            // The agent is there already, and the decision weighs the failure.
            Err(Error::Tracker { .. }) if wish.how == How::AtStop && ground.has_tracker => None,
            Err(error) => return Err(error),
            Ok(epic) => Some(epic),
        };
        let prompt = ground.prompt(&id);
        let territory = ground.territory();
        let seen = Fingerprint::of(epic.as_ref(), state.as_ref().ok(), &territory).progress();
        let run = Run {
            id: run_id(wish),
            epic: id,
            session: wish.session.clone(),
            actor: wish.actor.clone(),
            state: State::Active,
            outcome: None,
            policy: ground.config.policy.clone(),
            prompt: prompt.text,
            territory,
            started_at: wish.now,
            last_event_at: wish.now,
            counters: Counters::default(),
            streak: None,
            seen: seen.into_iter().collect(),
            roster: epic.as_ref().map(roster_of),
            missing: Vec::new(),
            given_up: BTreeSet::new(),
            turn: Turn::begun(wish.now, typed_prompt(wish)),
            taken: BTreeSet::new(),
            background: BTreeSet::new(),
            scheduled: BTreeSet::new(),
            hears_prompts: wish.how == How::Typed,
            told: Told::default(),
        };
        Ok(Gathered {
            home: ground.home.clone(),
            site: ground.site(),
            run,
            epic,
            baseline: state.map(|git| Baseline::of(&git)),
            memory: tasks.news().cloned(),
            is_late: wish.how == How::AtStop,
            is_enabled: ground.config.is_enabled,
            prompt_fault: prompt.fault,
        })
    }

    /// The store of this run, and the session's run on another epic that another store keeps.
    fn kept_at(&self, wish: &Wish) -> Result<(StoreDir, Option<Kept>), Error> {
        let here = wish.places.store_at(&self.home);
        match store::live_run_apart(&wish.places, &wish.session, &here)? {
            Some((dir, kept)) if self.is_same(&kept) => Ok((dir, None)),
            Some((_, kept)) => Ok((here, Some(kept))),
            None => Ok((here, None)),
        }
    }

    /// Finds out whose the run is, and keeps it; `apart` is the session's run in another store.
    /// Answers the run, what was done, and the session that no longer has it.
    fn write(
        &self,
        wish: &Wish,
        writer: &Writer<'_>,
        apart: Option<&Kept>,
    ) -> Result<(Kept, Disposition, Option<String>), Error> {
        if let Some(memory) = &self.memory {
            writer.remember(&self.site, memory)?;
        }
        let own = writer.run_of_session(&wish.session)?;
        let own = own.filter(|kept| !kept.run.is_over());
        let elsewhere = writer
            .live_runs()?
            .into_iter()
            .filter(|kept| kept.run.session != wish.session)
            .find(|kept| self.is_same(kept));
        let holdings = Holdings {
            own: match (&own, apart) {
                (Some(kept), _) if self.is_same(kept) => Some(Own::OfThisEpic(&kept.run)),
                (_, Some(kept)) => Some(Own::Apart(&kept.run)),
                (Some(kept), None) => Some(Own::OfAnother(&kept.run)),
                (None, None) => None,
            },
            elsewhere: elsewhere.as_ref().map(|kept| &kept.run),
            had_it: writer.ever_ran(&wish.session, &wish.epic)?,
        };
        let asker = Asker {
            session: &wish.session,
            inside: wish.inside.as_deref(),
            by: wish.by,
            how: wish.how,
            replace: wish.replace,
        };
        let what = settle(&asker, &holdings, wish.now)
            .map_err(|refused| refusal(refused, wish, &holdings, apart))?;
        match (what, own, elsewhere) {
            (Disposition::Show, Some(own), _) => Ok((own, what, None)),
            (Disposition::Wake, Some(own), _) => {
                Ok((self.held_again(wish, writer, own)?, what, None))
            }
            (Disposition::TakeOver, own, Some(mut kept)) => {
                replace(wish, writer, own)?;
                let former = kept.run.session.clone();
                kept.run.move_to(&wish.session, &wish.actor, wish.now);
                Ok((self.held_again(wish, writer, kept)?, what, Some(former)))
            }
            (Disposition::New, own, _) => {
                replace(wish, writer, own)?;
                let kept = Kept::new(self.run.clone(), self.site.clone());
                writer.insert(&kept, self.baseline.as_ref().ok())?;
                Ok((kept, what, None))
            }
            // The table answers so only where there is such a run.
            (Disposition::Show | Disposition::Wake | Disposition::TakeOver, _, _) => {
                Err(Error::Store(store::Error::Taken))
            }
        }
    }

    /// Of the same epic in the same workspace.
    fn is_same(&self, kept: &Kept) -> bool {
        kept.run.epic == self.run.epic && kept.site.workspace == self.site.workspace
    }

    /// Held again under today's policy. The baseline and the roster stay what they were.
    fn held_again(&self, wish: &Wish, writer: &Writer<'_>, mut kept: Kept) -> Result<Kept, Error> {
        let run = &mut kept.run;
        run.wake(wish.now);
        run.policy = self.run.policy.clone();
        run.prompt.clone_from(&self.run.prompt);
        run.actor.clone_from(&self.run.actor);
        run.told = Told::default();
        run.turn.prompt.clone_from(&self.run.turn.prompt);
        writer.save(run)?;
        if let Ok(baseline) = &self.baseline {
            writer.add_baseline(&run.id, baseline)?;
        }
        Ok(kept)
    }

    fn warnings(&self, kept: &Kept) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.is_enabled {
            warnings.push("`enabled: false` in the configuration: nobody is held".to_owned());
        }
        let dirty = self
            .baseline
            .as_ref()
            .map_or(0, |baseline| baseline.paths.len());
        if self.is_late && dirty > 0 {
            warnings.push(format!(
                "the run begins with this stop, so what is not committed by now ({dirty} paths) \
                 counts as yours and is not asked for"
            ));
        }
        if let Ok(Baseline {
            unfinished: Some(operation),
            ..
        }) = &self.baseline
        {
            warnings.push(format!(
                "a {operation} is under way here; it counts as yours and is not asked for"
            ));
        }
        if let Err(what) = &self.baseline {
            warnings.push(format!(
                "git could not be read, so there is no baseline: {what}"
            ));
        }
        if let Some(fault) = &self.prompt_fault {
            warnings.push(format!("the built-in prompt is used: {fault}"));
        }
        if let Some(epic) = &self.epic {
            let counts = epic.counts();
            let open = counts.total - counts.closed;
            if counts.total == 0 {
                warnings.push(format!("epic `{}` has no tasks", epic.id));
            } else if open == 0 {
                warnings.push(format!("every task of `{}` is closed already", epic.id));
            } else if !epic.knot.is_empty() {
                warnings.push(format!(
                    "`{}` is deadlocked: some tasks wait only for each other",
                    epic.id
                ));
            } else if counts.ready + counts.in_progress == 0 {
                warnings.push(format!("nothing of `{}` can be worked on now", epic.id));
            }
            let cycles_max = kept.run.policy.max_cycles;
            if usize::try_from(cycles_max).is_ok_and(|cycles_max| open > cycles_max) {
                warnings.push(format!(
                    "{open} tasks are open, but `max_cycles` is {cycles_max}"
                ));
            }
        }
        warnings
    }
}

/// The session's run of another epic gives way.
fn replace(wish: &Wish, writer: &Writer<'_>, own: Option<Kept>) -> Result<(), Error> {
    if let Some(mut own) = own {
        own.run.replace(wish.by, wish.now);
        writer.save(&own.run)?;
    }
    Ok(())
}

fn refusal(refused: Refused, wish: &Wish, holdings: &Holdings<'_>, apart: Option<&Kept>) -> Error {
    let epic = wish.epic.clone();
    let theirs = holdings.elsewhere.map(|run| run.session.clone());
    let session = theirs.unwrap_or_else(|| wish.session.clone());
    match refused {
        Refused::SecondEpic => match (holdings.own, apart) {
            (Some(Own::Apart(run)), Some(kept)) => Error::SecondPlace {
                run: run.id.clone(),
                epic: run.epic.to_string(),
                session: wish.session.clone(),
                workspace: kept.site.workspace.display().to_string(),
            },
            (own, _) => Error::SecondEpic {
                epic: own.map_or(epic, |own| own.run().epic.to_string()),
                session: wish.session.clone(),
            },
        },
        Refused::NotThisSession => Error::NotThisSession { epic },
        Refused::GivenAway => Error::GivenAway { epic },
        Refused::NotAnAgents if holdings.elsewhere.is_none() => Error::NotItsSession { session },
        Refused::NotAnAgents => Error::NotAnAgents { epic, session },
        Refused::PausedByPerson => Error::PausedByPerson { session },
        // The last is never said of a wish: nothing is adopted by one.
        Refused::Again | Refused::HasOne => Error::Again { epic },
        Refused::LiveElsewhere => Error::LiveElsewhere { epic, session },
    }
}

type Listed = Result<List, Fault>;

/// Tracker and git, side by side.
fn read_both(tasks: &Tasks, git: &Git, now: Moment) -> (Listed, Result<GitState, String>) {
    thread::scope(|scope| {
        let git = scope.spawn(|| {
            let state = git.read(survey::SENSOR_TIME_MAX);
            state.map_err(|error| survey::fault(Sensor::Git, &error).what)
        });
        let list = tasks.list(now, Instant::now() + survey::SENSOR_TIME_MAX);
        let died = |_| Err("failed while reading".to_owned());
        (list, git.join().unwrap_or_else(died))
    })
}

fn epic_of(id: &TaskId, list: Listed, ground: &Ground, now: Moment) -> Result<Epic, Error> {
    let list = list.map_err(|fault| Error::Tracker {
        what: fault.what,
        nowhere: ground.site().beads.filter(|folder| !folder.is_dir()),
    })?;
    Epic::of(&list.tasks, id.as_str(), now).ok_or_else(|| Error::NotFound {
        epic: id.to_string(),
        whereabouts: ground.workspace.display().to_string(),
        kept_by: ground.tracker.kind(),
    })
}

fn plain_id(epic: &str) -> Result<TaskId, Error> {
    let id = TaskId::from(epic);
    if id.is_plain() {
        Ok(id)
    } else {
        Err(Error::BadId {
            epic: epic.to_owned(),
        })
    }
}

fn typed_prompt(wish: &Wish) -> Option<Prompt> {
    match wish.how {
        How::Typed => Some(Prompt {
            id: wish.prompt.clone(),
            kind: PromptKind::RunTasks,
            quiet_before: 0,
            woke: true,
            is_first: true,
            before: Fingerprint::default(),
        }),
        How::ByHand | How::AtStop => None,
    }
}

fn run_id(wish: &Wish) -> String {
    let seed = format!(
        "{}\0{}\0{}\0{}",
        wish.session,
        wish.epic,
        wish.now.0,
        std::process::id()
    );
    let hash = blake3::hash(seed.as_bytes()).to_hex();
    format!("run-{}", &hash.as_str()[..8])
}
