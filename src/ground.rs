//! Where a run stands: its directories, settings and tracker, found once at its start and read
//! again at every stop.

use std::path::{Path, PathBuf};

use crate::config::{self, Config, Sources, TrackerChoice};
use crate::edge::git::{Git, path_from};
use crate::edge::store::Site;
use crate::edge::tracker::{self, KindChoice, Tracker};
use crate::kernel::ledger::Territory;
use crate::kernel::snapshot::{Fault, Sensor};
use crate::kernel::task::TaskId;
use crate::render::{self, Rendered};
use crate::survey::{self, Edges, Spoken};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Tracker(#[from] tracker::Error),
}

/// Where a run would stand.
pub struct Ground {
    pub tree: PathBuf,
    pub workspace: PathBuf,
    project_file: PathBuf,
    prompts: PathBuf,
    pub config: Config,
    pub tracker: Box<dyn Tracker>,
}

impl Ground {
    pub fn of(dir: &Path, sources: &Sources) -> Result<Ground, Error> {
        let git = Git::at(dir);
        // A git that cannot be read is weighed at every stop; until then its files tell the place.
        let place = git.place().unwrap_or_else(|_| git.place_by_files());
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
        let tracker = tracker::open(&workspace, choice)?;
        Ok(Ground {
            tree,
            prompts: workspace.root.join(&config.prompts),
            workspace: workspace.root,
            project_file,
            config,
            tracker,
        })
    }

    pub fn prompt(&self, epic: &TaskId) -> Rendered {
        let commands = self.tracker.commands();
        render::orchestration(epic, &self.config.policy, &commands, &self.prompts)
    }

    pub fn site(&self) -> Site {
        Site {
            workspace: self.workspace.clone(),
            tree: self.tree.clone(),
            project_file: self.project_file.clone(),
            tracker: self.tracker.kind().name().to_owned(),
            prompts: self.prompts.clone(),
        }
    }

    pub fn git(&self) -> Git {
        git_of(&self.tree, self.tracker.as_ref())
    }

    pub fn territory(&self) -> Territory {
        let name = |path: &Path| path_from(&self.tree, path);
        let files = self.tracker.files();
        let folders = files.not_work.iter().map(|path| name(path) + "/");
        let progress = name(&self.workspace.join("progress.txt"));
        Territory {
            not_work: folders.chain([progress]).collect(),
            tracker_file: files.tracker_file.map(|path| name(&path)),
        }
    }
}

/// Opens the tracker that a run was started with.
pub fn tracker_of(site: &Site) -> Result<Box<dyn Tracker>, Fault> {
    let workspace = tracker::Workspace::at(&site.workspace);
    let mut kinds = tracker::Kind::ALL.into_iter();
    let Some(kind) = kinds.find(|kind| kind.name() == site.tracker) else {
        let what = format!("no tracker is called `{}`", site.tracker);
        return Err(Fault::new(Sensor::Tasks.name(), what));
    };
    tracker::open(&workspace, KindChoice::Named(kind))
        .map_err(|error| survey::fault(Sensor::Tasks, &error))
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
