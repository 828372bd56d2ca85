//! Media files of an export, beside its messages.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageType;
use chatkeep_store::{MediaStatus, MessageFilter, Order, Store, StoredMessage};
use futures_util::StreamExt as _;

use super::super::media::{FOLDER, FileBytes};
use super::out::Out;
use super::{MediaSource, PackProgress, TransferError};

/// Page size when reading messages with files.
const PAGE: u32 = 1_000;

/// Name of the list of messages whose file is missing. No file of a message has it: those are in a
/// folder.
const MISSING: &str = "missing-files.txt";
/// Beginning of that list.
const MISSING_HEADING: &str =
    "The media store did not have the whole files of these messages when they were exported:\n";

/// Writer of the files of an export.
pub(super) struct FileWriter<'a, W> {
    pub(super) store: &'a Store,
    pub(super) channel: &'a ChannelId,
    pub(super) media: &'a dyn MediaSource,
    pub(super) out: &'a mut Out,
    pub(super) done: &'a mut PackProgress,
    pub(super) watch: &'a mut W,
    /// Messages whose file is missing.
    pub(super) missing: Vec<MessageId>,
}

impl<W: FnMut(PackProgress)> FileWriter<'_, W> {
    /// Writes the files of messages, type by type: the index finds them without reading the rest.
    pub(super) async fn run(mut self, filter: &MessageFilter) -> Result<(), TransferError> {
        for kind in MessageType::ALL.into_iter().filter(|kind| kind.is_media()) {
            let (order, limit) = (Order::Ascending, PAGE);
            let mut filter = MessageFilter { kind: Some(kind), order, limit, ..filter.clone() };
            loop {
                let page = self.store.messages().list(self.channel, &filter).await?;
                for message in &page.messages {
                    self.file(message).await?;
                }
                self.report();
                filter.after = page.next;
                if filter.after.is_none() {
                    break;
                }
            }
        }
        self.list_missing().await
    }

    /// Writes the file of a message, if it has one, and its preview.
    async fn file(&mut self, message: &StoredMessage) -> Result<(), TransferError> {
        let Some(name) = self.media.name(message) else { return Ok(()) };
        let bytes = match self.media.open(message).await {
            Err(TransferError::NoFile(_)) => return self.leave_out(message).await,
            opened => opened?,
        };
        self.out.start(&format!("{FOLDER}/{name}"), true).await?;
        self.copy(bytes).await?;
        self.done.files += 1;
        // No import makes it anew.
        if let Some((name, bytes)) = self.media.preview(message).await? {
            self.out.start(&format!("{FOLDER}/{name}"), true).await?;
            self.copy(bytes).await?;
        }
        Ok(())
    }

    /// Leaves out a file that the media store does not have, or not whole. It is missing, unless
    /// its message was erased since the page was read: then it had to go.
    async fn leave_out(&mut self, message: &StoredMessage) -> Result<(), TransferError> {
        let item = self.store.media().get(self.channel, &message.id).await?;
        if item.is_some_and(|item| item.record.status != MediaStatus::Erased) {
            self.done.missing += 1;
            self.missing.push(message.id.clone());
        }
        Ok(())
    }

    async fn copy(&mut self, mut bytes: FileBytes) -> Result<(), TransferError> {
        while let Some(part) = bytes.next().await {
            let part = part?;
            self.done.bytes += part.len() as u64;
            self.out.write(part).await?;
            self.report();
        }
        Ok(())
    }

    fn report(&mut self) {
        (self.watch)(*self.done);
    }

    /// Writes the list of messages whose file is missing, if there are any.
    async fn list_missing(&mut self) -> Result<(), TransferError> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let mut list = MISSING_HEADING.to_owned();
        for id in &self.missing {
            list.push_str(id.as_str());
            list.push('\n');
        }
        self.out.start(MISSING, false).await?;
        self.out.write(list.into()).await
    }
}
