//! Searches: the same messages by every way, whole by pages, and hints about what was asked
//! otherwise than it works here.

use chatkeep_core::message::Content;
use chatkeep_view::sanitize::quoted;
use serde_json::{Value, json};

use super::scene::OTHER;
use super::{ANN, BO, GROUP, ToolBench, at, caller, each, said, scene, sent, time, with};

async fn filled() -> ToolBench {
    let bench = ToolBench::searching().await;
    scene::fill(&bench).await;
    bench
}

async fn found(bench: &ToolBench, arguments: Value) -> Vec<String> {
    let answer = bench.call("search_messages", arguments).await;
    let mut ids: Vec<_> =
        each(&answer.given["hits"], "id").into_iter().map(str::to_owned).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_filter_in_the_query_and_an_argument_are_the_same() {
    let bench = filled().await;
    for (written, given) in [
        ("lunch from:Ann", json!({"query": "lunch", "senderId": "Ann"})),
        ("lunch from:me", json!({"query": "lunch", "senderId": ANN})),
        ("lunch after:2026-05-02", json!({"query": "lunch", "from": "2026-05-02"})),
        ("lunch before:2026-05-02", json!({"query": "lunch", "to": "2026-05-02"})),
        (
            "lunch after:2026-05-01T08:01:00Z before:2026-05-01T08:06:00Z",
            json!({"query": "lunch", "from": "2026-05-01T08:01:00Z", "to": "2026-05-01T08:06:00Z"}),
        ),
    ] {
        let by_query = found(&bench, json!({"query": written, "limit": 100})).await;
        let by_argument = found(&bench, with(&given, &json!({"limit": 100}))).await;
        assert_eq!(by_query, by_argument, "{written}");
        assert!(!by_query.is_empty(), "{written}");
    }
    let here = found(&bench, json!({"query": "lunch", "channelId": GROUP})).await;
    let there = found(&bench, json!({"query": "lunch", "channelId": OTHER})).await;
    let mut both = [here, there].concat();
    both.sort_unstable();
    assert_eq!(found(&bench, json!({"query": "lunch", "limit": 100})).await, both);
}

#[tokio::test]
async fn what_is_found_is_what_is_stored_now() {
    let bench = filled().await;
    let all = found(&bench, json!({"query": "lunch", "limit": 100})).await;
    assert_eq!(all, ["b1", "m1", "m2", "m3", "m6", "o1", "o2"]);
    assert_eq!(found(&bench, json!({"query": "wrong"})).await, [""; 0], "it was taken back");
    assert_eq!(found(&bench, json!({"query": "first"})).await, [""; 0], "it was edited");
    assert_eq!(found(&bench, json!({"query": "second"})).await, ["m3"]);
    assert_eq!(found(&bench, json!({"query": "規約"})).await, ["f2"], "the name of a file");
    assert_eq!(found(&bench, json!({"query": "harbour"})).await, ["f3"]);
    assert_eq!(found(&bench, json!({"query": "type:sticker"})).await, ["f4"]);
    let stranger = caller("Ustranger");
    let asked = json!({"query": "lunch"});
    let none = bench.try_call(stranger, "search_messages", asked).await.unwrap();
    assert_eq!((&none.given["total"], &none.given["channels"]), (&json!(0), &json!({})));
}

/// Long messages fill an answer before its page is full.
#[tokio::test]
async fn hits_go_on_where_an_answer_is_cut() {
    let bench = ToolBench::searching().await;
    let begin = time("2026-05-01T00:00:00Z").millis();
    let changes = (0..60).map(|nth| {
        let words = format!("needle {nth} {}", "後".repeat(300));
        sent((GROUP, &format!("m{nth:02}")), BO, at(begin + nth * 1_000), &Content::text(words))
    });
    bench.keep(&changes.collect::<Vec<_>>()).await;
    for sort in ["relevance", "newest"] {
        let mut asked = json!({"query": "needle", "limit": 60, "sort": sort});
        let (mut all, mut pages) = (Vec::new(), 0);
        loop {
            let answer = bench.call("search_messages", asked.clone()).await;
            assert_eq!(answer.given["total"], 60);
            all.extend(each(&answer.given["hits"], "id").into_iter().map(str::to_owned));
            pages += 1;
            let Some(cursor) = answer.given["nextCursor"].as_str() else { break };
            assert_eq!(answer.given["truncated"], true, "the answer ends before its page");
            asked["cursor"] = json!(cursor);
        }
        assert!(pages > 2, "{pages} pages");
        if sort == "newest" {
            assert!(all.is_sorted_by(|one, next| one > next), "{all:?}");
        }
        all.sort_unstable();
        let expected: Vec<_> = (0..60).map(|nth| format!("m{nth:02}")).collect();
        assert_eq!(all, expected, "{sort}");
    }
}

#[tokio::test]
async fn a_cursor_of_a_search_serves_that_search_alone() {
    let bench = filled().await;
    let asked = json!({"query": "lunch", "limit": 2});
    let first = bench.call("search_messages", asked.clone()).await;
    let asked = with(&asked, &json!({"cursor": first.given["nextCursor"]}));
    bench.call("search_messages", asked.clone()).await;
    // White space around an argument is none of it.
    bench.call("search_messages", with(&asked, &json!({"query": " lunch\n"}))).await;
    for change in [
        json!({"query": "Lunch"}),
        json!({"sort": "newest"}),
        json!({"channelId": GROUP}),
        json!({"senderId": ANN}),
        json!({"from": "2026-01-01"}),
        json!({"timeZone": "Asia/Taipei"}),
    ] {
        let told = bench.refusal("search_messages", with(&asked, &change)).await;
        assert!(told.starts_with("This cursor belongs to another query: "), "{change}: {told}");
    }
}

#[tokio::test]
async fn a_name_of_many_in_a_query_is_told_with_five_of_them() {
    let bench = ToolBench::searching().await;
    let users: Vec<_> = (1..=7).map(|nth| format!("Ubo{nth}")).collect();
    for (nth, user) in users.iter().enumerate() {
        bench.channel(GROUP, &[ANN, user]).await;
        bench.name_person(user, "Bo").await;
        let sent_at = format!("2026-05-01T08:0{nth}:00Z");
        bench.keep(&[said(&format!("m{nth}"), user, &sent_at, "lunch")]).await;
    }
    let answer = bench.call("search_messages", json!({"query": "lunch from:bo"})).await;
    assert_eq!(answer.given["total"], 7);
    let hint = "from:\"bo\" is 7 people, counted together: Ubo1, Ubo2, Ubo3, Ubo4, Ubo5 …. \
                senderId takes one of them.";
    assert_eq!(answer.given["hints"], json!([hint]));
    assert!(answer.text.contains(hint), "{}", answer.text);
    // One of them is meant by their id.
    let one = bench.call("search_messages", json!({"query": "lunch", "senderId": "Ubo3"})).await;
    assert_eq!(each(&one.given["hits"], "id"), ["m2"]);
    assert!(one.given.get("hints").is_none(), "{}", one.given);
}

#[tokio::test]
async fn connectors_get_the_messages_that_the_other_tools_find() {
    let bench = filled().await;
    let documents = bench.call("search", json!({"query": "lunch"})).await;
    let results = documents.given["results"].as_array().unwrap();
    let mut ids: Vec<_> = results.iter().map(|one| one["url"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let hits = bench.call("search_messages", json!({"query": "lunch"})).await;
    let mut urls = each(&hits.given["hits"], "url");
    urls.sort_unstable();
    assert_eq!(ids, urls);
    assert_eq!(serde_json::from_str::<Value>(&documents.text).unwrap(), documents.given);
    for result in results {
        let fetched = bench.call("fetch", json!({"id": result["id"]})).await;
        for same in ["id", "title", "url"] {
            assert_eq!(fetched.given[same], result[same], "{same}");
        }
        let metadata = fetched.given["metadata"].as_object().unwrap();
        // Times are those of the message's own channel.
        let zone = if metadata["channelId"] == OTHER { "-04:00" } else { "+08:00" };
        let (title, sent_at) =
            (result["title"].as_str().unwrap(), metadata["sentAt"].as_str().unwrap());
        assert!(sent_at.ends_with(zone) && title.ends_with(sent_at), "{title}");
        assert!(title.contains(&quoted(metadata["channel"].as_str().unwrap())));
        assert_eq!(fetched.given["text"].as_str().unwrap().matches("\n> ").count(), 1);
    }
    let nobody = bench.refusal("search", json!({"query": "lunch from:Anne"})).await;
    let expected = format!("Nobody is called \"Anne\": did you mean \"Ann\" {ANN}?");
    assert!(nobody.starts_with(&expected), "{nobody}");
}

#[tokio::test]
async fn without_an_index_a_search_says_when_to_try_again() {
    let bench = ToolBench::new().await;
    for (tool, arguments) in
        [("search_messages", json!({"query": "x"})), ("search", json!({"query": "x"}))]
    {
        let failure = bench.try_call(caller(ANN), tool, arguments).await.unwrap_err();
        assert_eq!(failure.result, "unavailable");
        assert!(failure.text.contains("Try the same call again in a few seconds"), "{failure:?}");
    }
    // What needs no index goes on.
    bench.call("get_overview", json!({})).await;
}
