//! The sample group on the emulator and in the store, and its owner's key.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use chatkeep_core::message::Content;
use chatkeep_core::plan::Plan;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_emulator::{Emulator, Media, RestoredMessage};
use chatkeep_store::{MemberStatus, MessageFilter, Store, StoredMessage};

use super::people::People;
use super::{key, pictures};
use crate::app::App;
use crate::services::access::{AtLeast, ChannelAccess, HasScope, Member, WriteBackup};
use crate::services::{ServiceError, Services};

/// Messages of earlier runs that can still be quoted and unsent.
const RESTORED: u32 = 1_000;
/// The photos of the history come first.
const FIRST_PHOTO: usize = 2;

/// The sample group on the emulator, and the store it ends up in.
#[derive(Debug)]
pub(super) struct Sample {
    line: Emulator,
    store: Store,
    services: Services,
    clock: SharedClock,
    people: People,
    key: String,
    photos: AtomicUsize,
}

impl Sample {
    /// Creates the people and the group, the same at every start and as the last run left them, and
    /// the owner's key in `folder`.
    ///
    /// # Errors
    /// Returns an error when the store fails or the key's file cannot be read or written.
    pub(super) async fn new(
        line: Emulator,
        app: &App,
        clock: SharedClock,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let (store, services) = (app.store().clone(), app.services().clone());
        let people = People::new(line.clone(), &store).await?;
        people.tell_pictures(&store, clock.now()).await?;
        let (owner, name) = (people.owner_id(), people.owner().display_name.as_str());
        store.accounts().add_user(&owner, Some(name), clock.now()).await?;
        let key = key::lasting(&services, &owner, folder).await?;
        let filter = MessageFilter { limit: RESTORED, ..MessageFilter::default() };
        let earlier = store.messages().list(people.group(), &filter).await?.messages;
        line.restore(earlier.into_iter().rev().filter_map(restored));
        let photos = AtomicUsize::new(FIRST_PHOTO);
        Ok(Self { line, store, services, clock, people, key, photos })
    }

    pub(super) const fn line(&self) -> &Emulator {
        &self.line
    }

    pub(super) const fn services(&self) -> &Services {
        &self.services
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

    /// Returns the next photo.
    ///
    /// # Errors
    /// Returns an error when it cannot be drawn.
    pub(super) async fn next_photo(&self) -> anyhow::Result<Media> {
        pictures::photo(self.photos.fetch_add(1, Ordering::SeqCst)).await
    }

    /// Changes the owner's plan.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn set_plan(&self, plan: Plan) -> anyhow::Result<()> {
        self.store.accounts().set_plan(&self.people.owner_id(), plan, self.now()).await?;
        self.services.assistant.reload(self.people.group()).await;
        Ok(())
    }

    /// Returns the owner's access to the group.
    ///
    /// # Errors
    /// Returns an error when the owner has not that role, or the store fails.
    pub(super) async fn access<R: AtLeast, S: HasScope>(
        &self,
    ) -> Result<ChannelAccess<R, S>, ServiceError> {
        let owner = self.services.credentials.caller(&self.key).await?;
        self.services.access.channel(owner, self.people.group().clone()).await
    }

    /// Returns true when an earlier run set up the group: it has messages or rules.
    pub(super) async fn is_set_up(&self) -> anyhow::Result<bool> {
        let group = self.people.group();
        let filter = MessageFilter { limit: 1, ..MessageFilter::default() };
        Ok(!self.store.messages().list(group, &filter).await?.messages.is_empty()
            || !self.store.assistant().rules(group).await?.value.items.is_empty())
    }

    /// Returns true when the store knows the owner as a member.
    pub(super) async fn knows_owner(&self) -> anyhow::Result<bool> {
        let member =
            self.store.members().member(self.people.group(), &self.people.owner_id()).await?;
        Ok(member.is_some_and(|member| member.status == MemberStatus::Active))
    }

    /// Creates the owner's backup subscription.
    pub(super) async fn subscribe(&self) -> anyhow::Result<()> {
        let access = self.access::<Member, WriteBackup>().await?;
        self.services.subscriptions.subscribe(&access).await?;
        Ok(())
    }

    /// Returns the number of the owner's stored messages.
    pub(super) async fn stored_messages(&self) -> anyhow::Result<i64> {
        let usage = self.store.accounts().usage(&self.people.owner_id()).await?;
        Ok(usage.channels.iter().map(|channel| channel.message_count).sum())
    }

    /// Returns the instructions for the terminal.
    pub(super) fn greeting(&self, address: SocketAddr, folder: &Path) -> String {
        let (api, key) = (format!("http://{address}/api"), &self.key);
        let channel = format!("{api}/channels/{}", self.people.group());
        // Responses have no final newline; the shell's prompt shall begin on a new line.
        let curl = format!("curl -w '\\n' -H 'Authorization: Bearer {key}'");
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\nchatkeep demo is ready\n\n  chat page  http://{address}/demo\n  \
             console    http://{address}/console\n  \
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

/// Returns a stored message in the emulator's form; `None` when it was unsent.
fn restored(message: StoredMessage) -> Option<RestoredMessage> {
    if message.unsent_at.is_some() {
        return None;
    }
    let user_id = match message.sender {
        _ if message.is_bot => None,
        Some(sender) => Some(sender.id.to_string()),
        // The sender is unknown.
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
