//! TLS of all clients of a process: one library, and the system's certificates, read once.

use std::sync::OnceLock;

use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Protocols offered to servers, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Installs the one TLS library; called before any client is created.
pub fn install_tls() {
    // Another part of the process may have installed it already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a builder of clients that trust the system's certificates. Reading these takes
/// milliseconds of processor time, so clients share them.
#[expect(clippy::disallowed_methods, reason = "the place where all clients begin")]
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    static SHARED: OnceLock<Option<ClientConfig>> = OnceLock::new();
    install_tls();
    let builder = reqwest::Client::builder();
    match SHARED.get_or_init(|| configured().ok()) {
        Some(tls) => builder.tls_backend_preconfigured(tls.clone()),
        // The client fails to be built, and its error says why.
        None => builder,
    }
}

fn configured() -> Result<ClientConfig, rustls::Error> {
    let mut tls = ClientConfig::builder().with_platform_verifier()?.with_no_client_auth();
    tls.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_offer_http_2_and_1_and_check_certificates() {
        install_tls();
        let tls = configured().unwrap();
        assert_eq!(tls.alpn_protocols, [b"h2".as_slice(), b"http/1.1"]);
        assert!(tls.enable_sni && !tls.client_auth_cert_resolver.has_certs());
        // A configuration of another version of the library would be refused here.
        client_builder().build().unwrap();
    }
}
