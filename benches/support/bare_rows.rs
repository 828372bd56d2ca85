//! The second baseline for the drain into PostgreSQL: exactly the rows that the backup stage stores,
//! in chatkeep's own tables with their partitions and indexes, by arrays in as few statements as they
//! need. Nothing is read, checked or decoded, so the distance to [`super::bare_insert`] is what the
//! data model costs, and the distance to the pipeline what its code and the bus cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use chatkeep_core::config::Database;
use chatkeep_store::Store;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tokio::task::JoinSet;

use super::bare_insert::Figures;
use super::shape;

/// Rows per transaction, as many as the stage stores at once.
const BATCH: usize = 5_000;

/// Time of storing, and the begin of its day, in milliseconds.
const NOW: (i64, i64) = (1_800_000_000_000, 1_799_971_200_000);

const MESSAGES: &str = "
    INSERT INTO messages (channel_id, message_id, sent_at, content, backed_up_at, sender_id, type)
    SELECT c, m, at, content, $6, sender, 'text'
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
         AS row (c, m, at, content, sender)";

const EVENTS: &str = "
    INSERT INTO outbox_events (type, at, logged_at, channel_id, subject_id)
    SELECT 'message.received', at, $4, c, m
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS row (c, m, at)";

/// In the order of their keys, so that writers beside each other cannot deadlock.
const LOCK: &str = "
    SELECT channel_id FROM channels WHERE channel_id = ANY($1::text[])
    ORDER BY channel_id FOR NO KEY UPDATE";

const CHANNELS: &str = "
    UPDATE channels SET bytes = bytes + $2, message_count = message_count + $3, counted_at = $4
    WHERE channel_id = ANY($1::text[])";

const USERS: &str = "UPDATE users SET used_bytes = used_bytes + $1 WHERE user_id = 'U1'";

const USAGE: &str = "
    INSERT INTO usage_days (user_id, day, bytes)
    SELECT user_id, $1, used_bytes FROM users WHERE user_id = 'U1'
    ON CONFLICT (user_id, day) DO UPDATE SET bytes = excluded.bytes";

/// The counters of texts: three a channel, and two for each person.
const ACTIVITY: &str = "
    INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
    SELECT c, counter, at, item, messages, CASE WHEN counter = 'type' THEN $5 ELSE 0 END
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $6::bigint[])
         AS row (c, counter, at, item, messages)
    ON CONFLICT (channel_id, counter, at, item) DO UPDATE SET
        messages = activity_counters.messages + excluded.messages,
        bytes = activity_counters.bytes + excluded.bytes";

/// Columns of a batch.
#[derive(Default)]
struct Rows {
    channels: Vec<String>,
    messages: Vec<String>,
    times: Vec<i64>,
    contents: Vec<String>,
    senders: Vec<String>,
}

/// Creates chatkeep's tables in an empty database, with `channels` channels and their subscriber.
pub(crate) async fn prepare(url: &str, channels: usize) -> Result<()> {
    Store::open(&Database::Postgres(url.into()), Path::new("."), 1).await?.close().await;
    let sql = format!(
        "INSERT INTO channels (channel_id, platform, bot, type, created_at)
         SELECT 'C' || lpad(to_hex(n), 32, '0'), 'line', 'main', 'group', 1
         FROM generate_series(0, {channels} - 1) n;
         INSERT INTO users (user_id, created_at) VALUES ('U1', 1);"
    );
    let mut connection = PgConnection::connect(url).await?;
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    Ok(())
}

