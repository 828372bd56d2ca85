//! Searching the files below a folder for bytes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

/// Returns every file below a folder, in order; none of a folder that does not exist.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Returns the files below a folder that hold these bytes.
pub(crate) fn holding(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    holding_any(folder, &[bytes]).into_iter().map(|(path, _)| path).collect()
}

/// Returns the files below a folder that hold one of these texts, each with the number of the first.
/// A file that is removed meanwhile holds nothing; a folder that does not exist is an error.
pub(crate) fn holding_any(folder: &Path, texts: &[impl AsRef<[u8]>]) -> Vec<(PathBuf, usize)> {
    assert!(folder.is_dir(), "there is no folder {}", folder.display());
    let needles = AhoCorasick::new(texts).unwrap();
    let held = |path: PathBuf| {
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            bytes => bytes.unwrap(),
        };
        Some((path, needles.find(&bytes)?.pattern().as_usize()))
    };
    below(folder).into_iter().filter_map(held).collect()
}
