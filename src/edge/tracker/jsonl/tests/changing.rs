//! What may be done to a task, and what that leaves in its line.

use super::*;

#[test]
fn copies_of_a_line_are_changed_together() {
    let one = r#"{"id":"t-1"}"#;
    let two = r#"{"id":"t-2"}"#;
    let scene = Scene::new(format!("{one}\n{two}\n{one}"));
    scene.jsonl.note(&id("t-1"), "seen", "ann", NOW).unwrap();
    let noted = r#"{"id":"t-1","notes":"seen","updated_at":"2026-01-01T00:00:00Z"}"#;
    assert_eq!(scene.text(), format!("{noted}\n{two}\n{noted}"));
}

#[test]
fn the_token_changes_with_every_write() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let mut last = scene.jsonl.token().unwrap();
    for _ in 0..20 {
        assert_eq!(scene.jsonl.token().unwrap(), last);
        scene.jsonl.claim(&id("t-1"), "ann", NOW).unwrap();
        let token = scene.jsonl.token().unwrap();
        assert_ne!(token, last);
        last = token;
    }
}

#[test]
fn a_claim_sets_what_bd_sets_and_nothing_else() {
    let scene = Scene::new("{\"id\":\"t-1\", \"status\":\"open\",\"x\":1.0}\n");
    scene.jsonl.claim(&id("t-1"), "ann", NOW).unwrap();
    assert_eq!(
        scene.text(),
        "{\"id\":\"t-1\", \"status\":\"in_progress\",\"x\":1.0,\"assignee\":\"ann\",\
         \"started_at\":\"2026-01-01T00:00:00Z\",\"lease_expires_at\":\"2026-01-01T00:05:00Z\",\
         \"heartbeat_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}\n"
    );
}

#[test]
fn a_claim_can_be_renewed_but_not_stolen_until_its_lease_is_over() {
    let scene = Scene::new("{\"id\":\"t-1\"}\n");
    let (task, jsonl) = (id("t-1"), &scene.jsonl);
    let at = |minutes: i64| NOW.plus_millis(minutes * MINUTE);
    jsonl.claim(&task, "ann", NOW).unwrap();
    jsonl.claim(&task, "ann", at(3)).unwrap();
    let claim = scene.task("t-1").claim.unwrap();
    assert_eq!(claim.since, Some(NOW));
    assert_eq!(claim.lease_until, Some(at(8)));
    assert!(matches!(
        jsonl.claim(&task, "bob", at(7)),
        Err(Error::Held { by, until, .. }) if by == "ann" && until == at(8)
    ));
    assert!(matches!(
        jsonl.heartbeat(&task, "bob", at(7)),
        Err(Error::Held { .. })
    ));
    assert!(matches!(
        jsonl.release(&task, "bob", at(7), None),
        Err(Error::Held { .. })
    ));
    jsonl.claim(&task, "bob", at(8)).unwrap();
    let claim = scene.task("t-1").claim.unwrap();
    assert_eq!((claim.actor.as_str(), claim.since), ("bob", Some(at(8))));
    assert!(matches!(
        jsonl.heartbeat(&task, "ann", at(14)),
        Err(Error::NotHeld { .. })
    ));
    jsonl.heartbeat(&task, "bob", at(14)).unwrap();
    assert_eq!(scene.task("t-1").claim.unwrap().lease_until, Some(at(19)));
}

#[test]
fn who_waits_for_others_is_neither_claimed_nor_closed() {
    let scene = Scene::new(
        "{\"id\":\"t-1\"}\n\
         {\"id\":\"t-e\",\"issue_type\":\"epic\",\"dependencies\":[{\"depends_on_id\":\"t-1\",\"type\":\"blocks\"}]}\n\
         {\"id\":\"t-e.1\",\"dependencies\":[{\"depends_on_id\":\"t-e\",\"type\":\"parent-child\"}]}\n",
    );
    let (jsonl, before) = (&scene.jsonl, scene.text());
    for task in ["t-e", "t-e.1"] {
        let is_blocked =
            |result| matches!(result, Err(Error::Blocked { by, .. }) if by == [id("t-1")]);
        assert!(is_blocked(jsonl.claim(&id(task), "ann", NOW)));
        assert!(is_blocked(jsonl.close(&id(task), None, "ann", NOW)));
    }
    assert_eq!(scene.text(), before);
    jsonl.close(&id("t-1"), Some("done"), "ann", NOW).unwrap();
    assert!(matches!(
        jsonl.close(&id("t-e"), None, "ann", NOW),
        Err(Error::OpenChildren { children, .. }) if children == [id("t-e.1")]
    ));
    jsonl.claim(&id("t-e.1"), "ann", NOW).unwrap();
    jsonl.close(&id("t-e.1"), None, "ann", NOW).unwrap();
    jsonl.close(&id("t-e"), None, "ann", NOW).unwrap();
}

