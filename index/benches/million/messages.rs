//! Messages with a vocabulary that grows, and the queries asked of them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use crate::corpus::{Language, Numbers};

/// Time of the first message, and between two, in milliseconds.
const FIRST: usize = 1_700_000_000_000;
const BETWEEN: usize = 1_000;
const SENDERS: usize = 5_000;

/// Kinds of queries.
pub(crate) const KINDS: [&str; 15] = [
    "two",
    "four",
    "word",
    "prefix1",
    "prefix2",
    "prefix4",
    "number",
    "two words",
    "phrase",
    "exclusion",
    "nothing",
    "sender",
    "dates",
    "question",
    "thai",
];

/// Size of a run.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) messages: usize,
    pub(crate) channels: usize,
    /// Queries of each kind.
    pub(crate) queries: usize,
}

/// A query of one channel.
pub(crate) struct Asked {
    pub(crate) kind: &'static str,
    pub(crate) channel: String,
    pub(crate) text: String,
}

pub(crate) fn channel(number: usize) -> String {
    format!("C{number:032x}")
}

pub(crate) fn sender(id: usize) -> String {
    format!("U{:032x}", id % SENDERS)
}

fn sent_at(id: usize) -> usize {
    FIRST + id * BETWEEN
}

/// Returns what message `id` adds to the vocabulary: an order number, a telephone number, a name of
/// a set that grows, a link, or nothing.
fn fresh(id: usize) -> Option<String> {
    let mut numbers = Numbers(id as u64);
    match id % 8 {
        0 => Some(order_number(id)),
        1 => Some(format!("09{:08}", numbers.below(100_000_000))),
        2..5 => Some(name(numbers.skewed(100 + id / 4))),
        5 => Some(format!("https://shop.example/{:x}", numbers.next() >> 20)),
        _ => None,
    }
}

fn order_number(id: usize) -> String {
    format!("{}", 1_000_000_000 + id * 7)
}

/// Returns the name with that number: the letters of a word that no language here has.
fn name(number: usize) -> String {
    let mut numbers = Numbers(number as u64 ^ 0xabcd_ef01);
    let mut pick = |letters: &str| char::from(letters.as_bytes()[numbers.below(letters.len())]);
    (0..3).flat_map(|_| [pick("bcdfghjklmnpqrstvwxz"), pick("aeiouy"), pick("lmnrstx")]).collect()
}

/// Writes one message a line: channel, milliseconds, text.
pub(crate) fn write_messages(folder: &Path, languages: &[Language], shape: Shape) {
    let mut numbers = Numbers(2);
    let file = File::create(folder.join("messages.tsv")).expect("a file");
    let mut file = BufWriter::new(file);
    for id in 0..shape.messages {
        let channel = channel(numbers.below(shape.channels));
        let text = languages[numbers.below(languages.len())].message(&mut numbers);
        let fresh = fresh(id).map(|fresh| format!(" {fresh}")).unwrap_or_default();
        writeln!(file, "{channel}\t{}\t{}{fresh}", sent_at(id), text.trim()).expect("a line");
    }
    file.flush().expect("a file");
}

/// Calls `emit` with every message of the corpus.
pub(crate) fn each_message(folder: &Path, mut emit: impl FnMut(usize, &str, i64, &str)) {
    let file = File::open(folder.join("messages.tsv")).expect("messages");
    for (id, line) in BufReader::new(file).lines().enumerate() {
        let line = line.expect("a line");
        let mut parts = line.splitn(3, '\t');
        let mut part = || parts.next().unwrap_or_default();
        let (channel, sent_at) = (part(), part().parse().expect("milliseconds"));
        emit(id, channel, sent_at, part());
    }
}

/// Returns queries of every kind.
pub(crate) fn queries(languages: &[Language], shape: Shape) -> Vec<Asked> {
    let mut all = Vec::new();
    for number in 0..shape.queries {
        let mut numbers = Numbers(number as u64 + 3);
        for kind in KINDS {
            let channel = channel(number * 7 % shape.channels);
            all.push(Asked {
                kind,
                channel,
                text: text(kind, number, languages, &mut numbers, shape),
            });
        }
    }
    all
}

fn text(
    kind: &str,
    number: usize,
    languages: &[Language],
    numbers: &mut Numbers,
    shape: Shape,
) -> String {
    let id = numbers.below(shape.messages);
    let mut word = |language: usize, chars: usize| loop {
        let words = &languages[language].words;
        let word = &words[numbers.skewed(words.len())];
        if word.chars().count() >= chars {
            return word.chars().take(chars).collect::<String>();
        }
    };
    match kind {
        "two" => word(number % 2, 2),
        "four" => word(0, 2) + &word(0, 2),
        "thai" => (0..4).map(|_| word(2, 3)).collect(),
        "word" => word(4, 6),
        "prefix1" => word(4, 1),
        "prefix2" => word(4, 2),
        "prefix4" => word(4, 4),
        "number" => order_number(id / 8 * 8),
        "two words" => format!("{} {}", word(4, 3), word(4, 6)),
        "phrase" => format!("\"{} {}\"", word(4, 3), word(4, 2)),
        "exclusion" => format!("{} -{}", word(4, 6), word(4, 3)),
        // Every message is a text.
        "nothing" => "-type:text".to_owned(),
        "sender" => format!("{} from:{}", word(number % 2, 2), sender(id)),
        "dates" => {
            let day = |id: usize| {
                let seconds = i64::try_from(sent_at(id) / 1_000).expect("a time");
                let time = chrono::DateTime::from_timestamp(seconds, 0).expect("a time");
                time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
            };
            let end = (id + shape.messages / 20).min(shape.messages);
            format!("{} after:{} before:{}", word(number % 2, 2), day(id), day(end))
        }
        _ => {
            let question: String = match number % 3 {
                0 => (0..8).map(|_| word(0, 2)).collect(),
                1 => (0..6).map(|_| word(2, 3)).collect(),
                _ => (0..8).map(|_| word(4, 3) + " ").collect(),
            };
            question.trim().to_owned() + "?"
        }
    }
}

pub(crate) fn write_queries(folder: &Path, queries: &[Asked]) {
    let lines = queries.iter().map(|q| format!("{}\t{}\t{}\n", q.kind, q.channel, q.text));
    fs::write(folder.join("queries.tsv"), lines.collect::<String>()).expect("a file");
}
