//! Lenient reading of LINE's JSON: each field by itself, so that one of a type that this version does
//! not expect costs no other. Most of all not those that decide whether content has to go: whose an
//! event is, and which message it is about.

use std::collections::BTreeMap;

use chatkeep_core::id::{MessageId, UntrustedId};
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

    /// Returns an identifier; one that came as a whole number, too.
    pub(super) fn id(&self, name: &str) -> Option<UntrustedId> {
        let number = || self.get::<u64>(name).map(|number| UntrustedId::new(number.to_string()));
        self.get(name).or_else(number)
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
