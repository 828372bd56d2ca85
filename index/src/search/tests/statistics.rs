//! Tests of what relevance is counted in.

use tantivy::Term;

use super::order::{pages, twins};
use super::*;
use crate::search::drive::Scope;
use crate::search::extent::{Extent, Size};

/// Returns a text of some words, others for each number.
fn text(number: u32) -> String {
    let words = ["tea", "milk", "sugar", "lemon", "ice", "cup", "ชาเย็น", "時間"];
    let picked = (0..8).filter(|bit| (number * 7 + number / 5) >> bit & 1 == 1);
    picked.map(|bit| words[bit]).collect::<Vec<_>>().join(" ")
}

/// Creates an index of batches of changes.
fn index_of_batches(batches: &[Vec<IndexChange>]) -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    for batch in batches {
        writer.apply(batch).unwrap();
        writer.commit("").unwrap();
    }
    index
}

#[test]
fn other_channels_and_erased_messages_change_neither_scores_nor_cursors() {
    let [own, twin] = twins();
    for beside in [&twin, "y"] {
        compare_with_others(&own, beside);
    }
}

/// Compares the results of a channel alone with those beside others.
fn compare_with_others(own: &str, second: &str) {
    let put = |channel: &str, id, text: String| IndexChange::Put(message(channel, id, &text));
    let plain: Vec<Vec<_>> = (0..4)
        .map(|batch| (batch * 60..batch * 60 + 60).map(|id| put(own, id, text(id))).collect())
        .collect();
    let mut beside = plain.clone();
    for (batch, changes) in (0..).zip(&mut beside) {
        let others = (0..300).map(|id| 1_000 * (batch + 1) + id);
        let long = |id| format!("tea sugar ชาเย็น {} tea tea", text(id).repeat(3));
        for id in others.clone() {
            changes.push(put(if id % 2 == 0 { second } else { "x" }, id, long(id)));
        }
        // Of the reader's own channel, and gone soon.
        changes.extend(others.clone().take(40).map(|id| put(own, id, "ice milk".to_owned())));
    }
    let gone = (0..4).flat_map(|batch| (0..40).map(move |id| 1_000 * (batch + 1) + id));
    beside.push(gone.map(|id| erase(own, id)).collect());
    let (plain, beside) = (index_of_batches(&plain), index_of_batches(&beside));
    let many: Vec<String> = (0..40).map(|number| format!("none{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).chain([own]).collect();
    for query in [
        "tea milk",
        "ic",
        "\"ice cup\"",
        "tea honey lemon?",
        "sugar honey ice?",
        "ชาเย็นไหม milk?",
        "tea ice before:1970-01-01T00:03Z",
    ] {
        let query = Query::parse(query).unwrap();
        for channels in [&[own][..], &many] {
            let request =
                IndexSearch { channels: Some(channels), limit: 7, ..IndexSearch::new(&query) };
            let expected = pages(&plain, request, |_| {});
            assert!(expected.len() > 2, "{query:?}");
            assert_eq!(pages(&beside, request, |_| {}), expected, "{query:?}");
        }
    }
}

#[test]
fn pages_of_a_channel_stay_whole_while_others_write() {
    let put = |channel, id| IndexChange::Put(message(channel, id, &text(id)));
    let index = index_of_batches(&[(0..200).map(|id| put("c", id)).collect()]);
    let query = Query::parse("tea honey lemon?").unwrap();
    let request = IndexSearch { channels: Some(&["c"]), limit: 9, ..IndexSearch::new(&query) };
    let whole = index.search(&IndexSearch { limit: 1_000, ..request }).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let pages = pages(&index, request, |page| {
        let from = 1_000 * u32::try_from(page).unwrap();
        writer.apply(&(from..from + 50).map(|id| put("other", id)).collect::<Vec<_>>()).unwrap();
        writer.commit("").unwrap();
    });
    let hits: Vec<_> = pages.into_iter().flat_map(|page| page.hits).collect();
    assert_eq!(hits, whole.hits);
}

#[test]
fn frequencies_of_very_many_channels_are_near_and_never_wrongly_none() {
    let channels: Vec<String> = (0..1_200).map(|number| format!("c{number}")).collect();
    let text = |id: u32| match (id % 2, id % 1_200) {
        (0, 600) => "often one",
        (0, _) => "often",
        (_, 1) if id < 1_200 => "foreign mine",
        (_, 1..=100) => "mine",
        _ => "foreign",
    };
    let messages = (0..24_000_u32)
        .filter(|id| id % 1_200 != 1 || *id < 1_200)
        .map(|id| IndexChange::Put(message(&channels[(id % 1_200) as usize], id, text(id))));
    let index = index_of_batches(&[messages.collect(), vec![erase("c600", 600)]]);
    let asked: Vec<&str> = channels.iter().map(String::as_str).collect();
    let not_first = &asked[1..];
    let mine: Vec<&str> = (0..1_200).filter(|n| n % 2 == 0).map(|n| asked[n]).collect();
    let with_one: Vec<&str> = mine.iter().copied().chain([asked[1]]).collect();
    let view = index.generation().view();
    let query = Query::parse("x").unwrap();
    let counts = |channels: &[&str]| {
        let request = IndexSearch { channels: Some(channels), ..IndexSearch::new(&query) };
        let scope = Scope::new(&view, index.fields(), &request).unwrap();
        let extent = Extent::of(&view.searcher, &scope).unwrap();
        let frequency = |word: &str| {
            extent.look_up(&Term::from_field_text(index.fields().text, word)).unwrap().0
        };
        let Size { docs, length } = extent.size(index.fields().text).unwrap();
        (docs, length, ["often", "one", "foreign"].map(frequency))
    };
    let (docs, length, [often, single, none]) = counts(&mine);
    assert_eq!((length, single, none), (1, 19, 0));
    assert!((11_900..=12_000).contains(&docs) && (11_900..=12_000).contains(&often));
    let (.., [_, _, once]) = counts(&with_one);
    assert_eq!(once, 1, "in a channel too small to be counted");
    let (.., [often, _, elsewhere]) = counts(not_first);
    assert!((9_000..15_000).contains(&often), "{often}");
    assert!((8_000..14_000).contains(&elsewhere), "{elsewhere}");
}
