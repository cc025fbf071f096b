//! Blocks: paragraphs, lists, fences, indented code, quotes and HTML, line by line.

use std::ops::Range;

use super::html::{has_any, is_html_block, is_lone_tag, raw_endings};
use super::inlines::{Inlines, Spans};

/// What deeper lists hold is not looked into; it keeps a line of nothing but markers cheap.
const LIST_DEPTH_MAX: usize = 32;

/// From this column on a line is code.
const CODE_COLUMN: usize = 4;

/// The block that the next line may continue.
enum Open {
    Nothing,
    /// A list item that has no text yet.
    EmptyItem,
    /// Text that began at this position.
    Paragraph(usize),
    /// A block quote. Until a blank line everything may be its lazy continuation.
    Quote,
    Fence(Fence),
    /// HTML that runs over blank lines up to one of the endings.
    Raw {
        endings: &'static [&'static str],
        column: usize,
    },
    /// HTML that began at this position and runs up to a blank line.
    Html {
        start: usize,
        column: usize,
    },
    /// Renderers and authors disagree about where a block ends: nobody can tell what is code
    /// from here on.
    Doubt,
}

/// What a line begins.
enum Start {
    Quote,
    Fence(Fence),
    /// A fence to its author, to a renderer a part of the paragraph that began there.
    DeepFence {
        paragraph: usize,
    },
    /// An item of a list that is too deep.
    DeepItem,
    Raw(&'static [&'static str]),
    Html,
    Code,
    Heading,
    Rule,
    EmptyItem,
    Item,
    Text,
}

pub(super) struct Blocks<'a> {
    text: &'a str,
    open: Open,
    /// The columns at which the contents of the open list items begin, ascending.
    lists: Vec<usize>,
    /// Whether a quote has left open which lists, or what HTML, are.
    is_unsure: bool,
    inlines: Inlines<'a>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(text: &'a str) -> Blocks<'a> {
        Blocks {
            text,
            open: Open::Nothing,
            lists: Vec::new(),
            is_unsure: false,
            inlines: Inlines::of(text),
        }
    }

    /// Reads one line; whether it is said.
    pub(super) fn read(&mut self, start: usize, line: &str) -> bool {
        let (column, _) = indented(line, 0);
        match &mut self.open {
            Open::Doubt => false,
            Open::Fence(fence) => {
                if let Some(open) = fence.after(line) {
                    self.open = open;
                }
                false
            }
            Open::Raw {
                endings,
                column: inside,
            } => {
                if column < *inside && !is_blank(line) {
                    self.open = Open::Doubt;
                } else if has_any(line, endings) {
                    self.open = Open::Nothing;
                }
                false
            }
            Open::EmptyItem if is_blank(line) => {
                self.lists.pop();
                self.open = Open::Nothing;
                false
            }
            Open::Nothing | Open::Paragraph(_) | Open::Quote | Open::Html { .. }
                if is_blank(line) =>
            {
                self.close(start);
                false
            }
            Open::Html { column: inside, .. } if column >= *inside => false,
            Open::Html { .. } => {
                self.close(start);
                self.begin(start, line)
            }
            Open::Nothing | Open::EmptyItem | Open::Paragraph(_) | Open::Quote => {
                self.begin(start, line)
            }
        }
    }

    /// Reads a line that no code or HTML goes on with.
    fn begin(&mut self, start: usize, line: &str) -> bool {
        // A byte order mark is no part of the text's structure, though of its first line.
        let structured = match start {
            0 => line.trim_start_matches(BYTE_ORDER_MARK),
            _ => line,
        };
        let head = Head::of(structured, self);
        let begun = head.start(self);
        let is_quoted = matches!(self.open, Open::Quote);
        self.is_unsure |= is_quoted && self.depends_on_quote(&head, &begun);
        if !matches!(begun, Start::Text) || matches!(self.open, Open::Nothing | Open::EmptyItem) {
            self.lists.truncate(head.parents);
            self.lists.extend(&head.items);
            self.is_unsure &= is_quoted || head.indentation > 0;
        }
        let column = head.parent;
        let is_doubtful = self.is_unsure
            && match &begun {
                Start::Fence(_) | Start::Raw(_) | Start::Html => true,
                Start::Text => !is_quoted && is_lone_tag(head.text),
                Start::Quote | Start::Code | Start::Heading | Start::Rule => false,
                Start::Item | Start::EmptyItem => false,
                Start::DeepFence { .. } | Start::DeepItem => false,
            };
        let open = match begun {
            _ if is_doubtful => Open::Doubt,
            Start::Quote => Open::Quote,
            Start::Fence(fence) => Open::Fence(fence),
            Start::DeepFence { paragraph } => {
                self.inlines.shown.push(paragraph..self.text.len());
                Open::Doubt
            }
            Start::DeepItem => Open::Doubt,
            // `<!-->` is a whole comment.
            Start::Raw(endings) if has_any(head.text.get(2..).unwrap_or(""), endings) => {
                Open::Nothing
            }
            Start::Raw(endings) => Open::Raw { endings, column },
            Start::Html => Open::Html { start, column },
            _ if is_quoted => return false,
            Start::Code | Start::Rule => Open::Nothing,
            Start::EmptyItem => Open::EmptyItem,
            Start::Heading => {
                self.close(start);
                self.inlines.read(start..start + line.len(), Spans::Code);
                return head.is_said();
            }
            Start::Text if matches!(self.open, Open::Paragraph(_)) => return head.is_said(),
            Start::Item | Start::Text => Open::Paragraph(start),
        };
        self.close(start);
        self.open = open;
        matches!(self.open, Open::Paragraph(_)) && head.is_said()
    }

    /// Whether renderers need to know what a quote ended with to tell what this line is.
    fn depends_on_quote(&self, head: &Head<'_>, begun: &Start) -> bool {
        match begun {
            Start::Fence(fence) => fence.is_code || head.parent > 0,
            Start::Raw(_) | Start::Html => head.parent > 0,
            Start::EmptyItem => true,
            Start::Text => head.parents < self.lists.len() || is_lone_tag(head.text),
            Start::Quote | Start::Code | Start::Heading | Start::Rule | Start::Item => false,
            // Nobody can tell what follows anyway.
            Start::DeepFence { .. } | Start::DeepItem => false,
        }
    }

    fn close(&mut self, end: usize) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Paragraph(start) => self.inlines.read(start..end, Spans::Code),
            Open::Html { start, .. } => self.inlines.read(start..end, Spans::None),
            Open::Nothing
            | Open::EmptyItem
            | Open::Quote
            | Open::Fence(_)
            | Open::Raw { .. }
            | Open::Doubt => {}
        }
    }

    pub(super) fn finish(mut self) -> Vec<Range<usize>> {
        // What is still open then hides no line that was kept as said.
        self.close(self.text.len());
        self.inlines.finish()
    }
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The beginning of a line: its indentation and the list markers.
struct Head<'l> {
    indentation: usize,
    /// How many of the open list items the line is inside of.
    parents: usize,
    /// The list items that it begins.
    items: Vec<usize>,
    /// Where the contents of the innermost of them begin.
    parent: usize,
    is_code: bool,
    is_too_deep: bool,
    /// Whether it is a line below a paragraph that makes that a heading, or a thematic break.
    is_rule: bool,
    column: usize,
    text: &'l str,
}

