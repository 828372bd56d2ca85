//! HTTP client for tests, with the TLS provider installed once in this process, and what reads its
//! answers.

use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::Value;

use super::wait::DEADLINE;

/// Creates a client with that timeout.
pub(crate) fn client(limit: Duration) -> reqwest::Client {
    builder().timeout(limit).build().unwrap()
}

/// Creates a client that shows redirects.
pub(crate) fn without_redirects() -> reqwest::Client {
    builder().redirect(Policy::none()).timeout(DEADLINE).build().unwrap()
}

/// Returns the text of that name in each row of a list that was received; empty without one.
#[track_caller]
pub(crate) fn texts(list: &Value, of: &str) -> Vec<String> {
    let rows = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    rows.iter().map(|row| row[of].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns a builder of clients for this machine, where nothing is encrypted: reading the system's
/// certificates for each would take longer than the requests.
#[expect(clippy::disallowed_methods, reason = "no certificates are read")]
fn builder() -> reqwest::ClientBuilder {
    // Another test may have installed it already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([])
}
