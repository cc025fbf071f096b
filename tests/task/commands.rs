//! What each command does and says when all is well, and when it refuses.

use std::fs;

use serde_json::Value;

use crate::scene::{Scene, ended};

/// An epic `t-e` with `t-e.1`, and `t-e.2` that waits for it.
fn epic() -> Scene {
    let scene = Scene::new();
    let add = |args: &[&str]| scene.fine(&[&["add"], args].concat());
    assert_eq!(add(&["Ship it", "--type", "epic", "--id", "t-e"]), "t-e\n");
    assert_eq!(add(&["First", "--epic", "t-e"]), "t-e.1\n");
    assert_eq!(
        add(&[
            "Second",
            "--parent",
            "t-e",
            "--blocked-by",
            "t-e.1",
            "--priority",
            "1"
        ]),
        "t-e.2\n"
    );
    scene
}

#[test]
fn an_epic_is_worked_through_from_first_to_last() {
    let scene = epic();
    assert_eq!(
        scene.fine(&["list"]),
        "t-e.2  blocked  P1  Second  (waits for t-e.1)\n\
         t-e    epic     P2  Ship it\n\
         t-e.1  ready    P2  First\n"
    );
    assert_eq!(scene.fine(&["ready"]), "t-e.1  ready  P2  First\n");
    assert_eq!(
        scene.fine(&["ready", "--epic", "t-e"]),
        "t-e.1  ready  P2  First\n"
    );
    assert_eq!(
        scene.fine(&["start", "t-e.1"]),
        "t-e.1  in_progress  P2  First  (held by ann)\n"
    );
    assert_eq!(scene.run(&["ready"]), ended(0, "", "nothing is ready\n"));
    assert_eq!(
        scene.fine(&["close", "t-e.1", "--reason", "- done"]),
        "t-e.1  closed  P2  First\n"
    );
    assert_eq!(
        scene.fine(&["note", "t-e.2", "look twice"]),
        "t-e.2  ready  P1  Second\n"
    );
    assert_eq!(
        scene.fine(&["block", "t-e.2", "--reason", "no key"]),
        "t-e.2  blocked  P1  Second  (needs a person)\n"
    );
    assert_eq!(
        scene.fine(&["reopen", "t-e.2"]),
        "t-e.2  ready  P1  Second\n"
    );
    scene.fine(&["start", "t-e.2"]);
    assert_eq!(
        scene.fine(&["release", "t-e.2"]),
        "t-e.2  ready  P1  Second\n"
    );
    scene.fine(&["close", "t-e.2"]);
    assert_eq!(
        scene.fine(&["close", "t-e"]),
        "t-e  epic  P2  Ship it  (closed)\n"
    );
    assert_eq!(scene.run(&["list"]), ended(0, "", "no tasks\n"));
    assert_eq!(
        scene.fine(&["list", "--epic", "t-e", "--all"]),
        "t-e.2  closed  P1  Second\n\
         t-e.1  closed  P2  First\n"
    );
    assert_eq!(
        scene.fine(&["show", "t-e.2"]),
        "t-e.2  Second\n\
         status      closed\n\
         stage       closed\n\
         type        task\n\
         priority    1\n\
         parent      t-e\n\
         \nnotes\n  look twice\n  no key\n"
    );
}

#[test]
fn one_long_id_does_not_push_everything_aside() {
    let long = "t-".to_owned() + &"x".repeat(60);
    let row = |id: &str| format!("{{\"id\":\"{id}\",\"title\":\"One\"}}\n");
    let scene = Scene::with(row("t-1") + &row(&long));
    assert_eq!(
        scene.fine(&["list"]),
        format!("{:24}  ready  P2  One\n{long}  ready  P2  One\n", "t-1")
    );
}

#[test]
fn json_has_its_documented_shape() {
    let scene = epic();
    assert_eq!(
        scene.fine(&["list", "--epic", "t-e", "--json"]),
        "{\"schema\":1,\"tasks\":[\
         {\"id\":\"t-e.2\",\"title\":\"Second\",\"status\":\"open\",\"stage\":\"blocked\",\
         \"priority\":1,\"type\":\"task\",\"parent\":\"t-e\",\"blocked_by\":[\"t-e.1\"],\
         \"assignee\":null},\
         {\"id\":\"t-e.1\",\"title\":\"First\",\"status\":\"open\",\"stage\":\"ready\",\
         \"priority\":2,\"type\":\"task\",\"parent\":\"t-e\",\"blocked_by\":[],\
         \"assignee\":null}]}\n"
    );
    let epic = &scene.json(&["show", "t-e"])[0];
    assert_eq!(
        (&epic["type"], &epic["stage"]),
        (&"epic".into(), &Value::Null)
    );
    let added = &scene.json(&["add", "Bug", "--type", "bug", "--description", "-x"])[0];
    assert_eq!(
        (&added["type"], &added["stage"]),
        (&"bug".into(), &"ready".into())
    );
    let started = &scene.json(&["start", "t-e.1", "--actor", "bob"])[0];
    assert_eq!(
        (&started["stage"], &started["assignee"]),
        (&"in_progress".into(), &"bob".into())
    );
    let empty = Scene::with("");
    for verb in ["list", "ready"] {
        let nothing = ended(0, "{\"schema\":1,\"tasks\":[]}\n", "");
        assert_eq!(empty.run(&[verb, "--json"]), nothing);
    }
}

