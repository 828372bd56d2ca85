//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::Service as _;
use tracing::debug;

use super::body::{RequestBody, ResponseBody};
use super::connections::Admitted;
use super::entry::{BodyFault, End};
use super::refusal::{NO_ROOM, SLOW_BODY, SLOW_HEAD};
use super::socket::Socket;

/// Connection with its shared state.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) router: Router,
    pub(super) peer: SocketAddr,
    pub(super) admitted: Admitted,
}

impl Connection {
    /// Serves requests until the client disconnects, or the connection has to end. After `stop` the
    /// request under way is the last one.
    pub(super) async fn serve(self, stream: TcpStream, stop: CancellationToken) {
        let connection = Arc::new(self);
        let entry = Arc::clone(&connection.admitted.entry);
        let socket = TokioIo::new(Socket::new(stream, Arc::clone(&entry)));
        let service = service_fn(move |request| {
            let connection = Arc::clone(&connection);
            async move { Ok::<_, Infallible>(connection.answer(request).await) }
        });
        let mut http = http1::Builder::new();
        // Timeouts are this server's own: they distinguish idle from slow, and cover more than
        // heads.
        http.header_read_timeout(None)
            .max_buf_size(entry.config.max_head)
            .max_header_size(entry.config.max_head)
            .max_headers(entry.config.max_headers);
        let mut serving = http.serve_connection(socket, service);
        let mut last = false;
        let end = loop {
            tokio::select! {
                biased;
                served = &mut serving => {
                    if let Err(error) = served {
                        debug!(%error, "connection failed");
                    }
                    return;
                }
                end = entry.ended() => break end,
                () = stop.cancelled(), if !last => {
                    last = true;
                    std::pin::Pin::new(&mut serving).graceful_shutdown();
                }
            }
        };
        debug!(?end, "connection ended");
        if end == End::SlowHead && entry.is_heard() {
            serving.into_parts().io.inner().send_final(&SLOW_HEAD.bytes());
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        let reserved = is_reserved(request.uri().path());
        let Some(under_way) = self.admitted.begin(reserved) else {
            return NO_ROOM.answer(&HeaderMap::new()).map(|body| ResponseBody::new(body, None));
        };
        let entry = &self.admitted.entry;
        let mut request = request.map(|body| {
            if body.is_end_stream() {
                Body::empty()
            } else {
                Body::new(RequestBody::new(body, &self.admitted))
            }
        });
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let Ok(answer) = self.router.clone().call(request).await;
        let answer = match entry.body_fault() {
            Some(BodyFault::Slow) => SLOW_BODY.answer(answer.headers()),
            Some(BodyFault::NoMemory) => NO_ROOM.answer(answer.headers()),
            None => answer,
        };
        answer.map(|body| ResponseBody::new(body, Some(under_way)))
    }
}

/// Returns true if a request may use the reserved connections: webhooks must not be lost to a
/// flood, and health checks must not take the process for dead.
fn is_reserved(path: &str) -> bool {
    path.starts_with("/webhook/") || matches!(path, "/healthz" | "/readyz")
}
