//! Masks of readers: of callers whose key shows pseudonyms, and of webhooks that such keys made.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::UserId;
use chatkeep_store::{Store, StoreError};
use chatkeep_view::pseudonyms::{Mask, MaskError};

use chatkeep_search::REACH;

/// Reason for which it is not known what a reader may see of people.
#[derive(Debug, thiserror::Error)]
pub enum MaskFailure {
    /// The store failed.
    #[error("the people of a reader cannot be read")]
    Store(#[from] StoreError),
    /// The mask cannot be made.
    #[error("the people of a reader cannot be masked")]
    Mask(#[from] MaskError),
}

/// Returns the mask of a reader of these bounds. A mask knows the people of all channels that the
/// reader may see now, so it is made anew for each request and delivery: nobody is shown by a name
/// that is a minute old.
///
/// # Errors
/// Returns an error when the store fails, or for too many people.
#[boxed]
pub async fn of_reader(store: &Store, user: &UserId, bounds: &Bounds) -> Result<Mask, MaskFailure> {
    let Some(key) = bounds.pseudonyms.clone() else { return Ok(Mask::none()) };
    let channels = store.channels().names_of(user, bounds.channels.as_deref(), REACH).await?;
    let channels: Vec<_> = channels.into_iter().map(|channel| channel.id).collect();
    let mut people = store.members().names_in(&channels).await?;
    if people.iter().all(|(known, _)| known != user) {
        let own = store.accounts().user(user).await?;
        people.push((user.clone(), own.and_then(|own| own.display_name)));
    }
    Ok(CALLERS.run(move || Mask::of(&key, &people)).await?)
}
