//! Pictures of people and channels. They come from here alone; their addresses contain a version, so
//! browsers keep them.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_services::access::{Member, ReadMessages};
use chatkeep_services::pictures::version;
use chatkeep_view::{channel_path, segment};
use serde::Deserialize;

use super::Console;
use super::error::PageError;
use super::visitor::{Asked, Visitor};

/// Caching of the version that the address names, which never changes; not for longer than it is
/// kept here.
const IMMUTABLE: &str = "private, max-age=86400, immutable";
/// Caching of a picture that is not there: perhaps the platform was away.
const MISSING: &str = "private, max-age=600";

#[derive(Debug, Default, Deserialize)]
pub(super) struct PictureQuery {
    #[serde(default)]
    v: String,
}

/// Sends the picture of a person in the channel.
pub(super) async fn person(
    State(console): State<Console>,
    visitor: Visitor,
    Path((channel, person)): Path<(String, String)>,
    Asked(query): Asked<PictureQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let person = UserId::new(person);
    Ok(sent(console.services.pictures.of_person(&access, &person).await?, &query))
}

/// Sends the picture of the channel.
pub(super) async fn channel(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<PictureQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    Ok(sent(console.services.pictures.of_channel(&access).await?, &query))
}

fn sent(picture: Option<(String, Bytes)>, query: &PictureQuery) -> Response {
    let Some((version, picture)) = picture else {
        return ([(header::CACHE_CONTROL, MISSING)], StatusCode::NOT_FOUND).into_response();
    };
    let caching = if version == query.v { IMMUTABLE } else { "private, no-cache" };
    let headers = [(header::CONTENT_TYPE, "image/jpeg"), (header::CACHE_CONTROL, caching)];
    let mut response = (headers, picture).into_response();
    if let Ok(tag) = HeaderValue::try_from(format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Returns the address of a person's picture.
pub(super) fn person_picture(
    channel: &ChannelId,
    person: &UserId,
    platform: Option<&str>,
) -> Option<String> {
    let (channel, person) = (channel_path(channel), segment(person.as_str()));
    platform.map(|address| format!("{channel}/people/{person}/picture?v={}", version(address)))
}

/// Returns the address of a channel's picture.
pub(super) fn channel_picture(channel: &ChannelId, platform: Option<&str>) -> Option<String> {
    let path = channel_path(channel);
    platform.map(|address| format!("{path}/picture?v={}", version(address)))
}
