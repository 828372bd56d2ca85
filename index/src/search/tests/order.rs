//! Tests of the order of segments and of what follows from it: runs, ranges of time, early ends.

use std::collections::BTreeSet;

use super::*;
use crate::search::order;

/// Fills an index with messages in several segments.
fn filled(messages: &[IndexDoc]) -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    for batch in messages.chunks(messages.len().div_ceil(4)) {
        let puts: Vec<_> = batch.iter().cloned().map(IndexChange::Put).collect();
        writer.apply(&puts).unwrap();
        writer.commit("").unwrap();
    }
    index
}

/// Returns all pages of a search, and calls `between` after each of them.
pub(super) fn pages(
    index: &MessageIndex,
    request: IndexSearch<'_>,
    mut between: impl FnMut(usize),
) -> Vec<SearchPage> {
    let mut pages: Vec<SearchPage> = Vec::new();
    loop {
        let cursor = pages.last().and_then(|page| page.next.clone());
        if !pages.is_empty() && cursor.is_none() {
            return pages;
        }
        let cursor = cursor.map(|cursor| cursor.to_string().parse().unwrap());
        pages.push(index.search(&IndexSearch { cursor: cursor.as_ref(), ..request }).unwrap());
        between(pages.len());
    }
}

fn ids_of(pages: &[SearchPage]) -> Vec<String> {
    let hits = pages.iter().flat_map(|page| &page.hits);
    hits.map(|hit| hit.message_id.clone()).collect()
}

/// Returns two channels whose order keys cannot be told apart.
pub(super) fn twins() -> [String; 2] {
    let mut seen = std::collections::HashMap::new();
    for number in 0.. {
        let id = format!("channel{number}");
        if let Some(twin) = seen.insert(order::channel(&id), id.clone()) {
            return [twin, id];
        }
    }
    unreachable!()
}

#[test]
fn channels_that_share_a_run_are_kept_apart() {
    let [one, two] = twins();
    let text = |id: u32| if id.is_multiple_of(3) { "tea" } else { "tea cup" };
    let channel = |id: u32| if id.is_multiple_of(2) { &one } else { &two };
    let messages: Vec<_> = (0..200).map(|id| message(channel(id), id, text(id))).collect();
    let index = filled(&messages);
    let far: Vec<String> = (0..40).map(|number| format!("elsewhere{number}")).collect();
    for query in ["tea", "tea -cup", "after:1970-01-01T00:00:20Z", "cup saucer?"] {
        let query = Query::parse(query).unwrap();
        for sort in [Sort::Newest, Sort::Relevance] {
            let all = IndexSearch { sort, limit: 1_000, ..IndexSearch::new(&query) };
            let all = index.search(&all).unwrap();
            assert!(all.total > 60);
            for here in [&one, &two] {
                let expected = all.hits.iter().filter(|hit| &hit.channel_id == here);
                let expected: Vec<_> = expected.map(|hit| hit.message_id.as_str()).collect();
                // Beside many other channels, segments are read from end to end.
                let many: Vec<&str> = far.iter().chain([here]).map(String::as_str).collect();
                for channels in [&[here.as_str()][..], &many] {
                    let request =
                        IndexSearch { channels: Some(channels), sort, ..IndexSearch::new(&query) };
                    let found = index.search(&IndexSearch { limit: 1_000, ..request }).unwrap();
                    assert_eq!(ids(&found), expected, "{query:?} {sort:?}");
                    assert_eq!((found.total, found.is_total_exact), (expected.len(), true));
                }
            }
        }
    }
}

#[test]
fn many_channels_are_searched_like_few() {
    let channels: Vec<String> = (0..50).map(|number| format!("c{number}")).collect();
    let texts = ["tea", "tea and milk", "milk", "teapot", "tea tea tea"];
    let messages: Vec<_> = (0..1_500_u32)
        .map(|id| message(&channels[(id * 7 % 50) as usize], id, texts[id as usize % 5]))
        .collect();
    let index = filled(&messages);
    let all: Vec<&str> = channels.iter().map(String::as_str).collect();
    for text in ["te", "tea -milk", "tea milk", "milk tea before:1970-01-01T00:10Z", "milk sugar?"]
    {
        let query = Query::parse(text).unwrap();
        for sort in [Sort::Newest, Sort::Relevance] {
            let request = IndexSearch { sort, limit: 7, ..IndexSearch::new(&query) };
            let few = IndexSearch { channels: Some(&all[..20]), ..request };
            let many = IndexSearch { channels: Some(&all), ..request };
            let here: BTreeSet<&str> = all[..20].iter().copied().collect();
            let many = pages(&index, many, |_| {});
            let in_few = many.iter().flat_map(|page| &page.hits);
            let in_few = in_few.filter(|hit| here.contains(hit.channel_id.as_str()));
            let expected: Vec<_> = in_few.map(|hit| hit.message_id.clone()).collect();
            let few = pages(&index, few, |_| {});
            assert_eq!(ids_of(&few), expected, "{text} {sort:?}");
            assert_eq!(few[0].total, expected.len(), "{text} {sort:?}");
            assert_eq!(many[0].total, ids_of(&many).len());
            let everywhere = pages(&index, request, |_| {});
            assert_eq!(ids_of(&everywhere), ids_of(&many), "{text} {sort:?}");
        }
    }
}

