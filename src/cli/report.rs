//! Words errors, once, for every command: what was being done, what came back, what to do next.

use std::fmt;
use std::io::Write;

use super::exit::Exit;

/// An error that knows how the command ends and what the person can do.
#[derive(Debug)]
pub struct Refusal {
    pub exit: Exit,
    pub what: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub fn new(exit: Exit, what: impl Into<String>) -> Refusal {
        Refusal {
            exit,
            what: what.into(),
            hint: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

/// Prints an error to stderr and says how the command ends.
pub fn report(error: &anyhow::Error) -> Exit {
    let (text, exit) = worded(error);
    // Nothing is left to tell anybody if stderr is gone too.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    exit
}

/// An error as text, and the exit it stands for.
pub fn worded(error: &anyhow::Error) -> (String, Exit) {
    let refusal = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Refusal>());
    let mut text = format!("error: {}\n", plain(&error.to_string()));
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  caused by: {}\n", plain(&cause.to_string())));
    }
    if let Some(hint) = refusal.and_then(|refusal| refusal.hint.as_deref()) {
        text.push_str(&format!("hint: {hint}\n"));
    }
    (text, refusal.map_or(Exit::Internal, |refusal| refusal.exit))
}

/// Other people's text without control characters, so that it cannot steer a terminal.
pub fn plain(text: &str) -> String {
    let shown = |c: char| {
        if c.is_control() && c != '\n' {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}
