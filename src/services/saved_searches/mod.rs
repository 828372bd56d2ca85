//! Saved searches of callers: queries whose new hits are reported to them, by the event feed and their
//! webhooks.

mod draft;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::SavedSearchId;
use chatkeep_core::random;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{NewSavedSearch, SavedSearch, SavedSearchChanged, Store};
use chrono_tz::Tz;

pub use draft::{SavedSearchDraft, SavedSearchUpdate};

use super::access::{Caller, ManageWebhooks, ReadMessages, Scoped};
use super::{ServiceError, Window};

/// Saved searches. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SavedSearchService {
    store: Store,
    clock: SharedClock,
    time_zone: Tz,
}

impl SavedSearchService {
    pub(super) const fn new(store: Store, clock: SharedClock, time_zone: Tz) -> Self {
        Self { store, clock, time_zone }
    }

    /// Returns at most `limit` saved searches within the caller's bounds, oldest first, and the
    /// cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        access: &Scoped<ReadMessages>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<SavedSearch>, Option<String>), ServiceError> {
        access.caller.sees_people()?;
        let window = Window::open("saved_searches", limit, cursor)?;
        let after: Option<(Timestamp, SavedSearchId)> = window.after.clone();
        let is_after = |search: &SavedSearch| {
            after.as_ref().is_none_or(|key| (search.created_at, &search.id) > (key.0, &key.1))
        };
        let mut searches = self.store.saved_searches().list(&access.caller.user).await?;
        searches.retain(|search| is_within(&access.caller, search) && is_after(search));
        let next = window.cut(&mut searches, |search| (search.created_at, search.id.clone()));
        Ok((searches, next))
    }

    /// Returns a saved search.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for one that is unknown or beyond the caller's bounds.
    #[boxed]
    pub async fn one(
        &self,
        access: &Scoped<ReadMessages>,
        id: &SavedSearchId,
    ) -> Result<SavedSearch, ServiceError> {
        self.of_caller(&access.caller, id).await
    }

    /// Saves a search: messages that come from now on are compared with it.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad value, [`ServiceError::InsufficientFor`] for channels
    /// that the caller's credential may not see, [`ServiceError::TooManySavedSearches`].
    #[boxed]
    pub async fn create(
        &self,
        access: &Scoped<ManageWebhooks>,
        draft: SavedSearchDraft,
    ) -> Result<SavedSearch, ServiceError> {
        let caller = &access.caller;
        caller.sees_people()?;
        let wanted = draft.checked(caller, self.time_zone)?;
        let id = random::saved_search_id();
        let new = NewSavedSearch { id: &id, user: &caller.user, change: wanted.change() };
        if !self.store.saved_searches().add_saved_search(new, self.clock.now()).await? {
            return Err(ServiceError::TooManySavedSearches);
        }
        self.of_caller(caller, &id).await
    }

    /// Changes a saved search. With another query or other channels it begins anew.
    ///
    /// # Errors
    /// Those of [`Self::create`] and [`Self::one`].
    #[boxed]
    pub async fn change(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &SavedSearchId,
        update: SavedSearchUpdate,
    ) -> Result<SavedSearch, ServiceError> {
        let caller = &access.caller;
        loop {
            // What is absent is that of the search that is changed.
            let known = self.of_caller(caller, id).await?;
            let wanted = update.clone().over(&known).checked(caller, self.time_zone)?;
            if wanted.is(&known) {
                return Ok(known);
            }
            let (change, now) = (wanted.change(), self.clock.now());
            match self.store.saved_searches().change_saved_search(&known, change, now).await? {
                SavedSearchChanged::Done => return self.of_caller(caller, id).await,
                SavedSearchChanged::NoSearch => return Err(ServiceError::NotFound),
                SavedSearchChanged::Stale => {}
            }
        }
    }

    /// Deletes a saved search.
    ///
    /// # Errors
    /// Those of [`Self::one`].
    #[boxed]
    pub async fn remove(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &SavedSearchId,
    ) -> Result<(), ServiceError> {
        let (caller, now) = (&access.caller, self.clock.now());
        let known = self.of_caller(caller, id).await?;
        let searches = self.store.saved_searches();
        if searches.delete_saved_search(&caller.user, &known.id, now).await? {
            Ok(())
        } else {
            Err(ServiceError::NotFound)
        }
    }

    async fn of_caller(
        &self,
        caller: &Caller,
        id: &SavedSearchId,
    ) -> Result<SavedSearch, ServiceError> {
        // What it finds would tell who has the name or number that it looks for.
        caller.sees_people()?;
        let search = self.store.saved_searches().saved_search(&caller.user, id).await?;
        search.filter(|search| is_within(caller, search)).ok_or(ServiceError::NotFound)
    }
}

/// Returns true when the credential may see all channels of the saved search; others are hidden
/// from it.
fn is_within(caller: &Caller, search: &SavedSearch) -> bool {
    caller.bounds.sees_all(search.channels.as_deref())
}
