//! Holds a coding agent at its Stop hook until the task tracker says the epic is done.

/// Arms a run: everything it needs gathered and written in one piece.
pub mod arm;
/// One file per subcommand.
pub mod cli;
/// `project.yaml` and `config.toml`, resolved to a policy.
pub mod config;
/// One outside thing each: the tracker, git, the agent, the store, child processes.
pub mod edge;
/// Where a run stands: its directories, settings and tracker.
pub mod ground;
/// Pure rules: which tasks are ready, what a stop deserves, what a run remembers.
pub mod kernel;
/// The seam out: verdicts as words.
pub mod render;
/// The seam in: reads what the kernel wants to know.
pub mod survey;
