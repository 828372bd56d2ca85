//! Durable consumers in the bus file: listing and removal, and what they leave behind.

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, query, query_as, query_scalar};

use super::position::Position;
use super::schema::stream_code;
use super::state::State;
use super::{EmbeddedBus, Op, read};
use crate::{BusError, BusState, ConsumerStatus, Stream};

impl EmbeddedBus {
    pub(crate) async fn consumers(&self) -> Result<Vec<ConsumerStatus>, BusError> {
        let known: Vec<_> = {
            let state = self.inner.shared.state();
            let consumer = |position: &Position| {
                let queue = position.queue().map(str::to_owned);
                (position.name().to_owned(), position.stream(), queue)
            };
            state.consumers().map(consumer).collect()
        };
        let mut found = Vec::with_capacity(known.len());
        for (name, stream, queue) in known {
            let backlog = read::backlog_of(&self.inner, &name, stream, queue.as_deref()).await?;
            let oldest = read::oldest_of(&self.inner, &name, stream, queue.as_deref()).await?;
            let now = self.inner.shared.clock.now();
            found.push(ConsumerStatus {
                name,
                stream: stream.name(),
                backlog,
                oldest_seconds: oldest.map(|at| now.since(at).as_secs()),
                idle_seconds: None,
            });
        }
        Ok(found)
    }

    pub(crate) async fn remove_consumer(&self, name: &str) -> Result<bool, BusError> {
        if !self.inner.serving {
            let why = "only the serving process removes consumers; stop it to remove one here";
            return Err(BusError::Config(why.into()));
        }
        let name = name.to_owned();
        self.inner.request_writer(|done| Op::RemoveConsumer { name, done }).await
    }

    pub(crate) fn bus_state(&self) -> BusState {
        BusState {
            identity: format!("embedded {}", self.inner.identity),
            last_sequence: self.inner.shared.high.borrow().unsigned_abs(),
        }
    }
}

/// A consumer that was removed from the file.
#[derive(Debug)]
pub(super) struct RemovedConsumer {
    pub(super) stream: Stream,
    /// Messages that were deleted with it.
    pub(super) deleted: Vec<i64>,
    /// Events that another consumer had yet to finish.
    pub(super) kept: Vec<i64>,
}

/// Removes a consumer from the file; `None` when there is none of that name. `through` returns
/// `true` for an event that all other consumers have finished.
pub(super) async fn remove(
    conn: &mut SqliteConnection,
    name: &str,
    through: impl Fn(i64) -> bool,
) -> Result<Option<RemovedConsumer>, sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let removed: Option<(i64, Option<String>)> =
        query_as("DELETE FROM consumer WHERE name = ?1 RETURNING stream, queue")
            .bind(name)
            .fetch_optional(&mut *tx)
            .await?;
    let Some((stream, queue)) = removed else {
        return Ok(None);
    };
    query("DELETE FROM postponed WHERE consumer = ?1").bind(name).execute(&mut *tx).await?;
    let removed = if stream == stream_code(Stream::Jobs) {
        let jobs = "DELETE FROM message WHERE stream = 1 AND (?1 IS NULL OR queue = ?1)
                    RETURNING seq";
        let deleted = query_scalar(jobs).bind(queue).fetch_all(&mut *tx).await?;
        RemovedConsumer { stream: Stream::Jobs, deleted, kept: Vec::new() }
    } else {
        let (deleted, kept) = remove_events(&mut tx, name, through).await?;
        RemovedConsumer { stream: Stream::Events, deleted, kept }
    };
    tx.commit().await?;
    Ok(Some(removed))
}

/// Deletes the events that only this consumer had yet to finish. Returns them, and all others.
async fn remove_events(
    conn: &mut SqliteConnection,
    name: &str,
    through: impl Fn(i64) -> bool,
) -> Result<(Vec<i64>, Vec<i64>), sqlx::Error> {
    let own = "DELETE FROM message WHERE stream = 0 AND only_consumer = ?1 RETURNING seq";
    let mut deleted: Vec<i64> = query_scalar(own).bind(name).fetch_all(&mut *conn).await?;
    let shared: Vec<i64> =
        query_scalar("SELECT seq FROM message WHERE stream = 0 AND only_consumer IS NULL")
            .fetch_all(&mut *conn)
            .await?;
    let (finished, kept): (Vec<i64>, Vec<i64>) = shared.into_iter().partition(|seq| through(*seq));
    delete(conn, &finished).await?;
    deleted.extend(finished);
    Ok((deleted, kept))
}

