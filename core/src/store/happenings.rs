//! What happened, in the order it was committed: the pull feed of events, and later the source of
//! outgoing webhooks.
//!
//! A row is written in the transaction that does what it tells of, and holds ids only. What they
//! stand for is read when it is told, so nothing that was erased meanwhile can be told.

use sqlx::{query, query_as};

use super::change_log::shown;
use super::channels::channel_keys;
use super::db::{Pools, Sql, Tx, exec, read, run};
use super::happening_kind::HappeningKind;
use super::unkept::Unkept;
use super::{Store, StoreError, parsed};
use crate::id::{ChannelId, UserId};
use crate::time::Timestamp;

/// Rows looked at in one read, at most: what bounds the work for a caller whose channels are quiet
/// among many busy ones.
const WINDOW: i64 = 20_000;
/// Old rows deleted at a time.
const SWEEP: i64 = 5_000;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// Where it stands in the order.
    pub place: Place,
    /// What.
    pub kind: HappeningKind,
    /// When, by the platform's clock where that tells.
    pub at: Timestamp,
    /// In which channel; `None` for what is about a user alone.
    pub channel: Option<ChannelId>,
    /// The message, or the person.
    pub subject: Option<String>,
    /// What else it is about: the webhook that was disabled.
    pub detail: Option<String>,
    /// What there is to tell of a message that is not kept.
    pub unkept: Option<Unkept>,
}

/// A place in the order of what happened.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Place(
    /// The transaction (always 0 on SQLite).
    pub i64,
    /// Its number.
    pub i64,
);

impl Place {
    /// The name by which what stands here is told on every surface.
    pub fn event_id(self) -> String {
        format!("evt_{}_{}", self.0, self.1)
    }
}

/// A part of what happened.
#[derive(Debug, Default)]
pub struct Feed {
    /// In order.
    pub happenings: Vec<Happening>,
    /// Where the next part starts.
    pub next: Place,
    /// Whether there may be more already.
    pub more: bool,
}

/// Who reads.
#[derive(Clone, Copy, Debug)]
pub struct FeedReader<'a> {
    /// Whose usage they may know.
    pub user: &'a UserId,
    /// Channels that they may read.
    pub channels: &'a [ChannelId],
    /// Nothing from before this.
    pub not_before: Option<Timestamp>,
}

/// Something to write down.
#[derive(Debug, serde::Serialize)]
pub(super) struct NewHappening<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) at: i64,
    pub(super) c: Option<&'a str>,
    pub(super) s: Option<&'a str>,
}

/// What happened to a message, to write down.
#[derive(Debug, serde::Serialize)]
pub(super) struct NewMessage<'a> {
    #[serde(flatten)]
    pub(super) happening: NewHappening<'a>,
    /// An [`Unkept`] as JSON, for a message that is not kept.
    pub(super) unkept: Option<String>,
}

/// A message that is not kept is written down once, however often it comes.
const ADD: &str = "
    INSERT INTO happenings (type, at, logged_at, channel_id, subject_id, unkept)
    SELECT value ->> 'type', CAST(value ->> 'at' AS BIGINT), CAST($2 AS BIGINT), value ->> 'c',
           value ->> 's', value ->> 'unkept'
    FROM json_each($1) WHERE TRUE
    ON CONFLICT DO NOTHING";

/// PostgreSQL commits transactions in another order than they take their numbers, so a reader
/// goes by transaction, and only as far as none of this database is running any more.
pub(super) const WINDOW_END: Sql = Sql {
    sqlite: "SELECT CAST(0 AS BIGINT), MAX(seq) FROM (
                 SELECT seq FROM happenings WHERE $1 = $1 AND seq > $2 ORDER BY seq LIMIT $3) w",
    postgres: "SELECT tx, seq FROM (
                   SELECT tx, seq FROM happenings
                   WHERE (tx, seq) > ($1, $2)
                     AND tx < (SELECT chatkeep_log_bound(pg_current_snapshot()))
                   ORDER BY tx, seq LIMIT $3) w
               ORDER BY tx DESC, seq DESC LIMIT 1",
};

const ROWS: Sql = Sql {
    sqlite: concat!(
        "SELECT CAST(0 AS BIGINT) AS tx, seq, type, at, channel_id, subject_id, detail_id,
                unkept
             FROM happenings
             WHERE $1 = $1 AND seq > $2 AND $3 = $3 AND seq <= $4 AND at >= $7 AND ",
        shown!(),
        "
               AND (channel_id IN (SELECT value ->> 'c' FROM json_each($5))
                    OR (channel_id IS NULL AND subject_id = $6))
             ORDER BY seq LIMIT $8"
    ),
    postgres: concat!(
        "SELECT tx, seq, type, at, channel_id, subject_id, detail_id, unkept
               FROM happenings
               WHERE (tx, seq) > ($1, $2) AND (tx, seq) <= ($3, $4) AND at >= $7 AND ",
        shown!(),
        "
                 AND (channel_id IN (SELECT value ->> 'c' FROM json_each($5))
                      OR (channel_id IS NULL AND subject_id = $6))
               ORDER BY tx, seq LIMIT $8"
    ),
};

