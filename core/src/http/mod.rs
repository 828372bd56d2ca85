//! The one way to make an HTTP client: with time limits, without redirects, and with one TLS
//! library for the whole process.

pub mod guard;
pub mod pace;

use std::time::Duration;

/// Connecting may take this long.
const CONNECT: Duration = Duration::from_secs(5);
/// A whole call may take this long; the platform's own limit is about 10 s.
const CALL: Duration = Duration::from_secs(10);
/// A download that brings nothing for this long has died.
const IDLE: Duration = Duration::from_secs(30);
/// Answers are read up to this many bytes.
pub const MAX_ANSWER: usize = 256 * 1024;

/// Makes the one TLS library known; before any client is made.
pub(crate) fn install_tls() {
    // Another part of the process may have installed it already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for calls to a platform's API.
///
/// # Errors
/// When the TLS library cannot be set up.
pub fn client() -> Result<reqwest::Client, reqwest::Error> {
    install_tls();
    reqwest::Client::builder()
        .user_agent(concat!("chatkeep/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .timeout(CALL)
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// A client for files of any size: nothing may come for 30 s, but it may go on for long.
///
/// # Errors
/// When the TLS library cannot be set up.
pub fn download_client() -> Result<reqwest::Client, reqwest::Error> {
    install_tls();
    reqwest::Client::builder()
        .user_agent(concat!("chatkeep/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// Reads an answer's body, cut at [`MAX_ANSWER`] bytes.
///
/// # Errors
/// When the connection breaks.
pub async fn bounded_body(mut answer: reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        let room = MAX_ANSWER.saturating_sub(body.len());
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() >= MAX_ANSWER {
            break;
        }
    }
    Ok(body)
}
