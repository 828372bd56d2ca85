//! Parsing of a settings file into values, each with its path and line; and files of secrets.

use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

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
        why: error.message().to_owned(),
    };
    // The first tree knows the positions, the second has the values decoded.
    let places = DeTable::parse(text).map_err(bad)?;
    let values: Table = text.parse().map_err(bad)?;
    let mut found = Vec::new();
    walk("", places.get_ref(), &values, text, &mut found);
    Ok(found)
}

fn walk(prefix: &str, places: &DeTable<'_>, values: &Table, text: &str, found: &mut Vec<Entry>) {
    for (name, place) in places {
        let name_text = name.get_ref();
        let Some(value) = values.get(name_text.as_ref()) else {
            continue;
        };
        let key =
            if prefix.is_empty() { name_text.to_string() } else { format!("{prefix}.{name_text}") };
        match (place.get_ref(), value) {
            (DeValue::Table(places), Value::Table(values)) if !values.is_empty() => {
                walk(&key, places, values, text, found);
            }
            (DeValue::Array(places), Value::Array(values))
                if key == SECTION && values.iter().all(Value::is_table) =>
            {
                for (index, (place, value)) in places.iter().zip(values).enumerate() {
                    let key = format!("{key}[{}]", index + 1);
                    let line = line(text, place.span().start);
                    found.push(Entry { key: key.clone(), value: Table::new().into(), line });
                    if let (DeValue::Table(places), Value::Table(values)) = (place.get_ref(), value)
                    {
                        walk(&key, places, values, text, found);
                    }
                }
            }
            _ => {
                let line = line(text, name.span().start);
                found.push(Entry { key, value: value.clone(), line });
            }
        }
    }
}

/// Returns the line number of a byte offset.
fn line(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().iter().take(byte);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// Reads a secret from a file that a variable or a setting names, without the trailing line break.
pub(super) fn secret_file(path: &Path, origin: &str) -> Result<String, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(source) => {
            Err(ConfigError::Unreadable { what: format!("the file that {origin} names"), source })
        }
    }
}
