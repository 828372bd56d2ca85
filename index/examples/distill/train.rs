//! Training of the vectors: their sums shall point where the targets point.

use super::basis::dot;
use super::texts::shuffle;

/// Number of passes over all texts.
const EPOCHS: u8 = 4;

/// Initial step size; it falls linearly to 0 (`AdaGrad`, one rate a vector).
const RATE: f32 = 0.05;

/// Share of all occurrences at which a piece's initial vector has half the length of a rare one's
/// (smooth inverse frequency, Arora et al. 2017).
const HALF_LENGTH: f32 = 1e-3;

/// Initial length of a rare piece's vector.
const LENGTH: f32 = 5.0;

/// Returns one vector of `width` numbers for each of `pieces` pieces, such that the sum over the
/// tokens of a text is near its target in direction.
pub(crate) fn vectors(
    texts: &[Vec<u32>],
    targets: &[f32],
    width: usize,
    pieces: usize,
) -> Vec<f32> {
    let mut vectors = beginning(texts, targets, width, pieces);
    let mut squares = vec![1e-6; pieces];
    let mut order: Vec<usize> = (0..texts.len()).collect();
    for epoch in 0..EPOCHS {
        shuffle(&mut order, u64::from(epoch) + 2);
        let rate = RATE * (1.0 - f32::from(epoch) / f32::from(EPOCHS));
        let mut sum = 0.0;
        for &text in &order {
            let target = &targets[text * width..(text + 1) * width];
            sum += f64::from(learn(&mut vectors, &mut squares, &texts[text], target, rate));
        }
        println!("epoch {epoch}: mean cosine {:.4}", sum / count(texts.len()));
    }
    vectors
}

/// Returns the mean target of each piece's texts, the shorter the more frequent the piece is.
fn beginning(texts: &[Vec<u32>], targets: &[f32], width: usize, pieces: usize) -> Vec<f32> {
    let mut vectors = vec![0.0; pieces * width];
    let mut counts = vec![0.0_f32; pieces];
    for (tokens, target) in texts.iter().zip(targets.chunks_exact(width)) {
        for &token in tokens {
            counts[token as usize] += 1.0;
            let share = 1.0 / f32::from(u16::try_from(tokens.len()).unwrap_or(u16::MAX));
            add(row(&mut vectors, token, width), target, share);
        }
    }
    let total: f32 = counts.iter().sum();
    for (vector, count) in vectors.chunks_exact_mut(width).zip(counts) {
        let scale = LENGTH / count.max(1.0) * HALF_LENGTH / (HALF_LENGTH + count / total);
        for number in vector {
            *number *= scale;
        }
    }
    vectors
}

/// Takes one step along the gradient of the cosine of sum and target; returns that cosine.
fn learn(
    vectors: &mut [f32],
    squares: &mut [f32],
    tokens: &[u32],
    target: &[f32],
    rate: f32,
) -> f32 {
    let width = target.len();
    let mut sum = vec![0.0; width];
    for &token in tokens {
        add(&mut sum, row(vectors, token, width), 1.0);
    }
    let length = dot(&sum, &sum).sqrt();
    if length <= 1e-6 {
        return 0.0;
    }
    let cosine = dot(&sum, target) / length;
    // The gradient: the part of the target that is at right angles to the sum, by its length.
    let mut gradient = target.to_vec();
    add(&mut gradient, &sum, -cosine / length);
    let square = dot(&gradient, &gradient) / (length * length) / mean(width);
    for &token in tokens {
        let squares = &mut squares[token as usize];
        *squares += square;
        add(row(vectors, token, width), &gradient, rate / length / squares.sqrt());
    }
    cosine
}

fn row(vectors: &mut [f32], token: u32, width: usize) -> &mut [f32] {
    &mut vectors[token as usize * width..(token as usize + 1) * width]
}

/// Adds `factor` times `summands` to `numbers`.
fn add(numbers: &mut [f32], summands: &[f32], factor: f32) {
    for (number, summand) in numbers.iter_mut().zip(summands) {
        *number += factor * summand;
    }
}

fn mean(width: usize) -> f32 {
    f32::from(u16::try_from(width).unwrap_or(u16::MAX))
}

fn count(texts: usize) -> f64 {
    f64::from(u32::try_from(texts).unwrap_or(u32::MAX))
}
