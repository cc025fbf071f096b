//! Where a run stands: its directories, settings and tracker, found once at its start and read
//! again at every stop.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{self, Config, Sources, TrackerChoice};
use crate::edge::git::{Git, path_from};
use crate::edge::store::Site;
use crate::edge::tracker::jsonl::{OWN_FILES, OWN_FOLDER};
use crate::edge::tracker::{self, KindChoice, Memory, Owner, Tracker, Workspace};
use crate::kernel::ledger::Territory;
use crate::kernel::snapshot::{Fault, Sensor};
use crate::kernel::task::TaskId;
use crate::render::{self, Rendered};
use crate::survey::{self, Edges, Spoken, Tasks};

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
    /// Where the run's own things belong: the workspace, unless somebody named a tracker that lies
    /// elsewhere.
    pub home: PathBuf,
    /// The tracker's folder, where `BEADS_DIR` names it.
    beads: Option<PathBuf>,
    pub project_file: PathBuf,
    prompts: PathBuf,
    pub config: Config,
    pub tracker: Arc<dyn Tracker>,
    /// There is one, if only one that cannot be read just now.
    pub has_tracker: bool,
}

/// The directories and the settings' file of whoever stands in a directory.
pub struct Surroundings {
    pub tree: PathBuf,
    pub workspace: Workspace,
    /// What the project's own settings are relative to.
    home: PathBuf,
    /// Whether or not it is there.
    pub project_file: PathBuf,
}

impl Surroundings {
    pub fn of(dir: &Path, beads_dir: Option<&Path>) -> Surroundings {
        let git = Git::at(dir);
        // A git that cannot be read is weighed at every stop; until then its files tell the place.
        let place = git.place().unwrap_or_else(|_| git.place_by_files());
        let root = place.as_ref().and_then(|place| place.root.clone());
        let main_root = place
            .as_ref()
            .filter(|place| place.is_linked)
            .and_then(|place| place.main_root.clone());
        let tree = root.clone().unwrap_or_else(|| dir.to_owned());
        let workspace = match beads_dir {
            Some(named) => tracker::at_folder(&dir.join(named)),
            None => tracker::find(dir, main_root.as_deref(), &tree),
        };
        // A tracker that lies elsewhere brings no settings along, and no store.
        let home = match &workspace.named {
            Some(_) => tree.clone(),
            None => workspace.root.clone(),
        };
        let project_file = project_file(dir, root.as_deref(), &home);
        Surroundings {
            tree,
            workspace,
            home,
            project_file,
        }
    }
}

