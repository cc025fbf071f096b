//! Whatever a write does not mean to change stays byte for byte.

use proptest::prelude::*;

use super::*;

/// A member of an object as somebody wrote it: space, key, space around the colon, value, space.
#[derive(Clone, Debug)]
struct Member {
    key: String,
    raw_key: String,
    value: String,
    space: [String; 4],
}

impl Member {
    fn written(&self, value: &str) -> String {
        let [before, colon, after, end] = &self.space;
        format!("{before}{}{colon}:{after}{value}{end}", self.raw_key)
    }
}

/// Keys that writes touch. Everything else in a line is somebody else's.
const TOUCHED: [&str; 9] = [
    "status",
    "assignee",
    "started_at",
    "lease_expires_at",
    "heartbeat_at",
    "closed_at",
    "close_reason",
    "notes",
    "updated_at",
];

fn space() -> impl Strategy<Value = String> {
    "[ \t]{0,2}"
}

fn raw_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?",
        "\"([ !#-\\[\\]-~é日\u{2028}]|\\\\[\"\\\\/bfnrt]|\\\\u00[0-9a-fA-F]{2}){0,12}\"",
        Just("null".to_owned()),
        Just("true".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let items = prop::collection::vec((space(), inner, space()), 0..3);
        (items, any::<bool>()).prop_map(|(items, is_object)| {
            let items = items.iter().enumerate().map(|(number, (a, value, b))| {
                if is_object {
                    format!("{a}\"status{number}\":{value}{b}")
                } else {
                    format!("{a}{value}{b}")
                }
            });
            let items = items.collect::<Vec<_>>().join(",");
            if is_object {
                format!("{{{items}}}")
            } else {
                format!("[{items}]")
            }
        })
    })
}

fn member(key: String, value: impl Strategy<Value = String>) -> impl Strategy<Value = Member> {
    let raw_keys = prop_oneof![
        Just(format!("\"{key}\"")),
        Just(format!("\"\\u00{:02x}{}\"", key.as_bytes()[0], &key[1..])),
    ];
    (raw_keys, value, [space(), space(), space(), space()]).prop_map(
        move |(raw_key, value, space)| Member {
            key: key.clone(),
            raw_key,
            value,
            space,
        },
    )
}

/// A task's line: an id, some of the touched keys, some foreign ones, in any order.
fn task_line() -> impl Strategy<Value = Vec<Member>> {
    let text =
        |values: &'static [&'static str]| prop::sample::select(values).prop_map(str::to_owned);
    let time = || {
        text(&[
            "\"2025-01-01T00:00:00Z\"",
            "\"2025-01-01T00:00:00.12+02:00\"",
            "null",
        ])
    };
    let status = text(&[
        "\"open\"",
        "\"in_progress\"",
        "\"closed\"",
        "\"blocked\"",
        "\"op\\u0065n\"",
    ]);
    let maybe = |key: &'static str, value: BoxedStrategy<String>| {
        prop::option::of(member(key.to_owned(), value))
    };
    let known = [
        maybe("status", status.boxed()),
        maybe("assignee", text(&["\"ann\"", "\"bob\"", "null"]).boxed()),
        maybe("started_at", time().boxed()),
        maybe("lease_expires_at", time().boxed()),
        maybe("closed_at", raw_value().boxed()),
        maybe("notes", text(&["\"a\\tb\"", "\"\"", "null"]).boxed()),
        maybe("updated_at", raw_value().boxed()),
    ];
    let foreign = "[a-z_]{1,6}x".prop_flat_map(|key| member(key, raw_value()));
    let id = member("id".to_owned(), Just("\"t-1\"".to_owned()));
    (id, known, prop::collection::vec(foreign, 0..5))
        .prop_map(|(id, known, foreign)| {
            let known = known.into_iter().flatten();
            known.chain([id]).chain(foreign).collect()
        })
        .prop_shuffle()
}

