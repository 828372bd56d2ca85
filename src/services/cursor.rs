//! Cursors of lists: opaque keysets, bound to the list and filters that they were made for, so that
//! paging stays right while rows arrive and vanish.
//!
//! Nothing seals them: who makes one up continues a list anywhere. Lists that go by ids of people
//! therefore take of readers of pseudonyms only what stands for one of their rows; any other text
//! would tell where among the real ids it stands.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FieldPath, ServiceError};

#[derive(Serialize, Deserialize)]
struct Cursor<T> {
    /// The list and filters that it belongs to.
    #[serde(rename = "f")]
    binding: String,
    /// The key at which the list continues.
    #[serde(rename = "k")]
    key: T,
}

/// Encodes a cursor that continues at `key` in the list that `binding` (list and filters) names.
pub fn encode<T: Serialize>(binding: &str, key: &T) -> Option<String> {
    let cursor = Cursor { binding: binding.to_owned(), key };
    serde_json::to_vec(&cursor).ok().map(|json| URL_SAFE_NO_PAD.encode(json))
}

/// Decodes the key at which a cursor continues.
///
/// # Errors
/// [`ServiceError::Invalid`] for a cursor that is broken or was made for another list.
pub fn decode<T: Serialize + DeserializeOwned>(
    binding: &str,
    text: &str,
) -> Result<T, ServiceError> {
    let bad = not_ours;
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    // Its texts are compared in the database, which holds no U+0000 and so gave none.
    let plain: Value = serde_json::from_slice(&json).map_err(|_| bad())?;
    if has_nul(&plain) {
        return Err(bad());
    }
    let cursor: Cursor<T> = serde_json::from_slice(&json).map_err(|_| bad())?;
    // In another spelling, ids would pass unseen where they are exchanged for pseudonyms.
    let is_ours = encode(&cursor.binding, &cursor.key).as_deref() == Some(text);
    if is_ours && cursor.binding == binding { Ok(cursor.key) } else { Err(bad()) }
}

/// Returns true if a text of the value, or a name in it, contains U+0000.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the error about a cursor that this list did not issue.
pub(super) fn not_ours() -> ServiceError {
    ServiceError::invalid_value(FieldPath::parameter("cursor"), "is not a cursor of this list")
}

/// Requested part of a list: its start and its length.
#[derive(Debug)]
pub struct Window<K> {
    binding: String,
    limit: u32,
    /// The key of the last element of the page before.
    pub after: Option<K>,
}

impl<K: Serialize + DeserializeOwned> Window<K> {
    /// Parses a request for a page; `binding` names the list and its filters.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    pub fn open(
        binding: impl Into<String>,
        limit: impl Into<u32>,
        cursor: Option<&str>,
    ) -> Result<Self, ServiceError> {
        let binding = binding.into();
        let after = cursor.map(|text| decode(&binding, text)).transpose()?;
        Ok(Self { binding, limit: limit.into(), after })
    }

    /// Returns the number of rows to read: one more than the page holds, to know whether more
    /// follow.
    pub const fn wanted(&self) -> u32 {
        self.limit + 1
    }

    /// Truncates the rows to the page; returns the cursor of the next one, if any.
    pub fn cut<T>(&self, rows: &mut Vec<T>, key: impl Fn(&T) -> K) -> Option<String> {
        let more = rows.len() > self.limit as usize;
        rows.truncate(self.limit as usize);
        let last = rows.last().filter(|_| more)?;
        encode(&self.binding, &key(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_serves_its_own_list_only() {
        let cursor = encode("a", &7).unwrap();
        assert_eq!(decode::<i32>("a", &cursor).unwrap(), 7);
        assert!(decode::<i32>("b", &cursor).is_err() && decode::<String>("a", &cursor).is_err());
        assert!(decode::<i32>("a", "zzz").is_err());
        let nul = encode("a", &"x\0y").unwrap();
        assert!(decode::<String>("a", &nul).is_err());
        let nested = encode("a", &[("x", vec!["y\0"])]).unwrap();
        assert!(decode::<Vec<(String, Vec<String>)>>("a", &nested).is_err());
        for spelled in [
            r#"{"k":7,"f":"a"}"#,
            r#"{"f":"a", "k":7}"#,
            r#"{"f":"\u0061","k":7}"#,
            r#"{"f":"a","k":7} "#,
        ] {
            let spelled = URL_SAFE_NO_PAD.encode(spelled);
            assert!(decode::<i32>("a", &spelled).is_err(), "another spelling of the same");
        }
    }

    #[test]
    fn a_page_knows_whether_more_follow() {
        let window = Window::<u32>::open("list", 2_u32, None).unwrap();
        let mut rows = vec![1, 2, 3];
        let next = window.cut(&mut rows, |row| *row).unwrap();
        assert_eq!(rows, [1, 2]);
        let window = Window::<u32>::open("list", 2_u32, Some(&next)).unwrap();
        assert_eq!(window.after, Some(2));
        let mut rows = vec![3];
        assert!(window.cut(&mut rows, |row| *row).is_none());
    }
}
