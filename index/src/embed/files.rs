//! The files of an installed model.

/// File that marks the folder as a model, and holds its version.
pub(super) const VERSION: &str = "VERSION";

/// Content of the version file. The number rises when the format of a file changes.
pub(super) const CURRENT: &str = "use-multilingual-v3, format 1\n";

/// File of the double array trie of the pieces.
pub(super) const PIECES: &str = "pieces.trie";

/// File of the score of every piece.
pub(super) const SCORES: &str = "scores.f32";

/// File of the compiled map of the normalizer.
pub(super) const CHARSMAP: &str = "charsmap";

/// File of the weights of the network.
pub(super) const WEIGHTS: &str = "weights.f32";

/// File of the vectors of the pieces, a byte a number.
pub(super) const TABLE: &str = "vectors.u8";

/// File of the scales of the vectors' bytes.
pub(super) const SCALES: &str = "scales.f32";
