//! The file's text, line by line: where each line is, and the task that it holds.

use std::borrow::Cow;
use std::num::NonZero;
use std::ops::Range;
use std::thread;

use serde::Deserialize;
use serde_json::error::Category;

use crate::edge::tracker::row::Row;
use crate::kernel::task::Task;

/// A task with the number of its line and its place in the text.
pub type Found = (usize, Range<usize>, Task);

/// The number of a line that cannot be read, and why.
pub type Unread = (usize, String);

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Fewer bytes than this are read sooner than a thread is started.
const PART_BYTES_MIN: usize = 512 << 10;
const THREADS_MAX: usize = 4;

/// Every task of the text, or the first line that cannot be read.
pub fn read(text: &str) -> Result<Vec<Found>, Unread> {
    read_shared(text, threads_for(text.len()))
}

fn threads_for(bytes: usize) -> usize {
    let useful = (bytes / PART_BYTES_MIN).min(THREADS_MAX);
    if useful < 2 {
        return 1;
    }
    useful.min(thread::available_parallelism().map_or(1, NonZero::get))
}

/// Parsing is most of what a stop on a large tracker costs, so several threads share it.
fn read_shared(text: &str, threads: usize) -> Result<Vec<Found>, Unread> {
    let mut parts = parts(text, threads);
    let last = parts.pop().unwrap_or(0..text.len());
    let read = thread::scope(|scope| {
        let start = |part: Range<usize>| {
            let thread = thread::Builder::new();
            let theirs = part.clone();
            let started = thread.spawn_scoped(scope, move || read_part(text, theirs));
            (part, started)
        };
        let others: Vec<_> = parts.into_iter().map(start).collect();
        let last = read_part(text, last);
        let others = others.into_iter().map(|(part, started)| {
            // Where the system has no thread left, or one died, we read its part ourselves.
            let read = started.ok().and_then(|thread| thread.join().ok());
            read.unwrap_or_else(|| read_part(text, part))
        });
        others.chain([last]).collect::<Vec<_>>()
    });
    let mut found = Vec::new();
    let mut lines_before = 0;
    for (lines, tasks) in read {
        let tasks = tasks.map_err(|(line, what)| (lines_before + line, what))?;
        let numbered = |(line, place, task)| (lines_before + line, place, task);
        found.extend(tasks.into_iter().map(numbered));
        lines_before += lines;
    }
    Ok(found)
}

/// The text in at most `count` pieces of about the same size, each of whole lines.
fn parts(text: &str, count: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for number in 1..count {
        let target = (text.len() / count * number).max(start);
        let Some(newline) = memchr::memchr(b'\n', &text.as_bytes()[target..]) else {
            break;
        };
        let end = target + newline + 1;
        parts.push(start..end);
        start = end;
    }
    parts.push(start..text.len());
    parts
}

/// How many lines a part has, and their tasks; lines are numbered from 1 within the part.
fn read_part(text: &str, part: Range<usize>) -> (usize, Result<Vec<Found>, Unread>) {
    let mut found = Vec::new();
    let mut lines = 0;
    for place in places(text, part) {
        lines += 1;
        match read_line(&text[place.clone()]) {
            Ok(task) => found.extend(task.map(|task| (lines, place, task))),
            Err(what) => return (lines, Err((lines, what))),
        }
    }
    (lines, Ok(found))
}

/// Where each line's content is, without its terminator and the space around it. What follows the
/// last terminator of the text is a line too, if there is anything.
fn places(text: &str, part: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = part.start;
    if start == 0 && text.starts_with(BYTE_ORDER_MARK) {
        start = BYTE_ORDER_MARK.len();
    }
    let offset = part.start;
    let terminators = memchr::memchr_iter(b'\n', &text.as_bytes()[part.clone()]);
    let unterminated = (!text[..part.end].ends_with('\n')).then_some(part.end);
    let ends = terminators.map(move |at| offset + at).chain(unterminated);
    ends.map(move |end| {
        let line = &text[start..end];
        let from = start + (line.len() - line.trim_start_matches(SPACE).len());
        let content = line.trim_matches(SPACE);
        start = end + 1;
        from..from + content.len()
    })
}

