//! Channels of callers: which they see, how far back, and all of them for operators.

use std::collections::BTreeMap;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::ChannelId;
use chatkeep_core::profile::ChannelSummary;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ActivityFilter, RoleSet};
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::gaps::with_gaps;
use super::{
    arrive, at, bounded, call, establish, keep, key_of, leave, only, parts, refused_at, said,
    since, unsent,
};
use crate::access::{Member, ReadMessages, Scoped};
use crate::channels::ChannelService;
use crate::operator::Operator;
use crate::{Caller, encode_cursor};

fn channels(group: &Group) -> ChannelService {
    let (store, clock) = parts(group);
    ChannelService::new(store, clock, Tz::UTC)
}

/// Returns the ids of all pages of the list.
async fn pages(group: &Group, caller: &Caller, limit: u32) -> Vec<Vec<String>> {
    let (service, mut pages, mut cursor) = (channels(group), Vec::new(), None::<String>);
    loop {
        let (page, next) = service.page(caller, limit, cursor.as_deref()).await.unwrap();
        pages.push(page.iter().map(|channel| channel.id.to_string()).collect());
        cursor = next;
        if cursor.is_none() {
            return pages;
        }
    }
}

/// Returns the ids of the channels whose names a caller may know.
async fn names(group: &Group, caller: &Caller) -> Vec<String> {
    let names = channels(group).names(caller).await.unwrap();
    names.iter().map(|channel| channel.id.to_string()).collect()
}

/// Returns a group, four more channels, and a room with nobody else.
async fn with_channels() -> Group {
    let group = Group::new().await;
    for channel in ["C2", "C3", "C4", "C5"] {
        establish(&group, channel, &["Uboss", OWNER]).await;
    }
    arrive(&group, "R1", &["Uboss"]).await;
    group
}

#[tokio::test]
async fn callers_see_the_channels_in_which_they_take_part() {
    let group = with_channels().await;
    leave(&group, "C3", OWNER).await;
    let (channel, boss, owner) = ("C4".into(), "Uboss".into(), OWNER.into());
    let now = group.clock.now();
    let set = group.store.members().set_role(&channel, &boss, &owner, Role::Guest, now).await;
    assert_eq!(set.unwrap(), RoleSet::Done);
    // Of the bot's absence people are told there.
    group.sql("UPDATE channels SET disabled_at = 9000000 WHERE channel_id = 'C5'").await;
    let (all, own) = (caller("Uboss"), caller(OWNER));
    assert_eq!(pages(&group, &own, 100).await, [[GROUP, "C2", "C5"]]);
    assert_eq!(names(&group, &own).await, [GROUP, "C2", "C5"]);
    assert_eq!(pages(&group, &all, 100).await, [["C2", "C3", "C4", "C5", "R1"]]);
    assert_eq!(pages(&group, &caller("Ustranger"), 100).await, [[""; 0]]);
    let narrow = bounded(OWNER, only(&["C5", "C4", GROUP, "C9", "R1"]));
    assert_eq!(pages(&group, &narrow, 100).await, [[GROUP, "C5"]]);
    assert_eq!(names(&group, &narrow).await, [GROUP, "C5"]);
    assert_eq!(names(&group, &bounded(OWNER, only(&[]))).await, [""; 0], "none is not all");
}

#[tokio::test]
async fn pages_of_any_length_are_the_whole_list() {
    let group = with_channels().await;
    for user in [OWNER, "Uboss", OTHER] {
        let whole = pages(&group, &caller(user), 100).await.concat();
        for limit in 1..=6 {
            let parts = pages(&group, &caller(user), limit).await;
            assert_eq!(parts.concat(), whole, "{user} by {limit}");
            let length = usize::try_from(limit).unwrap();
            assert_eq!(parts.len(), whole.len().div_ceil(length), "{user} by {limit}");
        }
    }
    let service = channels(&group);
    for foreign in ["subscriptions", "Channels", ""] {
        let cursor = encode_cursor(foreign, &"C2");
        let refused = service.page(&caller(OWNER), 9, cursor.as_deref()).await;
        assert_eq!(refused_at(refused), "cursor", "{foreign}");
    }
    // A list goes on behind a channel that has gone meanwhile.
    let (page, cursor) = service.page(&caller(OWNER), 2, None).await.unwrap();
    assert_eq!(ChannelService::cursor_after(&page[1]), cursor);
    leave(&group, page[1].id.as_str(), OWNER).await;
    let (rest, _) = service.page(&caller(OWNER), 9, cursor.as_deref()).await.unwrap();
    assert_eq!(rest.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["C3", "C4", "C5"]);
}

