//! One line of the file, taken apart and put together again without touching a byte that nobody
//! asked to change: foreign keys, their order, spacing, escapes and number formats all stay.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// A change of one top-level key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The key and its new value, as JSON.
    Set(&'static str, String),
    Remove(&'static str),
}

impl Edit {
    pub fn text(key: &'static str, value: &str) -> Edit {
        Edit::Set(key, serde_json::Value::from(value).to_string())
    }
}

/// A JSON object as written, cut into its members.
pub struct Line<'a> {
    /// Everything up to and including the opening brace.
    head: &'a str,
    members: Vec<Member<'a>>,
    /// Everything after the last value.
    tail: &'a str,
}

struct Member<'a> {
    key: Cow<'a, str>,
    /// Everything between the previous value, or the opening brace, and this value: the comma,
    /// the key as it was written, the colon, and the space around them.
    lead: Cow<'a, str>,
    value: Cow<'a, str>,
}

impl<'a> Line<'a> {
    pub fn parse(text: &'a str) -> Result<Line<'a>, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let values = deserializer.deserialize_map(Members)?;
        deserializer.end()?;
        let mut end = text.find('{').map_or(text.len(), |brace| brace + 1);
        let head = &text[..end];
        let mut members = Vec::with_capacity(values.len());
        for (key, raw) in values {
            // The value is a slice of the text, so its place is the distance between the two.
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            members.push(Member {
                key,
                lead: Cow::Borrowed(&text[end..start]),
                value: Cow::Borrowed(raw.get()),
            });
            end = start + raw.get().len();
        }
        Ok(Line {
            head,
            members,
            tail: &text[end..],
        })
    }

    /// A key's value as JSON. Of several the last counts, as it does for bd.
    pub fn value(&self, key: &str) -> Option<&str> {
        let member = self.members.iter().rev().find(|member| member.key == key);
        member.map(|member| &*member.value)
    }

    /// A key's value if it is a string.
    pub fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.value(key)?).ok()
    }

    pub fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Set(key, value) => self.set(key, value),
            Edit::Remove(key) => self.remove(key),
        }
    }

    fn set(&mut self, key: &'static str, value: &str) {
        let mut members = self.members.iter_mut().rev();
        if let Some(member) = members.find(|member| member.key == key) {
            member.value = Cow::Owned(value.to_owned());
            return;
        }
        let comma = if self.members.is_empty() { "" } else { "," };
        self.members.push(Member {
            key: Cow::Borrowed(key),
            lead: Cow::Owned(format!("{comma}\"{key}\":")),
            value: Cow::Owned(value.to_owned()),
        });
    }

    fn remove(&mut self, key: &str) {
        self.members.retain(|member| member.key != key);
        // Whatever has moved to the front brought the comma that was before it.
        if let Some(first) = self.members.first_mut()
            && let Some(rest) = first.lead.trim_start().strip_prefix(',')
        {
            first.lead = Cow::Owned(rest.to_owned());
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.head)?;
        for member in &self.members {
            f.write_str(&member.lead)?;
            f.write_str(&member.value)?;
        }
        f.write_str(self.tail)
    }
}

/// Reads an object as its members in order, values uninterpreted.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
            members.push((key.0, value));
        }
        Ok(members)
    }
}

#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, edits: &[Edit]) -> String {
        let mut line = Line::parse(text).unwrap();
        for edit in edits {
            line.apply(edit);
        }
        line.to_string()
    }

    #[test]
    fn only_the_value_of_a_set_key_changes() {
        let text =
            "  { \"id\" : \"a-1\",\t\"status\" :\"open\" , \"n\": 1.50e+3,\"u\":\"\\u00e9\\/\" }  ";
        assert_eq!(
            edited(text, &[Edit::text("status", "closed")]),
            "  { \"id\" : \"a-1\",\t\"status\" :\"closed\" , \"n\": 1.50e+3,\"u\":\"\\u00e9\\/\" }  ",
        );
    }

    #[test]
    fn a_new_key_goes_before_the_closing_brace() {
        let set = [Edit::text("k", "v\n\"")];
        assert_eq!(edited(r#"{"a":1 }"#, &set), r#"{"a":1,"k":"v\n\"" }"#);
        assert_eq!(edited("{ }", &set), r#"{"k":"v\n\"" }"#);
    }

    #[test]
    fn a_key_is_removed_from_the_front_the_middle_and_the_end() {
        let remove = |key| [Edit::Remove(key)];
        let text = r#"{ "a":1, "b":[2,{"a":3}] ,"c":"," }"#;
        assert_eq!(
            edited(text, &remove("a")),
            r#"{ "b":[2,{"a":3}] ,"c":"," }"#
        );
        assert_eq!(edited(text, &remove("b")), r#"{ "a":1 ,"c":"," }"#);
        assert_eq!(edited(text, &remove("c")), r#"{ "a":1, "b":[2,{"a":3}] }"#);
        assert_eq!(edited(text, &remove("d")), text);
        let all = [Edit::Remove("a"), Edit::Remove("b"), Edit::Remove("c")];
        assert_eq!(edited(text, &all), "{ }");
        let then_one = [all.as_slice(), &[Edit::text("x", "y")]].concat();
        assert_eq!(edited(text, &then_one), r#"{"x":"y" }"#);
    }

    #[test]
    fn an_escaped_key_is_the_same_key() {
        let text = r#"{"\u0073tatus":"open","a":1}"#;
        assert_eq!(
            edited(text, &[Edit::text("status", "closed")]),
            r#"{"\u0073tatus":"closed","a":1}"#,
        );
        assert_eq!(edited(text, &[Edit::Remove("status")]), r#"{"a":1}"#);
    }

    #[test]
    fn of_several_equal_keys_the_last_is_set_and_all_are_removed() {
        let text = r#"{"k":1,"a":2,"k":3}"#;
        assert_eq!(
            edited(text, &[Edit::text("k", "x")]),
            r#"{"k":1,"a":2,"k":"x"}"#
        );
        assert_eq!(edited(text, &[Edit::Remove("k")]), r#"{"a":2}"#);
    }
}
