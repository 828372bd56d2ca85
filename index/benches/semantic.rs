//! Semantic rules: building the matchers of 1,000 and of 10,000 rules of 3 phrases, and rating
//! messages of 60 characters with the latter.
//!
//! `CHATKEEP_MODEL` names the source of the full model; without it only the built-in table is
//! measured. Vectors of phrases are known already when a matcher is built, as they are when a
//! channel's rules change; they are noise here, for embedding 30,000 phrases takes long and their
//! values make no difference to the time. `latencies` prints the median and the 99th percentile,
//! which divan does not; `size` prints the memory of the matchers.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a setting of the measurement")]
#![expect(clippy::print_stdout, reason = "what divan does not print")]

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use chatkeep_index::answer::{RuleText, Strictness, thresholds};
use chatkeep_index::embed::{FullModel, built_in, install};
use chatkeep_index::semantic::{PhraseVectors, SemanticMatcher, SemanticSpace};
use divan::{Bencher, black_box};

/// Words of rules and messages, few enough that they share some, as real ones do.
const WORDS: [&str; 40] = [
    "營業",
    "時間",
    "地址",
    "停車",
    "付款",
    "密碼",
    "會員",
    "退貨",
    "優惠",
    "預約",
    "opening",
    "hours",
    "payment",
    "password",
    "member",
    "refund",
    "parking",
    "address",
    "discount",
    "booking",
    "営業",
    "時間は",
    "場所",
    "駐車場",
    "支払い",
    "パスワード",
    "会員",
    "返品",
    "割引",
    "予約",
    "เวลา",
    "ที่อยู่",
    "จอดรถ",
    "ชำระเงิน",
    "สมาชิก",
    "주차",
    "결제",
    "비밀번호",
    "환불",
    "예약",
];

fn main() {
    latencies();
    divan::main();
}

/// Returns the text of a number: words that its digits choose.
fn text(number: usize, length: usize) -> String {
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut text = String::new();
    while text.chars().count() < length {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        text.push_str(WORDS[usize::try_from(state >> 40).expect("24 bits") % WORDS.len()]);
        text.push(' ');
    }
    text.push_str(&(number % 977).to_string());
    text
}

struct Rules(Vec<([String; 2], String, String)>);

impl Rules {
    fn new(count: usize) -> Self {
        let rule =
            |at| ([text(3 * at, 8), text(3 * at + 1, 15)], text(3 * at + 2, 25), text(at, 40));
        Self((0..count).map(rule).collect())
    }

    fn texts(&self) -> Vec<RuleText<'_>> {
        let rules = self.0.iter();
        rules
            .map(|(keywords, question, answer)| RuleText {
                keywords,
                question,
                answer,
                not_for: &[],
            })
            .collect()
    }
}

/// Precomputed vectors of noise.
struct Noise;

impl PhraseVectors for Noise {
    fn copy(&self, _space: &SemanticSpace, phrase: &str, vector: &mut [f32]) -> bool {
        let seed =
            phrase.bytes().fold(7_u64, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(31));
        let mut state = seed;
        for number in vector.iter_mut() {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            *number = f32::from(i8::from_le_bytes([state.to_le_bytes()[7]])) / 1_600.0;
        }
        true
    }
}

struct Mode {
    name: &'static str,
    space: Arc<SemanticSpace>,
    small: SemanticMatcher,
    large: SemanticMatcher,
}

static SMALL: LazyLock<Rules> = LazyLock::new(|| Rules::new(1_000));
static LARGE: LazyLock<Rules> = LazyLock::new(|| Rules::new(10_000));
static MODES: LazyLock<Vec<Mode>> = LazyLock::new(|| {
    let mut modes =
        vec![mode("built in", SemanticSpace::new(built_in(), thresholds::SEMANTIC_BUILTIN))];
    if let Some(source) = std::env::var_os("CHATKEEP_MODEL") {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("model");
        install(Path::new(&source), &target).expect("the model");
        let model = Arc::new(FullModel::open(&target).expect("an installed model"));
        modes.push(mode("full", SemanticSpace::new(model, thresholds::SEMANTIC_FULL)));
    }
    modes
});

fn mode(name: &'static str, space: SemanticSpace) -> Mode {
    let space = Arc::new(space);
    let small = SemanticMatcher::build(&SMALL.texts(), &space, &Noise).expect("builds");
    let large = SemanticMatcher::build(&LARGE.texts(), &space, &Noise).expect("builds");
    Mode { name, space, small, large }
}

fn names() -> Vec<&'static str> {
    MODES.iter().map(|mode| mode.name).collect()
}

fn named(name: &str) -> &'static Mode {
    MODES.iter().find(|mode| mode.name == name).expect("a mode of names()")
}

fn latencies() {
    for mode in MODES.iter() {
        let mut times: Vec<_> = (0..3_000)
            .map(|at| {
                let message = text(1_000_000 + at, 60);
                let start = Instant::now();
                black_box(mode.large.rate(&message, Strictness::Balanced));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!(
            "{}: 10,000 rules, p50 {:?}, p99 {:?}; {} KiB for 1,000 rules, {} KiB for 10,000",
            mode.name,
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            mode.small.size() / 1_024,
            mode.large.size() / 1_024,
        );
    }
}

#[divan::bench(args = names())]
fn build_1_000_rules(bencher: Bencher<'_, '_>, name: &str) {
    let mode = named(name);
    let rules = SMALL.texts();
    bencher.bench(|| SemanticMatcher::build(&rules, &mode.space, &Noise).expect("builds"));
}

#[divan::bench(args = names(), sample_count = 10)]
fn build_10_000_rules(bencher: Bencher<'_, '_>, name: &str) {
    let mode = named(name);
    let rules = LARGE.texts();
    bencher.bench(|| SemanticMatcher::build(&rules, &mode.space, &Noise).expect("builds"));
}

#[divan::bench(args = names())]
fn rate_of_10_000_rules(bencher: Bencher<'_, '_>, name: &str) {
    let mode = named(name);
    let mut at = 0;
    let messages: Vec<String> = (0..512).map(|at| text(1_000_000 + at, 60)).collect();
    bencher.bench_local(|| {
        at = (at + 1) % messages.len();
        mode.large.rate(black_box(&messages[at]), Strictness::Balanced)
    });
}
