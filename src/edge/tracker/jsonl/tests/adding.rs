//! New tasks, and whose files they may go to.

use super::*;

#[test]
fn a_new_row_has_the_shape_that_bd_imports() {
    let scene = Scene::new("{\"id\":\"t-1\"}\r\n{\"id\":\"t-1.1\",\"status\":\"tombstone\"}");
    let new = NewTask {
        description: Some("{{ x }} \u{1b}[2J"),
        parent: Some(&id("t-1")),
        ..PLAIN
    };
    assert_eq!(scene.jsonl.add(&new, "ann", NOW).unwrap().as_str(), "t-1.2");
    let time = "2026-01-01T00:00:00Z";
    assert_eq!(
        scene.text(),
        format!(
            "{{\"id\":\"t-1\"}}\r\n{{\"id\":\"t-1.1\",\"status\":\"tombstone\"}}\r\n\
             {{\"id\":\"t-1.2\",\"title\":\"A title\",\"description\":\"{{{{ x }}}} \\u001b[2J\",\
             \"status\":\"open\",\"priority\":2,\"issue_type\":\"task\",\"created_at\":\"{time}\",\
             \"created_by\":\"ann\",\"updated_at\":\"{time}\",\"dependencies\":[{{\
             \"issue_id\":\"t-1.2\",\"depends_on_id\":\"t-1\",\"type\":\"parent-child\",\
             \"created_at\":\"{time}\",\"created_by\":\"ann\",\"metadata\":\"{{}}\"}}]}}\r\n"
        )
    );
}

#[test]
fn made_up_ids_follow_the_file_then_the_folder() {
    let prefix_in = |text: &str| {
        let scene = Scene::new(text);
        let added = scene.jsonl.add(&PLAIN, "ann", NOW).unwrap();
        let (prefix, word) = added.as_str().rsplit_once('-').unwrap();
        assert_eq!(word.len(), 4);
        assert!(
            word.bytes()
                .all(|it| it.is_ascii_digit() || it.is_ascii_lowercase())
        );
        prefix.to_owned()
    };
    assert_eq!(
        prefix_in("{\"id\":\"zz-1\"}\n{\"id\":\"my-app-1\"}\n{\"id\":\"my-app-1.1\"}\n"),
        "my-app"
    );
    let named = |name: &str| {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join(name);
        fs::create_dir(&root).unwrap();
        let owner = Owner::Nobody;
        let jsonl = Jsonl::of(&Workspace {
            root,
            named: None,
            owner,
        });
        jsonl.add(&PLAIN, "ann", NOW).unwrap().to_string()
    };
    assert!(named("My Web-App 2027").starts_with("mywebapp-"));
    assert!(named("日本").starts_with("bd-"));
}

#[test]
fn an_addition_that_could_never_work_is_refused() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n{\"id\":\"t-1.1\"}\n{\"id\":\"u\"}\n");
    let before = scene.text();
    let ids = ["t-1", "t-1.1", "u", "gone"].map(id);
    let [parent, child, other, gone] = &ids;
    let add = |new: NewTask<'_>| scene.jsonl.add(&new, "ann", NOW).unwrap_err();
    let with_id = |id| NewTask {
        id: Some(id),
        ..PLAIN
    };
    assert!(matches!(add(with_id(child)), Error::Exists { .. }));
    assert!(matches!(add(with_id(&id("-rf x"))), Error::Id { .. }));
    let below = |parent, blocked_by| NewTask {
        parent: Some(parent),
        blocked_by,
        ..PLAIN
    };
    assert!(matches!(add(below(gone, &[])), Error::NotFound { .. }));
    assert!(matches!(
        add(below(parent, &ids[3..])),
        Error::NotFound { .. }
    ));
    assert!(
        matches!(add(below(child, &ids[..1])), Error::Knot { ancestor } if ancestor == *parent)
    );
    assert!(
        matches!(add(below(child, &ids[2..3])), Error::OtherPrefix { blocker, .. } if blocker == *other)
    );
    assert_eq!(scene.text(), before);
}

#[test]
fn a_workspace_of_bd_is_neither_chosen_nor_written() {
    let told_by = "`metadata.json` says so".to_owned();
    for (owner, instead) in [
        (
            Owner::Bd {
                told_by: told_by.clone(),
            },
            "`bd close t-1`",
        ),
        (
            Owner::BdOrBr { told_by },
            "`bd close t-1` or `br close t-1`",
        ),
    ] {
        let scene = Scene::new("{\"id\":\"t-1\"}\n").owned_by(owner);
        let jsonl = &scene.jsonl;
        let kind = |choice| open(&jsonl.workspace, choice).map(|it| it.kind());
        let named = kind(KindChoice::Named(Kind::Jsonl));
        assert!(matches!(named, Err(Error::Unsupported { .. })));
        match (&jsonl.workspace.owner, kind(KindChoice::Auto)) {
            (Owner::Bd { .. }, Ok(kind)) => assert_eq!(kind, Kind::Bd),
            (Owner::BdOrBr { .. }, Err(Error::Unsupported { .. })) => {}
            other => panic!("{other:?}"),
        }
        match jsonl.close(&id("t-1"), None, "ann", NOW) {
            Err(Error::Foreign { instead: told, .. }) => assert_eq!(told, instead),
            other => panic!("{other:?}"),
        }
        let task = &id("t-1");
        assert!(matches!(
            jsonl.claim(task, "ann", NOW),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            jsonl.heartbeat(task, "ann", NOW),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            jsonl.note(task, "x", "ann", NOW),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            jsonl.block(task, "x", "ann", NOW),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            jsonl.release(task, "ann", NOW, None),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            scene.jsonl.reopen(task, NOW),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            scene.jsonl.add(&PLAIN, "ann", NOW),
            Err(Error::Foreign { .. })
        ));
        assert_eq!(scene.text(), "{\"id\":\"t-1\"}\n");
    }
}