impl Ground {
    pub fn of(dir: &Path, sources: &Sources) -> Result<Ground, Error> {
        let Surroundings {
            tree,
            workspace,
            home,
            project_file,
        } = Surroundings::of(dir, sources.beads_dir.as_deref());
        let sources = Sources {
            project: Some(project_file.clone()),
            ..sources.clone()
        };
        let config = sources.resolve()?;
        let choice = match config.tracker {
            TrackerChoice::Auto => KindChoice::Auto,
            TrackerChoice::Bd => KindChoice::Named(tracker::Kind::Bd),
            TrackerChoice::Jsonl => KindChoice::Named(tracker::Kind::Jsonl),
        };
        let tracker = tracker::open(&workspace, choice)?;
        let is_bare = workspace.owner == Owner::Nobody && choice == KindChoice::Auto;
        Ok(Ground {
            has_tracker: !is_bare,
            tree,
            prompts: home.join(&config.prompts),
            home,
            beads: workspace.named,
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
            beads: self.beads.clone(),
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
        let temporary = files.temporary.iter().map(|path| name(path) + "*");
        // The lock is with the tracker, the store with it or with the work tree.
        let homes = [&self.workspace, &self.tree].map(|home| name(&home.join(OWN_FOLDER)));
        let own = homes
            .iter()
            .flat_map(|home| OWN_FILES.map(|own| format!("{home}/{own}")));
        let progress = name(&self.workspace.join("progress.txt"));
        let not_work: BTreeSet<String> = folders
            .chain(temporary)
            .chain(own)
            .chain([progress])
            .collect();
        Territory {
            not_work: not_work.into_iter().collect(),
            tracker_file: files.tracker_file.map(|path| name(&path)),
        }
    }
}

/// Opens the tracker that a run was started with.
fn tracker_of(site: &Site) -> Result<Arc<dyn Tracker>, Fault> {
    let workspace = workspace_of(site);
    let mut kinds = tracker::Kind::ALL.into_iter();
    let Some(kind) = kinds.find(|kind| kind.name() == site.tracker) else {
        let what = format!("no tracker is called `{}`", site.tracker);
        return Err(Fault::new(Sensor::Tasks, what));
    };
    tracker::open(&workspace, KindChoice::Named(kind))
        .map_err(|error| survey::fault(Sensor::Tasks, &error))
}

/// How it is known which tracker a run's tasks are kept by.
pub fn tracker_told_by(site: &Site) -> String {
    workspace_of(site).told_by()
}

fn workspace_of(site: &Site) -> Workspace {
    Workspace::at(&site.workspace, site.beads.as_deref())
}

/// The tasks that a run was started for. `last` is what is remembered of them.
pub fn tasks(site: &Site, last: Option<Memory>) -> Tasks {
    Tasks::of(tracker_of(site), last)
}

/// The outside as a run sees it. Of git that is its own work tree, and the tracker's file
/// wherever that lies. What is remembered is only asked for where it saves a slow call.
pub fn edges(
    site: &Site,
    recall: impl FnOnce() -> Option<Memory>,
    words: Spoken,
    sources: Sources,
) -> Edges {
    let tracker = tracker_of(site);
    let is_slow = tracker.as_ref().is_ok_and(|tracker| tracker.is_slow());
    let last = if is_slow { recall() } else { None };
    let git = match &tracker {
        Ok(tracker) => git_of(&site.tree, tracker.as_ref()),
        // What is unsaved does not matter while nobody knows what is done.
        Err(_) => Git::at(&site.tree),
    };
    Edges {
        tasks: Tasks::of(tracker, last),
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use git2::Repository;

    use super::*;
    use crate::edge::store::{Places, Store};
    use crate::edge::tracker::jsonl::{Jsonl, NewTask};
    use crate::kernel::moment::Moment;
    use crate::kernel::snapshot;

    const NEW: NewTask<'static> = NewTask {
        title: "a title",
        description: None,
        type_name: "epic",
        priority: 2,
        parent: None,
        blocked_by: &[],
        id: None,
    };

    /// What an agent would be asked to save.
    fn work(ground: &Ground) -> Vec<String> {
        let territory = ground.territory();
        let git = ground.git().read(Duration::from_secs(60)).unwrap();
        let snapshot::Git::Tree(tree) = git else {
            panic!("{git:?}");
        };
        let work = tree.changes.into_iter();
        let work = work.filter(|change| territory.is_work(change));
        work.map(|change| change.path).collect()
    }

    #[test]
    fn only_what_beadlock_itself_writes_is_not_work() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let tracker = Jsonl::of(&Workspace::at(root, None));
        tracker.add(&NEW, "ann", Moment(0)).unwrap();
        let dir = Places::default().store_at(root);
        Store::create(&dir).unwrap();
        dir.mark("a session").unwrap();
        fs::write(root.join(".beadlock/state.db.corrupt-1-1-wal"), "x").unwrap();
        fs::create_dir(root.join(".beadlock/init")).unwrap();
        fs::write(root.join(".beadlock/init/project.json"), "x").unwrap();
        fs::write(root.join("progress.txt"), "x").unwrap();
        fs::write(root.join(".beads/.issues.jsonl.beadlock-4711"), "x").unwrap();
        // Only now, so that all of this is in the work tree, and none of it ignored.
        Repository::init(root).unwrap();
        fs::remove_file(root.join(".beadlock/.gitignore")).unwrap();
        let ground = Ground::of(root, &Sources::default()).unwrap();
        assert_eq!(work(&ground), [""; 0]);

        let theirs = [
            ".beadlock/prompts/unknown.tera",
            ".beads/.issues.jsonl.mine",
        ];
        fs::create_dir(root.join(".beadlock/prompts")).unwrap();
        for path in theirs {
            fs::write(root.join(path), "x").unwrap();
        }
        assert_eq!(work(&ground), theirs);
    }
}
