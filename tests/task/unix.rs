//! Pipes, rights and full disks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::scene::{Ended, Scene, command, ended};

#[test]
fn a_pipe_in_the_files_place_does_not_hang() {
    let scene = Scene::new();
    fs::create_dir(scene.path(".beads")).unwrap();
    let made = command("mkfifo").arg(scene.file()).status().unwrap();
    assert!(made.success());
    let cause = format!(
        "  caused by: `{}`: not a regular file\n",
        scene.file().display()
    );
    assert_eq!(
        scene.run(&["list"]),
        ended(4, "", &format!("error: could not list the tasks\n{cause}"))
    );
    assert_eq!(
        scene.run(&["add", "x"]),
        ended(4, "", &format!("error: could not add the task\n{cause}"))
    );
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_leaves_the_file_as_it_was() {
    let scene = Scene::with("{\"id\":\"t-1\"}\n");
    set_mode(scene.folder.path(), 0o777);
    set_mode(&scene.path(".beads"), 0o555);
    let mut command = scene.command(&["close", "t-1"]);
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere; nobody may not.
        command.uid(65534);
    }
    let result = Ended::of(&command.output().unwrap());
    set_mode(&scene.path(".beads"), 0o755);
    let stderr = format!(
        "error: could not close `t-1`\n  \
         caused by: could not write `{}`: Permission denied (os error 13)\n",
        scene.file().canonicalize().unwrap().display()
    );
    assert_eq!(result, ended(1, "", &stderr));
    assert_eq!(scene.text(), "{\"id\":\"t-1\"}\n");
}

#[test]
fn a_folder_that_cannot_be_looked_into_is_unknown_and_not_empty() {
    let scene = Scene::with("{\"id\":\"t-1\"}\n");
    set_mode(scene.folder.path(), 0o777);
    set_mode(&scene.path(".beads"), 0o000);
    let mut command = scene.command(&["list"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65534);
    }
    let result = Ended::of(&command.output().unwrap());
    set_mode(&scene.path(".beads"), 0o755);
    let stderr = format!(
        "error: could not list the tasks\n  \
         caused by: `{}`: Permission denied (os error 13)\n",
        scene.file().display()
    );
    assert_eq!(result, ended(4, "", &stderr));
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let text = format!("{{\"id\":\"t-1\",\"x\":\"{}\"}}\n", "x".repeat(100_000));
    let scene = Scene::with(&text);
    // A limit on the size of files fails a write half-way, as a full disk does.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" task close t-1";
    let output = command("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_beadlock")])
        .current_dir(scene.folder.path())
        .output()
        .unwrap();
    let result = Ended::of(&output);
    assert_eq!((result.code, result.stdout.as_str()), (Some(1), ""));
    assert!(
        result.stderr.contains("File too large"),
        "{}",
        result.stderr
    );
    assert_eq!(scene.text(), text);
    assert_eq!(fs::read_dir(scene.path(".beads")).unwrap().count(), 1);
}

#[test]
fn a_sandbox_that_forbids_git_does_not_forbid_tasks() {
    let scene = Scene::with("{\"id\":\"t-1\"}\n");
    git2::Repository::init(scene.folder.path()).unwrap();
    for path in ["", ".beads"] {
        set_mode(&scene.path(path), 0o777);
    }
    set_mode(&scene.file(), 0o666);
    set_mode(&scene.path(".git"), 0o555);
    let mut command = scene.command(&["close", "t-1"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65534);
    }
    let result = Ended::of(&command.output().unwrap());
    set_mode(&scene.path(".git"), 0o755);
    assert_eq!(result, ended(0, "t-1  closed  P2\n", ""));
    assert!(scene.path(".beadlock/tracker.lock").exists());
    assert_eq!(
        fs::read_to_string(scene.path(".beadlock/.gitignore")).unwrap(),
        "/tracker.lock\n/state.db*\n/sessions/\n/init/\n/.gitignore\n"
    );
    fs::create_dir(scene.path(".beadlock/prompts")).unwrap();
    fs::write(scene.path(".beadlock/prompts/unknown.tera"), "x").unwrap();
    let repository = git2::Repository::open(scene.folder.path()).unwrap();
    let mut options = git2::StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .pathspec(".beadlock");
    let seen = repository.statuses(Some(&mut options)).unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|it| it.path().unwrap().to_owned())
        .collect();
    assert_eq!(seen, [".beadlock/prompts/unknown.tera"]);
}
