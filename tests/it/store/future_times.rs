//! Times that a wrong clock put into the future.

use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::{Claim, JobKind, NewChannelJob, ReplyIntent, ReplySource, RuleChange};

use super::{Fixture, at, on_both, said};

on_both!(
    what_a_wrong_clock_put_off_is_due,
    times_are_reset_to_the_present,
    credentials_end_as_if_they_were_new,
    coverage_keeps_the_order_of_its_changes,
);

const DAY: i64 = 86_400_000;
const HOUR: i64 = 3_600_000;

/// Columns that are set to the present, with what a wrong clock wrote into each.
const TO_THE_PRESENT: &[(&str, &str, &str)] = &[
    ("heartbeat", "alive_at", "INSERT INTO heartbeat (id, alive_at) VALUES (1, AHEAD)"),
    ("outages", "to_at", "INSERT INTO outages (from_at, to_at) VALUES (1, AHEAD)"),
    (
        "channel_jobs",
        "claimed_until",
        "INSERT INTO channel_jobs (id, channel_id, kind, sent_before, created_by, created_at, total,
                                   claimed_until)
         VALUES ('j', 'C1', 'deletion', 1, 'U1', 1, 1, AHEAD)",
    ),
    ("channel_jobs", "sent_before", "UPDATE channel_jobs SET sent_before = AHEAD"),
    ("channel_jobs", "progress_at", "UPDATE channel_jobs SET progress_at = AHEAD"),
    (
        "exports",
        "claimed_until",
        "INSERT INTO exports (id, channel_id, created_by, created_at, format, sent_before,
                              time_zone, language, total, claimed_until)
         VALUES ('e', 'C1', 'U1', 1, 'csv', 1, 'UTC', 'en', 1, AHEAD)",
    ),
    ("exports", "created_at", "UPDATE exports SET created_at = AHEAD"),
    ("exports", "progress_at", "UPDATE exports SET progress_at = AHEAD"),
    ("exports", "expires_at", "UPDATE exports SET expires_at = AHEAD"),
    (
        "imports",
        "started_at",
        "INSERT INTO imports (channel_id, form, file_name, started_at)
         VALUES ('C1', 'line', 'chat.txt', AHEAD)",
    ),
    ("imports", "active_at", "UPDATE imports SET active_at = AHEAD"),
    ("imports", "undone_at", "UPDATE imports SET undone_at = AHEAD"),
    ("webhooks", "not_until", "UPDATE webhooks SET not_until = AHEAD"),
    ("webhooks", "failing_since", "UPDATE webhooks SET failing_since = AHEAD"),
    (
        "webhook_deliveries",
        "due_at",
        "INSERT INTO webhook_deliveries (webhook_id, event_id, type, at, created_at, due_at)
         VALUES ('w', 'evt', 'message.received', 1, 1, AHEAD)",
    ),
    (
        "replies",
        "created_at",
        "INSERT INTO replies (event_id, channel_id, source, status, created_at)
         VALUES ('E', 'C1', 'link', 'sent', AHEAD)",
    ),
    (
        "qa_rules",
        "last_hit_at",
        "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                               created_by, last_hit_at)
         VALUES ('C1', 'r', '[]', '', '', 1, 'U1', AHEAD)",
    ),
    ("channels", "deleted_before", "UPDATE channels SET deleted_before = AHEAD"),
    ("channels", "retained_from", "UPDATE channels SET retained_from = AHEAD"),
    ("channels", "summary_at", "UPDATE channels SET summary_at = AHEAD"),
    ("channels", "enabled_at", "UPDATE channels SET enabled_at = AHEAD"),
    (
        "channel_bots",
        "joined_at",
        "INSERT INTO channel_bots (channel_id, bot, joined_at) VALUES ('C1', 'other', AHEAD)",
    ),
    (
        "channel_bots",
        "owned_until",
        "UPDATE channel_bots SET owned_until = AHEAD WHERE bot = 'other'",
    ),
    (
        "gaps",
        "to_at",
        "INSERT INTO gaps (channel_id, from_at, to_at, reason) VALUES ('C1', 1, AHEAD, 'quota')",
    ),
    ("users", "profile_at", "UPDATE users SET profile_at = AHEAD WHERE user_id = 'U1'"),
    ("members", "first_seen_at", "UPDATE members SET first_seen_at = AHEAD WHERE user_id = 'U1'"),
    ("members", "last_seen_at", "UPDATE members SET last_seen_at = AHEAD WHERE user_id = 'U1'"),
    (
        "membership_checks",
        "checked_at",
        "INSERT INTO membership_checks (channel_id, user_id, checked_at)
         VALUES ('C1', 'U1', AHEAD)",
    ),
    ("membership_checks", "claimed_until", "UPDATE membership_checks SET claimed_until = AHEAD"),
    (
        "erased_people",
        "erased_at",
        "INSERT INTO erased_people (channel_id, user_id, erased_at) VALUES ('C1', 'U1', AHEAD)",
    ),
    (
        "media",
        "created_at",
        "INSERT INTO media (channel_id, message_id, status, created_at)
         VALUES ('C1', 'm', 'pending', AHEAD)",
    ),
    (
        "blob_orphans",
        "since",
        "INSERT INTO blob_orphans (sha256, mark, since) VALUES ('b', 'mark', AHEAD)",
    ),
    (
        "sessions",
        "seen_at",
        "INSERT INTO sessions (hash, session_id, user_id, csrf, created_at, seen_at)
         VALUES ('s', 'ses_1', 'U1', 'csrf', 1, AHEAD)",
    ),
    (
        "logins",
        "created_at",
        "INSERT INTO logins (state_hash, nonce, verifier, return_to, created_at)
         VALUES ('l', 'nonce', 'verifier', '/', AHEAD)",
    ),
    (
        "idempotency",
        "created_at",
        "INSERT INTO idempotency (owner, route, key_hash, request, created_at)
         VALUES ('U1', 'route', 'i', 'request', AHEAD)",
    ),
    ("api_keys", "last_used_at", "UPDATE api_keys SET last_used_at = AHEAD WHERE key_id = 'new'"),
    (
        "oauth_clients",
        "created_at",
        "INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
         VALUES ('c', 'program', '[]', AHEAD)",
    ),
    ("oauth_secrets", "used_at", "UPDATE oauth_secrets SET used_at = AHEAD WHERE hash = 'refresh'"),
];

