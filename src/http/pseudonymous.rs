//! Exchange of ids at the border: a caller who sees pseudonyms sends and gets stand-ins in place of
//! people's ids, in every address, body and header of every surface.
//!
//! A response whose form is not known here is refused, so a surface that is added later shows
//! nothing by oversight. What is streamed says that it is masked already ([`MaskedBytes`]).

use std::borrow::Cow;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_core::heavy::{CALLERS, LIGHT};
use chatkeep_view::pseudonyms::Mask;
use serde_json::Value;
use url::form_urlencoded;

use super::MAX_BODY;
use super::error::HttpError;
use super::error_body::ErrorBody;
use super::error_code::ErrorCode;
use super::etag::TagOf;
use super::respond::{NextPage, RequestId};

/// Maximum bytes of a response that is not streamed.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;

/// Path of MCP, whose tools only read: most of their arguments may name people.
const MCP: &str = "/mcp";
/// Header with a cursor.
const LAST_EVENT_ID: &str = "last-event-id";
/// Members of a message of MCP that name nobody.
const UNNAMING: [&str; 2] = ["jsonrpc", "method"];
/// Member of other bodies that may name people. All others, such as the address of a webhook or the name
/// of a key, are kept and used as they are, where no id may be that the caller does not know.
const NAMING: &str = "channelIds";

/// Mark of a response whose bytes are masked for its reader already.
#[derive(Clone, Copy, Debug)]
pub struct MaskedBytes;

/// Error of everything that a key with pseudonyms must not have.
pub(crate) const REFUSED: HttpError = HttpError::Refused {
    status: StatusCode::FORBIDDEN,
    code: ErrorCode::PseudonymousKey,
    error: "This is not available to a key that shows pseudonyms: use a key without them",
};

/// Runs a request of a caller with that mask.
pub(super) async fn run(mask: Mask, request: Request, next: Next) -> Response {
    if !mask.is_on() {
        return next.run(request).await;
    }
    match incoming(&mask, request).await {
        Ok(request) => outgoing(&mask, next.run(request).await).await,
        Err(error) => error.into_response(),
    }
}

async fn incoming(mask: &Mask, request: Request) -> Result<Request, HttpError> {
    let (mut parts, body) = request.into_parts();
    if let Some(uri) = uri(mask, &parts.uri) {
        parts.uri = uri;
    }
    headers(&mut parts.headers, |name, text| match name {
        LAST_EVENT_ID => mask.incoming(text),
        _ => mask.note(text),
    });
    // An error repeats it, and what is repeated goes out translated.
    if let Some(RequestId(id)) = parts.extensions.get_mut::<RequestId>() {
        *id = mask.note(id).into_owned();
    }
    let body = to_bytes(body, MAX_BODY).await.map_err(|_| HttpError::TooLarge)?;
    let is_mcp = parts.uri.path().trim_end_matches('/') == MCP;
    let names_people = |member: &str| {
        if is_mcp { !UNNAMING.contains(&member) } else { member == NAMING }
    };
    let body = mask.incoming_json(body.into(), names_people);
    if parts.headers.contains_key(header::CONTENT_LENGTH) {
        parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Returns an address with ids in the query, names of parameters included. Those of the path are read by
/// `Path`, for the route is known already.
fn uri(mask: &Mask, uri: &Uri) -> Option<Uri> {
    let query = uri.query()?;
    let pairs = form_urlencoded::parse(query.as_bytes());
    let incoming = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
        (mask.note(&name).into_owned(), mask.incoming(&value).into_owned())
    };
    let pairs: Vec<_> = pairs.map(incoming).collect();
    let same = form_urlencoded::parse(query.as_bytes())
        .eq(pairs.iter().map(|(n, v)| (n.into(), v.into())));
    if same {
        return None;
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let path = format!("{}?{query}", uri.path());
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

async fn outgoing(mask: &Mask, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    headers(&mut parts.headers, |_, text| mask.outgoing(text));
    // Made of the content as it is: a hash would tell which ids are in it. The tag is that of the body.
    parts.extensions.remove::<TagOf>();
    if let Some(NextPage(cursor)) = parts.extensions.remove::<NextPage>() {
        parts.extensions.insert(NextPage(mask.outgoing(&cursor).into_owned()));
    }
    if let Some(error) = parts.extensions.remove::<ErrorBody>() {
        parts.extensions.insert(masked_error(mask, error));
        return Response::from_parts(parts, Body::empty());
    }
    if parts.extensions.get::<MaskedBytes>().is_some() {
        return Response::from_parts(parts, body);
    }
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.map(|kind| kind.to_str().unwrap_or("unknown").to_ascii_lowercase());
    let is_json = match kind.as_deref() {
        None => false,
        Some(kind) if kind.starts_with("application/json") => true,
        Some(kind) if kind.starts_with("text/plain") => false,
        Some(_) => return REFUSED.into_response(),
    };
    let Ok(bytes) = to_bytes(body, MAX_RESPONSE).await else {
        return HttpError::Internal.into_response();
    };
    let bytes = if is_json { json(mask, bytes).await } else { text(mask, &bytes) };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(bytes))
}

/// Returns a JSON document with stand-ins; a long one takes a while.
async fn json(mask: &Mask, bytes: Bytes) -> Bytes {
    if bytes.len() <= LIGHT {
        return mask.outgoing_json(bytes.into()).into();
    }
    let mask = mask.clone();
    CALLERS.run(move || mask.outgoing_json(bytes.into()).into()).await
}

/// Returns a text with stand-ins; nothing of what is no text.
fn text(mask: &Mask, bytes: &[u8]) -> Bytes {
    let text = str::from_utf8(bytes).unwrap_or_default();
    mask.outgoing(text).into_owned().into()
}

fn headers(headers: &mut HeaderMap, translate: impl for<'t> Fn(&str, &'t str) -> Cow<'t, str>) {
    for (name, value) in headers.iter_mut() {
        let Ok(text) = value.to_str() else { continue };
        if let Cow::Owned(translated) = translate(name.as_str(), text)
            && let Ok(translated) = HeaderValue::from_str(&translated)
        {
            *value = translated;
        }
    }
}

fn masked_error(mask: &Mask, error: ErrorBody) -> ErrorBody {
    let out = |text: &str| mask.outgoing(text).into_owned();
    let more = mask.outgoing_json(serde_json::to_vec(&error.more).unwrap_or_default());
    ErrorBody {
        error: out(&error.error).into(),
        field: error.field.map(|field| out(&field).into()),
        more: match serde_json::from_slice(&more) {
            Ok(Value::Object(more)) => more,
            _ => serde_json::Map::new(),
        },
        ..error
    }
}
