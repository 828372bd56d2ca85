//! The photos and files of a channel.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::message::MessageType;
use chatkeep_services::access::{Member, ReadMedia};
use chatkeep_services::media::MediaListQuery;
use chatkeep_store::{MediaItem, MediaStatus};
use serde::Deserialize;

use super::Console;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::{context_path, kind_key, media_path, missing_key, size, visible};
use super::visitor::{Asked, Visitor};

/// Files of a page.
const LIMIT: u32 = 40;

#[derive(Debug, Default, Deserialize)]
pub(super) struct WallQuery {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "console/media.html", whitespace = "minimize")]
struct MediaPage {
    frame: Frame,
    channel: Heading,
    tiles: Vec<Tile>,
    next: Option<String>,
}

/// A file on the wall.
struct Tile {
    /// Path of the message in the conversation.
    context: String,
    /// Path of a picture of it.
    picture: Option<String>,
    kind: String,
    /// Name of the file, or why it is not there.
    label: Option<String>,
    when: String,
    size: Option<String>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<WallQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMedia>(&console, &channel).await?;
    let query = MediaListQuery { kind: None, limit: LIMIT, cursor: query.cursor };
    let (media, next) = console.services.media.page(&access, &query).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Media).await?;
    let page = MediaPage {
        frame: visitor.frame(visitor.language.text("media-wall")),
        tiles: media.iter().map(|item| Tile::new(item, dates)).collect(),
        next: next.map(|cursor| format!("{}/media?cursor={cursor}", channel.path)),
        channel,
    };
    rendered(&page)
}

impl Tile {
    fn new(item: &MediaItem, dates: Dates) -> Self {
        let language = dates.language;
        let kind = language.text(kind_key(item.kind));
        let stored = item.record.status == MediaStatus::Stored;
        let file = stored.then(|| media_path(&item.channel, &item.message));
        let preview = item.record.preview.is_some();
        let photo = item.kind == MessageType::Image;
        let picture = file.as_ref().filter(|_| preview || photo);
        let status = || language.text(&missing_key(Some(&item.record)));
        Self {
            context: context_path(&item.channel, &item.message),
            picture: picture
                .map(|file| if preview { format!("{file}?preview=true") } else { file.clone() }),
            // A stored file without a name, such as a voice message, is named by its kind alone.
            label: if stored { visible(item.info.file_name.clone()) } else { Some(status()) },
            kind,
            when: dates.date(dates.day(item.sent_at)),
            size: (item.record.bytes > 0).then(|| size(item.record.bytes)),
        }
    }
}
