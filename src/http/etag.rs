//! `ETag`s: every JSON response to a GET has one, computed from its content, and becomes 304 when
//! the caller's copy is current. Settings objects also have a version, which `If-Match` names.

use std::io;
use std::marker::PhantomData;

use async_recursion::async_recursion as boxed;
use axum::Json;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_services::FieldPath;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::error::HttpError;
use super::large::{self, Turn};

/// Bytes of the hash in a tag: enough that no two contents meet.
const HASH: usize = 15;

/// The hash of what a tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; HASH]);

/// Source of a tag instead of the body, for bodies that contain the current time.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagOf(Digest);

/// The version that a tag begins with.
#[derive(Clone, Copy, Debug)]
struct Version(i64);

/// A settings object with its version.
pub struct Versioned<T> {
    /// Version of the object, from 1.
    pub version: i64,
    /// The object.
    pub body: T,
}

/// Settings object of the form `T`, serialized to JSON.
pub struct Prepared<T> {
    /// Version of the object, from 1.
    pub version: i64,
    /// Digest of the object alone: a body may have notes for its editor that are not part of it.
    pub digest: Digest,
    /// The object as JSON.
    pub json: Vec<u8>,
    /// Turn of a large response, held until it is ready to be sent.
    pub turn: Option<Turn>,
    /// Form of the object, for the documentation.
    pub form: PhantomData<T>,
}

/// Response with a timestamp, and the content that its tag is computed from.
pub struct Timed<T, C> {
    /// Body of the response.
    pub body: T,
    /// Content that its tag is computed from.
    pub content: C,
}

/// `If-Match`: the versions that a change may replace; none given, any.
pub struct IfMatch(pub Option<Vec<i64>>);

/// Adds the tag; returns 304 when `If-None-Match` matches.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let asked = request.method() == Method::GET;
    let known = request.headers().get_all(header::IF_NONE_MATCH);
    let known: Vec<HeaderValue> = known.iter().cloned().collect();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK || response.headers().contains_key(header::ETAG) {
        return response;
    }
    let response = tagged(response, asked).await;
    let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
    if asked && tag.is_some_and(|tag| known.iter().any(|line| names(line, tag))) {
        let (mut parts, _) = response.into_parts();
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_TYPE);
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    response
}

/// Returns the response with its tag: a settings object, or any JSON in response to a GET.
#[boxed]
pub async fn tagged(response: Response, asked: bool) -> Response {
    let version = response.extensions().get::<Version>().copied();
    let json = response.headers().get(header::CONTENT_TYPE).is_some_and(is_json);
    let whole = response.body().size_hint().exact().is_some();
    if !((asked || version.is_some()) && json && whole) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return HttpError::Internal.into_response();
    };
    let digest = if let Some(TagOf(digest)) = parts.extensions.get::<TagOf>() {
        Ok(*digest)
    } else {
        let content = bytes.clone();
        large::apart(bytes.len(), move || Digest::of_bytes(&content)).await
    };
    let digest = match digest {
        Ok(digest) => digest,
        Err(error) => return error.into_response(),
    };
    if let Ok(value) = HeaderValue::from_str(&tag(version, digest)) {
        parts.headers.insert(header::ETAG, value);
    }
    Response::from_parts(parts, bytes.into())
}

fn is_json(kind: &HeaderValue) -> bool {
    kind.as_bytes() == b"application/json"
}

/// Hashes what is written to it.
struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Digest {
    /// Returns the digest of bytes.
    fn of_bytes(bytes: &[u8]) -> Self {
        Self::finish(Sha256::new().chain_update(bytes))
    }

    /// Returns the digest of a value's JSON, without keeping the JSON in memory.
    pub fn of(value: &impl Serialize) -> Self {
        let mut hasher = Hasher(Sha256::new());
        // Neither hashing nor serializing responses ever fails.
        let _ = serde_json::to_writer(&mut hasher, value);
        Self::finish(hasher.0)
    }

    fn finish(hash: Sha256) -> Self {
        let mut digest = [0; HASH];
        digest.copy_from_slice(&hash.finalize()[..HASH]);
        Self(digest)
    }
}