/// Stores `rows` messages (rounded down to whole batches) of `channels` channels in a prepared
/// database, over `connections` connections.
pub(crate) async fn postgres(
    url: &str,
    rows: usize,
    channels: usize,
    connections: usize,
) -> Result<Figures> {
    let mut writers = JoinSet::new();
    let start = Instant::now();
    for writer in 0..connections {
        let url = url.to_owned();
        writers.spawn(async move {
            let mut connection = PgConnection::connect(&url).await?;
            connection.execute("SET jit = off; SET plan_cache_mode = force_generic_plan").await?;
            for batch in (writer..rows / BATCH).step_by(connections) {
                store(&mut connection, &Rows::new(batch * BATCH, channels)?, channels).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    Ok(Figures::new(rows / BATCH * BATCH, start.elapsed()))
}

/// Stores a batch in one transaction.
async fn store(connection: &mut PgConnection, rows: &Rows, channels: usize) -> Result<()> {
    let bytes = i64::try_from(rows.contents.iter().map(String::len).sum::<usize>())?;
    let (of_channel, of_bytes) =
        (i64::try_from(BATCH / channels)?, bytes / i64::try_from(channels)?);
    let mut ids: Vec<&str> = rows.channels.iter().map(String::as_str).collect();
    ids.dedup();
    connection.execute("BEGIN").await?;
    let messages = sqlx::query(MESSAGES).bind(&rows.channels).bind(&rows.messages);
    let messages = messages.bind(&rows.times).bind(&rows.contents).bind(&rows.senders).bind(NOW.0);
    messages.execute(&mut *connection).await?;
    let events = sqlx::query(EVENTS).bind(&rows.channels).bind(&rows.messages);
    events.bind(&rows.times).bind(NOW.0).execute(&mut *connection).await?;
    sqlx::query(LOCK).bind(&ids).execute(&mut *connection).await?;
    let counters = sqlx::query(CHANNELS).bind(&ids).bind(of_bytes);
    counters.bind(of_channel).bind(NOW.0).execute(&mut *connection).await?;
    sqlx::query(USERS).bind(bytes).execute(&mut *connection).await?;
    sqlx::query(USAGE).bind(NOW.1).execute(&mut *connection).await?;
    rows.count(connection, of_bytes).await?;
    connection.execute("COMMIT").await?;
    Ok(())
}

impl Rows {
    /// Creates the messages from the number `first` on, by their keys.
    fn new(first: usize, channels: usize) -> Result<Self> {
        let mut keys: Vec<_> = (first..first + BATCH)
            .map(|number| (shape::channel(number % channels), shape::message(number), number))
            .collect();
        keys.sort_unstable();
        let mut rows = Self::default();
        for (channel, message, number) in keys {
            rows.channels.push(channel);
            rows.messages.push(message);
            rows.times.push(1_700_000_000_000 + i64::try_from(number)?);
            rows.contents.push(format!(r#"{{"text":"{}"}}"#, shape::text(number)));
            rows.senders.push(shape::sender(number, channels));
        }
        Ok(rows)
    }

    /// Adds the messages to the counters of their channels' activity.
    async fn count(&self, connection: &mut PgConnection, bytes: i64) -> Result<()> {
        let mut counters: BTreeMap<_, i64> = BTreeMap::new();
        for (channel, sender) in self.channels.iter().zip(&self.senders) {
            for (counter, at, item) in [
                ("hour", 1_699_999_200_000_i64, ""),
                ("person", 1_699_920_000_000, sender.as_str()),
                ("person_block", 1_697_587_200_000, sender.as_str()),
                ("quarter", 1_699_999_200_000, ""),
                ("type", 0, "text"),
            ] {
                *counters.entry((channel.as_str(), counter, at, item)).or_default() += 1;
            }
        }
        let keys = || counters.keys();
        let activity = sqlx::query(ACTIVITY)
            .bind(keys().map(|key| key.0).collect::<Vec<_>>())
            .bind(keys().map(|key| key.1).collect::<Vec<_>>())
            .bind(keys().map(|key| key.2).collect::<Vec<_>>())
            .bind(keys().map(|key| key.3).collect::<Vec<_>>())
            .bind(bytes)
            .bind(counters.values().copied().collect::<Vec<_>>());
        activity.execute(connection).await?;
        Ok(())
    }
}
