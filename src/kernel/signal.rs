//! Promises out of an agent's words. A tag that frees must be beyond doubt: one that is missed
//! costs a few more cycles, one that is imagined lets an agent leave early.

use std::collections::HashSet;

use super::prose::{Line, Lines, Prose};

/// How much of what follows an escalation is kept as its reason.
pub const REASON_LINES_MAX: usize = 5;
pub const REASON_LINE_CHARS_MAX: usize = 200;

/// What an agent's last message says about its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// It is blocked, or asks for a person.
    pub escalation: Option<Escalation>,
    /// It asks for a fresh context.
    pub is_checkpoint: bool,
    /// It says that the work is complete.
    pub claim: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    pub tag: String,
    /// What it said after the tag.
    pub lines: Vec<String>,
}

/// What `text` says. `completion_promises` are texts (a tag around them is tolerated);
/// `own_prompt` is the prompt we feed, which an agent may echo.
pub fn read(text: &str, completion_promises: &[String], own_prompt: &str) -> Words {
    let prose = Prose::read(text, ends_with_tag);
    let promises = Promises::of(completion_promises);
    let prompt = OwnPrompt::of(own_prompt);
    let mut words = Words::default();
    for (tag, promise) in prose
        .lines()
        .filter_map(Tag::of)
        .filter(|tag| !prose.is_shown(tag.start))
        .filter_map(|tag| promises.meaning(&tag).map(|promise| (tag, promise)))
        .filter(|(tag, _)| !prompt.is_echoed_by(tag))
        .filter(|(tag, _)| !is_denied(tag))
    {
        match promise {
            Promise::Escalation(said) if words.escalation.is_none() => {
                words.escalation = Some(Escalation {
                    tag: said.to_owned(),
                    lines: reason(tag.line.below),
                });
            }
            Promise::Checkpoint => words.is_checkpoint = true,
            Promise::Claim(said) if words.claim.is_none() => words.claim = Some(said.to_owned()),
            // The first one counts.
            Promise::Escalation(_) | Promise::Claim(_) => {}
        }
    }
    words
}

const OPENING: &str = "<promise>";
const CLOSING: &str = "</promise>";

/// Tags that let an agent go. Being listed as completion promises makes them no claims.
const ESCALATIONS: [&str; 3] = ["BLOCKED - NEEDS USER", "BLOCKED", "ESCALATE"];
const CHECKPOINT: &str = "CONTEXT LIMIT - CHECKPOINT";

#[derive(Clone, Copy)]
enum Promise<'a> {
    Escalation(&'static str),
    Checkpoint,
    Claim(&'a str),
}

/// A tag at the end of a line that is said.
struct Tag<'a> {
    line: &'a Line<'a>,
    start: usize,
    /// What stands before it on its line.
    lead: &'a str,
    /// What stands inside, in its comparable form.
    content: String,
}

impl<'a> Tag<'a> {
    fn of(line: &'a Line<'a>) -> Option<Tag<'a>> {
        let body = without_closing(line.text)?;
        let opening = body
            .as_bytes()
            .windows(OPENING.len())
            .rposition(|window| window.eq_ignore_ascii_case(OPENING.as_bytes()))?;
        Some(Tag {
            line,
            start: line.start + opening,
            lead: &body[..opening],
            content: comparable(&body[opening + OPENING.len()..]),
        })
    }

    fn is_whole_line(&self) -> bool {
        self.lead.trim().is_empty()
    }
}

fn ends_with_tag(line: &str) -> bool {
    without_closing(line).is_some()
}

/// The line up to the closing tag that ends it.
fn without_closing(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let (body, closing) = line.split_at_checked(line.len().checked_sub(CLOSING.len())?)?;
    closing.eq_ignore_ascii_case(CLOSING).then_some(body)
}

fn comparable(text: &str) -> String {
    collapsed(text).to_lowercase()
}

