//! Saved searches as callers want them, and their validation.

use chatkeep_core::id::ChannelId;
use chatkeep_store::{SavedSearch, SavedSearchChange};
use chrono_tz::Tz;

use super::super::access::Caller;
use super::super::input::{channel_ids, check_storable, text};
use super::super::search::check_query;
use super::super::{FieldPath, Nullable, ServiceError};

/// Maximum characters of a name.
const SAVED_SEARCH_NAME: usize = 100;
/// Maximum number of channels.
const CHANNELS: usize = 1_000;

const NAME: FieldPath = FieldPath::body("/name");
const QUERY: FieldPath = FieldPath::body("/query");
const CHANNEL_IDS: FieldPath = FieldPath::body("/channelIds");

/// Saved search that a caller wants.
#[derive(Clone, Debug)]
pub struct SavedSearchDraft {
    /// Name.
    pub name: String,
    /// Query, in the grammar of a search.
    pub query: String,
    /// Channels to search; all that the caller may read when absent.
    pub channels: Option<Vec<String>>,
    /// True if new hits are reported.
    pub enabled: bool,
}

/// Change of a saved search; absent values are unchanged.
#[derive(Clone, Debug, Default)]
pub struct SavedSearchUpdate {
    /// Name.
    pub name: Option<String>,
    /// Query.
    pub query: Option<String>,
    /// Channels to search.
    pub channels: Nullable<Vec<String>>,
    /// True if new hits are reported.
    pub enabled: Option<bool>,
}

impl SavedSearchUpdate {
    /// Returns the saved search with these changes.
    pub(super) fn over(self, known: &SavedSearch) -> SavedSearchDraft {
        let channels = self.channels.over(|| {
            let ids = known.channels.as_ref();
            ids.map(|ids| ids.iter().map(ToString::to_string).collect())
        });
        SavedSearchDraft {
            name: self.name.unwrap_or_else(|| known.name.clone()),
            query: self.query.unwrap_or_else(|| known.query.clone()),
            channels,
            enabled: self.enabled.unwrap_or(known.enabled),
        }
    }
}

/// A checked [`SavedSearchDraft`].
pub(super) struct CheckedSearch {
    name: String,
    query: String,
    channels: Option<Vec<ChannelId>>,
    enabled: bool,
}

impl SavedSearchDraft {
    /// Checks the draft: it never searches more channels than its creator's credential may see.
    pub(super) fn checked(
        self,
        caller: &Caller,
        time_zone: Tz,
    ) -> Result<CheckedSearch, ServiceError> {
        let name = text(NAME, self.name, 1, SAVED_SEARCH_NAME)?;
        let query = self.query;
        check_storable(&QUERY, &query)?;
        check_query(&QUERY, &query, time_zone)?;
        let channels = self.channels;
        let channels = channels.map(|ids| channel_ids(&CHANNEL_IDS, ids, CHANNELS)).transpose()?;
        let channels = match (channels, caller.channels()) {
            (None, own) => own.map(<[_]>::to_vec),
            (Some(asked), _) if caller.sees_all(&asked) => Some(asked),
            (Some(_), _) => return Err(ServiceError::InsufficientFor { field: CHANNEL_IDS }),
        };
        Ok(CheckedSearch { name, query, channels, enabled: self.enabled })
    }
}

impl CheckedSearch {
    /// Returns true when the change equals the current saved search. Channels are a set: their
    /// order does not matter.
    pub(super) fn is(&self, known: &SavedSearch) -> bool {
        self.name == known.name
            && self.query == known.query
            && known.is_of(self.channels.as_deref())
            && self.enabled == known.enabled
    }

    pub(super) fn change(&self) -> SavedSearchChange<'_> {
        SavedSearchChange {
            name: &self.name,
            query: &self.query,
            channels: self.channels.as_deref(),
            enabled: self.enabled,
        }
    }
}