/// What JSON allows around a value, inside of a line.
const SPACE: [char; 3] = [' ', '\t', '\r'];

/// One line: a task, nothing that concerns us, or what is wrong with it.
fn read_line(line: &str) -> Result<Option<Task>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    for marker in ["<<<<<<<", "|||||||", "=======", ">>>>>>>"] {
        if line.starts_with(marker) {
            return Err("a merge conflict that nobody has resolved".to_owned());
        }
    }
    // serde would take an array for an object whose keys go without saying.
    if !line.starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    match serde_json::from_str::<Row<'_>>(line) {
        Ok(row) if row.is_foreign() => Ok(None),
        Ok(row) => Task::try_from(row).map(Some),
        Err(error) if error.is_data() && is_foreign(line) => Ok(None),
        Err(error) => Err(worded(&error)),
    }
}

/// A foreign line may use our keys for things of its own.
fn is_foreign(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Sort<'a> {
        #[serde(rename = "_type", borrow)]
        row_type: Cow<'a, str>,
    }
    serde_json::from_str::<Sort<'_>>(line).is_ok_and(|sort| sort.row_type != "issue")
}

/// How much of the parser's own words is kept; it quotes what it stumbled over.
const WORDS_CHARS_MAX: usize = 200;

fn worded(error: &serde_json::Error) -> String {
    let column = error.column();
    let words = error.to_string();
    // The parser saw one line only, so its own line number would mislead.
    let words = words.rsplit_once(" at line ").map_or(&*words, |it| it.0);
    let words: String = words.chars().take(WORDS_CHARS_MAX).collect();
    match error.classify() {
        Category::Eof => "breaks off in the middle of a value".to_owned(),
        Category::Syntax | Category::Io => format!("not JSON: {words} (column {column})"),
        Category::Data => format!("{words} (column {column})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of line that has a number, with and without a terminator at its end.
    const TEXTS: [&str; 6] = [
        "",
        "\n",
        "{\"id\":\"a\"}",
        "\u{feff}{\"id\":\"a\"}\r\n\n{\"_type\":\"memory\"}\n  {\"id\":\"b\"} \n{\"id\":\"c\"}",
        "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n{\"id\":\"d\"}\n",
        "{\"id\":\"ä\",\"title\":\"日本語日本語日本語日本語\"}\n{\"id\":\"b\"}\n\n",
    ];

    /// Number, content and id.
    type Line = (usize, String, String);

    fn summary(text: &str, threads: usize) -> Result<Vec<Line>, Unread> {
        let summary =
            |(line, place, task): Found| (line, text[place].to_owned(), task.id.to_string());
        Ok(read_shared(text, threads)?
            .into_iter()
            .map(summary)
            .collect())
    }

    #[test]
    fn however_many_read_the_lines_are_the_same() {
        for text in TEXTS {
            let alone = summary(text, 1).unwrap();
            for threads in 2..9 {
                assert_eq!(summary(text, threads).unwrap(), alone, "{threads}: {text}");
            }
        }
        let ids = |text| {
            summary(text, 3)
                .unwrap()
                .into_iter()
                .map(|(line, _, id)| (line, id))
        };
        let expected = [(1, "a"), (4, "b"), (5, "c")].map(|(line, id)| (line, id.to_owned()));
        assert!(ids(TEXTS[3]).eq(expected));
    }

    #[test]
    fn the_first_broken_line_is_named_by_its_number_in_the_file() {
        let text = "{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n{\"id\":\n{\"id\":\"d\"}\nnonsense\n";
        for threads in 1..9 {
            let (line, what) = summary(text, threads).unwrap_err();
            assert_eq!(
                (line, what.as_str()),
                (4, "breaks off in the middle of a value")
            );
        }
    }

    #[test]
    fn a_small_file_starts_no_thread() {
        assert_eq!(threads_for(2 * PART_BYTES_MIN - 1), 1);
        assert!(threads_for(usize::MAX) <= THREADS_MAX);
    }
}
