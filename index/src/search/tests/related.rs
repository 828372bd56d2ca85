//! Related messages of a question: the best ones, and how many there are.

use super::*;

/// Size of the vocabulary; words of lower numbers are in more messages.
const WORDS: u64 = 40;
const MESSAGES: u32 = 6_000;

/// Returns the texts of messages `0..MESSAGES`.
fn texts() -> impl Iterator<Item = String> {
    let mut state = 7_u64;
    let mut below = move |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    (0..MESSAGES).map(move |_| {
        let words = 1 + below(12);
        let word = |_| format!("word{:02} ", below(WORDS).min(below(WORDS)));
        (0..words).map(word).collect()
    })
}

/// Returns ids and scores of the hits of these pages.
fn results(pages: &[SearchPage]) -> Vec<(String, f32)> {
    let hits = pages.iter().flat_map(|page| &page.hits);
    hits.map(|hit| (hit.message_id.clone(), hit.score)).collect()
}

#[test]
fn the_best_related_messages_are_the_same_however_many_are_asked_for() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let messages: Vec<_> = (0..).zip(texts()).map(|(id, text)| message("c", id, &text)).collect();
    // Several segments, each of which begins with a bar of its own.
    for part in messages.chunks(2_500) {
        let puts: Vec<_> = part.iter().cloned().map(IndexChange::Put).collect();
        writer.apply(&puts).unwrap();
        writer.commit("").unwrap();
    }
    let erased: Vec<_> = (0..MESSAGES).step_by(13).map(|id| erase("c", id)).collect();
    writer.apply(&erased).unwrap();
    writer.commit("").unwrap();
    for question in [
        "word39 word31 word22 word17 word09 word04 word01 word00?",
        "word38 word00 word01 word02 word03 word04 word05 word06?",
        "word00 word01 word02 word03?",
        "word37 word25 word16 word12 word03 word02 word01 -word10 -word00?",
    ] {
        let query = Query::parse(question).unwrap();
        for channels in [None, Some(&["c"][..])] {
            for sort in [Sort::Relevance, Sort::Newest] {
                let base = IndexSearch { channels, sort, ..IndexSearch::new(&query) };
                // So many are wanted that none is left out for its score.
                let all = index.search(&IndexSearch { limit: 6_000, ..base }).unwrap();
                assert!(all.hits.len() > 2_000, "{}", all.hits.len());
                assert!(all.next.is_none());
                let counted = all.hits.iter().filter(|hit| hit.is_exact).count() + 1_000;
                let all = results(&[all]);
                let mut few = Vec::new();
                let mut cursor = None;
                for _ in 0..12 {
                    let request = IndexSearch { limit: 7, cursor: cursor.as_ref(), ..base };
                    let page = index.search(&request).unwrap();
                    assert_eq!((page.total, page.is_total_exact), (counted, false), "{question}");
                    cursor = page.next.clone();
                    few.push(page);
                }
                assert_eq!(results(&few), all[..12 * 7], "{question} {sort:?}");
            }
        }
    }
}

#[test]
fn a_question_is_about_more_than_the_words_by_which_it_asks() {
    let index = index_of(&[
        "修到什麼時候？",
        "什麼時候？",
        "請問有沒有人要順路去好市多？",
        "明天早上九點到下午三點停水，請大家先儲水備用",
        "what time is training on Thursday?",
        "the quiz begins at eight and is in the back room of the pub as always",
    ]);
    let related = |query: &str| {
        let query = Query::parse(query).unwrap();
        let page = index.search(&IndexSearch::new(&query)).unwrap();
        page.hits.into_iter().map(|hit| hit.message_id).collect::<Vec<_>>()
    };
    assert_eq!(related("什麼時候停水？"), ["m3"]);
    assert_eq!(related("請問有沒有人知道停水嗎"), ["m3"]);
    assert_eq!(related("what is the quiz about?"), ["m5"]);
    // There is nothing else to go by.
    assert_eq!(related("到什麼時候呢？")[0], "m0");
}
