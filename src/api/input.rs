//! Checks of what callers write (contract section 1, "Limits").

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
    let id = UntrustedId::new(given).checked();
    id.map_err(|why| ApiError::invalid(field, format!("{field} holds what is no id: {why}")))
}

/// Checks keywords: how many, how long, none empty; duplicates collapse.
pub(super) fn keywords(
    field: &'static str,
    given: Vec<String>,
    min: usize,
    max: usize,
) -> Result<Vec<String>, ApiError> {
    let mut kept: Vec<String> = Vec::with_capacity(given.len().min(max));
    for keyword in given {
        let keyword = text(field, keyword, 1, chatkeep_core::assistant::limits::KEYWORD)?;
        let keyword = keyword.trim().to_owned();
        if !kept.contains(&keyword) {
            kept.push(keyword);
        }
    }
    if kept.len() < min {
        return Err(ApiError::invalid(field, format!("{field} needs at least {min} keyword")));
    }
    if kept.len() > max {
        return Err(ApiError::invalid(field, format!("{field} holds at most {max} keywords")));
    }
    Ok(kept)
}
