//! Pagination. Cursors are opaque keysets, bound to the route and filters they were created for, so
//! that pages stay consistent while rows are added and removed.

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::ApiError;
use super::field_path::FieldPath;
use super::route::{Describe, Output};

/// U+0000 as escaped in JSON.
const NUL: &[u8] = b"\\u0000";

#[derive(Serialize, Deserialize)]
struct Cursor<T> {
    /// Binding: the list that the cursor belongs to.
    #[serde(rename = "f")]
    binding: String,
    /// Keyset of the last row.
    #[serde(rename = "k")]
    key: T,
}

/// Returns a cursor that continues after `key` in the list of `binding` (route and filters).
pub(super) fn encode<T: Serialize>(binding: &str, key: &T) -> Option<String> {
    let cursor = Cursor { binding: binding.to_owned(), key };
    serde_json::to_vec(&cursor).ok().map(|json| URL_SAFE_NO_PAD.encode(json))
}

/// Decodes a cursor; 400 when it is malformed or belongs to another list.
pub(super) fn decode<T: DeserializeOwned>(binding: &str, text: &str) -> Result<T, ApiError> {
    let bad = not_ours;
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    // Its texts are compared in the database, which holds no U+0000 and so gave none.
    if json.windows(NUL.len()).any(|part| part == NUL) {
        return Err(bad());
    }
    let cursor: Cursor<T> = serde_json::from_slice(&json).map_err(|_| bad())?;
    if cursor.binding == binding { Ok(cursor.key) } else { Err(bad()) }
}

/// Returns the error for a cursor of another list.
pub(super) fn not_ours() -> ApiError {
    ApiError::invalid_value(FieldPath::parameter("cursor"), "is not a cursor of this list")
}

/// Requested page: its start and size.
#[derive(Debug)]
pub(super) struct Window<K> {
    binding: String,
    limit: u32,
    /// The key of the last element of the page before.
    pub(super) after: Option<K>,
}

impl<K: Serialize + DeserializeOwned> Window<K> {
    /// Reads a page's query; `binding` names the route and its filters.
    pub(super) fn open(
        binding: impl Into<String>,
        limit: impl Into<u32>,
        cursor: Option<&str>,
    ) -> Result<Self, ApiError> {
        let binding = binding.into();
        let after = cursor.map(|text| decode(&binding, text)).transpose()?;
        Ok(Self { binding, limit: limit.into(), after })
    }

    /// Elements to read: one more than the page holds, to know whether more follow.
    pub(super) const fn wanted(&self) -> u32 {
        self.limit + 1
    }

    /// Cuts what was read down to the page; the cursor of the next one, if there is one.
    pub(super) fn cut<T>(&self, rows: &mut Vec<T>, key: impl Fn(&T) -> K) -> Option<String> {
        let more = rows.len() > self.limit as usize;
        rows.truncate(self.limit as usize);
        let last = rows.last().filter(|_| more)?;
        encode(&self.binding, &key(last))
    }
}

/// A page; the response has a `Link` header to the next one.
pub(super) struct Page<T> {
    pub(super) body: T,
    pub(super) next: Option<String>,
}

/// Cursor that [`super::respond::finish`] turns into the `Link` header.
#[derive(Clone, Debug)]
pub(super) struct Next(pub(super) String);

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        if let Some(cursor) = self.next {
            response.extensions_mut().insert(Next(cursor));
        }
        response
    }
}

impl<T: Serialize + ToSchema> Output for Page<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(axum::http::StatusCode::OK, "A page of the list");
        route.carries("Link");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::extract::Limit;

    #[test]
    fn a_cursor_serves_its_own_list_only() {
        let cursor = encode("a", &7).unwrap();
        assert_eq!(decode::<i32>("a", &cursor).unwrap(), 7);
        assert!(decode::<i32>("b", &cursor).is_err() && decode::<String>("a", &cursor).is_err());
        assert!(decode::<i32>("a", "zzz").is_err());
        let nul = encode("a", &"x\0y").unwrap();
        assert!(decode::<String>("a", &nul).is_err());
    }

    #[test]
    fn a_page_knows_whether_more_follow() {
        let window = Window::<u32>::open("list", Limit(2), None).unwrap();
        let mut rows = vec![1, 2, 3];
        let next = window.cut(&mut rows, |row| *row).unwrap();
        assert_eq!(rows, [1, 2]);
        let window = Window::<u32>::open("list", Limit(2), Some(&next)).unwrap();
        assert_eq!(window.after, Some(2));
        let mut rows = vec![3];
        assert!(window.cut(&mut rows, |row| *row).is_none());
    }
}
