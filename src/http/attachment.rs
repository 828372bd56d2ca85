//! Documents to save: streamed as they are written.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use chatkeep_transfer::TransferError;
use chatkeep_workers::log_failure;
use futures_util::{Stream, TryStreamExt as _};

/// The page is read from a disk later on, too; here it gets what it says itself.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// Returns an export as a file of that media type and name.
pub fn attachment(
    export: impl Stream<Item = Result<Bytes, TransferError>> + Send + 'static,
    content_type: &'static str,
    name: &str,
) -> Response {
    // The status is out already: all that is left is to break the connection off and to say so.
    let stream = export.inspect_err(|cause| {
        log_failure!(error, cause, "an export was interrupted");
    });
    let name = format!("attachment; filename=\"{name}\"");
    let mut response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}
