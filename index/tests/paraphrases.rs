//! Tests that semantic matching with the built-in table answers paraphrases in every language, and
//! stays silent on small talk. Rules and messages are our own; most messages share few words with
//! their rule.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use chatkeep_index::answer::{RuleText, Strictness, thresholds};
use chatkeep_index::embed::built_in;
use chatkeep_index::semantic::{NoVectors, SemanticMatcher, SemanticSpace};
use serde::Deserialize;

#[derive(Deserialize)]
struct Set {
    rules: Vec<Rule>,
    outside: Vec<String>,
}

#[derive(Deserialize)]
struct Rule {
    keywords: Vec<String>,
    question: String,
    messages: Vec<String>,
}

/// Returns percentages of a set: messages whose rule was rated best, messages that it answered, and
/// of `outside` those that were answered.
fn measure(space: &Arc<SemanticSpace>, set: &Set, outside: &[String]) -> [usize; 3] {
    let rules = set.rules.iter();
    let texts: Vec<RuleText<'_>> = rules
        .map(|rule| RuleText {
            keywords: &rule.keywords,
            question: &rule.question,
            ..RuleText::default()
        })
        .collect();
    let matcher = SemanticMatcher::build(&texts, space, &NoVectors).unwrap();
    let (mut best, mut answered, mut messages) = (0, 0, 0);
    for (ordinal, rule) in (0..).zip(&set.rules) {
        for message in &rule.messages {
            let rating = matcher.rate(message, Strictness::Balanced);
            messages += 1;
            best += usize::from(rating.candidates.first().is_some_and(|c| c.rule == ordinal));
            answered += usize::from(rating.answer == Some(ordinal));
        }
    }
    let wrong = outside
        .iter()
        .filter(|message| matcher.rate(message, Strictness::Balanced).answer.is_some());
    [100 * best / messages, 100 * answered / messages, 100 * wrong.count() / outside.len()]
}

#[test]
fn other_words_find_the_rule_and_small_talk_does_not() {
    let read = |text| serde_json::from_str::<BTreeMap<String, Set>>(text).unwrap();
    let places = read(include_str!("fixtures/paraphrases.json"));
    let groups = read(include_str!("fixtures/group_paraphrases.json"));
    let space = Arc::new(SemanticSpace::new(built_in(), thresholds::SEMANTIC_BUILTIN));
    for (language, bounds) in [
        ("zh-Hant", [[55, 20, 8], [50, 12, 8]]),
        ("ja", [[50, 15, 4], [35, 5, 4]]),
        ("ko", [[40, 10, 4], [22, 1, 4]]),
        ("th", [[50, 20, 12], [35, 4, 8]]),
    ] {
        let sets = [&places[language], &groups[language]];
        let outside = sets.map(|set| set.outside.as_slice()).concat();
        for (set, bounds) in sets.into_iter().zip(bounds) {
            let found = measure(&space, set, &outside);
            println!("{language}: {found:?}");
            assert!(found[0] >= bounds[0], "{language}: best {found:?}");
            assert!(found[1] >= bounds[1], "{language}: answered {found:?}");
            assert!(found[2] <= bounds[2], "{language}: wrong {found:?}");
        }
    }
}