fn foreign_lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        space(),
        raw_value().prop_map(|value| format!("{{\"_type\":\"memory\",\"status\":{value}}}")),
        (2u32..1000, raw_value(), space()).prop_map(|(number, value, space)| {
            format!("{space}{{\"x\":{value}{space},\"id\":\"t-{number}\"}}")
        }),
    ];
    prop::collection::vec(line, 0..4).prop_map(|mut lines| {
        // One line per id, and any number of blanks.
        let mut seen = std::collections::HashSet::new();
        lines.retain(|line| {
            line.trim().is_empty() || seen.insert(line.rsplit(':').next().unwrap().to_owned())
        });
        lines
    })
}

fn line_of(members: &[Member]) -> String {
    let members: Vec<_> = members.iter().map(|it| it.written(&it.value)).collect();
    format!("{{{}}}", members.join(","))
}

/// What a line has to look like, made from the parts it was written with and the new values.
fn expected(members: &[Member], after: &serde_json::Map<String, serde_json::Value>) -> Vec<String> {
    let mut parts = Vec::new();
    for member in members {
        if !TOUCHED.contains(&member.key.as_str()) {
            parts.push(member.written(&member.value));
        } else if let Some(value) = after.get(&member.key) {
            let old: serde_json::Value = serde_json::from_str(&member.value).unwrap();
            let is_same = old == *value;
            let raw = if is_same {
                member.value.clone()
            } else {
                value.to_string()
            };
            parts.push(member.written(&raw));
        }
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(192)
    })]

    #[test]
    fn a_write_touches_nothing_but_its_keys(
        members in task_line(),
        before in foreign_lines(),
        crlf in any::<bool>(),
        final_newline in any::<bool>(),
        mark in any::<bool>(),
        act in 0..6,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut lines = before.clone();
        lines.push(line_of(&members));
        lines.push("{\"id\":\"t-0\",\"n\":1e5}".to_owned());
        let mut text = if mark { "\u{feff}".to_owned() } else { String::new() };
        text.push_str(&lines.join(end));
        if final_newline {
            text.push_str(end);
        }
        let scene = Scene::new(&text);
        let (task, jsonl) = (id("t-1"), &scene.jsonl);
        let result = match act {
            0 => jsonl.claim(&task, "ann", NOW),
            1 => jsonl.heartbeat(&task, "ann", NOW),
            2 => jsonl.release(&task, "ann", NOW, Some("n\"ote")),
            3 => jsonl.note(&task, "n\nte", "ann", NOW),
            4 => jsonl.close(&task, Some("over"), "ann", NOW),
            _ => jsonl.block(&task, "why", "ann", NOW),
        };
        let after = scene.text();
        if result.is_err() {
            prop_assert_eq!(after, text);
            return Ok(());
        }
        let before_line = text.find(&line_of(&members)).unwrap();
        let rest = &text[before_line + line_of(&members).len()..];
        prop_assert!(after.starts_with(&text[..before_line]));
        prop_assert!(after.ends_with(rest));
        let line = &after[before_line..after.len() - rest.len()];
        let now: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        // Space and commas around members that came or went are ours; the members are not.
        let mut place = 0;
        for part in expected(&members, &now) {
            let part = part.trim();
            let found = line[place..].find(part);
            prop_assert!(found.is_some(), "{part} is not in {line}");
            place += found.unwrap() + part.len();
        }
        for (key, _) in &now {
            let is_old = members.iter().any(|it| it.key == *key);
            prop_assert!(is_old || TOUCHED.contains(&key.as_str()));
        }
        let is_old = |key: &String| members.iter().any(|it| it.key == *key);
        if members.iter().all(|it| now.contains_key(&it.key)) && now.keys().all(is_old) {
            // Nothing came or went: the line is exactly its old parts with new values.
            prop_assert_eq!(line, format!("{{{}}}", expected(&members, &now).join(",")));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_crash(text in "[\\PC\n\"{}:,\\[\\]]{0,80}") {
        let _ = Book::parse(text, Path::new("x"));
    }
}
