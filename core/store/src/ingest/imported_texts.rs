//! Earlier texts of imported messages: those that may be stored.

use std::borrow::Cow;

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::EarlierText;

use super::super::StoreError;
use super::super::channels::channel_keys;
use super::super::db::Tx;
use super::imported::ImportedMessage;
use super::sql::KEEPING_EARLIER_TEXTS;
use crate::opt_outs::OptOuts;
use crate::query::query_as;

/// Returns the messages with those of their earlier texts that are to be stored: of a channel that keeps
/// them, without what was written by somebody who had opted out then.
pub(super) async fn with_kept_texts<'a>(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &'a [ImportedMessage],
) -> Result<Cow<'a, [ImportedMessage]>, StoreError> {
    if messages.iter().all(|message| message.earlier_texts.is_empty()) {
        return Ok(Cow::Borrowed(messages));
    }
    let keys = channel_keys([channel])?;
    let keeping: Option<(String,)> =
        tx.fetch_optional(query_as(KEEPING_EARLIER_TEXTS).bind(&keys)).await?;
    let opt_outs =
        OptOuts::load(tx, messages.iter().flat_map(ImportedMessage::possible_senders)).await?;
    let kept = |message: &ImportedMessage| {
        let refused = |text: &EarlierText| {
            let mut senders = message.possible_senders();
            !message.is_bot && senders.any(|sender| opt_outs.refuse(channel, sender, text.at))
        };
        let texts = message.earlier_texts.clone().into_iter().filter(|_| keeping.is_some());
        let earlier_texts = texts.filter(|text| !refused(text)).collect();
        ImportedMessage { earlier_texts, ..message.clone() }
    };
    Ok(Cow::Owned(messages.iter().map(kept).collect()))
}
