//! The media files of an export: where they come from, and how they are named.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_core::id::MessageId;
use chatkeep_core::store::StoredMessage;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::TransferError;

/// The folder of media files beside the messages.
pub(crate) const FOLDER: &str = "media";

/// A file's bytes as they come.
pub(crate) type FileBytes = BoxStream<'static, Result<Bytes, TransferError>>;

/// Where the files of messages are.
pub(crate) trait MediaSource: fmt::Debug + Send + Sync {
    /// The name that a message's file gets; `None` when no file of it is kept. Asked for once for
    /// the page and once for the file, so it has to be the same each time.
    fn name(&self, message: &StoredMessage) -> Option<String>;

    /// Its bytes.
    fn open<'a>(
        &'a self,
        message: &'a StoredMessage,
    ) -> BoxFuture<'a, Result<FileBytes, TransferError>>;
}

/// Where a page finds the files of its messages.
#[derive(Clone, Debug, Default)]
pub(crate) enum MediaLinks {
    /// Nowhere: it is alone.
    #[default]
    None,
    /// In the folder beside it, which the same source fills.
    Beside(Arc<dyn MediaSource>),
}

impl MediaLinks {
    /// The path from the page to a message's file.
    pub(super) fn path(&self, message: &StoredMessage) -> Option<String> {
        match self {
            Self::None => None,
            Self::Beside(source) => source.name(message).map(|name| format!("{FOLDER}/{name}")),
        }
    }
}

/// The name of a message's file: its id and an extension. Whatever a file system or a link could
/// take amiss is replaced, so no name leads out of the folder.
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
