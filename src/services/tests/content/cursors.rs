//! Cursors of lists: a list takes back what it gave, and nothing else.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::conversation::refusal;
use crate::{Window, decode_cursor, encode_cursor};

/// Key of a list by time and id.
type Key = (i64, String);

/// Characters of cursors, which stand in addresses as they are.
fn is_plain(cursor: &str) -> bool {
    cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns the next page of a list of numbers, and the cursor of the one after it.
fn page(rows: &BTreeSet<u32>, limit: u32, cursor: Option<&str>) -> (Vec<u32>, Option<String>) {
    let window = Window::<u32>::open("numbers", limit, cursor).unwrap();
    let after = window.after;
    let wanted = usize::try_from(window.wanted()).unwrap();
    let later = rows.iter().copied().filter(|row| after.is_none_or(|after| *row > after));
    let mut rows: Vec<_> = later.take(wanted).collect();
    let next = window.cut(&mut rows, |row| *row);
    (rows, next)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_list_takes_back_the_cursor_that_it_gave(
        binding in "\\PC{0,30}",
        at in any::<i64>(),
        id in "(\\PC|👨‍👩‍👧|ภาษา|\n|\"|\u{202e}){0,20}",
    ) {
        let key = (at, id);
        let cursor = encode_cursor(&binding, &key).unwrap();
        prop_assert!(is_plain(&cursor), "{}", cursor);
        prop_assert_eq!(decode_cursor::<Key>(&binding, &cursor), Ok(key));
        let (field, _) = refusal(decode_cursor::<Key>(&format!("{binding} "), &cursor));
        prop_assert_eq!(field, "cursor");
    }

    /// Else ids would pass unseen where they are exchanged for pseudonyms.
    #[test]
    fn a_position_has_one_cursor(
        at in any::<i64>(),
        id in "[a-zA-Z0-9é界]{0,12}",
        place in any::<prop::sample::Index>(),
        other in "[A-Za-z0-9_=+/ -]",
    ) {
        let mut cursor = encode_cursor("list", &(at, id)).unwrap();
        let place = place.index(cursor.len());
        cursor.replace_range(place..=place, &other);
        if let Ok(key) = decode_cursor::<Key>("list", &cursor) {
            prop_assert_eq!(encode_cursor("list", &key), Some(cursor));
        }
    }

    #[test]
    fn paging_is_right_while_rows_arrive_and_vanish(
        lasting in btree_set(0_u32..200, 0..40),
        passing in btree_set(200_u32..400, 0..40),
        limit in 2_u32..8,
        steps in vec(any::<bool>(), 60),
    ) {
        // Rows of both kinds stand among each other: the passing ones are odd.
        let lasting: BTreeSet<_> = lasting.into_iter().map(|row| row * 2).collect();
        let passing: BTreeSet<_> = passing.into_iter().map(|row| (row - 200) * 2 + 1).collect();
        let all: BTreeSet<_> = lasting.union(&passing).copied().collect();
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        for is_there in steps {
            let rows = if is_there { &all } else { &lasting };
            let (found, next) = page(rows, limit, cursor.as_deref());
            prop_assert!(found.len() <= usize::try_from(limit).unwrap());
            seen.extend(found);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let kept: Vec<_> = seen.iter().copied().filter(|row| row % 2 == 0).collect();
        prop_assert!(seen.is_sorted_by(|one, other| one < other), "{:?}", seen);
        // Sixty pages of two are enough for forty rows of each kind.
        prop_assert_eq!(kept, lasting.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn six_characters_that_look_like_an_escape_are_no_u0000() {
    for binding in ["list", r#"search:all:"\u0000 in JSON""#] {
        for id in ["m1", r"a\u0000b", r"a\\u0000b"] {
            let key = (7_i64, id.to_owned());
            let cursor = encode_cursor(binding, &key).unwrap();
            assert_eq!(decode_cursor::<Key>(binding, &cursor), Ok(key), "{binding}");
        }
        for id in ["\0", "a\0", "\\\0"] {
            let cursor = encode_cursor(binding, &(7_i64, id)).unwrap();
            assert_eq!(refusal(decode_cursor::<Key>(binding, &cursor)).0, "cursor", "{id:?}");
        }
    }
}

#[test]
fn a_cursor_that_is_cut_or_padded_is_none() {
    let cursor = encode_cursor("list", &(7_i64, "界".to_owned())).unwrap();
    for broken in [
        String::new(),
        cursor[1..].to_owned(),
        cursor[..cursor.len() - 1].to_owned(),
        format!("{cursor}="),
        format!("{cursor} "),
        format!("{cursor}{cursor}"),
        cursor.to_lowercase(),
    ] {
        let (field, _) = refusal(decode_cursor::<Key>("list", &broken));
        assert_eq!(field, "cursor", "{broken}");
    }
}

#[test]
fn a_page_of_exactly_the_limit_is_the_last_one() {
    let rows: BTreeSet<_> = (0..6).collect();
    let (first, next) = page(&rows, 3, None);
    let (second, end) = page(&rows, 3, next.as_deref());
    assert_eq!((first, second, end), (vec![0, 1, 2], vec![3, 4, 5], None));
    assert_eq!(page(&BTreeSet::new(), 3, None), (Vec::new(), None));
}

#[test]
fn a_row_that_vanishes_where_the_list_continues_takes_no_other_along() {
    let mut rows: BTreeSet<_> = (0..5).collect();
    let (first, next) = page(&rows, 2, None);
    assert_eq!(first, [0, 1]);
    rows.remove(&1);
    rows.remove(&2);
    assert_eq!(page(&rows, 2, next.as_deref()), (vec![3, 4], None));
}
