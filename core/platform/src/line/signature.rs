//! LINE's webhook signature: base64 of HMAC-SHA256 over the raw body, keyed with the channel
//! secret (Messaging API, "Verify webhook signature").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// Checks webhook signatures of one bot. The key schedule is computed once.
#[derive(Clone)]
pub struct SignatureKey(Hmac<Sha256>);

impl std::fmt::Debug for SignatureKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignatureKey(…)")
    }
}

impl SignatureKey {
    /// Creates the key from the channel secret; `None` if it is empty, since anybody could sign
    /// with that.
    pub fn new(channel_secret: &SecretString) -> Option<Self> {
        let secret = channel_secret.expose_secret().as_bytes();
        if secret.is_empty() {
            return None;
        }
        Hmac::new_from_slice(secret).ok().map(Self)
    }

    /// Returns whether `signature` (the header's text) is that of `body`; the comparison takes
    /// constant time.
    pub fn verify(&self, body: &[u8], signature: &str) -> bool {
        let Some(given) = decode(signature) else {
            return false;
        };
        let mut mac = self.0.clone();
        mac.update(body);
        mac.verify_slice(&given).is_ok()
    }

    /// Returns whether `signature` has the form of one; otherwise it need not be verified.
    pub fn is_signature(signature: &str) -> bool {
        decode(signature).is_some()
    }

    /// Returns the header's text for `body`.
    pub fn sign(&self, body: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(body);
        STANDARD.encode(mac.finalize().into_bytes())
    }
}

fn decode(signature: &str) -> Option<[u8; 32]> {
    // One byte more than a signature has, so that a longer one is detected.
    let mut given = [0_u8; 33];
    match STANDARD.decode_slice(signature, &mut given) {
        Ok(32) => given.first_chunk().copied(),
        _ => None,
    }
}

#[cfg(test)]
#[path = "signature_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: &str) -> SignatureKey {
        SignatureKey::new(&SecretString::from(secret)).unwrap()
    }

    #[test]
    fn agrees_with_the_signatures_of_lines_own_libraries() {
        let vectors = [
            (
                "test_secret",
                "{\"hello\":\"world\"}",
                "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM=",
            ),
            ("SECRET", "{}", "3q8QXTAGaey18yL8FWTqdVlbMr6hcuNvM4tefa0o9nA="),
            ("channel_secret", "bodybodybodybody", "/gg9a+LvFevTH1sd7XCQycD7tsWclCsInj7MhBHxN7k="),
        ];
        for (secret, body, signature) in vectors {
            assert!(key(secret).verify(body.as_bytes(), signature), "{secret}");
            assert_eq!(key(secret).sign(body.as_bytes()), signature);
        }
    }

    #[test]
    fn refuses_everything_else() {
        let key = key("SECRET");
        let good = key.sign(b"{}");
        assert!(!key.verify(b"{} ", &good));
        for bad in [
            "",
            "=",
            "c2hvcnQ=",
            &good[..43],
            &format!("{good}A"),
            "3q8QXTAGaey18yL8FWTqdVlbMr6hcuNvM4tefa0o9nB=",
        ] {
            assert!(!key.verify(b"{}", bad), "{bad}");
            assert!(!SignatureKey::is_signature(bad), "{bad}");
        }
        assert!(SignatureKey::is_signature(&good));
        assert!(SignatureKey::new(&SecretString::from("")).is_none());
    }
}
