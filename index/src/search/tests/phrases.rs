//! Phrases against a search of the texts themselves.

use super::*;
use crate::fold::search::fold_for_search;

/// Returns random numbers below a bound.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 11_u64;
    move |bound| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    }
}

/// Returns a text of these letters without blanks at its ends or next to each other.
fn text(letters: &[char], below: &mut impl FnMut(usize) -> usize, len: usize) -> String {
    let text: String = (0..len).map(|_| letters[below(letters.len())]).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_piece_of_a_text_is_found_and_nothing_else() {
    let mut below = numbers();
    for letters in ["กขคเแะา่", "กข คเาุ密", "台北車站 で", "ကခ္ျာ ိ", "កខ្គា ើ"]
    {
        let letters: Vec<char> = letters.chars().collect();
        let texts: Vec<String> = (0..300)
            .map(|_| {
                let len = 1 + below(24);
                text(&letters, &mut below, len)
            })
            .collect();
        let index = MessageIndex::in_memory().unwrap();
        let (first, second): (Vec<_>, Vec<_>) = (0..)
            .zip(&texts)
            .map(|(id, text)| IndexChange::Put(message("c", id, text)))
            .enumerate()
            .partition(|(at, _)| at % 3 > 0);
        let mut writer = index.writer(WriterOptions::default()).unwrap();
        for part in [first, second] {
            let puts: Vec<_> = part.into_iter().map(|(_, put)| put).collect();
            writer.apply(&puts).unwrap();
            writer.commit("").unwrap();
        }
        let folded: Vec<String> = texts.iter().map(|text| fold_for_search(text)).collect();
        for _ in 0..600 {
            let whole: Vec<char> = texts[below(texts.len())].chars().collect();
            let from = below(whole.len().max(1));
            let to = whole.len().min(from + 1 + below(14));
            let mut needle: String = whole[from..to].iter().collect::<String>().trim().to_owned();
            if below(4) == 0 {
                // Mostly in no text.
                needle.push(letters[below(letters.len())]);
            }
            let needle = needle.trim();
            if needle.is_empty() {
                continue;
            }
            let query = Query::parse(&format!("\"{needle}\"")).unwrap();
            let request = IndexSearch { limit: 300, exact_only: true, ..IndexSearch::new(&query) };
            for sort in [Sort::Newest, Sort::Relevance] {
                let page = index.search(&IndexSearch { sort, ..request }).unwrap();
                let mut found: Vec<&str> = ids(&page);
                found.sort_unstable();
                let needle = fold_for_search(needle);
                let holding = (0..).zip(&folded).filter(|(_, text)| text.contains(&needle));
                let mut wanted: Vec<String> =
                    holding.map(|(id, _): (u32, _)| format!("m{id}")).collect();
                wanted.sort_unstable();
                assert_eq!(found, wanted, "{needle:?}");
            }
        }
    }
}

#[test]
fn spellings_that_look_the_same_are_found_by_each_other() {
    for (text, query) in [
        ("ขอน\u{e49}\u{e33}หน่อย", "น\u{e4d}\u{e49}\u{e32}"),
        ("ขอน\u{e4d}\u{e49}\u{e32}หน่อย", "น\u{e49}\u{e33}"),
        ("เเม่มา", "แม่"),
        ("แม่มา", "เเม่"),
        ("open 10:00–21:30", "10:00-21:30"),
        ("open 10:00-21:30", "\"10:00–21:30\""),
        ("call 0912‑345‑678", "0912-345-678"),
        ("on 2026‐01‐02", "2026-01-02"),
        ("3−5 people", "3-5"),
        ("10:00〜12:00", "10:00～12:00"),
        ("明天見面嗎", "「見面」"),
        ("goal 🔥", "Goal🔥"),
        ("Goal🔥", "goal 🔥"),
    ] {
        let index = index_of(&[text, "ok"]);
        assert_eq!(find(&index, query), ["m0"], "{query} in {text}");
    }
}

#[test]
fn no_word_begins_within_a_very_long_one() {
    let long = format!("{}secret99{}tail", "x".repeat(64), "y".repeat(60));
    let (joined, rest) = ("z".repeat(50), "w".repeat(100));
    let index = index_of(&[&format!("key {long} end"), &format!("a {joined}-{rest} b")]);
    for query in ["secret99", "s", "tail", "\"secret99 end\"", &rest[..40]] {
        let found = find(&index, query);
        assert!(!found.contains(&"m0".to_owned()), "{query}: {found:?}");
    }
    let start = |chars: usize| long[..chars].to_owned();
    for query in [start(10), start(64), start(65), start(72), start(129), format!("{long} end")] {
        assert_eq!(find(&index, &query), ["m0"], "{query}");
    }
    assert_eq!(find(&index, "key -secret99"), ["m0"]);
    for query in [format!("{joined}-{rest} b"), format!("\"{rest} b\""), rest[..70].to_owned()] {
        assert_eq!(find(&index, &query), ["m1"], "{query}");
    }
}

#[test]
fn amounts_are_found_with_and_without_their_commas() {
    let index =
        index_of(&["let us do 9,500 then", "9500 is a lot", "一箱２，４００元", "1,2,3 go", "3,b"]);
    for (query, found) in [
        ("9500", &["m1", "m0"][..]),
        ("9,500", &["m1", "m0"]),
        ("\"9,500 then\"", &["m0"]),
        ("9,5", &["m1", "m0"]),
        ("500", &["m0"]),
        (",500", &["m0"]),
        ("2400元", &["m2"]),
        ("2,400元", &["m2"]),
        ("2,3", &["m3"]),
        ("3,b", &["m4"]),
        ("50", &["m0"]),
        ("00 then", &[]),
    ] {
        assert_eq!(find(&index, query), found, "{query}");
    }
}

#[test]
fn amounts_are_found_however_they_are_written() {
    let index = index_of(&[
        "尾款 2,980 元，下週付",
        "尾款2980元",
        "ราคา 650 บาท",
        "ราคา650บาท",
        "B2 車位 (平面)",
        "請找 @林語晴 Grace",
    ]);
    for (query, found) in [
        ("2980元", &["m1", "m0"][..]),
        ("2,980元", &["m1", "m0"]),
        ("\"2980 元\"", &["m1", "m0"]),
        ("尾款2980", &["m1", "m0"]),
        ("650บาท", &["m3", "m2"]),
        ("\"650 บาท\"", &["m3", "m2"]),
        ("B2車位", &["m4"]),
        ("（平面）", &["m4"]),
        ("@林語晴", &["m5"]),
        ("@Grace", &["m5"]),
        ("\"@Grace\"", &[]),
        ("-(平面) 車位", &[]),
    ] {
        assert_eq!(find(&index, query), found, "{query}");
    }
}
