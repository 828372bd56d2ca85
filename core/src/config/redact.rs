//! Redaction of values in logs and errors.

use super::line::single;

/// Settings that are secrets, or addresses that may hold a password. Only these can be read from a
/// file with `…_FILE`, and they are never shown in an error.
const SECRETS: [&str; 8] = [
    "database",
    "bus",
    "line.channel_secret",
    "line.channel_secret_previous",
    "line.access_token",
    "login.client_secret",
    "s3.access_key_id",
    "s3.secret_access_key",
];

/// Returns whether a setting may hold a secret.
pub(super) fn is_secret(key: &str) -> bool {
    SECRETS.contains(&key) || single(key).is_some_and(|key| SECRETS.contains(&&*key))
}

/// Returns whether a text is an address that may hold a password. Only [`SECRETS`] should, but
/// others may be pasted with one.
pub(super) fn may_hold_password(text: &str) -> bool {
    text.contains("://") && text.contains(['@', '?'])
}

/// Returns whether an address of a database or a bus has a password in it, or a token in the place of
/// a user (NATS).
pub fn has_password(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let user = rest.rsplit_once('@').map(|(user, _)| user);
    let is_secret = |user: &str| !scheme.starts_with("postgres") || user.contains(':');
    user.is_some_and(is_secret) || query.contains("password=")
}

/// Formats an invalid value for an error.
pub(super) fn redacted(key: &str, text: &str) -> String {
    if is_secret(key) {
        return "not acceptable".to_owned();
    }
    if may_hold_password(text) {
        format!("{:?}", public(text))
    } else if text.contains('@') {
        "not acceptable".to_owned()
    } else {
        format!("{text:?}")
    }
}

/// Returns an address without its credentials and its query.
pub fn public(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // An `@` further on: the password holds a slash or the like, so no part of the address can be
    // trusted.
    if path.contains('@') {
        return format!("{scheme}://…");
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((_, hosts)) => format!("{scheme}://…@{hosts}{path}"),
        None => format!("{scheme}://{authority}{path}"),
    }
}
