//! The agent's last message, from the tail of a Claude Code transcript (one JSON value a line),
//! in time that does not depend on the transcript's length. Only asked where the agent does not
//! send the message itself: Claude Code 2.1.197 writes it some 75 ms after the hook has started.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::surrogates;

/// The first read; each further one is twice as long, up to the maximum.
const CHUNK_BYTES_MIN: usize = 16 * 1024;
const CHUNK_BYTES_MAX: usize = 1024 * 1024;

/// Who has said nothing in as much as this has not been heard.
const TAIL_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no transcript at `{path}`")]
    Missing { path: PathBuf },
    #[error("the transcript `{path}` is not a regular file")]
    NotAFile { path: PathBuf },
    #[error("could not read the transcript `{path}`")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the last {bytes} bytes of the transcript `{path}` do not hold a whole message")]
    TooLong { path: PathBuf, bytes: u64 },
}

/// What the agent said last. `None` if that is not written yet: older words are never returned.
pub fn last_words(path: &Path) -> Result<Option<String>, Error> {
    let path = path.to_owned();
    let (file, length) = match open(&path) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Err(Error::NotAFile { path }),
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Missing { path });
        }
        Err(source) => return Err(Error::Unreadable { path, source }),
    };
    last_message(file, length).map_err(|stuck| match stuck {
        Stuck::Reading(source) => Error::Unreadable { path, source },
        Stuck::TooLong => Error::TooLong {
            path,
            bytes: TAIL_BYTES_MAX,
        },
    })
}

/// The file and its length, if it is a regular one.
fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    // Asked before opening, which would wait for a FIFO's other end.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok(Some((file, length)))
}

/// Why a search ended without an answer.
#[derive(Debug)]
enum Stuck {
    Reading(io::Error),
    TooLong,
}

impl From<io::Error> for Stuck {
    fn from(error: io::Error) -> Self {
        Stuck::Reading(error)
    }
}

