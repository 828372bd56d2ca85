//! Reading messages: filters that page through all, selected ones, a channel's time zone.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MessageChange, MessageType};
use chatkeep_store::{ChannelChange, MessageFilter, Order};

use super::{Fixture, at, on_both, said, unsent};

on_both!(
    every_filter_pages_through_all,
    chosen_messages_come_from_their_own_channels,
    a_channel_has_a_time_zone,
);

const KINDS: [MessageType; 3] = [MessageType::Text, MessageType::Image, MessageType::Sticker];

/// Returns a message of one of two people, of one of three types.
fn one(n: usize) -> ChannelChange {
    let time = 10 + i64::try_from(n).unwrap() / 4;
    let mut one = said("C1", &format!("m{n:02}"), time, "x");
    if let MessageChange::Received(received) = &mut one.change {
        received.sender = Some(if n.is_multiple_of(2) { "U1" } else { "U2" }.into());
        received.kind = KINDS[n % 3];
        received.content = match received.kind {
            MessageType::Image => r#"{"type":"image"}"#.to_owned(),
            MessageType::Sticker => {
                r#"{"type":"sticker","packageId":"1","stickerId":"2"}"#.to_owned()
            }
            _ => serde_json::to_string(&Content::text("x")).unwrap(),
        };
    }
    one
}

async fn every_filter_pages_through_all(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let batch: Vec<_> = (0..60).map(one).collect();
    fixture.keep(&batch, 100).await;
    let senders = [None, Some("U1"), Some("U2"), Some("U9")];
    let kinds = [None, Some(KINDS[0]), Some(KINDS[1]), Some(KINDS[2]), Some(MessageType::File)];
    for (sender, kind) in senders.iter().flat_map(|s| kinds.map(|k| (*s, k))) {
        for (order, span) in [(Order::Descending, None), (Order::Ascending, Some((12, 20)))] {
            let fits = |n: &usize| {
                let time = 10 + i64::try_from(*n).unwrap() / 4;
                sender
                    .is_none_or(|sender| (sender == "U1") == n.is_multiple_of(2) && sender != "U9")
                    && kind.is_none_or(|kind| kind == KINDS[n % 3])
                    && span.is_none_or(|(from, to)| from <= time && time < to)
            };
            let mut expected: Vec<_> = (0..60).filter(fits).map(|n| format!("m{n:02}")).collect();
            if order == Order::Descending {
                expected.reverse();
            }
            let filter = MessageFilter {
                from: span.map(|(from, _)| at(from)),
                to: span.map(|(_, to)| at(to)),
                sender: sender.map(Into::into),
                kind,
                order,
                after: None,
                limit: 4,
            };
            assert_eq!(walk(&fixture, filter).await, expected, "{sender:?} {kind:?} {order:?}");
        }
    }
}

async fn walk(fixture: &Fixture, mut filter: MessageFilter) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = fixture.store.messages().list(&"C1".into(), &filter).await.unwrap();
        assert!(page.messages.len() <= filter.limit as usize);
        ids.extend(page.messages.into_iter().map(|message| message.id.into_string()));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return ids,
        }
    }
}

async fn chosen_messages_come_from_their_own_channels(fixture: Fixture) {
    for channel in ["C1", "C2"] {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    let batch = [
        said("C1", "a", 10, "in one"),
        said("C2", "a", 11, "in two"),
        said("C2", "b", 12, "two"),
        unsent("C1", "early", 13),
    ];
    fixture.keep(&batch, 20).await;
    let chosen = async |keys: &[(&str, &str)]| {
        let keys: Vec<_> =
            keys.iter().map(|(c, m)| (ChannelId::from(*c), MessageId::from(*m))).collect();
        let found = fixture.store.messages().chosen_messages(&keys).await.unwrap();
        let mut found: Vec<_> =
            found.into_iter().map(|m| format!("{}/{}", m.channel, m.id)).collect();
        found.sort();
        found
    };
    let asked = [("C2", "a"), ("C1", "b"), ("C1", "early"), ("C9", "a"), ("C1", "none")];
    assert_eq!(chosen(&asked).await, ["C2/a"]);
    assert_eq!(chosen(&[("C2", "b"), ("C1", "a"), ("C2", "a")]).await, ["C1/a", "C2/a", "C2/b"]);
    assert!(chosen(&[]).await.is_empty());
}

async fn a_channel_has_a_time_zone(fixture: Fixture) {
    for channel in ["C1", "C2"] {
        fixture.group(channel, &["U1"]).await;
    }
    let zone = async |channel: &str| {
        fixture.store.channels().channel(&channel.into()).await.unwrap().unwrap().time_zone
    };
    let set = async |channel: &str, zone| {
        fixture
            .store
            .channels()
            .set_time_zone(&channel.into(), zone, &"U1".into(), at(1))
            .await
            .unwrap();
    };
    assert_eq!(zone("C1").await, None);
    set("C1", Some("Asia/Taipei")).await;
    set("C9", Some("Asia/Tokyo")).await;
    assert_eq!((zone("C1").await.as_deref(), zone("C2").await), (Some("Asia/Taipei"), None));
    set("C1", None).await;
    assert_eq!(zone("C1").await, None);
}
