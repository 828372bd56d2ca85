//! Typed reading of settings, each with its check.

use std::net::SocketAddr;
use std::time::Duration;

use chrono_tz::Tz;
use secrecy::SecretString;

use super::ConfigError;
use super::layers::Layers;
use super::redact::redacted;
use crate::time::zone_hint;

pub(super) struct Reader<'a>(pub(super) &'a Layers);

impl Reader<'_> {
    fn text(&self, key: &str) -> Result<(&str, &str), ConfigError> {
        let (value, origin) = self.0.get(key)?;
        Ok((value.as_str().unwrap_or_default(), origin))
    }

    /// Returns a text that is not empty.
    pub(super) fn filled(&self, key: &str) -> Result<&str, ConfigError> {
        let (text, origin) = self.text(key)?;
        if text.trim().is_empty() {
            return Err(invalid(origin, key, "empty".to_owned(), "a text that is not empty"));
        }
        Ok(text)
    }

    /// Returns a setting parsed by `parse`; `allowed` describes the accepted values in errors.
    pub(super) fn parsed<T>(
        &self,
        key: &str,
        allowed: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let (text, origin) = self.text(key)?;
        parse(text).ok_or_else(|| invalid(origin, key, redacted(key, text), allowed))
    }

    /// Does the same as [`Reader::parsed`], with `None` for an empty text.
    pub(super) fn optional<T>(
        &self,
        key: &str,
        allowed: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        if self.text(key)?.0.is_empty() {
            return Ok(None);
        }
        self.parsed(key, &format!("{allowed}, or \"\" for none"), parse).map(Some)
    }

    /// Returns a time zone.
    pub(super) fn zone(&self, key: &str) -> Result<Tz, ConfigError> {
        let hint = zone_hint(self.text(key)?.0);
        let allowed = format!("the IANA name of a time zone, such as \"Asia/Taipei\"{hint}");
        self.parsed(key, &allowed, |name| name.parse().ok())
    }

    /// Parses an address to listen on.
    pub(super) fn address(text: &str) -> Option<SocketAddr> {
        text.parse().ok()
    }

    /// Returns a whole number from `min` to `max`.
    pub(super) fn number<T: TryFrom<i64>>(
        &self,
        key: &str,
        min: i64,
        max: i64,
    ) -> Result<T, ConfigError> {
        let allowed = format!("a whole number from {min} to {max}");
        self.checked(key, &allowed, |number| (min..=max).contains(&number))
    }

    /// Returns a whole number that `fits`.
    pub(super) fn checked<T: TryFrom<i64>>(
        &self,
        key: &str,
        allowed: &str,
        fits: impl FnOnce(i64) -> bool,
    ) -> Result<T, ConfigError> {
        let (value, origin) = self.0.get(key)?;
        let number = value.as_integer().unwrap_or_default();
        let taken = fits(number).then(|| T::try_from(number).ok()).flatten();
        taken.ok_or_else(|| invalid(origin, key, number.to_string(), allowed))
    }

    /// Returns a time in whole seconds from `min` to `max`.
    pub(super) fn seconds(&self, key: &str, min: i64, max: i64) -> Result<Duration, ConfigError> {
        Ok(Duration::from_secs(self.number(key, min, max)?))
    }

    /// Returns a time in whole days from `min` to `max`.
    pub(super) fn days(&self, key: &str, min: i64, max: i64) -> Result<Duration, ConfigError> {
        let days: u64 = self.number(key, min, max)?;
        Ok(Duration::from_hours(24 * days))
    }

    /// Returns a boolean.
    pub(super) fn switch(&self, key: &str) -> Result<bool, ConfigError> {
        Ok(self.0.get(key)?.0.as_bool().unwrap_or_default())
    }

    /// Returns a secret; `None` if it is empty.
    pub(super) fn secret(&self, key: &str) -> Result<Option<SecretString>, ConfigError> {
        let text = self.text(key)?.0.trim();
        Ok((!text.is_empty()).then(|| text.to_owned().into()))
    }
}

fn invalid(origin: &str, key: &str, found: String, allowed: &str) -> ConfigError {
    let (origin, key, allowed) = (origin.to_owned(), key.to_owned(), allowed.to_owned());
    ConfigError::Invalid { origin, key, found, allowed }
}
