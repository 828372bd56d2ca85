//! Messages with what is around them: the sides, the quotes, and what is told of what is not shown.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::message::Content;
use serde_json::{Value, json};

use super::{
    ANN, BO, GROUP, ToolBench, at, bounded, each, edited, quoting, said, sent, time, unsent,
};

/// Returns the time of a minute.
fn minute(nth: i64) -> String {
    at(time("2026-05-01T08:00:00Z").millis() + nth * 60_000).to_string()
}

async fn context(bench: &ToolBench, arguments: Value) -> Value {
    bench.call("get_context", arguments).await.given
}

/// Each message, with sides of any length, has as many neighbours as there are, and says whether
/// there are more.
#[tokio::test]
async fn sides_are_as_long_as_is_asked_and_say_whether_more_follow() {
    let bench = ToolBench::new().await;
    // Some of the same moment.
    let changes = (0..9).map(|nth| said(&format!("m{nth}"), ANN, &minute(nth / 2), "x"));
    bench.keep(&changes.collect::<Vec<_>>()).await;
    let all: Vec<_> = (0..9).map(|nth| format!("m{nth}")).collect();
    for place in 0..9 {
        for (before, after) in [(0, 0), (1, 0), (0, 1), (2, 3), (8, 8), (50, 50)] {
            let asked = json!({"message": all[place], "before": before, "after": after});
            let given = context(&bench, asked).await;
            let (first, end) = (place.saturating_sub(before), (place + after + 1).min(9));
            assert_eq!(each(&given["messages"], "id"), all[first..end], "{place} {before} {after}");
            assert_eq!(given["moreBefore"], first > 0, "{place} {before} {after}");
            assert_eq!(given["moreAfter"], end < 9, "{place} {before} {after}");
        }
    }
}

#[tokio::test]
async fn a_chain_of_quotes_ends_though_it_is_a_circle() {
    let bench = ToolBench::new().await;
    let quote = |id: &str, nth: i64, of: &str| quoting(said(id, BO, &minute(nth), "x"), of);
    bench
        .keep(&[
            quote("a", 0, "c"),
            quote("b", 10, "a"),
            quote("c", 20, "b"),
            quote("own", 30, "own"),
            quote("lost", 40, "nothing"),
        ])
        .await;
    let alone = |id: &str| json!({"message": id, "before": 0, "after": 0});
    let given = context(&bench, alone("b")).await;
    assert_eq!(each(&given["quotes"], "id"), ["c", "a"]);
    assert_eq!(each(&given["quotedBy"], "id"), ["a", "c"]);
    let own = context(&bench, alone("own")).await;
    assert_eq!((&own["quotes"], &own["quotedBy"]), (&json!([]), &json!([])));
    let lost = context(&bench, alone("lost")).await;
    assert_eq!((&lost["quotes"], &lost["messages"][0]["replyTo"]), (&json!([]), &json!("nothing")));
    // Those among the messages are not repeated.
    let given = context(&bench, json!({"message": "b", "before": 1, "after": 0})).await;
    assert_eq!(each(&given["messages"], "id"), ["a", "b"]);
    assert_eq!(each(&given["quotes"], "id"), ["c"]);
    assert_eq!(each(&given["quotedBy"], "id"), ["c"]);
}

#[tokio::test]
async fn quotes_go_up_to_ten_and_down_to_twenty() {
    let bench = ToolBench::new().await;
    let mut changes = vec![said("q00", ANN, &minute(0), "x")];
    for nth in 1..15 {
        let id = format!("q{nth:02}");
        changes.push(quoting(said(&id, ANN, &minute(nth), "x"), &format!("q{:02}", nth - 1)));
    }
    for nth in 0..22 {
        let said = said(&format!("r{nth:02}"), BO, &minute(100 + nth), "x");
        changes.push(quoting(said, "q14"));
    }
    bench.keep(&changes).await;
    let given = context(&bench, json!({"message": "q14", "before": 0, "after": 0})).await;
    let up: Vec<_> = (4..14).map(|nth| format!("q{nth:02}")).collect();
    assert_eq!(each(&given["quotes"], "id"), up, "the nearest ten, oldest first");
    let down: Vec<_> = (0..20).map(|nth| format!("r{nth:02}")).collect();
    assert_eq!(each(&given["quotedBy"], "id"), down);
    assert_eq!(given["moreQuotedBy"], true);
    let few = context(&bench, json!({"message": "r00", "before": 0, "after": 0})).await;
    assert!(few.get("moreQuotedBy").is_none() && few["quotedBy"] == json!([]), "{few}");
}

