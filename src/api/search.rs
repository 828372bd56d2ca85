//! Searching kept messages, in one channel or in all that the caller may read.

use axum::extract::State;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_http::{HttpError, Query};
use chatkeep_search::{Highlight, SearchResult, Sort};
use chatkeep_services::Services;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages, Scoped};
use chatkeep_services::search::{SearchPage, SearchQuery};
use chatkeep_view::when::When;
use chatkeep_view::{Links, MessageView};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor::Page;
use super::extract::Limit;

/// Characters of a snippet, at most.
const SNIPPET: usize = 160;

/// Search results.
#[derive(Serialize, ToSchema)]
#[schema(as = SearchResults)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchResultsView {
    /// Messages of the page, in the requested order.
    hits: Vec<HitView>,
    /// Total number of hits on all pages, related messages included. Counting may stop at 10,000
    /// complete matches and 1,000 related messages; `totalIsExact` is then false.
    total: usize,
    /// False if there may be more hits than `total`.
    total_is_exact: bool,
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
    /// True for a message that does not hold all of the query. Saved searches do not report it.
    related: bool,
    /// Excerpt of the message around the matches.
    snippet: String,
    /// Matches within the snippet.
    highlights: Vec<HighlightView>,
}

/// Range within the snippet, in characters (Unicode scalar values, unlike the UTF-16 units of
/// mentions).
#[derive(Serialize, ToSchema)]
#[schema(as = Highlight)]
struct HighlightView {
    /// Index of the first matched character (Unicode scalar value) in the snippet, from 0.
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
pub(super) struct ChannelSearchQuery {
    /// Words, `"a phrase"`, `-without`, `from:name`, `type:image`, `has:link`, `has:media`,
    /// `before:2026-01-31`, `after:2026-01-01`.
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
    /// Only messages sent by this person; `me` for the caller.
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
    /// Words, `"a phrase"`, `-without`, `from:name`, `type:image`, `has:link`, `has:media`,
    /// `before:2026-01-31`, `after:2026-01-01`.
    #[param(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000\u0085][^\u0000]*$"
    )]
    pub q: String,
    /// Only this channel.
    #[param(value_type = Option<String>)]
    pub channel_id: Option<ChannelId>,
    /// Only messages sent at or after this time. A date stands for its first moment in the time
    /// zone of the channel in `channelId`, otherwise in the service's.
    #[param(inline)]
    pub from: Option<When>,
    /// Only messages sent before this time; interpreted like `from`.
    #[param(inline)]
    pub to: Option<When>,
    /// Only messages sent by this person; `me` for the caller.
    #[param(value_type = Option<String>)]
    pub sender_id: Option<UserId>,
    /// Only messages of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    pub kind: Option<MessageType>,
    /// Sort order; by relevance when absent.
    #[serde(default)]
    #[param(inline)]
    pub sort: SortParam,
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    pub limit: Limit,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

pub(super) async fn in_channel(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
    Query(query): Query<ChannelSearchQuery>,
) -> Result<Page<SearchResultsView>, HttpError> {
    let page = services.search.in_channel(&access, &query.into()).await?;
    Ok(results(page, &services.links))
}

pub(super) async fn everywhere(
    State(services): State<Services>,
    access: Scoped<ReadMessages>,
    Query(query): Query<EverywhereQuery>,
) -> Result<Page<SearchResultsView>, HttpError> {
    let (only, query) = query.split();
    let page = services.search.everywhere(&access, only.as_ref(), &query.into()).await?;
    Ok(results(page, &services.links))
}

impl EverywhereQuery {
    fn split(self) -> (Option<ChannelId>, ChannelSearchQuery) {
        let Self { q, channel_id, from, to, sender_id, kind, sort, limit, cursor } = self;
        (channel_id, ChannelSearchQuery { q, from, to, sender_id, kind, sort, limit, cursor })
    }
}

impl From<ChannelSearchQuery> for SearchQuery {
    fn from(query: ChannelSearchQuery) -> Self {
        Self {
            text: query.q,
            zone: None,
            from: query.from,
            to: query.to,
            sender: query.sender_id,
            bot_name: None,
            kind: query.kind,
            sort: match query.sort {
                SortParam::Relevance => Sort::Relevance,
                SortParam::Newest => Sort::Newest,
            },
            limit: query.limit.0,
            cursor: query.cursor,
            snippet: SNIPPET,
        }
    }
}

/// Returns a page of results with the addresses of the messages' pages.
fn results(page: SearchPage, links: &Links) -> Page<SearchResultsView> {
    let SearchPage { hits, total, is_total_exact, unknown_names, next, .. } = page;
    let hits = hits.into_iter().map(|hit| HitView::new(hit, links)).collect();
    let body = SearchResultsView {
        hits,
        total,
        total_is_exact: is_total_exact,
        unknown_names: unknown_names.into_iter().map(|unknown| unknown.name).collect(),
        next_cursor: next.clone(),
    };
    Page { body, next }
}

impl HitView {
    fn new(found: SearchResult, links: &Links) -> Self {
        let mark = |mark: Highlight| HighlightView { start: mark.start, end: mark.end };
        Self {
            message: MessageView::new(found.message, links),
            score: found.score,
            related: found.related,
            snippet: found.snippet.text,
            highlights: found.snippet.highlights.into_iter().map(mark).collect(),
        }
    }
}
