//! Tests of search against a brute-force search: folding both texts and comparing everywhere.

#![expect(clippy::disallowed_methods, reason = "the size of a run by hand")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use chatkeep_index::fold::han::simplified;
use chatkeep_index::fold::search::fold_for_search;
use chatkeep_index::script::Class;
use chatkeep_index::search::{
    Highlighter, IndexChange, IndexDoc, IndexSearch, MessageIndex, Query, Sort, WriterOptions,
};

/// `SplitMix64`: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const CHINESE: [&str; 20] = [
    "明天",
    "下午",
    "台北車站",
    "見面",
    "我們",
    "一起",
    "吃飯",
    "火鍋",
    "幾點",
    "開始",
    "營業時間",
    "請問",
    "停車場",
    "在",
    "的",
    "了",
    "嗎",
    "可以",
    "預約",
    "謝謝",
];
const JAPANESE: [&str; 16] = [
    "明日",
    "の",
    "午後",
    "駅前",
    "コンビニ",
    "アルバイト",
    "を",
    "予約",
    "したい",
    "です",
    "か",
    "ありがとう",
    "スーパー",
    "営業",
    "時間",
    "ございます",
];
const THAI: [&str; 14] = [
    "พรุ่งนี้",
    "ร้าน",
    "เปิด",
    "กี่โมง",
    "ขอ",
    "ที่อยู่",
    "น้ำ",
    "ราคา",
    "เท่าไหร่",
    "ค่ะ",
    "ครับ",
    "จอดรถ",
    "ได้",
    "ไหม",
];
const KOREAN: [&str; 12] = [
    "내일 ",
    "오후에 ",
    "주차장은 ",
    "어디에 ",
    "있나요",
    "가격이 ",
    "얼마예요",
    "예약 ",
    "가능한가요",
    "감사합니다",
    "ㅋㅋㅋ",
    "네 ",
];
const ENGLISH: [&str; 22] = [
    "see ",
    "you ",
    "at ",
    "the ",
    "station ",
    "tomorrow",
    "don't ",
    "forget ",
    "tickets",
    "Café ",
    "iPhone",
    "WiFi ",
    "e-mail ",
    "meeting ",
    "is ",
    "it ",
    "12:30 ",
    "C++ ",
    "OK",
    "station's ",
    "9,500",
    ",12",
];
const MARKS: [&str; 14] =
    ["，", "。", "！", "？", " ", " ", "\n", "…", ", ", "! ", "🎉", "😂😂", " :) ", "～"];

/// Returns a message mostly in one language, sometimes in two.
fn message(numbers: &mut Numbers) -> String {
    let languages: [&[&str]; 5] = [&CHINESE, &JAPANESE, &THAI, &KOREAN, &ENGLISH];
    let main = languages[numbers.below(5)];
    let other = languages[numbers.below(5)];
    let mut text = String::new();
    for _ in 0..=numbers.below(10) {
        let part = match numbers.below(10) {
            0 => numbers.pick(&MARKS),
            1 => numbers.pick(other),
            _ => numbers.pick(main),
        };
        text.push_str(part);
    }
    text
}

fn doc(id: usize, text: &str) -> IndexDoc {
    IndexDoc {
        channel_id: "c".to_owned(),
        message_id: id.to_string(),
        sender_id: None,
        kind: "text".to_owned(),
        sent_at: i64::try_from(id).unwrap(),
        text: text.to_owned(),
    }
}

/// Builds an index over many segments, some of which hold erased and replaced messages.
fn index_of(texts: &[String]) -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    for (batch, batch_texts) in texts.chunks(texts.len().div_ceil(6)).enumerate() {
        let first = batch * texts.len().div_ceil(6);
        for (offset, text) in batch_texts.iter().enumerate() {
            let id = first + offset;
            if id.is_multiple_of(11) {
                writer.apply(&[IndexChange::Put(doc(id, "an earlier text 以前的文字"))]).unwrap();
                writer.commit("").unwrap();
            }
            let passing = IndexChange::Put(doc(1_000_000 + id, text));
            let erased = IndexChange::Erase {
                channel_id: "c".to_owned(),
                message_id: (1_000_000 + id).to_string(),
            };
            writer.apply(&[passing, IndexChange::Put(doc(id, text)), erased]).unwrap();
        }
        writer.commit("").unwrap();
    }
    index
}

/// Folds a text as an index does that treats Traditional and Simplified characters alike.
fn fold_for_index(text: &str) -> String {
    fold_for_search(text).chars().map(simplified).collect()
}

fn is_word(c: char) -> bool {
    Class::of(c) == Class::Word
}

fn is_spaceless(c: char) -> bool {
    Class::of(c).is_substring_script()
}

