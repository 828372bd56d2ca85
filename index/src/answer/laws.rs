//! Laws of the answers of rules: keywords, and texts that a rule must not answer, against texts
//! whose letters are known; what strictness and mode change; identifiers, questions and groups.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::similar::{Group, group, looks_like_question};
use super::*;
use crate::fold::alike::fold_alike;
use crate::fold::strip_marks;
use crate::keyword::KeywordHit;
use crate::keyword::oracle::{Written, as_written, bare, best, folded, hits, keywords, places};
use crate::semantic::SemanticSpace;

/// Rules of one keyword each, with the texts that they must not answer.
type Rules<'a> = Vec<(&'a str, Vec<&'a str>)>;

fn matcher(rules: &Rules<'_>, mode: Mode, contains: bool) -> RuleMatcher {
    let rules: Vec<(&str, &[&str])> =
        rules.iter().map(|(keyword, not_for)| (*keyword, not_for.as_slice())).collect();
    let matching = Matching { mode, contains, strictness: Strictness::Balanced };
    with_not_for(&rules, |rules| RuleMatcher::build(rules, &matching, None).unwrap())
}

/// Gives each keyword some of the texts.
fn rules_of<'a>(keywords: &'a [String], texts: &'a [String], choice: u64) -> Rules<'a> {
    let with_texts = |(at, keyword): (usize, &'a String)| {
        let is_chosen = |(text, _): &(usize, &String)| choice >> ((at * 5 + text) % 64) & 1 == 1;
        let chosen = texts.iter().enumerate().filter(is_chosen);
        let chosen: Vec<&'a str> = chosen.map(|(_, text)| text.as_str()).collect();
        (keyword.as_str(), chosen)
    };
    keywords.iter().enumerate().map(with_texts).collect()
}

/// Returns whether a keyword stands in a text that is not for its rule, or the message is one.
fn is_covered(text: &Written, rules: &Rules<'_>, contains: bool, hit: &KeywordHit) -> bool {
    let whole = folded(text);
    rules[hit.rule as usize].1.iter().map(|text| bare(text)).any(|not_for| {
        let len = not_for.chars().count();
        let mut places = places(text, not_for).into_iter();
        let holds = |start: usize| start <= hit.start && hit.start + hit.len <= start + len;
        !not_for.is_empty() && (not_for == bare(&whole) || (contains && places.any(holds)))
    })
}

/// Returns the hit that answers a message word for word, by the rules for keywords.
fn expected(text: &Written, rules: &Rules<'_>, contains: bool) -> Option<KeywordHit> {
    let keywords: Vec<String> = rules.iter().map(|(keyword, _)| (*keyword).to_owned()).collect();
    let whole = folded(text);
    let whole = bare(&whole);
    let rule = (0_u32..).zip(&keywords).find(|(_, keyword)| bare(keyword) == whole);
    let exact = rule.filter(|_| !whole.is_empty()).map(|(rule, _)| KeywordHit {
        rule,
        start: 0,
        len: whole.chars().count(),
    });
    let is_open = |hit: &KeywordHit| !is_covered(text, rules, contains, hit);
    let inside = || best(hits(text, &keywords).into_iter().filter(is_open));
    exact.filter(is_open).or_else(|| contains.then(inside).flatten())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn keywords_answer_where_no_text_that_is_not_for_their_rule_covers_them(
        (text, words) in keywords(), choice in any::<u64>(), contains in any::<bool>(),
    ) {
        let (keywords, texts) = words.split_at(words.len() / 2);
        let rules = rules_of(keywords, texts, choice);
        let matcher = matcher(&rules, Mode::Keyword, contains);
        let message = as_written(&text);
        let hit = expected(&text, &rules, contains);
        prop_assert_eq!(matcher.literally(&message), hit, "{:?} {:?}", message, rules);
        let rating = matcher.rate(&message);
        prop_assert_eq!(rating.answer, hit.map(|hit| hit.rule), "{:?} {:?}", message, rules);
        let plain: Rules<'_> = rules.iter().map(|(keyword, _)| (*keyword, vec![])).collect();
        let without = expected(&text, &plain, contains);
        let is_excluded = hit.is_none() && without.is_some();
        let shown = hit.or(without).map(|hit| Candidate {
            excluded: is_excluded,
            ..Candidate::new(hit.rule, 1.0)
        });
        let shown: Vec<Candidate> = shown.into_iter().collect();
        prop_assert_eq!(rating.candidates, shown, "{:?} {:?}", message, rules);
    }

    #[test]
    fn a_keyword_answers_in_a_tolerant_mode_as_it_does_in_that_of_keywords(
        (text, words) in keywords(), contains in any::<bool>(),
    ) {
        let rules: Rules<'_> = words.iter().map(|word| (word.as_str(), vec![])).collect();
        let message = as_written(&text);
        let hit = matcher(&rules, Mode::Keyword, contains).literally(&message);
        let fuzzy = matcher(&rules, Mode::Fuzzy, contains);
        prop_assert_eq!(fuzzy.literally(&message), hit);
        if let Some(hit) = hit {
            let rating = fuzzy.rate(&message);
            prop_assert_eq!(rating.answer, Some(hit.rule), "{:?} {:?}", message, words);
            prop_assert_eq!(rating.best().copied(), Some(Candidate::new(hit.rule, 1.0)));
        }
    }
}

