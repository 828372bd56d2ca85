//! Message search: one request, one parse of the query, one page of results, for every surface.

mod failure;
mod people;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::SharedClock;
use chatkeep_index::is_longer;
use chatkeep_index::search::MAX_QUERY;
use chatkeep_platform::Bots;
use chatkeep_search::{
    ParsedQuery, QueryPeople, SearchRequest, SearchResult, SearchService, Sort, UnknownName,
};
use chatkeep_store::{ReadAction, Store};
use chatkeep_view::pseudonyms::Mask;
use chatkeep_view::when::When;
use chrono_tz::Tz;
use sha2::{Digest as _, Sha256};

pub use self::failure::SearchFailure;
use self::failure::refused;
use super::access::{AccessService, Caller, ChannelAccess, Member, ReadMessages, Scoped};
use super::gaps::TimeSpan;
use super::members::MemberService;
use super::messages::{MessageService, point_in_time};
use super::operator::Operator;
use super::{Defect, FieldPath, ServiceError, decode_cursor, encode_cursor};
use chatkeep_search::REACH;

/// Location of the query in a request.
const Q: FieldPath = FieldPath::parameter("q");

/// Error of a query whose times leave none, as those of its other parts are.
const NO_TIME: &str = "no time is left: before: and to must be later than after: and from, and a day \
    means its start (00:00)";

/// Request for a page of search results.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// Query as typed: words, `"a phrase"`, `-word`, `from:`, `type:`, `has:`, `before:`, `after:`.
    pub text: String,
    /// Zone in which times are read; without it that of the one channel that is searched, else the
    /// service's.
    pub zone: Option<Tz>,
    /// Sent at or after this time.
    pub from: Option<When>,
    /// Sent before this time.
    pub to: Option<When>,
    /// Sent by this person, or by the caller (`me`).
    pub sender: Option<UserId>,
    /// Name of every bot where the results are shown, beside its own.
    pub bot_name: Option<String>,
    /// Only messages of this type.
    pub kind: Option<MessageType>,
    /// Sort order.
    pub sort: Sort,
    /// Maximum number of results.
    pub limit: u32,
    /// Cursor of the page; the first page without it.
    pub cursor: Option<String>,
    /// Maximum length of a snippet in characters.
    pub snippet: usize,
}

/// Page of search results.
#[derive(Debug)]
pub struct SearchPage {
    /// Results in order.
    pub hits: Vec<SearchResult>,
    /// Number of messages on all pages together.
    pub total: usize,
    /// Number of them that do not hold all of the query.
    pub related: usize,
    /// False if there may be more than that.
    pub is_total_exact: bool,
    /// People that the names in `from:` mean, by name.
    pub named: BTreeMap<String, Vec<UserId>>,
    /// Names in `from:` that nobody has.
    pub unknown_names: Vec<UnknownName>,
    /// Time that was searched, as far as the request limits it.
    pub requested: TimeSpan,
    /// Cursor of the next page.
    pub next: Option<String>,
}

/// Channels of a search, with its query and what its times are read by.
struct Reach {
    /// Place of the request: the cursors of one place serve no other.
    place: String,
    /// Reader of the results; `None` for an operator.
    reader: Option<Caller>,
    channels: Vec<ChannelId>,
    parsed: ParsedQuery,
    zone: Tz,
}

/// Message search. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MessageSearch {
    store: Store,
    index: SearchService,
    access: AccessService,
    members: MemberService,
    messages: MessageService,
}

impl SearchQuery {
    /// Returns a request for what is found by a text alone, best matches first: at most `limit` on a
    /// page, with snippets of at most `snippet` characters.
    pub const fn of_text(text: String, limit: u32, snippet: usize) -> Self {
        Self {
            text,
            zone: None,
            from: None,
            to: None,
            sender: None,
            bot_name: None,
            kind: None,
            sort: Sort::Relevance,
            limit,
            cursor: None,
            snippet,
        }
    }

