//! Taking messages out and bringing them in: exports as JSONL, CSV and a readable page, imports of
//! that JSONL and of the text that the LINE app exports (contract section 5, "Export").

mod csv;
mod export;
mod format;
mod html;
pub(crate) mod import;
mod jsonl;
pub(crate) mod line;
mod media;
pub(crate) mod pack;
mod stored;

use chatkeep_core::store::StoreError;

pub(crate) use export::{Export, export, pages};
pub(crate) use format::Format;
pub(crate) use media::{MediaLinks, MediaSource, NoMedia};
pub(crate) use stored::StoredMedia;

/// Why an export or an import ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// A message could not be written as JSON.
    #[error("a message cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A row could not be written.
    #[error("a row cannot be written as CSV")]
    Csv(#[from] ::csv::Error),
    /// A media file could not be read.
    #[error("the media file of message {0} cannot be read")]
    Media(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file could not be read or written.
    #[error("{what} {}", .path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: std::path::PathBuf,
        /// Why it failed.
        #[source]
        cause: std::io::Error,
    },
    /// The archive could not be read or written.
    #[error("the archive failed")]
    Zip(#[from] zip::result::ZipError),
    /// Reading or writing failed.
    #[error("reading or writing failed")]
    Io(#[from] std::io::Error),
    /// Nobody subscribes to the channel.
    #[error("nobody subscribes to the channel, so nothing of it is kept")]
    NotSubscribed,
    /// An archive that no export made.
    #[error("there is no messages.jsonl in {}", .0.display())]
    NoMessages(std::path::PathBuf),
    /// A file beyond the limits of an import.
    #[error("{} is too large to import: {why}", .path.display())]
    TooLarge {
        /// The file.
        path: std::path::PathBuf,
        /// Which limit it is beyond.
        why: String,
    },
    /// A file of another kind.
    #[error("{} is neither an export of chatkeep nor text exported by the LINE app", .0.display())]
    Unreadable(std::path::PathBuf),
    /// A part of the work died.
    #[error("writing stopped unexpectedly")]
    Died,
}
