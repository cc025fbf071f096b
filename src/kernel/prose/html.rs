//! HTML as far as Markdown knows it: what begins a block, what ends it, and single tags.

use super::blocks::{count, is_blank};

/// Elements whose contents HTML does not parse as HTML.
const RAW_ELEMENTS: &[&str] = &["pre", "script", "style", "textarea"];

const RAW_ELEMENT_ENDINGS: &[&str] = &["</pre>", "</script>", "</style>", "</textarea>"];

/// If `text` begins HTML that runs over blank lines: what ends it.
pub(super) fn raw_endings(text: &str) -> Option<&'static [&'static str]> {
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

/// Whether `text` begins an instruction, a declaration or CDATA, which a paragraph may have too.
pub(super) fn is_instruction(text: &str) -> bool {
    raw_endings(text).is_some() && element_name(&text[1..]).is_empty()
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

pub(super) fn is_html_block(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('<') else {
        return false;
    };
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let name = element_name(inside);
    let next = &inside.as_bytes()[name.len()..];
    is_among(name, BLOCK_ELEMENTS)
        && matches!(next, [] | [b' ' | b'\t' | b'>', ..] | [b'/', b'>', ..])
}

/// Whether the line is one tag, of whatever element, and nothing else.
pub(super) fn is_lone_tag(text: &str) -> bool {
    Tag::at(text, 0, text.len()).is_some_and(|tag| tag.is_html && is_blank(&text[tag.end..]))
}

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether one of the endings, which are ASCII, is somewhere in the line, in whatever case.
pub(super) fn has_any(line: &str, endings: &[&str]) -> bool {
    let has = |ending: &str| {
        let mut windows = line.as_bytes().windows(ending.len());
        windows.any(|window| window.eq_ignore_ascii_case(ending.as_bytes()))
    };
    endings.iter().any(|ending| has(ending))
}

pub(super) struct Tag<'a> {
    pub name: &'a str,
    pub kind: TagKind,
    /// Whether HTML would take it for a tag; XML, and authors, are more lenient.
    pub is_html: bool,
    pub end: usize,
}

pub(super) enum TagKind {
    Open,
    Close,
    Empty,
}

impl<'a> Tag<'a> {
    /// The tag that begins at `at` and is complete before `end`.
    pub(super) fn at(text: &'a str, at: usize, end: usize) -> Option<Tag<'a>> {
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

/// Also names that are XML's, or made up.
pub(super) fn element_name(text: &str) -> &str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    match text.as_bytes() {
        [first, ..] if first.is_ascii_alphabetic() => &text[..count(text.as_bytes(), is_part)],
        _ => "",
    }
}
