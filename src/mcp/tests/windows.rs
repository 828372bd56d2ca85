//! Parts of long texts: what is cut, and that reading on gives all of it.

use chatkeep_core::message::{Content, EarlierTexts};
use chatkeep_store::StoredMessage;
use chatkeep_view::sanitize::clean;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{at, time};
use crate::message_row::{MessageRow, TextWindow};

/// Parts of texts that people see as one character each, or that are left out of what is shown.
const PARTS: [&str; 20] = [
    "a",
    "word ",
    "12500 ",
    "2026-11-30",
    "\n",
    "  ",
    "\r\n",
    "\u{3000}",
    "日本",
    "e\u{301}",
    "ก็ได้",
    "नमस्ते",
    "مرحبا",
    "👩‍👩‍👧",
    "🇹🇼",
    "👍🏽",
    "한국어",
    "…",
    "\u{202e}",
    "\u{200b}",
];

/// Returns a text as it is stored.
pub(super) fn stored(content: Content) -> StoredMessage {
    StoredMessage {
        channel: "C1".into(),
        id: "m1".into(),
        sent_at: time("2026-01-02T03:04:05.678Z"),
        backed_up_at: at(0),
        sender: None,
        kind: content.kind(),
        content: Some(content),
        bytes: 0,
        quoted: None,
        edited_at: None,
        unsent_at: None,
        is_bot: false,
        reply: None,
        media: None,
        earlier_texts: EarlierTexts::default(),
    }
}

/// Reads a text by parts of at most `max` characters, each from where the one before says; returns
/// all parts together.
pub(super) fn read_on(text: &str, max: usize) -> String {
    let message = stored(Content::text(text));
    let whole = clean(text).chars().count();
    let (mut read, mut from) = (String::new(), 0);
    loop {
        let window = TextWindow { from, max, tells_rest: true };
        let row = MessageRow::new(&message, None, window);
        let shown = row.text.unwrap_or_default();
        let shown = if from == 0 { &*shown } else { shown.strip_prefix('…').unwrap() };
        let shown = if row.cut == 0 { shown } else { shown.strip_suffix('…').unwrap() };
        assert!(shown.chars().count() <= max, "{shown:?} is longer than {max}");
        read += shown;
        let Some(rest) = row.rest_from else {
            assert_eq!(row.cut, 0, "nothing says where the rest begins");
            return read;
        };
        assert!(rest > from, "from {from} on it goes on at {rest}");
        assert_eq!(rest + row.cut, whole, "of {text:?} from {from} on");
        from = rest;
    }
}

/// Returns a text without its white space, which is left out at a cut.
pub(super) fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reading_on_gives_the_whole_text(
        parts in vec(select(PARTS.to_vec()), 0..60),
        max in 16..90_usize,
    ) {
        let text = parts.concat();
        prop_assert_eq!(solid(&read_on(&text, max)), solid(&clean(&text)));
    }

    /// A window is what is left of the text, from its beginning to its end, and tells how much is
    /// not shown of what follows.
    #[test]
    fn a_window_is_a_part_of_the_text(
        parts in vec(select(PARTS.to_vec()), 1..60),
        from in 0..80_usize,
        max in 16..90_usize,
    ) {
        let text = parts.concat();
        let (whole, message) = (clean(&text), stored(Content::text(text.as_str())));
        let row = MessageRow::new(&message, None, TextWindow { from, max, tells_rest: false });
        prop_assert_eq!(row.rest_from, None);
        let shown = row.text.unwrap_or_default();
        let shown = if from == 0 { &*shown } else { shown.strip_prefix('…').unwrap_or(&shown) };
        let shown = if row.cut == 0 { shown } else { shown.strip_suffix('…').unwrap() };
        let end = whole.chars().count() - row.cut;
        let before: String = whole.chars().take(end).collect();
        prop_assert!(before.trim_end().ends_with(shown.trim_end()), "{shown:?} of {whole:?}");
    }
}

/// A text of one letter with as many marks as a message may have is read on like any other.
#[test]
fn reading_on_goes_on_within_what_people_see_as_one_character() {
    for long in [
        format!("ab x{}", "\u{301}".repeat(200)),
        format!("hi 👩{}", "\u{200d}👩".repeat(100)),
        format!("ᄀᄀ {}", "ᄀ".repeat(200)),
    ] {
        assert_eq!(solid(&read_on(&long, 50)), solid(&clean(&long)));
    }
    // A place within such a one is where the window begins.
    let message = stored(Content::text("a👩‍👩‍👧b"));
    let row = MessageRow::new(&message, None, TextWindow { from: 3, max: 9, tells_rest: true });
    assert_eq!((row.text.as_deref(), row.cut), (Some("…👩\u{200d}👧b"), 0));
}

