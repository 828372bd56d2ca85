//! Parsing of a settings file into values, each with its path and line; and files of secrets.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeInteger, DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::ConfigError;
use super::line::SECTION;

/// A value of a settings file.
pub(super) struct Entry {
    /// Path of the setting, such as `line.api_base`.
    pub(super) key: String,
    /// Value; a table only if it is empty.
    pub(super) value: Value,
    /// Line number, from 1.
    pub(super) line: usize,
}

/// Returns every value of a file. The tables of a list of sections are numbered from 1
/// (`line[2].name`), and each begins with an entry of its own (`line[2]`).
pub(super) fn entries(path: &str, text: &str) -> Result<Vec<Entry>, ConfigError> {
    let bad = |error: toml::de::Error| ConfigError::Syntax {
        path: path.to_owned(),
        line: line(text, error.span().map_or(0, |span| span.start)),
        why: named(&error, text),
    };
    let values = DeTable::parse(text).map_err(bad)?;
    let mut found = Vec::new();
    walk("", values.get_ref(), text, &mut found);
    Ok(found)
}

/// Returns the message of a syntax error, with the key of one that a table has twice. Nothing else of the
/// file is repeated: it may hold secrets.
fn named(error: &toml::de::Error, text: &str) -> String {
    let key = error.span().and_then(|span| text.get(span));
    match (error.message(), key) {
        (why @ "duplicate key", Some(key)) => format!("{why} {key}"),
        (why, _) => why.to_owned(),
    }
}

fn walk(prefix: &str, table: &DeTable<'_>, text: &str, found: &mut Vec<Entry>) {
    for (name, value) in table {
        let key = match prefix {
            "" => name.get_ref().to_string(),
            _ => format!("{prefix}.{}", name.get_ref()),
        };
        match value.get_ref() {
            DeValue::Table(inner) if !inner.is_empty() => walk(&key, inner, text, found),
            DeValue::Array(sections) if key == SECTION => {
                match sections.iter().map(section).collect::<Option<Vec<_>>>() {
                    Some(sections) => walk_list(&key, &sections, text, found),
                    None => found.push(entry(key, name.span(), value.get_ref(), text)),
                }
            }
            value => found.push(entry(key, name.span(), value, text)),
        }
    }
}

/// Adds a list of sections, numbered from 1.
fn walk_list(
    key: &str,
    sections: &[(Range<usize>, &DeTable<'_>)],
    text: &str,
    found: &mut Vec<Entry>,
) {
    for (number, (span, section)) in (1..).zip(sections) {
        let key = format!("{key}[{number}]");
        let line = line(text, span.start);
        found.push(Entry { key: key.clone(), value: Table::new().into(), line });
        walk(&key, section, text, found);
    }
}

/// Returns a section of a list with its place; `None` for another value.
fn section<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Option<(Range<usize>, &'a DeTable<'i>)> {
    match value.get_ref() {
        DeValue::Table(table) => Some((value.span(), table)),
        _ => None,
    }
}

fn entry(key: String, name: Range<usize>, value: &DeValue<'_>, text: &str) -> Entry {
    Entry { key, value: decoded(value), line: line(text, name.start) }
}

/// Decodes a value. A number that is too large for its type becomes a fraction, which no setting of a
/// whole number takes: it is an error of that setting, and does not hide those of others.
fn decoded(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Float(beyond(number)), Value::Integer),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(time) => Value::Datetime(*time),
        DeValue::Array(values) => {
            Value::Array(values.iter().map(|value| decoded(value.get_ref())).collect())
        }
        DeValue::Table(table) => {
            let each = table.iter();
            let each =
                each.map(|(name, value)| (name.get_ref().to_string(), decoded(value.get_ref())));
            Value::Table(each.collect())
        }
    }
}

/// Returns a whole number that does not fit 64 bits, rounded: only an error shows it.
fn beyond(number: &DeInteger<'_>) -> f64 {
    let text = number.as_str();
    if number.radix() == 10 {
        return text.parse().unwrap_or(f64::NAN);
    }
    // A number in another base has no sign.
    let digits = text.chars().filter_map(|digit| digit.to_digit(number.radix()));
    digits.fold(0.0, |sum, digit| sum * f64::from(number.radix()) + f64::from(digit))
}

/// Returns the line number of a byte offset.
fn line(text: &str, byte: usize) -> usize {
    text.get(..byte).map_or(1, |before| before.matches('\n').count() + 1)
}

/// Mark that some editors write at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads the secret of a key from a file that a variable or a setting names, without the trailing
/// line break.
pub(super) fn secret_file(path: &Path, key: &str, origin: &str) -> Result<String, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let text = text.trim_start_matches(BYTE_ORDER_MARK);
            Ok(text.trim_end_matches(['\r', '\n']).to_owned())
        }
        Err(source) => {
            let what = format!("the file that {origin} names");
            Err(ConfigError::Unreadable { what, key: Some(key.to_owned()), source })
        }
    }
}
