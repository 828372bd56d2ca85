//! Laws of tolerant matching: scores are bounded, only the same text reaches 1, rules of something
//! else change next to nothing, and a phrase with typos is found inside of a message as by looking
//! everywhere.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::script::Class;

/// Rules of a channel; none shares a word or a pair of characters with another.
const RULES: &[&[&str]] = &[
    &["opening hours", "when do you open"],
    &["wifi password"],
    &["營業時間", "幾點開門"],
    &["停車場在哪裡"],
    &["ゴミの日", "粗大ごみの回収"],
    &["ร้านเปิดกี่โมง"],
    &["영업시간 안내"],
    &["refund", "money back"],
];

/// A rule that shares nothing with them.
const ANOTHER: &[&str] = &["ភ្នំពេញ", "Ελλάδα"];

fn matcher(rules: &[&[&str]]) -> FuzzyMatcher {
    let keywords: Vec<Vec<String>> =
        rules.iter().map(|rule| rule.iter().map(|&text| text.to_owned()).collect()).collect();
    let texts = keywords.iter().map(|keywords| RuleText { keywords, ..RuleText::default() });
    FuzzyMatcher::build(&texts.collect::<Vec<_>>())
}

/// Returns the letters and digits of a text, alike.
fn letters(text: &str) -> String {
    let is_letter = |c: &char| !matches!(Class::of(*c), Class::Space | Class::Symbol);
    fold_alike(text).chars().filter(is_letter).collect()
}

