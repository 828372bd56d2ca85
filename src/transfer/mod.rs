//! Taking messages out and bringing them in: exports as JSONL, CSV and a readable page, imports of
//! that JSONL and of the text that the LINE app exports.

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

use chatkeep_core::store::{ImportId, StoreError};

pub(crate) use export::{Export, export, pages};
pub(crate) use format::Format;
pub(crate) use media::{MediaLinks, MediaSource};
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
    /// A file in an encoding that is not read.
    #[error(
        "{} is neither UTF-8 nor UTF-16; it looks like {name}, which is not read: save it as UTF-8, \
         or name its encoding with --encoding",
        .path.display()
    )]
    Encoding {
        /// The file.
        path: std::path::PathBuf,
        /// The encoding that it looks like.
        name: &'static str,
    },
    /// A LINE text in a language that is not read.
    #[error(
        "{} looks like text exported by the LINE app, and its dates are in no language that is read \
         (line {line}: {text:?}); English, Chinese, Japanese, Korean and Thai are",
        .path.display()
    )]
    Language {
        /// The file.
        path: std::path::PathBuf,
        /// The line of its first date, from 1.
        line: u64,
        /// That line.
        text: String,
    },
    /// A LINE text whose dates can be read in two ways.
    #[error(
        "all dates of {} can be read with the day first and with the month first: give \
         --date-order dmy or mdy",
        .0.display()
    )]
    DateOrder(std::path::PathBuf),
    /// A LINE text, and nobody said which zone its times are in.
    #[error("a LINE text does not say in which time zone its times are")]
    ZoneNeeded,
    /// A LINE text that was imported with another zone.
    #[error(
        "{} was imported with the time zone {zone} before (import {import}); with {asked}, {known} of \
         its messages would be stored a second time. Give --time-zone {zone}, or undo that import \
         first: chatkeep import undo {import}",
        .path.display()
    )]
    OtherZone {
        /// The file.
        path: std::path::PathBuf,
        /// The zone that was asked for.
        asked: String,
        /// The last import with the other zone.
        import: ImportId,
        /// The other zone.
        zone: String,
        /// Messages that are known with the other zone only.
        known: u64,
    },
    /// Somebody undid the import while it ran.
    #[error("import {0} was undone while it ran")]
    Undone(ImportId),
    /// A part of the work died.
    #[error("writing stopped unexpectedly")]
    Died,
}
