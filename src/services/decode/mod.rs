//! Decodes input of callers: JSON bodies, queries, arguments of tools.
//!
//! Beyond serde's own deserializers, every error names the location of the value and the expected
//! form in plain words, and two rules hold for every type: members and parameters that the type
//! does not have are rejected, and so is `null`, except for fields that use [`nullable`]. A third
//! one holds for every text: none contains U+0000, which no database stores.

mod containers;
mod error;
mod json;
mod number;
mod reader;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::form_urlencoded;

use crate::{FieldPath, ServiceError};
pub use json::Json;
pub use number::{nullable_whole, whole};
pub use reader::is_whole;
use reader::{NULLABLE, Rules, ValueReader};

/// Reads a JSON body.
///
/// # Errors
/// [`ServiceError::Invalid`] with the JSON Pointer of what is wrong.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ServiceError> {
    let json = parse(bytes)?;
    T::deserialize(ValueReader::new(json, Rules::Body)).map_err(|error| error.in_body().into())
}

/// Parses a body as JSON.
pub fn parse(bytes: &[u8]) -> Result<Json, ServiceError> {
    if bytes.trim_ascii().is_empty() {
        return Err(ServiceError::invalid_value(FieldPath::BODY, "is missing"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let why = if error.is_eof() {
            "ends before the JSON is complete".to_owned()
        } else {
            format!("is not valid JSON: error at line {line}, column {column}")
        };
        ServiceError::invalid_value(FieldPath::BODY, why)
    })
}

/// Reads a query; its values are texts, and none is empty.
///
/// # Errors
/// [`ServiceError::Invalid`] with the parameter's name.
pub fn query<T: DeserializeOwned>(query: &str) -> Result<T, ServiceError> {
    let mut pairs = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        pairs.push((name.into_owned(), Json::Text(value.into_owned())));
    }
    let reader = ValueReader::new(Json::Object(pairs), Rules::Query);
    T::deserialize(reader).map_err(|error| error.in_query().into())
}

/// Reads the arguments of a tool. Models write null for what they leave out.
///
/// # Errors
/// [`ServiceError::Invalid`] with the JSON Pointer of the argument.
pub fn arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, ServiceError> {
    let reader = ValueReader::new(arguments.into(), Rules::Arguments);
    T::deserialize(reader).map_err(|error| error.in_body().into())
}

/// Reads what may be null: for `deserialize_with`, together with `default`.
pub fn nullable<'de, T, D>(value: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Visitor<T>(std::marker::PhantomData<T>);

    impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a value or null")
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(
            self,
            value: D,
        ) -> Result<Option<T>, D::Error> {
            Option::deserialize(value)
        }
    }

    value.deserialize_newtype_struct(NULLABLE, Visitor(std::marker::PhantomData))
}

#[cfg(test)]
mod tests;
