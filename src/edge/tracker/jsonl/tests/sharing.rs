//! Others who read and write the same file.

use super::*;

/// Appends a line without asking for the lock, as an editor or git would.
fn append(path: &Path, line: &str) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text + line).unwrap();
}

#[test]
fn a_stranger_who_writes_meanwhile_loses_nothing() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let mut decided = 0;
    scene
        .jsonl
        .change(Act::Add, |book| {
            decided += 1;
            // The first time is before the lock; then the stranger is faster twice.
            if decided == 2 || decided == 3 {
                append(&scene.jsonl.path, &format!("{{\"id\":\"s-{decided}\"}}\n"));
            }
            Ok(Some(book.appended("{\"id\":\"t-2\"}")))
        })
        .unwrap();
    assert_eq!(
        scene.text(),
        "{\"id\":\"t-1\"}\n{\"id\":\"s-2\"}\n{\"id\":\"s-3\"}\n{\"id\":\"t-2\"}\n"
    );
    assert_eq!(scene.leftovers(), 0);
}

#[test]
fn a_stranger_who_never_stops_is_given_way() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let result = scene.jsonl.change(Act::Add, |book| {
        append(&scene.jsonl.path, "\n");
        Ok(Some(book.appended("{\"id\":\"t-2\"}")))
    });
    assert!(matches!(result, Err(Error::Changed { .. })));
    assert_eq!(scene.tasks().len(), 1);
    assert_eq!(scene.leftovers(), 0);
}

#[test]
fn a_read_is_one_piece_or_none_while_somebody_writes_into_the_file() {
    use std::io::Write;
    let scene = Scene::new("");
    let done = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut options = fs::OpenOptions::new();
            let mut file = options.append(true).open(&scene.jsonl.path).unwrap();
            for turn in 0.. {
                if done.load(order) {
                    break;
                }
                if turn % 10_000 == 0 {
                    file.set_len(0).unwrap();
                }
                file.write_all(&[b'\n'; 64]).unwrap();
            }
        });
        let is_torn = |copy: &disk::Copy| {
            let size = copy.token.as_str().split('-').next();
            size != Some(&copy.text.len().to_string())
        };
        let read = |_| disk::read(&scene.jsonl.path, Duration::ZERO).ok().flatten();
        let torn = (0..200).filter_map(read).filter(is_torn).count();
        done.store(true, order);
        assert_eq!(torn, 0);
    });
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_given_up() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let workspace = &scene.jsonl.workspace;
    let held = Lock::take(workspace, Duration::ZERO).unwrap();
    let second = Lock::take(workspace, Duration::from_millis(20));
    assert!(matches!(second, Err(Error::Busy { .. })));
    drop(held);
    Lock::take(workspace, Duration::ZERO).unwrap();
}

#[test]
fn the_lock_is_kept_inside_git_where_there_is_git() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let root = scene.folder.path();
    git2::Repository::init(root).unwrap();
    scene.jsonl.claim(&id("t-1"), "ann", NOW).unwrap();
    assert!(root.join(".git/beadlock/tracker.lock").exists());
    assert!(!root.join(".beadlock").exists());
}

#[test]
fn leftovers_of_killed_writers_are_swept() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let prefix = disk::temporary(&scene.jsonl.path).into_os_string();
    fs::write(prefix.into_string().unwrap() + "4711", "half").unwrap();
    assert_eq!(scene.leftovers(), 1);
    scene.jsonl.claim(&id("t-1"), "ann", NOW).unwrap();
    assert_eq!(scene.leftovers(), 0);
}

#[cfg(unix)]
#[test]
fn a_link_and_the_rights_of_the_file_stay() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let elsewhere = scene.folder.path().join("tasks.jsonl");
    fs::rename(&scene.jsonl.path, &elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("../tasks.jsonl", &scene.jsonl.path).unwrap();
    scene.jsonl.note(&id("t-1"), "x", "ann", NOW).unwrap();
    assert!(
        fs::symlink_metadata(&scene.jsonl.path)
            .unwrap()
            .is_symlink()
    );
    assert!(fs::read_to_string(&elsewhere).unwrap().contains("notes"));
    let mode = fs::metadata(&elsewhere).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);

    fs::remove_file(&elsewhere).unwrap();
    let nowhere = (None, "a symbolic link that leads nowhere".to_owned());
    assert_eq!(scene.refusal(), nowhere);
    let added = scene.jsonl.add(&PLAIN, "ann", NOW);
    assert!(matches!(added, Err(Error::Unreadable { .. })));
}

#[test]
fn a_file_that_is_read_only_is_left_alone() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let mut rights = fs::metadata(&scene.jsonl.path).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&scene.jsonl.path, rights).unwrap();
    let result = scene.jsonl.claim(&id("t-1"), "ann", NOW);
    assert!(matches!(result, Err(Error::Io { .. })));
    assert_eq!(scene.text(), "{\"id\":\"t-1\"}\n");
    assert_eq!(scene.leftovers(), 0);
}
