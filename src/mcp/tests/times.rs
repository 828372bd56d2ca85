//! Times at their edges: each message has one day in every zone, limits are exact, and what is no
//! time or day is refused with one that is.

use chatkeep_core::message::Content;
use chatkeep_services::search::SearchQuery;
use chatkeep_view::when::When;
use chrono_tz::Tz;
use serde_json::json;

use super::{ANN, GROUP, ToolBench, at, each, said, sent, time, with};
use crate::hints;
use crate::time::AnswerZone;

/// Days on which the clocks of a zone are changed, or a day is left out, with the start of four
/// days around it.
const CHANGES: [(&str, &str, [&str; 4]); 5] = [
    (
        "America/New_York",
        "2025-11-01T04:00:00Z",
        ["2025-11-01", "2025-11-02", "2025-11-03", "2025-11-04"],
    ),
    (
        "Asia/Beirut",
        "2026-03-27T22:00:00Z",
        ["2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"],
    ),
    (
        "Australia/Lord_Howe",
        "2026-04-03T13:00:00Z",
        ["2026-04-04", "2026-04-05", "2026-04-06", "2026-04-07"],
    ),
    (
        "Pacific/Apia",
        "2011-12-28T10:00:00Z",
        ["2011-12-28", "2011-12-29", "2011-12-30", "2011-12-31"],
    ),
    (
        "Asia/Kathmandu",
        "2024-02-27T18:15:00Z",
        ["2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"],
    ),
];

#[tokio::test]
async fn each_message_has_one_day_whatever_clocks_do() {
    let bench = ToolBench::new().await;
    for (nth, (zone, begin, days)) in CHANGES.into_iter().enumerate() {
        let channel = format!("Czone{nth}");
        bench.channel(&channel, &[ANN]).await;
        bench.set_zone(&channel, zone).await;
        let begin = time(begin).millis();
        let hourly: Vec<_> = (0..60)
            .map(|hour| {
                let sent_at = at(begin + hour * 3_600_000);
                sent((&channel, &format!("m{hour:02}")), ANN, sent_at, &Content::text("x"))
            })
            .collect();
        bench.keep(&hourly).await;
        let mut all = Vec::new();
        for day in days {
            let asked = json!({"channelId": channel, "date": day, "order": "asc", "limit": 100});
            let answer = bench.call("get_messages", asked).await;
            let times = each(&answer.given["messages"], "time");
            assert!(times.iter().all(|time| time.starts_with(day)), "{zone} {day}: {times:?}");
            assert_eq!(answer.given["interpreted"]["timeZone"], zone);
            all.extend(each(&answer.given["messages"], "id").into_iter().map(str::to_owned));
        }
        let expected: Vec<_> = (0..60).map(|hour| format!("m{hour:02}")).collect();
        assert_eq!(all, expected, "{zone}");
    }
}

#[tokio::test]
async fn a_day_that_clocks_leave_out_is_empty_and_the_next_is_not() {
    let bench = ToolBench::new().await;
    bench.set_zone(GROUP, "Pacific/Apia").await;
    bench.keep(&[said("m1", ANN, "2011-12-30T10:00:00Z", "the first moment of the 31st")]).await;
    let day = async |date: &str| {
        let answer = bench.call("get_messages", json!({"channelId": GROUP, "date": date})).await;
        let read = answer.given["interpreted"].clone();
        let times = each(&answer.given["messages"], "time").concat();
        (times, read["from"].clone(), read["to"].clone())
    };
    let begin = json!("2011-12-31T00:00:00+14:00");
    assert_eq!(day("2011-12-30").await, (String::new(), begin.clone(), begin.clone()));
    let next = json!("2012-01-01T00:00:00+14:00");
    assert_eq!(day("2011-12-31").await, ("2011-12-31T00:00:00+14:00".to_owned(), begin, next));
}

