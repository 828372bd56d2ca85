//! Inspection of settings: every value with its origin, and everything that is wrong.

use serde::Serialize;
use toml::Value;

use super::redact::{is_secret, may_hold_password, public};
use super::{BusKind, Config, ConfigError, Database, Sources};

/// Settings as they were read, whether or not the program would start with them.
#[derive(Debug)]
pub struct Inspection {
    /// The settings, those with a problem as their defaults; `None` when that is not possible.
    pub config: Option<Config>,
    /// Every setting, by path; one with a problem has its default.
    pub settings: Vec<EffectiveSetting>,
    /// Errors, in the order of the sources.
    pub problems: Vec<ConfigError>,
    /// Likely mistakes that are not certainly errors.
    pub warnings: Vec<String>,
}

/// A setting as it applies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectiveSetting {
    /// Path, such as `line.api_base`.
    pub key: String,
    /// Value; a secret is not shown.
    pub value: SettingValue,
    /// Origin: the defaults, file and line, variable, or flag.
    pub origin: String,
}

/// Value of a setting as it may be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A text, without the credentials that an address may hold.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A number that may have decimals.
    Decimal(f64),
    /// A switch.
    Switch(bool),
    /// A secret that is set; serialized as `null`.
    Secret,
}

impl Config {
    /// Reads all settings as [`Config::load`] does, and goes on after an error.
    pub fn inspect(sources: Sources) -> Inspection {
        let (config, layers) = Self::read(sources);
        let shown = |(key, value, origin): (&str, &Value, &str)| EffectiveSetting {
            key: key.to_owned(),
            value: SettingValue::of(key, value),
            origin: origin.to_owned(),
        };
        let settings = layers.all().map(shown).collect();
        Inspection { config, settings, problems: layers.problems, warnings: layers.warnings }
    }
}

impl SettingValue {
    fn of(key: &str, value: &Value) -> Self {
        match value {
            Value::Integer(number) => Self::Number(*number),
            Value::Float(number) => Self::Decimal(*number),
            Value::Boolean(on) => Self::Switch(*on),
            Value::String(text) => Self::of_text(key, text),
            // No setting is of another type; whatever it is, it is not shown.
            _ => Self::Secret,
        }
    }

    fn of_text(key: &str, text: &str) -> Self {
        if text.is_empty() {
            return Self::Text(String::new());
        }
        let place = match key {
            "database" => Database::try_from(text.to_owned()).ok().map(|kind| kind.to_string()),
            "bus" => BusKind::try_from(text.to_owned()).ok().map(|kind| kind.to_string()),
            _ if is_secret(key) => None,
            _ if may_hold_password(text) => Some(public(text)),
            _ => Some(text.to_owned()),
        };
        place.map_or(Self::Secret, Self::Text)
    }
}
