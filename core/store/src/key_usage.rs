//! Last uses of keys and sessions. Collected in memory, so that no request waits for the writer,
//! and written together every few seconds. A crash loses what was not written yet.
//!
//! A written use stays in memory until the next write, for those who list keys and sessions: they
//! may have read its row just before.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{KeyId, SessionId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::db::{Sql, Tx, locking};
use super::keys::Key;
use super::sessions::Session;
use super::{KeyStore, StoreError};
use crate::query::{query, query_as};

/// Precision of a key's last use.
const KEY_PRECISION: Duration = Duration::from_mins(1);
/// Precision of a session's last use.
const SESSION_PRECISION: Duration = Duration::from_hours(1);
/// Maximum number of unwritten uses; beyond it, new ones are not recorded.
const WAITING: usize = 100_000;

const LOCK_KEYS: Sql = locking!(
    "SELECT key_id FROM api_keys
     WHERE key_id IN (SELECT value ->> 'id' FROM json_each($1)) ORDER BY key_id"
);
const LOCK_SESSIONS: Sql = locking!(
    "SELECT session_id FROM sessions
     WHERE session_id IN (SELECT value ->> 'id' FROM json_each($1)) ORDER BY session_id"
);
const KEYS_USED: &str = "
    UPDATE api_keys SET last_used_at = used.at
    FROM (SELECT value ->> 'id' AS id, CAST(value ->> 'at' AS BIGINT) AS at
          FROM json_each($1)) AS used
    WHERE api_keys.key_id = used.id
      AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.at)";
const SESSIONS_USED: &str = "
    UPDATE sessions SET seen_at = used.at
    FROM (SELECT value ->> 'id' AS id, CAST(value ->> 'at' AS BIGINT) AS at
          FROM json_each($1)) AS used
    WHERE sessions.session_id = used.id AND sessions.seen_at < used.at";

/// Uses that are not written yet, or only since the last write.
#[derive(Debug, Default)]
pub(super) struct KeyUsage(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    keys: Uses<KeyId>,
    sessions: Uses<SessionId>,
}

/// Last use of each.
#[derive(Debug)]
struct Uses<K>(BTreeMap<K, LastUse>);

#[derive(Clone, Copy, Debug)]
struct LastUse {
    at: Timestamp,
    is_written: bool,
}

#[derive(Serialize)]
struct Used<'a> {
    id: &'a str,
    at: i64,
}

impl KeyUsage {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the unwritten last use of a key.
    pub(super) fn unwritten_key(&self, id: &KeyId) -> Option<Timestamp> {
        self.noted().keys.unwritten(id)
    }

    /// Returns the last use of a key, if a row that was read just now may be without it.
    pub(super) fn key(&self, id: &KeyId) -> Option<Timestamp> {
        self.noted().keys.last(id)
    }

    /// Returns the unwritten last use of a session.
    pub(super) fn unwritten_session(&self, id: &SessionId) -> Option<Timestamp> {
        self.noted().sessions.unwritten(id)
    }

    /// Returns the last use of a session, if a row that was read just now may be without it.
    pub(super) fn session(&self, id: &SessionId) -> Option<Timestamp> {
        self.noted().sessions.last(id)
    }
}

impl<K> Default for Uses<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Clone + Ord> Uses<K> {
    fn last(&self, id: &K) -> Option<Timestamp> {
        self.0.get(id).map(|last| last.at)
    }

    fn unwritten(&self, id: &K) -> Option<Timestamp> {
        self.0.get(id).filter(|last| !last.is_written).map(|last| last.at)
    }

    /// Records a use unless there are too many already.
    fn note(&mut self, id: &K, at: Timestamp) {
        let new = LastUse { at, is_written: false };
        if let Some(known) = self.0.get_mut(id) {
            if known.at < at {
                *known = new;
            }
        } else if self.0.len() < WAITING {
            self.0.insert(id.clone(), new);
        }
    }

    /// Returns the uses to write, and forgets those that the write before this one wrote.
    fn begin_write(&mut self) -> BTreeMap<K, Timestamp> {
        self.0.retain(|_, last| !last.is_written);
        self.0.iter().map(|(id, last)| (id.clone(), last.at)).collect()
    }

    /// Notes that these uses are written.
    fn end_write(&mut self, uses: &BTreeMap<K, Timestamp>) {
        for (id, at) in uses {
            if let Some(last) = self.0.get_mut(id).filter(|last| last.at == *at) {
                last.is_written = true;
            }
        }
    }
}

impl KeyStore<'_> {
    /// Records a use of a key, to the minute. [`KeyStore::write_uses`](crate::KeyStore::write_uses)
    /// writes it.
    pub fn note_key_use(&self, key: &Key, now: Timestamp) {
        if key.last_used_at.is_none_or(|at| now.since(at) > KEY_PRECISION) {
            self.store.uses.noted().keys.note(&key.id, now);
        }
    }

    /// Records a use of a session, to the hour.
    /// [`KeyStore::write_uses`](crate::KeyStore::write_uses) writes it.
    pub fn note_session_use(&self, session: &mut Session, now: Timestamp) {
        if now.since(session.seen_at) >= SESSION_PRECISION {
            self.store.uses.noted().sessions.note(&session.id, now);
            session.seen_at = now;
        }
    }

    /// Writes the uses recorded since the last time.
    ///
    /// # Errors
    /// Returns an error when the database fails; the uses are written with the next call then.
    #[boxed]
    pub async fn write_uses(&self) -> Result<(), StoreError> {
        let (keys, sessions) = {
            let mut noted = self.store.uses.noted();
            (noted.keys.begin_write(), noted.sessions.begin_write())
        };
        if keys.is_empty() && sessions.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.db.begin().await?;
        write(&mut tx, (LOCK_KEYS, KEYS_USED), &rows(&keys, KeyId::as_str)?).await?;
        let session_rows = rows(&sessions, SessionId::as_str)?;
        write(&mut tx, (LOCK_SESSIONS, SESSIONS_USED), &session_rows).await?;
        tx.commit().await?;
        let mut noted = self.store.uses.noted();
        noted.keys.end_write(&keys);
        noted.sessions.end_write(&sessions);
        Ok(())
    }
}

fn rows<K>(uses: &BTreeMap<K, Timestamp>, id: impl Fn(&K) -> &str) -> Result<String, StoreError> {
    let rows = uses.iter().map(|(key, at)| Used { id: id(key), at: at.millis() });
    Ok(serde_json::to_string(&rows.collect::<Vec<_>>())?)
}

async fn write(
    tx: &mut Tx,
    (lock, update): (Sql, &'static str),
    rows: &str,
) -> Result<(), StoreError> {
    let _: Vec<(String,)> = tx.fetch_all(query_as(lock).bind(rows)).await?;
    tx.execute(query(update).bind(rows)).await?;
    Ok(())
}
