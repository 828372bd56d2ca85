//! Media files of an export: their source, and their names.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_core::id::MessageId;
use chatkeep_store::StoredMessage;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::BoxStream;
use sha2::{Digest as _, Sha256};

use super::TransferError;
use super::escaped::escaped;

/// Name of the folder of media files beside the messages.
pub(crate) const FOLDER: &str = "media";

/// Maximum length of a file's name without its extension; file systems take 255 bytes.
const LONGEST: usize = 120;
/// Length of the part of a longer one that is kept, for people.
const MAX_NAME: usize = 50;

/// Stream of a file's bytes.
pub(crate) type FileBytes = BoxStream<'static, Result<Bytes, TransferError>>;

/// Source of messages' files.
pub trait MediaSource: fmt::Debug + Send + Sync {
    /// Returns the name for a message's file; `None` when no file of it is stored. Called once for
    /// the page and once for the file, so it has to be the same each time.
    fn name(&self, message: &StoredMessage) -> Option<String>;

    /// Returns the file's bytes.
    fn open<'a>(
        &'a self,
        message: &'a StoredMessage,
    ) -> BoxFuture<'a, Result<FileBytes, TransferError>>;

    /// Returns the name and the bytes of the preview of a message's file; `None` without one.
    fn preview<'a>(
        &'a self,
        _message: &'a StoredMessage,
    ) -> BoxFuture<'a, Result<Option<(String, FileBytes)>, TransferError>> {
        Box::pin(ready(Ok(None)))
    }
}

/// Links of a page to the files of its messages.
#[derive(Clone, Debug, Default)]
pub enum MediaLinks {
    /// No links: the page is alone.
    #[default]
    None,
    /// Links to the folder beside it, which the same source fills.
    Beside(Arc<dyn MediaSource>),
}

impl MediaLinks {
    /// Returns the path from the page to a message's file.
    pub(super) fn path(&self, message: &StoredMessage) -> Option<String> {
        match self {
            Self::None => None,
            Self::Beside(source) => source.name(message).map(|name| format!("{FOLDER}/{name}")),
        }
    }
}

/// Returns the name of a message's file: its id and an extension. Characters that have a meaning in
/// paths or links are written in hexadecimal, so that no name leads out of the folder and no two
/// messages share one.
pub(crate) fn file_name(message: &MessageId, extension: &str) -> String {
    let name = injective(message.as_str());
    let extension: String =
        extension.chars().filter(char::is_ascii_alphanumeric).take(10).collect();
    if extension.is_empty() { name } else { format!("{name}.{extension}") }
}

/// Returns an injective name of an id, of at most [`LONGEST`] bytes.
fn injective(id: &str) -> String {
    let mut name = escaped(id);
    if name.len() > LONGEST {
        // Two underscores stand in no name that is written out.
        name.truncate(MAX_NAME);
        let _ = write!(name, "__{}", hex::encode(Sha256::digest(id.as_bytes())));
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name(&"468789577898262530".into(), "jpg"), "468789577898262530.jpg");
        let up = file_name(&"../etc/passwd".into(), "../x");
        assert_eq!(up, "_2e_2e_2fetc_2fpasswd.x");
        assert_eq!(file_name(&"1".into(), ""), "1");
    }

    #[test]
    fn names_differ_as_ids_do() {
        let long = |last: &str| "9".repeat(LONGEST) + last;
        let ids =
            ["a/b", "a\\b", "a_b", "a_2fb", "a__b", "a b", "a", "早", "晚", "a-b", "a.b", "a:b"];
        let mut ids: Vec<_> = ids.into_iter().map(str::to_owned).collect();
        ids.extend([long(""), long("1"), long("2"), "/".repeat(255), "/".repeat(254)]);
        // The name of a longer id is that of none.
        ids.push(injective(&long("1")));
        let names: BTreeSet<_> =
            ids.iter().map(|id| file_name(&id.as_str().into(), "png")).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        assert!(
            names.iter().all(|name| name.len() < 255 && name.chars().all(is_plain)),
            "{names:?}"
        );
        assert_eq!(injective(&long("")), long(""), "it is written out");
    }
}
