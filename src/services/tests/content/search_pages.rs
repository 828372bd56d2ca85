//! Message search for callers: pages, cursors, bounds, zones, names and stand-ins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::profile::Profile;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_index::fold;
use chatkeep_search::{SearchFallback, SearchService, Sort};
use chatkeep_store::{ChannelChange, PresenceEvidenceKind};
use chatkeep_view::when::When;
use chatkeep_workers::replica::Replica;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::conversation::{access, message, refusal, sentence, store, text, texts, time, unsent};
use crate::access::ReadMessages;
use crate::members::MemberService;
use crate::messages::MessageService;
use crate::operator::Operator;
use crate::search::{MessageSearch, SearchPage, SearchQuery};
use crate::{Caller, Defect, FieldPath, ServiceError, masks};

/// Group with an index of its messages.
struct Indexed {
    group: Group,
    replica: Replica,
    search: MessageSearch,
}

impl Indexed {
    async fn of(changes: &[ChannelChange]) -> Self {
        let group = Group::new().await;
        group.hands.set(time("2026-06-01T00:00:00Z"));
        store(&group, changes).await;
        let (data, folder) = (group.store.clone(), group.folder.path().join("index"));
        let replica = Replica::open(data, folder, Arc::clone(&group.clock)).await.unwrap();
        replica.catch_up().await.unwrap();
        let index = SearchService::new(Some(replica.clone()), SearchFallback::Nowhere);
        let search = search_of(&group, index);
        Self { group, replica, search }
    }

    async fn of_caller(
        &self,
        caller: Caller,
        query: &SearchQuery,
    ) -> Result<SearchPage, ServiceError> {
        self.search.in_channel(&access(&self.group, caller).await, query).await
    }

    async fn found(&self, query: &SearchQuery) -> SearchPage {
        self.of_caller(caller(OWNER), query).await.unwrap()
    }

    /// Searches `only` that channel, or all of the owner's.
    async fn everywhere(
        &self,
        only: Option<&ChannelId>,
        query: &SearchQuery,
    ) -> Result<SearchPage, ServiceError> {
        let access = self.group.access.scoped::<ReadMessages>(caller(OWNER)).unwrap();
        self.search.everywhere(&access, only, query).await
    }

    /// Gives the two people names.
    async fn name(&self, owner: &str, other: &str) {
        let profile = |name: &str| {
            Some(Profile { display_name: name.to_owned(), picture_url: None, language: None })
        };
        let names = [(OWNER, owner), (OTHER, other)];
        let names = names.map(|(user, name)| (UserId::from(user), profile(name)));
        let (names, now) = (BTreeMap::from(names), self.group.clock.now());
        self.group.store.members().save_profiles(&names, now).await.unwrap();
    }
}

/// Returns the search of a group, in that index.
fn search_of(group: &Group, index: SearchService) -> MessageSearch {
    let (store, clock) = (|| group.store.clone(), Arc::clone(&group.clock));
    let members = MemberService::new(store(), clock);
    let messages = MessageService::new(store(), Tz::UTC);
    MessageSearch::new(store(), index, group.access.clone(), members, messages)
}

fn asked(text: &str) -> SearchQuery {
    SearchQuery { sort: Sort::Newest, ..SearchQuery::of_text(text.to_owned(), 100, 100) }
}

fn ids(page: &SearchPage) -> Vec<&str> {
    texts(page.hits.iter().map(|hit| &hit.message.id))
}

fn second(nth: u64) -> Timestamp {
    time("2026-05-01T00:00:00Z").plus(Duration::from_secs(nth))
}

/// Returns that many texts with a word, each with one text without it.
fn talk(count: u64) -> Vec<ChannelChange> {
    let of = |nth| {
        let there = text(&format!("m{nth:02}"), second(nth), &format!("word {nth} 茶"));
        [there, text(&format!("n{nth:02}"), second(nth), "something else")]
    };
    (0..count).flat_map(of).collect()
}