/// Words of texts, each with its identifier, if it is one.
const WORDS: &[(&str, Option<&str>)] = &[
    ("3", Some("3")),
    ("003", Some("3")),
    ("4", Some("4")),
    ("12", Some("12")),
    ("4th", Some("4")),
    ("3b", Some("3b")),
    ("b", Some("b")),
    ("x", Some("x")),
    ("room", None),
    ("i", None),
    ("a", None),
    ("樓", None),
    ("ห้อง", None),
    ("it's", None),
    (":d", None),
    ("q&a", None),
];

/// Messages of which some ask the same, in one wording or another.
const ASKED: &[&str] = &[
    "where is the pool",
    "Where is the pool?",
    "the pool is where",
    "泳池在哪裡",
    "泳池在哪里？",
    "ﾌﾟｰﾙはどこ",
    "プールはどこ",
    "ぷーるはどこ？",
    "สระว่ายน้ำอยู่ไหน",
    "when is lunch",
    "ok",
    "?",
    "！",
    "",
];

fn named_text() -> impl Strategy<Value = Vec<(&'static str, Option<&'static str>)>> {
    vec(select(WORDS), 0..6)
}

fn identifiers(words: &[(&str, Option<&str>)]) -> Identifiers {
    let texts: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Identifiers::of(&texts.join(" "))
}

