//! Refusals from around the pages: what people get in place of JSON, and what stays as it is.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::middleware::from_fn_with_state;
use chatkeep_i18n::Language;
use tower::ServiceExt as _;

use super::{Answer, ConsoleBench, escaped};
use crate::refusals;

const PAGES: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
/// Body of the refusals, as programs get it.
const JSON: &str = r#"{"error":"it is not for people"}"#;

/// Surfaces that refuse everything with a status and these headers, behind the console's layer.
struct RefusedSurfaces {
    bench: ConsoleBench,
}

impl RefusedSurfaces {
    async fn new() -> Self {
        Self { bench: ConsoleBench::new().await }
    }

    async fn ask(
        &self,
        (path, accepted): (&str, &str),
        language: Language,
        (status, headers): (StatusCode, &[(&'static str, &'static str)]),
    ) -> Answer {
        let given = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let given: HeaderMap = given.collect();
        let surfaces = Router::new().fallback(move || async move { (status, given, JSON) });
        let layer = from_fn_with_state(self.bench.console.clone(), refusals);
        let request = Request::get(path)
            .header(header::ACCEPT, accepted)
            .header(header::ACCEPT_LANGUAGE, language.tag());
        let request = request.body(Body::empty()).unwrap();
        Answer::of(surfaces.layer(layer).oneshot(request).await.unwrap()).await
    }
}

static AS_JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[tokio::test]
async fn people_get_a_page_about_each_refusal_in_their_language() {
    let surfaces = RefusedSurfaces::new().await;
    for (refused, status, key) in [
        (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND, "error-page-title"),
        (StatusCode::METHOD_NOT_ALLOWED, StatusCode::METHOD_NOT_ALLOWED, "error-page-title"),
        (StatusCode::FORBIDDEN, StatusCode::FORBIDDEN, "error-old-title"),
        (StatusCode::PAYLOAD_TOO_LARGE, StatusCode::PAYLOAD_TOO_LARGE, "error-large-title"),
        (StatusCode::TOO_MANY_REQUESTS, StatusCode::TOO_MANY_REQUESTS, "error-hasty-title"),
        (StatusCode::URI_TOO_LONG, StatusCode::BAD_REQUEST, "error-input-title"),
        (StatusCode::BAD_REQUEST, StatusCode::BAD_REQUEST, "error-input-title"),
        (StatusCode::SERVICE_UNAVAILABLE, StatusCode::SERVICE_UNAVAILABLE, "error-busy-title"),
        (StatusCode::BAD_GATEWAY, StatusCode::INTERNAL_SERVER_ERROR, "error-title"),
    ] {
        for language in Language::ALL {
            let answer = surfaces.ask(("/nowhere", PAGES), language, (refused, &AS_JSON)).await;
            answer.says(status, &language.text(key));
            let tag = format!("<html lang=\"{}\">", language.tag());
            assert!(answer.body.contains(&tag), "{refused}");
            assert!(!answer.body.contains("it is not for people"), "{refused}");
            let kind = answer.headers[header::CONTENT_TYPE].to_str().unwrap();
            assert!(kind.starts_with("text/html"), "{refused}: {kind}");
            assert!(answer.headers.contains_key(header::CONTENT_SECURITY_POLICY));
        }
    }
}

#[tokio::test]
async fn what_is_no_refusal_or_is_a_page_already_stays_as_it_is() {
    let surfaces = RefusedSurfaces::new().await;
    let html = [("content-type", "text/html; charset=utf-8")];
    for (status, headers) in [
        (StatusCode::OK, AS_JSON),
        (StatusCode::SEE_OTHER, AS_JSON),
        (StatusCode::NOT_MODIFIED, AS_JSON),
        (StatusCode::NOT_FOUND, html),
        (StatusCode::INTERNAL_SERVER_ERROR, html),
    ] {
        let asked = ("/nowhere", PAGES);
        let answer = surfaces.ask(asked, Language::Thai, (status, &headers)).await;
        assert_eq!((answer.status, &*answer.body), (status, JSON));
    }
}

#[tokio::test]
async fn programs_get_the_refusals_of_their_surface() {
    let surfaces = RefusedSurfaces::new().await;
    let refused = (StatusCode::NOT_FOUND, &AS_JSON[..]);
    for asked in [
        ("/nowhere", "application/json"),
        ("/nowhere", "*/*"),
        ("/nowhere", "text/html;q=0, */*"),
        ("/nowhere", ""),
        ("/api/v1/nowhere", PAGES),
        ("/mcp", PAGES),
        ("/oauth/token", PAGES),
        ("/.well-known/x", PAGES),
        ("/webhook/line", PAGES),
        ("/healthz", PAGES),
        ("/openapi.json", PAGES),
    ] {
        let answer = surfaces.ask(asked, Language::English, refused).await;
        assert_eq!(&*answer.body, JSON, "{asked:?}");
    }
    for page in ["/oauth/authorize", "/oauth/consents", "/apiary", "/mcp-guide", "/", "/c/C1"] {
        let answer = surfaces.ask((page, PAGES), Language::English, refused).await;
        answer.says(StatusCode::NOT_FOUND, "Page not found");
    }
}

#[tokio::test]
async fn a_page_keeps_what_browsers_go_by_and_drops_all_else() {
    let surfaces = RefusedSurfaces::new().await;
    let headers = [
        ("content-type", "application/json"),
        ("retry-after", "7"),
        ("allow", "GET, HEAD"),
        ("x-ratelimit-limit", "60"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1760000000"),
        ("www-authenticate", "Bearer"),
        ("etag", "\"of the JSON\""),
    ];
    let refused = (StatusCode::TOO_MANY_REQUESTS, &headers[..]);
    let answer = surfaces.ask(("/console", PAGES), Language::English, refused).await;
    answer.says(StatusCode::TOO_MANY_REQUESTS, "Try again in 7 seconds.");
    for (name, value) in &headers[1..6] {
        assert_eq!(answer.headers[*name], *value, "{name}");
    }
    for gone in ["www-authenticate", "etag"] {
        assert!(!answer.headers.contains_key(gone), "{gone}");
    }
    // A time that cannot be read is no reason to say nothing.
    for unread in ["soon", "-1", "Fri, 02 Jan 2026 03:04:05 GMT"] {
        let headers = [("retry-after", unread)];
        let refused = (StatusCode::TOO_MANY_REQUESTS, &headers[..]);
        let answer = surfaces.ask(("/console", PAGES), Language::English, refused).await;
        answer.says(StatusCode::TOO_MANY_REQUESTS, "Try again in 1 second.");
    }
}

#[tokio::test]
async fn a_refused_form_leads_back_to_its_page_and_that_of_another_surface_does_not() {
    let surfaces = RefusedSurfaces::new().await;
    let refused = (StatusCode::FORBIDDEN, &AS_JSON[..]);
    for (path, back) in [
        ("/c/C1/settings?a=b", Some("/c/C1/settings?a=b&done=unsent")),
        ("/console/account", Some("/console/account?done=unsent")),
        ("/auth/login", None),
        ("/elsewhere", None),
    ] {
        let answer = surfaces.ask((path, PAGES), Language::English, refused).await;
        let link = back.map(|back| format!("href=\"{}\"", escaped(back)));
        assert_eq!(answer.body.contains("done=unsent"), back.is_some(), "{path}");
        assert!(link.is_none_or(|link| answer.body.contains(&link)), "{path}: {}", answer.body);
    }
}
