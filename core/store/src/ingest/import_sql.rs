//! SQL statements of imports, and their JSON rows.

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::EarlierTexts;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::imported::{ImportedMessage, ImportedPerson};
use super::imports::ImportId;
use super::sql::SavedMessage;
use crate::activity::Counted;
use crate::db::Sql;
use crate::media::MediaReason;

#[derive(Serialize)]
pub(super) struct PersonRow<'a> {
    u: &'a str,
    name: Option<&'a str>,
    picture: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ImportMediaRow<'a> {
    m: &'a str,
    status: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    sent: i64,
    why: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct FirstStored<'a> {
    #[serde(flatten)]
    message: SavedMessage<'a>,
    first: Option<i64>,
    import: i64,
}

/// Media message whose file is removed again.
#[derive(Serialize, sqlx_macros::FromRow)]
pub(super) struct LostFile {
    #[sqlx(rename = "message_id")]
    pub(super) m: String,
    #[serde(rename = "type")]
    r#type: Option<String>,
    #[serde(rename = "at")]
    created_at: i64,
    #[serde(rename = "sent")]
    sent_at: Option<i64>,
}

/// Of a message that no quota had room for only its id is known, and of one that did not come only an
/// edit; an import may bring the rest.
pub(super) const KNOWN_IDS: &str = "
    SELECT message_id, CAST(0 AS BIGINT) AS erased FROM messages
    WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))
      AND (sent_at IS NOT NULL OR unsent_at IS NOT NULL)
    UNION ALL
    SELECT message_id, CAST(1 AS BIGINT) AS erased FROM erased_messages
    WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))";

pub(super) const ERASED_PEOPLE: &str =
    "SELECT user_id, erased_at FROM erased_people WHERE channel_id = $1";

pub(super) const DELETED_BEFORE: &str = "SELECT deleted_before FROM channels WHERE channel_id = $1";

/// Builds the statement that adds imported messages. SQLite reads elements in its binary form: their
/// text would be made, and read, anew for each column.
macro_rules! add_messages {
    ($each:literal) => {
        concat!(
            "INSERT INTO messages (channel_id, message_id, sent_at, backed_up_at, sender_id, type,
                                   content, quoted_id, edited_at, unsent_at, skipped, is_bot,
                                   earlier_texts, first_kept_at, import_id)
             SELECT value ->> 'c', value ->> 'm', CAST(value ->> 'sent' AS BIGINT),
                    CAST(value ->> 'kept' AS BIGINT), value ->> 'from', value ->> 'type',
                    value ->> 'text', value ->> 'quoted', CAST(value ->> 'edited' AS BIGINT),
                    CAST(value ->> 'unsent' AS BIGINT), (value ->> 'skipped') = 't',
                    (value ->> 'bot') = 't', value ->> 'earlier',
                    CAST(value ->> 'first' AS BIGINT), CAST(value ->> 'import' AS BIGINT)
             FROM ",
            $each,
            "($1) WHERE TRUE
             ON CONFLICT (channel_id, message_id) DO UPDATE SET
                 sent_at = excluded.sent_at, backed_up_at = excluded.backed_up_at,
                 sender_id = excluded.sender_id, type = excluded.type,
                 content = excluded.content, quoted_id = excluded.quoted_id,
                 edited_at = excluded.edited_at, unsent_at = excluded.unsent_at,
                 skipped = excluded.skipped, is_bot = excluded.is_bot,
                 earlier_texts = excluded.earlier_texts,
                 first_kept_at = excluded.first_kept_at, import_id = excluded.import_id
             WHERE messages.sent_at IS NULL AND messages.unsent_at IS NULL"
        )
    };
}

pub(super) const ADD_MESSAGES: Sql =
    Sql { sqlite: add_messages!("jsonb_each"), postgres: add_messages!("json_each") };

pub(super) const ADD_MEDIA: &str = "
    INSERT INTO media (channel_id, message_id, status, created_at, type, sent_at, reason)
    SELECT $1, value ->> 'm', value ->> 'status', CAST($3 AS BIGINT), value ->> 'type',
           CAST(value ->> 'sent' AS BIGINT), value ->> 'why'
    FROM json_each($2) WHERE TRUE
    ON CONFLICT (channel_id, message_id) DO NOTHING";

