//! Temporary rows are purged, and no row that still counts.

use super::{Fixture, at, on_both};

on_both!(old_rows_go_and_those_that_count_stay,);

async fn old_rows_go_and_those_that_count_stay(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    for (id, status, created) in
        [("old", "sent", 10), ("under way", "sending", 10), ("new", "failed", 50)]
    {
        fixture
            .run(&format!(
                "INSERT INTO replies (event_id, channel_id, source, status, created_at)
                 VALUES ('{id}', 'C1', 'qa', '{status}', {created})"
            ))
            .await;
    }
    assert_eq!(fixture.store.assistant().purge_replies(at(50)).await.unwrap(), 1);
    assert_eq!(fixture.store.assistant().purge_replies(at(50)).await.unwrap(), 0);
    let left = "SELECT COUNT(*) FROM replies WHERE event_id IN ('under way', 'new')";
    assert_eq!(fixture.value(left).await, "2");

    for (user, status, told, outcome) in [
        ("U1", "WARNING", "11", "'sent'"),
        ("U1", "CRITICAL", "12", "'sent'"),
        ("U1", "EXCEEDED", "13", "'overtaken'"),
        ("U1", "OK", "14", "'not_wanted'"),
        ("U2", "WARNING", "NULL", "NULL"),
    ] {
        fixture
            .run(&format!(
                "INSERT INTO usage_notices (user_id, status, created_at, notified_at, outcome)
                 VALUES ('{user}', '{status}', 10, {told}, {outcome})"
            ))
            .await;
    }
    // The last notice sent decides about new ones, and the last of all is the present state.
    assert_eq!(fixture.store.accounts().purge_notices(at(50)).await.unwrap(), 2);
    assert_eq!(fixture.store.accounts().purge_notices(at(50)).await.unwrap(), 0);
    let left = "SELECT COUNT(*) FROM usage_notices WHERE status IN ('CRITICAL', 'OK', 'WARNING')";
    assert_eq!(fixture.value(left).await, "3");

    let (channel, day) = ("C1".into(), std::time::Duration::from_hours(24));
    for (user, now) in [("U8", 10), ("U9", 60)] {
        let (members, user) = (fixture.store.members(), user.into());
        members.claim_membership_check(&channel, &user, at(now), day).await.unwrap();
        members.settle_membership_check(&channel, &user, at(now)).await.unwrap();
    }
    assert_eq!(fixture.store.members().purge_membership_checks(at(50)).await.unwrap(), 1);
    assert_eq!(fixture.value("SELECT user_id FROM membership_checks").await, "U9");
}