proptest! {
    #[test]
    fn identifiers_conflict_where_each_text_lacks_one_or_they_changed_places(
        one in named_text(), two in named_text(),
    ) {
        let counts = |words: &[(&'static str, Option<&'static str>)]| {
            let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
            let names = words.iter().filter_map(|(_, name)| *name);
            names.for_each(|name| *counts.entry(name).or_default() += 1);
            counts
        };
        let (mine, others) = (counts(&one), counts(&two));
        let (a, b) = (identifiers(&one), identifiers(&two));
        prop_assert_eq!(a.is_empty(), mine.is_empty());
        let conflict = a.conflict(&b);
        if mine != others {
            let lacks = |of: &BTreeMap<&str, usize>, all: &BTreeMap<&str, usize>| {
                of.iter().any(|(name, count)| all.get(*name).is_none_or(|other| other < count))
            };
            let expected = lacks(&mine, &others) && lacks(&others, &mine);
            prop_assert_eq!(conflict, expected, "{:?} {:?}", a, b);
        }
        prop_assert_eq!(b.conflict(&a), conflict, "{:?} {:?}", a, b);
        prop_assert!(!a.conflict(&a) && !b.conflict(&b), "{:?} {:?}", a, b);
        prop_assert_eq!(Identifiers::vary(&[a, Identifiers::of(""), b]), conflict);
    }

    #[test]
    fn a_text_without_its_identifiers_has_what_is_none_of_them(words in named_text()) {
        let texts: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let rest = without_identifiers(&texts.join(" "));
        let left: Vec<&str> = rest.split_whitespace().collect();
        let expected: Vec<&str> =
            words.iter().filter(|(_, name)| name.is_none()).map(|(word, _)| *word).collect();
        prop_assert_eq!(left, expected);
    }

    #[test]
    fn letters_and_a_question_mark_are_a_question(
        word in "[a-zа-я가-힣ก-ฮ時間の]{1,6}", mark in select(vec!["?", "？", "؟", "❓", "？！"]),
    ) {
        let question = format!("{word}{mark}");
        prop_assert!(looks_like_question(&question));
        let led = format!("😀 {word} {mark}");
        prop_assert!(looks_like_question(&led));
        let is_one = looks_like_question(mark);
        prop_assert!(!is_one, "a mark alone asks nothing");
        // What an address has asks nothing either.
        let linked = format!("https://a.example/{word}?q=1");
        prop_assert!(!looks_like_question(&linked));
    }

    #[test]
    fn groups_part_all_texts_and_the_most_frequent_wording_stands_for_each(
        texts in vec(select(ASKED), 0..24),
    ) {
        let groups = group(&texts);
        let mut members: Vec<usize> = groups.iter().flat_map(|one| one.members.clone()).collect();
        members.sort_unstable();
        prop_assert_eq!(members, (0..texts.len()).collect::<Vec<_>>());
        let size = |one: &Group| (Reverse(one.members.len()), one.representative);
        prop_assert!(groups.is_sorted_by_key(size), "{:?}", groups);
        let wording = |at: usize| strip_marks(&fold_alike(texts[at])).to_owned();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        (0..texts.len()).for_each(|at| *counts.entry(wording(at)).or_default() += 1);
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (number, one) in groups.iter().enumerate() {
            prop_assert!(one.members.is_sorted() && one.members.contains(&one.representative));
            let most = counts[&wording(one.representative)];
            for &at in &one.members {
                prop_assert!(counts[&wording(at)] <= most, "{:?}", one);
                prop_assert_eq!(*places.entry(wording(at)).or_insert(number), number);
            }
            let first = (0..texts.len()).find(|at| wording(*at) == wording(one.representative));
            prop_assert_eq!(first, Some(one.representative), "the first of its wording");
        }
    }
}

/// Texts with two numbers: what stands before, between and after them, and other digits than those of
/// ASCII that they may be written in.
const TEMPLATES: &[([&str; 3], Digits)] = &[
    (["", "月", "日活動"], Digits::Numerals),
    (["", "年", "班功課"], Digits::Numerals),
    (["", "號", "點集合"], Digits::Numerals),
    (["bus ", " at ", ""], Digits::Zero('0')),
    (["этаж ", " кабинет ", ""], Digits::Zero('0')),
    (["ชั้น ", " ห้อง ", ""], Digits::Zero('๐')),
    (["الطابق ", " الغرفة ", ""], Digits::Zero('٠')),
    (["", "학년 ", "반 숙제"], Digits::Zero('0')),
];

#[derive(Clone, Copy, Debug)]
enum Digits {
    /// Those that follow a zero.
    Zero(char),
    /// Numerals of Han.
    Numerals,
}

