//! Merging of the layers of settings into one tree, with the origin of each value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::file::{Entry, entries};
use super::redact::{is_secret, redacted};
use super::sources::FILE_VARIABLE;
use super::{ConfigError, DEFAULTS, Sources};

/// Prefix of every environment variable of chatkeep.
pub(super) const PREFIX: &str = "CHATKEEP_";

/// All settings by path, each with its origin. No `Debug`: it holds secrets.
pub(super) struct Layers {
    pub(super) values: BTreeMap<String, (Value, String)>,
    /// Likely mistakes that are not certainly errors.
    pub(super) warnings: Vec<String>,
    /// Names of the bots of `[[line]]`, in order; empty for the single bot of `[line]`.
    pub(super) bots: Vec<String>,
}

impl Layers {
    pub(super) fn merge(sources: Sources) -> Result<Self, ConfigError> {
        let defaults = "the defaults";
        let values = entries(defaults, DEFAULTS)?
            .into_iter()
            .map(|entry| (entry.key, (entry.value, defaults.to_owned())))
            .collect();
        let mut layers = Self { values, warnings: Vec::new(), bots: Vec::new() };
        if let Some((path, text)) = &sources.file {
            layers.read_file(path, entries(path, text)?, &sources.folder)?;
        }
        layers.read_environment(sources.environment, &sources.folder)?;
        for given in sources.overrides {
            layers.set_text(&given.key, given.value, given.flag)?;
        }
        Ok(layers)
    }

    /// Deserializes all settings except for those of one section.
    pub(super) fn all_but<T: DeserializeOwned>(&self, section: &str) -> Result<T, ConfigError> {
        let inside = format!("{section}.");
        self.deserialize("", |key| (!key.starts_with(&inside)).then_some(key))
    }

    /// Deserializes the settings of a section.
    pub(super) fn section<T: DeserializeOwned>(&self, section: &str) -> Result<T, ConfigError> {
        let inside = format!("{section}.");
        self.deserialize(&inside, |key| key.strip_prefix(&inside))
    }

