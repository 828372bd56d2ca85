//! Tests of keyword rules, by example and against a brute-force matcher.

use proptest::prelude::*;

use super::*;
use crate::fold::fold;

fn matcher(keywords: &[&str]) -> KeywordMatcher {
    KeywordMatcher::build((0..).zip(keywords.iter().copied())).unwrap()
}

fn contains(keyword: &str, message: &str) -> bool {
    matcher(&[keyword]).contains(message).is_some()
}

#[test]
fn exact_is_the_whole_message_however_it_is_written() {
    let rules = matcher(&["Opening hours", "營業時間", "ｗｉｆｉ", "?", "เวลาทำการ", "영업시간"]);
    let rule = |message: &str| rules.exact(message).map(|hit| hit.rule);
    assert_eq!(rule("opening  HOURS?"), Some(0));
    assert_eq!(rule("營業時間？！"), Some(1));
    assert_eq!(rule("WiFi"), Some(2));
    assert_eq!(rule("？"), Some(3));
    assert_eq!(rule("เวลาทำการ"), Some(4));
    assert_eq!(rule("영업시간!"), Some(5));
    for other in ["opening", "opening hours today", "營業時間表", "", "??"] {
        assert_eq!(rule(other), None, "{other}");
    }
    assert_eq!(rules.exact("營業時間？"), Some(KeywordHit { rule: 1, start: 0, len: 4 }));
}

#[test]
fn words_are_matched_whole_where_the_script_has_spaces() {
    assert!(contains("wifi", "What is the WiFi password?"));
    assert!(contains("wifi password", "the wifi  password, please"));
    assert!(contains("wifi", "(wifi)"));
    assert!(!contains("wifi", "wifis"));
    assert!(!contains("fi", "wifi"));
    assert!(!contains("10", "100 or 210"));
    assert!(contains("цена", "какая цена?"));
    assert!(!contains("цена", "оценка"));
    assert!(contains("hinta-arvio", "mikä on hinta-arvio tästä"));
}

#[test]
fn scripts_without_spaces_are_matched_by_substring() {
    assert!(contains("營業時間", "請問你們的營業時間是幾點"));
    assert!(contains("駐車場", "お店に駐車場はありますか"));
    assert!(contains("ราคา", "ขอทราบราคาหน่อย"));
    assert!(contains("ລາຄາ", "ຂໍລາຄາແດ່"));
    assert!(
        contains("iPhone", "iPhoneを買う"),
        "no boundary needed against another kind of script"
    );
    assert!(contains("100元", "總共100元整"));
    assert!(!contains("00元", "總共100元整"), "but the side in a spaced script needs one");
}

#[test]
fn a_keyword_is_no_part_of_a_letter_with_its_marks() {
    for (keyword, message) in [
        ("หมู", "หมู่บ้านเรา"),
        ("สี", "ประชุมสี่โมงเย็น"),
        ("ขา", "เขามาแล้ว"),
        ("หมา", "เหมารถ"),
        ("รู", "ไม่รู้เหมือนกัน"),
        ("กม", "เกม"),
        ("ตา", "เปิดเตา"),
        ("は", "ば"),
    ] {
        assert!(!contains(keyword, message), "{keyword} {message}");
    }
    for (keyword, message) in [
        ("หมู", "ซื้อหมูสองกิโล"),
        ("สี", "สีแดง"),
        ("ขา", "เจ็บขาครับ"),
        ("ราคา", "ราคาเท่าไหร่"),
        ("เกม", "เล่นเกมกัน"),
        ("เวลา", "ถามเวลาเปิด"),
    ] {
        assert!(contains(keyword, message), "{keyword} {message}");
    }
}

#[test]
fn korean_keywords_begin_at_a_word_and_take_particles() {
    assert!(contains("주차장", "주차장은 어디에 있나요"));
    assert!(contains("가격", "이거 가격이 얼마예요"));
    assert!(!contains("장은", "주차장은 어디에"));
    assert!(!contains("방", "PC방"));
    assert!(contains("wifi", "wifi는 되나요"));
}

