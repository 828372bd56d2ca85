//! The folders of an index and its generations: created, reused or deleted.

use std::fs;
use std::io;
use std::path::Path;

use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::{Index, TantivyError};

use super::schema;
use super::{IndexError, IndexOptions, engine, generation};

/// File with the version that wrote the folder. Written first, so that an index without it is of
/// another version.
pub(super) const VERSION_FILE: &str = "index-version";
/// tantivy's list of segments: it marks an index.
pub(super) const META_FILE: &str = "meta.json";
/// Number of the first generation.
const FIRST: u64 = 1;

/// Version of the index format: fields, order, folding, units. Raised whenever it changes; an index
/// of another version is not read.
const STAMP: &str = "10";
/// Version of the format without [`IndexOptions::han_variants`].
const STAMP_APART: &str = "10 han apart";

/// State of the folder when an index was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// An index of this version; it is reused.
    Kept,
    /// No index; an empty one was created.
    Created,
    /// An index of another version (`None`: unknown); it was deleted.
    OtherVersion(Option<u32>),
    /// An index that cannot be read; it was deleted.
    Damaged,
}

/// Opens or creates the index in `dir`; returns its current generation and the number of that.
///
/// # Errors
/// [`IndexError::WriterBusy`] if there is something to create or delete while another process does
/// that or writes the index.
pub(super) fn open(dir: &Path, options: IndexOptions) -> Result<(u64, Index, Opened), IndexError> {
    fs::create_dir_all(dir)?;
    if let Some(number) = generation::current(dir)?
        && let Ok(index) = read(&generation::folder(dir, number), options)?
    {
        return Ok((number, index, Opened::Kept));
    }
    // Looked at again under the lock: what another process creates meanwhile is not deleted.
    let _switch = generation::try_lock_exclusive(dir)?.ok_or(IndexError::WriterBusy)?;
    if let Some(number) = generation::current(dir)? {
        let (index, opened) = open_generation(&generation::folder(dir, number), options)?;
        return Ok((number, index, opened));
    }
    let before = open_without_generations(dir)?;
    // A process may have died between creating it and naming it.
    let (index, opened) = open_generation(&generation::folder(dir, FIRST), options)?;
    generation::set_current(dir, FIRST)?;
    Ok((FIRST, index, if before == Opened::Created { opened } else { before }))
}

/// Deletes the index of a folder without generations, as the first version wrote it.
fn open_without_generations(dir: &Path) -> Result<Opened, IndexError> {
    if !dir.join(META_FILE).try_exists()? {
        return Ok(Opened::Created);
    }
    let found = stamp(dir)?.and_then(|stamp| version(&stamp));
    wipe(dir)?;
    Ok(Opened::OtherVersion(found))
}

/// Opens the index of one generation, or deletes what is in its place and creates an empty one.
fn open_generation(dir: &Path, options: IndexOptions) -> Result<(Index, Opened), IndexError> {
    let replaced = match read(dir, options)? {
        Ok(index) => return Ok((index, Opened::Kept)),
        Err(replaced) => replaced,
    };
    if replaced != Opened::Created {
        wipe(dir)?;
    }
    Ok((create(dir, options)?, replaced))
}

/// Opens the index of one generation; returns what is there instead if there is none that can be
/// read.
fn read(dir: &Path, options: IndexOptions) -> Result<Result<Index, Opened>, IndexError> {
    if !dir.join(META_FILE).try_exists()? {
        return Ok(Err(Opened::Created));
    }
    let found = stamp(dir)?;
    if found.as_deref() != Some(stamp_of(options)) {
        return Ok(Err(Opened::OtherVersion(found.and_then(|stamp| version(&stamp)))));
    }
    match Index::open_in_dir(dir).and_then(|index| index.reader().map(|_| index)) {
        Ok(mut index) => {
            index.set_tokenizers(schema::tokenizers(options));
            Ok(Ok(index))
        }
        Err(error) if is_damage(&error) => Ok(Err(Opened::Damaged)),
        Err(error) => Err(error.into()),
    }
}

/// Opens the current generation in `dir` if this version can read it; returns its number as well.
pub(super) fn open_existing(dir: &Path) -> Result<Option<(u64, Index, IndexOptions)>, IndexError> {
    loop {
        let Some(number) = generation::current(dir)? else {
            return Ok(None);
        };
        match open_existing_generation(&generation::folder(dir, number)) {
            Ok(found) => return Ok(found.map(|(index, options)| (number, index, options))),
            // It may have been replaced and removed while it was opened.
            Err(_) if generation::current(dir)? != Some(number) => {}
            Err(error) => return Err(error),
        }
    }
}

fn open_existing_generation(dir: &Path) -> Result<Option<(Index, IndexOptions)>, IndexError> {
    let found = stamp(dir)?;
    let known = [true, false].map(|han_variants| IndexOptions { han_variants });
    let options = known.into_iter().find(|known| found.as_deref() == Some(stamp_of(*known)));
    let Some(options) = options else {
        return Ok(None);
    };
    if !dir.join(META_FILE).try_exists()? {
        return Ok(None);
    }
    let mut index = Index::open_in_dir(dir)?;
    index.set_tokenizers(schema::tokenizers(options));
    Ok(Some((index, options)))
}

/// Creates an empty index.
pub(super) fn create(dir: &Path, options: IndexOptions) -> Result<Index, IndexError> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(VERSION_FILE), stamp_of(options))?;
    let tokenizers = schema::tokenizers(options);
    let builder = Index::builder().schema(schema::schema().0).tokenizers(tokenizers);
    Ok(builder.settings(schema::settings()).create_in_dir(dir)?)
}

/// Returns the content of the version file for an index of this version.
fn stamp_of(options: IndexOptions) -> &'static str {
    if options.han_variants { STAMP } else { STAMP_APART }
}

/// Returns the version in a stamp.
fn version(stamp: &str) -> Option<u32> {
    stamp.split_whitespace().next()?.parse().ok()
}

/// Returns the content of the version file, if it exists.
fn stamp(dir: &Path) -> Result<Option<String>, io::Error> {
    match fs::read_to_string(dir.join(VERSION_FILE)) {
        Ok(stamp) => Ok(Some(stamp.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether an index that fails to open with this error will never open again.
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

/// Removes the files of an index, and no other file in the folder.
fn wipe(dir: &Path) -> Result<(), IndexError> {
    let directory = MmapDirectory::open(dir).map_err(TantivyError::from)?;
    let _lock = directory.acquire_lock(&INDEX_WRITER_LOCK).map_err(engine::lock_error)?;
    // The list of segments goes first: without it, the rest after a crash is no index.
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

/// Returns whether tantivy wrote this file: segments are named by 32 hexadecimal digits.
fn is_index_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let is_segment = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_segment || [VERSION_FILE, ".managed.json"].contains(&name)
}
