//! Large responses, such as a rule list of megabytes: few are built at once, CPU-bound work runs on
//! blocking threads, and the memory of unsent ones is bounded.
//!
//! A response holds a turn while it is built and compressed, and reserves its size from a shared
//! budget while it is sent. One user has a share of both, so that nobody who asks for much and reads
//! little holds up the others. Clients that read too slowly are disconnected.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::UserId;
use chatkeep_core::panics;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tracing::error;

use super::error::HttpError;
use super::identify;

/// Minimum size of a large response in bytes.
pub const LARGE: usize = 256 * 1024;
/// Maximum number of large responses built at once.
const TURNS: usize = 2;
/// Budget of all unsent large responses together, in KiB.
const ROOM: u32 = 64 * 1024;
/// Share of one user in that budget, in KiB.
const ROOM_OF_ONE: u32 = ROOM / 4;
/// Number of users whose shares are remembered before those that nobody uses are dropped.
const USERS: usize = 1_024;
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
    shares: Arc<Mutex<HashMap<Option<UserId>, Weak<Share>>>>,
}

/// Share of one user, or of all who are not known.
#[derive(Debug)]
struct Share {
    /// One large response at a time is built, or waits for room.
    turn: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

/// Permit to build a large response; held until the response is compressed.
#[derive(Clone, Debug)]
pub struct Turn(Arc<HeldTurn>);

#[derive(Debug)]
struct HeldTurn {
    of_user: Arc<HeldShare>,
    _turn: OwnedSemaphorePermit,
}

/// Turn of one user, held until there is room for what was built.
#[derive(Debug)]
struct HeldShare {
    share: Arc<Share>,
    _turn: OwnedSemaphorePermit,
}

/// Room of an unsent response, in the budget of all and in the share of its user.
#[derive(Debug)]
struct HeldRoom {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    _share: Arc<Share>,
}

impl Default for LargeResponses {
    fn default() -> Self {
        let room = Arc::new(Semaphore::new(ROOM as usize));
        Self { turns: Arc::new(Semaphore::new(TURNS)), room, shares: Arc::default() }
    }
}

impl LargeResponses {
    /// Waits for a turn of that user.
    ///
    /// # Errors
    /// [`HttpError::Unavailable`] when there is none for long.
    #[boxed]
    pub async fn turn(&self, user: Option<&UserId>) -> Result<Turn, HttpError> {
        let share = self.share(user);
        let turns = async {
            let own = Arc::clone(&share.turn).acquire_owned().await.ok()?;
            let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
            Some((own, turn))
        };
        let (own, turn) =
            timeout(WAIT, turns).await.ok().flatten().ok_or(HttpError::Unavailable)?;
        let of_user = Arc::new(HeldShare { share, _turn: own });
        Ok(Turn(Arc::new(HeldTurn { of_user, _turn: turn })))
    }

    fn share(&self, user: Option<&UserId>) -> Arc<Share> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let key = user.cloned();
        if let Some(share) = shares.get(&key).and_then(Weak::upgrade) {
            return share;
        }
        if shares.len() >= USERS {
            shares.retain(|_, share| share.strong_count() > 0);
        }
        let (turn, room) = (Semaphore::new(1), Semaphore::new(ROOM_OF_ONE as usize));
        let share = Arc::new(Share { turn: Arc::new(turn), room: Arc::new(room) });
        shares.insert(key, Arc::downgrade(&share));
        share
    }

    async fn send(
        &self,
        user: Option<&UserId>,
        answer: Response,
        gzip: bool,
    ) -> Result<Response, HttpError> {
        let (mut parts, body) = answer.into_parts();
        let turn = match parts.extensions.remove::<Turn>() {
            Some(turn) => turn,
            None => self.turn(user).await?,
        };
        let mut bytes = to_bytes(body, usize::MAX).await.map_err(|_| HttpError::Internal)?;
        if gzip {
            bytes = compress(bytes).await?;
            let encoding = HeaderValue::from_static("gzip");
            parts.headers.insert(header::CONTENT_ENCODING, encoding);
        }
        parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        // Others need not wait until there is room for this one; its user does.
        let of_user = Arc::clone(&turn.0.of_user);
        drop(turn);
        let room = timeout(WAIT, self.room(&of_user.share, bytes.len())).await;
        let room = room.ok().flatten().ok_or(HttpError::Unavailable)?;
        Ok(Response::from_parts(parts, sent_within(SENDING, bytes, room)))
    }

