//! The ingress: takes the platform's webhooks and answers 200 only when every event in them is
//! durably on the bus (contract section 9).
//!
//! Anybody can send garbage here, also through the proxy that LINE's own webhooks come through, so
//! an address that sent too much of it is not shut out: a rightly signed webhook is always taken
//! and never counted. What the budget of an address bounds is what its garbage costs: a request
//! without anything like a signature is answered before its body is read; a well-formed signature
//! costs one HMAC, less than receiving the body did; and once the budget is used up, neither is
//! logged any more, and the answer says when to come again.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use chatkeep_core::bus::{Bus, BusError, Outgoing};
use chatkeep_core::event::Envelope;
use chatkeep_core::platform::line::{SignatureKey, WebhookBody};
use chatkeep_core::time::SharedClock;
use chatkeep_workers::tap::Tap;
use metrics::{counter, histogram};
use tracing::{debug, error, warn};

use crate::limit::{Address, Limiter};

/// The name of the one bot that the `[line]` section configures.
pub const BOT: &str = "main";

/// LINE's header with the body's signature.
const SIGNATURE: &str = "x-line-signature";

/// What the ingress works with.
#[derive(Debug)]
pub struct Ingress {
    /// Where events go.
    pub bus: Bus,
    /// Checks that a body is LINE's.
    pub key: SignatureKey,
    /// Tells when an event was received.
    pub clock: SharedClock,
    /// Who watches.
    pub tap: Tap,
    /// Webhooks with a wrong or missing signature, by address.
    pub rejected: Limiter,
    /// Proxies in front that each add an address to `X-Forwarded-For`.
    pub proxies: usize,
}

/// The ingress' route, with bodies up to `max_body` bytes.
pub fn router(ingress: Ingress, max_body: usize) -> Router {
    Router::new()
        .route("/webhook/line", post(receive))
        .layer(DefaultBodyLimit::max(max_body))
        .with_state(Arc::new(ingress))
}

async fn receive(State(ingress): State<Arc<Ingress>>, request: Request) -> Response {
    let started = Instant::now();
    let answer = ingress.answer(request).await;
    histogram!("chatkeep_ingress_seconds").record(started.elapsed());
    counter!("chatkeep_webhooks_total", "result" => answer.name()).increment(1);
    answer.into_response()
}

/// What a webhook is answered.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Accepted,
    BadSignature,
    /// Another one with a bad signature, and the seconds until it would be looked at again.
    Limited(u32),
    NotAWebhook,
    TooLarge,
    Unavailable,
}

impl Ingress {
    async fn answer(&self, request: Request) -> Answer {
        let address = Address::of(request.extensions(), request.headers(), self.proxies);
        let Some(signature) = signature(request.headers()) else {
            return self.reject(address);
        };
        match Bytes::from_request(request, &()).await {
            Ok(body) if self.key.verify(&body, &signature) => self.take(&body).await,
            Ok(_) => self.reject(address),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Answer::TooLarge
            }
            Err(_) => Answer::NotAWebhook,
        }
    }

    /// Counts a webhook that is not LINE's.
    fn reject(&self, address: Address) -> Answer {
        let verdict = self.rejected.take(&address.to_string());
        if !verdict.allowed {
            return Answer::Limited(verdict.retry_after);
        }
        warn!(%address, "webhook with a wrong or missing signature");
        if verdict.remaining == 0 {
            warn!(%address, "more of these from there are not logged for now");
        }
        Answer::BadSignature
    }

    /// Takes a webhook that LINE signed.
    async fn take(&self, body: &[u8]) -> Answer {
        let Ok(webhook) = WebhookBody::parse(body) else {
            // Signed by LINE and yet not its form: worth a look, and nothing to keep.
            error!(bytes = body.len(), "signed body is not a webhook");
            return Answer::NotAWebhook;
        };
        let envelopes = webhook.envelopes(BOT, self.clock.now());
        if envelopes.is_empty() {
            debug!("connection check");
            return Answer::Accepted;
        }
        match self.publish(&envelopes).await {
            Ok(()) => {
                counter!("chatkeep_events_received_total").increment(envelopes.len() as u64);
                for envelope in &envelopes {
                    debug!(id = envelope.bus_id(), stage = "ingress", "event published");
                    self.tap.tell("ingress", envelope.id.as_str(), "published");
                }
                Answer::Accepted
            }
            Err(error) => {
                warn!(error = %error, events = envelopes.len(), "events refused: no bus");
                Answer::Unavailable
            }
        }
    }

    async fn publish(&self, envelopes: &[Envelope]) -> Result<(), BusError> {
        let messages: Result<Vec<Outgoing>, _> =
            envelopes.iter().map(Envelope::to_outgoing).collect();
        let messages = messages.map_err(|error| BusError::Config(error.to_string()))?;
        self.bus.publish(messages).await
    }
}

/// The signature, if the header has the form of one: 32 bytes in base64.
fn signature(headers: &HeaderMap) -> Option<String> {
    let signature = headers.get(SIGNATURE)?.to_str().ok()?;
    SignatureKey::is_signature(signature).then(|| signature.to_owned())
}

impl Answer {
    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::BadSignature => "bad_signature",
            Self::Limited(_) => "rate_limited",
            Self::NotAWebhook => "not_a_webhook",
            Self::TooLarge => "too_large",
            Self::Unavailable => "unavailable",
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let (status, body) = match self {
            Self::Accepted => (StatusCode::OK, "{}".to_owned()),
            Self::BadSignature => {
                (StatusCode::UNAUTHORIZED, refusal("Invalid signature", "invalid_signature"))
            }
            Self::Limited(seconds) => (
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    r#"{{"error":"Rate limit exceeded","code":"rate_limited","retryAfter":{seconds}}}"#
                ),
            ),
            Self::NotAWebhook => (
                StatusCode::BAD_REQUEST,
                refusal("The body is not a webhook of LINE", "invalid_body"),
            ),
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, refusal("The body is too large", "body_too_large"))
            }
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, refusal("Service unavailable", "unavailable"))
            }
        };
        let json = HeaderValue::from_static("application/json");
        let mut response = (status, [(header::CONTENT_TYPE, json)], body).into_response();
        let retry_after = match self {
            Self::Limited(seconds) => Some(seconds),
            Self::Unavailable => Some(5),
            _ => None,
        };
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn refusal(sentence: &str, code: &str) -> String {
    format!(r#"{{"error":"{sentence}","code":"{code}"}}"#)
}
