//! Links, permissions, terminals, and programs in folders that a shell would trip over.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::scene::{Done, EPIC, SESSION, Scene};
use crate::wiring::{
    RUN_TASKS, SETTINGS, call, everything, hooks, init, install, install_in, wire,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_link_stays_one_and_what_it_leads_to_is_changed() {
    let scene = Scene::with_tasks(1);
    let target = scene.root.parent().unwrap().join("dotfiles.json");
    fs::write(&target, "{\"a\": 1}").unwrap();
    fs::create_dir(scene.path(".claude")).unwrap();
    symlink("../../dotfiles.json", scene.path(SETTINGS)).unwrap();
    wire(&scene);
    assert!(
        fs::symlink_metadata(scene.path(SETTINGS))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(hooks(&target, "Stop").len(), 1);
    init(&scene, &["--remove"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{\"a\": 1}");
    fs::remove_file(&target).unwrap();
    init(&scene, &[]).fails(1, "a symbolic link that leads nowhere");
}

#[test]
fn permissions_stay() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, "{}");
    fs::set_permissions(scene.path(SETTINGS), Permissions::from_mode(0o640)).unwrap();
    wire(&scene);
    assert_eq!(mode(&scene.path(SETTINGS)), 0o640);
    // A new file is what the person's mask makes of any new file.
    let usual = scene.path("usual");
    fs::write(&usual, "").unwrap();
    assert_eq!(mode(&scene.path(RUN_TASKS)), mode(&usual));
    init(&scene, &["--remove"]);
    assert_eq!(mode(&scene.path(SETTINGS)), 0o640);
}

#[test]
fn what_is_read_only_is_left_alone() {
    let scene = Scene::with_tasks(1);
    scene.write(SETTINGS, "{}");
    install(&scene);
    fs::set_permissions(scene.path(SETTINGS), Permissions::from_mode(0o444)).unwrap();
    let before = everything(&scene.path(".claude"));
    let said = format!(
        "error: could not write `{}`: it is read-only\nhint: nothing was changed;",
        scene.path(SETTINGS).display()
    );
    init(&scene, &[]).fails_after_difference(1, &said);
    assert_eq!(everything(&scene.path(".claude")), before);
}

impl Done {
    /// The difference was shown, and then this went wrong.
    #[track_caller]
    fn fails_after_difference(&self, status: i32, with: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.stderr.contains(with), "{self:?}");
        assert!(self.stdout.starts_with("--- "), "{self:?}");
    }
}

/// As nobody in particular, if we are root: what root may do proves nothing.
fn as_nobody(scene: &Scene, command: &mut Command) {
    const NOBODY: u32 = 65_534;
    let base = scene.root.parent().unwrap();
    if fs::metadata(base).unwrap().uid() == 0 {
        fs::set_permissions(base, Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    let scene = Scene::folder();
    let program = install(&scene);
    fs::set_permissions(&scene.root, Permissions::from_mode(0o555)).unwrap();
    let mut command = scene.command(program.to_str().unwrap(), &scene.root);
    command.arg("init").stdin(Stdio::null());
    as_nobody(&scene, &mut command);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let said = format!("`{}", scene.root.display());
    assert!(
        stderr.contains(&said) && stderr.contains("ermission denied"),
        "{stderr}"
    );
    assert_eq!(fs::read_dir(&scene.root).unwrap().count(), 0);
    fs::set_permissions(&scene.root, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_fails_in_the_middle_is_put_back() {
    let scene = Scene::with_tasks(1);
    let program = install(&scene);
    scene.write(SETTINGS, "{\"a\": 1}");
    scene.write(".claude/commands/other.md", "");
    let open =
        |path: &str, mode| fs::set_permissions(scene.path(path), Permissions::from_mode(mode));
    for path in ["", ".git", ".claude"] {
        open(path, 0o777).unwrap();
    }
    open(SETTINGS, 0o666).unwrap();
    open(".claude/commands", 0o555).unwrap();
    let before = everything(&scene.root);
    let mut command = scene.command(program.to_str().unwrap(), &scene.root);
    command.arg("init").stdin(Stdio::null());
    as_nobody(&scene, &mut command);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: could not write `"), "{stderr}");
    assert!(stderr.contains("commands/run-tasks.md"), "{stderr}");
    assert_eq!(everything(&scene.root), before);
    open(".claude/commands", 0o755).unwrap();
}

/// What happens at a terminal where somebody types this.
fn at_a_terminal(scene: &Scene, typed: &str) -> (i32, String) {
    let program = install(scene);
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut command = scene.command(program.to_str().unwrap(), &scene.root);
    command
        .arg("init")
        .env("PATH", program.parent().unwrap())
        .stdin(terminal)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut master = File::from(master);
    master.write_all(typed.as_bytes()).unwrap();
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    (child.wait().unwrap().code().unwrap(), stderr)
}

#[test]
fn at_a_terminal_it_asks() {
    let scene = Scene::with_tasks(1);
    for no in ["\n", "n\n", "yessir\n", "\u{4}"] {
        let (status, stderr) = at_a_terminal(&scene, no);
        assert_eq!(status, 1, "{stderr}");
        assert!(
            stderr.contains("Write this? [y/N] error: nothing was changed"),
            "{stderr}"
        );
        assert!(!scene.path(".claude").exists());
    }
    let (status, stderr) = at_a_terminal(&scene, "y\n");
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(hooks(&scene.path(SETTINGS), "Stop").len(), 1);
    // Where nothing would change there is nothing to ask.
    assert_eq!(at_a_terminal(&scene, ""), (0, "nothing to do\n".to_owned()));
}

#[test]
fn a_program_in_any_folder_is_called_by_its_path() {
    for name in [
        "with space",
        "it's",
        "dq\"x",
        "uml-äöü 日本",
        "do$llar $0 $ARGUMENTS",
        "Program Files (x86) [y]",
        "back`tick",
        "semi;amp& |",
        "star*q?",
        "back\\slash",
        "a # b, c: d",
        "{brace}!",
        "😀",
    ] {
        let scene = Scene::with_tasks(1);
        let program = install_in(&scene.root.parent().unwrap().join(name));
        let done = call(&scene, &program, &["init"]).done();
        assert_eq!(done.status, 0, "{done:?}");
        assert_eq!(
            hooks(&scene.path(SETTINGS), "Stop")[0]["command"],
            program.to_str().unwrap()
        );
        let text = fs::read_to_string(scene.path(RUN_TASKS)).unwrap();
        let line = text
            .lines()
            .find(|line| line.contains("prompt --armed") && !line.contains("Bash("));
        let line = line.unwrap().trim_start_matches("!`").trim_end_matches('`');
        scene.start(SESSION);
        let armed = scene
            .program("sh", &["-c", line])
            .env("CLAUDE_CODE_SESSION_ID", SESSION)
            .done();
        assert!(armed.stdout.contains(EPIC), "{name}: {armed:?}");
        call(&scene, &program, &["init", "--remove"]).done();
        assert!(!scene.path(".claude").exists());
    }
}

#[test]
fn a_program_that_the_agent_would_not_call_is_refused() {
    let scene = Scene::with_tasks(1);
    let program = install_in(&scene.root.parent().unwrap().join("new\nline"));
    let done = call(&scene, &program, &["init"]).done();
    done.fails(1, "has a control character in its path");
    assert!(!scene.path(".claude").exists());
}

#[test]
fn a_path_that_will_last_is_preferred() {
    let scene = Scene::with_tasks(1);
    let base = scene.root.parent().unwrap();
    let program = install_in(&base.join("versions/1.0"));
    fs::create_dir(base.join("stable")).unwrap();
    let stable = base.join("stable/beadlock");
    symlink(&program, &stable).unwrap();
    let done = call(&scene, &program, &["init"])
        .env("PATH", base.join("stable"))
        .done();
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(
        hooks(&scene.path(SETTINGS), "Stop")[0]["command"],
        stable.to_str().unwrap()
    );
}
