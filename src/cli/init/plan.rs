//! What `init` would put in: each file as it is and as it is to be, and what a person should know.

use std::path::{Path, PathBuf};

use super::project_file::{PROJECT_FILE, project_file};
use super::removal::removal;
use crate::cli::Exit;
use crate::cli::report::Refusal;
use crate::edge::agent::settings::{self, Change, Seen};
use crate::edge::agent::{Agent, Ambient, Claude, Scope, run_tasks};
use crate::edge::git::Git;
use crate::edge::process;
use crate::edge::tracker::Owner;
use crate::edge::wiring::{self, Base, Note, Noted, Planned};
use crate::ground::Surroundings;

const NOTES: &str = "init";
const NAME_DIGITS: usize = 16;

/// Everything that is known before a file is looked at.
pub struct Desk {
    pub scope: Scope,
    pub base: Base,
    pub program: String,
    dir: PathBuf,
    beads_dir: Option<PathBuf>,
    /// Every settings file that the agent would read here, the one that is meant among them, the
    /// one that has the last word first.
    all: Vec<(Scope, PathBuf)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    PutIn,
    TakeOut,
}

#[derive(Debug, Default)]
pub struct Plan {
    pub files: Vec<Planned>,
    pub warnings: Vec<String>,
    /// What else there is to say once it is done.
    pub remarks: Vec<String>,
}

impl Plan {
    pub fn is_nothing(&self) -> bool {
        self.files.iter().all(|file| file.before == file.after)
    }

    pub fn warn_of_composed(&mut self, seen: &Seen, path: &Path) {
        let path = path.display();
        self.warnings.extend(seen.composed.iter().map(|line| {
            format!(
                "`{path}` line {line} calls Beadlock in a command of its own, which stays as it is"
            )
        }));
    }
}

/// Every settings file that the agent would read in a directory, the one that has the last word
/// first.
pub fn every_settings(dir: &Path, ambient: &Ambient) -> Vec<(Scope, PathBuf)> {
    let place = Git::at(dir).place_by_files();
    let root = place.as_ref().and_then(|place| place.root.clone());
    let work_tree = root.unwrap_or_else(|| dir.to_owned());
    let mut all: Vec<(Scope, PathBuf)> = Vec::new();
    for scope in Scope::ALL {
        let base = scope.base(&work_tree, ambient);
        all.extend(base.map(|base| (scope, base.join(scope.settings()))));
    }
    // A linked work tree's agent reads the main one's local settings too (2.1.327).
    let main = place.filter(|place| place.is_linked);
    if let Some(main) = main.and_then(|place| place.main_root) {
        all.insert(1, (Scope::Local, main.join(Scope::Local.settings())));
    }
    all
}

impl Desk {
    pub fn new(
        scope: Scope,
        program: String,
        dir: PathBuf,
        ambient: &Ambient,
    ) -> Result<Desk, Refusal> {
        let place = Git::at(&dir).place_by_files();
        let root = place.as_ref().and_then(|place| place.root.clone());
        let work_tree = root.unwrap_or_else(|| dir.clone());
        let Some(base) = scope.base(&work_tree, ambient) else {
            return Err(Refusal::new(
                Exit::Usage,
                "your own settings cannot be found: HOME is not set",
            )
            .hint("set HOME or CLAUDE_CONFIG_DIR, or leave `--user` out"));
        };
        let all = every_settings(&dir, ambient);
        let is_linked = place.is_some_and(|place| place.is_linked);
        let name = match scope {
            Scope::User => format!("{}-{}", scope.name(), digits(&base)),
            Scope::Project | Scope::Local if is_linked => {
                format!("{}-{}", scope.name(), digits(&base))
            }
            Scope::Project | Scope::Local => scope.name().to_owned(),
        };
        let notes = match scope {
            Scope::Project | Scope::Local => Claude
                .places(ambient)
                .store_at(&work_tree)
                .path()
                .join(NOTES),
            Scope::User => state_folder(&base).join(NOTES),
        };
        Ok(Desk {
            scope,
            base: Base::new(base, notes, name),
            program,
            dir,
            beads_dir: ambient.variable("BEADS_DIR").map(PathBuf::from),
            all,
        })
    }

    pub fn settings_path(&self) -> PathBuf {
        self.base.at(self.scope.settings())
    }

    pub fn plan(&self, aim: Aim) -> Result<Plan, Refusal> {
        let note = self.base.note().map_err(Refusal::from)?;
        match aim {
            Aim::PutIn => self.wiring(&note),
            Aim::TakeOut => removal(self, &note),
        }
    }

