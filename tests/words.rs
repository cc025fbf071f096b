//! What an agent's last message is taken to say.

use std::time::{Duration, Instant};

use beadlock::kernel::signal::{Escalation, Words, read};
use proptest::prelude::*;

const BLOCKED: &str = "<promise>BLOCKED</promise>";
const CHECKPOINT: &str = "<promise>CONTEXT LIMIT - CHECKPOINT</promise>";
const CLAIM: &str = "<promise>EPIC COMPLETE</promise>";

const PROMPT: &str = "Work on epic a-1, task by task.\n\
    When no task is left, say <promise>EPIC COMPLETE</promise>\n\
    \n\
    If only a person can help:\n\
    <promise>BLOCKED - NEEDS USER</promise>\n\
    and the reason on the lines below it.\n";

fn words(text: &str) -> Words {
    let promises = ["ALL TASKS COMPLETE", "EPIC COMPLETE"].map(String::from);
    read(text, &promises, PROMPT)
}

fn escalates(text: &str) -> bool {
    words(text).escalation.is_some()
}

fn claims(text: &str) -> bool {
    words(text).claim.is_some()
}

/// Each of the texts has a place `@` for a tag; none of the tags is heard there.
#[track_caller]
fn says_nothing(texts: &[&str]) {
    for text in texts {
        for tag in [BLOCKED, CHECKPOINT, CLAIM] {
            let text = text.replace('@', tag);
            assert_eq!(words(&text), Words::default(), "{text}");
        }
    }
}

/// Each of the texts has a place `@` for a tag; each of the tags is heard there.
#[track_caller]
fn is_heard(texts: &[&str]) {
    for text in texts {
        assert!(escalates(&text.replace('@', BLOCKED)), "{text}");
        assert!(
            words(&text.replace('@', CHECKPOINT)).is_checkpoint,
            "{text}"
        );
        assert!(claims(&text.replace('@', CLAIM)), "{text}");
    }
}

#[test]
fn silence_says_nothing() {
    says_nothing(&["", "\n", "All is well.", "BLOCKED", "promise: BLOCKED"]);
}

#[test]
fn each_tag_has_its_meaning() {
    let escalation = |tag: &str| Words {
        escalation: Some(Escalation {
            tag: tag.into(),
            lines: vec![],
        }),
        ..Words::default()
    };
    let claim = |claim: &str| Words {
        claim: Some(claim.into()),
        ..Words::default()
    };
    let checkpoint = Words {
        is_checkpoint: true,
        ..Words::default()
    };
    for (said, meant) in [
        ("BLOCKED - NEEDS USER", escalation("BLOCKED - NEEDS USER")),
        ("BLOCKED", escalation("BLOCKED")),
        ("ESCALATE", escalation("ESCALATE")),
        ("CONTEXT LIMIT - CHECKPOINT", checkpoint),
        ("ALL TASKS COMPLETE", claim("ALL TASKS COMPLETE")),
        ("EPIC COMPLETE", claim("EPIC COMPLETE")),
        ("COMPLETE", Words::default()),
        ("NOT BLOCKED", Words::default()),
        ("BLOCKED-NEEDS USER", Words::default()),
        ("", Words::default()),
    ] {
        assert_eq!(
            words(&format!("<promise>{said}</promise>")),
            meant,
            "{said}"
        );
    }
}

#[test]
fn case_and_white_space_do_not_matter() {
    is_heard(&[
        "@",
        "  @",
        "   @  \t",
        "Hm.\n@",
        "Hm.\n\n@\n\nHm.",
        "\n\n@",
        "@\u{a0}",
    ]);
    assert!(escalates("<Promise>blocked</PROMISE>"));
    assert!(escalates(
        "<promise>\t Blocked  -\u{a0}needs   user </promise>"
    ));
    assert!(claims("<PROMISE> epic\tcomplete </promise>"));
}

#[test]
fn only_the_plain_tag_is_one() {
    says_nothing(&["@.", "[@]", "**@**", "\"@\"", "@ at last"]);
    for text in [
        "<promise>BLOCKED",
        "BLOCKED</promise>",
        "<promise\n>BLOCKED</promise>",
        "<promise>\nBLOCKED\n</promise>",
        "<promise class=x>BLOCKED</promise>",
        "<promises>BLOCKED</promises>",
        "<promise><promise>BLOCKED</promise></promise>",
        "&lt;promise&gt;BLOCKED&lt;/promise&gt;",
        "<prom\u{131}se>BLOCKED</promise>",
    ] {
        assert_eq!(words(text), Words::default(), "{text}");
    }
}

