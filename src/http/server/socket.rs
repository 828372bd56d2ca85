//! Socket of a connection, which records incoming and outgoing bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use bytes::Buf as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::entry::ConnectionEntry;
use super::refusal::RefusedRequest;

/// Socket with the entry of its connection.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    entry: Arc<ConnectionEntry>,
    /// True while sending is blocked until the client reads.
    blocked: bool,
    /// Bytes sent in place of hyper's bare response.
    refusal: Bytes,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, entry: Arc<ConnectionEntry>) -> Self {
        Self { stream, entry, blocked: false, refusal: Bytes::new() }
    }

    /// Sends a final response as far as that is possible without waiting.
    pub(super) fn send_final(&self, text: &[u8]) {
        // A client that does not read it has no use for it.
        let _ = self.stream.try_write(text);
    }

    /// Sends the rest of a refusal.
    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(context, &self.refusal);
            self.note(&written);
            self.refusal.advance(ready!(written)?);
        }
        Poll::Ready(Ok(()))
    }

    /// Replaces hyper's own response, which has no body, with one in the common form of errors.
    /// Returns true if it was one.
    fn takes_refusal(&mut self, bytes: &[u8]) -> bool {
        let refusal = RefusedRequest::of_hyper(bytes);
        if let Some(refusal) = refusal {
            self.refusal = refusal.bytes().into();
        }
        refusal.is_some()
    }

    fn note(&mut self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Pending if !self.blocked => {
                self.blocked = true;
                self.entry.blocked();
            }
            Poll::Ready(Ok(bytes)) if self.blocked => {
                self.blocked = false;
                self.entry.written(*bytes);
            }
            _ => {}
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.entry.record_received();
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(context))?;
        if self.takes_refusal(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(context))?;
        let mut filled = parts.iter().filter(|part| !part.is_empty());
        if let (Some(only), None) = (filled.next(), filled.next())
            && self.takes_refusal(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
