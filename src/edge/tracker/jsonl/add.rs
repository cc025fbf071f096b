//! A new task's line, in the shape that bd imports, and its id.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use serde::Serialize;

use super::book::Book;
use crate::edge::tracker::error::Error;
use crate::edge::tracker::stamp;
use crate::kernel::moment::Moment;
use crate::kernel::task::{Graph, TaskId};

#[derive(Clone, Copy, Debug)]
pub struct NewTask<'a> {
    pub title: &'a str,
    pub description: Option<&'a str>,
    /// In bd's words: `task`, `epic`, `bug`, …
    pub type_name: &'a str,
    pub priority: u8,
    pub parent: Option<&'a TaskId>,
    pub blocked_by: &'a [TaskId],
    /// The person's own choice; else one is made up.
    pub id: Option<&'a TaskId>,
}

impl NewTask<'_> {
    pub(super) fn row(
        &self,
        book: &Book,
        root: &Path,
        actor: &str,
        now: Moment,
    ) -> Result<(TaskId, String), Error> {
        let graph = Graph::new(book.tasks(), now);
        for needed in self.parent.into_iter().chain(self.blocked_by) {
            if graph.get(needed.as_str()).is_none() {
                return Err(Error::NotFound { id: needed.clone() });
            }
        }
        let id = match (self.id, self.parent) {
            (Some(id), _) if !id.has_prefix() => {
                return Err(Error::NoPrefix { id: id.clone() });
            }
            (Some(id), _) => chosen(id, book)?,
            (None, Some(parent)) => child_id(parent, book),
            (None, None) => root_id(book, root),
        };
        self.check_blockers(&id, &graph)?;
        let created_at = stamp::format(now);
        let link = |target: &TaskId, kind: &'static str| Link {
            issue_id: id.to_string(),
            depends_on_id: target.to_string(),
            kind,
            created_at: created_at.clone(),
            created_by: actor.to_owned(),
            metadata: "{}",
        };
        let parent = self.parent.map(|parent| link(parent, "parent-child"));
        let blockers = self.blocked_by.iter().map(|target| link(target, "blocks"));
        let row = NewRow {
            id: id.as_str(),
            title: self.title,
            description: self.description,
            status: "open",
            priority: self.priority,
            issue_type: self.type_name,
            created_at: &created_at,
            created_by: actor,
            updated_at: &created_at,
            dependencies: parent.into_iter().chain(blockers).collect(),
        };
        let row = serde_json::to_string(&row).map_err(|error| Error::Io {
            doing: "write down",
            path: root.to_path_buf(),
            source: error.into(),
        })?;
        Ok((id, row))
    }

    /// A blocker that would not hold, or never let go, is better refused than written down.
    fn check_blockers(&self, id: &TaskId, graph: &Graph<'_>) -> Result<(), Error> {
        if let Some(blocker) = self.blocked_by.iter().find(|it| !it.shares_workspace(id)) {
            return Err(Error::OtherPrefix {
                id: id.clone(),
                blocker: blocker.clone(),
            });
        }
        let mut seen: HashSet<&TaskId> = HashSet::new();
        let mut above = self.parent;
        while let Some(ancestor) = above
            && seen.insert(ancestor)
        {
            if self.blocked_by.contains(ancestor) {
                return Err(Error::Knot {
                    ancestor: ancestor.clone(),
                });
            }
            above = graph.parent_of(ancestor.as_str());
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct NewRow<'a> {
    id: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    status: &'static str,
    priority: u8,
    issue_type: &'a str,
    created_at: &'a str,
    created_by: &'a str,
    updated_at: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dependencies: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    issue_id: String,
    depends_on_id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    created_at: String,
    created_by: String,
    /// JSON inside of a string: that is how bd wants it.
    metadata: &'static str,
}

fn chosen(id: &TaskId, book: &Book) -> Result<TaskId, Error> {
    match book.find(id) {
        _ if !id.is_plain() => Err(Error::Id { id: id.clone() }),
        Some(_) => Err(Error::Exists { id: id.clone() }),
        None => Ok(id.clone()),
    }
}

/// The number after the highest ever given to a child, so that no deleted one's comes back.
fn child_id(parent: &TaskId, book: &Book) -> TaskId {
    let number = |id: &TaskId| -> Option<u64> {
        let rest = id.as_str().strip_prefix(parent.as_str())?;
        rest.strip_prefix('.')?.parse().ok()
    };
    let highest = book
        .tasks()
        .iter()
        .filter_map(|task| number(&task.id))
        .max();
    let next = highest.unwrap_or(0).saturating_add(1);
    TaskId::new(format!("{parent}.{next}"))
}

/// A prefix and a few random characters: more of them the more tasks there are, since ids are
/// also made up in other people's copies of the file.
fn root_id(book: &Book, root: &Path) -> TaskId {
    let taken: HashSet<&str> = book.tasks().iter().map(|task| task.id.as_str()).collect();
    let prefix = prefix(book, root);
    let mut length = match taken.len() {
        0..1_000 => 4,
        1_000..30_000 => 5,
        _ => 6,
    };
    loop {
        let id = format!("{prefix}-{}", random_word(length));
        if !taken.contains(id.as_str()) {
            return TaskId::new(id);
        }
        length += 1;
    }
}

fn random_word(length: usize) -> String {
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // std's own source of randomness: the keys of a fresh hasher.
    let random = RandomState::new();
    (0..length)
        .map(|place| {
            let number = random.hash_one(place) % digits.len() as u64;
            char::from(digits[usize::try_from(number).unwrap_or(0)])
        })
        .collect()
}

/// The longest of a prefix made from a folder's name.
const PREFIX_CHARS_MAX: usize = 8;

/// What most ids start with; in an empty file the folder's name.
fn prefix(book: &Book, root: &Path) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for task in book.tasks() {
        let stem = task.id.as_str().split('.').next().unwrap_or_default();
        if let Some((prefix, _)) = stem.rsplit_once('-')
            && !prefix.is_empty()
        {
            *counts.entry(prefix).or_default() += 1;
        }
    }
    // Of two equally frequent ones the first by name: the same file, the same prefix.
    let most = counts
        .into_iter()
        .max_by(|a, b| (a.1, b.0).cmp(&(b.1, a.0)));
    if let Some((prefix, _)) = most {
        return prefix.to_owned();
    }
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    let name: String = folder
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .take(PREFIX_CHARS_MAX)
        .collect();
    if name.is_empty() {
        "bd".to_owned()
    } else {
        name
    }
}
