//! Stores a planned history as if it had happened at its times: through the statements of the
//! stages, without webhooks and waiting.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use chatkeep_blobs::Blobs;
use chatkeep_core::blob::BlobId;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, EventId, MessageId, UserId};
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ChannelChange, Exchange, MediaOutcome, NewMedia, PresenceEvidence, PresenceEvidenceKind,
    ReplyIntent, Store,
};
use chatkeep_workers::assistant::{Compiled, Decision, Reply};
use futures_util::stream;

use super::super::media;
use super::plan::{Deed, PlannedStep, Said, SampleFile};

/// Changes that are stored together.
const BATCH: usize = 250;
/// Maximum size of a sample file in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Time from a message to the bot's reply.
const REPLY: Duration = Duration::from_millis(1_400);
/// The bot of the demo, by its name in the settings.
const BOT: &str = "main";

/// Stores the histories of groups.
pub(super) struct Replay<'a> {
    pub(super) store: &'a Store,
    pub(super) blobs: &'a Blobs,
    /// The bot's user ID.
    pub(super) bot: UserId,
    /// Files that are in the media store already, with their sizes in bytes.
    pub(super) files: HashMap<SampleFile, (BlobId, i64)>,
}

/// History of a group that is being stored.
pub(super) struct GroupReplay<'a, 'b> {
    pub(super) replay: &'b mut Replay<'a>,
    pub(super) channel: ChannelId,
    pub(super) assistant: Arc<Compiled>,
    pub(super) pending: Vec<ChannelChange>,
    pub(super) last: Timestamp,
}

impl GroupReplay<'_, '_> {
    /// Stores an event.
    ///
    /// # Errors
    /// Returns an error when the store fails or a file cannot be made.
    pub(super) async fn step(&mut self, step: PlannedStep) -> anyhow::Result<()> {
        self.last = step.at;
        match step.deed {
            Deed::BotJoined => self.presence(PresenceEvidenceKind::BotJoined).await,
            Deed::BotLeft => self.presence(PresenceEvidenceKind::BotLeft).await,
            Deed::Joined(user) => self.presence(PresenceEvidenceKind::Joined(user)).await,
            Deed::Left(user) => self.presence(PresenceEvidenceKind::Left(user)).await,
            Deed::Said(said) => self.said(said).await,
            Deed::Edited(message, content) => {
                let content = serde_json::to_string(&content)?;
                self.change(message, MessageChange::Edited { at: step.at, by: None, content }).await
            }
            Deed::Unsent(message) => {
                // It may make room for what follows.
                self.flush().await?;
                self.change(message, MessageChange::Unsent { at: step.at }).await?;
                self.flush().await
            }
        }
    }

    async fn presence(&mut self, kind: PresenceEvidenceKind) -> anyhow::Result<()> {
        self.flush().await?;
        let evidence = PresenceEvidence {
            channel: ChannelRef { id: self.channel.clone(), kind: ChannelKind::Group },
            platform: PlatformKind::Line,
            bot: BOT.to_owned(),
            at: self.last,
            kind,
        };
        Ok(self.replay.store.members().record_presence(&[evidence], self.last).await?)
    }

    async fn said(&mut self, said: Said) -> anyhow::Result<()> {
        let Said { id, sender, content, quoted, file } = said;
        let received = Received {
            at: self.last,
            sender: Some(sender),
            kind: content.kind(),
            content: serde_json::to_string(&content)?,
            quoted,
            is_bot: false,
        };
        self.change(id.clone(), MessageChange::Received(received)).await?;
        if let Some(file) = file {
            self.flush().await?;
            self.attach(&id, file).await?;
        }
        if let Content::Text { text, .. } = &content
            && let Decision::Answer(reply) = self.assistant.decide(text)
        {
            self.flush().await?;
            self.reply(&id, reply).await?;
        }
        Ok(())
    }

    async fn change(&mut self, message: MessageId, change: MessageChange) -> anyhow::Result<()> {
        let channel = self.channel.clone();
        self.pending.push(ChannelChange { channel, message, change });
        if self.pending.len() >= BATCH {
            self.flush().await?;
        }
        Ok(())
    }

    /// Stores what is pending.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn flush(&mut self) -> anyhow::Result<()> {
        let changes = std::mem::take(&mut self.pending);
        self.replay.store.messages().ingest(&changes, self.last).await?;
        Ok(())
    }

    async fn attach(&mut self, message: &MessageId, file: SampleFile) -> anyhow::Result<()> {
        let media = self.replay.media(file, self.last).await?;
        let store = self.replay.store.media();
        match store.store_media(&self.channel, message, &media, self.last).await? {
            MediaOutcome::BlobGone => bail!("a file was deleted while it was stored"),
            MediaOutcome::Stored
            | MediaOutcome::Known
            | MediaOutcome::Skipped
            | MediaOutcome::Unwanted
            | MediaOutcome::Undone => Ok(()),
        }
    }

    async fn reply(&mut self, message: &MessageId, reply: Reply) -> anyhow::Result<()> {
        let event = EventId::new(format!("demo:{message}"));
        let intent = ReplyIntent {
            event: &event,
            channel: &self.channel,
            source: reply.source,
            rule: reply.rule.as_ref(),
            message: Some(message),
            cooldown_ms: 0,
            at: self.last,
        };
        let at = self.last.plus(REPLY);
        let assistant = self.replay.store.assistant();
        assistant.claim_reply(&intent, at).await?;
        let received = Received {
            at,
            sender: Some(self.replay.bot.clone()),
            kind: MessageType::Text,
            content: serde_json::to_string(&Content::text(reply.text))?,
            quoted: None,
            is_bot: true,
        };
        let own = [ChannelChange {
            channel: self.channel.clone(),
            message: MessageId::new(format!("{}99999", at.millis())),
            change: MessageChange::Received(received),
        }];
        let exchange = Exchange { own: &own, ..Exchange::default() };
        assistant.finish_reply(&event, Ok(()), exchange, at).await?;
        Ok(())
    }
}

impl Replay<'_> {
    /// Returns a claim on a file, which is put into the media store at its first use.
    async fn media(&mut self, file: SampleFile, now: Timestamp) -> anyhow::Result<NewMedia> {
        let (content_type, preview) = (file.content_type().to_owned(), None);
        if let Some((blob, bytes)) = self.files.get(&file).cloned() {
            let claim = self.store.media().claim_blob(blob, now).await?;
            return Ok(NewMedia { claim, bytes, content_type, preview });
        }
        let content = match &file {
            SampleFile::Photo(number) => media::photo(*number).await?.bytes,
            SampleFile::Recording => media::recording().await?,
            SampleFile::Text(text) => text.clone().into(),
        };
        let parts = stream::iter([Ok::<_, std::io::Error>(content)]);
        let claim = async |blob| self.store.media().claim_blob(blob, now).await.map_err(Into::into);
        let (stored, claim) = self.blobs.put(parts, MAX_FILE, claim).await?;
        let bytes = i64::try_from(stored.bytes)?;
        self.files.insert(file, (stored.id, bytes));
        Ok(NewMedia { claim, bytes, content_type, preview })
    }
}

impl SampleFile {
    const fn content_type(&self) -> &'static str {
        match self {
            Self::Photo(_) => "image/jpeg",
            Self::Recording => "audio/wav",
            Self::Text(_) => "text/plain",
        }
    }
}
