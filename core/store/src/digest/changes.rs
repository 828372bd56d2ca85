//! Changes of a digest: messages that were edited or unsent, people who joined or left.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::sql::{EDITED, MOVES, UNSENT};
use super::{DigestKey, DigestScope};
use crate::opt_outs::OptOuts;
use crate::query::{Query, query_as};
use crate::{MemberStore, MessageStore, Sender, StoreError};

/// Change of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageEvent {
    /// Message.
    pub key: DigestKey,
    /// Time of the change.
    pub at: Timestamp,
}

/// Join or leave of a person.
#[derive(Clone, Debug)]
pub struct MemberMove {
    /// Channel.
    pub channel: ChannelId,
    /// Person.
    pub user: Sender,
    /// Time.
    pub at: Timestamp,
    /// `true` if they joined, `false` if they left.
    pub joined: bool,
}

#[derive(sqlx_macros::FromRow)]
struct MoveRow {
    channel_id: String,
    user_id: String,
    joined_at: i64,
    left_at: i64,
    display_name: Option<String>,
    picture_url: Option<String>,
}

impl MessageStore<'_> {
    /// Returns the messages that were edited in that time and are not unsent, latest first, at most
    /// `limit` of each channel; only those that were sent at or after `sent_from`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn edited_messages<'s>(
        &'s self,
        scope: DigestScope<'s>,
        sent_from: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<MessageEvent>, StoreError> {
        let keys = scope.keys()?;
        self.changed(query_as(EDITED).bind(&keys), scope, sent_from, limit).await
    }

    /// Returns the messages that were unsent or erased in that time, latest first, at most `limit` of
    /// each channel; only those that were sent at or after `sent_from`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn unsent_messages<'s>(
        &'s self,
        scope: DigestScope<'s>,
        sent_from: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<MessageEvent>, StoreError> {
        let keys = scope.keys()?;
        self.changed(query_as(UNSENT).bind(&keys), scope, sent_from, limit).await
    }

    async fn changed(
        &self,
        statement: Query<'_, (String, String, i64)>,
        scope: DigestScope<'_>,
        sent_from: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<MessageEvent>, StoreError> {
        let sent_from = sent_from.map_or(i64::MIN, Timestamp::millis);
        let statement = statement.bind(scope.millis()).bind(sent_from).bind(i64::from(limit));
        let rows = self.store.db.fetch_all(statement).await?;
        let event = |(c, m, at): (String, String, i64)| MessageEvent {
            key: (c.into(), m.into()),
            at: Timestamp::from_millis(at),
        };
        Ok(rows.into_iter().map(event).collect())
    }
}

impl MemberStore<'_> {
    /// Returns the last known join and leave of each person in that time, latest first. Guests, and
    /// what people did while they had opted out, are left out.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn moves<'s>(
        &'s self,
        scope: DigestScope<'s>,
    ) -> Result<Vec<MemberMove>, StoreError> {
        let keys = scope.keys()?;
        let moves = query_as(MOVES).bind(&keys).bind(scope.millis());
        let rows: Vec<MoveRow> = self.store.db.fetch_all(moves).await?;
        let users: Vec<_> = rows.iter().map(|row| UserId::from(row.user_id.as_str())).collect();
        let opt_outs = OptOuts::read(&self.store.db, &users).await?;
        let mut moves: Vec<_> = rows.into_iter().flat_map(MoveRow::moves).collect();
        moves.retain(|one| {
            one.at >= scope.from && !opt_outs.refuse(&one.channel, &one.user.id, one.at)
        });
        moves.sort_by(|a, b| (b.at, &b.user.id, b.joined).cmp(&(a.at, &a.user.id, a.joined)));
        Ok(moves)
    }
}

impl MoveRow {
    fn moves(self) -> [MemberMove; 2] {
        let user = Sender {
            id: self.user_id.into(),
            display_name: self.display_name,
            picture_url: self.picture_url,
        };
        [(self.joined_at, true), (self.left_at, false)].map(|(at, joined)| MemberMove {
            channel: self.channel_id.as_str().into(),
            user: user.clone(),
            at: Timestamp::from_millis(at),
            joined,
        })
    }
}
