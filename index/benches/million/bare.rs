//! A bare tantivy index of character pairs over the same messages.

use std::fs;
use std::path::Path;

use chatkeep_index::fold::search::fold_for_search;
use chatkeep_index::search::{BatchLimits, WriterOptions};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query as TantivyQuery, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexReader, Order, TantivyDocument, Term};

use crate::measure::{Clock, print_size};
use crate::messages::{Asked, each_message};

/// Character pairs with positions and words, and nothing else.
#[derive(Clone, Default)]
struct Pairs;

struct PairTokens {
    tokens: std::vec::IntoIter<Token>,
    token: Token,
}

impl Tokenizer for Pairs {
    type TokenStream<'a> = PairTokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PairTokens {
        let pairs = pairs(text).into_iter().enumerate();
        let token = |(position, text)| Token { position, text, ..Token::default() };
        let tokens: Vec<Token> = pairs.map(token).collect();
        PairTokens { tokens: tokens.into_iter(), token: Token::default() }
    }
}

impl TokenStream for PairTokens {
    fn advance(&mut self) -> bool {
        self.tokens.next().map(|token| self.token = token).is_some()
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

fn pairs(text: &str) -> Vec<String> {
    let folded = fold_for_search(text);
    let mut terms = Vec::new();
    for word in folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let chars: Vec<char> = word.chars().collect();
        if word.is_ascii() || chars.len() == 1 {
            terms.push(word.to_owned());
        } else {
            terms.extend(chars.windows(2).map(String::from_iter));
        }
    }
    terms
}

/// A bare tantivy index.
pub(crate) struct Bare {
    reader: IndexReader,
    channel: Field,
    text: Field,
}

impl Bare {
    pub(crate) fn build(dir: &Path, corpus: &Path) -> Self {
        fs::create_dir_all(dir).expect("a folder");
        let mut schema = Schema::builder();
        let id = schema.add_u64_field("id", STORED);
        let channel = schema.add_text_field("channel", STRING);
        let sent_at = schema.add_i64_field("sent_at", FAST);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("pairs")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let text = schema.add_text_field("text", text);
        let index = Index::create_in_dir(dir, schema.build()).expect("an index");
        index.tokenizers().register("pairs", Pairs);
        let clock = Clock::start();
        let WriterOptions { memory, threads } = WriterOptions::default();
        let mut writer = index.writer_with_num_threads(threads, memory).expect("a writer");
        let mut messages = 0;
        each_message(corpus, |at, channel_id, moment, words| {
            messages = at + 1;
            let mut document = TantivyDocument::default();
            document.add_u64(id, at as u64);
            document.add_text(channel, channel_id);
            document.add_i64(sent_at, moment);
            document.add_text(text, words);
            writer.add_document(document).expect("a document");
            if messages % BatchLimits::default().changes == 0 {
                writer.commit().expect("a commit");
            }
        });
        writer.commit().expect("a commit");
        clock.print("bare", messages);
        writer.wait_merging_threads().expect("merges end");
        clock.print("bare, merges included", messages);
        let reader = index.reader().expect("a reader");
        print_size("bare", dir);
        Self { reader, channel, text }
    }

    fn query(&self, asked: &Asked) -> Box<dyn TantivyQuery> {
        let terms = pairs(&asked.text);
        let mut terms: Vec<_> =
            terms.iter().map(|pair| Term::from_field_text(self.text, pair)).collect();
        let words: Box<dyn TantivyQuery> = if terms.len() == 1 {
            Box::new(TermQuery::new(terms.remove(0), IndexRecordOption::WithFreqs))
        } else {
            Box::new(PhraseQuery::new(terms))
        };
        let channel = Term::from_field_text(self.channel, &asked.channel);
        let channel = Box::new(TermQuery::new(channel, IndexRecordOption::Basic));
        Box::new(BooleanQuery::new(vec![(Occur::Must, words), (Occur::Must, channel)]))
    }

    pub(crate) fn by_score(&self, asked: &Asked) -> usize {
        let best = TopDocs::with_limit(20).order_by_score();
        let found = self.reader.searcher().search(self.query(asked).as_ref(), &(best, Count));
        found.expect("a result").0.len()
    }

    pub(crate) fn by_time(&self, asked: &Asked) -> usize {
        let newest = TopDocs::with_limit(20).order_by_fast_field::<i64>("sent_at", Order::Desc);
        let found = self.reader.searcher().search(self.query(asked).as_ref(), &(newest, Count));
        found.expect("a result").0.len()
    }
}