#[test]
fn a_tag_that_frees_is_the_whole_of_its_line() {
    for text in [
        "Done: @",
        "@ @",
        "@@",
        "`@",
        "- @",
        "1. @",
        "# @",
        "* @",
        "| @",
        "\u{200b}@",
        "@\u{200b}",
        "\u{feff}@",
        "Hm.\n\u{2060}@",
        "x\u{2028}@",
        "x\u{85}@",
        "x\u{c}@",
    ] {
        assert!(!escalates(&text.replace('@', BLOCKED)), "{text:?}");
        assert!(
            !words(&text.replace('@', CHECKPOINT)).is_checkpoint,
            "{text:?}"
        );
    }
}

#[test]
fn a_claim_may_end_a_line() {
    for text in [
        "All done: @",
        "- @",
        "1. Done. @  ",
        "# Result @",
        "All 3 of 3.@\nBye.",
    ] {
        assert!(claims(&text.replace('@', CLAIM)), "{text}");
    }
    assert!(!claims(
        "<promise>EPIC COMPLETE</promise> is what I would say."
    ));
}

#[test]
fn every_line_end_is_one() {
    is_heard(&["a\r\n@\r\nb", "a\r@\rb", "a\n\r@\n\rb", "\r\n\r\n@\r\n"]);
    says_nothing(&["```\r\n@\r\n```\r\n", "```\r@\r```", "    x\r\r    @"]);
}

#[test]
fn listing_a_tag_that_frees_makes_it_no_claim() {
    let listed: Vec<String> = [
        "blocked",
        "<promise>ESCALATE</promise>",
        "Context Limit - Checkpoint",
    ]
    .map(String::from)
    .to_vec();
    for tag in ["BLOCKED", "ESCALATE", "CONTEXT LIMIT - CHECKPOINT"] {
        let whole = read(&format!("<promise>{tag}</promise>"), &listed, "");
        assert!(whole.escalation.is_some() || whole.is_checkpoint, "{tag}");
        assert_eq!(whole.claim, None, "{tag}");
        let ending = read(&format!("So: <promise>{tag}</promise>"), &listed, "");
        assert_eq!(ending, Words::default(), "{tag}");
    }
}

#[test]
fn completion_promises_may_have_their_tag_around_them() {
    for listed in [
        "Ship  It",
        "<promise>Ship It</promise>",
        " <PROMISE> Ship\tIt </promise> ",
    ] {
        let words = read("<promise>SHIP IT</promise>", &[listed.into()], "");
        assert_eq!(words.claim.as_deref(), Some("Ship It"), "{listed}");
    }
    for listed in ["", " ", "<promise></promise>"] {
        let words = read("<promise> </promise>", &[listed.into()], "");
        assert_eq!(words.claim, None, "{listed:?}");
    }
}

#[test]
fn all_that_one_message_says_is_kept() {
    let text =
        format!("{CLAIM}\n\n{CHECKPOINT}\n\n<promise>ESCALATE</promise>\nWhy?\n\n{BLOCKED}\n");
    let lines = vec!["Why?".into(), BLOCKED.into()];
    let expected = Words {
        escalation: Some(Escalation {
            tag: "ESCALATE".into(),
            lines,
        }),
        is_checkpoint: true,
        claim: Some("EPIC COMPLETE".into()),
    };
    assert_eq!(words(&text), expected);
}

#[test]
fn of_two_claims_the_first_is_kept() {
    let text = format!("<promise>ALL TASKS COMPLETE</promise>\nand {CLAIM}");
    assert_eq!(words(&text).claim.as_deref(), Some("ALL TASKS COMPLETE"));
}

/// Too few words beside the tag to tell it by them alone.
#[test]
fn a_short_prompt_is_known_by_its_lines() {
    let prompt = format!("Stuck? Say:\n{BLOCKED}\nand why.");
    let heard = |text: &str| read(text, &[], &prompt).escalation.is_some();
    assert!(!heard(&format!("Stuck? Say:\n{BLOCKED}")));
    assert!(!heard(&format!("{BLOCKED}\nand why.")));
    assert!(heard(&format!("Say:\n{BLOCKED}\nNo key.")));
}

#[test]
fn five_lines_after_an_escalation_are_its_reason() {
    let long = "é".repeat(300);
    let text = format!("Before.\n{BLOCKED}\n\n a\x1b[31m\tb\x07 \r\n\x01\n{long}\n> c\nd\ne\nf\n");
    let lines = words(&text).escalation.unwrap().lines;
    assert_eq!(lines, ["a[31m b", &"é".repeat(200), "> c", "d", "e"]);
}

