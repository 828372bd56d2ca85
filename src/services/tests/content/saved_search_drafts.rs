//! Saved searches of callers: what they may be, and whom they are there for.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, SavedSearchId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_store::SavedSearch;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::conversation::{refusal, sentence};
use crate::access::{ManageWebhooks, ReadMessages, Scoped};
use crate::saved_searches::{SavedSearchDraft, SavedSearchService, SavedSearchUpdate};
use crate::{Caller, Defect, Nullable, ServiceError};

struct Searches {
    group: Group,
    service: SavedSearchService,
}

impl Searches {
    async fn new() -> Self {
        let group = Group::new().await;
        let (store, clock) = (group.store.clone(), group.clock.clone());
        Self { group, service: SavedSearchService::new(store, clock, Tz::UTC) }
    }

    fn reads(&self, caller: Caller) -> Scoped<ReadMessages> {
        self.group.access.scoped(caller).unwrap()
    }

    fn manages(&self, caller: Caller) -> Scoped<ManageWebhooks> {
        self.group.access.scoped(caller).unwrap()
    }

    /// Saves a search a moment after the one before.
    async fn create(
        &self,
        caller: Caller,
        draft: SavedSearchDraft,
    ) -> Result<SavedSearch, ServiceError> {
        self.group.hands.advance(Duration::from_millis(1));
        self.service.create(&self.manages(caller), draft).await
    }

    async fn change(
        &self,
        caller: Caller,
        id: &SavedSearchId,
        update: SavedSearchUpdate,
    ) -> Result<SavedSearch, ServiceError> {
        self.service.change(&self.manages(caller), id, update).await
    }

    /// Returns the names of all that a caller sees, page by page.
    async fn names(&self, caller: Caller, limit: u32) -> Vec<String> {
        let (access, mut names, mut cursor) = (self.reads(caller), Vec::new(), None::<String>);
        loop {
            let (page, next) = self.service.page(&access, limit, cursor.as_deref()).await.unwrap();
            assert!(page.len() <= limit as usize);
            names.extend(page.into_iter().map(|search| search.name));
            match next {
                Some(next) => cursor = Some(next),
                None => return names,
            }
        }
    }
}

fn named(name: &str, channels: Option<&[&str]>) -> SavedSearchDraft {
    let channels = channels.map(|ids| ids.iter().map(ToString::to_string).collect());
    SavedSearchDraft { name: name.to_owned(), query: "tea".to_owned(), channels, enabled: true }
}

/// Returns a caller whose key is for these channels.
fn bound(channels: &[&str]) -> Caller {
    let channels = channels.iter().map(|id| ChannelId::from(*id)).collect();
    Caller { bounds: Bounds { channels: Some(channels), ..Bounds::full() }, ..caller(OWNER) }
}

#[tokio::test]
async fn names_queries_and_channels_have_their_limits() {
    let searches = Searches::new().await;
    let composed = "e\u{301}".repeat(100);
    let longest = SavedSearchDraft { query: "e\u{301}".repeat(200), ..named(&composed, None) };
    let saved = searches.create(caller(OWNER), longest).await.unwrap();
    assert_eq!(saved.name, composed, "as it was typed");
    let many: Vec<_> = (0..1_001).map(|number| format!("C{number}")).collect();
    let channels =
        |ids: &[String]| SavedSearchDraft { channels: Some(ids.to_vec()), ..named("n", None) };
    for (wrong, field) in [
        (named(&format!("{composed}x"), None), "/name"),
        (named("\u{3164}", None), "/name"),
        (named("a\0", None), "/name"),
        (SavedSearchDraft { query: "tea\0".to_owned(), ..named("n", None) }, "/query"),
        (SavedSearchDraft { query: "x".repeat(201), ..named("n", None) }, "/query"),
        (SavedSearchDraft { query: "\"tea".to_owned(), ..named("n", None) }, "/query"),
        (named("n", Some(&["C1", "elsewhere"])), "/channelIds/1"),
        (channels(&many), "/channelIds"),
    ] {
        let refused = searches.create(caller(OWNER), wrong).await;
        assert_eq!(refusal(refused).0, field);
    }
    let none = SavedSearchDraft {
        query: "tea after:2026-01-02 before:2026-01-01".to_owned(),
        ..named("n", None)
    };
    let refused = searches.create(caller(OWNER), none).await;
    assert_eq!(refusal(refused), ("/query".to_owned(), Defect::NoTime));
    let thousand = searches.create(caller(OWNER), channels(&many[..1_000])).await.unwrap();
    assert_eq!(thousand.channels.as_ref().map(Vec::len), Some(1_000));
    let repeated = named("n", Some(&["C2", "C1", "C2"]));
    let repeated = searches.create(caller(OWNER), repeated).await.unwrap();
    assert_eq!(repeated.channels, Some(vec!["C2".into(), "C1".into()]));
    let long = channels(&["C1".to_owned(), format!("C{}", "1".repeat(100))]);
    let why = sentence(searches.create(caller(OWNER), long).await);
    assert_eq!(why, "channelIds[1] is longer than 100 characters");
}

