//! Overviews by a clock that is moved by hand: where their time begins, what falls out of it, and
//! what they say to whom.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::message::{Content, Mention};
use chatkeep_core::role::Scope;
use chatkeep_store::{ChannelChange, PresenceEvidenceKind};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::scene::{self, OTHER};
use super::{
    ANN, BO, GROUP, NOW, ToolBench, bounded, caller, each, evidence, said, sent, time, unsent,
};

async fn messages(bench: &ToolBench, asked: Value) -> Value {
    bench.call("get_overview", asked).await.given["totals"]["messages"].clone()
}

#[tokio::test]
async fn days_are_the_last_hours_by_the_clock() {
    let bench = ToolBench::new().await;
    let times = [
        "2026-04-02T11:59:59.999Z",
        "2026-04-02T12:00:00Z",
        "2026-04-26T11:59:59.999Z",
        "2026-04-26T12:00:00Z",
        "2026-05-02T12:00:00Z",
        "2026-05-03T11:59:59Z",
    ];
    let changes = times.iter().enumerate();
    let changes = changes.map(|(nth, sent_at)| said(&format!("m{nth}"), ANN, sent_at, "x"));
    bench.keep(&changes.collect::<Vec<_>>()).await;
    for (asked, from, count) in [
        (json!({"days": 1}), "2026-05-02T12:00:00Z", 2),
        (json!({}), "2026-04-26T12:00:00Z", 3),
        (json!({"days": 7}), "2026-04-26T12:00:00Z", 3),
        (json!({"days": 8}), "2026-04-25T12:00:00Z", 4),
        (json!({"days": 31}), "2026-04-02T12:00:00Z", 5),
        (json!({"since": "2026-04-02T12:00:00Z"}), "2026-04-02T12:00:00Z", 5),
        // The day that began then is meant as a whole.
        (json!({"since": "2026-04-02"}), "2026-04-02T00:00:00Z", 6),
        (json!({"since": "2026-05-03T12:00:00Z"}), "2026-05-03T12:00:00Z", 0),
    ] {
        let answer = bench.call("get_overview", asked.clone()).await;
        assert_eq!(answer.given["from"], from, "{asked}");
        assert_eq!(answer.given["totals"]["messages"], count, "{asked}");
    }
    for (since, why) in [
        ("2026-04-01", "since must be at most 31 days ago; search_messages and get_messages go"),
        ("2026-05-03T12:00:00.001Z", "since is in the future."),
        ("2026-05-04", "since is in the future."),
    ] {
        let told = bench.refusal("get_overview", json!({"since": since})).await;
        assert!(told.starts_with(why), "{since}: {told}");
    }
    // A quarter of an hour is the least that is told apart.
    assert_eq!(messages(&bench, json!({"since": "2026-05-02T12:14:59Z"})).await, 2);
    assert_eq!(messages(&bench, json!({"since": "2026-05-02T12:15:00Z"})).await, 1);
    bench.clock.advance(Duration::from_mins(14));
    assert_eq!(messages(&bench, json!({"days": 1})).await, 2);
    bench.clock.advance(Duration::from_mins(1));
    assert_eq!(messages(&bench, json!({"days": 1})).await, 1);
    bench.clock.advance(Duration::from_hours(24));
    assert_eq!(messages(&bench, json!({"days": 1})).await, 0);
}

#[tokio::test]
async fn the_present_time_is_that_of_the_service_in_its_zone() {
    let bench = ToolBench::with("Asia/Tokyo".parse::<Tz>().unwrap(), false).await;
    let now = async || {
        let answer = bench.call("list_channels", json!({})).await;
        let now = answer.given["now"].as_str().unwrap().to_owned();
        assert!(answer.text.contains(&format!(" It is {now}.")), "{}", answer.text);
        now
    };
    assert_eq!(now().await, "2026-05-03T21:00:00+09:00");
    bench.clock.advance(Duration::from_hours(3));
    assert_eq!(now().await, "2026-05-04T00:00:00+09:00");
    // The day of the service begins there, and that of a channel where its clocks are.
    let asked = async |asked: Value| bench.call("get_overview", asked).await.given["from"].clone();
    assert_eq!(asked(json!({"since": "2026-05-03"})).await, "2026-05-03T00:00:00+09:00");
    bench.set_zone(GROUP, "America/New_York").await;
    let of_group = json!({"channelId": GROUP, "since": "2026-05-03"});
    assert_eq!(asked(of_group).await, "2026-05-03T00:00:00-04:00");
}

#[tokio::test]
async fn what_a_key_may_not_read_is_not_counted() {
    let bench = ToolBench::new().await;
    bench.channel("Cother", &[ANN]).await;
    let other = |id: &str, sent_at: &str| {
        sent(("Cother", id), ANN, time(sent_at), &Content::text("https://other.example"))
    };
    bench
        .keep(&[
            said("m1", BO, "2026-05-01T00:00:00Z", "https://one.example ?"),
            said("m2", BO, "2026-05-02T00:00:00Z", "https://two.example"),
            other("o1", "2026-05-02T00:00:00Z"),
        ])
        .await;
    let seen = async |bounds: Bounds| {
        let answer = bench.try_call(bounded(ANN, bounds), "get_overview", json!({})).await;
        let given = answer.unwrap().given;
        let hosts = each(&given["links"], "host").join(" ");
        let gaps = each(&given["gaps"], "reason").join(" ");
        (given["totals"]["messages"].as_i64().unwrap(), hosts, gaps)
    };
    let all = seen(Bounds::full()).await;
    assert_eq!((all.0, all.2.as_str()), (3, ""));
    let here = Bounds { channels: Some(vec![GROUP.into()]), ..Bounds::full() };
    assert_eq!(seen(here).await, (2, "one.example two.example".to_owned(), String::new()));
    let not_before = Some(time("2026-05-01T12:00:00Z"));
    let later = Bounds { channels: Some(vec![GROUP.into()]), not_before, ..Bounds::full() };
    assert_eq!(seen(later).await, (1, "two.example".to_owned(), "not_readable".to_owned()));
    let nowhere = Bounds { channels: Some(Vec::new()), ..Bounds::full() };
    assert_eq!(seen(nowhere).await, (0, String::new(), String::new()));
    let no_scope = Bounds { scopes: vec![Scope::ReadMembers], ..Bounds::full() };
    let refused = bench.try_call(bounded(ANN, no_scope), "get_overview", json!({})).await;
    let told =
        "This key lacks read:messages: ask the person for a key that has it. Do not try again.";
    assert_eq!(refused.unwrap_err().text, told);
}

