//! Activity of a channel: messages by time and by person, answers by rule, storage by type.

use std::cmp::Reverse;

use chatkeep_core::assistant::Rule;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{
    ActivityAnswer, ActivityCounts, ActivityPerson, ActivityQuery, ActivityStorage, AnswerCause,
    ClockShift, ReplySource, Store,
};
use chrono::{
    DateTime, Datelike as _, Days, Months, NaiveDate, NaiveTime, Offset as _, TimeZone as _,
};
use chrono_tz::Tz;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};
use super::assistant::{AssistantService, VisibleRules};
use crate::pseudonyms::{Mask, Masked};
use crate::when::first;

/// Milliseconds of a quarter of an hour, the unit of the counters.
const QUARTER: i64 = 900_000;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// Number of people, and of rules, that are named; the others are one sum.
const NAMED: u32 = 20;
/// Years before today that everything at most goes back, and after it: imports may have any dates.
const YEARS: u32 = 60;

/// Period that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// That many days, today included.
    Days(u32),
    /// Everything.
    All,
}

/// Length of the bars of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarUnit {
    /// A day.
    Day,
    /// A week, from Monday.
    Week,
    /// A month.
    Month,
}

/// Bar of a chart over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    /// First day.
    pub(crate) from: NaiveDate,
    /// Number of messages.
    pub(crate) messages: i64,
}

/// Cause of a reply of the bot.
#[derive(Clone, Debug)]
pub(crate) enum AnsweredBy {
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
pub(crate) struct Activity {
    /// Unit of the bars.
    pub(crate) unit: BarUnit,
    /// Messages over time, oldest first.
    pub(crate) bars: Vec<Bar>,
    /// Last day.
    pub(crate) last: NaiveDate,
    /// Number of messages.
    pub(crate) messages: i64,
    /// Messages by weekday, from Monday, and hour.
    pub(crate) hours: Vec<[i64; 24]>,
    /// People with the most messages, and the bot.
    pub(crate) people: Vec<Masked<ActivityPerson>>,
    /// Messages of all other people.
    pub(crate) other_people: i64,
    /// Rules and other sources with the most answers, and the numbers of these.
    pub(crate) answers: Vec<(AnsweredBy, i64)>,
    /// Answers of all other rules.
    pub(crate) other_answers: i64,
    /// Everything stored now, by type, most bytes first.
    pub(crate) storage: Vec<ActivityStorage>,
}

/// Activity of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ActivityService {
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
    pub(crate) async fn of(
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
        Ok(Some(Activity::new((days, &starts), counts, &rules, mask)))
    }

    async fn zone(&self, channel: &ChannelId) -> Result<Tz, ServiceError> {
        let channel = self.store.channels().channel(channel).await?;
        Ok(channel.ok_or(ServiceError::PermissionDenied)?.zone(self.time_zone))
    }
}

/// Days of a period, and the bars in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: NaiveDate,
    /// Last day.
    last: NaiveDate,
    unit: BarUnit,
}

impl Span {
    /// Returns the days of a period. Everything is from the earliest day with a message to the
    /// latest or today. The first bar is a whole one.
    fn of(period: Period, today: NaiveDate, (earliest, latest): (NaiveDate, NaiveDate)) -> Self {
        let years = Months::new(12 * YEARS);
        let (from, last) = match period {
            Period::Days(days) => {
                let before = Days::new(u64::from(days.saturating_sub(1)));
                (today.checked_sub_days(before).unwrap_or(today), today)
            }
            Period::All => {
                let oldest = today.checked_sub_months(years).unwrap_or(today);
                let newest = today.checked_add_months(years).unwrap_or(today);
                (earliest.clamp(oldest, newest), latest.max(today).min(newest))
            }
        };
        let unit = match (last - from).num_days() {
            ..=92 => BarUnit::Day,
            93..=730 => BarUnit::Week,
            _ => BarUnit::Month,
        };
        let from = match unit {
            BarUnit::Day => from,
            BarUnit::Week => from - Days::new(from.weekday().num_days_from_monday().into()),
            BarUnit::Month => from.with_day(1).unwrap_or(from),
        };
        Self { from, last, unit }
    }

    /// Returns the first days of the bars, and the day after the last one.
    fn starts(&self) -> Vec<NaiveDate> {
        let next = |day: &NaiveDate| match self.unit {
            BarUnit::Day => day.checked_add_days(Days::new(1)),
            BarUnit::Week => day.checked_add_days(Days::new(7)),
            BarUnit::Month => day.checked_add_months(Months::new(1)),
        };
        let days = std::iter::successors(Some(self.from), next);
        let mut starts: Vec<_> = days.take_while(|day| *day <= self.last).collect();
        starts.push(after(self.last));
        starts
    }
}

