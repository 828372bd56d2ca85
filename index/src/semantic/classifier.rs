//! Regularised least squares: directions that separate the rules of a channel.
//!
//! A rule's row `w` is fitted to give 1 for the centroid of its own phrases and 0 for those of all
//! other rules and for ordinary chat, and to be small: `w = λ (CᵀC + βBᵀB + λI)⁻¹ c` for the
//! centroids `C` and the background `B`. Features that every rule has ("how do I …") or that occur
//! in all chat then count little. The more alike the rules, the smaller the values of a row: this
//! lets one threshold serve channels of three rules and of a thousand.

use crate::matrix::{InputRows, PANEL, Weights};

/// λ. Measured over the development sets: 1.5 to 6 are equally good.
pub(super) const RIDGE: f32 = 3.0;
/// β. Measured in the same way: 0.1 to 1 are equally good.
const BACKGROUND_SHARE: f32 = 0.3;
/// Number of vectors whose products are summed at a time: enough to keep the sums busy, few enough
/// for the processor's cache.
const GROUP: usize = 256;

/// Returns the length to which vectors of `dimensions` numbers are padded with zeros, here and in
/// the input of this module.
pub(super) fn padded(dimensions: usize) -> usize {
    dimensions.next_multiple_of(PANEL)
}

/// Sums of products of vectors' numbers: a symmetric matrix.
#[derive(Clone)]
pub(super) struct Gram {
    width: usize,
    sums: Vec<f32>,
}

impl Gram {
    /// Computes the sums of the background, for vectors of `dimensions` numbers.
    pub(super) fn of_background(vectors: &[f32], dimensions: usize) -> Self {
        let width = padded(dimensions);
        let mut rows = vec![0.0; vectors.len() / dimensions * width];
        for (row, vector) in rows.chunks_exact_mut(width).zip(vectors.chunks_exact(dimensions)) {
            row[..dimensions].copy_from_slice(vector);
        }
        let mut gram = Self { width, sums: vec![0.0; width * width] };
        gram.add(&rows);
        gram.sums.iter_mut().for_each(|sum| *sum *= BACKGROUND_SHARE);
        gram
    }

    /// Adds the products of padded vectors.
    fn add(&mut self, vectors: &[f32]) {
        for group in vectors.chunks(GROUP * self.width) {
            let columns = transposed(group, self.width);
            let starts = starts(self.width, group.len() / self.width);
            let group = Weights::new(group, self.width, 1.0);
            group.add_product(InputRows { data: &columns, starts: &starts }, &mut self.sums);
        }
    }

    /// Returns the classifier of rules with these `centroids`, padded.
    pub(super) fn classifier(&self, centroids: &[f32]) -> Classifier {
        let mut gram = self.clone();
        gram.add(centroids);
        let Self { width, mut sums } = gram;
        sums.iter_mut().step_by(width + 1).for_each(|sum| *sum += RIDGE);
        invert(&mut sums, width);
        Classifier(Weights::new(&sums, width, RIDGE))
    }
}

/// λ times the inverse of the matrix of the least squares.
pub(super) struct Classifier(Weights<f32>);

impl Classifier {
    /// Returns the rows of rules with these centroids, padded as they are.
    pub(super) fn rows(&self, centroids: &[f32]) -> Vec<f32> {
        let width = self.0.outputs();
        let mut rows = vec![0.0; centroids.len()];
        let starts = starts(centroids.len() / width, width);
        self.0.add_product(InputRows { data: centroids, starts: &starts }, &mut rows);
        rows
    }
}

/// Returns the start of each of `count` rows of `width` numbers.
fn starts(count: usize, width: usize) -> Vec<usize> {
    (0..count).map(|row| row * width).collect()
}

/// Returns the columns of rows of `width` numbers, one after another.
fn transposed(rows: &[f32], width: usize) -> Vec<f32> {
    let height = rows.len() / width;
    let mut columns = vec![0.0; rows.len()];
    for (at, row) in rows.chunks_exact(width).enumerate() {
        for (place, &number) in columns[at..].iter_mut().step_by(height).zip(row) {
            *place = number;
        }
    }
    columns
}

