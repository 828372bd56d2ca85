//! Activity of a channel: messages by time and by person, answers by rule, storage by type.

mod calendar;

use std::cmp::Reverse;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::Rule;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{
    ActivityAnswer, ActivityCounts, ActivityPerson, ActivityQuery, ActivityStorage, AnswerCause,
    ReplySource, Store,
};
use chatkeep_view::pseudonyms::{Mask, Masked};
use chrono::NaiveDate;
use chrono_tz::Tz;

pub use self::calendar::{BarUnit, Period};
use self::calendar::{Span, after, day, midnight, shifts};
use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};
use super::assistant::{AssistantService, VisibleRules};

/// Number of people, and of rules, that are named; the others are one sum.
const NAMED: u32 = 20;
/// Bar of a chart over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// First day.
    pub from: NaiveDate,
    /// Number of messages.
    pub messages: i64,
}

/// Cause of a reply of the bot.
#[derive(Clone, Debug)]
pub enum AnsweredBy {
    /// A rule that the caller may see.
    Rule(Box<Rule>),
    /// Any rule, for a caller who may not see rules.
    SomeRule,
    /// Rules that were deleted since.
    DeletedRule,
    /// Another source than a rule.
    Source(ReplySource),
}

/// Activity of a channel in a period.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Unit of the bars.
    pub unit: BarUnit,
    /// Messages over time, oldest first.
    pub bars: Vec<Bar>,
    /// Last day.
    pub last: NaiveDate,
    /// Number of messages.
    pub messages: i64,
    /// Messages by weekday, from Monday, and hour.
    pub hours: Vec<[i64; 24]>,
    /// People with the most messages, and the bot.
    pub people: Vec<Masked<ActivityPerson>>,
    /// Messages of all other people.
    pub other_people: i64,
    /// Rules and other sources with the most answers, and the numbers of these.
    pub answers: Vec<(AnsweredBy, i64)>,
    /// Answers of all other rules.
    pub other_answers: i64,
    /// Everything stored now, by type, most bytes first.
    pub storage: Vec<ActivityStorage>,
}

/// Activity of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ActivityService {
    store: Store,
    clock: SharedClock,
    /// Zone of channels without one of their own.
    time_zone: Tz,
    assistant: AssistantService,
}

impl ActivityService {
    pub(super) const fn new(
        store: Store,
        clock: SharedClock,
        time_zone: Tz,
        assistant: AssistantService,
    ) -> Self {
        Self { store, clock, time_zone, assistant }
    }

    /// Returns the activity of a channel in a period, in the days of its zone; `None` when it has
    /// no messages at all. A caller who may read from some time on gets whole days after it.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        period: Period,
    ) -> Result<Option<Activity>, ServiceError> {
        let channel = access.without_reading();
        let Some(range) = self.store.activity().range(channel).await? else {
            return Ok(None);
        };
        let zone = self.zone(channel).await?;
        let today = day(zone, self.clock.now());
        let (earliest, latest) = (day(zone, range.first), day(zone, range.last));
        let mut days = Span::of(period, today, (earliest, latest));
        if let Some(bound) = access.not_before() {
            days.from = days.from.max(after(day(zone, bound)));
        }
        let starts = days.starts();
        let bars: Vec<_> = starts.iter().filter_map(|start| midnight(zone, *start)).collect();
        let shifts = shifts(zone, &bars);
        let wanted = ActivityQuery { channel, bars: &bars, shifts: &shifts, limit: NAMED };
        let counts = self.store.activity().counts(&wanted).await?;
        let rules = counts.answers.iter().filter_map(|answer| match &answer.cause {
            AnswerCause::Rule(rule) => Some(rule),
            AnswerCause::DeletedRule | AnswerCause::Source(_) => None,
        });
        let rules = self.assistant.visible_rules(access, rules).await?;
        let mask = &access.caller.mask;
        Ok(Some(Activity::new(days, &starts, counts, &rules, mask)))
    }

    async fn zone(&self, channel: &ChannelId) -> Result<Tz, ServiceError> {
        let channel = self.store.channels().channel(channel).await?;
        Ok(channel.ok_or(ServiceError::PermissionDenied)?.zone(self.time_zone))
    }
}

impl Activity {
    fn new(
        days: Span,
        starts: &[NaiveDate],
        counts: ActivityCounts,
        rules: &VisibleRules,
        mask: &Mask,
    ) -> Self {
        let bar = |(from, messages): (&NaiveDate, &i64)| Bar { from: *from, messages: *messages };
        // The store's week begins on a Thursday, as 1970 did.
        let hour = |weekday: usize, hour: usize| {
            let slot = (weekday + 4) % 7 * 24 + hour;
            counts.hours.get(slot).copied().unwrap_or_default()
        };
        let of_day = |weekday| std::array::from_fn(|of| hour(weekday, of));
        let messages: i64 = counts.bars.iter().sum();
        let of_named: i64 = counts.people.iter().map(|person| person.messages).sum();
        let by_rules = counts.answered_by_rules;
        let answers = answered(counts.answers, by_rules, rules);
        let by_source: i64 = answers.iter().map(|(_, messages)| messages).sum();
        Self {
            unit: days.unit,
            bars: starts.iter().zip(&counts.bars).map(bar).collect(),
            last: days.last,
            messages,
            hours: (0..7).map(of_day).collect(),
            people: mask.show_all(counts.people),
            other_people: messages - of_named,
            answers,
            other_answers: counts.answered - by_source,
            storage: counts.storage,
        }
    }
}

/// Returns what made the bot answer, most answers first. Rules that the caller may not see are one,
/// and so are deleted ones, which nobody knows by their ids.
fn answered(
    answers: Vec<ActivityAnswer>,
    by_rules: i64,
    rules: &VisibleRules,
) -> Vec<(AnsweredBy, i64)> {
    let (mut all, mut deleted) = (Vec::with_capacity(answers.len()), 0);
    for ActivityAnswer { cause, messages } in answers {
        match (cause, rules) {
            (AnswerCause::Source(source), _) => all.push((AnsweredBy::Source(source), messages)),
            (_, VisibleRules::Hidden) => {}
            (AnswerCause::DeletedRule, _) => deleted += messages,
            (AnswerCause::Rule(id), VisibleRules::Of(rules)) => match rules.get(&id) {
                Some(rule) => all.push((AnsweredBy::Rule(Box::new(rule.clone())), messages)),
                None => deleted += messages,
            },
        }
    }
    let hidden = if matches!(rules, VisibleRules::Hidden) { by_rules } else { 0 };
    let sums = [(AnsweredBy::SomeRule, hidden), (AnsweredBy::DeletedRule, deleted)];
    all.extend(sums.into_iter().filter(|(_, messages)| *messages > 0));
    all.sort_by_key(|(_, messages)| Reverse(*messages));
    all
}
