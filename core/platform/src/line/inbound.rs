//! Webhooks of LINE as an adapter of the inbound port.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use http::HeaderMap;
use secrecy::SecretString;

use super::{SignatureKey, WebhookBody};
use crate::{InboundEvents, InboundWebhooks, NotAWebhook, Unverified, VerifiedBody};

/// Header with the body's signature.
const SIGNATURE: &str = "x-line-signature";

/// Webhooks of one LINE bot, signed with its channel secret, or one of several while it is
/// replaced. Clones share the secrets.
#[derive(Clone, Debug)]
pub struct LineWebhooks(Arc<RwLock<Vec<SignatureKey>>>);

impl LineWebhooks {
    /// Segment of LINE in the path of webhooks.
    pub const PATH: &str = "line";

    /// Creates the adapter from the channel secrets that may sign; `None` without any that is not
    /// empty, since anybody could sign with that.
    pub fn new(channel_secrets: &[SecretString]) -> Option<Self> {
        keys(channel_secrets).map(|keys| Self(Arc::new(RwLock::new(keys))))
    }

    /// Replaces the secrets; `false`, and nothing changes, without any that is not empty.
    pub fn replace_secrets(&self, channel_secrets: &[SecretString]) -> bool {
        let Some(keys) = keys(channel_secrets) else { return false };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys;
        true
    }

    fn is_signed(&self, body: &[u8], signature: &str) -> bool {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        keys.iter().any(|key| key.verify(body, signature))
    }
}

/// Returns the keys of these secrets, if there are any.
fn keys(channel_secrets: &[SecretString]) -> Option<Vec<SignatureKey>> {
    let keys: Vec<_> = channel_secrets.iter().filter_map(SignatureKey::new).collect();
    (!keys.is_empty()).then_some(keys)
}

/// Returns the text of the header, if there is one.
fn signature(headers: &HeaderMap) -> Option<&str> {
    headers.get(SIGNATURE)?.to_str().ok()
}

impl InboundWebhooks for LineWebhooks {
    fn path(&self) -> &'static str {
        Self::PATH
    }

    fn label(&self) -> &'static str {
        "LINE"
    }

    /// 32 bytes in base64.
    fn may_be_signed(&self, headers: &HeaderMap) -> bool {
        signature(headers).is_some_and(SignatureKey::is_signature)
    }

    fn verify(&self, headers: &HeaderMap, body: Bytes) -> Result<VerifiedBody, Unverified> {
        let signature = signature(headers).ok_or(Unverified)?;
        if self.is_signed(&body, signature) { Ok(VerifiedBody::new(body)) } else { Err(Unverified) }
    }

    fn parse(
        &self,
        body: &VerifiedBody,
        bot: &str,
        received_at: Timestamp,
    ) -> Result<InboundEvents, NotAWebhook> {
        let webhook =
            WebhookBody::parse(body.bytes()).map_err(|error| NotAWebhook(error.into()))?;
        let envelopes = webhook.envelopes(bot, received_at);
        Ok(InboundEvents { envelopes, destination: webhook.destination() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_parsed_only_when_it_is_signed() {
        let secret = SecretString::from("SECRET");
        let (line, key) = (
            LineWebhooks::new(std::slice::from_ref(&secret)).unwrap(),
            SignatureKey::new(&secret).unwrap(),
        );
        let body = Bytes::from_static(br#"{"destination":"U1","events":[{"type":"follow"}]}"#);
        let headers = |signature: &str| {
            HeaderMap::from_iter([(SIGNATURE.parse().unwrap(), signature.parse().unwrap())])
        };
        let right = headers(&key.sign(&body));
        assert!(line.may_be_signed(&right) && !line.may_be_signed(&headers("AAAA")));
        assert!(!line.may_be_signed(&HeaderMap::new()));
        for wrong in [HeaderMap::new(), headers(&key.sign(b"another body"))] {
            assert_eq!(line.verify(&wrong, body.clone()).unwrap_err(), Unverified);
        }
        let verified = line.verify(&right, body).unwrap();
        let events = line.parse(&verified, "main", Timestamp::from_millis(7)).unwrap();
        assert_eq!(events.destination, Some("U1".into()));
        assert_eq!((events.envelopes.len(), &*events.envelopes[0].bot), (1, "main"));
        let odd = VerifiedBody::new(Bytes::from_static(b"[]"));
        assert!(line.parse(&odd, "main", Timestamp::from_millis(7)).is_err());
    }

    #[test]
    fn several_secrets_sign_while_one_replaces_another() {
        let (old, new) = (SecretString::from("OLD"), SecretString::from("NEW"));
        let line = LineWebhooks::new(std::slice::from_ref(&old)).unwrap();
        let body = Bytes::from_static(br#"{"events":[]}"#);
        let takes = |secret: &SecretString| {
            let signature = SignatureKey::new(secret).unwrap().sign(&body);
            let headers =
                HeaderMap::from_iter([(SIGNATURE.parse().unwrap(), signature.parse().unwrap())]);
            line.verify(&headers, body.clone()).is_ok()
        };
        assert!(takes(&old) && !takes(&new));
        assert!(line.replace_secrets(&[new.clone(), old.clone()]));
        assert!(takes(&old) && takes(&new));
        assert!(line.replace_secrets(std::slice::from_ref(&new)));
        assert!(!takes(&old) && takes(&new));
        assert!(!line.replace_secrets(&[SecretString::from("")]) && takes(&new), "none is no key");
        assert!(LineWebhooks::new(&[]).is_none());
    }
}
