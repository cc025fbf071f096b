//! A model on loopback that says what a script tells it, and keeps what it was asked. It speaks as
//! much of Anthropic's Messages API as Claude Code needs: streams, text, calls of tools. It imitates
//! no errors, no limits, no thinking, and its counts of tokens mean nothing.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than any test takes: whoever forgets a model does not keep it.
const LIFE_MAX: Duration = Duration::from_secs(15 * 60);
const TICK: Duration = Duration::from_millis(20);
const PING: Duration = Duration::from_millis(200);
/// How long one side waits for the other in the middle of a request.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const LINE_BYTES_MAX: u64 = 64 * 1024;
const LINES_MAX: usize = 1000;
const BODY_BYTES_MAX: u64 = 64 << 20;
const TOKENS_IN: u32 = 1000;
const TOKENS_OUT: u32 = 50;
/// The tool that only the agent's own conversation is offered, unlike its questions on the side.
const SHELL: &str = "Bash";

/// One answer of the model.
#[derive(Clone, Default)]
pub struct Turn {
    text: String,
    tool: Option<Value>,
    is_endless: bool,
}

/// Some words, and the end of the turn.
pub fn says(text: &str) -> Turn {
    Turn {
        text: text.to_owned(),
        ..Turn::default()
    }
}

/// A command in the agent's shell.
pub fn runs(command: &str) -> Turn {
    calls(&json!({ "command": command, "description": "a step" }))
}

/// A command that the agent does not wait for.
pub fn runs_aside(command: &str) -> Turn {
    calls(&json!({ "command": command, "description": "aside", "run_in_background": true }))
}

/// Says a line, and never comes to an end; the screen shows whole lines only.
pub fn ponders(line: &str) -> Turn {
    Turn {
        is_endless: true,
        ..says(&format!("{line}\n\nAnd"))
    }
}

fn calls(input: &Value) -> Turn {
    Turn {
        tool: Some(input.clone()),
        ..says("One step further.")
    }
}

/// What the model was asked in the agent's own conversation, once.
#[derive(Clone)]
pub struct Asked {
    body: Value,
}

impl Asked {
    /// The texts that are new since the model's last answer, without the agent's own reminders.
    pub fn fed(&self) -> Vec<String> {
        let mut fed = self.with_reminders();
        fed.retain(|text| !text.starts_with("<system-reminder>"));
        fed
    }

    pub fn with_reminders(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().unwrap();
        let is_said = |message: &Value| message["role"] == "assistant";
        let new = messages
            .iter()
            .rposition(is_said)
            .map_or(0, |last| last + 1);
        let contents = messages[new..].iter().map(|message| &message["content"]);
        contents.flat_map(texts).collect()
    }
}

fn texts(content: &Value) -> Vec<String> {
    if let Some(text) = content.as_str() {
        return vec![text.to_owned()];
    }
    let inner = |block: &Value| match block["type"].as_str() {
        Some("text") => vec![block["text"].as_str().unwrap().to_owned()],
        Some("tool_result") => texts(&block["content"]),
        _ => Vec::new(),
    };
    content
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(inner)
        .collect()
}

pub struct Model {
    address: SocketAddr,
    shared: Arc<Mutex<State>>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    script: VecDeque<Turn>,
    asked: Vec<Asked>,
    is_over: bool,
}

impl Model {
    pub fn new() -> Model {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(State::default()));
        let theirs = shared.clone();
        let listener = thread::spawn(move || listen(&listener, &theirs));
        Model {
            address,
            shared,
            listener: Some(listener),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds to the script.
    pub fn will(&self, script: impl IntoIterator<Item = Turn>) {
        self.state().script.extend(script);
    }

    /// All that it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// How much of the script nobody has asked for.
    pub fn left(&self) -> usize {
        self.state().script.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Ok(mut state) = self.shared.lock() {
            state.is_over = true;
        }
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn is_over(shared: &Mutex<State>) -> bool {
    shared.lock().map_or(true, |state| state.is_over)
}

fn listen(listener: &TcpListener, shared: &Arc<Mutex<State>>) {
    let end = Instant::now() + LIFE_MAX;
    while Instant::now() < end && !is_over(shared) {
        match listener.accept() {
            Ok((stream, _)) => {
                let shared = shared.clone();
                // An agent that hangs up in the middle is nobody's failure.
                thread::spawn(move || drop(answer(&stream, &shared, end)));
            }
            Err(_) => thread::sleep(TICK),
        }
    }
}

/// One request, one answer, and the connection is closed.
fn answer(stream: &TcpStream, shared: &Mutex<State>, end: Instant) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(SILENCE_MAX))?;
    let mut reader = BufReader::new(stream);
    let request = Request::read(&mut reader)?;
    let path = request.path.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("POST", "/v1/messages") => message(stream, &request, shared, end),
        ("POST", "/v1/messages/count_tokens") => {
            write_json(stream, 200, &json!({ "input_tokens": TOKENS_IN }))
        }
        ("GET", "/v1/models") => write_json(stream, 200, &json!({ "data": [], "has_more": false })),
        ("HEAD" | "GET", "/") => write_json(stream, 200, &json!({})),
        _ => {
            let error = json!({ "type": "not_found_error", "message": "no such thing here" });
            write_json(stream, 404, &json!({ "type": "error", "error": error }))
        }
    }
}

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

