//! Large responses, such as a rule list of megabytes: few are built at once, CPU-bound work runs on
//! blocking threads, and the memory of unsent ones is bounded.
//!
//! A response holds a turn while it is built and compressed, and reserves its size from a shared
//! budget while it is sent. Clients that read too slowly are disconnected, so that they do not hold
//! the budget.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_core::panics;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tracing::error;

use super::error::HttpError;

/// Minimum size of a large response in bytes.
pub const LARGE: usize = 256 * 1024;
/// Maximum number of large responses built at once.
const TURNS: usize = 2;
/// Budget of all unsent large responses together, in KiB.
const ROOM: u32 = 64 * 1024;
/// A turn, or room, is waited for so long.
const WAIT: Duration = Duration::from_secs(30);
/// Timeout for sending a large response.
const SENDING: Duration = Duration::from_mins(2);
/// Bytes that are handed to the connection at a time.
const CHUNK: usize = 64 * 1024;

/// Turns and memory budget of large responses. Clones share them.
#[derive(Clone, Debug)]
pub struct LargeResponses {
    turns: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

/// Permit to build a large response; held until the response is compressed.
#[derive(Clone, Debug)]
pub struct Turn(#[expect(dead_code, reason = "held")] Arc<OwnedSemaphorePermit>);

impl Default for LargeResponses {
    fn default() -> Self {
        let room = Semaphore::new(ROOM as usize);
        Self { turns: Arc::new(Semaphore::new(TURNS)), room: Arc::new(room) }
    }
}

impl LargeResponses {
    /// Waits for a turn.
    ///
    /// # Errors
    /// [`HttpError::Unavailable`] when there is none for long.
    #[boxed]
    pub async fn turn(&self) -> Result<Turn, HttpError> {
        let turn = timeout(WAIT, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| HttpError::Unavailable)?;
        turn.map(|permit| Turn(Arc::new(permit))).map_err(|_| HttpError::Unavailable)
    }

    async fn send(&self, answer: Response, gzip: bool) -> Result<Response, HttpError> {
        let (mut parts, body) = answer.into_parts();
        let turn = match parts.extensions.remove::<Turn>() {
            Some(turn) => turn,
            None => self.turn().await?,
        };
        let mut bytes = to_bytes(body, usize::MAX).await.map_err(|_| HttpError::Internal)?;
        if gzip {
            bytes = compress(bytes).await?;
            let encoding = HeaderValue::from_static("gzip");
            parts.headers.insert(header::CONTENT_ENCODING, encoding);
        }
        parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        let size = u32::try_from(bytes.len().div_ceil(1024)).unwrap_or(ROOM).min(ROOM);
        let room = timeout(WAIT, Arc::clone(&self.room).acquire_many_owned(size)).await;
        let room = room.ok().and_then(Result::ok).ok_or(HttpError::Unavailable)?;
        drop(turn);
        Ok(Response::from_parts(parts, sent_within(SENDING, bytes, room)))
    }
}

/// Sends large responses in turn. Small, streamed and compressed ones pass through.
pub(super) async fn layer(
    State(large): State<LargeResponses>,
    request: Request,
    next: Next,
) -> Response {
    // Only gzip is left of what the caller takes.
    let gzip = request.headers().contains_key(header::ACCEPT_ENCODING);
    let answer = next.run(request).await;
    let size = answer.body().size_hint().exact().unwrap_or_default();
    let encoded = answer.headers().contains_key(header::CONTENT_ENCODING);
    if size < LARGE as u64 || encoded || !is_text(answer.headers()) {
        return answer;
    }
    large.send(answer, gzip).await.unwrap_or_else(IntoResponse::into_response)
}

/// Runs work of that many bytes on a blocking thread when it takes long.
///
/// # Errors
/// [`HttpError::Internal`] when the work panics.
pub async fn apart<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HttpError> {
    if bytes < LARGE {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|cause| {
        error!(%cause, "a task for a large response failed");
        HttpError::Internal
    })
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/"))
}

async fn compress(bytes: Bytes) -> Result<Bytes, HttpError> {
    let work = move || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes)?;
        encoder.finish()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(mut bytes)) => {
            bytes.shrink_to_fit();
            Ok(bytes.into())
        }
        _ => Err(HttpError::Internal),
    }
}

/// Returns a body that releases its budget as its bytes are read, or after `time`; it then ends
/// early, which closes the connection.
fn sent_within(time: Duration, bytes: Bytes, room: OwnedSemaphorePermit) -> Body {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    panics::spawn("large_response", async move {
        let send = async {
            // Copied: a slice would keep all of the bytes in memory.
            for chunk in bytes.chunks(CHUNK) {
                if sender.send(Ok(Bytes::copy_from_slice(chunk))).await.is_err() {
                    return;
                }
            }
        };
        // The receiver is gone.
        let _ = timeout(time, send).await;
        drop((bytes, room));
    });
    Body::from_stream(ReceiverStream::new(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_keeps_no_room() {
        let large = LargeResponses::default();
        let answer = || {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, vec![b' '; 32 * 1024 * 1024]).into_response()
        };
        let unread = large.send(answer(), false).await.unwrap();
        let read = large.send(answer(), false).await.unwrap();
        assert_eq!(large.room.available_permits(), 0);
        let bytes = to_bytes(read.into_body(), usize::MAX).await.unwrap();
        assert_eq!(bytes.len(), 32 * 1024 * 1024);
        // The reader that is away has the rest until its time is over.
        tokio::time::sleep(SENDING).await;
        let third = large.send(answer(), false).await.unwrap();
        drop(third);
        let cut = to_bytes(unread.into_body(), usize::MAX).await.unwrap();
        assert!(cut.len() < 1024 * 1024, "{}", cut.len());
    }
}
