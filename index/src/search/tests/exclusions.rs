//! Tests of excluded words, phrases and senders: long runs of them, and matches far apart.

use super::*;

/// Returns what is excluded beside `tea` in message `id`: nothing, or one of runs that grow.
fn marks(id: u32) -> [bool; 4] {
    // 0, 1, 3, 6, … begin a run each; every other one is excluded.
    let run = (0..=id).take_while(|run| run * (run + 1) / 2 <= id).count();
    let but_one_of = |number: u32| !id.is_multiple_of(number);
    [run.is_multiple_of(2), id.is_multiple_of(7), but_one_of(500), but_one_of(2_300)]
}

fn text(id: u32) -> String {
    let [run, seventh, most, nearly_all] = marks(id);
    let mut text = "tea".to_owned();
    let words = [
        (run, "spam 垃圾"),
        (seventh, "no way"),
        (most, "usual spammers"),
        (nearly_all, "everywhere"),
    ];
    for (is_there, word) in words {
        if is_there {
            text += " ";
            text += word;
        }
    }
    text
}

#[test]
fn runs_of_excluded_messages_end_where_they_end() {
    const COUNT: u32 = 6_000;
    let texts: Vec<String> = (0..COUNT).map(text).collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let is_erased = |id: u32| id % 11 == 5;
    let erased: Vec<_> = (0..COUNT).filter(|&id| is_erased(id)).map(|id| erase("c", id)).collect();
    writer.apply(&erased).unwrap();
    writer.commit("").unwrap();
    let holds = |id: u32, part: &str| text(id).contains(part);
    let cases: [(&str, &dyn Fn(u32) -> bool); 9] = [
        ("tea -垃圾", &|id| !holds(id, "垃圾")),
        ("tea -spam", &|id| !holds(id, "spam")),
        ("-spam", &|id| !holds(id, "spam")),
        ("-usual", &|id| !holds(id, "usual")),
        ("-everywhere", &|id| !holds(id, "everywhere")),
        ("-\"no way\"", &|id| !holds(id, "no way")),
        ("\"no way\" -usual", &|id| holds(id, "no way") && !holds(id, "usual")),
        ("-from:U1 -from:U2", &|id| id.is_multiple_of(3)),
        ("-type:text", &|_| false),
    ];
    for (query, expected) in cases {
        let found = (0..COUNT).rev().filter(|&id| expected(id) && !is_erased(id));
        let found: Vec<String> = found.map(|id| format!("m{id}")).collect();
        let parsed = Query::parse(query).unwrap();
        for sort in [Sort::Newest, Sort::Relevance] {
            let request = IndexSearch { sort, limit: 10_000, ..IndexSearch::new(&parsed) };
            let page = index.search(&request).unwrap();
            let mut hits = ids(&page);
            hits.sort_by_key(|id| std::cmp::Reverse(id[1..].parse::<u32>().unwrap()));
            assert!(hits == found, "{query} {sort:?}: {} of {}", hits.len(), found.len());
            assert_eq!(page.total, found.len(), "{query} {sort:?}");
        }
    }
}
