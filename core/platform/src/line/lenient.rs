//! Lenient reading of LINE's JSON: each field by itself, so that one of a type that this version does
//! not expect costs no other. Most of all not those that decide whether content has to go: whose an
//! event is, and which message it is about.

use std::collections::BTreeMap;

use chatkeep_core::id::{MessageId, UntrustedId};
use chatkeep_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Fields of a JSON object, as they came.
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Reads the fields of an object; `None` for anything else.
    pub(super) fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok().map(Self)
    }

    /// Returns a field, if it is there and of that type.
    pub(super) fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        let field: &'a RawValue = self.0.get(name)?;
        serde_json::from_str(field.get()).ok()
    }

    /// Returns a field as it came.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// Returns the fields of an object in a field.
    pub(super) fn object(&self, name: &str) -> Option<Self> {
        Self::of(self.raw(name)?.get())
    }

    /// Returns those elements of a list in a field that are of that type; `None` if it is no list.
    pub(super) fn list<T: Deserialize<'a>>(&self, name: &str) -> Option<Vec<T>> {
        let elements: Vec<&'a RawValue> = self.get(name)?;
        Some(elements.into_iter().filter_map(|e| serde_json::from_str(e.get()).ok()).collect())
    }

    /// Returns the fields of those elements of a list that are objects; `None` if it is no list.
    pub(super) fn objects(&self, name: &str) -> Option<Vec<Self>> {
        let elements: Vec<&'a RawValue> = self.get(name)?;
        Some(elements.into_iter().filter_map(|element| Self::of(element.get())).collect())
    }

    /// Returns a text; one that came as a whole number, too.
    pub(super) fn text_or_number(&self, name: &str) -> Option<String> {
        let number = || self.get::<u64>(name).map(|number| number.to_string());
        self.get(name).or_else(number)
    }

    /// Returns an identifier; one that came as a whole number, too.
    pub(super) fn id(&self, name: &str) -> Option<UntrustedId> {
        self.text_or_number(name).map(UntrustedId::new)
    }

    /// Returns the message that an event with these fields is about, if it names one: `message.id`,
    /// or a `messageId` in it or in one of its objects.
    pub(super) fn message(&self) -> Option<MessageId> {
        let own = self.object("message").and_then(|message| message.id("id"));
        let named = || self.id("messageId");
        let nested = || self.0.values().find_map(|field| Self::of(field.get())?.id("messageId"));
        own.or_else(named).or_else(nested)?.checked().ok()
    }
}

/// Returns when an event happened: its own time, or when it was received if it names none between
/// the years 1970 and 9999.
pub(super) fn time_of(timestamp: Option<i64>, received_at: i64) -> Timestamp {
    let own = timestamp.filter(|millis| (0..=Timestamp::LATEST.millis()).contains(millis));
    Timestamp::from_millis(own.unwrap_or(received_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_a_date_are_none() {
        let of = |timestamp| time_of(timestamp, 99).millis();
        assert_eq!(Timestamp::LATEST.to_string(), "9999-12-31T23:59:59.999Z");
        for good in [0, 1_767_323_045_678, Timestamp::LATEST.millis()] {
            assert_eq!(of(Some(good)), good);
        }
        for odd in
            [None, Some(-1), Some(i64::MIN), Some(Timestamp::LATEST.millis() + 1), Some(i64::MAX)]
        {
            assert_eq!(of(odd), 99, "{odd:?}");
        }
    }

    #[test]
    fn lists_are_read_by_element() {
        let fields = Fields::of(r#"{"list":[1,"a",null,{"x":"b"},[],"c"],"none":{}}"#).unwrap();
        assert_eq!(fields.list::<String>("list"), Some(vec!["a".to_owned(), "c".to_owned()]));
        let objects = fields.objects("list").unwrap();
        assert!(objects.len() == 1 && objects[0].text_or_number("x").as_deref() == Some("b"));
        assert!(fields.list::<String>("none").is_none() && fields.objects("absent").is_none());
    }
}
