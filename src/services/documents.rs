//! Documents that are sent as they are read, for as long as their reader may have them.

use bytes::Bytes;
use chatkeep_blobs::BlobError;
use chatkeep_store::StoreError;
use chatkeep_transfer::TransferError;
use chatkeep_workers::log_failure;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _, try_unfold};

use super::ServiceError;
use super::access::{AtLeast, ChannelAccess, HasScope, Scoped};
use super::user_permits::{UserPermit, UserPermits};

/// Maximum number of documents that one process writes while they are sent.
const DOCUMENTS: usize = 32;
/// Maximum number of them for one user.
const DOCUMENTS_OF_USER: usize = 4;

/// Failure while a document is sent.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The document could not be written.
    #[error("the document cannot be written")]
    Transfer(#[from] TransferError),
    /// The media store failed.
    #[error("the media store cannot be read")]
    Blob(#[from] BlobError),
    /// The store failed.
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    /// One of its messages was changed or removed meanwhile.
    #[error("what it holds has changed since")]
    Changed,
    /// The credential or the membership of its reader ended meanwhile.
    #[error("its reader may not have it any more")]
    Withdrawn,
    /// The reader's permission could not be checked; the cause is logged.
    #[error("the permission of its reader cannot be checked")]
    Unchecked(ServiceError),
}

impl From<ServiceError> for DocumentError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::InvalidKey
            | ServiceError::InsufficientPermissions
            | ServiceError::PermissionDenied => Self::Withdrawn,
            error => Self::Unchecked(error),
        }
    }
}

/// For a reader who gets all of it or nothing.
impl From<DocumentError> for ServiceError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Transfer(cause) => {
                log_failure!(error, &cause, "a document cannot be written");
                Self::Internal
            }
            DocumentError::Blob(cause) => cause.into(),
            DocumentError::Store(cause) => cause.into(),
            DocumentError::Changed => Self::NotFound,
            DocumentError::Withdrawn => Self::PermissionDenied,
            DocumentError::Unchecked(cause) => cause,
        }
    }
}

/// Permission that can be checked again while something is sent that takes long.
pub(super) trait Permission: Send + Sync + 'static {
    /// Checks that the credential still exists with the same bounds, and covers the same as before.
    fn check_again(&self) -> BoxFuture<'_, Result<(), ServiceError>>;
}

impl<R: AtLeast + Send + Sync + 'static, S: HasScope + Send + Sync + 'static> Permission
    for ChannelAccess<R, S>
{
    fn check_again(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.still_granted())
    }
}

impl<S: HasScope + Send + Sync + 'static> Permission for Scoped<S> {
    fn check_again(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.still_granted())
    }
}

/// Returns the permits of documents that are written while they are sent: each holds a page of
/// messages in memory for as long as its reader takes.
pub(super) fn permits() -> UserPermits {
    UserPermits::new(DOCUMENTS, DOCUMENTS_OF_USER)
}

/// Returns a document that ends half-way once its reader may not have it any more: their permission
/// is checked before each page is read. It keeps its permit until it is sent.
pub(super) fn permitted(
    document: BoxStream<'static, Result<Bytes, TransferError>>,
    permission: impl Permission,
    permit: UserPermit,
) -> BoxStream<'static, Result<Bytes, DocumentError>> {
    let state = (document, permission, permit);
    try_unfold(state, |(mut document, permission, permit)| async move {
        permission.check_again().await?;
        let page = document.try_next().await?;
        Ok(page.map(|page| (page, (document, permission, permit))))
    })
    .boxed()
}