impl Request {
    fn read(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Request> {
        let first = line(reader)?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        let (mut length, mut is_chunked) = (0, false);
        for _ in 0..LINES_MAX {
            let header = line(reader)?.to_ascii_lowercase();
            match header.split_once(':') {
                None => break,
                Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
                Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
                Some(_) => {}
            }
        }
        let body = if is_chunked {
            chunks(reader)?
        } else {
            exactly(reader, length)?
        };
        Ok(Request { method, path, body })
    }
}

fn line(reader: &mut BufReader<&TcpStream>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    reader
        .by_ref()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn exactly(reader: &mut BufReader<&TcpStream>, length: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = length.min(BODY_BYTES_MAX);
    reader.by_ref().take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn chunks(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while (body.len() as u64) < BODY_BYTES_MAX {
        let length = u64::from_str_radix(&line(reader)?, 16).unwrap_or(0);
        body.extend(exactly(reader, length)?);
        line(reader)?;
        if length == 0 {
            break;
        }
    }
    Ok(body)
}

fn message(
    stream: &TcpStream,
    request: &Request,
    shared: &Mutex<State>,
    end: Instant,
) -> std::io::Result<()> {
    let body: Value = serde_json::from_slice(&request.body)?;
    let is_streamed = body["stream"] == true;
    let turn = next_turn(&body, shared);
    let message = spoken(&turn, &body["model"]);
    if !is_streamed {
        return write_json(stream, 200, &message);
    }
    write_head(stream, 200, "text/event-stream")?;
    for event in events(&message, turn.is_endless) {
        write_event(stream, &event)?;
    }
    while turn.is_endless && Instant::now() < end && !is_over(shared) {
        thread::sleep(PING);
        write_event(stream, &json!({ "type": "ping" }))?;
    }
    Ok(())
}

/// From the script if it is the agent's own conversation; titles and the like are made up.
fn next_turn(body: &Value, shared: &Mutex<State>) -> Turn {
    let mut tools = body["tools"].as_array().into_iter().flatten();
    if !tools.any(|tool| tool["name"] == SHELL) {
        return says(r#"{"title": "A title"}"#);
    }
    let Ok(mut state) = shared.lock() else {
        return Turn::default();
    };
    state.asked.push(Asked { body: body.clone() });
    let next = state.script.pop_front();
    next.unwrap_or_else(|| says("The script has nothing more to say."))
}

fn spoken(turn: &Turn, model: &Value) -> Value {
    let mut content = vec![json!({ "type": "text", "text": turn.text })];
    let id = format!("{:016x}", fresh());
    if let Some(input) = &turn.tool {
        content.push(json!({
            "type": "tool_use", "id": format!("toolu_{id}"), "name": SHELL, "input": input,
        }));
    }
    let stop_reason = if turn.tool.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": { "input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT },
    })
}

/// Another number every time.
fn fresh() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(())
}

/// A message as it is streamed; one that never ends stops short in the middle of its text.
fn events(message: &Value, is_endless: bool) -> Vec<Value> {
    let mut begun = message.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": begun })];
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({ "type": "text_delta", "text": block["text"] })
        } else {
            empty["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
        };
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": empty }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    if is_endless {
        events.pop();
        return events;
    }
    events.push(json!({
        "type": "message_delta", "usage": message["usage"],
        "delta": { "stop_reason": message["stop_reason"], "stop_sequence": null },
    }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn write_head(mut stream: &TcpStream, status: u16, kind: &str) -> std::io::Result<()> {
    let head =
        format!("HTTP/1.1 {status} As it is\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())
}

fn write_json(mut stream: &TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    write_head(stream, status, "application/json")?;
    stream.write_all(body.to_string().as_bytes())
}

fn write_event(mut stream: &TcpStream, event: &Value) -> std::io::Result<()> {
    let name = event["type"].as_str().unwrap_or_default();
    stream.write_all(format!("event: {name}\ndata: {event}\n\n").as_bytes())
}
