//! The order of results: the same however messages came, whatever was merged and reopened, in pages
//! of any sizes, and while others come in.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::corpus::{CHANNELS, indexed, messages, query_texts, small_writer};
use super::order::pages;
use super::*;

/// Returns the query of a text, if it is one whose scores are sums of two numbers at most: three
/// may be added in another order in another segment.
fn simple(text: &str) -> Option<Query> {
    Query::parse(text).ok().filter(|query| query.text.wanted.len() < 3)
}

fn put(doc: &IndexDoc) -> IndexChange {
    IndexChange::Put(doc.clone())
}

fn erased(doc: &IndexDoc) -> IndexChange {
    let (channel_id, message_id) = (doc.channel_id.clone(), doc.message_id.clone());
    IndexChange::Erase { channel_id, message_id }
}

/// Creates an index of these messages, some of which said something else at another time before,
/// among others that are gone.
fn with_a_past(docs: &[IndexDoc], is_purged: bool) -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(small_writer()).unwrap();
    for (at, doc) in docs.iter().enumerate() {
        let gone = IndexDoc { message_id: format!("gone{at}"), ..doc.clone() };
        let text = format!("{} see 明天 ร้าน", doc.text);
        let before = IndexDoc { text, sent_at: doc.sent_at + 7_000, ..doc.clone() };
        let first = if at % 3 == 0 { [put(&gone), put(&before)] } else { [put(&gone), put(doc)] };
        writer.apply(&first).unwrap();
        if at % 4 == 0 {
            writer.commit("").unwrap();
        }
        writer.apply(&[put(doc), erased(&gone)]).unwrap();
        if at % 6 == 0 {
            writer.commit("").unwrap();
        }
    }
    writer.commit("").unwrap();
    if is_purged {
        writer.purge().unwrap();
    }
    index
}

/// Returns all pages of all queries, in both orders.
fn listed(index: &MessageIndex, texts: &[String]) -> Vec<Vec<SearchPage>> {
    let mut all = Vec::new();
    for query in texts.iter().filter_map(|text| simple(text)) {
        for (sort, channels) in
            [(Sort::Newest, None), (Sort::Relevance, None), (Sort::Relevance, Some(&CHANNELS[..2]))]
        {
            let request = IndexSearch { sort, channels, limit: 4, ..IndexSearch::new(&query) };
            all.push(pages(index, request, |_| {}));
        }
    }
    all
}

/// Generates messages, and the same in another order.
fn shuffled() -> impl Strategy<Value = (Vec<IndexDoc>, Vec<IndexDoc>)> {
    messages(30).prop_flat_map(|docs| (Just(docs.clone()), Just(docs).prop_shuffle()))
}

/// Returns the ids of a search by pages whose sizes take turns.
fn in_pages(index: &MessageIndex, request: IndexSearch<'_>, sizes: &[usize]) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), None::<Cursor>);
    for limit in sizes.iter().copied().cycle() {
        let page = IndexSearch { limit, cursor: cursor.as_ref(), ..request };
        let page = index.search(&page).unwrap();
        assert!(page.hits.len() == limit || page.next.is_none(), "no page is short but the last");
        ids.extend(page.hits.into_iter().map(|hit| hit.message_id));
        match page.next {
            Some(next) => cursor = Some(next.to_string().parse().unwrap()),
            None => break,
        }
    }
    ids
}

