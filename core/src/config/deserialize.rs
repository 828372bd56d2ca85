//! Deserializers of settings, for `#[serde(deserialize_with = …)]`. The message of their errors is
//! a description of the accepted values; origin, key and value are added by
//! [`Layers`](super::layers::Layers).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::{Deserialize, Deserializer, Error};

use super::values;
use crate::id::{UntrustedId, UserId};
use crate::telemetry;
use crate::time::zone_hint;

/// Description of a text that is not empty.
pub(super) const FILLED: &str = "a text that is not empty";
const ADDRESS: &str = "an address and port, such as \"127.0.0.1:8080\"";
const WEB_ADDRESS: &str = "an address such as \"https://chat.example.org\", without user or query";
const ORIGINS: &str = "origins such as \"https://a.example.org,https://b.example.org\", or \"\"";
const BOT_PROMPT: &str = "\"normal\", \"aggressive\", or \"\" for none";
const SECRET: &str = "a secret on one line";
const TOKEN: &str = "a token on one line, of visible ASCII characters without spaces";
const USER_IDS: &str = "user ids such as \"U4af4980629,U8189cf6745\", or \"\" for nobody";
const FILTER: &str = "a level (off, error, warn, info, debug, trace) or tracing directives such as \
                      \"info,chatkeep_workers=debug\"";

/// Deserializes a text that `parse` accepts.
pub(super) fn parsed<'de, T, D: Deserializer<'de>>(
    from: D,
    allowed: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).ok_or_else(|| D::Error::custom(allowed))
}

/// Does the same as [`parsed`], with `None` for an empty text.
fn optional<'de, T, D: Deserializer<'de>>(
    from: D,
    allowed: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    let parse = |text: &str| if text.is_empty() { Some(None) } else { parse(text).map(Some) };
    parsed(from, &format!("{allowed}, or \"\" for none"), parse)
}

/// Deserializes a whole number from `MIN` to `MAX`.
pub(super) fn number<'de, const MIN: i64, const MAX: i64, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<i64>,
    D: Deserializer<'de>,
{
    let number = i64::deserialize(from)?;
    let taken = (MIN..=MAX).contains(&number).then(|| T::try_from(number).ok()).flatten();
    taken.ok_or_else(|| D::Error::custom(format!("a whole number from {MIN} to {MAX}")))
}

/// Deserializes a number from 0 to 1.
pub(super) fn ratio<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let taken = (0.0..=1.0).contains(&number).then_some(number);
    taken.ok_or_else(|| D::Error::custom("a number from 0 to 1"))
}

/// Deserializes a duration of `MIN` to `MAX` whole seconds.
pub(super) fn seconds<'de, const MIN: i64, const MAX: i64, D>(from: D) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    number::<MIN, MAX, _, _>(from).map(Duration::from_secs)
}

/// Deserializes a duration of `MIN` to `MAX` whole days.
pub(super) fn days<'de, const MIN: i64, const MAX: i64, D>(from: D) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    number::<MIN, MAX, u64, _>(from).map(|days| Duration::from_hours(24 * days))
}

/// Deserializes a duration of up to `MAX` whole days, with `None` for 0.
pub(super) fn days_if_any<'de, const MAX: i64, D>(from: D) -> Result<Option<Duration>, D::Error>
where
    D: Deserializer<'de>,
{
    days::<0, MAX, _>(from).map(|days| Some(days).filter(|days| !days.is_zero()))
}

/// Deserializes the number of replicas of a stream.
pub(super) fn replicas<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let number = usize::deserialize(from).ok().filter(|number| matches!(number, 1 | 3 | 5));
    number.ok_or_else(|| D::Error::custom("1, 3 or 5"))
}

/// Deserializes a text without the spaces around it.
pub(super) fn trimmed<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| text.trim().to_owned())
}

/// Deserializes a text without the spaces around it, if any.
pub(super) fn optional_text<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<String>, D::Error> {
    trimmed(from).map(|text| Some(text).filter(|text| !text.is_empty()))
}

/// Deserializes the way in which LINE offers to add the bot as a friend, if any.
pub(super) fn optional_bot_prompt<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<String>, D::Error> {
    parsed(from, BOT_PROMPT, |text| match text.trim() {
        "" => Some(None),
        text @ ("normal" | "aggressive") => Some(Some(text.to_owned())),
        _ => None,
    })
}

/// Deserializes words with spaces between them.
pub(super) fn words<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    String::deserialize(from).map(|text| text.split_whitespace().map(str::to_owned).collect())
}

/// Deserializes a secret; `None` if it is empty.
pub(super) fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SecretString>, D::Error> {
    let text = trimmed(from)?;
    if text.contains(char::is_control) {
        return Err(D::Error::custom(SECRET));
    }
    Ok(Some(text).filter(|text| !text.is_empty()).map(Into::into))
}

/// Deserializes a secret that is sent in a header, if any: one that was broken in two lines could not
/// be.
pub(super) fn token<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SecretString>, D::Error> {
    let token = secret(from)?;
    let is_sendable =
        |token: &SecretString| token.expose_secret().bytes().all(|byte| byte.is_ascii_graphic());
    match token {
        Some(token) if !is_sendable(&token) => Err(D::Error::custom(TOKEN)),
        token => Ok(token),
    }
}

/// Deserializes the path of a folder.
pub(super) fn folder<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    parsed(from, FILLED, |text| (!text.trim().is_empty()).then(|| text.into()))
}

/// Deserializes an address to listen on.
pub(super) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    parsed(from, ADDRESS, |text| text.parse().ok())
}

/// Deserializes an address to listen on, if any.
pub(super) fn optional_address<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SocketAddr>, D::Error> {
    optional(from, ADDRESS, |text| text.parse().ok())
}

/// Deserializes a web address to join paths to.
pub(super) fn web_address<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    parsed(from, WEB_ADDRESS, values::web_address)
}

/// Deserializes a web address to join paths to, if any.
pub(super) fn optional_web_address<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<String>, D::Error> {
    optional(from, WEB_ADDRESS, values::web_address)
}

/// Deserializes a comma-separated list of origins.
pub(super) fn origins<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    parsed(from, ORIGINS, values::origins)
}

/// Deserializes a comma-separated list of user ids.
pub(super) fn user_ids<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<UserId>, D::Error> {
    parsed(from, USER_IDS, |text| {
        let listed = text.split(',').map(str::trim).filter(|id| !id.is_empty());
        listed.map(|id| UntrustedId::new(id).checked().ok()).collect()
    })
}

/// Deserializes a time zone by its name; the error suggests a similar one.
pub(super) fn zone<'de, D: Deserializer<'de>>(from: D) -> Result<Tz, D::Error> {
    let name = String::deserialize(from)?;
    name.parse().map_err(|_| {
        let hint = zone_hint(&name);
        let allowed = "the IANA name of a time zone, such as \"Asia/Taipei\"";
        D::Error::custom(format!("{allowed}{hint}"))
    })
}

/// Deserializes tracing directives.
pub(super) fn log_filter<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    parsed(from, FILTER, |text| telemetry::filter(text).is_ok().then(|| text.to_owned()))
}
