//! Our hooks in settings files: put in and taken out without a byte of anybody else's changed.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use beadlock::edge::agent::settings::{EVENTS, Error, Seen, look, undo, unwire, wire};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

const PROGRAM: &str = "/opt/my tools/beadlock";
const THEIRS: &str = r#"{"type":"command","command":"say done"}"#;

fn wired(text: &str) -> String {
    wire(text, PROGRAM).unwrap().text().to_owned()
}

fn unwired(text: &str) -> String {
    unwire(text, PROGRAM).unwrap().text().to_owned()
}

fn seen(text: &str) -> Seen {
    look(text, PROGRAM).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

/// What came in, by way of what is kept to undo it.
fn back(text: &str) -> String {
    let revision = wire(text, PROGRAM).unwrap();
    undo(revision.text(), &revision.changes()).unwrap()
}

fn entry(event: &str) -> String {
    format!(
        r#"{{"type":"command","command":"{PROGRAM}","args":["hook","{event}","--agent","claude"],"timeout":60}}"#
    )
}

#[test]
fn an_empty_file_becomes_a_page_of_hooks() {
    let text = wired("");
    let stop = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"/opt/my tools/beadlock\",\n            \"args\": [\n              \"hook\",\n              \"stop\",\n              \"--agent\",\n              \"claude\"\n            ],\n            \"timeout\": 60\n          }\n        ]\n      }\n    ],\n    \"SessionStart\": [";
    assert!(text.starts_with(stop), "{text}");
    assert!(text.ends_with("\n    ]\n  }\n}\n"), "{text}");
    for (event, name) in EVENTS {
        let found = &value(&text)["hooks"][event];
        assert_eq!(*found, json!([{ "hooks": [value(&entry(name))] }]));
    }
    assert!(seen(&text).is_wired);
}

#[test]
fn what_is_put_in_looks_like_what_is_there() {
    let tabs = "{\r\n\t\"model\": \"x\",\r\n\t\"hooks\": {}\r\n}";
    let text = wired(tabs);
    let begins = "{\r\n\t\"model\": \"x\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\r\n\t\t\t\t\"hooks\": [";
    assert!(text.starts_with(begins), "{text}");
    assert!(text.ends_with("\r\n\t\t]\r\n\t}\r\n}"), "{text}");
    assert!(!text.replace("\r\n", "").contains('\n'), "{text}");

    let minified = format!("{{\"a\":1,\"hooks\":{{\"Stop\":[{{\"hooks\":[{THEIRS}]}}]}}}}");
    let text = wired(&minified);
    let stop = entry("stop");
    let begins = format!(
        "{{\"a\":1,\"hooks\":{{\"Stop\":[{{\"hooks\":[{THEIRS}]}},{{\"hooks\":[{stop}]}}],"
    );
    assert!(text.starts_with(&begins), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn somebody_elses_hooks_stay_where_they_are() {
    let text =
        format!("{{\n \"hooks\": {{\n  \"Stop\": [ {{ \"hooks\": [{THEIRS}] }} ]\n }}\n}}\n");
    let with = wired(&text);
    let theirs = format!("\"Stop\": [ {{ \"hooks\": [{THEIRS}] }}, {{\"hooks\":[");
    assert!(with.contains(&theirs), "{with}");
    assert_eq!(back(&text), text);
    assert_eq!(value(&unwired(&with)), value(&text));
}

#[test]
fn older_calls_of_ours_give_way() {
    let older = [
        "beadlock hook stop",
        "/usr/local/bin/beadlock hook stop --agent claude",
        "'/a b/beadlock' hook stop --agent=claude",
        "beadlock.exe hook stop",
    ];
    for command in older {
        let command = Value::from(command).to_string();
        let text = format!(
            r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":{command},"timeout":60}},{THEIRS}]}}]}}}}"#
        );
        let with = wired(&text);
        let stop = format!(r#"{{"Stop":[{{"hooks":[{},{THEIRS}]}}]"#, entry("stop"));
        assert!(with.contains(&stop), "{with}");
        assert!(seen(&with).is_wired);
        assert_eq!(back(&text), text);
    }
    let twice = format!(
        r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"beadlock hook stop"}}]}},{{"hooks":[{}]}},{{"hooks":[{0}]}}]}}}}"#,
        entry("stop")
    );
    let with = wired(&twice);
    assert_eq!(seen(&with).calls.len(), EVENTS.len(), "{with}");
    assert_eq!(back(&twice), twice);
}

