//! Locks that somebody else holds for longer than anything of the service does.

use chatkeep_store::PresenceEvidenceKind;
use sqlx::{Connection as _, Executor as _, PgConnection};

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
