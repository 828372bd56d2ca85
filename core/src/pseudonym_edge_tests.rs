//! Tests of stand-ins for any person: their form, and that they never change.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

#[test]
fn a_stand_in_never_changes() {
    // Readers store them; made with another implementation of HMAC-SHA256.
    let person = PseudonymKey::new([1; 32]).person(&UserId::from("U1"));
    assert_eq!(
        (person.id.as_str(), person.name.as_str()),
        ("person-7snnh5sbwwvx", "Person 7SNNH5")
    );
}

#[test]
fn many_people_have_as_many_stand_ins() {
    let key = PseudonymKey::new([3; 32]);
    let people = (0..2_000).map(|nth| key.person(&UserId::new(format!("U{nth}"))).id);
    assert_eq!(people.collect::<HashSet<_>>().len(), 2_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_stand_in_has_its_form_and_holds_nothing_of_the_id(
        random in any::<[u8; 32]>(),
        user in "U[0-9a-f]{32}",
    ) {
        let key = PseudonymKey::new(random);
        let Pseudonym { id, name } = key.person(&UserId::from(user.as_str()));
        let letters = id.strip_prefix(PERSON).unwrap();
        prop_assert_eq!(letters.len(), LETTERS);
        prop_assert!(letters.bytes().all(|letter| ALPHABET.contains(&letter)));
        prop_assert_eq!(name.to_lowercase(), format!("person {}", &letters[..IN_NAME]));
        let hex = key.to_hex();
        prop_assert_eq!(PseudonymKey::parse(&hex.to_uppercase()), Some(key));
        prop_assert_eq!(format!("{:?}", PseudonymKey::parse(&hex)), "Some(PseudonymKey(…))");
    }
}
