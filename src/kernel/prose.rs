//! Which lines of a Markdown text its author says, and which are only shown: code, quotes, HTML
//! and comments. The block structure is that of `CommonMark` 0.31; where renderers or sloppy
//! authors would disagree about it, the text counts as shown. What the lines mean is left to
//! `signal`.

use std::collections::HashMap;
use std::ops::Range;

/// Deeper lists are read as text; it keeps a line of nothing but markers cheap.
const LIST_DEPTH_MAX: usize = 32;

/// From this column on a line is code.
const CODE_COLUMN: usize = 4;

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
    Raw(&'static [&'static str]),
    Html,
    Code,
    Heading,
    Rule,
    EmptyItem,
    Item,
    Text,
}

struct Blocks<'a> {
    text: &'a str,
    open: Open,
    /// The columns at which the contents of the open list items begin, ascending.
    lists: Vec<usize>,
    /// Whether a quote has left open which lists, or what HTML, are.
    is_unsure: bool,
    inlines: Inlines<'a>,
}

impl<'a> Blocks<'a> {
    fn new(text: &'a str) -> Blocks<'a> {
        Blocks {
            text,
            open: Open::Nothing,
            lists: Vec::new(),
            is_unsure: false,
            inlines: Inlines::of(text),
        }
    }

    /// Reads one line; whether it is said.
    fn read(&mut self, start: usize, line: &str) -> bool {
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
                Start::Item | Start::EmptyItem | Start::DeepFence { .. } => false,
            };
        let open = match begun {
            _ if is_doubtful => Open::Doubt,
            Start::Quote => Open::Quote,
            Start::Fence(fence) => Open::Fence(fence),
            Start::DeepFence { paragraph } => {
                self.inlines.shown.push(paragraph..self.text.len());
                Open::Doubt
            }
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
            // Only paragraphs have them.
            Start::DeepFence { .. } => false,
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

    fn finish(mut self) -> Vec<Range<usize>> {
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
            && self.parents + self.items.len() < LIST_DEPTH_MAX
            && !self.is_code
            && !self.is_rule
        {
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

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// How many times `byte` stands at the beginning.
fn run(bytes: &[u8], byte: u8) -> usize {
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

/// Elements whose contents HTML does not parse as HTML.
const RAW_ELEMENTS: &[&str] = &["pre", "script", "style", "textarea"];
const RAW_ELEMENT_ENDINGS: &[&str] = &["</pre>", "</script>", "</style>", "</textarea>"];

/// If `text` begins HTML that runs over blank lines: what ends it.
fn raw_endings(text: &str) -> Option<&'static [&'static str]> {
    let inside = text.strip_prefix('<')?;
    match inside.as_bytes() {
        [b'!', b'-', b'-', ..] => Some(&["-->"]),
        [b'?', ..] => Some(&["?>"]),
        [b'!', letter, ..] if letter.is_ascii_alphabetic() => Some(&[">"]),
        _ if inside.starts_with("![CDATA[") => Some(&["]]>"]),
        _ => {
            let name = element_name(inside);
            let is_raw = is_among(name, RAW_ELEMENTS)
                && matches!(
                    inside.as_bytes().get(name.len()),
                    None | Some(b' ' | b'\t' | b'>')
                );
            is_raw.then_some(RAW_ELEMENT_ENDINGS)
        }
    }
}

/// Elements that begin an HTML block even inside a paragraph.
#[rustfmt::skip]
const BLOCK_ELEMENTS: &[&str] = &[
    "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center",
    "col", "colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5",
    "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link", "main", "menu",
    "menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param", "search", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track", "ul",
];

fn is_html_block(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('<') else {
        return false;
    };
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let name = element_name(inside);
    let next = inside.as_bytes().get(name.len());
    is_among(name, BLOCK_ELEMENTS) && matches!(next, None | Some(b' ' | b'\t' | b'>' | b'/'))
}

/// Whether the line is one tag, of whatever element, and nothing else.
fn is_lone_tag(text: &str) -> bool {
    Tag::at(text, 0, text.len()).is_some_and(|tag| tag.is_html && is_blank(&text[tag.end..]))
}

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether one of the endings, which are ASCII, is somewhere in the line, in whatever case.
fn has_any(line: &str, endings: &[&str]) -> bool {
    let has = |ending: &str| {
        let mut windows = line.as_bytes().windows(ending.len());
        windows.any(|window| window.eq_ignore_ascii_case(ending.as_bytes()))
    };
    endings.iter().any(|ending| has(ending))
}

/// Whether backticks mean code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spans {
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
struct Inlines<'a> {
    text: &'a str,
    shown: Vec<Range<usize>>,
    /// Where elements were opened and not yet closed, by name.
    elements: HashMap<String, Vec<usize>>,
    /// The end of the last comment; looked for once, however many begin inside it.
    comment_end: usize,
}

impl<'a> Inlines<'a> {
    fn of(text: &'a str) -> Inlines<'a> {
        Inlines {
            text,
            shown: Vec::new(),
            elements: HashMap::new(),
            comment_end: 0,
        }
    }

    fn read(&mut self, range: Range<usize>, spans: Spans) {
        let bytes = self.text.as_bytes();
        let mut ticks = Ticks::of(&bytes[..range.end], range.start, spans);
        let mut at = range.start;
        while at < range.end {
            at = match bytes[at] {
                b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at + 2,
                b'`' if spans == Spans::Code => {
                    let length = run(&bytes[at..range.end], b'`');
                    match ticks.next(at, length) {
                        Some(close) => {
                            self.shown.push(at..close + length);
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
    fn finish(mut self) -> Vec<Range<usize>> {
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
struct Ticks {
    runs: HashMap<usize, Vec<usize>>,
}

impl Ticks {
    fn of(bytes: &[u8], start: usize, spans: Spans) -> Ticks {
        let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut at = start;
        while spans == Spans::Code && at < bytes.len() {
            let length = run(&bytes[at..], b'`');
            if length > 0 {
                runs.entry(length).or_default().push(at);
            }
            at += length.max(1);
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

struct Tag<'a> {
    name: &'a str,
    kind: TagKind,
    /// Whether HTML would take it for a tag; XML, and authors, are more lenient.
    is_html: bool,
    end: usize,
}

enum TagKind {
    Open,
    Close,
    Empty,
}

impl<'a> Tag<'a> {
    /// The tag that begins at `at` and is complete before `end`.
    fn at(text: &'a str, at: usize, end: usize) -> Option<Tag<'a>> {
        let inside = text[at..end].strip_prefix('<')?;
        let is_close = inside.starts_with('/');
        let inside = inside.strip_prefix('/').unwrap_or(inside);
        let name = element_name(inside);
        if name.is_empty() {
            return None;
        }
        let rest = &inside.as_bytes()[name.len()..];
        let is_html_name = !name.contains(['_', ':', '.']);
        let html_length = if is_close {
            white_space(rest)
        } else {
            attributes_length(rest)
        };
        let html_length =
            Some(html_length).filter(|length| is_html_name && rest.get(*length) == Some(&b'>'));
        let length = html_length.or_else(|| lenient_length(rest))?;
        let is_empty = rest[..length].ends_with(b"/");
        Some(Tag {
            name,
            kind: match (is_close, is_empty) {
                (true, _) => TagKind::Close,
                (false, true) => TagKind::Empty,
                (false, false) => TagKind::Open,
            },
            is_html: html_length.is_some(),
            end: end - rest.len() + length + 1,
        })
    }
}

/// Up to a `>`, if no `<` comes first.
fn lenient_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.iter().position(|byte| matches!(byte, b'<' | b'>'))?;
    (bytes[length] == b'>').then_some(length)
}

/// As far as attributes, and perhaps a `/`, go. Quotes are allowed only around values: of two
/// tags that begin in one text, no two are then ever inside the same kind of quotes or both
/// outside, hence no text is read more than three times.
fn attributes_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = attribute_length(&bytes[at..]) {
        at += length;
    }
    at += white_space(&bytes[at..]);
    at + usize::from(bytes.get(at) == Some(&b'/'))
}

/// An attribute, with the white space before it.
fn attribute_length(bytes: &[u8]) -> Option<usize> {
    let space = white_space(bytes);
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || b"_:".contains(byte);
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte);
    bytes
        .get(space)
        .filter(|byte| space > 0 && is_first(byte))?;
    let name = space + count(&bytes[space..], is_part);
    let equals = name + white_space(&bytes[name..]);
    if bytes.get(equals) != Some(&b'=') {
        return Some(name);
    }
    let value = equals + 1 + white_space(&bytes[equals + 1..]);
    let inside = &bytes[value..];
    let length = match inside.first()? {
        quote @ (b'"' | b'\'') => inside[1..].iter().position(|byte| byte == quote)? + 2,
        _ => count(inside, |byte| !b" \t\r\n\"'=<>`".contains(byte)),
    };
    (length > 0).then_some(value + length)
}

fn white_space(bytes: &[u8]) -> usize {
    count(bytes, |byte| b" \t\r\n".contains(byte))
}

/// How many bytes of a kind stand at the beginning.
fn count(bytes: &[u8], is_kind: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_kind(byte)).count()
}

/// Also names that are XML's, or made up.
fn element_name(text: &str) -> &str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    match text.as_bytes() {
        [first, ..] if first.is_ascii_alphabetic() => &text[..count(text.as_bytes(), is_part)],
        _ => "",
    }
}