#[test]
fn the_longest_keyword_wins_then_the_older_rule() {
    let rules =
        matcher(&["shop", "shop hours", "your shop", "hours", "ticket price", "shop hours"]);
    let hit = |message: &str| rules.contains(message).unwrap();
    assert_eq!(hit("when are the shop hours"), KeywordHit { rule: 1, start: 13, len: 10 });
    assert_eq!(hit("your shop hours").rule, 1);
    assert_eq!(hit("hours of your shop").rule, 2);
    let ties = matcher(&["台北", "高雄"]);
    assert_eq!(ties.contains("高雄和台北").unwrap(), KeywordHit { rule: 0, start: 3, len: 2 });
    assert_eq!(matcher(&[]).contains("anything"), None);
}

#[test]
fn a_keyword_of_two_rules_belongs_to_the_older() {
    let rules = [(7, "Menu"), (3, "ＭＥＮＵ?"), (5, "menu"), (3, "menu"), (9, "price"), (4, "")];
    let matcher = KeywordMatcher::build(rules).unwrap();
    assert_eq!(matcher.exact("menu").unwrap().rule, 3);
    assert_eq!((matcher.len(), matcher.is_empty()), (2, false));
    let shared = duplicates(rules);
    assert_eq!(shared, [SharedKeyword { keyword: "menu".to_owned(), rules: vec![3, 5, 7] }]);
}

/// Tries every keyword at every position.
fn brute_force(keywords: &[String], message: &str) -> Option<(usize, u32, usize)> {
    let message: Vec<char> = fold(message).chars().collect();
    let class = |at: Option<usize>| at.and_then(|at| message.get(at)).map(|&c| Class::of(c));
    let mut hits = Vec::new();
    for (rule, keyword) in (0..).zip(keywords) {
        let keyword: Vec<char> = fold_phrase(keyword).chars().collect();
        for start in 0..message.len() {
            let end = start + keyword.len();
            if keyword.is_empty() || message.get(start..end) != Some(keyword.as_slice()) {
                continue;
            }
            let (before, after) = (class(start.checked_sub(1)), class(Some(end)));
            let parts = |left: Option<usize>, right: usize| {
                let left = left.and_then(|left| message.get(left));
                left.zip(message.get(right)).is_none_or(|(left, right)| may_part(*left, *right))
            };
            let begins = match Class::of(keyword[0]) {
                Class::Word => before != Some(Class::Word),
                Class::Hangul => !matches!(before, Some(Class::Word | Class::Hangul)),
                Class::Unspaced => parts(start.checked_sub(1), start),
                _ => true,
            };
            let ends = match Class::of(keyword[keyword.len() - 1]) {
                Class::Word => after != Some(Class::Word),
                Class::Unspaced => parts(Some(end - 1), end),
                _ => true,
            };
            if begins && ends {
                hits.push((keyword.len(), rule, start));
            }
        }
    }
    hits.into_iter().min_by_key(|&(len, rule, start)| (usize::MAX - len, rule, start))
}

const ALPHABET: [&str; 16] =
    ["時", "a", "가", " ", "B", "1", "間", "ท", "ำ", "เ", "나", "ア", "?", "é", "ｂ", "-"];

/// Generates short texts over few characters, so that keywords do occur.
fn chat(alphabet: &'static [&str]) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(alphabet), 0..14)
        .prop_map(|parts| parts.concat())
}

/// Generates keywords and a message; over very few characters, many keywords share a beginning.
fn keywords_and_message() -> impl Strategy<Value = (Vec<String>, String)> {
    proptest::sample::select(vec![4, ALPHABET.len()]).prop_flat_map(|letters| {
        let alphabet = &ALPHABET[..letters];
        let keyword = chat(alphabet).prop_map(|chat| chat.chars().take(4).collect());
        (proptest::collection::vec(keyword, 0..30), chat(alphabet))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn contains_is_what_trying_everything_finds((keywords, message) in keywords_and_message()) {
        let matcher = KeywordMatcher::build((0..).zip(keywords.iter().map(String::as_str))).unwrap();
        let hit = matcher.contains(&message).map(|hit| (hit.len, hit.rule, hit.start));
        prop_assert_eq!(hit, brute_force(&keywords, &message));
        let exact = matcher.exact(&message);
        let older = (0..).zip(&keywords).find(|(_, keyword)| {
            !message.trim().is_empty() && fold_phrase(keyword) == fold_phrase(&message)
        });
        prop_assert_eq!(exact.map(|hit| hit.rule), older.map(|(rule, _)| rule));
    }
}
