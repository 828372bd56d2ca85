//! The one place where LINE is called: rate limits before, circuit around, metrics after each call.

use std::sync::Arc;
use std::time::Instant;

use chatkeep_core::causes::with_causes;
use chatkeep_core::config::LineConfig;
use chatkeep_core::http::bounded_body;
use chatkeep_core::metric;
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::time::{SharedClock, Timestamp};
use reqwest::header::{AGE, DATE, HeaderMap};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret as _;
use tokio::sync::Notify;
use tracing::Instrument as _;

use super::client::LineApi;
use super::endpoint::{BURST, Endpoint, Host, PER_SECOND};
use super::refusal::{failed, hide, refused};
use super::traced::{Built, call_span, ended};
use crate::PlatformError;
use crate::circuit::{Circuit, Permit};
use crate::throttle::{Throttle, Throttled};

/// Responses beside a success that are no failure, by status and body.
pub(super) type Accepts = fn(StatusCode, &[u8]) -> bool;

/// Whole response to a call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Makes the calls of one bot. Clones share its rate limits and circuits.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    bot: Arc<str>,
    pub(super) api: LineApi,
    pub(super) http: reqwest::Client,
    pub(super) files: reqwest::Client,
    circuits: [Circuit; 2],
    /// Of each host.
    available: [Availability; 2],
    paces: Arc<[Throttle; Endpoint::ALL.len()]>,
    clock: SharedClock,
    /// Notified when the access token is refused in a call that is not about the account.
    pub(super) refused: Arc<Notify>,
}

impl Caller {
    pub(super) fn new(
        api: LineApi,
        http: reqwest::Client,
        files: reqwest::Client,
        clock: &SharedClock,
    ) -> Self {
        let bot: Arc<str> = api.bot.as_str().into();
        let circuit = |host: Host| Circuit::new(Arc::clone(&bot), host.name(), Arc::clone(clock));
        let circuits = [circuit(Host::Api), circuit(Host::Data)];
        let section = if &*bot == LineConfig::MAIN { "line" } else { &format!("line.{bot}") };
        let available = [
            ("LINE API", &api.api_base, "api_base"),
            ("LINE data API", &api.data_api_base, "data_api_base"),
        ]
        .map(|(name, address, key)| {
            let name = format!("{name} of the bot {bot}");
            Availability::new(name, address.as_str(), format!("{section}.{key}"))
        });
        let pace = |_| Throttle::new(PER_SECOND, BURST, Arc::clone(clock));
        Self {
            bot,
            api,
            http,
            files,
            circuits,
            available,
            paces: Arc::new(Endpoint::ALL.map(pace)),
            clock: Arc::clone(clock),
            refused: Arc::default(),
        }
    }

    /// Makes a call and reads its whole response.
    pub(super) async fn call(
        &self,
        endpoint: Endpoint,
        request: RequestBuilder,
    ) -> Result<Vec<u8>, PlatformError> {
        // 409: this retry key was accepted before; the body is that of the first response.
        let again: Accepts = match endpoint {
            Endpoint::Push => |status, _| status == StatusCode::CONFLICT,
            _ => |_, _| false,
        };
        Ok(self.exchange(endpoint, self.authorised(request), again).await?.body)
    }

    /// Makes a call with the authorisation that it has, and returns its whole response if it is a
    /// success or one that `also` accepts.
    pub(super) async fn exchange(
        &self,
        endpoint: Endpoint,
        request: RequestBuilder,
        also: Accepts,
    ) -> Result<Answer, PlatformError> {
        let request = Built::new(request);
        let method = request.method();
        self.around(endpoint, &method, async {
            let asked = self.clock.machine();
            let answer = request.send().await.map_err(failed)?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body =
                bounded_body(answer).await.map_err(|e| PlatformError::Unknown(Some(hide(e))))?;
            if let Some(time) = time(&headers).filter(|_| is_of_line(status, &body)) {
                self.clock.observe(time, asked);
            }
            if status.is_success() || also(status, &body) {
                return Ok(Answer { status, headers, body });
            }
            Err(refused(status, &headers, &body))
        })
        .await
    }