#[test]
fn what_is_cut_is_cut_between_characters_as_people_see_them() {
    for (text, max, expected, cut) in [
        ("abcdef", 6, "abcdef", 0),
        ("abcdef", 5, "abcde…", 1),
        ("日本語", 1, "日…", 2),
        ("ae\u{301}b", 2, "a…", 3),
        ("ab 👩‍👩‍👧", 6, "ab…", 5),
        ("one two", 4, "one…", 3),
        ("one\n\ntwo", 5, "one…", 3),
        ("the riverside stadium", 19, "the riverside…", 7),
        ("I owe you 12,500 dollars", 13, "I owe you…", 14),
        // What is not shown is not counted.
        ("a\u{200b}\u{202e}bc", 3, "abc", 0),
        ("a\r\nb", 3, "a\nb", 0),
        ("", 0, "", 0),
        ("a", 0, "…", 1),
    ] {
        let window = TextWindow { from: 0, max, tells_rest: false };
        let row = MessageRow::new(&stored(Content::text(text)), None, window);
        assert_eq!((row.text.unwrap_or_default().as_str(), row.cut), (expected, cut), "{text:?}");
    }
}

#[test]
fn a_window_that_would_begin_in_a_number_begins_with_it() {
    let message = stored(Content::text("it costs 12,500 dollars"));
    let shown = |from, max| {
        let window = TextWindow { from, max, tells_rest: false };
        MessageRow::new(&message, None, window).text.unwrap()
    };
    for from in 9..15 {
        assert_eq!(shown(from, 90), "…12,500 dollars", "from {from}");
    }
    assert_eq!(shown(15, 90), "… dollars");
    let message = stored(Content::text("12,500 dollars"));
    let window = TextWindow { from: 3, max: 90, tells_rest: false };
    let row = MessageRow::new(&message, None, window);
    assert_eq!(row.text.as_deref(), Some("12,500 dollars"), "nothing is left out before it");
}

#[test]
fn only_a_text_that_can_be_read_on_says_from_where() {
    let message = stored(Content::text("abcdef"));
    let line = |from, max, tells_rest| {
        MessageRow::new(&message, None, TextWindow { from, max, tells_rest }).line()
    };
    assert!(
        line(0, 4, true).contains("\"abcd…\" [2 characters more: get_context with textFrom 4]")
    );
    assert!(line(2, 2, true).contains("\"…cd…\" [2 characters more: get_context with textFrom 4]"));
    assert!(line(0, 4, false).contains("\"abcd…\" [2 characters more: get_context] id m1"));
    assert!(line(4, 4, true).contains("\"…ef\" id m1"));
    // Beyond the end there is nothing more, and nothing to go on with.
    assert!(line(99, 4, true).contains("\"…\" id m1"));
}

#[test]
fn a_part_that_was_found_says_what_it_lacks() {
    let whole = stored(Content::text("before needle after"));
    let row = |part: &str| {
        let window = TextWindow { from: 0, max: 400, tells_rest: false };
        MessageRow::new(&whole, Some(part), window)
    };
    for (part, cut) in [("before needle after", 0), ("…needle…", 13), ("before needle…", 6)] {
        let row = row(part);
        assert_eq!((row.text.as_deref(), row.cut), (Some(part), cut));
    }
    // What nobody sees is not shown, and does not count as cut.
    let hidden = stored(Content::text("be\u{200b}fore needle\r\nafter\u{202e}"));
    for (part, text, cut) in [
        ("be\u{200b}fore needle…", "before needle…", 6),
        ("…needle\r\nafter\u{202e}", "…needle\nafter", 7),
        ("be\u{200b}fore needle\r\nafter", "before needle\nafter", 0),
    ] {
        let window = TextWindow { from: 0, max: 400, tells_rest: false };
        let row = MessageRow::new(&hidden, Some(part), window);
        assert_eq!((row.text.as_deref(), row.cut), (Some(text), cut), "{part:?}");
    }
    // What was unsent meanwhile has no text, whatever was found.
    let gone = StoredMessage { content: None, unsent_at: Some(at(1)), ..whole.clone() };
    let window = TextWindow { from: 0, max: 400, tells_rest: false };
    let row = MessageRow::new(&gone, Some("…needle…"), window);
    assert_eq!((row.text, row.cut, row.unsent), (None, 0, true));
}
