//! Rows of an overview up to the budget: first what matters most.

use std::collections::BTreeMap;

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::MessageType;
use chatkeep_services::digest::{ChannelDigest, HostLinks};
use chatkeep_store::{ActivityPerson, MemberMove, Sender, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::sanitize;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::{OverviewOutput, Totals};
use crate::message_row::{MessageRow, is_false};
use crate::result_builder::{MessageSource, ResultBuilder, RowKeys, RowNames};
use crate::time::AnswerZone;

/// Maximum length of a text in characters: enough to see what it is about.
const TEXT: usize = 120;
/// Numbers of rows.
const CHANNELS: usize = 20;
const PEOPLE: usize = 15;
const MENTIONS: usize = 8;
const QUESTIONS: usize = 8;
const HOSTS: usize = 8;
const FILES: usize = 6;
const CHANGES: usize = 4;
const MOVES: usize = 6;

/// Number of messages of a channel.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ChannelCount {
    pub(super) channel: String,
    pub(super) messages: i64,
}

/// Number of messages of a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PersonCount {
    /// Short name; absent for the bot, and where nobody is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) bot: bool,
    pub(super) messages: i64,
}

/// Linked host.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HostRow {
    pub(super) host: String,
    pub(super) messages: usize,
    /// First message with a link to it, without its text.
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    pub(super) time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
}

/// Join or leave.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MoveRow {
    pub(super) time: String,
    pub(super) person: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<String>,
}

/// Rows under construction.
struct Rows<'a> {
    builder: ResultBuilder<'a>,
    zone: AnswerZone,
    /// True where rows name their channels.
    several: bool,
}

/// Returns what an overview has of a digest; the rest is left empty.
pub(super) fn output(
    builder: ResultBuilder<'_>,
    digest: &ChannelDigest,
    zone: AnswerZone,
    several: bool,
) -> OverviewOutput {
    let mut rows = Rows { builder, zone, several };
    let totals = totals(digest);
    let at_least = at_least(digest);
    let by_type = by_type(digest, &totals);
    rows.builder.fits(&(&totals, &by_type));
    let by_channel = if several { rows.channels(&digest.channels) } else { Vec::new() };
    let mentions = rows.messages(&digest.mentions.newest, MENTIONS);
    let questions = rows.messages(&digest.questions.newest, QUESTIONS);
    let by_person = rows.people(&digest.people.people);
    let links = rows.hosts(&digest.hosts);
    let files = rows.messages(&digest.files, FILES);
    let moves = digest.moves.as_deref().unwrap_or_default();
    let (joined, left) = (rows.moves(moves, true), rows.moves(moves, false));
    let edited = rows.messages(&digest.edited.newest, CHANGES);
    let unsent = rows.messages(&digest.unsent.newest, CHANGES);
    let Rows { builder, .. } = rows;
    let later = |since| (since != digest.from).then(|| zone.show(since));
    OverviewOutput {
        note: "",
        time_zone: String::new(),
        from: zone.show(digest.from),
        interpreted: None,
        by_type,
        channels: builder.channels.rows(),
        truncated: builder.truncated,
        people: builder.into_people(),
        totals,
        at_least,
        by_channel,
        by_person,
        people_since: later(digest.people.since),
        texts_since: later(digest.texts_since),
        mentions,
        questions,
        links,
        files,
        edited,
        unsent,
        joined,
        left,
        gaps: Vec::new(),
        gaps_omitted: 0,
        channels_unexamined: 0,
        channels_uncounted: 0,
    }
}

fn totals(digest: &ChannelDigest) -> Totals {
    let moves = |joined: bool| {
        let moves = digest.moves.as_ref()?;
        Some(moves.iter().filter(|one| one.joined == joined).count())
    };
    Totals {
        messages: digest.channels.iter().map(|(_, messages)| messages).sum(),
        people: digest.people.total,
        mentions: digest.mentions.total,
        questions: digest.questions.total,
        asked: digest.question_count,
        links: digest.links.total,
        hosts: digest.host_count,
        edited: digest.edited.total,
        unsent: digest.unsent.total,
        joined: moves(true),
        left: moves(false),
    }
}

/// Returns the names of the numbers that may be larger.
fn at_least(digest: &ChannelDigest) -> Vec<String> {
    let messages = (digest.uncounted > 0).then_some("messages");
    let texts = [
        ("mentions", &digest.mentions),
        ("questions", &digest.questions),
        ("asked", &digest.mentions),
        ("links", &digest.links),
        ("hosts", &digest.links),
        ("edited", &digest.edited),
        ("unsent", &digest.unsent),
    ];
    let texts = texts.into_iter().filter(|(_, found)| found.at_least).map(|(name, _)| name);
    let types = digest.types.iter().filter(|count| count.at_least);
    let types = types.map(|count| count.kind.name());
    messages.into_iter().chain(texts).chain(types).map(str::to_owned).collect()
}

/// Returns the messages by type. Texts are the rest of all, where all others are known; others are
/// counted later, so that there may be more of them than of all.
fn by_type(digest: &ChannelDigest, totals: &Totals) -> BTreeMap<String, i64> {
    let counts = digest.types.iter().map(|count| (count.kind.name().to_owned(), count.messages));
    let mut by_type: BTreeMap<_, _> = counts.filter(|(_, messages)| *messages > 0).collect();
    let others: i64 = by_type.values().sum();
    let are_known = digest.uncounted == 0 && digest.unexamined_messages == 0;
    if are_known && !digest.types.iter().any(|count| count.at_least) {
        let texts = (totals.messages - others).max(0);
        by_type.insert(MessageType::Text.name().to_owned(), texts);
    }
    by_type
}

