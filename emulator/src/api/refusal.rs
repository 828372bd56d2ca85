//! Errors in LINE's form, with the rules that the request violated.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::log::Rule;

/// The rules that a call broke; travels with the response to where calls are recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Breaches(pub(super) Vec<(Rule, String)>);

/// A part of a request body that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Detail {
    pub(super) message: String,
    pub(super) property: String,
}

/// A call that is not granted.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    message: String,
    details: Vec<Detail>,
    breaches: Vec<(Rule, String)>,
}

#[derive(Serialize)]
struct Body {
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

impl Refusal {
    /// Creates an error without a rule violation.
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), details: Vec::new(), breaches: Vec::new() }
    }

    /// Names a rule that was broken.
    #[must_use]
    pub(super) fn because(mut self, rule: Rule, detail: impl Into<String>) -> Self {
        self.breaches.push((rule, detail.into()));
        self
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found")
    }

    pub(super) fn monthly_limit() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "You have reached your monthly limit.")
    }

    pub(super) fn unauthorized() -> Self {
        let message = "Authentication failed. \
            Confirm that the access token in the authorization header is valid.";
        Self::new(StatusCode::UNAUTHORIZED, message)
            .because(Rule::AccessToken, "missing or wrong access token")
    }

    pub(super) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
            .because(Rule::Route, "no such method on this path")
    }

    /// Creates an error about invalid parts of a body, each with the rule that it violates.
    pub(super) fn body(wrong: Vec<(Rule, Detail)>) -> Self {
        let told = |(rule, detail): &(Rule, Detail)| {
            (*rule, format!("{}: {}", detail.property, detail.message))
        };
        let breaches = wrong.iter().map(told).collect();
        let message = format!("The request body has {} error(s)", wrong.len());
        let details = wrong.into_iter().map(|(_, detail)| detail).collect();
        Self { status: StatusCode::BAD_REQUEST, message, details, breaches }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = Body { message: self.message, details: self.details };
        let mut response = (self.status, Json(body)).into_response();
        response.extensions_mut().insert(Breaches(self.breaches));
        response
    }
}
