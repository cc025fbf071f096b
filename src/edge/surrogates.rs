//! Half a character in JSON. Programs that count in UTF-16 cut an emoji in two and send one half as an
//! escape (`\\ud83d`), for which Rust has no text: without this, everything beside it would be lost.

/// JSON in which each such half is the sign for an unknown character; nothing if there is none.
pub fn mended(json: &str) -> Option<String> {
    let mut mended = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let (length, is_half) = match (unit(escape), unit(escape.get(UNIT_BYTES..).unwrap_or(""))) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (2 * UNIT_BYTES, false),
            (Some(0xd800..=0xdfff), _) => (UNIT_BYTES, true),
            // A backslash and what it escapes; at the end of the text it stands alone.
            (_, _) => (
                escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(at, _)| at),
                false,
            ),
        };
        let (escape, after) = escape.split_at(length);
        mended.push_str(if is_half { UNKNOWN } else { escape });
        rest = after;
    }
    mended.push_str(rest);
    (mended != json).then_some(mended)
}

const UNIT_BYTES: usize = 6;
const UNKNOWN: &str = "\\ufffd";

/// The UTF-16 unit that `text` begins with as an escape.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_nothing_else_is() {
        for (json, expected) in [
            (r#""plain""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\u00e9 \n \é""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00x""#, Some(r#""\ufffdx""#)),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud8"#, None),
            ("\\", None),
        ] {
            assert_eq!(mended(json).as_deref(), expected, "{json}");
        }
    }
}
