//! What it takes to undo a wiring: hashes, places and the few bytes that were replaced. Never a copy
//! of somebody's settings, which may hold secrets.

use serde::{Deserialize, Serialize};

use crate::edge::agent::settings::{Change, undo};

/// Another number means that another program must read it.
const VERSION: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    version: u32,
    files: Vec<File>,
    /// Folders that were not there before, the outer ones first.
    folders: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    path: String,
    #[serde(flatten)]
    noted: Noted,
}

/// One file's way back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// Nothing if there was no file.
    before: Option<Hash>,
    after: Hash,
    changes: Vec<Change>,
}

/// By which a file is known to be as it was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash(String);

impl Hash {
    pub fn of(text: &str) -> Hash {
        Hash(blake3::hash(text.as_bytes()).to_hex().to_string())
    }
}

impl Noted {
    pub fn new(before: Option<&str>, after: &str, changes: Vec<Change>) -> Noted {
        Noted {
            before: before.map(Hash::of),
            after: Hash::of(after),
            changes,
        }
    }

    pub fn is_of(&self, text: &str) -> bool {
        self.after == Hash::of(text)
    }

    pub fn is_creation(&self) -> bool {
        self.before.is_none()
    }

    /// The file as it was, given it is as it was left; `Some(None)` if there was none.
    pub fn original(&self, text: &str) -> Option<Option<String>> {
        if !self.is_of(text) {
            return None;
        }
        let Some(before) = &self.before else {
            return Some(None);
        };
        let original = undo(text, &self.changes)?;
        (Hash::of(&original) == *before).then_some(Some(original))
    }
}

impl Note {
    pub fn of(&self, path: &str) -> Option<&Noted> {
        let file = self.files.iter().find(|file| file.path == path)?;
        Some(&file.noted)
    }

    pub fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    pub(super) fn from_text(text: &str) -> Note {
        let note: Option<Note> = serde_json::from_str(text).ok();
        note.filter(|note| note.version == VERSION)
            .unwrap_or_default()
    }

    pub(super) fn to_text(&self) -> String {
        // Texts, numbers and lists always serialise.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub(super) fn set(&mut self, path: &str, noted: Option<Noted>) {
        self.version = VERSION;
        self.files.retain(|file| file.path != path);
        self.files.extend(noted.map(|noted| File {
            path: path.to_owned(),
            noted,
        }));
    }

    pub(super) fn folders(&self) -> &[String] {
        &self.folders
    }

    pub(super) fn add_folders(&mut self, folders: &[String]) {
        for folder in folders {
            if !self.folders.contains(folder) {
                self.folders.push(folder.clone());
            }
        }
    }
}
