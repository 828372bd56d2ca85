//! Tests of the index through its public interface.

mod beginnings;
mod channels;
mod corpus;
mod cursors;
mod exclusions;
mod folder;
mod joins;
mod marks;
mod match_batch;
mod order;
mod pages;
mod phrases;
mod queries;
mod related;
mod scan;
mod shared;
mod stability;
mod states;
mod statistics;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::*;

fn message(channel: &str, id: u32, text: &str) -> IndexDoc {
    IndexDoc {
        channel_id: channel.to_owned(),
        message_id: format!("m{id}"),
        sender_id: Some(format!("U{}", id % 3)),
        kind: "text".to_owned(),
        sent_at: i64::from(id) * 1_000,
        text: text.to_owned(),
    }
}

fn erase(channel: &str, id: u32) -> IndexChange {
    IndexChange::Erase { channel_id: channel.to_owned(), message_id: format!("m{id}") }
}

/// Creates an index in memory that holds `texts` as messages 0, 1, … of channel `c`.
fn index_of(texts: &[&str]) -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    fill(&index, texts);
    index
}

fn fill(index: &MessageIndex, texts: &[&str]) {
    let puts: Vec<_> =
        (0..).zip(texts).map(|(id, text)| IndexChange::Put(message("c", id, text))).collect();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    writer.apply(&puts).unwrap();
    writer.commit("").unwrap();
}

fn ids(page: &SearchPage) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.message_id.as_str()).collect()
}

fn find(index: &MessageIndex, query: &str) -> Vec<String> {
    let query = Query::parse(query).unwrap();
    let request = IndexSearch { sort: Sort::Newest, ..IndexSearch::new(&query) };
    let page = index.search(&request).unwrap();
    assert_eq!(page.total, page.hits.len());
    page.hits.into_iter().map(|hit| hit.message_id).collect()
}

#[test]
fn words_are_found_with_and_without_their_hyphens() {
    let index = index_of(&[
        "Wi-Fi密碼是 1234",
        "wifi密碼是 1234",
        "Ｗｉ‐Ｆｉ 密碼",
        "send an E-Mail-Address",
        "call 0912-345-678 about 3-4 tables",
        "covid-19",
        "the wind",
    ]);
    let all = ["m2", "m1", "m0"];
    for query in ["wifi", "Wi-Fi", "ｗｉ－ｆｉ", "WIFI", "\"wi-fi\"", "wi–f"] {
        assert_eq!(find(&index, query), all, "{query}");
    }
    for query in ["wifi密碼", "wi-fi密碼", "\"wifi 密碼\""] {
        assert_eq!(find(&index, query), all, "{query}");
    }
    assert_eq!(find(&index, "fi密"), ["m2", "m0"]);
    for (query, id) in [
        ("email", 3),
        ("mail", 3),
        ("mailaddress", 3),
        ("mail-address", 3),
        ("e-mail-", 3),
        ("address", 3),
        ("0912-345", 4),
        ("345", 4),
        ("covid19", 5),
        ("covid", 5),
        ("19", 5),
    ] {
        assert_eq!(find(&index, query), [format!("m{id}")], "{query}");
    }
    for query in ["\"34 tables\"", "iladdress", "\"fi wi\""] {
        assert_eq!(find(&index, query), Vec::<String>::new(), "{query}");
    }
}

#[test]
fn what_occurs_is_found() {
    let index = index_of(&[
        "明天下午在台北車站見面",
        "iPhoneを買う前に相談して",
        "ขอที่อยู่ร้านหน่อยค่ะ",
        "주차장은 어디에 있나요?",
        "See you at the Café tomorrow 🎉",
        "that's C++ :)",
        "",
    ]);
    for (query, id) in [
        ("台北車", 0),
        ("站", 0),
        ("下午 見面", 0),
        ("iphoneを買", 1),
        ("ｉｐｈ", 1),
        ("談し", 1),
        ("อยู่ร้", 2),
        ("차장", 3),
        ("디에", 3),
        ("cafe tom", 4),
        ("\"the cafe tom\"", 4),
        ("🎉", 4),
        ("c++", 5),
        (":)", 5),
        ("that’s", 5),
    ] {
        assert_eq!(find(&index, query), [format!("m{id}")], "{query}");
    }
    for absent in ["北台", "afe", "\"cafe you\"", "c+++", "台 北 東", "\"下午台北\""] {
        assert_eq!(find(&index, absent), [""; 0], "{absent}");
    }
}

