//! Content endpoints: content, previews and their transcoding status.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::log::Rule;
use crate::post::{Media, MediaState};
use crate::{Emulator, lock};

/// Availability of content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    Processing,
    Failed,
}

pub(super) async fn content(
    State(emulator): State<Emulator>,
    Path(message): Path<String>,
) -> Result<Response, Refusal> {
    let (_, media, readiness) = find(&emulator, &message)?;
    Ok(match readiness {
        Readiness::Ready => bytes(&media.content_type, media.bytes),
        Readiness::Processing => StatusCode::ACCEPTED.into_response(),
        Readiness::Failed => return Err(Refusal::not_found()),
    })
}

pub(super) async fn preview(
    State(emulator): State<Emulator>,
    Path(message): Path<String>,
) -> Result<Response, Refusal> {
    let (kind, media, readiness) = find(&emulator, &message)?;
    if !matches!(kind.as_str(), "image" | "video") {
        return Err(Refusal::not_found().because(Rule::HasContent, "preview of another type"));
    }
    Ok(match (readiness, media.preview) {
        (Readiness::Ready, Some(preview)) => bytes("image/jpeg", preview),
        (Readiness::Ready, None) => bytes(&media.content_type, media.bytes),
        (Readiness::Processing, _) => StatusCode::ACCEPTED.into_response(),
        (Readiness::Failed, _) => return Err(Refusal::not_found()),
    })
}

pub(super) async fn transcoding(
    State(emulator): State<Emulator>,
    Path(message): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let (_, _, readiness) = find(&emulator, &message)?;
    let status = match readiness {
        Readiness::Ready => "succeeded",
        Readiness::Processing => "processing",
        Readiness::Failed => "failed",
    };
    Ok(Json(json!({ "status": status })))
}

/// Returns a picture of a person or group. LINE hosts them outside of the API: for everybody who
/// knows the address. A token does not belong there.
pub(super) async fn picture(
    State(emulator): State<Emulator>,
    Path(picture): Path<usize>,
    headers: HeaderMap,
) -> Result<Response, StatusCode> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let world = lock(&emulator.shared.world);
    let picture = world.pictures.get(picture).ok_or(StatusCode::NOT_FOUND)?;
    Ok(bytes(&picture.content_type, picture.bytes.clone()))
}

/// Returns the type and the content of a message.
fn find(emulator: &Emulator, message: &str) -> Result<(String, Media, Readiness), Refusal> {
    let world = lock(&emulator.shared.world);
    let line = world.line(message).ok_or_else(|| {
        Refusal::not_found().because(Rule::IdKnown, "a message id that was never told")
    })?;
    if line.unsent_at.is_some() {
        return Err(gone());
    }
    let media = world.posts.get(message).and_then(|posted| posted.media.as_ref());
    // External content is fetched from its own address.
    let media = media.filter(|media| media.external.is_none()).ok_or_else(|| {
        Refusal::not_found().because(Rule::HasContent, "a message without content")
    })?;
    let readiness = match media.state {
        MediaState::Expired => return Err(gone()),
        MediaState::Failed => Readiness::Failed,
        MediaState::ReadyAfter(wait) if world.now() < line.at + wait => Readiness::Processing,
        MediaState::Ready | MediaState::ReadyAfter(_) => Readiness::Ready,
    };
    Ok((line.kind.clone(), media.clone(), readiness))
}

/// Content that was unsent or has expired; callers cannot know before the request.
fn gone() -> Refusal {
    Refusal::new(StatusCode::GONE, "Gone")
}

fn bytes(content_type: &str, bytes: bytes::Bytes) -> Response {
    ([(header::CONTENT_TYPE, content_type)], bytes).into_response()
}
