//! Random text from the operating system: keys, ids, suffixes.

use chatkeep_core::id::{SavedSearchId, WebhookId};

/// Letters of every random text.
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// `length` random letters of `[a-z0-9]`, each equally likely.
pub(crate) fn text(length: usize) -> String {
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

/// Random bytes. An operating system that has none cannot run this program safely, so it ends.
#[expect(clippy::expect_used, reason = "no secret may ever be made without entropy")]
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Generates an API key: `ck_` and 40 letters.
pub fn api_key() -> String {
    format!("ck_{}", text(40))
}

/// Returns true when a text may be an API key; others are not looked up.
pub(crate) fn is_api_key(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.strip_prefix("ck_").is_some_and(|rest| rest.len() <= 40 && rest.bytes().all(letter))
}

/// Prefix of an access token, which distinguishes it from an API key.
pub(crate) const ACCESS_TOKEN: &str = "cka_";

/// Returns true when a text may be an access token; others are not looked up.
pub(crate) fn is_access_token(text: &str) -> bool {
    text.starts_with(ACCESS_TOKEN)
}

/// Generates a webhook's ID.
pub(crate) fn webhook_id() -> WebhookId {
    WebhookId::new(format!("wh_{}", text(16)))
}

/// Generates a saved search's ID.
pub(crate) fn saved_search_id() -> SavedSearchId {
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
    fn keys_have_their_form_and_differ() {
        let (one, two) = (api_key(), api_key());
        assert_ne!(one, two);
        assert!(one.len() == 43 && one.starts_with("ck_"));
        assert!(one[3..].bytes().all(|b| LETTERS.contains(&b)));
    }
}