fn collapsed(text: &str) -> String {
    let mut collapsed = String::new();
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

/// What the tags mean.
struct Promises {
    /// As a person would write them, and in their comparable form.
    claims: Vec<(String, String)>,
}

impl Promises {
    fn of(completion_promises: &[String]) -> Promises {
        let bare = |promise: &str| {
            let inside = without_closing(promise).and_then(|body| {
                let (opening, inside) = body.trim_start().split_at_checked(OPENING.len())?;
                opening.eq_ignore_ascii_case(OPENING).then_some(inside)
            });
            collapsed(inside.unwrap_or(promise))
        };
        Promises {
            claims: completion_promises
                .iter()
                .map(|promise| bare(promise))
                .filter(|promise| !promise.is_empty())
                .map(|promise| {
                    let comparable = comparable(&promise);
                    (promise, comparable)
                })
                .collect(),
        }
    }

    fn meaning(&self, tag: &Tag<'_>) -> Option<Promise<'_>> {
        let is = |said: &str| tag.content == said.to_lowercase();
        let escalation = ESCALATIONS.into_iter().find(|said| is(said));
        let claim = || {
            let mut claims = self.claims.iter();
            claims.find(|(_, comparable)| *comparable == tag.content)
        };
        match escalation {
            Some(said) => tag.is_whole_line().then_some(Promise::Escalation(said)),
            None if is(CHECKPOINT) => tag.is_whole_line().then_some(Promise::Checkpoint),
            None => claim().map(|(said, _)| Promise::Claim(said)),
        }
    }
}

/// The lines that an agent may repeat without meaning them.
struct OwnPrompt<'a> {
    /// Neighbours among the lines that are not blank.
    pairs: HashSet<(&'a str, &'a str)>,
    /// Lines that say something about a tag.
    explanations: Vec<&'a str>,
}

impl<'a> OwnPrompt<'a> {
    fn of(prompt: &'a str) -> OwnPrompt<'a> {
        let lines: Vec<&str> = said_lines(prompt).collect();
        let is_explanation = |line: &&str| {
            let lower = line.to_ascii_lowercase();
            let is_tag_alone = lower.starts_with(OPENING) && lower.ends_with(CLOSING);
            lower.contains(OPENING) && !is_tag_alone
        };
        OwnPrompt {
            pairs: lines
                .iter()
                .copied()
                .zip(lines.iter().copied().skip(1))
                .collect(),
            explanations: lines.iter().copied().filter(is_explanation).collect(),
        }
    }

    fn is_echoed_by(&self, tag: &Tag<'_>) -> bool {
        let line = tag.line.text.trim();
        let before = tag.line.before.trim();
        let after = said_lines(tag.line.below).next().unwrap_or("");
        self.pairs.contains(&(before, line))
            || self.pairs.contains(&(line, after))
            || self
                .explanations
                .iter()
                .any(|explanation| line.contains(explanation))
    }
}

/// The lines that are not blank, trimmed.
fn said_lines(text: &str) -> impl Iterator<Item = &str> {
    Lines::of(text)
        .map(|(_, line)| line.trim())
        .filter(|line| !line.is_empty())
}

fn reason(below: &str) -> Vec<String> {
    said_lines(below)
        .map(|line| {
            let plain = line
                .chars()
                .map(|c| if c == '\t' { ' ' } else { c })
                .filter(|c| !c.is_control());
            plain.take(REASON_LINE_CHARS_MAX).collect::<String>()
        })
        .filter(|line| !line.trim().is_empty())
        .take(REASON_LINES_MAX)
        .collect()
}

/// How much text before a tag may deny it.
const INTRODUCTION_CHARS_MAX: usize = 400;

/// How far before its verb a negation may stand, in words and marks.
const NEGATION_DISTANCE_MAX: usize = 8;

#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "not", "no", "never", "nor", "neither", "cannot", "cant", "dont", "wont", "without", "refuse",
    "refused", "refusing", "refrain", "avoid", "avoided", "avoiding", "instead", "rather", "wrong",
    "premature", "forbidden", "unable",
];

/// Between a negation and a verb they show that the verb is not what is negated: "I cannot go
/// on, so I must say".
#[rustfmt::skip]
const TURNS: &[&str] = &[
    ".", "!", "?", ";", ":", "so", "but", "hence", "thus", "therefore", "must", "will", "shall",
];

/// What stands right before a verb, adverbs in -ly apart: "the output" is no verb.
#[rustfmt::skip]
const BEFORE_VERBS: &[&str] = &[
    "to", "i", "we", "you", "me", "can", "could", "would", "should", "may", "might", "do", "be",
    "ever", "even", "just", "yet", "now", "please", "circumstances", "and", "or", ",",
];
const BEFORE_GERUNDS: &[&str] = &["of", "than", "from", "by", "am", "are", "is", "be"];

/// Verbs whose object is words, whatever they stand beside.
#[rustfmt::skip]
const SAYING: &[&str] = &[
    "say", "saying", "said", "utter", "uttering", "output", "outputting", "emit", "emitting",
    "emitted", "print", "printing", "printed", "declare", "declaring", "declared", "announce",
    "announcing", "announced", "proclaim", "promise", "promising", "promised",
];

/// Verbs that are about words only if their object is.
#[rustfmt::skip]
const HANDLING: &[&str] = &[
    "use", "using", "used", "write", "writing", "written", "send", "sending", "sent", "claim",
    "claiming", "claimed", "give", "giving", "post", "posting", "type", "typing", "put", "putting",
    "add", "adding", "include", "including", "signal", "produce", "producing", "issue", "issuing",
    "show", "showing", "make", "making",
];

/// Verbs whose words come after a "with".
#[rustfmt::skip]
const REPLYING: &[&str] = &[
    "reply", "replying", "respond", "responding", "answer", "answering", "end", "ending", "finish",
];

/// Nouns that can only mean the tag.
const TAG_NOUNS: &[&str] = &[
    "tag", "tags", "promise", "promises", "marker", "phrase", "signal",
];

/// Words that point at what follows, or say nothing at all.
#[rustfmt::skip]
const POINTERS: &[&str] = &[
    "the", "this", "that", "these", "those", "it", "a", "an", "any", "anything", "something",
    "things", "thing", "such", "like", "following", "below", "here", "line", "lines", "text",
    "string", "word", "words", "so", "yet", "now", "again", "just", "simply", "ever", "out", "of",
    "with", "as", "by", "to", "you", "user", "back", "e", "g", "eg", "example", "for", ",", "me",
];

/// Words after which only a reason or a time follows.
const SUBORDINATORS: &[&str] = &[
    "until", "till", "unless", "before", "because", "since", "while",
];

/// Whether the words that introduce a tag say that it is not meant.
fn is_denied(tag: &Tag<'_>) -> bool {
    let is_led = tag.lead.contains(char::is_alphanumeric);
    let introduction = if is_led { tag.lead } else { tag.line.before };
    let leads_on = is_led || introduction.trim_end().ends_with([':', '：']);
    let skipped = introduction
        .chars()
        .count()
        .saturating_sub(INTRODUCTION_CHARS_MAX);
    let near: String = introduction.chars().skip(skipped).collect();
    let near = near.to_lowercase().replace('’', "'");
    let tokens = tokens(&near);
    // It stands for the rest of the tag's words: nobody denies `NEEDS` and means the tag.
    let name = tag
        .content
        .split(' ')
        .max_by_key(|word| word.len())
        .unwrap_or("");
    (0..tokens.len()).any(|at| {
        let (before, verb, object) = (&tokens[..at], tokens[at], &tokens[at + 1..]);
        is_verb(before, verb) && is_negated(before) && is_about_tag(verb, object, name, leads_on)
    })
}

/// Words, and each mark of punctuation that may end a clause.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '\'';
    let is_mark = |c: char| matches!(c, '.' | '!' | '?' | ';' | ':' | ',' | '：');
    let mut tokens = Vec::new();
    for piece in text.split_inclusive(|c| !is_word(c)) {
        let word = piece.trim_end_matches(|c| !is_word(c));
        let mark = piece[word.len()..].trim_matches(|c| !is_mark(c));
        tokens.extend([word, mark].into_iter().filter(|token| !token.is_empty()));
    }
    tokens
}

