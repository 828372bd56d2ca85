//! Media files of an export: their source, and their names.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_core::id::MessageId;
use chatkeep_store::StoredMessage;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::TransferError;

/// Name of the folder of media files beside the messages.
pub(crate) const FOLDER: &str = "media";

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

/// Returns the name of a message's file: its id and an extension. Characters with a meaning in
/// paths or links are replaced, so no name leads out of the folder.
pub(crate) fn file_name(message: &MessageId, extension: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = message.as_str().chars().map(plain).take(100).collect();
    let extension: String =
        extension.chars().filter(char::is_ascii_alphanumeric).take(10).collect();
    if extension.is_empty() { name } else { format!("{name}.{extension}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name(&"468789577898262530".into(), "jpg"), "468789577898262530.jpg");
        assert_eq!(file_name(&"../../etc/passwd".into(), "../x"), "______etc_passwd.x");
        assert_eq!(file_name(&"1".into(), ""), "1");
    }
}
