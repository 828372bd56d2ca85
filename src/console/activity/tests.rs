//! Charts of activity: heights, levels, labels and shares, from numbers that the services count.

use chatkeep_core::assistant::{Rule, RuleDraft};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_services::activity::AnsweredBy;
use chatkeep_store::{ActivityPerson, ActivityStorage, ReplySource};
use chatkeep_view::pseudonyms::Mask;
use proptest::prelude::*;

use super::*;

const EMPTY: [i64; 24] = [0; 24];

fn looks(language: Language) -> Looks<'static> {
    let now = Timestamp::parse("2026-03-01T04:00:00Z").unwrap();
    Looks { dates: Dates { language, zone: chrono_tz::Asia::Taipei, now }, path: "/c/C%201" }
}

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

fn activity() -> Activity {
    Activity {
        unit: BarUnit::Day,
        bars: Vec::new(),
        last: day(2026, 3, 1),
        messages: 0,
        hours: vec![EMPTY; 7],
        people: Vec::new(),
        other_people: 0,
        answers: Vec::new(),
        other_answers: 0,
        storage: Vec::new(),
    }
}

/// Returns an activity with bars of these numbers, one a day.
fn with_bars(numbers: &[i64]) -> Activity {
    let days = day(2026, 1, 1).iter_days();
    let bars = days.zip(numbers).map(|(from, messages)| Bar { from, messages: *messages });
    Activity { bars: bars.collect(), messages: numbers.iter().sum(), ..activity() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_part_is_on_its_scale_and_grows_with_its_value(
        most in 1..=i64::MAX,
        first in any::<i64>(),
        second in any::<i64>(),
        whole in 1_i64..1_000,
    ) {
        let part = |value: i64| part_of(value.min(most), most, whole);
        let (smaller, larger) = (part(first.min(second)), part(first.max(second)));
        prop_assert!((0..=whole).contains(&smaller) && smaller <= larger && larger <= whole);
        prop_assert_eq!(smaller == 0, first.min(second) <= 0, "nothing alone is nothing");
        prop_assert_eq!(part(most), whole);
    }

    #[test]
    fn the_most_that_was_written_is_as_high_as_the_chart(
        numbers in prop::collection::vec(0_i64..1_000_000, 1..60),
    ) {
        let charts = looks(Language::English).charts(&with_bars(&numbers));
        let most = numbers.iter().copied().max().unwrap_or_default();
        prop_assert_eq!(charts.bars.len(), numbers.len());
        prop_assert_eq!(charts.width, numbers.len() * 4);
        for (bar, number) in charts.bars.iter().zip(&numbers) {
            prop_assert_eq!(bar.y + bar.height, HEIGHT, "it stands on the ground");
            prop_assert_eq!(bar.height == HEIGHT, *number == most && most > 0);
            prop_assert_eq!(bar.height == 0, *number == 0);
            prop_assert!(bar.x + 3 <= charts.width);
        }
        prop_assert!(charts.bars.windows(2).all(|two| two[0].x + 3 < two[1].x));
    }
}

#[test]
fn a_bar_is_called_by_its_unit_in_each_language() {
    let leap_day = day(2024, 2, 29);
    for (language, names) in [
        (Language::TraditionalChinese, ["2024年2月29日", "2024年2月29日起", "2024年2月"]),
        (Language::English, ["29\u{a0}Feb 2024", "From 29\u{a0}Feb 2024", "Feb 2024"]),
        (Language::Japanese, ["2024年2月29日", "2024年2月29日から", "2024年2月"]),
        (Language::Thai, ["29\u{a0}ก.พ. 2567", "ตั้งแต่ 29\u{a0}ก.พ. 2567", "ก.พ. 2567"]),
    ] {
        let units = [BarUnit::Day, BarUnit::Week, BarUnit::Month];
        assert_eq!(units.map(|unit| looks(language).bar_label(leap_day, unit)), names);
    }
    let english = looks(Language::English);
    assert_eq!(english.bar_label(day(2026, 12, 31), BarUnit::Day), "31\u{a0}Dec", "of this year");
    assert_eq!(english.bar_label(day(2026, 12, 31), BarUnit::Month), "Dec 2026");
}

#[test]
fn a_chart_names_its_unit_and_its_ends() {
    for language in Language::ALL {
        for (unit, name, column) in [
            (BarUnit::Day, "activity-by-day", "activity-day"),
            (BarUnit::Week, "activity-by-week", "activity-week"),
            (BarUnit::Month, "activity-by-month", "activity-month"),
        ] {
            let few = Activity { unit, ..with_bars(&[12_345, 0, 1]) };
            let charts = looks(language).charts(&few);
            assert_eq!(
                (charts.over_time, charts.unit),
                (language.text(name), language.text(column))
            );
            assert_eq!((charts.most.as_str(), charts.any), ("12,345", true));
            assert!(charts.total.contains("12,346"), "{}", charts.total);
            let ends =
                [day(2026, 1, 1), day(2026, 3, 1)].map(|day| looks(language).dates.date(day));
            assert_eq!([charts.first, charts.last], ends);
        }
    }
    let none = looks(Language::English).charts(&with_bars(&[0, 0]));
    assert!(!none.any && none.bars.iter().all(|bar| bar.height == 0));
}

#[test]
fn hours_have_five_levels_beside_that_of_none() {
    let mut hours = vec![EMPTY; 7];
    (hours[0][0], hours[0][1], hours[2][23], hours[6][12]) = (100, 1, 60, 59);
    let rows = looks(Language::Japanese).hours(&hours);
    let weekdays: Vec<_> = rows.iter().map(|row| row.weekday.as_str()).collect();
    assert_eq!(weekdays, ["月", "火", "水", "木", "金", "土", "日"]);
    assert!(rows.iter().all(|row| row.cells.len() == 24));
    let level = |day: usize, hour: usize| rows[day].cells[hour].level;
    assert_eq!([level(0, 0), level(0, 1), level(2, 23), level(6, 12)], [5, 1, 3, 2]);
    let empty = rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.level == 0);
    assert_eq!(empty.count(), 7 * 24 - 4);
    let cell = &rows[2].cells[23];
    assert_eq!((cell.x, cell.label.as_str()), (230, "水 23:00 · 60"));
    assert_eq!(rows[0].cells[0].label, "月 00:00 · 100");
}

