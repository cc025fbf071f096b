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
pub const ESCALATIONS: [&str; 3] = ["BLOCKED - NEEDS USER", "BLOCKED", "ESCALATE"];
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
    /// What stands around each tag, for a prompt whose lines somebody has broken anew.
    settings: Vec<Surroundings>,
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
            settings: Surroundings::of_tags_in(prompt),
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
        let is_set_so = || {
            let around = Surroundings::of(before, tag.line.below);
            self.settings.iter().any(|it| it.is_shared_by(&around))
        };
        self.pairs.contains(&(before, line))
            || self.pairs.contains(&(line, after))
            || self
                .explanations
                .iter()
                .any(|explanation| line.contains(explanation))
            || (tag.is_whole_line() && is_set_so())
    }
}

/// How many words beside a tag tell where it comes from.
const BESIDE_WORDS: usize = 4;

/// The words right before and right behind a tag, in their comparable form; none where there are
/// too few to tell anything.
struct Surroundings {
    before: Option<Vec<String>>,
    behind: Option<Vec<String>>,
}

impl Surroundings {
    fn of(before: &str, behind: &str) -> Surroundings {
        let enough = |words: Vec<&str>| {
            let words: Vec<String> = words.into_iter().map(str::to_lowercase).collect();
            (words.len() == BESIDE_WORDS).then_some(words)
        };
        Surroundings {
            before: enough(before.split_whitespace().rev().take(BESIDE_WORDS).collect()),
            behind: enough(behind.split_whitespace().take(BESIDE_WORDS).collect()),
        }
    }

    fn of_tags_in(prompt: &str) -> Vec<Surroundings> {
        let lower = prompt.to_ascii_lowercase();
        let closings = lower.match_indices(CLOSING);
        let around = closings.filter_map(|(at, closing)| {
            let opening = lower[..at].rfind(OPENING)?;
            let (before, behind) = (&prompt[..opening], &prompt[at + closing.len()..]);
            Some(Surroundings::of(before, behind))
        });
        around.collect()
    }

