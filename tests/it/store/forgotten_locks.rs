//! Locks that somebody else holds for longer than anything of the service does.

use std::sync::mpsc;

use chatkeep_core::config::Database;
use chatkeep_store::{PresenceEvidenceKind, Store, StoreError};
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

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

#[tokio::test]
async fn the_server_ends_the_transaction_of_a_frozen_process() {
    let fixture = Fixture::postgres().await;
    fixture.group("C1", &["U1"]).await;
    let ((has_locked, locked), (thaw, thawed)) = (oneshot::channel(), mpsc::channel());
    let url = Database::Postgres(fixture.database.as_ref().unwrap().url().into());
    let folder = fixture.folder.path().to_owned();
    // With threads of its own, as another process has.
    let frozen = spawn_blocking(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let store = Store::open(&url, &folder, 1).await.unwrap();
            let freeze = move || {
                has_locked.send(()).unwrap();
                thawed.recv().unwrap();
            };
            change(store, freeze).await
        })
    });
    locked.await.unwrap();
    change(fixture.store.clone(), || ()).await.unwrap();
    thaw.send(()).unwrap();
    let error = frozen.await.unwrap().unwrap_err();
    assert!(error.is_transient(), "who froze tries again: {error}");
}
