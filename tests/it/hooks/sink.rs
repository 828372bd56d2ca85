//! Receiver of webhooks: a server that records requests and responds as configured.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Response of a path.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Responds with a status.
    Status(u16),
    /// Responds with the request's body.
    Echo,
    /// Never responds.
    Hang,
    /// Responds 200, or 500 to that percentage of deliveries' first attempts.
    Flaky(u64),
}

/// Recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    /// True if the response was a success.
    pub(crate) taken: bool,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    /// Returns it in the form of the verifiers' input.
    pub(crate) fn to_verify(&self, secret: &str) -> Value {
        json!({"secret": secret, "headers": self.headers, "body": self.body})
    }
}

#[derive(Default)]
struct Kept {
    replies: Mutex<HashMap<String, Reply>>,
    received: Mutex<Vec<Received>>,
}

/// The server. Dropping it ends it.
pub(crate) struct Sink {
    address: SocketAddr,
    kept: Arc<Kept>,
    stop: CancellationToken,
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Sink {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (kept, stop) = (Arc::<Kept>::default(), CancellationToken::new());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&kept));
        let ended = stop.clone();
        tokio::spawn(async move {
            let serve = axum::serve(listener, router).into_future();
            ended.run_until_cancelled(serve).await
        });
        Self { address, kept, stop }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the response of that path; other paths respond 200.
    pub(crate) fn answer(&self, path: &str, reply: Reply) {
        let mut replies = self.kept.replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.insert(path.to_owned(), reply);
    }

    pub(crate) fn status(&self, path: &str, status: u16) {
        self.answer(path, Reply::Status(status));
    }

    /// Returns the requests to a path so far.
    pub(crate) fn at(&self, path: &str) -> Vec<Received> {
        let received = self.kept.received.lock().unwrap_or_else(PoisonError::into_inner);
        received.iter().filter(|received| received.path == path).cloned().collect()
    }
}

async fn receive(
    State(kept): State<Arc<Kept>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().to_owned();
    let reply = kept.replies.lock().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
    let body = String::from_utf8(body.to_vec()).unwrap();
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()))
        .collect();
    let mut received = Received { path, headers, body: body.clone(), taken: false };
    let status = kept.status_of(reply.as_ref(), &received);
    received.taken = status.is_success() && !matches!(reply, Some(Reply::Hang));
    kept.received.lock().unwrap_or_else(PoisonError::into_inner).push(received);
    let answer = Response::builder().status(status);
    match reply {
        Some(Reply::Hang) => std::future::pending().await,
        Some(Reply::Echo) => answer.body(Body::from(body)).unwrap(),
        _ => answer.body(Body::from("noted")).unwrap(),
    }
}

impl Kept {
    fn status_of(&self, reply: Option<&Reply>, received: &Received) -> StatusCode {
        match reply {
            Some(Reply::Status(status)) => StatusCode::from_u16(*status).unwrap(),
            Some(Reply::Flaky(part)) => {
                let before = self.received.lock().unwrap_or_else(PoisonError::into_inner);
                let tries = before.iter().filter(|r| r.id() == received.id()).count();
                // The attempt first, so that all that follows mixes it in.
                let tries = u8::try_from(tries % 256).unwrap();
                let chance = [tries].into_iter().chain(received.id().bytes());
                let chance = chance.fold(7_u64, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
                });
                let fails = chance >> 20 & 0xffff;
                let ok = fails % 100 >= *part;
                if ok { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }
            }
            _ => StatusCode::OK,
        }
    }
}
