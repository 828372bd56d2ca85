//! The activity of a channel: charts drawn on the server, each with its numbers in a table.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_i18n::{Value, grouped};
use chatkeep_services::access::{Member, ReadMessages};
use chatkeep_services::activity::{Activity, AnsweredBy, Bar, BarUnit, Period};
use chatkeep_store::{ActivityPerson, ActivityStorage, ReplySource};
use chatkeep_view::segment;
use chrono::{Datelike as _, NaiveDate};
use serde::Deserialize;

use super::Console;
use super::bubble::{hue, initial, kind_key, size};
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::origin::rule_name;
use super::visitor::{Asked, Visitor};

/// Height of a chart of bars, in its own units.
const HEIGHT: i64 = 100;
/// Length of the longest bar beside a name, in its own units.
const LENGTH: i64 = 100;
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

/// Row of a table with a bar.
struct Share {
    /// Person with a picture of their own; `None` for sums.
    avatar: Option<Avatar>,
    label: String,
    /// True for texts of people, in whatever language.
    foreign: bool,
    /// Page about it.
    href: Option<String>,
    length: i64,
    value: String,
    part: String,
}

struct Avatar {
    initial: String,
    hue: String,
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

    fn people(&self, activity: &Activity) -> Vec<Share> {
        let most = activity.people.first().map_or(0, |person| person.messages);
        let mut rows: Vec<_> =
            activity.people.iter().map(|person| self.person(person, most, activity)).collect();
        rows.extend(self.others("activity-other-people", activity.other_people, activity.messages));
        rows
    }

    fn person(&self, person: &ActivityPerson, most: i64, activity: &Activity) -> Share {
        let language = self.dates.language;
        let name = person.display_name.clone().filter(|name| !name.trim().is_empty());
        let foreign = name.is_some() && !person.is_bot;
        let key = if person.is_bot { "bot-name" } else { "name-unknown" };
        let label = name.unwrap_or_else(|| language.text(key));
        let hue = match &person.user {
            Some(user) => hue(user.as_str()).to_string(),
            None => "bot".to_owned(),
        };
        let avatar = Avatar { initial: initial(&label), hue };
        share(label, person.messages, (most, activity.messages))
            .with(|share| (share.avatar, share.foreign) = (Some(avatar), foreign))
    }

    fn answers(&self, activity: &Activity) -> Vec<Share> {
        let all = activity.answers.iter().map(|(_, messages)| messages).sum::<i64>();
        let all = all + activity.other_answers;
        let most = activity.answers.first().map_or(0, |(_, messages)| *messages);
        let answers = activity.answers.iter();
        let mut rows: Vec<_> =
            answers.map(|(by, messages)| self.answer(by, *messages, (most, all))).collect();
        rows.extend(self.others("activity-other-rules", activity.other_answers, all));
        rows
    }

    fn answer(&self, by: &AnsweredBy, messages: i64, of: (i64, i64)) -> Share {
        let language = self.dates.language;
        let key = match by {
            AnsweredBy::Rule(rule) => {
                let id = segment(rule.id.as_str());
                let href = format!("{}/assistant/rules/{id}", self.path);
                return share(rule_name(rule, language), messages, of)
                    .with(|share| (share.href, share.foreign) = (Some(href), true));
            }
            AnsweredBy::SomeRule | AnsweredBy::Source(ReplySource::Qa) => "activity-some-rule",
            AnsweredBy::DeletedRule => "activity-deleted-rules",
            AnsweredBy::Source(ReplySource::Rules) => "origin-group-rules",
            AnsweredBy::Source(ReplySource::Link) => "activity-link",
            AnsweredBy::Source(ReplySource::NoMatch) => "origin-no-match",
            AnsweredBy::Source(ReplySource::Welcome) => "origin-welcome",
        };
        share(language.text(key), messages, of)
    }

    fn storage(&self, storage: &[ActivityStorage], stored: i64) -> Vec<Share> {
        let most = storage.first().map_or(0, |kind| kind.bytes);
        let row = |kind: &ActivityStorage| {
            let label = self.dates.language.text(kind_key(kind.kind));
            share(label, kind.bytes, (most, stored)).with(|share| {
                share.value = format!("{} · {}", grouped(kind.messages), size(kind.bytes));
            })
        };
        storage.iter().map(row).collect()
    }

    /// Returns the row of everybody who is not named.
    fn others(&self, key: &str, messages: i64, all: i64) -> Option<Share> {
        let label = self.dates.language.text(key);
        (messages > 0).then(|| share(label, messages, (0, all)))
    }
}

/// Returns the numbers of the weekdays by hour.
fn hour_numbers(hours: &[[i64; 24]]) -> Vec<HourNumbers> {
    let messages = |hour: usize| hours.iter().map(|day| grouped(day[hour])).collect();
    (0..24).map(|hour| HourNumbers { hour, messages: messages(hour) }).collect()
}

/// Returns a row of a number, beside the largest one and of all.
fn share(label: String, value: i64, (most, all): (i64, i64)) -> Share {
    Share {
        avatar: None,
        label,
        foreign: false,
        href: None,
        length: part_of(value, most, LENGTH),
        value: grouped(value),
        part: percent(value, all),
    }
}

impl Share {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// Returns a part of `most` on a scale up to `whole`; nothing is 0, and everything else at least 1.
fn part_of(value: i64, most: i64, whole: i64) -> i64 {
    if value <= 0 || most <= 0 {
        return 0;
    }
    let part = i128::from(value) * i128::from(whole) / i128::from(most);
    i64::try_from(part).unwrap_or(whole).clamp(1, whole)
}

/// Returns a share in percent.
fn percent(value: i64, all: i64) -> String {
    let percent = (i128::from(value.max(0)) * 200 / i128::from(all.max(1)) + 1) / 2;
    if percent == 0 && value > 0 { "<1%".to_owned() } else { format!("{percent}%") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_as_people_do() {
        assert_eq!(percent(1, 1_000), "<1%");
        assert_eq!([percent(1, 3), percent(2, 3), percent(0, 0)], ["33%", "67%", "0%"]);
        assert_eq!([part_of(0, 9, 100), part_of(1, 900, 100), part_of(9, 9, 100)], [0, 1, 100]);
        assert_eq!(part_of(i64::MAX, i64::MAX, 5), 5);
    }
}
