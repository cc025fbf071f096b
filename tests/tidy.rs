//! Keeps the house: walls between the rooms, and every answer reached through the binary.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use beadlock::kernel::verdict::{Allow, Block};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path
                .strip_prefix(root())
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// Lines of code: comments and unit tests left out.
fn code(text: &str) -> Vec<(usize, &str)> {
    let body = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let numbered = (1..).zip(body.lines());
    numbered
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .collect()
}

/// A room, what it may not mention, and the remedy.
const WALLS: &[(&str, &[&str], &str)] = &[
    (
        "src/kernel/",
        &[
            "std::fs",
            "std::io",
            "std::env",
            "std::process",
            "std::net",
            "SystemTime",
            "Instant",
            "serde",
            "tokio",
            "crate::edge",
            "crate::config",
            "crate::survey",
            "crate::render",
            "crate::ground",
            "crate::arm",
            "crate::cli",
        ],
        "the kernel is pure: let an edge read it and hand it in as a reading",
    ),
    (
        "src/edge/",
        &[
            "crate::config",
            "crate::survey",
            "crate::render",
            "crate::ground",
            "crate::arm",
            "crate::cli",
            "kernel::judge",
            "kernel::brake",
        ],
        "an edge adapts one outside thing: move what decides or words into the kernel, a seam or cli",
    ),
    (
        "src/config/",
        &[
            "crate::edge",
            "crate::survey",
            "crate::render",
            "crate::ground",
            "crate::arm",
            "crate::cli",
        ],
        "config only turns files into a policy",
    ),
    (
        "src/survey",
        &["std::process", "stdout", "crate::cli", "crate::arm"],
        "a seam reads or words; children are edge::process's, stdout is cli's",
    ),
    (
        "src/render",
        &[
            "std::process",
            "stdout",
            "crate::cli",
            "crate::arm",
            "crate::survey",
        ],
        "a seam reads or words; children are edge::process's, stdout is cli's",
    ),
    (
        "src/ground",
        &["std::process", "stdout", "crate::cli", "crate::arm"],
        "a run's ground is found and opened here; what becomes of the run is others' business",
    ),
    (
        "src/arm",
        &["stdout", "crate::cli"],
        "arming is shared by commands and later by the driver; it prints nothing",
    ),
];

#[test]
fn the_walls_between_the_rooms_stand() {
    let mut breaches = Vec::new();
    for (name, text) in rust_files(&root().join("src")) {
        for (room, forbidden, remedy) in WALLS {
            if !name.starts_with(room) {
                continue;
            }
            for (number, line) in code(&text) {
                for word in *forbidden {
                    if line.contains(word) {
                        breaches.push(format!("{name}:{number}: `{word}`: {remedy}"));
                    }
                }
            }
        }
    }
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[test]
fn only_the_process_edge_starts_children() {
    let mut places = Vec::new();
    for (name, text) in rust_files(&root().join("src")) {
        let spawns = ["Command::new", "duct::", "use duct"];
        if code(&text)
            .iter()
            .any(|(_, line)| spawns.iter().any(|spawn| line.contains(spawn)))
        {
            places.push(name);
        }
    }
    assert_eq!(
        places,
        ["src/edge/process.rs"],
        "children are started by edge::process alone"
    );
}

#[test]
fn every_answer_is_reached_through_the_binary() {
    let tests: String = rust_files(&root().join("tests/commands"))
        .into_iter()
        .filter(|(name, _)| !name.ends_with("scene.rs"))
        .map(|(_, text)| text)
        .collect();
    let mut missing = Vec::new();
    for name in Block::NAMES {
        if !tests.contains(&format!("blocks(\"{name}\")")) {
            missing.push(format!("Block {name}"));
        }
    }
    for name in Allow::NAMES {
        let reached = [
            format!("allows(\"{name}\")"),
            format!("allows_silently(\"{name}\")"),
            format!("allows_untraced(\"{name}\")"),
            // Those that leave no record are known by what the person is told.
            format!("tells_of(\"{name}\""),
        ];
        if !reached.iter().any(|call| tests.contains(call)) {
            missing.push(format!("Allow {name}"));
        }
    }
    assert!(
        missing.is_empty(),
        "no whole-run test in tests/commands reaches: {missing:?}"
    );
}

#[test]
fn the_root_holds_what_the_architecture_lists() {
    let listed = [
        ".ci",
        ".git",
        ".gitignore",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "benches",
        "clippy.toml",
        "project.yaml.example",
        "prompts",
        "rustfmt.toml",
        "src",
        "target",
        "tests",
        ".cargo",
    ];
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = listed.contains(&name.as_str()) || name.starts_with("mutants.out");
        assert!(
            known,
            "`{name}` in the root: what it is for belongs in ARCHITECTURE.md and here"
        );
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for (name, text) in rust_files(&root().join("src")) {
        assert!(text.starts_with("//! "), "{name} opens without a word");
    }
}
