//! Export and import of messages: exports as JSONL, CSV and a readable page, imports of that JSONL
//! and of the text that the LINE app exports. [`out`] is the output of commands.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod csv;
mod escaped;
mod export;
mod format;
#[cfg(test)]
mod home_tests;
mod html;
pub mod import;
mod jsonl;
pub mod line;
mod media;
pub mod out;
mod own;
pub mod pack;
mod part;
#[cfg(test)]
mod sample_tests;
mod stored;

use chatkeep_core::id::ChannelId;
use chatkeep_store::{ImportId, StoreError};

pub use export::{Export, export, pages};
pub use format::Format;
pub use media::{MediaLinks, MediaSource};
pub use own::{OwnExport, OwnFormat, own_data};
pub use part::{PartRange, PartSummary, export_part};
pub use stored::StoredMedia;

/// Error of an export or an import.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
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
    /// The source of media files does not have one that a message refers to, or not whole.
    #[error("the media file of message {0} is missing")]
    NoFile(String),
    /// A file could not be read or written.
    #[error("{what} {}", .path.display())]
    File {
        /// Operation that failed.
        what: &'static str,
        /// Path of the file.
        path: std::path::PathBuf,
        /// Cause of the failure.
        #[source]
        cause: std::io::Error,
    },
    /// The archive could not be read or written.
    #[error("the archive failed")]
    Zip(#[from] zip::result::ZipError),
    /// Reading or writing failed.
    #[error("reading or writing failed")]
    Io(#[from] std::io::Error),
    /// The channel has no subscriber.
    #[error("the channel has no backup subscription, so its messages are not stored")]
    NotSubscribed,
    /// The export is of another channel.
    #[error(
        "{} is an export of channel {of}, and a JSONL export goes only into the channel that it came \
         from: give --channel {of}",
        .path.display()
    )]
    OtherChannel {
        /// The file.
        path: std::path::PathBuf,
        /// Channel that it came from.
        of: ChannelId,
    },
    /// The archive is not an export.
    #[error("{} contains no messages.jsonl", .0.display())]
    NoMessages(std::path::PathBuf),
    /// The file exceeds a limit of an import.
    #[error("{} is too large to import: {why}", .path.display())]
    TooLarge {
        /// The file.
        path: std::path::PathBuf,
        /// Limit that it exceeds.
        why: String,
    },
    /// File of another kind.
    #[error("{} is neither an export of chatkeep nor text exported by the LINE app", .0.display())]
    Unreadable(std::path::PathBuf),
    /// File in an unsupported encoding.
    #[error(
        "{} is neither UTF-8 nor UTF-16; it looks like {name}, which is not supported: save it as \
         UTF-8, or name its encoding with --encoding",
        .path.display()
    )]
    Encoding {
        /// The file.
        path: std::path::PathBuf,
        /// Encoding that it looks like.
        name: &'static str,
    },
    /// LINE text in an unsupported language.
    #[error(
        "{} looks like text exported by the LINE app, but its dates are in an unsupported language \
         (line {line}: {text:?}); supported are English, Chinese, Japanese, Korean and Thai",
        .path.display()
    )]
    Language {
        /// The file.
        path: std::path::PathBuf,
        /// Number of the first line that looks like a date, from 1.
        line: u64,
        /// Text of that line.
        text: String,
    },
    /// LINE text with ambiguous dates.
    #[error(
        "all dates of {} can be read with the day first and with the month first: give \
         --date-order dmy or mdy",
        .0.display()
    )]
    DateOrder(std::path::PathBuf),
    /// LINE text without a time zone.
    #[error("a LINE text does not contain its time zone")]
    ZoneNeeded,
    /// LINE text that was imported with another zone.
    #[error(
        "{} was imported with the time zone {zone} before (import {import}); with {asked}, {known} of \
         its messages would be stored a second time. Give --time-zone {zone}, or undo that import \
         first: chatkeep import undo {import}",
        .path.display()
    )]
    OtherZone {
        /// The file.
        path: std::path::PathBuf,
        /// Requested zone.
        asked: String,
        /// Last import with the other zone.
        import: ImportId,
        /// Other zone.
        zone: String,
        /// Number of messages that are stored with the other zone only.
        known: u64,
    },
    /// The import failed when it had added something.
    #[error(
        "import {import} is not complete: run the command again for the rest, or `chatkeep import undo \
         {import}`, which removes what it added"
    )]
    Incomplete {
        /// Number of the import.
        import: ImportId,
        /// Cause of the failure.
        #[source]
        cause: Box<Self>,
    },
    /// The import was undone while it ran.
    #[error("import {0} was undone while it ran")]
    Undone(ImportId),
    /// A thread of the work panicked.
    #[error("writing stopped unexpectedly")]
    Died,
}
