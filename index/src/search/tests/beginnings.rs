//! Tests of words that are searched by their beginning, whatever its length.

use super::*;

/// Letters of words: few, so that many words begin alike.
const LETTERS: [char; 4] = ['a', 'b', '1', 'é'];

fn word(mut number: u64, length: u64) -> String {
    let mut letters = String::new();
    for _ in 0..length {
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        letters.push(LETTERS[usize::try_from(number >> 62).unwrap()]);
    }
    letters
}

fn folded(text: &str) -> String {
    text.replace('é', "e")
}

#[test]
fn every_beginning_finds_every_word_with_it() {
    // Hundreds of words share a beginning of nine letters.
    let texts: Vec<String> = (0..1_200)
        .map(|id| match id % 3 {
            0 => format!("{} x {}", word(id, 1 + id % 13), word(id + 7, 1 + id % 7)),
            1 => format!("abababab{} y-{}", word(id, 1 + id % 5), word(id / 4, 9)),
            _ => format!("say {}", word(id, 3 + id % 3)),
        })
        .collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    writer.apply(&[erase("c", 5), erase("c", 7)]).unwrap();
    writer.commit("").unwrap();
    let mut found = 0;
    for (at, text) in texts.iter().enumerate().step_by(7) {
        let first = folded(text.split(' ').next().unwrap());
        for length in 1..=first.chars().count() {
            let prefix: String = first.chars().take(length).collect();
            let begins = |text: &str| {
                let whole = folded(text).replace('-', "");
                let parts = folded(text);
                let mut words = whole.split(' ').chain(parts.split([' ', '-']));
                words.any(|word| word.starts_with(&prefix))
            };
            let expected: Vec<String> = (0..texts.len())
                .rev()
                .filter(|&id| ![5, 7].contains(&id) && begins(&texts[id]))
                .map(|id| format!("m{id}"))
                .collect();
            let query = Query::parse(&prefix).unwrap();
            for sort in [Sort::Newest, Sort::Relevance] {
                let request = IndexSearch { sort, limit: 2_000, ..IndexSearch::new(&query) };
                let mut ids: Vec<_> = index
                    .search(&request)
                    .unwrap()
                    .hits
                    .into_iter()
                    .map(|hit| hit.message_id)
                    .collect();
                ids.sort_by_key(|id| std::cmp::Reverse(id[1..].parse::<u32>().unwrap()));
                assert_eq!(ids, expected, "{prefix} of {at}");
            }
            found += expected.len();
        }
    }
    assert!(found > 10_000, "{found}");
}

#[test]
fn long_words_are_found_by_a_beginning_of_any_length() {
    // Words of 9 to 80 characters, of which some are the beginning of others.
    let long = |id: u64| {
        let length = 9 + id * 7 % 72;
        let letters = word(id % 5, 80);
        let mut own: String = letters.chars().take(usize::try_from(length).unwrap()).collect();
        if id.is_multiple_of(3) {
            own.push_str(&word(id, 2));
        }
        own
    };
    let texts: Vec<String> = (0..500).map(|id| format!("see {} now", long(id))).collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let mut found = 0;
    for first in 0..5 {
        let whole = folded(&word(first, 80));
        for length in 8..=80 {
            let prefix = &whole[..length];
            let begins = |id: &usize| folded(&texts[*id])[4..].starts_with(prefix);
            let expected: Vec<String> =
                (0..texts.len()).rev().filter(begins).map(|id| format!("m{id}")).collect();
            for (query, open) in [(prefix.to_owned(), 0), (format!("see {prefix}"), 1)] {
                let query = match open {
                    0 => Query::parse(&query).unwrap(),
                    _ => Query::phrase(&query).unwrap(),
                };
                let request =
                    IndexSearch { sort: Sort::Newest, limit: 1_000, ..IndexSearch::new(&query) };
                assert_eq!(ids(&index.search(&request).unwrap()), expected, "{prefix}");
            }
            found += expected.len();
        }
    }
    assert!(found > 5_000, "{found}");
}

#[test]
fn a_beginning_of_numbers_stands_for_those_of_the_next_length_only() {
    let texts: Vec<String> = (0..3_000_u64)
        .map(|id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_000_000_000)
        .map(|number| format!("2026112400000{number:011}"))
        .collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let view = index.generation().view();
    let segment = view.searcher.segment_reader(0);
    for length in 9..24 {
        let lists =
            crate::search::beginnings::lists(segment, index.fields(), &texts[0][..length]).unwrap();
        assert!(lists.len() <= 1_000, "{length}: {}", lists.len());
    }
}

#[test]
fn the_end_of_a_phrase_is_a_beginning_at_its_place() {
    let texts: Vec<String> = (0..400)
        .map(|id| {
            let (one, two) = (word(id, 1 + id % 2), word(id + 3, 9 + id % 4));
            if id % 2 == 0 { format!("{one} {two}") } else { format!("{two} {one} {two}") }
        })
        .collect();
    let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let mut found = 0;
    for text in texts.iter().step_by(5) {
        let text = folded(text);
        for end in 2..=text.len() {
            let phrase = text[..end].trim();
            if !phrase.contains(' ') {
                continue;
            }
            let holds = |id: &usize| {
                let text = format!(" {}", folded(&texts[*id]));
                text.contains(&format!(" {phrase}"))
            };
            let expected: Vec<String> =
                (0..texts.len()).rev().filter(holds).map(|id| format!("m{id}")).collect();
            let query = Query::phrase(phrase).unwrap();
            let request =
                IndexSearch { sort: Sort::Newest, limit: 1_000, ..IndexSearch::new(&query) };
            assert_eq!(ids(&index.search(&request).unwrap()), expected, "{phrase}");
            found += expected.len();
        }
    }
    assert!(found > 1_000, "{found}");
}

#[test]
fn beginnings_do_not_lengthen_a_message() {
    let index = index_of(&["internationalisation matters", "時間 字"]);
    let view = index.generation().view();
    let segment = view.searcher.segment_reader(0);
    let norms = segment.get_fieldnorms_reader(index.fields().text).unwrap();
    let lengths: Vec<u32> = (0..segment.max_doc()).map(|doc| norms.fieldnorm(doc)).collect();
    // The newest first: a pair, its two characters, a space, a character; two words.
    assert_eq!(lengths, [5, 2]);
}