#[test]
fn what_is_not_there_is_an_error_and_never_an_empty_list() {
    let none = "there is no task `t-x`\nhint: `beadlock task list --all` lists every task\n";
    for scene in [epic(), Scene::with("")] {
        for (args, doing) in [
            (&["ready", "--epic", "t-x"][..], "list the ready tasks"),
            (&["list", "--epic", "t-x"], "list the tasks"),
            (&["show", "t-x"], "show `t-x`"),
            (&["start", "t-x"], "start `t-x`"),
            (&["close", "t-x"], "close `t-x`"),
            (&["add", "New", "--epic", "t-x"], "add the task"),
        ] {
            let stderr = format!("error: could not {doing}\n  caused by: {none}");
            assert_eq!(scene.run(args), ended(1, "", &stderr), "{args:?}");
        }
    }
    let empty = Scene::new();
    empty.run(&["close", "t-x"]);
    assert_eq!(fs::read_dir(empty.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    let scene = epic();
    assert_eq!(
        scene.run(&["start", "t-e.2"]),
        ended(
            1,
            "",
            "error: could not start `t-e.2`\n  caused by: `t-e.2` waits for `t-e.1`\n\
             hint: `beadlock task ready` lists what can be worked on now\n"
        )
    );
    assert_eq!(
        scene.run(&["close", "t-e"]),
        ended(
            1,
            "",
            "error: could not close `t-e`\n  \
             caused by: `t-e` has open children: `t-e.1`, `t-e.2`\nhint: close them first\n"
        )
    );
    scene.fine(&["start", "t-e.1"]);
    let held = scene.run(&["start", "t-e.1", "--actor", "bob"]);
    assert_eq!((held.code, held.stdout.as_str()), (Some(1), ""));
    assert!(held.stderr.contains("`t-e.1` is held by `ann` until 20"));
    scene.fine(&["close", "t-e.1"]);
    assert_eq!(
        scene.run(&["block", "t-e.1", "--reason", "x"]),
        ended(
            1,
            "",
            "error: could not block `t-e.1`\n  caused by: `t-e.1` is closed\n\
             hint: `beadlock task reopen t-e.1` opens it again\n"
        )
    );
}

#[test]
fn wrong_usage_is_64_and_never_2() {
    let scene = epic();
    for args in [
        &[][..],
        &["add"],
        &["add", "  "],
        &["add", &"x".repeat(501)],
        &["add", "x", "--priority", "5"],
        &["add", "x", "--type", "epci"],
        &["add", "x", "--id", "-rf /"],
        &["add", "x", "--id", "a b"],
        &["block", "t-e.1"],
        &["list", "--status", "opne"],
        &["list", "--nope"],
    ] {
        let ended = scene.run(args);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(64), ""),
            "{args:?}"
        );
        assert!(!ended.stderr.is_empty());
    }
    assert_eq!(scene.ids(&["list", "--status", "open,blocked"]).len(), 3);
    assert_eq!(scene.ids(&["list", "--status", "closed"]).len(), 0);
}

#[test]
fn the_actor_is_the_first_that_is_known() {
    let scene = Scene::with("{\"id\":\"t-1\"}\n");
    fs::write(scene.path(".gitconfig"), "[user]\n\tname = Git Name\n").unwrap();
    let actor = |env: &[(&str, &str)], args: &[&str]| {
        fs::write(scene.file(), "{\"id\":\"t-1\"}\n").unwrap();
        let mut command = scene.command(&[&["start", "t-1", "--json"], args].concat());
        let output = command
            .env_remove("BEADS_ACTOR")
            .envs(env.iter().copied())
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["tasks"][0]["assignee"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let all = [
        ("BEADS_ACTOR", "beads"),
        ("BD_ACTOR", "bd"),
        ("USER", "login"),
    ];
    assert_eq!(actor(&all, &["--actor", "given"]), "given");
    assert_eq!(actor(&all, &[]), "beads");
    assert_eq!(actor(&all[1..], &[]), "bd");
    assert_eq!(actor(&[("BD_ACTOR", ""), all[2]], &[]), "Git Name");
    fs::remove_file(scene.path(".gitconfig")).unwrap();
    assert_eq!(actor(&all[2..], &[]), "login");
    assert_eq!(actor(&[("USERNAME", "windows")], &[]), "windows");
    assert_eq!(actor(&[], &[]), "unknown");
}

#[test]
fn help_shows_an_example_of_everything() {
    let scene = Scene::new();
    for name in [
        "add", "list", "ready", "show", "start", "close", "block", "note", "release", "reopen",
    ] {
        let help = scene.fine(&[name, "--help"]);
        assert!(
            help.contains(&format!("Example:\n  beadlock task {name}")),
            "{help}"
        );
    }
}

#[test]
fn what_says_nothing_is_not_written_down() {
    let scene = Scene::with("{\"id\":\"t-a\"}\n");
    for args in [
        &["block", "t-a", "--reason", ""][..],
        &["note", "t-a", " \n"],
    ] {
        let ended = scene.run(args);
        assert_eq!(ended.code, Some(64), "{args:?}");
        assert!(
            ended.stderr.contains("it has to say something"),
            "{ended:?}"
        );
    }
    assert_eq!(scene.text(), "{\"id\":\"t-a\"}\n");
}

#[test]
fn an_id_without_a_prefix_is_refused() {
    let scene = Scene::new();
    let ended = scene.run(&["add", "x", "--id", "rel"]);
    assert_eq!(ended.code, Some(64));
    assert!(ended.stderr.contains("`rel` has no prefix"), "{ended:?}");
    assert!(ended.stderr.contains("as in `app-rel`"), "{ended:?}");
    assert!(!scene.path(".beads").exists());
}

#[test]
fn a_lost_file_is_no_empty_list() {
    let scene = Scene::new();
    for args in [&["list"][..], &["ready", "--json"], &["show", "t-a"]] {
        let ended = scene.run(args);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(4), ""),
            "{args:?}"
        );
        assert!(ended.stderr.contains("no such file"), "{ended:?}");
        assert!(ended.stderr.contains("begins one"), "{ended:?}");
    }
}
