//! Tests of signatures of any bodies: one changed bit, or another way to write it, is none.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE};
use proptest::prelude::*;

use super::*;

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_body_is_signed_by_its_secret_alone(
        secret in "[a-zA-Z0-9]{1,40}",
        other in "[a-zA-Z0-9]{1,40}",
        body in bodies(),
    ) {
        prop_assume!(secret != other);
        let [key, another] =
            [secret, other].map(|secret| SignatureKey::new(&SecretString::from(secret)).unwrap());
        let signature = key.sign(&body);
        prop_assert!(SignatureKey::is_signature(&signature) && key.verify(&body, &signature));
        prop_assert!(!another.verify(&body, &signature));
    }

    #[test]
    fn a_changed_bit_is_noticed(body in bodies(), place in any::<prop::sample::Index>()) {
        let key = SignatureKey::new(&SecretString::from("SECRET")).unwrap();
        let signature = key.sign(&body);
        let mut raw = decode(&signature).unwrap();
        raw[place.index(32)] ^= 1_u8 << place.index(8);
        prop_assert!(!key.verify(&body, &STANDARD.encode(raw)));
        let mut longer = body.clone();
        longer.push(0);
        prop_assert!(!key.verify(&longer, &signature));
        if !body.is_empty() {
            let mut changed = body.clone();
            changed[place.index(body.len())] ^= 1_u8 << place.index(8);
            prop_assert!(!key.verify(&changed, &signature));
        }
    }

    #[test]
    fn a_signature_is_written_in_one_way(raw in any::<[u8; 32]>()) {
        let text = STANDARD.encode(raw);
        prop_assert!(SignatureKey::is_signature(&text));
        for other in [
            STANDARD_NO_PAD.encode(raw),
            format!("{text} "),
            format!("\n{text}"),
            format!("{text}="),
            format!("sha256={text}"),
            text.replace('=', "%3D"),
        ] {
            prop_assert!(!SignatureKey::is_signature(&other), "{other}");
        }
        let safe = URL_SAFE.encode(raw);
        prop_assert_eq!(SignatureKey::is_signature(&safe), safe == text);
    }
}