#[tokio::test]
async fn a_time_begins_with_from_and_ends_before_to_to_the_millisecond() {
    let bench = ToolBench::new().await;
    let times = ["07:59:59.999", "08:00:00.000", "08:00:00.001", "08:00:00.002"];
    let changes = times
        .iter()
        .enumerate()
        .map(|(nth, clock)| said(&format!("m{nth}"), ANN, &format!("2026-05-01T{clock}Z"), "x"));
    bench.keep(&changes.collect::<Vec<_>>()).await;
    let within = async |from: &str, to: &str| {
        let asked = json!({"channelId": GROUP, "from": from, "to": to, "order": "asc"});
        let answer = bench.call("get_messages", asked).await;
        each(&answer.given["messages"], "id").concat()
    };
    for (from, to, expected) in [
        ("2026-05-01T08:00:00Z", "2026-05-01T08:00:00.002Z", "m1m2"),
        ("2026-05-01T08:00:00.001Z", "2026-05-01T08:00:00.002Z", "m2"),
        ("2026-05-01T16:00:00+08:00", "", "m1m2m3"),
        ("2026-05-01T08:00", "2026-05-01 08:00:00.001", "m1"),
        ("", "2026-05-01T08:00:00Z", "m0"),
        ("2026/05/01", "2026-05-02", "m0m1m2m3"),
        ("2026-05-02", "", ""),
    ] {
        assert_eq!(within(from, to).await, expected, "{from} to {to}");
    }
    // What is shown to the second is read as a whole second.
    let asked = json!({"channelId": GROUP, "from": "2026-05-01T08:00:00Z", "limit": 1});
    let shown = bench.call("get_messages", asked).await.given["messages"][0]["time"].clone();
    assert_eq!(shown, "2026-05-01T08:00:00Z");
    assert_eq!(within(shown.as_str().unwrap(), "").await, "m1m2m3");
}

#[tokio::test]
async fn a_day_beside_times_that_leave_none_of_it_is_refused() {
    let bench = ToolBench::new().await;
    bench.set_zone(GROUP, "Asia/Taipei").await;
    bench.keep(&[said("m1", ANN, "2026-04-30T20:00:00Z", "x")]).await;
    let day = json!({"channelId": GROUP, "date": "2026-05-01"});
    for times in [
        json!({"from": "2026-05-02"}),
        json!({"to": "2026-05-01"}),
        json!({"from": "2026-05-01T16:00:00Z", "to": "2026-05-03"}),
    ] {
        let told = bench.refusal("get_messages", with(&day, &times)).await;
        assert!(told.starts_with("date is a day outside from and to"), "{told}");
        assert!(told.ends_with(". Correct it and call again."), "{told}");
    }
    let within = with(&day, &json!({"from": "2026-05-01T03:00", "to": "2026-05-02"}));
    let answer = bench.call("get_messages", within).await;
    assert_eq!(each(&answer.given["messages"], "id"), ["m1"]);
    assert_eq!(answer.given["interpreted"]["from"], "2026-05-01T03:00:00+08:00");
}

#[tokio::test]
async fn what_is_no_day_or_time_is_told_with_the_form_of_one() {
    let bench = ToolBench::new().await;
    let days = ["2026-02-29", "2026-04-31", "2026-5-1", "01.05.2026", "2026-05-01T00:00", "today"];
    for day in days.into_iter().chain(["20260501", "2026-W18", "２０２６-05-01", "-2026-05-01"])
    {
        let told = bench.refusal("get_messages", json!({"channelId": GROUP, "date": day})).await;
        let expected = "date must be a day such as 2026-01-31. Correct it and call again.";
        assert_eq!(told, expected, "{day}");
    }
    bench.call("get_messages", json!({"channelId": GROUP, "date": "2028-02-29"})).await;
    let form = "must be a day such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z";
    for (tool, name, base) in [
        ("get_messages", "from", json!({"channelId": GROUP})),
        ("get_messages", "to", json!({"channelId": GROUP})),
        ("search_messages", "from", json!({"query": "x"})),
        ("search_messages", "to", json!({"query": "x"})),
        ("get_overview", "since", json!({})),
    ] {
        for text in
            ["yesterday", "2026-02-29", "2026-05-01T25:00", "2026-05-01T08:00:00+25:00", "1777"]
        {
            let mut asked = base.clone();
            asked[name] = json!(text);
            let told = bench.refusal(tool, asked).await;
            assert_eq!(told, format!("{name} {form}. Correct it and call again."), "{text}");
        }
    }
}

