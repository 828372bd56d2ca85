//! Errors of a model's files.

use std::io;
use std::path::PathBuf;

/// Error of installing or opening a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file is not the one that this program was tested with.
    #[error(
        "{part} has the SHA-256 {found}, not {expected}: it is not the model that was asked for"
    )]
    Unknown {
        /// File inside the package.
        part: &'static str,
        /// Its hash.
        found: String,
        /// Hash of the expected file.
        expected: &'static str,
    },
    /// The source has no such file.
    #[error("{} has no {part}", path.display())]
    Missing {
        /// Path that was searched.
        path: PathBuf,
        /// Missing file.
        part: &'static str,
    },
    /// A file has an invalid format.
    #[error("{part} is damaged: {why}; install the model again")]
    Damaged {
        /// Damaged file.
        part: &'static str,
        /// Reason.
        why: &'static str,
    },
}

impl ModelError {
    /// Returns a closure for `map_err` on operations on the file at `path`.
    pub(super) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// Creates an error for a file of an invalid format.
    pub(super) fn damaged(part: &'static str, why: &'static str) -> Self {
        Self::Damaged { part, why }
    }
}
