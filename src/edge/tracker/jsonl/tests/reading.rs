//! What the file may say, and what is made of it.

use super::*;

#[test]
fn a_row_is_read_with_everything_that_matters() {
    let scene = Scene::new(
        r#"{"_type":"issue","id":"t-1","title":"Do \"it\"","status":"in_progress","priority":0,"issue_type":"epic","assignee":"ann","started_at":"2025-12-31T16:00:00.5-08:00","lease_expires_at":"2026-01-01T00:05:00Z","defer_until":"2026-01-01T01:00:00+01:00","pinned":true,"ephemeral":true,"is_template":true,"parent":"t-0","dependencies":[{"issue_id":"t-1","depends_on_id":"t-2","type":"blocks","metadata":"{}"},{"depends_on_id":"t-3","type":"waits-for","metadata":"{\"gate\":\"any-children\",\"also_blocks\":true}"},{"depends_on_id":"t-4","type":"waits-for","metadata":{"gate":"any-children"}},{"depends_on_id":"t-5","type":"waits-for","metadata":""},{"depends_on_id":"t-6","type":"relates-to"}]}"#,
    );
    let task = scene.task("t-1");
    assert_eq!(task.title, "Do \"it\"");
    assert_eq!(task.status, Status::InProgress);
    assert_eq!(task.kind, crate::kernel::task::Kind::Epic);
    assert_eq!(task.priority, 0);
    assert!(task.pinned && task.ephemeral && task.template);
    assert_eq!(task.defer_until, Some(NOW));
    assert_eq!(
        task.claim,
        Some(Claim {
            actor: "ann".to_owned(),
            since: Some(NOW.plus_millis(500)),
            lease_until: Some(NOW.plus_millis(5 * MINUTE)),
        })
    );
    let waits = |any_child, also_blocks| EdgeKind::WaitsFor {
        any_child,
        also_blocks,
    };
    let edges: Vec<_> = task
        .edges
        .iter()
        .map(|it| (it.target.as_str(), it.kind))
        .collect();
    assert_eq!(
        edges,
        [
            ("t-2", EdgeKind::Blocks),
            ("t-3", waits(true, true)),
            ("t-4", waits(true, false)),
            ("t-5", waits(false, false)),
            ("t-6", EdgeKind::Loose),
        ]
    );
}

#[test]
fn blank_foreign_and_windows_lines_are_no_obstacle() {
    let scene = Scene::new(
        "\u{feff}{\"_schema\":\"beads-jsonl/1\"}\r\n\r\n  \t{\"id\":\"t-1\"}  \r\n\
         {\"_type\":\"memory\",\"key\":\"k\",\"status\":7,\"dependencies\":\"none\"}\r\n\
         {\"id\":\"t-2\",\"status\":\"tombstone\",\"title\":null,\"dependencies\":null}",
    );
    let found: Vec<_> = scene
        .tasks()
        .into_iter()
        .map(|task| (task.id.to_string(), task.status))
        .collect();
    assert_eq!(
        found,
        [
            ("t-1".to_owned(), Status::Open),
            ("t-2".to_owned(), Status::Tombstone)
        ]
    );
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_line() {
    let good = "{\"id\":\"t-1\"}\n";
    for (line, what) in [
        ("<<<<<<< HEAD", "a merge conflict that nobody has resolved"),
        ("=======", "a merge conflict that nobody has resolved"),
        (
            ">>>>>>> theirs",
            "a merge conflict that nobody has resolved",
        ),
        (
            r#"{"id":"t-2","title":"ha"#,
            "breaks off in the middle of a value",
        ),
        (r#"{"id":"t-2""#, "breaks off in the middle of a value"),
        (r#"["t-2"]"#, "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "a task without an id"),
        (r#"{"id":""}"#, "a task with an empty id"),
        (r#"{"title":"no id"}"#, "a task without an id"),
        (
            r#"{"id":"t-2","defer_until":"soon"}"#,
            "`defer_until` is not a time: `soon`",
        ),
        (
            r#"{"id":"t-2","started_at":""}"#,
            "`started_at` is not a time: ``",
        ),
        (
            r#"{"id":7}"#,
            "invalid type: integer `7`, expected a string (column 7)",
        ),
        (
            r#"{"id":"t-2","status":true}"#,
            "invalid type: boolean `true`, expected a string (column 25)",
        ),
        (
            r#"{"id":"t-2","pinned":"yes"}"#,
            "invalid type: string \"yes\", expected a boolean (column 26)",
        ),
        (
            r#"{"id":"t-2","dependencies":{}}"#,
            "invalid type: map, expected a sequence (column 27)",
        ),
        (
            r#"{"id":"t-2","dependencies":[{"type":"blocks"}]}"#,
            "missing field `depends_on_id` (column 45)",
        ),
        (
            r#"{"id":"t-2","status":"open","status":"closed"}"#,
            "duplicate field `status` (column 36)",
        ),
        (
            r#"{"id":"t-2"} {"id":"t-3"}"#,
            "not JSON: trailing characters (column 14)",
        ),
    ] {
        assert_eq!(
            refused(&format!("{good}\n{line}\n{good}")),
            (Some(3), what.to_owned()),
            "{line}"
        );
    }
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(600));
    assert_eq!(refused(&long).1, "an id of more than 512 bytes");
}

#[test]
fn a_hostile_value_does_not_swell_the_message() {
    let text = format!(r#"{{"id":"t-1","pinned":"{}"}}"#, "x".repeat(1 << 20));
    assert!(refused(&text).1.len() < 300);
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_line() {
    let scene = Scene::new(b"{\"id\":\"t-1\"}\n{\"id\":\"t-2\",\"title\":\"\xff\"}\n");
    assert_eq!(scene.refusal(), (Some(2), "not UTF-8".to_owned()));
}

#[test]
fn equal_copies_of_a_line_are_one_task_and_different_ones_an_error() {
    let one = r#"{"id":"t-1","title":"a"}"#;
    let other = r#"{"id":"t-1","title":"b"}"#;
    assert_eq!(Scene::new(format!("{one}\n{one}\r\n")).tasks().len(), 1);
    assert_eq!(
        refused(&format!("{one}\n\n{other}\n")),
        (Some(3), "`t-1` is not what line 1 says".to_owned())
    );
}

#[test]
fn a_title_is_cut_between_characters() {
    let scene = Scene::new(format!(
        r#"{{"id":"t-1","title":"{}"}}"#,
        "é".repeat(1 << 20)
    ));
    assert_eq!(scene.task("t-1").title, "é".repeat(200));
}

#[test]
fn a_missing_file_is_no_empty_list() {
    let scene = Scene::without_file();
    assert_eq!(scene.refusal(), (None, "no such file".to_owned()));
    assert!(scene.jsonl.read(SOON.deadline).is_err());
    assert_eq!(scene.jsonl.token(), None);
}

#[test]
fn a_folder_in_the_files_place_is_refused() {
    let scene = Scene::without_file();
    fs::create_dir_all(&scene.jsonl.path).unwrap();
    assert_eq!(scene.refusal(), (None, "not a regular file".to_owned()));
}
