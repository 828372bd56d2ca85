//! Refusals from around the pages: of rate limits, unknown paths, wrong methods, bodies that are too
//! large. People get a page in their language in place of JSON.

use axum::extract::{Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use chatkeep_http::takes_pages;

use super::Console;
use super::error::{PageError, error_page};
use super::visitor::{Visitor, address_of, language_of, secured};

/// Headers of a refusal that its page has as well.
const PRESERVED: [HeaderName; 5] = [
    ALLOW,
    RETRY_AFTER,
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// Surfaces of programs: whoever asks there gets the refusals of these surfaces.
const PROGRAMS: [&str; 9] = [
    "/api",
    "/mcp",
    "/oauth",
    "/.well-known",
    "/webhook",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/demo",
];

/// Renders refusals outside of the surfaces of programs, for those who accept pages.
pub async fn layer(State(console): State<Console>, request: Request, next: Next) -> Response {
    if !is_page(request.uri().path()) || !takes_pages(request.headers()) {
        return next.run(request).await;
    }
    let address = address_of(request.method(), request.uri());
    let visitor = Visitor::stranger(language_of(request.headers()), address);
    let response = next.run(request).await;
    let Some(error) = refusal(&response) else { return response };
    let mut page = secured(error_page(&console, &visitor, &error), console.entrances.framed);
    for name in PRESERVED {
        if let Some(value) = response.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}

/// Pages among these surfaces.
const PAGES: [&str; 2] = ["/oauth/authorize", "/oauth/consents"];

fn is_page(path: &str) -> bool {
    let below = |root: &str| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    PAGES.contains(&path) || !PROGRAMS.into_iter().any(below)
}

/// Returns what a response refuses; `None` for one that is a page, or no refusal.
fn refusal(response: &Response) -> Option<PageError> {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/html") {
        return None;
    }
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = response.headers().get(RETRY_AFTER);
            let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
            Some(PageError::Hasty { seconds: seconds.unwrap_or(1) })
        }
        StatusCode::FORBIDDEN => Some(PageError::OldForm),
        StatusCode::NOT_FOUND => Some(PageError::NoPage),
        StatusCode::METHOD_NOT_ALLOWED => Some(PageError::Method),
        StatusCode::PAYLOAD_TOO_LARGE => Some(PageError::TooLarge),
        StatusCode::SERVICE_UNAVAILABLE => Some(PageError::Busy),
        status if status.is_client_error() => Some(PageError::Input),
        status if status.is_server_error() => Some(PageError::Internal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_for_those_who_open_them() {
        for (path, page) in [
            ("/", true),
            ("/c", true),
            ("/c/C1/nothing", true),
            ("/console/x", true),
            ("/auth/login", true),
            ("/a-typing-error", true),
            ("/apis", true),
            ("/oauth/authorize", true),
            ("/oauth/consents", true),
            ("/oauth/token", false),
            ("/api/c/x", false),
            ("/api", false),
            ("/demo/state", false),
            ("/mcp", false),
        ] {
            assert_eq!(is_page(path), page, "{path}");
        }
    }
}