impl Activity {
    fn new(
        (days, starts): (Span, &[NaiveDate]),
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
        let told: i64 = answers.iter().map(|(_, messages)| messages).sum();
        Self {
            unit: days.unit,
            bars: starts.iter().zip(&counts.bars).map(bar).collect(),
            last: days.last,
            messages,
            hours: (0..7).map(of_day).collect(),
            people: mask.show_all(counts.people),
            other_people: messages - of_named,
            answers,
            other_answers: counts.answered - told,
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

fn after(day: NaiveDate) -> NaiveDate {
    day.checked_add_days(Days::new(1)).unwrap_or(day)
}

/// Returns the day of a time.
fn day(zone: Tz, at: Timestamp) -> NaiveDate {
    let at = DateTime::from_timestamp_millis(at.millis()).unwrap_or_default();
    at.with_timezone(&zone).date_naive()
}

/// Returns the begin of a day, to the quarter of an hour: no zone has had another offset since 1972.
fn midnight(zone: Tz, day: NaiveDate) -> Option<Timestamp> {
    let at = first(zone, day.and_time(NaiveTime::MIN))?.millis();
    Some(Timestamp::from_millis(at.div_euclid(QUARTER) * QUARTER))
}

/// Returns the offset of a zone at a time, in milliseconds, to the quarter of an hour.
fn offset(zone: Tz, at: i64) -> i64 {
    let at = DateTime::from_timestamp_millis(at).unwrap_or_default().naive_utc();
    let seconds = zone.offset_from_utc_datetime(&at).fix().local_minus_utc();
    (i64::from(seconds) * 1_000).div_euclid(QUARTER) * QUARTER
}

/// Returns the offsets of a zone between the first and the last of these times.
fn shifts(zone: Tz, bars: &[Timestamp]) -> Vec<ClockShift> {
    let (Some(start), Some(end)) = (bars.first(), bars.last()) else {
        return Vec::new();
    };
    let (end, mut from, mut found) = (end.millis(), start.millis(), Vec::new());
    let mut at = from;
    while at < end {
        let next = (at + DAY).min(end);
        let present = offset(zone, at);
        if offset(zone, next) != present || next == end {
            let change = change(zone, at, next);
            let begin = Timestamp::from_millis(from);
            let to = Timestamp::from_millis(change);
            found.push(ClockShift { from: begin, to, offset: present });
            from = change;
        }
        at = next;
    }
    if from < end {
        let (from, to) = (Timestamp::from_millis(from), Timestamp::from_millis(end));
        found.push(ClockShift { from, to, offset: offset(zone, end - 1) });
    }
    found
}

/// Returns the first quarter of an hour of another offset than that at `from`; `to` if there is
/// none before it. The clocks change at most once between them.
fn change(zone: Tz, from: i64, to: i64) -> i64 {
    let present = offset(zone, from);
    let (mut before, mut after) = (from, to);
    while after - before > QUARTER {
        let middle = before + (after - before) / 2 / QUARTER * QUARTER;
        if offset(zone, middle) == present { before = middle } else { after = middle }
    }
    if offset(zone, before) == present { after } else { before }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn a_period_has_bars_that_fit_it() {
        let today = date("2026-03-11");
        let span = |period| Span::of(period, today, (date("2019-05-17"), date("2026-03-10")));
        let week = span(Period::Days(7));
        assert_eq!((week.from, week.last, week.unit), (date("2026-03-05"), today, BarUnit::Day));
        assert_eq!(week.starts().len(), 8);
        let year = span(Period::Days(365));
        assert_eq!((year.from, year.unit), (date("2025-03-10"), BarUnit::Week));
        assert_eq!(year.starts()[1], date("2025-03-17"));
        assert_eq!(year.starts().last(), Some(&date("2026-03-12")));
        let all = span(Period::All);
        assert_eq!((all.from, all.unit), (date("2019-05-01"), BarUnit::Month));
        // An import with a wrong date makes no endless chart.
        let odd = Span::of(Period::All, today, (date("0900-01-01"), date("9000-01-01")));
        assert_eq!((odd.from, odd.last), (date("1966-03-01"), date("2086-03-11")));
    }

    #[test]
    fn clocks_that_change_are_followed() {
        let zone: Tz = "Europe/Berlin".parse().unwrap();
        let bars = [time("2026-03-27T23:00:00Z"), time("2026-10-26T23:00:00Z")];
        let found = shifts(zone, &bars);
        let expected = [
            ("2026-03-27T23:00:00Z", "2026-03-29T01:00:00Z", 1),
            ("2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", 2),
            ("2026-10-25T01:00:00Z", "2026-10-26T23:00:00Z", 1),
        ];
        let expected = expected.map(|(from, to, hours)| ClockShift {
            from: time(from),
            to: time(to),
            offset: hours * 4 * QUARTER,
        });
        assert_eq!(found, expected);
        let zone: Tz = "Asia/Kathmandu".parse().unwrap();
        let bars = [time("2026-03-27T18:15:00Z"), time("2026-03-28T18:15:00Z")];
        let all = ClockShift { from: bars[0], to: bars[1], offset: 23 * QUARTER };
        assert_eq!(shifts(zone, &bars), [all]);
        assert_eq!(midnight(zone, date("2026-03-28")), Some(bars[0]));
    }
}
