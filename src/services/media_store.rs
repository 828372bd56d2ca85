//! The media store that the files of a database are in, by its identity. In another one, such as
//! the empty folder of a disk that is not mounted, every file would be missing, and new ones would
//! go to the wrong place.

use std::fmt;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_store::{Store, StoreError};

/// Number of files that are looked for in a media store without an identity.
const SAMPLE: u32 = 10;

/// Reason for which a media store is not used.
#[derive(Debug, thiserror::Error)]
pub enum MediaStoreError {
    #[error(transparent)]
    Other(#[from] OtherMediaStore),
    #[error("the recorded identity of the media store cannot be read")]
    Store(#[from] StoreError),
    #[error("the media store cannot be identified")]
    Blobs(#[from] BlobError),
}

/// Media store that is not known to have the files of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMediaStore {
    /// Its location.
    place: String,
    /// Its identity, if it has one.
    found: Option<String>,
    /// Identity of the one that has the files, if it is known.
    recorded: Option<String>,
}

impl fmt::Display for OtherMediaStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, found, recorded } = self;
        write!(f, "the media store {place} does not seem to have the files of this database: ")?;
        match found {
            Some(found) => write!(f, "its media-store.id is {found}")?,
            None => f.write_str("it has no media-store.id")?,
        }
        if let Some(recorded) = recorded {
            write!(f, ", and that of the files is {recorded}")?;
        }
        f.write_str(
            ". Mount it, or name the right one (--blobs, CHATKEEP_BLOBS or --config). If the files \
             were moved there without their media-store.id, or are lost, run `chatkeep doctor \
             --new-media-store`",
        )
    }
}

impl std::error::Error for OtherMediaStore {}

/// Verifies that a media store is the recorded one of a database. Any is good as long as the
/// database has no files. When none is recorded, as by earlier versions, one with an identity is
/// good, or with any of a few of the files.
///
/// # Errors
/// [`MediaStoreError::Other`], or when one of them fails.
#[boxed]
pub async fn check(store: &Store, blobs: &Blobs) -> Result<(), MediaStoreError> {
    let found = blobs.known_identity().await?;
    let Some(recorded) = store.media().recorded_identity().await? else {
        let may_be = found.is_some() || has_some(store, blobs).await?;
        return if may_be { Ok(()) } else { Err(other(blobs, None, None)) };
    };
    if found.as_ref() == Some(&recorded) || !has_files(store).await? {
        return Ok(());
    }
    Err(other(blobs, found, Some(recorded)))
}

/// Does the same as [`check`], and refuses a media store without an identity if the database has
/// files and has recorded none: no service has used the two together.
///
/// # Errors
/// As of [`check`].
#[boxed]
pub async fn check_known(store: &Store, blobs: &Blobs) -> Result<(), MediaStoreError> {
    check(store, blobs).await?;
    let is_known = store.media().recorded_identity().await?.is_some()
        || blobs.known_identity().await?.is_some();
    if is_known || !has_files(store).await? { Ok(()) } else { Err(other(blobs, None, None)) }
}

/// Verifies a media store as [`check`] does, and returns its identity; creates one if it has none.
///
/// # Errors
/// As of [`check`]; nothing is created then.
#[boxed]
pub async fn identify(store: &Store, blobs: &Blobs) -> Result<String, MediaStoreError> {
    check(store, blobs).await?;
    Ok(blobs.identity().await?)
}

/// Records that the files of a database are in the media store of that identity.
///
/// # Errors
/// Returns an error when the store fails.
#[boxed]
pub async fn record(store: &Store, identity: &str) -> Result<(), StoreError> {
    if store.media().recorded_identity().await?.as_deref() == Some(identity) {
        return Ok(());
    }
    store.media().record_identity(identity).await
}

/// Records that the files of a database are in this media store, whatever is in it; gives it an
/// identity if it has none.
///
/// # Errors
/// Returns an error when one of them fails.
#[boxed]
pub async fn adopt(store: &Store, blobs: &Blobs) -> Result<(), MediaStoreError> {
    Ok(record(store, &blobs.identity().await?).await?)
}

/// Returns true if the database names no files, or any of the first few is there.
async fn has_some(store: &Store, blobs: &Blobs) -> Result<bool, MediaStoreError> {
    let files = store.media().referenced_blobs(None, SAMPLE).await?;
    for file in &files {
        if blobs.holds(file).await? {
            return Ok(true);
        }
    }
    Ok(files.is_empty())
}

/// Returns true if a record of the database names a file.
async fn has_files(store: &Store) -> Result<bool, StoreError> {
    Ok(!store.media().referenced_blobs(None, 1).await?.is_empty())
}

pub(super) fn other(
    blobs: &Blobs,
    found: Option<String>,
    recorded: Option<String>,
) -> MediaStoreError {
    let place = blobs.availability().address().to_owned();
    OtherMediaStore { place, found, recorded }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_both_identities() {
        let text = |found: Option<&str>, recorded: Option<&str>| {
            let owned = |name: Option<&str>| name.map(str::to_owned);
            let place = "/srv/media".to_owned();
            let other = OtherMediaStore { place, found: owned(found), recorded: owned(recorded) };
            MediaStoreError::from(other).to_string()
        };
        let both = text(Some("aa"), Some("bb"));
        assert!(both.contains("the media store /srv/media does not seem to have"), "{both}");
        let named = "database: its media-store.id is aa, and that of the files is bb. Mount it";
        assert!(both.contains(named), "{both}");
        let empty = text(None, Some("bb"));
        assert!(
            empty.contains("it has no media-store.id, and that of the files is bb."),
            "{empty}"
        );
        let unknown = text(None, None);
        assert!(unknown.contains("it has no media-store.id. Mount it"), "{unknown}");
        assert!(unknown.ends_with("run `chatkeep doctor --new-media-store`"), "{unknown}");
    }
}
