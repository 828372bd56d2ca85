//! Tests of positions in the event log as ids, and of bookmarks as cursors.

use proptest::prelude::*;

use super::*;

#[test]
fn other_texts_are_no_ids_of_events() {
    for text in ["", "evt_", "evt_1", "evt_1_", "evt__1", "evt_1_2_3", "evt_1_ 2", "wh_1_2"] {
        assert_eq!(OutboxPosition::of_event(text), None, "{text:?}");
    }
    for text in ["EVT_1_2", "evt_1_9223372036854775808", "evt_１_2", "evt_1_2\n", "evt_0x1_2"] {
        assert_eq!(OutboxPosition::of_event(text), None, "{text:?}");
    }
    for text in ["evt_+1_2", "evt_1_+2", "evt_1_02", "evt_00_1", "evt_-0_1", "evt_+1_02"] {
        assert_eq!(OutboxPosition::of_event(text), None, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_event_is_found_by_its_id(tx in 0..=i64::MAX, seq in 0..=i64::MAX) {
        let place = OutboxPosition(tx, seq);
        prop_assert_eq!(OutboxPosition::of_event(&place.event_id()), Some(place));
    }

    #[test]
    fn positions_are_in_the_order_of_transactions(
        one in (0_i64..3, 0_i64..3),
        other in (0_i64..3, 0_i64..3),
    ) {
        let place = |(tx, seq)| OutboxPosition(tx, seq);
        prop_assert_eq!(place(one).cmp(&place(other)), one.cmp(&other));
    }

    #[test]
    fn a_bookmark_is_read_as_it_was_written(
        tx in any::<i64>(),
        seq in any::<i64>(),
        logged_at in any::<Option<i64>>(),
    ) {
        let logged_at = logged_at.map(Timestamp::from_millis);
        let mark = Bookmark { at: OutboxPosition(tx, seq), logged_at };
        let text = serde_json::to_string(&mark).unwrap();
        prop_assert_eq!(serde_json::from_str::<Bookmark>(&text).unwrap(), mark);
    }
}
