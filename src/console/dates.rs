//! Dates and times as people read them, in one zone.

use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{DateForm, Language, Value};
use chatkeep_view::when::{day_of_calendar, local_time};
use chrono::{DateTime, Datelike as _, NaiveDate};
use chrono_tz::Tz;

/// Dates and times in one language and zone.
#[derive(Clone, Copy, Debug)]
pub struct Dates {
    /// Language of the reader.
    pub language: Language,
    /// Zone in which days begin.
    pub zone: Tz,
    /// Present time, for what is of today or of this year.
    pub now: Timestamp,
}

impl Dates {
    /// Returns the day of a time.
    pub fn day(&self, at: Timestamp) -> NaiveDate {
        self.local(at).date_naive()
    }

    /// Returns the time of day: `14:05`.
    pub(super) fn time(&self, at: Timestamp) -> String {
        self.local(at).format("%H:%M").to_string()
    }

    /// Returns the heading of a day: today, yesterday, or the date with its weekday.
    pub(super) fn heading(&self, day: NaiveDate) -> String {
        let today = self.day(self.now);
        if day == today {
            return self.language.text("date-today");
        }
        if Some(day) == today.pred_opt() {
            return self.language.text("date-yesterday");
        }
        self.language.date(DateForm::Long, day)
    }

    /// Returns a date, with the year where that is not the present one.
    pub fn date(&self, day: NaiveDate) -> String {
        let this_year = self.day(self.now).year() == day.year();
        self.language.date(if this_year { DateForm::Short } else { DateForm::Year }, day)
    }

    /// Returns the month of a day, with the year.
    pub(super) fn month(&self, day: NaiveDate) -> String {
        self.language.date(DateForm::Month, day)
    }

    /// Returns a date and time.
    pub(super) fn moment(&self, at: Timestamp) -> String {
        format!("{} {}", self.date(self.day(at)), self.time(at))
    }

    /// Returns a date and time with the name of the zone, where no chat says which one it is.
    pub(super) fn zoned(&self, at: Timestamp) -> String {
        let moment = self.moment(at);
        let values = [("moment", Value::from(&moment)), ("zone", self.zone.name().into())];
        self.language.format("date-in-zone", &values)
    }

    /// Returns the shortest text that tells a recent time: the time of today, else the date.
    pub(super) fn brief(&self, at: Timestamp) -> String {
        let (day, today) = (self.day(at), self.day(self.now));
        if day == today {
            return self.time(at);
        }
        if Some(day) == today.pred_opt() {
            return self.language.text("date-yesterday");
        }
        self.date(day)
    }

    fn local(&self, at: Timestamp) -> DateTime<Tz> {
        local_time(self.zone, at)
    }
}

/// Text of a date field that names no day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoDay;

/// Returns the day of a date field; `None` for an empty one.
pub(super) fn day_of(text: &str) -> Result<Option<NaiveDate>, NoDay> {
    match text.trim() {
        "" => Ok(None),
        text => day_of_calendar(text).map(Some).ok_or(NoDay),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_field_has_a_day_of_the_calendar_or_nothing() {
        let day = NaiveDate::from_ymd_opt(2026, 1, 31);
        assert_eq!((day_of(" 2026-01-31 "), day_of(" ")), (Ok(day), Ok(None)));
        for wrong in ["soon", "2026-02-30", "+10000-01-01", "12026-01-01", "-001-01-01", "2026-1-1"]
        {
            assert_eq!(day_of(wrong), Err(NoDay), "{wrong}");
        }
    }

    #[test]
    fn dates_are_those_of_the_zone_and_the_language() {
        let at = |text| Timestamp::parse(text).unwrap();
        let dates = |language| Dates {
            language,
            zone: "Asia/Taipei".parse().unwrap(),
            now: at("2026-02-01T16:30:00Z"),
        };
        let english = dates(Language::English);
        assert_eq!(english.time(at("2026-02-01T16:05:00Z")), "00:05");
        assert_eq!(english.heading(english.day(at("2026-02-01T16:05:00Z"))), "Today");
        assert_eq!(english.heading(english.day(at("2026-02-01T15:59:00Z"))), "Yesterday");
        let day = english.day(at("2025-12-31T10:00:00Z"));
        let headings = Language::ALL.map(|language| dates(language).heading(day));
        let expected =
            ["2025年12月31日（三）", "Wed, 31 Dec 2025", "2025年12月31日（水）", "พ. 31 ธ.ค. 2568"];
        assert_eq!(headings, expected);
        assert_eq!(english.brief(at("2026-01-05T10:00:00Z")), "5\u{a0}Jan");
        let zoned = Language::ALL.map(|language| dates(language).zoned(at("2026-01-05T10:00:00Z")));
        let expected = [
            "1月5日 18:00（Asia/Taipei）",
            "5\u{a0}Jan 18:00 (Asia/Taipei)",
            "1月5日 18:00（Asia/Taipei）",
            "5\u{a0}ม.ค. 18:00 (Asia/Taipei)",
        ];
        assert_eq!(zoned, expected);
    }

    #[test]
    fn every_stored_time_is_shown() {
        for zone in ["UTC", "Asia/Taipei", "America/New_York"] {
            let zone = zone.parse().unwrap();
            let now = Timestamp::from_millis(0);
            let dates = Dates { language: Language::English, zone, now };
            for millis in [8_210_266_876_799_000, 8_210_266_963_139_000, i64::MAX] {
                let at = Timestamp::from_millis(millis);
                assert_eq!(dates.moment(at), "31\u{a0}Dec 9999 23:59", "{zone} {millis}");
            }
            for millis in [-8_334_601_228_800_000, i64::MIN] {
                let at = Timestamp::from_millis(millis);
                assert_eq!(dates.moment(at), "1\u{a0}Jan 0 00:00", "{zone} {millis}");
                assert_eq!(dates.heading(dates.day(at)), "Sat, 1 Jan 0");
            }
        }
    }
}