#[test]
fn a_message_that_moves_in_time_is_replaced() {
    let index = filled(&(0..50).map(|id| message("c", id, "before")).collect::<Vec<_>>());
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    for shift in [1, -1, 0] {
        let moved = |id: u32| {
            let sent_at = i64::from(id) * 1_000 + shift * 1_000_000;
            IndexChange::Put(IndexDoc { sent_at, ..message("c", id, "after") })
        };
        writer.apply(&(0..50).map(moved).collect::<Vec<_>>()).unwrap();
        writer.commit("").unwrap();
        assert_eq!(index.doc_count(), 50);
        assert_eq!((find(&index, "after").len(), find(&index, "before").len()), (50, 0));
    }
}

#[test]
fn times_beyond_those_of_the_order_are_sorted_and_limited_too() {
    let times = [i64::MIN, -5, -4, 0, 1, 1 << 42, (1 << 42) + 1, i64::MAX];
    let message = |(id, sent_at)| IndexDoc { sent_at, ..message("c", id, "tea") };
    let index = filled(&(0..).zip(times).map(message).collect::<Vec<_>>());
    let query = Query::parse("tea").unwrap();
    let request = IndexSearch { sort: Sort::Newest, limit: 3, ..IndexSearch::new(&query) };
    assert_eq!(ids_of(&pages(&index, request, |_| {})).join(" "), "m7 m6 m5 m4 m3 m2 m1 m0");
    for (from, to, expected) in [
        (Some(-4), Some(1), "m3 m2"),
        (None, Some(-4), "m1 m0"),
        (Some(1 << 42), None, "m7 m6 m5"),
        (Some((1 << 42) + 1), Some(i64::MAX), "m6"),
        (Some(5), Some(5), ""),
    ] {
        let pages = pages(&index, IndexSearch { from, to, ..request }, |_| {});
        assert_eq!(ids_of(&pages).join(" "), expected, "{from:?} {to:?}");
    }
}

#[test]
fn of_very_many_matches_the_newest_are_ranked_and_the_rest_follows() {
    const ALL: u32 = 10_300;
    // Some are of one millisecond, where the ranked ones end as well.
    let sent_at = |id: u32| i64::from(id / 7) * 1_000;
    let text = |id: u32| if id.is_multiple_of(90) { "tea tea tea" } else { "tea with milk" };
    let doc = |id: u32| IndexDoc { sent_at: sent_at(id), ..message("c", id, text(id)) };
    // A word that is everywhere ranks nothing.
    let others = (0..5_000).map(|id| message("c", ALL + id, "coffee"));
    let messages: Vec<_> = (0..ALL).map(doc).chain(others).collect();
    let index = filled(&messages);
    // A page beside many channels, and one of all: both end within the ranked ones and after.
    let many: Vec<String> = (0..40).map(|number| format!("d{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).chain(["c"]).collect();
    let query = Query::parse("tea").unwrap();
    for channels in [&["c"][..], &many] {
        let base = IndexSearch { channels: Some(channels), ..IndexSearch::new(&query) };
        let newest = IndexSearch { sort: Sort::Newest, limit: 3_000, ..base };
        let by_time = pages(&index, newest, |_| {});
        assert_eq!(ids_of(&by_time).len(), ALL as usize);
        let mut writer = index.writer(WriterOptions::default()).unwrap();
        let best = pages(&index, IndexSearch { limit: 1_700, ..base }, |page| {
            let id = ALL * 2 + u32::try_from(page).unwrap();
            let late = IndexDoc { sent_at: sent_at(id), ..message("c", id, "tea with milk") };
            writer.apply(&[IndexChange::Put(late)]).unwrap();
            writer.commit("").unwrap();
        });
        let mut best = ids_of(&best);
        best.retain(|id| id[1..].parse::<u32>().unwrap() < ALL);
        let distinct: BTreeSet<&String> = best.iter().collect();
        assert_eq!((best.len(), distinct.len()), (ALL as usize, ALL as usize));
        // The last ones by time are the last ones by relevance, in the same order.
        let by_time = ids_of(&by_time);
        assert_eq!(best[10_000..], by_time[10_000..]);
        let ranked: BTreeSet<&String> = best[..10_000].iter().collect();
        assert_eq!(ranked, by_time[..10_000].iter().collect());
        let strong = |id: &String| id[1..].parse::<u32>().unwrap().is_multiple_of(90);
        let strongest = by_time[..10_000].iter().filter(|id| strong(id)).count();
        assert!(best[..strongest].iter().all(strong), "the best of the ranked ones come first");
        assert!(best[10_000..].iter().any(strong), "there are others among the older ones");
        for id in (1..20).map(|page| ALL * 2 + page) {
            writer.apply(&[erase("c", id)]).unwrap();
        }
        writer.commit("").unwrap();
    }
    let one = IndexSearch { channels: Some(&["c"]), ..IndexSearch::new(&query) };
    for sort in [Sort::Newest, Sort::Relevance] {
        let pages = pages(&index, IndexSearch { sort, limit: 4_000, ..one }, |_| {});
        for page in pages {
            assert_eq!((page.total, page.is_total_exact), (10_000, false));
        }
    }
}
