//! Tests of stripes: processes of all versions have to agree on them.

use super::*;

#[test]
fn a_channel_has_the_same_stripe_in_every_version() {
    for (channel, expected) in [
        ("C1", 43),
        ("C2", 22),
        ("U1~shop", 46),
        ("telegram:-100123", 48),
        ("C0123456789abcdef0123456789abcdef", 10),
    ] {
        assert_eq!(stripe(&ChannelId::from(channel)), expected, "{channel}");
    }
}

#[test]
fn channels_are_spread_over_all_stripes() {
    let stripes: BTreeSet<_> =
        (0..2_000).map(|nth| stripe(&ChannelId::new(format!("C{nth}")))).collect();
    assert_eq!(stripes, (0..STRIPES).collect::<BTreeSet<_>>());
}
