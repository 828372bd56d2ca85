//! Feed of events: its pages, its end, and what each reader gets of it.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::{ActivityFilter, PresenceEvidenceKind, ReadAction};
use chatkeep_view::EventView;
use chatkeep_view::pseudonyms::Mask;
use serde_json::{Value, json};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{
    appoint, arrive, at, bounded, edited, establish, keep, leave, only, parts, refused_at,
    renderer, said, since, unsent, with_scopes,
};
use crate::access::ReadMessages;
use crate::events::{EventPage, EventService};
use crate::{Caller, ServiceError, encode_cursor};

async fn page(
    group: &Group,
    caller: &Caller,
    limit: u32,
    cursor: Option<&str>,
) -> Result<EventPage, ServiceError> {
    let access = group.access.scoped::<ReadMessages>(caller.clone()).unwrap();
    let (store, _) = parts(group);
    EventService::new(store, renderer(group)).page(&access, limit, cursor).await
}

/// Returns the name of an event, and the message or person that it is about.
fn told(event: &EventView) -> String {
    let data = &event.data;
    let message = data.message.as_ref().map(|message| message.message.id.to_string());
    let member = data.member.as_ref().map(|member| {
        let member = serde_json::to_value(member).unwrap();
        member["userId"].as_str().unwrap().to_owned()
    });
    let subject = message.or(member).unwrap_or_default();
    format!("{} {subject}", event.kind.name())
}

/// Returns all events from the oldest one on, page by page.
async fn feed(group: &Group, caller: &Caller, limit: u32) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = page(group, caller, limit, cursor.as_deref()).await.unwrap();
        found.extend(page.events.iter().map(told));
        cursor = Some(page.next);
        if !page.has_more {
            return found;
        }
    }
}

/// Returns a group with events of two channels and two people.
async fn with_events() -> Group {
    let group = Group::new().await;
    establish(&group, "C2", &["U3", OWNER]).await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(1_000), "first")]).await;
    keep(&group, &[said("C2", "m2", "U3", at(2_000), "elsewhere")]).await;
    keep(&group, &[edited(GROUP, "m1", at(3_000), "second")]).await;
    group.happened(GROUP, PresenceEvidenceKind::Joined("U4".into())).await;
    keep(&group, &[said(GROUP, "m3", OWNER, at(4_000), "third")]).await;
    group
}

#[tokio::test]
async fn pages_of_any_length_make_the_same_feed() {
    let group = with_events().await;
    let all = [
        "message.received m1",
        "message.received m2",
        "message.edited m1",
        "member.joined U4",
        "message.received m3",
    ];
    for limit in 1..=7 {
        assert_eq!(feed(&group, &caller(OWNER), limit).await, all, "{limit}");
    }
    let here =
        ["message.received m1", "message.edited m1", "member.joined U4", "message.received m3"];
    for limit in [1, 2, 100] {
        assert_eq!(feed(&group, &caller(OTHER), limit).await, here, "{limit}");
        assert_eq!(feed(&group, &bounded(OWNER, only(&[GROUP])), limit).await, here, "{limit}");
        let there = feed(&group, &bounded(OWNER, only(&["C2"])), limit).await;
        assert_eq!(there, ["message.received m2"]);
        // The scope of members is another one.
        let reading = with_scopes(&[Scope::ReadMessages]);
        let found = feed(&group, &bounded(OTHER, reading), limit).await;
        assert_eq!(found, [here[0], here[1], here[3]], "{limit}");
        let late = feed(&group, &bounded(OWNER, since(at(2_000))), limit).await;
        // An edit of today may be of a message of before.
        assert_eq!(late, ["message.received m2", "member.joined U4", "message.received m3"]);
    }
}

#[tokio::test]
async fn who_may_not_read_a_channel_now_gets_nothing_of_it() {
    let group = with_events().await;
    let here = feed(&group, &caller(OTHER), 100).await.len();
    assert_eq!(here, 4);
    appoint(&group, OTHER, Role::Guest).await;
    assert!(feed(&group, &caller(OTHER), 100).await.is_empty());
    appoint(&group, OTHER, Role::Member).await;
    assert_eq!(feed(&group, &caller(OTHER), 100).await.len(), here);
    leave(&group, GROUP, OTHER).await;
    assert!(feed(&group, &caller(OTHER), 100).await.is_empty());
    assert!(feed(&group, &caller("Ustranger"), 100).await.is_empty());
    // What is told of a person's own leave is for those who stayed.
    let last = feed(&group, &caller(OWNER), 100).await.pop();
    assert_eq!(last.as_deref(), Some("member.left U2"));
    group.hands.advance(Duration::from_secs(1));
    arrive(&group, GROUP, &[OTHER]).await;
    assert_eq!(feed(&group, &caller(OTHER), 100).await.len(), here + 1);
}