#[tokio::test]
async fn pages_of_any_size_have_every_hit_once() {
    let indexed = Indexed::of(&talk(12)).await;
    let all: Vec<_> = (0..12).rev().map(|nth| format!("m{nth:02}")).collect();
    for sort in [Sort::Newest, Sort::Relevance] {
        for limit in [1, 5, 12, 100] {
            let mut query = SearchQuery { sort, limit, ..asked("word") };
            let mut found = Vec::new();
            loop {
                let page = indexed.found(&query).await;
                assert!(page.hits.len() <= limit as usize);
                assert_eq!((page.total, page.is_total_exact, page.related), (12, true, 0));
                found.extend(ids(&page).into_iter().map(str::to_owned));
                match page.next {
                    Some(next) => query.cursor = Some(next),
                    None => break,
                }
            }
            if sort == Sort::Relevance {
                assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 12, "{limit}: {found:?}");
                found.sort_unstable();
                found.reverse();
            }
            assert_eq!(found, all, "{sort:?} {limit}");
        }
    }
}

#[tokio::test]
async fn a_cursor_goes_on_with_its_own_search_alone() {
    let indexed = Indexed::of(&talk(4)).await;
    let query = || SearchQuery { limit: 2, ..asked("word") };
    let next = indexed.found(&query()).await.next;
    let go_on = |other: SearchQuery| SearchQuery { cursor: next.clone(), ..other };
    for other in [
        asked("word 茶"),
        asked(" word"),
        SearchQuery { sort: Sort::Relevance, ..query() },
        SearchQuery { kind: Some(MessageType::Text), ..query() },
        SearchQuery { sender: Some("me".into()), ..query() },
        SearchQuery { zone: Some(Tz::UTC), ..query() },
        SearchQuery { from: When::parse("2020-01-01"), ..query() },
        SearchQuery { to: When::parse("2030-01-01"), ..query() },
    ] {
        let refused = indexed.of_caller(caller(OWNER), &go_on(other.clone())).await;
        assert_eq!(refusal(refused).0, "cursor", "{other:?}");
    }
    for only in [None, Some(ChannelId::from(GROUP))] {
        let refused = indexed.everywhere(only.as_ref(), &go_on(query())).await;
        assert_eq!(refusal(refused).0, "cursor", "of another place");
    }
    let rest = indexed.found(&go_on(SearchQuery { limit: 100, snippet: 5, ..query() })).await;
    assert_eq!(ids(&rest), ["m01", "m00"], "sizes are no part of what is asked");
}

#[tokio::test]
async fn a_search_is_within_the_bounds_of_its_caller() {
    let indexed = Indexed::of(&talk(6)).await;
    let (group, elsewhere) = (&indexed.group, ChannelId::from("C2"));
    group.happened(elsewhere.as_str(), PresenceEvidenceKind::Present(OTHER.into())).await;
    let now = group.clock.now();
    group.store.accounts().subscribe(&elsewhere, &OTHER.into(), now).await.unwrap();
    let there = ChannelChange { channel: elsewhere.clone(), ..text("x", second(9), "word") };
    store(group, &[there]).await;
    indexed.replica.catch_up().await.unwrap();
    let mine = indexed.everywhere(None, &asked("word")).await.unwrap();
    assert_eq!(mine.total, 6, "somebody else's channel is not searched");
    let denied = indexed.everywhere(Some(&elsewhere), &asked("word")).await;
    assert_eq!(denied.unwrap_err(), ServiceError::PermissionDenied);
    let bounds = Bounds { not_before: Some(second(4)), ..Bounds::full() };
    let bounded = Caller { bounds, ..caller(OWNER) };
    let found = indexed.of_caller(bounded.clone(), &asked("word")).await.unwrap();
    assert_eq!((ids(&found), found.total), (vec!["m05", "m04"], 2));
    let early = SearchQuery { from: When::parse("2020-01-01"), ..asked("word") };
    let found = indexed.of_caller(bounded, &early).await.unwrap();
    assert_eq!(found.total, 2, "no time that is asked for reaches beyond the bound");
    let narrow = Bounds { channels: Some(vec![elsewhere.clone()]), ..Bounds::full() };
    let narrow = group.access.scoped(Caller { bounds: narrow, ..caller(OWNER) }).unwrap();
    let found = indexed.search.everywhere(&narrow, None, &asked("word")).await.unwrap();
    assert_eq!(found.total, 0, "a key for a channel that its person is not in");
    // An operator searches what they name.
    let operator = Operator::at_command_line();
    for (channels, total) in
        [(vec![], 0), (vec![elsewhere.clone()], 1), (vec![elsewhere, GROUP.into()], 7)]
    {
        let query = asked("word");
        let found = indexed.search.unrestricted(&operator, channels, Tz::UTC, &query).await;
        assert_eq!(found.unwrap().total, total);
    }
}