#[test]
fn what_somebody_has_added_to_a_call_of_ours_is_kept() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/beadlock","args":["hook","stop","--epic","bd-1"],"timeout":5,"statusMessage":"asking"}]}]}}"#;
    let stop = value(&wired(text))["hooks"]["Stop"][0]["hooks"][0].clone();
    let args = json!(["hook", "stop", "--agent", "claude", "--epic", "bd-1"]);
    let wanted = json!({ "type": "command", "command": PROGRAM, "args": args, "timeout": 60, "statusMessage": "asking" });
    assert_eq!(stop, wanted);
    let patient = entry("stop").replace("60", "90");
    let patient = wired("").replace(&entry("stop"), &patient);
    assert_eq!(wired(&patient), patient);
}

#[test]
fn a_call_that_is_not_always_made_is_none() {
    let ours = value(&entry("session-start"));
    let text =
        format!(r#"{{"hooks":{{"SessionStart":[{{"matcher":"resume","hooks":[{ours}]}}]}}}}"#);
    let with = wired(&text);
    let always = json!([{ "hooks": [ours] }]);
    assert_eq!(value(&with)["hooks"]["SessionStart"], always);
    assert_eq!(back(&text), text);
    let anything = text.replace("resume", "*");
    let kept = json!([{ "matcher": "*", "hooks": [ours] }]);
    assert_eq!(value(&wired(&anything))["hooks"]["SessionStart"], kept);
    // Claude Code does not wait for the answer of such a one.
    let asynchronous = entry("stop").replace("60", "60,\"async\":true");
    let text = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{asynchronous}]}}]}}}}"#);
    assert!(wired(&text).contains(&entry("stop")));
}

#[test]
fn a_call_inside_somebodys_own_command_is_left_to_them() {
    for command in [
        "beadlock hook stop && notify-send done",
        "BEADLOCK_MAX_CYCLES=9 beadlock hook stop",
        "sh -c 'beadlock hook stop; true'",
        "beadlock hook stop --new-option x",
    ] {
        let command = Value::from(command).to_string();
        let text = format!(
            "{{\"hooks\":{{\n\"Stop\":[{{\"hooks\":[{{\"type\":\"command\",\"command\":{command}}}]}}]}}}}"
        );
        let with = wired(&text);
        assert!(!with.contains("\"stop\""), "{with}");
        assert!(with.contains("\"session-start\""), "{with}");
        assert_eq!(seen(&with).composed, [2], "{with}");
        assert_eq!(value(&unwired(&with)), value(&text));
    }
}

#[test]
fn what_only_held_our_hooks_goes_with_them() {
    assert_eq!(unwired(&wired("{\n  \"a\": 1\n}\n")), "{\n  \"a\": 1\n}\n");
    assert_eq!(value(&unwired(&wired(""))), json!({}));
    let edited = wired("{}").replacen('{', "{\n  \"b\": 2,", 1);
    assert_eq!(value(&unwired(&edited)), json!({ "b": 2 }));
    let theirs = wired("").replacen("\"hooks\": [", &format!("\"hooks\": [{THEIRS},"), 1);
    let left = json!({ "hooks": { "Stop": [{ "hooks": [value(THEIRS)] }] } });
    assert_eq!(value(&unwired(&theirs)), left);
}

#[test]
fn what_the_agent_would_not_read_is_an_error_with_its_line() {
    let syntax = |line, what: &str| Error::Syntax {
        line,
        what: what.to_owned(),
    };
    let comment = "a comment, for which Claude Code leaves the whole file unread";
    for (text, error) in [
        ("{\n\"a\": 1,\n}", syntax(3, "trailing comma")),
        ("// hello\n{}", syntax(1, comment)),
        (
            "{\n  \"a\": 1, // https://x\n  \"b\": 2\n}",
            syntax(2, comment),
        ),
        ("{\n\n/* x */}", syntax(3, comment)),
        (
            "{\n\"a\": \"https://x\n}",
            syntax(
                2,
                "control character (\\u0000-\\u001F) found while parsing a string",
            ),
        ),
        ("{\"hooks\": {\n", syntax(2, "EOF while parsing an object")),
        ("{} {}", syntax(1, "trailing characters")),
    ] {
        assert_eq!(wire(text, PROGRAM).unwrap_err(), error, "{text}");
    }
}

