//! Merging of the layers of settings into one tree, with the origin of each value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::file::{Entry, entries, secret_file};
use super::hints::{hint, nearest, wrong_type};
use super::line::single;
use super::redact::{has_password, is_secret, redacted};
use super::sources::FILE_VARIABLE;
use super::{ConfigError, DEFAULTS, Sources};

/// Prefix of every environment variable of chatkeep.
pub(super) const PREFIX: &str = "CHATKEEP_";

/// Variables that are no settings: the settings file, and the key of MCP clients.
const OTHERS: [&str; 2] = [FILE_VARIABLE, "CHATKEEP_KEY"];

/// Origin of a value that nobody changed.
const DEFAULT: &str = "the defaults";

/// All settings by path, each with its origin. No `Debug`: it holds secrets.
pub(super) struct Layers {
    pub(super) values: BTreeMap<String, (Value, String)>,
    /// Default values by path.
    pub(super) defaults: BTreeMap<String, Value>,
    /// Errors, in the order in which they were found. What is wrong is left out.
    pub(super) problems: Vec<ConfigError>,
    /// Likely mistakes that are not certainly errors.
    pub(super) warnings: Vec<String>,
    /// Names of the bots of `[[line]]`, in order; empty for the single bot of `[line]`.
    pub(super) bots: Vec<String>,
}

impl Layers {
    /// Merges the sources; what is wrong in one of them is among the problems.
    pub(super) fn merge(sources: Sources) -> Self {
        let mut layers = Self {
            values: BTreeMap::new(),
            defaults: BTreeMap::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
            bots: Vec::new(),
        };
        for Entry { key, value, .. } in layers.entries(DEFAULT, DEFAULTS) {
            layers.defaults.insert(key.clone(), value.clone());
            layers.values.insert(key, (value, DEFAULT.to_owned()));
        }
        if let Some((path, text)) = &sources.file {
            let entries = layers.entries(path, text);
            layers.read_file(path, entries, &sources.folder);
        }
        layers.read_environment(sources.environment, &sources.folder);
        for given in sources.overrides {
            if is_secret(&given.key) && has_password(&given.value) {
                layers.warnings.push(visible(&given.flag, &variable(&given.key)));
            }
            let set = layers.set_text(&given.key, given.value, given.flag);
            layers.note(set);
        }
        layers
    }

    /// Returns the values of a file; none of one that is not TOML.
    fn entries(&mut self, path: &str, text: &str) -> Vec<Entry> {
        let read = entries(path, text);
        self.note(read).unwrap_or_default()
    }

    /// Puts an error among the problems.
    pub(super) fn note<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.problems.push(error)).ok()
    }

    /// Reads typed settings until no value is in the way: each that is not allowed becomes a problem
    /// and is replaced by its default.
    pub(super) fn settle<T>(
        &mut self,
        read: impl Fn(&Self) -> Result<T, ConfigError>,
    ) -> Option<T> {
        loop {
            match read(self) {
                Ok(settings) => return Some(settings),
                Err(error) => {
                    let replaced = error.invalid_key().map(str::to_owned);
                    self.problems.push(error);
                    if !replaced.is_some_and(|key| self.reset(&key)) {
                        return None;
                    }
                }
            }
        }
    }

    /// Replaces a value by its default; returns false if it is that already.
    fn reset(&mut self, key: &str) -> bool {
        let default = self.defaults.get(key).or_else(|| self.defaults.get(&single(key)?));
        let (Some(default), Some(value)) = (default, self.values.get_mut(key)) else {
            return false;
        };
        let changed = value.0 != *default;
        *value = (default.clone(), DEFAULT.to_owned());
        changed
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

    /// Returns every setting's path, value and origin, in the order of their paths.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Value, &str)> {
        self.values.iter().map(|(key, (value, origin))| (key.as_str(), value, origin.as_str()))
    }

    fn read_file(&mut self, path: &str, entries: Vec<Entry>, folder: &Path) {
        let entries = self.name_bots(path, entries);
        let given: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for entry in entries {
            let set = self.read_entry(path, entry, &given, folder);
            self.note(set);
        }
    }

    /// Sets a value of a file in which the keys of `given` are.
    fn read_entry(
        &mut self,
        path: &str,
        Entry { key, value, line }: Entry,
        given: &BTreeSet<String>,
        folder: &Path,
    ) -> Result<(), ConfigError> {
        let origin = format!("{path}, line {line}");
        let plain = key.strip_suffix("_file").filter(|plain| is_secret(plain));
        match (plain, &value) {
            (Some(plain), _) if given.contains(plain) => {
                Err(ConfigError::Both { origin, key: plain.to_owned() })
            }
            (Some(plain), Value::String(file)) => {
                let text = secret_file(&folder.join(file), plain, &origin)?;
                self.warn_of_empty(plain, &text, &origin);
                self.set_text(plain, text, origin)
            }
            _ => self.set(&key, value, origin),
        }
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

    fn read_environment(&mut self, variables: Vec<(String, String)>, folder: &Path) {
        let names: BTreeMap<String, String> =
            self.values.keys().map(|key| (variable(key), key.clone())).collect();
        let given: BTreeMap<String, String> =
            variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
        for (name, value) in &given {
            let origin = format!("environment {name}");
            if let Some(key) = names.get(name) {
                let set = self.set_text(key, value.clone(), origin);
                self.note(set);
            } else if let Some(plain) = name.strip_suffix("_FILE")
                && let Some(key) = names.get(plain).filter(|key| is_secret(key))
            {
                let text = match given.get(plain) {
                    Some(_) => Err(ConfigError::Twice { name: plain.to_owned() }),
                    None => secret_file(&folder.join(value), key, &origin),
                };
                if let Ok(text) = &text {
                    self.warn_of_empty(key, text, &origin);
                }
                let set = text.and_then(|text| self.set_text(key, text, origin));
                self.note(set);
            } else if !OTHERS.contains(&name.as_str()) {
                let hint = hint(nearest(names.keys(), name));
                self.warnings.push(format!("{origin} is not a setting and is ignored{hint}"));
            }
        }
    }

    /// Warns of a file without the secret that should be in it.
    fn warn_of_empty(&mut self, key: &str, text: &str, origin: &str) {
        if text.is_empty() {
            self.warnings.push(format!("{key} is not set: the file that {origin} names is empty"));
        }
    }

    /// Sets a value given as text, parsed to the type of its default.
    fn set_text(&mut self, key: &str, text: String, origin: String) -> Result<(), ConfigError> {
        let Some((default, _)) = self.values.get(key) else {
            return Err(self.unknown(key, &origin));
        };
        let typed = match default {
            Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
            Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
            Value::Float(_) => text.trim().parse().ok().map(Value::Float),
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
        let value = match (default, value) {
            // 1 is a fraction, too, if it need not be a whole number.
            (Value::Float(_), Value::Integer(number)) => Value::Float(fraction(number)),
            (_, value) => value,
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

/// Returns the warning about a password in a flag, and the variables in which it is safe.
fn visible(flag: &str, variable: &str) -> String {
    format!(
        "{flag} has a password in it, which everybody on this machine can read in the list of \
         processes: use {variable}, or {variable}_FILE for a file, in its place"
    )
}

/// Returns the environment variable of a setting.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace(['.', '-'], "_").to_uppercase())
}

/// Returns a whole number as a fraction; settings are far smaller than what would be rounded.
#[expect(clippy::cast_precision_loss, reason = "no fraction among the settings is that large")]
const fn fraction(number: i64) -> f64 {
    number as f64
}
