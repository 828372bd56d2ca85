//! The activity of a channel: charts drawn on the server, each with its numbers in a table.

mod shares;
#[cfg(test)]
mod tests;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_i18n::{Value, grouped};
use chatkeep_services::access::{Member, ReadMessages};
use chatkeep_services::activity::{Activity, Bar, BarUnit, Period};
use chrono::{Datelike as _, NaiveDate};
use serde::Deserialize;

use super::Console;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::size;
use super::visitor::{Asked, Visitor};
use shares::Share;

/// Height of a chart of bars, in its own units.
const HEIGHT: i64 = 100;
/// Levels of colour of the hours, without that of none.
const LEVELS: i64 = 5;

/// Period that can be chosen.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
enum Chosen {
    #[serde(rename = "7")]
    Week,
    #[default]
    #[serde(rename = "30")]
    Month,
    #[serde(rename = "90")]
    Quarter,
    #[serde(rename = "365")]
    Year,
    #[serde(rename = "all")]
    All,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ActivityPeriodQuery {
    #[serde(default)]
    period: Chosen,
}

/// Link to a period.
struct PeriodLink {
    href: String,
    label: String,
    current: bool,
}

/// Bar of the chart over time.
struct ColumnBar {
    x: usize,
    y: i64,
    height: i64,
    label: String,
    messages: String,
}

/// Weekday of the chart of hours.
struct HoursRow {
    weekday: String,
    cells: Vec<HourCell>,
}

/// Hour of a weekday.
struct HourCell {
    x: usize,
    level: i64,
    /// Weekday, hour and number, for pointers.
    label: String,
}

/// Hour of the day in the table of hours.
struct HourNumbers {
    hour: usize,
    /// Numbers of the weekdays.
    messages: Vec<String>,
}

#[derive(Template)]
#[template(path = "console/activity.html", whitespace = "minimize")]
struct ActivityPage {
    frame: Frame,
    channel: Heading,
    periods: Vec<PeriodLink>,
    /// `None` for a channel without messages.
    charts: Option<Charts>,
}

struct Charts {
    total: String,
    /// True if the period has messages.
    any: bool,
    /// Name of the chart over time, by its unit.
    over_time: String,
    unit: String,
    bars: Vec<ColumnBar>,
    width: usize,
    most: String,
    first: String,
    last: String,
    hours: Vec<HoursRow>,
    hour_numbers: Vec<HourNumbers>,
    busiest: String,
    people: Vec<Share>,
    answers: Vec<Share>,
    storage: Vec<Share>,
    stored: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(asked): Asked<ActivityPeriodQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let activity = console.services.activity.of(&access, asked.period.period()).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Activity).await?;
    let looks = Looks { dates, path: &channel.path };
    let page = ActivityPage {
        frame: visitor.frame(visitor.language.text("tab-activity")),
        periods: Chosen::ALL.map(|other| other.link(asked.period, &looks)).into(),
        charts: activity.map(|activity| looks.charts(&activity)),
        channel,
    };
    rendered(&page)
}

impl Chosen {
    const ALL: [Self; 5] = [Self::Week, Self::Month, Self::Quarter, Self::Year, Self::All];

    const fn period(self) -> Period {
        match self {
            Self::Week => Period::Days(7),
            Self::Month => Period::Days(30),
            Self::Quarter => Period::Days(90),
            Self::Year => Period::Days(365),
            Self::All => Period::All,
        }
    }

    fn link(self, current: Self, looks: &Looks<'_>) -> PeriodLink {
        let language = looks.dates.language;
        let (name, label) = match self {
            Self::Year => ("365".to_owned(), language.text("activity-year")),
            Self::All => ("all".to_owned(), language.text("activity-all")),
            Self::Week | Self::Month | Self::Quarter => {
                let Period::Days(days) = self.period() else { unreachable!("these are days") };
                let count = [("count", Value::from(i64::from(days)))];
                (days.to_string(), language.format("activity-days", &count))
            }
        };
        let href = format!("{}/activity?period={name}", looks.path);
        PeriodLink { href, label, current: self == current }
    }
}

/// Circumstances in which numbers become charts.
struct Looks<'a> {
    dates: Dates,
    /// Path of the channel.
    path: &'a str,
}

