//! LINE's rules for messages to send.

use serde_json::Value;

use super::refusal::{Detail, Refusal};
use crate::log::Rule;

/// Messages in one request.
const MAX_MESSAGES: usize = 5;
/// UTF-16 units of a text.
const MAX_UNITS: usize = 5_000;

/// Types of messages and the fields that each must have.
const TYPES: [(&str, &[&str]); 11] = [
    ("text", &["text"]),
    ("textV2", &["text"]),
    ("sticker", &["packageId", "stickerId"]),
    ("image", &["originalContentUrl", "previewImageUrl"]),
    ("video", &["originalContentUrl", "previewImageUrl"]),
    ("audio", &["originalContentUrl", "duration"]),
    ("location", &["title", "address", "latitude", "longitude"]),
    ("imagemap", &["baseUrl", "altText", "baseSize", "actions"]),
    ("template", &["altText", "template"]),
    ("flex", &["altText", "contents"]),
    ("coupon", &["couponId"]),
];

type Wrong = (Rule, Detail);

/// Returns the messages of a request body, if all are valid.
pub(super) fn messages(body: &Value) -> Result<Vec<Value>, Refusal> {
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return Err(Refusal::body(vec![wrong(Rule::MessageCount, "messages", "May not be empty")]));
    };
    if messages.len() > MAX_MESSAGES {
        let size = wrong(Rule::MessageCount, "messages", "Size must be between 1 and 5");
        return Err(Refusal::body(vec![size]));
    }
    let wrong: Vec<Wrong> = messages.iter().enumerate().flat_map(message).collect();
    if wrong.is_empty() { Ok(messages.clone()) } else { Err(Refusal::body(wrong)) }
}

/// Returns a required field of a request body, a text that is not empty.
pub(super) fn required<'a>(body: &'a Value, field: &str, rule: Rule) -> Result<&'a str, Refusal> {
    let value = body[field].as_str().filter(|value| !value.is_empty());
    value.ok_or_else(|| Refusal::body(vec![wrong(rule, field, "May not be empty")]))
}

fn message((index, message): (usize, &Value)) -> Vec<Wrong> {
    let place = format!("messages[{index}]");
    let kind = message["type"].as_str();
    let Some((kind, fields)) = TYPES.iter().find(|(name, _)| Some(*name) == kind) else {
        let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        let says = format!("Must be one of the following values: [{}]", names.join(", "));
        return vec![wrong(Rule::MessageType, &format!("{place}.type"), &says)];
    };
    fields.iter().filter_map(|field| check(&place, kind, field, &message[field])).collect()
}

fn check(place: &str, kind: &str, field: &str, value: &Value) -> Option<Wrong> {
    let property = format!("{place}.{field}");
    let is_text = field == "text";
    let rule = if is_text { Rule::TextLength } else { Rule::MessageFields };
    if value.is_null() || value.as_str() == Some("") {
        return Some(wrong(rule, &property, "May not be empty"));
    }
    if is_text {
        let Some(text) = value.as_str() else {
            return Some(wrong(Rule::MessageFields, &property, "Must be a string"));
        };
        let too_long = text.encode_utf16().count() > MAX_UNITS;
        return too_long.then(|| wrong(rule, &property, "Length must be between 0 and 5000"));
    }
    let is_address = field.ends_with("Url") && kind != "imagemap";
    if is_address && !value.as_str().is_some_and(|url| url.starts_with("https://")) {
        return Some(wrong(rule, &property, "Must be a valid HTTPS URL"));
    }
    None
}

fn wrong(rule: Rule, property: &str, message: &str) -> Wrong {
    (rule, Detail { message: message.to_owned(), property: property.to_owned() })
}
