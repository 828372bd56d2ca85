//! Times of an answer: shown in one zone with their offset from UTC, and arguments without a zone
//! read in it.

use chatkeep_core::time::Timestamp;
use chatkeep_services::gaps::TimeSpan;
use chatkeep_view::when::{When, day_of_calendar, local_time};
use chrono::{NaiveDate, SecondsFormat};
use chrono_tz::Tz;

use super::error::ToolError;

/// Zone of an answer: its times are shown in it, and times of arguments without an offset are read
/// in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerZone(pub(super) Tz);

impl AnswerZone {
    /// Returns its IANA name.
    pub(super) fn name(self) -> &'static str {
        self.0.name()
    }

    /// Formats a time to the second with its offset.
    pub(super) fn show(self, at: Timestamp) -> String {
        self.format(at, SecondsFormat::Secs)
    }

    /// Formats a time with its offset, as exactly as it is known.
    pub(super) fn show_exactly(self, at: Timestamp) -> String {
        self.format(at, SecondsFormat::AutoSi)
    }

    /// Formats a time that was written without an offset as it is read; `None` for anything else.
    pub(super) fn show_local(self, text: &str) -> Option<String> {
        let when = When::parse(text).filter(|when| when.is_local())?;
        when.within(self.0).map(|at| self.show_exactly(at))
    }

    /// Formats the limits of a time, if it has any.
    pub(super) fn show_span(self, span: TimeSpan) -> (Option<String>, Option<String>) {
        let show = |at: Option<Timestamp>| at.map(|at| self.show_exactly(at));
        (show(span.from), show(span.to))
    }

    fn format(self, at: Timestamp, seconds: SecondsFormat) -> String {
        local_time(self.0, at).to_rfc3339_opts(seconds, true)
    }
}

/// Splits a shown time into its day with the offset, and its time of day.
pub(super) fn day_and_clock(shown: &str) -> (String, &str) {
    match (shown.get(..10), shown.get(11..19), shown.get(19..)) {
        (Some(day), Some(clock), Some(offset)) => (format!("{day} {offset}"), clock),
        _ => (String::new(), shown),
    }
}

/// Parses a day.
pub(super) fn day(argument: &'static str, text: &str) -> Result<NaiveDate, ToolError> {
    let wrong = || ToolError::invalid(argument, "must be a day such as 2026-01-31");
    day_of_calendar(text).ok_or_else(wrong)
}

/// Parses a time or a day.
pub(super) fn when(argument: &'static str, text: Option<&str>) -> Result<Option<When>, ToolError> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || ToolError::invalid(argument, When::refusal());
    When::parse(text).map(Some).ok_or_else(wrong)
}

/// Times between which something is asked for.
pub(super) struct AskedTimes {
    pub(super) from: Option<When>,
    pub(super) to: Option<When>,
}

impl AskedTimes {
    /// Parses the arguments `from` and `to`, which stand for nothing when one is not before the other.
    pub(super) fn of(
        from: Option<&str>,
        to: Option<&str>,
        zone: AnswerZone,
    ) -> Result<Self, ToolError> {
        let (from, to) = (when("from", from)?, when("to", to)?);
        let moment = |time: &Option<When>| time.as_ref().and_then(|time| time.within(zone.0));
        if moment(&from).zip(moment(&to)).is_some_and(|(from, to)| from >= to) {
            let why = "must be later than from: messages are sent before to, and a day means its start \
                       (00:00)";
            return Err(ToolError::invalid("to", why));
        }
        Ok(Self { from, to })
    }