impl Rows<'_> {
    fn messages(&mut self, messages: &[Masked<StoredMessage>], most: usize) -> Vec<MessageRow> {
        let several = self.several;
        let row = |message| {
            let source = MessageSource::new(message).up_to(TEXT);
            self.builder.row(if several { source.of_several() } else { source })
        };
        messages.iter().take(most).map_while(row).collect()
    }

    fn channels(&mut self, channels: &[(ChannelId, i64)]) -> Vec<ChannelCount> {
        let row = |(channel, messages): &(ChannelId, i64)| {
            let names = RowNames { person: None, channel: Some(channel) };
            let count = |channel| ChannelCount { channel, messages: *messages };
            self.builder.naming(names, |keys| count(keys.channel.unwrap_or_default()))
        };
        channels.iter().take(CHANNELS).map_while(row).collect()
    }

    fn people(&mut self, people: &[ActivityPerson]) -> Vec<PersonCount> {
        let row = |person: &ActivityPerson| {
            let sender = person.user.clone().map(|id| Sender {
                id,
                display_name: person.display_name.clone(),
                picture_url: None,
            });
            let names = RowNames { person: sender.as_ref(), channel: None };
            let (bot, messages) = (person.is_bot, person.messages);
            self.builder.naming(names, |keys| PersonCount { from: keys.person, bot, messages })
        };
        people.iter().take(PEOPLE).map_while(row).collect()
    }

    fn hosts(&mut self, hosts: &[HostLinks]) -> Vec<HostRow> {
        let several = self.several;
        let row = |HostLinks { host, messages, first }: &HostLinks| {
            let channel = several.then_some(&first.channel);
            let names = RowNames { person: first.sender.as_ref(), channel };
            let url = self.builder.link(first);
            let row = |RowKeys { person, channel }| HostRow {
                host: sanitize::one_line(host, TEXT),
                messages: *messages,
                id: first.id.to_string(),
                url,
                time: self.zone.show(first.sent_at),
                channel,
                from: person,
            };
            self.builder.naming(names, row)
        };
        hosts.iter().take(HOSTS).map_while(row).collect()
    }

    fn moves(&mut self, moves: &[Masked<MemberMove>], joined: bool) -> Vec<MoveRow> {
        let several = self.several;
        let row = |one: &Masked<MemberMove>| {
            let channel = several.then_some(&one.channel);
            let names = RowNames { person: Some(&one.user), channel };
            let time = self.zone.show(one.at);
            let row = |RowKeys { person, channel }| MoveRow {
                time,
                person: person.unwrap_or_default(),
                channel,
            };
            self.builder.naming(names, row)
        };
        moves.iter().filter(|one| one.joined == joined).take(MOVES).map_while(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;
    use chatkeep_store::{PeopleCounts, TypeCount};

    use super::*;
    use chatkeep_services::digest::FoundMessages;
    use chatkeep_view::pseudonyms::Mask;

    /// Returns the digest of a channel with so many messages, of them one picture and two files.
    fn digest(messages: i64) -> ChannelDigest {
        let at = Timestamp::from_millis(0);
        let count = |kind, messages| TypeCount { kind, messages, at_least: false };
        ChannelDigest {
            from: at,
            channels: vec![("C1".into(), messages)],
            unexamined: 0,
            unexamined_messages: 0,
            uncounted: 0,
            people: Mask::none().show(PeopleCounts { since: at, total: 0, people: Vec::new() }),
            types: vec![count(MessageType::Image, 1), count(MessageType::File, 2)],
            texts_since: at,
            mentions: FoundMessages::default(),
            questions: FoundMessages::default(),
            question_count: 0,
            links: FoundMessages::default(),
            host_count: 0,
            hosts: Vec::new(),
            files: Vec::new(),
            edited: FoundMessages::default(),
            unsent: FoundMessages::default(),
            moves: None,
        }
    }

    fn texts(digest: &ChannelDigest) -> Option<i64> {
        by_type(digest, &totals(digest)).get("text").copied()
    }

    #[test]
    fn texts_are_the_rest_where_the_rest_is_known() {
        assert_eq!(texts(&digest(5)), Some(2));
        assert_eq!(texts(&digest(2)), Some(0), "a file came between the statements");
        // Channels in which nothing was written add nothing.
        let silent = ChannelDigest { unexamined: 7, ..digest(5) };
        assert_eq!(texts(&silent), Some(2));
        assert_eq!(texts(&ChannelDigest { unexamined_messages: 1, ..silent }), None);
        assert_eq!(texts(&ChannelDigest { uncounted: 1, ..digest(5) }), None);
        let mut many = digest(5);
        many.types[0].at_least = true;
        assert_eq!((texts(&many), at_least(&many)), (None, vec!["image".to_owned()]));
    }

    #[test]
    fn all_that_may_be_larger_is_named() {
        assert_eq!(at_least(&ChannelDigest { unexamined: 7, ..digest(5) }), [] as [&str; 0]);
        let links = FoundMessages { at_least: true, ..FoundMessages::default() };
        let uncounted = ChannelDigest { uncounted: 1, links, ..digest(5) };
        assert_eq!(at_least(&uncounted), ["messages", "links", "hosts"]);
    }
}
