//! Host and origin guard. A web page can have its own name point to this machine (DNS rebinding):
//! then `Host` is its name, not ours, and `Origin` is its address.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_http::HttpError;
use url::{Host, Url};

const FOREIGN_HOST: HttpError = HttpError::Refused {
    status: StatusCode::FORBIDDEN,
    code: "host_not_allowed",
    error: "Host not allowed: api.base_url sets the public name of chatkeep",
};

const FOREIGN_ORIGIN: HttpError = HttpError::Refused {
    status: StatusCode::FORBIDDEN,
    code: "origin_not_allowed",
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
            return Err(FOREIGN_HOST);
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