/// The oldest rows first; nothing behind a young one is looked at.
const PURGE: Sql = Sql {
    sqlite: "DELETE FROM happenings WHERE seq IN (
                 SELECT seq FROM (SELECT seq, logged_at FROM happenings ORDER BY seq LIMIT $2) o
                 WHERE logged_at < $1)
             RETURNING CAST(0 AS BIGINT), seq",
    postgres: "DELETE FROM happenings WHERE (tx, seq) IN (
                   SELECT tx, seq FROM
                       (SELECT tx, seq, logged_at FROM happenings ORDER BY tx, seq LIMIT $2) o
                   WHERE logged_at < $1)
               RETURNING tx, seq",
};

/// Who has read less than this has missed something.
const PURGED: &str = "
    UPDATE deployment SET purged_tx = $1, purged_seq = $2
    WHERE purged_tx < $1 OR (purged_tx = $1 AND purged_seq < $2)";

/// Rows of another server (a restored dump) whose transactions this one has yet to reach.
const ADOPT: &str = "
    UPDATE happenings SET tx = 0
    WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

/// Whoever makes deliveries of them has read as far in them as before.
const ADOPT_READER: &str = "
    UPDATE webhook_feed SET tx = 0
    WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

/// Whether rows of such transactions were purged.
const FOREIGN_PURGE: &str = "
    SELECT purged_tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM deployment";

#[derive(Debug, sqlx::FromRow)]
struct Row {
    tx: i64,
    seq: i64,
    r#type: String,
    at: i64,
    channel_id: Option<String>,
    subject_id: Option<String>,
    detail_id: Option<String>,
    unkept: Option<String>,
}

/// Writes down what happened, in order: [`NewHappening`]s or [`NewMessage`]s.
pub(super) async fn log<T: serde::Serialize + Sync>(
    tx: &mut Tx,
    happenings: &[T],
    now: Timestamp,
) -> Result<(), StoreError> {
    if happenings.is_empty() {
        return Ok(());
    }
    let rows = serde_json::to_string(happenings)?;
    exec!(tx, query(ADD).bind(&rows).bind(now.millis()))?;
    tx.note_logged();
    Ok(())
}

impl Store {
    /// What happened after `after` that the reader may know, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn happenings(
        &self,
        reader: FeedReader<'_>,
        after: Place,
        limit: u32,
    ) -> Result<Feed, StoreError> {
        let Some(end) = self.window_end(after).await? else {
            return Ok(Feed { next: after, ..Feed::default() });
        };
        let channels = channel_keys(reader.channels)?;
        let from = reader.not_before.map_or(i64::MIN, Timestamp::millis);
        let sql = self.pick(ROWS);
        let rows: Vec<Row> = read!(self, c => query_as(sql)
            .bind(after.0).bind(after.1).bind(end.0).bind(end.1).bind(&channels)
            .bind(reader.user.as_str()).bind(from).bind(i64::from(limit)).fetch_all(c))?;
        let happenings =
            rows.into_iter().map(Happening::try_from).collect::<Result<Vec<_>, _>>()?;
        let full = happenings.len() >= limit as usize;
        let next = happenings.last().filter(|_| full).map_or(end, |last| last.place);
        let more = full || self.window_end(next).await?.is_some();
        Ok(Feed { happenings, next, more })
    }

    async fn window_end(&self, after: Place) -> Result<Option<Place>, StoreError> {
        let sql = self.pick(WINDOW_END);
        let end: Option<(Option<i64>, Option<i64>)> = read!(self, c => query_as(sql)
            .bind(after.0).bind(after.1).bind(WINDOW).fetch_optional(c))?;
        Ok(end.and_then(|(tx, seq)| Some(Place(tx?, seq?))))
    }

    /// Deletes some of what was written down before `before`. Says how much.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn purge_happenings(&self, before: Timestamp) -> Result<u64, StoreError> {
        let sql = self.pick(PURGE);
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let gone: Vec<(i64, i64)> = run!(tx_ref, c => query_as(sql)
            .bind(before.millis()).bind(SWEEP).fetch_all(c))?;
        if let Some((last_tx, last_seq)) = gone.iter().max() {
            exec!(tx_ref, query(PURGED).bind(last_tx).bind(last_seq))?;
        }
        tx.commit().await?;
        Ok(gone.len() as u64)
    }

    /// Makes rows readable that came from another PostgreSQL server.
    pub(super) async fn adopt_happenings(&self) -> Result<(), StoreError> {
        if let Pools::Postgres(pool) = &self.db.pools {
            let adopted = query(ADOPT).execute(pool).await?.rows_affected();
            let (purged,): (bool,) = query_as(FOREIGN_PURGE).fetch_one(pool).await?;
            let readers = query(ADOPT_READER).execute(pool).await?.rows_affected();
            if purged || adopted + readers > 0 {
                self.renew_epoch().await?;
            }
        }
        Ok(())
    }
}

impl TryFrom<Row> for Happening {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let kind = HappeningKind::parse(&row.r#type);
        let unkept = Unkept::read(row.unkept.as_deref(), "happenings", &row.seq.to_string())?;
        Ok(Self {
            place: Place(row.tx, row.seq),
            kind: parsed(kind, "happenings", "type", &row.seq.to_string())?,
            at: Timestamp::from_millis(row.at),
            channel: row.channel_id.map(ChannelId::from),
            subject: row.subject_id,
            detail: row.detail_id,
            unkept,
        })
    }
}
