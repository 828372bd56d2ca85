//! Tests of batches: a batch of messages matches what a search of an index of them finds.

use super::*;

const WORDS: [&str; 12] = [
    "tea",
    "te",
    "wi-fi",
    "wifi",
    "營業時間",
    "時間",
    "の予約",
    "ร้านเปิด",
    "เปิด",
    "C++",
    "-",
    "12:30",
];
const QUERIES: [&str; 16] = [
    "tea",
    "t",
    "wifi tea",
    "wi-f",
    "時間",
    "營業 -tea",
    "\"時間 te\"",
    "-\"tea wi\"",
    "予",
    "เปิด",
    "C++ -時",
    "from:U1 te",
    "-from:U1",
    "type:text after:1970-01-01T00:00:10Z",
    "before:1970-01-01T00:01Z 12",
    "tea 時間?",
];

#[test]
fn a_batch_matches_what_a_search_finds() {
    let text = |id: usize| {
        let word = |nth: usize| WORDS[(id * (nth + 5) + id / 5 * nth + nth) % WORDS.len()];
        (0..=id % 4).map(word).collect::<Vec<_>>().join(" ")
    };
    let messages: Vec<_> = (0..200_u32)
        .map(|id| message(["a", "b", "c"][id as usize % 3], id, &text(id as usize)))
        .collect();
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    writer.apply(&messages.iter().cloned().map(IndexChange::Put).collect::<Vec<_>>()).unwrap();
    writer.commit("").unwrap();
    let batch = MatchBatch::new(&messages).unwrap();
    let mut found = 0;
    for text in QUERIES {
        let query = Query::parse(text).unwrap();
        for channels in [&["a"][..], &["a", "c"], &["elsewhere"], &[]] {
            let request = IndexSearch { channels: Some(channels), ..IndexSearch::new(&query) };
            let page = index.search(&IndexSearch { limit: 1_000, ..request }).unwrap();
            let exact = page.hits.into_iter().filter(|hit| hit.is_exact);
            let mut expected: Vec<_> = exact.map(|hit| hit.message_id).collect();
            expected.sort();
            let places = batch.matching(&query, channels).unwrap();
            assert!(places.is_sorted());
            let mut matched: Vec<_> =
                places.into_iter().map(|place| messages[place].message_id.clone()).collect();
            matched.sort();
            assert_eq!(matched, expected, "{text} in {channels:?}");
            found += matched.len();
        }
    }
    assert!(found > 300, "{found}");
}

#[test]
fn a_batch_may_be_empty() {
    let batch = MatchBatch::new(&[]).unwrap();
    assert_eq!(batch.matching(&Query::parse("tea").unwrap(), &["c"]).unwrap(), Vec::<usize>::new());
}
