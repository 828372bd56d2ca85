//! What can be wrong with a model's files.

use std::io;
use std::path::PathBuf;

/// Why a model cannot be installed or opened.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not the one that this program was checked with.
    #[error(
        "{part} has the SHA-256 {found}, not {expected}: it is not the model that was asked for"
    )]
    Unknown {
        /// The file inside the package.
        part: &'static str,
        /// Its sum.
        found: String,
        /// The sum of the right file.
        expected: &'static str,
    },
    /// The source has no such file.
    #[error("{} has no {part}", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// The file that should be there.
        part: &'static str,
    },
    /// A file does not have the form that it should have.
    #[error("{part} is damaged: {why}; install the model again")]
    Damaged {
        /// The file.
        part: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl ModelError {
    /// For `map_err` on what touches the file at `path`.
    pub(super) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// For a file of the wrong form.
    pub(super) fn damaged(part: &'static str, why: &'static str) -> Self {
        Self::Damaged { part, why }
    }
}
