//! Dates in words.

use chrono::{Datelike as _, NaiveDate};

use super::{Language, Value};

/// Form of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateForm {
    /// With the weekday and the year.
    Long,
    /// With the year.
    Year,
    /// Without the year.
    Short,
    /// The month and the year.
    Month,
}

impl DateForm {
    const fn key(self) -> &'static str {
        match self {
            Self::Long => "date-long",
            Self::Year => "date-year",
            Self::Short => "date-short",
            Self::Month => "date-month",
        }
    }
}

impl Language {
    /// Returns a date in words, with the year as people count it.
    pub fn date(self, form: DateForm, day: NaiveDate) -> String {
        let weekday = self.text(&format!("weekday-{}", day.weekday().number_from_monday()));
        let month = self.text(&format!("month-{}", day.month()));
        let year = self.year(day.year()).to_string();
        let day = day.day().to_string();
        let values = [
            ("weekday", Value::from(&weekday)),
            ("month", Value::from(&month)),
            ("year", Value::from(&year)),
            ("day", Value::from(&day)),
        ];
        self.format(form.key(), &values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_language() {
        let day = NaiveDate::from_ymd_opt(2025, 12, 31).unwrap();
        let in_all = |form| Language::ALL.map(|language| language.date(form, day));
        assert_eq!(
            in_all(DateForm::Long),
            ["2025年12月31日（三）", "Wed, 31 Dec 2025", "2025年12月31日（水）", "พ. 31 ธ.ค. 2568"]
        );
        assert_eq!(
            in_all(DateForm::Short),
            ["12月31日", "31\u{a0}Dec", "12月31日", "31\u{a0}ธ.ค."]
        );
    }
}