#[test]
fn closing_twice_keeps_the_first_reason() {
    let scene = Scene::new(
        "{\"id\":\"t-1\",\"lease_expires_at\":\"2026-01-01T00:05:00Z\",\"heartbeat_at\":null}\n",
    );
    scene
        .jsonl
        .close(&id("t-1"), Some("first"), "ann", NOW)
        .unwrap();
    let closed = "{\"id\":\"t-1\",\"status\":\"closed\",\"closed_at\":\"2026-01-01T00:00:00Z\",\
                  \"close_reason\":\"first\",\"updated_at\":\"2026-01-01T00:00:00Z\"}\n";
    assert_eq!(scene.text(), closed);
    let later = NOW.plus_millis(MINUTE);
    scene
        .jsonl
        .close(&id("t-1"), Some("second"), "bob", later)
        .unwrap();
    assert_eq!(scene.text(), closed);
    assert!(matches!(
        scene.jsonl.claim(&id("t-1"), "bob", later),
        Err(Error::Closed { .. })
    ));
    assert!(matches!(
        scene.jsonl.block(&id("t-1"), "x", "bob", later),
        Err(Error::Closed { .. })
    ));
}

#[test]
fn blocking_releasing_and_reopening_undo_each_other() {
    let scene = Scene::new("{\"id\":\"t-1\",\"status\":\"open\",\"notes\":\"a\"}\n");
    let (task, jsonl) = (id("t-1"), &scene.jsonl);
    let updated = "\"updated_at\":\"2026-01-01T00:00:00Z\"";
    jsonl.claim(&task, "ann", NOW).unwrap();
    jsonl.release(&task, "ann", NOW, Some("b")).unwrap();
    let started = "\"started_at\":\"2026-01-01T00:00:00Z\"";
    let with = |status: &str, notes: &str, assignee: &str| {
        format!(
            "{{\"id\":\"t-1\",\"status\":\"{status}\",\"notes\":\"{notes}\"{assignee},{started},{updated}"
        )
    };
    assert_eq!(scene.text(), with("open", r"a\nb", "") + "}\n");
    jsonl.claim(&task, "ann", NOW).unwrap();
    jsonl.block(&task, "c", "ann", NOW).unwrap();
    let ann = ",\"assignee\":\"ann\"}\n";
    assert_eq!(scene.text(), with("blocked", r"a\nb\nc", "") + ann);
    assert!(matches!(
        jsonl.claim(&task, "ann", NOW),
        Err(Error::Status {
            status: Status::Blocked,
            ..
        })
    ));
    jsonl.reopen(&task, NOW).unwrap();
    assert_eq!(scene.text(), with("open", r"a\nb\nc", "") + "}\n");
    let before = scene.text();
    jsonl.reopen(&task, NOW).unwrap();
    jsonl.release(&task, "ann", NOW, None).unwrap();
    assert_eq!(scene.text(), before);
}

#[test]
fn notes_that_are_no_text_are_not_thrown_away() {
    let scene = Scene::new("{\"id\":\"t-1\",\"notes\":[1]}\n");
    let before = scene.text();
    let result = scene.jsonl.note(&id("t-1"), "x", "ann", NOW);
    assert!(matches!(result, Err(Error::Unreadable { .. })));
    assert_eq!(scene.text(), before);
}

#[test]
fn a_deferred_task_can_be_taken_once_its_date_has_come() {
    let scene = Scene::new(
        "{\"id\":\"t-1\",\"status\":\"deferred\",\"defer_until\":\"2026-01-01T00:01:00Z\"}\n",
    );
    let is_early = scene.jsonl.claim(&id("t-1"), "ann", NOW);
    assert!(matches!(is_early, Err(Error::Status { .. })));
    scene
        .jsonl
        .claim(&id("t-1"), "ann", NOW.plus_millis(MINUTE))
        .unwrap();
}

#[test]
fn what_is_not_there_or_was_deleted_is_not_found() {
    let scene = Scene::new("{\"id\":\"t-1\",\"status\":\"tombstone\"}\n");
    for task in ["t-1", "t-2"] {
        let result = scene.jsonl.claim(&id(task), "ann", NOW);
        assert!(matches!(result, Err(Error::NotFound { .. })));
    }
    let empty = Scene::without_file();
    let result = empty.jsonl.close(&id("t-1"), None, "ann", NOW);
    assert!(matches!(result, Err(Error::NotFound { .. })));
    // Not even a lock is left behind by a refusal.
    assert_eq!(fs::read_dir(empty.folder.path()).unwrap().count(), 0);
}