fn is_verb(before: &[&str], word: &str) -> bool {
    match before.last() {
        // It negates nouns.
        None | Some(&"no") => false,
        Some(last) => {
            is_negation(last)
                || last.ends_with("ly")
                || BEFORE_VERBS.contains(last)
                || (word.ends_with("ing") && BEFORE_GERUNDS.contains(last))
        }
    }
}

fn is_negation(token: &str) -> bool {
    NEGATIONS.contains(&token) || token.ends_with("n't")
}

fn is_negated(before: &[&str]) -> bool {
    for (distance, token) in before.iter().rev().take(NEGATION_DISTANCE_MAX).enumerate() {
        let previous = before.len().checked_sub(distance + 2).map(|at| before[at]);
        let begins_clause = matches!(*token, "i" | "we") && previous == Some(",");
        match *token {
            token if is_negation(token) => return true,
            token if TURNS.contains(&token) || begins_clause => return false,
            _ => {}
        }
    }
    false
}

/// Whether a verb and its object mean the tag that `name` is a word of.
fn is_about_tag(verb: &str, object: &[&str], name: &str, leads_on: bool) -> bool {
    let sentence = object
        .split(|token| matches!(*token, "." | "!" | "?" | ";"))
        .next()
        .unwrap_or(&[]);
    let is_named = sentence
        .iter()
        .any(|token| *token == name || TAG_NOUNS.contains(token));
    let is_pointed_at = sentence
        .iter()
        .take_while(|token| !matches!(**token, ":" | "：") && !SUBORDINATORS.contains(token))
        .all(|token| POINTERS.contains(token));
    match verb {
        verb if SAYING.contains(&verb) => is_named || is_pointed_at,
        verb if HANDLING.contains(&verb) => is_named || (is_pointed_at && leads_on),
        verb if REPLYING.contains(&verb) => {
            object.first() == Some(&"with") && (is_named || is_pointed_at)
        }
        _ => false,
    }
}