#[test]
fn hooks_of_a_wrong_type_are_an_error_with_their_line() {
    for (text, message) in [
        (
            "[]",
            "line 1: `the document` is a list, where the agent reads an object only",
        ),
        (
            "{\n\"hooks\": []}",
            "line 2: `hooks` is a list, where the agent reads an object only",
        ),
        (
            "{\"hooks\": null}",
            "line 1: `hooks` is null, where the agent reads an object only",
        ),
        (
            "{\"hooks\": {\n\n\"Stop\": {}}}",
            "line 3: `hooks.Stop` is an object, where the agent reads a list only",
        ),
        (
            "{\"hooks\": {\"PreToolUse\": 7}}",
            "line 1: `hooks.PreToolUse` is a number, where the agent reads a list only",
        ),
        (
            "{\"hooks\": {\"Stop\": [{},\n7]}}",
            "line 2: `hooks.Stop[1]` is a number, where the agent reads an object only",
        ),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": {}}]}}",
            "line 1: `hooks.Stop[0].hooks` is an object, where the agent reads a list only",
        ),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": [\"x\"]}]}}",
            "line 1: `hooks.Stop[0].hooks[0]` is a text, where the agent reads an object only",
        ),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"timeout\": \"6\"}]}]}}",
            "line 1: `hooks.Stop[0].hooks[0].timeout` is a text, where the agent reads a number only",
        ),
        (
            "{\"disableAllHooks\": \"no\"}",
            "line 1: `disableAllHooks` is a text, where the agent reads true or false only",
        ),
    ] {
        assert_eq!(wire(text, PROGRAM).unwrap_err().to_string(), message);
        assert!(unwire(text, PROGRAM).is_err());
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(wire(&deep, PROGRAM).is_err());
}

#[test]
fn what_the_agent_reads_is_no_error() {
    for text in [
        "\u{feff}{}",
        " \n ",
        "{\"hooks\":{\"Stop\":null,\"Unheard\":[]}}",
        "{\"a\":\"\\ud800\",\"b\":1e999999,\"hooks\":{\"Stop\":[{}]}}",
        "{\"h\\u006foks\":{\"St\\u006fp\":[]}}",
        "{\"hooks\":{\"Stop\":[]},\"hooks\":{}}",
    ] {
        let with = wired(text);
        assert!(seen(&with).is_wired, "{with}");
        assert_eq!(wired(&with), with);
        assert_eq!(back(text), text);
    }
    assert_eq!(seen("{\"disableAllHooks\":true}").disables_all, Some(true));
}

/// White space of any kind that JSON allows.
fn space() -> impl Strategy<Value = String> {
    const SOME: &[&str] = &[
        "", "", " ", "\n", "\r\n", "\t", "\n  ", "\r\n\t", "\n\n    ", "  ",
    ];
    select(SOME).prop_map(str::to_owned)
}

fn hook() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(THEIRS.to_owned()),
        Just(r#"{"type":"prompt","prompt":"ü \" \\ 日本 \ud83d\ude00"}"#.to_owned()),
        Just(entry("stop")),
        Just(entry("session-end").replace("60", "5")),
        Just(entry("user-prompt").replace(PROGRAM, "/old/beadlock")),
        Just(r#"{ "type" : "command", "command" : "beadlock hook stop" }"#.to_owned()),
        Just(
            "{\"command\":\"beadlock hook stop-failure\",\n\"type\":\"command\",\"x\":[1]}"
                .to_owned()
        ),
        Just(r#"{"type":"command","command":"beadlock hook stop; true"}"#.to_owned()),
    ]
}

/// Members or items, oddly spaced.
fn joined(
    parts: impl Strategy<Value = String>,
    most: usize,
    open: &'static str,
    close: &'static str,
) -> impl Strategy<Value = String> {
    let parts = prop::collection::vec((space(), parts, space()), 0..=most);
    (parts, space()).prop_map(move |(parts, inner)| {
        let parts: Vec<String> = parts
            .iter()
            .map(|(a, part, b)| format!("{a}{part}{b}"))
            .collect();
        if parts.is_empty() {
            format!("{open}{inner}{close}")
        } else {
            format!("{open}{}{close}", parts.join(","))
        }
    })
}

fn group() -> impl Strategy<Value = String> {
    let hooks = joined(hook(), 3, "[", "]");
    let rest = select(
        &[
            "",
            "\"matcher\":\"\",",
            "\"matcher\": \"Bash|x\" ,\n",
            "\"note\":{},",
        ][..],
    );
    (rest, hooks, space())
        .prop_map(|(rest, hooks, space)| format!("{{{rest}{space}\"hooks\":{space}{hooks}}}"))
}

fn hooks() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &[
        "Stop",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "StopFailure",
        "PreToolUse",
        "St\\u006fp",
    ];
    let groups = prop_oneof![6 => joined(group(), 3, "[", "]"), 1 => Just("null".to_owned())];
    let event = (select(NAMES), space(), groups)
        .prop_map(|(name, space, groups)| format!("\"{name}\"{space}:{space}{groups}"));
    joined(event, 4, "{", "}")
}

