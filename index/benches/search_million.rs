//! 1,000,000 messages in 1,000 channels, indexed and searched, beside a bare tantivy index of
//! character pairs over the same messages in the same run.
//!
//! `CHATKEEP_SEARCH_CORPUS=FOLDER` stores messages and queries in that folder, for
//! `benches/search.py` to search them elsewhere; messages that are there already are used as they
//! are, so that other text can be measured. `CHATKEEP_SEARCH_MESSAGES` reduces their number.

#![expect(clippy::disallowed_methods, reason = "the size of a run by hand")]
#![expect(clippy::expect_used, clippy::cast_precision_loss, reason = "a bench fails by panicking")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chatkeep_index::fold::search::fold_for_search;
use chatkeep_index::search::{
    BatchLimits, IndexChange, IndexDoc, IndexSearch, MessageIndex, Query, Sort, WriterOptions,
};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query as TantivyQuery, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexReader, Order, TantivyDocument, Term};

mod corpus;

use corpus::{Language, Numbers};

const CHANNELS: usize = 1_000;
const QUERIES: usize = 1_000;

fn main() {
    let messages = std::env::var("CHATKEEP_SEARCH_MESSAGES").ok();
    let messages = messages.and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let kept = std::env::var_os("CHATKEEP_SEARCH_CORPUS").map(PathBuf::from);
    let passing = tempfile::tempdir().expect("a folder");
    let folder = kept.unwrap_or_else(|| passing.path().to_path_buf());
    fs::create_dir_all(&folder).expect("a folder");
    let languages = Language::all();
    if !folder.join("messages.tsv").exists() {
        write_messages(&folder, &languages, messages);
    }
    let queries = queries(&languages);
    write_queries(&folder, &queries);
    let own = Own::build(&passing.path().join("own"), &folder);
    let bare = Bare::build(&passing.path().join("bare"), &folder);
    println!("\ntop 20 of one channel, total counted      p50        p99");
    for kind in ["two", "four", "word", "question"] {
        let queries: Vec<_> = queries.iter().filter(|query| query.kind == kind).collect();
        report(&format!("{kind:9} own, by relevance"), &queries, |q| {
            own.search(q, Sort::Relevance)
        });
        report(&format!("{kind:9} own, by time"), &queries, |q| own.search(q, Sort::Newest));
        if kind != "question" {
            report(&format!("{kind:9} bare, by relevance"), &queries, |q| bare.by_score(q));
            report(&format!("{kind:9} bare, by time"), &queries, |q| bare.by_time(q));
        }
    }
}

fn channel(number: usize) -> String {
    format!("C{number:032x}")
}

/// Writes one message a line: channel, milliseconds, text.
fn write_messages(folder: &Path, languages: &[Language], messages: usize) {
    let mut numbers = Numbers(2);
    let file = File::create(folder.join("messages.tsv")).expect("a file");
    let mut file = BufWriter::new(file);
    for id in 0..messages {
        let channel = channel(numbers.below(CHANNELS));
        let text = languages[numbers.below(languages.len())].message(&mut numbers);
        let sent_at = 1_700_000_000_000 + id * 1_000;
        writeln!(file, "{channel}\t{sent_at}\t{}", text.trim()).expect("a line");
    }
}

struct Asked {
    kind: &'static str,
    channel: String,
    text: String,
}

/// Returns queries: two characters, four, a word of a spaced script, and a question of many words.
fn queries(languages: &[Language]) -> Vec<Asked> {
    let mut numbers = Numbers(3);
    let mut word = |language: usize, chars: usize| loop {
        let words = &languages[language].words;
        let word = &words[numbers.skewed(words.len())];
        if word.chars().count() >= chars {
            return word.chars().take(chars).collect::<String>();
        }
    };
    let mut all = Vec::new();
    for number in 0..QUERIES {
        let channel = channel(number * 7 % CHANNELS);
        let mut ask = |kind, text| all.push(Asked { kind, channel: channel.clone(), text });
        ask("two", word(number % 2, 2));
        ask("four", word(0, 2) + &word(0, 2));
        ask("word", word(4, 6));
        let question = match number % 3 {
            0 => (0..8).map(|_| word(0, 2)).collect(),
            1 => (0..6).map(|_| word(2, 3)).collect(),
            _ => (0..8).map(|_| word(4, 3) + " ").collect::<String>(),
        };
        ask("question", question.trim().to_owned() + "?");
    }
    all
}

fn write_queries(folder: &Path, queries: &[Asked]) {
    let lines = queries.iter().map(|q| format!("{}\t{}\t{}\n", q.kind, q.channel, q.text));
    fs::write(folder.join("queries.tsv"), lines.collect::<String>()).expect("a file");
}

