//! Searching kept messages, in one channel or in all that the caller may read.

use axum::extract::State;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use tracing::debug;
use utoipa::{IntoParams, ToSchema};

use super::auth::{Caller, ChannelAccess, Member, ReadMessages, Scoped};
use super::cursor::Page;
use super::error::ApiError;
use super::extract::{Limit, Query};
use super::field_path::FieldPath;
use super::messages::point_in_time;
use super::{Api, cursor};
use crate::search::{
    Highlight, ParsedQuery, QueryPeople, SearchError, SearchRequest, SearchResult, Sort,
};
use crate::view::MessageView;
use crate::when::{When, utc_offset};

/// Characters of a query, at most.
const MAX_QUERY: usize = 200;
/// Characters of a snippet, at most.
const SNIPPET: usize = 160;
/// Channels that are searched at once, at most.
const CHANNELS: u32 = 10_000;

/// What a page of hits is made of, on every surface.
#[derive(Debug)]
pub(crate) struct SearchPage {
    pub(crate) hits: Vec<SearchResult>,
    /// Messages on all pages together.
    pub(crate) total: usize,
    /// Names in `from:` that nobody has.
    pub(crate) unknown_names: Vec<String>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// Search results.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchResultsView {
    /// Messages of the page, in the requested order.
    hits: Vec<HitView>,
    /// Total number of hits on all pages, related messages included.
    total: usize,
    /// Names in `from:` that match nobody whom the caller may read; empty when all match.
    unknown_names: Vec<String>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A search hit.
#[derive(Serialize, ToSchema)]
#[schema(as = Hit)]
struct HitView {
    /// The matching message.
    message: MessageView,
    /// Relevance score; 0 when sorted by time.
    score: f32,
    /// Excerpt of the message around the matches.
    snippet: String,
    /// Matches within the snippet.
    highlights: Vec<HighlightView>,
}

/// Range within the snippet, in characters.
#[derive(Serialize, ToSchema)]
#[schema(as = Highlight)]
struct HighlightView {
    /// Index of the first matched character in the snippet, from 0.
    start: usize,
    /// Index after the last matched character.
    end: usize,
}

/// Sort order of hits.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SortParam {
    #[default]
    Relevance,
    Newest,
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SearchQuery {
    /// Words, `"a phrase"`, `-without`, `from:name`, `type:image`, `has:link`, `before:2026-01-31`,
    /// `after:2026-01-01`.
    #[param(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000\u0085][^\u0000]*$"
    )]
    q: String,
    /// Only messages sent at or after this time. A date stands for its first moment in the
    /// channel's time zone.
    #[param(inline)]
    from: Option<When>,
    /// Only messages sent before this time. A date stands for its first moment in the channel's
    /// time zone.
    #[param(inline)]
    to: Option<When>,
    /// Only messages sent by this person.
    #[param(value_type = Option<String>)]
    sender_id: Option<UserId>,
    /// Only messages of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<MessageType>,
    /// Sort order; by relevance when absent.
    #[serde(default)]
    #[param(inline)]
    sort: SortParam,
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EverywhereQuery {
    /// Words, `"a phrase"`, `-without`, `from:name`, `type:image`, `has:link`, `before:2026-01-31`,
    /// `after:2026-01-01`.
    #[param(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000\u0085][^\u0000]*$"
    )]
    pub(crate) q: String,
    /// Only this channel.
    #[param(value_type = Option<String>)]
    pub(crate) channel_id: Option<ChannelId>,
    /// Only messages sent at or after this time. A date stands for its first moment in the time
    /// zone of the channel in `channelId`, otherwise in UTC.
    #[param(inline)]
    pub(crate) from: Option<When>,
    /// Only messages sent before this time; interpreted like `from`.
    #[param(inline)]
    pub(crate) to: Option<When>,
    /// Only messages sent by this person.
    #[param(value_type = Option<String>)]
    pub(crate) sender_id: Option<UserId>,
    /// Only messages of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    pub(crate) kind: Option<MessageType>,
    /// Sort order; by relevance when absent.
    #[serde(default)]
    #[param(inline)]
    pub(crate) sort: SortParam,
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    pub(crate) limit: Limit,
    /// `nextCursor` of the previous page.
    pub(crate) cursor: Option<String>,
}

pub(super) async fn in_channel(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
    Query(query): Query<SearchQuery>,
) -> Result<Page<SearchResultsView>, ApiError> {
    let zone = api.zone(&access.channel).await?;
    let channels = vec![access.channel];
    Ok(api.search(&access.caller, channels, zone, query, SNIPPET).await?.into())
}

pub(super) async fn everywhere(
    State(api): State<Api>,
    access: Scoped<ReadMessages>,
    Query(query): Query<EverywhereQuery>,
) -> Result<Page<SearchResultsView>, ApiError> {
    Ok(find(&api, access, query, SNIPPET).await?.into())
}

