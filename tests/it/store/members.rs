//! Members and channels: presence evidence merged by event time.

use std::collections::BTreeMap;

use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Channel, ChannelStatus, MemberStatus, NamelessMember, PresenceEvidenceKind};

use super::{Fixture, at, item, on_both, said};

on_both!(
    late_events_change_nothing_newer,
    every_order_ends_the_same,
    leaving_and_rejoining_the_channel,
    a_late_leave_counts_although_somebody_subscribed,
    first_subscriber_becomes_owner,
    names_and_summaries,
    who_opts_out_while_the_platform_is_asked_gets_no_name,
    people_without_names,
    channels_without_names,
    listing_pages_and_filters,
    channels_of_a_person,
    names_with_last_messages,
    all_channels_and_how_many_subscribe,
);

async fn names_with_last_messages(fixture: Fixture) {
    for (channel, people) in [("C1", &["U1", "U2"][..]), ("C2", &["U1"]), ("C3", &["U2"])] {
        fixture.group(channel, people).await;
        fixture.subscribe(channel, people[0], 5).await;
    }
    let (channels, members) = (fixture.store.channels(), fixture.store.members());
    let summary = ChannelSummary { name: Some("Two".to_owned()), ..ChannelSummary::default() };
    channels.save_summaries(&[("C2".into(), summary)].into(), at(6)).await.unwrap();
    channels.set_time_zone(&"C2".into(), Some("Asia/Tokyo"), &"U1".into(), at(6)).await.unwrap();
    let names = async |only: Option<&[&str]>, limit| -> Vec<_> {
        let only: Option<Vec<_>> = only.map(|ids| ids.iter().map(|id| (*id).into()).collect());
        let names = channels.names_of(&"U1".into(), only.as_deref(), limit).await.unwrap();
        names.into_iter().map(|one| (one.id.to_string(), one.name, one.time_zone)).collect()
    };
    let one = ("C1".to_owned(), None, None);
    let two = ("C2".to_owned(), Some("Two".to_owned()), Some("Asia/Tokyo".to_owned()));
    assert_eq!(names(None, 9).await, [one.clone(), two.clone()]);
    assert_eq!(names(None, 1).await, [one]);
    assert_eq!(names(Some(&["C2", "C3"]), 9).await, [two], "C3 is not theirs");
    let left = item("C1", 9, PresenceEvidenceKind::Left("U1".into()));
    members.record_presence(&[left], at(9)).await.unwrap();
    assert_eq!(names(None, 9).await.len(), 1);
    fixture
        .keep(&[said("C1", "a", 10, "x"), said("C1", "b", 30, "x"), said("C2", "c", 20, "x")], 40)
        .await;
    let last = async |of: &[&str], people: &[&str]| {
        let of: Vec<_> = of.iter().map(|id| (*id).into()).collect();
        let people: Vec<_> = people.iter().map(|id| (*id).into()).collect();
        let last = members.last_messages(&of, &people).await.unwrap();
        last.into_iter().map(|(user, at)| (user.to_string(), at.millis())).collect::<Vec<_>>()
    };
    assert_eq!(last(&["C1", "C2", "C3"], &["U1", "U2", "U9"]).await, [("U1".to_owned(), 30)]);
    assert_eq!(last(&["C2"], &["U1"]).await, [("U1".to_owned(), 20)]);
    assert_eq!(last(&[], &["U1"]).await, []);
}

async fn all_channels_and_how_many_subscribe(fixture: Fixture) {
    let store = &fixture.store;
    assert!(store.channels().list(None, 9).await.unwrap().is_empty());
    for channel in ["C1", "C2", "C3"] {
        let present = |user: &str| item(channel, 10, PresenceEvidenceKind::Present(user.into()));
        store.members().record_presence(&[present("U1"), present("U2")], at(100)).await.unwrap();
    }
    for (channel, user) in [("C1", "U1"), ("C1", "U2"), ("C3", "U1")] {
        store.accounts().subscribe(&channel.into(), &user.into(), at(200)).await.unwrap();
    }
    assert!(store.accounts().unsubscribe(&"C3".into(), &"U1".into(), at(300)).await.unwrap());
    let page = async |after: Option<&str>, limit| {
        let after = after.map(Into::into);
        let page = store.channels().list(after.as_ref(), limit).await.unwrap();
        let row = |(channel, count): (Channel, i64)| (channel.id.to_string(), count);
        page.into_iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, [("C1".to_owned(), 2), ("C2".to_owned(), 0)]);
    assert_eq!(page(Some("C2"), 2).await, [("C3".to_owned(), 0)], "a subscription that ended");
}

