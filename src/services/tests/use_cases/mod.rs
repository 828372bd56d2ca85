//! Use cases of callers: what each of them returns, refuses and leaves behind.

mod access;
mod account;
mod activity;
mod activity_log;
mod backup_settings;
mod channels;
mod citations;
mod credentials;
mod deletion;
mod deliveries;
mod events;
mod gaps;
mod grants;
mod keys;
mod masks;
mod member_names;
mod members;
mod membership;
mod permits;
mod processes;
mod rendered;
mod rotation;
mod sessions;
mod subscriptions;
mod unstored;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::message::{Content, MessageChange};
use chatkeep_core::profile::Profile;
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_search::saved_searches::SearchMatcher;
use chatkeep_store::{ChannelChange, NewKey, PresenceEvidenceKind, RoleSet, Store, Subscribed};
use chatkeep_view::Links;
use chrono_tz::Tz;

use super::{GROUP, Group, OWNER, caller, scene};
use crate::event_renderer::EventRenderer;
use crate::{Caller, ServiceError};

/// Returns the time of a text.
fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Returns what most services are made of.
fn parts(group: &Group) -> (Store, SharedClock) {
    (group.store.clone(), Arc::clone(&group.clock))
}

fn renderer(group: &Group) -> EventRenderer {
    let (store, clock) = parts(group);
    let matcher = SearchMatcher::new(store.clone(), Tz::UTC);
    EventRenderer { store, clock, links: Links::new(Some("https://chat.example.org")), matcher }
}

/// Returns a caller with a session that is limited by these bounds.
fn bounded(user: &str, bounds: Bounds) -> Caller {
    Caller { bounds, ..caller(user) }
}

/// Returns bounds of these channels alone.
fn only(channels: &[&str]) -> Bounds {
    let channels = channels.iter().map(|id| ChannelId::from(*id)).collect();
    Bounds { channels: Some(channels), ..Bounds::full() }
}

/// Returns bounds of these scopes alone.
fn with_scopes(scopes: &[Scope]) -> Bounds {
    Bounds { scopes: scopes.to_vec(), ..Bounds::full() }
}

/// Returns bounds of what was sent from that time on.
fn since(start: Timestamp) -> Bounds {
    Bounds { not_before: Some(start), ..Bounds::full() }
}

/// Stores a key with these bounds, whose secret is `ck_` and its id; returns its caller.
async fn key_of(group: &Group, user: &str, id: &str, bounds: &Bounds) -> Caller {
    let (id, user, secret) = (KeyId::from(id), UserId::from(user), format!("ck_{id}"));
    let new = NewKey {
        id: &id,
        secret: &secret,
        user: &user,
        name: "program",
        scopes: &bounds.scopes,
        channels: bounds.channels.as_deref(),
        not_before: bounds.not_before,
        pseudonyms: bounds.pseudonyms.as_ref(),
        expires_at: bounds.expires_at,
    };
    let key = group.store.keys().add_key(&new, group.clock.now()).await.unwrap().unwrap();
    Caller::of_key(&group.store, key).await.unwrap()
}

/// Makes people members.
async fn arrive(group: &Group, channel: &str, users: &[&str]) {
    for user in users {
        group.happened(channel, PresenceEvidenceKind::Present((*user).into())).await;
    }
}

/// Makes somebody leave, a moment later.
async fn leave(group: &Group, channel: &str, user: &str) {
    group.hands.advance(Duration::from_millis(1));
    group.happened(channel, PresenceEvidenceKind::Left(user.into())).await;
}

/// Makes a channel of these people, of whom the first subscribes to it and so owns it.
async fn establish(group: &Group, channel: &str, users: &[&str]) {
    arrive(group, channel, users).await;
    let (id, owner, now) = (channel.into(), users[0].into(), group.clock.now());
    let subscribed = group.store.accounts().subscribe(&id, &owner, now).await.unwrap();
    assert_eq!(subscribed, Subscribed::New);
}

/// Sets a role in the group, as its owner.
async fn appoint(group: &Group, user: &str, role: Role) {
    let (channel, by, now) = (GROUP.into(), OWNER.into(), group.clock.now());
    let set = group.store.members().set_role(&channel, &by, &user.into(), role, now).await;
    assert_eq!(set.unwrap(), RoleSet::Done);
}

/// Gives people the names that the platform tells.
async fn call(group: &Group, names: &[(&str, &str)]) {
    let profile =
        |name: &str| Profile { display_name: name.to_owned(), picture_url: None, language: None };
    let profiles = names.iter().map(|(user, name)| (UserId::from(*user), Some(profile(name))));
    let profiles: BTreeMap<_, _> = profiles.collect();
    group.store.members().save_profiles(&profiles, group.clock.now()).await.unwrap();
}

fn changed(channel: &str, id: &str, change: MessageChange) -> ChannelChange {
    ChannelChange { channel: channel.into(), message: id.into(), change }
}

/// Returns a message of that content.
fn sent(channel: &str, id: &str, by: &str, at: Timestamp, content: &Content) -> ChannelChange {
    scene::sent(channel, id, Some(by), at, content)
}

/// Returns a text.
fn said(channel: &str, id: &str, by: &str, at: Timestamp, text: &str) -> ChannelChange {
    sent(channel, id, by, at, &Content::text(text))
}

/// Returns a text of a bot.
fn answered(channel: &str, id: &str, bot: &str, at: Timestamp, text: &str) -> ChannelChange {
    let mut answer = said(channel, id, bot, at, text);
    if let MessageChange::Received(received) = &mut answer.change {
        received.is_bot = true;
    }
    answer
}

fn edited(channel: &str, id: &str, at: Timestamp, text: &str) -> ChannelChange {
    let content = serde_json::to_string(&Content::text(text)).unwrap();
    changed(channel, id, MessageChange::Edited { at, by: None, content })
}

fn unsent(channel: &str, id: &str, at: Timestamp) -> ChannelChange {
    changed(channel, id, MessageChange::Unsent { at })
}

/// Handles changes of messages, one after the other.
async fn keep(group: &Group, changes: &[ChannelChange]) {
    for change in changes {
        let one = std::slice::from_ref(change);
        group.store.messages().ingest(one, group.clock.now()).await.unwrap();
    }
}

/// Returns the place of the value for which a request is refused.
fn refused_at<T>(result: Result<T, ServiceError>) -> String {
    match result {
        Err(ServiceError::Invalid { field: Some(field), .. }) => field.text().into_owned(),
        Err(other) => panic!("refused otherwise: {other:?}"),
        Ok(_) => panic!("not refused"),
    }
}
