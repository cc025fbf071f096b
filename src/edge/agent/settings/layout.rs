//! How a document is written: what is put into it looks like its surroundings, and what is taken
//! out takes its comma along.

use std::ops::Range;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

use super::json::{Kind, Node};

/// Line breaks and indentation of a document.
#[derive(Clone, Debug)]
pub struct Style {
    line_break: &'static str,
    unit: String,
    /// All on one line, so that it stays on one.
    is_one_line: bool,
}

/// What is put into a container: a member of an object, or an item of a list.
pub struct Item<'a, T> {
    pub key: Option<&'a str>,
    pub value: &'a T,
}

impl Style {
    pub fn of(text: &str, root: Option<&Node>) -> Style {
        let body = root.map_or("", |root| &text[root.span.clone()]);
        let first = text.find('\n');
        let is_crlf = first.is_some_and(|at| text[..at].ends_with('\r'));
        let children = root.map(Node::children).unwrap_or_default();
        let indent = |child: &Range<usize>| indent_before(text, child.start);
        let unit = children.iter().find_map(indent).unwrap_or_default();
        Style {
            line_break: if is_crlf { "\r\n" } else { "\n" },
            unit: if unit.is_empty() { "  " } else { unit }.to_owned(),
            is_one_line: !body.contains('\n') && !children.is_empty(),
        }
    }

    /// A document of its own, for a file that has none.
    pub fn document(&self, value: &impl Serialize) -> String {
        self.block(value, "") + self.line_break
    }

    /// Where, and what, to write so that `container` has one child more, as its last.
    pub fn appended<T: Serialize>(
        &self,
        text: &str,
        container: &Node,
        item: &Item<'_, T>,
    ) -> (Range<usize>, String) {
        let children = container.children();
        let inner = container.span.start + 1..container.span.end - 1;
        let Some(last) = children.last() else {
            if self.is_one_line {
                return (inner.start..inner.start, self.line(item));
            }
            let base = line_indent(text, container.span.start);
            let indent = format!("{base}{}", self.unit);
            let written = self.lines(item, &indent);
            let line_break = self.line_break;
            let put = format!("{line_break}{indent}{written}{line_break}{base}");
            return (inner, put);
        };
        let at = last.end..last.end;
        if let Some(indent) = indent_before(text, last.start) {
            let written = self.lines(item, indent);
            return (at, format!(",{}{indent}{written}", self.line_break));
        }
        let gap = match children.as_slice() {
            [.., _, last] => space_before(text, last.start),
            _ if self.is_one_line => "",
            _ => " ",
        };
        (at, format!(",{gap}{}", self.line(item)))
    }

    /// Another value in the place of one.
    pub fn instead(&self, text: &str, old: &Node, value: &impl Serialize) -> String {
        if text[old.span.clone()].contains('\n') {
            self.block(value, line_indent(text, old.span.start))
        } else if self.is_one_line || !matches!(old.kind, Kind::Null) {
            compact(value)
        } else {
            self.block(value, line_indent(text, old.span.start))
        }
    }

    fn line<T: Serialize>(&self, item: &Item<'_, T>) -> String {
        let gap = if self.is_one_line { "" } else { " " };
        let key = item.key.map(|key| format!("{}:{gap}", compact(&key)));
        key.unwrap_or_default() + &compact(item.value)
    }

    fn lines<T: Serialize>(&self, item: &Item<'_, T>, indent: &str) -> String {
        let key = item.key.map(|key| format!("{}: ", compact(&key)));
        key.unwrap_or_default() + &self.block(item.value, indent)
    }

    fn block(&self, value: &impl Serialize, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        if written.is_err() {
            return compact(value);
        }
        // A line break inside a text is written as an escape.
        let text = String::from_utf8_lossy(&bytes);
        text.replace('\n', &format!("{}{indent}", self.line_break))
    }
}

/// What to delete so that `container` has its child `index` no longer.
pub fn without(container: &Node, index: usize) -> Range<usize> {
    let children = container.children();
    let of = |index: usize| children.get(index).cloned();
    match (index.checked_sub(1).and_then(of), of(index), of(index + 1)) {
        (_, Some(child), Some(next)) => child.start..next.start,
        (Some(before), Some(child), None) => before.end..child.end,
        (None, _, _) => container.span.start + 1..container.span.end - 1,
        (Some(before), None, _) => before.end..before.end,
    }
}

fn compact(value: &impl Serialize) -> String {
    // Texts, lists and numbers always serialise.
    serde_json::to_string(value).unwrap_or_default()
}

fn space_before(text: &str, at: usize) -> &str {
    let before = &text[..at];
    let kept = before.trim_end_matches([' ', '\t', '\n', '\r']);
    &before[kept.len()..]
}

/// The indentation of what begins a line of its own.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let space = space_before(text, at);
    space.rfind('\n').map(|last| &space[last + 1..])
}

/// The indentation of the line that `at` is in.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |last| last + 1);
    let line = text[start..at].trim_start_matches(super::json::MARK);
    let kept = line.trim_start_matches([' ', '\t']);
    &line[..line.len() - kept.len()]
}
