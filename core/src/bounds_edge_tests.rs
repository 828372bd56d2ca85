//! Laws of bounds: narrowing is an intersection, in any order and however often.

use proptest::prelude::*;

use super::*;

const CHANNELS: [&str; 3] = ["C1", "C2", "C3"];

fn channels() -> impl Strategy<Value = Option<Vec<ChannelId>>> {
    let some = prop::sample::subsequence(CHANNELS.to_vec(), 0..=CHANNELS.len()).prop_shuffle();
    prop::option::of(some.prop_map(|ids| ids.into_iter().map(ChannelId::from).collect()))
}

/// Bounds with one of two secrets of stand-ins, so that they can differ.
fn bounds() -> impl Strategy<Value = Bounds> {
    let scopes = prop::sample::subsequence(Scope::ALL.to_vec(), 0..=Scope::ALL.len());
    let time = || prop::option::of((0_i64..4).prop_map(Timestamp::from_millis));
    let secret = prop::option::of((1_u8..3).prop_map(|byte| PseudonymKey::new([byte; 32])));
    (scopes, channels(), time(), time(), secret).prop_map(
        |(scopes, channels, not_before, expires_at, pseudonyms)| Bounds {
            scopes,
            channels,
            not_before,
            expires_at,
            pseudonyms,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_person_acting_directly_narrows_nothing(some in bounds()) {
        prop_assert_eq!(some.narrowed(&Bounds::full()), some);
    }

    #[test]
    fn narrowing_again_changes_nothing(some in bounds()) {
        let once = some.narrowed(&some);
        prop_assert_eq!(once.narrowed(&once), once.clone());
        prop_assert!(once.within(&some) && some.within(&once));
    }

    #[test]
    fn a_chain_of_grants_is_the_same_however_it_is_bracketed(
        first in bounds(),
        second in bounds(),
        third in bounds(),
    ) {
        let left = first.narrowed(&second).narrowed(&third);
        let right = first.narrowed(&second.narrowed(&third));
        prop_assert_eq!(&left, &right);
        prop_assert!(left.within(&first), "a later grant widened the first");
    }

    #[test]
    fn nothing_takes_the_stand_ins_away(some in bounds(), other in bounds()) {
        let narrow = some.narrowed(&other);
        if some.pseudonyms.is_some() {
            prop_assert_eq!(&narrow.pseudonyms, &some.pseudonyms);
        }
        let masked = some.pseudonyms.is_some() || other.pseudonyms.is_some();
        prop_assert_eq!(narrow.pseudonyms.is_some(), masked);
        if masked {
            prop_assert!(!Bounds::full().within(&narrow));
        }
    }

    #[test]
    fn a_list_is_seen_when_each_of_it_is(some in bounds(), list in channels()) {
        let each = match &list {
            Some(list) => list.iter().all(|channel| some.sees(channel)),
            None => some.channels.is_none(),
        };
        prop_assert_eq!(some.sees_all(list.as_deref()), each);
    }

    #[test]
    fn common_channels_are_those_of_both_lists(one in channels(), other in channels()) {
        let both = common(one.as_deref(), other.as_deref());
        for id in CHANNELS.into_iter().chain(["C4"]).map(ChannelId::from) {
            let [held, in_one, in_other] =
                [&both, &one, &other].map(|list| list.as_ref().is_none_or(|ids| ids.contains(&id)));
            prop_assert_eq!(held, in_one && in_other, "{}", id);
        }
    }

    #[test]
    fn expired_bounds_admit_nothing_at_all(some in bounds(), now in 0_i64..5) {
        let now = Timestamp::from_millis(now);
        let itself = some.admit(&Subject::of_itself(None), now);
        prop_assert_eq!(itself.is_err(), some.ended(now));
    }
}

#[test]
fn no_channel_at_all_is_not_every_channel() {
    let none = Bounds { channels: Some(Vec::new()), ..Bounds::full() };
    assert!(!none.sees(&ChannelId::from("C1")) && !none.sees_all(None));
    assert!(none.sees_all(Some(&[])), "an empty list asks for nothing");
    assert!(none.within(&Bounds::full()) && !Bounds::full().within(&none));
    let account = Subject::of_account(None);
    assert_eq!(none.admit(&account, Timestamp::from_millis(0)), Err(BoundExceeded::Channel));
}