/// Deletes events that every consumer has finished. There should be none; earlier versions left
/// some behind when a consumer was removed, and they counted as backlog.
pub(super) async fn sweep(
    conn: &mut SqliteConnection,
    state: &mut State,
) -> Result<(), sqlx::Error> {
    let Some(read) = state.read_by_all() else {
        return Ok(());
    };
    // No more than what somebody has in work or put off, and what was left behind.
    let events = "SELECT seq FROM message
                  WHERE stream = 0 AND queue = '' AND only_consumer IS NULL AND seq <= ?1";
    let seqs: Vec<i64> = query_scalar(events).bind(read).fetch_all(&mut *conn).await?;
    let finished: Vec<i64> = seqs.into_iter().filter(|seq| state.is_through(*seq)).collect();
    if !finished.is_empty() {
        delete(conn, &finished).await?;
        state.note_deleted(Stream::Events, finished.len());
        tracing::info!(events = finished.len(), "deleted events that every consumer has finished");
    }
    Ok(())
}

async fn delete(conn: &mut SqliteConnection, seqs: &[i64]) -> Result<(), sqlx::Error> {
    let list = serde_json::to_string(seqs).map_err(|error| sqlx::Error::Encode(error.into()))?;
    query("DELETE FROM message WHERE seq IN (SELECT value FROM json_each(?1))")
        .bind(list)
        .execute(conn)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use chatkeep_core::time::Timestamp;
    use tokio::time::Instant;

    use super::super::ops::{Group, RoutedMessage};
    use super::super::{commit, schema};
    use super::*;
    use crate::{ConsumerSpec, Outgoing};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn events(name: &'static str) -> ConsumerSpec {
        let (lease, max_in_flight) = (Duration::from_mins(1), 100);
        ConsumerSpec { name, stream: Stream::Events, queue: None, lease, max_in_flight }
    }

    fn event(id: &str) -> Outgoing {
        let (subject, id) = ("event.line.0".to_owned(), id.to_owned());
        Outgoing { subject, id, payload: "{}".into(), trace: None }
    }

    async fn count(conn: &mut SqliteConnection) -> i64 {
        query_scalar("SELECT count(*) FROM message").fetch_one(conn).await.unwrap()
    }

    #[tokio::test]
    async fn what_others_finish_while_a_consumer_is_removed_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = schema::writer(folder.path()).await.unwrap();
        let mut state = State::default();
        let stays = state.ensure(&events("stays"), false).unwrap();
        let goes = state.ensure(&events("goes"), false).unwrap();
        let events = ["1", "2", "3", "4", "5"].map(event).map(RoutedMessage::of);
        let events = events.into_iter().map(Result::unwrap).collect();
        let messages = [events, Vec::new()];
        let group = Group { messages, changes: state.take_changes(), ..Group::default() };
        let written = commit::write(&mut conn, &group, NOW, 0).await.unwrap();
        state.add_waiting(Stream::Events, written.added[0]);
        let now = Instant::now();
        for consumer in [stays, goes] {
            for seq in 1..=5 {
                state.position(consumer).lease_new(seq, false, now);
            }
        }
        assert!(state.finish(stays, 1));
        let state = RefCell::new(state);
        // The consumers go on a moment after each event was looked at.
        let removed = remove(&mut conn, "goes", |seq| {
            let is_through = state.borrow().is_through_but_for("goes", seq);
            let finish = match seq {
                1 | 4 => vec![goes],
                2 => vec![stays],
                3 => vec![stays, goes],
                _ => vec![],
            };
            for consumer in finish {
                assert!(state.borrow_mut().finish(consumer, seq));
            }
            is_through
        });
        let removed = removed.await.unwrap().unwrap();
        assert_eq!((&removed.deleted[..], &removed.kept[..]), (&[1][..], &[2, 3, 4, 5][..]));
        let mut state = state.into_inner();
        state.remove("goes", &removed);
        assert_eq!(state.waiting(Stream::Events), 2, "4 and 5, which the other one has");
        assert!(!state.finish(goes, 5), "it is gone");
        for seq in [4, 5] {
            assert!(state.finish(stays, seq));
        }
        assert_eq!(state.waiting(Stream::Events), 0);
        let group = Group { changes: state.take_changes(), ..Group::default() };
        commit::write(&mut conn, &group, NOW, written.high).await.unwrap();
        assert_eq!(count(&mut conn).await, 0);
    }
}
