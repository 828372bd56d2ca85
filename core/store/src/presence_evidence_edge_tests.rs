//! Laws of merged evidence: late, repeated and disordered events change nothing that is newer.

use chatkeep_core::event::ChannelKind;
use proptest::prelude::*;

use super::*;

fn evidence() -> impl Strategy<Value = Vec<PresenceEvidence>> {
    let user = || prop::sample::select(vec!["U1", "U2"]).prop_map(UserId::from);
    let kind = prop_oneof![
        Just(PresenceEvidenceKind::Channel),
        Just(PresenceEvidenceKind::BotJoined),
        Just(PresenceEvidenceKind::BotLeft),
        user().prop_map(PresenceEvidenceKind::Present),
        user().prop_map(PresenceEvidenceKind::Joined),
        user().prop_map(PresenceEvidenceKind::Left),
    ];
    let channel = prop::sample::select(vec!["C1", "C2"]);
    let one = (channel, 1_i64..20, kind).prop_map(|(id, at, kind)| PresenceEvidence {
        channel: ChannelRef { id: id.into(), kind: ChannelKind::Group },
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        at: Timestamp::from_millis(at),
        kind,
    });
    prop::collection::vec(one, 0..24)
}

/// Returns the rows as the statements get them.
fn rows(evidence: &[PresenceEvidence]) -> String {
    let (channels, members) = merged(evidence);
    let channels: Vec<_> = channels.into_values().collect();
    let members: Vec<_> = members.into_values().collect();
    serde_json::to_string(&(channels, members)).unwrap()
}

/// Returns the time of the last piece of that kind; 0 without one.
fn latest(evidence: &[PresenceEvidence], channel: &str, kind: &PresenceEvidenceKind) -> i64 {
    let own = evidence.iter().filter(|one| one.channel.id.as_str() == channel && one.kind == *kind);
    own.map(|one| one.at.millis()).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn order_and_repetition_do_not_matter(
        (evidence, shuffled) in evidence().prop_flat_map(|all| {
            let twice = [all.clone(), all.clone()].concat();
            (Just(all), Just(twice).prop_shuffle())
        }),
    ) {
        prop_assert_eq!(rows(&shuffled), rows(&evidence));
    }

    #[test]
    fn a_person_is_last_seen_joined_and_gone_when_they_last_were(evidence in evidence()) {
        let (channels, members) = merged(&evidence);
        for ((channel, user), member) in &members {
            let user = UserId::from(*user);
            let last = |kind| latest(&evidence, channel, &kind);
            prop_assert_eq!(member.seen, last(PresenceEvidenceKind::Present(user.clone())));
            prop_assert_eq!(member.on, last(PresenceEvidenceKind::Joined(user.clone())));
            prop_assert_eq!(member.off, last(PresenceEvidenceKind::Left(user)));
            prop_assert!(channels[channel].first <= member.first);
        }
        for (channel, row) in &channels {
            prop_assert_eq!(row.on, latest(&evidence, channel, &PresenceEvidenceKind::BotJoined));
            prop_assert_eq!(row.off, latest(&evidence, channel, &PresenceEvidenceKind::BotLeft));
        }
    }
}
