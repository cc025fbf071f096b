//! What the agent is fed: small, constant, and never broken by a project's own template.

use beadlock::kernel::verdict::Block;
use beadlock::render::TEMPLATES;
use tiktoken_rs::{cl100k_base, o200k_base};

use crate::scene::{EPIC, SESSION, Scene, epic_row, task_row};

fn tokens(text: &str) -> usize {
    let counts = [o200k_base().unwrap(), cl100k_base().unwrap()];
    counts
        .iter()
        .map(|bpe| bpe.encode_ordinary(text).len())
        .max()
        .unwrap()
}

#[test]
fn the_constant_prompt_costs_at_most_two_hundred_tokens() {
    let scene = Scene::repository();
    let id = "qzjx-9k3vw7.8mfy2.4ht6.bn5.p1dg.0rsl.e8u.x2a7q.c";
    let mut row = epic_row();
    row["id"] = serde_json::json!(id);
    scene.rows(&[row, epic_row()]);
    for epic in [EPIC, id] {
        let prompt = scene.beadlock(&["prompt", epic]).done().stdout;
        let count = tokens(prompt.trim_end());
        assert!(count <= 200, "{count} tokens:\n{prompt}");
        assert!(prompt.contains(epic));
    }
}

#[test]
fn it_is_the_same_in_every_cycle() {
    let scene = Scene::with_tasks(3);
    let prompt = scene.start(SESSION).stdout;
    let shown = scene.beadlock(&["prompt", EPIC]).done().stdout;
    assert_eq!(prompt, shown);
    let mut fed = Vec::new();
    for number in 1..=3 {
        fed.push(scene.stop().blocks("open_work"));
        scene.set_status(number, "closed");
    }
    fed.push(scene.stop().blocks("unsaved_work"));
    for text in fed {
        let (line, constant) = text.split_once("\n\n").unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(constant, prompt.trim_end());
    }
}

#[test]
fn a_block_stays_under_three_hundred_tokens_and_two_kilobytes() {
    let scene = Scene::repository();
    let id = |number: usize| format!("qzjx-9k3vw7.8mfy2.4ht6.bn5.p1dg.0rsl.e8u.x2a{number}");
    let mut rows = vec![epic_row()];
    for number in 1..40 {
        let mut row = task_row(number, if number < 20 { "open" } else { "in_progress" });
        row["id"] = serde_json::json!(id(number));
        row["dependencies"][0]["issue_id"] = serde_json::json!(id(number));
        rows.push(row);
    }
    scene.rows(&rows);
    scene.commit_all("plan");
    scene.start(SESSION);
    let check = |fed: &str| {
        assert!(tokens(fed) < 300, "{} tokens:\n{fed}", tokens(fed));
        assert!(fed.len() < 2048);
    };
    check(&scene.stop().blocks("open_work"));
    check(
        &scene
            .stop()
            .says("<promise>EPIC COMPLETE</promise>")
            .blocks("false_promise"),
    );
    for row in &mut rows {
        row["status"] = serde_json::json!("in_progress");
    }
    scene.rows(&rows);
    check(&scene.stop().blocks("in_progress"));
    scene.rows(&[epic_row()]);
    check(&scene.stop().blocks("scope_shrunk"));
    let long = "é漢😀".repeat(60);
    scene.write(".beads/issues.jsonl", format!("{long}\n"));
    check(&scene.stop().blocks("unknown"));
    for row in &mut rows {
        row["status"] = serde_json::json!("closed");
    }
    scene.rows(&rows);
    for number in 0..9 {
        scene.write(&format!("{}{number}", "漢字😀".repeat(8)), "x");
    }
    scene.git(&["add", "-A"]);
    check(&scene.stop().blocks("unsaved_work"));
}

#[test]
fn every_reason_has_a_prompt_and_every_prompt_a_reason() {
    let mut expected: Vec<&str> = Block::NAMES.to_vec();
    expected.push("orchestration");
    expected.sort_unstable();
    let mut built_in: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
    built_in.sort_unstable();
    assert_eq!(built_in, expected);
    let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    let names: Vec<String> = expected.iter().map(|name| format!("{name}.tera")).collect();
    assert_eq!(files, names);
}

#[test]
fn a_project_may_say_it_in_its_own_words() {
    let scene = Scene::with_tasks(1);
    scene.write(
        ".beadlock/prompts/orchestration.tera",
        "Do {{ epic }} with `{{ ready }}`.",
    );
    scene.write(
        ".beadlock/prompts/open_work.tera",
        "[beadlock {{ cycle }}: open_work] {{ names }}!",
    );
    scene.commit_all("prompts");
    let done = scene
        .beadlock(&["start", EPIC, "--session", SESSION])
        .done();
    assert!(
        done.stdout
            .starts_with("Do bd-x7y8 with `beadlock task ready"),
        "{}",
        done.stdout
    );
    let fed = scene.stop().blocks("open_work");
    assert!(
        fed.starts_with("[beadlock 1: open_work] bd-x7y8.1!\n\nDo bd-x7y8"),
        "{fed}"
    );
}

#[test]
fn a_broken_template_never_breaks_the_hook() {
    let broken = [
        "{{ nope }}",
        "{% if %}",
        "{{ epic | unheard_of }}",
        "",
        &"x".repeat(5000),
    ];
    for template in broken {
        let scene = Scene::with_tasks(1);
        scene.write(".beadlock/prompts/orchestration.tera", template);
        scene.write(".beadlock/prompts/open_work.tera", template);
        scene.commit_all("prompts");
        let done = scene
            .beadlock(&["start", EPIC, "--session", SESSION])
            .done();
        assert!(
            done.stderr.contains("the built-in prompt is used"),
            "{template}: {}",
            done.stderr
        );
        assert!(done.stdout.contains("The tracker decides"));
        scene.stop().blocks("open_work");
        let records = scene.records();
        let faults = &records.last().unwrap().faults;
        assert!(faults[0].contains("open_work.tera"), "{faults:?}");
    }
}

#[test]
fn our_own_prompt_echoed_is_no_signal() {
    let scene = Scene::with_tasks(1);
    let prompt = scene.start(SESSION).stdout;
    scene
        .stop()
        .says(&format!("You told me:\n\n{prompt}\n"))
        .blocks("open_work");
    let fed = scene.stop().blocks("open_work");
    scene.stop().says(&fed).blocks("open_work");
}
