//! Cursors as texts: each survives its own, and no other text is taken for one by accident.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::search::cursor::{Boundary, Count, Rank, Tier};
use crate::search::related::Reach;

/// Generates every cursor that a search may return, and many that none does.
fn cursors() -> impl Strategy<Value = Cursor> {
    let tier = select(vec![Tier::Exact, Tier::Older, Tier::Related]);
    let score = any::<f32>().prop_filter("finite", |score| score.is_finite());
    let moment = || (any::<i64>(), any::<u64>());
    let count = (any::<usize>(), any::<usize>(), any::<bool>());
    let boundary = proptest::option::of(moment());
    let reach = (any::<u8>(), any::<u8>());
    (tier, score, moment(), vec(any::<u8>(), 0..12), count, boundary, reach).prop_map(
        |(tier, score, (sent_at, tie), levels, (matches, related, is_exact), boundary, (a, b))| {
            Cursor {
                tier,
                rank: Rank { score, sent_at, tie },
                levels,
                count: Count { matches, related, is_exact },
                boundary: boundary.map(|(sent_at, tie)| Boundary { sent_at, tie }),
                reach: Reach { drivers: a.min(b), terms: a.max(b) },
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_cursor_survives_its_text(cursor in cursors()) {
        let text = cursor.to_string();
        prop_assert!(text.is_ascii() && !text.contains([' ', '&', '"', '/']), "{}", text);
        let back: Cursor = text.parse().unwrap();
        prop_assert_eq!(back.rank.score.to_bits(), cursor.rank.score.to_bits());
        prop_assert_eq!(back, cursor);
    }

    #[test]
    fn a_cursor_of_which_a_part_is_missing_is_none(cursor in cursors(), at in 0_usize..8) {
        let text = cursor.to_string();
        let mut parts: Vec<&str> = text.split('.').collect();
        parts.remove(at);
        prop_assert_eq!(parts.join(".").parse::<Cursor>(), Err(BadCursor));
        prop_assert_eq!(format!("{text}.").parse::<Cursor>(), Err(BadCursor));
        let other = format!("{}{}", text[..1].to_ascii_uppercase(), &text[1..]);
        prop_assert_eq!(other.parse::<Cursor>(), Err(BadCursor));
    }

    #[test]
    fn any_text_is_a_cursor_or_an_error(
        parts in vec(select(vec!["e", "r", ".", "_", "+", "-", "0", "7f", "é", "\0", " "]), 0..24),
    ) {
        let text = parts.concat();
        if let Ok(cursor) = text.parse::<Cursor>() {
            prop_assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
        }
    }

    #[test]
    fn ranks_are_ordered_by_score_then_time_then_tie(
        ranks in vec((select(vec![-0.0_f32, 0.0, 0.5, 3.25]), 0_i64..3, 0_u64..3), 3),
    ) {
        let rank = |at: usize| {
            let (score, sent_at, tie) = ranks[at];
            Rank { score, sent_at, tie }
        };
        let key = |at: usize| {
            let (score, sent_at, tie) = ranks[at];
            // Halves and quarters: whole numbers once they are multiplied.
            ((score * 4.0).round().to_string(), sent_at, tie)
        };
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            prop_assert_eq!(rank(a).cmp(&rank(b)), rank(b).cmp(&rank(a)).reverse());
            if key(a).0 == key(b).0 {
                let expected = (key(a).1, key(a).2).cmp(&(key(b).1, key(b).2));
                prop_assert_eq!(rank(a).cmp(&rank(b)), expected);
                prop_assert_eq!(rank(a).moment().cmp(&rank(b).moment()), expected);
            }
        }
        if rank(0) <= rank(1) && rank(1) <= rank(2) {
            prop_assert!(rank(0) <= rank(2));
        }
    }
}
