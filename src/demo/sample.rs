//! The sample groups on the emulator and in the store, and the key of the first one's owner.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use chatkeep_blobs::Blobs;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::Content;
use chatkeep_core::plan::Plan;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_emulator::{Action, Emulator, Media, RestoredMessage};
use chatkeep_services::access::{AtLeast, ChannelAccess, HasScope, Member, WriteBackup};
use chatkeep_services::operator::Operator;
use chatkeep_services::{Caller, Credential, ServiceError, Services};
use chatkeep_store::{MemberStatus, MessageFilter, Store, StoredMessage};
use chatkeep_view::pseudonyms::Mask;

use super::cast::CASTS;
use super::history::{Historian, HistoryMark};
use super::people::{People, Population};
use super::{SampleSize, key, media};
use crate::app::App;

/// Messages of earlier runs that can still be quoted and unsent.
const RESTORED: u32 = 1_000;
/// The photos of the history come first.
const FIRST_PHOTO: usize = 2;

/// The sample groups on the emulator, and the store they end up in.
#[derive(Debug)]
pub(super) struct Sample {
    line: Emulator,
    store: Store,
    blobs: Blobs,
    services: Services,
    clock: SharedClock,
    /// The first one is that of the first start.
    groups: Vec<People>,
    key: String,
    photos: AtomicUsize,
}

impl Sample {
    /// Creates the people and the groups, the same at every start and as the last run left them,
    /// stores the histories of new ones, and keeps the key of the first one's owner in `folder`.
    ///
    /// # Errors
    /// Returns an error when the store fails or the key's file cannot be read or written.
    pub(super) async fn new(
        line: Emulator,
        app: &App,
        clock: SharedClock,
        (folder, size): (&Path, SampleSize),
        mark: &HistoryMark,
    ) -> anyhow::Result<Self> {
        let (store, services) = (app.store().clone(), app.services().clone());
        let casts = match size {
            SampleSize::Full => &CASTS[..],
            SampleSize::Small => &CASTS[..1],
        };
        let (mut groups, mut population) = (Vec::new(), Population::default());
        for cast in casts {
            groups.push(People::new(line.clone(), &store, cast, &mut population).await?);
        }
        let first = &groups[0];
        let (owner, name) = (first.owner_id(), first.owner().display_name.as_str());
        store.accounts().add_user(&owner, Some(name), clock.now()).await?;
        let key = key::lasting(&services, &owner, folder).await?;
        let (photos, blobs) = (AtomicUsize::new(FIRST_PHOTO), app.blobs().clone());
        let sample = Self { line, store, blobs, services, clock, groups, key, photos };
        sample.play_histories(mark).await?;
        for people in &sample.groups {
            people.store_pictures(&sample.store, sample.now()).await?;
        }
        sample.restore().await?;
        Ok(sample)
    }

    /// Stores the histories of groups that have none yet, and takes the bot into these groups.
    async fn play_histories(&self, mark: &HistoryMark) -> anyhow::Result<()> {
        let bot = self.line.bot();
        let mut historian = Historian::new(&self.store, &self.blobs, &bot, self.now()).await?;
        historian.play(&self.groups, mark).await?;
        for people in self.groups.iter().filter(|people| people.cast().past.is_some()) {
            // The bot is there since long ago: no event says so.
            self.line.build(Action::BotJoins { chat: people.group().to_string() })?;
        }
        Ok(())
    }

    /// Brings back to the emulator what was said last.
    async fn restore(&self) -> anyhow::Result<()> {
        let filter = MessageFilter { limit: RESTORED, ..MessageFilter::default() };
        for people in &self.groups {
            let earlier = self.store.messages().list(people.group(), &filter).await?.messages;
            self.line.restore(earlier.into_iter().rev().filter_map(restored));
        }
        Ok(())
    }

    pub(super) const fn line(&self) -> &Emulator {
        &self.line
    }

    pub(super) const fn services(&self) -> &Services {
        &self.services
    }

    /// Returns the group of the first start.
    pub(super) fn people(&self) -> &People {
        &self.groups[0]
    }

    /// Returns all groups.
    pub(super) fn groups(&self) -> &[People] {
        &self.groups
    }

    /// Returns the group of that ID; the first one without.
    pub(super) fn group(&self, id: Option<&str>) -> Option<&People> {
        match id {
            Some(id) => self.groups.iter().find(|people| people.group().as_str() == id),
            None => self.groups.first(),
        }
    }

    pub(super) const fn store(&self) -> &Store {
        &self.store
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
        media::photo(self.photos.fetch_add(1, Ordering::SeqCst)).await
    }

    /// Changes the plan of a group's owner.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn set_plan(&self, people: &People, plan: Plan) -> anyhow::Result<()> {
        let operator = Operator::at_command_line();
        self.services.account.set_plan(&operator, &people.owner_id(), plan).await?;
        for group in self.groups.iter().filter(|other| other.owner_id() == people.owner_id()) {
            self.services.assistant.reload(group.group()).await;
        }
        Ok(())
    }

    /// Returns the access of a group's owner to it.
    ///
    /// # Errors
    /// Returns an error when the owner has not that role, or the store fails.
    pub(super) async fn access<R: AtLeast, S: HasScope>(
        &self,
        people: &People,
    ) -> Result<ChannelAccess<R, S>, ServiceError> {
        // Whoever uses the demo's page may do what everybody in the groups may.
        let credential = Credential::Session("demo".into());
        let owner = Caller {
            user: people.owner_id(),
            credential,
            bounds: Bounds::full(),
            mask: Mask::none(),
        };
        self.services.access.channel(owner, people.group().clone()).await
    }

    /// Returns true when an earlier run set up the group: it has messages or rules.
    pub(super) async fn is_set_up(&self) -> anyhow::Result<bool> {
        let group = self.people().group();
        let filter = MessageFilter { limit: 1, ..MessageFilter::default() };
        Ok(!self.store.messages().list(group, &filter).await?.messages.is_empty()
            || !self.store.assistant().rules(group).await?.value.items.is_empty())
    }

    /// Returns true when the store knows the owner as a member.
    pub(super) async fn knows_owner(&self) -> anyhow::Result<bool> {
        let member =
            self.store.members().member(self.group_id(), &self.people().owner_id()).await?;
        Ok(member.is_some_and(|member| member.status == MemberStatus::Active))
    }

    /// Creates the owner's backup subscription.
    pub(super) async fn subscribe(&self) -> anyhow::Result<()> {
        let access = self.access::<Member, WriteBackup>(self.people()).await?;
        self.services.subscriptions.subscribe(&access).await?;
        Ok(())
    }

    fn group_id(&self) -> &ChannelId {
        self.people().group()
    }

    /// Returns the number of the owner's stored messages.
    pub(super) async fn stored_messages(&self) -> anyhow::Result<i64> {
        let usage = self.store.accounts().usage(&self.people().owner_id()).await?;
        Ok(usage.channels.iter().map(|channel| channel.message_count).sum())
    }

    /// Returns the instructions for the terminal.
    pub(super) fn greeting(&self, address: SocketAddr, folder: &Path) -> String {
        let (api, key) = (format!("http://{address}/api"), &self.key);
        let channel = format!("{api}/channels/{}", self.group_id());
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
