//! The agent's screen, in a tmux of its own: typed at and looked at as a person would.

use std::cell::Cell;
use std::path::PathBuf;
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

/// The server of a screen before may be on its way out still, and takes its socket along.
static OPENED: AtomicUsize = AtomicUsize::new(0);

pub struct Screen<'a> {
    desk: &'a Desk,
    socket: PathBuf,
    /// How much of what the model was asked has been looked at.
    seen: Cell<usize>,
}

impl Screen<'_> {
    /// Starts the agent, and waits until it waits.
    #[track_caller]
    pub fn open<'a>(desk: &'a Desk, args: &[&str]) -> Screen<'a> {
        let screen = Screen {
            desk,
            socket: desk.aside(&format!("tmux-{}", OPENED.fetch_add(1, Ordering::Relaxed))),
            seen: Cell::new(desk.model.asked().len()),
        };
        desk.know_this_place();
        let claude = desk.claude(args);
        let mut command = screen.tmux(&["-f", "/dev/null", "start-server", ";"]);
        command
            .args(["set", "-g", "remain-on-exit", "on", ";"])
            .args(["new-session", "-d", "-x", "160", "-y", "50"])
            .arg(claude.get_program())
            .args(claude.get_args())
            .env("TERM", "xterm-256color");
        for (name, value) in claude.get_envs() {
            command.env(name, value.unwrap());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        screen.shows(WAITING_FOR_WORDS);
        screen
    }

    fn tmux(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.desk.scene.command("tmux", &self.desk.scene.root);
        command.arg("-S").arg(&self.socket).args(args);
        command
    }

    fn told_by_tmux(&self, args: &[&str]) -> String {
        let output = self.tmux(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

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
        assert_eq!(asked.len(), self.seen.get(), "{:?}", asked.last());
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

    /// The process ends by itself; answers with which code.
    #[track_caller]
    pub fn ends(&self) -> String {
        let told =
            || self.told_by_tmux(&["display-message", "-p", "#{pane_dead} #{pane_dead_status}"]);
        self.wait("the agent's end", || told().starts_with("1 "));
        told().trim_end().replace("1 ", "")
    }

    #[track_caller]
    pub fn wait(&self, what: &str, is_there: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_there() {
            assert!(Instant::now() < end, "no {what}:\n{}", self.now());
            thread::sleep(TICK);
        }
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // The session may have taken its server along.
        let _ = self.tmux(&["kill-server"]).output();
    }
}
