//! The media store that the files of a database are in, by its identity, and the database that owns
//! it. In another media store, such as the empty folder of a disk that is not mounted, every file
//! would be missing, and new ones would go to the wrong place. To another database, such as a new
//! one, every file would seem to be unreferenced.

use std::fmt;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::random::random_name;
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

/// Media store that is not known to be that of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMediaStore {
    /// Its location.
    place: String,
    mismatch: Mismatch,
}

/// Difference between a media store and what the database knows of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mismatch {
    /// It does not seem to have the files of the database.
    Identity {
        /// Its identity, if it has one.
        found: Option<String>,
        /// Identity of the one that has the files, if it is known.
        recorded: Option<String>,
    },
    /// It belongs to the database of that id.
    Owner(String),
    /// It has files, of which the database knows none, and no recorded owner.
    Unknown,
}

impl fmt::Display for OtherMediaStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the media store {} ", self.place)?;
        let (found, recorded) = match &self.mismatch {
            Mismatch::Identity { found, recorded } => (found, recorded),
            Mismatch::Owner(owner) => {
                write!(f, "belongs to another database: its media-store.owner is {owner}. ")?;
                return f.write_str(OTHER_DATABASE);
            }
            Mismatch::Unknown => {
                f.write_str(
                    "seems to belong to another database: it has files, and this one knows none. ",
                )?;
                return f.write_str(OTHER_DATABASE);
            }
        };
        f.write_str("does not seem to have the files of this database: ")?;
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

/// Ways out of naming the media store of another database.
const OTHER_DATABASE: &str = "Name that database (--database, CHATKEEP_DATABASE, --data), restore \
    it first if it is lost, or name another media store (--blobs, CHATKEEP_BLOBS). If nobody needs \
    its files, run `chatkeep doctor --new-media-store`: this database owns the media store then, and \
    `chatkeep doctor --repair` deletes every file that it does not know";

impl std::error::Error for OtherMediaStore {}

/// Verifies that a media store is the recorded one of a database, and not that of another one. As
/// long as the database has no files, any without files and without an owner is good. When none is
/// recorded, as by earlier versions, one with an identity is good, or with any of a few of the
/// files.
///
/// # Errors
/// [`MediaStoreError::Other`], or when one of them fails.
#[boxed]
pub async fn check(store: &Store, blobs: &Blobs) -> Result<(), MediaStoreError> {
    let is_owned = check_owner(store, blobs).await?;
    let found = blobs.known_identity().await?;
    let recorded = store.media().recorded_identity().await?;
    if recorded.is_some() && found == recorded {
        return Ok(());
    }
    if !has_files(store).await? {
        let is_foreign = !is_owned && blobs.has_any().await?;
        return if is_foreign { Err(mismatch(blobs, Mismatch::Unknown)) } else { Ok(()) };
    }
    if recorded.is_none() && (found.is_some() || has_some(store, blobs).await?) {
        return Ok(());
    }
    Err(other(blobs, found, recorded))
}

/// Verifies that a media store belongs to no other database. Returns true if it is recorded that it
/// belongs to this one. Copies of a database are the same one.
///
/// # Errors
/// [`MediaStoreError::Other`], or when one of them fails.
#[boxed]
pub async fn check_owner(store: &Store, blobs: &Blobs) -> Result<bool, MediaStoreError> {
    let Some(owner) = blobs.owner().await? else { return Ok(false) };
    if owner == store.processes().store_id().await? {
        return Ok(true);
    }
    Err(mismatch(blobs, Mismatch::Owner(owner)))
}

/// Returns true if it is known that the files of a media store belong to this database: that is
/// recorded, or, since earlier versions did not record it, some of its files are there, or none at
/// all. In any other one, files to which nothing refers may be those of another database.
///
/// # Errors
/// Those of [`check_owner`].
#[boxed]
pub async fn is_own(store: &Store, blobs: &Blobs) -> Result<bool, MediaStoreError> {
    Ok(check_owner(store, blobs).await?
        || has_some(store, blobs).await?
        || !blobs.has_any().await?)
}

/// Does the same as [`check`], and refuses a media store without an identity if the database has
/// files and has recorded none: no service has used the two together.
///
/// # Errors
/// Those of [`check`].
#[boxed]
pub async fn check_known(store: &Store, blobs: &Blobs) -> Result<(), MediaStoreError> {
    check(store, blobs).await?;
    let is_known = store.media().recorded_identity().await?.is_some()
        || blobs.known_identity().await?.is_some();
    if is_known || !has_files(store).await? { Ok(()) } else { Err(other(blobs, None, None)) }
}

/// Verifies a media store as [`check`] does, and returns its identity; creates one if it has none.
/// One without an owner that [is known](is_own) to be that of the database belongs to it from then
/// on.
///
/// # Errors
/// Those of [`check`]; nothing is created then.
#[boxed]
pub async fn identify(store: &Store, blobs: &Blobs) -> Result<String, MediaStoreError> {
    check(store, blobs).await?;
    if is_own(store, blobs).await? {
        blobs.claim(store.processes().store_id().await?).await?;
        // Another database may have been faster.
        check_owner(store, blobs).await?;
    }
    identity(store, blobs).await
}

/// Returns the identity of a media store; creates one if it has none.
async fn identity(store: &Store, blobs: &Blobs) -> Result<String, MediaStoreError> {
    if let Some(known) = blobs.known_identity().await? {
        return Ok(known);
    }
    let proposal = store.media().propose_identity(&random_name()).await?;
    Ok(blobs.identity(proposal).await?)
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

/// Records that the files of a database are in this media store and belong to it, whatever is in
/// there; gives it an identity if it has none.
///
/// # Errors
/// Returns an error when one of them fails.
#[boxed]
pub async fn adopt(store: &Store, blobs: &Blobs) -> Result<(), MediaStoreError> {
    let identity = identity(store, blobs).await?;
    blobs.set_owner(store.processes().store_id().await?).await?;
    Ok(record(store, &identity).await?)
}

/// Returns true if any of the first few files that the database names is there.
async fn has_some(store: &Store, blobs: &Blobs) -> Result<bool, MediaStoreError> {
    let files = store.media().referenced_blobs(None, SAMPLE).await?;
    for file in &files {
        if blobs.holds(file).await? {
            return Ok(true);
        }
    }
    Ok(false)
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
    mismatch(blobs, Mismatch::Identity { found, recorded })
}

fn mismatch(blobs: &Blobs, mismatch: Mismatch) -> MediaStoreError {
    OtherMediaStore { place: blobs.availability().address().to_owned(), mismatch }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_both_identities() {
        let text = |found: Option<&str>, recorded: Option<&str>| {
            let owned = |name: Option<&str>| name.map(str::to_owned);
            let place = "/srv/media".to_owned();
            let mismatch = Mismatch::Identity { found: owned(found), recorded: owned(recorded) };
            let other = OtherMediaStore { place, mismatch };
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