#[tokio::test]
async fn names_of_chats_are_those_of_stand_ins_for_readers_of_pseudonyms() {
    let group = Group::new().await;
    call(&group, &[(OWNER, "Xiomara"), (OTHER, "Yolanda")]).await;
    establish(&group, OWNER, &[OWNER]).await;
    let summary = |name: &str| ChannelSummary {
        name: Some(name.to_owned()),
        picture_url: Some("https://example.org/p".to_owned()),
        member_count: None,
    };
    let summaries = BTreeMap::from([
        (ChannelId::from(GROUP), summary("Team of Yolanda")),
        (ChannelId::from(OWNER), summary("Xiomara")),
    ]);
    group.store.channels().save_summaries(&summaries, group.clock.now()).await.unwrap();
    let key = PseudonymKey::new([3; 32]);
    let bounds = Bounds { pseudonyms: Some(key.clone()), ..Bounds::full() };
    let masked = key_of(&group, OWNER, "key_1", &bounds).await;
    let shown = async |caller: &Caller| {
        let service = channels(&group);
        let (page, _) = service.page(caller, 9, None).await.unwrap();
        let names = service.names(caller).await.unwrap();
        let names: Vec<_> = names.iter().map(|channel| channel.name.clone().unwrap()).collect();
        let listed: Vec<_> = page.iter().map(|channel| channel.name.clone().unwrap()).collect();
        assert_eq!(names, listed);
        (names, page.iter().filter(|channel| channel.picture_url.is_some()).count())
    };
    let plain = ["Team of Yolanda", "Xiomara"].map(str::to_owned).to_vec();
    assert_eq!(shown(&caller(OWNER)).await, (plain, 2));
    let stand_in = |user: &str| key.person(&user.into()).name;
    let team = format!("Team of {}", stand_in(OTHER));
    assert_eq!(shown(&masked).await, (vec![team, stand_in(OWNER)], 0));
}

/// Returns what a reader sees of many channels of theirs.
fn reader(group: &Group, caller: Caller) -> Scoped<ReadMessages> {
    group.access.scoped(caller).unwrap()
}

/// Returns the channels in which reads of messages are counted.
async fn read_in(group: &Group, channels: &[&str]) -> Vec<String> {
    let (log, all) = (group.store.activity_log(), ActivityFilter::default());
    log.write_reads().await.unwrap();
    let mut found = Vec::new();
    for channel in channels {
        if !log.reads(&(*channel).into(), &all, None, 9).await.unwrap().is_empty() {
            found.push((*channel).to_owned());
        }
    }
    found
}

#[tokio::test]
async fn the_newest_messages_of_many_channels_are_those_that_may_be_read() {
    const ALL: [&str; 4] = [GROUP, "C2", "C3", "Cnone"];
    let group = Group::new().await;
    for channel in ["C2", "C3"] {
        establish(&group, channel, &[OWNER]).await;
    }
    group.hands.set(at(9_000_000));
    keep(
        &group,
        &[
            said(GROUP, "m1", OWNER, at(2_000_000), "one"),
            said(GROUP, "m2", OWNER, at(4_000_000), "two"),
            said(GROUP, "m4", OTHER, at(5_000_000), "four"),
            said(GROUP, "m3", OTHER, at(5_000_000), "three"),
            unsent(GROUP, "m4", at(6_000_000)),
            said("C2", "n1", OWNER, at(3_999_999), "before"),
        ],
    )
    .await;
    let (service, ids) = (channels(&group), ALL.map(ChannelId::from));
    let last = async |caller: Caller| {
        let found = service.last_activity(&reader(&group, caller), &ids).await.unwrap();
        let found: BTreeMap<String, Timestamp> =
            found.into_iter().map(|(id, at)| (id.to_string(), at)).collect();
        found.into_iter().collect::<Vec<_>>()
    };
    let (c1, c2) = ((GROUP.to_owned(), at(5_000_000)), ("C2".to_owned(), at(3_999_999)));
    assert_eq!(last(caller(OWNER)).await, [c1.clone(), c2]);
    assert_eq!(last(bounded(OWNER, since(at(4_000_000)))).await, [c1]);
    assert_eq!(last(bounded(OWNER, since(at(5_000_001)))).await, []);
    assert_eq!(read_in(&group, &ALL).await, [""; 0], "a time is no message");

    let recent = async |caller: Caller, limit: u32| {
        let found = service.recent(&reader(&group, caller), &ids, limit).await.unwrap();
        let lists = found.into_iter().map(|(id, messages)| {
            let shown = messages.iter().map(|message| message.id.to_string());
            (id.to_string(), shown.collect::<Vec<_>>().join(" "))
        });
        lists.collect::<BTreeMap<_, _>>().into_iter().collect::<Vec<_>>()
    };
    let of = |channel: &str, messages: &str| (channel.to_owned(), messages.to_owned());
    let late = || bounded(OWNER, since(at(4_000_000)));
    assert_eq!(recent(late(), 2).await, [of(GROUP, "m4 m3")], "of one moment by their ids");
    assert_eq!(read_in(&group, &ALL).await, [GROUP], "only where something was shown");
    assert_eq!(recent(late(), 9).await, [of(GROUP, "m4 m3 m2")]);
    let both = [of(GROUP, "m4 m3 m2 m1"), of("C2", "n1")];
    assert_eq!(recent(caller(OWNER), 9).await, both);
    assert_eq!(read_in(&group, &ALL).await, [GROUP, "C2"]);
}

