//! Matrix products for small batches: weights are packed once, so that a product reads them in
//! order, as wide as the processor allows.
//!
//! A product of a few rows is bound by reading its weights from memory. They may be stored in one
//! or two bytes each, therefore, and become floats in registers.

use pulp::{Arch, Simd, WithSimd};

/// Number of columns that are computed together: two registers of AVX-512, four of AVX2.
pub(crate) const PANEL: usize = 32;

/// Weights in whole numbers or floats, packed by panels of [`PANEL`] columns.
pub(crate) struct Weights<W> {
    inputs: usize,
    panels: Vec<[W; PANEL]>,
    /// Value of a step of the weights, for each panel.
    scales: Vec<f32>,
    arch: Arch,
}

/// Input rows, by their offsets.
#[derive(Clone, Copy)]
pub(crate) struct InputRows<'a> {
    /// Numbers of the rows.
    pub(crate) data: &'a [f32],
    /// Start of each row; rows may overlap.
    pub(crate) starts: &'a [usize],
}

impl<W: Copy> Weights<W>
where
    f32: From<W>,
{
    /// Packs `rows`, whose steps are worth `scale`: `outputs` numbers for each of the inputs, one
    /// input after another. `outputs` is a multiple of [`PANEL`].
    pub(crate) fn new(rows: &[W], outputs: usize, scale: f32) -> Self {
        debug_assert!(outputs.is_multiple_of(PANEL));
        let mut panels = Vec::with_capacity(rows.len() / PANEL);
        for column in 0..outputs / PANEL {
            let rows = rows.chunks_exact(outputs);
            panels.extend(rows.map(|row| row.as_chunks().0[column]));
        }
        let scales = vec![scale; outputs / PANEL];
        Self { inputs: rows.len() / outputs, panels, scales, arch: Arch::new() }
    }

    /// Joins both weights; the outputs of `other`, which has the same inputs, come last.
    pub(crate) fn beside(mut self, other: Self) -> Self {
        debug_assert_eq!(self.inputs, other.inputs);
        self.panels.extend(other.panels);
        self.scales.extend(other.scales);
        self
    }

    /// Returns the length of an input row.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the length of a row of the product.
    pub(crate) fn outputs(&self) -> usize {
        self.scales.len() * PANEL
    }

    /// Adds the product of `rows` with the weights to `sums`, which has [`Weights::outputs`]
    /// numbers a row.
    pub(crate) fn add_product(&self, rows: InputRows<'_>, sums: &mut [f32]) {
        self.arch.dispatch(Product { weights: self, rows, sums });
    }
}

struct Product<'a, W> {
    weights: &'a Weights<W>,
    rows: InputRows<'a>,
    sums: &'a mut [f32],
}

impl<W: Copy> WithSimd for Product<'_, W>
where
    f32: From<W>,
{
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.tiles::<S, 2, 12, 6, 4>(simd),
            8 => self.tiles::<S, 4, 3, 2, 2>(simd),
            4 => self.tiles::<S, 8, 3, 2, 1>(simd),
            2 => self.tiles::<S, 16, 1, 1, 1>(simd),
            _ => self.tiles::<S, PANEL, 1, 1, 1>(simd),
        }
    }
}

impl<W: Copy> Product<'_, W>
where
    f32: From<W>,
{
    /// Computes `BIG` rows at a time as long as there are so many, then the rest in one go if it
    /// fits into `BIG` or `MID` rows or is a single one, each panel in `VECTORS` registers a row.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn tiles<
        S: Simd,
        const VECTORS: usize,
        const BIG: usize,
        const MID: usize,
        const PARTS: usize,
    >(
        self,
        simd: S,
    ) {
        let Self { weights, rows, sums } = self;
        let (inputs, stride) = (weights.inputs, weights.outputs());
        let panels = weights.panels.chunks_exact(inputs.max(1)).zip(&weights.scales);
        for (number, (panel, &scale)) in panels.enumerate() {
            let mut row = 0;
            while row < rows.starts.len() {
                let starts = &rows.starts[row..];
                let tile = tile(starts.len(), [BIG, MID]);
                let rows = InputRows { data: rows.data, starts: &starts[..tile.min(starts.len())] };
                let sums = &mut sums[row * stride + number * PANEL..];
                let out = Out { sums, stride, rows: rows.starts.len(), scale };
                if tile == 1 {
                    let inputs = &rows.data[starts[0]..][..inputs];
                    add_row::<S, W, VECTORS, PARTS>(simd, inputs, panel, out);
                } else if tile == MID {
                    add_tile::<S, W, VECTORS, MID>(simd, rows, panel, out);
                } else {
                    add_tile::<S, W, VECTORS, BIG>(simd, rows, panel, out);
                }
                row += tile;
            }
        }
    }
}

/// Returns the number of rows to compute together when `left` are left; more than that if faster.
fn tile(left: usize, [big, mid]: [usize; 2]) -> usize {
    if left == 1 {
        1
    } else if left <= mid {
        mid
    } else {
        big
    }
}

/// Destination of the product of a tile with a panel.
struct Out<'a> {
    /// First number of the first row.
    sums: &'a mut [f32],
    /// Distance of two rows.
    stride: usize,
    /// Number of valid rows.
    rows: usize,
    /// Factor of the product.
    scale: f32,
}

impl Out<'_> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn add<S: Simd, const VECTORS: usize>(self, simd: S, totals: &[[S::f32s; VECTORS]]) {
        let scale = simd.splat_f32s(self.scale);
        for (row, totals) in totals.iter().enumerate().take(self.rows) {
            let start = row * self.stride;
            let sums = S::as_mut_simd_f32s(&mut self.sums[start..start + PANEL]).0;
            for (sum, &total) in sums.iter_mut().zip(totals) {
                *sum = simd.mul_add_e_f32s(total, scale, *sum);
            }
        }
    }
}