#[test]
fn the_table_of_hours_has_a_row_an_hour_and_a_column_a_weekday() {
    let mut hours = vec![EMPTY; 7];
    (hours[1][5], hours[6][5]) = (1_234_567, 8);
    let rows = hour_numbers(&hours);
    assert_eq!(rows.iter().map(|row| row.hour).collect::<Vec<_>>(), (0..24).collect::<Vec<_>>());
    assert_eq!(rows[5].messages, ["0", "1,234,567", "0", "0", "0", "0", "8"]);
}

#[test]
fn the_busiest_hour_is_the_first_of_the_week_among_equal_ones() {
    let busiest = |language: Language, busy: &[(usize, usize)]| {
        let mut hours = vec![EMPTY; 7];
        for (day, hour) in busy {
            hours[*day][*hour] = 9;
        }
        looks(language).busiest(&hours)
    };
    let english = |busy: &[(usize, usize)]| busiest(Language::English, busy);
    assert_eq!(english(&[(0, 9)]), "The busiest hour is Monday from 09:00 to 10:00.");
    assert_eq!(english(&[(6, 23)]), "The busiest hour is Sunday from 23:00 to 00:00.");
    assert_eq!(english(&[(3, 1), (1, 22)]), "The busiest hour is Tuesday from 22:00 to 23:00.");
    assert_eq!(english(&[(4, 18), (4, 8)]), "The busiest hour is Friday from 08:00 to 09:00.");
    for language in Language::ALL {
        let sentence = busiest(language, &[(2, 0)]);
        assert!(sentence.contains("00:00") && sentence.contains("01:00"), "{sentence}");
        assert!(sentence.contains(&language.text("weekday-long-3")), "{sentence}");
    }
}

fn person(user: Option<&str>, name: Option<&str>, messages: i64) -> ActivityPerson {
    ActivityPerson {
        user: user.map(Into::into),
        is_bot: false,
        display_name: name.map(str::to_owned),
        picture_url: None,
        messages,
    }
}

#[test]
fn people_are_called_by_what_is_seen_of_their_names() {
    let people = [
        person(Some("U1"), Some("王 Ann"), 600),
        person(Some("U2"), Some("\u{200b}"), 300),
        ActivityPerson { is_bot: true, ..person(None, None, 90) },
        person(None, None, 3),
    ];
    let people = people.map(|person| Mask::none().show(person)).into();
    let shown = Activity { people, other_people: 7, messages: 1_000, ..activity() };
    for language in Language::ALL {
        let rows = looks(language).people(&shown);
        let unknown = language.text("name-unknown");
        let others = language.text("activity-other-people");
        let labels: Vec<_> = rows.iter().map(|row| row.label.clone()).collect();
        let bot = language.text("bot-name");
        assert_eq!(labels, ["王 Ann", &unknown, &bot, &unknown, &others]);
        // Only the words of people may be in another language than the page.
        let foreign: Vec<_> = rows.iter().map(|row| row.foreign).collect();
        assert_eq!(foreign, [true, false, false, false, false]);
        let numbers: Vec<_> =
            rows.iter().map(|row| (row.length, row.value.as_str(), row.part.as_str())).collect();
        let expected = [
            (100, "600", "60%"),
            (50, "300", "30%"),
            (15, "90", "9%"),
            (1, "3", "<1%"),
            (0, "7", "1%"),
        ];
        assert_eq!(numbers, expected);
        let hues: Vec<_> =
            rows.iter().map(|row| row.avatar.as_ref().map(|one| &*one.hue)).collect();
        assert_eq!((hues[2], hues[3], hues[4]), (Some("bot"), Some("bot"), None));
        assert!(hues[0].unwrap().parse::<u8>().unwrap() < 8);
    }
}

