//! HTTP client for webhooks.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Creates a client whose connection and request have that timeout.
pub(crate) fn webhooks(timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    // Reading the system's certificates takes longer than a webhook: emulators share them.
    static SHARED: OnceLock<Option<ClientConfig>> = OnceLock::new();
    // The client wants a TLS library even for plain HTTP; another part of the process may have
    // installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .connect_timeout(timeout)
        .timeout(timeout)
        .redirect(Policy::none())
        .no_proxy();
    match SHARED.get_or_init(|| trusting_the_system().ok()) {
        Some(tls) => builder.tls_backend_preconfigured(tls.clone()).build(),
        // Fails with the reason.
        None => builder.build(),
    }
}

fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder().with_platform_verifier()?.with_no_client_auth())
}
