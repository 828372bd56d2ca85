//! Webhooks of LINE as an adapter of the inbound port.

use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use http::HeaderMap;
use secrecy::SecretString;

use super::{SignatureKey, WebhookBody};
use crate::{InboundEvents, InboundWebhooks, NotAWebhook, Unverified, VerifiedBody};

/// Header with the body's signature.
const SIGNATURE: &str = "x-line-signature";

/// Webhooks of one LINE bot, signed with its channel secret.
#[derive(Clone, Debug)]
pub struct LineWebhooks(SignatureKey);

impl LineWebhooks {
    /// Segment of LINE in the path of webhooks.
    pub const PATH: &str = "line";

    /// Creates the adapter from the channel secret; `None` if it is empty, since anybody could sign
    /// with that.
    pub fn new(channel_secret: &SecretString) -> Option<Self> {
        SignatureKey::new(channel_secret).map(Self)
    }
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

    fn headers(&self) -> &'static [&'static str] {
        &[SIGNATURE]
    }

    /// 32 bytes in base64.
    fn may_be_signed(&self, headers: &HeaderMap) -> bool {
        signature(headers).is_some_and(SignatureKey::is_signature)
    }

    fn verify(&self, headers: &HeaderMap, body: Bytes) -> Result<VerifiedBody, Unverified> {
        let signature = signature(headers).ok_or(Unverified)?;
        if self.0.verify(&body, signature) { Ok(VerifiedBody::new(body)) } else { Err(Unverified) }
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
        let (line, key) =
            (LineWebhooks::new(&secret).unwrap(), SignatureKey::new(&secret).unwrap());
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
}
