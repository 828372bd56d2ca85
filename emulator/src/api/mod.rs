//! The Messaging API: authentication, recording of calls, and injected faults.

mod channel;
mod content;
mod lookup;
mod refusal;
mod rules;
mod send;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde_json::json;

use self::refusal::{Breaches, Refusal};
use super::faults::{Fault, Target};
use super::log::{Call, Rule, Violation};
use super::transcript::Change;
use super::{Emulator, lock};

/// LINE's maximum request size in bytes.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// Beginnings of the paths about access tokens: whoever has no valid one calls them, too.
const TOKENS: [&str; 2] = ["/v2/oauth/", "/oauth2/"];

/// The response's `x-line-request-id`, for handlers.
#[derive(Clone)]
struct RequestId(String);

pub(super) fn router(emulator: Emulator) -> Router {
    let messages = Router::new()
        .route("/reply", post(send::reply))
        .route("/push", post(send::push))
        .route("/quota", get(channel::quota))
        .route("/quota/consumption", get(channel::consumption))
        .route("/{message}/content", get(content::content))
        .route("/{message}/content/preview", get(content::preview))
        .route("/{message}/content/transcoding", get(content::transcoding));
    let groups = Router::new()
        .route("/{chat}/summary", get(lookup::summary))
        .route("/{chat}/members/count", get(lookup::group_count))
        .route("/{chat}/member/{user}", get(lookup::group_member))
        .route("/{chat}/leave", post(lookup::leave_group));
    let rooms = Router::new()
        .route("/{chat}/members/count", get(lookup::room_count))
        .route("/{chat}/member/{user}", get(lookup::room_member))
        .route("/{chat}/leave", post(lookup::leave_room));
    Router::new()
        .route("/v2/bot/info", get(lookup::info))
        .route("/v2/bot/channel/webhook/endpoint", get(channel::webhook).put(channel::set_webhook))
        .route("/v2/bot/channel/webhook/test", post(channel::test_webhook))
        .route("/v2/oauth/verify", post(channel::verify))
        .route("/oauth2/v2.1/verify", get(channel::verify_expiring))
        .route("/oauth2/v3/token", post(channel::issue))
        .route("/v2/bot/profile/{user}", get(lookup::profile))
        .nest("/v2/bot/message", messages)
        .nest("/v2/bot/group", groups)
        .nest("/v2/bot/room", rooms)
        .fallback(async || Refusal::not_found().because(Rule::Route, "no such path"))
        .method_not_allowed_fallback(async || Refusal::wrong_method())
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(emulator.clone(), gate))
        .route("/pictures/{picture}", get(content::picture))
        .with_state(emulator)
}

/// Handles every call: token, faults, request ID, records.
async fn gate(State(emulator): State<Emulator>, mut request: Request, next: Next) -> Response {
    let at = emulator.now();
    let request_id = lock(&emulator.shared.world).ids.request(at);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(RequestId(request_id.clone()));
    let fault = lock(&emulator.shared.faults).take(Target::of(&method, &path));
    let open = TOKENS.iter().any(|prefix| path.starts_with(prefix));
    let mut answer = if open || is_authorised(&emulator, &request) {
        answer(&emulator, fault, request, next).await
    } else {
        Answer::Delivered(Refusal::unauthorized().into_response())
    };
    let call = Call { at, method: method.to_string(), path, status: answer.status(), request_id };
    let breaches = answer.response().extensions_mut().remove::<Breaches>();
    emulator.record(call.clone(), breaches.unwrap_or_default());
    let mut response = answer.send();
    if let Ok(id) = HeaderValue::from_str(&call.request_id) {
        response.headers_mut().insert("x-line-request-id", id);
    }
    if let Some(date) = channel::date(&emulator) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}

fn is_authorised(emulator: &Emulator, request: &Request) -> bool {
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    token.and_then(|value| value.strip_prefix("Bearer ")) == Some(&emulator.shared.access_token)
}

/// Response to the caller.
enum Answer {
    /// This response.
    Delivered(Response),
    /// The end of the connection, whatever was done.
    Cut(Response),
}

impl Answer {
    fn response(&mut self) -> &mut Response {
        match self {
            Self::Delivered(response) | Self::Cut(response) => response,
        }
    }

    fn status(&self) -> Option<u16> {
        match self {
            Self::Delivered(response) => Some(response.status().as_u16()),
            Self::Cut(_) => None,
        }
    }

    fn send(self) -> Response {
        match self {
            Self::Delivered(response) => response,
            // The head is written together with the first chunk of the body. A body that fails
            // immediately makes the server close the connection before any byte of the response.
            Self::Cut(_) => {
                let cut = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
                Response::new(Body::from_stream(stream::once(async {
                    Err::<axum::body::Bytes, _>(cut)
                })))
            }
        }
    }
}

async fn answer(emulator: &Emulator, fault: Option<Fault>, request: Request, next: Next) -> Answer {
    match fault {
        None => Answer::Delivered(next.run(request).await),
        Some(Fault::Status { status, retry_after }) => {
            Answer::Delivered(failure(status, retry_after))
        }
        Some(Fault::MonthlyLimit) => Answer::Delivered(Refusal::monthly_limit().into_response()),
        Some(Fault::StatusAfter { status }) => {
            let truth = next.run(request).await;
            let mut lie = failure(status, None);
            *lie.extensions_mut() = truth.extensions().clone();
            Answer::Delivered(lie)
        }
        Some(Fault::Intercepted(body)) => Answer::Delivered(body.into_response()),
        Some(Fault::Delay(time)) => {
            let response = next.run(request).await;
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                () = emulator.shared.stop.cancelled() => {}
            }
            Answer::Delivered(response)
        }
        Some(Fault::CutBefore) => Answer::Cut(Response::default()),
        Some(Fault::CutAfter) => Answer::Cut(next.run(request).await),
    }
}

/// Returns an error that is not the caller's fault.
fn failure(status: u16, retry_after: Option<u64>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let message = match status {
        StatusCode::TOO_MANY_REQUESTS => "The API rate limit has been exceeded. Try again later.",
        _ => "Internal Server Error",
    };
    let mut response = (status, axum::Json(json!({ "message": message }))).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

impl Emulator {
    fn record(&self, call: Call, breaches: Breaches) {
        for (rule, detail) in breaches.0 {
            let Call { at, method, path, request_id, .. } = call.clone();
            let violation = Violation { at, rule, method, path, detail, request_id };
            lock(&self.shared.log).violation(violation.clone());
            self.shared.announce(Change::Violation(violation));
        }
        lock(&self.shared.log).call(call.clone());
        self.shared.announce(Change::Call(call));
    }
}