#[test]
fn fenced_code_is_not_said() {
    says_nothing(&[
        "```\n@\n```",
        "~~~\n@\n~~~",
        "```text\n@\n```",
        "~~~ a `b` c\n@\n~~~",
        "   ```\n@\n   ```",
        "        ```\n@\n        ```",
        "\t```\n@\n\t```",
        "Text\n```\n@\n```",
        "> quote\n```\n@\n\n@\n```",
        "- a\n  ```\n@\n  ```",
        "- ```\n@\n  ```",
        "1. 2) ```\n@",
        "\u{feff}```\n@\n```",
        // Unclosed.
        "```\n@",
        "```\na\n\n\n@\n\n",
        "````\n```\n@",
        "```\n~~~\n@",
        "~~~\n```\n@",
        "```\n``` x`\n@",
        "```\n    ```\n@",
        "```\n```\n```\n@",
        // Longer and shorter ones inside.
        "````md\n```sh\nx\n```\n@\n````",
        "`````\n````\n@\n````\n@\n`````",
        "~~~~\n~~~\n@\n~~~~",
    ]);
    is_heard(&[
        "```\nx\n```\n@",
        "```\nx\n`````  \t\n@",
        "````\n```\n````\n@",
        "~~~\n```\n~~~\n\n@",
        "  ```\n  x\n ```\n@",
        "- a\n\n    ```\n    x\n    ```\n\n@",
        "1. a\n   ```\n   x\n   ```\n2. b\n\n@",
        "``` a`b\n\n@",
        "``\n\n@",
        "> ```\n> x\n\n@",
    ]);
}

#[test]
fn fences_that_do_not_nest_hide_the_rest() {
    says_nothing(&[
        "```md\n```sh\nx\n```\n@\n```\n\n@",
        "- ```\n  x\n```\n@\n```\n@",
        "    ```\n    x\n```\n@",
    ]);
}

#[test]
fn indented_code_is_not_said() {
    says_nothing(&[
        "    @",
        "\t@",
        "  \t@",
        "a\n\n    x\n\n    @",
        "- a\n\n      @",
        "Text\n    @",
        "1. a\n\n    @",
    ]);
    assert!(!claims(&format!("    All done: {CLAIM}")));
    assert!(!claims(&format!("-      {CLAIM}")));
    is_heard(&["    x\n@", "\tx\n\n   @"]);
}

#[test]
fn inline_code_is_not_said() {
    says_nothing(&[
        "`@`",
        "``@``",
        "I'd say `@`",
        "`a\n@\nb`",
        "`` a ` b\n@\nc ``",
        "a `b\n@\nc` d",
        "# `x\n`a\n@\nb`",
        "\\` a `\n@\n`",
        "\\\\`a\n@\nb`",
        "a\n    b `\n@\n`",
        "- `a\n@\n`",
        "2. a\n3. `b\n@\n`",
    ]);
    assert!(!claims(&format!("Say `{CLAIM}\nor not`")));
    is_heard(&[
        "It's the ` key.\n@",
        "It's the ` key.\n\n@\n\n`",
        "a `b` c\n@",
        "``a`b`\n@\n`",
        "a `\n- b\n@\nc `",
        "a `\n# b\n@\nc `",
        "a `\n---\n@\nc `",
        "a `\n===\n@\nc `",
        "\\`\n@\n`",
    ]);
}

#[test]
fn quotes_are_not_said() {
    says_nothing(&[
        "> @",
        ">@",
        "   > @",
        "      > @",
        "> a\n> @",
        "> a\n@",
        ">\n@",
        "> a\nb\n@\n",
        "> a\n- b\n@",
        "> a\n    b\n@",
        "- > a\n@",
        "1. - > a\n   @",
        "- a\n\n  > b\n  @",
        "- a\n\n     > b\n@",
        "> > a\n@",
        "Text\n> a\n@",
    ]);
    is_heard(&[
        "> a\n\n@",
        "- > a\n\n@",
        "> a\n> \n \t\n@",
        "a > b\n@",
        "- > a\nb\n\nc\n\n```\nd\n```\n\n@",
    ]);
}

