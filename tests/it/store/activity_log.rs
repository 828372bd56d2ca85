//! Activity log of channels: who changed what, and who read.

use chatkeep_core::assistant::{AssistantConfig, RuleDraft};
use chatkeep_core::id::{ChannelId, RuleId, UserId};
use chatkeep_core::role::Role;
use chatkeep_store::{ActivityChange, ActivityFilter, ChangeKind, ReadAction, Reader, RuleChange};

use super::{Fixture, at, on_both, said};

on_both!(
    every_change_is_logged_with_its_author,
    reads_are_counted_by_day_and_reader,
    the_log_is_filtered,
    the_log_has_an_end,
    the_log_goes_with_its_channel,
);

const DAY: i64 = 86_400_000;

impl Fixture {
    async fn changes(&self) -> Vec<ActivityChange> {
        self.store
            .activity_log()
            .changes(&"C1".into(), &ActivityFilter::default(), None, 100)
            .await
            .unwrap()
    }
}

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

async fn every_change_is_logged_with_its_author(fixture: Fixture) {
    prepared(&fixture).await;
    let (channel, by) = (ChannelId::from("C1"), "U1".into());
    let store = &fixture.store;
    store.members().set_role(&channel, &by, &"U2".into(), Role::Admin, at(10)).await.unwrap();
    let enable = |mut config: AssistantConfig, _| {
        config.qa.cooldown_seconds = 60;
        config.welcome.message = "w".repeat(300);
        Ok::<_, ()>(config)
    };
    store
        .assistant()
        .change_assistant_config(&channel, &by, at(11), enable)
        .await
        .unwrap()
        .unwrap();
    let (id, draft) = (
        RuleId::from("qa_1_a"),
        RuleDraft {
            keywords: vec!["hours".to_owned()],
            answer: "9-18".to_owned(),
            ..RuleDraft::default()
        },
    );
    let add = RuleChange::Add(&id, &draft);
    store.assistant().change_rule(&channel, add, None, &by, at(12)).await.unwrap();
    for time in [13, 14] {
        let limited = RuleDraft { not_for: vec!["happy hours".to_owned()], ..draft.clone() };
        let same = RuleChange::Replace(&id, &limited);
        store.assistant().change_rule(&channel, same, None, &by, at(time)).await.unwrap();
    }
    store.assistant().set_group_rules(&channel, "be kind", None, &by, at(14)).await.unwrap();
    for now in [15, 16] {
        store.channels().set_retention(&channel, Some(9), &by, at(now)).await.unwrap();
        store.channels().set_time_zone(&channel, Some("Asia/Taipei"), &by, at(now)).await.unwrap();
    }
    super::delete_before(store, &channel, at(3), at(17)).await;
    let told: Vec<_> = fixture
        .changes()
        .await
        .into_iter()
        .map(|one| {
            (
                one.at.millis(),
                one.kind,
                one.subject,
                one.before,
                one.after.map(|v| v.chars().take(24).collect::<String>()),
            )
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        (17, ChangeKind::Deletion, None, None, text("1970-01-01T00:00:00.003Z")),
        (15, ChangeKind::TimeZone, None, None, text("Asia/Taipei")),
        (15, ChangeKind::Retention, None, None, text("9")),
        (14, ChangeKind::GroupRules, None, text(""), text("be kind")),
        (13, ChangeKind::Rule, text("qa_1_a"), text("hours"), text("hours\n≠ happy hours")),
        (12, ChangeKind::Rule, text("qa_1_a"), None, text("hours\n9-18")),
        (11, ChangeKind::Assistant, text("welcome.message"), text(""), text(&"w".repeat(24))),
        (11, ChangeKind::Assistant, text("qa.cooldownSeconds"), text("0"), text("60")),
        (10, ChangeKind::Role, text("U2"), text("member"), text("admin")),
        (5, ChangeKind::Subscription, None, None, text("subscribed")),
    ];
    assert_eq!(told, expected);
    let all = fixture.changes().await;
    let welcome = all.iter().find(|one| one.subject.as_deref() == Some("welcome.message")).unwrap();
    assert_eq!(welcome.after.as_ref().unwrap().chars().count(), 201, "cut");
    assert!(all.iter().all(|one| one.by.user == by));
    let none = ActivityFilter::default();
    let rest = store
        .activity_log()
        .changes(&channel, &none, Some((all[2].at, all[2].id)), 2)
        .await
        .unwrap();
    assert_eq!(rest, all[3..5]);
}

async fn reads_are_counted_by_day_and_reader(fixture: Fixture) {
    prepared(&fixture).await;
    let (channel, user) = (ChannelId::from("C1"), "U2".into());
    let activity = fixture.store.activity_log();
    let key = Reader::Key("key_1".into());
    for (reader, action, time) in [
        (&key, ReadAction::List, 1),
        (&key, ReadAction::List, 2),
        (&Reader::Person, ReadAction::List, 3),
        (&key, ReadAction::Search, DAY),
    ] {
        activity.note_read(&channel, (&user, reader), action, at(time));
    }
    activity.write_reads().await.unwrap();
    activity.note_read(&channel, (&user, &key), ReadAction::List, at(4));
    activity.write_reads().await.unwrap();
    activity.write_reads().await.unwrap();
    let told = activity.reads(&channel, &ActivityFilter::default(), None, 10).await.unwrap();
    let rows: Vec<_> = told
        .iter()
        .map(|one| (one.day.millis(), one.reader.clone(), one.action, one.requests))
        .collect();
    assert_eq!(
        rows,
        [
            (DAY, key.clone(), ReadAction::Search, 1),
            (0, key.clone(), ReadAction::List, 3),
            (0, Reader::Person, ReadAction::List, 1),
        ]
    );
    let next = activity
        .reads(&channel, &ActivityFilter::default(), Some(&told[0].position()), 1)
        .await
        .unwrap();
    assert_eq!(next, told[1..2]);
    assert!(
        activity
            .reads(&"C2".into(), &ActivityFilter::default(), None, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn the_log_is_filtered(fixture: Fixture) {
    prepared(&fixture).await;
    let (channel, activity) = (ChannelId::from("C1"), fixture.store.activity_log());
    let people = ["U1", "U2"].map(UserId::from);
    for (person, action, time) in [
        (&people[0], ReadAction::List, 1),
        (&people[1], ReadAction::List, 2),
        (&people[1], ReadAction::Search, DAY),
    ] {
        activity.note_read(&channel, (person, &Reader::Person), action, at(time));
    }
    activity.write_reads().await.unwrap();
    let reads = async |kind, user: Option<&UserId>, times| {
        let filter = ActivityFilter { kind, user: user.cloned(), times };
        let found = activity.reads(&channel, &filter, None, 10).await.unwrap();
        found.iter().map(|one| (one.by.user.to_string(), one.action)).collect::<Vec<_>>()
    };
    let row = |user: &str, action| (user.to_owned(), action);
    let (list, search) = (ReadAction::List, ReadAction::Search);
    assert_eq!(reads(Some(list), None, None).await, [row("U1", list), row("U2", list)]);
    assert_eq!(reads(None, Some(&people[1]), None).await, [row("U2", search), row("U2", list)]);
    let day = Some((at(DAY), at(2 * DAY)));
    assert_eq!(reads(None, None, day).await, [row("U2", search)]);
    assert!(reads(Some(list), None, day).await.is_empty());

    let (by, other) = (&people[0], &people[1]);
    fixture.store.members().set_role(&channel, by, other, Role::Admin, at(10)).await.unwrap();
    let changes = async |kind, user: Option<&UserId>, times| {
        let filter = ActivityFilter { kind, user: user.cloned(), times };
        let found = activity.changes(&channel, &filter, None, 10).await.unwrap();
        found.iter().map(|one| one.kind).collect::<Vec<_>>()
    };
    let (role, subscription) = (ChangeKind::Role, ChangeKind::Subscription);
    assert_eq!(changes(None, Some(by), None).await, [role, subscription]);
    assert_eq!(changes(Some(role), None, None).await, [role]);
    assert!(changes(None, Some(other), None).await.is_empty());
    assert_eq!(changes(None, None, Some((at(5), at(10)))).await, [subscription]);
}

async fn the_log_has_an_end(fixture: Fixture) {
    prepared(&fixture).await;
    let (channel, user) = (ChannelId::from("C1"), "U2".into());
    let activity = fixture.store.activity_log();
    for day in 0..5 {
        activity.note_read(&channel, (&user, &Reader::Person), ReadAction::Open, at(day * DAY));
    }
    activity.write_reads().await.unwrap();
    let days = async || {
        let reads = activity.reads(&channel, &ActivityFilter::default(), None, 10).await.unwrap();
        reads.iter().map(|one| one.day.millis() / DAY).collect::<Vec<_>>()
    };
    assert_eq!(activity.purge(at(DAY)).await.unwrap(), 2, "the subscription, and a read");
    assert_eq!(activity.purge(at(DAY)).await.unwrap(), 0);
    assert_eq!(days().await, [4, 3, 2, 1]);
    let full = activity.full(2).await.unwrap();
    assert_eq!(full.len(), 1);
    assert!(activity.cut(&full[0]).await.unwrap());
    assert!(!activity.cut(&full[0]).await.unwrap());
    assert!(activity.full(2).await.unwrap().is_empty());
    assert_eq!(days().await, [4, 3]);
}

async fn the_log_goes_with_its_channel(fixture: Fixture) {
    prepared(&fixture).await;
    let (channel, user) = (ChannelId::from("C1"), "U1".into());
    fixture.keep(&[said("C1", "m1", 10, "x")], 11).await;
    fixture.store.activity_log().note_read(
        &channel,
        (&user, &Reader::Person),
        ReadAction::Open,
        at(12),
    );
    fixture.store.activity_log().write_reads().await.unwrap();
    fixture.store.accounts().unsubscribe(&channel, &user, at(20)).await.unwrap();
    assert_eq!(fixture.changes().await.len(), 2);
    let channels = fixture.store.channels();
    // A process that dies between two batches leaves the log without messages: it is found again.
    channels.delete_abandoned(&channel, at(30), 1, at(40)).await.unwrap();
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages").await, "0");
    assert_eq!(fixture.changes().await.len(), 2);
    assert_eq!(
        channels.forget_abandoned(&channel, at(20)).await.unwrap(),
        0,
        "not for long enough"
    );
    assert_eq!(channels.abandoned_channels(at(30)).await.unwrap(), ["C1".into()]);
    assert_eq!(channels.forget_abandoned(&channel, at(30)).await.unwrap(), 3);
    assert_eq!(channels.forget_abandoned(&channel, at(30)).await.unwrap(), 0);
    assert!(channels.abandoned_channels(at(30)).await.unwrap().is_empty());
    assert!(fixture.changes().await.is_empty());
    assert!(
        fixture
            .store
            .activity_log()
            .reads(&channel, &ActivityFilter::default(), None, 10)
            .await
            .unwrap()
            .is_empty()
    );
}
