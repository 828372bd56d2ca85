//! Laws of a message in any mode of its channel: nothing comes back, and nothing is counted twice.

use proptest::prelude::*;

use super::*;
use crate::message::Content;

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn json(text: &str) -> String {
    serde_json::to_string(&Content::text(text)).unwrap()
}

fn received() -> MessageChange {
    MessageChange::Received(Received {
        at: at(4),
        sender: Some("U1".into()),
        kind: MessageType::Text,
        content: json("sent"),
        quoted: Some("m0".into()),
        is_bot: false,
    })
}

/// Changes of one message, each with the mode in which it arrives.
fn steps() -> impl Strategy<Value = Vec<(MessageChange, BackupMode)>> {
    let by = || prop::option::of(Just(UserId::from("U2")));
    let edit = (1_i64..9, "[a-c]{0,2}", by()).prop_map(|(millis, text, by)| {
        MessageChange::Edited { at: at(millis), by, content: json(&text) }
    });
    let unsent = (1_i64..9).prop_map(|millis| MessageChange::Unsent { at: at(millis) });
    let change = prop_oneof![6 => edit, 3 => Just(received()), 1 => unsent];
    let mode = (prop::bool::weighted(0.2), any::<bool>())
        .prop_map(|(paused, keeps)| BackupMode { paused, keeps_earlier_texts: keeps });
    prop::collection::vec((change, mode), 0..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_change_that_comes_twice_changes_nothing_more(steps in steps()) {
        let mut state = MessageState::default();
        for (nth, (change, mode)) in (0..).zip(&steps) {
            state.apply(change, *mode, at(nth));
            let once = state.clone();
            let effect = state.apply(change, *mode, at(99));
            prop_assert_eq!(&state, &once);
            prop_assert_eq!(effect, Effect::None);
        }
    }

    #[test]
    fn what_is_counted_is_there_and_what_is_gone_stays_gone(steps in steps()) {
        let mut state = MessageState::default();
        for (nth, (change, mode)) in (0..).zip(&steps) {
            let before = state.clone();
            state.apply(change, *mode, at(nth));
            prop_assert!(state.counts() || state.bytes() == 0);
            prop_assert!(state.content.is_some() || !state.counts());
            if state.skipped || state.unsent_at.is_some() {
                prop_assert_eq!((&state.content, state.bytes()), (&None, 0));
                prop_assert!(state.earlier_texts.is_empty());
            }
            prop_assert!(state.skipped || !before.skipped);
            prop_assert!(state.edited_at.is_some() || state.earlier_texts.is_empty());
            let since = state.backed_up_at;
            prop_assert!(before.backed_up_at.is_none() || since == before.backed_up_at);
            prop_assert!(before.sent_at.is_none() || state.sent_at == before.sent_at);
            prop_assert!(state.edited_at >= before.edited_at);
        }
    }

    #[test]
    fn the_first_retraction_counts_whatever_else_arrives(steps in steps()) {
        let mut state = MessageState::default();
        let mut first = None;
        for (change, mode) in &steps {
            state.apply(change, *mode, at(0));
            if let MessageChange::Unsent { at } = change {
                first = Some(first.map_or(*at, |first: Timestamp| first.min(*at)));
            }
        }
        prop_assert_eq!(state.unsent_at, first);
    }

    #[test]
    fn a_skipped_message_gives_nothing_away(steps in steps()) {
        let paused = BackupMode { paused: true, keeps_earlier_texts: true };
        let mut state = MessageState::default();
        prop_assert_eq!(state.apply(&received(), paused, at(1)), Effect::Skipped);
        for (change, mode) in &steps {
            state.apply(change, *mode, at(2));
        }
        prop_assert_eq!((&state.content, &state.sender, state.kind), (&None, &None, None));
        prop_assert_eq!((&state.quoted, state.sent_at, state.edited_at), (&None, None, None));
        prop_assert_eq!(state.backed_up_at, Some(at(1)));
    }
}
