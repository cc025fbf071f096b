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
fn an_item_that_begins_with_a_blank_line_ends_with_the_next() {
    said(&["-\n\n    <code>\n@"]);
    shown(&["-\n\n<b>\n@"]);
}

#[test]
fn an_items_contents_begin_behind_its_marker() {
    // With its text, ...
    said(&[
        "-  <b>\n  @",
        "- a\n    ```\n    x\n    ```\n@",
        "a\n- b\n    ```\n    x\n    ```\n@",
    ]);
    // ... or one column behind the marker, where there is none.
    said(&["-\n  <b>\n@", "-  \n  <b>\n@"]);
    shown(&["-\n <b>\n@"]);
}

#[test]
fn five_columns_behind_a_marker_code_begins() {
    ends_a_line(&["- @", "-    @", "12.    @", "-\t@", "-\t @", "  -\t @"]);
    shown(&["-     @", "12.     @", "-\t  @", "  - \t  @"]);
}

#[test]
fn only_a_one_and_text_begin_a_list_inside_a_paragraph() {
    shown(&["a `\n2. b\n@\n`", "a `\n*\n@\n`", "a `\n*   \n@\n`"]);
    said(&["a `\n1. b\n@\n`", "a `\n* b\n@\n`"]);
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
fn a_block_that_needs_no_text_above_it_ends_a_quote() {
    said(&[
        "> a\n```\nx\n```\n@",
        "> a\nb\n```\nx\n```\n@",
        "> a\n<!-- b -->\n@",
        "> a\nb\n<!-- c -->\n@",
        "> a\n<div>\n</div>\n\n@",
    ]);
}

#[test]
fn a_tag_alone_below_a_quote_leaves_the_next_paragraph_alone() {
    said(&["> a\n<b>\n\n@"]);
}

/// By the specification `2.` goes on with the quoted paragraph, to many renderers it begins a list.
#[test]
fn what_only_a_quote_could_tell_is_shown() {
    shown(&[
        "> a\n2. b\n   ```\n     ```\n\n@",
        "> a\n2. <div>\n@",
        "> a\n2. <!-- b -->\n@",
    ]);
}

#[test]
fn no_fence_has_backticks_behind_backticks() {
    said(&["```\n```a`\n```\n@"]);
}

#[test]
fn a_block_element_hides_what_follows_it() {
    shown(&[
        "<div>a\n@",
        "<div @",
        "</div> a\n@",
        "a\n<div/>\n@",
        "<hr/>a\n@",
    ]);
}

#[test]
fn half_a_block_element_is_text() {
    shown(&["<div/\n~~~\n\n@"]);
    said(&["<div/\n@", "<divan\n@"]);
}

#[test]
fn a_declaration_begins_with_a_letter() {
    shown(&["<!a\n@"]);
    said(&["<! a\n@", "<!1\n@"]);
}

#[test]
fn instructions_inside_a_paragraph_are_shown() {
    shown(&["a <?\n@\n?>", "a <!B\n@", "a <![CDATA[\n@\n]]>"]);
    said(&["a <?b?>\n\n@", "a `<?`\n@", "a \\<?\n@", "a <! b\n@"]);
}

#[test]
fn only_a_whole_tag_begins_an_element() {
    said(&[
        "a <code\n@",
        "a <code it's/>\n@",
        "a <1>\n\n@\n\n</1>",
        "a <->\n\n@\n\n</->",
    ]);
    shown(&["a <code it's>\n\n@", "a <b it's>\n\n@\n\n</b>"]);
}

#[test]
fn an_attribute_may_hold_a_tag() {
    shown(&[
        "a <img alt= '>\n@\n'>",
        "a <img alt ='>\n@\n'>",
        "a <img alt=b title=\"\n@\n\">",
    ]);
    // These are no attributes.
    said(&["a <b c=\"\"d=\"\n@\n\">", "<b c=>\n@"]);
}

#[test]
fn behind_a_backslash_nothing_begins() {
    said(&["\\`\n@\n`", "\\<code>\n@", "\\é `a`\n@"]);
    shown(&["\\a`\n@\n`", "\\\\<code>\n@", "\\é`\n@\n`"]);
}

#[test]
fn inline_code_lasts_until_its_last_backticks() {
    let ticks = "`".repeat(60);
    shown(&[&format!("a {ticks} b\n@\nc {ticks}")]);
    said(&["A few words, ``code`` and a few more.\n@"]);
}

#[test]
fn backticks_mean_nothing_to_html() {
    said(&["<div>`\n</div>\n\n@\n\n<div>`\n</div>"]);
    shown(&["<div> ` <code>\n` </div>\n\n@"]);
}

#[test]
fn a_comment_is_whole_whatever_is_inside() {
    said(&[
        "a <!-- ` -->\n@\n`",
        "a <!-- b `-->\n@\n`",
        "a <!-- <code> -->\n@",
        "Some words, and then <!-- b -->\n@",
    ]);
    shown(&["a<!-- b\n@\n-->"]);
}

#[test]
fn a_comment_that_its_paragraph_does_not_close_may_be_text() {
    shown(&["a <!-- <code>\n\n-->\n\n@"]);
}

#[test]
fn a_claim_right_behind_html_or_code_is_said() {
    ends_a_line(&["Done.<br>@", "<b>a</b>@", "`a`@"]);
}
