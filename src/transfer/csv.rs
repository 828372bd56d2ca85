//! Exports for spreadsheets (RFC 4180).
//!
//! The text begins with a byte order mark: without one, spreadsheets read Chinese, Japanese and
//! Thai as something else. A cell that a spreadsheet would take for a formula gets an apostrophe
//! in front, so that nothing anybody wrote in a chat runs on opening the file.

use std::borrow::Cow;

use bytes::Bytes;
use chatkeep_core::store::StoredMessage;
use csv::{Terminator, WriterBuilder};

use super::TransferError;
use crate::view::MessageView;

const BOM: &str = "\u{feff}";

const COLUMNS: [&str; 23] = [
    "id",
    "timestamp",
    "senderId",
    "senderName",
    "type",
    "content",
    "fileName",
    "fileSize",
    "duration",
    "mediaStatus",
    "latitude",
    "longitude",
    "title",
    "address",
    "packageId",
    "stickerId",
    "quotedMessageId",
    "editedAt",
    "unsentAt",
    "isBot",
    "bytes",
    "backedUpAt",
    "channelId",
];

/// The byte order mark and the columns' names.
pub(super) fn header() -> Result<Bytes, TransferError> {
    let mut out = writer(BOM.as_bytes().to_vec());
    out.write_record(COLUMNS)?;
    finished(out)
}

/// One row a message.
pub(super) fn rows(messages: impl Iterator<Item = StoredMessage>) -> Result<Bytes, TransferError> {
    let mut out = writer(Vec::new());
    for message in messages {
        let cells = cells(MessageView::from(message));
        out.write_record(cells.iter().map(|cell| guarded(cell).into_owned()))?;
    }
    finished(out)
}

fn writer(start: Vec<u8>) -> csv::Writer<Vec<u8>> {
    WriterBuilder::new().terminator(Terminator::CRLF).from_writer(start)
}

fn finished(out: csv::Writer<Vec<u8>>) -> Result<Bytes, TransferError> {
    let out = out.into_inner().map_err(csv::IntoInnerError::into_error)?;
    Ok(out.into())
}

fn cells(view: MessageView) -> [String; COLUMNS.len()] {
    let (sender_id, sender_name) = view
        .sender
        .map(|sender| (sender.user_id.into_string(), sender.display_name.unwrap_or_default()))
        .unwrap_or_default();
    [
        view.id.into_string(),
        view.timestamp.to_string(),
        sender_id,
        sender_name,
        view.kind.name().to_owned(),
        view.content.unwrap_or_default(),
        view.file_name.unwrap_or_default(),
        shown(view.file_size),
        shown(view.duration),
        view.media_status.unwrap_or_default(),
        shown(view.latitude),
        shown(view.longitude),
        view.title.unwrap_or_default(),
        view.address.unwrap_or_default(),
        view.package_id.unwrap_or_default(),
        view.sticker_id.unwrap_or_default(),
        shown(view.quoted_message_id),
        shown(view.edited_at),
        shown(view.unsent_at),
        view.is_bot.to_string(),
        view.bytes.to_string(),
        view.backed_up_at.to_string(),
        view.channel_id.into_string(),
    ]
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A cell that no spreadsheet takes for a formula. Numbers stay numbers.
fn guarded(cell: &str) -> Cow<'_, str> {
    let risky = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if risky && cell.parse::<f64>().is_err() {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text() {
        for cell in ["=1+1", "+HYPERLINK()", "-2+3", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(guarded(cell), format!("'{cell}"));
        }
        for cell in ["", "a=b", "-25.5", "+1", "早安", "'quoted'"] {
            assert_eq!(guarded(cell), cell);
        }
    }

    #[test]
    fn the_header_begins_with_the_mark() {
        let header = header().unwrap();
        assert!(header.starts_with("\u{feff}id,timestamp,senderId,".as_bytes()));
        assert!(header.ends_with(b"channelId\r\n"));
    }
}
