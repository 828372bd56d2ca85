//! The sample group on the emulator and in the store, and its owner's key.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use chatkeep_core::bus::Bus;
use chatkeep_core::message::Content;
use chatkeep_core::plan::Plan;
use chatkeep_core::store::{MemberStatus, MessageFilter, Store, StoredMessage};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_workers::assistant::Assistants;

use super::people::People;
use super::{key, pictures};
use crate::app::App;
use chatkeep_emulator::{Emulator, Media, RestoredMessage};

/// Messages of earlier runs that can still be quoted and unsent.
const RESTORED: u32 = 1_000;
/// The photos of the history come first.
const FIRST_PHOTO: usize = 2;

/// The sample group on the emulator, and the store it ends up in.
#[derive(Debug)]
pub(super) struct Sample {
    line: Emulator,
    store: Store,
    /// Told when the sample's settings are there.
    assistants: Assistants,
    bus: Bus,
    clock: SharedClock,
    people: People,
    key: String,
    photos: AtomicUsize,
}

impl Sample {
    /// Makes the people and the group, the same ones at every start and as the last run left them,
    /// and the owner's key, which is kept in `folder`.
    ///
    /// # Errors
    /// When the store fails or the key's file cannot be read or written.
    pub(super) async fn new(
        line: Emulator,
        app: &App,
        clock: SharedClock,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let (store, bus) = (app.store().clone(), app.bus().clone());
        let assistants = app.assistants().clone();
        let people = People::new(line.clone(), &store).await?;
        let (owner, name) = (people.owner_id(), people.owner().display_name.as_str());
        store.add_user(&owner, Some(name), clock.now()).await?;
        let key = key::lasting(&store, &owner, folder, clock.now()).await?;
        let filter = MessageFilter { limit: RESTORED, ..MessageFilter::default() };
        let earlier = store.messages(people.group(), &filter).await?.messages;
        line.restore(earlier.into_iter().rev().filter_map(restored));
        let photos = AtomicUsize::new(FIRST_PHOTO);
        Ok(Self { line, store, assistants, bus, clock, people, key, photos })
    }

    pub(super) const fn line(&self) -> &Emulator {
        &self.line
    }

    pub(super) const fn store(&self) -> &Store {
        &self.store
    }

    pub(super) const fn people(&self) -> &People {
        &self.people
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The next photo that somebody sends.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub(super) async fn next_photo(&self) -> anyhow::Result<Media> {
        pictures::photo(self.photos.fetch_add(1, Ordering::SeqCst)).await
    }

    /// Puts the owner on another plan.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn set_plan(&self, plan: Plan) -> anyhow::Result<()> {
        self.store.set_plan(&self.people.owner_id(), plan, self.now()).await?;
        self.assistant_changed().await;
        Ok(())
    }

    /// HasFilter the assistant use its settings as they are now with the next message.
    pub(super) async fn assistant_changed(&self) {
        self.assistants.changed(self.people.group(), &self.bus).await;
    }

    /// Whether an earlier run set the group up: there are messages or rules.
    pub(super) async fn is_set_up(&self) -> anyhow::Result<bool> {
        let group = self.people.group();
        let filter = MessageFilter { limit: 1, ..MessageFilter::default() };
        Ok(!self.store.messages(group, &filter).await?.messages.is_empty()
            || !self.store.rules(group).await?.value.items.is_empty())
    }

    /// Whether the owner is known to be in the group.
    pub(super) async fn knows_owner(&self) -> anyhow::Result<bool> {
        let member = self.store.member(self.people.group(), &self.people.owner_id()).await?;
        Ok(member.is_some_and(|member| member.status == MemberStatus::Active))
    }

    /// HasFilter the owner subscribe the group.
    pub(super) async fn subscribe(&self) -> anyhow::Result<()> {
        self.store.subscribe(self.people.group(), &self.people.owner_id(), self.now()).await?;
        Ok(())
    }

    /// How many messages the owner has in store.
    pub(super) async fn stored_messages(&self) -> anyhow::Result<i64> {
        let usage = self.store.usage(&self.people.owner_id()).await?;
        Ok(usage.channels.iter().map(|channel| channel.message_count).sum())
    }

    /// What to do now, for the terminal.
    pub(super) fn greeting(&self, address: SocketAddr, folder: &Path) -> String {
        let (api, key) = (format!("http://{address}/api"), &self.key);
        let channel = format!("{api}/channels/{}", self.people.group());
        // Answers do not end with a new line; the prompt of the shell shall begin with one.
        let curl = format!("curl -w '\\n' -H 'Authorization: Bearer {key}'");
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\nchatkeep demo is ready\n\n  chat page  http://{address}/demo\n  \
             API key    {key}  (the same at every start)\n  \
             kept in    {}\n\n  {curl} {api}/me\n  {curl} {api}/channels\n  {curl} \
             '{channel}/backup/messages?limit=3'\n  {curl} -H 'Content-Type: \
             application/json' \\\n    -d '{{\"keywords\":[\"parking\"],\"question\":\"\",\
             \"answer\":\"Behind the house\"}}' {channel}/assistant/qa\n\n\
             Ctrl-C ends it; starting it again finds everything.",
            folder.display()
        );
        text
    }
}

/// A stored message as the emulator takes it back; `None` when it was unsent.
fn restored(message: StoredMessage) -> Option<RestoredMessage> {
    if message.unsent_at.is_some() {
        return None;
    }
    let user_id = match message.sender {
        _ if message.is_bot => None,
        Some(sender) => Some(sender.id.to_string()),
        // Who sent it is not told.
        None => return None,
    };
    let text = match message.content {
        Some(Content::Text { text, .. }) => Some(text),
        _ => None,
    };
    Some(RestoredMessage {
        chat_id: message.channel.to_string(),
        user_id,
        at: message.sent_at.millis(),
        message_id: message.id.to_string(),
        kind: message.kind.name().to_owned(),
        text,
    })
}