    /// Returns the text that cursors of this search are bound to: what was asked, whatever channels
    /// it comes to on that page. The query stands there by its hash, which is shorter, but for readers
    /// of pseudonyms: it may name people, and a hash would confirm a guess at who they are.
    fn binding(&self, place: &str, mask: &Mask) -> String {
        let Self { text, zone, from, to, sender, kind, sort, .. } = self;
        let text = if mask.is_on() { text.clone() } else { short_hash(text) };
        let zone = zone.map_or("", Tz::name);
        format!("search:{place}:{text:?}:{zone}:{from:?}:{to:?}:{sender:?}:{kind:?}:{sort:?}")
    }

    fn check(&self) -> Result<(), ServiceError> {
        check_length(&Q, &self.text)
    }

    /// Returns true if `from` or `to` depend on the zone of the search.
    fn names_days(&self) -> bool {
        [self.from, self.to].into_iter().flatten().any(When::is_local)
    }
}

/// Returns the first 128 bits of a text's hash.
fn short_hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(text.as_bytes())[..16])
}

/// Checks a query that is not used yet, as a search by it does.
///
/// # Errors
/// [`ServiceError::Invalid`] of `field`.
pub(super) fn check_query(field: &FieldPath, text: &str, zone: Tz) -> Result<(), ServiceError> {
    check_length(field, text)?;
    match ParsedQuery::parse(text, zone) {
        Ok(parsed) => check_times(field, &parsed, TimeSpan::default()),
        Err(cause) => Err(refused(field.clone(), cause)),
    }
}

/// Checks that `after:` and `before:` leave some of the time that is asked for beside them.
fn check_times(
    field: &FieldPath,
    parsed: &ParsedQuery,
    beside: TimeSpan,
) -> Result<(), ServiceError> {
    let times = parsed.times();
    let TimeSpan { from, to } = beside.within(times);
    if times == (None, None) || from.zip(to).is_none_or(|(from, to)| from < to) {
        return Ok(());
    }
    let why = NO_TIME.to_owned();
    Err(ServiceError::Invalid { field: Some(field.clone()), why, defect: Defect::NoTime })
}

fn check_length(field: &FieldPath, text: &str) -> Result<(), ServiceError> {
    if text.trim().is_empty() || is_longer(text, MAX_QUERY) {
        let why = format_args!("must be 1 to {MAX_QUERY} characters long");
        return Err(ServiceError::invalid_value(field.clone(), why));
    }
    Ok(())
}

impl MessageSearch {
    pub(super) const fn new(
        store: Store,
        index: SearchService,
        access: AccessService,
        members: MemberService,
        messages: MessageService,
    ) -> Self {
        Self { store, index, access, members, messages }
    }

    /// Creates a search for an operator's command, which has no other services.
    pub fn for_operator(
        store: &Store,
        clock: &SharedClock,
        index: SearchService,
        time_zone: Tz,
    ) -> Self {
        let access = AccessService::new(store.clone(), Arc::clone(clock), Bots::new([]));
        let members = MemberService::new(store.clone(), Arc::clone(clock));
        let messages = MessageService::new(store.clone(), time_zone);
        Self::new(store.clone(), index, access, members, messages)
    }

    /// Searches a channel.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad query, cursor or time, [`ServiceError::Unavailable`]
    /// when no process has an index.
    #[boxed]
    pub async fn in_channel(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        query: &SearchQuery,
    ) -> Result<SearchPage, ServiceError> {
        query.check()?;
        let channel = access.read(ReadAction::Search);
        let (parsed, zone) = self.parsed(query, Some(channel)).await?;
        let (place, channels) = (format!("in {channel}"), vec![channel.clone()]);
        let reader = Some(access.caller.clone());
        let reach = Reach { place, reader, channels, parsed, zone };
        Ok(self.run(reach, query).await?)
    }

    /// Searches `only` that channel, or all that the caller may read.
    ///
    /// # Errors
    /// Those of [`Self::in_channel`]; [`ServiceError::PermissionDenied`] when the caller may not
    /// read that channel.
    #[boxed]
    pub async fn everywhere(
        &self,
        access: &Scoped<ReadMessages>,
        only: Option<&ChannelId>,
        query: &SearchQuery,
    ) -> Result<SearchPage, ServiceError> {
        query.check()?;
        let channels = self.channels(&access.caller, only).await?;
        access.record(&channels, ReadAction::Search);
        let (parsed, zone) = self.parsed(query, only).await?;
        let reader = Some(access.caller.clone());
        let place = only.map_or_else(|| "all".to_owned(), |channel| format!("only {channel}"));
        let reach = Reach { place, reader, channels, parsed, zone };
        Ok(self.run(reach, query).await?)
    }

