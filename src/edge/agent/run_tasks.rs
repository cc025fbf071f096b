//! The file behind `/run-tasks` in Claude Code. The prompt hook has armed the run before this is
//! expanded, so no id is on its line, and a hook that is not wired shows at once. The model cannot
//! call it by itself: nothing would be armed by that.

/// A program that the agent would not call.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{program}` has a control character in its path, which Claude Code runs no command with")]
pub struct Unusable {
    program: String,
}

const HEAD: &str = "---\ndescription: Work through an epic until the tracker says it is done\n\
    argument-hint: EPIC\ndisable-model-invocation: true\nallowed-tools:\n  - ";
const MIDDLE: &str = "\n---\n";
const ARMED: &str = "prompt --armed";

/// The file's text.
pub fn text(program: &str) -> Result<String, Unusable> {
    if program.chars().any(char::is_control) {
        let program = program.escape_debug().to_string();
        return Err(Unusable { program });
    }
    // A shell's word on every system: the agent runs such lines with bash, on Windows too.
    let quoted = program
        .replace('\'', "'\\''")
        // `$0` and `$ARGUMENTS` would be filled in; quotes between keep the two apart.
        .replace('$', "$''");
    let line = format!("'{quoted}' {ARMED}");
    // A rule ends at the first closing parenthesis, however it is escaped.
    let rule = format!("Bash({})", line.replace(['(', ')'], "*"));
    // JSON is YAML, and a text in it needs no other care.
    let rule = serde_json::Value::from(rule).to_string();
    let body = if line.contains('`') {
        format!("```!\n{line}\n```\n")
    } else {
        format!("!`{line}`\n")
    };
    Ok(format!("{HEAD}{rule}{MIDDLE}{body}"))
}

/// Whether we wrote it, if perhaps for another program.
pub fn is_ours(text: &str) -> bool {
    let Some((rule, body)) = text
        .strip_prefix(HEAD)
        .and_then(|rest| rest.split_once(MIDDLE))
    else {
        return false;
    };
    let is_call = |line: &str| line.contains(&format!("' {ARMED}"));
    rule.starts_with("\"Bash('")
        && is_call(rule)
        && is_call(body)
        && !rule.contains('\n')
        && body
            .lines()
            .all(|line| is_call(line) || line.starts_with("```"))
}
