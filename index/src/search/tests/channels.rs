//! Tests of searches in one channel, and of questions.

use tantivy::schema::Value;
use tantivy::{DocAddress, TantivyDocument};

use super::*;

#[test]
fn the_messages_of_a_channel_lie_together_however_they_came() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    for first in (0..900).step_by(30) {
        let channel = |id: u32| format!("c{}", id * 7 % 5);
        let puts = (first..first + 30).map(|id| IndexChange::Put(message(&channel(id), id, "tea")));
        writer.apply(&puts.collect::<Vec<_>>()).unwrap();
        writer.commit("").unwrap();
    }
    writer.close().unwrap();
    let view = index.generation().view();
    assert!(view.columns.len() < 10, "segments were merged");
    for (segment, columns) in view.searcher.segment_readers().iter().zip(&view.columns) {
        let runs = columns.runs(segment, index.fields()).unwrap();
        assert_eq!(runs.all().len(), 5);
        for channel in 0..5 {
            let name = format!("c{channel}");
            let run = runs.of(&name).unwrap();
            assert!(!run.is_shared);
            let ages: Vec<u64> = run.docs.clone().map(|doc| columns.age(doc)).collect();
            assert!(!ages.is_empty() && ages.is_sorted(), "{ages:?}");
            for doc in run.docs.clone() {
                let stored: TantivyDocument = view
                    .searcher
                    .doc(DocAddress::new(
                        u32::try_from(
                            view.columns.iter().position(|c| std::ptr::eq(c, columns)).unwrap(),
                        )
                        .unwrap(),
                        doc,
                    ))
                    .unwrap();
                let key = stored.get_first(index.fields().key);
                assert!(
                    key.as_ref().and_then(Value::as_str).unwrap().starts_with(&format!("{name}\0"))
                );
            }
        }
    }
}

#[test]
fn in_one_channel_the_same_is_found_as_where_there_is_only_one() {
    let words = ["apple", "app", "apply", "banana", "ban", "bank", "的", "時間", "-", "don't"];
    let text = |id: usize| {
        let word = |nth: usize| words[(id * (nth + 3) + id / 7 * nth + nth) % words.len()];
        (0..2 + id % 5).map(word).collect::<Vec<_>>().join(" ")
    };
    let texts: Vec<String> = (0..300).map(text).collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for query in [
        "app",
        "ap ba",
        "app ban bank",
        "ba \"ban app\"",
        "ap -bana",
        "ap ba -\"時間 a\"",
        "-\"ban ap\" -don 的",
        "don't ap",
        "ap 時間 的 b",
        "ap ban 時間的 don?",
        "from:U1 ba ap",
        "-from:U1 ba",
    ] {
        let query = Query::parse(query).unwrap();
        let search = |channels, sort| {
            let request = IndexSearch { channels, sort, ..IndexSearch::new(&query) };
            index.search(&request).unwrap()
        };
        for sort in [Sort::Relevance, Sort::Newest] {
            let everywhere = search(None, sort);
            assert!(everywhere.total > 0, "{query:?}");
            let here = search(Some(&["c"]), sort);
            assert_eq!((here.total, ids(&here)), (everywhere.total, ids(&everywhere)), "{query:?}");
            let near = |(a, b): (&SearchHit, &SearchHit)| (a.score - b.score).abs() < 0.01;
            assert!(here.hits.iter().zip(&everywhere.hits).all(near), "{query:?}");
            assert_eq!(search(Some(&["other"]), sort).total, 0);
        }
    }
}

