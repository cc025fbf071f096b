//! Arms a run: settings, tracker, epic, baseline and prompt gathered, then written in one piece.
//! Shared by everything that can start one; who may have a run is decided here and in the ledger.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::config::{self, Config, Sources, TrackerChoice};
use crate::edge::git::{Git, path_from};
use crate::edge::store::{self, Kept, Site, Store, StoreDir, Writer};
use crate::edge::tracker::{self, KindChoice, Tracker};
use crate::kernel::ledger::{
    By, Counters, Fingerprint, Outcome, Prompt, PromptKind, Run, State, Territory, Told, Turn,
    roster_of,
};
use crate::kernel::moment::Moment;
use crate::kernel::snapshot::{Baseline, Fault, Git as GitState, Sensor};
use crate::kernel::task::{Epic, Task, TaskId};
use crate::render::{self, Rendered};
use crate::survey::{self, Edges, Spoken};

/// Somebody's wish to have an epic guarded.
pub struct Wish {
    pub epic: String,
    pub session: String,
    /// Where the person or the agent is.
    pub dir: PathBuf,
    pub by: By,
    /// The session that asks, if an agent does.
    pub inside: Option<String>,
    pub how: How,
    /// A run of another epic in the same session gives way.
    pub replace: bool,
    pub sources: Sources,
    /// The name that the agent claims tasks by.
    pub actor: String,
    pub now: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// `start`.
    ByHand,
    /// `/run-tasks` typed into the session.
    Typed { prompt: Option<String> },
    /// `hook stop --epic`: at the session's first stop.
    AtStop,
}

