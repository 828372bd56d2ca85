//! A writer of the texts that the app exports, in its languages: what it writes is read back.

use chrono::{Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike as _};
use proptest::prelude::*;

use super::{DateOrder, ParsedLine, ParsedMessage, Survey};

/// Message of a made-up chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpokenLine {
    pub(super) at: NaiveDateTime,
    pub(super) name: String,
    pub(super) text: String,
}

/// Form of an export of a phone or a computer.
pub(super) struct AppForm {
    pub(super) name: &'static str,
    pub(super) order: DateOrder,
    pub(super) title: &'static str,
    pub(super) date: fn(NaiveDate) -> String,
    pub(super) time: fn(NaiveTime) -> String,
}

/// Returns the name of a day of the week, of seven from Monday on.
pub(super) fn weekday(day: NaiveDate, names: &str) -> &str {
    names.split(' ').nth(day.weekday().num_days_from_monday() as usize).unwrap()
}

pub(super) const HAN: &str = "一 二 三 四 五 六 日";
pub(super) const JAPANESE: &str = "月 火 水 木 金 土 日";
pub(super) const KOREAN: &str = "월 화 수 목 금 토 일";
pub(super) const THAI: &str = "จ อ พ พฤ ศ ส อา";

pub(super) fn clock_24(time: NaiveTime) -> String {
    time.format("%H:%M").to_string()
}

/// Returns the hour from 1 to 12, and whether it is after noon.
fn hour_12(time: NaiveTime) -> (u32, bool) {
    let (is_second, hour) = time.hour12();
    (hour, is_second)
}

/// Forms of phones, with tabs.
pub(super) static PHONES: [AppForm; 12] = [
    AppForm {
        name: "English",
        order: DateOrder::MonthFirst,
        title: "[LINE] Chat history with Lunch\nSaved on: 2024/01/06 10:00\n\n",
        date: |day| day.format("%Y/%m/%d(%a)").to_string(),
        time: clock_24,
    },
    AppForm {
        name: "English, month first, 12 hours",
        order: DateOrder::MonthFirst,
        title: "[LINE] Chat history in Lunch\nSaved on: 1/6/2023, 10:00\n\n",
        date: |day| day.format("%a, %-m/%-d/%Y").to_string(),
        time: |time| time.format("%-I:%M %p").to_string(),
    },
    AppForm {
        name: "English, day first, narrow spaces",
        order: DateOrder::DayFirst,
        title: "[LINE] Chat history in Lunch\n\n",
        date: |day| day.format("%a, %d/%m/%Y").to_string(),
        time: |time| time.format("%-I:%M\u{202f}%p").to_string(),
    },
    AppForm {
        name: "English, Buddhist years",
        order: DateOrder::DayFirst,
        title: "",
        date: |day| format!("{}{} BE", day.format("%a, %d/%m/"), day.year() + 543),
        time: clock_24,
    },
    AppForm {
        name: "Traditional Chinese, 12 hours",
        order: DateOrder::MonthFirst,
        title: "[LINE] 與午餐的聊天記錄\n儲存日期：2022/09/03 10:00\n\n",
        date: |day| format!("{}（{}）", day.format("%Y/%m/%d"), weekday(day, HAN)),
        time: |time| {
            let (hour, is_second) = hour_12(time);
            format!("{}{hour:02}:{:02}", if is_second { "下午" } else { "上午" }, time.minute())
        },
    },
    AppForm {
        name: "Traditional Chinese",
        order: DateOrder::MonthFirst,
        title: "[LINE] 午餐的聊天記錄\n\n",
        date: |day| format!("{}（週{}）", day.format("%Y/%-m/%-d"), weekday(day, HAN)),
        time: clock_24,
    },
    AppForm {
        name: "Simplified Chinese",
        order: DateOrder::MonthFirst,
        title: "[LINE] 与午餐的聊天记录\n保存日期：2024/01/06 10:00\n\n",
        date: |day| format!("{} 星期{}", day.format("%Y年%-m月%-d日"), weekday(day, HAN)),
        time: |time| {
            let (hour, is_second) = hour_12(time);
            format!("{}{hour}:{:02}", if is_second { "下午" } else { "上午" }, time.minute())
        },
    },
    AppForm {
        name: "Japanese",
        order: DateOrder::MonthFirst,
        title: "[LINE] 週末の会のトーク履歴\n保存日時：2014/10/14 10:00\n\n",
        date: |day| format!("{}({})", day.format("%Y/%m/%d"), weekday(day, JAPANESE)),
        time: |time| time.format("%-H:%M").to_string(),
    },
    AppForm {
        name: "Japanese, 12 hours from 0",
        order: DateOrder::MonthFirst,
        title: "[LINE] 花子とのトーク履歴\n\n",
        date: |day| format!("{}({})", day.format("%Y年%-m月%-d日"), weekday(day, JAPANESE)),
        time: |time| {
            let half = if time.hour() < 12 { "午前" } else { "午後" };
            format!("{half}{}:{:02}", time.hour() % 12, time.minute())
        },
    },
    AppForm {
        name: "Thai",
        order: DateOrder::DayFirst,
        title: "[LINE] ประวัติการแชทกับ กลุ่ม\nบันทึกเมื่อ: 28/11/2568 10:00\n\n",
        date: |day| {
            let day_of_week = weekday(day, THAI);
            format!("{day_of_week}. {}{}", day.format("%-d/%-m/"), day.year() + 543)
        },
        time: |time| time.format("%H:%M น.").to_string(),
    },
    AppForm {
        name: "Thai, year first",
        // Of no meaning here.
        order: DateOrder::DayFirst,
        title: "",
        date: |day| {
            let (year, month) = (day.year() + 543, day.format("%m/%d"));
            format!("{year}/{month}({}.)", weekday(day, THAI))
        },
        time: clock_24,
    },
    AppForm {
        name: "Korean",
        order: DateOrder::MonthFirst,
        title: "[LINE] 점심님과의 대화\n저장한 날짜 : 2024/01/06 10:00\n\n",
        date: |day| format!("{} {}요일", day.format("%Y년 %-m월 %-d일"), weekday(day, KOREAN)),
        time: |time| {
            let (hour, is_second) = hour_12(time);
            format!("{} {hour}:{:02}", if is_second { "오후" } else { "오전" }, time.minute())
        },
    },
];

