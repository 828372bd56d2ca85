//! Calendar of a chart over time: the days and bars of a period, and the clocks of a time zone.

use chatkeep_core::time::{DAY_MILLIS, Timestamp};
use chatkeep_store::ClockShift;
use chatkeep_view::when::{first, local_time};
use chrono::{
    DateTime, Datelike as _, Days, Months, NaiveDate, NaiveTime, Offset as _, TimeZone as _,
};
use chrono_tz::Tz;

/// Milliseconds of a quarter of an hour, the unit of the counters.
const QUARTER: i64 = 900_000;

/// Years before today that everything at most goes back, and after it: imports may have any dates.
const YEARS: u32 = 60;

/// Period that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Number of days, today included.
    Days(u32),
    /// Everything.
    All,
}

/// Length of the bars of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarUnit {
    /// A day.
    Day,
    /// A week, from Monday.
    Week,
    /// A month.
    Month,
}

/// Days of a period, and the bars in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: NaiveDate,
    /// Last day.
    pub(super) last: NaiveDate,
    pub(super) unit: BarUnit,
}

impl Span {
    /// Returns the days of a period. Everything is from the earliest day with a message to the
    /// latest or today. The first bar is a whole one.
    pub(super) fn of(
        period: Period,
        today: NaiveDate,
        (earliest, latest): (NaiveDate, NaiveDate),
    ) -> Self {
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
    pub(super) fn starts(&self) -> Vec<NaiveDate> {
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

/// Returns the next day.
pub(super) fn after(day: NaiveDate) -> NaiveDate {
    day.checked_add_days(Days::new(1)).unwrap_or(day)
}

/// Returns the day of a time.
pub(super) fn day(zone: Tz, at: Timestamp) -> NaiveDate {
    local_time(zone, at).date_naive()
}

/// Returns the start of a day, to the quarter of an hour: no zone has had another offset since
/// 1972.
pub(super) fn midnight(zone: Tz, day: NaiveDate) -> Option<Timestamp> {
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
pub(super) fn shifts(zone: Tz, bars: &[Timestamp]) -> Vec<ClockShift> {
    let (Some(start), Some(end)) = (bars.first(), bars.last()) else {
        return Vec::new();
    };
    let (end, mut from, mut found) = (end.millis(), start.millis(), Vec::new());
    let mut at = from;
    while at < end {
        let next = (at + DAY_MILLIS).min(end);
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
        // Nor does one that no zone can show.
        let taipei: Tz = "Asia/Taipei".parse().unwrap();
        let far = [8_210_266_876_799_000, i64::MAX, -8_334_601_228_800_000, i64::MIN];
        let far = far.map(|millis| day(taipei, Timestamp::from_millis(millis)).to_string());
        assert_eq!(far, ["9999-12-31", "9999-12-31", "0000-01-01", "0000-01-01"]);
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
