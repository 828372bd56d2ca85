//! The folder of an index: made, kept or thrown away.

use std::fs;
use std::io;
use std::path::Path;

use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::{Index, TantivyError};

use super::schema::{self, VERSION};
use super::{IndexError, writer};

/// Holds the version that wrote the folder. Written before anything else, so that an index without
/// it is none of this version's.
const VERSION_FILE: &str = "index-version";
/// tantivy's list of segments: there is an index where it is.
const META_FILE: &str = "meta.json";

/// What was found where an index was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// An index of this version; it was kept.
    Kept,
    /// Nothing; an empty index was made.
    Created,
    /// An index of another version (`None`: it did not say which); it was thrown away.
    OtherVersion(Option<u32>),
    /// An index that cannot be read; it was thrown away.
    Damaged,
}

/// Opens or makes the index in `dir`.
pub(super) fn open(dir: &Path) -> Result<(Index, Opened), IndexError> {
    fs::create_dir_all(dir)?;
    if !dir.join(META_FILE).try_exists()? {
        return Ok((create(dir)?, Opened::Created));
    }
    let found = version(dir)?;
    if found != Some(VERSION) {
        wipe(dir)?;
        return Ok((create(dir)?, Opened::OtherVersion(found)));
    }
    match Index::open_in_dir(dir).and_then(|index| index.reader().map(|_| index)) {
        Ok(mut index) => {
            index.set_tokenizers(schema::tokenizers());
            Ok((index, Opened::Kept))
        }
        Err(error) if is_damage(&error) => {
            wipe(dir)?;
            Ok((create(dir)?, Opened::Damaged))
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the index in `dir` if this version can read it.
pub(super) fn open_existing(dir: &Path) -> Result<Option<Index>, IndexError> {
    if version(dir)? != Some(VERSION) || !dir.join(META_FILE).try_exists()? {
        return Ok(None);
    }
    let mut index = Index::open_in_dir(dir)?;
    index.set_tokenizers(schema::tokenizers());
    Ok(Some(index))
}

fn create(dir: &Path) -> Result<Index, IndexError> {
    fs::write(dir.join(VERSION_FILE), VERSION.to_string())?;
    let builder = Index::builder().schema(schema::schema().0).tokenizers(schema::tokenizers());
    Ok(builder.create_in_dir(dir)?)
}

/// The version that wrote the folder, if it says so.
fn version(dir: &Path) -> Result<Option<u32>, io::Error> {
    match fs::read_to_string(dir.join(VERSION_FILE)) {
        Ok(version) => Ok(version.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an index that fails to open like this will never open again.
fn is_damage(error: &TantivyError) -> bool {
    matches!(
        error,
        TantivyError::DataCorruption(_)
            | TantivyError::SchemaError(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::OpenReadError(
                OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_)
            )
    )
}

/// Removes the files of an index, and nothing else that may lie in the folder.
fn wipe(dir: &Path) -> Result<(), IndexError> {
    let directory = MmapDirectory::open(dir).map_err(TantivyError::from)?;
    let _lock = directory.acquire_lock(&INDEX_WRITER_LOCK).map_err(writer::lock_error)?;
    // The list of segments goes first: without it, what is left after a crash is no index.
    remove(&dir.join(META_FILE))?;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if is_index_file(&path) {
            remove(&path)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), io::Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether tantivy wrote this file: segments are named by 32 hexadecimal digits.
fn is_index_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let is_segment = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_segment || [VERSION_FILE, ".managed.json"].contains(&name)
}
