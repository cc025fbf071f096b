//! What a transcript's tail says the agent said last.
#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests, but not what helps them"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use beadlock::edge::transcript::{Error, last_words};
use tempfile::TempDir;

const FIXTURE: &str = include_str!("fixtures/claude/transcript.jsonl");

const PROMPT: &str =
    r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"Go."}}"#;
const FEEDBACK: &str = r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"Stop hook feedback:\nGo on."},"isMeta":true}"#;
const RESULT: &str = r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"ok"}]}}"#;
const PROGRESS: &str = r#"{"isSidechain":false,"type":"progress","data":{"type":"assistant"}}"#;

/// One line of a message by the agent.
fn block(id: &str, block: &str) -> String {
    format!(
        r#"{{"isSidechain":false,"message":{{"id":"{id}","type":"message","role":"assistant","content":[{block}]}},"type":"assistant","userType":"external"}}"#
    )
}

fn text(id: &str, text: &str) -> String {
    block(id, &format!(r#"{{"type":"text","text":"{text}"}}"#))
}

fn tool(id: &str) -> String {
    block(
        id,
        r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#,
    )
}

fn thought(id: &str) -> String {
    block(
        id,
        r#"{"type":"thinking","thinking":"Hm.","signature":"x"}"#,
    )
}

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("transcript.jsonl")
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(), bytes).unwrap();
        self.path()
    }
}

fn words(transcript: &str) -> Option<String> {
    let place = Place::new();
    last_words(&place.write(transcript.as_bytes())).unwrap()
}

/// The words in a transcript of these lines.
fn words_of<S: AsRef<str>>(lines: &[S]) -> Option<String> {
    let mut transcript = String::new();
    for line in lines {
        transcript.push_str(line.as_ref());
        transcript.push('\n');
    }
    words(&transcript)
}

#[test]
fn the_last_message_of_a_real_session_is_found() {
    assert_eq!(words(FIXTURE).as_deref(), Some("ANSWER-3 final."));
}

/// The same session, as a hook would have seen it after each of its lines.
#[test]
fn no_older_message_is_ever_found_in_a_real_session() {
    let lines: Vec<&str> = FIXTURE.lines().collect();
    let seen: Vec<Option<String>> = (0..=lines.len()).map(|n| words_of(&lines[..n])).collect();
    let mut expected = vec![None; 17];
    // "Running it." is not among them: a tool call follows, so the turn goes on.
    expected[9] = Some("ANSWER-1 final.".to_owned());
    expected[12] = Some("ANSWER-2 final.".to_owned());
    expected[15] = Some("ANSWER-3 final.".to_owned());
    expected[16] = Some("ANSWER-3 final.".to_owned());
    assert_eq!(seen, expected);
}

#[test]
fn an_empty_transcript_says_nothing() {
    for transcript in ["", "\n", "\n\n\n", "{}", "[]\n", "\0\0\0"] {
        assert_eq!(words(transcript), None, "{transcript:?}");
    }
}

#[test]
fn what_is_no_regular_file_is_never_opened() {
    let place = Place::new();
    let missing = last_words(&place.path()).unwrap_err();
    assert!(
        matches!(&missing, Error::Missing { path } if *path == place.path()),
        "{missing:?}"
    );
    let directory = last_words(place.0.path()).unwrap_err();
    assert!(matches!(directory, Error::NotAFile { .. }), "{directory:?}");
}

#[cfg(unix)]
#[test]
fn a_fifo_or_device_is_refused_without_waiting() {
    let place = Place::new();
    let fifo = place.path();
    duct::cmd!("mkfifo", &fifo).run().unwrap();
    let link = place.0.path().join("link");
    std::os::unix::fs::symlink(&fifo, &link).unwrap();
    for path in [fifo, link, PathBuf::from("/dev/zero")] {
        let (sender, receiver) = std::sync::mpsc::channel();
        let asked = path.clone();
        std::thread::spawn(move || sender.send(last_words(&asked)));
        let answer = receiver.recv_timeout(std::time::Duration::from_secs(10));
        let answer = answer.expect("it waits");
        assert!(
            matches!(answer, Err(Error::NotAFile { .. })),
            "{path:?}: {answer:?}"
        );
    }
}

