//! The handle of an index: opened, refreshed, shared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tantivy::Index;

use super::directory::{self, Opened};
use super::generation::{self, Generation};
use super::schema::{self, Fields};
use super::writer::MessageWriter;
use super::{IndexError, IndexOptions, WriterOptions};

/// An index of chat messages. Clones share one index; when a rebuilt one replaces it, all of them
/// search that.
#[derive(Clone)]
pub struct MessageIndex {
    shared: Arc<Shared>,
}

struct Shared {
    folder: Option<PathBuf>,
    opened: Opened,
    options: IndexOptions,
    fields: Fields,
    generation: ArcSwap<Generation>,
}

impl MessageIndex {
    /// Opens the index in the folder `dir`, which is created if it does not exist. An index of
    /// another version, or one that cannot be read, is deleted ([`MessageIndex::opened`]).
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        Self::open_with(dir, IndexOptions::default())
    }

    /// Does the same as [`MessageIndex::open`], with options.
    pub fn open_with(dir: &Path, options: IndexOptions) -> Result<Self, IndexError> {
        let (number, index, opened) = directory::open(dir, options)?;
        Ok(Self::new(Some(dir), Generation::new(number, index)?, opened, options))
    }

    /// Opens the index in the folder `dir` for searches, while another process writes it. `None` if
    /// there is none, if another version wrote it, or if it has never been committed; creates and
    /// deletes nothing.
    pub fn open_existing(dir: &Path) -> Result<Option<Self>, IndexError> {
        let Some((number, index, options)) = directory::open_existing(dir)? else {
            return Ok(None);
        };
        let index = Self::new(Some(dir), Generation::new(number, index)?, Opened::Kept, options);
        Ok(index.position().is_some().then_some(index))
    }

    /// Deletes the folder `dir` with its index, unless somebody writes or rebuilds it. Returns whether
    /// it was deleted.
    pub fn delete(dir: &Path) -> Result<bool, IndexError> {
        Ok(generation::delete_all(dir)?)
    }

    /// Creates an empty index in memory.
    pub fn in_memory() -> Result<Self, IndexError> {
        Self::in_memory_with(IndexOptions::default())
    }

    /// Does the same as [`MessageIndex::in_memory`], with options.
    pub fn in_memory_with(options: IndexOptions) -> Result<Self, IndexError> {
        let index = Index::builder()
            .schema(schema::schema().0)
            .settings(schema::settings())
            .tokenizers(schema::tokenizers(options))
            .create_in_ram()?;
        Ok(Self::new(None, Generation::new(0, index)?, Opened::Created, options))
    }

    fn new(
        folder: Option<&Path>,
        generation: Generation,
        opened: Opened,
        options: IndexOptions,
    ) -> Self {
        let folder = folder.map(Path::to_path_buf);
        let generation = ArcSwap::from_pointee(generation);
        let fields = schema::schema().1;
        Self { shared: Arc::new(Shared { folder, opened, options, fields, generation }) }
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.shared.folder.as_deref()
    }

    pub(super) fn fields(&self) -> Fields {
        self.shared.fields
    }

    pub(super) fn generation(&self) -> Arc<Generation> {
        self.shared.generation.load_full()
    }

    pub(super) fn use_generation(&self, generation: Arc<Generation>) {
        self.shared.generation.store(generation);
    }

    /// Returns the options of the index.
    pub fn options(&self) -> IndexOptions {
        self.shared.options
    }

    /// Returns the state in which the index was opened; anything but [`Opened::Kept`] means that it
    /// is empty and needs a rebuild.
    pub fn opened(&self) -> Opened {
        self.shared.opened
    }

    /// Opens the one writer of the index. Removes unused generations.
    pub fn writer(&self, options: WriterOptions) -> Result<MessageWriter, IndexError> {
        // The generation that another process made current must be written, or its commits would be
        // put twice.
        self.refresh()?;
        let writer = MessageWriter::new(self.clone(), self.generation(), options)?;
        if let Some(dir) = self.folder() {
            generation::sweep(dir)?;
        }
        Ok(writer)
    }

    /// Makes commits and rebuilt indexes of other processes visible here. The process of a writer
    /// or a rebuild sees them at once.
    pub fn refresh(&self) -> Result<(), IndexError> {
        let generation = self.generation();
        let Some(dir) = self.folder() else {
            return generation.reload();
        };
        if generation::current(dir)?.is_none_or(|current| current == generation.number) {
            return generation.reload();
        }
        // Of another version? Then this process continues with the old one.
        if let Some((number, index, options)) = directory::open_existing(dir)?
            && options == self.options()
        {
            self.use_generation(Arc::new(Generation::new(number, index)?));
        }
        Ok(())
    }

    /// Returns the position stored in the current commit; `None` if the index was never committed,
    /// or only saved.
    pub fn position(&self) -> Option<String> {
        self.generation().view().position.clone()
    }

    /// Returns the number of messages in the index.
    pub fn doc_count(&self) -> u64 {
        self.generation().view().searcher.num_docs()
    }
}
