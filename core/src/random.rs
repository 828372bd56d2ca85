//! Random text from the operating system: names, keys, ids and suffixes.

use crate::id::{SavedSearchId, WebhookId};

/// Returns a name that is unique across processes: 128 random bits in hexadecimal.
pub fn random_name() -> String {
    hex::encode(bytes::<16>())
}

/// Letters of every random text.
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Returns `length` random letters of `[a-z0-9]`, each equally likely.
pub fn text(length: usize) -> String {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        // 252 is the largest multiple of 36 in a byte; what is above it would favour some letters.
        for byte in bytes::<64>().into_iter().filter(|byte| *byte < 252) {
            if text.len() < length {
                text.push(char::from(LETTERS[usize::from(byte % 36)]));
            }
        }
    }
    text
}

/// Returns random bytes.
///
/// # Panics
///
/// If the operating system has none: no secret may be made then, so the program ends.
#[expect(clippy::expect_used, reason = "no secret may ever be made without entropy")]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Generates an API key: `ck_` and 40 letters.
pub fn api_key() -> String {
    format!("ck_{}", text(40))
}

/// Returns true when a text may be an API key; others are not looked up.
pub fn is_api_key(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.strip_prefix("ck_").is_some_and(|rest| rest.len() <= 40 && rest.bytes().all(letter))
}

/// Prefix of an access token, which distinguishes it from an API key.
pub const ACCESS_TOKEN: &str = "cka_";

/// Returns true when a text may be an access token; others are not looked up.
pub fn is_access_token(text: &str) -> bool {
    text.starts_with(ACCESS_TOKEN)
}

/// Generates a webhook's ID.
pub fn webhook_id() -> WebhookId {
    WebhookId::new(format!("wh_{}", text(16)))
}

/// Generates a saved search's ID.
pub fn saved_search_id() -> SavedSearchId {
    SavedSearchId::new(format!("ss_{}", text(16)))
}

/// Generates a key's public ID.
pub fn key_id() -> String {
    format!("key_{}", text(12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_form_and_differ() {
        let (one, two) = (random_name(), random_name());
        assert_ne!(one, two);
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    }

    #[test]
    fn keys_have_their_form_and_differ() {
        let (one, two) = (api_key(), api_key());
        assert_ne!(one, two);
        assert!(one.len() == 43 && one.starts_with("ck_"));
        assert!(one[3..].bytes().all(|b| LETTERS.contains(&b)));
    }
}
