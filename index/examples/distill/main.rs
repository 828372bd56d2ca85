//! Distils the built-in table of token vectors from the full model:
//! `cargo run --release -p chatkeep-index --example distill -- WHEEL OUTPUT TEXTS…`
//!
//! WHEEL is the full model's package as `chatkeep model install` takes it. TEXTS are files, or
//! folders of `.txt` files, with a text a line. OUTPUT is the folder that gets `built-in.table`.
//! The same inputs give the same table; `benches/README.md` says which made the committed one.
//!
//! The full model embeds every text. A vector a piece is then learned such that the sum of the
//! pieces' vectors points where the full model's vector does, in the space of the latter's leading
//! principal components.

mod basis;
mod texts;
mod train;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::{env, fs, thread};

use chatkeep_index::embed::{Embedder, FullModel, Table, Tokenizer, install, vocabulary};

/// Length of a vector of the full model.
const WIDTH: usize = 512;

/// Number of texts that the principal components are computed from; the texts are shuffled.
const SAMPLE: usize = 50_000;

/// Length of a vector of the table.
const DIMENSIONS: usize = 256;

/// Maximum number of pieces of the table, for the sake of its size.
const PIECES: usize = 76_000;

/// Batch size of embedding, in texts.
const BATCH: usize = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [wheel, output, inputs @ ..] = arguments.as_slice() else {
        return Err("usage: distill WHEEL OUTPUT TEXTS…".into());
    };
    let output = Path::new(output);
    fs::create_dir_all(output)?;
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("model");
    install(Path::new(wheel), &target)?;
    let model = FullModel::open(&target)?;

    let pieces = folded(vocabulary(Path::new(wheel))?);
    let texts = texts::read(inputs, &pieces)?;
    println!("{} texts, {} pieces", texts.len(), pieces.len());
    let taught = embed(&model, &texts);
    let basis = basis::principal(&taught[..taught.len().min(SAMPLE * WIDTH)], WIDTH);
    let targets = basis::project(&taught, &basis, WIDTH, DIMENSIONS);
    drop(taught);

    let vocabulary = useful(&texts, pieces)?;
    let tokenizer = Tokenizer::new(&vocabulary)?;
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| tokenizer.tokens(text)).collect();
    let vectors = train::vectors(&tokens, &targets, DIMENSIONS, vocabulary.len());
    let table = Table::file(&vocabulary, &vectors)?;
    println!("{} pieces, {} bytes", vocabulary.len(), table.len());
    fs::write(output.join("built-in.table"), table)?;
    Ok(())
}

/// Returns the vectors of the texts, one after another, computed by as many threads as there are
/// processors.
fn embed(model: &FullModel, texts: &[String]) -> Vec<f32> {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = texts.len().div_ceil(threads).max(1);
    let mut vectors = vec![0.0; texts.len() * model.dimensions()];
    thread::scope(|scope| {
        let shares = vectors.chunks_mut(share * model.dimensions());
        for (texts, vectors) in texts.chunks(share).zip(shares) {
            scope.spawn(move || {
                let batches = vectors.chunks_mut(BATCH * model.dimensions());
                for (texts, vectors) in texts.chunks(BATCH).zip(batches) {
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    vectors.copy_from_slice(&model.embed(&texts));
                }
            });
        }
    });
    vectors
}

/// Returns the pieces as they are in folded text; those that became equal get the sum of their
/// frequencies.
fn folded(pieces: Vec<(String, f32)>) -> Vec<(String, f32)> {
    let mut sums = BTreeMap::new();
    for (piece, score) in pieces {
        if let Some(piece) = Tokenizer::piece(&piece) {
            *sums.entry(piece).or_insert(0.0) += f64::from(score).exp();
        }
    }
    let scored = sums.into_iter().map(|(piece, sum): (String, f64)| (piece, score(sum.ln())));
    scored.collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a score has few places that matter")]
fn score(exact: f64) -> f32 {
    exact as f32
}

/// Returns the pieces that occur most in the texts.
fn useful(
    texts: &[String],
    pieces: Vec<(String, f32)>,
) -> Result<Vec<(String, f32)>, Box<dyn Error>> {
    let tokenizer = Tokenizer::new(&pieces)?;
    let mut counts = vec![0_u32; pieces.len()];
    for token in texts.iter().flat_map(|text| tokenizer.tokens(text)) {
        counts[token as usize] += 1;
    }
    let mut counted: Vec<_> =
        counts.into_iter().zip(pieces).filter(|(count, _)| *count > 0).collect();
    counted.sort_by(|(a, (_, a_score)), (b, (_, b_score))| {
        b.cmp(a).then_with(|| b_score.total_cmp(a_score))
    });
    counted.truncate(PIECES);
    let mut kept: Vec<_> = counted.into_iter().map(|(_, piece)| piece).collect();
    kept.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(kept)
}