    fn is_shared_by(&self, other: &Surroundings) -> bool {
        let is_same = |ours: &Option<_>, theirs| ours.is_some() && ours == theirs;
        is_same(&self.before, &other.before) || is_same(&self.behind, &other.behind)
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

/// Words that negate the verb behind them. "n't" does too.
const NOT: &[&str] = &["not", "never", "nor", "cannot", "cant", "dont", "wont"];

/// What stands before a "not" that tells what happened, or what others do: no word about the tag
/// that follows.
#[rustfmt::skip]
const REPORTING: &[&str] = &[
    "did", "didn't", "didnt", "have", "haven't", "has", "hasn't", "had", "hadn't", "could",
    "couldn't", "does", "doesn't", "doesnt",
];

/// Words that negate a verb in -ing.
const INSTEAD: &[&str] = &[
    "without", "instead", "rather", "refrain", "avoid", "avoided", "avoiding",
];

/// Words that negate a verb behind "to".
const REFUSING: &[&str] = &[
    "refuse",
    "refused",
    "refusing",
    "forbidden",
    "wrong",
    "premature",
];

/// What may stand between a negation and its verb, adverbs in -ly apart. Whatever else stands
/// there makes the verb another one's: "I don't know what to say".
#[rustfmt::skip]
const BETWEEN: &[&str] = &[
    "to", "be", "ever", "even", "just", "yet", "of", "from", "than", "allowed", "going",
    "supposed", "permitted", "circumstances",
];

/// Where the part of a sentence begins that a negation may be negated in: "cannot avoid saying".
const CLAUSE_ENDS: &[&str] = &[".", "!", "?", ";", ":", ",", "and", "so", "but"];

/// What a tag needs no verb to be denied by, right behind it.
const DENYING: &[&[&str]] = &[
    &["instead", "of"],
    &["rather", "than"],
    &["no", "need", "for"],
];

/// Verbs whose object is words, whatever they stand beside.
#[rustfmt::skip]
const SAYING: &[&str] = &[
    "say", "saying", "said", "utter", "uttering", "output", "outputting", "emit", "emitting",
    "emitted", "print", "printing", "printed", "declare", "declaring", "declared", "announce",
    "announcing", "announced", "proclaim",
];

/// Verbs that are about words only if their object is.
#[rustfmt::skip]
const HANDLING: &[&str] = &[
    "use", "using", "used", "write", "writing", "written", "send", "sending", "sent", "claim",
    "claiming", "claimed", "give", "giving", "post", "posting", "type", "typing", "put", "putting",
    "add", "adding", "include", "including", "signal", "produce", "producing", "issue", "issuing",
    "show", "showing", "make", "making", "promise", "promising", "promised",
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

/// Nouns that mean the tag if nothing but pointers stands around them.
const WORD_NOUNS: &[&str] = &[
    "following",
    "below",
    "line",
    "lines",
    "text",
    "string",
    "word",
    "words",
];

/// Words that point at what follows, or say nothing at all.
#[rustfmt::skip]
const POINTERS: &[&str] = &[
    "the", "this", "that", "these", "those", "it", "a", "an", "any", "anything", "something",
    "things", "thing", "such", "like", "here", "so", "yet", "now", "again", "just", "simply",
    "ever", "out", "of", "with", "as", "by", "to", "you", "user", "back", "e", "g", "eg",
    "example", "for", ",", "me",
];

/// Words after which only a reason or a time follows.
const SUBORDINATORS: &[&str] = &[
    "until", "till", "unless", "before", "because", "since", "while",
];

/// Words by which a sentence about the tag's word is not about the tag: "I can't say why I am
/// blocked".
const ASKING: &[&str] = &[
    "why", "whether", "if", "what", "who", "when", "how", "which", "where",
];

/// Whether the words that introduce a tag say clearly that it is not meant. What is merely bad
/// news, or may mean something else, denies nothing: a person can look at an agent that is let
/// go, and nobody looks at one that is not heard.
fn is_denied(tag: &Tag<'_>) -> bool {
    let is_led = tag.lead.contains(char::is_alphanumeric);
    let introduction = if is_led { tag.lead } else { tag.line.before };
    let skipped = introduction
        .chars()
        .count()
        .saturating_sub(INTRODUCTION_CHARS_MAX);
    let near: String = introduction.chars().skip(skipped).collect();
    let near = near.to_lowercase().replace('’', "'");
    let tokens = tokens(&near);
    let is_mark = |token: &&&str| !token.contains(char::is_alphanumeric);
    let marks = tokens.iter().rev().take_while(is_mark).count();
    let said = &tokens[..tokens.len() - marks];
    if DENYING.iter().any(|denying| said.ends_with(denying)) {
        return true;
    }
    // It stands for the rest of the tag's words: nobody denies `NEEDS` and means the tag.
    let name = tag
        .content
        .split(' ')
        .max_by_key(|word| word.len())
        .unwrap_or("");
    (0..tokens.len()).any(|at| {
        let (before, verb, behind) = (&tokens[..at], tokens[at], &tokens[at + 1..]);
        negation(before, verb).is_some_and(|negation| {
            let object = Object::of(behind, name);
            match verb {
                verb if SAYING.contains(&verb) => object.is_named || object.is_pointed_at,
                // Being unable to write a tag may be the very trouble.
                verb if HANDLING.contains(&verb) => match negation {
                    _ if is_led => object.is_named || object.is_pointed_at,
                    Negation::Inability => false,
                    Negation::Refusal => object.is_named || object.is_words,
                },
                verb if REPLYING.contains(&verb) => {
                    behind.first() == Some(&"with") && (object.is_named || object.is_pointed_at)
                }
                _ => false,
            }
        })
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

/// In what sense a verb is negated.
#[derive(Clone, Copy)]
enum Negation {
    Refusal,
    /// It cannot be done.
    Inability,
}

/// The negation that stands right before `verb` and is not itself negated.
fn negation(before: &[&str], verb: &str) -> Option<Negation> {
    let is_between = |token: &&&str| BETWEEN.contains(*token) || is_adverb(token);
    let between = before.iter().rev().take_while(is_between).count();
    let at = before.len().checked_sub(between + 1)?;
    let (clause, word, between) = (&before[..at], before[at], &before[at + 1..]);
    let is_negation = match word {
        "no" => between.contains(&"circumstances"),
        word if is_not(word) => {
            let last = clause.last().copied().unwrap_or("");
            !REPORTING.contains(&word) && !REPORTING.contains(&last)
        }
        word if INSTEAD.contains(&word) => verb.ends_with("ing"),
        word if REFUSING.contains(&word) => between.contains(&"to"),
        _ => false,
    };
    let is_twice = || {
        let mut clause = clause.iter().rev();
        let mut clause = clause
            .by_ref()
            .take_while(|token| !CLAUSE_ENDS.contains(token));
        clause.any(|token| is_not(token) || *token == "no")
    };
    if !is_negation || is_twice() {
        return None;
    }
    let is_can = |token: &str| matches!(token, "cannot" | "cant" | "can't");
    let is_inability = is_can(word) || (word == "not" && clause.last() == Some(&"can"));
    Some(if is_inability {
        Negation::Inability
    } else {
        Negation::Refusal
    })
}

fn is_not(token: &str) -> bool {
    NOT.contains(&token) || token.ends_with("n't")
}

fn is_adverb(token: &str) -> bool {
    token.ends_with("ly") && token != "only"
}

/// What the words behind a verb mean.
struct Object {
    /// The tag that `name` is a word of, by its name or as a tag.
    is_named: bool,
    /// Whatever comes next.
    is_pointed_at: bool,
    /// Whatever comes next, and that it is words.
    is_words: bool,
}

impl Object {
    fn of(behind: &[&str], name: &str) -> Object {
        let mut sentences = behind.split(|token| matches!(*token, "." | "!" | "?" | ";"));
        let sentence = sentences.next().unwrap_or(&[]);
        // One that has come to its end points at what was said, not at what comes next.
        let leads_on = sentences.next().is_none();
        let is_asking = sentence.iter().any(|token| ASKING.contains(token));
        let end = |token: &&str| matches!(*token, ":" | "：") || SUBORDINATORS.contains(token);
        let object = sentence.split(end).next().unwrap_or(&[]);
        let is_pointer = |token: &&str| POINTERS.contains(token) || WORD_NOUNS.contains(token);
        let is_pointed_at = leads_on && object.iter().all(is_pointer);
        Object {
            is_named: !is_asking
                && sentence
                    .iter()
                    .any(|token| *token == name || TAG_NOUNS.contains(token)),
            is_pointed_at,
            is_words: is_pointed_at && object.iter().any(|token| WORD_NOUNS.contains(token)),
        }
    }
}