    fn wiring(&self, note: &Note) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        if self.is_wired_elsewhere(&mut plan)? {
            self.add_project_file(&mut plan)?;
            return Ok(plan);
        }
        let path = self.scope.settings();
        let before = self.read(path)?;
        let after = self.wired(before.as_deref(), note.of(path))?;
        let text = after.as_ref().map(|it| it.0.as_str());
        self.warn(text.or(before.as_deref()).unwrap_or_default(), &mut plan)?;
        plan.files.extend(after.map(|(after, noted)| Planned {
            path,
            before,
            after: Some(after),
            noted: Some(noted),
        }));
        self.add_command(note, &mut plan)?;
        if self.scope != Scope::User {
            self.add_project_file(&mut plan)?;
        }
        Ok(plan)
    }

    /// The settings with our hooks, and the way back; nothing if they are as they should be.
    fn wired(
        &self,
        before: Option<&str>,
        noted: Option<&Noted>,
    ) -> Result<Option<(String, Noted)>, Refusal> {
        let of = |text: &str| settings::wire(text, &self.program).map_err(|it| self.settings(&it));
        let text = before.unwrap_or_default();
        if before.is_some() && of(text)?.text() == text {
            return Ok(None);
        }
        // What we put in before is taken out first, so that the way back leads to what was there
        // before the first of all.
        let original = noted.and_then(|noted| noted.original(text));
        let original = match (original, noted) {
            (Some(original), _) => original,
            (None, Some(_)) if before.is_some() => {
                let without = settings::unwire(text, &self.program);
                let without = without.map_err(|it| self.settings(&it))?;
                Some(without.text().to_owned())
            }
            (None, _) => before.map(str::to_owned),
        };
        let revision = of(original.as_deref().unwrap_or_default())?;
        let noted = Noted::new(original.as_deref(), revision.text(), revision.changes());
        Ok(Some((revision.text().to_owned(), noted)))
    }

    fn add_command(&self, note: &Note, plan: &mut Plan) -> Result<(), Refusal> {
        let path = self.scope.run_tasks();
        let wanted = run_tasks::text(&self.program).map_err(|error| {
            Refusal::new(Exit::NotDone, error.to_string())
                .hint("install Beadlock under another path")
        })?;
        let before = self.read(path)?;
        let noted = match &before {
            Some(text) if *text == wanted => return Ok(()),
            Some(text) if !run_tasks::is_ours(text) => {
                plan.warnings.push(format!(
                    "`{}` is not Beadlock's and stays as it is: it says what the agent reads after `/run-tasks`",
                    self.base.at(path).display()
                ));
                return Ok(());
            }
            Some(text) => match note.of(path).and_then(|noted| noted.original(text)) {
                Some(original) => whole(original.as_deref(), &wanted),
                None => whole(Some(text), &wanted),
            },
            None => whole(None, &wanted),
        };
        plan.files.push(Planned {
            path,
            before,
            after: Some(wanted),
            noted: Some(noted),
        });
        Ok(())
    }

    fn add_project_file(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let here = Surroundings::of(&self.dir, self.beads_dir.as_deref());
        let is_named = process::locate("beadlock").is_some();
        if !is_named && matches!(here.workspace.owner, Owner::Jsonl | Owner::Nobody) {
            plan.warnings.push(
                "`beadlock` is not on PATH, and the prompt tells the agent to call it by that name"
                    .to_owned(),
            );
        }
        // One that is a link to nowhere is there as well.
        if std::fs::symlink_metadata(&here.project_file).is_ok()
            || self.read(PROJECT_FILE)?.is_some()
        {
            return Ok(());
        }
        let text = project_file(&here.workspace.owner);
        plan.files.push(Planned {
            path: PROJECT_FILE,
            before: None,
            noted: Some(whole(None, &text)),
            after: Some(text),
        });
        Ok(())
    }

    /// Whether the agent finds our hooks in other settings already, so that they are not put into
    /// these too. Other calls of ours there are in the way: each stop would be judged twice.
    fn is_wired_elsewhere(&self, plan: &mut Plan) -> Result<bool, Refusal> {
        let others = self.others(plan);
        for (scope, path, seen) in &others {
            // The same hook in two places is called once.
            if seen.has_any() && !seen.is_wired {
                return Err(called_twice(*scope, path, seen));
            }
        }
        let wired = others.iter().find(|(.., seen)| seen.is_wired);
        let Some((_, path, _)) = wired.filter(|_| self.scope != Scope::User) else {
            return Ok(false);
        };
        let own = self.read(self.scope.settings())?.unwrap_or_default();
        let own = settings::look(&own, &self.program).map_err(|it| self.settings(&it))?;
        if own.has_any() && !own.is_wired {
            return Err(called_twice(self.scope, &self.settings_path(), &own));
        }
        plan.remarks.push(format!(
            "the hooks are in `{}` already, and that is enough",
            path.display()
        ));
        Ok(true)
    }

    /// The other settings that the agent reads here, as far as they can be read.
    pub fn others(&self, plan: &mut Plan) -> Vec<(Scope, PathBuf, Seen)> {
        let mut others = Vec::new();
        for (scope, path) in self.all.iter().filter(|(_, path)| !self.is_own(path)) {
            let seen = match wiring::read(path) {
                Ok(text) => settings::look(&text.unwrap_or_default(), &self.program)
                    .map_err(|error| format!("`{}` {error}", path.display())),
                Err(error) => Err(error.to_string()),
            };
            match seen {
                Ok(seen) => others.push((*scope, path.clone(), seen)),
                Err(error) => plan.warnings.push(format!(
                    "whether other settings call Beadlock too is not known: {error}"
                )),
            }
        }
        others
    }

    /// Whether it is the very file that is meant, if perhaps by another path.
    fn is_own(&self, path: &Path) -> bool {
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        resolved(path) == resolved(&self.settings_path())
    }

    /// What will stand in the settings, and in others, may still keep the hooks from being called.
    fn warn(&self, text: &str, plan: &mut Plan) -> Result<(), Refusal> {
        let seen = settings::look(text, &self.program).map_err(|it| self.settings(&it))?;
        plan.warn_of_composed(&seen, &self.settings_path());
        // Of several settings the narrowest has the last word.
        let others = self.others(&mut Plan::default());
        let says = |path: &PathBuf| {
            let other = others.iter().find(|(_, other, _)| other == path);
            let own = Some(&seen).filter(|_| self.is_own(path));
            other.map(|(.., seen)| seen).or(own)?.disables_all
        };
        let mut all = self.all.iter();
        let last = all.find_map(|(_, path)| Some((path, says(path)?)));
        if let Some((path, true)) = last {
            plan.warnings.push(format!(
                "`{}` has `disableAllHooks`, so Claude Code calls no hook at all",
                path.display()
            ));
        }
        if self.scope != Scope::User && self.dir != self.base.folder {
            plan.warnings.push(format!(
                "Claude Code reads these settings where it is started: start it in `{}`, not here",
                self.base.folder.display()
            ));
        }
        Ok(())
    }

    pub fn read(&self, path: &str) -> Result<Option<String>, Refusal> {
        wiring::read(&self.base.at(path)).map_err(Refusal::from)
    }

    pub fn settings(&self, error: &settings::Error) -> Refusal {
        let what = format!("`{}` {error}", self.settings_path().display());
        Refusal::new(Exit::Usage, what).hint("nothing was changed; correct it there and try again")
    }
}

