//! Restricts the demo to the local machine.
//!
//! The demo gives its key to every visitor of its page, which must therefore be local. Pages of
//! other sites must not reach it through the visitor's browser: neither by a host name that
//! resolves to this machine (DNS rebinding), nor by cross-site requests.

use std::net::IpAddr;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use chatkeep_http::{ErrorCode, HttpError};

use super::look_as;

const ELSEWHERE: HttpError = HttpError::Refused {
    status: StatusCode::MISDIRECTED_REQUEST,
    code: ErrorCode::HostNotAllowed,
    error: "The demo answers to localhost only",
};

const FOREIGN: HttpError = HttpError::Refused {
    status: StatusCode::FORBIDDEN,
    code: ErrorCode::OriginNotAllowed,
    error: "The demo answers to its own page only",
};

/// Restricts `router` to pages and programs of this machine.
pub(super) fn only_local(router: Router) -> Router {
    router.layer(from_fn(check))
}

async fn check(request: Request, next: Next) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let Some(host) = local_host(headers, uri) else {
        return ELSEWHERE.into_response();
    };
    // A link may lead to a page, which then makes all other requests itself.
    let visit = request.method() == Method::GET && is_page(uri.path()) && is_navigation(headers);
    if !visit && is_foreign(headers, &host) {
        return FOREIGN.into_response();
    }
    next.run(request).await
}

/// Returns true for the pages that links lead to, and for those to which these redirect.
fn is_page(path: &str) -> bool {
    matches!(path, "/" | "/demo" | look_as::PATH | "/console" | "/console/sign-in")
        || (path.starts_with("/c/") && !["/news", "/rows"].iter().any(|end| path.ends_with(end)))
}

/// Returns false when the browser reports a request of a page's script or for a part of a page.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_none_or(|mode| mode == "navigate")
}

/// Returns the host and port of the request, if every host that it names is this machine.
fn local_host(headers: &HeaderMap, uri: &Uri) -> Option<Authority> {
    let mut named = headers.get_all(header::HOST).iter();
    let (name, None) = (named.next()?, named.next()) else {
        return None;
    };
    let name = Authority::try_from(name.as_bytes()).ok()?;
    let all_local = is_local(&name) && uri.authority().is_none_or(is_local);
    all_local.then_some(name)
}

fn is_local(name: &Authority) -> bool {
    let host = name.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    !name.as_str().contains('@')
        && (host.eq_ignore_ascii_case("localhost")
            || address.parse().is_ok_and(|address: IpAddr| address.is_loopback()))
}

/// Returns true when the browser reports a cross-site request.
fn is_foreign(headers: &HeaderMap, host: &Authority) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let site = text("sec-fetch-site");
    let origin = text("origin");
    site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
        || origin.is_some_and(|origin| origin != format!("http://{host}"))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn status(path: &str, headers: &[(&str, &str)]) -> u16 {
        let router = only_local(Router::new().route("/{*path}", get(|| async {})));
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        answer.status().as_u16()
    }

    #[tokio::test]
    async fn only_names_of_this_machine_are_answered() {
        for host in ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:1", "[::1]:8080"] {
            assert_eq!(status("/demo/state", &[("host", host)]).await, 200, "{host}");
        }
        for host in [
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "0.0.0.0:8080",
            "localhost@evil.example",
            "",
        ] {
            assert_eq!(status("/demo/state", &[("host", host)]).await, 421, "{host}");
            assert_eq!(status("/demo", &[("host", host)]).await, 421, "{host}");
        }
        assert_eq!(status("/demo/state", &[]).await, 421);
        assert_eq!(
            status("/demo/state", &[("host", "localhost"), ("host", "x.example")]).await,
            421
        );
        let absolute = "http://evil.example/demo/state";
        assert_eq!(status(absolute, &[("host", "localhost")]).await, 421);
    }

    #[tokio::test]
    async fn pages_of_others_are_not_answered() {
        let local = ("host", "localhost:8080");
        for (name, value, expected) in [
            ("sec-fetch-site", "same-origin", 200),
            ("sec-fetch-site", "none", 200),
            ("sec-fetch-site", "same-site", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("origin", "http://localhost:8080", 200),
            ("origin", "http://localhost:9090", 403),
            ("origin", "https://evil.example", 403),
            ("origin", "null", 403),
        ] {
            let got = status("/demo/state", &[local, (name, value)]).await;
            assert_eq!(got, expected, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn links_of_others_lead_to_pages_alone() {
        let local = ("host", "localhost:8080");
        let site = ("sec-fetch-site", "cross-site");
        for (path, expected) in [
            ("/demo", 200),
            ("/demo/look-as?next=%2Fc%2FC1", 200),
            ("/console", 200),
            ("/console/sign-in", 200),
            ("/c/C1", 200),
            ("/c/C1/m/1", 200),
            ("/c/C1/news", 403),
            ("/c/C1/rows", 403),
            ("/demo/state", 403),
            ("/api/v1/channels", 403),
        ] {
            let link = [local, site, ("sec-fetch-mode", "navigate")];
            assert_eq!(status(path, &link).await, expected, "a link to {path}");
            let part = [local, site, ("sec-fetch-mode", "no-cors")];
            assert_eq!(status(path, &part).await, 403, "{path} as a part of a page");
        }
    }
}
