//! Measures the shares of messages that the tolerant matchers answer correctly, and wrongly.
//!
//! ```text
//! cargo run --release -p chatkeep-index --example accuracy -- SET...
//! ```
//!
//! A set is `KIND:PATH`, of one of these kinds:
//! - `clinc`: JSON of `train`, `val`, `test` and `oos_*` lists of `[text, intent]`. A rule is K
//!   texts of `train`; messages are those of `test` (`clinc-val`: of `val`);
//! - `intents`: CSV of texts and their intents. A rule is K texts of an intent, every third intent
//!   (and every one called "other") is out of scope;
//! - `squad`: JSON of questions on articles. A rule is a question of the first half of the
//!   articles, a message the same question with characters lost and its halves swapped; questions
//!   of the other half are out of scope;
//! - `paraphrases`: JSON of rules with messages, and of messages out of scope, by language.
//!
//! With `CHATKEEP_MODEL` naming the source of the full model, that is measured too. Each line gives
//! mode, set, K, rules; for each strictness the share of messages in scope that were answered
//! correctly and of those out of scope that were answered, both in percent; then the score that lets
//! 2, 5 and 10 % of the latter pass, with the share of the former that are answered correctly above
//! it.

#![expect(clippy::expect_used, reason = "a measurement fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a setting of the measurement")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

#[path = "support/sets.rs"]
mod sets;

use std::path::Path;
use std::sync::Arc;

use chatkeep_index::answer::{AcceptanceLevels, Rating, RuleText, Strictness, thresholds};
use chatkeep_index::embed::{Embedder, FullModel, built_in, install};
use chatkeep_index::fuzzy::FuzzyMatcher;
use chatkeep_index::semantic::{Calibration, NoVectors, SemanticMatcher, SemanticSpace};
use sets::Trial;

/// A mode: its thresholds, and what builds a matcher of rules, each a list of phrases.
type Mode =
    (&'static str, AcceptanceLevels, Box<dyn Fn(&[Vec<String>]) -> Box<dyn Fn(&str) -> Rating>>);

fn main() {
    let modes = modes();
    println!("mode set K rules careful balanced eager score:right@2% @5% @10%");
    for set in std::env::args().skip(1) {
        for trial in sets::read(&set) {
            for (name, levels, build) in &modes {
                measure(name, *levels, build(&trial.rules).as_ref(), &trial);
            }
        }
    }
}

fn modes() -> Vec<Mode> {
    let mut all = vec![fuzzy(), semantic("built-in", built_in(), thresholds::SEMANTIC_BUILTIN)];
    if let Some(source) = std::env::var_os("CHATKEEP_MODEL") {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("model");
        install(Path::new(&source), &target).expect("the model");
        let model = FullModel::open(&target).expect("an installed model");
        all.push(semantic("full", Arc::new(model), thresholds::SEMANTIC_FULL));
    }
    all
}

fn fuzzy() -> Mode {
    let build = |rules: &[Vec<String>]| {
        let matcher = FuzzyMatcher::build(&texts(rules));
        Box::new(move |message: &str| matcher.rate(message, Strictness::Balanced))
            as Box<dyn Fn(&str) -> Rating>
    };
    ("fuzzy", thresholds::FUZZY, Box::new(build))
}

fn semantic(name: &'static str, embedder: Arc<dyn Embedder>, calibration: Calibration) -> Mode {
    let space = Arc::new(SemanticSpace::new(embedder, calibration));
    let build = move |rules: &[Vec<String>]| {
        let matcher = SemanticMatcher::build(&texts(rules), &space, &NoVectors).expect("builds");
        Box::new(move |message: &str| matcher.rate(message, Strictness::Balanced))
            as Box<dyn Fn(&str) -> Rating>
    };
    (name, calibration.acceptance, Box::new(build))
}

fn texts(rules: &[Vec<String>]) -> Vec<RuleText<'_>> {
    rules.iter().map(|keywords| RuleText { keywords, ..RuleText::default() }).collect()
}

/// Prints the line of one mode and trial.
fn measure(mode: &str, levels: AcceptanceLevels, rate: &dyn Fn(&str) -> Rating, trial: &Trial) {
    let inside: Vec<(Rating, u32)> =
        trial.inside.iter().map(|(message, rule)| (rate(message), *rule)).collect();
    let outside: Vec<Rating> = trial.outside.iter().map(|message| rate(message)).collect();
    print!("{mode} {} {} {}", trial.name, trial.phrases, trial.rules.len());
    for strictness in [Strictness::Careful, Strictness::Balanced, Strictness::Eager] {
        let acceptance = levels.of(strictness);
        let answer = |rating: &Rating| acceptance.rate(rating.candidates.clone(), 1).answer;
        let right = inside.iter().filter(|(rating, rule)| answer(rating) == Some(*rule)).count();
        let wrong = outside.iter().filter(|rating| answer(rating).is_some()).count();
        print!(" {:.1}/{:.1}", percent(right, inside.len()), percent(wrong, outside.len()));
    }
    let best = |rating: &Rating| rating.candidates.first().map_or((0, 0.0), |c| (c.rule, c.score));
    let mut scores: Vec<f32> = outside.iter().map(|rating| best(rating).1).collect();
    scores.sort_unstable_by(|left, right| right.total_cmp(left));
    for share in [50, 20, 10] {
        let least = scores.get(scores.len() / share).copied().unwrap_or(0.0);
        let above = inside.iter().filter(|(rating, rule)| {
            let (first, score) = best(rating);
            first == *rule && score > least
        });
        print!(" {least:.3}:{:.1}", percent(above.count(), inside.len()));
    }
    println!();
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages")]
fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