impl Digits {
    /// Writes a number below 100.
    fn write(self, number: u32) -> String {
        const NUMERALS: [&str; 10] = ["", "一", "二", "三", "四", "五", "六", "七", "八", "九"];
        let numeral = |digit: u32| NUMERALS[digit as usize];
        match self {
            Self::Zero(zero) => {
                let digit = |c: char| char::from_u32(u32::from(zero) + c.to_digit(10).unwrap());
                number.to_string().chars().map(|c| digit(c).unwrap()).collect()
            }
            Self::Numerals if number < 10 => numeral(number).to_owned(),
            Self::Numerals if number < 20 => format!("十{}", numeral(number % 10)),
            Self::Numerals => format!("{}十{}", numeral(number / 10), numeral(number % 10)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn another_number_in_one_of_two_places_never_finds_the_rule(
        (parts, digits) in select(TEMPLATES), numbers in (1_u32..32, 1_u32..32), other in 1_u32..32,
        styles in (any::<bool>(), any::<bool>()),
    ) {
        let text = |(one, two): (u32, u32), is_other: bool| {
            let digits = if is_other { digits } else { Digits::Zero('0') };
            let [before, between, after] = parts;
            format!("{before}{}{between}{}{after}", digits.write(one), digits.write(two))
        };
        let rule = text(numbers, styles.0);
        let keywords = [rule.clone()];
        for mode in [Mode::Fuzzy, Mode::Semantic(SemanticSpace::built_in())] {
            let matching = Matching { mode, contains: false, strictness: Strictness::Eager };
            let rules = [RuleText { keywords: &keywords, ..RuleText::default() }];
            let matcher = RuleMatcher::build(&rules, &matching, None).unwrap();
            prop_assert_eq!(matcher.rate(&rule).answer, Some(0), "{}", rule);
            let (one, two) = numbers;
            for changed in [(other, two), (one, other), (two, one)] {
                let message = text(changed, styles.1);
                let expected = (changed == numbers).then_some(0);
                let answer = matcher.rate(&message).answer;
                prop_assert!(answer.is_none() || expected == answer, "{} for {}", message, rule);
            }
        }
    }
}

#[test]
fn who_answers_strictly_answers_less_strictly_too() {
    let words = ["opening hours", "營業時間", "駐車場はありますか", "ที่จอดรถ", "wifi password"];
    let words = words.map(|word| vec![word.to_owned()]);
    let rules: Vec<_> =
        words.iter().map(|keywords| RuleText { keywords, ..RuleText::default() }).collect();
    let mut answered = 0;
    for mode in [Mode::Fuzzy, Mode::Semantic(SemanticSpace::built_in())] {
        let levels = [Strictness::Careful, Strictness::Balanced, Strictness::Eager];
        let matchers = levels.map(|strictness| {
            let matching = Matching { mode: mode.clone(), contains: false, strictness };
            RuleMatcher::build(&rules, &matching, None).unwrap()
        });
        for message in [
            "what are the hours",
            "openning huors",
            "when do you open",
            "营业时间呢",
            "營業到幾點",
            "駐車場",
            "車で行けますか",
            "ที่จอดรถอยู่ไหน",
            "the wifi passwort please",
            "wifi",
            "hello",
        ] {
            let ratings = [0, 1, 2].map(|level: usize| matchers[level].rate(message));
            for (strict, less) in [(0, 1), (1, 2)] {
                let (strict, less): (&Rating, &Rating) = (&ratings[strict], &ratings[less]);
                let is_kept = strict.answer.is_none() || strict.answer == less.answer;
                assert!(is_kept, "{message}: {strict:?} {less:?}");
                assert_eq!(strict.candidates, less.candidates, "strictness rates nothing");
            }
            answered += ratings.iter().filter(|rating| rating.answer.is_some()).count();
        }
    }
    assert!(answered > 6, "{answered}");
}

#[test]
fn the_best_candidate_is_the_one_that_answers_or_may() {
    let excluded = Candidate { excluded: true, ..Candidate::new(0, 0.9) };
    let open = [Candidate::new(1, 0.8), Candidate::new(2, 0.8)];
    let rating = |answer| Rating { answer, candidates: [&[excluded][..], &open].concat() };
    assert_eq!(rating(None).best(), Some(&open[0]));
    assert_eq!(rating(Some(2)).best(), Some(&open[1]));
    assert_eq!(Rating { answer: None, candidates: vec![excluded] }.best(), None);
    assert_eq!(Rating::default().best(), None);
}
