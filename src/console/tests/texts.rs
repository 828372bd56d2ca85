//! Texts of messages in pieces: whatever people write, nothing of it is lost, torn or shown twice.

use chatkeep_core::message::Mention;
use proptest::prelude::*;

use crate::text::{Piece, matched, pieces};

fn mention(start: u32, length: u32) -> Mention {
    Mention { user_id: None, start, length, is_self: false, is_all: None }
}

/// Returns what a reader sees of a piece.
fn words(piece: &Piece) -> &str {
    match piece {
        Piece::Plain(words) | Piece::Mention(words) | Piece::Match(words) => words,
        Piece::Link { text, .. } => text,
    }
}

fn whole(pieces: &[Piece]) -> String {
    pieces.iter().map(words).collect()
}

fn mentioned(text: &str, mentions: &[Mention]) -> Vec<String> {
    let pieces = pieces(text, mentions).into_iter();
    let of_people = pieces.filter_map(|piece| match piece {
        Piece::Mention(name) => Some(name),
        _ => None,
    });
    of_people.collect()
}

/// Returns texts of characters of one to four bytes, of marks, and of what belongs together.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        " ",
        "@Ann",
        "é",
        "e\u{301}",
        "會",
        "ก็",
        "👋",
        "👨‍👩‍👧",
        "🇹🇼",
        "שלום",
        "\u{202e}",
        "\r\n",
        "https://a.example/x?y=1",
        "www.b.example",
        "<b>",
    ]);
    prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_are_the_whole_text_in_its_order(
        text in any_text(),
        spans in prop::collection::vec((0_u32..40, 0_u32..12), 0..5),
    ) {
        let mentions: Vec<_> =
            spans.into_iter().map(|(start, length)| mention(start, length)).collect();
        let found = pieces(&text, &mentions);
        prop_assert_eq!(whole(&found), text);
        prop_assert!(found.iter().all(|piece| !words(piece).is_empty()), "{:?}", found);
    }

    #[test]
    fn mentions_are_found_in_whatever_order_they_come(
        text in any_text(),
        starts in prop::collection::btree_set(0_u32..40, 0..5),
    ) {
        let mut mentions: Vec<_> = starts.into_iter().map(|start| mention(start, 2)).collect();
        let found = pieces(&text, &mentions);
        mentions.reverse();
        prop_assert_eq!(pieces(&text, &mentions), found);
    }

    #[test]
    fn marks_of_a_search_lose_no_character(
        text in any_text(),
        marks in prop::collection::vec((0_usize..50, 0_usize..50), 0..5),
    ) {
        let found = matched(&text, &marks);
        prop_assert_eq!(whole(&found), text);
        prop_assert!(found.iter().all(|piece| !words(piece).is_empty()), "{:?}", found);
    }
}

#[test]
fn a_mention_is_counted_in_units_of_utf_16() {
    // The family has eight units, the flag four, and each mark one.
    let text = "e\u{301} 🇹🇼 @👨‍👩‍👧! @ก็ได้";
    assert_eq!(mentioned(text, &[mention(8, 9)]), ["@👨‍👩‍👧"]);
    assert_eq!(mentioned(text, &[mention(19, 6)]), ["@ก็ได้"]);
    assert_eq!(mentioned(text, &[mention(19, 7)]), [""; 0], "it ends beyond the text");
}

#[test]
fn a_mention_that_would_tear_a_character_or_has_no_length_is_plain() {
    let text = "a👋b";
    for wrong in [
        mention(0, 2),
        mention(2, 1),
        mention(2, 2),
        mention(1, 0),
        mention(4, 0),
        mention(u32::MAX, 1),
        mention(1, u32::MAX),
        mention(u32::MAX, u32::MAX),
    ] {
        let found = pieces(text, std::slice::from_ref(&wrong));
        assert_eq!(found, [Piece::Plain(text.to_owned())], "{wrong:?}");
    }
    assert_eq!(mentioned(text, &[mention(1, 2)]), ["👋"]);
    assert_eq!(mentioned(text, &[mention(0, 4)]), [text]);
}

#[test]
fn what_overlaps_an_earlier_mention_stays_in_the_text() {
    let text = "@Ann Lee!";
    let found = pieces(text, &[mention(5, 4), mention(0, 8), mention(0, 4)]);
    let expected = [Piece::Mention("@Ann Lee".to_owned()), Piece::Plain("!".to_owned())];
    assert_eq!(found, expected);
}

#[test]
fn the_address_in_a_mention_is_a_name_and_no_link() {
    let text = "@https://a.example https://b.example/ก";
    let found = pieces(text, &[mention(0, 18)]);
    assert_eq!(found[0], Piece::Mention("@https://a.example".to_owned()));
    let links = found.iter().filter(|piece| matches!(piece, Piece::Link { .. }));
    assert_eq!(links.count(), 1, "{found:?}");
}

#[test]
fn marks_are_counted_in_characters_whatever_their_size() {
    let found = matched("👋 ก็ได้ 會", &[(0, 1), (2, 7), (8, 9)]);
    let marked: Vec<_> = found
        .iter()
        .filter_map(|piece| match piece {
            Piece::Match(words) => Some(words.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(marked, ["👋", "ก็ได้", "會"]);
    // Marks that are empty, turned round, or beyond the text mark nothing.
    let plain = [Piece::Plain("會議".to_owned())];
    assert_eq!(matched("會議", &[(1, 1), (2, 1), (2, 2), (7, 9), (9, 7)]), plain);
    assert_eq!(matched("會議", &[(0, usize::MAX)]), [Piece::Match("會議".to_owned())]);
    assert_eq!(matched("", &[(0, 1)]), []);
}
