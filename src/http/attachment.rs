//! Documents to save: streamed as they are written, or read from the files of an export that was
//! written in the background. And the bytes of media files.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use chatkeep_services::documents::DocumentError;
use chatkeep_services::export_jobs::{ExportDocument, ExportJobService};
use chatkeep_services::media::FileStream;
use chatkeep_workers::log_failure;
use futures_util::{Stream, TryStreamExt as _};
use tracing::info;

use super::range::{
    RequestedRange, range_not_satisfiable, requested_range, require_revalidation, set_size,
};

/// The page is read from a disk later on, too; here it gets what it says itself.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// Returns an export as a file of that media type and name.
pub fn attachment(
    export: impl Stream<Item = Result<Bytes, DocumentError>> + Send + 'static,
    content_type: &'static str,
    name: &str,
) -> Response {
    // The status is out already: all that is left is to break the connection off and to say so.
    let stream = export.inspect_err(|cause| {
        if !is_broken_off(cause) {
            log_failure!(error, cause, "an export was interrupted");
        }
    });
    let mut response = Body::from_stream(stream).into_response();
    describe(response.headers_mut(), content_type, name);
    response
}

/// Returns the document of an export that was written in the background, or the requested range of
/// it, as a file.
pub fn download(
    exports: &ExportJobService,
    document: ExportDocument,
    asked: &HeaderMap,
) -> Response {
    let (size, format) = (document.size, document.format);
    let etag = format!("\"{}\"", document.etag);
    let range = match requested_range(asked, &document.etag, size) {
        RequestedRange::Unsatisfiable => return range_not_satisfiable(size),
        RequestedRange::Whole => Some(None),
        RequestedRange::Part(part) => Some(Some(part)),
        RequestedRange::Unchanged => None,
    };
    let mut response = match &range {
        None => StatusCode::NOT_MODIFIED.into_response(),
        Some(part) => {
            let stream = exports.read(document, part.clone()).inspect_err(|cause| {
                if !is_broken_off(cause) {
                    log_failure!(warn, cause, "sending an export was interrupted");
                }
            });
            let status = if part.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
            (status, Body::from_stream(stream)).into_response()
        }
    };
    let headers = response.headers_mut();
    require_revalidation(headers);
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    if let Some(part) = &range {
        set_size(headers, part.as_ref(), size);
        let name = format!("messages.{}", format.extension());
        describe(headers, format.content_type(), &name);
    }
    response
}

/// Returns the body of a response with a media file.
pub fn media_body(file: FileStream) -> Body {
    Body::from_stream(file.inspect_err(|cause| {
        if is_withdrawn(cause) || matches!(cause, DocumentError::Changed) {
            info!(%cause, "sending a media file was broken off");
        } else {
            log_failure!(error, cause, "sending a media file was interrupted");
        }
    }))
}

/// Logs that a document was broken off because of its reader's permission; returns whether it was.
fn is_broken_off(cause: &DocumentError) -> bool {
    let is_broken_off = is_withdrawn(cause);
    if is_broken_off {
        info!(%cause, "an export was broken off");
    }
    is_broken_off
}

/// Returns true if the permission of the reader ended, or could not be checked.
const fn is_withdrawn(cause: &DocumentError) -> bool {
    matches!(cause, DocumentError::Withdrawn | DocumentError::Unchecked(_))
}

/// Adds the headers of a document to save.
fn describe(headers: &mut HeaderMap, content_type: &'static str, name: &str) {
    let name = format!("attachment; filename=\"{name}\"");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
