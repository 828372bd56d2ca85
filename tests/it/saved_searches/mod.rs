//! Saved searches: each tells what a search finds, once, on both databases.

mod equality;
mod flow;
mod words;

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use chatkeep_core::id::{ChannelId, MessageId, SavedSearchId, UserId};
use chatkeep_core::time::SystemClock;
use chatkeep_search::saved_searches::SavedSearchFollower;
use chatkeep_search::{
    ParsedQuery, SearchFallback, SearchRequest, SearchService, SenderNames, Sort,
};
use chatkeep_store::{
    Bookmark, FeedReader, NewSavedSearch, OutboxEventKind, SavedSearchChange, SavedSearchChanged,
    SearchEvent, SearchEventState, Store,
};
use chatkeep_workers::replica::Replica;
use chrono_tz::Tz;
use tempfile::TempDir;

use crate::store::{Fixture, at, edited, on_both, said, unsent};

on_both!(
    a_message_is_told_once_however_often_it_is_read,
    what_two_processes_compare_at_once_is_told_once,
    only_what_comes_after_it_was_saved_is_told,
    what_another_query_told_is_told_again_by_the_new_one,
    a_change_that_breaks_off_changes_all_or_nothing,
    what_was_passed_over_is_told_anew_when_it_is_found_again,
    what_is_not_stored_any_more_may_be_told_again,
    many_matches_are_told_in_parts,
);

/// A saved search of the tests.
#[derive(Clone, Debug)]
struct Saved {
    id: SavedSearchId,
    user: UserId,
    query: String,
    channels: Option<Vec<ChannelId>>,
}

/// Store of a few groups with saved searches, and an index of its messages.
struct World {
    fixture: Fixture,
    replica: Replica,
    search: SearchService,
    _folder: TempDir,
}

impl World {
    /// Creates groups of `U1` and `U2`, backed up by `U1`; `U2` is not in the last one.
    async fn new(fixture: Fixture, channels: &[&str]) -> Self {
        for (nth, channel) in channels.iter().enumerate() {
            let people: &[&str] =
                if nth > 0 && nth + 1 == channels.len() { &["U1"] } else { &["U1", "U2"] };
            fixture.group(channel, people).await;
            fixture.subscribe(channel, "U1", 2).await;
        }
        let folder = TempDir::new().unwrap();
        let (store, index) = (fixture.store.clone(), folder.path().join("index"));
        let replica = Replica::open(store, index, Arc::new(SystemClock)).await.unwrap();
        let search = SearchService::new(Some(replica.clone()), SearchFallback::Nowhere);
        Self { fixture, replica, search, _folder: folder }
    }

    fn store(&self) -> &Store {
        &self.fixture.store
    }

    fn follower(&self, process: &str) -> SavedSearchFollower {
        let (store, clock) = (self.store().clone(), Arc::new(SystemClock));
        SavedSearchFollower::new(store, clock, Tz::UTC, process.to_owned())
    }

    async fn save(&self, id: &str, user: &str, query: &str, channels: Option<&[&str]>) -> Saved {
        let channels: Option<Vec<ChannelId>> =
            channels.map(|ids| ids.iter().map(|id| ChannelId::from(*id)).collect());
        let saved = Saved {
            id: id.into(),
            user: user.into(),
            query: query.to_owned(),
            channels: channels.clone(),
        };
        let change =
            SavedSearchChange { name: id, query, channels: channels.as_deref(), enabled: true };
        let new = NewSavedSearch { id: &saved.id, user: &saved.user, change };
        assert!(self.store().saved_searches().add_saved_search(new, at(3)).await.unwrap());
        saved
    }

    /// Compares everything that is logged; returns the number of events that were told.
    async fn compare(&self) -> u64 {
        self.fixture.log_settled().await;
        self.follower("one").catch_up().await.unwrap()
    }

