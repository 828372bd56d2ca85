//! Sets of messages to measure matchers with, read from files in their published formats.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use serde::Deserialize;

/// Numbers of phrases of a rule that are tried.
const PHRASES: [usize; 3] = [1, 3, 10];
/// Maximum number of messages of a set, in scope and out of it each.
const MOST: usize = 5_000;

/// Rules, and messages with the rules that should answer them.
pub(crate) struct Trial {
    pub(crate) name: String,
    /// Number of phrases of each rule.
    pub(crate) phrases: usize,
    pub(crate) rules: Vec<Vec<String>>,
    pub(crate) inside: Vec<(String, u32)>,
    pub(crate) outside: Vec<String>,
}

/// Reads the trials of `set`, which is `KIND:PATH`.
pub(crate) fn read(set: &str) -> Vec<Trial> {
    let (kind, path) = set.split_once(':').expect("KIND:PATH");
    let text = fs::read_to_string(path).expect("a readable file");
    match kind {
        "clinc" => clinc(&text, "test"),
        "clinc-val" => clinc(&text, "val"),
        "intents" => intents(&text),
        "squad" => vec![squad(&text, path)],
        "paraphrases" => paraphrases(&text),
        _ => panic!("unknown kind {kind}"),
    }
}

fn clinc(text: &str, part: &str) -> Vec<Trial> {
    let parts: HashMap<String, Vec<(String, String)>> = serde_json::from_str(text).expect("JSON");
    let outside: Vec<String> =
        parts[&format!("oos_{part}")].iter().map(|(text, _)| text.clone()).collect();
    let by_intent = group(parts["train"].iter().cloned());
    PHRASES
        .iter()
        .map(|&phrases| {
            let (rules, ordinals) = rules(&by_intent, phrases);
            let inside = parts[part].iter().map(|(text, intent)| (text.clone(), ordinals[intent]));
            let name = format!("clinc-{part}");
            Trial { name, phrases, rules, inside: inside.collect(), outside: outside.clone() }
        })
        .collect()
}

fn intents(text: &str) -> Vec<Trial> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize::<(String, String)>().map(|row| row.expect("two columns"));
    let mut inside = group(rows.filter(|(_, intent)| !intent.is_empty()));
    // An intent of a handful of texts is an error of the set.
    inside.retain(|_, texts| texts.len() >= 20);
    let names: Vec<String> = inside.keys().cloned().collect();
    let mut outside = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if at % 3 == 2 || name.contains("other") {
            outside.extend(inside.remove(name).into_iter().flatten());
        }
    }
    let trials = PHRASES.iter().map(|&phrases| {
        let (rules, ordinals) = rules(&inside, phrases);
        let messages = inside.iter().flat_map(|(intent, texts)| {
            let rule = ordinals[intent];
            texts.iter().skip(10).map(move |text| (text.clone(), rule))
        });
        let name = "intents".to_owned();
        let inside = spread(messages.collect());
        Trial { name, phrases, rules, inside, outside: spread(outside.clone()) }
    });
    trials.collect()
}

fn group(rows: impl Iterator<Item = (String, String)>) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    rows.for_each(|(text, group)| groups.entry(group).or_default().push(text));
    groups
}

/// Returns the first `phrases` texts of each group, and the ordinal of each group.
fn rules(
    groups: &BTreeMap<String, Vec<String>>,
    phrases: usize,
) -> (Vec<Vec<String>>, HashMap<String, u32>) {
    let rules = groups.values().map(|texts| texts.iter().take(phrases).cloned().collect());
    (rules.collect(), groups.keys().cloned().zip(0..).collect())
}

/// Returns at most [`MOST`] of `all`, evenly spread.
fn spread<T>(all: Vec<T>) -> Vec<T> {
    let step = all.len().div_ceil(MOST).max(1);
    all.into_iter().step_by(step).collect()
}

#[derive(Deserialize)]
struct Squad {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    qas: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
}

fn squad(text: &str, path: &str) -> Trial {
    let squad: Squad = serde_json::from_str(text).expect("SQuAD JSON");
    let half = squad.data.len() / 2;
    let questions = |articles: &[Article]| -> Vec<String> {
        let questions = articles.iter().flat_map(|article| &article.paragraphs);
        questions.flat_map(|paragraph| &paragraph.qas).map(|qa| qa.question.clone()).collect()
    };
    let asked: Vec<String> = questions(&squad.data[..half]).into_iter().take(1_000).collect();
    let inside = asked.iter().map(|question| disturb(question)).zip(0..).collect();
    let outside = questions(&squad.data[half..]).into_iter().take(1_000).collect();
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    let rules = asked.into_iter().map(|question| vec![question]).collect();
    Trial { name, phrases: 1, rules, inside, outside }
}

/// Drops every seventh character and swaps the halves.
fn disturb(question: &str) -> String {
    let kept: Vec<char> = question
        .trim_end_matches(['?', '？', '。'])
        .chars()
        .enumerate()
        .filter_map(|(at, c)| (at % 7 != 3).then_some(c))
        .collect();
    let (front, back) = kept.split_at(kept.len() / 2);
    back.iter().chain([&' ']).chain(front).collect()
}

#[derive(Deserialize)]
struct Paraphrases {
    rules: Vec<Paraphrased>,
    outside: Vec<String>,
}

#[derive(Deserialize)]
struct Paraphrased {
    keywords: Vec<String>,
    question: String,
    messages: Vec<String>,
}

fn paraphrases(text: &str) -> Vec<Trial> {
    let sets: BTreeMap<String, Paraphrases> = serde_json::from_str(text).expect("JSON");
    let trials = sets.into_iter().map(|(name, set)| {
        let inside = (0..).zip(&set.rules).flat_map(|(rule, paraphrased)| {
            paraphrased.messages.iter().map(move |message| (message.clone(), rule))
        });
        let inside = inside.collect();
        let rules = set.rules.into_iter().map(|paraphrased| {
            paraphrased.keywords.into_iter().chain([paraphrased.question]).collect()
        });
        let rules = rules.collect();
        Trial { name, phrases: 2, rules, inside, outside: set.outside }
    });
    trials.collect()
}