/// A folded text without the hyphens that join words, the commas that join numbers and the spaces
/// between words and scripts without spaces, and the positions of all but the last.
struct Joined {
    text: String,
    breaks: Vec<usize>,
}

fn joined(folded: &str) -> Joined {
    let chars: Vec<char> = folded.chars().collect();
    let mut joined = Joined { text: String::new(), breaks: Vec::new() };
    for (at, &c) in chars.iter().enumerate() {
        let beside = at.checked_sub(1).map(|at| chars[at]).zip(chars.get(at + 1).copied());
        let is_border = |(a, b)| (is_word(a) && is_spaceless(b)) || (is_spaceless(a) && is_word(b));
        if c == ' ' && beside.is_some_and(is_border) {
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]).filter(|&c| is_word(c));
        let after = chars.get(at + 1).copied().filter(|&c| is_word(c));
        match (before, after) {
            (Some(before), Some(after))
                if (c == '-' && !(before.is_numeric() && after.is_numeric()))
                    || (c == ',' && before.is_numeric() && after.is_numeric()) =>
            {
                joined.breaks.push(joined.text.len());
            }
            _ => joined.text.push(c),
        }
    }
    joined
}

/// Returns the joined needle: without a hyphen or comma at either end that may join in a text.
fn joined_needle(folded: &str) -> String {
    let rest = folded.strip_prefix('-').filter(|rest| rest.starts_with(is_word)).unwrap_or(folded);
    let rest = rest.strip_suffix('-').filter(|rest| rest.ends_with(is_word)).unwrap_or(rest);
    let digit = char::is_numeric;
    let rest = rest.strip_prefix(',').filter(|rest| rest.starts_with(digit)).unwrap_or(rest);
    let rest = rest.strip_suffix(',').filter(|rest| rest.ends_with(digit)).unwrap_or(rest);
    joined(rest).text
}

/// Returns whether `needle` occurs in the text, both joined: from the beginning of a word or from a
/// hyphen on if it begins with a word.
fn occurs(Joined { text, breaks }: &Joined, needle: &str) -> bool {
    let from_word = needle.starts_with(is_word);
    // Most texts do not contain it anywhere, which this test detects much faster.
    text.contains(needle)
        && (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| {
            let inside = text[..at].ends_with(is_word) && !breaks.contains(&at);
            text[at..].starts_with(needle) && !(from_word && inside)
        })
}

fn search(index: &MessageIndex, query: &Query, sort: Sort) -> BTreeSet<usize> {
    let request = IndexSearch { sort, limit: 10_000, ..IndexSearch::new(query) };
    let page = index.search(&request).unwrap();
    let ids: BTreeSet<usize> =
        page.hits.iter().map(|hit| hit.message_id.parse().unwrap()).collect();
    assert_eq!((page.total, page.hits.len()), (ids.len(), ids.len()));
    ids
}

/// Compares index and oracle, and returns the number of messages that both found.
fn check(index: &MessageIndex, texts: &[String], folded: &[Joined], needle: &str) -> usize {
    let Some(query) = Query::phrase(needle) else { return 0 };
    let folded_needle = joined_needle(fold_for_index(needle).trim());
    let expected: BTreeSet<usize> =
        (0..folded.len()).filter(|&id| occurs(&folded[id], &folded_needle)).collect();
    let mut found = search(index, &query, Sort::Newest);
    // A joined word also matches from its hyphens on, even inside of a phrase.
    found.retain(|id| expected.contains(id) || folded[*id].breaks.is_empty());
    assert_eq!(found, expected, "{needle:?}");
    for &id in expected.iter().take(3) {
        assert!(
            !Highlighter::new(&query).highlight(&texts[id]).is_empty(),
            "{needle:?} in {:?}",
            texts[id]
        );
    }
    expected.len()
}

#[test]
fn every_substring_is_found_and_nothing_else() {
    let mut numbers = Numbers(7);
    let texts: Vec<String> = (0..2_000).map(|_| message(&mut numbers)).collect();
    let folded: Vec<_> = texts.iter().map(|text| joined(&fold_for_index(text))).collect();
    let index = index_of(&texts);
    let mut found = 0;
    for round in 0..1_500 {
        let chars: Vec<char> = texts[numbers.below(texts.len())].chars().collect();
        let start = numbers.below(chars.len());
        // Short needles are the hard ones; a third of them go on to the end of the message.
        let longest = if round % 3 == 0 { chars.len() } else { 4 };
        let end = (start + 1 + numbers.below(longest)).min(chars.len());
        let needle: String = chars[start..end].iter().collect();
        found += usize::from(check(&index, &texts, &folded, &needle) > 0);
    }
    // The rest began inside a word or held nothing but white space.
    assert!(found > 1_000, "{found}");
}

