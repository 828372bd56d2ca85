//! Locks that somebody else holds for longer than anything of the service does.

use std::sync::mpsc;

use chatkeep_store::{PresenceEvidenceKind, Store, StoreError};
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{Fixture, at, item};

#[tokio::test]
async fn who_waits_for_a_forgotten_lock_waits_as_for_a_server_that_is_down() {
    let fixture = Fixture::postgres().await;
    fixture.group("C1", &["U1"]).await;
    let url = fixture.database.as_ref().unwrap().url();
    let mut other = PgConnection::connect(&url).await.unwrap();
    other.execute("BEGIN; SELECT 1 FROM channels FOR UPDATE").await.unwrap();
    let evidence = [item("C1", 9, PresenceEvidenceKind::BotLeft)];
    let error = fixture.store.members().record_presence(&evidence, at(9)).await.unwrap_err();
    assert!(error.is_transient(), "the event waits and is no dead letter: {error}");
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    assert_eq!(fixture.value(waiting).await, "0", "nobody waits on the server any more");
    other.execute("COMMIT").await.unwrap();
    fixture.store.members().record_presence(&evidence, at(9)).await.unwrap();
}

/// Changes the assistant's settings of a channel, and does something with the channel locked.
async fn change(store: Store, locked: impl FnOnce() + Send) -> Result<(), StoreError> {
    let edit = |config, _| {
        locked();
        Ok::<_, ()>(config)
    };
    let (assistant, channel, by) = (store.assistant(), "C1".into(), "U1".into());
    assistant.change_assistant_config(&channel, &by, at(9), edit).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_ends_the_transaction_of_a_frozen_process() {
    let fixture = Fixture::postgres().await;
    fixture.group("C1", &["U1"]).await;
    let ((has_locked, locked), (thaw, thawed)) = (oneshot::channel(), mpsc::channel());
    let mut frozen = JoinSet::new();
    frozen.spawn(change(fixture.store.clone(), move || {
        has_locked.send(()).unwrap();
        thawed.recv().unwrap();
    }));
    locked.await.unwrap();
    change(fixture.store.clone(), || ()).await.unwrap();
    thaw.send(()).unwrap();
    let error = frozen.join_next().await.unwrap().unwrap().unwrap_err();
    assert!(error.is_transient(), "who froze tries again: {error}");
}
