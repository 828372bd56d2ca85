//! The ingress: receives the platform's webhooks and responds 200 only when every event in them is
//! durably on the bus, but for one that is too large for the bus for good: to refuse its webhook
//! would hold back the others in it, and bring it again and again.
//!
//! Anybody can send garbage here, also through the proxy that the platform's own webhooks come
//! through, so an address that sent too much of it is not blocked: a correctly signed webhook is
//! always accepted and never counted. The budget of an address bounds the cost of its garbage: a
//! request without anything like a signature is rejected before its body is read; a well-formed
//! signature costs one HMAC, less than receiving the body did; and once the budget is used up,
//! neither is logged any more, and the response has a retry-after.
//!
//! Every bot has a path of its own, `/webhook/<platform>/<bot>`, and a webhook there must be signed
//! with that bot's secret. Where a platform has only one bot, `/webhook/<platform>` is its path
//! too. A platform's adapter ([`chatkeep_platform::InboundWebhooks`]) verifies the signature and
//! parses the body.

mod bots;
mod response;
mod size;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use chatkeep_bus::{Bus, BusError, Outgoing};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::event::Envelope;
use chatkeep_core::heavy::{LIGHT, WEBHOOKS};
use chatkeep_core::id::UserId;
use chatkeep_core::metric;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_http::rate_limit::{Address, Limiter};
use chatkeep_http::{CallerKind, KnownCaller};
use chatkeep_platform::InboundEvents;
use chatkeep_workers::log_failure;
use chatkeep_workers::tap::{EventStep, Tap};
use tracing::{debug, error, warn};

pub use bots::{IngressBot, IngressBots};
use response::WebhookResponse;

/// State of the ingress.
#[derive(Debug)]
pub struct Ingress {
    /// Bus on which events are published.
    pub bus: Bus,
    /// Bots whose webhooks are accepted.
    pub bots: IngressBots,
    /// Clock for the time of receipt.
    pub clock: SharedClock,
    /// Observer of received events.
    pub tap: Tap,
    /// Rate limit of webhooks with a wrong or missing signature, by address.
    pub rejected: Limiter,
    /// Number of proxies in front that each add an address to `X-Forwarded-For`.
    pub proxies: usize,
    /// Free disk space that accepted events need until they are stored: below it, webhooks are
    /// refused.
    pub disk: DiskReserve,
}

/// Returns the ingress' routes, with bodies up to `max_body` bytes.
pub fn router(ingress: Ingress, max_body: usize) -> Router {
    size::warn_of_large_bodies(&ingress.bus, max_body);
    for bot in ingress.bots.names() {
        // Shown from the start: an alert about an increase would not see the first one.
        metric::INGRESS_LOST_EVENTS.add([bot.to_owned().into()], 0);
    }
    let mut router = Router::new();
    for platform in ingress.bots.platforms() {
        let receive = post(move |ingress, path, request| receive(platform, ingress, path, request));
        router = router
            .route(&format!("/webhook/{platform}"), receive.clone())
            .route(&format!("/webhook/{platform}/{{bot}}"), receive);
    }
    router.layer(DefaultBodyLimit::max(max_body)).with_state(Arc::new(ingress))
}

async fn receive(
    platform: &'static str,
    State(ingress): State<Arc<Ingress>>,
    path: Option<Path<String>>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let caller = KnownCaller::of(request.extensions());
    let bot = match &path {
        Some(Path(name)) => ingress.bots.get(platform, name),
        None => ingress.bots.only(platform),
    };
    let answer = match (bot, path) {
        (Some(bot), _) => ingress.answer(bot, request).await,
        (None, Some(_)) => WebhookResponse::NotFound,
        (None, None) => WebhookResponse::Several(ingress.bots.paths(platform)),
    };
    if answer.is_signed() {
        caller.set(CallerKind::Platform);
    }
    metric::INGRESS_SECONDS.record([], started.elapsed());
    let bot = bot.map_or("", IngressBot::name).to_owned();
    metric::INGRESS_WEBHOOKS.add([bot.into(), answer.name().into()], 1);
    answer.into_response()
}

