//! Mean reciprocal rank (the first ten) of questions: `search_quality PARAGRAPHS QUESTIONS`.
//!
//! `PARAGRAPHS` holds one paragraph a line, `QUESTIONS` one question a line: the line number of its
//! paragraph, counted from 0, a tab, the question.

#![expect(clippy::expect_used, clippy::cast_precision_loss, reason = "an example")]

use std::fs;
use std::time::Instant;

use chatkeep_index::search::{
    IndexChange, IndexDoc, IndexOptions, IndexSearch, MessageIndex, Query, WriterOptions,
};

fn main() {
    let mut files = std::env::args().skip(1);
    let mut read = || fs::read_to_string(files.next().expect("two files")).expect("a text file");
    let (paragraphs, questions) = (read(), read());
    for han_variants in [true, false] {
        let index = MessageIndex::in_memory_with(IndexOptions { han_variants }).expect("an index");
        fill(&index, &paragraphs);
        let begun = Instant::now();
        let (mut sum, mut listed, mut found, mut count) = (0.0, 0, 0, 0);
        for line in questions.lines() {
            let (paragraph, question) = line.split_once('\t').expect("a tab");
            let question: String = question.chars().take(200).collect();
            let Ok(query) = Query::parse(&question) else { continue };
            let request = IndexSearch { limit: 10, ..IndexSearch::new(&query) };
            let page = index.search(&request).expect("a page");
            let place = page.hits.iter().position(|hit| hit.message_id == paragraph);
            sum += place.map_or(0.0, |place| 1.0 / (place + 1) as f64);
            found += usize::from(place.is_some());
            listed += page.total;
            count += 1;
        }
        println!(
            "han variants {han_variants}: MRR@10 {:.4}, found {found} of {count}, listed {:.1}, {:.0} µs a question",
            sum / f64::from(count),
            listed as f64 / f64::from(count),
            begun.elapsed().as_secs_f64() * 1e6 / f64::from(count),
        );
    }
}

fn fill(index: &MessageIndex, paragraphs: &str) {
    let mut writer = index.writer(WriterOptions::default()).expect("the only writer");
    for (id, text) in paragraphs.lines().enumerate() {
        let message = IndexDoc {
            channel_id: "c".to_owned(),
            message_id: id.to_string(),
            sender_id: None,
            kind: "text".to_owned(),
            sent_at: 0,
            text: text.to_owned(),
        };
        writer.apply(&[IndexChange::Put(message)]).expect("a change");
    }
    writer.commit("").expect("a commit");
}