/// Credentials of the user, none of which has an end in the future.
const CREDENTIALS: &[&str] = &[
    "INSERT INTO webhooks (webhook_id, user_id, url, description, events, enabled, secret,
                           created_at, updated_at, since)
     VALUES ('w', 'U1', 'https://example.org', '', '[]', 1, 'secret', 1, 1, 1)",
    "INSERT INTO api_keys (key_id, hash, mask, user_id, name, scopes, created_at, replaced_by)
     VALUES ('replaced', 'k1', '', 'U1', '', '[]', 1, 'new'),
            ('new', 'k2', '', 'U1', '', '[]', 1, NULL)",
    "INSERT INTO oauth_grants (grant_id, user_id, client_id, client_name, scopes, resource,
                               created_at)
     VALUES ('g', 'U1', 'c', 'program', '[]', '', 1)",
    "INSERT INTO oauth_secrets (hash, kind, grant_id, expires_at)
     VALUES ('refresh', 'refresh', 'g', 1), ('access', 'access', 'g', 1), ('code', 'code', 'g', 1)",
];

/// Creates a group with a user who has credentials.
async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1"]).await;
    for sql in CREDENTIALS {
        fixture.run(sql).await;
    }
}

async fn times_are_reset_to_the_present(fixture: Fixture) {
    prepared(&fixture).await;
    let ahead = (1_000 * DAY).to_string();
    for (_, _, sql) in TO_THE_PRESENT {
        fixture.run(&sql.replace("AHEAD", &ahead)).await;
    }
    let reset = fixture.store.jobs().reset_future_times(at(DAY)).await.unwrap();
    for (table, column, _) in TO_THE_PRESENT {
        let latest = fixture.value(&format!("SELECT MAX({column}) FROM {table}")).await;
        assert_eq!(latest, DAY.to_string(), "{table}.{column}");
    }
    assert_eq!(reset, TO_THE_PRESENT.len() as u64);
    assert_eq!(fixture.store.jobs().reset_future_times(at(DAY)).await.unwrap(), 0);
}

