//! Extractors that refuse bad input with a clear 400: JSON bodies, query strings, paging.

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Elements of a list when the caller does not say, and at most.
const LIMIT: (u32, u32) = (50, 100);

/// A JSON body of exactly the form `T`.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::UnsupportedMediaType);
        }
        let bytes = axum::body::Bytes::from_request(request, state)
            .await
            .map_err(|rejection| unread(&rejection))?;
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        let body = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            let field = (path != ".").then(|| path.into());
            ApiError::Invalid { field, why: format!("The body is not valid: {}", error.inner()) }
        })?;
        json.end().map_err(|_| ApiError::Invalid {
            field: None,
            why: "The body is not valid: more follows after the JSON value".to_owned(),
        })?;
        Ok(Self(body))
    }
}

fn unread(rejection: &BytesRejection) -> ApiError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::TooLarge;
    }
    ApiError::Invalid { field: None, why: "The body could not be read".to_owned() }
}

/// A query string of exactly the form `T`.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(ApiError::Invalid { field: None, why: rejection.body_text() }),
        }
    }
}

/// Path parameters of the form `T`; a path that does not fit is an unknown one.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            Err(_) => Err(ApiError::NotFound),
        }
    }
}

/// The paging part of a list's query.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paging {
    pub(super) limit: Option<String>,
    pub(super) cursor: Option<String>,
}

/// How many elements a caller wants: 50 unless they say, 1 to 100.
pub(super) fn limit(given: Option<&str>) -> Result<u32, ApiError> {
    let Some(given) = given else {
        return Ok(LIMIT.0);
    };
    match given.parse() {
        Ok(limit) if (1..=LIMIT.1).contains(&limit) => Ok(limit),
        _ => Err(ApiError::invalid("limit", "limit must be a whole number from 1 to 100")),
    }
}
