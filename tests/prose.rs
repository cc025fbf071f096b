//! What an agent's message says and what it only shows, where the borders are fine: the depth of
//! lists, the ends of quotes, HTML and code inside a paragraph.

use beadlock::kernel::signal::{Words, read};

const BLOCKED: &str = "<promise>BLOCKED</promise>";
const CLAIM: &str = "<promise>EPIC COMPLETE</promise>";

fn words(text: &str, tag: &str) -> Words {
    read(&text.replace('@', tag), &["EPIC COMPLETE".into()], "")
}

/// Each of the texts has a place `@` for a tag, which is not heard there.
#[track_caller]
fn shown(texts: &[&str]) {
    for text in texts {
        for tag in [BLOCKED, CLAIM] {
            assert_eq!(words(text, tag), Words::default(), "{text}");
        }
    }
}

/// Each of the texts has a place `@` for a tag, which is heard there.
#[track_caller]
fn said(texts: &[&str]) {
    for text in texts {
        assert!(words(text, BLOCKED).escalation.is_some(), "{text}");
    }
    ends_a_line(texts);
}

/// Each of the texts has a place `@` for a claim, which is heard there.
#[track_caller]
fn ends_a_line(texts: &[&str]) {
    for text in texts {
        assert!(words(text, CLAIM).claim.is_some(), "{text}");
    }
}

#[test]
fn below_a_list_that_is_too_deep_nobody_can_tell() {
    let item = |depth: usize, text: &str| format!("{}{text}", "- ".repeat(depth));
    ends_a_line(&[&item(32, "@")]);
    said(&[&item(32, "a\n@"), &item(32, "a\n\n@")]);
    shown(&[&item(33, "@"), &item(33, "> a\n@"), &item(33, "a\n\n@")]);
    // The lists around it count.
    let deeper = format!("{}\n{}", item(2, "a"), "    ");
    said(&[&(deeper.clone() + &item(30, "b\n\n@"))]);
    shown(&[&(deeper + &item(31, "b\n\n@"))]);
}

#[test]
fn half_a_block_element_is_text() {
    shown(&["<div/\n~~~\n\n@"]);
    said(&["<div/\n@", "<divan\n@"]);
}

#[test]
fn instructions_inside_a_paragraph_are_shown() {
    shown(&["a <?\n@\n?>", "a <!B\n@", "a <![CDATA[\n@\n]]>"]);
    said(&["a <?b?>\n\n@", "a `<?`\n@", "a \\<?\n@", "a <! b\n@"]);
}
