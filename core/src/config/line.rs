//! Settings of the LINE bots: the one of `[line]`, or several of `[[line]]`.
//!
//! A bot of `[[line]]` has the settings of `[line]` under its name: `line.shop.access_token`, in
//! the environment `CHATKEEP_LINE_SHOP_ACCESS_TOKEN`.

use secrecy::SecretString;
use serde::Deserialize;
use toml::Value;

use super::ConfigError;
use super::deserialize::{secret, token, web_address};
use super::file::Entry;
use super::layers::{Layers, variable};

/// Name of the section, and of the list of sections.
pub(super) const SECTION: &str = "line";

/// Settings of one LINE bot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineConfig {
    /// Name of the bot, stored with its events and channels.
    #[serde(skip)]
    pub name: String,
    /// Secret that signs the webhooks.
    #[serde(deserialize_with = "secret")]
    pub channel_secret: Option<SecretString>,
    /// Former secret, whose signatures are accepted, too, while the secret is replaced.
    #[serde(deserialize_with = "secret")]
    pub channel_secret_previous: Option<SecretString>,
    /// Token that authorises API calls.
    #[serde(deserialize_with = "token")]
    pub access_token: Option<SecretString>,
    /// Base address of the Messaging API.
    #[serde(deserialize_with = "web_address")]
    pub api_base: String,
    /// Base address of the Messaging API's content.
    #[serde(deserialize_with = "web_address")]
    pub data_api_base: String,
    /// Environment variable of the channel secret, for messages that say it is missing.
    #[serde(skip)]
    pub channel_secret_variable: String,
    /// Environment variable of the access token.
    #[serde(skip)]
    pub access_token_variable: String,
}

const NAME: &str = "1 to 32 of a-z, 0-9 and -, not ending in \"data\"";

impl LineConfig {
    /// Name of the bot that `[line]` configures.
    pub const MAIN: &str = "main";

    /// Reads the settings of the bots of `[[line]]`, or of the one of `[line]` if there are none.
    pub(super) fn read_all(layers: &Layers) -> Result<Vec<Self>, ConfigError> {
        if layers.bots.is_empty() {
            return Ok(vec![Self::read(layers, Self::MAIN, SECTION)?]);
        }
        layers.bots.iter().map(|name| Self::read(layers, name, &section(name))).collect()
    }

    /// Returns the secrets that may sign webhooks, the present one first.
    pub fn channel_secrets(&self) -> Vec<SecretString> {
        let secrets = [&self.channel_secret, &self.channel_secret_previous];
        secrets.into_iter().flatten().cloned().collect()
    }

    fn read(layers: &Layers, name: &str, section: &str) -> Result<Self, ConfigError> {
        let variable = |setting: &str| variable(&format!("{section}.{setting}"));
        Ok(Self {
            name: name.to_owned(),
            channel_secret_variable: variable("channel_secret"),
            access_token_variable: variable("access_token"),
            ..layers.section(section)?
        })
    }
}

/// Returns the prefix of a bot's settings.
fn section(name: &str) -> String {
    format!("{SECTION}.{name}")
}

/// Returns the setting of `[line]` that corresponds to one of a bot of `[[line]]`.
pub(super) fn single(key: &str) -> Option<String> {
    let (name, setting) = key.strip_prefix(SECTION)?.strip_prefix('.')?.split_once('.')?;
    is_name(name).then(|| format!("{SECTION}.{setting}"))
}

impl Layers {
    /// Moves the settings of `[[line]]`, if any, under the names of their bots; a missing or wrong
    /// name is added to the problems.
    pub(super) fn name_bots(&mut self, path: &str, entries: Vec<Entry>) -> Vec<Entry> {
        let mut named = Vec::with_capacity(entries.len());
        let mut bots: Vec<String> = Vec::new();
        let mut entries = entries.into_iter().peekable();
        while let Some(entry) = entries.next() {
            if !entry.key.starts_with("line[") {
                named.push(entry);
                continue;
            }
            let inside = format!("{}.", entry.key);
            let mut settings = Vec::new();
            while let Some(setting) = entries.next_if(|next| next.key.starts_with(&inside)) {
                settings.push(setting);
            }
            let origin = format!("{path}, line {}", entry.line);
            let name = take_name(path, origin, &mut settings, &inside, &bots);
            let Some(name) = self.note(name) else { continue };
            for setting in settings {
                let key = setting.key.replacen(&inside, &format!("{}.", section(&name)), 1);
                named.push(Entry { key, ..setting });
            }
            bots.push(name);
        }
        if !bots.is_empty() {
            let sections: Vec<_> = bots.iter().map(|name| section(name)).collect();
            self.copy_section(SECTION, &sections);
            self.bots = bots;
        }
        named
    }
}

/// Removes a bot's name from its settings and returns it.
fn take_name(
    path: &str,
    origin: String,
    settings: &mut Vec<Entry>,
    inside: &str,
    taken: &[String],
) -> Result<String, ConfigError> {
    let wrong = |origin, found: String, allowed: &str| ConfigError::Invalid {
        origin,
        key: "name of a [[line]]".to_owned(),
        found,
        allowed: allowed.to_owned(),
    };
    let Some(place) = settings.iter().position(|entry| entry.key == format!("{inside}name")) else {
        return Err(wrong(origin, "missing".to_owned(), NAME));
    };
    let entry = settings.remove(place);
    let origin = format!("{path}, line {}", entry.line);
    match entry.value {
        Value::String(name) if !is_name(&name) => Err(wrong(origin, format!("{name:?}"), NAME)),
        Value::String(name) if taken.contains(&name) => {
            Err(wrong(origin, format!("{name:?} (a duplicate)"), "a name that no other bot uses"))
        }
        Value::String(name) => Ok(name),
        other => Err(wrong(origin, format!("of type {}", other.type_str()), NAME)),
    }
}

/// Returns whether a bot name is valid. It occurs in addresses and in names of variables: two bots
/// `x` and `x-data` would share the variable of their `(data_)api_base`.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(plain) && !name.ends_with("data")
}
