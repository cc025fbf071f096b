//! The embedded tracker on real files. This part builds the scene.

mod adding;
mod changing;
mod lossless;
mod reading;
mod sharing;

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::edge::tracker::{KindChoice, WhenLate, open};
use crate::kernel::task::{Claim, EdgeKind, Task};

/// 2026-01-01T00:00:00Z
const NOW: Moment = Moment(1_767_225_600_000);
const MINUTE: i64 = 60_000;
const SOON: Patience = Patience {
    deadline: Duration::from_secs(5),
    when_late: WhenLate::End,
};

/// A folder with a tracker file in it.
struct Scene {
    folder: TempDir,
    jsonl: Jsonl,
}

impl Scene {
    fn new(text: impl AsRef<[u8]>) -> Scene {
        let scene = Scene::without_file();
        fs::create_dir(scene.folder.path().join(".beads")).unwrap();
        fs::write(&scene.jsonl.path, text).unwrap();
        scene
    }

    fn without_file() -> Scene {
        let folder = TempDir::new().unwrap();
        let jsonl = Jsonl::of(&Workspace {
            named: None,
            root: folder.path().to_path_buf(),
            owner: Owner::Jsonl,
        });
        Scene { folder, jsonl }
    }

    fn owned_by(mut self, owner: Owner) -> Scene {
        self.jsonl.workspace.owner = owner;
        self
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.jsonl.path).unwrap()
    }

    fn tasks(&self) -> Vec<Task> {
        self.jsonl.tasks(SOON).unwrap().tasks
    }

    fn task(&self, id: &str) -> Task {
        let tasks = self.tasks();
        tasks.into_iter().find(|it| it.id.as_str() == id).unwrap()
    }

    /// Which line is refused, and why.
    fn refusal(&self) -> (Option<usize>, String) {
        match self.jsonl.tasks(SOON) {
            Err(Error::Unreadable { line, what, path }) => {
                assert_eq!(path, self.jsonl.path);
                (line, what)
            }
            other => panic!("{other:?}"),
        }
    }

    fn leftovers(&self) -> usize {
        fs::read_dir(self.folder.path().join(".beads"))
            .unwrap()
            .filter(|it| it.as_ref().unwrap().file_name() != "issues.jsonl")
            .count()
    }
}

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

fn refused(text: &str) -> (Option<usize>, String) {
    Scene::new(text).refusal()
}

const PLAIN: NewTask<'static> = NewTask {
    title: "A title",
    description: None,
    type_name: "task",
    priority: 2,
    parent: None,
    blocked_by: &[],
    id: None,
};