#[test]
fn a_word_in_full_ranks_above_words_that_begin_with_it() {
    let index = index_of(&["cars and more", "a car", "carpet", "the car of the cars is a car"]);
    let query = Query::parse("car").unwrap();
    let page = index.search(&IndexSearch::new(&query)).unwrap();
    assert_eq!(page.total, 4);
    assert_eq!(ids(&page)[..2], ["m1", "m3"]);
    assert!(page.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn a_prefix_of_very_many_words_finds_them_all() {
    let texts: Vec<String> = (0..300).map(|n| format!("word{n} a{n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let index = index_of(&texts);
    let query = Query::parse("word").unwrap();
    for sort in [Sort::Relevance, Sort::Newest] {
        let request = IndexSearch { sort, limit: 1_000, ..IndexSearch::new(&query) };
        let page = index.search(&request).unwrap();
        assert_eq!((page.total, page.hits.len()), (300, 300));
    }
    assert_eq!(find(&index, "\"word7 a\"").len(), 1);
    assert_eq!(find(&index, "word29").len(), 11, "word29 and word290 to word299");
}

#[test]
fn filters_hold_together() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let image = IndexDoc { kind: "image".to_owned(), ..message("a", 1, "tea.jpg") };
    let link = message("b", 2, "tea at HTTPS://example.com");
    let anonymous = IndexDoc { sender_id: None, ..message("b", 3, "tea") };
    let puts = [message("a", 0, "tea"), image, link, anonymous].map(IndexChange::Put);
    writer.apply(&puts).unwrap();
    writer.commit("").unwrap();

    for (query, expected) in [
        ("tea", vec!["m3", "m2", "m1", "m0"]),
        ("tea has:link", vec!["m2"]),
        ("-has:link -has:media", vec!["m3", "m0"]),
        ("has:media", vec!["m1"]),
        ("type:image type:text tea", vec!["m3", "m2", "m1", "m0"]),
        ("-type:text", vec!["m1"]),
        ("from:U0 from:U1", vec!["m1", "m0"]),
        ("-from:U1 -from:U2", vec!["m3", "m0"]),
        ("-tea", vec![]),
        ("tea -example", vec!["m3", "m1", "m0"]),
        ("after:1970-01-01T00:00:01Z before:1970-01-01T00:00:03Z", vec!["m2", "m1"]),
    ] {
        assert_eq!(find(&index, query), expected, "{query}");
    }

    let query = Query::parse("tea after:1970-01-01T00:00:01Z").unwrap();
    let all = IndexSearch { sort: Sort::Newest, ..IndexSearch::new(&query) };
    let found = |request: IndexSearch<'_>| ids(&index.search(&request).unwrap()).join(" ");
    assert_eq!(found(IndexSearch { channels: Some(&["a"]), ..all }), "m1");
    assert_eq!(found(IndexSearch { channels: Some(&["a", "b", "x"]), ..all }), "m3 m2 m1");
    assert_eq!(found(IndexSearch { channels: Some(&[]), ..all }), "");
    assert_eq!(found(IndexSearch { senders: Some(&["U2", "U1"]), ..all }), "m2 m1");
    assert_eq!(found(IndexSearch { kind: Some("image"), ..all }), "m1");
    assert_eq!(found(IndexSearch { from: Some(0), to: Some(2_000), ..all }), "m1");
}

#[test]
fn putting_twice_replaces_and_erasing_erases() {
    let index = index_of(&["first", "second"]);
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let edited = || IndexChange::Put(message("c", 0, "edited"));
    let stranger = IndexChange::Put(message("other", 0, "first"));
    writer.apply(&[edited(), edited(), erase("c", 1), erase("c", 9), stranger]).unwrap();
    assert_eq!(find(&index, "second"), ["m1"], "nothing is visible before the commit");
    writer.commit("7").unwrap();
    assert_eq!(find(&index, "edited"), ["m0"]);
    assert_eq!(find(&index, "first"), ["m0"], "the other channel's");
    assert_eq!((find(&index, "second").len(), index.doc_count()), (0, 2));
    assert_eq!(index.position().as_deref(), Some("7"));

    writer.apply(&[erase("c", 0)]).unwrap();
    writer.rollback().unwrap();
    writer.commit("8").unwrap();
    assert_eq!(find(&index, "edited"), ["m0"]);
    writer.apply(&[erase("c", 0)]).unwrap();
    writer.wipe().unwrap();
    assert_eq!((index.doc_count(), index.position()), (0, None));
    writer.apply(&[edited()]).unwrap();
    writer.commit("1").unwrap();
    assert_eq!(find(&index, "edited"), ["m0"]);
}

#[test]
fn what_is_only_saved_is_there_and_not_yet_whole() {
    let folder = tempfile::tempdir().unwrap();
    let index = MessageIndex::open(folder.path()).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    writer.apply(&[IndexChange::Put(message("c", 0, "one"))]).unwrap();
    writer.save().unwrap();
    drop(writer);
    assert_eq!((index.doc_count(), index.position()), (1, None));
    assert!(MessageIndex::open_existing(folder.path()).unwrap().is_none());
    let again = MessageIndex::open(folder.path()).unwrap();
    let mut writer = again.writer(WriterOptions::default()).unwrap();
    writer.apply(&[0, 1].map(|id| IndexChange::Put(message("c", id, "two")))).unwrap();
    writer.commit("whole").unwrap();
    assert_eq!(find(&again, "two").len(), 2);
    assert_eq!((again.doc_count(), again.position().as_deref()), (2, Some("whole")));
}

#[test]
fn an_edit_replaces_the_message_in_whichever_part_it_is() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let texts = |text: &str, ids: std::ops::Range<u32>| -> Vec<IndexChange> {
        ids.map(|id| IndexChange::Put(message(["a", "b", "c"][id as usize % 3], id, text)))
            .collect()
    };
    for part in 0..4 {
        writer.apply(&texts("before", part * 50..(part + 1) * 50)).unwrap();
        writer.commit("").unwrap();
    }
    writer.apply(&texts("after", 0..200)).unwrap();
    writer.commit("").unwrap();
    assert_eq!(index.doc_count(), 200);
    assert_eq!(find(&index, "before"), [""; 0]);
}

#[test]
fn one_letter_is_found_wherever_it_stands() {
    let index = index_of(&["ありがとう", "주차장은", "ขอที่อยู่", "a がまん", "がa"]);
    for (query, found) in [
        ("が", &["m4", "m3", "m0"][..]),
        ("う", &["m0"]),
        ("차", &["m1"]),
        ("은", &["m1"]),
        ("ท", &["m2"]),
        ("\"a が\"", &["m3"]),
        ("\"が a\"", &["m4"]),
        ("が -う", &["m4", "m3"]),
    ] {
        assert_eq!(find(&index, query), found, "{query}");
    }
}

#[test]
fn pages_neither_repeat_nor_skip_while_messages_arrive() {
    let texts: Vec<String> = (0..57).map(|n| format!("tea {}", "and ".repeat(n % 5))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let query = Query::parse("tea").unwrap();
    for sort in [Sort::Newest, Sort::Relevance] {
        let index = index_of(&texts);
        let whole = IndexSearch { sort, limit: 100, ..IndexSearch::new(&query) };
        let whole = index.search(&whole).unwrap();
        let mut writer = index.writer(WriterOptions::default()).unwrap();
        let (mut seen, mut cursor) = (Vec::new(), None::<Cursor>);
        loop {
            let request = IndexSearch {
                sort,
                limit: 10,
                cursor: cursor.as_ref(),
                ..IndexSearch::new(&query)
            };
            let page = index.search(&request).unwrap();
            seen.extend(page.hits.iter().map(|hit| hit.message_id.clone()));
            // Newer than all that is left; scores change only with matching messages, so none does.
            if sort == Sort::Newest {
                let id = 1_000 + u32::try_from(seen.len()).unwrap();
                writer.apply(&[IndexChange::Put(message("c", id, "tea"))]).unwrap();
                writer.commit("").unwrap();
            }
            let Some(next) = page.next else { break };
            cursor = Some(next.to_string().parse().unwrap());
        }
        assert_eq!(seen, ids(&whole));
        assert_eq!((whole.total, whole.next), (57, None));
    }
}

#[test]
fn messages_of_one_millisecond_have_one_order() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    for id in 0..40 {
        let same_time = IndexDoc { sent_at: 5, ..message("c", id, "tea") };
        writer.apply(&[IndexChange::Put(same_time)]).unwrap();
        if id % 7 == 0 {
            writer.commit("").unwrap();
        }
    }
    writer.commit("").unwrap();
    let query = Query::parse("tea").unwrap();
    let (mut seen, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let sort = Sort::Newest;
        let request =
            IndexSearch { sort, limit: 3, cursor: cursor.as_ref(), ..IndexSearch::new(&query) };
        let page = index.search(&request).unwrap();
        assert_eq!(page.total, 40);
        seen.extend(page.hits.into_iter().map(|hit| hit.message_id));
        let Some(next) = page.next else { break };
        cursor = Some(next);
    }
    assert_eq!(seen.len(), 40);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 40);
}

#[test]
fn an_index_is_found_again_and_another_version_is_thrown_away() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("search");
    let open = || MessageIndex::open(&dir).unwrap();
    let fill = |index: &MessageIndex| {
        let mut writer = index.writer(WriterOptions::default()).unwrap();
        writer.apply(&[IndexChange::Put(message("c", 1, "tea"))]).unwrap();
        writer.commit("event 1").unwrap();
        writer.close().unwrap();
    };
    let index = open();
    assert_eq!((index.opened(), index.position()), (Opened::Created, None));
    fill(&index);
    drop(index);

    let index = open();
    assert_eq!((index.opened(), index.doc_count()), (Opened::Kept, 1));
    assert_eq!(index.position().as_deref(), Some("event 1"));
    drop(index);

    fs::write(dir.join("g1/index-version"), "999").unwrap();
    fs::write(dir.join("notes.txt"), "not ours").unwrap();
    let index = open();
    assert_eq!(index.opened(), Opened::OtherVersion(Some(999)));
    assert_eq!((index.doc_count(), index.position()), (0, None));
    assert!(dir.join("notes.txt").exists());
    fill(&index);
    drop(index);

    for entry in fs::read_dir(dir.join("g1")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "term" || extension == "idx") {
            fs::remove_file(path).unwrap();
        }
    }
    let index = open();
    assert_eq!((index.opened(), index.doc_count()), (Opened::Damaged, 0));
    fill(&index);
    assert_eq!(find(&index, "tea"), ["m1"]);
}

