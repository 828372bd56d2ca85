//! Laws of matching by meaning, with the table that comes with the program: scores are bounded, do
//! not depend on the order of the rules, and what a matcher knows it hands on unchanged.

use std::collections::BTreeMap;

use super::*;

/// Rules whose languages their scripts show, with other rules of the same language beside each.
const RULES: &[(&[&str], &str)] = &[
    (&["opening hours of the shop"], "when are you open today"),
    (&["password of the wireless network"], "how do I get online here"),
    (&["where can I park my car"], ""),
    (&["営業時間を教えてください"], "何時まで開いていますか"),
    (&["駐車場はありますか"], ""),
    (&["เวลาเปิดปิดของร้าน", "ร้านเปิดกี่โมง"], ""),
    (&["ที่จอดรถอยู่ตรงไหน"], "จอดรถได้ที่ไหน"),
];

const MESSAGES: &[&str] = &[
    "what time do you close",
    "is there a place to leave the car",
    "the wifi does not work",
    "今日は何時まで",
    "車を停めたいです",
    "วันนี้ปิดกี่โมงคะ",
    "มีที่จอดรถมั้ย",
    "thanks, see you tomorrow",
    "ขอบคุณค่ะ",
    "opening hours of the shop",
    "駐車場はありますか？",
];

/// Builds a matcher of rules, each by its number in [`RULES`].
fn matcher(numbers: &[usize], known: &dyn PhraseVectors) -> SemanticMatcher {
    let keywords: Vec<Vec<String>> = numbers
        .iter()
        .map(|&number| RULES[number].0.iter().map(|&text| text.to_owned()).collect())
        .collect();
    let rules: Vec<_> = numbers
        .iter()
        .zip(&keywords)
        .map(|(&number, keywords)| RuleText {
            keywords,
            question: RULES[number].1,
            ..RuleText::default()
        })
        .collect();
    SemanticMatcher::build(&rules, &SemanticSpace::built_in(), known).unwrap()
}

/// Returns the scores of the candidates by the numbers of their rules.
fn scores(matcher: &SemanticMatcher, numbers: &[usize], message: &str) -> BTreeMap<usize, f32> {
    let rating = matcher.rate(message, Strictness::Balanced);
    rating.candidates.iter().map(|one| (numbers[one.rule as usize], one.score)).collect()
}

#[test]
fn scores_are_in_order_and_bounded_and_only_a_phrase_itself_has_one() {
    let numbers: Vec<usize> = (0..RULES.len()).collect();
    let matcher = matcher(&numbers, &NoVectors);
    for message in MESSAGES {
        let rating = matcher.rate(message, Strictness::Eager);
        let is_phrase = |one: &Candidate| {
            let (keywords, question) = RULES[one.rule as usize];
            let mut phrases = keywords.iter().chain([&question]);
            phrases.any(|phrase| fold_phrase(phrase) == fold_phrase(message))
        };
        assert!(rating.candidates.len() <= CANDIDATES, "{message}");
        assert!(rating.candidates.is_sorted_by(|a, b| a.score >= b.score), "{message}: {rating:?}");
        for one in &rating.candidates {
            let most = if is_phrase(one) { 1.0 } else { 0.99 };
            assert!((0.0..=most).contains(&one.score) && !one.excluded, "{message}: {one:?}");
        }
        let best = rating.candidates.first().filter(|best| is_phrase(best));
        assert!(best.is_none_or(|best| best.score >= 1.0 && rating.answer == Some(best.rule)));
    }
}

#[test]
fn the_order_of_the_rules_changes_no_score() {
    let numbers: Vec<usize> = (0..RULES.len()).collect();
    let reversed: Vec<usize> = numbers.iter().rev().copied().collect();
    let (one, other) = (matcher(&numbers, &NoVectors), matcher(&reversed, &NoVectors));
    for message in MESSAGES {
        let (before, after) = (scores(&one, &numbers, message), scores(&other, &reversed, message));
        for (rule, score) in &before {
            let same = after.get(rule).map_or(0.0, |same| (same - score).abs());
            assert!(same < 0.01, "{message}: {before:?} {after:?}");
        }
        let answers = [(&one, &numbers), (&other, &reversed)].map(|(matcher, numbers)| {
            let answer = matcher.rate(message, Strictness::Careful).answer;
            answer.map(|rule| numbers[rule as usize])
        });
        assert_eq!(answers[0], answers[1], "{message}: {before:?} {after:?}");
    }
}

#[test]
fn what_the_matcher_before_knew_is_the_same_in_the_next() {
    let first = matcher(&[0, 1, 2, 3], &NoVectors);
    let numbers = [4, 2, 0, 6, 3];
    let (anew, handed) = (matcher(&numbers, &NoVectors), matcher(&numbers, &first));
    let again = matcher(&numbers, &matcher(&numbers, &handed));
    for message in MESSAGES {
        for other in [&handed, &again] {
            let (expected, found) =
                (scores(&anew, &numbers, message), scores(other, &numbers, message));
            assert!(expected.keys().eq(found.keys()), "{message}: {expected:?} {found:?}");
            for (rule, score) in &expected {
                assert!((score - found[rule]).abs() < 1e-4, "{message}: {expected:?} {found:?}");
            }
        }
    }
    assert_eq!(anew.len(), numbers.len());
    assert_eq!(anew.size(), again.size(), "however often it was handed on");
}
