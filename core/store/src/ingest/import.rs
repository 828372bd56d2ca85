//! Imports messages from elsewhere, batch by batch, under the same counters and quota as live ones.
//!
//! Known messages stay as they are, and erased ones stay away, so that an import may be repeated,
//! overlap another one or stop half-way. Of a message that only an edit is known of, the import brings
//! the rest. A message that no quota has room for ends the import instead of being skipped: the file
//! still has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::Timestamp;

use super::super::change_log::log_messages;
use super::super::db::Tx;
use super::super::{ImportStore, StoreError, Subscribed};
use super::import_events::log_added;
use super::import_sql::{
    ADD_CHANNEL, ADD_MEDIA, ADD_MESSAGES, ADD_PEOPLE, ADD_SENDERS, COUNT_MESSAGES, DELETED_BEFORE,
    ERASED_PEOPLE, KNOWN_IDS, PersonRow,
};
use super::imported::{ImportOutcome, Imported, ImportedMessage, ImportedPerson};
use super::imported_edits::with_waiting_edits;
use super::imported_texts::with_kept_texts;
use super::imports::{ImportId, is_undone};
use super::sql::BulkKey;
use super::{close_gaps, lock_ledger, save_ledger};
use crate::ledger::Ledger;
use crate::members::UserKey;
use crate::opt_outs::OptOuts;
use crate::query::{query, query_as};
use crate::{PresenceEvidence, PresenceEvidenceKind};

/// Treatment of one message of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ImportDecision {
    New,
    Known,
    Erased,
}

impl ImportStore<'_> {
    /// Stores imported messages in one transaction, in their order, until no subscriber's quota has
    /// room. They carry the number of the import, by which
    /// [`ImportStore::undo_import`](crate::ImportStore::undo_import) finds them.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is stored then.
    #[boxed]
    pub async fn import(
        &self,
        import: ImportId,
        channel: &ChannelId,
        messages: &[ImportedMessage],
        now: Timestamp,
    ) -> Result<ImportOutcome, StoreError> {
        self.import_with_people(import, channel, (messages, &[]), now).await
    }

    /// Stores imported messages in the same way, and the people whom they name, as
    /// [`ImportStore::add_people`](crate::ImportStore::add_people) does.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is stored then.
    #[boxed]
    pub async fn import_with_people(
        &self,
        import: ImportId,
        channel: &ChannelId,
        (messages, people): (&[ImportedMessage], &[ImportedPerson]),
        now: Timestamp,
    ) -> Result<ImportOutcome, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        // The channel's lock keeps live messages out until this batch is in.
        let mut ledger = lock_ledger(&mut tx, &BTreeSet::from([channel])).await?;
        if !ledger.subscribed(channel) {
            return Ok(ImportOutcome::NotSubscribed);
        }
        if is_undone(&mut tx, import).await? {
            return Ok(ImportOutcome::Undone);
        }
        // In this transaction: the end of another import would delete people without any message.
        add_people_in(&mut tx, channel, people, now).await?;
        let messages = with_waiting_edits(&mut tx, channel, messages).await?;
        let messages = &*with_kept_texts(&mut tx, channel, &messages).await?;
        let fates = fates(&mut tx, channel, messages).await?;
        let (imported, chosen) = charge(&mut ledger, channel, messages, &fates, now);
        let stored_at = ledger.storing_time(channel, now);
        add(&mut tx, import, channel, &chosen, stored_at).await?;
        // Also of a part that has nothing new: it tells that the import goes on.
        let count = i64::try_from(chosen.len()).unwrap_or(i64::MAX);
        let counted = query(COUNT_MESSAGES).bind(import.number()).bind(count).bind(now.millis());
        tx.execute(counted).await?;
        log_messages(&mut tx, chosen.iter().map(|message| (channel, &message.id)), now).await?;
        log_added(&mut tx, channel, &chosen, now).await?;
        save_ledger(&mut tx, &ledger, now).await?;
        if imported.stored > 0 && !ledger.paused(channel) {
            close_gaps(&mut tx, &BTreeSet::from([channel.clone()]), now).await?;
        }
        tx.commit().await?;
        Ok(ImportOutcome::Done(imported))
    }

    /// Simulates [`ImportStore::import`](crate::ImportStore::import) of these messages with
    /// unlimited quotas. Nothing changes, and no subscription is needed.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn try_import(
        &self,
        channel: &ChannelId,
        messages: &[ImportedMessage],
    ) -> Result<Imported, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let fates = fates(&mut tx, channel, messages).await?;
        let count = |wanted| fates.iter().filter(|fate| **fate == wanted).count();
        Ok(Imported {
            stored: count(ImportDecision::New),
            known: count(ImportDecision::Known),
            erased: count(ImportDecision::Erased),
            full: false,
        })
    }

    /// Counts the messages that are known or were erased. Each id counts once.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn count_known(
        &self,
        channel: &ChannelId,
        messages: &[MessageId],
    ) -> Result<u64, StoreError> {
        let keys: Vec<_> = messages
            .iter()
            .map(|id| BulkKey { c: channel.as_str(), m: Some(id.as_str()) })
            .collect();
        let keys = serde_json::to_string(&keys)?;
        let ids: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(KNOWN_IDS).bind(channel.as_str()).bind(&keys)).await?;
        let ids: HashSet<_> = ids.into_iter().map(|(id, _)| id).collect();
        Ok(ids.len() as u64)
    }

    /// Adds people named by imported messages, except those erased from this channel, and those who
    /// opted out of it now. An existing name stays.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn add_people(
        &self,
        channel: &ChannelId,
        people: &[ImportedPerson],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        add_people_in(&mut tx, channel, people, now).await?;
        tx.commit().await
    }

    /// Makes a user a member of and a subscriber to a channel, and creates the channel, for an
    /// import into it. Repeating it changes nothing.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn open_for_import(
        &self,
        channel: &ChannelId,
        platform: PlatformKind,
        kind: ChannelKind,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Subscribed, StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(ADD_CHANNEL)
                .bind(channel.as_str())
                .bind(platform.name())
                .bind(kind.name())
                .bind(now.millis())
                .bind(user.as_str()),
        )
        .await?;
        tx.commit().await?;
        let present = PresenceEvidence {
            channel: ChannelRef { id: channel.clone(), kind },
            platform,
            bot: String::new(),
            at: now,
            kind: PresenceEvidenceKind::Present(user.clone()),
        };
        self.store.members().record_presence(&[present], now).await?;
        self.store.accounts().subscribe(channel, user, now).await
    }
}

