//! Media files of a channel: the list, and each file as a stream.
//!
//! A file that is not there is 404, and `code` says why: `media_pending` (with `Retry-After`),
//! `media_skipped`, `media_failed`, `media_expired`, `media_erased`, `no_preview`, and
//! `media_missing` when the record knows of a file that is gone from the media store, or
//! has another size there.

mod headers;
mod refused;
#[cfg(test)]
mod tests;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::MessageId;
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{
    HttpError, Path, Query, RequestedRange, media_body, requested_range, require_revalidation,
    set_size,
};
use chatkeep_services::Services;
use chatkeep_services::access::{ChannelAccess, Member, ReadMedia};
use chatkeep_services::media::{MediaFile, MediaListQuery};
use chatkeep_store::{MediaItem, MediaReason, MediaRecord, MediaStatus};
use chatkeep_view::pseudonyms::Masked;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::{IntoParams, ToSchema};

use super::cursor::Page;
use super::extract::Limit;
use super::messages::MessagePath;
use super::route::{Answer, Describe, Output};
use refused::Refused;

/// Page of media files.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MediaList {
    /// Files of the page, newest first.
    media: Vec<MediaView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A media file.
#[derive(Serialize, ToSchema)]
#[schema(as = Media)]
#[serde(rename_all = "camelCase")]
struct MediaView {
    /// ID of the message.
    id: MessageId,
    /// Time at which the message was sent.
    timestamp: Timestamp,
    /// Type of the message.
    #[serde(rename = "type")]
    kind: MessageType,
    /// Status of the file.
    media_status: MediaStatus,
    /// Media type; detected from the file's content once it is stored.
    content_type: Option<String>,
    /// Original name of the file; null when the platform does not provide it.
    file_name: Option<String>,
    /// Size in bytes, as reported by the platform.
    file_size: Option<i64>,
    /// Stored bytes, as they count against the quota.
    bytes: i64,
    /// The SHA-256 of the stored file, in hexadecimal; null until it is stored.
    sha256: Option<String>,
    /// Duration in milliseconds.
    duration: Option<i64>,
    /// Reason for the status `failed`, `expired` or `skipped`; null when the status says enough.
    reason: Option<MediaReason>,
}

/// Message types that have files.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum MediaType {
    Image,
    Video,
    Audio,
    File,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct MediaQuery {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
    /// Only files of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<MediaType>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct FileQuery {
    /// Returns the preview instead of the file.
    #[serde(default)]
    preview: bool,
}

/// A file, or why there is none.
pub(super) struct FileResponse(Response);

pub(super) async fn list(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMedia>,
    Query(query): Query<MediaQuery>,
) -> Result<Page<MediaList>, HttpError> {
    let MediaQuery { limit, cursor, kind } = query;
    let query = MediaListQuery { kind: kind.map(MessageType::from), limit: limit.0, cursor };
    let (media, next) = services.media.page(&access, &query).await?;
    let media = media.into_iter().map(MediaView::from).collect();
    Ok(Page { body: MediaList { media, next_cursor: next.clone() }, next })
}

pub(super) async fn file(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMedia>,
    Path(path): Path<MessagePath>,
    Query(query): Query<FileQuery>,
    asked: HeaderMap,
) -> Result<FileResponse, HttpError> {
    let sent = match services.media.file(&access, &path.message, query.preview).await {
        Ok(file) => send(&services, &access, &file, &asked).await,
        Err(error) => Err(error.into()),
    };
    Ok(FileResponse(sent.unwrap_or_else(Refused::into_response)))
}

async fn send(
    services: &Services,
    access: &ChannelAccess<Member, ReadMedia>,
    file: &MediaFile,
    asked: &HeaderMap,
) -> Result<Response, Refused> {
    let size = file.size;
    let (wanted, etag) = (requested_range(asked, file.blob.as_str(), size), etag(file)?);
    let mut response = match &wanted {
        RequestedRange::Unchanged => StatusCode::NOT_MODIFIED.into_response(),
        RequestedRange::Unsatisfiable => return Err(Refused::Unsatisfiable(size)),
        RequestedRange::Whole => Response::new(body(services, access, file, None).await?),
        RequestedRange::Part(part) => {
            let body = body(services, access, file, Some(part.clone())).await?;
            (StatusCode::PARTIAL_CONTENT, body).into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    require_revalidation(headers);
    match wanted {
        RequestedRange::Whole => set_size(headers, None, size),
        RequestedRange::Part(part) => set_size(headers, Some(&part), size),
        RequestedRange::Unchanged | RequestedRange::Unsatisfiable => return Ok(response),
    }
    headers::content(headers, &file.content_type, &name(file));
    Ok(response)
}

async fn body(
    services: &Services,
    access: &ChannelAccess<Member, ReadMedia>,
    file: &MediaFile,
    part: Option<std::ops::Range<u64>>,
) -> Result<Body, HttpError> {
    Ok(media_body(services.media.read(access, file, part).await?))
}

/// Returns the name under which a browser saves the file.
fn name(file: &MediaFile) -> String {
    let id = file.message.as_str();
    if file.is_preview {
        return headers::file_name(None, &format!("{id}-preview"), &file.content_type);
    }
    headers::file_name(file.name.as_deref(), id, &file.content_type)
}

fn etag(file: &MediaFile) -> Result<HeaderValue, HttpError> {
    HeaderValue::try_from(format!("\"{}\"", file.blob)).map_err(|_| HttpError::Internal)
}

impl IntoResponse for FileResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Output for FileResponse {
    fn describe(route: &mut Describe) {
        let answers = [
            (StatusCode::OK, "The file"),
            (StatusCode::PARTIAL_CONTENT, "The requested range of the file"),
        ];
        for (status, description) in answers {
            let bytes = || {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
            };
            // By name, too, for generated clients that do not know `*/*`.
            let kinds = ["application/octet-stream", "*/*"];
            let content = kinds.map(|kind| (kind, Some(bytes().into()))).to_vec();
            let headers = vec!["Accept-Ranges", "Content-Disposition", "Content-Range"];
            let links = Vec::new();
            route.answers.push(Answer { status, description, content, headers, links });
        }
        route.takes_range();
        route.refuses(&[StatusCode::RANGE_NOT_SATISFIABLE]);
    }
}

impl From<MediaType> for MessageType {
    fn from(kind: MediaType) -> Self {
        match kind {
            MediaType::Image => Self::Image,
            MediaType::Video => Self::Video,
            MediaType::Audio => Self::Audio,
            MediaType::File => Self::File,
        }
    }
}

impl From<Masked<MediaItem>> for MediaView {
    fn from(item: Masked<MediaItem>) -> Self {
        let item = item.into_row();
        let MediaRecord { status, bytes, blob, content_type, reason, .. } = item.record;
        Self {
            id: item.message,
            timestamp: item.sent_at,
            kind: item.kind,
            media_status: status,
            content_type,
            file_name: item.info.file_name,
            file_size: item.info.file_size,
            bytes,
            sha256: blob.map(|blob| blob.as_str().to_owned()),
            duration: item.info.duration,
            reason,
        }
    }
}