    /// Returns the messages that a saved search told of; fails if it told one twice, or anybody
    /// else of it.
    async fn told(&self, saved: &Saved) -> BTreeSet<(ChannelId, MessageId)> {
        let mut told = BTreeSet::new();
        for event in self.events(saved).await {
            assert!(told.insert((event.channel, event.message)), "told twice: {saved:?}");
        }
        told
    }

    /// Returns the events of a saved search in the log, oldest first; fails if anybody else is told
    /// of it.
    async fn events(&self, saved: &Saved) -> Vec<SearchEvent> {
        let all = self.matches().await.into_iter().filter(|(_, event)| event.search == saved.id);
        let to_owner = |(user, event)| {
            assert_eq!(user, saved.user, "told to somebody else");
            event
        };
        all.map(to_owner).collect()
    }

    /// Returns the events of all saved searches in the log, each with who is told, oldest first.
    async fn matches(&self) -> Vec<(UserId, SearchEvent)> {
        self.fixture.log_settled().await;
        let mut events = Vec::new();
        for user in [UserId::from("U1"), UserId::from("U2")] {
            let channels: Vec<_> = ["C1", "C2", "C3"].map(ChannelId::from).to_vec();
            let reader = FeedReader { user: &user, channels: &channels, not_before: None };
            let mut after = Bookmark::default();
            loop {
                let page = self.store().outbox().outbox_events(reader, after, 100).await.unwrap();
                for event in page.outbox_events {
                    if event.kind == OutboxEventKind::SearchMatched {
                        let event = SearchEvent {
                            search: event.detail.unwrap().as_str().into(),
                            channel: event.channel.unwrap(),
                            message: event.subject.unwrap().into(),
                            seq: event.place.1,
                        };
                        events.push((user.clone(), event));
                    }
                }
                after = page.next;
                if !page.more {
                    break;
                }
            }
        }
        events
    }

    /// Returns what a search by the owner of a saved search finds now.
    async fn hits(&self, saved: &Saved) -> BTreeSet<(ChannelId, MessageId)> {
        self.fixture.log_settled().await;
        self.replica.catch_up().await.unwrap();
        let only = saved.channels.as_deref();
        let channels = self.store().channels().names_of(&saved.user, only, 1_000).await.unwrap();
        let channels: Vec<_> = channels.into_iter().map(|channel| channel.id).collect();
        let zone = match &saved.channels.as_deref() {
            Some([one]) => {
                let channel = self.store().channels().channel(one).await.unwrap().unwrap();
                channel.zone(Tz::UTC)
            }
            _ => Tz::UTC,
        };
        let parsed = ParsedQuery::parse(&saved.query, zone).unwrap();
        let known = SenderNames::of(self.store(), &channels).await.unwrap();
        let people = parsed.named_people(&known, &saved.user);
        let first = SearchRequest::new(parsed, channels, 100_000);
        let request = SearchRequest { people, sort: Sort::Newest, ..first };
        let found = self.search.find(request).await.unwrap();
        assert_eq!(found.next, None);
        let exact = found.hits.into_iter().filter(|hit| !hit.related);
        exact.map(|hit| (hit.channel, hit.message)).collect()
    }
}

fn keys<const N: usize>(keys: [(&str, &str); N]) -> BTreeSet<(ChannelId, MessageId)> {
    keys.into_iter().map(|(c, m)| (c.into(), m.into())).collect()
}

async fn a_message_is_told_once_however_often_it_is_read(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    let saved = world.save("ss_tea", "U2", "tea", None).await;
    world.fixture.keep(&[said("C1", "a", 10, "tea time"), said("C1", "b", 11, "coffee")], 12).await;
    assert_eq!(world.compare().await, 1);
    assert_eq!(world.compare().await, 0);
    // The platform delivers again, and a crash between the events and the position reads again.
    world.fixture.keep(&[said("C1", "a", 10, "tea time")], 13).await;
    world.fixture.run("UPDATE saved_search_position SET tx = 0, seq = 0").await;
    assert_eq!(world.compare().await, 0);
    // An edit makes one match, and another match again.
    let edits = [edited("C1", "a", 14, "more tea"), edited("C1", "b", 14, "no, tea!")];
    world.fixture.keep(&edits, 15).await;
    assert_eq!(world.compare().await, 1);
    assert_eq!(world.told(&saved).await, keys([("C1", "a"), ("C1", "b")]));
    assert_eq!(world.told(&saved).await, world.hits(&saved).await);
}

