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

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule and the body for a program. Claude Code 2.1.327 and 2.1.197 have run each of them.
    fn parts(program: &str) -> (String, String) {
        let text = text(program).unwrap();
        assert!(is_ours(&text), "{text}");
        let (rule, body) = text.strip_prefix(HEAD).unwrap().split_once(MIDDLE).unwrap();
        (rule.to_owned(), body.to_owned())
    }

    #[track_caller]
    fn is_written(program: &str, rule: &str, body: &str) {
        assert_eq!(parts(program), (rule.to_owned(), body.to_owned()));
    }

    #[test]
    fn any_path_is_written_as_the_agent_takes_it() {
        is_written(
            "/opt/my tools/beadlock",
            r#""Bash('/opt/my tools/beadlock' prompt --armed)""#,
            "!`'/opt/my tools/beadlock' prompt --armed`\n",
        );
        is_written(
            "/it's/b",
            r#""Bash('/it'\\''s/b' prompt --armed)""#,
            "!`'/it'\\''s/b' prompt --armed`\n",
        );
        is_written(
            "C:\\Program Files (x86)\\b.exe",
            r#""Bash('C:\\Program Files *x86*\\b.exe' prompt --armed)""#,
            "!`'C:\\Program Files (x86)\\b.exe' prompt --armed`\n",
        );
        is_written(
            "/a $0 $ARGUMENTS/b",
            r#""Bash('/a $''0 $''ARGUMENTS/b' prompt --armed)""#,
            "!`'/a $''0 $''ARGUMENTS/b' prompt --armed`\n",
        );
        is_written(
            "/a`b \"c\"",
            r#""Bash('/a`b \"c\"' prompt --armed)""#,
            "```!\n'/a`b \"c\"' prompt --armed\n```\n",
        );
    }

    #[test]
    fn other_peoples_commands_are_not_ours() {
        let ours = text("/b").unwrap();
        assert!(!is_ours(""));
        assert!(!is_ours("!`beadlock prompt --armed`\n"));
        assert!(!is_ours(&format!("{ours}And be quick.\n")));
        assert!(!is_ours(&ours.replace("EPIC", "ID")));
        assert!(text("/a\u{7}/b").is_err());
    }
}
