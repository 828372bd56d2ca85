//! Host and origin guard. A web page can have its own name point to this machine (DNS rebinding):
//! then `Host` is its name, not ours, and `Origin` is its address.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_core::text::shortened;
use chatkeep_http::{ErrorCode, HttpError};
use url::{Host, Url};

/// Maximum length of a host in an error, in characters.
const SHOWN: usize = 100;

const FOREIGN_ORIGIN: HttpError = HttpError::Refused {
    status: StatusCode::FORBIDDEN,
    code: ErrorCode::OriginNotAllowed,
    error: "Origin not allowed: api.cors_origins lists the allowed origins",
};

/// Allowed hosts and origins, beside those of the machine itself.
#[derive(Debug)]
pub(super) struct OriginGuard {
    host: Option<String>,
    origins: Vec<String>,
}

impl OriginGuard {
    pub(super) fn new(base_url: &str, origins: &[String]) -> Self {
        let base = Url::parse(base_url).ok();
        let own = base.iter().map(|url| url.origin().ascii_serialization());
        Self {
            host: base.as_ref().and_then(Url::host_str).map(str::to_owned),
            origins: own.chain(origins.iter().map(|origin| origin.to_lowercase())).collect(),
        }
    }

    /// Returns true for an allowed host. The port is ignored: proxies leave it out or write their
    /// own.
    fn names(&self, host: &str) -> bool {
        let Ok(host) = Host::parse(host) else {
            return false;
        };
        is_loopback(&host) || self.host.as_deref() == Some(&host.to_string())
    }

    /// Returns the error that names the host of a request and the one that is expected.
    fn foreign_host(&self, request: &Request) -> HttpError {
        let given = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let given = given.or_else(|| request.uri().authority().map(Authority::as_str));
        let given = shortened(given.filter(|host| !host.is_empty()).unwrap_or("nobody"), SHOWN);
        let own = self.host.as_deref().unwrap_or("localhost");
        HttpError::Explained {
            status: StatusCode::FORBIDDEN,
            code: ErrorCode::HostNotAllowed,
            error: format!(
                "Host not allowed: the request is for {given}, and api.base_url names {own}"
            ),
        }
    }

    fn shows(&self, origin: &str) -> bool {
        let Ok(url) = Url::parse(origin) else {
            return false;
        };
        let own = matches!(url.scheme(), "http" | "https")
            && url.host().is_some_and(|host| is_loopback(&host));
        own || self.origins.contains(&url.origin().ascii_serialization())
    }

    fn check(&self, request: &Request) -> Result<(), HttpError> {
        let given = match request.headers().get(header::HOST) {
            Some(host) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
            None => request.uri().authority().cloned(),
        };
        let host = given.filter(|authority| !authority.as_str().contains('@'));
        if !host.is_some_and(|host| self.names(host.host())) {
            return Err(self.foreign_host(request));
        }
        let foreign = |origin: &axum::http::HeaderValue| {
            origin.to_str().map_or(true, |origin| !self.shows(origin))
        };
        if request.headers().get_all(header::ORIGIN).iter().any(foreign) {
            return Err(FOREIGN_ORIGIN);
        }
        Ok(())
    }
}

fn is_loopback<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => name.as_ref() == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Rejects requests with other hosts and from other origins.
pub(super) async fn layer(
    State(origin_guard): State<Arc<OriginGuard>>,
    request: Request,
    next: Next,
) -> Response {
    match origin_guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn the_refusal_names_both_hosts() {
        let origin_guard = OriginGuard::new("https://chat.example.org", &[]);
        let request = Request::builder().uri("/mcp").header(header::HOST, "127.0.0.9.nip.io");
        let refused = origin_guard.check(&request.body(Body::empty()).unwrap()).unwrap_err();
        let HttpError::Explained { error, .. } = refused else { panic!("{refused:?}") };
        let named = "the request is for 127.0.0.9.nip.io, and api.base_url names chat.example.org";
        assert_eq!(error, format!("Host not allowed: {named}"));
    }

    fn passes(host: &str, origin: Option<&str>) -> bool {
        let origins = ["https://Console.example.org".to_owned()];
        let origin_guard = OriginGuard::new("https://chat.example.org/x", &origins);
        let mut request = Request::builder().uri("/mcp").header(header::HOST, host);
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        origin_guard.check(&request.body(Body::empty()).unwrap()).is_ok()
    }

    #[test]
    fn only_known_names_lead_here() {
        for host in
            ["chat.example.org", "CHAT.example.org:443", "localhost:81", "127.0.0.1", "[::1]:8080"]
        {
            assert!(passes(host, None), "{host}");
        }
        for host in
            ["evil.example", "chat.example.org.evil.example", "192.0.2.1", "", "a@localhost"]
        {
            assert!(!passes(host, None), "{host}");
        }
    }

    #[test]
    fn only_known_pages_may_call() {
        for origin in [
            "https://chat.example.org",
            "https://console.example.org",
            "http://localhost:6274",
            "http://127.0.0.1",
        ] {
            assert!(passes("localhost", Some(origin)), "{origin}");
        }
        for origin in [
            "https://evil.example",
            "http://chat.example.org",
            "https://chat.example.org:444",
            "null",
            "",
            "file://localhost",
            "https://localhost.evil.example",
        ] {
            assert!(!passes("localhost", Some(origin)), "{origin}");
        }
    }
}
