//! The full model: Universal Sentence Encoder multilingual v3 from an installed folder.

use std::path::Path;
use std::{fmt, fs};

use tantivy::directory::{Directory, MmapDirectory, OwnedBytes};

use super::charsmap::Charsmap;
use super::network::{Network, TextBatch, WIDTH};
use super::pieces::Pieces;
use super::{Embedder, ModelError, files, npy};

/// Number of pieces that are computed together, unless one text has more: enough that the weights
/// are read seldom, few enough that the data between the layers stays in the processor's cache.
const BATCH: usize = 256;

/// Maximum number of pieces of a text that are used, for memory's sake; about 4,000 letters.
const LONGEST: usize = 1_000;

/// Pieces for unknown text, for the beginning and for the end.
const UNKNOWN: u32 = 0;
const BEGIN: u32 = 1;
const END: u32 = 2;

/// Number of parts of the vector table with a scale of their own; piece `i` is in part `i % PARTS`.
pub(super) const PARTS: usize = 17;

/// The full model.
pub struct FullModel {
    charsmap: Charsmap,
    pieces: Pieces,
    network: Network,
    vectors: Vectors,
}

/// The vectors of the pieces, one byte a number.
struct Vectors {
    table: OwnedBytes,
    /// Value of one step of the byte, for every part.
    scales: Vec<f32>,
    /// Value of a byte of 0, for every part.
    bases: Vec<f32>,
}

impl FullModel {
    /// Name of the model.
    pub const NAME: &str = "use-multilingual-v3";

    /// Opens the model in `folder`, where [`super::install`] put it. Its files are memory-mapped
    /// and read on demand; an installation that replaces the folder meanwhile does no harm.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let version = folder.join(files::VERSION);
        let found = fs::read_to_string(&version).map_err(ModelError::io(&version))?;
        if found != files::CURRENT {
            return Err(ModelError::damaged(files::VERSION, "it is of another version"));
        }
        let directory = MmapDirectory::open(folder)
            .map_err(|error| ModelError::io(folder)(std::io::Error::other(error)))?;
        let read = |name: &str| {
            let file = directory.open_read(Path::new(name));
            let bytes = file.map_err(std::io::Error::other).and_then(|file| file.read_bytes());
            bytes.map_err(ModelError::io(&folder.join(name)))
        };
        Ok(Self {
            charsmap: Charsmap::new(&read(files::CHARSMAP)?)?,
            pieces: Pieces::new(read(files::PIECES)?, read(files::SCORES)?)?,
            network: Network::new(&npy::from_bytes(&read(files::WEIGHTS)?))?,
            vectors: Vectors::new(read(files::TABLE)?, &npy::from_bytes(&read(files::SCALES)?))?,
        })
    }

    /// Returns the numbers of the pieces of `text`, begin and end included; empty for an empty
    /// text, and for one that the model does not know most of.
    fn tokens(&self, text: &str) -> Vec<u32> {
        let cut = self.pieces.cut(&self.charsmap.normalize(text));
        if cut.is_empty() {
            return Vec::new();
        }
        let cut = cut.into_iter().take(LONGEST);
        let cut = cut.map(|piece| piece.unwrap_or(UNKNOWN));
        std::iter::once(BEGIN).chain(cut).chain(std::iter::once(END)).collect()
    }

    /// Embeds the texts of these tokens into `vectors`.
    fn embed_batch(&self, batch: &[(usize, Vec<u32>)], embedded: &mut [f32]) {
        let lengths: Vec<usize> = batch.iter().map(|(_, tokens)| tokens.len()).collect();
        let mut vectors = vec![0.0; lengths.iter().sum::<usize>() * WIDTH];
        let tokens = batch.iter().flat_map(|(_, tokens)| tokens);
        for (vector, &token) in vectors.chunks_exact_mut(WIDTH).zip(tokens) {
            self.vectors.read(token, vector);
        }
        let output = self.network.run(TextBatch { vectors: &vectors, lengths: &lengths });
        for ((text, _), vector) in batch.iter().zip(output.chunks_exact(WIDTH)) {
            embedded[text * WIDTH..(text + 1) * WIDTH].copy_from_slice(vector);
        }
    }
}

impl Embedder for FullModel {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn dimensions(&self) -> usize {
        WIDTH
    }

    fn embed(&self, texts: &[&str]) -> Vec<f32> {
        let mut embedded = vec![0.0; texts.len() * WIDTH];
        let mut batch: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut pieces = 0;
        for (number, text) in texts.iter().enumerate() {
            let tokens = self.tokens(text);
            if pieces > 0 && pieces + tokens.len() > BATCH {
                self.embed_batch(&batch, &mut embedded);
                batch.clear();
                pieces = 0;
            }
            pieces += tokens.len();
            if !tokens.is_empty() {
                batch.push((number, tokens));
            }
        }
        self.embed_batch(&batch, &mut embedded);
        embedded
    }
}

impl fmt::Debug for FullModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FullModel").finish_non_exhaustive()
    }
}

impl Vectors {
    /// Creates the table from the scales of all parts followed by their bases.
    fn new(table: OwnedBytes, scales: &[f32]) -> Result<Self, ModelError> {
        if scales.len() != 2 * PARTS || !table.len().is_multiple_of(WIDTH) {
            return Err(ModelError::damaged(files::TABLE, "it has the wrong length"));
        }
        let (scales, bases) = scales.split_at(PARTS);
        Ok(Self { table, scales: scales.to_vec(), bases: bases.to_vec() })
    }

    /// Writes the vector of a piece into `vector`; leaves it if there is none.
    fn read(&self, token: u32, vector: &mut [f32]) {
        let token = token as usize;
        let (scale, base) = (self.scales[token % PARTS], self.bases[token % PARTS]);
        let row = self.table.get(token * WIDTH..(token + 1) * WIDTH).unwrap_or_default();
        for (number, &byte) in vector.iter_mut().zip(row) {
            *number = f32::from(byte) * scale + base;
        }
    }
}