impl<'l> Head<'l> {
    fn of(line: &'l str, blocks: &Blocks<'_>) -> Head<'l> {
        let (indentation, text) = indented(line, 0);
        let lists = &blocks.lists;
        let parents = lists.partition_point(|column| *column <= indentation);
        let parent = parents.checked_sub(1).map_or(0, |last| lists[last]);
        // Inside a paragraph only some markers begin a list, but all go on with one.
        let is_inside = matches!(blocks.open, Open::Paragraph(_)) && parents == lists.len();
        let is_code = indentation - parent >= CODE_COLUMN;
        let mut head = Head {
            indentation,
            parents,
            items: Vec::new(),
            parent,
            is_code,
            is_too_deep: false,
            is_rule: !is_code && (is_break(text) || (is_inside && is_underline(text))),
            column: indentation,
            text,
        };
        if !is_inside || may_interrupt(text) {
            head.strip_markers();
        }
        head
    }

    fn strip_markers(&mut self) {
        while let Some(width) = marker_width(self.text)
            && !self.is_code
            && !self.is_rule
        {
            if self.parents + self.items.len() == LIST_DEPTH_MAX {
                self.is_too_deep = true;
                return;
            }
            let end = self.column + width;
            let (column, text) = indented(&self.text[width..], end);
            self.is_code = column - end > CODE_COLUMN && !text.is_empty();
            let is_plain = !self.is_code && !text.is_empty();
            self.parent = if is_plain { column } else { end + 1 };
            self.items.push(self.parent);
            self.column = column;
            self.text = text;
            self.is_rule = !self.is_code && is_break(text);
        }
    }

    /// Rows in order of precedence.
    fn start(&self, blocks: &Blocks<'_>) -> Start {
        let is_item = !self.items.is_empty();
        let is_text = matches!(blocks.open, Open::Paragraph(_) | Open::Quote);
        let deep = match blocks.open {
            Open::Paragraph(paragraph) if self.is_code && !is_item => Some(paragraph),
            _ => None,
        };
        match (self.fence(), raw_endings(self.text)) {
            _ if self.is_too_deep => Start::DeepItem,
            (Some(fence), _) => match deep {
                Some(paragraph) => Start::DeepFence { paragraph },
                None => Start::Fence(fence),
            },
            (None, _) if self.is_code && is_text && !is_item => Start::Text,
            (None, _) if self.text.starts_with('>') => Start::Quote,
            (None, _) if self.is_code => Start::Code,
            (None, Some(endings)) => Start::Raw(endings),
            (None, None) if is_html_block(self.text) => Start::Html,
            (None, None) if (!is_text || is_item) && is_lone_tag(self.text) => Start::Html,
            (None, None) if is_heading(self.text) => Start::Heading,
            (None, None) if self.is_rule => Start::Rule,
            (None, None) if is_item && self.text.is_empty() => Start::EmptyItem,
            (None, None) if is_item => Start::Item,
            (None, None) => Start::Text,
        }
    }

    /// Fences count at any indentation.
    fn fence(&self) -> Option<Fence> {
        let mark = FenceMark::of(self.text).filter(FenceMark::may_open)?;
        Some(Fence {
            character: mark.character,
            length: mark.length,
            column: self.parent + if self.is_code { CODE_COLUMN } else { 0 },
            is_code: self.is_code,
        })
    }

    fn is_said(&self) -> bool {
        self.indentation < CODE_COLUMN
    }
}

