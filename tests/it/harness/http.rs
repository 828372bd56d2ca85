//! An HTTP client for tests, whoever made the first one in this process.

use std::time::Duration;

/// A client whose calls may take that long.
pub(crate) fn client(limit: Duration) -> reqwest::Client {
    // Another test may have installed it already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().timeout(limit).build().unwrap()
}
