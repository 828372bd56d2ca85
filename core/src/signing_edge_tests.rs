//! Tests of signatures with several secrets, broken ones among them, and of what is signed.

use proptest::prelude::*;

use super::*;

#[test]
fn any_bytes_and_times_are_signed() {
    // Made with another implementation of HMAC-SHA256.
    let own = secret([7; 32]);
    assert_eq!(own.expose_secret(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
    let known = "v1,xGA60ShcBuAHBTZGsaiwB3bFsL/HUZs/S3+IeYwfU3w=";
    assert_eq!(header(&[own], "msg_1", -1, b"\xff\x00").as_deref(), Some(known));
}

#[test]
fn a_secret_that_cannot_be_read_hides_no_other() {
    let good = || secret([7; 32]);
    let alone = header(&[good()], "msg_1", 0, b"{}");
    for broken in ["", "whsec_%", "whsec_BwcH BwcH", "WHSEC_BwcHBwcH", "BwcHBwcH"] {
        let broken = || SecretString::from(broken);
        assert_eq!(header(&[broken()], "msg_1", 0, b"{}"), None);
        assert_eq!(header(&[broken(), good(), broken()], "msg_1", 0, b"{}"), alone);
    }
    assert_eq!(header(&[], "msg_1", 0, b"{}"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_secret_gives_one_signature_in_its_place(
        secrets in prop::collection::vec(any::<[u8; 32]>(), 1..4),
        body in prop::collection::vec(any::<u8>(), 0..64),
        seconds in any::<i64>(),
    ) {
        let secrets: Vec<_> = secrets.into_iter().map(secret).collect();
        let all = header(&secrets, "msg_1", seconds, &body).unwrap();
        let alone = secrets.chunks(1).filter_map(|one| header(one, "msg_1", seconds, &body));
        prop_assert_eq!(all, alone.collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn whatever_changes_changes_the_signature(
        key in any::<[u8; 32]>(),
        id in "[a-z0-9_]{1,20}",
        body in prop::collection::vec(any::<u8>(), 1..64),
        place in any::<prop::sample::Index>(),
    ) {
        let sign = |key, id: &str, seconds, body: &[u8]| header(&[secret(key)], id, seconds, body);
        let signed = sign(key, &id, 5, &body);
        let (mut other_key, mut other_body) = (key, body.clone());
        other_key[place.index(32)] ^= 1;
        other_body[place.index(body.len())] ^= 1;
        for changed in [
            sign(other_key, &id, 5, &body),
            sign(key, &format!("{id}x"), 5, &body),
            sign(key, &id, 6, &body),
            sign(key, &id, 5, &other_body),
        ] {
            prop_assert_ne!(&changed, &signed);
        }
    }
}
