//! The assistant's settings (interface specification, "Assistant config" and after).

pub(super) mod config;
pub(super) mod qa;
pub(super) mod texts;

use icu_normalizer::ComposingNormalizerBorrowed;

use super::auth::{Admin, ChannelAccess, WriteAssistant};
use super::error::ApiError;

/// Settings are for admins and owners, reading included.
type Settings = ChannelAccess<Admin, WriteAssistant>;

/// Checks a text's length in characters (Unicode scalar values after NFC, contract section 1), after taking U+0000 out, which no database keeps.
fn text(field: &'static str, given: String, min: usize, max: usize) -> Result<String, ApiError> {
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

/// Checks keywords: how many, how long, none empty; duplicates collapse.
fn keywords(
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
