//! Cursors: opaque, and bound to the route and filters they were made for (contract section 1).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::ApiError;

#[derive(Serialize, Deserialize)]
struct Cursor<T> {
    /// What it was made for.
    #[serde(rename = "f")]
    binding: String,
    /// Where to go on.
    #[serde(rename = "k")]
    key: T,
}

/// A cursor that goes on at `key` in the list that `binding` (route and filters) names.
pub(super) fn encode<T: Serialize>(binding: &str, key: &T) -> Option<String> {
    let cursor = Cursor { binding: binding.to_owned(), key };
    serde_json::to_vec(&cursor).ok().map(|json| URL_SAFE_NO_PAD.encode(json))
}

/// Where a cursor goes on; 400 for one that is broken or was made for another list.
pub(super) fn decode<T: DeserializeOwned>(binding: &str, text: &str) -> Result<T, ApiError> {
    let bad = || ApiError::invalid("cursor", "cursor is not one that this list gave");
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    let cursor: Cursor<T> = serde_json::from_slice(&json).map_err(|_| bad())?;
    if cursor.binding == binding { Ok(cursor.key) } else { Err(bad()) }
}
