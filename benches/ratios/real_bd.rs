//! Stops in a workspace of the real bd, against the same hook in bash, and against bd alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::case::{Case, median};
use crate::world::{COMMIT, World, compile, find, git, link, rows, said};
use crate::{BEADLOCK, Medians, ROUNDS};

pub const CHANGED: &str = "hook stop, real bd, 30 issues, after a change";
pub const SAME: &str = "hook stop, real bd, nothing changed";
pub const BASH: &str = "bash + jq hook, real bd, 30 issues";
pub const CALL: &str = "the one call of bd that a stop makes";
pub const BEYOND: &str = "what a stop takes beyond that call";

const INIT: &str = "init -p bd --skip-agents --skip-hooks --quiet --non-interactive";

/// Stands in bd's place, runs it, and notes down how long that took.
const CLOCK: &str = r#"fn main() {
    let start = std::time::Instant::now();
    let status = std::process::Command::new("REAL").args(std::env::args_os().skip(1)).status();
    std::fs::write("TIME", start.elapsed().as_micros().to_string()).unwrap();
    std::process::exit(status.unwrap().code().unwrap_or(1));
}"#;

pub fn measure(world: &World) -> Medians {
    let named = std::env::var_os("BEADLOCK_BENCH_BD").map(PathBuf::from);
    let is_beads = |bd: &PathBuf| said(bd, "version --json").contains("schema_version");
    let Some(bd) = named.or_else(|| find("bd")).filter(is_beads) else {
        println!("left out: the real bd is not there");
        return Medians::new();
    };
    println!("bd: {}", said(&bd, "version"));
    let desk = Desk::new(world, &bd);
    let stop = desk.case(world, CHANGED);
    let bash = world.bash(BASH, &desk.dir).map(|case| Case {
        path: desk.path_of_bash.clone(),
        ..case
    });
    let (mut changed, mut same, mut bashed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut call, mut beyond) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        desk.write();
        let whole = stop.timed();
        let own = desk.call_millis();
        changed.push(whole);
        call.push(own);
        beyond.push(whole - own);
        same.push(stop.timed());
        assert!(
            !desk.time.exists(),
            "bd was asked although nothing had changed"
        );
        bashed.extend(bash.as_ref().map(Case::timed));
    }
    let mut medians = vec![
        (CHANGED, median(changed)),
        (SAME, median(same)),
        (CALL, median(call)),
        (BEYOND, median(beyond)),
    ];
    if !bashed.is_empty() {
        medians.push((BASH, median(bashed)));
    }
    medians
}

/// A repository whose 30 issues a real bd keeps.
struct Desk {
    dir: PathBuf,
    bd: PathBuf,
    /// Where the clock in bd's place leaves its time.
    time: PathBuf,
    path: String,
    path_of_bash: String,
}

impl Desk {
    fn new(world: &World, bd: &Path) -> Desk {
        let (dir, time) = (world.base.join("real"), world.base.join("time"));
        for folder in ["real", "clock", "direct"] {
            fs::create_dir_all(world.base.join(folder)).unwrap();
        }
        let clock = CLOCK.replace("REAL", bd.to_str().unwrap());
        let clock = clock.replace("TIME", time.to_str().unwrap());
        compile(&world.base, &clock, &world.base.join("clock/bd"));
        link(bd, &world.base.join("direct/bd"));
        let path = |folder: &str| format!("{}:{}", world.base.join(folder).display(), world.path);
        let desk = Desk {
            bd: bd.to_owned(),
            time,
            path: path("clock"),
            path_of_bash: path("direct"),
            dir,
        };
        git(&desk.dir, "init -q");
        desk.ask(INIT);
        fs::write(desk.dir.join("rows.jsonl"), rows(30)).unwrap();
        desk.ask("import rows.jsonl");
        git(&desk.dir, "add -A");
        git(&desk.dir, COMMIT);
        let start = "start bd-x7y8 --session s --set max_cycles=1000 --set no_progress_cycles=1000";
        desk.run(Path::new(BEADLOCK), start);
        desk.call_millis();
        desk
    }

    fn case(&self, world: &World, name: &'static str) -> Case {
        let case = world.case(name, Path::new(BEADLOCK), &["hook", "stop"], &self.dir);
        Case {
            path: self.path.clone(),
            ..case
        }
    }

    fn ask(&self, args: &str) {
        self.run(&self.bd, args);
    }

    fn write(&self) {
        self.ask("note bd-x7y8.7 more");
    }

    fn run(&self, program: &Path, args: &str) {
        let output = Command::new(program)
            .args(args.split(' '))
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.dir)
            .env("USER", "b")
            .env("BD_DISABLE_METRICS", "1")
            .env("BD_DISABLE_EVENT_FLUSH", "1")
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{args}: {output:?}");
    }

    /// How long bd was at work since somebody last asked.
    fn call_millis(&self) -> f64 {
        let micros: f64 = fs::read_to_string(&self.time).unwrap().parse().unwrap();
        fs::remove_file(&self.time).unwrap();
        micros / 1000.0
    }
}
