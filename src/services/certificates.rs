//! Expiry of TLS certificates, as a client of the address sees them.

use chatkeep_core::http::certificate_client;
use chatkeep_core::time::Timestamp;
use reqwest::tls::TlsInfo;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

/// Reason why no expiry is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// The address cannot be reached, or its certificate is not trusted.
    #[error("the address cannot be reached")]
    Unreachable(#[from] reqwest::Error),
    /// No certificate was shown, or not one of X.509.
    #[error("the server shows no X.509 certificate")]
    Unreadable,
}

/// Returns the time at which the certificate of an https address expires.
///
/// # Errors
/// Returns an error if the address cannot be reached over TLS with a trusted certificate.
pub(crate) async fn expiry(address: &str) -> Result<Timestamp, CertificateError> {
    let answer = certificate_client()?.get(address).send().await;
    let answer = answer.map_err(reqwest::Error::without_url)?;
    let info = answer.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate);
    info.and_then(expiry_of).ok_or(CertificateError::Unreadable)
}

/// Returns the end of the validity of a certificate in DER.
fn expiry_of(der: &[u8]) -> Option<Timestamp> {
    let certificate = Certificate::from_der(der).ok()?;
    let end = certificate.tbs_certificate().validity().not_after.to_unix_duration();
    Some(Timestamp::from_millis(i64::try_from(end.as_millis()).ok()?))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Self-signed.
    const CERTIFICATE: &str = "\
        MIIBbjCCAROgAwIBAgIUDXq2/b8XHB7/vZV0d1OXGlKs8DswCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeDAe\
        Fw0yNjExMjMwNTU1MzVaFw0zNjExMjAwNTU1MzVaMAwxCjAIBgNVBAMMAXgwWTATBgcqhkjOPQIBBggqhkjO\
        PQMBBwNCAAQWqoSJKJrefaiMATbqECWReW+ew6luBgwTrA4TI/SR64aMxsoIWMCC+gap59jlQLXbsgRBNieT\
        OFGrleSbjCawo1MwUTAdBgNVHQ4EFgQUhVPupbfpiMjBeVIw3M+MaJDQA9MwHwYDVR0jBBgwFoAUhVPupbfp\
        iMjBeVIw3M+MaJDQA9MwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAzHGr++dNhEcFTtiE\
        NSVLyfJCkM91ibLUV0+ChNHZ3yUCIQCgTh8qgJyTVsbTD8HykUpN+38EKao/5ermUbHCpChxUg==";

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let der = STANDARD.decode(CERTIFICATE).unwrap();
        let end = expiry_of(&der).unwrap();
        assert_eq!(end.to_string(), "2036-11-20T05:55:35.000Z");
        assert!(expiry_of(&der[1..]).is_none() && expiry_of(b"").is_none());
    }

    #[tokio::test]
    async fn an_address_without_tls_has_no_certificate() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = expiry(&format!("https://{address}")).await.unwrap_err();
        let text = chatkeep_core::causes::with_causes(&error);
        assert!(text.starts_with("the address cannot be reached: "), "{text}");
        assert_eq!(text.matches("refused").count(), 1, "{text}");
    }
}
