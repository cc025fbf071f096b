//! Where Claude Code looks for its settings and commands, as observed on 2.1.327 and 2.1.197: the
//! project's settings only in the folder that it is started in, commands in every folder above too.

use std::path::{Path, PathBuf};

use super::Ambient;

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The project's, shared through git.
    Project,
    /// One person's, in this project.
    Local,
    /// One person's, everywhere.
    User,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Local, Scope::Project, Scope::User];

    pub fn name(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::Local => "local",
            Scope::User => "user",
        }
    }

    /// As an option of `init`.
    pub fn option(self) -> &'static str {
        match self {
            Scope::Project => "",
            Scope::Local => " --local",
            Scope::User => " --user",
        }
    }

    /// Below the work tree, or below the person's own folder.
    pub fn settings(self) -> &'static str {
        match self {
            Scope::Project => ".claude/settings.json",
            Scope::Local => ".claude/settings.local.json",
            Scope::User => "settings.json",
        }
    }

    pub fn run_tasks(self) -> &'static str {
        match self {
            Scope::Project | Scope::Local => ".claude/commands/run-tasks.md",
            Scope::User => "commands/run-tasks.md",
        }
    }

    /// What the paths above are below; nothing where a person's own folder cannot be told.
    pub fn base(self, work_tree: &Path, ambient: &Ambient) -> Option<PathBuf> {
        match self {
            Scope::Project | Scope::Local => Some(work_tree.to_owned()),
            Scope::User => {
                let named = ambient.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from);
                named.or_else(|| Some(PathBuf::from(home(ambient)?).join(".claude")))
            }
        }
    }
}

fn home(ambient: &Ambient) -> Option<&str> {
    let own = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    ambient.variable(own)
}
