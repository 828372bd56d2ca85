//! Signatures of outgoing webhooks as specified by Standard Webhooks: HMAC-SHA256 over
//! `id.timestamp.body` with a secret that is written as `whsec_` and base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// Prefix of every secret.
const PREFIX: &str = "whsec_";

/// Creates a secret from random bytes.
pub fn secret(random: [u8; 32]) -> SecretString {
    format!("{PREFIX}{}", STANDARD.encode(random)).into()
}

/// Returns the header `webhook-signature`: one signature for each secret, separated by spaces.
/// `seconds` is the header `webhook-timestamp`. `None` if no secret can be decoded.
pub fn header(secrets: &[SecretString], id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let signed = secrets.iter().filter_map(|secret| signature(secret, id, seconds, body));
    let signed: Vec<_> = signed.collect();
    (!signed.is_empty()).then(|| signed.join(" "))
}

fn signature(secret: &SecretString, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let key = STANDARD.decode(secret.expose_secret().strip_prefix(PREFIX)?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
#[path = "signing_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the example of the Standard Webhooks specification's own libraries.
    #[test]
    fn signs_as_the_specification_does() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let body = br#"{"test": 2432232314}"#;
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let one = header(std::slice::from_ref(&secret), id, 1_614_265_330, body).unwrap();
        assert_eq!(one, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = header(&[secret, super::secret([7; 32])], id, 1_614_265_330, body).unwrap();
        assert!(both.starts_with(&format!("{one} v1,")));
        assert_eq!(header(&["plain".to_owned().into()], id, 0, body), None);
    }
}
