//! One form of errors: the status, the code and the headers of each are those that are documented.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use chatkeep_services::{Defect, FieldPath, ServiceError};
use serde_json::{Map, json};

use super::{answered, got, json_of, text};
use crate::{ErrorCode, HttpError, with_common_layers};

/// Returns the statuses of each code in the table of the documentation.
fn documented() -> BTreeMap<&'static str, Vec<u16>> {
    let rules = include_str!("../../../docs/behaviour.md");
    let (_, errors) = rules.split_once("\n### Errors\n").unwrap();
    let (errors, _) = errors.split_once("\n### ").unwrap();
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let code = cells.next()?.trim().strip_suffix('`')?;
        let statuses = cells.next()?.split(',');
        let statuses = statuses.filter_map(|status| status.trim().parse::<u16>().ok());
        Some((code, statuses.collect::<Vec<_>>()))
    };
    errors.lines().filter_map(row).collect()
}

/// Returns a surface that answers everything with that response.
fn answering(respond: impl Fn() -> Response + Clone + Send + Sync + 'static) -> Router {
    let handler = move || std::future::ready(respond());
    with_common_layers(Router::new().route("/", get(handler)))
}

/// Returns a surface that refuses everything so.
fn refusing(error: HttpError) -> Router {
    answering(move || error.clone().into_response())
}

/// Returns every refusal of a service with the status, the code and the field that callers get.
fn refusals() -> Vec<(ServiceError, u16, &'static str, Option<&'static str>)> {
    use ServiceError::{
        Conflict, CursorExpired, InsufficientFor, InsufficientPermissions, Internal, Invalid,
        InvalidKey, NotFound, PermissionDenied, PlanRequired, PseudonymousKey, RequestRunning,
        RulesTooLarge, Stale, TooManyKeys, TooManyRules, TooManySavedSearches, TooManyWebhooks,
        Unavailable, WebhookDisabled,
    };
    let unknown = Invalid { field: None, why: "It is odd".to_owned(), defect: Defect::Other };
    let parameter = ServiceError::invalid_value(FieldPath::parameter("from"), "is odd");
    let item = ServiceError::defective(FieldPath::body("/keywords").item(3), Defect::Empty);
    let beyond = InsufficientFor { field: FieldPath::body("/events") };
    vec![
        (unknown, 400, "invalid_request", None),
        (parameter, 400, "invalid_request", Some("from")),
        (item, 400, "invalid_request", Some("/keywords/3")),
        (RulesTooLarge { bytes: 9 }, 400, "rules_too_large", Some("")),
        (TooManyRules, 400, "too_many_rules", Some("")),
        (InvalidKey, 401, "invalid_api_key", None),
        (InsufficientPermissions, 403, "insufficient_permissions", None),
        (beyond, 403, "insufficient_permissions", Some("/events")),
        (PermissionDenied, 403, "permission_denied", None),
        (PlanRequired, 403, "plan_required", None),
        (PseudonymousKey, 403, "pseudonymous_key", None),
        (NotFound, 404, "not_found", None),
        (Conflict("It is so"), 409, "conflict", None),
        (RequestRunning, 409, "conflict", None),
        (WebhookDisabled, 409, "conflict", None),
        (TooManyWebhooks, 409, "conflict", None),
        (TooManySavedSearches, 409, "conflict", None),
        (TooManyKeys, 409, "too_many_keys", None),
        (CursorExpired, 410, "cursor_expired", None),
        (Stale, 412, "precondition_failed", None),
        (Internal, 500, "internal", None),
        (Unavailable, 503, "unavailable", None),
    ]
}

#[tokio::test]
async fn every_refusal_of_a_service_has_a_status_and_a_code_that_are_documented() {
    let documented = documented();
    for (error, status, code, field) in refusals() {
        let said = format!("{error:?}");
        let answer = got(&refusing(error.into()), "/").await;
        let body = json_of(&answer);
        let found = (answer.status().as_u16(), body["code"].as_str(), body["field"].as_str());
        assert_eq!(found, (status, Some(code), field), "{said}");
        assert!(documented[code].contains(&status), "{code}: {:?}", documented[code]);
        assert!(body["error"].as_str().is_some_and(|why| !why.is_empty()), "{said}");
        assert_eq!(body["requestId"], text(answer.headers(), "x-request-id"), "{said}");
        let members = 3 + usize::from(field.is_some());
        assert_eq!(body.as_object().unwrap().len(), members, "{said}: {body}");
    }
}

#[tokio::test]
async fn sentences_that_programs_were_promised_stay() {
    for (error, sentence) in [
        (HttpError::InvalidKey, "Invalid or missing API key"),
        (HttpError::InsufficientPermissions, "Insufficient permissions"),
        (HttpError::PermissionDenied, "Permission denied"),
        (HttpError::NotFound, "Not found"),
        (HttpError::UnknownVersion, "Unknown API version"),
        (HttpError::RateLimited { retry_after: 1 }, "Rate limit exceeded"),
        (HttpError::Unavailable, "Service unavailable"),
        (ServiceError::PlanRequired.into(), "Semantic mode requires the pro plan"),
    ] {
        assert_eq!(json_of(&got(&refusing(error), "/").await)["error"], sentence);
    }
}

