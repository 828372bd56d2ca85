//! `ETag`s: every JSON answer to a GET carries one made from its content, and is not sent again to
//! whoever has it. Settings objects also carry their version, which `If-Match` names.

use axum::Json;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use utoipa::openapi::Required;
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::error::ApiError;
use super::route::{Describe, Input, Output};

/// Bytes of the hash in a tag: enough that no two contents meet.
const HASH: usize = 15;

/// The form of `If-Match`: any version, or a list of tags.
const IF_MATCH: &str = r#"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$"#;

/// What a tag is made from instead of the body, where the body tells the time.
#[derive(Clone, Debug)]
struct TagOf(Vec<u8>);

/// The version that a tag begins with.
#[derive(Clone, Copy, Debug)]
struct Version(i64);

/// A settings object with its version.
pub(super) struct Versioned<T> {
    pub(super) version: i64,
    pub(super) body: T,
}

/// A settings object that was just saved, with notes for its editor that are no part of it.
pub(super) struct Noted<T> {
    pub(super) version: i64,
    pub(super) body: T,
    /// The object as JSON, without the notes.
    pub(super) content: Vec<u8>,
}

/// An answer that holds the time of asking, with the part that decides whether it changed.
pub(super) struct Timed<T, C> {
    pub(super) body: T,
    pub(super) content: C,
}

/// `If-Match`: the versions that a change may replace; none given, any.
pub(super) struct IfMatch(pub(super) Option<Vec<i64>>);

/// Adds the tag; answers 304 to whoever names it.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let asked = request.method() == Method::GET;
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    let version = response.extensions().get::<Version>().copied();
    let json = response.headers().get(header::CONTENT_TYPE).is_some_and(is_json);
    let whole = response.body().size_hint().exact().is_some();
    let wanted = response.status() == StatusCode::OK && (asked || version.is_some());
    if !(wanted && json && whole) || response.headers().contains_key(header::ETAG) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return ApiError::Internal.into_response();
    };
    let content = parts.extensions.get::<TagOf>().map_or(&bytes[..], |content| &content.0);
    let tag = tag(version, content);
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    if asked && known.is_some_and(|known| names(&known, &tag)) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_TYPE);
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, bytes.into())
}

fn is_json(kind: &HeaderValue) -> bool {
    kind.as_bytes() == b"application/json"
}

fn tag(version: Option<Version>, content: &[u8]) -> String {
    let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(content)[..HASH]);
    match version {
        Some(Version(version)) => format!("\"v{version}-{hash}\""),
        None => format!("\"{hash}\""),
    }
}

/// The tags of a header, without the mark of weak ones: ours name content either way. A comma
/// inside of a tag's quotes separates nothing.
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

/// The version in a tag of ours.
fn version_of(tag: &str) -> Option<i64> {
    let (version, _) = tag.strip_prefix("\"v")?.split_once('-')?;
    version.parse().ok()
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        versions(&parts.headers).map(Self)
    }
}

/// The versions that `If-Match` names. What is no list of tags is refused: whoever sent it wanted
/// to be careful.
fn versions(headers: &HeaderMap) -> Result<Option<Vec<i64>>, ApiError> {
    let given: Vec<_> = headers.get_all(header::IF_MATCH).iter().flat_map(tags).collect();
    if given.is_empty() || given == ["*"] {
        return Ok(None);
    }
    if !given.iter().all(|tag| is_tag(tag)) {
        return Err(ApiError::invalid("If-Match", "If-Match is neither * nor a list of ETags"));
    }
    Ok(Some(given.into_iter().filter_map(version_of).collect()))
}

/// Whether it is a tag in its quotes (RFC 9110, section 8.8.3).
fn is_tag(text: &str) -> bool {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'))
}

impl Input for IfMatch {
    fn describe(route: &mut Describe) {
        let parameter = ParameterBuilder::new()
            .name("If-Match")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some("The `ETag` that was read: another version is not overwritten."))
            .example(Some("*".into()))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String).pattern(Some(IF_MATCH))))
            .build();
        route.parameters.push(parameter);
        route.refuses(&[StatusCode::BAD_REQUEST, StatusCode::PRECONDITION_FAILED]);
    }
}

impl<T: Serialize> IntoResponse for Versioned<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        response.extensions_mut().insert(Version(self.version));
        response
    }
}

impl<T: Serialize + ToSchema> Output for Versioned<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "The settings as they are now");
        route.carries("ETag");
    }
}

impl<T: Serialize> IntoResponse for Noted<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        response.extensions_mut().insert(Version(self.version));
        response.extensions_mut().insert(TagOf(self.content));
        response
    }
}

impl<T: Serialize + ToSchema> Output for Noted<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "The settings as they are now");
        route.carries("ETag");
    }
}

impl<T: Serialize, C: Serialize> IntoResponse for Timed<T, C> {
    fn into_response(self) -> Response {
        let content = serde_json::to_vec(&self.content).unwrap_or_default();
        let mut response = Json(self.body).into_response();
        response.extensions_mut().insert(TagOf(content));
        response
    }
}

impl<T: Serialize + ToSchema, C: Serialize> Output for Timed<T, C> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "Done");
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
        let one = tag(Some(Version(3)), b"x");
        assert_eq!(version_of(&one), Some(3));
        assert_ne!(one, tag(Some(Version(3)), b"y"));
        assert!(names(&HeaderValue::from_str(&format!("\"z\", W/{one}")).unwrap(), &one));
        assert!(!names(&HeaderValue::from_static("\"z\""), &one));
    }
}
