//! The files of an installed model.

/// Says that the folder is a model, and of which version.
pub(super) const VERSION: &str = "VERSION";

/// What is in it. The number rises when the form of a file changes.
pub(super) const CURRENT: &str = "use-multilingual-v3, format 1\n";

/// The double array trie of the pieces.
pub(super) const PIECES: &str = "pieces.trie";

/// The score of every piece.
pub(super) const SCORES: &str = "scores.f32";

/// The compiled map of the normalizer.
pub(super) const CHARSMAP: &str = "charsmap";

/// The weights of the network.
pub(super) const WEIGHTS: &str = "weights.f32";

/// The vectors of the pieces, a byte a number.
pub(super) const TABLE: &str = "vectors.u8";

/// What the bytes of the vectors mean.
pub(super) const SCALES: &str = "scales.f32";