#[test]
fn every_substring_of_a_message_finds_it() {
    let texts = [
        "明天下午在台北車站見面嗎？我等你，謝謝🎉",
        "駅前のコンビニでiPhoneの充電器を買う",
        "พรุ่งนี้ร้านเปิดกี่โมงคะ ขอน้ำด้วย",
        "주차장은 어디에 있나요? ㅋㅋㅋ",
    ];
    let texts = texts.map(str::to_owned);
    let index = index_of(&texts);
    for (id, text) in texts.iter().enumerate() {
        let chars: Vec<char> = text.chars().collect();
        for start in 0..chars.len() {
            let inside_word = start > 0
                && Class::of(chars[start]) == Class::Word
                && Class::of(chars[start - 1]) == Class::Word;
            for end in start + 1..=chars.len() {
                let needle: String = chars[start..end].iter().collect();
                let Some(query) = Query::phrase(&needle) else { continue };
                let found = search(&index, &query, Sort::Relevance).contains(&id);
                assert_eq!(found, !inside_word, "{needle:?}");
            }
        }
    }
}

#[test]
fn few_characters_in_every_order() {
    const PARTS: [&str; 15] =
        ["a", "b", "ab", "時", "間", "時時", "가", "ท", "ำ", " ", "-", "'", "é", "x1", "-a"];
    let mut numbers = Numbers(11);
    for _ in 0..6 {
        let mut text = |most: usize| -> String {
            (0..=numbers.below(most)).map(|_| numbers.pick(&PARTS)).collect()
        };
        let mut texts: Vec<String> = (0..120).map(|_| text(14)).collect();
        texts.push("ab".repeat(100));
        let folded: Vec<_> = texts.iter().map(|text| joined(&fold_for_index(text))).collect();
        let needles: Vec<String> = (0..250).map(|_| text(6)).chain(["ab".repeat(50)]).collect();
        let index = index_of(&texts);
        for needle in needles {
            check(&index, &texts, &folded, &needle);
        }
    }
}

/// A script's name and its characters.
type Script = (&'static str, fn(char) -> bool);

/// Needles that begin with a character of one script, and their occurrences; the number of messages
/// and of needles a script can be raised by the environment for a run by hand:
/// `CHATKEEP_ORACLE=100000,2000 cargo test --release --test search_oracle each_script`.
#[test]
fn each_script_is_found_in_full() {
    let size = std::env::var("CHATKEEP_ORACLE").unwrap_or_else(|_| "1500,60".to_owned());
    let (messages, needles) = size.split_once(',').unwrap();
    let (messages, needles): (usize, usize) = (messages.parse().unwrap(), needles.parse().unwrap());
    let mut numbers = Numbers(23);
    let texts: Vec<String> = (0..messages).map(|_| message(&mut numbers)).collect();
    let folded: Vec<_> = texts.iter().map(|text| joined(&fold_for_index(text))).collect();
    let index = index_of(&texts);
    let scripts: [Script; 6] = [
        ("Latin", |c| c.is_ascii_alphabetic()),
        ("Han", |c| matches!(c, '\u{4e00}'..='\u{9fff}')),
        ("kana", |c| matches!(c, '\u{3041}'..='\u{30fa}')),
        ("Thai", |c| matches!(c, '\u{e01}'..='\u{e2e}')),
        ("Hangul", |c| matches!(c, '\u{ac00}'..='\u{d7a3}')),
        ("emoji", |c| c > '\u{1f000}'),
    ];
    for (script, begins) in scripts {
        let mut found = 0;
        let mut asked = 0;
        while asked < needles {
            let chars: Vec<char> = texts[numbers.below(texts.len())].chars().collect();
            let start = numbers.below(chars.len());
            let inside_word = start > 0
                && Class::of(chars[start]) == Class::Word
                && Class::of(chars[start - 1]) == Class::Word;
            if !begins(chars[start]) || inside_word {
                continue;
            }
            let end = (start + 1 + numbers.below(8)).min(chars.len());
            let needle: String = chars[start..end].iter().collect();
            let Some(query) = Query::phrase(&needle) else { continue };
            asked += 1;
            let needle = joined_needle(fold_for_index(&needle).trim());
            let expected: BTreeSet<usize> =
                (0..folded.len()).filter(|&id| occurs(&folded[id], &needle)).collect();
            let request =
                IndexSearch { sort: Sort::Newest, limit: messages, ..IndexSearch::new(&query) };
            let page = index.search(&request).unwrap();
            let mut ids: BTreeSet<usize> =
                page.hits.iter().map(|hit| hit.message_id.parse().unwrap()).collect();
            assert_eq!(page.total, ids.len(), "{needle:?}");
            ids.retain(|id| expected.contains(id) || folded[*id].breaks.is_empty());
            assert_eq!(ids, expected, "{needle:?}");
            found += page.total;
        }
        assert!(found >= asked, "{script}: each occurs at least where it was taken from");
    }
}