impl Looks<'_> {
    fn charts(&self, activity: &Activity) -> Charts {
        let language = self.dates.language;
        let most = activity.bars.iter().map(|bar| bar.messages).max().unwrap_or_default();
        let (over_time, unit) = match activity.unit {
            BarUnit::Day => ("activity-by-day", "activity-day"),
            BarUnit::Week => ("activity-by-week", "activity-week"),
            BarUnit::Month => ("activity-by-month", "activity-month"),
        };
        let stored = activity.storage.iter().map(|kind| kind.bytes).sum();
        Charts {
            total: language.format("activity-total", &[("count", activity.messages.into())]),
            any: activity.messages > 0,
            over_time: language.text(over_time),
            unit: language.text(unit),
            bars: self.bars(activity, most),
            width: activity.bars.len() * 4,
            most: grouped(most),
            first: activity.bars.first().map_or_else(String::new, |bar| self.dates.date(bar.from)),
            last: self.dates.date(activity.last),
            hours: self.hours(&activity.hours),
            hour_numbers: hour_numbers(&activity.hours),
            busiest: self.busiest(&activity.hours),
            people: self.people(activity),
            answers: self.answers(activity),
            storage: self.storage(&activity.storage, stored),
            stored: size(stored),
        }
    }

    fn bars(&self, activity: &Activity, most: i64) -> Vec<ColumnBar> {
        let bar = |(n, bar): (usize, &Bar)| {
            let height = part_of(bar.messages, most, HEIGHT);
            ColumnBar {
                x: n * 4,
                y: HEIGHT - height,
                height,
                label: self.bar_label(bar.from, activity.unit),
                messages: grouped(bar.messages),
            }
        };
        activity.bars.iter().enumerate().map(bar).collect()
    }

    fn bar_label(&self, from: NaiveDate, unit: BarUnit) -> String {
        let language = self.dates.language;
        match unit {
            BarUnit::Day => self.dates.date(from),
            BarUnit::Week => {
                let date = self.dates.date(from);
                language.format("activity-week-of", &[("date", Value::from(&date))])
            }
            BarUnit::Month => {
                let month = language.text(&format!("month-{}", from.month()));
                let year = language.year(from.year()).to_string();
                let values = [("month", Value::from(&month)), ("year", Value::from(&year))];
                language.format("activity-month-of", &values)
            }
        }
    }

    fn hours(&self, hours: &[[i64; 24]]) -> Vec<HoursRow> {
        let most = hours.iter().flatten().copied().max().unwrap_or_default();
        let row = |(weekday, hours): (usize, &[i64; 24])| {
            let weekday = self.weekday(weekday);
            let cell = |(hour, messages): (usize, &i64)| HourCell {
                x: hour * 10,
                level: part_of(*messages, most, LEVELS),
                label: format!("{weekday} {hour:02}:00 · {}", grouped(*messages)),
            };
            HoursRow {
                cells: hours.iter().enumerate().map(cell).collect(),
                weekday: weekday.clone(),
            }
        };
        hours.iter().enumerate().map(row).collect()
    }

    /// Returns the short name of a weekday, counted from Monday.
    fn weekday(&self, weekday: usize) -> String {
        self.dates.language.text(&format!("weekday-{}", weekday + 1))
    }

    /// Returns the sentence about the hour of the week with the most messages.
    fn busiest(&self, hours: &[[i64; 24]]) -> String {
        let all = hours.iter().enumerate();
        let all = all.flat_map(|(day, row)| row.iter().enumerate().map(move |(h, n)| (*n, day, h)));
        let Some((_, day, hour)) = all.max_by_key(|(n, day, h)| (*n, 7 - day, 24 - h)) else {
            return String::new();
        };
        let language = self.dates.language;
        // In full: abbreviations stand alone in some languages.
        let weekday = language.text(&format!("weekday-long-{}", day + 1));
        let from = format!("{hour:02}:00");
        let to = format!("{:02}:00", (hour + 1) % 24);
        let values = [
            ("weekday", Value::from(&weekday)),
            ("from", Value::from(&from)),
            ("to", Value::from(&to)),
        ];
        language.format("activity-busiest", &values)
    }
}

/// Returns the numbers of the weekdays by hour.
fn hour_numbers(hours: &[[i64; 24]]) -> Vec<HourNumbers> {
    let messages = |hour: usize| hours.iter().map(|day| grouped(day[hour])).collect();
    (0..24).map(|hour| HourNumbers { hour, messages: messages(hour) }).collect()
}

/// Returns a part of `most` on a scale up to `whole`; nothing is 0, and everything else at least 1.
fn part_of(value: i64, most: i64, whole: i64) -> i64 {
    if value <= 0 || most <= 0 {
        return 0;
    }
    let part = i128::from(value) * i128::from(whole) / i128::from(most);
    i64::try_from(part).unwrap_or(whole).clamp(1, whole)
}
