//! Lists of media messages with the records of their files.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::time::Timestamp;

use super::super::{MediaStore, StoreError, parsed};
use super::{MediaFilter, MediaItem, MediaPage, MediaRow, media_columns};
use crate::db::Sql;
use crate::query::query_as;

#[derive(Debug, sqlx_macros::FromRow)]
struct ItemRow {
    channel_id: String,
    message_id: String,
    r#type: Option<String>,
    sent_at: Option<i64>,
    content: Option<String>,
    #[sqlx(flatten)]
    media: MediaRow,
}

macro_rules! items {
    ($rest:literal) => {
        items!("media f JOIN messages m", $rest)
    };
    ($tables:literal, $rest:literal) => {
        concat!(
            "SELECT f.channel_id, f.message_id, f.type, f.sent_at, m.content, ",
            media_columns!(),
            " FROM ",
            $tables,
            " ON m.channel_id = f.channel_id AND m.message_id = f.message_id ",
            $rest
        )
    };
}

/// Builds the statement of a page of one type: messages have an index of types, files have none.
macro_rules! of_type {
    ($tables:literal) => {
        items!(
            $tables,
            "WHERE m.channel_id = $1 AND m.type = $5 AND m.type <> 'text' AND m.sent_at IS NOT NULL
               AND m.sent_at >= $2 AND (m.sent_at, m.message_id) < ($3, $4)
               AND f.sent_at IS NOT NULL AND f.type = $5
             ORDER BY m.sent_at DESC, m.message_id DESC LIMIT $6"
        )
    };
}

const PAGE: &str = items!(
    "WHERE f.channel_id = $1 AND f.sent_at >= $2 AND (f.sent_at, f.message_id) < ($3, $4)
       AND (CAST($5 AS TEXT) IS NULL OR f.type = $5)
     ORDER BY f.sent_at DESC, f.message_id DESC LIMIT $6"
);

/// SQLite, which has no statistics, is told the index and the order of the tables.
const PAGE_OF_TYPE: Sql = Sql {
    sqlite: of_type!("messages m INDEXED BY messages_by_type CROSS JOIN media f"),
    postgres: of_type!("messages m JOIN media f"),
};

const ONE: &str = items!("WHERE f.channel_id = $1 AND f.message_id = $2");

const PENDING: &str = items!(
    "WHERE f.status = 'pending' AND f.created_at < $1
     ORDER BY f.created_at, f.channel_id, f.message_id LIMIT $2 OFFSET $3"
);

impl MediaStore<'_> {
    /// Returns a page of a channel's media, newest first, without erased files.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn media_page(
        &self,
        channel: &ChannelId,
        filter: &MediaFilter,
    ) -> Result<MediaPage, StoreError> {
        let from = filter.from.map_or(i64::MIN, Timestamp::millis);
        let (at, id) = match &filter.after {
            Some((at, id)) => (at.millis(), id.as_str()),
            None => (i64::MAX, ""),
        };
        let kind = filter.kind.map(MessageType::name);
        let wanted = i64::from(filter.limit) + 1;
        let page = if kind.is_some() { PAGE_OF_TYPE } else { PAGE.into() };
        let rows: Vec<ItemRow> = self
            .store
            .db
            .fetch_all(
                query_as(page)
                    .bind(channel.as_str())
                    .bind(from)
                    .bind(at)
                    .bind(id)
                    .bind(kind)
                    .bind(wanted),
            )
            .await?;
        let mut media = rows.into_iter().map(MediaItem::try_from).collect::<Result<Vec<_>, _>>()?;
        let more = media.len() > filter.limit as usize;
        media.truncate(filter.limit as usize);
        let next = media.last().filter(|_| more).map(|item| (item.sent_at, item.message.clone()));
        Ok(MediaPage { media, next })
    }

    /// Returns one media message; `None` when there is none, or it was retracted.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn get(
        &self,
        channel: &ChannelId,
        message: &MessageId,
    ) -> Result<Option<MediaItem>, StoreError> {
        let row: Option<ItemRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE).bind(channel.as_str()).bind(message.as_str()))
            .await?;
        row.map(MediaItem::try_from).transpose()
    }

    /// Returns media with a download pending since before `before`, oldest first, without the first
    /// `skip`: the remains of lost jobs, and what waits for room.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn pending_media(
        &self,
        before: Timestamp,
        limit: u32,
        skip: i64,
    ) -> Result<Vec<MediaItem>, StoreError> {
        let pending = query_as(PENDING).bind(before.millis()).bind(i64::from(limit)).bind(skip);
        let rows: Vec<ItemRow> = self.store.db.fetch_all(pending).await?;
        rows.into_iter().map(MediaItem::try_from).collect()
    }
}

impl TryFrom<ItemRow> for MediaItem {
    type Error = StoreError;

    fn try_from(row: ItemRow) -> Result<Self, StoreError> {
        let id = row.message_id;
        let kind = row.r#type.as_deref().and_then(MessageType::parse);
        let content = row.content.as_deref().map(serde_json::from_str::<Content>).transpose();
        let info = match parsed(content.ok(), "messages", "content", &id)? {
            Some(
                Content::Image(info)
                | Content::Video(info)
                | Content::Audio(info)
                | Content::File(info),
            ) => info,
            _ => MediaInfo::default(),
        };
        Ok(Self {
            kind: parsed(kind, "media", "type", &id)?,
            sent_at: parsed(row.sent_at.map(Timestamp::from_millis), "media", "sent_at", &id)?,
            record: parsed(row.media.record(&id)?, "media", "status", &id)?,
            channel: row.channel_id.into(),
            message: id.into(),
            info,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn a_page_of_one_type_reads_no_others() {
        let steps = plan(PAGE_OF_TYPE.sqlite).await.join("\n");
        let index = "messages_by_type (channel_id=? AND type=? AND sent_at>";
        assert!(steps.contains(index) && !steps.contains("TEMP B-TREE"), "{steps}");
    }
}
