//! Principal components: an orthogonal basis in which the leading numbers of a vector tell most.

/// Number of sweeps over the matrix; the method converges quadratically and needs fewer.
const SWEEPS: usize = 12;

/// Returns the principal components of vectors of `width` numbers, the one with the most variance
/// first, `width` numbers each. Variance is about zero, not about the mean, for cosines are.
pub(crate) fn principal(vectors: &[f32], width: usize) -> Vec<f32> {
    let mut moments = vec![0.0_f64; width * width];
    for vector in vectors.chunks_exact(width) {
        for (row, &number) in moments.chunks_exact_mut(width).zip(vector) {
            for (moment, &other) in row.iter_mut().zip(vector) {
                *moment += f64::from(number * other);
            }
        }
    }
    let components = eigenvectors(&mut moments, width);
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|&a, &b| moments[b * width + b].total_cmp(&moments[a * width + a]));
    order
        .iter()
        .flat_map(|&c| &components[c * width..(c + 1) * width])
        .map(|&n| single(n))
        .collect()
}

/// Returns the eigenvectors of a symmetric matrix, one a row; the matrix becomes diagonal (Jacobi's
/// method).
fn eigenvectors(matrix: &mut [f64], width: usize) -> Vec<f64> {
    let mut vectors = vec![0.0; width * width];
    vectors.iter_mut().step_by(width + 1).for_each(|number| *number = 1.0);
    for _ in 0..SWEEPS {
        for p in 0..width {
            for q in p + 1..width {
                if let Some(turn) = turn(matrix, width, p, q) {
                    turn_rows(matrix, width, (p, q), turn);
                    turn_columns(matrix, width, (p, q), turn);
                    turn_rows(&mut vectors, width, (p, q), turn);
                }
            }
        }
    }
    vectors
}

/// Returns cosine and sine that make the number at row `p`, column `q` zero; `None` if it is zero.
fn turn(matrix: &[f64], width: usize, p: usize, q: usize) -> Option<(f64, f64)> {
    let (pp, qq, pq) = (matrix[p * width + p], matrix[q * width + q], matrix[p * width + q]);
    if pq.abs() <= 1e-12 * (pp * qq).abs().sqrt() {
        return None;
    }
    let slope = (qq - pp) / (2.0 * pq);
    let tangent = slope.signum() / (slope.abs() + slope.hypot(1.0));
    let cosine = tangent.hypot(1.0).recip();
    Some((cosine, tangent * cosine))
}

fn turn_rows(matrix: &mut [f64], width: usize, (p, q): (usize, usize), (cos, sin): (f64, f64)) {
    let (before, after) = matrix.split_at_mut(q * width);
    for (a, b) in before[p * width..(p + 1) * width].iter_mut().zip(&mut after[..width]) {
        (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
    }
}

fn turn_columns(matrix: &mut [f64], width: usize, (p, q): (usize, usize), (cos, sin): (f64, f64)) {
    for row in matrix.chunks_exact_mut(width) {
        (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
    }
}

/// Projects the vectors onto the first `kept` components of `basis`, normalized to length 1.
pub(crate) fn project(vectors: &[f32], basis: &[f32], width: usize, kept: usize) -> Vec<f32> {
    let mut projected = Vec::with_capacity(vectors.len() / width * kept);
    for vector in vectors.chunks_exact(width) {
        let start = projected.len();
        let components = basis.chunks_exact(width).take(kept);
        projected.extend(components.map(|component| dot(component, vector)));
        let length = dot(&projected[start..], &projected[start..]).sqrt().max(f32::MIN_POSITIVE);
        for number in &mut projected[start..] {
            *number /= length;
        }
    }
    projected
}

/// Returns the inner product, in lanes so that it is vectorized.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

#[expect(clippy::cast_possible_truncation, reason = "vectors are in single precision")]
fn single(number: f64) -> f32 {
    number as f32
}
