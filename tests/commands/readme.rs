//! The README's commands, typed as they stand there, and what it shows of their output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;

use crate::scene::Scene;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Commands that take too long here, and the file that has them typed in the project's own check.
const ELSEWHERE: [(&str, &str); 2] = [
    ("cargo test --locked", ".ci/run"),
    ("cargo install --path . --locked", ".ci/run"),
];

/// Every block of code with its language, in order.
fn blocks() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let mut blocks = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in text.lines() {
        block = match (block, line.strip_prefix("```")) {
            (None, Some(language)) => Some((language.to_owned(), String::new())),
            (None, None) => None,
            (Some(whole), Some(_)) => {
                blocks.push(whole);
                None
            }
            (Some((language, text)), None) => Some((language, format!("{text}{line}\n"))),
        };
    }
    blocks
}

/// A command without what explains it.
fn bare(line: &str) -> &str {
    line.split("    #").next().unwrap_or(line).trim()
}

fn shell(scene: &Scene, dir: &Path, script: &str) -> Output {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_beadlock"));
    let ours = binary.parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path = [ours.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let mut sh = scene.command("sh", dir);
    sh.args(["-eu", "-c", script])
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("BEADLOCK_TRY_BIN", ours)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_command_of_the_readme_works() {
    let scene = Scene::repository();
    let mut typed = 0;
    for (language, block) in blocks() {
        match language.as_str() {
            "sh" => typed += works(&scene, &block),
            // Typed into the agent, which then does a little and wants to stop.
            "text" => {
                scene.prompt("p1", block.trim()).tells();
                scene
                    .stop()
                    .set("prompt_id", json!("p1"))
                    .blocks("open_work");
            }
            "console" => {}
            _ => panic!("nobody tries a block of `{language}`"),
        }
    }
    assert!(typed > 10, "{typed}");
}

/// Types the block, and answers how many commands were typed.
fn works(scene: &Scene, block: &str) -> usize {
    let mut script = String::new();
    for line in block.lines() {
        let elsewhere = ELSEWHERE.iter().find(|(command, _)| *command == bare(line));
        if let Some((command, file)) = elsewhere {
            let text = fs::read_to_string(root().join(file)).unwrap();
            let is_typed = text.lines().any(|line| line.trim() == *command);
            assert!(is_typed, "{file} does not type `{command}`");
        } else {
            script.push_str(line);
            script.push('\n');
        }
    }
    // The clone's own scripts are called from the clone.
    let is_of_the_clone = script.starts_with("sh tests/");
    let dir = if is_of_the_clone { root() } else { &scene.root };
    let output = shell(scene, dir, &script);
    assert!(output.status.success(), "{script}\n{}", said(&output));
    block.lines().count()
}

#[test]
fn what_the_readme_shows_is_what_is_printed() {
    let scene = Scene::repository();
    let blocks = blocks();
    let shown: Vec<&String> = blocks
        .iter()
        .filter(|(language, _)| language == "console")
        .map(|(_, block)| block)
        .collect();
    assert!(!shown.is_empty());
    for block in shown {
        let (command, shown) = block.split_once('\n').unwrap();
        let command = command.strip_prefix("$ ").unwrap();
        let output = shell(&scene, root(), &format!("{command} 2>&1"));
        assert!(output.status.success(), "{}", said(&output));
        let printed = String::from_utf8_lossy(&output.stdout);
        let mut rest: &str = &printed;
        for part in shown.split('…') {
            let part = part.trim_matches('\n');
            let at = rest.find(part);
            let at = at.unwrap_or_else(|| panic!("{part}\nis not in what is left of\n{printed}"));
            rest = &rest[at + part.len()..];
        }
    }
}