/// Adds people, but for those who were erased from the channel or opted out of it, and locks those who
/// are known.
async fn add_people_in(
    tx: &mut Tx,
    channel: &ChannelId,
    people: &[ImportedPerson],
    now: Timestamp,
) -> Result<(), StoreError> {
    if people.is_empty() {
        return Ok(());
    }
    let row = |person: &ImportedPerson| (person.id.clone(), person.clone());
    // One row per person, in key order: the lock order of every transaction.
    let mut people: BTreeMap<_, _> = people.iter().map(row).collect();
    let opt_outs = OptOuts::load(tx, people.keys()).await?;
    people.retain(|person, _| !opt_outs.refuse(channel, person, now));
    let rows: Vec<_> = people.values().map(PersonRow::of).collect();
    let rows = serde_json::to_string(&rows)?;
    tx.execute(query(ADD_PEOPLE).bind(channel.as_str()).bind(&rows).bind(now.millis())).await?;
    Ok(())
}

/// Decides on each message; a second occurrence in the batch is known.
async fn fates(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &[ImportedMessage],
) -> Result<Vec<ImportDecision>, StoreError> {
    let keys: Vec<_> = messages
        .iter()
        .flat_map(ImportedMessage::ids)
        .map(|id| BulkKey { c: channel.as_str(), m: Some(id.as_str()) })
        .collect();
    let keys = serde_json::to_string(&keys)?;
    let c = channel.as_str();
    let ids: Vec<(String, i64)> = tx.fetch_all(query_as(KNOWN_IDS).bind(c).bind(&keys)).await?;
    let people: Vec<(String, i64)> = tx.fetch_all(query_as(ERASED_PEOPLE).bind(c)).await?;
    let deleted: Option<(i64,)> = tx.fetch_optional(query_as(DELETED_BEFORE).bind(c)).await?;
    let is_deleted = |sent: Timestamp| deleted.is_some_and(|(before,)| sent.millis() < before);
    let opt_outs =
        OptOuts::load(tx, messages.iter().flat_map(ImportedMessage::possible_senders)).await?;
    let mut known = HashMap::with_capacity(ids.len());
    for (id, erased) in ids {
        *known.entry(id).or_insert(false) |= erased != 0;
    }
    let people: HashMap<_, _> = people.into_iter().collect();
    let mut seen = HashSet::with_capacity(messages.len());
    let known = |message: &ImportedMessage| {
        message.ids().filter_map(|id| known.get(id.as_str()).copied()).reduce(|a, b| a || b)
    };
    let fate = |message: &ImportedMessage| match known(message) {
        Some(true) => ImportDecision::Erased,
        _ if of_erased(message, &people) => ImportDecision::Erased,
        None if is_deleted(message.sent_at) => ImportDecision::Erased,
        None if of_opted_out(channel, message, &opt_outs) => ImportDecision::Erased,
        None if seen.insert(message.id.clone()) => ImportDecision::New,
        _ => ImportDecision::Known,
    };
    Ok(messages.iter().map(fate).collect())
}

