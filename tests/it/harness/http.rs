//! HTTP client for tests, with the TLS provider installed once in this process.

use std::time::Duration;

/// Creates a client with that timeout.
pub(crate) fn client(limit: Duration) -> reqwest::Client {
    // Another test may have installed it already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().timeout(limit).build().unwrap()
}