async fn credentials_end_as_if_they_were_new(fixture: Fixture) {
    prepared(&fixture).await;
    let ahead = 1_000 * DAY;
    for sql in [
        format!("UPDATE webhooks SET old_until = {ahead}"),
        format!("UPDATE api_keys SET expires_at = {ahead}"),
        format!("UPDATE oauth_secrets SET expires_at = {ahead}"),
    ] {
        fixture.run(&sql).await;
    }
    assert_eq!(fixture.store.jobs().reset_future_times(at(DAY)).await.unwrap(), 5);
    let (overlap, token) = (31 * DAY + HOUR, DAY + 2 * HOUR);
    for (sql, end) in [
        ("SELECT old_until FROM webhooks", overlap),
        ("SELECT expires_at FROM api_keys WHERE key_id = 'replaced'", overlap),
        ("SELECT expires_at FROM api_keys WHERE key_id = 'new'", ahead),
        ("SELECT expires_at FROM oauth_secrets WHERE kind = 'refresh'", overlap),
        ("SELECT expires_at FROM oauth_secrets WHERE kind = 'access'", token),
        ("SELECT expires_at FROM oauth_secrets WHERE kind = 'code'", token),
    ] {
        assert_eq!(fixture.value(sql).await, end.to_string(), "{sql}");
    }
    assert_eq!(fixture.store.jobs().reset_future_times(at(DAY)).await.unwrap(), 0);
}

async fn coverage_keeps_the_order_of_its_changes(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    for (time, kind) in [(1_000 * DAY, "subscribed"), (1_000 * DAY + 5, "unsubscribed")] {
        fixture
            .run(&format!(
                "INSERT INTO coverage_changes (channel_id, at, kind)
                 VALUES ('C1', {time}, '{kind}')"
            ))
            .await;
    }
    assert_eq!(fixture.store.jobs().reset_future_times(at(DAY)).await.unwrap(), 2);
    for (kind, time) in [("subscribed", DAY - 1), ("unsubscribed", DAY)] {
        let sql = format!("SELECT at FROM coverage_changes WHERE kind = '{kind}'");
        assert_eq!(fixture.value(&sql).await, time.to_string(), "{kind}");
    }
}

async fn what_a_wrong_clock_put_off_is_due(fixture: Fixture) {
    let store = &fixture.store;
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    for message in 0..3 {
        fixture.keep(&[said("C1", &format!("m{message}"), 10, "early")], 10).await;
    }
    // The clock is ten days ahead: a deletion begins and its worker dies; somebody opts out.
    let ahead = at(10 * DAY);
    let (channel, by) = (ChannelId::from("C1"), UserId::from("U1"));
    let kind = &JobKind::Deletion;
    let (channel, by, worker) = (&channel, &by, Some("A"));
    let new = NewChannelJob { id: "j1", channel, kind, sent_before: ahead, by, worker };
    store.jobs().begin_job(&new, ahead).await.unwrap();
    store.members().set_opted_out(&"U2".into(), None, true, || ahead).await.unwrap();
    store.members().set_opted_out(&"U2".into(), None, false, || at(10 * DAY + 5)).await.unwrap();
    store
        .members()
        .set_opted_out(&"U2".into(), Some(channel), true, || at(10 * DAY + 9))
        .await
        .unwrap();
    let opted_out = async |time: i64| {
        let known = store.members().opt_outs([&"U2".into()]).await.unwrap();
        known.refuse(channel, &"U2".into(), at(time))
    };
    assert!(store.jobs().claim_job("B", "", at(DAY)).await.unwrap().is_none());
    assert!(!opted_out(DAY + 1).await);

    // Somebody asks, and a rule with a cooldown answers.
    let draft = RuleDraft { keywords: vec!["hours".to_owned()], ..RuleDraft::default() };
    let rule = "qa_1".into();
    let add = RuleChange::Add(&rule, &draft);
    store.assistant().change_rule(channel, add, None, by, ahead).await.unwrap();
    let claim = async |event: &str, time: i64| {
        let event = event.into();
        let intent = ReplyIntent {
            event: &event,
            channel,
            source: ReplySource::Qa,
            rule: Some(&rule),
            message: None,
            cooldown_ms: DAY,
            at: at(time),
        };
        store.assistant().claim_reply(&intent, at(time)).await.unwrap()
    };
    assert_eq!(claim("E1", 10 * DAY).await, Claim::Granted);

    assert_eq!(store.jobs().reset_future_times(at(DAY)).await.unwrap(), 8);
    assert_eq!(claim("E2", DAY + 1).await, Claim::Suppressed, "it was asked just now");
    let claimed = store.jobs().claim_job("B", "", at(DAY)).await.unwrap().unwrap();
    assert_eq!((claimed.id.as_str(), claimed.sent_before), ("j1", at(DAY)), "no later than now");
    assert!(opted_out(DAY + 1).await && !opted_out(DAY - 1).await, "in the order of their changes");
    // What is sent from now on is stored.
    fixture.keep(&[said("C1", "late", DAY + 1, "late")], DAY + 1).await;
    let late = store.messages().message(channel, &"late".into()).await.unwrap();
    assert!(late.is_some());
    assert_eq!(store.jobs().reset_future_times(at(DAY)).await.unwrap(), 0);
}