/// Returns a text of Bo with a mention of somebody, or of everybody.
fn mentioning(id: &str, sent_at: &str, user: Option<&str>) -> ChannelChange {
    let mention = Mention {
        user_id: user.map(Into::into),
        start: 0,
        length: 4,
        is_self: false,
        is_all: user.is_none().then_some(true),
    };
    let content = Content::Text {
        text: "@All you come".to_owned(),
        emojis: Vec::new(),
        mentions: vec![mention],
    };
    sent((GROUP, id), BO, time(sent_at), &content)
}

#[tokio::test]
async fn mentions_are_those_of_the_person_who_asks() {
    let bench = ToolBench::new().await;
    bench
        .keep(&[
            mentioning("m1", "2026-05-01T00:00:00Z", Some(ANN)),
            mentioning("m2", "2026-05-01T00:01:00Z", Some(BO)),
            mentioning("m3", "2026-05-01T00:02:00Z", None),
            mentioning("m4", "2026-05-01T00:03:00Z", Some("Usomebody")),
            mentioning("m5", "2026-05-01T00:04:00Z", Some(ANN)),
            unsent("m5", "2026-05-01T00:05:00Z"),
        ])
        .await;
    let of = async |user: &str| {
        let answer = bench.try_call(caller(user), "get_overview", json!({})).await.unwrap();
        let listed = each(&answer.given["mentions"], "id").concat();
        (listed, answer.given["totals"]["mentions"].clone())
    };
    assert_eq!(of(ANN).await, ("m3m1".to_owned(), json!(2)));
    // Who writes to everybody does not mention themselves.
    assert_eq!(of(BO).await, (String::new(), json!(0)));
}

#[tokio::test]
async fn the_text_says_whose_link_it_is_and_in_which_channel() {
    let bench = ToolBench::searching().await;
    scene::fill(&bench).await;
    let sent_at = time("2026-05-02T02:00:00Z");
    let link = Content::text("https://other.example/");
    bench.keep(&[sent((OTHER, "o9"), ANN, sent_at, &link)]).await;
    let answer = bench.call("get_overview", json!({})).await;
    for row in answer.given["links"].as_array().unwrap() {
        let host = format!("{}: ", row["host"].as_str().unwrap());
        let shown = answer.text.lines().find(|line| line.starts_with(&host)).unwrap();
        for name in ["channel", "from"] {
            let key = format!(" {} ", row[name].as_str().unwrap());
            assert!(shown.contains(&key), "{name} of {row} in {shown}");
        }
    }
    // Of one channel none is named.
    let of_group = bench.call("get_overview", json!({"channelId": GROUP})).await;
    let row = &of_group.given["links"][0];
    let [time, from, url] = ["time", "from", "url"].map(|name| row[name].as_str().unwrap());
    let expected = format!("\nmaps.example: 1, first {time} {from} {url}");
    assert!(of_group.text.contains(&expected), "{expected} in {}", of_group.text);
}

#[tokio::test]
async fn who_came_and_went_is_told_once_each_in_its_list() {
    let bench = ToolBench::new().await;
    let moved = |user: &str, clock: &str, joined: bool| {
        let millis = time(&format!("2026-05-02T{clock}Z")).millis();
        let kind = if joined {
            PresenceEvidenceKind::Joined(user.into())
        } else {
            PresenceEvidenceKind::Left(user.into())
        };
        evidence(GROUP, millis, kind)
    };
    let evidences = [
        moved("Unew", "08:00:00", true),
        moved(BO, "09:00:00", false),
        moved("Ushort", "09:30:00", true),
        moved("Ushort", "10:00:00", false),
    ];
    bench.store.members().record_presence(&evidences, time(NOW)).await.unwrap();
    let answer = bench.call("get_overview", json!({"channelId": GROUP, "days": 2})).await;
    let given = &answer.given;
    let who = |list: &str| {
        let rows = given[list].as_array().unwrap().iter();
        let id = |row: &Value| given["people"][row["person"].as_str().unwrap()]["userId"].clone();
        rows.map(id).collect::<Vec<_>>()
    };
    assert_eq!(who("joined"), [json!("Ushort"), json!("Unew")]);
    assert_eq!(who("left"), [json!("Ushort"), json!(BO)]);
    assert_eq!((&given["totals"]["joined"], &given["totals"]["left"]), (&json!(2), &json!(2)));
    assert_eq!(given["left"][1]["time"], "2026-05-02T09:00:00Z");
    assert!(given["joined"][0]["channel"].is_null(), "there is only one");
    assert!(answer.text.contains("\nLeft, 2:\n2026-05-02T10:00:00Z p"), "{}", answer.text);
}
