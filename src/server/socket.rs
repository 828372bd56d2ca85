//! A connection's socket, which tells when bytes come and go.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::entry::Entry;

/// A socket with the entry of its connection.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    entry: Arc<Entry>,
    /// The client has to take something first.
    blocked: bool,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, entry: Arc<Entry>) -> Self {
        Self { stream, entry, blocked: false }
    }

    /// Sends a last word as far as that is possible without waiting.
    pub(super) fn say(&self, text: &[u8]) {
        // Whoever does not take it has no use for it.
        let _ = self.stream.try_write(text);
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
            self.entry.hear();
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
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
