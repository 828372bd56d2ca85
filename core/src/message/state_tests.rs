//! Order, repetition and pauses do not change where a message ends.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::message::{Content, EarlierText};

const NOW: Timestamp = Timestamp::from_millis(1_000);
const ON: BackupMode = BackupMode { paused: false, keeps_earlier_texts: true };
const OFF: BackupMode = BackupMode { paused: false, keeps_earlier_texts: false };
const PAUSED: BackupMode = BackupMode { paused: true, keeps_earlier_texts: true };

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn json(text: &str) -> String {
    serde_json::to_string(&Content::text(text)).unwrap()
}

fn sent(millis: i64, text: &str) -> MessageChange {
    MessageChange::Received(Received {
        at: at(millis),
        sender: Some("U1".into()),
        kind: MessageType::Text,
        content: json(text),
        quoted: None,
        is_bot: false,
    })
}

fn received(text: &str) -> MessageChange {
    sent(1, text)
}

fn edited(millis: i64, text: &str) -> MessageChange {
    MessageChange::Edited { at: at(millis), by: Some("U1".into()), content: json(text) }
}

fn unsent(millis: i64) -> MessageChange {
    MessageChange::Unsent { at: at(millis) }
}

/// Changes of one message, mostly edits: more than are kept, several of one millisecond, and some of
/// before it was sent, as the clocks of platforms allow.
fn changes() -> impl Strategy<Value = Vec<MessageChange>> {
    let edit = (1..40_i64, "[a-d]{1,2}").prop_map(|(at, text)| edited(at, &text));
    let few = prop::collection::vec((1..40_i64).prop_map(unsent), 0..2);
    let original = (1..40_i64, "[a-d]{1,2}").prop_map(|(at, text)| sent(at, &text));
    let original = prop::option::weighted(0.8, original);
    let few = prop_oneof![3 => Just(Vec::new()), 1 => few];
    (original, prop::collection::vec(edit, 0..45), few).prop_map(|(original, edits, unsends)| {
        original.into_iter().chain(edits).chain(unsends).collect()
    })
}

fn run<'a>(changes: impl IntoIterator<Item = &'a MessageChange>, mode: BackupMode) -> MessageState {
    let mut state = MessageState::default();
    for change in changes {
        state.apply(change, mode, NOW);
    }
    state
}

/// Returns the texts that a message had before, by the rule and not by the order of arrival.
fn expected(changes: &[MessageChange]) -> Vec<EarlierText> {
    let (mut earlier, mut edits) = (BTreeMap::new(), BTreeMap::new());
    for change in changes {
        let (texts, at, content) = match change {
            MessageChange::Received(message) => (&mut earlier, message.at, &message.content),
            MessageChange::Edited { at, content, .. } => (&mut edits, *at, content),
            MessageChange::Unsent { .. } => return Vec::new(),
        };
        let known = texts.entry(at).or_insert_with(String::new);
        *known = known.clone().max(content.clone());
    }
    if edits.pop_last().is_none() {
        return Vec::new();
    }
    for (at, content) in edits {
        let known = earlier.entry(at).or_default();
        *known = known.clone().max(content);
    }
    let earlier: Vec<_> =
        earlier.into_iter().map(|(at, content)| EarlierText { at, content }).collect();
    earlier[earlier.len().saturating_sub(EarlierTexts::MOST)..].to_vec()
}

proptest! {
    #[test]
    fn order_and_repetition_do_not_matter(changes in changes(), seed in any::<u64>()) {
        for mode in [ON, OFF] {
            let state = run(&changes, mode);
            let mut shuffled = changes.clone();
            shuffled.extend(changes.iter().cloned());
            shuffle(&mut shuffled, seed);
            prop_assert_eq!(&run(&shuffled, mode), &state);
            let kept = if mode == ON { expected(&changes) } else { Vec::new() };
            prop_assert_eq!(state.earlier_texts.as_slice(), kept);
        }
    }

    #[test]
    fn earlier_texts_change_nothing_else(changes in changes()) {
        let (on, off) = (run(&changes, ON), run(&changes, OFF));
        let size = off.bytes() + on.earlier_texts.bytes() * i64::from(on.counts());
        prop_assert_eq!(on.bytes(), size);
        prop_assert_eq!(MessageState { earlier_texts: EarlierTexts::default(), ..on }, off);
    }

    #[test]
    fn an_effect_tells_every_change(changes in changes()) {
        let mut state = MessageState::default();
        for change in &changes {
            let before = state.clone();
            let effect = state.apply(change, ON, NOW);
            match effect {
                Effect::None => prop_assert_eq!(state.clone(), before),
                Effect::EarlierText => {
                    prop_assert_ne!(&state.earlier_texts, &before.earlier_texts);
                    let rest = MessageState { earlier_texts: before.earlier_texts.clone(), ..state.clone() };
                    prop_assert_eq!(rest, before);
                }
                Effect::Changed | Effect::Skipped => {}
            }
        }
    }
}

fn shuffle(changes: &mut [MessageChange], mut seed: u64) {
    for last in (1..changes.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        changes.swap(last, usize::try_from(seed >> 33).unwrap() % (last + 1));
    }
}

#[test]
fn an_unsend_before_its_message_wins() {
    let state = run([&unsent(9), &received("secret"), &edited(2, "more")], ON);
    assert_eq!((state.content.as_deref(), state.bytes(), state.counts()), (None, 0, false));
    assert!(state.earlier_texts.is_empty());
    assert_eq!(state.sender, Some("U1".into()));
}

#[test]
fn a_paused_channel_keeps_nothing_new() {
    let state = run([&received("lost"), &edited(2, "lost, too")], PAUSED);
    assert!(state.skipped && state.content.is_none() && state.earlier_texts.is_empty());
    let mut later = state.clone();
    assert_eq!(later.apply(&received("lost"), ON, NOW), Effect::None);
    assert_eq!(later, state);

    let mut stored = run([&received("first")], ON);
    assert_eq!(stored.apply(&edited(3, "third"), PAUSED, NOW), Effect::Changed);
    assert_eq!(stored.apply(&edited(2, "second"), PAUSED, NOW), Effect::None);
    assert!(stored.earlier_texts.is_empty());
    assert_eq!(stored.content, Some(json("third")));
}

#[test]
fn what_was_edited_while_nothing_was_kept_is_not_there() {
    let mut state = run([&received("first")], OFF);
    state.apply(&edited(2, "second"), OFF, NOW);
    state.apply(&edited(3, "third"), ON, NOW);
    let kept: Vec<_> = state.earlier_texts.as_slice().iter().map(|text| text.at).collect();
    assert_eq!(kept, [at(2)]);
    assert_eq!(
        state.bytes(),
        i64::try_from(json("third").len()).unwrap() + state.earlier_texts.bytes()
    );
}