/// Generates messages of pieces of the rules' phrases, of other words, and of marks.
fn messages() -> impl Strategy<Value = String> {
    const OTHERS: &[&str] =
        &[" ", "please ", "請問", "ですか", "คะ", "!", "？", "-", "🎉", " the ", "我家", "x", "3"];
    let phrases: Vec<&str> = RULES.iter().copied().flatten().copied().collect();
    let piece =
        (select(phrases), any::<Index>(), 1_usize..30).prop_map(|(phrase, from, length)| {
            let from = from.index(phrase.chars().count());
            phrase.chars().skip(from / 2).take(length).collect::<String>()
        });
    let part = prop_oneof![3 => piece, 2 => select(OTHERS).prop_map(str::to_owned)];
    vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn scores_are_in_order_and_bounded_and_each_rule_is_rated_once(message in messages()) {
        for strictness in [Strictness::Careful, Strictness::Eager] {
            let rating = matcher(RULES).rate(&message, strictness);
            let order = |a: &Candidate, b: &Candidate| (b.score, a.rule) < (a.score, b.rule);
            prop_assert!(rating.candidates.is_sorted_by(order), "{:?}", rating);
            let rules: BTreeSet<u32> = rating.candidates.iter().map(|one| one.rule).collect();
            prop_assert_eq!(rules.len(), rating.candidates.len(), "{:?}", rating);
            prop_assert!(rules.len() <= 5 && rules.iter().all(|rule| *rule < 8), "{:?}", rating);
            for Candidate { score, excluded, .. } in &rating.candidates {
                prop_assert!((0.0..=1.0).contains(score) && !excluded, "{:?}", rating);
            }
            let best = rating.candidates.first().map(|best| best.rule);
            prop_assert!(rating.answer.is_none() || rating.answer == best, "{:?}", rating);
        }
    }

    #[test]
    fn only_a_text_of_the_same_letters_scores_one(message in messages()) {
        let rating = matcher(RULES).rate(&message, Strictness::Balanced);
        for Candidate { rule, score, .. } in rating.candidates {
            let phrases = RULES[rule as usize];
            let is_same = phrases.iter().any(|phrase| letters(phrase) == letters(&message));
            prop_assert!(score < 1.0 || is_same, "{:?}: {} {}", message, rule, score);
        }
    }

    #[test]
    fn a_rule_of_something_else_changes_next_to_nothing(message in messages()) {
        let with_another: Vec<&[&str]> = RULES.iter().copied().chain([ANOTHER]).collect();
        let (alone, beside) = (matcher(RULES), matcher(&with_another));
        let of = |matcher: &FuzzyMatcher| matcher.rate(&message, Strictness::Balanced).candidates;
        let (before, after) = (of(&alone), of(&beside));
        for one in &before {
            let same = after.iter().find(|other| other.rule == one.rule);
            // It may have changed places with the last of the five.
            let near = same.map_or(after.len() == 5, |same| (same.score - one.score).abs() < 0.05);
            prop_assert!(near, "{:?}: {:?} {:?}", message, one, after);
        }
        prop_assert!(after.iter().all(|one| one.rule < 8), "{:?}: {:?}", message, after);
    }

    #[test]
    fn texts_that_are_not_for_a_rule_change_only_whether_it_answers(
        message in messages(), text in messages(), rule in 0_usize..8,
    ) {
        let keywords: Vec<Vec<String>> = RULES
            .iter()
            .map(|rule| rule.iter().map(|&text| text.to_owned()).collect())
            .collect();
        let not_for = [text];
        let build = |with_text: Option<usize>| {
            let texts = keywords.iter().enumerate().map(|(at, keywords)| RuleText {
                keywords,
                not_for: if with_text == Some(at) { &not_for[..] } else { &[] },
                ..RuleText::default()
            });
            FuzzyMatcher::build(&texts.collect::<Vec<_>>())
        };
        let rate = |matcher: FuzzyMatcher| matcher.rate(&message, Strictness::Balanced);
        let (plain, with_text) = (rate(build(None)), rate(build(Some(rule))));
        prop_assert_eq!(plain.candidates.len(), with_text.candidates.len());
        for (before, after) in plain.candidates.iter().zip(&with_text.candidates) {
            prop_assert_eq!(before.rule, after.rule);
            prop_assert!((before.score - after.score).abs() < 1e-4, "{:?} {:?}", before, after);
            let may_be = after.rule as usize == rule;
            prop_assert!(!after.excluded || may_be, "{:?}", after);
        }
        let is_excluded =
            with_text.candidates.iter().any(|one| one.excluded && one.rule as usize == rule);
        let answers = with_text.answer.is_some_and(|answer| answer as usize == rule);
        prop_assert!(!(is_excluded && answers), "{:?}", with_text);
        if !is_excluded && plain.candidates.iter().any(|one| one.rule as usize == rule) {
            prop_assert_eq!(plain.answer, with_text.answer, "{:?}", with_text);
        }
        // The text itself is never answered by its rule.
        let itself = build(Some(rule)).rate(&not_for[0], Strictness::Eager);
        let answered = itself.answer.is_some_and(|answer| answer as usize == rule);
        prop_assert!(!answered, "{:?}: {:?}", not_for, itself);
    }

    #[test]
    fn a_phrase_with_typos_is_inside_where_looking_everywhere_finds_it(
        phrase in vec(select(HAN), 5..12),
        edits in vec((0_u8..4, any::<Index>(), select(HAN)), 0..5),
        beside in (vec(select(HAN), 0..4), vec(select(HAN), 0..4)),
    ) {
        let mut inside = phrase.clone();
        for (kind, at, other) in edits {
            let at = at.index(inside.len());
            match kind {
                0 if inside.len() > 1 => drop(inside.remove(at)),
                1 => inside.insert(at, other),
                2 => inside[at] = other,
                _ => inside.swap(at, at.saturating_sub(1)),
            }
        }
        let text: String = beside.0.into_iter().chain(inside).chain(beside.1).collect();
        let phrase: String = phrase.into_iter().collect();
        let matcher = matcher(&[&[phrase.as_str()]]);
        let message = Message::new(&matcher, &text);
        prop_assert_eq!(&message.text, &text);
        let mut evidence = Evidence { cover: 1.0, ..Evidence::default() };
        evidence.compare(&message, &phrase);
        let (length, whole) = (phrase.chars().count(), text.chars().count());
        let least = least_edits(&text, &phrase);
        let expected = whole > length && least <= (length / 5).min(3);
        prop_assert_eq!(evidence.nearly_contained, expected, "{} in {}: {}", phrase, text, least);
        prop_assert_eq!(evidence.edit >= 1.0, text == phrase);
        prop_assert!((0.0..=1.0).contains(&evidence.edit));
    }
}

/// Characters that are alike no others, and of no common word.
const HAN: &[char] = &['山', '川', '田', '火', '木', '石', '竹', '米'];

/// Returns the least edits between a phrase and any part of a text.
fn least_edits(text: &str, phrase: &str) -> usize {
    let chars: Vec<char> = text.chars().collect();
    let parts = (0..=chars.len()).flat_map(|from| (from..=chars.len()).map(move |to| from..to));
    let edits = |part: std::ops::Range<usize>| {
        strsim::osa_distance(&chars[part].iter().collect::<String>(), phrase)
    };
    parts.map(edits).min().unwrap_or_default()
}

#[test]
fn the_same_in_any_spelling_scores_one() {
    let rules = matcher(RULES);
    for (message, rule) in [
        ("ＯＰＥＮＩＮＧ－ＨＯＵＲＳ？", 0),
        ("opening\u{200b} hours…", 0),
        ("wi-fi password", 1),
        ("营业时间", 2),
        ("營業 時間。", 2),
        ("停车场 在哪里", 3),
        ("ｺﾞﾐの日", 4),
        ("ごみの日", 4),
        ("영업 시간안내!", 6),
        ("Money—back", 7),
    ] {
        let rating = rules.rate(message, Strictness::Careful);
        assert_eq!(rating.answer, Some(rule), "{message}: {rating:?}");
        assert!(rating.candidates[0].score >= 1.0, "{message}: {rating:?}");
    }
}
