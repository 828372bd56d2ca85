//! Digests: what happened in channels in the last days, as far as a caller may read it. Everything is
//! counted or listed from what is stored; nothing is guessed.

mod texts;

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::role::Scope;
use chatkeep_core::time::{DAY, SharedClock, Timestamp};
use chatkeep_store::{
    DigestKey, DigestScope, MemberMove, MessageEvent, NotedTexts, PeopleCounts, ReadAction, Store,
    StoredMessage, TypeCount,
};
use chatkeep_view::pseudonyms::{Mask, Masked};
use futures_util::try_join;

use super::ServiceError;
use super::access::{ReadMessages, Scoped};
use texts::Findings;
pub use texts::HostLinks;

/// Longest time of a digest in days.
pub const MAX_DAYS: u32 = 31;
/// Maximum number of channels whose messages are counted.
const COUNTED: usize = 1_000;
/// Maximum number of channels whose texts are examined: those with the most messages.
const EXAMINED: usize = 50;
/// Number of texts that are examined, of all channels together and at least of each.
const TEXTS: (usize, usize) = (2_000, 50);
/// Maximum number of questions whose answers are looked for: the newest.
const QUESTIONS: usize = 500;
/// Number of messages of a type that are counted one by one, of all channels and at least of each.
const TYPED: (usize, usize) = (2_500, 50);
/// Maximum number of messages of a part of a day that are counted by person one by one.
const EDGE: i64 = 2_500;
/// Maximum number of changes of messages, of all channels and at least of each.
const CHANGES: (usize, usize) = (500, 20);
/// Number of messages after a question among which somebody else's is an answer, and the time within
/// which it was sent, in milliseconds: a day.
const ANSWER: (u32, i64) = (5, 24 * 3_600_000);
/// Number of messages that are shown of each kind.
const SHOWN: usize = 20;
/// Number of people that are named.
const PEOPLE: u32 = 20;

/// Digest of channels.
#[derive(Debug)]
pub struct ChannelDigest {
    /// Start of its time, which ends now.
    pub from: Timestamp,
    /// Number of messages of each channel that has any, most first.
    pub channels: Vec<(ChannelId, i64)>,
    /// Number of channels that were only counted: everything below is about the examined ones.
    pub unexamined: usize,
    /// Number of messages in these.
    pub unexamined_messages: i64,
    /// Number of channels that were not even counted: too many.
    pub uncounted: usize,
    /// People by the number of their messages.
    pub people: Masked<PeopleCounts>,
    /// Messages by type, without texts.
    pub types: Vec<TypeCount>,
    /// Time from which the texts of all examined channels were examined.
    pub texts_since: Timestamp,
    /// Messages of others that mention the caller, or everybody.
    pub mentions: FoundMessages,
    /// Questions after which nobody else wrote.
    pub questions: FoundMessages,
    /// Number of all questions, answered or not.
    pub question_count: usize,
    /// Messages with links; the newest are not listed.
    pub links: FoundMessages,
    /// Number of the hosts of these links.
    pub host_count: usize,
    /// Hosts with the most messages.
    pub hosts: Vec<HostLinks>,
    /// Newest files, pictures and recordings not among them.
    pub files: Vec<Masked<StoredMessage>>,
    /// Edited messages, latest edit first.
    pub edited: FoundMessages,
    /// Unsent or erased messages, latest first.
    pub unsent: FoundMessages,
    /// People who joined or left, latest first; `None` for callers who may not list members.
    pub moves: Option<Vec<Masked<MemberMove>>>,
}

/// Messages of one kind.
#[derive(Debug, Default)]
pub struct FoundMessages {
    /// Number of all of them.
    pub total: usize,
    /// True if there may be more than that.
    pub at_least: bool,
    /// The newest of them, newest first.
    pub newest: Vec<Masked<StoredMessage>>,
}

/// Digests. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DigestService {
    store: Store,
    clock: SharedClock,
}

/// Channel, number of its messages.
type ChannelTotals = Vec<(ChannelId, i64)>;

/// Results of the first statements, which do not depend on each other.
struct Gathered {
    people: PeopleCounts,
    types: Vec<TypeCount>,
    texts: NotedTexts,
    files: Vec<DigestKey>,
    edited: Vec<MessageEvent>,
    unsent: Vec<MessageEvent>,
    moves: Option<Vec<MemberMove>>,
}