async fn what_two_processes_compare_at_once_is_told_once(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    let saved = world.save("ss_all", "U1", "type:text", None).await;
    let all: Vec<_> = (0..300).map(|n| said("C1", &format!("m{n}"), 10 + n, "hello")).collect();
    for part in all.chunks(20) {
        world.fixture.keep(part, 400).await;
    }
    world.fixture.log_settled().await;
    let (one, two, three) = (world.follower("one"), world.follower("two"), world.follower("three"));
    let (one, two, three) = tokio::join!(one.catch_up(), two.catch_up(), three.catch_up());
    assert_eq!(one.unwrap() + two.unwrap() + three.unwrap(), 300);
    assert_eq!(world.compare().await, 0);
    assert_eq!(world.told(&saved).await.len(), 300);
}

async fn only_what_comes_after_it_was_saved_is_told(fixture: Fixture) {
    let world = World::new(fixture, &["C1", "C2"]).await;
    world.fixture.keep(&[said("C1", "old", 10, "tea"), said("C1", "dull", 10, "milk")], 11).await;
    let saved = world.save("ss_tea", "U1", "tea", Some(&["C1"])).await;
    world.fixture.keep(&[said("C1", "new", 12, "tea"), said("C2", "other", 12, "tea")], 13).await;
    world.fixture.keep(&[edited("C1", "dull", 14, "milk tea")], 15).await;
    world.compare().await;
    assert_eq!(world.told(&saved).await, keys([("C1", "new"), ("C1", "dull")]));

    // Another query begins anew, also before the log was read to where it was changed.
    world.fixture.keep(&[said("C1", "missed", 16, "cake")], 17).await;
    let searches = world.store().saved_searches();
    let change =
        |query, enabled| SavedSearchChange { name: "ss_tea", query, channels: None, enabled };
    let (user, id) = (&saved.user, &saved.id);
    let set = async |query, enabled, time| {
        let known = searches.saved_search(user, id).await.unwrap().unwrap();
        let new = change(query, enabled);
        let changed = searches.change_saved_search(&known, new, at(time)).await.unwrap();
        assert_eq!(changed, SavedSearchChanged::Done);
    };
    let before = searches.saved_search(user, id).await.unwrap().unwrap();
    set("cake", true, 18).await;
    // It is no longer as this caller knows it.
    let late = searches.change_saved_search(&before, change("milk", true), at(18)).await.unwrap();
    assert_eq!(late, SavedSearchChanged::Stale);
    world.fixture.keep(&[said("C2", "cake", 19, "cake")], 20).await;
    world.compare().await;
    let told = keys([("C1", "new"), ("C1", "dull"), ("C2", "cake")]);
    assert_eq!(world.told(&saved).await, told);

    // What came during a pause is not told.
    set("cake", false, 21).await;
    world.fixture.keep(&[said("C2", "paused", 22, "cake")], 23).await;
    set("cake", true, 24).await;
    world.compare().await;
    assert_eq!(world.told(&saved).await, told);
    assert!(searches.delete_saved_search(user, id, at(25)).await.unwrap());
    world.fixture.keep(&[said("C2", "late", 26, "cake")], 27).await;
    assert_eq!(world.compare().await, 0);
}