#[test]
fn there_is_one_writer_at_a_time_and_any_number_of_readers() {
    let folder = tempfile::tempdir().unwrap();
    let index = MessageIndex::open(folder.path()).unwrap();
    let other = MessageIndex::open(folder.path()).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    assert!(matches!(other.writer(WriterOptions::default()), Err(IndexError::WriterBusy)));
    writer.apply(&[IndexChange::Put(message("c", 1, "tea"))]).unwrap();
    writer.commit("").unwrap();
    assert_eq!((index.doc_count(), other.doc_count()), (1, 0));
    other.refresh().unwrap();
    assert_eq!(other.doc_count(), 1);
    drop(writer);
    assert!(other.writer(WriterOptions::default()).is_ok());
}

#[test]
fn purging_leaves_nothing_of_an_erased_message_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let index = MessageIndex::open(folder.path()).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    // Together, so that they are of one segment, which is not rewritten for one erased message.
    let mut puts: Vec<_> =
        (0..30).map(|id| IndexChange::Put(message("c", id, "kept xylophonist"))).collect();
    puts.push(IndexChange::Put(message("c", 99, "secretissimo")));
    writer.apply(&puts).unwrap();
    writer.commit("").unwrap();
    // A word in the files, whether or not a living message has it.
    let on_disk = |word: &str| {
        index.generation().view().searcher.segment_readers().iter().any(|segment| {
            let words = segment.inverted_index(index.fields().text).unwrap();
            words.terms().get(word).unwrap().is_some()
        })
    };
    assert!(on_disk("secretissimo") && on_disk("xylophonist"));
    writer.apply(&[erase("c", 99)]).unwrap();
    writer.commit("").unwrap();
    assert!(on_disk("secretissimo"), "erasing alone only hides it");
    writer.purge().unwrap();
    assert!(!on_disk("secretissimo") && on_disk("xylophonist"));
    assert_eq!((index.doc_count(), find(&index, "secretissimo").len()), (30, 0));
}