async fn late_events_change_nothing_newer(fixture: Fixture) {
    let store = &fixture.store;
    let events = [
        item("C1", 50, PresenceEvidenceKind::Left("U1".into())),
        item("C1", 10, PresenceEvidenceKind::Joined("U1".into())),
        item("C1", 40, PresenceEvidenceKind::Present("U1".into())),
    ];
    for event in &events {
        store.members().record_presence(std::slice::from_ref(event), at(100)).await.unwrap();
    }
    let member = store.members().member(&"C1".into(), &"U1".into()).await.unwrap().unwrap();
    assert_eq!((member.status, member.left_at), (MemberStatus::Left, Some(at(50))));
    assert_eq!(member.joined_at, at(10));
    store
        .members()
        .record_presence(&[item("C1", 60, PresenceEvidenceKind::Joined("U1".into()))], at(100))
        .await
        .unwrap();
    let member = store.members().member(&"C1".into(), &"U1".into()).await.unwrap().unwrap();
    assert_eq!((member.status, member.left_at), (MemberStatus::Active, None));
    assert_eq!((member.joined_at, member.role), (at(60), Role::Member));
}

async fn every_order_ends_the_same(fixture: Fixture) {
    let kinds = [
        (10, PresenceEvidenceKind::Joined("U1".into())),
        (20, PresenceEvidenceKind::Left("U1".into())),
        (30, PresenceEvidenceKind::Present("U1".into())),
        (5, PresenceEvidenceKind::BotJoined),
        (25, PresenceEvidenceKind::BotLeft),
        (26, PresenceEvidenceKind::Channel),
    ];
    let mut ends = Vec::new();
    for turn in 0..kinds.len() {
        let mut created = None;
        let channel = format!("C{turn}");
        let mut events: Vec<_> =
            kinds.iter().map(|(time, kind)| item(&channel, *time, kind.clone())).collect();
        events.rotate_left(turn);
        if turn % 2 == 0 {
            fixture.store.members().record_presence(&events, at(100)).await.unwrap();
        }
        for event in &events {
            fixture
                .store
                .members()
                .record_presence(std::slice::from_ref(event), at(101))
                .await
                .unwrap();
            let known =
                fixture.store.channels().channel(&channel.as_str().into()).await.unwrap().unwrap();
            assert_eq!(known.created_at, *created.get_or_insert(known.created_at), "it moved");
        }
        let id = channel.as_str().into();
        let member = fixture.store.members().member(&id, &"U1".into()).await.unwrap().unwrap();
        let channel = fixture.store.channels().channel(&id).await.unwrap().unwrap();
        ends.push((member.status, member.joined_at, member.left_at, channel.status));
        // Of evidence before a late leave only the last is known.
        let back = if turn == 5 { at(30) } else { at(26) };
        assert_eq!(channel.enabled_at, back, "{turn}");
    }
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    assert_eq!(ends[0], (MemberStatus::Active, at(10), None, ChannelStatus::Active));
}

