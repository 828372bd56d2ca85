//! Media files of a channel: the list, and each file as a stream.
//!
//! A file that is not there is 404 "Not found", and `code` says why: `media_pending` (with
//! `Retry-After`), `media_skipped`, `media_failed`, `media_expired`, `media_erased`, `no_preview`,
//! and `media_missing` when the record knows of a file that is gone from the media store.

mod headers;
mod range;
mod refused;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MediaFilter, MediaItem, MediaRecord, MediaStatus, StoredMessage};
use chatkeep_workers::log_failure;
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tracing::{debug, warn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::auth::{ChannelAccess, Member, ReadMedia};
use super::cursor::Page;
use super::error::ApiError;
use super::extract::{Limit, Path, Query};
use super::messages::MessagePath;
use super::route::{Answer, Describe, Output};
use crate::services::{decode_cursor, encode_cursor};
use range::RequestedRange;
use refused::Refused;

/// `GET …/backup/media`.
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
    /// Status of the file: `pending`, `stored`, `skipped`, `failed`, `expired` or `erased`.
    media_status: &'static str,
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
    /// Reason for the status `failed` or `expired`.
    reason: Option<String>,
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

/// A blob to send, and what it is.
struct File {
    blob: BlobId,
    content_type: String,
    name: String,
}

pub(super) async fn list(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMedia>,
    Query(query): Query<MediaQuery>,
) -> Result<Page<MediaList>, ApiError> {
    let binding = format!("media:{}:{:?}", access.channel, query.kind);
    let after: Option<(i64, MessageId)> =
        query.cursor.as_deref().map(|text| decode_cursor(&binding, text)).transpose()?;
    let filter = MediaFilter {
        from: access.not_before(),
        kind: query.kind.map(MessageType::from),
        after: after.map(|(at, id)| (Timestamp::from_millis(at), id)),
        limit: query.limit.0,
    };
    let page = api.store.media().media_page(&access.channel, &filter).await?;
    let next = page.next.and_then(|(at, id)| encode_cursor(&binding, &(at.millis(), id)));
    let media = page.media.into_iter().map(MediaView::from).collect();
    Ok(Page { body: MediaList { media, next_cursor: next.clone() }, next })
}

pub(super) async fn file(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMedia>,
    Path(path): Path<MessagePath>,
    Query(query): Query<FileQuery>,
    asked: HeaderMap,
) -> Result<FileResponse, ApiError> {
    let sent = send(&api, &access, &path.message, query.preview, &asked).await;
    Ok(FileResponse(sent.unwrap_or_else(Refused::into_response)))
}

async fn send(
    api: &Api,
    access: &ChannelAccess<Member, ReadMedia>,
    id: &MessageId,
    preview: bool,
    asked: &HeaderMap,
) -> Result<Response, Refused> {
    let message = api.store.messages().message(&access.channel, id).await?;
    let readable = |m: &StoredMessage| access.caller.bounds.reads(m.sent_at);
    let message = message.filter(readable).ok_or(ApiError::NotFound)?;
    let file = File::of(message, preview)?;
    let size = api.blobs.size(&file.blob).await?.ok_or_else(|| missing(api, &file.blob))?;
    let (wanted, etag) = (range::wanted(asked, file.blob.as_str(), size), file.etag()?);
    let mut response = match &wanted {
        RequestedRange::Unchanged => StatusCode::NOT_MODIFIED.into_response(),
        RequestedRange::Unsatisfiable => return Err(Refused::Unsatisfiable(size)),
        RequestedRange::Whole => Response::new(body(api, &file, None).await?),
        RequestedRange::Part(part) => {
            let body = body(api, &file, Some(part.clone())).await?;
            (StatusCode::PARTIAL_CONTENT, body).into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    headers::caching(headers);
    match wanted {
        RequestedRange::Whole => headers::length(headers, size),
        RequestedRange::Part(part) => headers::part(headers, &part, size),
        RequestedRange::Unchanged | RequestedRange::Unsatisfiable => return Ok(response),
    }
    headers::content(headers, &file.content_type, &file.name);
    Ok(response)
}

async fn body(api: &Api, file: &File, part: Option<std::ops::Range<u64>>) -> Result<Body, Refused> {
    let read = api.blobs.get(&file.blob, part).await?;
    // The status is out already: all that is left is to break the connection off and to say so.
    let stream = read.stream.inspect_err(|cause| {
        log_failure!(error, cause, "sending a media file was interrupted");
    });
    Ok(Body::from_stream(stream))
}

fn missing(api: &Api, blob: &BlobId) -> Refused {
    if api.blobs.availability().is_away() {
        debug!(%blob, "the file of a message is missing from the media store");
    } else {
        warn!(%blob, "the file of a message is missing from the media store");
    }
    Refused::Absent("media_missing")
}

impl File {
    /// Returns a message's file, or its preview.
    fn of(message: StoredMessage, preview: bool) -> Result<Self, Refused> {
        let record = message.media.ok_or(ApiError::NotFound)?;
        let code = match record.status {
            MediaStatus::Stored => None,
            MediaStatus::Pending => Some("media_pending"),
            MediaStatus::Skipped => Some("media_skipped"),
            MediaStatus::Failed => Some("media_failed"),
            MediaStatus::Expired => Some("media_expired"),
            MediaStatus::Erased => Some("media_erased"),
        };
        if let Some(code) = code {
            return Err(Refused::Absent(code));
        }
        let id = message.id.as_str();
        if preview {
            let preview = record.preview.ok_or(Refused::Absent("no_preview"))?;
            let (blob, content_type) = (preview.blob, preview.content_type);
            let name = headers::file_name(None, &format!("{id}-preview"), &content_type);
            return Ok(Self { blob, content_type, name });
        }
        let blob = record.blob.ok_or(Refused::Absent("media_missing"))?;
        let content_type = record.content_type.unwrap_or_default();
        let info = message.content.and_then(info);
        let given = info.as_ref().and_then(|info| info.file_name.as_deref());
        let name = headers::file_name(given, id, &content_type);
        Ok(Self { blob, content_type, name })
    }

    fn etag(&self) -> Result<HeaderValue, ApiError> {
        HeaderValue::try_from(format!("\"{}\"", self.blob)).map_err(|_| ApiError::Internal)
    }
}

fn info(content: Content) -> Option<MediaInfo> {
    match content {
        Content::Image(info)
        | Content::Video(info)
        | Content::Audio(info)
        | Content::File(info) => Some(info),
        _ => None,
    }
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

impl From<MediaItem> for MediaView {
    fn from(item: MediaItem) -> Self {
        let MediaRecord { status, bytes, blob, content_type, reason, .. } = item.record;
        Self {
            id: item.message,
            timestamp: item.sent_at,
            kind: item.kind,
            media_status: status.name(),
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