/// Inverts a symmetric matrix whose least eigenvalue is at least [`RIDGE`], by Gauss and Jordan:
/// [`PANEL`] rows at a time are solved for their own unknowns, which are then replaced everywhere
/// else. No pivoting: such a matrix needs none.
fn invert(matrix: &mut [f32], width: usize) {
    for start in (0..width).step_by(PANEL) {
        let mut columns: Vec<f32> = Vec::with_capacity(width * PANEL);
        for row in matrix.chunks_exact(width) {
            columns.extend_from_slice(&row[start..start + PANEL]);
        }
        let block = inverse_of_block(&columns[start * PANEL..][..PANEL * PANEL]);
        let own = start * width..(start + PANEL) * width;
        let mut solved = vec![0.0; PANEL * width];
        Weights::new(&matrix[own.clone()], width, 1.0)
            .add_product(InputRows { data: &block, starts: &starts(PANEL, PANEL) }, &mut solved);
        put(&mut solved, &block, width, start);
        put(matrix, &vec![0.0; width * PANEL], width, start);
        Weights::new(&solved, width, -1.0)
            .add_product(InputRows { data: &columns, starts: &starts(width, PANEL) }, matrix);
        matrix[own].copy_from_slice(&solved);
    }
}

/// Copies rows of [`PANEL`] numbers into the rows of `matrix`, from column `start` on.
fn put(matrix: &mut [f32], rows: &[f32], width: usize, start: usize) {
    for (row, numbers) in matrix.chunks_exact_mut(width).zip(rows.chunks_exact(PANEL)) {
        row[start..start + PANEL].copy_from_slice(numbers);
    }
}

/// Returns the inverse of a block of [`PANEL`] rows and columns, row by row.
fn inverse_of_block(block: &[f32]) -> Vec<f32> {
    let mut rows: Vec<[f32; PANEL]> = block.as_chunks().0.to_vec();
    for own in 0..rows.len() {
        // At least RIDGE but for rounding: the rest of the matrix has no negative part.
        let pivot = std::mem::replace(&mut rows[own][own], 1.0).max(RIDGE / 2.0);
        rows[own].iter_mut().for_each(|number| *number /= pivot);
        let solved = rows[own];
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != own) {
            let share = std::mem::take(&mut row[own]);
            row.iter_mut().zip(&solved).for_each(|(number, solved)| *number -= share * solved);
        }
    }
    rows.concat()
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;
    use super::*;

    #[test]
    fn a_row_solves_the_equations() {
        let width = 2 * PANEL;
        let (background, centroids) = (numbers(1, 5 * width), numbers(2, 300 * width));
        let rows = Gram::of_background(&background, width).classifier(&centroids).rows(&centroids);
        for (row, own) in rows.chunks_exact(width).zip(centroids.chunks_exact(width)).step_by(40) {
            // (CᵀC + βBᵀB + λI) w = λ c, computed vector by vector.
            let mut product: Vec<f32> = row.iter().map(|number| RIDGE * number).collect();
            for (vectors, share) in [(&centroids, 1.0), (&background, BACKGROUND_SHARE)] {
                for vector in vectors.chunks_exact(width) {
                    let along: f32 = vector.iter().zip(row).map(|(a, b)| share * a * b).sum();
                    product.iter_mut().zip(vector).for_each(|(sum, number)| *sum += along * number);
                }
            }
            for (product, number) in product.iter().zip(own) {
                assert!((product - RIDGE * number).abs() < 1e-2, "{product} {number}");
            }
        }
    }

    #[test]
    fn padding_changes_nothing() {
        let (dimensions, width) = (PANEL - 5, PANEL);
        let background = numbers(1, 5 * dimensions);
        let mut centroids = numbers(2, 3 * width);
        centroids.chunks_exact_mut(width).for_each(|row| row[dimensions..].fill(0.0));
        let gram = Gram::of_background(&background, dimensions);
        for row in gram.classifier(&centroids).rows(&centroids).chunks_exact(width) {
            assert!(row[..dimensions].iter().any(|&number| number.abs() > 1e-3));
            assert!(row[dimensions..].iter().all(|&number| number == 0.0));
        }
    }
}