async fn leaving_and_rejoining_the_channel(fixture: Fixture) {
    use ChannelStatus::{Active, Disabled};
    let store = &fixture.store;
    let status = async || {
        let channel = store.channels().channel(&"C1".into()).await.unwrap().unwrap();
        (channel.status, channel.enabled_at.millis(), channel.created_at.millis())
    };
    let show = async |time: i64, kind: PresenceEvidenceKind| {
        store.members().record_presence(&[item("C1", time, kind)], at(time + 1)).await.unwrap();
    };
    show(10, PresenceEvidenceKind::Channel).await;
    assert_eq!(status().await, (Active, 10, 10));
    // An older event comes later.
    show(5, PresenceEvidenceKind::Channel).await;
    assert_eq!(status().await, (Active, 10, 10));
    show(15, PresenceEvidenceKind::Present("U1".into())).await;
    show(20, PresenceEvidenceKind::BotLeft).await;
    assert_eq!(status().await, (Disabled, 10, 10));
    for late in [19, 20] {
        show(late, PresenceEvidenceKind::Channel).await;
        assert_eq!(status().await, (Disabled, 10, 10), "of before it left");
    }
    fixture.subscribe("C1", "U1", 25).await;
    assert_eq!(status().await, (Disabled, 10, 10), "a subscription shows nothing");
    show(30, PresenceEvidenceKind::BotJoined).await;
    assert_eq!(status().await, (Active, 30, 10));
    show(40, PresenceEvidenceKind::BotLeft).await;
    assert_eq!(status().await, (Disabled, 30, 10));
    for (time, back) in [(50, 50), (60, 50), (45, 45)] {
        show(time, PresenceEvidenceKind::Channel).await;
        assert_eq!(status().await, (Active, back, 10), "an event shows it, the first one when");
    }
    show(70, PresenceEvidenceKind::BotLeft).await;
    assert_eq!(status().await, (Disabled, 45, 10));
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(30)), None).await.unwrap();
    let gaps: Vec<_> =
        gaps.iter().map(|gap| (gap.from.millis(), gap.to.map(Timestamp::millis))).collect();
    assert_eq!(gaps, [(25, Some(30)), (40, Some(45)), (70, None)]);
    show(80, PresenceEvidenceKind::BotJoined).await;
    assert_eq!(status().await, (Active, 80, 10));
}

/// A user subscribes before an earlier leave is known.
async fn a_late_leave_counts_although_somebody_subscribed(fixture: Fixture) {
    let store = &fixture.store;
    store
        .members()
        .record_presence(&[item("C1", 10, PresenceEvidenceKind::Present("U1".into()))], at(11))
        .await
        .unwrap();
    fixture.subscribe("C1", "U1", 30).await;
    store
        .members()
        .record_presence(&[item("C1", 20, PresenceEvidenceKind::BotLeft)], at(31))
        .await
        .unwrap();
    let channel = store.channels().channel(&"C1".into()).await.unwrap().unwrap();
    assert_eq!((channel.status, channel.enabled_at), (ChannelStatus::Disabled, at(10)));
}

async fn first_subscriber_becomes_owner(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.subscribe("C1", "U2", 6).await;
    let role = async |user: &str| {
        fixture.store.members().member(&"C1".into(), &user.into()).await.unwrap().unwrap().role
    };
    assert_eq!((role("U1").await, role("U2").await), (Role::Owner, Role::Member));
}

async fn who_opts_out_while_the_platform_is_asked_gets_no_name(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.group("C2", &["U2"]).await;
    let (members, channel) = (fixture.store.members(), ChannelId::from("C1"));
    members.set_opted_out(&"U2".into(), Some(&channel), true, || at(40)).await.unwrap();
    let fetched = |channel: &str, user: &str| {
        let profile = Profile { display_name: user.to_owned(), picture_url: None, language: None };
        (UserId::from(user), (ChannelId::from(channel), Some(profile)))
    };
    let save = async |fetched: Vec<_>, now| {
        members.save_fetched_profiles(&fetched.into_iter().collect(), at(now)).await.unwrap();
    };
    let name = async |user: &str| {
        fixture.store.accounts().user(&user.into()).await.unwrap().unwrap().display_name
    };
    save(vec![fetched("C1", "U1"), fetched("C1", "U2")], 50).await;
    assert_eq!((name("U1").await.as_deref(), name("U2").await), (Some("U1"), None));
    // They said nothing of the other chat.
    save(vec![fetched("C2", "U2")], 60).await;
    assert_eq!(name("U2").await.as_deref(), Some("U2"));
}

