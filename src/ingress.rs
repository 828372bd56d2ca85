//! The ingress: takes the platform's webhooks and answers 200 only when every event in them is
//! durably on the bus (contract section 9).

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
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
}

/// The ingress' route, with bodies up to `max_body` bytes.
pub fn router(ingress: Ingress, max_body: usize) -> Router {
    Router::new()
        .route("/webhook/line", post(receive))
        .layer(DefaultBodyLimit::max(max_body))
        .with_state(Arc::new(ingress))
}

async fn receive(
    State(ingress): State<Arc<Ingress>>,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let started = Instant::now();
    let answer = match body {
        Ok(body) => ingress.take(&headers, &body).await,
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Answer::TooLarge,
        Err(_) => Answer::NotAWebhook,
    };
    histogram!("chatkeep_ingress_seconds").record(started.elapsed());
    counter!("chatkeep_webhooks_total", "result" => answer.name()).increment(1);
    answer.into_response()
}

/// What a webhook is answered.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Accepted,
    BadSignature,
    NotAWebhook,
    TooLarge,
    Unavailable,
}

impl Ingress {
    async fn take(&self, headers: &HeaderMap, body: &[u8]) -> Answer {
        let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
        if !signature.is_some_and(|signature| self.key.verify(body, signature)) {
            warn!(bytes = body.len(), "webhook with a wrong or missing signature");
            return Answer::BadSignature;
        }
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

impl Answer {
    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::BadSignature => "bad_signature",
            Self::NotAWebhook => "not_a_webhook",
            Self::TooLarge => "too_large",
            Self::Unavailable => "unavailable",
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let (status, body) = match self {
            Self::Accepted => (StatusCode::OK, "{}"),
            Self::BadSignature => (
                StatusCode::UNAUTHORIZED,
                r#"{"error":"Invalid signature","code":"invalid_signature"}"#,
            ),
            Self::NotAWebhook => (
                StatusCode::BAD_REQUEST,
                r#"{"error":"The body is not a webhook of LINE","code":"invalid_body"}"#,
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                r#"{"error":"The body is too large","code":"body_too_large"}"#,
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                r#"{"error":"Service unavailable","code":"unavailable"}"#,
            ),
        };
        let json = HeaderValue::from_static("application/json");
        let mut response = (status, [(header::CONTENT_TYPE, json)], body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}
