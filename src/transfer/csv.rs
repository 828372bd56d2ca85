//! Exports for spreadsheets (RFC 4180).
//!
//! The text begins with a byte order mark: without one, spreadsheets misread Chinese, Japanese and
//! Thai. Text that a spreadsheet would take for a formula is prefixed with an apostrophe, at the
//! beginning of a cell, of every line in it, and after what separates cells in other regions; so no
//! text from a chat is executed on opening the file, whatever a program makes a cell of.

use std::borrow::Cow;

use bytes::Bytes;
use chatkeep_store::{MediaStatus, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::{Links, MessageView};
use csv::{Terminator, WriterBuilder};

use super::TransferError;

const BOM: &str = "\u{feff}";

const COLUMNS: [&str; 24] = [
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
    "url",
];

/// Returns the byte order mark and the columns' names.
pub(super) fn header() -> Result<Bytes, TransferError> {
    let mut out = writer(BOM.as_bytes().to_vec());
    out.write_record(COLUMNS)?;
    finished(out)
}

/// Returns one row a message.
pub(super) fn rows(
    messages: impl Iterator<Item = Masked<StoredMessage>>,
    links: &Links,
) -> Result<Bytes, TransferError> {
    let mut out = writer(Vec::new());
    for message in messages {
        let cells = cells(MessageView::new(message, links));
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
        view.media_status.map(MediaStatus::name).unwrap_or_default().to_owned(),
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
        view.backed_up_at.map(|at| at.to_string()).unwrap_or_default(),
        view.channel_id.into_string(),
        view.url.unwrap_or_default(),
    ]
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// First characters of formulas, in full width, too, as Chinese and Japanese keyboards write them.
const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
/// Characters that end a line in some program.
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
/// Characters that separate cells where the comma is in numbers, and of pasted tables.
const SEPARATORS: [char; 2] = [';', '\t'];

/// Returns true after a character if a program may begin a cell there. The quotation marks at a
/// cell's beginning are none of its text.
fn begins_cell(c: char, began: bool) -> bool {
    LINE_ENDS.contains(&c) || SEPARATORS.contains(&c) || (began && c == '"')
}

/// Returns a cell of which no spreadsheet takes any part for a formula. Numbers stay numbers.
fn guarded(cell: &str) -> Cow<'_, str> {
    if is_number(cell) { Cow::Borrowed(cell) } else { guarded_text(cell) }
}

/// Returns a cell of which no spreadsheet takes any part for a formula or a number with a sign.
fn guarded_text(cell: &str) -> Cow<'_, str> {
    let risky = |c: char| FORMULAS.contains(&c) || c == '\t';
    if !cell.contains(|c| risky(c) || LINE_ENDS.contains(&c)) {
        return Cow::Borrowed(cell);
    }
    let mut safe = String::with_capacity(cell.len() + 8);
    let mut begins = true;
    for c in cell.chars() {
        // A line break at the very beginning hides the rest from those who check the first
        // character only.
        if begins && (risky(c) || (safe.is_empty() && LINE_ENDS.contains(&c))) {
            safe.push('\'');
        }
        begins = begins_cell(c, begins);
        safe.push(c);
    }
    Cow::Owned(safe)
}

/// Returns a guarded cell that [`opened`] gives back as it was: what looks guarded already gets one
/// more apostrophe.
pub fn sealed(cell: &str) -> String {
    // Also before a sign and digits: what somebody says is text, and a spreadsheet drops the sign.
    guarded_text(&at_beginnings(cell, |quotes| quotes + 1)).into_owned()
}

/// Returns the text of a cell from [`sealed`], or of one that somebody wrote into a spreadsheet.
pub fn opened(cell: &str) -> String {
    at_beginnings(cell, |quotes| quotes - 1)
}

