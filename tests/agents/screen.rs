//! The agent's screen, in a tmux of its own: typed at and looked at as a person would.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::desk::{Desk, PATIENCE, TICK};
use crate::model::Asked;

/// Shown while the agent waits for the model, for a tool or for a hook.
const AT_WORK: &str = "esc to interrupt";
/// How long nothing may change until a screen counts as being at rest; while it works, it counts
/// seconds.
const REST: Duration = Duration::from_secs(3);
const WAITING_FOR_WORDS: &str = "? for shortcuts";

/// How long an agent is waited for whose screen was taken away.
const GOODBYE: Duration = Duration::from_secs(20);

/// tmux 3.3 loses the end of a child now and then. The shell outlives its terminal, to tell it.
const WITH_END: &str = r#"trap : HUP; "$@"; echo $? >"$0""#;

/// The server of a screen before may be on its way out still, and takes its socket along.
static OPENED: AtomicUsize = AtomicUsize::new(0);

pub struct Screen<'a> {
    desk: &'a Desk,
    socket: PathBuf,
    /// Where it is written down how the agent has ended.
    end: PathBuf,
    /// With it goes the server: whoever kills the tests leaves no agent behind.
    client: Child,
    /// How much of what the model was asked has been looked at.
    seen: Cell<usize>,
}

impl Screen<'_> {
    /// Starts the agent, and waits until it waits.
    #[track_caller]
    pub fn open<'a>(desk: &'a Desk, args: &[&str]) -> Screen<'a> {
        let opened = OPENED.fetch_add(1, Ordering::Relaxed);
        let socket = desk.aside(&format!("tmux-{opened}"));
        let end = desk.aside(&format!("end-{opened}"));
        desk.know_this_place();
        let claude = desk.claude(args);
        let mut command = tmux(desk, &socket, &["-f", "/dev/null", "-C"]);
        command
            .args(["new-session", "-x", "160", "-y", "50", "sh", "-c", WITH_END])
            .arg(&end)
            .arg(claude.get_program())
            .args(claude.get_args())
            .args([";", "set", "-g", "remain-on-exit", "on"])
            .args([";", "set", "-g", "destroy-unattached", "on"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        for (name, value) in claude.get_envs() {
            command.env(name, value.unwrap());
        }
        let screen = Screen {
            desk,
            socket,
            end,
            client: command.spawn().unwrap(),
            seen: Cell::new(desk.model.asked().len()),
        };
        screen.shows(WAITING_FOR_WORDS);
        screen
    }

    fn told_by_tmux(&self, args: &[&str]) -> String {
        let output = tmux(self.desk, &self.socket, args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Nothing at all before there is a screen.
    pub fn now(&self) -> String {
        self.told_by_tmux(&["capture-pane", "-p"])
    }

    pub fn key(&self, name: &str) {
        self.told_by_tmux(&["send-keys", name]);
    }

    /// A line that is not on the screen yet.
    #[track_caller]
    pub fn enters(&self, text: &str) {
        self.told_by_tmux(&["send-keys", "-l", "--", text]);
        self.shows(text);
        self.key("Enter");
    }

    #[track_caller]
    pub fn shows(&self, text: &str) {
        self.wait(&format!("`{text}` on the screen"), || {
            // Long lines are broken anew, and indented.
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            words(&self.now()).contains(&words(text))
        });
    }

    /// The next thing that the model is asked.
    #[track_caller]
    pub fn asks(&self) -> Asked {
        let next = self.seen.get();
        self.wait("a question to the model", || {
            self.desk.model.asked().len() > next
        });
        self.seen.set(next + 1);
        self.desk.model.asked()[next].clone()
    }

    /// The agent wanted to stop, and is fed this line instead, with the constant prompt below it.
    #[track_caller]
    pub fn is_held_by(&self, line: &str) {
        let next = self.seen.get();
        let is_asked = || self.desk.model.asked().len() > next;
        self.wait("the end of a turn", || is_asked() || self.is_at_rest());
        if !is_asked() {
            self.desk.was_let_go(line);
        }
        self.desk.is_fed(&self.asks(), line);
    }

    /// The turn is over, and the model was asked nothing more.
    #[track_caller]
    pub fn comes_to_rest(&self) {
        self.wait("rest", || self.is_at_rest());
        let asked = self.desk.model.asked();
        let last = asked.last().map(Asked::fed);
        assert_eq!(asked.len(), self.seen.get(), "{last:?}");
    }

    fn is_at_rest(&self) -> bool {
        let before = self.now();
        let end = Instant::now() + REST;
        while Instant::now() < end {
            thread::sleep(TICK);
            if before.contains(AT_WORK) || self.now() != before {
                return false;
            }
        }
        true
    }

    /// The process ends by itself, and well.
    #[track_caller]
    pub fn ends(&self) {
        self.wait("the agent's end", || self.has_ended());
        assert_eq!(fs::read_to_string(&self.end).unwrap(), "0\n");
    }

    fn has_ended(&self) -> bool {
        fs::read_to_string(&self.end).is_ok_and(|text| text.ends_with('\n'))
    }

    #[track_caller]
    pub fn wait(&self, what: &str, is_there: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_there() {
            assert!(
                Instant::now() < end,
                "not there in time: {what}:\n{}",
                self.now()
            );
            thread::sleep(TICK);
        }
    }
}

fn tmux(desk: &Desk, socket: &Path, args: &[&str]) -> Command {
    let mut command = desk.scene.command("tmux", &desk.scene.root);
    command.arg("-S").arg(socket).args(args);
    command
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.told_by_tmux(&["kill-server"]);
        let _ = self.client.kill();
        let _ = self.client.wait();
        // It takes its time to say goodbye, and writes into a home that is about to be removed.
        let late = Instant::now() + GOODBYE;
        while !self.has_ended() && Instant::now() < late {
            thread::sleep(TICK);
        }
    }
}