#[tokio::test]
async fn people_types_and_times_narrow_a_search() {
    let mut changes = talk(3);
    let named = MediaInfo { file_name: Some("word.pdf".to_owned()), ..MediaInfo::default() };
    changes.push(message("file", Some(OTHER), second(7), &Content::File(named)));
    let indexed = Indexed::of(&changes).await;
    for (query, expected) in [
        (SearchQuery { sender: Some("me".into()), ..asked("word") }, vec!["m02", "m01", "m00"]),
        (SearchQuery { sender: Some(OTHER.into()), ..asked("word") }, vec!["file"]),
        (SearchQuery { kind: Some(MessageType::File), ..asked("word") }, vec!["file"]),
        (asked("word type:text from:me"), vec!["m02", "m01", "m00"]),
        (SearchQuery { kind: Some(MessageType::File), ..asked("word type:text") }, vec![]),
        (
            SearchQuery { from: When::parse("2026-05-01T00:00:02Z"), ..asked("word") },
            vec!["file", "m02"],
        ),
        (
            SearchQuery { to: When::parse("2026-05-01T00:00:02Z"), ..asked("word") },
            vec!["m01", "m00"],
        ),
        (asked("word after:2026-05-01T00:00:01Z before:2026-05-01T00:00:02Z"), vec!["m01"]),
    ] {
        assert_eq!(ids(&indexed.found(&query).await), expected, "{query:?}");
    }
    let query = SearchQuery { to: When::parse("2026-05-01"), ..asked("word after:2026-05-01") };
    let refused = indexed.of_caller(caller(OWNER), &query).await;
    assert_eq!(refusal(refused), ("q".to_owned(), Defect::NoTime));
}

#[tokio::test]
async fn days_are_those_of_the_one_channel_or_of_the_zone_that_is_named() {
    // An hour after midnight in Taipei.
    let said = text("night", time("2026-05-01T17:00:00Z"), "word");
    let indexed = Indexed::of(&[said]).await;
    let (zone, now) = (Some("Asia/Taipei"), indexed.group.clock.now());
    let (channels, group) = (indexed.group.store.channels(), ChannelId::from(GROUP));
    channels.set_time_zone(&group, zone, &OWNER.into(), now).await.unwrap();
    let taipei: Tz = "Asia/Taipei".parse().unwrap();
    let midnight = Some(time("2026-05-01T16:00:00Z"));
    let of_query = || asked("word after:2026-05-02");
    let of_request = || SearchQuery { from: When::parse("2026-05-02"), ..asked("word") };
    for query in [of_query(), of_request()] {
        let here = indexed.found(&query).await;
        assert_eq!((here.total, here.requested.from), (1, midnight), "{query:?}");
        let only = indexed.everywhere(Some(&group), &query).await.unwrap();
        assert_eq!((only.total, only.requested.from), (1, midnight));
        let all = indexed.everywhere(None, &query).await.unwrap();
        assert_eq!((all.total, all.requested.from), (0, Some(time("2026-05-02T00:00:00Z"))));
        let named = SearchQuery { zone: Some(taipei), ..query.clone() };
        let named = indexed.everywhere(None, &named).await.unwrap();
        assert_eq!((named.total, named.requested.from), (1, midnight));
        let utc = indexed.found(&SearchQuery { zone: Some(Tz::UTC), ..query }).await;
        assert_eq!(utc.total, 0);
    }
}