#[test]
fn comments_are_not_said() {
    says_nothing(&[
        "<!-- @ -->",
        "<!--\n@\n-->",
        "<!--\n\n@\n\n-->",
        "a <!-- b\n@\n-->",
        "a <!-- b\n\n@\n\n-->",
        "- <!--\n\n@\n\n-->",
        "<!-- a\n```\n-->\n```\n@\n```",
        // Unclosed.
        "<!--\n@",
        "<!-- a\n\n\n@",
        "a <!-- b\n\n@",
        "a <!--\n\n```mermaid\na --> b\n@\n```",
    ]);
    assert!(!claims(&format!("<!-- {CLAIM}")));
    is_heard(&[
        "<!-- a -->\n@",
        "a <!-- b -->\n@",
        "<!-->\n@",
        "a <!--\n--> b\n@",
        "<!--\n\n-->\n@",
        "`<!--`\n@",
        "```\n<!--\n```\n@",
        "<!-- ` -->\n@\n`",
    ]);
}

#[test]
fn html_around_it_shows_a_tag() {
    says_nothing(&[
        "<pre>@</pre>",
        "<pre>\n@\n</pre>",
        "<pre>\n\n@\n\n</pre>",
        "<PRE class=\"a\">\n@",
        "<code>\n@\n</code>",
        "a <code>b\n@\n</code>",
        "a <code>b\n\n@\n\n</code>",
        "<blockquote>\n@\n</blockquote>",
        "<blockquote>\n\n@\n\n</blockquote>",
        "<blockquote>\n\n@",
        "a <pre>\n\n@",
        "<details>\n<summary>Log</summary>\n\n@\n\n</details>",
        "<example>\n\n@\n\n</example>",
        "See <user_query> a\n\n@\n\n</user_query>",
        "<b><b>\n\n</b>\n\n@\n\n</b>",
        "<script>\n\n@\n</script>",
        "<?php\n\n@\n?>",
        "<!DOCTYPE\n@",
        "<![CDATA[\n\n@\n]]>",
        "a <img alt=\"\n@\n\">",
        "a <img alt = '>\n@\n'>",
    ]);
    assert!(!claims(&format!("<code>{CLAIM}")));
    assert!(!claims(&format!("<q>All done {CLAIM}\n</q>")));
    is_heard(&[
        "<pre>\nx\n</pre>\n@",
        "<pre>\n```\n</pre>\n\n@",
        "a <code>b</code>\n@",
        "<div>\n</div>\n\n@",
        "<br>\n\n@",
        "Vec<String> and a <b && b> c\n@",
        "See <https://example.invalid/a>.\n@",
        "a <b it's > c\n@\n'",
        "Say <promise> and mean it.\n\n@",
        "`<code>`\n@",
    ]);
}

/// Texts that pulldown-cmark 0.13.6 renders as code, quote or HTML, found by comparing with it.
#[test]
fn what_a_renderer_shows_is_not_said() {
    says_nothing(&[
        "a\n-\n<b>\n@",
        "-\n</pre>\n@",
        "-\n\n  <div>\n@",
        "1.      \n\n   ```\n     ```\n@",
        "- </div>a\n```\n\n@",
        "===\n<b>\n```\n\n@",
        "1. ---\n</pre> ```\n2. \n@\na ```",
        "1. <!-- a\n~~~\n\n-->\n@",
        "* <pre>a\n</pre>\n@",
        "a `\n     ```\n     ```\n@\n`",
        "a `\n@\n     ```\nb `",
        "     ```\n` a\n     ```\n@\n`",
        "a <b c=\"<b c=\" - >\n@\n\">",
        "> -\n-\n\n    ```a\n   ```\n\n@",
        "> <pre>\n</pre>\n<!-->\n@",
        "> a\n    ~~~\n    ~~~\n@",
        "- > ```\na\n\n  <div>\n@",
        "> <div>a\n* \n\n    b\n</pre>\n@",
    ]);
}

#[test]
fn our_own_prompt_is_not_the_agents_word() {
    let text = format!("I was told:\n{PROMPT}\nSo I go on.");
    assert_eq!(words(&text), Words::default());
    for text in [
        "If only a person can help:\n\n  <promise>BLOCKED - NEEDS USER</promise>",
        "<promise>BLOCKED - NEEDS USER</promise>\n\n and the reason on the lines below it.",
        "- When no task is left, say <promise>EPIC COMPLETE</promise>",
        "Rule: When no task is left, say <promise>EPIC COMPLETE</promise>\nI know.",
    ] {
        assert_eq!(words(text), Words::default(), "{text}");
    }
    for text in [
        "<promise>BLOCKED - NEEDS USER</promise>",
        "If only a person can help:\nNo key.\n<promise>BLOCKED - NEEDS USER</promise>",
        "<promise>BLOCKED - NEEDS USER</promise>\nNo key.",
    ] {
        assert!(escalates(text), "{text}");
    }
    assert!(claims("No task is left: <promise>EPIC COMPLETE</promise>"));
}