#[test]
fn a_question_finds_what_holds_much_of_it() {
    let index = index_of(&[
        "停車場在地下一樓，週末免費",
        "今天中午吃什麼",
        "the parking lot is behind the station",
        "what a day",
        "停車場在哪裡？",
        "北海道に梅雨はない",
    ]);
    let page = |query: &str, sort| {
        let query = Query::parse(query).unwrap();
        let page = index.search(&IndexSearch { sort, ..IndexSearch::new(&query) }).unwrap();
        assert_eq!(page.total, page.hits.len(), "{query:?}");
        let hits = page.hits.iter();
        hits.map(|hit| (hit.message_id.clone(), hit.is_exact)).collect::<Vec<_>>()
    };
    let best = |query: &str| page(query, Sort::Relevance).first().cloned();
    let hit = |id: u32, is_exact| (format!("m{id}"), is_exact);
    assert_eq!(best("請問停車場週末要錢嗎"), Some(hit(0, false)));
    assert_eq!(best("where is the parking lot?"), Some(hit(2, false)));
    assert_eq!(best("日本で梅雨がないのは北海道とどこか。"), Some(hit(5, false)));
    // A question also returns partial matches, after complete ones.
    let asked = page("停車場在哪裡？", Sort::Relevance);
    assert_eq!(asked, [hit(4, true), hit(0, false)]);
    // A search returns complete matches, if there are any.
    assert_eq!(page("停車場在哪裡", Sort::Relevance), [hit(4, true)]);
    // The other order lists the same messages.
    let newest = page("樓下停車場在哪個地方", Sort::Newest);
    assert_eq!(newest, [hit(4, false), hit(0, false)]);
    // Strict conditions stay strict.
    for query in [
        "\"停車場在哪個地方\"",
        "\"地下二樓\" 停車場在哪個地方",
        "停車場在哪個地方 -停車場",
        "停車場在哪個地方 type:image",
        "北台",
        "週末跟朋友今天去爬山玩北海灘飲",
    ] {
        assert_eq!(page(query, Sort::Relevance), [], "{query}");
    }
    assert_eq!(page("停車場在哪個地方 -地下", Sort::Relevance), [hit(4, false)]);
    assert_eq!(page("\"地下一樓\" 停車場在哪個地方", Sort::Relevance), [hit(0, false)]);
}

#[test]
fn related_messages_of_a_channel_are_found_as_where_there_is_only_one() {
    let words = ["tea", "milk", "sugar", "lemon", "ice", "cup"];
    let index = MessageIndex::in_memory().unwrap();
    let alone = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let mut writer_alone = alone.writer(WriterOptions::default()).unwrap();
    for id in 0..600_u32 {
        let picked = (0..6).filter(|bit| (id * 7 + id / 5) >> bit & 1 == 1);
        let text: Vec<_> = picked.map(|bit| words[bit]).collect();
        let channel = if id % 5 == 0 { "a" } else { "b" };
        let put = [IndexChange::Put(message(channel, id, &text.join(" ")))];
        writer.apply(&put).unwrap();
        if channel == "a" {
            writer_alone.apply(&put).unwrap();
        }
        if id % 97 == 0 {
            writer.commit("").unwrap();
        }
    }
    writer.commit("").unwrap();
    writer_alone.commit("").unwrap();
    let query = Query::parse("tea milk honey lemon?").unwrap();
    let all = IndexSearch { limit: 1_000, ..IndexSearch::new(&query) };
    let everywhere = index.search(&all).unwrap();
    let here = index.search(&IndexSearch { channels: Some(&["a"]), ..all }).unwrap();
    assert!(here.total > 20 && here.hits.iter().all(|hit| !hit.is_exact));
    assert!(here.total < everywhere.total, "{}", here.total);
    assert_eq!(here.hits, alone.search(&all).unwrap().hits);
}

#[test]
fn a_channel_is_rebuilt_in_place() {
    let index = index_of(&["tea one", "tea two"]);
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    writer.apply(&[IndexChange::Put(message("other", 5, "tea"))]).unwrap();
    writer.commit("").unwrap();
    let anew = [
        IndexChange::Put(message("c", 7, "tea lost")),
        IndexChange::EraseChannel { channel_id: "c".to_owned() },
        IndexChange::Put(message("c", 1, "tea kept")),
    ];
    writer.apply(&anew).unwrap();
    assert_eq!(find(&index, "tea").len(), 3, "the old ones until the commit");
    writer.commit("").unwrap();
    assert_eq!(find(&index, "tea"), ["m5", "m1"]);
    assert_eq!(find(&index, "kept"), ["m1"]);
}
