//! JSON with the place of every value. Whether a text is JSON at all is said by `serde_json`; what
//! is here only walks a valid one again, for the places that no serde type keeps.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::Error;

/// Settings are a few levels deep; a stack must not end because somebody's file is.
const DEPTH_MAX: usize = 128;
pub const MARK: &str = "\u{feff}";

#[derive(Debug, Clone)]
pub struct Node {
    pub span: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub enum Kind {
    Object(Vec<Member>),
    List(Vec<Node>),
    Null,
    Other(&'static str),
}

#[derive(Debug, Clone)]
pub struct Member {
    pub key: String,
    /// From the key's first quote to the value's end.
    pub span: Range<usize>,
    pub value: Node,
}

impl Node {
    /// The member that counts: of several with one name it is the last, as the agent has it too.
    pub fn member(&self, key: &str) -> Option<&Member> {
        let members = self.members()?;
        members.iter().rev().find(|member| member.key == key)
    }

    /// The members that count, each name once.
    pub fn counted(&self) -> impl Iterator<Item = &Member> {
        let members = self.members().unwrap_or_default();
        let is_last = move |index: usize, key: &str| {
            let later = members.iter().skip(index + 1);
            later.into_iter().all(|member| member.key != key)
        };
        let numbered = members.iter().enumerate();
        numbered
            .filter(move |(index, member)| is_last(*index, &member.key))
            .map(|(_, member)| member)
    }

    /// Whether taking the member away leaves none of its name.
    pub fn has_one(&self, key: &str) -> bool {
        let members = self.members().unwrap_or_default();
        members.iter().filter(|member| member.key == key).count() == 1
    }

    /// The same with its place among the members.
    pub fn indexed(&self, key: &str) -> Option<(usize, &Node)> {
        let members = self.members()?;
        let index = members.iter().rposition(|member| member.key == key)?;
        members.get(index).map(|member| (index, &member.value))
    }

    pub fn value(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.value)
    }

    pub fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            Kind::List(_) | Kind::Null | Kind::Other(_) => None,
        }
    }

    pub fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            Kind::Object(_) | Kind::Null | Kind::Other(_) => None,
        }
    }

    /// Where the children of an object or a list are, in their order.
    pub fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|it| it.span.clone()).collect(),
            Kind::List(items) => items.iter().map(|it| it.span.clone()).collect(),
            Kind::Null | Kind::Other(_) => Vec::new(),
        }
    }

    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Object(_) => "an object",
            Kind::List(_) => "a list",
            Kind::Null => "null",
            Kind::Other(name) => name,
        }
    }
}

/// The document, or nothing where there is only white space.
pub fn parse(text: &str) -> Result<Option<Node>, Error> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let start = text.len() - body.len();
    if body.bytes().all(is_space) {
        return Ok(None);
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(body) {
        return Err(syntax(body, &error));
    }
    let mut walker = Walker { text, at: start };
    walker.node(0).map(Some)
}

pub fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn syntax(body: &str, error: &serde_json::Error) -> Error {
    let line = error.line().max(1);
    let text = body.lines().nth(line - 1).unwrap_or_default();
    let from = error.column().saturating_sub(1).min(text.len());
    let is_comment = text.as_bytes()[from..].starts_with(b"/");
    // It has better words for what it has to keep, such as a trailing comma.
    let kept = serde_json::from_str::<serde_json::Value>(body).err();
    let words = kept.as_ref().filter(|kept| kept.line() == line);
    let what = if is_comment {
        "a comment, for which Claude Code leaves the whole file unread".to_owned()
    } else {
        // Its own words, without the place that we name ourselves.
        let words = words.unwrap_or(error).to_string();
        let end = words.rfind(" at line ").unwrap_or(words.len());
        words[..end].to_owned()
    };
    Error::Syntax { line, what }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Walks valid JSON. Whatever else it may meet, it comes to an end.
struct Walker<'a> {
    text: &'a str,
    at: usize,
}

impl Walker<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_skipped) {
            self.at += 1;
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, Error> {
        self.skip(is_space);
        let start = self.at;
        if depth > DEPTH_MAX {
            let line = line_at(self.text, start);
            let what = format!("nested more than {DEPTH_MAX} levels deep");
            return Err(Error::Syntax { line, what });
        }
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.object(depth)?),
            Some(b'[') => Kind::List(self.list(depth)?),
            Some(b'"') => {
                self.string();
                Kind::Other("a text")
            }
            other => {
                self.skip(|byte| !is_space(byte) && !b",]}".contains(&byte));
                match other {
                    Some(b'n') => Kind::Null,
                    Some(b't' | b'f') => Kind::Other("true or false"),
                    _ => Kind::Other("a number"),
                }
            }
        };
        let span = start..self.at;
        Ok(Node { span, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Error> {
        let mut members = Vec::new();
        while self.child(b'}') {
            let start = self.at;
            self.string();
            let key = serde_json::from_str(&self.text[start..self.at]).unwrap_or_default();
            self.skip(|byte| is_space(byte) || byte == b':');
            let value = self.node(depth + 1)?;
            let span = start..self.at;
            members.push(Member { key, span, value });
        }
        Ok(members)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        while self.child(b']') {
            items.push(self.node(depth + 1)?);
        }
        Ok(items)
    }

    /// Steps over the bracket or comma here; whether a child follows, or the end was passed.
    fn child(&mut self, end: u8) -> bool {
        self.skip(is_space);
        if self.peek() != Some(end) {
            self.at += 1;
            self.skip(is_space);
        }
        match self.peek() {
            Some(byte) if byte != end => true,
            Some(_) => {
                self.at += 1;
                false
            }
            None => false,
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }
}
