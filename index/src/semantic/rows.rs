//! Vectors at one byte a number, and their products with a message's vector.

use pulp::{Arch, Simd, WithSimd};

/// Rows of numbers, each with its own scale. A number is off by at most half a step of 1/127 of
/// the greatest in its row.
pub(super) struct Rows {
    dimensions: usize,
    /// Length of a prefix.
    prefix: usize,
    numbers: Vec<i8>,
    /// Copy of the first numbers of every row, side by side for a fast first pass.
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
    /// Number of steps up to the greatest number: 512 products of them with bytes stay below 2^31.
    const STEPS: f32 = 8_191.0;

    pub(super) fn new(vector: &[f32]) -> Self {
        let scale = greatest(vector) / Self::STEPS;
        #[expect(clippy::cast_possible_truncation, reason = "within ±STEPS")]
        let numbers = steps(vector, scale).map(|step| step as i16).collect();
        Self { numbers, scale }
    }
}

impl Rows {
    /// Creates rows for vectors of `dimensions` numbers, of which [`Rows::prefix_products`] reads
    /// `prefix`.
    pub(super) fn new(dimensions: usize, prefix: usize) -> Self {
        let prefix = prefix.min(dimensions);
        let (numbers, prefixes, scales) = (Vec::new(), Vec::new(), Vec::new());
        Self { dimensions, prefix, numbers, prefixes, scales, arch: Arch::new() }
    }

    pub(super) const fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn push(&mut self, vector: &[f32]) {
        debug_assert_eq!(vector.len(), self.dimensions);
        let start = self.numbers.len();
        let Self { numbers, arch, .. } = self;
        let scale = arch.dispatch(
            #[inline(always)]
            || {
                let scale = greatest(vector) / 127.0;
                #[expect(clippy::cast_possible_truncation, reason = "within ±127")]
                numbers.extend(steps(vector, scale).map(|step| step as i8));
                scale
            },
        );
        self.prefixes.extend_from_slice(&self.numbers[start..start + self.prefix]);
        self.scales.push(scale);
    }

    /// Releases unused memory.
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

    /// Returns the product of `factor` with row `row`.
    pub(super) fn product(&self, factor: &Factor, row: usize) -> f32 {
        let product = self.arch.dispatch(
            #[inline(always)]
            || product(self.row(row), &factor.numbers),
        );
        scaled(product, self.scales[row] * factor.scale)
    }

    /// Returns the products of the prefixes of `factor` and of every row.
    pub(super) fn prefix_products(&self, factor: &Factor) -> Vec<f32> {
        let mut products = vec![0.0; self.scales.len()];
        self.arch.dispatch(Products {
            numbers: &self.prefixes,
            scales: &self.scales,
            factors: &factor.numbers[..self.prefix],
            scale: factor.scale,
            out: &mut products,
        });
        products
    }

    /// Returns the memory in bytes.
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

/// Returns a product. Inlined, so that it is compiled for the processor that the dispatch selects.
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

/// Returns the greatest absolute value, in lanes so that it is vectorized.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn greatest(vector: &[f32]) -> f32 {
    let (chunks, rest) = vector.as_chunks::<16>();
    let mut lanes = [0.0_f32; 16];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, number)| *lane = lane.max(number.abs()));
    }
    lanes.iter().chain(rest).fold(0.0, |greatest, number| number.abs().max(greatest))
}

/// Returns the numbers of `vector` in whole steps of `scale`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn steps(vector: &[f32], scale: f32) -> impl Iterator<Item = f32> {
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    // One instruction, unlike `round`.
    vector.iter().map(move |number| (number * inverse).round_ties_even())
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
            let mut rows = Rows::new(dimensions, dimensions);
            (0..5).for_each(|row| rows.push(&vector(row, dimensions)));
            let other = vector(9, dimensions);
            let factor = Factor::new(&other);
            for (row, &all) in rows.prefix_products(&factor).iter().enumerate() {
                let exact: f32 =
                    vector(row, dimensions).iter().zip(&other).map(|(a, b)| a * b).sum();
                let product = rows.product(&factor, row);
                assert!((product - exact).abs() < 0.3, "{dimensions}: {product} {exact}");
                assert_eq!(product.to_bits(), all.to_bits());
            }
        }
    }

    #[test]
    fn a_prefix_is_the_beginning() {
        let (mut rows, mut short) = (Rows::new(64, 16), Rows::new(16, 16));
        let greatest = 2.0;
        for mut vector in (0..3).map(|row| vector(row, 64)) {
            // The greatest number determines the steps.
            vector[0] = greatest;
            rows.push(&vector);
            short.push(&vector[..16]);
        }
        let mut factor = vector(9, 64);
        factor[0] = greatest;
        let expected = short.prefix_products(&Factor::new(&factor[..16]));
        assert_eq!(rows.prefix_products(&Factor::new(&factor)), expected);
    }

    #[test]
    fn a_row_read_and_kept_again_stays_the_same() {
        let mut rows = Rows::new(64, 0);
        rows.push(&vector(1, 64));
        let mut copy = vec![0.0; 64];
        rows.add_to(0, &mut copy);
        rows.push(&copy);
        assert_eq!(rows.row(0), rows.row(1));
    }

    #[test]
    fn nothing_has_no_product() {
        let mut rows = Rows::new(8, 8);
        rows.push(&[0.0; 8]);
        assert_eq!(rows.prefix_products(&Factor::new(&[1.0; 8])), [0.0]);
        assert_eq!(rows.prefix_products(&Factor::new(&[0.0; 8])), [0.0]);
    }
}