fn member() -> impl Strategy<Value = String> {
    const OTHER: &[&str] = &[
        "\"model\": \"x\"",
        "\"env\":{\"A\" : \"1\\n\"}",
        "\"n\":-0.0e+12",
        "\"deep\":[[[{\"hooks\":[7]}]],null]",
        "\"ü\":\"\\u00fc }] ,\"",
    ];
    prop_oneof![
        select(OTHER).prop_map(str::to_owned),
        hooks().prop_map(|hooks| format!("\"hooks\" : {hooks}")),
    ]
}

fn settings() -> impl Strategy<Value = String> {
    let mark = select(&["", "", "", "\u{feff}"][..]);
    let document = prop_oneof![20 => joined(member(), 4, "{", "}"), 1 => Just(String::new())];
    (mark, space(), document, space())
        .prop_map(|(mark, before, document, after)| format!("{mark}{before}{document}{after}"))
}

/// Everything that is not ours, in its order, out of the hooks that count.
fn others(text: &str) -> Vec<(String, Value)> {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    let value = value(trimmed);
    for (event, groups) in value["hooks"].as_object().into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            for hook in group["hooks"].as_array().into_iter().flatten() {
                let text = hook.to_string();
                if !text.contains("beadlock") || text.contains("; true") {
                    all.push((event.clone(), hook.clone()));
                }
            }
        }
    }
    all
}

/// The members of the document that are none of our business.
fn rest(text: &str) -> Value {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    let mut value = if trimmed.is_empty() {
        json!({})
    } else {
        value(trimmed)
    };
    value.as_object_mut().unwrap().remove("hooks");
    value
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_put_in_is_taken_out_to_the_byte(text in settings()) {
        prop_assert_eq!(back(&text), text);
    }

    #[test]
    fn the_second_time_changes_nothing(text in settings()) {
        let once = wired(&text);
        prop_assert_eq!(wired(&once), once);
    }

    #[test]
    fn everything_of_others_is_still_there(text in settings()) {
        let with = wired(&text);
        prop_assert_eq!(others(&with), others(&text));
        prop_assert_eq!(rest(&with), rest(&text));
        let without = unwired(&with);
        prop_assert!(seen(&without).calls.is_empty());
        prop_assert_eq!(others(&without), others(&text));
        prop_assert_eq!(rest(&without), rest(&text));
    }

    #[test]
    fn every_event_is_wired_once(text in settings()) {
        let seen = seen(&wired(&text));
        let is_once = |event: &str| seen.calls.iter().filter(|(of, _)| of == event).count() == 1;
        let missing = EVENTS.iter().filter(|(event, _)| !is_once(event)).count();
        // Where somebody calls us in a command of their own, nothing is put beside it.
        prop_assert!(missing <= seen.composed.len(), "{seen:?}");
    }

    #[test]
    fn whatever_the_bytes_nothing_breaks(text in settings(), at in any::<Index>(), with in "[\\[\\]{},:\"a0 \\n/\\\\]{0,3}") {
        let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        places.push(text.len());
        let mut broken = text.clone();
        broken.insert_str(places[at.index(places.len())], &with);
        if let Ok(revision) = wire(&broken, PROGRAM) {
            prop_assert_eq!(undo(revision.text(), &revision.changes()).unwrap(), broken);
            prop_assert!(look(revision.text(), PROGRAM).is_ok());
        }
    }
}
