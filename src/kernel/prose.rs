//! Which lines of a Markdown text its author says, and which are only shown: code, quotes, HTML
//! and comments. The block structure is that of `CommonMark` 0.31; where renderers or sloppy
//! authors would disagree about it, the text counts as shown. What the lines mean is left to
//! `signal`.

mod blocks;
mod html;
mod inlines;

use std::ops::Range;

use blocks::Blocks;

pub struct Prose<'a> {
    lines: Vec<Line<'a>>,
    /// Sorted, disjoint.
    shown: Vec<Range<usize>>,
}

/// A line that is said, as far as whole lines go.
pub struct Line<'a> {
    pub start: usize,
    pub text: &'a str,
    /// The nearest line above that is not blank.
    pub before: &'a str,
    /// Everything below.
    pub below: &'a str,
}

impl<'a> Prose<'a> {
    /// Keeps the lines that are `wanted`: a long text has too many to keep them all.
    pub fn read(text: &'a str, wanted: impl Fn(&str) -> bool) -> Prose<'a> {
        let mut blocks = Blocks::new(text);
        let mut lines = Vec::new();
        let mut before = "";
        let mut below = Lines::of(text);
        while let Some((start, line)) = below.next() {
            let is_said = blocks.read(start, line);
            if is_said && wanted(line) {
                lines.push(Line {
                    start,
                    text: line,
                    before,
                    below: below.rest(),
                });
            }
            if !line.trim().is_empty() {
                before = line;
            }
        }
        Prose {
            lines,
            shown: blocks.finish(),
        }
    }

    pub fn lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter()
    }

    /// Whether what stands at `position` is inside something that began before it.
    pub fn is_shown(&self, position: usize) -> bool {
        let next = self.shown.partition_point(|range| range.end <= position);
        self.shown
            .get(next)
            .is_some_and(|range| range.start < position)
    }
}

/// Lines with their positions. Only `\n`, `\r\n` and `\r` end one.
pub struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Lines<'a> {
        Lines { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let ending = match rest.as_bytes().get(length..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([_, ..]) => 1,
            Some([]) | None => 0,
        };
        let start = self.at;
        self.at += length + ending;
        Some((start, &rest[..length]))
    }
}