async fn names_and_summaries(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    let store = &fixture.store;
    let people = ["U1".into(), "U2".into()];
    assert_eq!(store.members().without_profile(&people, at(1)).await.unwrap(), people);
    let profile = Profile { display_name: "小明".to_owned(), picture_url: None, language: None };
    let profiles = BTreeMap::from([("U1".into(), Some(profile)), ("U2".into(), None)]);
    store.members().save_profiles(&profiles, at(50)).await.unwrap();
    let forgotten = BTreeMap::from([("U1".into(), None), ("U9".into(), None)]);
    store.members().save_profiles(&forgotten, at(50)).await.unwrap();
    assert!(store.members().without_profile(&people, at(50)).await.unwrap().is_empty());
    assert_eq!(store.members().without_profile(&people, at(51)).await.unwrap(), people);
    let member = store.members().member(&"C1".into(), &"U1".into()).await.unwrap().unwrap();
    assert_eq!(member.display_name.as_deref(), Some("小明"));

    let channels = store.channels();
    fixture.group("C2", &["U1"]).await;
    let both = ["C1".into(), "C2".into()];
    assert_eq!(channels.without_summary(&both, at(1)).await.unwrap(), both);
    let channel = channels.channel(&"C1".into()).await.unwrap().unwrap();
    assert_eq!(channel.member_count, 2, "as many as are known");
    let summary =
        ChannelSummary {
            name: Some("測試".to_owned()), picture_url: None, member_count: Some(7)
        };
    let summaries = BTreeMap::from([
        ("C1".into(), summary),
        ("C2".into(), ChannelSummary::default()),
        ("C3".into(), ChannelSummary::default()),
    ]);
    channels.save_summaries(&summaries, at(60)).await.unwrap();
    assert!(channels.without_summary(&both, at(60)).await.unwrap().is_empty());
    assert_eq!(channels.without_summary(&both[..1], at(61)).await.unwrap(), both[..1]);
    let save = async |name: Option<&str>, picture: Option<&str>| {
        let (name, picture_url) = (name.map(str::to_owned), picture.map(str::to_owned));
        let summary = ChannelSummary { name, picture_url, member_count: None };
        channels.save_summaries(&[("C1".into(), summary)].into(), at(62)).await.unwrap();
        channels.channel(&"C1".into()).await.unwrap().unwrap().picture_url
    };
    assert_eq!(save(Some("x"), Some("p")).await.as_deref(), Some("p"));
    assert_eq!(save(None, None).await.as_deref(), Some("p"), "the platform does not know it");
    assert_eq!(save(Some("測試"), None).await, None, "it was removed");
    let channel = channels.channel(&"C1".into()).await.unwrap().unwrap();
    let unknown = channels.channel(&"C2".into()).await.unwrap().unwrap();
    assert_eq!((unknown.name, unknown.member_count), (None, 1));
    assert_eq!((channel.name.as_deref(), channel.member_count), (Some("測試"), 7));
}

async fn people_without_names(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2", "U3"]).await;
    fixture.group("C2", &["U2", "U4", "U5"]).await;
    let members = fixture.store.members();
    let nameless = async |after: Option<&str>, limit| -> Vec<_> {
        let after = after.map(Into::into);
        let people = members.nameless(after.as_ref(), limit).await.unwrap();
        let told = |one: NamelessMember| (one.user.to_string(), one.channel.id.to_string());
        people.into_iter().map(told).collect()
    };
    let is = |user: &str, channel: &str| (user.to_owned(), channel.to_owned());
    let all = [is("U1", "C1"), is("U2", "C1"), is("U3", "C1"), is("U4", "C2"), is("U5", "C2")];
    assert_eq!(nameless(None, 9).await, all);
    assert_eq!(nameless(Some("U1"), 2).await, all[1..3]);
    let one = &members.nameless(None, 1).await.unwrap()[0];
    assert_eq!((one.channel.kind, one.bot.as_str()), (ChannelKind::Group, "main"));

    let moves = [
        item("C1", 9, PresenceEvidenceKind::Left("U1".into())),
        item("C2", 9, PresenceEvidenceKind::BotLeft),
    ];
    members.record_presence(&moves, at(10)).await.unwrap();
    // U2 was asked about, and the platform does not know them.
    members.save_profiles(&[("U2".into(), None)].into(), at(11)).await.unwrap();
    assert_eq!(nameless(None, 9).await, [is("U3", "C1")], "the others cannot be asked about");
    // An event from after its leave proves that the bot is there.
    let event = item("C2", 12, PresenceEvidenceKind::Channel);
    members.record_presence(&[event], at(13)).await.unwrap();
    assert_eq!(nameless(None, 9).await, [is("U3", "C1"), is("U4", "C2"), is("U5", "C2")]);
}

