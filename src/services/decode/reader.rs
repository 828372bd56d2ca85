//! Feeds JSON to serde and describes errors in plain words.

use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, IntoDeserializer as _, Visitor};

use super::containers::{ListItems, ObjectMembers};
use super::error::{DecodeError, list};
use super::json::Json;

/// Names the type that lets a null through, see [`super::nullable`].
pub(super) const NULLABLE: &str = "chatkeep nullable";

/// Rules of the part of a request that a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Body: null is rejected.
    Body,
    /// A null is as good as nothing.
    Arguments,
    /// Query: every value is a text that is parsed into the field's type; empty is absent.
    Query,
}

/// A value and the rules that it is read by.
#[derive(Debug)]
pub(super) struct ValueReader {
    value: Json,
    rules: Rules,
    nullable: bool,
}

impl ValueReader {
    pub(super) const fn new(value: Json, rules: Rules) -> Self {
        Self { value, rules, nullable: false }
    }

    /// Returns the error for a value of another type.
    fn must_be(&self, what: &str) -> DecodeError {
        match self.value {
            Json::Null => DecodeError::new("must not be null"),
            _ => DecodeError::new(format!("must be {what}")),
        }
    }

    /// Returns a number, in a query the one that the text contains.
    fn number(&self) -> Option<serde_json::Number> {
        match &self.value {
            Json::Number(number) => Some(number.clone()),
            Json::Text(text) if self.rules == Rules::Query => {
                is_whole(text).then_some(())?;
                let whole = text
                    .parse::<u64>()
                    .map(Into::into)
                    .or_else(|_| text.parse::<i64>().map(Into::into));
                whole.ok()
            }
            _ => None,
        }
    }

    /// Reads a whole number that has to be from `least` to `most`.
    fn whole<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        least: i64,
        most: u64,
    ) -> Result<V::Value, DecodeError> {
        let number = self.number();
        let wrong = || self.must_be(&format!("a whole number from {least} to {most}"));
        let read = match number {
            Some(number) if number.is_u64() => visitor.visit_u64(number.as_u64().unwrap_or(0)),
            Some(number) if number.is_i64() => visitor.visit_i64(number.as_i64().unwrap_or(0)),
            _ => return Err(wrong()),
        };
        read.map_err(|_: DecodeError| wrong())
    }

    /// Reads a list of so many values: further ones would be left out silently.
    fn tuple<'de, V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::List(items) if items.len() == length => {
                visitor.visit_seq(ListItems::new(items, self.rules))
            }
            _ => Err(self.must_be(&format!("a list of {length} values"))),
        }
    }

    /// Returns the members of an object.
    fn members(self) -> Result<ObjectMembers, DecodeError> {
        match self.value {
            Json::Object(members) => Ok(ObjectMembers::new(members, self.rules)),
            _ => Err(self.must_be("an object")),
        }
    }
}

/// Returns true for a whole number as JSON writes it: without `+`, and without zeros before it.
pub fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" || !digits.starts_with('0');
    is_plain && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Character that no database stores.
pub(super) const NUL: char = '\0';

/// Rejects U+0000, which no database stores: to leave it out would change what the caller wrote.
fn storable(text: String) -> Result<String, DecodeError> {
    if text.contains(NUL) { Err(DecodeError::new("contains U+0000")) } else { Ok(text) }
}

macro_rules! whole_numbers {
    ($($method:ident $least:expr, $most:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            self.whole(visitor, $least, $most)
        })*
    };
}

impl<'de> Deserializer<'de> for ValueReader {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(value),
            Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Json::Text(text) => visitor.visit_string(storable(text)?),
            Json::List(items) => visitor.visit_seq(ListItems::new(items, self.rules)),
            Json::Object(_) => visitor.visit_map(self.members()?),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match (&self.value, self.rules) {
            (Json::Bool(value), _) => visitor.visit_bool(*value),
            (Json::Text(text), Rules::Query) if text == "true" => visitor.visit_bool(true),
            (Json::Text(text), Rules::Query) if text == "false" => visitor.visit_bool(false),
            _ => Err(self.must_be("true or false")),
        }
    }

    whole_numbers! {
        deserialize_i8 i8::MIN.into(), 0x7f;
        deserialize_i16 i16::MIN.into(), 0x7fff;
        deserialize_i32 i32::MIN.into(), 0x7fff_ffff;
        deserialize_i64 i64::MIN, i64::MAX.unsigned_abs();
        deserialize_u8 0, u8::MAX.into();
        deserialize_u16 0, u16::MAX.into();
        deserialize_u32 0, u32::MAX.into();
        deserialize_u64 0, u64::MAX;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.value {
            Json::Number(number) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            _ => Err(self.must_be("a number")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::Text(text) if self.rules == Rules::Query && text.is_empty() => {
                Err(DecodeError::new("must not be empty"))
            }
            Json::Text(text) => visitor.visit_string(storable(text)?),
            // Some clients make numbers of ids, which then lose their last digits.
            Json::Number(_) if self.rules == Rules::Arguments => {
                Err(self.must_be("a string: put it in quotes"))
            }
            _ => Err(self.must_be("a string")),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::Null if self.nullable || self.rules != Rules::Body => visitor.visit_none(),
            Json::Null => Err(self.must_be("given or left out")),
            _ => visitor.visit_some(Self { nullable: false, ..self }),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::Null => visitor.visit_unit(),
            _ => Err(DecodeError::new("must be null")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let nullable = self.nullable || name == NULLABLE;
        visitor.visit_newtype_struct(Self { nullable, ..self })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::List(items) => visitor.visit_seq(ListItems::new(items, self.rules)),
            _ => Err(self.must_be("a list")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.tuple(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(self.members()?)
    }

    /// Rejects unknown fields, with or without `deny_unknown_fields`.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let members = self.members()?;
        let unknown = members.names().find(|name| !fields.contains(name));
        if let Some(name) = unknown {
            return Err(DecodeError::unknown(name, fields));
        }
        visitor.visit_map(members)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value {
            Json::Text(text) if variants.contains(&text.as_str()) => {
                let text: StrDeserializer<'_, DecodeError> = text.as_str().into_deserializer();
                visitor.visit_enum(text)
            }
            _ => Err(self.must_be(&format!("one of {}", list(variants)))),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }
}