/// Media messages that have no file any more.
pub(super) const ADD_EXPIRED: &str = "
    INSERT INTO media (channel_id, message_id, status, created_at, type, sent_at, reason)
    SELECT $1, value ->> 'm', 'expired', CAST(value ->> 'at' AS BIGINT), value ->> 'type',
           CAST(value ->> 'sent' AS BIGINT), $3
    FROM json_each($2) WHERE TRUE
    ON CONFLICT (channel_id, message_id) DO NOTHING";

pub(super) const COUNT_MESSAGES: &str = "
    UPDATE imports SET messages = messages + $2, active_at = $3 WHERE import_id = $1";

pub(super) const ADD_SENDERS: &str = "
    INSERT INTO imported_senders (channel_id, user_id)
    SELECT $1, value ->> 'u' FROM json_each($2) WHERE TRUE
    ON CONFLICT (channel_id, user_id) DO NOTHING";

/// People known already keep the name from the platform.
pub(super) const ADD_PEOPLE: &str = "
    INSERT INTO users (user_id, display_name, picture_url, created_at)
    SELECT value ->> 'u', value ->> 'name', value ->> 'picture', CAST($3 AS BIGINT)
    FROM json_each($2)
    WHERE NOT EXISTS (SELECT 1 FROM erased_people e
                      WHERE e.channel_id = $1 AND e.user_id = value ->> 'u')
    ON CONFLICT (user_id) DO UPDATE SET
        display_name = excluded.display_name, picture_url = excluded.picture_url
    WHERE users.display_name IS NULL";

pub(super) const ADD_CHANNEL: &str = "
    INSERT INTO channels (channel_id, platform, bot, type, created_at, created_by)
    VALUES ($1, $2, '', $3, $4, $5) ON CONFLICT (channel_id) DO NOTHING";

impl ImportedMessage {
    /// Returns its content as far as it is to be stored.
    pub(super) fn kept_content(&self) -> Option<&str> {
        self.content.as_deref().filter(|_| self.unsent_at.is_none())
    }

    /// Returns its earlier texts as far as they are to be stored, in a channel that keeps them.
    pub(super) fn kept_earlier_texts(&self) -> Option<&EarlierTexts> {
        Some(&self.earlier_texts).filter(|_| self.kept_content().is_some())
    }

    /// Returns what it is counted by; `None` for a retracted message.
    pub(super) fn counted(&self) -> Option<Counted> {
        let content = self.kept_content()?;
        let earlier = self.kept_earlier_texts().map_or(0, EarlierTexts::bytes);
        Some(Counted {
            sent_at: self.sent_at,
            sender: self.sender.clone(),
            kind: self.kind,
            is_bot: self.is_bot,
            bytes: i64::try_from(content.len()).unwrap_or(i64::MAX).saturating_add(earlier),
            origin: None,
        })
    }

    /// Returns its row.
    pub(super) fn row<'a>(
        &'a self,
        import: ImportId,
        channel: &'a ChannelId,
        stored_at: Timestamp,
    ) -> FirstStored<'a> {
        let message = SavedMessage {
            c: channel.as_str(),
            m: self.id.as_str(),
            sent: Some(self.sent_at.millis()),
            kept: Some(stored_at.millis()),
            from: self.sender.as_ref().map(UserId::as_str),
            kind: Some(self.kind.name()),
            text: self.kept_content(),
            quoted: self.quoted.as_ref().map(MessageId::as_str),
            edited: self.edited_at.map(Timestamp::millis),
            unsent: self.unsent_at.map(Timestamp::millis),
            skipped: "f",
            bot: if self.is_bot { "t" } else { "f" },
            earlier: self.kept_earlier_texts().and_then(EarlierTexts::to_json),
        };
        let first = self.kept_at.map(Timestamp::millis);
        FirstStored { message, first, import: import.number() }
    }

    /// Returns the row of its file.
    pub(super) fn media_row(&self) -> Option<ImportMediaRow<'_>> {
        let media = self.media.as_ref().filter(|_| self.unsent_at.is_none())?;
        Some(ImportMediaRow {
            m: self.id.as_str(),
            status: media.status.name(),
            kind: self.kind.name(),
            sent: self.sent_at.millis(),
            why: media.reason.map(MediaReason::name),
        })
    }
}

impl<'a> PersonRow<'a> {
    pub(super) fn of(person: &'a ImportedPerson) -> Self {
        Self {
            u: person.id.as_str(),
            name: person.display_name.as_deref(),
            picture: person.picture_url.as_deref(),
        }
    }
}
