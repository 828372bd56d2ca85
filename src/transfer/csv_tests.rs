//! Tests of whole tables: as a spreadsheet reads them, and as one of another region misreads them.

use ::csv::ReaderBuilder;
use chatkeep_core::message::{Content, MediaInfo, Sticker};
use chatkeep_core::time::Timestamp;
use chatkeep_store::Sender;
use chatkeep_view::pseudonyms::Mask;
use proptest::prelude::*;

use super::*;
use crate::sample_tests::message;

/// Characters that mean something to spreadsheets, and some that do not.
const HOSTILE: &str = "[=+@'\";,\t\n\r\u{b}\u{85}\u{2028}＝＠a1早 -]{0,8}";

/// Returns messages with that text wherever a message has a text.
fn everywhere(text: &str) -> Vec<StoredMessage> {
    let some = || Some(text.to_owned());
    let contents = [
        Content::text(text),
        Content::File(MediaInfo { file_name: some(), ..MediaInfo::default() }),
        Content::Location { title: some(), address: some(), latitude: 1.5, longitude: -2.5 },
        Content::Sticker(Sticker {
            package_id: text.to_owned(),
            sticker_id: text.to_owned(),
            text: some(),
            ..Sticker::default()
        }),
    ];
    let sender = || Some(Sender { id: text.into(), display_name: some(), picture_url: some() });
    let sent = |(n, content)| StoredMessage {
        sender: sender(),
        quoted: Some(text.into()),
        ..message(&format!("m{n}"), n, content)
    };
    (0..).zip(contents).map(sent).collect()
}

fn table(messages: Vec<StoredMessage>) -> String {
    let shown = Mask::none().show_all(messages);
    let rows = rows(shown.into_iter(), &Links::default()).unwrap();
    String::from_utf8(rows.to_vec()).unwrap()
}

/// Returns the cells of a table as any reader of CSV has them.
fn cells(table: &str) -> Vec<Vec<String>> {
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
    let rows = reader.records().map(Result::unwrap);
    rows.map(|row| row.iter().map(str::to_owned).collect()).collect()
}

fn column(name: &str) -> usize {
    COLUMNS.iter().position(|column| *column == name).unwrap()
}

/// Returns the text of a cell, but for the apostrophes.
fn bare(text: &str) -> String {
    text.replace('\'', "")
}

proptest! {
    #[test]
    fn every_text_is_in_its_own_cell_and_runs_nowhere(text in HOSTILE) {
        let table = table(everywhere(&text));
        let rows = cells(&table);
        prop_assert_eq!(rows.len(), 4);
        for row in &rows {
            prop_assert_eq!(row.len(), COLUMNS.len());
            for cell in row {
                let is_formula = cell.starts_with(FORMULAS) && cell.parse::<f64>().is_err();
                prop_assert!(!is_formula && !cell.starts_with(['\t', '\n', '\r']), "{cell:?}");
            }
        }
        for (row, name) in [
            (0, "content"), (0, "senderId"), (0, "senderName"), (0, "quotedMessageId"),
            (1, "fileName"), (2, "title"), (2, "address"), (3, "packageId"), (3, "stickerId"),
            (3, "content"),
        ] {
            let cell = &rows[row][column(name)];
            prop_assert!(bare(cell) == bare(&text), "{name}: {cell:?} of {text:?}");
        }
    }

    #[test]
    fn what_another_program_takes_for_cells_runs_nowhere_either(text in HOSTILE) {
        let table = table(everywhere(&text));
        let ends = |c: char| SEPARATORS.contains(&c) || LINE_ENDS.contains(&c);
        for cell in table.split(ends) {
            let cell = cell.trim_start_matches('"');
            prop_assert!(!cell.starts_with(FORMULAS), "{cell:?} in {table:?}");
        }
    }

    #[test]
    fn a_place_keeps_its_coordinates(latitude in -90.0..90.0, longitude in -180.0..180.0) {
        let place = Content::Location { title: None, address: None, latitude, longitude };
        let rows = cells(&table(vec![message("m1", 0, place)]));
        let number = |name| rows[0][column(name)].parse::<f64>().unwrap().to_bits();
        prop_assert_eq!(number("latitude"), f64::to_bits(latitude));
        prop_assert_eq!(number("longitude"), f64::to_bits(longitude));
    }
}

#[test]
fn a_message_that_was_taken_back_has_its_time_and_no_text() {
    let at = Timestamp::from_millis(9);
    let unsent = StoredMessage {
        content: None,
        sender: None,
        unsent_at: Some(at),
        ..message("m1", 1, Content::text("secret"))
    };
    let bot = StoredMessage {
        sender: None,
        is_bot: true,
        edited_at: Some(at),
        ..message("m2", 2, Content::text("9:00–18:00"))
    };
    let rows = cells(&table(vec![unsent, bot]));
    let row = |row: usize, names: &[&str]| {
        names.iter().map(|name| rows[row][column(name)].clone()).collect::<Vec<_>>()
    };
    let names = ["type", "content", "senderId", "editedAt", "unsentAt", "isBot"];
    let time = "1970-01-01T00:00:00.009Z";
    assert_eq!(row(0, &names), ["text", "", "", "", time, "false"]);
    assert_eq!(row(1, &names), ["text", "9:00–18:00", "", time, "", "true"]);
}

#[test]
fn a_header_names_the_columns_of_the_rows() {
    let header = String::from_utf8(header().unwrap().to_vec()).unwrap();
    let whole = header.strip_prefix('\u{feff}').unwrap().to_owned()
        + &table(vec![message("m1", 1, Content::text("早安"))]);
    let mut reader = ReaderBuilder::new().from_reader(whole.as_bytes());
    let columns = reader.headers().unwrap().clone();
    let row = reader.records().next().unwrap().unwrap();
    let of = |name: &str| columns.iter().position(|known| known == name).map(|at| &row[at]);
    assert_eq!(
        (of("id"), of("content"), of("channelId")),
        (Some("m1"), Some("早安"), Some("C0123"))
    );
    assert_eq!(of("backedUpAt"), Some("1970-01-01T00:00:00.006Z"));
}