pub struct Armed {
    pub kept: Kept,
    pub what: What,
    /// The epic as it was read; unknown only at a stop.
    pub epic: Option<Epic>,
    pub warnings: Vec<String>,
    pub store: StoreDir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    New,
    /// The session's own run is held again.
    Woken,
    /// The run came from another session.
    TakenOver,
    /// Asked from inside: nothing was changed.
    Shown,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{epic}` cannot be an epic's id: letters, digits, dots, dashes and underscores only")]
    BadId { epic: String },
    #[error("epic `{epic}` was not found in the tracker of `{whereabouts}`")]
    NotFound { epic: String, whereabouts: String },
    #[error("epic `{epic}` is being worked on by session `{session}`")]
    LiveElsewhere { epic: String, session: String },
    #[error("session `{session}` already has a run, on epic `{epic}`")]
    SecondEpic { epic: String, session: String },
    #[error("a held session cannot give its own run of `{epic}` away")]
    GivenAway { epic: String },
    /// Nothing to arm at this stop: the session had its run, or another one has it.
    #[error("this session's run of `{epic}` is over, or another session has it")]
    NotThisSession { epic: String },
    #[error("could not read the tracker: {what}")]
    Tracker { what: String },
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

pub fn arm(wish: &Wish) -> Result<Armed, Error> {
    let gathered = Gathered::of(wish)?;
    let dir = store::store_dir_at(&gathered.site.tree);
    let mut store = Store::create(&dir)?;
    // The mark comes first: a run without one would let its session go without a word.
    dir.mark(&wish.session).map_err(|source| Error::Mark {
        dir: dir.path().to_owned(),
        source,
    })?;
    let written = store.write(|writer| Ok(gathered.write(wish, writer)));
    let outcome = written.map_err(Error::from).and_then(|outcome| outcome);
    let (kept, what, former) = match outcome {
        Ok(done) => done,
        Err(error) => {
            let owns = store.run_of_session(&wish.session);
            if !owns.is_ok_and(|kept| kept.is_some_and(|kept| !kept.run.is_over())) {
                dir.unmark(&wish.session);
            }
            return Err(error);
        }
    };
    if let Some(former) = former {
        dir.unmark(&former);
    }
    Ok(Armed {
        warnings: gathered.warnings(&kept),
        kept,
        what,
        epic: gathered.epic,
        store: dir,
    })
}

/// The constant prompt as a run on `epic` would feed it. Nothing is armed or written.
pub fn preview(epic: &str, dir: &Path, sources: &Sources, now: Moment) -> Result<Rendered, Error> {
    let id = plain_id(epic)?;
    let ground = Ground::of(dir, sources)?;
    let tasks = ground
        .tracker
        .tasks(Duration::from_secs(survey::SENSOR_SECONDS_MAX));
    epic_of(&id, tasks, &ground, now)?;
    Ok(ground.prompt(&id))
}

/// Opens the tracker that a run was started with.
pub fn tracker_of(site: &Site) -> Result<Box<dyn Tracker>, Fault> {
    let workspace = tracker::Workspace::at(&site.workspace);
    let kind = tracker::Kind::ALL
        .into_iter()
        .find(|kind| kind.name() == site.tracker)
        .map_or(KindChoice::Auto, KindChoice::Named);
    tracker::open(&workspace, kind).map_err(|error| survey::fault(Sensor::Tasks, &error))
}

/// The outside as a run sees it. Of git that is its own work tree, and the tracker's file
/// wherever that lies.
pub fn edges(site: &Site, words: Spoken, sources: Sources) -> Edges {
    let tracker = tracker_of(site);
    let git = match &tracker {
        Ok(tracker) => git_of(&site.tree, tracker.as_ref()),
        // What is unsaved does not matter while nobody knows what is done.
        Err(_) => Git::at(&site.tree),
    };
    Edges {
        tracker,
        git,
        words,
        sources,
    }
}

fn git_of(tree: &Path, tracker: &dyn Tracker) -> Git {
    Git::at(tree).watching(tracker.files().tracker_file)
}

/// Where a run would stand: its directories, settings and tracker.
struct Ground {
    tree: PathBuf,
    workspace: PathBuf,
    project_file: PathBuf,
    prompts: PathBuf,
    config: Config,
    tracker: Box<dyn Tracker>,
}

impl Ground {
    fn of(dir: &Path, sources: &Sources) -> Result<Ground, Error> {
        let place = Git::at(dir).place().ok().flatten();
        let root = place.as_ref().and_then(|place| place.root.clone());
        let main_root = place
            .as_ref()
            .filter(|place| place.is_linked)
            .and_then(|place| place.main_root.clone());
        let tree = root.clone().unwrap_or_else(|| dir.to_owned());
        let workspace = tracker::find(dir, main_root.as_deref(), &tree);
        let project_file = project_file(dir, root.as_deref(), &workspace.root);
        let sources = Sources {
            project: Some(project_file.clone()),
            ..sources.clone()
        };
        let config = sources.resolve()?;
        let choice = match config.tracker {
            TrackerChoice::Auto => KindChoice::Auto,
            TrackerChoice::Jsonl => KindChoice::Named(tracker::Kind::Jsonl),
        };
        let tracker = tracker::open(&workspace, choice).map_err(|error| Error::Tracker {
            what: error.to_string(),
        })?;
        Ok(Ground {
            tree,
            prompts: workspace.root.join(&config.prompts),
            workspace: workspace.root,
            project_file,
            config,
            tracker,
        })
    }

    fn prompt(&self, epic: &TaskId) -> Rendered {
        let commands = self.tracker.commands();
        render::orchestration(epic, &self.config.policy, &commands, &self.prompts)
    }

    fn site(&self) -> Site {
        Site {
            workspace: self.workspace.clone(),
            tree: self.tree.clone(),
            project_file: self.project_file.clone(),
            tracker: self.tracker.kind().name().to_owned(),
            prompts: self.prompts.clone(),
        }
    }
}

/// Everything about a run that is read before anything is written.
struct Gathered {
    site: Site,
    run: Run,
    epic: Option<Epic>,
    baseline: Result<Baseline, String>,
    is_enabled: bool,
    prompt_fault: Option<String>,
}

impl Gathered {
    fn of(wish: &Wish) -> Result<Gathered, Error> {
        let id = plain_id(&wish.epic)?;
        let ground = Ground::of(&wish.dir, &wish.sources)?;
        let git = git_of(&ground.tree, ground.tracker.as_ref());
        let (tasks, state) = read_both(ground.tracker.as_ref(), &git);
        let epic = match epic_of(&id, tasks, &ground, wish.now) {
            // The agent is there already, and the decision weighs the failure.
            Err(Error::Tracker { .. }) if wish.how == How::AtStop => None,
            Err(error) => return Err(error),
            Ok(epic) => Some(epic),
        };
        let prompt = ground.prompt(&id);
        let territory = territory(&ground);
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
            turn: Turn::begun(wish.now, typed_prompt(wish)),
            taken: BTreeSet::new(),
            background: BTreeSet::new(),
            told: Told::default(),
        };
        Ok(Gathered {
            site: ground.site(),
            run,
            epic,
            baseline: state.map(|git| Baseline::of(&git)),
            is_enabled: ground.config.is_enabled,
            prompt_fault: prompt.fault,
        })
    }

    /// Finds out whose the run is, and keeps it. Answers the run, what was done, and the session
    /// that no longer has it.
    fn write(
        &self,
        wish: &Wish,
        writer: &Writer<'_>,
    ) -> Result<(Kept, What, Option<String>), Error> {
        let own = writer.run_of_session(&wish.session)?;
        let own = own.filter(|kept| !kept.run.is_over());
        if let Some(own) = own {
            let is_same = own.run.epic == self.run.epic && self.is_here(&own);
            if is_same {
                return self.wake(wish, writer, own);
            }
            if !wish.replace {
                return Err(Error::SecondEpic {
                    epic: own.run.epic.to_string(),
                    session: wish.session.clone(),
                });
            }
            let mut replaced = own.run;
            replaced.abort(wish.by, wish.now);
            if wish.by == By::Person {
                replaced.outcome = Some(Outcome::Replaced);
            }
            writer.save(&replaced)?;
        }
        let live = writer.live_runs()?;
        let elsewhere = live
            .into_iter()
            .find(|kept| kept.run.epic == self.run.epic && self.is_here(kept));
        if wish.how == How::AtStop {
            let had_it = writer.ever_ran(&wish.session, &wish.epic)?;
            let is_active = |kept: &Kept| kept.run.state == State::Active;
            if had_it || elsewhere.as_ref().is_some_and(is_active) {
                return Err(Error::NotThisSession {
                    epic: wish.epic.clone(),
                });
            }
        }
        match elsewhere {
            None => self.insert(writer),
            Some(kept) if wish.inside.as_ref() == Some(&kept.run.session) => {
                Err(Error::GivenAway {
                    epic: wish.epic.clone(),
                })
            }
            Some(kept) if kept.run.is_free(wish.now) => self.take_over(wish, writer, kept),
            Some(kept) => Err(Error::LiveElsewhere {
                epic: wish.epic.clone(),
                session: kept.run.session,
            }),
        }
    }

    fn is_here(&self, kept: &Kept) -> bool {
        kept.site.workspace == self.site.workspace
    }

    fn insert(&self, writer: &Writer<'_>) -> Result<(Kept, What, Option<String>), Error> {
        let kept = Kept::new(self.run.clone(), self.site.clone());
        writer.insert(&kept, self.baseline.as_ref().ok())?;
        Ok((kept, What::New, None))
    }

    /// The session's own run again. From inside nothing may change, or an agent could loosen its
    /// own policy.
    fn wake(
        &self,
        wish: &Wish,
        writer: &Writer<'_>,
        mut kept: Kept,
    ) -> Result<(Kept, What, Option<String>), Error> {
        if wish.by == By::Agent {
            return Ok((kept, What::Shown, None));
        }
        self.refresh(wish, &mut kept.run);
        self.keep(writer, &kept)?;
        Ok((kept, What::Woken, None))
    }

    fn take_over(
        &self,
        wish: &Wish,
        writer: &Writer<'_>,
        mut kept: Kept,
    ) -> Result<(Kept, What, Option<String>), Error> {
        let former = std::mem::replace(&mut kept.run.session, wish.session.clone());
        self.refresh(wish, &mut kept.run);
        self.keep(writer, &kept)?;
        Ok((kept, What::TakenOver, Some(former)))
    }

    /// Held again under today's policy. The baseline and the roster stay what they were.
    fn refresh(&self, wish: &Wish, run: &mut Run) {
        run.wake(wish.now);
        run.policy = self.run.policy.clone();
        run.prompt.clone_from(&self.run.prompt);
        run.actor.clone_from(&self.run.actor);
        run.told = Told::default();
        run.turn.prompt.clone_from(&self.run.turn.prompt);
    }

    fn keep(&self, writer: &Writer<'_>, kept: &Kept) -> Result<(), Error> {
        writer.save(&kept.run)?;
        if let Ok(baseline) = &self.baseline {
            writer.add_baseline(&kept.run.id, baseline)?;
        }
        Ok(())
    }

    fn warnings(&self, kept: &Kept) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.is_enabled {
            warnings.push("`enabled: false` in the configuration: nobody is held".to_owned());
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

type Tasks = Result<Vec<Task>, tracker::Error>;

/// Tracker and git, side by side.
fn read_both(tracker: &dyn Tracker, git: &Git) -> (Tasks, Result<GitState, String>) {
    let patience = Duration::from_secs(survey::SENSOR_SECONDS_MAX);
    thread::scope(|scope| {
        let git = scope.spawn(|| {
            let state = git.read(patience);
            state.map_err(|error| survey::fault(Sensor::Git, &error).what)
        });
        let tasks = tracker.tasks(patience);
        let died = |_| Err("failed while reading".to_owned());
        (tasks, git.join().unwrap_or_else(died))
    })
}

fn epic_of(id: &TaskId, tasks: Tasks, ground: &Ground, now: Moment) -> Result<Epic, Error> {
    let tasks = tasks.map_err(|error| Error::Tracker {
        what: error.to_string(),
    })?;
    Epic::of(&tasks, id.as_str(), now).ok_or_else(|| Error::NotFound {
        epic: id.to_string(),
        whereabouts: ground.workspace.display().to_string(),
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
    match &wish.how {
        How::Typed { prompt } => Some(Prompt {
            id: prompt.clone(),
            kind: PromptKind::RunTasks,
            quiet_before: 0,
            woke: true,
            is_first: true,
            before: Fingerprint::default(),
        }),
        How::ByHand | How::AtStop => None,
    }
}

/// The nearest `project.yaml`, not beyond the repository or workspace; else where one would be.
fn project_file(dir: &Path, root: Option<&Path>, workspace: &Path) -> PathBuf {
    const NAME: &str = "project.yaml";
    let boundary = root.unwrap_or(workspace);
    let within = |dir: &&Path| dir.starts_with(boundary) || dir.starts_with(workspace);
    let found = dir
        .ancestors()
        .take_while(within)
        .map(|dir| dir.join(NAME))
        .find(|file| file.exists());
    found.unwrap_or_else(|| workspace.join(NAME))
}

fn territory(ground: &Ground) -> Territory {
    let name = |path: &Path| path_from(&ground.tree, path);
    let files = ground.tracker.files();
    let own = ground.workspace.join(".beadlock");
    let folders = files.not_work.iter().chain([&own]);
    let folders = folders.map(|path| name(path) + "/");
    let progress = name(&ground.workspace.join("progress.txt"));
    Territory {
        not_work: folders.chain([progress]).collect(),
        tracker_file: files.tracker_file.map(|path| name(&path)),
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
