//! `chatkeep qa try`: offline test of question-and-answer rules.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chatkeep_core::assistant::{KeywordMatch, QaMode, Strictness};
use chatkeep_index::answer::{self, Matching, Mode, Rating, RuleMatcher, RuleText};
use chatkeep_transfer::out::{note, stdout};
use chatkeep_workers::assistant;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use super::Context;
use crate::app;

#[derive(Debug, clap::Subcommand)]
pub(super) enum QaCommand {
    /// Prints the matching rule for each message, as one line of JSON.
    Try(QaArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct QaArgs {
    /// Rules file, as returned by `GET …/assistant/qa`.
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// Matching mode: keyword, fuzzy or semantic.
    #[arg(long, value_parser = one_of(QaMode::ALL.map(QaMode::name), QaMode::parse))]
    mode: QaMode,
    /// Keyword matching: exact, or contains (a keyword anywhere in a message).
    #[arg(
        long,
        default_value = KeywordMatch::default().name(),
        value_parser = one_of(KeywordMatch::ALL.map(KeywordMatch::name), KeywordMatch::parse)
    )]
    keyword_match: KeywordMatch,
    /// Strictness of fuzzy and semantic: careful, balanced or eager.
    #[arg(
        long,
        default_value = Strictness::default().name(),
        value_parser = one_of(Strictness::ALL.map(Strictness::name), Strictness::parse)
    )]
    strictness: Strictness,
    /// Messages, one a line, or one `{"text": "…"}` a line; `-` for standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    messages: PathBuf,
}

/// Subset of the API's rule list that is needed here.
#[derive(Debug, Deserialize)]
struct RuleList {
    items: Vec<RuleItem>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleItem {
    id: String,
    keywords: Vec<String>,
    #[serde(default)]
    question: String,
    #[serde(default)]
    answer: String,
    #[serde(default)]
    not_for: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    text: &'a str,
    rule_id: Option<&'a str>,
    score: f32,
    candidates: Vec<Near<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Near<'a> {
    rule_id: &'a str,
    score: f32,
    excluded: bool,
}

pub(super) async fn run(context: &Context, command: QaCommand) -> anyhow::Result<()> {
    let QaCommand::Try(args) = command;
    let contains = args.keyword_match == KeywordMatch::Contains;
    let strictness = assistant::strictness(args.strictness);
    let rules = read_rules(&args.rules)?;
    let mode = match args.mode {
        QaMode::Keyword => Mode::Keyword,
        QaMode::Fuzzy => Mode::Fuzzy,
        QaMode::Semantic => {
            let space = app::open_space(&context.config).await?;
            note!("chatkeep: semantic model: {}", space.name());
            Mode::Semantic(space)
        }
    };
    let matching = Matching { mode, contains, strictness };
    let work = move || attempt(&rules, &matching, &args.messages);
    tokio::task::spawn_blocking(work).await?
}

/// Returns a parser of values with names.
fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    names: [&'static str; N],
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let value = move |name: String| parse(&name).ok_or("not one of the names");
    PossibleValuesParser::new(names).try_map(value)
}

fn read_rules(path: &Path) -> anyhow::Result<Vec<RuleItem>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let list: RuleList = serde_json::from_reader(BufReader::new(file)).with_context(|| {
        format!(
            "{} is not a rule list ({{\"items\": [{{\"id\", \"keywords\", …}}]}})",
            path.display()
        )
    })?;
    Ok(list.items)
}

fn attempt(rules: &[RuleItem], matching: &Matching, messages: &Path) -> anyhow::Result<()> {
    let texts: Vec<_> = rules
        .iter()
        .map(|rule| RuleText {
            keywords: &rule.keywords,
            question: &rule.question,
            answer: &rule.answer,
            not_for: &rule.not_for,
        })
        .collect();
    let matcher = RuleMatcher::build(&texts, matching, None)?;
    let input: Box<dyn io::Read> = if messages == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(messages);
        Box::new(file.with_context(|| format!("cannot open {}", messages.display()))?)
    };
    let mut input = BufReader::new(input);
    let mut output = BufWriter::new(stdout());
    let mut line = String::new();
    while input.read_line(&mut line).context("cannot read the messages")? > 0 {
        let text = text_of(line.trim_end_matches(['\r', '\n']));
        let words = assistant::words_to_rate(&text, |text| matcher.is_keyword(text));
        let said = serde_json::to_string(&said(rules, &text, &matcher.rate(&words)))?;
        writeln!(output, "{said}")?;
        // Flushed at once for whoever types, or waits for each result.
        if input.buffer().is_empty() {
            output.flush()?;
        }
        line.clear();
    }
    Ok(output.flush()?)
}

/// Returns the message on a line.
fn text_of(line: &str) -> String {
    let message = Some(line).filter(|line| line.starts_with('{'));
    let message = message.and_then(|line| serde_json::from_str::<Message>(line).ok());
    message.map_or_else(|| line.to_owned(), |message| message.text)
}

fn said<'a>(rules: &'a [RuleItem], text: &'a str, rating: &Rating) -> Line<'a> {
    let id = |ordinal: u32| rules.get(ordinal as usize).map(|rule| rule.id.as_str());
    let near = rating.candidates.iter().filter_map(|candidate| {
        let answer::Candidate { rule, score, excluded } = *candidate;
        Some(Near { rule_id: id(rule)?, score, excluded })
    });
    Line {
        text,
        rule_id: rating.answer.and_then(id),
        score: rating.best().map_or(0.0, |best| best.score),
        candidates: near.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_text_or_an_object_with_one() {
        assert_eq!(text_of("hello"), "hello");
        assert_eq!(text_of(r#"{"text": "two\nlines", "more": 1}"#), "two\nlines");
        assert_eq!(text_of("{not json"), "{not json");
        assert_eq!(text_of(""), "");
    }
}
