//! A text that is being changed, and what it would take to have the first one back.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What was once a stretch of a text: `replaced` is what stood at `at` before, `inserted` how many
/// bytes stand there now. Offsets are those of the text as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at: usize,
    pub inserted: usize,
    pub replaced: String,
}

/// A text and the one that it was made from. Stretches of the first one only ever leave it: they
/// keep their order.
#[derive(Clone, Debug)]
pub struct Revision {
    original: String,
    pieces: Vec<Piece>,
    text: String,
}

#[derive(Clone, Debug)]
enum Piece {
    Kept(Range<usize>),
    New(String),
}

impl Revision {
    pub fn of(original: &str) -> Revision {
        Revision {
            original: original.to_owned(),
            pieces: vec![Piece::Kept(0..original.len())],
            text: original.to_owned(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Puts `with` in the place of a range of the text as it is now.
    pub fn replace(&mut self, range: Range<usize>, with: &str) {
        let mut pieces = Vec::new();
        let mut at = 0;
        let mut is_put = false;
        for piece in std::mem::take(&mut self.pieces) {
            let length = piece.length();
            let (before, after) = piece.without(range.start, range.end, at);
            pieces.extend(before);
            if !is_put && at + length >= range.start {
                is_put = true;
                pieces.push(Piece::New(with.to_owned()));
            }
            pieces.extend(after);
            at += length;
        }
        if !is_put {
            pieces.push(Piece::New(with.to_owned()));
        }
        self.pieces = pieces;
        self.text.replace_range(range, with);
    }

    /// What leads back to the original.
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let (mut taken, mut at) = (0, 0);
        let mut new = String::new();
        let end = Piece::Kept(self.original.len()..self.original.len());
        for piece in self.pieces.iter().chain([&end]) {
            match piece {
                Piece::New(text) => new.push_str(text),
                Piece::Kept(range) => {
                    let replaced = &self.original[taken..range.start];
                    if replaced != new {
                        changes.push(Change {
                            at,
                            inserted: new.len(),
                            replaced: replaced.to_owned(),
                        });
                    }
                    at += new.len() + range.len();
                    taken = range.end;
                    new.clear();
                }
            }
        }
        changes
    }
}

impl Piece {
    fn length(&self) -> usize {
        match self {
            Piece::Kept(range) => range.len(),
            Piece::New(text) => text.len(),
        }
    }

    /// What is left of a piece that begins at `at` if everything from `from` to `to` goes: the part
    /// before, and the part behind.
    fn without(&self, from: usize, to: usize, at: usize) -> (Option<Piece>, Option<Piece>) {
        let length = self.length();
        let before = from.saturating_sub(at).min(length);
        let after = to.saturating_sub(at).min(length);
        (self.part(0..before), self.part(after..length))
    }

    fn part(&self, range: Range<usize>) -> Option<Piece> {
        if range.is_empty() {
            return None;
        }
        Some(match self {
            Piece::Kept(whole) => Piece::Kept(whole.start + range.start..whole.start + range.end),
            Piece::New(text) => Piece::New(text[range].to_owned()),
        })
    }
}

/// The text as it was before `changes`; nothing if they cannot have led to this one.
pub fn undo(text: &str, changes: &[Change]) -> Option<String> {
    let mut original = text.to_owned();
    for change in changes.iter().rev() {
        let range = change.at..change.at.checked_add(change.inserted)?;
        original.get(range.clone())?;
        original.replace_range(range, &change.replaced);
    }
    Some(original)
}
