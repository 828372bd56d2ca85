//! Tests of pages: together they are the whole result, and a cursor that somebody made up costs no
//! more than a real one.

use super::*;

/// Returns the ids of all pages of a search.
fn all_pages(index: &MessageIndex, request: IndexSearch<'_>) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let page = index.search(&IndexSearch { cursor: cursor.as_ref(), ..request }).unwrap();
        seen.extend(page.hits.into_iter().map(|hit| hit.message_id));
        let Some(next) = page.next else { return seen };
        cursor = Some(next);
    }
}

/// Returns a cursor with some of its parts replaced.
fn made_up(cursor: &Cursor, parts: &[(usize, &str)]) -> Cursor {
    let text = cursor.to_string();
    let mut all: Vec<&str> = text.split('.').collect();
    for &(at, part) in parts {
        all[at] = part;
    }
    all.join(".").parse().unwrap()
}

#[test]
fn a_quoted_phrase_beside_a_question_loses_nothing_between_pages() {
    let words = ["garden", "party", "cake", "paid", "music", "lights", "lunch"];
    let text = |id: u32| {
        let picked = (0..7).filter(|bit| (id * 11 + id / 3) >> bit & 1 == 1);
        let picked: Vec<_> = picked.map(|bit| words[bit]).collect();
        let times = 1 + (id % 5) as usize;
        format!("{} {}", "invoice ".repeat(times), picked.join(" "))
    };
    let texts: Vec<String> = (0..400).map(text).collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for text in
        ["\"invoice\" garden party cake paid?", "\"invoice\" \"lunch\" garden paid tomorrow?"]
    {
        let query = Query::parse(text).unwrap();
        let request = IndexSearch { limit: 1_000, ..IndexSearch::new(&query) };
        let whole = index.search(&request).unwrap();
        assert!(whole.total > 100 && whole.next.is_none(), "{}", whole.total);
        let pages = all_pages(&index, IndexSearch { limit: 3, ..request });
        assert_eq!(pages, ids(&whole), "{text}");
    }
}

#[test]
fn numbers_that_somebody_made_up_do_no_harm() {
    let index = index_of(&["tea and milk", "tea", "milk tea and lemon", "tea with nothing"]);
    for text in ["tea", "tea milk sugar?"] {
        let query = Query::parse(text).unwrap();
        let request = IndexSearch { limit: 1, ..IndexSearch::new(&query) };
        let next = index.search(&request).unwrap().next.unwrap();
        let levels = "ff".repeat(next.levels.len());
        for tier in ["e", "o", "r"] {
            let parts =
                [(0, tier), (1, "7f7fffff"), (4, levels.as_str()), (5, "18446744073709551615")];
            let cursor = made_up(&next, &parts);
            let page = index.search(&IndexSearch { cursor: Some(&cursor), limit: 9, ..request });
            assert!(page.unwrap().hits.len() <= 4);
        }
    }
}

#[test]
fn a_cursor_without_a_boundary_ranks_no_more_than_others() {
    let texts = vec!["tea"; 20_500];
    let index = index_of(&texts);
    let query = Query::parse("tea").unwrap();
    let request = IndexSearch { limit: 100_000, ..IndexSearch::new(&query) };
    let first = index.search(&IndexSearch { limit: 1, ..request }).unwrap().next.unwrap();
    let cursor = made_up(&first, &[(7, "")]);
    let page = index.search(&IndexSearch { cursor: Some(&cursor), ..request }).unwrap();
    // Twice as many as are ranked, but for the one on the first page.
    assert_eq!(page.hits.len(), 19_999);
}

#[test]
fn a_boundary_does_not_repeat_results_in_order_of_time() {
    let index = index_of(&["tea"; 8]);
    let query = Query::parse("tea").unwrap();
    let request = IndexSearch { sort: Sort::Newest, limit: 3, ..IndexSearch::new(&query) };
    let first = index.search(&request).unwrap().next.unwrap();
    let cursor = made_up(&first, &[(7, "7000_0")]);
    let page = index.search(&IndexSearch { cursor: Some(&cursor), limit: 100, ..request }).unwrap();
    assert_eq!(page.hits.len(), 5);
}
