//! Tests of exports in parts: put together they are the export that is written at once.

use chatkeep_core::message::Content;
use futures_util::TryStreamExt as _;

use super::*;
use crate::home_tests::{TransferHome, exporting};
use crate::jsonl::Line;
use crate::sample_tests::message;

const MINUTE: i64 = 60_000;

/// Returns a home with that many messages, two in each minute and each stored a millisecond later.
async fn home_with(count: i64) -> TransferHome {
    let home = TransferHome::new().await;
    let mut lines = Vec::new();
    for n in 0..count {
        let sent = message(&format!("m{n:02}"), n / 2 * MINUTE, Content::text(format!("text {n}")));
        let stored = StoredMessage { backed_up_at: Timestamp::from_millis(n), ..sent };
        let line = Line::new(Mask::none().show(stored), None, &chatkeep_view::Links::default());
        line.write(&mut lines).unwrap();
    }
    let stored = home.imported(&home.write("all.jsonl", lines)).await.stored;
    assert_eq!(stored, u64::try_from(count).unwrap());
    home
}

/// Writes a part, and returns it with its summary.
async fn written(home: &TransferHome, format: Format, range: PartRange) -> (String, PartSummary) {
    let (store, channel) = (home.store.clone(), home.channel.clone());
    let (stream, summary) = export_part(store, channel, exporting(format), range);
    let bytes: Vec<Bytes> = stream.try_collect().await.unwrap();
    let summary = summary.lock().unwrap().clone();
    (String::from_utf8(bytes.concat()).unwrap(), summary)
}

/// Returns the part between two positions, of which the last part has no end.
fn part(after: Option<ExportKeyset>, until: Option<ExportKeyset>, before: u64) -> PartRange {
    let part = ExportPart {
        number: 0,
        after,
        until,
        is_last: false,
        messages_before: before,
        attempt: String::new(),
    };
    PartRange { part, late: Timestamp::default()..Timestamp::default() }
}

#[tokio::test]
async fn parts_together_are_the_whole_export() {
    let home = home_with(25).await;
    let positions: Vec<_> =
        home.messages().await.into_iter().map(|message| (message.sent_at, message.id)).collect();
    for format in Format::ALL {
        let whole = home.exported(format).await;
        // Between messages of one minute, too, and right before the end.
        for cuts in [&[12][..], &[1, 2, 3, 20], &[5, 6, 24]] {
            let (mut text, mut after, mut before) = (String::new(), None, 0);
            for cut in cuts {
                let until = Some(positions[cut - 1].clone());
                let (bytes, summary) =
                    written(&home, format, part(after, until.clone(), before)).await;
                assert_eq!((&summary.last, summary.is_last), (&until, false), "{cuts:?}");
                (text, after, before) = (text + &bytes, until, before + summary.messages);
                assert_eq!(before, u64::try_from(*cut).unwrap(), "{cuts:?}");
            }
            let (rest, summary) = written(&home, format, part(after, None, before)).await;
            assert!(summary.is_last && summary.messages + before == 25, "{summary:?}");
            text += &rest;
            if format == Format::Html {
                // Days and names stand anew in each part.
                let count = |text: &str, what: &str| text.matches(what).count();
                for what in ["<article ", "<!DOCTYPE", "</html>", "25 messages"] {
                    assert_eq!(count(&text, what), count(&whole, what), "{what} {cuts:?}");
                }
            } else {
                assert_eq!(text, whole, "{cuts:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_stored_after_the_request_is_in_no_part() {
    let home = home_with(10).await;
    let late = Timestamp::from_millis(3)..Timestamp::from_millis(6);
    let whole = PartRange { late: late.clone(), ..part(None, None, 0) };
    let (text, summary) = written(&home, Format::Jsonl, whole).await;
    let missing = ["text 3", "text 4", "text 5"];
    assert_eq!((summary.messages, text.lines().count(), summary.is_last), (7, 7, true));
    assert!(missing.iter().all(|words| !text.contains(words)), "{text}");
    // The last message of a part may be one that is left out: the next part begins after it.
    let last = Some((Timestamp::from_millis(2 * MINUTE), "m05".into()));
    let until = PartRange { late, ..part(None, last.clone(), 0) };
    let (text, summary) = written(&home, Format::Jsonl, until).await;
    assert_eq!((summary.messages, text.lines().count(), &summary.last), (3, 3, &last));
}

#[tokio::test]
async fn an_export_of_nothing_is_a_document_all_the_same() {
    let home = TransferHome::new().await;
    for format in Format::ALL {
        let (text, summary) = written(&home, format, part(None, None, 0)).await;
        assert_eq!(text, home.exported(format).await);
        assert_eq!(summary, PartSummary { messages: 0, last: None, is_last: true });
        let (begin, end) = match format {
            Format::Jsonl => ("", ""),
            Format::Csv => ("\u{feff}id,", ",url"),
            Format::Html => ("<!DOCTYPE html>", "</html>"),
        };
        assert!(text.starts_with(begin) && text.trim_end().ends_with(end), "{text}");
    }
}
