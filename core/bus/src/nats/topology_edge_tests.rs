//! Tests of streams that somebody else has configured: no setting of theirs may delete messages.

use proptest::prelude::*;

use super::*;

fn configs() -> impl Strategy<Value = Config> {
    let limits = (-1_i64..5, -1_i64..5, -1_i64..5);
    (limits, 0_u64..3, any::<bool>(), any::<bool>()).prop_map(
        |((max_messages, max_bytes, per_subject), age, discards_new, new_per_subject)| Config {
            name: "EVENTS".to_owned(),
            max_messages,
            max_bytes,
            max_messages_per_subject: per_subject,
            max_age: Duration::from_secs(age),
            discard: if discards_new { DiscardPolicy::New } else { DiscardPolicy::Old },
            discard_new_per_subject: new_per_subject,
            description: Some("of somebody else".to_owned()),
            ..Config::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_deleted_by_age_or_to_make_room(config in configs()) {
        let kept = keeping_messages(&config);
        prop_assert_eq!((kept.discard, kept.max_age), (DiscardPolicy::New, Duration::ZERO));
        prop_assert!(kept.max_messages_per_subject < 0 && !kept.discard_new_per_subject);
        // A limit at which new messages are refused is theirs to set, like everything else.
        let restored = Config {
            discard: config.discard,
            max_age: config.max_age,
            max_messages_per_subject: config.max_messages_per_subject,
            discard_new_per_subject: config.discard_new_per_subject,
            ..kept.clone()
        };
        prop_assert_eq!(restored, config);
        prop_assert_eq!(keeping_messages(&kept), kept);
    }
}