#[tokio::test]
async fn a_coverage_is_of_the_times_that_may_be_read() {
    let group = with_gaps().await;
    let sent = [("m1", 2_000_000), ("m2", 8_000_000)];
    keep(&group, &sent.map(|(id, time)| said(GROUP, id, OWNER, at(time), "x"))).await;
    group.sql("UPDATE channels SET deleted_before = 1500000 WHERE channel_id = 'C1'").await;
    let (begin, deleted) = (at(1_000_000), Some(at(1_500_000)));
    let span = |from: i64, to: i64| Some((at(from), at(to)));
    let two: Vec<(i64, Option<i64>)> = vec![(2_000_000, Some(7)), (7_000_000, Some(1))];
    for (bounds, since, messages, removed, gaps) in [
        (Bounds::full(), begin, span(2_000_000, 8_000_000), deleted, two.clone()),
        (since(at(5)), begin, span(2_000_000, 8_000_000), deleted, two.clone()),
        (since(at(1_500_000)), at(1_500_000), span(2_000_000, 8_000_000), None, two),
        (
            since(at(2_000_001)),
            at(2_000_001),
            span(8_000_000, 8_000_000),
            None,
            vec![(2_000_001, None), (7_000_000, Some(1))],
        ),
        (since(at(8_000_001)), at(8_000_001), None, None, Vec::new()),
    ] {
        let caller = bounded(OTHER, bounds);
        let access = group.access.channel::<Member, ReadMessages>(caller, GROUP.into());
        let coverage = channels(&group).coverage(&access.await.unwrap()).await.unwrap();
        assert_eq!((coverage.since, coverage.messages), (Some(since), messages));
        assert_eq!(coverage.removed_before, removed, "{since:?}");
        let told = coverage.gaps.iter().map(|gap| (gap.from.millis(), gap.skipped));
        assert_eq!(told.collect::<Vec<_>>(), gaps, "{since:?}");
    }
}

#[tokio::test]
async fn operators_see_all_channels_and_move_them_between_bots() {
    let group = with_channels().await;
    let (service, operator) = (channels(&group), Operator::at_command_line());
    let ids = service.ids_of_all(&operator).await.unwrap();
    let ids: Vec<_> = ids.iter().map(ChannelId::as_str).collect();
    assert_eq!(ids, [GROUP, "C2", "C3", "C4", "C5", "R1"]);
    let (channel, other, now) = ("C2".into(), OWNER.into(), group.clock.now());
    group.store.accounts().subscribe(&channel, &other, now).await.unwrap();
    let page = async |after: Option<&str>, limit: u32| {
        let after = after.map(ChannelId::from);
        let page = service.page_of_all(&operator, after.as_ref(), limit).await.unwrap();
        page.into_iter()
            .map(|(channel, count)| format!("{} {count}", channel.id))
            .collect::<Vec<_>>()
    };
    assert_eq!(page(None, 3).await, ["C1 1", "C2 2", "C3 1"]);
    assert_eq!(page(Some("C3"), 9).await, ["C4 1", "C5 1", "R1 0"]);
    assert_eq!(page(Some("R1"), 9).await, [""; 0]);
    let bots = async || {
        let bots = service.bots(&operator).await.unwrap();
        bots.into_iter().map(|one| format!("{}:{}", one.bot, one.channels)).collect::<Vec<_>>()
    };
    assert_eq!(bots().await, [":6"]);
    for (channel, is_known) in [("C2", true), ("C3", true), ("Cnone", false)] {
        let assigned = service.assign(&operator, &channel.into(), "one").await.unwrap();
        assert_eq!(assigned, is_known, "{channel}");
    }
    assert!(service.assign(&operator, &"C5".into(), "two").await.unwrap());
    assert_eq!(bots().await, [":3", "one:2", "two:1"]);
    assert_eq!(service.reassign(&operator, "one", "two").await.unwrap(), 2);
    assert_eq!(service.reassign(&operator, "one", "two").await.unwrap(), 0);
    assert_eq!(bots().await, [":3", "two:3"]);
    let moved = service.any(&operator, &"C3".into()).await.unwrap();
    assert_eq!(moved.map(|channel| channel.bot).as_deref(), Some("two"));
    assert!(service.any(&operator, &"Cnone".into()).await.unwrap().is_none());
}