    /// Checks that they leave something of that day.
    pub(super) fn check_day(&self, day: NaiveDate, zone: AnswerZone) -> Result<(), ToolError> {
        let moment = |time: Option<When>| time.and_then(|time| time.within(zone.0));
        let is_over = |end: Option<When>, begin: Option<When>| {
            moment(end).zip(moment(begin)).is_some_and(|(end, begin)| end <= begin)
        };
        let (begin, end) = (Some(When::of_day(day)), day.succ_opt().map(When::of_day));
        if is_over(end, self.from) || is_over(self.to, begin) {
            let why = "is a day outside from and to; a day in them means its start (00:00)";
            return Err(ToolError::invalid("date", why));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> AnswerZone {
        AnswerZone(name.parse().unwrap())
    }

    #[test]
    fn times_carry_the_offset_of_their_moment() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let time = at("2026-01-02T03:04:05.678Z");
        assert_eq!(zone("UTC").show(time), "2026-01-02T03:04:05Z");
        assert_eq!(zone("Asia/Taipei").show(time), "2026-01-02T11:04:05+08:00");
        assert_eq!(zone("Asia/Taipei").show_exactly(time), "2026-01-02T11:04:05.678+08:00");
        assert_eq!(
            zone("Asia/Taipei").show_exactly(at("2026-01-01T16:00:00Z")),
            "2026-01-02T00:00:00+08:00"
        );
        // The same time of day comes twice when clocks are set back.
        let new_york = zone("America/New_York");
        let (first, second) = (at("2026-11-01T05:30:00Z"), at("2026-11-01T06:30:00Z"));
        assert_eq!(new_york.show(first), "2026-11-01T01:30:00-04:00");
        assert_eq!(new_york.show(second), "2026-11-01T01:30:00-05:00");
        let shown = new_york.show(first);
        assert_eq!(day_and_clock(&shown), ("2026-11-01 -04:00".to_owned(), "01:30:00"));
        assert_eq!(day_and_clock("2026-01-02T03:04:05Z").0, "2026-01-02 Z");
    }

    #[test]
    fn every_time_is_shown_in_every_zone() {
        // Chrono's last second and its first one, and times beyond.
        let times = [8_210_266_876_799_000, i64::MAX, -8_334_601_228_800_000, i64::MIN];
        for name in ["UTC", "Asia/Taipei", "America/New_York"] {
            for millis in times {
                let shown = zone(name).show(Timestamp::from_millis(millis));
                let day = if millis < 0 { "0000-01-01" } else { "9999-12-31" };
                assert!(day_and_clock(&shown).0.starts_with(day), "{shown}");
            }
        }
        for beyond in ["+262142-12-31T23:59:59Z", "-262143-01-01T00:00:00Z"] {
            assert!(when("to", Some(beyond)).is_err(), "{beyond}");
        }
    }

    #[test]
    fn times_that_clocks_skip_or_repeat_have_one_meaning() {
        let read = |text: &str, name: &str| {
            let zone = zone(name);
            zone.show(when("from", Some(text)).unwrap().unwrap().within(zone.0).unwrap())
        };
        // Skipped: the next one that clocks show. Repeated: the first of both.
        let new_york = "America/New_York";
        assert_eq!(read("2026-03-08T02:30", new_york), "2026-03-08T03:00:00-04:00");
        assert_eq!(read("2026-11-01T01:30", new_york), "2026-11-01T01:30:00-04:00");
        assert_eq!(read("2026-11-01T01:30-05:00", new_york), "2026-11-01T01:30:00-05:00");
        assert_eq!(read("2025-03-30", "Asia/Beirut"), "2025-03-30T01:00:00+03:00");
        assert_eq!(read("2026-05-01", "Asia/Taipei"), "2026-05-01T00:00:00+08:00");
        assert!(when("from", Some("yesterday")).is_err() && day("date", "1.5.2026").is_err());
        assert_eq!(when("from", None).unwrap(), None);
    }

    #[test]
    fn a_time_that_ends_before_it_begins_is_refused() {
        let asked = |from, to| AskedTimes::of(from, to, zone("Asia/Taipei"));
        let (day, next) = (Some("2026-05-01"), Some("2026-05-02"));
        assert!(asked(day, next).is_ok() && asked(day, None).is_ok() && asked(None, day).is_ok());
        assert!(asked(next, day).is_err() && asked(day, day).is_err());
        // The day begins at 16:00 of the day before in UTC.
        assert!(asked(Some("2026-04-30T16:30:00Z"), day).is_err());
        assert!(asked(Some("2026-04-30T15:30:00Z"), day).is_ok());
    }

    #[test]
    fn a_day_has_a_part_of_the_times_beside_it() {
        let check = |from, to, date, name| {
            let zone = zone(name);
            AskedTimes::of(from, to, zone).unwrap().check_day(day("date", date).unwrap(), zone)
        };
        let taipei = |from, to| check(from, to, "2026-05-01", "Asia/Taipei").is_ok();
        let (begin, end) = (Some("2026-04-30T16:00:00Z"), Some("2026-05-01T16:00:00Z"));
        let (first, last) = (Some("2026-04-30T16:00:00.001Z"), Some("2026-05-01T15:59:59.999Z"));
        assert!(taipei(None, None) && taipei(begin, end) && taipei(last, None));
        assert!(taipei(None, first) && taipei(Some("2026-05-01"), Some("2026-05-02")));
        assert!(!taipei(end, None) && !taipei(None, begin));
        assert!(!taipei(Some("2026-05-02"), None) && !taipei(None, Some("2026-05-01")));
        // A day that clocks leave out is none by itself, not because of other times.
        assert!(check(None, Some("2012-01-01"), "2011-12-30", "Pacific/Apia").is_ok());
    }
}
