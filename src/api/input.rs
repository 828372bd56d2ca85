//! Checks of what callers write (contract section 1, "Limits").

use std::collections::HashSet;

use chatkeep_core::id::{ChannelId, UntrustedId};
use icu_normalizer::ComposingNormalizerBorrowed;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::error::ApiError;

/// Characters of a channel's id that a caller names, at most.
const CHANNEL: usize = 100;

/// A keyword, for the documentation.
#[derive(ToSchema)]
#[schema(min_length = 1, max_length = 100, pattern = r"[^\s\u0000\u0085]")]
pub(super) struct Keyword(#[expect(dead_code, reason = "only its form is used")] String);

/// A channel's id, for the documentation.
#[derive(ToSchema)]
#[schema(min_length = 1, max_length = 100, pattern = r"^[^\s\u0000-\u001f\u007f-\u009f\ufffd]+$")]
pub(super) struct ChannelName(#[expect(dead_code, reason = "only its form is used")] String);

/// Bytes that may become one character in NFC: of four characters before, with four bytes each.
const MOST_BYTES: usize = 16;

/// Reads a whole number. In JSON, `3.0` is one too, as JSON Schema says.
pub(crate) fn whole<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(value)? else {
        return Ok(None);
    };
    // Written without the fraction of zeros; one that is no zeros stays and is refused.
    let text = number.to_string();
    let whole = text.strip_suffix(".0").unwrap_or(&text).parse();
    whole.map(Some).map_err(|_| D::Error::custom("not a whole number from 0"))
}

/// Reads what may be absent and must not be null.
pub(super) fn present<'de, T, D>(value: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(value).map(Some)
}

/// Checks a text's length in characters (Unicode scalar values after NFC, contract section 1),
/// after taking U+0000 out, which no database keeps.
pub(super) fn text(
    field: &'static str,
    given: String,
    min: usize,
    max: usize,
) -> Result<String, ApiError> {
    let given = if given.contains('\0') { given.replace('\0', "") } else { given };
    // Far too much is not normalized first.
    if given.len() > max.saturating_mul(MOST_BYTES) {
        return Err(ApiError::invalid(field, format!("{field} is longer than {max} characters")));
    }
    let length = ComposingNormalizerBorrowed::new_nfc().normalize(&given).chars().count();
    if length > max {
        return Err(ApiError::invalid(field, format!("{field} is longer than {max} characters")));
    }
    if length < min || (min > 0 && given.trim().is_empty()) {
        return Err(ApiError::invalid(field, format!("{field} must not be empty")));
    }
    Ok(given)
}

/// Checks a channel's id: at most 100 characters, and such as a platform could give.
pub(super) fn channel_id(field: &'static str, given: String) -> Result<ChannelId, ApiError> {
    if given.chars().count() > CHANNEL {
        let why = format!("{field} holds an id that is longer than {CHANNEL} characters");
        return Err(ApiError::invalid(field, why));
    }
    if given.chars().any(char::is_whitespace) {
        return Err(ApiError::invalid(field, format!("{field} holds an id with white space")));
    }
    let id = UntrustedId::new(given).checked();
    id.map_err(|why| ApiError::invalid(field, format!("{field} holds what is no id: {why}")))
}

/// Checks keywords: how many, how long, none empty; duplicates collapse. However many are given, no
/// more work is done than for as many as may be.
pub(super) fn keywords(
    field: &'static str,
    given: Vec<String>,
    min: usize,
    max: usize,
) -> Result<Vec<String>, ApiError> {
    if given.len() > max {
        return Err(ApiError::invalid(field, format!("{field} holds at most {max} keywords")));
    }
    let mut seen = HashSet::with_capacity(given.len());
    let mut kept: Vec<String> = Vec::with_capacity(given.len());
    for keyword in given {
        let keyword = text(field, keyword, 1, chatkeep_core::assistant::limits::KEYWORD)?;
        let keyword = keyword.trim();
        if seen.insert(keyword.to_owned()) {
            kept.push(keyword.to_owned());
        }
    }
    if kept.len() < min {
        return Err(ApiError::invalid(field, format!("{field} needs at least {min} keyword")));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("word {n}")).collect()
    }

    #[test]
    fn duplicates_collapse_and_limits_hold() {
        let given = ["a", "b ", "a", " b"].map(str::to_owned).to_vec();
        assert_eq!(keywords("keywords", given, 1, 50).unwrap(), ["a", "b"]);
        assert_eq!(keywords("keywords", many(50), 1, 50).unwrap().len(), 50);
        assert!(keywords("keywords", many(51), 1, 50).is_err());
        assert!(keywords("keywords", Vec::new(), 1, 50).is_err());
    }

    #[test]
    fn too_many_keywords_are_refused_before_any_is_looked_at() {
        // The first one alone would be refused, too, and for another reason.
        let mut given = many(100_000);
        given[0] = "x".repeat(101);
        let ApiError::Invalid { why, .. } = keywords("keywords", given, 1, 50).unwrap_err() else {
            panic!("refused otherwise");
        };
        assert_eq!(why, "keywords holds at most 50 keywords");
    }

    #[test]
    fn characters_count_as_they_are_composed() {
        // Four characters become one.
        let composed = "\u{3b1}\u{313}\u{300}\u{345}";
        assert!(text("text", composed.repeat(10), 1, 10).is_ok());
        assert!(text("text", composed.repeat(11), 1, 10).is_err());
        assert!(text("text", "\u{1f600}".repeat(10), 1, 10).is_ok());
        assert!(text("text", "x".repeat(1_000_000), 1, 10).is_err());
        assert_eq!(text("text", "\0".repeat(1_000) + "x", 1, 1).unwrap(), "x");
    }
}
