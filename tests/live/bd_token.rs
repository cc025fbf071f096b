//! The change token under every kind of write that bd has: whatever bd lists differently has to
//! have another token.

use beadlock::edge::tracker::Tracker;

use crate::desk::{Build, Desk, PATIENCE, Test};

pub const TESTS: &[Test] = &[
    (
        "nothing_changes_without_its_token",
        nothing_changes_without_its_token,
    ),
    (
        "reading_leaves_the_token_alone",
        reading_leaves_the_token_alone,
    ),
];

/// One call a line. Not every version has every one of them; those that fail change nothing.
const WRITES: &str = "
create a --parent bd-x7y8
create b --parent bd-x7y8 -t bug -p 0 -l red
create c -t epic --parent bd-x7y8
create d --parent bd-x7y8.2 --deps bd-x7y8.1
q quick
todo add small
update bd-x7y8.1 --claim
heartbeat bd-x7y8.1
update bd-x7y8.1 --append-notes more
note bd-x7y8.1 more
comment bd-x7y8.1 said
unclaim bd-x7y8.1
update bd-x7y8.1 --status in_progress
update bd-x7y8.1 --status hooked
update bd-x7y8.1 --status blocked
update bd-x7y8.1 --status open
update bd-x7y8.1 --title renamed
update bd-x7y8.1 --description longer
update bd-x7y8.1 --design drawn
update bd-x7y8.1 --acceptance accepted
update bd-x7y8.1 --type bug
update bd-x7y8.1 --estimate 5
update bd-x7y8.1 --external-ref gh-9
update bd-x7y8.1 --set-metadata model=small
update bd-x7y8.1 --unset-metadata model
update bd-x7y8.1 --due 2099-01-01
update bd-x7y8.1 --defer 2099-01-01
undefer bd-x7y8.1
defer bd-x7y8.1
undefer bd-x7y8.1
update bd-x7y8.1 --assignee ann
update bd-x7y8.1 --parent bd-x7y8.3
update bd-x7y8.1 --parent bd-x7y8
assign bd-x7y8.2 bob
priority bd-x7y8.2 4
tag bd-x7y8.2 blue
label add bd-x7y8.2 green
label remove bd-x7y8.2 green
dep add bd-x7y8.3 bd-x7y8.2
dep add bd-x7y8.3 bd-x7y8.1 -t related
dep remove bd-x7y8.3 bd-x7y8.2
link bd-x7y8.3 bd-x7y8.1
gate create --blocks bd-x7y8.2
gate check
set-state bd-x7y8.2 mode=slow
update bd-x7y8.2 --status pinned
update bd-x7y8.2 --status open
ready --claim
reclaim --older-than 0s
close bd-x7y8.1 --reason done
reopen bd-x7y8.1
close bd-x7y8.1 --force --reason done
close bd-x7y8.1 --reason again
duplicate bd-x7y8.2 --of bd-x7y8.1
supersede bd-x7y8.3 --with bd-x7y8.1
reopen bd-x7y8.2
rename bd-x7y8.2 bd-other
batch --file batch.txt
import rows.jsonl
config set status.custom review
update bd-other --status review
kv set a b
remember a thing
epic close-eligible
recompute-blocked
delete bd-other --force
rename-prefix xy-
compact --force
flatten --force
gc --force --skip-decay
create after --id xy-after
create a wisp --ephemeral
create without history --no-history
config set types.infra chore
prune --force
backup init ../kept
";

fn nothing_changes_without_its_token(build: &Build) {
    let desk = Desk::with_tasks(build, 0);
    desk.scene
        .write("batch.txt", "update bd-x7y8.3 status=open\n");
    let row = r#"{"id":"bd-new","title":"new","status":"open","priority":2,"issue_type":"task","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}"#;
    desk.scene.write("rows.jsonl", row);
    let bd = desk.tracker(build);
    let look = || {
        let list = bd.tasks(PATIENCE).unwrap();
        let mut tasks: Vec<String> = list.tasks.iter().map(|task| format!("{task:?}")).collect();
        tasks.sort();
        (bd.token(), tasks)
    };
    let mut before = look();
    assert!(before.0.is_some(), "there is no token at all");
    let mut changes = Vec::new();
    let mut without = Vec::new();
    for line in WRITES.lines().filter(|line| !line.is_empty()) {
        let args: Vec<&str> = line.split_whitespace().collect();
        desk.try_bd(&desk.scene.root, &args);
        let after = look();
        if after.1 != before.1 {
            changes.push(line);
            if after.0 == before.0 {
                without.push(line);
            }
        }
        before = after;
    }
    assert_eq!(without, [""; 0], "changed under the same token");
    assert!(before.0.is_some(), "the token was lost on the way");
    // Else the list above would prove little.
    assert!(changes.len() >= 35, "{}: {changes:#?}", changes.len());
}

const READS: &str = "
list --all --include-gates --json --limit 0 --include-infra --include-templates
ready --json
ready --parent bd-x7y8 --limit 0 --exclude-type=epic --json
show bd-x7y8 --json
blocked --json
count --json
stats --json
export
children bd-x7y8 --json
dep tree bd-x7y8 --json
epic status --json
search Task
";

fn reading_leaves_the_token_alone(build: &Build) {
    let desk = Desk::with_tasks(build, 2);
    let bd = desk.tracker(build);
    let token = bd.token();
    assert!(token.is_some());
    for line in READS.lines().filter(|line| !line.is_empty()) {
        let args: Vec<&str> = line.split_whitespace().collect();
        let output = desk.try_bd(&desk.scene.root, &args);
        assert!(output.status.success(), "{line}: {output:?}");
        assert_eq!(bd.token(), token, "{line}");
    }
}