impl Ingress {
    async fn answer(&self, bot: &IngressBot, mut request: Request) -> WebhookResponse {
        let address = Address::of(request.extensions(), request.headers(), self.proxies);
        if !bot.webhooks().may_be_signed(request.headers()) {
            return self.reject(bot, address);
        }
        let headers = std::mem::take(request.headers_mut());
        match Bytes::from_request(request, &()).await {
            Ok(body) if body.len() > bot.webhooks().max_body() => WebhookResponse::TooLarge,
            Ok(body) => match self.read(bot, body, headers).await {
                Read::Webhook { envelopes, messages, destination } => {
                    bot.check(destination);
                    self.take(bot, &envelopes, messages).await
                }
                Read::Foreign => self.reject(bot, address),
                Read::Unreadable(bytes) => {
                    // Signed by the platform and yet not its format: worth an error, and there is
                    // nothing to store.
                    error!(bot = bot.name(), bytes, "signed body is not a webhook");
                    WebhookResponse::NotAWebhook(bot.webhooks().label())
                }
            },
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                WebhookResponse::TooLarge
            }
            // Its signature was not checked, so it may be anybody's: it is no invalid webhook of
            // the platform.
            Err(_) => WebhookResponse::BrokenOff,
        }
    }

    /// Counts a webhook that is not the platform's.
    fn reject(&self, bot: &IngressBot, address: Address) -> WebhookResponse {
        let verdict = self.rejected.take(&address.to_string());
        if !verdict.allowed {
            return WebhookResponse::Limited(verdict.retry_after);
        }
        warn!(bot = bot.name(), %address, "webhook with a wrong or missing signature");
        if verdict.remaining == 0 {
            warn!(%address, "further invalid signatures from this address are not logged for now");
        }
        WebhookResponse::BadSignature
    }

    /// Verifies and parses a body. Usual ones are small; large ones do not delay those.
    async fn read(&self, bot: &IngressBot, body: Bytes, headers: HeaderMap) -> Read {
        let now = self.clock.now();
        if body.len() <= LIGHT {
            return read(bot, body, &headers, now);
        }
        let bot = bot.clone();
        // Boxed like what else is rare: the future of a request is moved some times.
        Box::pin(WEBHOOKS.run(move || read(&bot, body, &headers, now))).await
    }

    /// Publishes the events of a webhook that the platform signed.
    async fn take(
        &self,
        bot: &IngressBot,
        envelopes: &[Envelope],
        messages: Result<Vec<Outgoing>, serde_json::Error>,
    ) -> WebhookResponse {
        if envelopes.is_empty() {
            debug!("webhook without events: connection check");
            return WebhookResponse::Accepted;
        }
        if self.disk.is_low() {
            // The pause is a problem of the process, which is in the log.
            debug!(bot = bot.name(), events = envelopes.len(), "events rejected: the disk is low");
            return WebhookResponse::Unavailable;
        }
        match self.publish(messages).await {
            Ok(too_large) => {
                self.account_for(bot, envelopes, &too_large);
                WebhookResponse::Accepted
            }
            Err(error) => {
                let events = envelopes.len();
                log_failure!(
                    warn,
                    &error,
                    bot = bot.name(),
                    events,
                    "events rejected: the bus is unavailable"
                );
                WebhookResponse::Unavailable
            }
        }
    }

    /// Publishes messages, but for those that are too large for the bus, which it returns.
    async fn publish(
        &self,
        messages: Result<Vec<Outgoing>, serde_json::Error>,
    ) -> Result<Vec<Outgoing>, BusError> {
        let mut messages = messages.map_err(|error| BusError::Config(error.to_string()))?;
        let too_large = size::take_too_large(&self.bus, &mut messages);
        // A call without messages would pass for the end of an outage.
        if !messages.is_empty() {
            self.bus.publish(messages).await?;
        }
        Ok(too_large)
    }

    /// Counts and logs the events of an accepted webhook: those on the bus, and those that are lost.
    fn account_for(&self, bot: &IngressBot, envelopes: &[Envelope], too_large: &[Outgoing]) {
        metric::INGRESS_EVENTS.add([], (envelopes.len() - too_large.len()) as u64);
        // They are in the order of the webhook, too.
        let mut too_large = too_large.iter().peekable();
        for envelope in envelopes {
            if let Some(lost) = too_large.next_if(|message| message.id == envelope.bus_id()) {
                let (bot, id, bytes) = (bot.name(), &lost.id, lost.payload.len());
                warn!(bot, id, bytes, "event lost: it is too large for the bus");
                metric::INGRESS_LOST_EVENTS.add([bot.to_owned().into()], 1);
            } else {
                debug!(id = envelope.bus_id(), stage = "ingress", "event published");
                self.tap.notify("ingress", envelope.id.as_str(), EventStep::Published);
            }
        }
    }
}

/// Result of reading a body.
enum Read {
    /// Webhook with these events, encoded for the bus, and its destination.
    Webhook {
        envelopes: Vec<Envelope>,
        messages: Result<Vec<Outgoing>, serde_json::Error>,
        destination: Option<UserId>,
    },
    /// Body that the platform did not sign.
    Foreign,
    /// Signed body that is no webhook; its size in bytes.
    Unreadable(usize),
}

fn read(bot: &IngressBot, body: Bytes, headers: &HeaderMap, now: Timestamp) -> Read {
    let bytes = body.len();
    let Ok(body) = bot.webhooks().verify(headers, body) else {
        return Read::Foreign;
    };
    let Ok(webhook) = bot.webhooks().parse(&body, bot.name(), now) else {
        return Read::Unreadable(bytes);
    };
    let InboundEvents { envelopes, destination } = webhook;
    let messages = envelopes.iter().map(Outgoing::event).collect();
    Read::Webhook { envelopes, messages, destination }
}
