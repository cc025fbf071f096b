//! A list of tasks put by, for as long as the tracker's token says that nothing has changed.
//! What is kept are the tasks themselves and not what follows from them: what is ready, and whose
//! lease is good, moves with the clock.

use super::row;
use super::{List, Token};
use crate::kernel::moment::Moment;
use crate::kernel::task::Task;

/// What is known of a tracker from its last answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The program that answered.
    pub program: Option<String>,
    /// Under what token the tasks were read; nothing where the tracker had none.
    pub token: Option<String>,
    /// One row a line; empty where there is no token.
    pub tasks: String,
    /// When they were asked for.
    pub read_at: Option<Moment>,
}

impl Memory {
    pub fn of(list: &List, program: Option<String>, now: Moment) -> Memory {
        let read_at = Some(now);
        let Some(token) = &list.token else {
            return Memory {
                program,
                read_at,
                ..Memory::default()
            };
        };
        Memory {
            program,
            token: Some(token.as_str().to_owned()),
            tasks: row::written(&list.tasks),
            read_at,
        }
    }

    /// The tasks, if they are those that `token` stands for. A memory that cannot be read is
    /// none: the tracker is asked again.
    pub fn tasks_under(&self, token: &Token) -> Option<Vec<Task>> {
        if self.token.as_deref() != Some(token.as_str()) {
            return None;
        }
        let task = |line: &str| row::parse(line).ok();
        self.tasks.lines().map(task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::task::{Claim, Edge, EdgeKind, Kind, Status};

    fn list(tasks: Vec<Task>, token: Option<&str>) -> List {
        let token = token.map(Token::new);
        List { tasks, token }
    }

    /// Tasks that use everything that bears on a decision.
    fn tasks() -> Vec<Task> {
        let edge = |kind| Edge {
            target: "t-\"x\"".into(),
            kind,
        };
        let waits = |any_child, also_blocks| {
            edge(EdgeKind::WaitsFor {
                any_child,
                also_blocks,
            })
        };
        let whole = Task {
            status: Status::InProgress,
            priority: 0,
            pinned: true,
            ephemeral: true,
            template: true,
            defer_until: Some(Moment(1_767_225_600_123)),
            claim: Some(Claim {
                actor: "ann\n\"é\"".into(),
                since: Some(Moment(-1)),
                lease_until: Some(Moment(1_767_225_600_999)),
            }),
            edges: vec![
                edge(EdgeKind::Blocks),
                edge(EdgeKind::ConditionalBlocks),
                edge(EdgeKind::ParentChild),
                waits(false, false),
                waits(true, false),
                waits(false, true),
                waits(true, true),
            ],
            ..Task::open("t-1")
        };
        let mut tasks = vec![whole];
        for (number, status) in Status::NAMES.iter().chain(&["review"]).enumerate() {
            tasks.push(Task {
                status: Status::parse(status),
                ..Task::open(format!("t-s{number}").as_str())
            });
        }
        for kind in [Kind::Work, Kind::Epic, Kind::Gate, Kind::Workflow] {
            tasks.push(Task {
                kind,
                ..Task::open(format!("t-{kind:?}").as_str())
            });
        }
        tasks
    }

    #[test]
    fn what_is_put_by_comes_back_as_it_was() {
        let memory = Memory::of(&list(tasks(), Some("a")), Some("bd".into()), Moment(7));
        assert_eq!(memory.tasks_under(&Token::new("a")), Some(tasks()));
        assert_eq!(memory.program.as_deref(), Some("bd"));
    }

    #[test]
    fn what_has_no_bearing_is_not_kept() {
        let loose = Task {
            title: "secret".into(),
            edges: vec![Edge {
                target: "t-9".into(),
                kind: EdgeKind::Loose,
            }],
            ..Task::open("t-1")
        };
        let memory = Memory::of(&list(vec![loose], Some("a")), None, Moment(7));
        assert!(!memory.tasks.contains("secret") && !memory.tasks.contains("t-9"));
    }

    #[test]
    fn nothing_is_remembered_under_another_token_or_none() {
        let memory = Memory::of(&list(tasks(), Some("a")), None, Moment(7));
        assert_eq!(memory.tasks_under(&Token::new("b")), None);
        let memory = Memory::of(&list(tasks(), None), None, Moment(7));
        assert_eq!(memory.tasks_under(&Token::new("")), None);
        assert_eq!(memory.tasks, "");
    }

    #[test]
    fn a_memory_that_cannot_be_read_is_none() {
        let mut memory = Memory::of(&list(tasks(), Some("a")), None, Moment(7));
        memory.tasks.push_str("{\"id\":");
        assert_eq!(memory.tasks_under(&Token::new("a")), None);
    }
}
