//! Rejects unexpected input: one rule for all routes, derived from their handlers.
//!
//! A handler without a query extractor has no parameters, and one without a body extractor has no
//! body (an empty object is allowed). The extractors reject fields that their types do not have.
//! Callers without permission get that error first, as everywhere.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use chatkeep_http::HttpError;
use chatkeep_services::FieldPath;
use chatkeep_services::decode::{self, Json};
use url::form_urlencoded;

use super::{Describe, Endpoint};
use crate::etag::IF_MATCH_NAME;
use crate::replay::StoredReplay;
use crate::{Api, MAX_BODY};

/// Maximum bytes read of an unexpected body.
const MAX_BODY_PEEK: usize = 4 * 1024;

/// Input that a route accepts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    query: bool,
    body: bool,
    /// `If-Match` with the version of the object.
    version: bool,
}

impl Takes {
    pub(super) fn of(describe: &Describe) -> Self {
        let version = describe.parameters.iter().any(|one| one.name == IF_MATCH_NAME);
        Self { query: describe.query, body: describe.body.is_some(), version }
    }

    /// Calls the handler unless the request holds what the route does not take.
    pub(super) async fn call<T: 'static, H: Endpoint<T>>(
        self,
        handler: H,
        State(api): State<Api>,
        request: Request,
    ) -> Response {
        let (mut parts, mut body) = request.into_parts();
        if let Some(stored) = parts.extensions.remove::<StoredReplay>() {
            let admitted = H::admit(&mut parts, &api).await;
            return admitted.map_or_else(IntoResponse::into_response, |()| stored.into_response());
        }
        let Err(unexpected) = self.check(&parts, &mut body).await else {
            return handler.call(Request::from_parts(parts, body), api).await;
        };
        match H::admit(&mut parts, &api).await {
            Ok(()) => unexpected.into_response(),
            Err(refusal) => refusal.into_response(),
        }
    }

    async fn check(self, parts: &Parts, body: &mut Body) -> Result<(), HttpError> {
        let query = parts.uri.query().unwrap_or_default();
        if !self.query
            && let Some((name, _)) = form_urlencoded::parse(query.as_bytes()).next()
        {
            let why = "is unknown: the route has no parameters";
            return Err(HttpError::invalid_value(FieldPath::named(&name), why));
        }
        if !self.version && !is_any_version(parts) {
            let why = "is not supported: the object has no versions";
            return Err(HttpError::invalid_value(FieldPath::header(IF_MATCH_NAME), why));
        }
        if self.body { Ok(()) } else { no_body(std::mem::take(body)).await }
    }
}

/// Returns true for a request that reads, and for a change of whatever version there is.
fn is_any_version(parts: &Parts) -> bool {
    let is_any = |given: &HeaderValue| given.as_bytes().trim_ascii() == b"*";
    parts.method.is_safe() || parts.headers.get_all(header::IF_MATCH).iter().all(is_any)
}

/// Rejects a body with content.
async fn no_body(body: Body) -> Result<(), HttpError> {
    let refusal =
        || HttpError::invalid_value(FieldPath::BODY, "must be empty: the route has no body");
    // A body that is left unread breaks the connection, and the caller may never read why.
    let bytes = to_bytes(body, MAX_BODY).await.map_err(|_| refusal())?;
    if bytes.len() > MAX_BODY_PEEK {
        return Err(refusal());
    }
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    match decode::parse(&bytes) {
        Ok(Json::Object(members)) => match members.first() {
            None => Ok(()),
            Some((name, _)) => {
                let why = "is unknown: the route has no body";
                Err(HttpError::invalid_value(FieldPath::BODY.member(name), why))
            }
        },
        _ => Err(refusal()),
    }
}

/// Runs an extractor that decides who may call a route.
pub(crate) async fn admitted<E>(parts: &mut Parts, api: &Api) -> Result<(), HttpError>
where
    E: FromRequestParts<Api, Rejection = HttpError>,
{
    E::from_request_parts(parts, api).await.map(drop)
}