fn report(what: &str, queries: &[&Asked], mut search: impl FnMut(&Asked) -> usize) {
    let found: usize = queries.iter().take(50).map(|query| search(query)).sum();
    let mut times: Vec<Duration> = Vec::with_capacity(queries.len());
    for query in queries {
        let begun = Instant::now();
        std::hint::black_box(search(query));
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    println!("{what:32} {:8.1} µs {:8.1} µs  ({found} found by 50)", at(50), at(99));
}

/// Calls `emit` with every message of the corpus.
fn each_message(folder: &Path, mut emit: impl FnMut(usize, &str, i64, &str)) {
    use std::io::BufRead;
    let file = File::open(folder.join("messages.tsv")).expect("messages");
    for (id, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.expect("a line");
        let mut parts = line.splitn(3, '\t');
        let mut part = || parts.next().unwrap_or_default();
        let (channel, sent_at) = (part(), part().parse().expect("milliseconds"));
        emit(id, channel, sent_at, part());
    }
}

/// Starting point of a measurement.
struct Clock {
    begun: Instant,
    /// Processor seconds used so far.
    used: f64,
}

impl Clock {
    fn start() -> Self {
        Self { begun: Instant::now(), used: processor_seconds() }
    }

    fn print(&self, what: &str, messages: usize) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let (rate, used) = (messages as f64 / seconds, processor_seconds() - self.used);
        let each = used * 1e6 / messages as f64;
        let memory = peak_rss();
        println!(
            "{what}: {seconds:.2} s, {rate:.0} messages/s, {used:.1} s of processors \
             ({each:.1} µs each), peak RSS {memory} MB"
        );
    }
}

/// Returns the processor time that this process has used so far, in seconds.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in brackets, may hold anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn print_size(what: &str, folder: &Path) {
    let segments = segments_of(folder);
    let size = size_of(folder) as f64 / 1e6;
    println!("{what}: {size:.0} MB in {segments} segments");
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Returns the number of segments of an index: each has one file of stored keys.
fn segments_of(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let parts = entries.map(|path| {
        if path.is_dir() {
            segments_of(&path)
        } else {
            usize::from(path.extension() == Some("store".as_ref()))
        }
    });
    parts.sum()
}

/// Returns the peak memory of this process so far, in MB.
fn peak_rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1_000
}

/// The index of this crate.
struct Own(MessageIndex);

impl Own {
    fn build(dir: &Path, corpus: &Path) -> Self {
        let index = MessageIndex::open(dir).expect("an empty index");
        let clock = Clock::start();
        let mut writer = index.writer(WriterOptions::default()).expect("the only writer");
        let mut batch = Vec::with_capacity(2_000);
        let mut messages = 0;
        each_message(corpus, |id, channel, sent_at, text| {
            messages = id + 1;
            batch.push(IndexChange::Put(IndexDoc {
                channel_id: channel.to_owned(),
                message_id: format!("{}", 500_000_000_000_000_000 + id),
                sender_id: Some(format!("U{:032x}", id % 5_000)),
                kind: "text".to_owned(),
                sent_at,
                text: text.to_owned(),
            }));
            if batch.len() == 2_000 {
                writer.apply(&batch).expect("changes apply");
                batch.clear();
                if writer.is_due(BatchLimits::default(), Duration::ZERO) {
                    writer.commit("somewhere").expect("a commit");
                }
            }
        });
        writer.apply(&batch).expect("changes apply");
        writer.commit("the end").expect("a commit");
        clock.print("own", messages);
        writer.close().expect("merges end");
        clock.print("own, merges included", messages);
        print_size("own", dir);
        Self(index)
    }

    fn search(&self, asked: &Asked, sort: Sort) -> usize {
        let query = Query::parse(&asked.text).expect("a query");
        let channels = [asked.channel.as_str()];
        let request =
            IndexSearch { channels: Some(&channels), sort, limit: 20, ..IndexSearch::new(&query) };
        self.0.search(&request).expect("a page").hits.len()
    }
}

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
struct Bare {
    reader: IndexReader,
    channel: Field,
    text: Field,
}

impl Bare {
    fn build(dir: &Path, corpus: &Path) -> Self {
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

    fn by_score(&self, asked: &Asked) -> usize {
        let best = TopDocs::with_limit(20).order_by_score();
        let found = self.reader.searcher().search(self.query(asked).as_ref(), &(best, Count));
        found.expect("a result").0.len()
    }

    fn by_time(&self, asked: &Asked) -> usize {
        let newest = TopDocs::with_limit(20).order_by_fast_field::<i64>("sent_at", Order::Desc);
        let found = self.reader.searcher().search(self.query(asked).as_ref(), &(newest, Count));
        found.expect("a result").0.len()
    }
}
