//! A change token for bd's embedded database: two small looks at Dolt's own files instead of a
//! call that takes a fifth of a second. Seen to change with every write of bd 1.3.0, and never
//! without one; wherever anything is not as it was seen, there is no token.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{PLAIN, QUIET};
use crate::edge::git_place::read_small;
use crate::edge::tracker::{Token, Workspace};

/// Dolt names its journal so; beside it stands the manifest with the root's hash.
const JOURNAL: &str = "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv";

/// The folder of bd's embedded databases.
const ALL: &str = "embeddeddolt";

/// What settings begin with that send bd to another database than the one beside them.
const ELSEWHERE: [&str; 7] = [
    "dolt",
    "db",
    "backend",
    "repos",
    "routing",
    "contributor",
    "no-db",
];

/// Variables of bd's that have no bearing on what it lists, or that a call of ours sets itself.
const HARMLESS: [&str; 9] = [
    "BEADS_ACTOR",
    "BD_ACTOR",
    "BEADS_IDENTITY",
    "BEADS_METRICS_ENDPOINT",
    "BEADS_DIR",
    "BD_JSON",
    "BD_LIST_LIMIT",
    "BD_AGENT_MODE",
    "BD_NO_EMOJI",
];

/// What bd goes by beside the files of its workspace.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// A variable that may send bd elsewhere.
    is_odd: bool,
    /// The user's own settings, wherever bd looks for them.
    configs: Vec<PathBuf>,
}

impl Around {
    pub fn ours() -> Around {
        let is_set = |name: &str| QUIET.iter().chain(&PLAIN).any(|(own, _)| *own == name);
        let is_odd = |name: &str| {
            let is_bds = name.starts_with("BD_") || name.starts_with("BEADS_");
            is_bds && !HARMLESS.contains(&name) && !is_set(name)
        };
        let mut names = std::env::vars_os().map(|(name, _)| name);
        let home = dirs::home_dir();
        let in_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let native = dirs::config_dir().map(|folder| folder.join("bd/config.yaml"));
        Around {
            is_odd: names.any(|name| is_odd(&name.to_string_lossy().to_ascii_uppercase())),
            configs: [
                in_home(".beads/config.yaml"),
                in_home(".config/bd/config.yaml"),
                native,
            ]
            .into_iter()
            .flatten()
            .collect(),
        }
    }
}

#[derive(Deserialize)]
struct Metadata {
    backend: Option<String>,
    dolt_mode: Option<String>,
    dolt_database: Option<String>,
}

/// What `program` would say has not changed for as long as this is the same.
pub fn of(workspace: &Workspace, program: &str, around: &Around) -> Option<Token> {
    let Embedded {
        name,
        metadata,
        settings,
    } = embedded(workspace, around)?;
    let noms = database(&workspace.folder(), &name)?;
    let manifest = read_small(&noms.join("manifest")).ok()?;
    let journal = fs::symlink_metadata(noms.join(JOURNAL)).ok()?;
    if !journal.is_file() || manifest.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    let parts = [program, &metadata, &manifest].into_iter();
    for part in parts.chain(settings.iter().map(String::as_str)) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(&journal.len().to_le_bytes());
    Some(Token::new(hasher.finalize().to_hex().as_str()))
}

/// All the settings that bd merges, if none of them names another database. Without a file of the
/// workspace's own it would look further up for one.
fn settings(folder: &Path, around: &Around) -> Option<Vec<String>> {
    let own = folder.join("config.yaml");
    fs::symlink_metadata(&own).ok()?;
    let local = folder.join("config.local.yaml");
    let mut settings = Vec::new();
    for path in [own, local].iter().chain(&around.configs) {
        let text = match fs::symlink_metadata(path) {
            Ok(_) => read_small(path).ok()?,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(_) => return None,
        };
        if !is_about_this_place(&text) {
            return None;
        }
        settings.push(text);
    }
    Some(settings)
}

fn is_about_this_place(settings: &str) -> bool {
    let is_set = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if !settings.lines().any(is_set) {
        return true;
    }
    #[expect(clippy::zero_sized_map_values, reason = "only a map can be read so")]
    let keys: Result<BTreeMap<String, IgnoredAny>, _> = serde_saphyr::from_str(settings);
    keys.is_ok_and(|keys| {
        let mut names = keys.keys();
        !names.any(|name| ELSEWHERE.iter().any(|word| name.starts_with(word)))
    })
}

/// The database that bd would read here, if it is gone: bd would make an empty one in its place.
pub fn missing_database(workspace: &Workspace, around: &Around) -> Option<PathBuf> {
    let name = embedded(workspace, around)?.name;
    let database = workspace.folder().join(ALL).join(name);
    match fs::symlink_metadata(&database) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(database),
        Ok(_) | Err(_) => None,
    }
}

/// A database beside the settings, with nothing in sight that leads to another.
struct Embedded {
    name: String,
    metadata: String,
    settings: Vec<String>,
}

fn embedded(workspace: &Workspace, around: &Around) -> Option<Embedded> {
    if workspace.named.is_some() || around.is_odd {
        return None;
    }
    let folder = workspace.folder();
    for elsewhere in ["redirect", ".env"] {
        if fs::symlink_metadata(folder.join(elsewhere)).is_ok() {
            return None;
        }
    }
    let metadata = read_small(&folder.join("metadata.json")).ok()?;
    let Metadata {
        backend,
        dolt_mode,
        dolt_database,
    } = serde_json::from_str(&metadata).ok()?;
    if dolt_mode.as_deref() != Some("embedded") || backend.is_some_and(|it| it != "dolt") {
        return None;
    }
    Some(Embedded {
        name: dolt_database.filter(|name| is_plain(name))?,
        settings: settings(&folder, around)?,
        metadata,
    })
}

fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.chars().all(is_plain)
}

/// The database's files, if it is the only one here.
fn database(folder: &Path, name: &str) -> Option<PathBuf> {
    let all = folder.join(ALL);
    let own = all.join(name);
    for entry in fs::read_dir(&all).ok()? {
        let entry = entry.ok()?;
        let is_database = entry.path().join(".dolt").exists();
        if is_database && entry.path() != own {
            return None;
        }
    }
    Some(own.join(".dolt").join("noms"))
}

#[cfg(test)]
mod tests {
    use super::is_about_this_place;

    #[test]
    fn settings_that_name_another_database_are_told_from_others() {
        for here in [
            "",
            "# dolt: x\n",
            "issue-prefix: bd\nsync:\n  remote: dolthub://a/b\n",
        ] {
            assert!(is_about_this_place(here), "{here}");
        }
        for elsewhere in [
            "dolt:\n  host: x\n",
            "dolt.mode: server\n",
            "{dolt: {host: x}}",
            "db: x\n",
            "routing.mode: auto\n",
            "repos:\n  primary: x\n",
            "a: [",
            "words",
        ] {
            assert!(!is_about_this_place(elsewhere), "{elsewhere}");
        }
    }
}