/// A page of what is found in the channel of the query, or in all that the caller may read.
/// Snippets have at most so many characters.
pub(crate) async fn find(
    api: &Api,
    access: Scoped<ReadMessages>,
    query: EverywhereQuery,
    snippet: usize,
) -> Result<SearchPage, ApiError> {
    let caller = access.caller;
    let (only, query) = query.split();
    let channels = searched(api, &caller, only.as_ref()).await?;
    let zone = match &only {
        Some(channel) => api.zone(channel).await?,
        None => api.time_zone,
    };
    api.search(&caller, channels, zone, query, snippet).await
}

/// Returns the channels that a search goes through: `only` that one, or all that the caller may
/// read.
///
/// # Errors
/// When the caller may not read that one.
pub(crate) async fn searched(
    api: &Api,
    caller: &Caller,
    only: Option<&ChannelId>,
) -> Result<Vec<ChannelId>, ApiError> {
    if let Some(channel) = only {
        api.access(caller, channel).await?;
        return Ok(vec![channel.clone()]);
    }
    let channels = api.store.channels_of(&caller.user, caller.channels(), None, CHANNELS).await?;
    Ok(channels.into_iter().map(|channel| channel.id).collect())
}

impl EverywhereQuery {
    fn split(self) -> (Option<ChannelId>, SearchQuery) {
        let Self { q, channel_id, from, to, sender_id, kind, sort, limit, cursor } = self;
        (channel_id, SearchQuery { q, from, to, sender_id, kind, sort, limit, cursor })
    }
}

impl SearchQuery {
    /// What a cursor of this search is bound to.
    fn binding(&self, channels: &[ChannelId]) -> String {
        let only = if let [channel] = channels { channel.as_str() } else { "" };
        let Self { q, from, to, sender_id, kind, sort, .. } = self;
        format!("search:{only}:{q}:{from:?}:{to:?}:{sender_id:?}:{kind:?}:{sort:?}")
    }

    fn checked(&self) -> Result<(), ApiError> {
        let length = self.q.chars().count();
        if self.q.trim().is_empty() || length > MAX_QUERY {
            return Err(ApiError::invalid_value(
                FieldPath::parameter("q"),
                format_args!("must be 1 to {MAX_QUERY} characters long"),
            ));
        }
        Ok(())
    }
}

impl Api {
    async fn search(
        &self,
        caller: &Caller,
        channels: Vec<ChannelId>,
        zone: Tz,
        query: SearchQuery,
        snippet: usize,
    ) -> Result<SearchPage, ApiError> {
        query.checked()?;
        let binding = query.binding(&channels);
        let utc_offset = utc_offset(zone, self.clock.now());
        let asked = ParsedQuery::parse(&query.q, utc_offset)?;
        let QueryPeople { people, unknown } = asked.people(&self.store, &channels).await?;
        let cursor: Option<String> =
            query.cursor.as_deref().map(|text| cursor::decode(&binding, text)).transpose()?;
        let find = SearchRequest {
            query: query.q,
            utc_offset,
            channels,
            people,
            from: point_in_time(FieldPath::FROM, query.from, zone)?.max(caller.not_before()),
            to: point_in_time(FieldPath::TO, query.to, zone)?,
            sender: query.sender_id,
            kind: query.kind,
            sort: match query.sort {
                SortParam::Relevance => Sort::Relevance,
                SortParam::Newest => Sort::Newest,
            },
            limit: query.limit.0 as usize,
            cursor,
        };
        let found = self.search.find(find).await?;
        let hits = asked.look_up(&self.store, found.hits, snippet).await?;
        let next = found.next.and_then(|next| cursor::encode(&binding, &next));
        Ok(SearchPage { hits, total: found.total, unknown_names: unknown, next })
    }
}

impl From<SearchPage> for Page<SearchResultsView> {
    fn from(page: SearchPage) -> Self {
        let SearchPage { hits, total, unknown_names, next } = page;
        let hits = hits.into_iter().map(HitView::from).collect();
        let body = SearchResultsView { hits, total, unknown_names, next_cursor: next.clone() };
        Self { body, next }
    }
}

impl From<SearchResult> for HitView {
    fn from(found: SearchResult) -> Self {
        let mark = |mark: Highlight| HighlightView { start: mark.start, end: mark.end };
        Self {
            message: found.message.into(),
            score: found.score,
            snippet: found.snippet.text,
            highlights: found.snippet.highlights.into_iter().map(mark).collect(),
        }
    }
}

impl From<SearchError> for ApiError {
    fn from(cause: SearchError) -> Self {
        match cause {
            SearchError::Query(why) => Self::invalid(FieldPath::parameter("q"), why),
            SearchError::Cursor => cursor::not_ours(),
            SearchError::Unavailable(why) => {
                // The outage is logged by the finder.
                debug!(error = why, "search is unavailable");
                Self::Unavailable
            }
        }
    }
}