struct Fence {
    character: u8,
    length: usize,
    /// Where the contents of the block around it begin.
    column: usize,
    /// So deep that renderers take its lines for indented code.
    is_code: bool,
}

impl Fence {
    /// What is open after `line`, if that has changed.
    fn after(&self, line: &str) -> Option<Open> {
        let (column, text) = indented(line, 0);
        // To a renderer the block around the fence ends here, and the fence with it.
        if column < self.column && !text.is_empty() {
            return Some(Open::Doubt);
        }
        let mark = FenceMark::of(text)
            .filter(|mark| mark.character == self.character && mark.length >= self.length)?;
        match mark.info {
            // Renderers take it for code, its author for a fence inside the fence.
            [_, ..] if mark.may_open() => Some(Open::Doubt),
            [_, ..] => None,
            [] if column >= self.column + CODE_COLUMN && !self.is_code => None,
            [] => Some(Open::Nothing),
        }
    }
}

struct FenceMark<'l> {
    character: u8,
    length: usize,
    info: &'l [u8],
}

impl<'l> FenceMark<'l> {
    fn of(text: &'l str) -> Option<FenceMark<'l>> {
        let bytes = text.as_bytes();
        let character = *bytes.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = run(bytes, character);
        (length >= 3).then(|| FenceMark {
            character,
            length,
            info: bytes[length..].trim_ascii(),
        })
    }

    /// Backticks behind backticks are inline code.
    fn may_open(&self) -> bool {
        self.character == b'~' || !self.info.contains(&b'`')
    }
}

/// The column of the first character that is no space or tab, and the text from there on.
fn indented(line: &str, mut column: usize) -> (usize, &str) {
    let text = line.trim_start_matches([' ', '\t']);
    for byte in &line.as_bytes()[..line.len() - text.len()] {
        column = match byte {
            b'\t' => (column / 4 + 1) * 4,
            _ => column + 1,
        };
    }
    (column, text)
}

pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// How many times `byte` stands at the beginning.
pub(super) fn run(bytes: &[u8], byte: u8) -> usize {
    count(bytes, |other| *other == byte)
}

/// A list marker's width, without the space behind it.
fn marker_width(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = count(bytes, u8::is_ascii_digit);
    let width = match (digits, bytes.get(digits)?) {
        (0, b'-' | b'+' | b'*') => 1,
        (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    matches!(bytes.get(width), None | Some(b' ' | b'\t')).then_some(width)
}

/// An empty item, or one that does not count from 1, goes on with the paragraph.
fn may_interrupt(text: &str) -> bool {
    let Some(width) = marker_width(text) else {
        return false;
    };
    let (marker, rest) = text.split_at(width);
    !is_blank(rest) && matches!(marker, "-" | "+" | "*" | "1." | "1)")
}

/// A thematic break.
fn is_break(text: &str) -> bool {
    let Some(first) = text.bytes().next().filter(|byte| b"-*_".contains(byte)) else {
        return false;
    };
    let mut marks = text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    marks.clone().count() >= 3 && marks.all(|mark| mark == first)
}

/// What makes the paragraph above it a heading.
fn is_underline(text: &str) -> bool {
    let line = text.trim_end_matches([' ', '\t']).as_bytes();
    matches!(line, [b'-' | b'=', ..]) && line.iter().all(|byte| *byte == line[0])
}

fn is_heading(text: &str) -> bool {
    let level = run(text.as_bytes(), b'#');
    let next = text.as_bytes().get(level);
    (1..=6).contains(&level) && matches!(next, None | Some(b' ' | b'\t'))
}

/// How many bytes of a kind stand at the beginning.
pub(super) fn count(bytes: &[u8], is_kind: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_kind(byte)).count()
}