    /// Makes a call whose response is a file, and returns it once it begins.
    pub(super) async fn open(
        &self,
        endpoint: Endpoint,
        url: String,
    ) -> Result<Response, PlatformError> {
        self.around(endpoint, &Method::GET, async {
            let request = Built::new(self.authorised(self.files.get(url)));
            let answer = request.send().await.map_err(failed)?;
            match answer.status() {
                StatusCode::OK => Ok(answer),
                StatusCode::ACCEPTED => Err(PlatformError::NotReady),
                status => {
                    let headers = answer.headers().clone();
                    let body = bounded_body(answer).await.map_err(failed)?;
                    Err(refused(status, &headers, &body))
                }
            }
        })
        .await
    }

    /// Adds the access token to a request.
    pub(super) fn authorised(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.api.access_token.get().expose_secret())
    }

    /// Waits for the rate limit, makes the call, and records its result.
    async fn around<T>(
        &self,
        endpoint: Endpoint,
        method: &Method,
        call: impl Future<Output = Result<T, PlatformError>>,
    ) -> Result<T, PlatformError> {
        let result = match self.admit(endpoint).await {
            Ok(permit) => {
                let started = Instant::now();
                let span = call_span(&self.api, endpoint, method);
                let result = call.instrument(span.clone()).await;
                ended(&span, &result);
                self.note(endpoint, permit, result.as_ref().err());
                let bot = self.bot.to_string();
                let labels = [bot.into(), endpoint.name().into()];
                metric::PLATFORM_SECONDS.record(labels, started.elapsed());
                if let Err(PlatformError::RateLimited { retry_after: Some(retry_after) }) = &result
                {
                    self.pace(endpoint).pause(*retry_after);
                }
                if matches!(result, Err(PlatformError::Unauthorized)) && endpoint != Endpoint::Bot {
                    self.refused.notify_one();
                }
                result
            }
            Err(error) => Err(error),
        };
        let (bot, name) =
            (self.bot.to_string(), result.as_ref().map_or_else(PlatformError::code, |_| "ok"));
        metric::PLATFORM_CALLS.add([bot.into(), endpoint.name().into(), name.into()], 1);
        result
    }

    /// Remembers whether the host is well: a refusal is a sign of health.
    fn note(&self, endpoint: Endpoint, permit: Permit, error: Option<&PlatformError>) {
        let trouble = error.filter(|error| error.is_trouble());
        let available = &self.available[endpoint.host() as usize];
        match trouble {
            Some(error) => available.fails(Work::Reading, &with_causes(error)),
            None => available.works(Work::Reading),
        }
        permit.settle(trouble.is_none());
    }

    /// Requests permission for a call now. A pause is returned as an error and not waited for: the
    /// caller knows best how long it can wait.
    async fn admit(&self, endpoint: Endpoint) -> Result<Permit, PlatformError> {
        loop {
            match self.pace(endpoint).take() {
                Ok(()) => break,
                Err(Throttled::Turn(wait)) => tokio::time::sleep(wait).await,
                Err(Throttled::Pause(left)) => {
                    return Err(PlatformError::RateLimited { retry_after: Some(left) });
                }
            }
        }
        let circuit = &self.circuits[endpoint.host() as usize];
        circuit.admit().map_err(|retry_after| PlatformError::Unavailable { retry_after })
    }

    fn pace(&self, endpoint: Endpoint) -> &Throttle {
        &self.paces[endpoint as usize]
    }
}

/// Returns whether an answer is LINE's own. Errors may be those of something in between, whose pages
/// are no JSON.
fn is_of_line(status: StatusCode, body: &[u8]) -> bool {
    status.is_success() || (status.is_client_error() && body.trim_ascii().starts_with(b"{"))
}

/// Returns the time of an answer, in whole seconds; `None` for one that was stored in between.
pub(super) fn time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(DATE).filter(|_| !headers.contains_key(AGE))?;
    Timestamp::parse_http(date.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_http_is_a_time() {
        let mut headers = HeaderMap::new();
        assert_eq!(time(&headers), None);
        headers.insert(DATE, "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
        assert_eq!(time(&headers), Some(Timestamp::from_millis(784_111_777_000)));
        headers.insert(AGE, "60".parse().unwrap());
        assert_eq!(time(&headers), None, "of an earlier time");
        headers.remove(AGE);
        headers.insert(DATE, "yesterday".parse().unwrap());
        assert_eq!(time(&headers), None);
    }
}
