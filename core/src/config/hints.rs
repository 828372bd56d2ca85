//! Hints for errors: the setting that was probably meant, and the type that a value must have.

use std::fmt::Display;

use toml::Value;

use super::ConfigError;
use super::layers::PREFIX;
use super::redact::{is_secret, redacted};

/// Description of the whole numbers that settings can have.
const WHOLE_64_BITS: &str = "a whole number from -9223372036854775808 to 9223372036854775807";

/// Returns the known name that was probably meant.
pub(super) fn nearest<'a, T: AsRef<str> + Ord + ?Sized>(
    known: impl Iterator<Item = &'a T>,
    name: &str,
) -> Option<&'a T> {
    known
        .map(|known| (strsim::damerau_levenshtein(known.as_ref(), name), known))
        .filter(|(distance, _)| *distance <= 1 + own(name).len() / 4)
        .min()
        .map(|(_, known)| known)
}

/// Returns a name without the prefix that all variables have: what they share makes none similar.
fn own(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// Formats the known name that was probably meant, or nothing.
pub(super) fn hint(near: Option<impl Display>) -> String {
    near.map(|known| format!(" (did you mean {known}?)")).unwrap_or_default()
}

/// Returns ` (did you mean …?)` with the known name that was probably meant by an unknown one, or an
/// empty text.
pub fn name_hint(known: &[&str], name: &str) -> String {
    hint(nearest(known.iter().copied(), name))
}

/// Returns the error about a value of another type than its default.
pub(super) fn wrong_type(key: &str, found: &Value, default: &Value, origin: String) -> ConfigError {
    let allowed = match default {
        Value::Integer(_) if is_beyond(found) => WHOLE_64_BITS,
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Float(_) => "a number",
        _ => "a text in quotes",
    };
    let found = match found {
        Value::String(text) => redacted(key, text),
        Value::Float(number) if is_beyond(found) && !is_secret(key) => number.to_string(),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if !is_secret(key) => {
            found.to_string()
        }
        _ if is_secret(key) => redacted(key, ""),
        _ => format!("of type {}", found.type_str()),
    };
    ConfigError::Invalid { origin, key: key.to_owned(), found, allowed: allowed.to_owned() }
}

/// Returns whether a value is a number that no whole number of 64 bits reaches.
fn is_beyond(value: &Value) -> bool {
    value.as_float().is_some_and(|number| number.abs() >= 2_f64.powi(63))
}
