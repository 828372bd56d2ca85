//! Completion of what people type into prompts and URIs: what is suggested is taken, and nothing
//! of what they may not see is.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::message::Content;
use chatkeep_core::role::Scope;
use rmcp::model::{CompleteRequestParams, ResourceTemplateReference};
use serde_json::json;

use super::{ANN, BO, GROUP, ToolBench, at, bounded, caller, key, said, sent, time};
use crate::error::ToolError;
use crate::resources;

const MESSAGE: &str = "chatkeep://channel/{channel}/message/{message}";

/// Returns a request to complete an argument of a prompt, or a part of a URI.
fn request(name: &str, typed: &str, channel: Option<&str>) -> CompleteRequestParams {
    let mut asked = json!({
        "ref": {"type": "ref/resource", "uri": MESSAGE},
        "argument": {"name": name, "value": typed},
    });
    if let Some(channel) = channel {
        asked["context"] = json!({"arguments": {"channel": channel}});
    }
    serde_json::from_value(asked).unwrap()
}

/// Returns what is suggested for the channel of a prompt.
async fn of_prompt(bench: &ToolBench, user: &str, typed: &str) -> Vec<String> {
    let asked = request("channel", typed, None);
    resources::complete_channel(&bench.services, &caller(user), &asked).await.unwrap().values
}

/// Returns what is suggested for a part of the URI of a message.
async fn of_uri(bench: &ToolBench, name: &str, typed: &str, channel: Option<&str>) -> Vec<String> {
    let asked = request(name, typed, channel);
    let of = ResourceTemplateReference::new(MESSAGE);
    resources::complete(&bench.services, caller(ANN), &asked, &of).await.unwrap().values
}

/// Names of channels, some of which others have, too, or which no person could type.
const NAMES: [&str; 12] = [
    "Family",
    "Trip to 京都",
    "trip to 京都 ✈️",
    "https://chat.example.org/c/C1",
    "two\nlines",
    "hid\u{202e}den",
    "  spaced  out ",
    "Cé\"dric\"",
    "ＷＩＤＥ",
    "🐉",
    "",
    "\u{200b}",
];

#[tokio::test]
async fn what_is_suggested_means_that_channel() {
    let bench = ToolBench::new().await;
    bench.name_channel(GROUP, &"long ".repeat(30)).await;
    for (nth, name) in NAMES.iter().enumerate() {
        let id = format!("Cof{nth:02}");
        bench.channel(&id, &[ANN]).await;
        bench.name_channel(&id, name).await;
    }
    let all = of_prompt(&bench, ANN, "").await;
    assert_eq!(all.len(), NAMES.len() + 1);
    let mut meant = Vec::new();
    for handle in &all {
        let answer = bench.call("get_messages", json!({"channelId": handle})).await;
        let read = answer.given["interpreted"]["channelId"].as_str();
        meant.push(read.unwrap_or(handle).to_owned());
    }
    meant.sort_unstable();
    let mut expected: Vec<_> = (0..NAMES.len()).map(|nth| format!("Cof{nth:02}")).collect();
    expected.insert(0, GROUP.to_owned());
    expected.sort_unstable();
    assert_eq!(meant, expected, "each channel is suggested, and by what means it alone");
    for name in ["Family", "Cé\"dric\"", "ＷＩＤＥ"] {
        assert!(all.iter().any(|handle| handle == name), "{name} in {all:?}");
    }
    for name in ["Trip to 京都", "two\nlines", "hid\u{202e}den", "https://chat.example.org/c/C1"]
    {
        assert!(!all.iter().any(|handle| handle == name), "{name} in {all:?}");
    }
}

#[tokio::test]
async fn a_channel_is_suggested_by_its_id_or_a_part_of_its_name() {
    let bench = ToolBench::new().await;
    bench.channel("Cother", &[ANN]).await;
    bench.channel("Chidden", &[BO]).await;
    for (id, name) in
        [(GROUP, "Ｌｕｎｃｈ Club"), ("Cother", "Kyōto"), ("Chidden", "Lunch secrets")]
    {
        bench.name_channel(id, name).await;
    }
    for (typed, mut expected) in [
        ("", vec!["Cother", GROUP]),
        ("lunch", vec![GROUP]),
        ("CLUB", vec![GROUP]),
        ("n", vec![GROUP]),
        ("Co", vec!["Cother"]),
        ("cother", vec![]),
        ("Chid", vec![]),
        ("secrets", vec![]),
    ] {
        let mut found = of_uri(&bench, "channel", typed, None).await;
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{typed}");
    }
    let here = Bounds { channels: Some(vec!["Cother".into()]), ..Bounds::full() };
    let asked = request("channel", "", None);
    let of_key = resources::complete_channel(&bench.services, &bounded(ANN, here), &asked).await;
    assert_eq!(of_key.unwrap().values, ["Kyōto"]);
    assert_eq!(of_prompt(&bench, "Ustranger", "").await, [""; 0]);
}

