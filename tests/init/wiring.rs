//! A scene that the real `init` wires, in one call, and what an agent would then run. Shared with
//! whoever needs a wired project: `#[path = "../init/wiring.rs"]`, beside the scene.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::scene::{Call, Done, Scene};

pub const SETTINGS: &str = ".claude/settings.json";
pub const RUN_TASKS: &str = ".claude/commands/run-tasks.md";

/// Puts the binary on a PATH of the scene's own; answers where.
pub fn install(scene: &Scene) -> PathBuf {
    let folder = scene.root.parent().unwrap().join("bin");
    install_in(&folder)
}

pub fn install_in(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let program = folder.join(format!("beadlock{}", std::env::consts::EXE_SUFFIX));
    let built = env!("CARGO_BIN_EXE_beadlock");
    // A copy cannot be started while another test's child still has it open for writing.
    if !program.exists() && fs::hard_link(built, &program).is_err() {
        fs::copy(built, &program).unwrap();
    }
    program
}

/// A call of the installed binary, which PATH knows as well.
pub fn call(scene: &Scene, program: &Path, args: &[&str]) -> Call {
    let path = std::env::var_os("PATH").unwrap();
    let first = program.parent().unwrap().to_owned();
    let all = [first].into_iter().chain(std::env::split_paths(&path));
    // A folder with a separator in its name can be on no PATH.
    let path = std::env::join_paths(all).unwrap_or(path.clone());
    scene
        .program(program.to_str().unwrap(), args)
        .env("PATH", path)
}

/// `beadlock init` with these options.
pub fn init(scene: &Scene, options: &[&str]) -> Done {
    let program = install(scene);
    let args = [&["init"], options].concat();
    call(scene, &program, &args).done()
}

/// Wires the scene's project; answers the program that it is wired to.
pub fn wire(scene: &Scene) -> PathBuf {
    let done = init(scene, &["--yes"]);
    assert_eq!(done.status, 0, "{done:?}");
    install(scene)
}

/// The hooks of an event, as the agent would find them.
pub fn hooks(settings: &Path, event: &str) -> Vec<Value> {
    let text = fs::read_to_string(settings).unwrap();
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    let groups = value["hooks"][event].as_array().cloned();
    let lists = groups.unwrap_or_default().into_iter();
    lists
        .flat_map(|group| group["hooks"].as_array().unwrap().clone())
        .collect()
}

/// A file or folder: its permissions, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    Folder,
    Link(PathBuf),
    File { mode: u32, bytes: Vec<u8> },
}

/// Everything below a folder.
pub fn everything(folder: &Path) -> BTreeMap<PathBuf, Thing> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let thing = if metadata.is_symlink() {
            Thing::Link(fs::read_link(&path).unwrap())
        } else if metadata.is_dir() {
            all.extend(everything(&path));
            Thing::Folder
        } else {
            Thing::File {
                mode: mode(&metadata),
                bytes: fs::read(&path).unwrap(),
            }
        };
        all.insert(path, thing);
    }
    all
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions())
}

#[cfg(not(unix))]
fn mode(metadata: &fs::Metadata) -> u32 {
    u32::from(metadata.permissions().readonly())
}