#[tokio::test]
async fn a_key_makes_sees_and_changes_searches_within_its_channels_alone() {
    let searches = Searches::new().await;
    let all = searches.create(caller(OWNER), named("all", None)).await.unwrap();
    let both = searches.create(caller(OWNER), named("both", Some(&[GROUP, "C2"]))).await.unwrap();
    let one = searches.create(caller(OWNER), named("one", Some(&[GROUP]))).await.unwrap();
    let key = || bound(&[GROUP]);
    let own = searches.create(key(), named("own", None)).await.unwrap();
    assert_eq!(own.channels, Some(vec![GROUP.into()]), "all of a key's are its own");
    let beyond = searches.create(key(), named("more", Some(&[GROUP, "C2"]))).await;
    assert!(matches!(beyond, Err(ServiceError::InsufficientFor { .. })), "{beyond:?}");
    assert_eq!(searches.names(key(), 10).await, ["one", "own"]);
    assert_eq!(searches.names(caller(OWNER), 10).await, ["all", "both", "one", "own"]);
    assert_eq!(searches.names(bound(&["C2", GROUP]), 10).await, ["both", "one", "own"]);
    for hidden in [&all, &both] {
        let (reads, update) = (searches.reads(key()), SavedSearchUpdate::default());
        let read = searches.service.one(&reads, &hidden.id).await;
        assert_eq!(read, Err(ServiceError::NotFound), "{}", hidden.name);
        let changed = searches.change(key(), &hidden.id, update).await;
        assert_eq!(changed, Err(ServiceError::NotFound));
        let removed = searches.service.remove(&searches.manages(key()), &hidden.id).await;
        assert_eq!(removed, Err(ServiceError::NotFound));
    }
    // A key cannot widen what it may change.
    let wider = SavedSearchUpdate {
        channels: Nullable::To(Some(vec![GROUP.to_owned(), "C2".to_owned()])),
        ..SavedSearchUpdate::default()
    };
    let refused = searches.change(key(), &one.id, wider.clone()).await;
    assert!(matches!(refused, Err(ServiceError::InsufficientFor { .. })), "{refused:?}");
    let any = SavedSearchUpdate { channels: Nullable::To(None), ..SavedSearchUpdate::default() };
    let narrowed = searches.change(key(), &one.id, any.clone()).await.unwrap();
    assert_eq!(narrowed.channels, Some(vec![GROUP.into()]));
    let widened = searches.change(caller(OWNER), &one.id, any).await.unwrap();
    assert_eq!(widened.channels, None);
    assert_eq!(searches.names(key(), 10).await, ["own"], "it is beyond the key now");
    // Another person's does not exist.
    let others = searches.service.one(&searches.reads(caller(OTHER)), &all.id).await;
    assert_eq!(others, Err(ServiceError::NotFound));
}

