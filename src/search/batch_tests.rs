//! Comparison of a few messages with queries: it finds what a search of the same messages finds.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_index::search::{IndexChange, IndexDoc, MessageIndex, WriterOptions};
use chrono_tz::Tz;

use super::local::search;
use super::{BatchQuery, MessageBatch, ParsedQuery, SearchRequest, Sort};

/// Texts of messages, in languages with and without spaces between words.
const SAID: [&str; 18] = [
    "tea at the station tomorrow",
    "Wi-Fi password: hello",
    "the wifi is down",
    "e-mail me the tickets",
    "Café 12:30, don't be late",
    "cafe\u{301} open?",
    "明天台北車站見",
    "請問營業時間",
    "营业时间是几点",
    "明日の予約をお願いします",
    "アルバイト募集",
    "พรุ่งนี้ร้านเปิดกี่โมง",
    "ราคาเท่าไหร่คะ",
    "see https://example.org/tea?x=1",
    "Goal🔥🔥",
    "9,500 元",
    "2980元",
    "👨\u{200d}👩\u{200d}👧 family",
];

/// Queries without questions, which have related messages as well.
const QUERIES: [&str; 38] = [
    "tea",
    "te",
    "station tea",
    "\"tea at\"",
    "\"at tea\"",
    "-tea",
    "wifi",
    "wi-fi",
    "mail",
    "email",
    "cafe",
    "CAFÉ",
    "12:30",
    "dont",
    "明天",
    "台北",
    "營業時間",
    "營業 -几点",
    "予約",
    "アルバ",
    "พรุ่งนี้",
    "ราคา",
    "🔥",
    "goal",
    "9500",
    "2,980 元",
    "元",
    "👨\u{200d}👩\u{200d}👧",
    "from:Ann tea",
    "from:Ann from:U3",
    "-from:Ann tea",
    "from:nobody",
    "type:text tea",
    "type:image",
    "-has:link tea",
    "has:link",
    "after:2026-01-02 tea",
    "before:2026-01-02T00:00:07Z -wifi",
];

fn docs() -> Vec<IndexDoc> {
    // 2026-01-02, in milliseconds since 1970.
    let begin = 1_767_312_000_000_i64;
    let doc = |(nth, said): (usize, &&str)| IndexDoc {
        channel_id: ["C1", "C2", "C3"][nth % 3].to_owned(),
        message_id: format!("m{nth:02}"),
        sender_id: Some(format!("U{}", nth % 4)),
        kind: ["text", "image"][usize::from(nth % 7 == 6)].to_owned(),
        sent_at: begin + i64::try_from(nth).unwrap() * 1_000 - 3_000,
        text: (*said).to_owned(),
    };
    SAID.iter().enumerate().map(doc).collect()
}

/// Returns the users whom the names mean.
fn called() -> BTreeMap<String, Vec<UserId>> {
    BTreeMap::from([("Ann".to_owned(), vec!["U1".into(), "U2".into()])])
}

/// Returns an index of the messages.
fn indexed() -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions { memory: 15_000_000, threads: 1 }).unwrap();
    writer.apply(&docs().into_iter().map(IndexChange::Put).collect::<Vec<_>>()).unwrap();
    writer.commit("all").unwrap();
    index
}

/// Returns the messages that hold all of a query, as a search finds them.
fn searched(
    index: &MessageIndex,
    query: &ParsedQuery,
    channels: &[&str],
    sort: Sort,
) -> BTreeSet<String> {
    let channels = channels.iter().map(|id| ChannelId::from(*id)).collect();
    let first = SearchRequest::new(query.clone(), channels, 100);
    let request = SearchRequest { people: called(), sort, ..first };
    let found = search(index, &request).unwrap();
    let exact = found.hits.into_iter().filter(|hit| !hit.related);
    exact.map(|hit| hit.message.into_string()).collect()
}

fn compared(batch: &MessageBatch, found: Vec<usize>) -> BTreeSet<String> {
    assert!(found.is_sorted_by(|one, other| one < other), "in the order of the batch: {found:?}");
    found.into_iter().map(|place| batch.key(place).1.as_str().to_owned()).collect()
}

#[tokio::test]
async fn a_batch_finds_what_a_search_finds_and_roughly_no_less() {
    let (index, batch) = (indexed(), MessageBatch::of(docs()).await.unwrap());
    let mut total = 0;
    for channels in [&["C1"][..], &["C1", "C2", "C3"][..], &["C2", "C9"][..], &[][..]] {
        for text in QUERIES {
            let query = ParsedQuery::parse(text, Tz::UTC).unwrap();
            let within = || -> Vec<ChannelId> { channels.iter().map(|id| (*id).into()).collect() };
            let asked = vec![query.within(within(), &called()), query.roughly(within())];
            let mut found = batch.hits(asked).await;
            let (rough, exact) = (found.pop().unwrap().unwrap(), found.pop().unwrap().unwrap());
            let (rough, exact) = (compared(&batch, rough), compared(&batch, exact));
            for sort in [Sort::Relevance, Sort::Newest] {
                let searched = searched(&index, &query, channels, sort);
                assert_eq!(exact, searched, "{text} in {channels:?}");
            }
            assert!(rough.is_superset(&exact), "{text} in {channels:?}");
            total += exact.len();
        }
    }
    assert!(total > 60, "{total} hits: nothing is shown");
}

#[tokio::test]
async fn queries_are_answered_each_by_itself_and_in_their_order() {
    let batch = MessageBatch::of(docs()).await.unwrap();
    let all = || ["C1", "C2", "C3"].map(ChannelId::from).to_vec();
    let parsed = QUERIES.map(|text| ParsedQuery::parse(text, Tz::UTC).unwrap());
    let together = parsed.iter().map(|query| query.within(all(), &called()));
    let together = batch.hits(together.collect()).await;
    assert_eq!(together.len(), QUERIES.len());
    for (query, found) in parsed.iter().zip(together) {
        let alone = batch.hits(vec![query.within(all(), &called())]).await;
        assert_eq!(alone, [found]);
    }
    assert!(batch.hits(Vec::new()).await.is_empty());
    let nothing = batch.hits(vec![BatchQuery::default()]).await;
    assert_eq!(nothing, [Ok(Vec::new())], "it has no channels");
    let empty = MessageBatch::of(Vec::new()).await.unwrap();
    let query = ParsedQuery::parse("tea", Tz::UTC).unwrap();
    assert_eq!(empty.hits(vec![query.within(all(), &called())]).await, [Ok(Vec::new())]);
}