/// Adds the product of one tile with one panel.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn add_tile<S: Simd, W: Copy, const VECTORS: usize, const ROWS: usize>(
    simd: S,
    rows: InputRows<'_>,
    panel: &[[W; PANEL]],
    out: Out<'_>,
) where
    f32: From<W>,
{
    // The last row stands in for missing ones.
    let last = rows.starts.len() - 1;
    let rows: [&[f32]; ROWS] =
        std::array::from_fn(|row| &rows.data[rows.starts[row.min(last)]..][..panel.len()]);
    let mut totals = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    for (at, weights) in panel.iter().enumerate() {
        // Once for all rows.
        let weights = floats(weights);
        for (totals, row) in totals.iter_mut().zip(rows) {
            add_scaled(simd, totals, row[at], &weights);
        }
    }
    out.add(simd, &totals);
}

/// Adds the product of one row with one panel. Its parts are summed side by side: a single sum
/// would wait for every addition.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn add_row<S: Simd, W: Copy, const VECTORS: usize, const PARTS: usize>(
    simd: S,
    inputs: &[f32],
    panel: &[[W; PANEL]],
    out: Out<'_>,
) where
    f32: From<W>,
{
    let mut totals = [[simd.splat_f32s(0.0); VECTORS]; PARTS];
    let (input_groups, inputs) = inputs.as_chunks::<PARTS>();
    let (panel_groups, panel) = panel.as_chunks::<PARTS>();
    for (inputs, panel) in input_groups.iter().zip(panel_groups) {
        for ((totals, &input), weights) in totals.iter_mut().zip(inputs).zip(panel) {
            add_scaled(simd, totals, input, &floats(weights));
        }
    }
    for (totals, (&input, weights)) in totals.iter_mut().zip(inputs.iter().zip(panel)) {
        add_scaled(simd, totals, input, &floats(weights));
    }
    let (first, rest) = totals.split_at_mut(1);
    for totals in rest {
        for (sum, &total) in first[0].iter_mut().zip(totals.iter()) {
            *sum = simd.add_f32s(*sum, total);
        }
    }
    out.add(simd, first);
}

/// Returns the weights of a panel for one input. (A loop, for it is compiled to wide instructions,
/// which `map` is not.)
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn floats<W: Copy>(weights: &[W; PANEL]) -> [f32; PANEL]
where
    f32: From<W>,
{
    let mut floats = [0.0; PANEL];
    for (float, &weight) in floats.iter_mut().zip(weights) {
        *float = f32::from(weight);
    }
    floats
}

/// Adds `input` times `weights` to `totals`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn add_scaled<S: Simd, const VECTORS: usize>(
    simd: S,
    totals: &mut [S::f32s; VECTORS],
    input: f32,
    weights: &[f32; PANEL],
) {
    let input = simd.splat_f32s(input);
    for (total, &weight) in totals.iter_mut().zip(S::as_simd_f32s(weights).0) {
        *total = simd.mul_add_e_f32s(input, weight, *total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns small whole numbers, so that sums are exact whatever their order.
    fn numbers(count: usize, seed: usize) -> Vec<i8> {
        (0..count).map(|i| i8::try_from((i * 31 + seed) % 13).unwrap() - 6).collect()
    }

    fn floats(count: usize, seed: usize) -> Vec<f32> {
        numbers(count, seed).into_iter().map(f32::from).collect()
    }

    /// Checks products of every number of rows, computed by `add`.
    fn check(add: impl Fn(Product<'_, i8>)) {
        let (inputs, outputs) = (5, 2 * PANEL);
        let weights = numbers(inputs * outputs, 1);
        let packed = Weights::new(&weights, outputs, 0.5);
        for rows in 1..40 {
            let data = floats(rows + inputs, 2);
            // Overlapping rows, as convolutions have them.
            let starts: Vec<usize> = (0..rows).collect();
            let mut sums = floats(rows * outputs, 3);
            let before = sums.clone();
            let rows = InputRows { data: &data, starts: &starts };
            add(Product { weights: &packed, rows, sums: &mut sums });
            for (place, &sum) in sums.iter().enumerate() {
                let (row, column) = (place / outputs, place % outputs);
                let product: f32 = (0..inputs)
                    .map(|i| data[row + i] * f32::from(weights[i * outputs + column]) * 0.5)
                    .sum();
                let difference = (sum - before[place] - product).abs();
                assert!(difference < 1e-3, "{} rows, {place}", starts.len());
            }
        }
    }

    #[test]
    fn products_are_right_on_every_kind_of_processor() {
        check(|product| Arch::new().dispatch(product));
        check(|product| product.with_simd(pulp::Scalar));
        check(|product| product.with_simd(pulp::Scalar128b));
        check(|product| product.with_simd(pulp::Scalar256b));
        check(|product| product.with_simd(pulp::Scalar512b));
    }

    #[test]
    fn weights_side_by_side_keep_their_scales() {
        let numbers = numbers(3 * PANEL, 4);
        let [single, double] = [1.0, 2.0].map(|scale| Weights::new(&numbers, PANEL, scale));
        let both = single.beside(double);
        let mut sums = vec![0.0; 2 * PANEL];
        both.add_product(InputRows { data: &[1.0, -2.0, 3.0], starts: &[0] }, &mut sums);
        let (left, right) = sums.split_at(PANEL);
        assert!(left.iter().any(|&sum| sum != 0.0));
        for (left, right) in left.iter().zip(right) {
            assert!((2.0 * left - right).abs() < 1e-6);
        }
    }
}
