//! The `project.yaml` that a project begins with.

use crate::edge::tracker::Owner;

pub const PROJECT_FILE: &str = "project.yaml";

/// The smallest file that is true here.
pub fn project_file(owner: &Owner) -> String {
    let (tracker, why) = match owner {
        Owner::Bd { .. } => (
            "bd",
            "# Where the tasks are: beads' own `bd` keeps them here.",
        ),
        Owner::BdOrBr { .. } => (
            "auto",
            "# Where the tasks are. `.beads` has a database of `br`, or of a `bd` before 0.50; only you\n  \
             # know which. `bd` has bd asked.",
        ),
        Owner::Jsonl => (
            "jsonl",
            "# Where the tasks are: in `.beads/issues.jsonl`, which `beadlock task` keeps.",
        ),
        Owner::Nobody => (
            "auto",
            "# Where the tasks are: nowhere yet. `beadlock task add TITLE --type epic` begins a list in\n  \
             # `.beads/issues.jsonl`; with `auto` one of bd's is found just as well.",
        ),
    };
    format!(
        "# Settings for Beadlock, in the section `workflow`; the file may have other owners.\n\
         # `project.yaml.example` in Beadlock's repository has every key with its default.\n\
         workflow:\n  {why}\n  tracker: {tracker}\n"
    )
}
