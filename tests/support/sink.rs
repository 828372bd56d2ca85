//! Receiver of requests: an HTTP server that records them and responds as it is told. Part of the
//! tests of the stages and of the program.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Response of a path.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Responds with a status.
    Status(u16),
    /// Responds with a status and a header.
    Header(u16, &'static str, String),
    /// Responds 200 with these bytes.
    Bytes(Vec<u8>),
    /// Responds with the request's body.
    Echo,
    /// Never responds.
    Hang,
    /// Responds without an end.
    Endless,
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
    /// Returns the id of a webhook's event.
    pub(crate) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }
}

#[derive(Default)]
struct Recorded {
    replies: HashMap<String, Reply>,
    received: Vec<Received>,
}

/// The server. Dropping it ends it.
pub(crate) struct Sink {
    address: String,
    recorded: Arc<Mutex<Recorded>>,
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
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (recorded, stop) = (Arc::<Mutex<Recorded>>::default(), CancellationToken::new());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&recorded));
        let ended = stop.clone();
        tokio::spawn(async move {
            let serve = axum::serve(listener, router).into_future();
            ended.run_until_cancelled(serve).await
        });
        Self { address, recorded, stop }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Sets the response of a path; other paths respond 200.
    pub(crate) fn answer(&self, path: &str, reply: Reply) {
        lock(&self.recorded).replies.insert(path.to_owned(), reply);
    }

    pub(crate) fn status(&self, path: &str, status: u16) {
        self.answer(path, Reply::Status(status));
    }

    /// Returns the requests to a path so far.
    pub(crate) fn at(&self, path: &str) -> Vec<Received> {
        lock(&self.recorded).received.iter().filter(|one| one.path == path).cloned().collect()
    }
}

fn lock(recorded: &Mutex<Recorded>) -> MutexGuard<'_, Recorded> {
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn receive(
    State(recorded): State<Arc<Mutex<Recorded>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    let text = String::from_utf8_lossy(&body).into_owned();
    let received = Received { path: uri.path().to_owned(), headers, body: text, taken: false };
    let (status, reply) = lock(&recorded).take(received);
    let response = Response::builder().status(status);
    let response = match reply {
        Some(Reply::Hang) => std::future::pending().await,
        Some(Reply::Bytes(bytes)) => response.body(Body::from(bytes)),
        Some(Reply::Echo) => response.body(Body::from(body)),
        Some(Reply::Endless) => {
            let chunk = || Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 8_192]));
            response.body(Body::from_stream(futures_util::stream::repeat_with(chunk)))
        }
        Some(Reply::Header(_, name, value)) => {
            response.header(name, value).body(Body::from("noted"))
        }
        Some(Reply::Status(_) | Reply::Flaky(_)) | None => response.body(Body::from("noted")),
    };
    response.unwrap()
}

impl Recorded {
    /// Records a request; returns what is responded.
    fn take(&mut self, mut received: Received) -> (StatusCode, Option<Reply>) {
        let reply = self.replies.get(&received.path).cloned();
        let status = match &reply {
            Some(Reply::Status(status) | Reply::Header(status, ..)) => {
                StatusCode::from_u16(*status).unwrap()
            }
            Some(Reply::Flaky(percent)) if self.fails(&received, *percent) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            _ => StatusCode::OK,
        };
        received.taken = status.is_success() && !matches!(reply, Some(Reply::Hang));
        self.received.push(received);
        (status, reply)
    }

    /// Returns whether this attempt of a delivery fails: by chance, but always the same.
    fn fails(&self, received: &Received, percent: u64) -> bool {
        let tries = self.received.iter().filter(|before| before.id() == received.id()).count();
        // The attempt first, so that all that follows mixes it in.
        let tries = u8::try_from(tries % 256).unwrap();
        let chance = [tries]
            .into_iter()
            .chain(received.id().bytes())
            .fold(7_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        (chance >> 20 & 0xffff) % 100 < percent
    }
}