#[tokio::test]
async fn a_query_has_as_many_characters_as_its_letters_composed() {
    let indexed = Indexed::of(&[]).await;
    let composed = "e\u{301}".repeat(200);
    assert_eq!(indexed.found(&asked(&composed)).await.total, 0);
    for wrong in [format!("{composed}x"), String::new(), " \t\u{3000}".to_owned()] {
        let refused = indexed.of_caller(caller(OWNER), &asked(&wrong)).await;
        assert_eq!(sentence(refused), "q must be 1 to 200 characters long");
    }
    for (wrong, why) in [
        ("\"open", "a quotation mark is not closed"),
        ("from:", "nothing follows from:"),
        ("type:song", "type: takes "),
        ("-before:2026-01-01", "before: cannot be excluded with -"),
        ("before:9999-13-01", "before: takes "),
    ] {
        let refused = indexed.of_caller(caller(OWNER), &asked(wrong)).await.unwrap_err();
        let ServiceError::Invalid { field, why: told, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(field, Some(FieldPath::parameter("q")));
        assert!(told.starts_with(why), "{told}");
    }
    let nowhere = SearchService::new(None, SearchFallback::Nowhere);
    let away = search_of(&indexed.group, nowhere);
    let reader = access(&indexed.group, caller(OWNER)).await;
    let refused = away.in_channel(&reader, &asked("word")).await;
    assert_eq!(refused.unwrap_err(), ServiceError::Unavailable);
}

#[tokio::test]
async fn what_is_marked_is_what_was_looked_for() {
    let said = [
        ("wide", "我在 ＣＡＦÉ 等你 👨\u{200d}👩\u{200d}👧 cafe"),
        ("parts", "CAFE\u{301}s are closed; the café is not"),
        ("thai", "ร้านกาแฟ café อยู่ที่ไหน"),
        ("long", "x"),
    ];
    let long = format!("{} café {}", "前".repeat(500), "後".repeat(500));
    let changes =
        said.map(|(id, said)| text(id, second(1), if id == "long" { &long } else { said }));
    let indexed = Indexed::of(&changes).await;
    let page = indexed.found(&asked("ｃａｆé")).await;
    assert_eq!(page.total, 4);
    for hit in &page.hits {
        let snippet: Vec<_> = hit.snippet.text.chars().collect();
        assert!(snippet.len() <= 102, "an ellipsis on each side: {}", snippet.len());
        assert!(!hit.snippet.highlights.is_empty());
        let mut end = 0;
        for mark in &hit.snippet.highlights {
            assert!(end <= mark.start && mark.start < mark.end, "{:?}", hit.snippet);
            let marked: String = snippet[mark.start..mark.end].iter().collect();
            assert!(["café", "cafe", "cafés"].contains(&&*fold(&marked)), "{marked}");
            end = mark.end;
        }
    }
}

#[tokio::test]
async fn what_was_taken_back_is_not_shown_from_an_index_that_still_has_it() {
    let indexed = Indexed::of(&talk(3)).await;
    store(&indexed.group, &[unsent("m01", second(60))]).await;
    let page = indexed.found(&asked("word")).await;
    assert_eq!(ids(&page), ["m02", "m00"]);
    indexed.replica.catch_up().await.unwrap();
    assert_eq!(indexed.found(&asked("word")).await.total, 2);
}

#[tokio::test]
async fn names_in_a_query_are_those_of_the_channel_and_others_are_told() {
    let indexed = Indexed::of(&[
        text("owner", second(1), "word"),
        message("other", Some(OTHER), second(2), &Content::text("word")),
    ])
    .await;
    indexed.name("José 🌸", "陳怡君").await;
    for (query, expected) in [
        ("word from:jose", &["owner"][..]),
        ("word from:陈怡君", &["other"][..]),
        ("word from:\"@José\" from:U2", &["other", "owner"][..]),
        ("word -from:José", &["other"][..]),
        ("word from:ME", &["owner"][..]),
        ("word from:nobody", &[][..]),
    ] {
        let page = indexed.found(&asked(query)).await;
        assert_eq!(ids(&page), expected, "{query}");
        let is_unknown = query.ends_with("nobody");
        assert_eq!(page.unknown_names.iter().any(|one| one.name == "nobody"), is_unknown);
    }
    let near = indexed.found(&asked("word from:Josef")).await;
    let [unknown] = &near.unknown_names[..] else { panic!("{near:?}") };
    assert_eq!(unknown.near, [(UserId::from(OWNER), "José 🌸".to_owned())]);
    let several = indexed.found(&asked("word from:jose")).await;
    assert_eq!(several.named["jose"], [UserId::from(OWNER)]);
}

#[tokio::test]
async fn whoever_the_reader_may_not_be_told_of_is_nobody_in_a_query() {
    let indexed = Indexed::of(&[
        text("owner", second(1), "word"),
        message("other", Some(OTHER), second(2), &Content::text("word")),
    ])
    .await;
    indexed.name("Wilhelmina", "Bartholomew").await;
    let unknown = async |bounds: &Bounds, name: &str| {
        let reader = Caller { bounds: bounds.clone(), ..caller(OWNER) };
        let page = indexed.of_caller(reader, &asked(&format!("word from:{name}"))).await.unwrap();
        page.unknown_names.into_iter().map(|one| (one.name, one.near)).collect::<Vec<_>>()
    };
    let late = Bounds { not_before: Some(second(2)), ..Bounds::full() };
    let authors = Bounds { scopes: vec![Scope::ReadMessages], ..late.clone() };
    let nobody = |name: &str| vec![(name.to_owned(), Vec::new())];
    for name in ["Wilhelmina", OWNER, "Wilhelmin", "Quentin"] {
        assert_eq!(unknown(&authors, name).await, nobody(name), "{name}");
    }
    // Members are told of, whether they wrote something or not.
    for (bounds, name) in
        [(&late, "Wilhelmina"), (&late, OWNER), (&authors, "Bartholomew"), (&authors, OTHER)]
    {
        assert_eq!(unknown(bounds, name).await, [], "{name}");
    }
    let near = vec![(UserId::from(OWNER), "Wilhelmina".to_owned())];
    assert_eq!(unknown(&late, "Wilhelmin").await, [("Wilhelmin".to_owned(), near)]);
}

#[tokio::test]
async fn readers_of_pseudonyms_find_nothing_by_what_is_hidden() {
    let indexed = Indexed::of(&[
        text("tea", second(1), "Ann Lee ordered tea, call 0912-345-678"),
        message("cake", Some(OTHER), second(2), &Content::text("tea or cake?")),
        text("mail", second(3), "柯菲@例え.jp, kofi@公司。台灣, \"mensah k\"@membrane.example"),
    ])
    .await;
    indexed.name("Ann Lee", "王小明").await;
    let addresses = ["柯菲", "例え", "kofi", "公司", "台灣", "mensah", "membrane"];
    for word in addresses {
        assert_eq!(indexed.found(&asked(word)).await.total, 1, "{word}");
    }
    let bounds = Bounds { pseudonyms: Some(PseudonymKey::new([9; 32])), ..Bounds::full() };
    let (owner, data) = (UserId::from(OWNER), &indexed.group.store);
    let mask = masks::of_reader(data, &owner, &bounds).await.unwrap();
    let stand_in = mask.name(&owner, None).unwrap();
    let reader = Caller { bounds, mask, ..caller(OWNER) };
    let found = async |query: &str| indexed.of_caller(reader.clone(), &asked(query)).await;
    let rest =
        ["Ann", "Lee", "\"Ann Lee\"", "0912345678", "0912-345-678", "from:王小明", "ordered Ann"];
    for hidden in rest.into_iter().chain(addresses) {
        let page = found(hidden).await.unwrap();
        assert_eq!((page.total, page.hits.len()), (0, 0), "{hidden}");
    }
    let page = found("tea").await.unwrap();
    assert_eq!((ids(&page), page.total, page.is_total_exact), (vec!["cake", "tea"], 2, true));
    let shown = &page.hits[1].snippet.text;
    assert!(shown.contains(&stand_in) && shown.contains("[phone]"), "{shown}");
    for (query, expected) in
        [(format!("tea from:\"{stand_in}\""), "tea"), ("tea from:me".to_owned(), "tea")]
    {
        assert_eq!(ids(&found(&query).await.unwrap()), [expected], "{query}");
    }
    let unknown = found("tea from:\"Ann Lee\"").await.unwrap().unknown_names;
    assert!(unknown.len() == 1 && unknown[0].near.is_empty(), "{unknown:?}");
    let refused = found("tea -Ann").await;
    assert_eq!(sentence(refused), "a key that shows pseudonyms cannot exclude words with -");
}
