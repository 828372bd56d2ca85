//! Training texts: the content of the files, and every piece as a text of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Maximum number of letters of a useful text; messages are short.
const LONGEST: usize = 100;

/// Returns all texts once, in a deterministic shuffled order.
pub(crate) fn read(inputs: &[String], pieces: &[(String, f32)]) -> io::Result<Vec<String>> {
    let mut texts: BTreeSet<String> =
        pieces.iter().map(|(piece, _)| piece.replace('\u{2581}', " ").trim().to_owned()).collect();
    for file in files(inputs)? {
        let text = fs::read_to_string(file)?;
        let lines = text.lines().map(str::trim).filter(|line| line.chars().count() <= LONGEST);
        texts.extend(lines.map(str::to_owned));
    }
    texts.remove("");
    let mut texts: Vec<String> = texts.into_iter().collect();
    shuffle(&mut texts, 1);
    Ok(texts)
}

/// Returns the files, and the text files in the folders.
fn files(inputs: &[String]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for input in inputs.iter().map(Path::new) {
        if input.is_dir() {
            for entry in fs::read_dir(input)? {
                files.push(entry?.path());
            }
        } else {
            files.push(input.to_owned());
        }
    }
    files.retain(|file| file.extension().is_none_or(|extension| extension == "txt"));
    Ok(files)
}

/// Shuffles `items` (Fisher and Yates) by numbers derived from `seed` (Marsaglia's xorshift).
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for end in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state >> 11).unwrap_or_default() % (end + 1);
        items.swap(end, other);
    }
}