    /// Searches these channels; times are read in `zone`.
    ///
    /// # Errors
    /// Returns [`SearchFailure`] for a bad query, or when the store or the index fails.
    #[boxed]
    pub async fn unrestricted(
        &self,
        _: &Operator,
        channels: Vec<ChannelId>,
        zone: Tz,
        query: &SearchQuery,
    ) -> Result<SearchPage, SearchFailure> {
        let parsed = ParsedQuery::parse(&query.text, zone)?;
        let place = String::new();
        self.run(Reach { place, reader: None, channels, parsed, zone }, query).await
    }

    /// Returns the channels of a search: `only` that one, or all that the caller may read.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] when the caller may not read that one.
    #[boxed]
    pub async fn channels(
        &self,
        caller: &Caller,
        only: Option<&ChannelId>,
    ) -> Result<Vec<ChannelId>, ServiceError> {
        if let Some(channel) = only {
            self.access.role(caller, channel).await?;
            return Ok(vec![channel.clone()]);
        }
        let channels =
            self.store.channels().names_of(&caller.user, caller.channels(), REACH).await?;
        Ok(channels.into_iter().map(|channel| channel.id).collect())
    }

    /// Returns the query of a search with the zone in which its times are read.
    async fn parsed(
        &self,
        query: &SearchQuery,
        only: Option<&ChannelId>,
    ) -> Result<(ParsedQuery, Tz), ServiceError> {
        let zone = match query.zone {
            Some(zone) => zone,
            None => self.messages.zone(None).await?,
        };
        let parsed = ParsedQuery::parse(&query.text, zone)?;
        let is_zoned = query.names_days() || parsed.times() != (None, None);
        if query.zone.is_some() || !is_zoned {
            // The channel would be read in vain.
            return Ok((parsed, zone));
        }
        let zone = self.messages.zone(only).await?;
        Ok((parsed.in_zone(zone)?, zone))
    }

    async fn run(&self, reach: Reach, query: &SearchQuery) -> Result<SearchPage, SearchFailure> {
        let QueryPeople { people, unknown } = self.people(&reach, query).await?;
        let Reach { place, reader, channels, parsed, zone } = reach;
        let mask = reader.as_ref().map_or_else(Mask::none, |reader| reader.mask.clone());
        let not_before = reader.as_ref().and_then(Caller::not_before);
        let binding = query.binding(&place, &mask);
        let cursor = query.cursor.as_deref().map(|text| decode_cursor(&binding, text));
        let from = point_in_time(FieldPath::FROM, query.from, zone)?;
        let to = point_in_time(FieldPath::TO, query.to, zone)?;
        check_times(&Q, &parsed, TimeSpan { from, to })?;
        let named = people.clone();
        let request = SearchRequest {
            people,
            from: from.max(not_before),
            to,
            sender: query.sender.clone().map(|sender| match &reader {
                Some(reader) => reader.person(sender),
                None => sender,
            }),
            kind: query.kind,
            sort: query.sort,
            cursor: cursor.transpose()?,
            ..SearchRequest::new(parsed.clone(), channels, query.limit as usize)
        };
        let found = if mask.is_on() {
            self.index.find_masked(request, &self.store, &mask).await?
        } else {
            self.index.find(request).await?
        };
        let hits = parsed.look_up((&self.store, &mask), found.hits, query.snippet).await?;
        let next = found.next.and_then(|next| encode_cursor(&binding, &next));
        let requested = TimeSpan { from, to }.within(parsed.times());
        Ok(SearchPage {
            hits,
            total: found.total,
            related: found.related,
            is_total_exact: found.is_total_exact,
            named,
            unknown_names: unknown,
            requested,
            next,
        })
    }
}
