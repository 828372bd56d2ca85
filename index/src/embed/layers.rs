//! Layers of a neural network, each over a batch of rows.

use crate::matrix::{InputRows, Weights};

/// Summand under the root of a norm, so that it never divides by zero; the package's value.
const EPSILON: f32 = 1e-12;

/// A product with weights, plus a bias.
pub(super) struct Linear<W = i8> {
    weights: Weights<W>,
    bias: Vec<f32>,
}

impl Linear {
    /// Takes the weights, and the bias if there is one, from the front of `numbers`.
    pub(super) fn take(
        numbers: &mut &[f32],
        inputs: usize,
        outputs: usize,
        with_bias: bool,
    ) -> Option<Self> {
        let weights = bytes(numbers.split_off(..inputs * outputs)?, outputs);
        let bias =
            if with_bias { numbers.split_off(..outputs)?.to_vec() } else { vec![0.0; outputs] };
        Some(Self { weights, bias })
    }

    /// Takes the weights of several layers that have the same inputs, then their biases; merges
    /// them into one layer with all their outputs.
    pub(super) fn side_by_side<const N: usize>(
        numbers: &mut &[f32],
        inputs: usize,
        outputs: [usize; N],
    ) -> Option<Self> {
        let layers: Option<Vec<Weights<i8>>> = outputs
            .iter()
            .map(|&outputs| Some(bytes(numbers.split_off(..inputs * outputs)?, outputs)))
            .collect();
        let bias = numbers.split_off(..outputs.iter().sum())?.to_vec();
        Some(Self { weights: layers?.into_iter().reduce(Weights::beside)?, bias })
    }
}

impl<W: Copy> Linear<W>
where
    f32: From<W>,
{
    /// Creates a layer without a bias.
    pub(super) fn without_bias(weights: Weights<W>) -> Self {
        Self { bias: vec![0.0; weights.outputs()], weights }
    }

    /// Returns the bias that is added to every row.
    pub(super) fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Returns the layer's outputs for any rows.
    pub(super) fn products(&self, rows: InputRows<'_>) -> Vec<f32> {
        let mut sums = self.bias.repeat(rows.starts.len());
        self.weights.add_product(rows, &mut sums);
        sums
    }

    /// Returns the layer's outputs for `count` rows, one after another.
    pub(super) fn rows(&self, data: &[f32], count: usize) -> Vec<f32> {
        let starts: Vec<usize> = (0..count).map(|row| row * self.weights.inputs()).collect();
        self.products(InputRows { data, starts: &starts })
    }

    /// Adds the products of rows, one after another, to `sums`; the bias is not added.
    pub(super) fn add_rows(&self, data: &[f32], sums: &mut [f32]) {
        let count = sums.len() / self.weights.outputs();
        let starts: Vec<usize> = (0..count).map(|row| row * self.weights.inputs()).collect();
        self.weights.add_product(InputRows { data, starts: &starts }, sums);
    }
}

/// Packs weights at a byte each. The package's are whole steps of 1/127 of the greatest of their
/// array, so nothing is lost.
fn bytes(weights: &[f32], outputs: usize) -> Weights<i8> {
    let greatest = weights.iter().fold(0.0_f32, |greatest, weight| greatest.max(weight.abs()));
    let scale = greatest / f32::from(i8::MAX);
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "within ±127")]
    let steps: Vec<i8> = weights.iter().map(|weight| (weight * inverse).round() as i8).collect();
    Weights::new(&steps, outputs, scale)
}

/// Layer normalization: mean 0 and variance 1, then a factor and a summand a column.
pub(super) struct Norm {
    factors: Vec<f32>,
    summands: Vec<f32>,
}

impl Norm {
    /// Takes the factors, then the summands, from the front of `numbers`.
    pub(super) fn take(numbers: &mut &[f32], columns: usize) -> Option<Self> {
        let factors = numbers.split_off(..columns)?.to_vec();
        Some(Self { factors, summands: numbers.split_off(..columns)?.to_vec() })
    }

    /// Normalizes every row of `rows`.
    pub(super) fn apply(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.factors.len()) {
            let count = size(row);
            let mean = sum(row, |number| number) / count;
            let variance = sum(row, |number| (number - mean) * (number - mean)) / count;
            let scale = (variance + EPSILON).sqrt().recip();
            for ((number, factor), summand) in row.iter_mut().zip(&self.factors).zip(&self.summands)
            {
                *number = (*number - mean) * scale * factor + summand;
            }
        }
    }
}

/// Returns the sum of `term` over all numbers, in lanes so that it is vectorized.
fn sum(numbers: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = numbers.as_chunks::<16>();
    let mut lanes = [0.0; 16];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &number)| *lane += term(number));
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&number| term(number)).sum::<f32>()
}

#[expect(clippy::cast_precision_loss, reason = "a row has at most some thousand numbers")]
fn size(row: &[f32]) -> f32 {
    row.len() as f32
}

/// Adds `summands` to `numbers`.
pub(super) fn add(numbers: &mut [f32], summands: &[f32]) {
    numbers.iter_mut().zip(summands).for_each(|(number, summand)| *number += summand);
}

/// Sets negative numbers to 0.
pub(super) fn rectify(numbers: &mut [f32]) {
    for number in numbers {
        *number = number.max(0.0);
    }
}