#[test]
fn the_blocks_of_one_message_are_joined() {
    let lines = [
        PROMPT.into(),
        thought("m"),
        text("m", "One."),
        text("m", "Two.\\nThree."),
    ];
    assert_eq!(words_of(&lines).as_deref(), Some("One.\nTwo.\nThree."));
    // Another line may come between them.
    let lines = [
        PROMPT.into(),
        text("m", "One."),
        PROGRESS.into(),
        text("m", "Two."),
    ];
    assert_eq!(words_of(&lines).as_deref(), Some("One.\nTwo."));
    let whole = block(
        "m",
        r#"{"type":"text","text":"One."},{"type":"text","text":"Two."}"#,
    );
    assert_eq!(words_of(&[PROMPT, &whole]).as_deref(), Some("One.\nTwo."));
    let plain = r#"{"type":"assistant","message":{"id":"m","content":"One."}}"#;
    assert_eq!(words_of(&[PROMPT, plain]).as_deref(), Some("One."));
}

#[test]
fn only_the_last_message_counts() {
    let lines = [text("m", "One."), text("n", "Two.")];
    assert_eq!(words_of(&lines).as_deref(), Some("Two."));
    // The newest one says nothing: what an older one says is not its word.
    assert_eq!(words_of(&[text("m", "One."), thought("n")]), None);
    let odd = r#"{"type":"assistant","message":{"id":"n","content":7}}"#;
    assert_eq!(words_of(&[text("m", "One.").as_str(), odd]), None);
    assert_eq!(
        words_of(&[text("m", "One.").as_str(), r#"{"type":"assistant"}"#]),
        None
    );
    // Without an id nobody can tell where a message begins.
    let nameless = |text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let lines = [nameless("One."), nameless("Two.")];
    assert_eq!(words_of(&lines).as_deref(), Some("Two."));
}

#[test]
fn words_that_something_came_after_are_old() {
    for after in [PROMPT, FEEDBACK, RESULT] {
        assert_eq!(
            words_of(&[PROMPT, &text("m", "Old."), after]),
            None,
            "{after}"
        );
        assert_eq!(
            words_of(&[PROMPT, &text("m", "Old."), after, PROGRESS]),
            None,
            "{after}"
        );
    }
    assert_eq!(
        words_of(&[PROMPT.into(), text("m", "Old."), tool("m")]),
        None
    );
    assert_eq!(
        words_of(&[PROMPT.into(), text("m", "Old."), tool("m"), PROGRESS.into()]),
        None
    );
}

#[test]
fn other_lines_are_passed_over() {
    let last = text("m", "Last.");
    let sub_agent = text("s", "Sub.").replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let sub_agents_prompt = PROMPT.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    assert_ne!(sub_agent, text("s", "Sub."));
    for other in [
        PROGRESS,
        &sub_agent,
        &sub_agents_prompt,
        r#"{"type":"attachment","attachment":{"type":"user"}}"#,
        r#"{"type":"queue-operation","operation":"enqueue","content":"assistant"}"#,
        r#"{"type":"last-prompt","lastPrompt":"\"user\""}"#,
        r#"{"type":"system","subtype":"assistant"}"#,
        r#"{"type":"summary","summary":"x"}"#,
        r#"{"type":"assistant""#,
        "no JSON, \"assistant\"",
        "\u{fffd}\0",
        "",
        "\r",
    ] {
        let lines = [PROMPT, &last, other, other];
        assert_eq!(words_of(&lines).as_deref(), Some("Last."), "{other}");
    }
    let crlf = format!("{PROMPT}\r\n{last}\r\n");
    assert_eq!(words(&crlf).as_deref(), Some("Last."));
}

#[test]
fn half_a_line_is_passed_over_wherever_it_is_cut() {
    let next = text("m", "Two é.");
    let whole = format!("{PROMPT}\n{}\n", text("m", "One."));
    let place = Place::new();
    for cut in 0..next.len() {
        let mut transcript = whole.clone().into_bytes();
        transcript.extend_from_slice(&next.as_bytes()[..cut]);
        let words = last_words(&place.write(&transcript)).unwrap();
        assert_eq!(words.as_deref(), Some("One."), "{cut}");
    }
    // Only the newline is missing.
    assert_eq!(
        words(&format!("{whole}{next}")).as_deref(),
        Some("One.\nTwo é.")
    );
}

#[test]
fn half_a_line_that_is_already_a_users_makes_words_old() {
    let whole = format!("{PROMPT}\n{}\n", text("m", "Old."));
    let kind = FEEDBACK.find(r#""user""#).unwrap() + r#""user""#.len();
    for cut in kind..FEEDBACK.len() {
        assert_eq!(
            words(&format!("{whole}{}", &FEEDBACK[..cut])),
            None,
            "{cut}"
        );
    }
}

#[test]
fn half_an_emoji_in_the_last_message_loses_no_word_of_it() {
    let found = words_of(&[PROMPT, &text("m", r"half \ud83d and whole")]);
    assert_eq!(found.as_deref(), Some("half \u{fffd} and whole"));
}

#[test]
fn a_giant_line_is_no_obstacle() {
    let giant = "x".repeat(50_000_000);
    let last = text("m", "Last.");
    let progress = format!(r#"{{"type":"progress","data":"{giant}"}}"#);
    let lines = [PROMPT, &last, &progress];
    assert_eq!(words_of(&lines).as_deref(), Some("Last."));
    let prompt = PROMPT.replace("Go.", &giant);
    assert_eq!(words_of(&[&prompt, &last]).as_deref(), Some("Last."));
    assert_eq!(words_of(&[&last, &prompt]), None);
    let long = text("m", &giant);
    assert_eq!(
        words_of(&[PROMPT, &long]).map(|words| words.len()),
        Some(giant.len())
    );
}

#[test]
fn many_trailing_lines_are_no_obstacle() {
    let mut transcript = format!("{PROMPT}\n{}\n", text("m", "Last."));
    for _ in 0..200_000 {
        transcript.push_str(PROGRESS);
        transcript.push('\n');
    }
    assert_eq!(words(&transcript).as_deref(), Some("Last."));
}

/// A file that begins with a hole of this many bytes.
fn sparse(path: &Path, hole: u64, tail: &str) {
    let mut file = File::create(path).unwrap();
    file.set_len(hole).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(tail.as_bytes()).unwrap();
}

#[test]
fn a_gigabyte_before_the_tail_changes_nothing() {
    let place = Place::new();
    sparse(&place.path(), 1 << 30, &format!("\n{FIXTURE}"));
    assert_eq!(
        last_words(&place.path()).unwrap().as_deref(),
        Some("ANSWER-3 final.")
    );
}

#[test]
fn a_tail_without_a_message_is_given_up() {
    let place = Place::new();
    let limit = 64 * 1024 * 1024;
    sparse(&place.path(), 1 << 30, "\n");
    let error = last_words(&place.path()).unwrap_err();
    assert!(
        matches!(&error, Error::TooLong { bytes, .. } if *bytes == limit),
        "{error:?}"
    );
    // Its first line may be a part of a message whose beginning is out of reach.
    sparse(
        &place.path(),
        1 << 30,
        &format!("\n{}\n", text("m", "Last.")),
    );
    let error = last_words(&place.path()).unwrap_err();
    assert!(matches!(error, Error::TooLong { .. }), "{error:?}");
    // The limit itself is still read.
    sparse(&place.path(), limit - 1, "\n");
    assert_eq!(last_words(&place.path()).unwrap(), None);
    sparse(&place.path(), limit, "\n");
    assert!(last_words(&place.path()).is_err());
}

#[test]
fn a_file_that_is_cut_while_it_is_read_is_no_disaster() {
    let place = Place::new();
    let path = place.path();
    let transcript = format!("{FIXTURE}{}", format!("{PROGRESS}\n").repeat(100_000));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        place.write(transcript.as_bytes());
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            let mut round = 0_u64;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                round += 7919;
                file.set_len(round % transcript.len() as u64).unwrap();
            }
        });
        for _ in 0..200 {
            // NULs and cut lines: anything but a panic, or words nobody said.
            if let Ok(Some(words)) = last_words(&path) {
                assert!(FIXTURE.contains(&words), "{words}");
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