    /// Waits for room for so many bytes; `None` is never returned, as nothing is closed.
    async fn room(&self, share: &Arc<Share>, bytes: usize) -> Option<HeldRoom> {
        let size = u32::try_from(bytes.div_ceil(1024)).unwrap_or(ROOM);
        let own = Arc::clone(&share.room).acquire_many_owned(size.min(ROOM_OF_ONE)).await.ok()?;
        let all = Arc::clone(&self.room).acquire_many_owned(size.min(ROOM)).await.ok()?;
        Some(HeldRoom { _all: all, _own: own, _share: Arc::clone(share) })
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
    let user = identify::user(request.extensions());
    let answer = next.run(request).await;
    let size = answer.body().size_hint().exact().unwrap_or_default();
    let encoded = answer.headers().contains_key(header::CONTENT_ENCODING);
    if size < LARGE as u64 || encoded || !is_text(answer.headers()) {
        return answer;
    }
    large.send(user.as_ref(), answer, gzip).await.unwrap_or_else(IntoResponse::into_response)
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
fn sent_within(time: Duration, bytes: Bytes, room: HeldRoom) -> Body {
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
    use futures_util::stream::FuturesUnordered;
    use futures_util::{FutureExt as _, StreamExt as _};

    use super::*;

    const SIZE: usize = 16 * 1024 * 1024;

    fn answer() -> Response {
        ([(header::CONTENT_TYPE, "application/json")], vec![b' '; SIZE]).into_response()
    }

    async fn sent_to(large: &LargeResponses, user: &str) -> Result<Response, HttpError> {
        large.send(Some(&user.into()), answer(), false).await
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_keeps_no_room() {
        let large = LargeResponses::default();
        let mut unread = Vec::new();
        for name in ["a", "b", "c"] {
            unread.push(sent_to(&large, name).await.unwrap());
        }
        let read = sent_to(&large, "d").await.unwrap();
        assert_eq!(large.room.available_permits(), 0);
        let bytes = to_bytes(read.into_body(), usize::MAX).await.unwrap();
        assert_eq!(bytes.len(), SIZE);
        // The readers that are away have the rest until their time is over.
        tokio::time::sleep(SENDING).await;
        drop(sent_to(&large, "e").await.unwrap());
        for unread in unread {
            let cut = to_bytes(unread.into_body(), usize::MAX).await.unwrap();
            assert!(cut.len() < 1024 * 1024, "{}", cut.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_holds_up_nobody_else() {
        let large = LargeResponses::default();
        let unread = sent_to(&large, "a").await.unwrap();
        let mut waiting: FuturesUnordered<_> = (0..4).map(|_| sent_to(&large, "a")).collect();
        assert!(waiting.next().now_or_never().is_none(), "what the first one reads makes room");
        for _ in 0..3 {
            let other = timeout(Duration::from_millis(1), sent_to(&large, "b")).await;
            let other = other.unwrap().unwrap().into_body();
            assert_eq!(to_bytes(other, usize::MAX).await.unwrap().len(), SIZE);
        }
        let refused = waiting.next().await.unwrap();
        assert!(matches!(refused, Err(HttpError::Unavailable)), "{refused:?}");
        drop(unread);
    }

    #[test]
    fn shares_that_nobody_uses_are_dropped() {
        let large = LargeResponses::default();
        let held = large.share(Some(&"held".into()));
        for number in 0..2 * USERS {
            large.share(Some(&number.to_string().into()));
        }
        assert!(large.shares.lock().unwrap().len() <= USERS);
        assert!(Arc::ptr_eq(&held, &large.share(Some(&"held".into()))));
    }
}