fn called_twice(scope: Scope, path: &Path, seen: &Seen) -> Refusal {
    let lines = seen.calls.iter().map(|(_, line)| line);
    let line = lines.chain(&seen.composed).next().copied();
    let what = format!(
        "`{}` line {} calls Beadlock already, in another way, and a stop would be judged twice",
        path.display(),
        line.unwrap_or(1)
    );
    Refusal::new(Exit::NotDone, what).hint(way_out(scope, path, seen))
}

/// How a call of ours is taken out of settings that are not meant now. A command of somebody's own
/// is theirs to change.
pub fn way_out(scope: Scope, path: &Path, seen: &Seen) -> String {
    match seen.composed.first() {
        Some(line) if seen.calls.is_empty() => {
            format!("take it out of line {line} of `{}` by hand", path.display())
        }
        Some(_) | None => {
            let option = scope.option();
            format!("`beadlock init{option} --remove` takes it out there")
        }
    }
}

/// The way back of a file that is ours as a whole.
fn whole(before: Option<&str>, after: &str) -> Noted {
    let change = Change {
        at: 0,
        inserted: after.len(),
        replaced: before.unwrap_or_default().to_owned(),
    };
    Noted::new(before, after, vec![change])
}

/// A person's notes are kept where the system has such things kept, else beside their settings.
fn state_folder(base: &Path) -> PathBuf {
    let state = dirs::state_dir().or_else(dirs::data_local_dir);
    state.map_or_else(|| base.join("beadlock"), |state| state.join("beadlock"))
}

/// By which a folder is told from others in a file's name.
fn digits(folder: &Path) -> String {
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    hash[..NAME_DIGITS].to_owned()
}