#[tokio::test]
async fn a_middle_may_be_a_day_a_time_or_a_message_of_that_channel() {
    let bench = ToolBench::new().await;
    bench.set_zone(GROUP, "Asia/Taipei").await;
    let times = ["2026-04-30T15:59:59Z", "2026-04-30T16:00:00Z", "2026-04-30T16:00:01Z"];
    let changes = times.iter().enumerate();
    let changes = changes.map(|(nth, sent_at)| said(&format!("m{nth}"), ANN, sent_at, "x"));
    bench.keep(&changes.collect::<Vec<_>>()).await;
    for (around, ids, read) in [
        ("2026-05-01", ["m1", "m0"], json!("2026-05-01T00:00:00+08:00")),
        ("2026-05-01T00:00:01", ["m2", "m1"], json!("2026-05-01T00:00:01+08:00")),
        ("2026-04-30T16:00:01Z", ["m2", "m1"], json!(null)),
        ("m1", ["m2", "m1"], json!(null)),
        ("chatkeep://channel/x/message/m1", ["", ""], json!(null)),
    ] {
        let asked = json!({"channelId": GROUP, "around": around, "limit": 2});
        if around.contains("//") {
            let told = bench.refusal("get_messages", asked).await;
            assert!(
                told.starts_with("around is the link of a message of another channel"),
                "{told}"
            );
            continue;
        }
        let answer = bench.call("get_messages", asked).await;
        assert_eq!(each(&answer.given["messages"], "id"), ids, "{around}");
        assert_eq!(answer.given["interpreted"]["around"], read, "{around}");
    }
}

/// Returns a search with these limits.
fn query(text: &str, from: Option<&str>) -> SearchQuery {
    let from = from.and_then(When::parse);
    SearchQuery { from, ..SearchQuery::of_text(text.to_owned(), 20, 100) }
}

#[test]
fn a_zone_is_asked_for_only_where_days_would_be_others() {
    let zones =
        |names: &[&str]| -> Vec<Tz> { names.iter().map(|name| name.parse().unwrap()).collect() };
    let hint = |read: &str, names: &[&str], query: &SearchQuery| {
        hints::of_zone(query, AnswerZone(read.parse().unwrap()), &zones(names))
    };
    let (winter, summer) = (query("x", Some("2026-01-10")), query("x", Some("2026-07-10")));
    assert_eq!(hint("UTC", &["Europe/London"], &winter), None, "it is the same there in winter");
    assert!(hint("UTC", &["Europe/London"], &summer).is_some());
    assert_eq!(hint("Asia/Taipei", &["Asia/Shanghai", "Asia/Manila"], &summer), None);
    assert!(hint("Asia/Taipei", &["Asia/Shanghai", "Asia/Tokyo"], &summer).is_some());
    assert_eq!(hint("UTC", &["Asia/Tokyo", "UTC"], &summer), None, "one of them is read");
    assert_eq!(hint("UTC", &[], &summer), None);
    let exact = query("x", Some("2026-07-10T00:00:00Z"));
    assert_eq!(hint("UTC", &["Asia/Tokyo"], &exact), None);
    let in_query = query("x before:2026-07-10", None);
    assert!(hint("UTC", &["Asia/Tokyo"], &in_query).is_some());
    let four = ["Asia/Tokyo", "Asia/Taipei", "Asia/Bangkok", "Asia/Kolkata"];
    let told = hint("UTC", &four, &summer).unwrap();
    let listed = "(Asia/Tokyo, Asia/Taipei, Asia/Bangkok …): give timeZone.";
    assert!(told.starts_with("Days were read in UTC, ") && told.ends_with(listed), "{told}");
}