#[tokio::test]
async fn the_feed_goes_on_after_its_end() {
    let group = with_events().await;
    let ann = caller(OWNER);
    let latest = page(&group, &ann, 9, Some("latest")).await.unwrap();
    assert!(latest.events.is_empty() && !latest.has_more);
    let whole = page(&group, &ann, 5, None).await.unwrap();
    assert_eq!(whole.events.len(), 5);
    let mut ends = Vec::new();
    for cursor in [&latest.next, &whole.next] {
        let end = page(&group, &ann, 9, Some(cursor)).await.unwrap();
        assert!(end.events.is_empty() && !end.has_more);
        ends.push(end.next);
    }
    keep(&group, &[said(GROUP, "next", OTHER, at(5_000), "next")]).await;
    for cursor in &ends {
        let more = page(&group, &ann, 9, Some(cursor)).await.unwrap();
        let found: Vec<_> = more.events.iter().map(told).collect();
        assert_eq!(found, ["message.received next"], "from where it was");
    }
    let ids = async |limit: u32| {
        let page = page(&group, &ann, limit, None).await.unwrap();
        page.events.into_iter().map(|event| event.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(3).await, ids(100).await[..3], "an event keeps its id");
    for wrong in ["", "LATEST", "latest ", "x", "[]"] {
        assert_eq!(refused_at(page(&group, &ann, 9, Some(wrong)).await), "cursor", "{wrong}");
    }
    let foreign = encode_cursor("keys", &(0, 3)).unwrap();
    assert_eq!(refused_at(page(&group, &ann, 9, Some(&foreign)).await), "cursor");
}

#[tokio::test]
async fn who_missed_events_that_were_purged_is_told() {
    let group = with_events().await;
    let ann = caller(OWNER);
    let first = page(&group, &ann, 1, None).await.unwrap().next;
    let last = page(&group, &ann, 100, None).await.unwrap().next;
    group.hands.advance(Duration::from_hours(1));
    let before = group.clock.now();
    assert!(group.store.outbox().purge_outbox_events(before).await.unwrap() >= 5);
    let expired = page(&group, &ann, 9, Some(&first)).await.err();
    assert_eq!(expired, Some(ServiceError::CursorExpired));
    // Nothing is missing behind the last one, nor for somebody who begins.
    for cursor in [Some(last.as_str()), None] {
        let end = page(&group, &ann, 9, cursor).await.unwrap();
        assert!(end.events.is_empty() && !end.has_more, "{cursor:?}");
    }
    keep(&group, &[said(GROUP, "m9", OTHER, at(9_000), "later")]).await;
    for cursor in [Some(last.as_str()), None] {
        let more = page(&group, &ann, 9, cursor).await.unwrap();
        let found: Vec<_> = more.events.iter().map(told).collect();
        assert_eq!(found, ["message.received m9"], "{cursor:?}");
    }
}

#[tokio::test]
async fn events_show_what_there_is_now() {
    let group = with_events().await;
    let data = async |caller: &Caller| {
        let page = page(&group, caller, 100, None).await.unwrap();
        let data = page.events.iter().map(|event| serde_json::to_value(&event.data).unwrap());
        data.collect::<Vec<_>>()
    };
    let first = data(&caller(OTHER)).await;
    let texts: Vec<_> = first.iter().map(|data| data["message"]["content"].clone()).collect();
    assert_eq!(texts, [json!("second"), json!("second"), Value::Null, json!("third")]);
    keep(&group, &[unsent(GROUP, "m1", at(6_000))]).await;
    group.sql("DELETE FROM messages WHERE message_id = 'm3'").await;
    let now = data(&caller(OTHER)).await;
    let of_m1 = |data: &&Value| data["message"]["id"] == "m1";
    assert_eq!((now.len(), now.iter().filter(of_m1).count()), (4, 3), "of m3 nothing is told");
    for data in now.iter().filter(of_m1) {
        let message = &data["message"];
        assert_eq!((&message["content"], &message["kept"]), (&Value::Null, &json!(true)));
        assert_eq!(message["unsentAt"], at(6_000).to_string());
    }
}

#[tokio::test]
async fn a_page_counts_as_a_read_of_the_channels_on_it() {
    let group = with_events().await;
    let reads = async |channel: &str| {
        let (log, all) = (group.store.activity_log(), ActivityFilter::default());
        log.write_reads().await.unwrap();
        let reads = log.reads(&channel.into(), &all, None, 100).await.unwrap();
        let of_feed = reads.iter().filter(|read| read.action == ReadAction::Events);
        of_feed.map(|read| read.requests).sum::<i64>()
    };
    let ann = caller(OWNER);
    let first = page(&group, &ann, 1, None).await.unwrap();
    assert_eq!((reads(GROUP).await, reads("C2").await), (1, 0));
    let second = page(&group, &ann, 1, Some(&first.next)).await.unwrap();
    assert_eq!((reads(GROUP).await, reads("C2").await), (1, 1));
    let rest = page(&group, &ann, 100, Some(&second.next)).await.unwrap();
    assert_eq!((reads(GROUP).await, reads("C2").await), (2, 1), "once for several events");
    page(&group, &ann, 100, Some(&rest.next)).await.unwrap();
    page(&group, &ann, 100, Some("latest")).await.unwrap();
    assert_eq!((reads(GROUP).await, reads("C2").await), (2, 1), "nothing was there");
}

#[tokio::test]
async fn a_reader_of_pseudonyms_gets_stand_ins() {
    let group = with_events().await;
    let people = [(OWNER.into(), None), (OTHER.into(), None), ("U4".into(), None)];
    let key = PseudonymKey::new([6; 32]);
    let bounds = Bounds { pseudonyms: Some(key.clone()), ..Bounds::full() };
    let mask = Mask::of(&key, &people).unwrap();
    let masked = Caller { mask, ..bounded(OTHER, bounds) };
    let events = page(&group, &masked, 100, None).await.unwrap().events;
    let data: Vec<_> =
        events.iter().map(|event| serde_json::to_value(&event.data).unwrap()).collect();
    assert_eq!(data.len(), 4);
    let sender = &data[0]["message"]["sender"];
    assert_eq!(sender["displayName"], key.person(&OTHER.into()).name);
    assert_eq!(data[2]["member"]["displayName"], key.person(&"U4".into()).name);
}
