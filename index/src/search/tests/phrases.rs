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
