//! Regularised least squares: which directions tell the rules of a channel apart.
//!
//! A rule's row `w` is asked to give 1 for the centroid of its own phrases and 0 for those of all
//! other rules and for ordinary chat, and not to be large: `w = λ (CᵀC + βBᵀB + λI)⁻¹ c` for the
//! centroids `C` and the background `B`. What every rule has in common ("how do I …") and what
//! people say all the time then counts little. The more alike the rules, the smaller what a row
//! gives: this is what lets one threshold serve channels of three rules and of a thousand.

use pulp::Arch;

/// λ. Measured over the development sets: 1.5 to 6 are equally good.
const RIDGE: f32 = 3.0;
/// β. Measured in the same way: 0.1 to 1 are equally good.
const BACKGROUND_SHARE: f32 = 0.3;

/// The sums of products of vectors' numbers: a symmetric matrix, its upper triangle filled.
#[derive(Clone)]
pub(super) struct Gram {
    width: usize,
    sums: Vec<f32>,
}

impl Gram {
    /// Of the background, for vectors of `dimensions` numbers.
    pub(super) fn of_background(vectors: &[f32], dimensions: usize) -> Self {
        let mut gram = Self { width: dimensions, sums: vec![0.0; dimensions * dimensions] };
        gram.add(vectors);
        gram.sums.iter_mut().for_each(|sum| *sum *= BACKGROUND_SHARE);
        gram
    }

    fn add(&mut self, vectors: &[f32]) {
        let Self { width, sums } = self;
        Arch::new().dispatch(
            #[inline(always)]
            || add_products(vectors, *width, sums),
        );
    }

    /// The classifier of rules with these `centroids`.
    pub(super) fn classifier(&self, centroids: &[f32]) -> Classifier {
        let mut gram = self.clone();
        gram.add(centroids);
        Arch::new().dispatch(
            #[inline(always)]
            || Classifier::factor(&gram),
        )
    }
}

/// Adds the products of the numbers of each of `vectors` to the upper triangle `sums`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is not inlined is compiled without the features")]
fn add_products(vectors: &[f32], width: usize, sums: &mut [f32]) {
    let zeros = vec![0.0; width];
    // Four at a time: a row of sums is read and written a quarter as often.
    for group in vectors.chunks(4 * width.max(1)) {
        let mut rows = group.chunks_exact(width);
        let four: [&[f32]; 4] = std::array::from_fn(|_| rows.next().unwrap_or(&zeros));
        for (at, sums) in sums.chunks_exact_mut(width).enumerate() {
            let own = four.map(|row| row[at]);
            let [first, second, third, fourth] = four.map(|row| &row[at..]);
            let numbers = first.iter().zip(second).zip(third.iter().zip(fourth));
            for (sum, ((first, second), (third, fourth))) in sums[at..].iter_mut().zip(numbers) {
                *sum += (own[0] * first + own[1] * second) + (own[2] * third + own[3] * fourth);
            }
        }
    }
}

/// The matrix of the least squares as the product of a triangle and its mirror image.
pub(super) struct Classifier {
    width: usize,
    /// Cholesky's factor, row by row; its upper triangle is not read.
    lower: Vec<f32>,
    /// The same, column by column.
    upper: Vec<f32>,
}

impl Classifier {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn factor(gram: &Gram) -> Self {
        let width = gram.width;
        let mut lower = vec![0.0_f32; width * width];
        for row in 0..width {
            for column in 0..=row {
                let known =
                    dot(&lower[row * width..][..column], &lower[column * width..][..column]);
                let sum = gram.sums[column * width + row] - known;
                lower[row * width + column] = if row == column {
                    // At least RIDGE but for rounding: the rest of the matrix has no negative part.
                    (sum + RIDGE).max(RIDGE / 2.0).sqrt()
                } else {
                    sum / lower[column * width + column]
                };
            }
        }
        let mut upper = vec![0.0; width * width];
        for row in 0..width {
            for column in 0..=row {
                upper[column * width + row] = lower[row * width + column];
            }
        }
        Self { width, lower, upper }
    }

    /// Adds `share` of the row for a rule with this centroid to `sum`.
    pub(super) fn add_row(&self, centroid: &[f32], share: f32, sum: &mut [f32]) {
        let solved = Arch::new().dispatch(
            #[inline(always)]
            || self.solve(centroid),
        );
        sum.iter_mut().zip(solved).for_each(|(sum, number)| *sum += share * RIDGE * number);
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is compiled without the features"
    )]
    fn solve(&self, centroid: &[f32]) -> Vec<f32> {
        let width = self.width;
        let mut solved = centroid.to_vec();
        for row in 0..width {
            let known = dot(&self.lower[row * width..][..row], &solved[..row]);
            solved[row] = (solved[row] - known) / self.lower[row * width + row];
        }
        for row in (0..width).rev() {
            let rest = row + 1..width;
            let known = dot(&self.upper[row * width..][rest.clone()], &solved[rest]);
            solved[row] = (solved[row] - known) / self.upper[row * width + row];
        }
        solved
    }
}

/// The sum of products, in many parts, so that several registers of them are computed at a time.
#[inline(always)]
fn dot(left: &[f32], right: &[f32]) -> f32 {
    const PARTS: usize = 32;
    let (left, left_rest) = left.as_chunks::<PARTS>();
    let (right, right_rest) = right.as_chunks::<PARTS>();
    let mut sums = [0.0_f32; PARTS];
    for (left, right) in left.iter().zip(right) {
        for at in 0..PARTS {
            sums[at] += left[at] * right[at];
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_solves_the_equations() {
        let dimensions = 12;
        let numbers = |seed: usize, count: usize| -> Vec<f32> {
            (0..count)
                .map(|at| f32::from(u16::try_from((at + 1) * (seed + 3)).unwrap()).sin())
                .collect()
        };
        let (background, centroids) = (numbers(1, 5 * 12), numbers(2, 7 * 12));
        let classifier = Gram::of_background(&background, dimensions).classifier(&centroids);
        let mut row = vec![0.0; dimensions];
        let own = &centroids[..dimensions];
        classifier.add_row(own, 1.0, &mut row);
        // (CᵀC + βBᵀB + λI) w = λ c, computed vector by vector.
        let mut product: Vec<f32> = row.iter().map(|number| RIDGE * number).collect();
        for (vectors, share) in [(&centroids, 1.0), (&background, BACKGROUND_SHARE)] {
            for vector in vectors.chunks_exact(dimensions) {
                let along = share * dot(vector, &row);
                product.iter_mut().zip(vector).for_each(|(sum, number)| *sum += along * number);
            }
        }
        for (product, number) in product.iter().zip(own) {
            assert!((product - RIDGE * number).abs() < 1e-3, "{product} {number}");
        }
    }
}
