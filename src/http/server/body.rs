//! Bodies in transit: of requests, which have a minimum speed, and of responses, whose end is the
//! end of the request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use chatkeep_core::http::minimum_rate::{ThroughputMeter, TooSlow};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::connections::{ActiveRequest, Admitted, Connections};
use super::entry::{BodyFault, ConnectionEntry};

/// Error of a request body for which there is no memory.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("too many request bodies are held in memory")]
struct NoMemory;

/// Request body; ends with [`TooSlow`] below the minimum speed, and with [`NoMemory`] when others
/// fill what there is for bodies.
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Incoming,
    pace: ThroughputMeter,
    timer: Option<Pin<Box<Sleep>>>,
    entry: Arc<ConnectionEntry>,
    connections: Arc<Connections>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, admitted: &Admitted) -> Self {
        let (entry, connections) = admitted.parts();
        let pace = ThroughputMeter::new(entry.config.body);
        Self { body, pace, timer: None, entry, connections }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        loop {
            if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
                this.timer = None;
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                let bytes = data.map_or(0, Bytes::len);
                this.pace.advance(Instant::now(), bytes as u64);
                this.entry.body_ended(None);
                if !this.connections.hold(&this.entry, bytes) {
                    this.entry.body_ended(Some(BodyFault::NoMemory));
                    return Poll::Ready(Some(Err(NoMemory.into())));
                }
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
            let now = Instant::now();
            this.pace.wait(now);
            if this.pace.is_too_slow(now) {
                this.entry.body_ended(Some(BodyFault::Slow));
                return Poll::Ready(Some(Err(TooSlow.into())));
            }
            this.entry.await_body();
            let left = this.pace.left(now).max(Duration::from_millis(1));
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(left)));
            std::task::ready!(timer.as_mut().poll(context));
            this.timer = None;
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        // A handler that drops the rest is not held up by it.
        self.entry.body_ended(None);
    }
}

/// Response body.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Body,
    /// Dropped with the body, once all of it was passed to the connection.
    _under_way: Option<ActiveRequest>,
}

impl ResponseBody {
    pub(super) fn new(body: Body, under_way: Option<ActiveRequest>) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
