//! Vectors at one byte a number, and their products with a message's vector.

use pulp::{Arch, Simd, WithSimd};

/// Numbers of a row that [`Rows::prefix_products`] reads.
const PREFIX: usize = 64;

/// Rows of numbers, each with its own scale. A number is off by at most half a step of 1/127 of
/// the greatest in its row.
pub(super) struct Rows {
    dimensions: usize,
    numbers: Vec<i8>,
    /// The first [`PREFIX`] numbers of every row once more, side by side for a fast first pass.
    prefixes: Vec<i8>,
    scales: Vec<f32>,
    arch: Arch,
}

/// A vector to multiply rows with, at two bytes a number.
pub(super) struct Factor {
    numbers: Vec<i16>,
    scale: f32,
}

impl Factor {
    /// Numbers are kept to one in [`Self::STEPS`] of the greatest: 512 products of them with bytes
    /// stay below 2^31.
    const STEPS: f32 = 8_191.0;

    pub(super) fn new(vector: &[f32]) -> Self {
        let scale = greatest(vector) / Self::STEPS;
        #[expect(clippy::cast_possible_truncation, reason = "within ±STEPS")]
        let numbers = steps(vector, scale).map(|step| step as i16).collect();
        Self { numbers, scale }
    }
}

impl Rows {
    pub(super) fn new(dimensions: usize) -> Self {
        let (numbers, prefixes, scales) = (Vec::new(), Vec::new(), Vec::new());
        Self { dimensions, numbers, prefixes, scales, arch: Arch::new() }
    }

    pub(super) fn push(&mut self, vector: &[f32]) {
        debug_assert_eq!(vector.len(), self.dimensions);
        let scale = greatest(vector) / 127.0;
        let start = self.numbers.len();
        #[expect(clippy::cast_possible_truncation, reason = "within ±127")]
        self.numbers.extend(steps(vector, scale).map(|step| step as i8));
        let prefix = start..start + PREFIX.min(self.dimensions);
        self.prefixes.extend_from_slice(&self.numbers[prefix]);
        self.scales.push(scale);
    }

    /// Drops what only [`Rows::push`] and [`Rows::prefix_products`] need; for rows that are always
    /// read whole.
    pub(super) fn without_prefixes(mut self) -> Self {
        self.prefixes = Vec::new();
        self.shrunk()
    }

    /// Gives back memory that is not needed any more.
    pub(super) fn shrunk(mut self) -> Self {
        self.numbers.shrink_to_fit();
        self.prefixes.shrink_to_fit();
        self.scales.shrink_to_fit();
        self
    }

    /// Adds row `row` to `sum`.
    pub(super) fn add_to(&self, row: usize, sum: &mut [f32]) {
        let scale = self.scales[row];
        for (sum, &number) in sum.iter_mut().zip(self.row(row)) {
            *sum += scale * f32::from(number);
        }
    }

    fn row(&self, row: usize) -> &[i8] {
        &self.numbers[row * self.dimensions..][..self.dimensions]
    }

    /// The product of `factor` with row `row`.
    pub(super) fn product(&self, factor: &Factor, row: usize) -> f32 {
        let product = self.arch.dispatch(
            #[inline(always)]
            || product(self.row(row), &factor.numbers),
        );
        scaled(product, self.scales[row] * factor.scale)
    }

    /// The products of `factor` with every row.
    pub(super) fn products(&self, factor: &Factor) -> Vec<f32> {
        self.all(&self.numbers, self.dimensions, factor)
    }

    /// The products of the beginnings of `factor` and of every row.
    pub(super) fn prefix_products(&self, factor: &Factor) -> Vec<f32> {
        self.all(&self.prefixes, PREFIX.min(self.dimensions), factor)
    }

    fn all(&self, numbers: &[i8], width: usize, factor: &Factor) -> Vec<f32> {
        let mut products = vec![0.0; self.scales.len()];
        self.arch.dispatch(Products {
            numbers,
            scales: &self.scales,
            factors: &factor.numbers[..width],
            scale: factor.scale,
            out: &mut products,
        });
        products
    }

    /// Bytes held in memory.
    pub(super) fn size(&self) -> usize {
        self.numbers.len() + self.prefixes.len() + self.scales.len() * size_of::<f32>()
    }
}

/// Products of many rows, compiled for each kind of processor.
struct Products<'a> {
    numbers: &'a [i8],
    scales: &'a [f32],
    factors: &'a [i16],
    scale: f32,
    out: &'a mut [f32],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn with_simd<S: Simd>(self, _simd: S) {
        let rows = self.numbers.chunks_exact(self.factors.len().max(1)).zip(self.scales);
        for (out, (row, scale)) in self.out.iter_mut().zip(rows) {
            *out = scaled(product(row, self.factors), scale * self.scale);
        }
    }
}

/// Inlined, so that it is compiled for the processor that the dispatch found.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn product(row: &[i8], factor: &[i16]) -> i32 {
    let mut sum = 0;
    for (&row, &factor) in row.iter().zip(factor) {
        sum += i32::from(row) * i32::from(factor);
    }
    sum
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
#[expect(clippy::cast_precision_loss, reason = "24 bits are plenty")]
fn scaled(product: i32, scale: f32) -> f32 {
    product as f32 * scale
}

fn greatest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |greatest, number| number.abs().max(greatest))
}

/// The numbers of `vector` in whole steps of `scale`.
fn steps(vector: &[f32], scale: f32) -> impl Iterator<Item = f32> {
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    vector.iter().map(move |number| (number * inverse).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: usize, dimensions: usize) -> Vec<f32> {
        let waves = (0..dimensions).map(|at| {
            let phase = u32::try_from((at * 7 + seed * 13 + 1) * (at + 3) % 60_000).unwrap();
            f32::from(u16::try_from(phase).unwrap()).sin()
        });
        waves.collect()
    }

    #[test]
    fn products_are_nearly_those_of_the_numbers() {
        for dimensions in [16, 256, 512] {
            let mut rows = Rows::new(dimensions);
            (0..5).for_each(|row| rows.push(&vector(row, dimensions)));
            let other = vector(9, dimensions);
            let factor = Factor::new(&other);
            let all = rows.products(&factor);
            for (row, &product) in all.iter().enumerate() {
                let exact: f32 =
                    vector(row, dimensions).iter().zip(&other).map(|(a, b)| a * b).sum();
                assert!((product - exact).abs() < 0.3, "{dimensions}: {product} {exact}");
                assert_eq!(rows.product(&factor, row).to_bits(), product.to_bits());
            }
            if dimensions <= PREFIX {
                assert_eq!(rows.prefix_products(&factor), all);
            }
        }
    }

    #[test]
    fn a_row_read_and_kept_again_stays_the_same() {
        let mut rows = Rows::new(64);
        rows.push(&vector(1, 64));
        let mut copy = vec![0.0; 64];
        rows.add_to(0, &mut copy);
        rows.push(&copy);
        assert_eq!(rows.row(0), rows.row(1));
    }

    #[test]
    fn nothing_has_no_product() {
        let mut rows = Rows::new(8);
        rows.push(&[0.0; 8]);
        assert_eq!(rows.products(&Factor::new(&[1.0; 8])), [0.0]);
        assert_eq!(rows.products(&Factor::new(&[0.0; 8])), [0.0]);
    }
}