fn tag(version: Option<Version>, digest: Digest) -> String {
    let hash = URL_SAFE_NO_PAD.encode(digest.0);
    match version {
        Some(Version(version)) => format!("\"v{version}-{hash}\""),
        None => format!("\"{hash}\""),
    }
}

/// Splits a header into tags, without the mark of weak ones: our tags identify content either way.
/// A comma inside a tag's quotes is not a separator.
fn tags(value: &HeaderValue) -> impl Iterator<Item = &str> {
    let text = value.to_str().unwrap_or_default();
    let mut quoted = false;
    let between = move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    text.split(between).map(|tag| tag.trim().trim_start_matches("W/"))
}

fn names(value: &HeaderValue, tag: &str) -> bool {
    tags(value).any(|given| given == "*" || given == tag)
}

/// Returns the version in one of our tags.
fn version_of(tag: &str) -> Option<i64> {
    let (version, _) = tag.strip_prefix("\"v")?.split_once('-')?;
    version.parse().ok()
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        versions(&parts.headers).map(Self)
    }
}

/// Parses the versions in `If-Match`. Malformed lists are rejected, since the caller wanted a
/// conditional change.
fn versions(headers: &HeaderMap) -> Result<Option<Vec<i64>>, HttpError> {
    let given: Vec<_> = headers.get_all(header::IF_MATCH).iter().flat_map(tags).collect();
    if given.is_empty() || given == ["*"] {
        return Ok(None);
    }
    if !given.iter().all(|tag| is_tag(tag)) {
        return Err(HttpError::invalid_value(
            FieldPath::header("If-Match"),
            "must be * or a list of quoted ETags",
        ));
    }
    Ok(Some(given.into_iter().filter_map(version_of).collect()))
}

/// Returns true for a quoted tag (RFC 9110, section 8.8.3).
fn is_tag(text: &str) -> bool {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'))
}

impl<T: Serialize> IntoResponse for Versioned<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        response.extensions_mut().insert(Version(self.version));
        response
    }
}

impl<T> IntoResponse for Prepared<T> {
    fn into_response(self) -> Response {
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (json, self.json).into_response();
        response.extensions_mut().insert(Version(self.version));
        response.extensions_mut().insert(TagOf(self.digest));
        if let Some(turn) = self.turn {
            response.extensions_mut().insert(turn);
        }
        response
    }
}

impl<T: Serialize, C: Serialize> IntoResponse for Timed<T, C> {
    fn into_response(self) -> Response {
        let digest = Digest::of(&self.content);
        let mut response = Json(self.body).into_response();
        response.extensions_mut().insert(TagOf(digest));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_names_versions() {
        let given = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, HeaderValue::from_static(text));
            versions(&headers).ok()
        };
        assert_eq!(versions(&HeaderMap::new()).unwrap(), None);
        assert_eq!(given("*"), Some(None));
        assert_eq!(given("\"v3-abc\", W/\"v4-d\""), Some(Some(vec![3, 4])));
        assert_eq!(given("\"other\""), Some(Some(vec![])));
        assert_eq!(given("\"a,b\" , \"v5-c\""), Some(Some(vec![5])), "a comma in a tag");
        for wrong in ["", "v3-abc", "\"a\"b\"", "\"a\", *"] {
            assert_eq!(given(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_tag_names_version_and_content() {
        let of = |content: &[u8]| tag(Some(Version(3)), Digest::of_bytes(content));
        let one = of(b"x");
        assert_eq!(version_of(&one), Some(3));
        assert_ne!(one, of(b"y"));
        assert_eq!(Digest::of(&[1, 2]), Digest::of_bytes(b"[1,2]"));
        assert!(names(&HeaderValue::from_str(&format!("\"z\", W/{one}")).unwrap(), &one));
        assert!(!names(&HeaderValue::from_static("\"z\""), &one));
    }
}
