//! An HTTP server that records requests and responds as it is told.

use std::collections::HashMap;
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
    /// Responds with a status and a header.
    Status(u16, Option<(&'static str, String)>),
    /// Responds 200 with these bytes.
    Bytes(Vec<u8>),
    /// Never responds.
    Hang,
    /// Responds without an end.
    Endless,
}

/// Recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    path: String,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the id of a webhook's event.
    pub(crate) fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

#[derive(Default)]
struct Kept {
    replies: HashMap<String, Reply>,
    received: Vec<Received>,
}

/// The server. Dropping it ends it.
pub(crate) struct Sink {
    address: String,
    kept: Arc<Mutex<Kept>>,
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
        let (kept, stop) = (Arc::<Mutex<Kept>>::default(), CancellationToken::new());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&kept));
        let ended = stop.clone();
        tokio::spawn(async move {
            let serve = axum::serve(listener, router).into_future();
            ended.run_until_cancelled(serve).await
        });
        Self { address, kept, stop }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Sets the response of a path; other paths respond 200.
    pub(crate) fn answer(&self, path: &str, reply: Reply) {
        lock(&self.kept).replies.insert(path.to_owned(), reply);
    }

    pub(crate) fn status(&self, path: &str, status: u16) {
        self.answer(path, Reply::Status(status, None));
    }

    /// Returns the requests to a path so far.
    pub(crate) fn at(&self, path: &str) -> Vec<Received> {
        lock(&self.kept).received.iter().filter(|one| one.path == path).cloned().collect()
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn receive(
    State(kept): State<Arc<Mutex<Kept>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().to_owned();
    let reply = lock(&kept).replies.get(&path).cloned();
    let body = String::from_utf8_lossy(&body).into_owned();
    lock(&kept).received.push(Received { path, headers, body });
    match reply {
        Some(Reply::Hang) => std::future::pending().await,
        Some(Reply::Bytes(bytes)) => Response::new(Body::from(bytes)),
        Some(Reply::Endless) => {
            let chunk = || Ok::<_, std::convert::Infallible>(Bytes::from_static(&[b'x'; 8_192]));
            Response::new(Body::from_stream(futures_util::stream::repeat_with(chunk)))
        }
        Some(Reply::Status(status, header)) => {
            let mut response = Response::new(Body::from("noted"));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            if let Some((name, value)) = header {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        None => Response::new(Body::from("noted")),
    }
}
