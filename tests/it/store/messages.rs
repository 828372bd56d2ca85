//! Reading messages: filters that page through all, selected ones, a channel's time zone.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MessageChange, MessageType};
use chatkeep_store::{ChannelChange, MessageFilter, Order};

use super::{Fixture, at, on_both, said, unsent};

on_both!(
    every_filter_pages_through_all,
    a_page_ends_by_its_bytes_too,
    chosen_messages_come_from_their_own_channels,
    a_page_has_all_that_one_message_has,
    quotes_are_followed_in_both_directions,
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

async fn a_page_ends_by_its_bytes_too(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let text = |length: i64| {
        let length = usize::try_from(length).unwrap();
        serde_json::to_string(&Content::text("x".repeat(length))).unwrap()
    };
    let frame = text(0).len();
    // Every second one is somebody else's and large.
    let batch: Vec<_> = (0..10)
        .map(|n| {
            let mut one = said("C1", &format!("m{n}"), 10 + n, "");
            if let MessageChange::Received(received) = &mut one.change {
                received.sender = Some(if n % 2 == 0 { "U1" } else { "U2" }.into());
                received.content = text(if n % 2 == 0 { 10 } else { 1_000 });
            }
            one
        })
        .collect();
    fixture.keep(&batch, 100).await;
    let sizes = async |sender: Option<&str>, limit, bytes: usize| {
        let sender = sender.map(Into::into);
        let mut filter = MessageFilter { sender, limit, ..MessageFilter::default() };
        let (mut sizes, bytes) = (Vec::new(), u32::try_from(bytes).unwrap());
        loop {
            let messages = fixture.store.messages();
            let page = messages.list_within(&"C1".into(), &filter, bytes).await.unwrap();
            sizes.push(page.messages.len());
            match page.next {
                Some(next) => filter.after = Some(next),
                None => return sizes,
            }
        }
    };
    let pair = frame + 10 + frame + 1_000;
    assert_eq!(sizes(None, 100, 100 * pair).await, [10]);
    assert_eq!(sizes(None, 3, 100 * pair).await, [3, 3, 3, 1]);
    assert_eq!(sizes(None, 100, 2 * pair).await, [4, 4, 2]);
    assert_eq!(sizes(None, 100, 2 * pair - 1).await, [3, 3, 3, 1]);
    assert_eq!(sizes(None, 100, 1).await, [1; 10], "one at least");
    assert_eq!(sizes(Some("U1"), 100, 2 * (frame + 10)).await, [2, 2, 1]);
    assert_eq!(sizes(Some("U9"), 100, 1).await, [0]);
}

/// Compares the quotes of every message with a simple look through all of them.
async fn quotes_are_followed_in_both_directions(fixture: Fixture) {
    const COUNT: usize = 60;
    fixture.group("C1", &["U1"]).await;
    fixture.group("C2", &["U1"]).await;
    for channel in ["C1", "C2"] {
        fixture.subscribe(channel, "U1", 5).await;
    }
    // Some quote nothing, one a message that is not stored, two each other, and one itself.
    let quoted = |n: usize| match n {
        7 => Some("nothing".to_owned()),
        30 => Some("m31".to_owned()),
        31 => Some("m30".to_owned()),
        40 => Some("m40".to_owned()),
        n if n % 4 == 1 || n == 0 => None,
        n => Some(format!("m{:02}", n / 2)),
    };
    let batch: Vec<_> = (0..COUNT)
        .map(|n| {
            let mut one = one(n);
            if let MessageChange::Received(received) = &mut one.change {
                received.quoted = quoted(n).map(MessageId::from);
            }
            one
        })
        .collect();
    let mut elsewhere = said("C2", "m99", 10, "x");
    if let MessageChange::Received(received) = &mut elsewhere.change {
        received.quoted = Some("m03".into());
    }
    fixture.keep(&batch, 100).await;
    fixture.keep(&[elsewhere], 100).await;
    let (store, channel) = (fixture.store.messages(), ChannelId::from("C1"));
    let number = |id: &str| id[1..].parse::<usize>().ok().filter(|n| *n < COUNT);
    for n in 0..COUNT {
        let id = MessageId::from(format!("m{n:02}"));
        for limit in [1, 3, 20] {
            let mut expected = Vec::new();
            let mut last = quoted(n);
            while let Some(next) = last.filter(|_| expected.len() < limit) {
                last = number(&next).and_then(quoted);
                expected.push(MessageId::from(next));
            }
            let chain = store.quoted_by(&channel, &id, u32::try_from(limit).unwrap()).await;
            assert_eq!(chain.unwrap(), expected, "what m{n} quotes, at most {limit}");
            let quoting = (0..COUNT).filter(|m| quoted(*m).as_deref() == Some(id.as_str()));
            let expected: Vec<_> =
                quoting.take(limit).map(|m| MessageId::from(format!("m{m:02}"))).collect();
            let of = [id.clone(), "nobody".into()];
            let quoting = store.quoting(&channel, &of, u32::try_from(limit).unwrap()).await;
            assert_eq!(quoting.unwrap(), expected, "what quotes m{n}, at most {limit}");
        }
    }
    let several = ["m01", "m02", "m03", "m05", "m06"].map(MessageId::from);
    let quoting = store.quoting(&channel, &several, 50).await.unwrap();
    let all = (0..COUNT)
        .filter(|m| quoted(*m).is_some_and(|id| several.iter().any(|one| one.as_str() == id)));
    let all: Vec<_> = all.map(|m| MessageId::from(format!("m{m:02}"))).collect();
    assert!(all.len() > 3);
    assert_eq!(quoting, all);
    assert_eq!(store.quoting(&channel, &[], 50).await.unwrap(), []);
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

/// Pages are read in another way than one message, and every column has a value of its own here.
async fn a_page_has_all_that_one_message_has(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let mut image = said("C1", "m", 10, "x");
    if let MessageChange::Received(received) = &mut image.change {
        received.kind = MessageType::Image;
        r#"{"type":"image","fileName":"\"a\\b\"\n\u0001 貓 🐈"}"#.clone_into(&mut received.content);
    }
    fixture.keep(&[image, said("C1", "plain", 9, "y")], 20).await;
    let (file, preview) = ("a".repeat(64), "b".repeat(64));
    for sql in [
        "UPDATE messages SET quoted_id = 'q', edited_at = 12, unsent_at = 13, is_bot = TRUE,
                reply_source = 'qa', reply_rule_id = 'r' WHERE message_id = 'm'"
            .to_owned(),
        "UPDATE users SET display_name = 'Ann', picture_url = 'https://p' WHERE user_id = 'U1'"
            .to_owned(),
        "DELETE FROM media".to_owned(),
        format!(
            "INSERT INTO media (channel_id, message_id, status, bytes, created_at, stored_at,
                                sha256, content_type, preview_sha256, preview_type, reason)
             VALUES ('C1', 'm', 'stored', 7, 14, 15, '{file}', 'image/png', '{preview}',
                     'image/webp', 'too_large')"
        ),
    ] {
        fixture.run(&sql).await;
    }
    let messages = fixture.store.messages();
    let channel = ChannelId::from("C1");
    let one = async |id: &str| {
        let found = messages.message(&channel, &id.into()).await.unwrap();
        format!("{:?}", found.unwrap())
    };
    let expected = [one("m").await, one("plain").await];
    for value in
        ["\"q\"", "12", "13", "is_bot: true", "Qa", "\"r\"", "Ann", "https://p", "TooLarge"]
    {
        assert!(expected[0].contains(value), "{value} in {}", expected[0]);
    }
    let filter = MessageFilter { limit: 10, ..MessageFilter::default() };
    let page = messages.list(&channel, &filter).await.unwrap().messages;
    let page: Vec<_> = page.iter().map(|message| format!("{message:?}")).collect();
    assert_eq!(page, expected);
    let keys = ["m", "plain"].map(|id| (channel.clone(), MessageId::from(id)));
    let chosen = messages.chosen_messages(&keys).await.unwrap();
    let mut chosen: Vec<_> = chosen.iter().map(|message| format!("{message:?}")).collect();
    chosen.sort_by_key(|message| expected.iter().position(|one| one == message));
    assert_eq!(chosen, expected);
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