#[test]
fn our_own_prompt_is_not_the_agents_word_however_its_lines_are_broken() {
    let prompt = include_str!("../prompts/orchestration.tera");
    let blocked = "<promise>BLOCKED - NEEDS USER</promise>";
    let heard = |text: &str| read(text, &["EPIC COMPLETE".into()], prompt);
    for text in [
        format!("If only a person can\nhelp, put\n{blocked}\non its own line, and"),
        format!("> said\n\nif only a person can help, put\n\n{blocked}\n\nSo I go on."),
        format!("The rule:\n{blocked}\non its own line, and the reason below it. Not yet."),
        format!(
            "{blocked} on its own\nline. If your context runs out, commit, then put\n{CHECKPOINT}\n"
        ),
    ] {
        assert_eq!(heard(&text), Words::default(), "{text}");
    }
    for text in [
        format!("The key is missing, so I put\n{blocked}\nWhich key?"),
        format!("{blocked}\non its way to CI the build lost its key"),
        format!("Only a person can help. Put it in\n{blocked}\n"),
    ] {
        assert!(heard(&text).escalation.is_some(), "{text}");
    }
}

#[test]
fn a_denied_tag_is_not_said() {
    says_nothing(&[
        "I go on, instead of\n@",
        "I work around it rather than\n@",
        "There is no need for\n@",
        "There's no need for:\n\n@",
        "I will not output:\n@",
        "I will not output\n\n@",
        "I will not say\n@",
        "Do not output the following:\n@",
        "Do not print this:\n@",
        "do NOT print this:\n\n@",
        "Never say the following:\n@",
        "I will never even say:\n@",
        "I won't say it until the last task is closed:\n@",
        "I won’t emit the requested tag:\n@",
        "I am not going to declare:\n@",
        "I am not allowed to say:\n@",
        "I must not use this line:\n@",
        "I must not write the following:\n@",
        "I can't honestly say:\n@",
        "I refuse to declare:\n@",
        "I go on without saying:\n@",
        "I go on instead of saying\n@",
        "I go on rather than printing this:\n@",
        "Don't reply with:\n@",
        "I will not output the tag. For reference:\n@",
        "Under no circumstances print\n@",
        "It works now, and I will not say:\n@",
        "It does not hang any more. I will not say:\n@",
        "It would be wrong to say:\n@",
        "This must not be printed:\n@",
    ]);
    assert!(!escalates(&format!(
        "I will not say that I am blocked.\n\n{BLOCKED}"
    )));
    assert!(!escalates(&format!("I will not use the tag:\n\n{BLOCKED}")));
    for text in [
        "I can't say @",
        "I can't say:\n- @",
        "It is too early, so I do not claim @",
        "I can't honestly claim @",
        "It would be wrong to say @",
        "Two tests fail, I can not yet declare @",
    ] {
        assert!(!claims(&text.replace('@', CLAIM)), "{text}");
    }
}

#[test]
fn other_bad_news_denies_nothing() {
    is_heard(&[
        "I cannot go on without credentials:\n@",
        "I cannot go on, so I say:\n@",
        "I cannot go on and must output:\n@",
        "I can't continue, I say\n@",
        "I cannot use the API without a key:\n@",
        "The API is down, I can't use it.\n\n@",
        "The API is down, I can't use it:\n@",
        "No task is left to do. I say:\n@",
        "I can't claim any task: all wait for a-7.\n\n@",
        "I can't claim any:\n@",
        "I cannot see the build output.\n\n@",
        "There is no output:\n@",
        "The command hangs without output:\n@",
        "I can't reach postgres:\n@",
        "I can't say whether the schema is right:\n@",
        "I will not say more.\nHere it is:\n@",
        "I do not say this lightly:\n@",
        "The disk is full, so I can't write:\n@",
        "I am not allowed to write:\n@",
        "I can't add the tag: the remote refuses it.\n\n@",
    ]);
    assert!(escalates(&format!(
        "I can't say why I am blocked:\n{BLOCKED}"
    )));
}

