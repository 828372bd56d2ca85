//! Beginning of a webhook: it gets what is committed after it was created or enabled, and nothing
//! else, whatever the clocks of processes say.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::signing;
use chatkeep_store::{
    NewWebhook, OutboxEventKind, WebhookChange, WebhookChanged, WebhookMade, WebhookMaker,
};
use sqlx::Executor as _;

use super::super::log_bound::{row, writing};
use super::super::{Fixture, at, on_both, said};
use super::{prepared, wants};

on_both!(
    a_webhook_begins_with_its_creation_by_a_clock_ahead,
    a_webhook_begins_with_its_creation_by_a_clock_behind,
    an_enabled_webhook_begins_anew_by_a_clock_ahead,
    an_enabled_webhook_begins_anew_by_a_clock_behind,
    another_change_is_no_beginning,
);

impl Fixture {
    /// Creates a webhook of U1 in a process whose clock shows that time.
    async fn hook_at(&self, id: &str, now: i64) {
        let secret = signing::secret([1; 32]);
        let new = NewWebhook {
            id: &id.into(),
            user: &"U1".into(),
            secret: &secret,
            change: wants(&OutboxEventKind::ALL),
            maker: WebhookMaker { key: None, bounds: &Bounds::full() },
        };
        let made = self.store.webhooks().add_webhook(&new, at(now)).await.unwrap();
        assert_eq!(made, WebhookMade::Done);
    }

    /// Enables or disables a webhook in a process whose clock shows that time.
    async fn enable(&self, id: &str, enabled: bool, now: i64) {
        let change = WebhookChange { enabled, ..wants(&OutboxEventKind::ALL) };
        assert_eq!(self.change(id, change, &Bounds::full(), now).await, WebhookChanged::Done);
    }

    /// Returns the subjects of the deliveries of a webhook, oldest first, once there are as many.
    async fn delivered(&self, id: &str, count: usize) -> Vec<String> {
        let log = self.fanned_out(id, count, 200).await;
        log.into_iter().rev().filter_map(|delivery| delivery.event.subject).collect()
    }
}

async fn a_webhook_begins_with_its_creation_by_a_clock_ahead(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "before", 10, "x")], 12).await;
    fixture.hook_at("wh_ahead", 100).await;
    fixture.keep(&[said("C1", "after", 90, "x")], 90).await;
    assert_eq!(fixture.delivered("wh_ahead", 1).await, ["after"]);
}

async fn a_webhook_begins_with_its_creation_by_a_clock_behind(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "before", 90, "x")], 90).await;
    fixture.hook_at("wh_behind", 80).await;
    fixture.keep(&[said("C1", "after", 95, "x")], 95).await;
    assert_eq!(fixture.delivered("wh_behind", 1).await, ["after"]);
}

async fn an_enabled_webhook_begins_anew_by_a_clock_ahead(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.enable("wh_1", false, 6).await;
    fixture.keep(&[said("C1", "meanwhile", 10, "x")], 12).await;
    fixture.enable("wh_1", true, 100).await;
    fixture.keep(&[said("C1", "after", 90, "x")], 90).await;
    assert_eq!(fixture.delivered("wh_1", 1).await, ["after"]);
}

async fn an_enabled_webhook_begins_anew_by_a_clock_behind(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.enable("wh_1", false, 6).await;
    fixture.keep(&[said("C1", "meanwhile", 90, "x")], 90).await;
    fixture.enable("wh_1", true, 80).await;
    fixture.keep(&[said("C1", "after", 95, "x")], 95).await;
    assert_eq!(fixture.delivered("wh_1", 1).await, ["after"]);
}

async fn another_change_is_no_beginning(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 10, "x")], 12).await;
    // It is enabled already.
    fixture.enable("wh_1", true, 20).await;
    fixture.keep(&[said("C1", "b", 21, "x")], 22).await;
    assert_eq!(fixture.delivered("wh_1", 2).await, ["a", "b"]);
}

/// Transactions commit in another order than they begin and than they number their events.
#[tokio::test]
async fn an_event_is_later_than_a_webhook_if_it_is_committed_later() {
    let fixture = Fixture::postgres().await;
    prepared(&fixture).await;
    fixture.enable("wh_1", false, 6).await;
    let url = fixture.database.as_ref().unwrap().url();
    let mut slow = writing(&url, &row("slow")).await;
    fixture.keep(&[said("C1", "meanwhile", 10, "x")], 12).await;
    fixture.enable("wh_1", true, 20).await;
    fixture.hook_at("wh_2", 20).await;
    slow.execute("COMMIT").await.unwrap();
    fixture.keep(&[said("C1", "after", 30, "x")], 31).await;
    for webhook in ["wh_1", "wh_2"] {
        assert_eq!(fixture.delivered(webhook, 2).await, ["slow", "after"], "{webhook}");
    }
}

/// A restored dump may have snapshots of a server with greater numbers of transactions.
#[tokio::test]
async fn a_webhook_of_another_server_gets_what_is_new() {
    let fixture = Fixture::postgres().await;
    prepared(&fixture).await;
    let foreign = "UPDATE webhooks SET since_snapshot = '9000000000000:9000000000000:'";
    fixture.run(foreign).await;
    let fixture = fixture.reopened().await;
    fixture.keep(&[said("C1", "new", 10, "x")], 12).await;
    assert_eq!(fixture.delivered("wh_1", 1).await, ["new"]);
}