#[tokio::test]
async fn what_a_key_may_not_read_is_neither_context_nor_quote() {
    let bench = ToolBench::new().await;
    bench
        .keep(&[
            said("old", ANN, &minute(0), "secret"),
            quoting(said("answer", BO, &minute(10), "yes"), "old"),
            said("next", BO, &minute(11), "x"),
        ])
        .await;
    let bounds = Bounds { not_before: Some(time(&minute(10))), ..Bounds::full() };
    let asked = json!({"message": "answer"});
    let answer = bench.try_call(bounded(ANN, bounds.clone()), "get_context", asked).await.unwrap();
    let given = &answer.given;
    assert_eq!(each(&given["messages"], "id"), ["answer", "next"]);
    assert_eq!((&given["quotes"], &given["moreBefore"]), (&json!([]), &json!(false)));
    assert_eq!(each(&given["gaps"], "reason"), ["not_readable"]);
    assert!(!answer.text.contains("secret") && answer.text.contains("has no other messages"));
    let asked = json!({"message": "old"});
    let refused = bench.try_call(bounded(ANN, bounds), "get_context", asked).await.unwrap_err();
    let none = bench.refusal("get_context", json!({"message": "gone"})).await;
    assert_eq!(refused.text, none.replace("gone", "old"));
}

#[tokio::test]
async fn earlier_texts_are_those_of_the_message_alone_while_it_is_there() {
    let bench = ToolBench::new().await;
    let (group, owner) = (GROUP.into(), ANN.into());
    let channels = bench.store.channels();
    channels.set_earlier_texts(&group, true, &owner, time("2026-04-01T00:00:00Z")).await.unwrap();
    let long = "早".repeat(500);
    bench.keep(&[said("m1", ANN, &minute(0), "alpha"), said("m2", BO, &minute(1), "x")]).await;
    for (nth, words) in [(2, "beta"), (3, long.as_str()), (4, "now")] {
        bench.keep(&[edited("m1", &minute(nth), words)]).await;
    }
    let given = context(&bench, json!({"message": "m1"})).await;
    let texts = each(&given["earlierTexts"], "text");
    assert_eq!(texts, ["alpha", "beta", &format!("{}…", "早".repeat(400))]);
    let times = each(&given["earlierTexts"], "time");
    assert_eq!(times, ["2026-05-01T08:00:00Z", "2026-05-01T08:02:00Z", "2026-05-01T08:03:00Z"]);
    assert_eq!(given["messages"][0]["text"], "now");
    let answer = bench.call("get_context", json!({"message": "m1"})).await;
    assert!(answer.text.contains("…\" [100 characters more]"), "{}", answer.text);
    let other = context(&bench, json!({"message": "m2"})).await;
    assert!(other.get("earlierTexts").is_none(), "they are another message's: {other}");
    bench.keep(&[unsent("m1", &minute(5))]).await;
    let gone = context(&bench, json!({"message": "m1"})).await;
    assert!(gone.get("earlierTexts").is_none() && !gone.to_string().contains("alpha"), "{gone}");
}

/// The message itself is in every answer, whatever is around it takes.
#[tokio::test]
async fn the_message_is_there_though_all_else_must_be_left_out() {
    let bench = ToolBench::new().await;
    let whole = Content::text("全".repeat(5_000));
    let near = Content::text("近".repeat(5_000));
    let changes = (0..7).map(|nth| {
        let content = if nth == 3 { &whole } else { &near };
        sent((GROUP, &format!("m{nth}")), ANN, time(&minute(nth)), content)
    });
    bench.keep(&changes.collect::<Vec<_>>()).await;
    let given = context(&bench, json!({"message": "m3"})).await;
    assert_eq!(each(&given["messages"], "id"), ["m3"]);
    assert_eq!(given["messages"][0]["text"], "全".repeat(5_000));
    for flag in ["truncated", "moreBefore", "moreAfter"] {
        assert_eq!(given[flag], true, "{flag}");
    }
    let asked = json!({"message": "m3", "textFrom": 4_990});
    let given = context(&bench, asked).await;
    assert_eq!(each(&given["messages"], "id").len(), 7);
    assert_eq!(given["messages"][3]["text"], format!("…{}", "全".repeat(10)));
    assert_eq!(given["messages"][0]["cut"], 4_600);
}