/// Changes the number of apostrophes where a cell may begin with some of them and what looks like a
/// formula.
fn at_beginnings(cell: &str, change: impl Fn(usize) -> usize) -> String {
    let mut out = String::with_capacity(cell.len() + 8);
    let (mut rest, mut begins) = (cell, true);
    while let Some(c) = rest.chars().next() {
        let after = rest.trim_start_matches('\'');
        let quotes = rest.len() - after.len();
        if begins && quotes > 0 {
            let hides = |c: char| {
                FORMULAS.contains(&c) || c == '\t' || (out.is_empty() && LINE_ENDS.contains(&c))
            };
            let count = if after.starts_with(hides) { change(quotes) } else { quotes };
            out.extend(std::iter::repeat_n('\'', count));
            (rest, begins) = (after, false);
            continue;
        }
        begins = begins_cell(c, begins);
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Returns true for a plain number in digits.
fn is_number(cell: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    cell.chars().all(digits) && cell.parse::<f64>().is_ok()
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod csv_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text() {
        for cell in ["=1+1", "+HYPERLINK()", "-2+3", "@SUM(A1)", "\t1", "-inf", "+NaN"] {
            assert_eq!(guarded(cell), format!("'{cell}"));
        }
        for cell in ["＝1+1", "＋1", "－2＋3", "＠SUM(A1)"] {
            assert_eq!(guarded(cell), format!("'{cell}"));
        }
        for cell in ["", "a=b", "-25.5", "+1", "早安", "'quoted'", "two\nlines", "1e5"] {
            assert_eq!(guarded(cell), cell);
        }
    }

    #[test]
    fn lines_inside_a_cell_are_text_too() {
        for (cell, safe) in [
            ("\r=1", "'\r'=1"),
            ("\n=1", "'\n'=1"),
            ("hi\n=cmd|' /C calc'!A0", "hi\n'=cmd|' /C calc'!A0"),
            ("a\r\n@b\r+c\n\n-d", "a\r\n'@b\r'+c\n\n'-d"),
            ("a\n＝b", "a\n'＝b"),
            ("a\u{2028}=b", "a\u{2028}'=b"),
            ("a\n-1", "a\n'-1"),
            ("a\n\t=1", "a\n'\t'=1"),
            ("x;=cmd|'/C calc'!A0;y", "x;'=cmd|'/C calc'!A0;y"),
            ("x\t@SUM(A1)", "x\t'@SUM(A1)"),
            ("x;\"=1", "x;\"'=1"),
            ("a; b;c", "a; b;c"),
        ] {
            assert_eq!(guarded(cell), safe);
        }
    }

    #[test]
    fn a_sealed_cell_is_safe_and_gives_its_text_back() {
        for cell in [
            "",
            "=1+1",
            "'=1+1",
            "''＝1",
            "+1",
            "'+1",
            "-1.5",
            "a\n=b\n'=c",
            "\n=1",
            "'\n=1",
            "'a",
            "\t=1",
            "it's\n'quoted'",
            "\r\n'@x",
            "+1\n=2",
        ] {
            let sealed = sealed(cell);
            assert_eq!(opened(&sealed), cell, "{sealed:?}");
            assert_eq!(guarded(&sealed), sealed, "{cell:?} is not safe");
        }
        assert_eq!(sealed("=1+1"), "'=1+1");
        assert_eq!(sealed("+1"), "'+1", "a spreadsheet would make 1 of it");
        assert_eq!(opened("=1+1"), "=1+1");
    }

    /// Tries every text of up to five characters that mean something here.
    #[test]
    fn every_text_is_safe_when_sealed_and_comes_back() {
        const CHARACTERS: [char; 8] = ['=', '＋', '\'', '"', ';', '\t', '\n', 'a'];
        let separates = |c: char| SEPARATORS.contains(&c) || LINE_ENDS.contains(&c);
        let mut texts = vec![String::new()];
        let mut longest = texts.clone();
        for _ in 0..5 {
            let longer = |text: &String| CHARACTERS.map(|c| format!("{text}{c}"));
            longest = longest.iter().flat_map(longer).collect();
            texts.extend(longest.iter().cloned());
        }
        for text in texts {
            let sealed = sealed(&text);
            assert_eq!(opened(&sealed), text, "{sealed:?}");
            for cell in sealed.split(separates) {
                let cell = cell.trim_start_matches('"');
                assert!(!cell.starts_with(FORMULAS), "{text:?}: {sealed:?}");
            }
        }
    }

    #[test]
    fn the_header_begins_with_the_mark() {
        let header = header().unwrap();
        assert!(header.starts_with("\u{feff}id,timestamp,senderId,".as_bytes()));
        assert!(header.ends_with(b"channelId,url\r\n"));
    }
}