/// Forms of computers, with spaces or tabs.
pub(super) static COMPUTERS: [AppForm; 5] = [
    AppForm {
        name: "English",
        order: DateOrder::MonthFirst,
        title: "",
        date: |day| day.format("%Y.%m.%d %A").to_string(),
        time: clock_24,
    },
    AppForm {
        name: "Chinese",
        order: DateOrder::MonthFirst,
        title: "",
        date: |day| format!("{} 星期{}", day.format("%Y.%m.%d"), weekday(day, HAN)),
        time: clock_24,
    },
    AppForm {
        name: "Japanese",
        order: DateOrder::MonthFirst,
        title: "",
        date: |day| format!("{} {}曜日", day.format("%Y.%m.%d"), weekday(day, JAPANESE)),
        time: clock_24,
    },
    AppForm {
        name: "Thai",
        order: DateOrder::MonthFirst,
        title: "",
        date: |day| {
            let names = "จันทร์ อังคาร พุธ พฤหัสบดี ศุกร์ เสาร์ อาทิตย์";
            format!("{} วัน{}", day.format("%Y.%m.%d"), weekday(day, names))
        },
        time: clock_24,
    },
    AppForm {
        name: "Korean",
        order: DateOrder::MonthFirst,
        title: "",
        date: |day| format!("{} {}요일", day.format("%Y.%m.%d"), weekday(day, KOREAN)),
        time: clock_24,
    },
];

impl AppForm {
    /// Writes a chat as the app does; `message` writes what follows the time.
    pub(super) fn write(
        &self,
        chat: &[SpokenLine],
        message: fn(&SpokenLine) -> String,
    ) -> Vec<String> {
        let (mut parts, mut day) = (vec![self.title.to_owned()], None);
        for said in chat {
            let mut part = String::new();
            if day.replace(said.at.date()) != Some(said.at.date()) {
                part = format!("\n{}\n", (self.date)(said.at.date()));
            }
            parts.push(format!("{part}{}{}\n", (self.time)(said.at.time()), message(said)));
        }
        parts
    }
}

/// Returns a chat of a few days: its messages are those of these names and texts.
pub(super) fn chat(
    names: &'static [&'static str],
    text: impl Strategy<Value = String>,
) -> impl Strategy<Value = Vec<SpokenLine>> {
    let first = (0..7_000_i64)
        .prop_map(|days| NaiveDate::from_ymd_opt(2011, 6, 23).unwrap() + TimeDelta::days(days));
    // Within a minute, an hour, or days later.
    let pause = prop_oneof![Just(0_i64), 1..90_i64, 90..4_000_i64];
    let said = (pause, 0..names.len(), text);
    (first, prop::collection::vec(said, 1..12)).prop_map(move |(first, all)| {
        let mut at = first.and_time(NaiveTime::MIN);
        let said = |(pause, name, text): (i64, usize, String)| {
            at += TimeDelta::minutes(pause);
            SpokenLine { at, name: names[name].to_owned(), text }
        };
        all.into_iter().map(said).collect()
    })
}

/// Reads a text with these names known, in the order of its form where it does not show that.
pub(super) fn read_as(text: &str, order: DateOrder, names: &[&str]) -> Vec<ParsedLine> {
    let mut survey = Survey::default();
    text.lines().for_each(|line| survey.line(line));
    let mut reader = survey.reader(order, names.iter().copied());
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line, &mut found);
    }
    reader.end(&mut found);
    found
}

/// Returns the message of an item, if it is a text.
pub(super) fn spoken(found: &ParsedLine) -> Option<SpokenLine> {
    let ParsedLine::Said(ParsedMessage { at, name, text, content }) = found else { return None };
    let content = content.as_ref()?;
    let words = content.searchable()?;
    let is_text = content.kind() == chatkeep_core::message::MessageType::Text;
    (is_text && words == *text).then(|| SpokenLine {
        at: *at,
        name: name.clone(),
        text: text.clone(),
    })
}