/// Goes back from the end to the agent's last message, and to that message's first line: each
/// block of its content has a line of its own.
fn last_message(reader: impl Read + Seek, length: u64) -> Result<Option<String>, Stuck> {
    let mut lines = LinesBackwards::new(reader, length);
    let mut message: Option<String> = None;
    let mut texts: Vec<String> = Vec::new();
    while let Some(line) = lines.next()? {
        match Entry::of(&line) {
            Entry::Other => {}
            // What it said before is an answer to something older.
            Entry::User => break,
            Entry::Assistant(said) => {
                let is_same = match &message {
                    None => true,
                    Some(id) => said.id.as_ref() == Some(id),
                };
                if !is_same {
                    break;
                }
                // Nobody stops while a tool is to be called: the words that end the turn will
                // come after its result.
                if said.calls_tool {
                    return Ok(None);
                }
                texts.extend(said.text);
                match said.id {
                    Some(id) => message = Some(id),
                    None => break,
                }
            }
        }
    }
    texts.reverse();
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

/// What a line of the transcript is, as far as it matters here.
enum Entry {
    /// A prompt, a tool's result, or a hook's feedback: whatever the agent answers to.
    User,
    Assistant(Said),
    /// Anything else, a sub-agent's line, or no JSON at all.
    Other,
}

#[derive(Default)]
struct Said {
    id: Option<String>,
    text: Option<String>,
    calls_tool: bool,
}

impl Entry {
    fn of(line: &[u8]) -> Entry {
        // Most lines are long and of no interest; finding that out must not mean parsing them.
        let has = |name: &str| memmem::find(line, name.as_bytes()).is_some();
        let names_user = has(r#""user""#);
        if !names_user && !has(r#""assistant""#) {
            return Entry::Other;
        }
        match serde_json::from_slice::<Wire<'_>>(line) {
            Ok(wire) if wire.is_sidechain => Entry::Other,
            Ok(wire) => match wire.kind.as_ref() {
                "user" => Entry::User,
                "assistant" => Entry::Assistant(wire.said()),
                _ => Entry::Other,
            },
            // Half a line. If it is going to be a user's, what was said before is old.
            Err(_) if names_user => Entry::User,
            Err(_) => Entry::Other,
        }
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: bool,
    /// Looked into only if it is the agent's: a tool's result may be large.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

impl Wire<'_> {
    /// A message that cannot be understood says nothing, but is one.
    fn said(&self) -> Said {
        let message = self.message.map(RawValue::get);
        let mended = || said(&surrogates::mended(message?)?);
        message.and_then(said).or_else(mended).unwrap_or_default()
    }
}

fn said(message: &str) -> Option<Said> {
    let message: WireMessage<'_> = serde_json::from_str(message).ok()?;
    Some(message.into())
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    id: Option<String>,
    /// Claude Code 2.1.197 writes it on every line of a message.
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: WireContent<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Text(String),
    #[serde(borrow)]
    Blocks(Vec<WireBlock<'a>>),
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    text: Option<String>,
}

impl From<WireMessage<'_>> for Said {
    fn from(message: WireMessage<'_>) -> Said {
        let (texts, calls_tool) = match message.content {
            WireContent::Text(text) => (vec![text], false),
            WireContent::Blocks(blocks) => {
                let calls_tool = blocks.iter().any(|block| block.kind == "tool_use");
                let texts = blocks.into_iter().filter(|block| block.kind == "text");
                (texts.filter_map(|block| block.text).collect(), calls_tool)
            }
        };
        let calls_later = message
            .stop_reason
            .is_some_and(|reason| reason == "tool_use");
        Said {
            id: message.id,
            text: (!texts.is_empty()).then(|| texts.join("\n")),
            calls_tool: calls_tool || calls_later,
        }
    }
}

/// The lines of a file from its end. A line that spans many chunks is put together once, however
/// long it is.
struct LinesBackwards<R> {
    reader: R,
    /// How much of the file is before the chunk.
    unread: u64,
    read: u64,
    chunk: Vec<u8>,
    /// How much of the chunk is not handed out yet.
    left: usize,
    chunk_bytes: usize,
    /// What follows the chunk in the line that it ends with, last piece first.
    pieces: Vec<Vec<u8>>,
    is_done: bool,
}

impl<R: Read + Seek> LinesBackwards<R> {
    fn new(reader: R, length: u64) -> LinesBackwards<R> {
        LinesBackwards {
            reader,
            unread: length,
            read: 0,
            chunk: Vec::new(),
            left: 0,
            chunk_bytes: CHUNK_BYTES_MIN,
            pieces: Vec::new(),
            is_done: false,
        }
    }

    /// Reads at most `TAIL_BYTES_MAX` in all.
    fn next(&mut self) -> Result<Option<Cow<'_, [u8]>>, Stuck> {
        let newline = loop {
            match memchr::memrchr(b'\n', &self.chunk[..self.left]) {
                Some(newline) => break Some(newline),
                None if self.unread > 0 => self.read_chunk()?,
                None if self.is_done => return Ok(None),
                None => break None,
            }
        };
        self.is_done = newline.is_none();
        let line = newline.map_or(0, |newline| newline + 1)..self.left;
        self.left = newline.unwrap_or(0);
        let beginning = &self.chunk[line];
        if self.pieces.is_empty() {
            return Ok(Some(Cow::Borrowed(beginning)));
        }
        let length = beginning.len() + self.pieces.iter().map(Vec::len).sum::<usize>();
        let mut whole = Vec::with_capacity(length);
        whole.extend_from_slice(beginning);
        for piece in self.pieces.drain(..).rev() {
            whole.extend_from_slice(&piece);
        }
        Ok(Some(Cow::Owned(whole)))
    }

    /// The chunk before this one; what is left of this one belongs to a longer line.
    fn read_chunk(&mut self) -> Result<(), Stuck> {
        let wanted = u64::try_from(self.chunk_bytes).unwrap_or(u64::MAX);
        let size = wanted
            .min(self.unread)
            .min(TAIL_BYTES_MAX.saturating_sub(self.read));
        if size == 0 {
            return Err(Stuck::TooLong);
        }
        self.unread -= size;
        let mut chunk = vec![0; usize::try_from(size).unwrap_or(CHUNK_BYTES_MAX)];
        self.reader.seek(SeekFrom::Start(self.unread))?;
        // A file that was cut meanwhile ends too early, which is an error like any other.
        self.reader.read_exact(&mut chunk)?;
        let mut rest = std::mem::replace(&mut self.chunk, chunk);
        rest.truncate(self.left);
        if !rest.is_empty() {
            self.pieces.push(rest);
        }
        self.left = self.chunk.len();
        self.read += size;
        self.chunk_bytes = (self.chunk_bytes * 2).min(CHUNK_BYTES_MAX);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"Go."}}"#;
    const ANSWER: &str =
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Done."}]}}"#;

    /// A file that begins with a hole, and counts what is read of it.
    struct Counted<'a> {
        hole: u64,
        tail: &'a [u8],
        at: u64,
        read: u64,
    }

    impl<'a> Counted<'a> {
        fn new(hole: u64, tail: &'a str) -> Counted<'a> {
            Counted {
                hole,
                tail: tail.as_bytes(),
                at: 0,
                read: 0,
            }
        }

        fn len(&self) -> u64 {
            self.hole + self.tail.len() as u64
        }
    }

    impl Read for &mut Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            // At most a page at a time, as a slow disk may.
            let mut read = 0;
            for byte in buffer.iter_mut().take(4096) {
                *byte = match self.at.checked_sub(self.hole) {
                    None => 0,
                    Some(at) => match self.tail.get(usize::try_from(at).unwrap()) {
                        Some(byte) => *byte,
                        None => break,
                    },
                };
                self.at += 1;
                read += 1;
            }
            self.read += read as u64;
            Ok(read)
        }
    }

    impl Seek for &mut Counted<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            let SeekFrom::Start(at) = to else {
                unreachable!()
            };
            self.at = at;
            Ok(at)
        }
    }

    #[test]
    fn as_much_is_read_of_a_long_file_as_of_a_short_one() {
        let filler = format!(
            "{{\"type\":\"progress\",\"x\":\"{}\"}}\n",
            "x".repeat(20_000)
        );
        let tail = format!("\n{PROMPT}\n{ANSWER}\n{filler}{filler}{filler}");
        let read = |hole: u64| {
            let mut file = Counted::new(hole, &tail);
            let length = file.len();
            let words = last_message(&mut file, length).unwrap();
            assert_eq!(words.as_deref(), Some("Done."));
            file.read
        };
        let short = read(100_000);
        assert_eq!(short, (16 + 32 + 64) * 1024);
        assert_eq!(read(1 << 30), short);
        assert_eq!(read(1 << 40), short);
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let mut file = Counted::new(0, ANSWER);
        let length = file.len() + 100_000;
        let stuck = last_message(&mut file, length).unwrap_err();
        assert!(
            matches!(&stuck, Stuck::Reading(error) if error.kind() == io::ErrorKind::UnexpectedEof),
            "{stuck:?}"
        );
    }

    #[test]
    fn lines_are_the_same_wherever_the_chunks_end() {
        let pieces = ["", "a", "bb\r", "\u{e9}\0", ""];
        for stretch in [
            0,
            1,
            16 * 1024 - 3,
            16 * 1024,
            16 * 1024 + 1,
            50_000,
            300_000,
        ] {
            for ending in ["", "\n", "\n\n"] {
                let long = "x".repeat(stretch);
                let text = format!(
                    "{}\n{long}\n{}{ending}",
                    pieces.join("\n"),
                    pieces.join("\n")
                );
                let expected: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b'\n').collect();
                let mut file = Counted::new(0, &text);
                let length = file.len();
                let mut lines = LinesBackwards::new(&mut file, length);
                for line in expected.iter().rev() {
                    assert_eq!(lines.next().unwrap().as_deref(), Some(*line));
                }
                assert!(lines.next().unwrap().is_none());
                assert_eq!(file.read, length);
            }
        }
    }
}
