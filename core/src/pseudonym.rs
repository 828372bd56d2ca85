//! Pseudonyms: stable stand-ins for people, made with a secret of the key that reads them.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::id::UserId;

/// Prefix of every stand-in of an id.
pub const PERSON: &str = "person-";
/// Number of letters after the prefix.
pub const LETTERS: usize = 12;
/// Number of these letters that are in the name, too.
const IN_NAME: usize = 6;
/// Letters of stand-ins (RFC 4648, base 32).
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Secret that a key's pseudonyms are made with. Keys that replace the key have the same one, and no
/// other key has it, so pseudonyms of two keys cannot be linked.
#[derive(Clone, PartialEq, Eq)]
pub struct PseudonymKey([u8; 32]);

/// Stand-in for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pseudonym {
    /// Stand-in of the id: `person-` and 12 letters or digits.
    pub id: String,
    /// Stand-in of the name, made from the id's first letters: `Person 7K2Q4M`.
    pub name: String,
}

impl PseudonymKey {
    /// Creates a key from random bytes.
    pub const fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Parses a key from its text in the database; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns its text for the database. It is shown nowhere.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Returns the stand-in for a person: the same for the same id, always.
    pub fn person(&self, user: &UserId) -> Pseudonym {
        let letters = self.letters(user.as_str());
        let name = letters.get(..IN_NAME).unwrap_or_default().to_ascii_uppercase();
        Pseudonym { id: format!("{PERSON}{letters}"), name: format!("Person {name}") }
    }

    fn letters(&self, id: &str) -> String {
        // A key of any length is valid.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(id.as_bytes());
        let digest = mac.finalize().into_bytes();
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(byte % 32)]);
        digest.iter().take(LETTERS).map(letter).collect()
    }
}

/// Shows nothing of the secret.
impl fmt::Debug for PseudonymKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PseudonymKey(…)")
    }
}

#[cfg(test)]
#[path = "pseudonym_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_stable_for_a_key_and_differ_between_keys() {
        let (one, other) = (PseudonymKey::new([1; 32]), PseudonymKey::new([2; 32]));
        let (ann, bob) = (UserId::from("U1"), UserId::from("U2"));
        let again = PseudonymKey::parse(&one.to_hex()).unwrap();
        assert_eq!(one.person(&ann), again.person(&ann));
        assert_ne!(one.person(&ann), one.person(&bob));
        assert_ne!(one.person(&ann), other.person(&ann));
        let Pseudonym { id, name } = one.person(&ann);
        let letters = id.strip_prefix(PERSON).unwrap();
        assert_eq!(letters.len(), LETTERS);
        assert_eq!(name, format!("Person {}", letters[..6].to_ascii_uppercase()));
        assert!(!format!("{one:?}").contains("01"));
    }

    #[test]
    fn other_texts_are_no_keys() {
        for text in ["", "00", &"0".repeat(63), &"g".repeat(64), &"0".repeat(66)] {
            assert_eq!(PseudonymKey::parse(text), None, "{text}");
        }
    }
}
