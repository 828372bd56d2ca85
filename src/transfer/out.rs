//! Output of commands: the only way to standard output and standard error beside the log.
//!
//! `println!` panics when standard output is closed (`chatkeep openapi | head`).
//! [`say!`](crate::out::say) returns that as an error, which ends the program quietly with
//! [`READER_GONE`], as the signal of a closed pipe ends other programs. [`note!`](crate::out::note)
//! ignores it: side output is no reason to stop.

use std::fmt;
use std::io::{self, Write as _};

/// Exit code of a command whose reader has closed the pipe, as the shell reports SIGPIPE.
pub const READER_GONE: u8 = 141;

/// Closed standard output.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
struct ReaderGone;

/// Writes a line of results to standard output.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::out::line(format_args!($($text)*)) };
}

/// Writes a line of progress, or a summary, to standard error.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::out::side_line(format_args!($($text)*)) };
}

pub use crate::{note, say};

/// Standard output whose closing is distinguished from other write errors.
pub struct Stdout(io::Stdout);

/// Returns standard output.
pub fn stdout() -> Stdout {
    Stdout(io::stdout())
}

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(classify_error)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(classify_error)
    }
}

fn classify_error(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return io::Error::new(io::ErrorKind::BrokenPipe, ReaderGone);
    }
    error
}

/// Writes a line to standard output; see [`say!`](crate::out::say).
pub fn line(text: fmt::Arguments<'_>) -> io::Result<()> {
    // In one write: a line is not torn where several processes write to one file.
    stdout().write_all(format!("{text}\n").as_bytes())
}

/// Writes a line to standard error; see [`note!`](crate::out::note).
pub fn side_line(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Returns true if a command ended because its reader closed the pipe.
pub fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        matches!(inner, Some(inner) if inner.is::<ReaderGone>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_standard_output_ends_quietly() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let closed = anyhow::Error::from(classify_error(broken())).context("cannot export");
        assert!(is_reader_gone(&closed));
        let server = anyhow::Error::from(broken()).context("the database went away");
        assert!(!is_reader_gone(&server), "a connection that breaks is a failure");
    }
}
