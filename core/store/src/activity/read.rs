//! Reads the activity counters of a channel for a period.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, RuleId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;

use super::by_time::ByTime;
use super::delta::HOUR;
use super::item_spans::{ItemCounters, ItemSpans};
use super::sql::{ANSWERS, PEOPLE, RANGE, STORAGE, TIMES};
use crate::db::Tx;
use crate::query::query_as;
use crate::{ActivityStore, ReplySource, StoreError, parsed};

/// Times of the first and the last counted message, to the quarter of an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityRange {
    /// Start of the quarter of an hour of the first message.
    pub first: Timestamp,
    /// Start of the quarter of an hour of the last message.
    pub last: Timestamp,
}

/// Time in which the clock of a zone differs from UTC by the same offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockShift {
    /// Begin.
    pub from: Timestamp,
    /// End, exclusive.
    pub to: Timestamp,
    /// Offset in milliseconds; positive east of Greenwich.
    pub offset: i64,
}

/// Period whose counters are wanted. All times are full quarters of an hour.
#[derive(Clone, Debug)]
pub struct ActivityQuery<'a> {
    /// Channel.
    pub channel: &'a ChannelId,
    /// Begins of the bars of the period, in order, and the end of the last one.
    pub bars: &'a [Timestamp],
    /// Offsets of the zone's clock in the period, in order and without gaps.
    pub shifts: &'a [ClockShift],
    /// Maximum number of people, and of rules.
    pub limit: u32,
}

/// Person, or the bot, with the number of their messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityPerson {
    /// Person; `None` for the bot, and where the platform named nobody.
    pub user: Option<UserId>,
    /// `true` for the bot.
    pub is_bot: bool,
    /// Name, if known.
    pub display_name: Option<String>,
    /// Address of the picture, if known.
    pub picture_url: Option<String>,
    /// Number of messages.
    pub messages: i64,
}

/// Cause of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerCause {
    /// Rule.
    Rule(RuleId),
    /// Rules that were deleted since.
    DeletedRule,
    /// Another source than a rule.
    Source(ReplySource),
}

/// Cause of answers with the number of messages by which the bot answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityAnswer {
    /// Cause.
    pub cause: AnswerCause,
    /// Number of messages.
    pub messages: i64,
}

/// Messages and bytes of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityStorage {
    /// Message type.
    pub kind: MessageType,
    /// Number of messages.
    pub messages: i64,
    /// Bytes of their contents and files.
    pub bytes: i64,
}

/// Counters of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityCounts {
    /// Number of messages of each bar.
    pub bars: Vec<i64>,
    /// Number of messages of each hour of the week, from Thursday at 0:00, local time.
    pub hours: Vec<i64>,
    /// People with the most messages, and the bot.
    pub people: Vec<ActivityPerson>,
    /// Rules and other sources with the most answers.
    pub answers: Vec<ActivityAnswer>,
    /// Number of all answers.
    pub answered: i64,
    /// Number of answers by rules, deleted ones included.
    pub answered_by_rules: i64,
    /// Everything stored now, by type, whenever it was sent. Most bytes first.
    pub storage: Vec<ActivityStorage>,
}

#[derive(sqlx_macros::FromRow)]
struct ActivityPersonRow {
    counter: String,
    item: String,
    messages: i64,
    display_name: Option<String>,
    picture_url: Option<String>,
    /// Messages of all people and the bot.
    counted: i64,
}

/// Counter, item, messages; the numbers of all answers and of those by rules.
type AnswerRow = (String, Option<String>, i64, i64, i64);

impl ActivityStore<'_> {
    /// Returns the times of a channel's first and last counted message; `None` without any.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn range(&self, channel: &ChannelId) -> Result<Option<ActivityRange>, StoreError> {
        let (first, last): (Option<i64>, Option<i64>) =
            self.store.db.fetch_one(query_as(RANGE).bind(channel.as_str())).await?;
        Ok(first.zip(last).map(|(first, last)| ActivityRange {
            first: Timestamp::from_millis(first),
            last: Timestamp::from_millis(last),
        }))
    }

    /// Returns the counters of a period, all of one moment.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn counts(&self, wanted: &ActivityQuery<'_>) -> Result<ActivityCounts, StoreError> {
        let mut tx = self.store.db.snapshot().await?;
        let ByTime { bars, hours } = by_time(&mut tx, wanted).await?;
        let mut counters = ItemCounters::Blocks;
        let (mut all, counted) = people(&mut tx, wanted, counters).await?;
        if counted != bars.iter().sum::<i64>() {
            // A process of a version without blocks has counted.
            counters = ItemCounters::Days;
            (all, _) = people(&mut tx, wanted, counters).await?;
        }
        let (answers, answered, answered_by_rules) = answers(&mut tx, wanted, counters).await?;
        let counts = ActivityCounts {
            bars,
            hours,
            people: all,
            answers,
            answered,
            answered_by_rules,
            storage: storage(&mut tx, wanted.channel).await?,
        };
        tx.commit().await?;
        Ok(counts)
    }
}