impl DigestService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns the time so many days ago.
    pub fn days_ago(&self, days: u32) -> Timestamp {
        self.clock.now().minus(DAY * days)
    }

    /// Returns the digest of these channels from the quarter of an hour of that time on, within the
    /// bounds of the caller; they must be the caller's.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of(
        &self,
        access: &Scoped<ReadMessages>,
        channels: &[ChannelId],
        from: Timestamp,
    ) -> Result<ChannelDigest, ServiceError> {
        let caller = &access.caller;
        let counted = &channels[..channels.len().min(COUNTED)];
        let scope = DigestScope::new(counted, from, caller.not_before());
        let totals = self.totals(scope).await?;
        let (examined, rest) = totals.split_at(totals.len().min(EXAMINED));
        let unexamined = (rest.len(), rest.iter().map(|(_, messages)| messages).sum());
        let examined: Vec<_> = examined.iter().map(|(channel, _)| channel.clone()).collect();
        let scope = scope.of(&examined);
        access.record(&examined, ReadAction::List);
        let found = self.gather(access, scope).await?;
        let findings = Findings::new(&found.texts.texts, &caller.user);
        let asked = &findings.questions[..findings.questions.len().min(QUESTIONS)];
        let unanswered = self.store.messages().unanswered(asked, ANSWER).await?;
        let questions: Vec<_> = asked.iter().filter(|key| unanswered.contains(*key)).collect();
        let shown = self.shown(&caller.mask, &found, &findings, &questions).await?;
        let more = found.texts.more;
        let several = |keys: Vec<&DigestKey>, at_least| shown.messages(&keys, at_least);
        let changed = |events: &[MessageEvent]| {
            let keys = events.iter().map(|event| &event.key).collect();
            several(keys, is_cut(events, limit_of(CHANGES, examined.len())))
        };
        Ok(ChannelDigest {
            from: scope.from(),
            unexamined: unexamined.0,
            unexamined_messages: unexamined.1,
            uncounted: channels.len() - counted.len(),
            channels: totals.into_iter().filter(|(_, messages)| *messages > 0).collect(),
            people: caller.mask.show(found.people),
            types: found.types,
            texts_since: found.texts.since,
            mentions: several(findings.mentions.iter().collect(), more),
            questions: several(questions, more || asked.len() < findings.questions.len()),
            question_count: findings.questions.len(),
            links: FoundMessages { total: findings.links, at_least: more, newest: Vec::new() },
            host_count: findings.hosts.len(),
            hosts: findings.hosts_with(&shown.0, &caller.mask),
            files: several(found.files.iter().collect(), false).newest,
            edited: changed(&found.edited),
            unsent: changed(&found.unsent),
            moves: found.moves.map(|moves| caller.mask.show_all(moves)),
        })
    }

    /// Returns the numbers of messages of the channels, most first.
    async fn totals(&self, scope: DigestScope<'_>) -> Result<ChannelTotals, ServiceError> {
        let totals = self.store.activity().message_totals(scope).await?;
        let mut totals: Vec<_> = totals.into_iter().collect();
        totals.sort_by(|(one, few), (other, many)| (many, one).cmp(&(few, other)));
        Ok(totals)
    }

    async fn gather(
        &self,
        access: &Scoped<ReadMessages>,
        scope: DigestScope<'_>,
    ) -> Result<Gathered, ServiceError> {
        let (messages, activity) = (self.store.messages(), self.store.activity());
        let count = scope.channel_count();
        let earliest = access.caller.not_before();
        let (changes, shown) = (limit_of(CHANGES, count), limit_of((SHOWN, SHOWN), count));
        let (people, types, texts, files, edited, unsent, moves) = try_join!(
            activity.people_counts(scope, (PEOPLE, EDGE)),
            messages.type_counts(scope, limit_of(TYPED, count)),
            messages.noted_texts(scope, limit_of(TEXTS, count)),
            messages.newest_of_type(scope, MessageType::File, shown),
            messages.edited_messages(scope, earliest, changes),
            messages.unsent_messages(scope, earliest, changes),
            async {
                if access.caller.bounds.has(Scope::ReadMembers) {
                    return self.store.members().moves(scope).await.map(Some);
                }
                Ok(None)
            },
        )?;
        Ok(Gathered { people, types, texts, files, edited, unsent, moves })
    }

    /// Returns the messages of a digest that are shown, as they are now.
    async fn shown(
        &self,
        mask: &Mask,
        found: &Gathered,
        findings: &Findings,
        questions: &[&DigestKey],
    ) -> Result<ShownMessages, ServiceError> {
        let changes = [&found.edited, &found.unsent];
        let changes =
            changes.into_iter().flat_map(|events| events.iter().take(SHOWN).map(|one| &one.key));
        let keys = findings.mentions.iter().take(SHOWN);
        let keys = keys.chain(questions.iter().copied().take(SHOWN));
        let keys = keys.chain(findings.hosts.iter().take(SHOWN).map(|host| &host.first));
        let keys: HashSet<_> = keys.chain(&found.files).chain(changes).cloned().collect();
        let keys: Vec<_> = keys.into_iter().collect();
        let messages = self.store.messages().chosen_messages(&keys).await?;
        let keyed = |message: StoredMessage| {
            ((message.channel.clone(), message.id.clone()), mask.show(message))
        };
        Ok(ShownMessages(messages.into_iter().map(keyed).collect()))
    }
}

/// Messages that are shown.
struct ShownMessages(HashMap<DigestKey, Masked<StoredMessage>>);

impl ShownMessages {
    fn messages(&self, keys: &[&DigestKey], at_least: bool) -> FoundMessages {
        let newest = keys.iter().take(SHOWN).filter_map(|key| self.0.get(*key).cloned());
        FoundMessages { total: keys.len(), at_least, newest: newest.collect() }
    }
}

/// Returns the limit of each channel: its share of that of all, but no less than it must have.
fn limit_of((all, least): (usize, usize), channels: usize) -> u32 {
    u32::try_from((all / channels.max(1)).max(least)).unwrap_or(u32::MAX)
}

/// Returns true if a channel has as many of these as were looked up.
fn is_cut(events: &[MessageEvent], limit: u32) -> bool {
    let mut counts: HashMap<&ChannelId, u32> = HashMap::new();
    events.iter().any(|event| {
        let count = counts.entry(&event.key.0).or_default();
        *count += 1;
        *count >= limit
    })
}

/// Returns true if that user is meant.
fn is_user(sender: Option<&UserId>, user: &UserId) -> bool {
    sender.is_some_and(|sender| sender == user)
}
