//! The network of Universal Sentence Encoder multilingual v3 (Yang et al. 2019, the convolutional
//! variant): every piece has a vector of 512 numbers; three branches process 2, 3 and 5 neighbours
//! in two residual convolutions of 256 channels each; everything is normalized and projected,
//! summed over the text and divided by the square root of its length; a residual network of three
//! layers and a hyperbolic tangent end it.

use super::ModelError;
use super::layers::{Linear, Norm, add, rectify};
use crate::matrix::{InputRows, Weights};

/// Length of a piece's vector and of a text's.
pub(super) const WIDTH: usize = 512;

/// Number of channels of a convolution.
const CHANNELS: usize = 256;

/// Width of the hidden layers at the end.
const HIDDEN: usize = 320;

/// Numbers of a piece after the branches: its vector, then the branches' channels.
const FEATURES: usize = WIDTH + BRANCHES.len() * CHANNELS;

/// Window of each branch in pieces, and how many of them come before the current one.
const BRANCHES: [(usize, usize); 3] = [(2, 0), (3, 1), (5, 2)];

/// Number of zeros before and after every text, so that no branch reads a neighbouring text.
const MARGIN: usize = 2;

/// Principal components of the model's vectors for the texts that the built-in table was distilled
/// with, the most informative first, 16 bits a number (1 is 32767). Vectors are rotated into this
/// basis: that changes no cosine, and their leading numbers alone are a good approximation.
const ROTATION: &[u8] = include_bytes!("../../data/rotation.i16");

/// The arrays of the weights file in order, by their names in the package.
pub(super) const ARRAYS: [&str; 34] = [
    "proj2", "proj3", "proj5", "proj_b2", "proj_b3", "proj_b5", "ln_g2", "ln_g3", "ln_g5", "ln_b2",
    "ln_b3", "ln_b5", "w1_2", "b1_2", "w2_2", "b2_2", "w1_3", "b1_3", "w2_3", "b2_3", "w1_5",
    "b1_5", "w2_5", "b2_5", "ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "p1", "d1", "d2", "p3", "d3",
];

/// The network with its weights.
pub(super) struct Network {
    projection: Linear,
    projection_norm: Norm,
    branches: [Branch; 3],
    features_norm: Norm,
    sum: Linear,
    end: End,
}

/// Two residual convolutions.
struct Branch {
    first: Linear,
    second: Linear,
}

/// The layers after the sum.
struct End {
    first: Linear,
    first_residual: Linear,
    second: Linear,
    third: Linear,
    third_residual: Linear,
    fourth: Linear,
    rotation: Linear<i16>,
}

/// A batch of texts, with the number of pieces of each.
#[derive(Clone, Copy)]
pub(super) struct TextBatch<'a> {
    /// Vectors of all pieces of all texts, [`WIDTH`] numbers each.
    pub(super) vectors: &'a [f32],
    /// Number of pieces of each text.
    pub(super) lengths: &'a [usize],
}

impl Network {
    /// Creates the network with the weights `numbers`: the arrays of [`ARRAYS`] one after another.
    pub(super) fn new(numbers: &[f32]) -> Result<Self, ModelError> {
        let mut rest = numbers;
        let network = Self::take(&mut rest).filter(|_| rest.is_empty());
        network.ok_or_else(|| ModelError::damaged("weights", "it has the wrong length"))
    }

    fn take(rest: &mut &[f32]) -> Option<Self> {
        let columns = BRANCHES.len() * CHANNELS;
        Some(Self {
            projection: Linear::side_by_side(rest, WIDTH, [CHANNELS; 3])?,
            projection_norm: Norm::take(rest, columns)?,
            branches: [
                Branch::take(rest, BRANCHES[0].0)?,
                Branch::take(rest, BRANCHES[1].0)?,
                Branch::take(rest, BRANCHES[2].0)?,
            ],
            features_norm: Norm::take(rest, FEATURES)?,
            sum: Linear::take(rest, FEATURES, WIDTH, true)?,
            end: End::take(rest)?,
        })
    }

    /// Returns the vectors of the texts, [`WIDTH`] numbers each, of length 1.
    pub(super) fn run(&self, batch: TextBatch<'_>) -> Vec<f32> {
        let features = self.features(batch);
        let texts = batch.lengths.len();
        let mut sums = vec![0.0; texts * FEATURES];
        let mut pieces = features.chunks_exact(FEATURES);
        for (sum, &length) in sums.chunks_exact_mut(FEATURES).zip(batch.lengths) {
            for piece in pieces.by_ref().take(length) {
                add(sum, piece);
            }
            // The bias belongs to every piece; the sum is divided by the root of their number.
            let root = root(length);
            for number in sum {
                *number /= root;
            }
        }
        let mut encoded = vec![0.0; texts * WIDTH];
        for (row, &length) in encoded.chunks_exact_mut(WIDTH).zip(batch.lengths) {
            row.iter_mut().zip(self.sum.bias()).for_each(|(to, bias)| *to = bias * root(length));
        }
        self.sum.add_rows(&sums, &mut encoded);
        self.end.run(&encoded)
    }

