//! Matrix products for small batches: weights are packed once, so that a product reads them in
//! order, as wide as the processor allows.

use pulp::{Arch, Simd, WithSimd};

/// Columns that are computed together: two registers of AVX-512, four of AVX2.
pub(super) const PANEL: usize = 32;

/// The weights of a linear layer, packed by panels of [`PANEL`] columns.
pub(super) struct Weights {
    inputs: usize,
    outputs: usize,
    panels: Vec<f32>,
    arch: Arch,
}

/// Rows of numbers that are read: where each begins.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// The numbers.
    pub(super) data: &'a [f32],
    /// Where each row begins; rows may overlap.
    pub(super) starts: &'a [usize],
}

impl Weights {
    /// The packed form of `rows`: `outputs` numbers for each of the inputs, one input after another.
    /// `outputs` is a multiple of [`PANEL`].
    pub(super) fn new(rows: &[f32], outputs: usize) -> Self {
        debug_assert!(outputs.is_multiple_of(PANEL));
        let mut panels = Vec::with_capacity(rows.len());
        for column in (0..outputs).step_by(PANEL) {
            for row in rows.chunks_exact(outputs) {
                panels.extend_from_slice(&row[column..column + PANEL]);
            }
        }
        Self { inputs: rows.len() / outputs, outputs, panels, arch: Arch::new() }
    }

    /// Numbers in a row of a product.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Adds the product of `rows` with the weights to `sums`, which has [`Weights::outputs`]
    /// numbers a row.
    pub(super) fn add_product(&self, rows: Rows<'_>, sums: &mut [f32]) {
        self.arch.dispatch(Product { weights: self, rows, sums });
    }
}

struct Product<'a> {
    weights: &'a Weights,
    rows: Rows<'a>,
    sums: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.tiles::<S, 2, 12, 4>(simd),
            8 => self.tiles::<S, 4, 3, 1>(simd),
            4 => self.tiles::<S, 8, 3, 1>(simd),
            2 => self.tiles::<S, 16, 1, 1>(simd),
            _ => self.tiles::<S, PANEL, 1, 1>(simd),
        }
    }
}

impl Product<'_> {
    /// Computes `BIG` rows at a time as long as there are so many, then `MID`, then single ones,
    /// each panel in `VECTORS` registers a row.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn tiles<S: Simd, const VECTORS: usize, const BIG: usize, const MID: usize>(self, simd: S) {
        let Self { weights, rows, sums } = self;
        let inputs = weights.inputs;
        let packed = pack(rows, inputs, &[BIG, MID, 1]);
        let panels = weights.panels.chunks_exact(inputs * PANEL);
        for (column, panel) in (0..weights.outputs).step_by(PANEL).zip(panels) {
            let panel = S::as_simd_f32s(panel).0;
            let (mut packed, mut row) = (packed.as_slice(), 0);
            while row < rows.starts.len() {
                let tile = [BIG, MID, 1].into_iter().find(|tile| row + tile <= rows.starts.len());
                let tile = tile.unwrap_or(1);
                let (inputs, rest) = packed.split_at(inputs * tile);
                let sums = &mut sums[row * weights.outputs + column..];
                if tile == BIG {
                    add_tile::<S, VECTORS, BIG>(simd, inputs, panel, sums, weights.outputs);
                } else if tile == MID {
                    add_tile::<S, VECTORS, MID>(simd, inputs, panel, sums, weights.outputs);
                } else {
                    add_tile::<S, VECTORS, 1>(simd, inputs, panel, sums, weights.outputs);
                }
                packed = rest;
                row += tile;
            }
        }
    }
}

/// The rows by tiles, of each tile the first number of every row, then the second, …
fn pack(rows: Rows<'_>, inputs: usize, tiles: &[usize]) -> Vec<f32> {
    let mut packed = Vec::with_capacity(rows.starts.len() * inputs);
    let mut starts = rows.starts;
    while let Some(&tile) = tiles.iter().find(|&&tile| tile <= starts.len() && tile > 0) {
        let (taken, rest) = starts.split_at(tile);
        let at = packed.len();
        packed.resize(at + tile * inputs, 0.0);
        for (lane, &start) in taken.iter().enumerate() {
            let numbers = &rows.data[start..start + inputs];
            for (place, &number) in packed[at + lane..].iter_mut().step_by(tile).zip(numbers) {
                *place = number;
            }
        }
        starts = rest;
        if starts.is_empty() {
            break;
        }
    }
    packed
}

/// Adds the product of one tile with one panel to `sums`, whose rows are `stride` apart.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn add_tile<S: Simd, const VECTORS: usize, const ROWS: usize>(
    simd: S,
    inputs: &[f32],
    panel: &[S::f32s],
    sums: &mut [f32],
    stride: usize,
) {
    let mut totals = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    let (inputs, _) = inputs.as_chunks::<ROWS>();
    let (panel, _) = panel.as_chunks::<VECTORS>();
    for (inputs, weights) in inputs.iter().zip(panel) {
        for (totals, &input) in totals.iter_mut().zip(inputs) {
            let input = simd.splat_f32s(input);
            for (total, &weight) in totals.iter_mut().zip(weights) {
                *total = simd.mul_add_e_f32s(input, weight, *total);
            }
        }
    }
    for (row, totals) in totals.iter().enumerate() {
        let sums = S::as_mut_simd_f32s(&mut sums[row * stride..row * stride + PANEL]).0;
        for (sum, &total) in sums.iter_mut().zip(totals) {
            *sum = simd.add_f32s(*sum, total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, so that sums are exact whatever their order.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| f32::from(u8::try_from((i * 31 + seed) % 13).unwrap()) - 6.0).collect()
    }

    #[test]
    fn products_of_every_number_of_rows_are_right() {
        let (inputs, outputs) = (5, 2 * PANEL);
        let weights = numbers(inputs * outputs, 1);
        let packed = Weights::new(&weights, outputs);
        for rows in 1..40 {
            let data = numbers(rows + inputs, 2);
            // Overlapping rows, as convolutions have them.
            let starts: Vec<usize> = (0..rows).collect();
            let mut sums = numbers(rows * outputs, 3);
            let before = sums.clone();
            packed.add_product(Rows { data: &data, starts: &starts }, &mut sums);
            for (place, &sum) in sums.iter().enumerate() {
                let (row, column) = (place / outputs, place % outputs);
                let product: f32 =
                    (0..inputs).map(|i| data[row + i] * weights[i * outputs + column]).sum();
                assert!((sum - before[place] - product).abs() < 1e-3, "{rows} rows, {place}");
            }
        }
    }
}