impl ActivityQuery<'_> {
    /// Returns the start and the end of the period, in milliseconds since 1970.
    pub(super) fn ends(&self) -> (i64, i64) {
        let millis = |at: Option<&Timestamp>| at.map_or(0, |at| at.millis());
        (millis(self.bars.first()), millis(self.bars.last()))
    }

    /// Returns the name of the counters of the longest times that make up the period: a zone whose
    /// offsets are whole hours needs a quarter of the rows.
    fn counter(&self) -> &'static str {
        let whole = |time: i64| time % HOUR == 0;
        let bars = self.bars.iter().all(|bar| whole(bar.millis()));
        let shifts = self.shifts.iter().all(|shift| {
            whole(shift.offset) && whole(shift.from.millis()) && whole(shift.to.millis())
        });
        if bars && shifts { "hour" } else { "quarter" }
    }
}

/// Returns the messages of a period by bar and by hour of the week.
async fn by_time(tx: &mut Tx, wanted: &ActivityQuery<'_>) -> Result<ByTime, StoreError> {
    let (from, to) = wanted.ends();
    let query = query_as(TIMES).bind(wanted.channel.as_str()).bind(wanted.counter());
    let (times,): (Option<String>,) = tx.fetch_one(query.bind(from).bind(to)).await?;
    let mut by_time = ByTime::new(wanted);
    for time in times.iter().flat_map(|times| times.split(',')) {
        let pair = time.split_once(' ');
        let pair = pair.and_then(|(at, messages)| Some((at.parse().ok()?, messages.parse().ok()?)));
        let (at, messages) = parsed(pair, "activity_counters", "at", time)?;
        by_time.add(wanted, at, messages);
    }
    Ok(by_time)
}

/// Returns the people with the most messages, and the number of all messages.
async fn people(
    tx: &mut Tx,
    wanted: &ActivityQuery<'_>,
    counters: ItemCounters,
) -> Result<(Vec<ActivityPerson>, i64), StoreError> {
    let spans = ItemSpans::new(wanted, counters, ["person", "bot"])?;
    let query = query_as(PEOPLE).bind(wanted.channel.as_str()).bind(&spans.counters);
    let query = query.bind(&spans.edges).bind(i64::from(wanted.limit));
    let rows: Vec<ActivityPersonRow> = tx.fetch_all(query).await?;
    let counted = rows.first().map_or(0, |row| row.counted);
    let person = |row: ActivityPersonRow| ActivityPerson {
        user: (!row.item.is_empty()).then(|| UserId::new(row.item)),
        is_bot: row.counter == "bot",
        display_name: row.display_name,
        picture_url: row.picture_url,
        messages: row.messages,
    };
    Ok((rows.into_iter().map(person).collect(), counted))
}

/// Returns the causes with the most answers, and the numbers of all answers and of those by rules.
async fn answers(
    tx: &mut Tx,
    wanted: &ActivityQuery<'_>,
    counters: ItemCounters,
) -> Result<(Vec<ActivityAnswer>, i64, i64), StoreError> {
    let spans = ItemSpans::new(wanted, counters, ["rule", "reply"])?;
    let query = query_as(ANSWERS).bind(wanted.channel.as_str()).bind(&spans.counters);
    let query = query.bind(&spans.edges).bind(i64::from(wanted.limit));
    let rows: Vec<AnswerRow> = tx.fetch_all(query).await?;
    let (answered, by_rules) = rows.first().map_or((0, 0), |row| (row.3, row.4));
    let answer = |(counter, item, messages, ..): AnswerRow| {
        let cause = match item {
            Some(rule) if counter == "rule" => AnswerCause::Rule(rule.into()),
            None => AnswerCause::DeletedRule,
            Some(item) => {
                let source = ReplySource::parse(&item);
                AnswerCause::Source(parsed(source, "activity_counters", "item", &item)?)
            }
        };
        Ok(ActivityAnswer { cause, messages })
    };
    let answers: Result<_, StoreError> = rows.into_iter().map(answer).collect();
    Ok((answers?, answered, by_rules))
}

async fn storage(tx: &mut Tx, channel: &ChannelId) -> Result<Vec<ActivityStorage>, StoreError> {
    let rows: Vec<(String, i64, i64)> =
        tx.fetch_all(query_as(STORAGE).bind(channel.as_str())).await?;
    let storage = |(item, messages, bytes): (String, i64, i64)| {
        let kind = parsed(MessageType::parse(&item), "activity_counters", "item", &item)?;
        Ok(ActivityStorage { kind, messages, bytes })
    };
    rows.into_iter().map(storage).collect()
}