async fn what_another_query_told_is_told_again_by_the_new_one(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    let saved = world.save("ss_tea", "U1", "tea", None).await;
    world.fixture.keep(&[said("C1", "a", 10, "tea"), said("C1", "b", 11, "tea")], 12).await;
    assert_eq!(world.compare().await, 2);
    let searches = world.store().saved_searches();
    let change = async |query, enabled, time| {
        let change = SavedSearchChange { name: "ss_tea", query, channels: None, enabled };
        let known = searches.saved_search(&saved.user, &saved.id).await.unwrap().unwrap();
        let changed = searches.change_saved_search(&known, change, at(time)).await.unwrap();
        changed == SavedSearchChanged::Done
    };
    // A pause changes nothing.
    assert!(change("tea", false, 13).await && change("tea", true, 14).await);
    world.fixture.keep(&[edited("C1", "a", 15, "tea, cake")], 16).await;
    assert_eq!(world.compare().await, 0);
    assert!(change("cake", true, 17).await);
    assert_eq!(world.compare().await, 0);
    world.fixture.keep(&[edited("C1", "a", 18, "tea and cake")], 19).await;
    assert_eq!(world.compare().await, 1);
    // Once by the new one, too.
    world.fixture.keep(&[edited("C1", "a", 20, "cake")], 21).await;
    assert_eq!(world.compare().await, 0);
    // However many there were, they are removed.
    many_hits(&world, 1).await;
    assert!(change("tea", true, 22).await);
    let left: Vec<(ChannelId, MessageId)> =
        ["gone-1", "gone-12000", "a"].map(|id| ("C1".into(), id.into())).into();
    while searches.sweep().await.unwrap() {}
    assert!(searches.matched_messages(&left).await.unwrap().is_empty());
}

/// Adds hits of the saved search `ss_tea`, more than are removed at once.
async fn many_hits(world: &World, generation: i64) {
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
         INSERT INTO saved_search_hits (saved_search_id, channel_id, message_id, generation)
         SELECT 'ss_tea', 'C1', 'gone-' || i, {generation} FROM n"
    );
    world.fixture.run(&sql).await;
}

async fn a_change_that_breaks_off_changes_all_or_nothing(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    let mut time = 10;
    // On a busy machine the database may have answered each time before it is looked for.
    for _ in 0..100 {
        if break_off(&world, &mut time).await > 0 {
            return;
        }
    }
    panic!("the change did not break off anywhere");
}

/// Changes the query of a saved search with a process that dies ever later in the change. Returns
/// how often it died before the end.
async fn break_off(world: &World, time: &mut i64) -> usize {
    let saved = world.save("ss_tea", "U1", "tea", None).await;
    let message = format!("a{time}");
    world.fixture.keep(&[said("C1", &message, *time, "tea")], *time + 1).await;
    assert_eq!(world.compare().await, 1);
    many_hits(world, 0).await;
    let searches = world.store().saved_searches();
    let query = async || {
        // Waits until the database has ended what the dead process left.
        world.fixture.run("UPDATE saved_searches SET name = name").await;
        let search = searches.saved_search(&saved.user, &saved.id).await.unwrap();
        search.unwrap().query
    };
    let known = searches.saved_search(&saved.user, &saved.id).await.unwrap().unwrap();
    let mut polls = 1;
    loop {
        *time += 2;
        let new = SavedSearchChange {
            name: "ss_tea",
            query: "tea -coffee",
            channels: None,
            enabled: true,
        };
        let change = searches.change_saved_search(&known, new, at(*time));
        die_after(polls, change).await;
        let kept = query().await == "tea";
        let edit = edited("C1", &message, *time, &format!("tea {time}"));
        world.fixture.keep(&[edit], *time + 1).await;
        // What was told by the query that is left is not told again, by the new one it is.
        assert_eq!(world.compare().await, u64::from(!kept), "after {polls} polls");
        if !kept {
            break;
        }
        polls += 1;
    }
    assert_eq!(world.compare().await, 0);
    *time += 2;
    assert!(searches.delete_saved_search(&saved.user, &saved.id, at(*time)).await.unwrap());
    while searches.sweep().await.unwrap() {}
    *time += 2;
    polls - 1
}