/// Returns `true` if its sender, or somebody of the sender's name, was erased after it was sent.
fn of_erased(message: &ImportedMessage, people: &HashMap<String, i64>) -> bool {
    let mut erasures = message.named_senders().filter_map(|sender| people.get(sender.as_str()));
    erasures.any(|erased_at| message.sent_at.millis() < *erased_at)
}

/// Returns `true` if its sender, or somebody who may be the sender, had opted out when it was or may
/// have been sent, or when it was edited.
fn of_opted_out(channel: &ChannelId, message: &ImportedMessage, opt_outs: &OptOuts) -> bool {
    let (sent, until) = (message.sent_at, message.sent_until.unwrap_or(message.sent_at));
    !message.is_bot
        && message.possible_senders().any(|sender| {
            opt_outs.refuse_within(channel, sender, sent, until)
                || message.edited_at.is_some_and(|at| opt_outs.refuse(channel, sender, at))
        })
}

/// Charges the new messages in order, up to the first that no quota has room for.
fn charge<'a>(
    ledger: &mut Ledger,
    channel: &ChannelId,
    messages: &'a [ImportedMessage],
    fates: &[ImportDecision],
    now: Timestamp,
) -> (Imported, Vec<&'a ImportedMessage>) {
    let (mut imported, mut chosen) = (Imported::default(), Vec::with_capacity(messages.len()));
    let stored_at = ledger.storing_time(channel, now);
    for (message, fate) in messages.iter().zip(fates) {
        match fate {
            ImportDecision::Known => imported.known += 1,
            ImportDecision::Erased => imported.erased += 1,
            ImportDecision::New if ledger.paused(channel) => {
                imported.full = true;
                break;
            }
            ImportDecision::New => {
                ledger.charge_message(channel, stored_at, None, message.counted().as_ref());
                imported.stored += 1;
                chosen.push(message);
            }
        }
    }
    (imported, chosen)
}

async fn add(
    tx: &mut Tx,
    import: ImportId,
    channel: &ChannelId,
    messages: &[&ImportedMessage],
    stored_at: Timestamp,
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let rows = messages.iter().map(|message| message.row(import, channel, stored_at));
    let rows = serde_json::to_string(&rows.collect::<Vec<_>>())?;
    tx.execute(query(ADD_MESSAGES).bind(&rows)).await?;
    let senders: BTreeSet<_> = messages.iter().filter_map(|m| m.sender.as_ref()).collect();
    let senders: Vec<_> = senders.into_iter().map(|id| UserKey { u: id.as_str() }).collect();
    let senders = serde_json::to_string(&senders)?;
    tx.execute(query(ADD_SENDERS).bind(channel.as_str()).bind(&senders)).await?;
    let media: Vec<_> = messages.iter().filter_map(|message| message.media_row()).collect();
    if !media.is_empty() {
        let rows = serde_json::to_string(&media)?;
        let channel = channel.as_str();
        tx.execute(query(ADD_MEDIA).bind(channel).bind(&rows).bind(stored_at.millis())).await?;
    }
    Ok(())
}
