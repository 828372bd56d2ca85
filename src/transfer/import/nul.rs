//! U+0000 in the texts of an import, which PostgreSQL cannot hold and no chat shows. U+FFFD takes
//! its place, as in what the platform sends, and the summary counts it.

use chatkeep_core::message::{EarlierText, EarlierTexts};
use chatkeep_store::{ImportedMessage, ImportedPerson};
use serde_json::Value;

use super::Summary;

/// Escape of U+0000 in JSON, which has no other form.
const ESCAPE: &str = "\\u0000";

/// Puts U+FFFD in place of each U+0000. Returns true if there was any.
pub(super) fn replace_nul(text: &mut String) -> bool {
    let found = text.contains('\0');
    if found {
        *text = text.replace('\0', "\u{fffd}");
    }
    found
}

impl Summary {
    /// Makes a text storable, and counts it if it was not.
    pub(super) fn make_storable(&mut self, text: &mut String) {
        self.replaced += u64::from(replace_nul(text));
    }

    /// Makes the texts of a message and of its sender storable, and counts those that were not: the
    /// content of a message as one, each of its earlier texts as one, and a name once.
    pub(super) fn make_message_storable(
        &mut self,
        message: &mut ImportedMessage,
        person: Option<&mut ImportedPerson>,
    ) {
        if let Some(content) = &mut message.content {
            self.replaced += u64::from(replace_in_json(content));
        }
        self.make_earlier_texts_storable(&mut message.earlier_texts);
        let Some(person) = person else { return };
        let is_new = !self.people.contains_key(&person.id);
        for text in [&mut person.display_name, &mut person.picture_url].into_iter().flatten() {
            self.replaced += u64::from(replace_nul(text) && is_new);
        }
    }

    fn make_earlier_texts_storable(&mut self, texts: &mut EarlierTexts) {
        let mut storable = |mut text: EarlierText| {
            self.replaced += u64::from(replace_in_json(&mut text.content));
            text
        };
        *texts = std::mem::take(texts).into_iter().map(&mut storable).collect();
    }
}

/// Does the same in the strings of JSON.
fn replace_in_json(json: &mut String) -> bool {
    if !json.contains(ESCAPE) {
        return false;
    }
    let Ok(mut value) = serde_json::from_str(json) else { return false };
    let found = replace_in_value(&mut value);
    if found {
        *json = value.to_string();
    }
    found
}

fn replace_in_value(value: &mut Value) -> bool {
    let each = |found: bool, value| replace_in_value(value) || found;
    match value {
        Value::String(text) => replace_nul(text),
        Value::Array(items) => items.iter_mut().fold(false, each),
        // The names of a content's members are ours.
        Value::Object(members) => members.values_mut().fold(false, each),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_json_are_storable_and_all_else_stays() {
        let mut json = r#"{"type":"x","a":["1\u00002",{"b":"\u0000"}],"n":1.5}"#.to_owned();
        assert!(replace_in_json(&mut json));
        assert_eq!(json, "{\"type\":\"x\",\"a\":[\"1\u{fffd}2\",{\"b\":\"\u{fffd}\"}],\"n\":1.5}");
        // A backslash and digits.
        let mut json = r#"{"text":"\\u0000"}"#.to_owned();
        assert!(!replace_in_json(&mut json) && json == r#"{"text":"\\u0000"}"#);
    }
}
