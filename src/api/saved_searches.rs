//! Saved searches of the caller, whose new hits are events.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{ChannelId, SavedSearchId};
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, Path, Query};
use chatkeep_services::access::{ManageWebhooks, ReadMessages, Scoped};
use chatkeep_services::decode::nullable;
use chatkeep_services::saved_searches::{SavedSearchDraft, SavedSearchUpdate};
use chatkeep_services::{Nullable, Services};
use chatkeep_store::SavedSearch;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor::Page;
use super::editable::{Editable, Shown};
use super::extract::Paging;
use super::input;
use super::route::{Describe, Output};
use super::subscriptions::Success;

/// Page of saved searches.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedSearchList)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedSearches {
    /// The saved searches of the page, oldest first.
    saved_searches: Vec<SavedSearchView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A saved search. Messages that it finds are reported by the event `search.matched`, once each.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedSearch)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedSearchView {
    /// ID of the saved search.
    saved_search_id: SavedSearchId,
    /// Name.
    name: String,
    /// Query, as `q` of a search.
    query: String,
    /// Channels to search; null for all that the caller may read.
    channel_ids: Option<Vec<ChannelId>>,
    /// True if new hits are reported.
    enabled: bool,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
}

/// Search to save.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SavedSearchBody {
    /// Name.
    #[schema(min_length = 1, max_length = 100, pattern = r"[^\s\u0000\u0085]")]
    name: String,
    /// Query, as `q` of a search: words, `"a phrase"`, `-without`, `from:name`, `type:image`,
    /// `has:link`, `has:media`, `before:2026-01-31`, `after:2026-01-01`.
    #[schema(min_length = 1, max_length = 200, pattern = r"[^\s\u0000\u0085]")]
    query: String,
    /// Channels to search; all that the caller may read when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<input::ChannelIdInput>>, max_items = 1000)]
    channel_ids: Option<Vec<String>>,
    /// True if new hits are reported; true when absent.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// Change of a saved search; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SavedSearchPatch {
    /// Name.
    #[schema(min_length = 1, max_length = 100, pattern = r"[^\s\u0000\u0085]", nullable = false)]
    name: Option<String>,
    /// Query, as `q` of a search.
    #[schema(min_length = 1, max_length = 200, pattern = r"[^\s\u0000\u0085]", nullable = false)]
    query: Option<String>,
    /// Channels to search; null for all that the caller may read.
    #[serde(default)]
    #[schema(value_type = Option<Vec<input::ChannelIdInput>>, max_items = 1000)]
    channel_ids: Nullable<Vec<String>>,
    /// True if new hits are reported.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct SavedSearchPath {
    /// ID of the saved search.
    #[serde(rename = "savedSearchId")]
    #[param(value_type = String)]
    search: SavedSearchId,
}

/// 201 with the saved search.
pub(super) struct CreatedSavedSearch(SavedSearchView);

impl Shown for SavedSearchPatch {
    const READ_ONLY: &'static [&'static str] = &["savedSearchId", "createdAt", "updatedAt"];
}

pub(super) async fn list(
    State(services): State<Services>,
    access: Scoped<ReadMessages>,
    Query(paging): Query<Paging>,
) -> Result<Page<SavedSearches>, HttpError> {
    let cursor = paging.cursor.as_deref();
    let (searches, next) = services.saved_searches.page(&access, paging.limit.0, cursor).await?;
    let saved_searches = searches.into_iter().map(SavedSearchView::from).collect();
    Ok(Page { body: SavedSearches { saved_searches, next_cursor: next.clone() }, next })
}

pub(super) async fn make(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Body(body): Body<SavedSearchBody>,
) -> Result<CreatedSavedSearch, HttpError> {
    Ok(CreatedSavedSearch(services.saved_searches.create(&access, body.into()).await?.into()))
}

pub(super) async fn one(
    State(services): State<Services>,
    access: Scoped<ReadMessages>,
    Path(path): Path<SavedSearchPath>,
) -> Result<Json<SavedSearchView>, HttpError> {
    Ok(Json(services.saved_searches.one(&access, &path.search).await?.into()))
}

pub(super) async fn replace(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<SavedSearchPath>,
    Body(Editable(change)): Body<Editable<SavedSearchPatch>>,
) -> Result<Json<SavedSearchView>, HttpError> {
    let changed = services.saved_searches.change(&access, &path.search, change.into()).await?;
    Ok(Json(changed.into()))
}

pub(super) async fn remove(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<SavedSearchPath>,
) -> Result<Json<Success>, HttpError> {
    services.saved_searches.remove(&access, &path.search).await?;
    Ok(Success::answer())
}

impl From<SavedSearchBody> for SavedSearchDraft {
    fn from(body: SavedSearchBody) -> Self {
        Self {
            name: body.name,
            query: body.query,
            channels: body.channel_ids,
            enabled: body.enabled.unwrap_or(true),
        }
    }
}

impl From<SavedSearchPatch> for SavedSearchUpdate {
    fn from(patch: SavedSearchPatch) -> Self {
        let SavedSearchPatch { name, query, channel_ids: channels, enabled } = patch;
        Self { name, query, channels, enabled }
    }
}

impl From<SavedSearch> for SavedSearchView {
    fn from(search: SavedSearch) -> Self {
        Self {
            saved_search_id: search.id,
            name: search.name,
            query: search.query,
            channel_ids: search.channels,
            enabled: search.enabled,
            created_at: search.created_at,
            updated_at: search.updated_at,
        }
    }
}

impl IntoResponse for CreatedSavedSearch {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl Output for CreatedSavedSearch {
    fn describe(route: &mut Describe) {
        route.answers::<SavedSearchView>(StatusCode::CREATED, "The saved search");
        for answer in &mut route.answers {
            answer.links = ["get_saved_search", "update_saved_search", "delete_saved_search"]
                .map(|operation| (operation, "savedSearchId", "savedSearchId"))
                .to_vec();
        }
    }
}