/// Polls a future so many times at most, and drops it.
async fn die_after<T>(polls: usize, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        future.as_mut().poll(context).map(drop)
    })
    .await;
}

async fn what_was_passed_over_is_told_anew_when_it_is_found_again(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    let saved = world.save("ss_tea", "U1", "tea", None).await;
    world.fixture.keep(&[said("C1", "a", 10, "tea"), said("C1", "b", 10, "tea")], 11).await;
    assert_eq!(world.compare().await, 2);
    let searches = world.store().saved_searches();
    let [first, other] = world.events(&saved).await.try_into().unwrap();
    let states = async |events: &[SearchEvent]| searches.event_states(events).await.unwrap();
    assert_eq!(states(&[first.clone(), other.clone()]).await, [SearchEventState::Current; 2]);
    // Whoever reads it now leaves it out.
    world.fixture.keep(&[edited("C1", "a", 12, "coffee"), edited("C1", "b", 12, "tea!")], 13).await;
    assert_eq!(world.compare().await, 0);
    searches.pass_over(std::slice::from_ref(&first)).await.unwrap();
    let both = [first.clone(), other.clone()];
    let expected = [SearchEventState::PassedOver, SearchEventState::Current];
    assert_eq!(states(&both).await, expected);
    assert_eq!(world.compare().await, 0);
    world.fixture.keep(&[edited("C1", "a", 14, "tea after all")], 15).await;
    assert_eq!(world.compare().await, 1);
    let again = world.events(&saved).await.pop().unwrap();
    assert_eq!((&again.message, again.seq > other.seq), (&first.message, true));
    let expected = [SearchEventState::Superseded, SearchEventState::Current];
    assert_eq!(states(&both).await, expected);
    assert_eq!(states(std::slice::from_ref(&again)).await, [SearchEventState::Current]);
    // A note that comes late is about the event that is shown no more.
    searches.pass_over(&[first]).await.unwrap();
    world.fixture.keep(&[edited("C1", "a", 16, "more tea")], 17).await;
    assert_eq!(world.compare().await, 0);
    assert_eq!(states(&[again]).await, [SearchEventState::Current]);
}

async fn what_is_not_stored_any_more_may_be_told_again(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    let saved = world.save("ss_tea", "U1", "tea", None).await;
    world.fixture.keep(&[said("C1", "a", 10, "tea"), said("C1", "b", 11, "tea")], 12).await;
    world.compare().await;
    let told = || world.store().saved_searches();
    let both: [(ChannelId, MessageId); 2] = [("C1".into(), "a".into()), ("C1".into(), "b".into())];
    assert_eq!(told().matched_messages(&both).await.unwrap().len(), 2);
    world.fixture.keep(&[unsent("C1", "a", 13)], 14).await;
    world.compare().await;
    assert_eq!(told().matched_messages(&both).await.unwrap(), keys([("C1", "b")]));
    crate::store::delete_before(world.store(), &"C1".into(), at(100), at(101)).await;
    world.compare().await;
    assert_eq!(told().matched_messages(&both).await.unwrap(), keys([]));
    assert_eq!(world.hits(&saved).await, keys([]));
}

async fn many_matches_are_told_in_parts(fixture: Fixture) {
    let world = World::new(fixture, &["C1"]).await;
    // More searches than are compared at once, and more matches than one transaction tells.
    let mut searches = Vec::new();
    for nth in 0..50 {
        searches.push(world.save(&format!("ss_a{nth}"), "U1", "hello", None).await);
        searches.push(world.save(&format!("ss_b{nth}"), "U2", "-world", None).await);
    }
    let all: Vec<_> = (0..45).map(|n| said("C1", &format!("m{n}"), 10 + n, "hello")).collect();
    world.fixture.keep(&all, 60).await;
    assert_eq!(world.compare().await, 100 * 45);
    for saved in [&searches[0], &searches[99]] {
        assert_eq!(world.told(saved).await.len(), 45);
    }
}