async fn channels_without_names(fixture: Fixture) {
    for channel in ["C1", "C2", "C3", "C4"] {
        fixture.group(channel, &["U1"]).await;
    }
    let channels = fixture.store.channels();
    let nameless = async |after: Option<&str>, limit| -> Vec<_> {
        let after = after.map(Into::into);
        let found = channels.nameless(after.as_ref(), limit).await.unwrap();
        found.into_iter().map(|one| one.channel.id.to_string()).collect()
    };
    assert_eq!(nameless(Some("C1"), 2).await, ["C2", "C3"]);
    let one = &channels.nameless(None, 1).await.unwrap()[0];
    assert_eq!((one.channel.kind, one.bot.as_str()), (ChannelKind::Group, "main"));
    let left = item("C2", 9, PresenceEvidenceKind::BotLeft);
    fixture.store.members().record_presence(&[left], at(10)).await.unwrap();
    let summary = [("C3".into(), ChannelSummary::default())];
    channels.save_summaries(&summary.into(), at(11)).await.unwrap();
    assert_eq!(nameless(None, 9).await, ["C1", "C4"], "C3 was asked about");
    // An event from after its leave proves that the bot is there.
    let event = item("C2", 12, PresenceEvidenceKind::Channel);
    fixture.store.members().record_presence(&[event], at(13)).await.unwrap();
    assert_eq!(nameless(None, 9).await, ["C1", "C2", "C4"]);
}

async fn listing_pages_and_filters(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2", "U3"]).await;
    let left = item("C1", 9, PresenceEvidenceKind::Left("U3".into()));
    fixture.store.members().record_presence(&[left], at(10)).await.unwrap();
    let ids = async |status, after: Option<&str>, limit| -> Vec<String> {
        let after = after.map(chatkeep_core::id::UserId::from);
        let members = fixture
            .store
            .members()
            .list(&"C1".into(), None, status, after.as_ref(), limit)
            .await
            .unwrap();
        members.into_iter().map(|m| m.user.into_string()).collect()
    };
    assert_eq!(ids(None, None, 2).await, ["U1", "U2"]);
    assert_eq!(ids(None, Some("U2"), 2).await, ["U3"]);
    assert_eq!(ids(Some(MemberStatus::Active), None, 9).await, ["U1", "U2"]);
    assert_eq!(ids(Some(MemberStatus::Left), None, 9).await, ["U3"]);
    let guests =
        fixture.store.members().list(&"C1".into(), Some(Role::Guest), None, None, 9).await.unwrap();
    assert!(guests.is_empty());
}

async fn channels_of_a_person(fixture: Fixture) {
    for channel in ["C1", "C2", "C3"] {
        fixture.group(channel, &["U1"]).await;
    }
    let left = item("C2", 9, PresenceEvidenceKind::Left("U1".into()));
    fixture.store.members().record_presence(&[left], at(10)).await.unwrap();
    let channels =
        fixture.store.channels().channels_of(&"U1".into(), None, None, 10).await.unwrap();
    let ids: Vec<_> = channels.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["C1", "C3"]);
    let after = fixture
        .store
        .channels()
        .channels_of(&"U1".into(), None, Some(&"C1".into()), 10)
        .await
        .unwrap();
    assert_eq!(after.len(), 1);
}