/// A tag that frees is in doubt here, and doubt lets go.
#[test]
fn a_negation_that_is_not_the_tags_denies_nothing() {
    is_heard(&[
        "Without the key I can't go on and have to say:\n@",
        "I don't know what else to say:\n@",
        "I don't know what to say:\n@",
        "I did not want to say this\n@",
        "I did not say this before:\n@",
        "I have not said this yet:\n@",
        "I couldn't say it earlier:\n@",
        "I can't go on without saying:\n@",
        "I cannot avoid saying:\n@",
        "I can no longer avoid saying:\n@",
        "I can't help saying\n@",
        "I have no choice but to say:\n@",
        "Nothing works, not even the build. I say:\n@",
        "I don't do this gladly, I have to output:\n@",
        "You asked me not to guess. To say it plainly:\n@",
        "Not only do I say this:\n@",
        "I do not think I should send:\n@",
        "The server does not print the token that I need.\n\n@",
        "The build does not print the tag:\n@",
        "The secret must not be printed.\n\n@",
        "I can't output it: stdout is closed.\n\n@",
        "I can't promise anything until the key is there:\n@",
        "I cannot but say:\n@",
        "I can't say this clearly enough:\n@",
        "I don't like to say this:\n@",
        "It doesn't say this:\n@",
        "I must not only say:\n@",
    ]);
}

#[test]
fn time_is_linear_in_the_length() {
    for part in [
        "`",
        "` ",
        "`` ` ",
        "a`\n",
        "~",
        "<",
        "<a",
        "<a ",
        "<!--",
        "a <!--\n\n",
        "<?",
        "\n",
        "\r",
        " ",
        "\t",
        "x",
        ">",
        "> ",
        "- ",
        "- x\n",
        "1. ",
        "* * x ",
        "\\",
        "\\`",
        "=",
        "<b>",
        "</b>",
        "<b></b>",
        "<a b=\"",
        "<a b='<a b=\"",
        "<a=\"<a\" ",
        "```\n",
        "```a\n",
        "<pre>\n",
        "<div>\n",
        "<promise>",
        "</promise>",
        "<promise></promise>",
        "<promise>BLOCKED</promise>\n",
        "<promise>BLOCKED</promise>\n\n\n\n",
        "not say ",
        "é",
        "\u{feff}",
    ] {
        // One text that begins with it, one that only goes on with it.
        for lead in ["", "x "] {
            let text = format!("{lead}{}{BLOCKED}", part.repeat(400_000 / part.len()));
            let clock = Instant::now();
            words(&text);
            // A few times what it takes unoptimized, far less than anything quadratic would.
            let spent = clock.elapsed();
            assert!(spent < Duration::from_secs(5), "{part:?}: {spent:?}");
        }
    }
}

/// Pieces that mean something to the reader, and some that do not.
fn piece() -> impl Strategy<Value = String> {
    let pieces = vec![
        "```",
        "~~~",
        "````",
        "`",
        "``",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "    ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        "<div>",
        "# ",
        "---",
        "===",
        "\\",
        "<b a=\"",
        "\">",
        BLOCKED,
        CHECKPOINT,
        CLAIM,
        "I will not say",
        ": ",
        "word ",
        "é",
        "\u{feff}",
        "\u{200b}",
    ];
    prop_oneof![
        4 => prop::sample::select(pieces).prop_map(String::from),
        1 => any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_is_too_odd(text in text(), prompt in text(), promise in text()) {
        read(&text, &[promise], &prompt);
    }

    #[test]
    fn nothing_inside_a_fence_is_said(text in text(), character in "[`~]", indent in " {0,9}") {
        // A fence that is longer than any inside it.
        let fence = character.repeat(3 + text.matches(&character).count());
        let fenced = format!("{indent}{fence}\n{text}\n{indent}{fence}\n");
        prop_assert_eq!(words(&fenced), Words::default());
    }

    #[test]
    fn nothing_inside_an_unclosed_comment_is_said(text in text()) {
        let text = format!("<!--\n{}", text.replace("-->", ""));
        prop_assert_eq!(words(&text), Words::default());
    }

    /// Without an opening fence, comment or element, and without a word that denies it.
    #[test]
    fn a_tag_between_blank_lines_is_heard(text in text()) {
        let mut harmless = text.replace("I will not say", "").replace('<', "");
        while harmless.contains("```") || harmless.contains("~~~") {
            harmless = harmless.replace("```", "").replace("~~~", "");
        }
        let text = format!("{harmless}\n\n{BLOCKED}\n\n");
        prop_assert!(escalates(&text), "{:?}", text);
    }
}
