//! Elements of lists and members of objects, read one after the other.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer as _, MapAccess, SeqAccess};

use super::error::DecodeError;
use super::json::Json;
use super::reader::{NUL, Rules, ValueReader};

/// The elements of a list.
pub(super) struct ListItems {
    rest: std::iter::Enumerate<std::vec::IntoIter<Json>>,
    rules: Rules,
}

impl ListItems {
    pub(super) fn new(items: Vec<Json>, rules: Rules) -> Self {
        Self { rest: items.into_iter().enumerate(), rules }
    }
}

impl<'de> SeqAccess<'de> for ListItems {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some((index, item)) = self.rest.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(ValueReader::new(item, self.rules));
        read.map(Some).map_err(|error| error.at(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The members of an object.
pub(super) struct ObjectMembers {
    rest: std::vec::IntoIter<(String, Json)>,
    /// The member whose name was read last.
    value: Option<(String, Json)>,
    rules: Rules,
}

impl ObjectMembers {
    pub(super) fn new(members: Vec<(String, Json)>, rules: Rules) -> Self {
        Self { rest: members.into_iter(), value: None, rules }
    }

    /// Returns the names of the members that are not read yet.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rest.as_slice().iter().map(|(name, _)| name.as_str())
    }
}

impl<'de> MapAccess<'de> for ObjectMembers {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some((name, value)) = self.rest.next() else {
            return Ok(None);
        };
        // The error names the object: the name itself cannot be shown.
        if name.contains(NUL) {
            return Err(DecodeError::new("has a name in it that contains U+0000"));
        }
        let key: StrDeserializer<'_, DecodeError> = name.as_str().into_deserializer();
        let key = seed.deserialize(key)?;
        self.value = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let Some((name, value)) = self.value.take() else {
            return Err(DecodeError::new("is missing"));
        };
        seed.deserialize(ValueReader::new(value, self.rules)).map_err(|error| error.inside(&name))
    }
}