#[test]
fn answers_are_called_by_their_cause_and_lead_to_their_rule() {
    let draft = RuleDraft { keywords: vec!["時間".to_owned()], ..RuleDraft::default() };
    let rule = Rule::new("qa_1/2".into(), draft, Timestamp::default(), "U1".into());
    let answers = vec![
        (AnsweredBy::Rule(Box::new(rule)), 4),
        (AnsweredBy::SomeRule, 3),
        (AnsweredBy::DeletedRule, 2),
        (AnsweredBy::Source(ReplySource::Qa), 1),
        (AnsweredBy::Source(ReplySource::Rules), 1),
        (AnsweredBy::Source(ReplySource::Link), 1),
        (AnsweredBy::Source(ReplySource::NoMatch), 1),
        (AnsweredBy::Source(ReplySource::Welcome), 1),
    ];
    let given = Activity { answers, other_answers: 2, ..activity() };
    for language in Language::ALL {
        let rows = looks(language).answers(&given);
        let keys = [
            "activity-some-rule",
            "activity-deleted-rules",
            "activity-some-rule",
            "origin-group-rules",
            "activity-link",
            "origin-no-match",
            "origin-welcome",
            "activity-other-rules",
        ];
        let expected = keys.map(|key| language.text(key));
        assert_eq!(rows[0].label, "時間");
        let labels: Vec<_> = rows[1..].iter().map(|row| row.label.clone()).collect();
        assert_eq!(labels, expected);
        assert_eq!(rows[0].href.as_deref(), Some("/c/C%201/assistant/rules/qa_1%2F2"));
        assert!(rows[0].foreign && rows[1..].iter().all(|row| row.href.is_none() && !row.foreign));
        let parts: Vec<_> = rows.iter().map(|row| row.part.as_str()).collect();
        assert_eq!(parts, ["25%", "19%", "13%", "6%", "6%", "6%", "6%", "6%", "13%"]);
        assert_eq!(rows.iter().map(|row| row.length).take(3).collect::<Vec<_>>(), [100, 75, 50]);
    }
    assert!(looks(Language::English).answers(&activity()).is_empty(), "no row of nothing");
}

#[test]
fn storage_is_measured_by_its_bytes_and_not_by_its_messages() {
    let kind = |kind, messages, bytes| ActivityStorage { kind, messages, bytes };
    let storage = vec![
        kind(MessageType::Video, 2, 3 * 1024 * 1024),
        kind(MessageType::Text, 12_345, 1024 * 1024),
    ];
    let stored = Activity { storage, ..activity() };
    for language in Language::ALL {
        let charts = looks(language).charts(&stored);
        assert_eq!(charts.stored, "4\u{a0}MB");
        let rows: Vec<_> = charts.storage.iter().map(|row| (&*row.label, row.length)).collect();
        let (video, words) = (language.text("kind-video"), language.text("kind-text"));
        assert_eq!(rows, [(&*video, 100), (&*words, 33)]);
        assert_eq!(charts.storage[0].value, "2 · 3\u{a0}MB");
        assert_eq!(charts.storage[1].value, "12,345 · 1\u{a0}MB");
        assert_eq!(charts.storage[1].part, "25%");
    }
}

#[test]
fn a_link_to_a_period_is_read_as_that_period() {
    let read = |query: &str| serde_html_form::from_str::<ActivityPeriodQuery>(query);
    for language in Language::ALL {
        for chosen in Chosen::ALL {
            let links = Chosen::ALL.map(|other| other.link(chosen, &looks(language)));
            let current: Vec<_> = links.iter().filter(|link| link.current).collect();
            assert_eq!(current.len(), 1);
            let (path, query) = current[0].href.split_once('?').unwrap();
            assert_eq!((path, read(query).unwrap().period), ("/c/C%201/activity", chosen));
            assert!(links.windows(2).all(|two| two[0].label != two[1].label));
        }
    }
    assert_eq!(read("").unwrap().period.period(), Period::Days(30));
    assert_eq!(read("utm_source=x&period=365").unwrap().period.period(), Period::Days(365));
    for wrong in ["period=", "period=8", "period=ALL", "period=-7", "period=7%20"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
