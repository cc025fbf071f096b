//! What is shown inside a paragraph: code spans, comments, and elements that hide.

use std::collections::HashMap;
use std::ops::Range;

use super::blocks::run;
use super::html::{Tag, TagKind, is_instruction};

/// Whether backticks mean code.
#[derive(Clone, Copy)]
pub(super) enum Spans {
    Code,
    None,
}

/// Elements that hide what follows even if they are never closed.
#[rustfmt::skip]
const HIDING_ELEMENTS: &[&str] = &[
    "blockquote", "code", "del", "kbd", "listing", "plaintext", "pre", "samp", "script", "strike",
    "style", "template", "textarea", "tt", "xmp",
];

/// Code spans, comments and elements, from the paragraphs and HTML blocks of the whole text.
pub(super) struct Inlines<'a> {
    text: &'a str,
    pub(super) shown: Vec<Range<usize>>,
    /// Where elements were opened and not yet closed, by name.
    elements: HashMap<String, Vec<usize>>,
    /// The end of the last comment; looked for once, however many begin inside it.
    comment_end: usize,
}

impl<'a> Inlines<'a> {
    pub(super) fn of(text: &'a str) -> Inlines<'a> {
        Inlines {
            text,
            shown: Vec::new(),
            elements: HashMap::new(),
            comment_end: 0,
        }
    }

    pub(super) fn read(&mut self, range: Range<usize>, spans: Spans) {
        let bytes = self.text.as_bytes();
        let mut ticks = match spans {
            Spans::Code => Ticks::of(&bytes[..range.end], range.start),
            Spans::None => Ticks::default(),
        };
        let mut at = range.start;
        while at < range.end {
            at = match bytes[at] {
                b'\\' => at + 2,
                b'`' => {
                    let length = run(&bytes[at..range.end], b'`');
                    match ticks.next(at, length) {
                        Some(close) => {
                            self.shown.push(at..close);
                            close + length
                        }
                        None => at + length,
                    }
                }
                b'<' => self.angle(at, range.end),
                _ => at + 1,
            };
        }
    }

    /// Reads a comment or a tag at `at`; returns where to go on.
    fn angle(&mut self, at: usize, end: usize) -> usize {
        if self.text[at..].starts_with("<!--") {
            let comment_end = self.comment(at);
            // One that the paragraph does not close is text to some, hence read on in it.
            return if comment_end <= end {
                comment_end
            } else {
                at + 4
            };
        }
        if is_instruction(&self.text[at..end]) {
            // Too rare to be worth knowing where it ends.
            self.shown.push(at..end);
        }
        let Some(tag) = Tag::at(self.text, at, end) else {
            return at + 1;
        };
        let name = tag.name.to_ascii_lowercase();
        match tag.kind {
            TagKind::Open => self.elements.entry(name).or_default().push(at),
            TagKind::Close => {
                if let Some(open) = self.elements.get_mut(&name).and_then(Vec::pop) {
                    self.shown.push(open..at);
                }
            }
            TagKind::Empty => {}
        }
        if tag.is_html {
            // Attributes may run over lines.
            self.shown.push(at..tag.end);
            return tag.end;
        }
        at + 1
    }

    fn comment(&mut self, at: usize) -> usize {
        if at >= self.comment_end {
            let inside = at + 2;
            let length = self.text[inside..].find("-->");
            self.comment_end = length.map_or(self.text.len(), |length| inside + length + 3);
            self.shown.push(at..self.comment_end);
        }
        self.comment_end
    }

    /// Everything shown, sorted and without overlaps.
    pub(super) fn finish(mut self) -> Vec<Range<usize>> {
        for name in HIDING_ELEMENTS {
            if let Some(open) = self.elements.get(*name).and_then(|open| open.first()) {
                self.shown.push(*open..self.text.len());
            }
        }
        self.shown.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in self.shown {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                Some(_) | None => merged.push(range),
            }
        }
        merged
    }
}

/// The runs of backticks in a paragraph, by length: the nearest one is on top.
#[derive(Default)]
struct Ticks {
    runs: HashMap<usize, Vec<usize>>,
}

impl Ticks {
    fn of(bytes: &[u8], start: usize) -> Ticks {
        let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut at = start;
        for alike in bytes[start..].chunk_by(|byte, next| byte == next) {
            if alike.starts_with(b"`") {
                runs.entry(alike.len()).or_default().push(at);
            }
            at += alike.len();
        }
        for positions in runs.values_mut() {
            positions.reverse();
        }
        Ticks { runs }
    }

    /// The first run of this length behind `at`, which only ever grows.
    fn next(&mut self, at: usize, length: usize) -> Option<usize> {
        let positions = self.runs.get_mut(&length)?;
        while positions.last().is_some_and(|position| *position <= at) {
            positions.pop();
        }
        positions.last().copied()
    }
}