/// Pages through a query while messages come in, go, and are merged; returns all ids in order, and
/// those that were erased meanwhile.
fn while_others_come(
    index: &MessageIndex,
    request: IndexSearch<'_>,
    (docs, arrivals): (&[IndexDoc], &[IndexDoc]),
) -> (Vec<String>, BTreeSet<String>) {
    let mut writer = index.writer(small_writer()).unwrap();
    let (mut gone, mut coming) = (BTreeSet::new(), arrivals.chunks(3).enumerate());
    let found = pages(index, request, |page| {
        if let Some((number, part)) = coming.next() {
            let new = part.iter().zip(0..).map(|(doc, at)| IndexDoc {
                message_id: format!("new{number}_{at}"),
                ..doc.clone()
            });
            writer.apply(&new.map(IndexChange::Put).collect::<Vec<_>>()).unwrap();
        }
        let victim = &docs[page * 5 % docs.len()];
        gone.insert(victim.message_id.clone());
        writer.apply(&[erased(victim)]).unwrap();
        // What is put again as it was is where it was.
        let again = &docs[page * 3 % docs.len()];
        if !gone.contains(&again.message_id) {
            writer.apply(&[put(again)]).unwrap();
        }
        writer.commit("").unwrap();
        if page % 3 == 2 {
            writer.purge().unwrap();
        }
    });
    let hits = found.into_iter().flat_map(|page| page.hits);
    (hits.map(|hit| hit.message_id).collect(), gone)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn messages_that_came_otherwise_are_found_in_the_same_order(
        (docs, others) in shuffled(), is_purged in any::<bool>(), texts in query_texts(12),
    ) {
        let expected = listed(&indexed(&docs), &texts);
        // Scores and cursors included.
        prop_assert_eq!(listed(&with_a_past(&others, is_purged), &texts), expected);
    }

    #[test]
    fn pages_of_any_sizes_are_the_whole(
        docs in messages(40), texts in query_texts(16), sizes in vec(1_usize..6, 1..5),
    ) {
        let index = indexed(&docs);
        for query in texts.iter().filter_map(|text| simple(text)) {
            for sort in [Sort::Newest, Sort::Relevance] {
                let request = IndexSearch { sort, limit: 1_000, ..IndexSearch::new(&query) };
                let whole = index.search(&request).unwrap();
                let expected: Vec<_> = whole.hits.into_iter().map(|hit| hit.message_id).collect();
                prop_assert_eq!(in_pages(&index, request, &sizes), expected, "{:?}", query);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn pages_neither_skip_nor_repeat_while_messages_come_in(
        docs in messages(40), arrivals in messages(24), texts in query_texts(2),
    ) {
        for query in texts.iter().filter_map(|text| simple(text)) {
            for sort in [Sort::Newest, Sort::Relevance] {
                let index = indexed(&docs);
                let request = IndexSearch { sort, limit: 4, ..IndexSearch::new(&query) };
                let before = in_pages(&index, request, &[1_000]);
                let (seen, gone) = while_others_come(&index, request, (&docs, &arrivals));
                let distinct: BTreeSet<&String> = seen.iter().collect();
                prop_assert_eq!(distinct.len(), seen.len(), "{:?}", query);
                let lasting = |ids: &[String]| -> Vec<String> {
                    let is_old = |id: &&String| id.starts_with('m') && !gone.contains(*id);
                    ids.iter().filter(is_old).cloned().collect()
                };
                prop_assert_eq!(lasting(&seen), lasting(&before), "{:?} {:?}", query, sort);
            }
        }
    }
}

#[test]
fn an_index_lists_the_same_however_it_is_opened() {
    let parts =
        ["明天見面", "see the station", "ร้านเปิด", "cafe", "駐車場", "see you 見面", "停車場"];
    let text = |id: usize| format!("{} {}", parts[id % 7], parts[id * id % 5]);
    let docs: Vec<_> = (0_u32..60)
        .map(|id| IndexDoc {
            sent_at: i64::from(id / 3),
            ..message(CHANNELS[id as usize % 3], id, &text(id as usize))
        })
        .collect();
    let texts = ["見面 see", "ร้าน", "\"station\" cafe?", "駐車場はどこ？", "-明天"];
    let texts = texts.map(str::to_owned);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for count in [20, 40, 60] {
        let index = MessageIndex::open(dir).unwrap();
        let mut writer = index.writer(small_writer()).unwrap();
        // Those of the process before are put once more.
        writer.apply(&docs[..count].iter().map(put).collect::<Vec<_>>()).unwrap();
        writer.commit(&count.to_string()).unwrap();
        writer.close().unwrap();
        drop(index);
        let shared = SharedIndex::new(dir.to_owned()).latest().unwrap().unwrap();
        let existing = MessageIndex::open_existing(dir).unwrap().unwrap();
        let own = MessageIndex::open(dir).unwrap();
        let expected = listed(&indexed(&docs[..count]), &texts);
        for opened in [shared, existing, own] {
            assert_eq!(opened.position(), Some(count.to_string()));
            assert!(listed(&opened, &texts) == expected, "{count}");
        }
    }
}
