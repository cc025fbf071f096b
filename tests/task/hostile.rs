//! Files that nobody should have to read.

use std::fmt::Write;
use std::fs;

use crate::scene::{Scene, ended};

#[test]
fn a_broken_file_is_unknown_with_its_line() {
    let good = "{\"id\":\"t-1\"}\n";
    let file = "`{path}`, line 2: ";
    for (line, what) in [
        ("<<<<<<< HEAD", "a merge conflict that nobody has resolved"),
        (
            "{\"id\":\"t-2\",\"ti",
            "breaks off in the middle of a value",
        ),
        ("{\"id\":\"t-1\",\"x\":1}", "`t-1` is not what line 1 says"),
        ("[1]", "not a JSON object"),
    ] {
        let text = format!("{good}{line}\n");
        let scene = Scene::with(&text);
        let path = scene.file().display().to_string();
        let cause = file.replace("{path}", &path) + what;
        for (args, doing) in [
            (&["list"][..], "list the tasks"),
            (&["ready"], "list the ready tasks"),
            (&["add", "x"], "add the task"),
            (&["close", "t-1"], "close `t-1`"),
        ] {
            let stderr = format!(
                "error: could not {doing}\n  caused by: {cause}\nhint: repair that line in an editor\n"
            );
            assert_eq!(scene.run(args), ended(4, "", &stderr), "{args:?} {line}");
        }
        assert_eq!(scene.text(), text);
    }
}

#[test]
fn a_workspace_of_bd_is_left_to_bd() {
    let scene = Scene::with("{\"id\":\"t-1\"}\n");
    let metadata = scene.path(".beads/metadata.json");
    fs::write(&metadata, "{\"backend\":\"dolt\"}").unwrap();
    let kept = format!(
        "the tasks here are kept by bd (`{}` says `dolt`)",
        metadata.display()
    );
    assert_eq!(
        scene.run(&["close", "t-1"]),
        ended(
            1,
            "",
            &format!(
                "error: could not close `t-1`\n  caused by: {kept}\nhint: use `bd close t-1`\n"
            )
        )
    );
    assert_eq!(
        scene.run(&["ready"]),
        ended(
            4,
            "",
            &format!(
                "error: could not list the ready tasks\n  \
                 caused by: {kept}, not in a file of our own\nhint: use `bd ready`\n"
            )
        )
    );
    for (args, instead) in [
        (&["list"][..], "bd list"),
        (&["show", "t-1"], "bd show t-1"),
        (&["show", "t 1"], "bd show ID"),
        (
            &["block", "t-1", "--reason", "no key"],
            "bd update t-1 --status blocked --append-notes TEXT",
        ),
    ] {
        let hint = format!("\nhint: use `{instead}`\n");
        assert!(scene.run(args).stderr.ends_with(&hint), "{args:?}");
    }
    assert_eq!(scene.text(), "{\"id\":\"t-1\"}\n");
}

#[test]
fn other_peoples_text_cannot_steer_the_terminal_or_a_template() {
    let title = "\u{1b}[2J\u{7}red\n{{ 7 * 7 }}\u{9b}31m\u{202e}";
    let scene = Scene::with(
        serde_json::json!({"id": "t-1\u{1b}", "title": title, "status": "\u{1b}c", "assignee": "\u{1b}]0;x\u{7}"})
            .to_string(),
    );
    for args in [
        &["list"][..],
        &["show", "t-1\u{1b}"],
        &["list", "--status", "\u{1b}c"],
    ] {
        let shown = scene.fine(args);
        let is_tame = |c: char| (!c.is_control() && c != '\u{202e}') || c == '\n';
        assert!(shown.chars().all(is_tame), "{shown:?}");
        assert!(shown.contains("red {{ 7 * 7 }}"), "{shown:?}");
    }
    let refusal = scene.run(&["start", "t-1\u{1b}"]).stderr;
    assert!(!refusal.contains('\u{1b}'), "{refusal:?}");
    // Programs get the text as it is.
    assert_eq!(scene.json(&["list"])[0]["title"], title);
}

#[test]
fn a_long_title_is_cut_in_lists() {
    let scene = Scene::with(format!(
        "{{\"id\":\"t-1\",\"title\":\"{}\"}}",
        "x".repeat(1 << 20)
    ));
    assert_eq!(
        scene.fine(&["list"]).len(),
        "t-1  ready  P2  \n".len() + 200
    );
    scene.fine(&["note", "t-1", "still works"]);
    assert!(scene.text().len() > 1 << 20);
}

#[test]
fn a_cycle_is_shown_as_waiting() {
    let scene = Scene::with(
        "{\"id\":\"t-a\",\"dependencies\":[{\"depends_on_id\":\"t-b\",\"type\":\"blocks\"},{\"depends_on_id\":\"t-b\",\"type\":\"parent-child\"}]}\n\
         {\"id\":\"t-b\",\"dependencies\":[{\"depends_on_id\":\"t-a\",\"type\":\"blocks\"},{\"depends_on_id\":\"t-a\",\"type\":\"parent-child\"}]}\n\
         {\"id\":\"t-c\",\"dependencies\":[{\"depends_on_id\":\"t-c\",\"type\":\"blocks\"}]}\n",
    );
    assert_eq!(
        scene.fine(&["list"]),
        "t-a  blocked  P2    (waits for t-b, t-a)\n\
         t-b  blocked  P2    (waits for t-a, t-b)\n\
         t-c  blocked  P2    (waits for t-c)\n"
    );
    assert_eq!(
        scene.run(&["ready", "--epic", "t-a"]),
        ended(0, "", "nothing is ready\n")
    );
    assert_eq!(scene.run(&["close", "t-c"]).code, Some(1));
    assert_eq!(scene.run(&["add", "x", "--epic", "t-a"]).code, Some(0));
}

#[test]
fn a_hundred_thousand_tasks_are_fine() {
    let mut text = String::from("{\"id\":\"t-e\",\"issue_type\":\"epic\"}\n");
    for number in 1..100_000 {
        let before = number - 1;
        let _ = writeln!(
            text,
            "{{\"id\":\"t-e.{number}\",\"title\":\"{number}\",\"status\":\"open\",\"dependencies\":[{{\"depends_on_id\":\"t-e\",\"type\":\"parent-child\"}},{{\"depends_on_id\":\"t-e.{before}\",\"type\":\"blocks\"}}]}}"
        );
    }
    let scene = Scene::with(&text);
    assert_eq!(
        scene.fine(&["ready", "--epic", "t-e"]),
        "t-e.1  ready  P2  1\n"
    );
    scene.fine(&["close", "t-e.1"]);
    assert_eq!(scene.ids(&["ready"]), ["t-e.2"]);
    assert_eq!(scene.text().lines().count(), 100_000);
}