    /// Returns every piece's vector with the outputs of the branches, normalized.
    fn features(&self, batch: TextBatch<'_>) -> Vec<f32> {
        let pieces = batch.vectors.len() / WIDTH;
        let mut projected = self.projection.rows(batch.vectors, pieces);
        self.projection_norm.apply(&mut projected);
        let mut features = vec![0.0; pieces * FEATURES];
        for (row, vector) in
            features.chunks_exact_mut(FEATURES).zip(batch.vectors.chunks_exact(WIDTH))
        {
            row[..WIDTH].copy_from_slice(vector);
        }
        let places = places(batch.lengths);
        for (number, branch) in self.branches.iter().enumerate() {
            let seen: Vec<usize> =
                places.iter().map(|place| (place - BRANCHES[number].1) * CHANNELS).collect();
            let columns = number * CHANNELS..(number + 1) * CHANNELS;
            let input = projected.chunks_exact(BRANCHES.len() * CHANNELS);
            let output = branch.run(input.map(|row| &row[columns.clone()]), &places, &seen);
            let at = WIDTH + number * CHANNELS;
            for (row, output) in
                features.chunks_exact_mut(FEATURES).zip(output.chunks_exact(CHANNELS))
            {
                row[at..at + CHANNELS].copy_from_slice(output);
            }
        }
        self.features_norm.apply(&mut features);
        features
    }
}

impl Branch {
    fn take(rest: &mut &[f32], neighbours: usize) -> Option<Self> {
        let inputs = neighbours * CHANNELS;
        Some(Self {
            first: Linear::take(rest, inputs, CHANNELS, true)?,
            second: Linear::take(rest, inputs, CHANNELS, true)?,
        })
    }

    /// Returns the channels of every piece. Piece number i is at row `places[i]` of a matrix with
    /// margins; its window of the branch begins at number `seen[i]` there.
    fn run<'a>(
        &self,
        pieces: impl Iterator<Item = &'a [f32]>,
        places: &[usize],
        seen: &[usize],
    ) -> Vec<f32> {
        let rows = places.last().map_or(0, |last| last + 1 + MARGIN);
        let mut spread = vec![0.0; rows * CHANNELS];
        for (piece, &place) in pieces.zip(places) {
            row_mut(&mut spread, place).copy_from_slice(piece);
        }
        let mut first = self.first.products(InputRows { data: &spread, starts: seen });
        rectify(&mut first);
        for (row, &place) in first.chunks_exact_mut(CHANNELS).zip(places) {
            let spread = row_mut(&mut spread, place);
            add(row, spread);
            spread.copy_from_slice(row);
        }
        let mut second = self.second.products(InputRows { data: &spread, starts: seen });
        rectify(&mut second);
        add(&mut second, &first);
        second
    }
}

impl End {
    fn take(rest: &mut &[f32]) -> Option<Self> {
        Some(Self {
            first: Linear::take(rest, WIDTH, HIDDEN, false)?,
            first_residual: Linear::take(rest, WIDTH, HIDDEN, false)?,
            second: Linear::take(rest, HIDDEN, HIDDEN, false)?,
            third: Linear::take(rest, HIDDEN, WIDTH, false)?,
            third_residual: Linear::take(rest, HIDDEN, WIDTH, false)?,
            fourth: Linear::take(rest, WIDTH, WIDTH, false)?,
            rotation: Linear::without_bias(rotation()),
        })
    }

    fn run(&self, encoded: &[f32]) -> Vec<f32> {
        let texts = encoded.len() / WIDTH;
        let mut first = self.first.rows(encoded, texts);
        rectify(&mut first);
        let mut second = self.first_residual.rows(encoded, texts);
        self.second.add_rows(&first, &mut second);
        rectify(&mut second);
        let mut third = self.third.rows(&second, texts);
        rectify(&mut third);
        let mut last = self.third_residual.rows(&second, texts);
        self.fourth.add_rows(&third, &mut last);
        for number in &mut last {
            *number = number.tanh();
        }
        let mut turned = self.rotation.rows(&last, texts);
        turned.chunks_exact_mut(WIDTH).for_each(super::normalize);
        turned
    }
}

/// Returns the weights of the layer that rotates vectors into the basis of [`ROTATION`].
fn rotation() -> Weights<i16> {
    let mut weights = vec![0; WIDTH * WIDTH];
    for (place, &number) in ROTATION.as_chunks().0.iter().enumerate() {
        let (component, input) = (place / WIDTH, place % WIDTH);
        weights[input * WIDTH + component] = i16::from_le_bytes(number);
    }
    Weights::new(&weights, WIDTH, 1.0 / f32::from(i16::MAX))
}

/// Returns the row of each piece of each text, with a margin before and after every text.
fn places(lengths: &[usize]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut next = MARGIN;
    for length in lengths {
        places.extend(next..next + length);
        next += length + MARGIN;
    }
    places
}

fn row_mut(matrix: &mut [f32], row: usize) -> &mut [f32] {
    &mut matrix[row * CHANNELS..(row + 1) * CHANNELS]
}

#[expect(clippy::cast_precision_loss, reason = "a text has at most some thousand pieces")]
fn root(length: usize) -> f32 {
    (length as f32).sqrt()
}