#[tokio::test]
async fn a_refusal_says_what_would_help() {
    let limited = got(&refusing(HttpError::RateLimited { retry_after: 12 }), "/").await;
    assert_eq!(text(limited.headers(), "retry-after"), "12");
    assert_eq!(json_of(&limited)["retryAfter"], 12);
    let away = got(&refusing(HttpError::Unavailable), "/").await;
    assert_eq!(text(away.headers(), "retry-after"), "5");
    assert_eq!(json_of(&away).get("retryAfter"), None, "only a rate limit says it in the body");
    let unknown = got(&refusing(HttpError::InvalidKey), "/").await;
    assert_eq!(text(unknown.headers(), "www-authenticate"), "Bearer");
    let unsigned = HttpError::Refused {
        status: StatusCode::UNAUTHORIZED,
        code: ErrorCode::InvalidSignature,
        error: "Invalid signature",
    };
    let unsigned = got(&refusing(unsigned), "/").await;
    assert_eq!(text(unsigned.headers(), "www-authenticate"), "", "no key would help");
    let denied = got(&refusing(HttpError::PermissionDenied), "/").await;
    for absent in ["retry-after", "www-authenticate"] {
        assert_eq!(text(denied.headers(), absent), "");
    }
}

#[tokio::test]
async fn headers_and_members_of_an_error_s_own_are_kept() {
    let with = |error: HttpError, name: header::HeaderName, value: &'static str| {
        answering(move || {
            let mut response = error.clone().into_response();
            response.headers_mut().insert(name.clone(), HeaderValue::from_static(value));
            response
        })
    };
    let own = "Bearer resource_metadata=\"https://chat.example.org/x\"";
    let router = with(HttpError::InvalidKey, header::WWW_AUTHENTICATE, own);
    assert_eq!(text(got(&router, "/").await.headers(), "www-authenticate"), own);
    let router = with(HttpError::Unavailable, header::RETRY_AFTER, "60");
    assert_eq!(text(got(&router, "/").await.headers(), "retry-after"), "60");
    let router = with(HttpError::NotFound, header::CONTENT_RANGE, "bytes */7");
    assert_eq!(text(got(&router, "/").await.headers(), "content-range"), "bytes */7");
    let more = Map::from_iter([("known".to_owned(), json!(["v1"]))]);
    let router = answering(move || HttpError::UnknownVersion.with(more.clone()));
    let body = json_of(&got(&router, "/").await);
    assert_eq!((&body["known"], &body["code"]), (&json!(["v1"]), &json!("unknown_api_version")));
}

#[tokio::test]
async fn errors_from_beneath_the_routes_have_the_same_form() {
    let page = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    let router = Router::new()
        .route("/teapot", get(|| async { (StatusCode::IM_A_TEAPOT, "short and stout") }))
        .route("/away", get(|| async { (StatusCode::BAD_GATEWAY, "at src/main.rs:7") }))
        .route("/packed", get(|| async { packed() }))
        .route("/page", get(move || async move { (StatusCode::NOT_FOUND, page, "<p>Gone</p>") }))
        .route("/json", get(|| async { (StatusCode::CONFLICT, Json(json!({"own": 1}))) }));
    let router = with_common_layers(router);
    for (path, status, code) in [
        ("/teapot", 418, "invalid_request"),
        ("/away", 502, "internal"),
        ("/packed", 413, "body_too_large"),
        ("/nowhere", 404, "not_found"),
    ] {
        let answer = got(&router, path).await;
        let body = json_of(&answer);
        assert_eq!((answer.status().as_u16(), &body["code"]), (status, &json!(code)), "{path}");
        assert_eq!(text(answer.headers(), "content-type"), "application/json");
        assert_eq!(text(answer.headers(), "content-encoding"), "", "of the body that it had");
        let length = text(answer.headers(), "content-length");
        assert!(length.is_empty() || length == answer.body().len().to_string(), "{path} {length}");
        let said = body.to_string();
        assert!(!said.contains("src/main.rs") && !said.contains("stout"), "{said}");
    }
    let posted = Request::post("/json").body(Body::empty()).unwrap();
    let posted = answered(&router, posted).await;
    assert_eq!(json_of(&posted)["code"], "method_not_allowed");
    assert!(text(posted.headers(), "allow").contains("GET"), "{:?}", posted.headers());
    // What has a form of its own keeps it.
    assert_eq!(got(&router, "/page").await.body(), "<p>Gone</p>");
    assert_eq!(json_of(&got(&router, "/json").await), json!({"own": 1}));
}

/// Returns an error whose body is compressed.
fn packed() -> Response {
    let coding = [(header::CONTENT_ENCODING, "gzip")];
    (StatusCode::PAYLOAD_TOO_LARGE, coding, vec![0x1f, 0x8b]).into_response()
}

fn broken() -> StatusCode {
    panic!("a defect of a handler, with \"a text of somebody\" in it")
}

#[tokio::test]
async fn a_defect_of_a_handler_is_one_answer_and_ends_nothing_else() {
    let router = Router::new()
        .route("/broken", get(|| async { broken() }))
        .route("/well", get(|| async { "well" }));
    let router = with_common_layers(router);
    for _ in 0..2 {
        let answer = got(&router, "/broken").await;
        let body = json_of(&answer);
        assert_eq!((answer.status().as_u16(), &body["code"]), (500, &json!("internal")));
        assert_eq!(body["error"], "Internal server error", "nothing of the defect");
        assert_eq!(got(&router, "/well").await.body(), "well");
    }
}