    /// Deserializes the settings that `path` maps to their paths below `prefix`.
    fn deserialize<T: DeserializeOwned>(
        &self,
        prefix: &str,
        path: impl Fn(&str) -> Option<&str>,
    ) -> Result<T, ConfigError> {
        let mut tree = Table::new();
        for (key, (value, _)) in &self.values {
            let Some(path) = path(key) else { continue };
            let (section, name) = path.split_once('.').unwrap_or(("", path));
            let entry = tree.entry(section).or_insert_with(|| Table::new().into());
            if let Value::Table(section) = entry {
                section.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(Value::Table(top)) = tree.remove("") {
            tree.extend(top);
        }
        serde_path_to_error::deserialize(Value::Table(tree)).map_err(|error| {
            self.invalid(&format!("{prefix}{}", error.path()), error.inner().message())
        })
    }

    /// Returns the error about a setting that has none of the allowed values.
    pub(super) fn invalid(&self, key: &str, allowed: &str) -> ConfigError {
        let (value, origin) = match self.values.get(key) {
            Some((value, origin)) => (Some(value), origin.as_str()),
            None => (None, "the program"),
        };
        let found = match value {
            Some(Value::String(text)) if text.trim().is_empty() && !is_secret(key) => {
                "empty".to_owned()
            }
            Some(Value::String(text)) => redacted(key, text),
            Some(value) => value.to_string(),
            None => "not a setting".to_owned(),
        };
        let (origin, key, allowed) = (origin.to_owned(), key.to_owned(), allowed.to_owned());
        ConfigError::Invalid { origin, key, found, allowed }
    }

    /// Returns every setting's path and value.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, (value, _))| (key.as_str(), value))
    }

    fn read_file(
        &mut self,
        path: &str,
        entries: Vec<Entry>,
        folder: &Path,
    ) -> Result<(), ConfigError> {
        let entries = self.name_bots(path, entries)?;
        let given: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for Entry { key, value, line } in entries {
            let origin = format!("{path}, line {line}");
            let plain = key.strip_suffix("_file").filter(|plain| is_secret(plain));
            match (plain, &value) {
                (Some(plain), _) if given.contains(plain) => {
                    return Err(ConfigError::Both { origin, key: plain.to_owned() });
                }
                (Some(plain), Value::String(file)) => {
                    let text = secret_file(&folder.join(file), &origin)?;
                    self.set_text(plain, text, origin)?;
                }
                _ => self.set(&key, value, origin)?,
            }
        }
        Ok(())
    }

    /// Replaces the settings of a section by copies under other names.
    pub(super) fn copy_section(&mut self, section: &str, copies: &[String]) {
        let inside = format!("{section}.");
        let is_inside = |key: &String| key.starts_with(&inside);
        let originals: Vec<_> = self.values.extract_if(.., |key, _| is_inside(key)).collect();
        for (key, value) in originals {
            for copy in copies {
                self.values.insert(key.replacen(section, copy, 1), value.clone());
            }
        }
    }

    fn read_environment(
        &mut self,
        variables: Vec<(String, String)>,
        folder: &Path,
    ) -> Result<(), ConfigError> {
        let names: BTreeMap<String, String> =
            self.values.keys().map(|key| (variable(key), key.clone())).collect();
        let given: BTreeMap<String, String> =
            variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
        for (name, value) in &given {
            let origin = format!("environment {name}");
            if let Some(key) = names.get(name) {
                self.set_text(key, value.clone(), origin)?;
            } else if let Some(plain) = name.strip_suffix("_FILE")
                && let Some(key) = names.get(plain).filter(|key| is_secret(key))
            {
                if given.contains_key(plain) {
                    return Err(ConfigError::Twice { name: plain.to_owned() });
                }
                let text = secret_file(&folder.join(value), &origin)?;
                self.set_text(key, text, origin)?;
            } else if name != FILE_VARIABLE {
                let hint = hint(nearest(names.keys(), name));
                self.warnings.push(format!("{origin} is not a setting and is ignored{hint}"));
            }
        }
        Ok(())
    }

    /// Sets a value given as text, parsed to the type of its default.
    fn set_text(&mut self, key: &str, text: String, origin: String) -> Result<(), ConfigError> {
        let Some((default, _)) = self.values.get(key) else {
            return Err(self.unknown(key, &origin));
        };
        let typed = match default {
            Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
            Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
            _ => Some(Value::String(text.clone())),
        };
        let Some(value) = typed else {
            return Err(wrong_type(key, &Value::String(text), default, origin));
        };
        self.values.insert(key.to_owned(), (value, origin));
        Ok(())
    }

    /// Sets a value given in a file.
    fn set(&mut self, key: &str, value: Value, origin: String) -> Result<(), ConfigError> {
        let Some((default, _)) = self.values.get(key) else {
            return self.no_value_here(key, &value, origin);
        };
        if !default.same_type(&value) {
            return Err(wrong_type(key, &value, default, origin));
        }
        self.values.insert(key.to_owned(), (value, origin));
        Ok(())
    }

    /// Rejects a value in place of a section; an empty section is accepted.
    fn no_value_here(&self, key: &str, value: &Value, origin: String) -> Result<(), ConfigError> {
        let inside = format!("{key}.");
        if !self.values.keys().any(|known| known.starts_with(&inside)) {
            return Err(self.unknown(key, &origin));
        }
        if value.is_table() {
            return Ok(());
        }
        // Not shown: the section may hold secrets.
        let (key, found) = (key.to_owned(), "not a section".to_owned());
        let allowed = format!("settings under [{key}]");
        Err(ConfigError::Invalid { origin, key, found, allowed })
    }

    fn unknown(&self, key: &str, origin: &str) -> ConfigError {
        let same_name = || {
            let name = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
            self.values.keys().find(|known| name(known) == name(key))
        };
        let hint = hint(nearest(self.values.keys(), key).or_else(same_name));
        ConfigError::Unknown { origin: origin.to_owned(), key: key.to_owned(), hint }
    }
}

/// Returns the environment variable of a setting.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace(['.', '-'], "_").to_uppercase())
}

/// Reads a secret from a file that a variable names, without the trailing line break.
fn secret_file(path: &Path, origin: &str) -> Result<String, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(source) => {
            Err(ConfigError::Unreadable { what: format!("the file that {origin} names"), source })
        }
    }
}

/// Returns the known name that was probably meant.
fn nearest<'a>(known: impl Iterator<Item = &'a String>, name: &str) -> Option<&'a String> {
    known
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, _)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, known)| known)
}

fn hint(near: Option<&String>) -> String {
    near.map(|known| format!(" (did you mean {known}?)")).unwrap_or_default()
}

fn wrong_type(key: &str, found: &Value, default: &Value, origin: String) -> ConfigError {
    let allowed = match default {
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        _ => "a text in quotes",
    };
    let found = match found {
        Value::String(text) => redacted(key, text),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if !is_secret(key) => {
            found.to_string()
        }
        _ if is_secret(key) => redacted(key, ""),
        _ => format!("of type {}", found.type_str()),
    };
    ConfigError::Invalid { origin, key: key.to_owned(), found, allowed: allowed.to_owned() }
}
