//! Extractors that reject bad input with a clear 400: JSON bodies, query strings, paths.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use chatkeep_core::heavy::{CALLERS, LIGHT};
use chatkeep_core::media_type::media_type;
use chatkeep_services::FieldPath;
use chatkeep_services::decode;
use chatkeep_view::pseudonyms::Mask;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::HttpError;
use super::identify;

/// JSON body of exactly the form `T`.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Body<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        if !is_json(request.headers()) {
            return Err(HttpError::UnsupportedMediaType);
        }
        let bytes = bytes_of(request, state).await?;
        decoded(bytes).await.map(Self)
    }
}

/// JSON body of the form `T` whose members are all optional: without one they have their defaults,
/// whatever type an empty body is said to be of.
pub struct OptionalBody<T>(pub T);

impl<S, T> FromRequest<S> for OptionalBody<T>
where
    S: Send + Sync,
    T: Default + DeserializeOwned + Send + 'static,
{
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let is_json = is_json(request.headers());
        let bytes = bytes_of(request, state).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Self(T::default()));
        }
        if !is_json {
            return Err(HttpError::UnsupportedMediaType);
        }
        decoded(bytes).await.map(Self)
    }
}

/// Returns true for a request whose body is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| media_type(kind).eq_ignore_ascii_case("application/json"))
}

async fn bytes_of<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, HttpError> {
    let mut codings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(HttpError::COMPRESSED);
    }
    Bytes::from_request(request, state).await.map_err(|rejection| unread(&rejection))
}

async fn decoded<T: DeserializeOwned + Send + 'static>(bytes: Bytes) -> Result<T, HttpError> {
    if bytes.len() <= LIGHT {
        return Ok(decode::body(&bytes)?);
    }
    Ok(CALLERS.run(move || decode::body(&bytes)).await?)
}

fn unread(rejection: &BytesRejection) -> HttpError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return HttpError::TooLarge;
    }
    HttpError::invalid_value(FieldPath::BODY, "could not be read")
}

/// Query string of exactly the form `T`.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        Ok(Self(decode::query(parts.uri.query().unwrap_or_default())?))
    }
}

/// Path parameters of the form `T`; a path that does not match is unknown (404).
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        if parts.uri.path().contains("%00") {
            return Err(HttpError::NotFound);
        }
        let mask = identify::caller(parts).map(|caller| caller.mask).unwrap_or_default();
        if mask.is_on() {
            return with_ids(&mask, parts, state).await.map(Self);
        }
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            Err(_) => Err(HttpError::NotFound),
        }
    }
}

/// Reads the parameters of a path in which a caller named people by their pseudonyms.
async fn with_ids<S: Send + Sync, T: DeserializeOwned>(
    mask: &Mask,
    parts: &mut Parts,
    state: &S,
) -> Result<T, HttpError> {
    let given = RawPathParams::from_request_parts(parts, state).await;
    let given = given.map_err(|_| HttpError::NotFound)?;
    let real = |(name, value): (&str, &str)| {
        (name.to_owned(), Value::from(mask.incoming(value).into_owned()))
    };
    let path = Value::Object(given.iter().map(real).collect());
    serde_json::from_value(path).map_err(|_| HttpError::NotFound)
}