#[tokio::test]
async fn readers_of_pseudonyms_have_none() {
    let searches = Searches::new().await;
    let saved = searches.create(caller(OWNER), named("all", None)).await.unwrap();
    let mask = Mask::of(&PseudonymKey::new([3; 32]), &[]).unwrap();
    let reader = || Caller { mask: mask.clone(), ..caller(OWNER) };
    let (reads, manages) = (searches.reads(reader()), searches.manages(reader()));
    let refused = ServiceError::PseudonymousKey;
    assert_eq!(searches.service.page(&reads, 10, None).await.unwrap_err(), refused);
    assert_eq!(searches.service.one(&reads, &saved.id).await.unwrap_err(), refused);
    let created = searches.create(reader(), named("n", None)).await;
    assert_eq!(created.unwrap_err(), refused);
    let removed = searches.service.remove(&manages, &saved.id).await;
    assert_eq!(removed.unwrap_err(), refused);
    let update = SavedSearchUpdate { enabled: Some(false), ..SavedSearchUpdate::default() };
    assert_eq!(searches.change(reader(), &saved.id, update).await.unwrap_err(), refused);
    let kept = searches.service.one(&searches.reads(caller(OWNER)), &saved.id).await.unwrap();
    assert_eq!(kept, saved);
}

#[tokio::test]
async fn searches_of_one_moment_are_on_one_page_each() {
    let searches = Searches::new().await;
    let (mut ids, manages) = (Vec::new(), searches.manages(caller(OWNER)));
    for _ in 0..7 {
        ids.push(searches.service.create(&manages, named("n", None)).await.unwrap().id);
    }
    ids.sort();
    for limit in [1, 2, 3, 7, 8] {
        let (access, mut found, mut cursor) = (searches.reads(caller(OWNER)), Vec::new(), None);
        loop {
            let page = searches.service.page(&access, limit, cursor.as_deref()).await;
            let (page, next) = page.unwrap();
            found.extend(page.into_iter().map(|search| search.id));
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(found, ids, "{limit}");
    }
    let wrong = searches.service.page(&searches.reads(caller(OWNER)), 2, Some("x")).await;
    assert_eq!(refusal(wrong).0, "cursor");
}

#[tokio::test]
async fn what_changes_nothing_is_no_change_and_a_change_keeps_what_it_leaves_out() {
    let searches = Searches::new().await;
    let saved = searches.create(caller(OWNER), named("all", Some(&[GROUP]))).await.unwrap();
    searches.group.hands.advance(Duration::from_secs(1));
    let same = SavedSearchUpdate {
        name: Some("all".to_owned()),
        query: Some("tea".to_owned()),
        channels: Nullable::To(Some(vec![GROUP.to_owned()])),
        enabled: Some(true),
    };
    for update in [SavedSearchUpdate::default(), same] {
        let changed = searches.change(caller(OWNER), &saved.id, update).await.unwrap();
        assert_eq!(changed, saved, "the time of its last change, too");
    }
    let renamed =
        SavedSearchUpdate { name: Some("茶".to_owned()), ..SavedSearchUpdate::default() };
    let changed = searches.change(caller(OWNER), &saved.id, renamed).await.unwrap();
    let (name, updated_at) = ("茶".to_owned(), searches.group.clock.now());
    assert_eq!(changed, SavedSearch { name, updated_at, ..saved.clone() });
    let wrong = SavedSearchUpdate {
        enabled: Some(false),
        query: Some("type:song".to_owned()),
        ..SavedSearchUpdate::default()
    };
    let refused = searches.change(caller(OWNER), &saved.id, wrong).await;
    assert_eq!(refusal(refused).0, "/query");
    let kept = searches.service.one(&searches.reads(caller(OWNER)), &saved.id).await.unwrap();
    assert_eq!(kept, changed);
    searches.service.remove(&searches.manages(caller(OWNER)), &saved.id).await.unwrap();
    let update = SavedSearchUpdate::default();
    let gone = searches.change(caller(OWNER), &saved.id, update).await;
    assert_eq!(gone, Err(ServiceError::NotFound));
    assert!(searches.names(caller(OWNER), 10).await.is_empty());
}
