//! One delivery attempt: the request, and the meaning of the response.

use std::time::{Duration, Instant};

use chatkeep_core::http::guard::Forbidden;
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Attempt, DeliveryFailure, EventRef, LeasedDelivery, Next};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use tracing::Instrument as _;

use super::traces::{delivered, delivery_span};
use super::{Bodies, Notifier};
use crate::log_failure;
use crate::notifier::schedule::{after_failure, retry_after};

/// Maximum bytes of a response that are read and stored.
const EXCERPT: usize = 4_096;
/// Timeout for the text of a response, whose status is already known.
const READ: Duration = Duration::from_secs(2);

/// Response of the endpoint.
struct EndpointResponse {
    status: StatusCode,
    retry_after: Option<String>,
    excerpt: Option<String>,
}

/// Data of an attempt before it is made.
struct Draft {
    delivery: LeasedDelivery,
    at: Timestamp,
}

impl<B: Bodies> Notifier<B> {
    /// Makes a delivery; `None` if it cannot be rendered now and its lease has to expire.
    pub(super) async fn attempt(&self, delivery: LeasedDelivery) -> Option<Attempt> {
        let draft = Draft { at: self.clock.now(), delivery };
        let (event, bounds) = (&draft.delivery.event, &draft.delivery.bounds);
        if !draft.delivery.may_read || bounds.admit(&event.subject(), draft.at).is_err() {
            return Some(draft.dropped(DeliveryFailure::NotPermitted));
        }
        let body = match self.bodies.body(&draft.delivery).await {
            Ok(Some(body)) => body,
            Ok(None) => return Some(draft.dropped(DeliveryFailure::MessageGone)),
            Err(error) if B::is_transient(&error) => {
                log_failure!(warn, &error, "cannot render a webhook's body yet");
                return None;
            }
            Err(error) => {
                log_failure!(error, &error, "cannot render a webhook's body");
                return Some(self.unrendered(draft));
            }
        };
        let (bytes, began) = (body.len(), Instant::now());
        let span = delivery_span(&self.traces, &draft.delivery);
        let result = self.send(&draft.delivery, draft.at, body).instrument(span.clone()).await;
        delivered(&span, result.as_ref().map(|answer| answer.status).map_err(|error| *error));
        let took = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Some(self.judged(draft, result, bytes, took))
    }

    async fn send(
        &self,
        delivery: &LeasedDelivery,
        at: Timestamp,
        body: Vec<u8>,
    ) -> Result<EndpointResponse, DeliveryFailure> {
        let url = self.http.check(&delivery.url).map_err(|_| DeliveryFailure::ForbiddenAddress)?;
        let EventRef { id, .. } = &delivery.event;
        let seconds = at.millis().div_euclid(1_000);
        let signature = signing::header(&delivery.secrets, id, seconds, &body);
        let signature = signature.ok_or(DeliveryFailure::UnusableSecret)?;
        let request = self
            .http
            .request(Method::POST, url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .body(body);
        // Timeout of the whole until the response's head, connecting included.
        let sent = tokio::time::timeout(self.settings.timeout, request.send()).await;
        let response = sent.map_err(|_| DeliveryFailure::Timeout)?;
        let response = response.map_err(|error| failure_of(&error))?;
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let excerpt = tokio::time::timeout(READ, excerpt(response)).await.ok().flatten();
        Ok(EndpointResponse { status, retry_after, excerpt })
    }

    /// Counts an attempt for a body that cannot be rendered: a version of chatkeep that can may
    /// come before the last one.
    fn unrendered(&self, draft: Draft) -> Attempt {
        let next = self.after_failure(&draft.delivery, None, self.clock.now());
        draft.unsent(DeliveryFailure::NotRendered, next)
    }

    fn after_failure(
        &self,
        delivery: &LeasedDelivery,
        retry_after: Option<Timestamp>,
        now: Timestamp,
    ) -> Next {
        let key = delivery.number.to_string();
        after_failure(&self.settings.retries, delivery.attempts, &key, retry_after, now)
    }

    fn judged(
        &self,
        draft: Draft,
        result: Result<EndpointResponse, DeliveryFailure>,
        bytes: usize,
        took: i64,
    ) -> Attempt {
        let now = self.clock.now();
        let (status, error) = match &result {
            Ok(answer) => (Some(answer.status), error_of(answer.status)),
            Err(error) => (None, Some(*error)),
        };
        let header = result.as_ref().ok().and_then(|answer| answer.retry_after.as_deref());
        let retry_after = header.and_then(|header| retry_after(header, now));
        let next = match (status, error) {
            (_, None) => Next::Delivered,
            (Some(StatusCode::GONE), _) => Next::Gone,
            _ => self.after_failure(&draft.delivery, retry_after, now),
        };
        let busy =
            matches!(status, Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE));
        Attempt {
            delivery: draft.delivery,
            at: draft.at,
            took_ms: Some(took),
            http_status: status.map(|status| status.as_u16()),
            error,
            answer: result.ok().and_then(|answer| answer.excerpt),
            request_bytes: i64::try_from(bytes).ok(),
            not_until: retry_after.filter(|_| busy),
            next,
        }
    }
}

impl Draft {
    fn dropped(self, why: DeliveryFailure) -> Attempt {
        self.unsent(why, Next::Dropped)
    }

    /// Returns the attempt of a delivery for which nothing was sent.
    fn unsent(self, why: DeliveryFailure, next: Next) -> Attempt {
        Attempt {
            delivery: self.delivery,
            at: self.at,
            took_ms: None,
            http_status: None,
            error: Some(why),
            answer: None,
            request_bytes: None,
            not_until: None,
            next,
        }
    }
}

fn error_of(status: StatusCode) -> Option<DeliveryFailure> {
    match status {
        status if status.is_success() => None,
        StatusCode::GONE => Some(DeliveryFailure::Gone),
        status if status.is_redirection() => Some(DeliveryFailure::Redirect),
        _ => Some(DeliveryFailure::Status),
    }
}

/// Returns the reason for which there is no response.
fn failure_of(error: &reqwest::Error) -> DeliveryFailure {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.is::<Forbidden>() {
            return DeliveryFailure::ForbiddenAddress;
        }
        cause = error.source();
    }
    if error.is_timeout() {
        DeliveryFailure::Timeout
    } else if error.is_connect() {
        DeliveryFailure::Connect
    } else {
        DeliveryFailure::Broken
    }
}

/// Returns the beginning of the response as text; `None` if it is empty.
async fn excerpt(mut response: Response) -> Option<String> {
    let mut read = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = EXCERPT - read.len();
        read.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if read.len() >= EXCERPT {
            break;
        }
    }
    // No database stores U+0000.
    let text = String::from_utf8_lossy(&read).replace('\0', "\u{fffd}");
    (!text.is_empty()).then_some(text)
}
