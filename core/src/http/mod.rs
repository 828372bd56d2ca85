//! The one way to create an HTTP client: with timeouts, without redirects, and with one TLS library
//! for the whole process.

pub mod guard;
pub mod minimum_rate;
mod tls;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
pub use tls::install_tls;
use url::{Host, Url};

/// Connect timeout.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of a whole request; the platform's own limit is about 10 s.
const CALL: Duration = Duration::from_secs(10);
/// Read timeout of a download.
const IDLE: Duration = Duration::from_secs(30);
/// Maximum number of bytes that are read of a response.
pub const MAX_RESPONSE: usize = 256 * 1024;

/// Returns a builder of clients that call other machines.
fn builder() -> reqwest::ClientBuilder {
    tls::client_builder()
        .user_agent(concat!("chatkeep/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
}

/// Creates a client for requests to a platform's API.
///
/// # Errors
/// Fails when the TLS library cannot be set up.
pub fn client() -> Result<reqwest::Client, reqwest::Error> {
    builder().timeout(CALL).build()
}

/// Creates a client for requests to a service that may take that long.
///
/// # Errors
/// Fails when the TLS library cannot be set up.
pub fn patient_client(timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    builder().timeout(timeout).build()
}

/// Creates a client for requests that are rare and must not be sent twice: each has a connection of
/// its own. The other side may close an idle one just when a request is written to it, and nobody
/// can tell then whether the request arrived.
///
/// # Errors
/// Fails when the TLS library cannot be set up.
pub fn unpooled_client() -> Result<reqwest::Client, reqwest::Error> {
    builder().timeout(CALL).pool_max_idle_per_host(0).build()
}

/// Creates a client for files of any size: read timeout 30 s, no limit of the whole time.
///
/// # Errors
/// Fails when the TLS library cannot be set up.
pub fn download_client() -> Result<reqwest::Client, reqwest::Error> {
    builder().read_timeout(IDLE).build()
}

/// Creates a client that tells the certificate of the server.
///
/// # Errors
/// Fails when the TLS library cannot be set up.
pub fn certificate_client() -> Result<reqwest::Client, reqwest::Error> {
    builder().timeout(CALL).tls_info(true).build()
}

/// Returns true for an address of this machine: `localhost`, or a loopback address.
pub fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the host of an address, for people to see: the rest may hold a secret. `None` if it is no
/// address, or has no host.
pub fn host_of(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}

/// Creates a client for requests to this machine, which no proxy is for.
///
/// # Errors
/// Fails when the TLS library cannot be set up.
pub fn local_client(timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    let client = tls::client_builder().no_proxy().timeout(timeout);
    client.redirect(reqwest::redirect::Policy::none()).build()
}

/// Reads a response body, cut at [`MAX_RESPONSE`] bytes.
///
/// # Errors
/// Fails when the connection breaks.
#[boxed]
pub async fn bounded_body(mut answer: reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        let room = MAX_RESPONSE.saturating_sub(body.len());
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() >= MAX_RESPONSE {
            break;
        }
    }
    Ok(body)
}

#[cfg(test)]
mod edge_tests;