#[test]
fn emoji_are_found_however_they_are_composed() {
    let index = index_of(&[
        "I ❤\u{fe0f} it",
        "👩\u{200d}💻 at work",
        "👍🏽 ok",
        "🇹🇼 and 🇯🇵",
        "👨\u{200d}👩\u{200d}👧",
        "1\u{fe0f}\u{20e3} first",
        "♥ cards",
    ]);
    for (query, id) in [
        ("❤", 0),
        ("❤\u{fe0f}", 0),
        ("👩\u{200d}💻", 1),
        ("👍", 2),
        ("👍🏽", 2),
        ("🇹🇼", 3),
        ("👨\u{200d}👩\u{200d}👧", 4),
        ("1\u{fe0f}\u{20e3}", 5),
        ("♥", 6),
    ] {
        assert_eq!(find(&index, query), [format!("m{id}")], "{query}");
    }
    for absent in ["👍🏿", "🇯🇵🇹🇼", "👩\u{200d}🚒", "\"👧👨\""] {
        assert_eq!(find(&index, absent), [""; 0], "{absent}");
    }
}

#[test]
fn traditional_and_simplified_find_each_other_unless_told_not_to() {
    let texts = ["請問營業時間", "请问营业时间"];
    for query in ["營業", "营业", "\"營業時間\""] {
        assert_eq!(find(&index_of(&texts), query), ["m1", "m0"], "{query}");
    }
    let apart = MessageIndex::in_memory_with(IndexOptions { han_variants: false }).unwrap();
    fill(&apart, &texts);
    assert_eq!(find(&apart, "營業"), ["m0"]);
    assert_eq!(find(&apart, "营业"), ["m1"]);
}

#[test]
fn a_batch_is_due_by_number_by_size_and_by_time() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    let wait = Duration::from_secs(1);
    let limits = BatchLimits { changes: 3, bytes: 1_000, wait };
    assert!(!writer.is_due(limits, wait), "there is nothing to commit");
    writer.apply(&[IndexChange::Put(message("c", 0, "short"))]).unwrap();
    assert!(!writer.is_due(limits, Duration::ZERO) && writer.is_due(limits, wait));
    writer.apply(&[erase("c", 0), erase("c", 1)]).unwrap();
    assert!(writer.is_due(limits, Duration::ZERO));
    writer.commit("").unwrap();
    assert!(!writer.is_due(limits, wait));
    writer.apply(&[IndexChange::Put(message("c", 0, &"long ".repeat(300)))]).unwrap();
    assert!(writer.is_due(limits, Duration::ZERO));
}