#[tokio::test]
async fn messages_are_suggested_in_their_channel_alone() {
    let bench = ToolBench::new().await;
    bench.channel("Chidden", &[BO]).await;
    bench
        .keep(&[
            said("100", ANN, "2026-05-01T08:00:00Z", "x"),
            said("101", ANN, "2026-05-01T08:01:00Z", "x"),
            said("import:1", ANN, "2026-05-01T08:02:00Z", "x"),
        ])
        .await;
    for (typed, channel, expected) in [
        ("", Some(GROUP), vec!["import:1", "101", "100"]),
        ("1", Some(GROUP), vec!["101", "100"]),
        ("100", Some(GROUP), vec!["100"]),
        ("IMPORT", Some(GROUP), vec![]),
        ("", Some("Chidden"), vec![]),
        ("", Some("Cnowhere"), vec![]),
        ("", Some("not an id"), vec![]),
        ("", None, vec![]),
    ] {
        assert_eq!(
            of_uri(&bench, "message", typed, channel).await,
            expected,
            "{typed} {channel:?}"
        );
    }
    assert_eq!(of_uri(&bench, "days", "1", Some(GROUP)).await, [""; 0]);
}

#[tokio::test]
async fn a_hundred_channels_are_suggested_and_more_are_told() {
    let bench = ToolBench::new().await;
    let count = async || {
        let asked = request("channel", "C", None);
        let found =
            resources::complete_channel(&bench.services, &caller(ANN), &asked).await.unwrap();
        (found.values.len(), found.has_more)
    };
    for nth in 0..99 {
        bench.channel(&format!("Cof{nth:03}"), &[ANN]).await;
    }
    assert_eq!(count().await, (100, Some(false)));
    bench.channel("Cmore", &[ANN]).await;
    assert_eq!(count().await, (100, Some(true)));
}

/// `hasMore` says whether there are more suggestions than those that are returned.
#[tokio::test]
async fn more_messages_are_told_only_where_there_are_more() {
    let bench = ToolBench::new().await;
    bench.keep(&[said("m1", ANN, "2026-05-01T08:00:00Z", "x")]).await;
    let of = ResourceTemplateReference::new(MESSAGE);
    let count = async |channel: &str| {
        let asked = request("message", "", Some(channel));
        let found = resources::complete(&bench.services, caller(ANN), &asked, &of).await.unwrap();
        (found.values.len(), found.has_more)
    };
    assert_eq!(count(GROUP).await, (1, Some(false)));
    for nowhere in ["Cnowhere", "not an id"] {
        assert_eq!(count(nowhere).await, (0, Some(false)), "{nowhere}");
    }
    let begin = time("2026-05-01T08:00:00Z").millis();
    let many = (2..=101).map(|nth| {
        let sent_at = at(begin + nth);
        sent((GROUP, &format!("m{nth}")), ANN, sent_at, &Content::text("x"))
    });
    bench.keep(&many.collect::<Vec<_>>()).await;
    assert_eq!(count(GROUP).await, (100, Some(true)));
}

#[tokio::test]
async fn what_cannot_be_completed_is_refused() {
    let bench = ToolBench::new().await;
    let endless = request("channel", &"x".repeat(1_001), None);
    let of = ResourceTemplateReference::new(MESSAGE);
    let services = &bench.services;
    let told = |error: ToolError| error.failure(Some(Scope::ReadMessages), &key()).text;
    let long = resources::complete(services, caller(ANN), &endless, &of).await;
    assert!(told(long.unwrap_err()).starts_with("argument is longer than any id, name or link."));
    let long = resources::complete_channel(services, &caller(ANN), &endless).await;
    assert!(told(long.unwrap_err()).starts_with("argument is longer than any id, name or link."));
    let other = ResourceTemplateReference::new("chatkeep://channel/{channel}");
    let asked = request("channel", "", None);
    let unknown = resources::complete(services, caller(ANN), &asked, &other).await;
    assert!(told(unknown.unwrap_err()).contains("chatkeep://channel/{channel}"));
    let bare = Bounds { scopes: vec![Scope::ReadMembers], ..Bounds::full() };
    let lacks = resources::complete(services, bounded(ANN, bare), &asked, &of).await;
    assert!(told(lacks.unwrap_err()).starts_with("This key lacks read:messages: "));
}
