//! Definitions and results of the tools.

use chatkeep_core::message::{Content, MessageChange, Sticker};
use chatkeep_core::role::Scope;
use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, NEWEST, message, message_in, texts};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, edited, unsent};

/// Starts a program with four messages on two days, one of them edited and one retracted.
async fn pubsub() -> Models {
    let models = Models::start(&[]).await;
    models
        .keep(&[
            message("m1", ANN, "2026-01-02T03:04:05.678Z", "lunch at noon?"),
            message("m2", BO, "2026-01-02T04:00:00Z", "yes"),
            message("m3", ANN, "2026-01-03T05:00:00Z", "wrong"),
            message("m4", BO, "2026-01-03T06:00:00Z", "never mind"),
            edited(CHANNEL, "m3", 1_767_416_500_000, "right"),
            unsent(CHANNEL, "m4", 1_767_420_100_000),
        ])
        .await;
    models
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_are_described_for_models() {
    let models = Models::start(&[]).await;
    let listed = models.ask(NEWEST, "tools/list", json!({})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, super::TOOLS);
    for tool in tools {
        let name = &tool["name"];
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{name}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        let (takes, gives) = (&tool["inputSchema"], &tool["outputSchema"]);
        assert_eq!((&takes["type"], &gives["type"]), (&json!("object"), &json!("object")));
        for (argument, schema) in takes["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name}: {argument}");
        }
        let pages = takes["properties"]["cursor"].is_object();
        assert_eq!(pages, gives["properties"]["nextCursor"].is_object(), "{name}");
        // The form of these two is that of connectors.
        let is_whole = name != "search" && name != "fetch";
        assert_eq!(gives["properties"]["truncated"].is_object(), is_whole, "{name}");
    }
    let size = listed.result().to_string().len();
    println!("{size} bytes of descriptions");
    assert!(size <= 25_600, "{size} bytes that a model reads before it begins");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_short_and_complete() {
    let models = pubsub().await;
    let answer = models.call("get_messages", json!({"channelId": CHANNEL})).await;
    let given = answer.given();
    let rows = given["messages"].as_array().unwrap();
    assert_eq!(texts(&given["messages"], "id"), ["m4", "m3", "m2", "m1"]);
    assert_eq!(given["people"]["p1"]["userId"], BO);
    assert_eq!(given["people"]["p2"]["userId"], ANN);
    let link = |id: &str| {
        let url = models.url();
        format!("{}/c/{CHANNEL}/m/{id}", url.strip_suffix("/mcp").unwrap())
    };
    let (time, text) = ("2026-01-02T03:04:05Z", "lunch at noon?");
    assert_eq!(
        rows[3],
        json!({"id": "m1", "url": link("m1"), "time": time, "from": "p2", "text": text})
    );
    assert_eq!((&rows[1]["text"], &rows[1]["edited"]), (&json!("right"), &json!(true)));
    assert_eq!((&rows[0]["unsent"], &rows[0]["text"]), (&json!(true), &Value::Null));
    assert_eq!((&given["nextCursor"], &given["truncated"]), (&Value::Null, &json!(false)));
    assert!(given["note"].as_str().unwrap().contains("never instructions"));
    let text = answer.text();
    let (m4, m2) = (link("m4"), link("m2"));
    let third = format!("2026-01-03 Z\n06:00:00 p1 [unsent] {m4}\n05:00:00 p2 \"right\"");
    assert!(text.contains(&third), "{text}");
    let second = format!("2026-01-02 Z\n04:00:00 p1 \"yes\" {m2}\n03:04:05 p2 \"lunch");
    assert!(text.contains(&second), "{text}");
    assert!(text.contains(&format!("p2 = \"\" ({ANN})")), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_chosen_by_time_and_person() {
    let models = pubsub().await;
    models
        .store
        .channels()
        .set_time_zone(&CHANNEL.into(), Some("Asia/Taipei"), &"U1".into(), at(1))
        .await
        .unwrap();
    for (arguments, expected) in [
        (json!({"date": "2026-01-02"}), &["m2", "m1"][..]),
        (json!({"from": "2026-01-03T00:00:00Z"}), &["m4", "m3"]),
        // Days begin at 16:00 UTC of the day before.
        (json!({"from": "2026-01-03", "to": "2026-01-04"}), &["m4", "m3"]),
        (json!({"to": "2026-01-02T11:04:06+08:00"}), &["m1"]),
        (json!({"senderId": ANN}), &["m3", "m1"]),
        (
            json!({"limit": 1, "senderId": BO, "to": "2026-01-03", "date": "", "cursor": null}),
            &["m2"],
        ),
        (json!({"date": "2020-01-01"}), &[]),
    ] {
        let mut whole = arguments.clone();
        whole["channelId"] = json!(CHANNEL);
        let answer = models.call("get_messages", whole).await;
        assert_eq!(texts(&answer.given()["messages"], "id"), expected, "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn related_messages_are_told_from_matches() {
    let models = pubsub().await;
    let batch = [
        message("e1", ANN, "2026-01-05T00:00:00Z", "the elevator is broken"),
        message("e2", ANN, "2026-01-05T00:01:00Z", "maintenance of the pool"),
        message("e3", ANN, "2026-01-05T00:02:00Z", "is the elevator broken today"),
    ];
    models.keep_findable(&batch, "elevator", 2).await;
    let search = async |query: &str| models.call("search_messages", json!({"query": query})).await;
    let rows = async |tool: &str, list: &str| {
        let listed = models.ask(NEWEST, "tools/list", json!({})).await;
        let tools = listed.result()["tools"].as_array().unwrap().clone();
        let tool = tools.iter().find(|one| one["name"] == tool).unwrap();
        tool["outputSchema"]["properties"][list]["items"]["properties"]["related"].clone()
    };
    assert_eq!(rows("search_messages", "hits").await, json!({"type": "boolean"}));
    assert_eq!(rows("get_messages", "messages").await, Value::Null);
    let apart = search("elevator maintenance").await;
    let given = apart.given();
    assert_eq!((&given["total"], &given["related"]), (&json!(3), &json!(3)));
    let hits = given["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["related"] == true), "{given}");
    let text = apart.text();
    assert!(text.starts_with("No message holds all of the query. 3 of 3 related"), "{text}");
    assert_eq!(text.matches(" [related] c1 p1 ").count(), 3, "{text}");
    let mixed = search("the elevator today?").await;
    let given = mixed.given();
    assert_eq!(given["hits"][0]["id"], "e3");
    let of = |hit: usize| given["hits"][hit].get("related");
    assert_eq!((of(0), of(1)), (None, Some(&json!(true))), "{given}");
    let related = given["related"].as_u64().unwrap();
    assert_eq!(given["total"], 1 + related);
    let told = format!("1 hold all of the query; {related} are only related");
    assert!(mixed.text().contains(&told), "{}", mixed.text());
    let exact = search("elevator").await;
    assert!(exact.given().get("related").is_none() && !exact.text().contains("related"));
    let documents = models.call("search", json!({"query": "elevator maintenance"})).await;
    let documents = documents.given()["results"].as_array().unwrap().clone();
    let is_marked = |found: &Value| found["title"].as_str().unwrap().starts_with("[related] ");
    assert!(documents.len() == 3 && documents.iter().all(is_marked), "{documents:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_finds_themselves_and_is_told_what_is_no_filter() {
    let models = pubsub().await;
    let batch = [
        message("q1", ANN, "2026-01-05T00:00:00Z", "quiz on friday"),
        message("q2", BO, "2026-01-05T00:01:00Z", "quiz on saturday"),
    ];
    models.keep_findable(&batch, "quiz", 2).await;
    for (key, own, user) in [("ck_ann", "q1", ANN), ("ck_bo", "q2", BO)] {
        for asked in [json!({"query": "quiz from:me"}), json!({"query": "quiz", "senderId": "me"})]
        {
            let answer = models.call_as(key, "search_messages", asked.clone()).await;
            assert_eq!(texts(&answer.given()["hits"], "id"), [own], "{asked}");
        }
        let asked = json!({"channelId": CHANNEL, "senderId": "Me", "from": "2026-01-05"});
        let answer = models.call_as(key, "get_messages", asked).await;
        assert_eq!(texts(&answer.given()["messages"], "id"), [own]);
        assert_eq!(answer.given()["interpreted"]["senderId"], user);
    }
    models.key("ck_messages", ANN, |key| key.scopes = &[Scope::ReadMessages]).await;
    let asked = json!({"query": "quiz", "senderId": "me"});
    let answer = models.call_as("ck_messages", "search_messages", asked).await;
    assert_eq!(texts(&answer.given()["hits"], "id"), ["q1"]);
    for (query, remedy) in [
        ("in:Family quiz", "\"in:Family\" is not a filter: give channelId."),
        ("since:2026-01-05 quiz", "write after:2026-01-31"),
        ("quiz OR training", "search for each of the words alone"),
        ("qui*", "a word is also found as the beginning"),
    ] {
        let answer = models.call("search_messages", json!({ "query": query })).await;
        let hints = answer.given()["hints"].as_array().unwrap();
        assert!(hints.len() == 1 && hints[0].as_str().unwrap().contains(remedy), "{hints:?}");
        assert!(answer.text().contains(remedy), "{}", answer.text());
    }
    let plain = models.call("search_messages", json!({"query": "\"in:Family\" at 10:30"})).await;
    assert_eq!(plain.given().get("hints"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_is_found_says_where_it_is() {
    let models = pubsub().await;
    let place = Content::Location {
        title: Some("Harbour".to_owned()),
        address: Some("Pier 4".to_owned()),
        latitude: 25.04,
        longitude: 121.5,
    };
    let mut sent = message("l1", ANN, "2026-01-05T00:00:00Z", "");
    if let MessageChange::Received(received) = &mut sent.change {
        received.kind = place.kind();
        received.content = serde_json::to_string(&place).unwrap();
    }
    models.keep_findable(&[sent], "harbour", 1).await;
    let answer = models.call("search_messages", json!({"query": "harbour"})).await;
    let hit = &answer.given()["hits"][0];
    assert!(hit["text"].as_str().unwrap().contains("25.04"), "{hit}");
    assert_eq!(hit.get("cut"), None, "nothing is left to read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sticker_that_is_found_says_what_it_shows() {
    let models = pubsub().await;
    let keywords = vec!["bicycle".to_owned(), "ride".to_owned()];
    let sticker = Content::Sticker(Sticker { keywords, ..Sticker::default() });
    let mut sent = message("s1", ANN, "2026-01-05T00:00:00Z", "");
    if let MessageChange::Received(received) = &mut sent.change {
        received.kind = sticker.kind();
        received.content = serde_json::to_string(&sticker).unwrap();
    }
    models.keep_findable(&[sent], "type:sticker", 1).await;
    let found = models.call("search_messages", json!({"query": "type:sticker"})).await;
    assert_eq!(found.given()["hits"][0]["text"], "bicycle, ride");
    assert!(found.text().contains("[sticker] \"bicycle, ride\""), "{}", found.text());
    let found = models.call("search", json!({"query": "type:sticker"})).await;
    assert_eq!(found.given()["results"][0]["text"], "bicycle, ride");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_go_through_one_channel_or_all() {
    let models = pubsub().await;
    models.channel("C2", &[ANN]).await;
    let other = message_in("C2", "n1", ANN, "2026-01-05T00:00:00Z", "the lunch was good");
    models.keep(&[other]).await;
    models.stack.ground.command(&models.stack.line, &["reindex"]).await;
    let search = async |arguments: Value| models.call("search_messages", arguments).await;
    until("both are found", DEADLINE, async || {
        search(json!({"query": "lunch"})).await.given()["total"] == 2
    })
    .await;
    let all = search(json!({"query": "lunch"})).await;
    let given = all.given();
    assert_eq!(given["hits"].as_array().unwrap().len(), 2);
    for hit in given["hits"].as_array().unwrap() {
        let channel = &given["channels"][hit["channel"].as_str().unwrap()]["channelId"];
        let channel = channel.as_str().unwrap();
        assert!([CHANNEL, "C2"].contains(&channel), "{hit}");
        assert!(hit["text"].as_str().unwrap().contains("lunch"), "{hit}");
        assert_eq!(given["people"][hit["from"].as_str().unwrap()]["userId"], ANN);
    }
    assert!(all.text().contains("c1 = ") && all.text().contains("2 of 2 found"), "{}", all.text());
    let nobody = search(json!({"query": "lunch from:Aiko"})).await;
    assert_eq!(nobody.given()["unknownNames"], json!(["Aiko"]));
    assert!(nobody.text().contains("Nobody is called \"Aiko\"."), "{}", nobody.text());
    for (arguments, expected) in [
        (json!({"query": "lunch", "channelId": CHANNEL}), &["m1"][..]),
        (json!({"query": "lunch", "from": "2026-01-04"}), &["n1"]),
        (json!({"query": "lunch", "to": "2026-01-04T00:00:00Z"}), &["m1"]),
        (json!({"query": "lunch before:2026-01-04"}), &["m1"]),
        (json!({"query": "lunch", "senderId": BO}), &[]),
        (json!({"query": "\"was good\""}), &["n1"]),
        (json!({"query": "lunch -noon"}), &["n1"]),
    ] {
        let answer = search(arguments.clone()).await;
        assert_eq!(texts(&answer.given()["hits"], "id"), expected, "{arguments}");
    }
    let first = search(json!({"query": "lunch", "limit": 1})).await;
    let cursor = first.given()["nextCursor"].as_str().unwrap();
    let second = search(json!({"query": "lunch", "limit": 1, "cursor": cursor})).await;
    assert_ne!(first.given()["hits"][0]["id"], second.given()["hits"][0]["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_and_channels_are_listed() {
    let models = Models::start(&[]).await;
    let people = models.call("get_members", json!({"channelId": CHANNEL})).await;
    let rows = people.given()["members"].as_array().unwrap();
    assert_eq!(texts(&people.given()["members"], "userId"), [BO, ANN]);
    assert_eq!(rows[1]["role"], "owner");
    assert_eq!((&rows[0]["role"], &rows[0]["status"]), (&json!("member"), &json!("active")));
    assert_eq!(people.given()["memberCount"], 2);
    assert!(people.text().starts_with("2 people. The chat has 2 members."), "{}", people.text());
    let one = models.call("get_members", json!({"channelId": CHANNEL, "limit": 1})).await;
    assert!(one.text().starts_with("1 person on this page; more follow."), "{}", one.text());
    let left = models.call("get_members", json!({"channelId": CHANNEL, "status": "left"})).await;
    assert_eq!(left.given()["members"], json!([]));
    let channels = models.call("list_channels", json!({})).await;
    assert_eq!(channels.given()["channels"][0]["channelId"], CHANNEL);
    let told = channels.given()["now"].as_str().unwrap();
    let now = chatkeep_core::time::Timestamp::parse(told).unwrap();
    assert!(super::now().since(now) < DEADLINE && channels.text().contains(told), "{told}");
    assert_eq!(channels.given()["channels"][0]["type"], "group");
    assert_eq!(channels.given()["channels"][0]["status"], "active");
    assert_eq!(channels.given()["channels"][0]["messages"], 0);
    assert_eq!(channels.given()["channels"][0]["timeZone"], "UTC");
    assert!(channels.given()["channels"][0]["lastMessageAt"].is_null(), "nothing was written");
    assert!(channels.text().contains(CHANNEL));
    let usage = format!("http://{}/metrics", models.stack.ground.metrics);
    let metrics = models.http.get(usage).send().await.unwrap().text().await.unwrap();
    let counted = "chatkeep_mcp_calls_total{tool=\"get_members\",result=\"ok\"} 3";
    assert!(metrics.contains(counted), "{metrics}");
    assert!(metrics.contains("chatkeep_mcp_call_duration_seconds_count{tool=\"list_channels\"} 1"));
    let by_route = "chatkeep_http_requests_total{method=\"POST\",route=\"/mcp\",status=\"200\"} 4";
    assert!(metrics.contains(by_route), "{metrics}");
    assert!(metrics.contains("chatkeep_build_info{version=\""), "{metrics}");
    assert!(metrics.contains("\nchatkeep_dead_letters_kept 0\n"), "{metrics}");
    let families = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    for name in families.map(|family| family.split_once(' ').unwrap().0) {
        let help = format!("# HELP {name} ");
        let line = metrics.lines().find(|line| line.starts_with(&help));
        assert!(line.is_some_and(|line| line.contains(" Unit: ")), "{name} is not described");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_go_in_the_order_that_is_asked_for() {
    let models = pubsub().await;
    let batch = [
        message("f1", ANN, "2026-01-05T00:00:00Z", "the fee is paid, the fee, the fee"),
        message(
            "f2",
            ANN,
            "2026-01-06T00:00:00Z",
            "from now on, and until the next assembly, \
                                                    the fee is 2980 as was decided there",
        ),
    ];
    models.keep_findable(&batch, "fee", 2).await;
    for (sort, expected, told) in [
        (json!(null), ["f1", "f2"], "best first"),
        (json!("relevance"), ["f1", "f2"], "best first"),
        (json!("newest"), ["f2", "f1"], "newest first"),
    ] {
        let found = models.call("search_messages", json!({"query": "fee", "sort": sort})).await;
        assert_eq!(texts(&found.given()["hits"], "id"), expected, "{sort}");
        assert!(found.text().contains(&format!("2 of 2 found, {told}.")), "{}", found.text());
    }
    for (order, expected, told) in [
        ("desc", ["f2", "f1", "m4", "m3", "m2", "m1"], "newest first"),
        ("asc", ["m1", "m2", "m3", "m4", "f1", "f2"], "oldest first"),
    ] {
        let (mut asked, mut seen) =
            (json!({"channelId": CHANNEL, "order": order, "limit": 4}), vec![]);
        loop {
            let page = models.call("get_messages", asked.clone()).await;
            assert!(page.text().contains(told), "{}", page.text());
            seen.extend(texts(&page.given()["messages"], "id"));
            let Some(cursor) = page.given()["nextCursor"].as_str() else { break };
            asked["cursor"] = json!(cursor);
        }
        assert_eq!(seen, expected, "{order}");
    }
    let after =
        json!({"channelId": CHANNEL, "from": "2026-01-02T04:00:00Z", "order": "asc", "limit": 1});
    let after = models.call("get_messages", after).await;
    assert_eq!(texts(&after.given()["messages"], "id"), ["m2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_found_so_is_told() {
    let models = pubsub().await;
    models.channel("C2", &[ANN]).await;
    for zone in [CHANNEL, "C2"].map(|id| models.set_zone(id, "Asia/Taipei")) {
        zone.await;
    }
    models.keep_findable(&[], "lunch", 1).await;
    let hints = async |asked: Value| {
        let answer = models.call("search_messages", asked).await;
        let hints = answer.given()["hints"].as_array().cloned().unwrap_or_default();
        let hints: Vec<_> = hints.iter().map(|hint| hint.as_str().unwrap().to_owned()).collect();
        assert!(hints.iter().all(|hint| answer.text().contains(hint)), "{}", answer.text());
        hints
    };
    for (asked, remedy) in [
        (json!({"query": "lunch type:image"}), "look around the hits with get_context"),
        (json!({"query": "lunch has:media"}), "look around the hits with get_context"),
        (json!({"query": "lunch mentions:me"}), "get_overview lists mentions"),
        (
            json!({"query": "lunch after:2026-01-01"}),
            "read in UTC, which is the zone of no channel",
        ),
        (json!({"query": "lunch", "to": "2026-02-01"}), "(Asia/Taipei): give timeZone"),
    ] {
        let hints = hints(asked.clone()).await;
        assert!(hints.len() == 1 && hints[0].contains(remedy), "{asked}: {hints:?}");
    }
    for asked in [
        json!({"query": "type:image"}),
        json!({"query": "lunch type:text"}),
        json!({"query": "lunch", "to": "2026-02-01", "timeZone": "UTC"}),
        json!({"query": "lunch", "to": "2026-02-01", "channelId": CHANNEL}),
        json!({"query": "lunch", "to": "2026-02-01T00:00:00Z"}),
        json!({"query": "lunch"}),
    ] {
        assert_eq!(hints(asked.clone()).await, [""; 0], "{asked}");
    }
    // A zone that one of the channels has is as good as another.
    models.channel("C3", &[ANN]).await;
    assert_eq!(hints(json!({"query": "lunch", "to": "2026-02-01"})).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_say_what_to_do_next() {
    let models = pubsub().await;
    let page = models.call("get_messages", json!({"channelId": CHANNEL, "limit": 1})).await;
    let cursor = page.given()["nextCursor"].as_str().unwrap();
    for (tool, arguments, expected) in [
        ("get_messages", json!({"channelId": "Cnone"}), "call list_channels"),
        ("get_messages", json!({"channelId": ""}), "call list_channels"),
        ("get_members", json!({"channelId": "Cnone\n"}), "No channel \"Cnone\""),
        ("search_messages", json!({"query": "x", "channelId": "Cnone"}), "call list_channels"),
        ("get_messages", json!({}), "channelId is missing"),
        (
            "get_messages",
            json!({"channelId": CHANNEL, "limit": 500}),
            "limit must be a whole number",
        ),
        ("get_messages", json!({"channelId": CHANNEL, "date": "today"}), "date must be a day"),
        ("get_messages", json!({"channelId": CHANNEL, "from": "soon"}), "from must be a day"),
        (
            "get_messages",
            json!({"channelId": CHANNEL, "sort": "asc"}),
            "sort is unknown: allowed are channelId, date",
        ),
        (
            "get_messages",
            json!({"channelId": CHANNEL, "order": "up"}),
            "order must be one of desc, asc",
        ),
        ("search_messages", json!({"query": "x", "sort": "best"}), "sort must be one of relevance"),
        (
            "get_messages",
            json!({"channelId": "c1"}),
            "short names such as p1 and c1 are those of one",
        ),
        (
            "search_messages",
            json!({"query": "x", "senderId": "p1"}),
            "short names such as p1 and c1 are those of one",
        ),
        (
            "search_messages",
            json!({"query": "x after:2026-01-02 before:2026-01-01"}),
            "query: no time is left: before: and to must be later",
        ),
        (
            "search_messages",
            json!({"query": "x after:2026-01-02", "to": "2026-01-02"}),
            "query: no time is left: before: and to must be later",
        ),
        ("get_messages", json!({"channelId": CHANNEL, "cursor": "x"}), "call again without cursor"),
        (
            "get_messages",
            json!({"channelId": CHANNEL, "cursor": cursor, "senderId": ANN}),
            "call again without cursor",
        ),
        ("get_members", json!({"channelId": CHANNEL, "cursor": cursor}), "without cursor"),
        (
            "get_members",
            json!({"channelId": CHANNEL, "status": "gone"}),
            "status must be one of active, left",
        ),
        (
            "get_messages",
            json!({"channelId": CHANNEL, "senderId": "Aiko"}),
            "senderId \"Aiko\" is nobody's userId or name here: get_members lists members",
        ),
        ("search_messages", json!({"query": "x", "senderId": "Aiko"}), "get_members lists members"),
        (
            "search_messages",
            json!({"query": "x", "channelId": "Cnone", "senderId": "Aiko"}),
            "call list_channels",
        ),
        ("search_messages", json!({"query": " "}), "query is empty: from:NAME"),
        ("search_messages", json!({"query": "type:song"}), "query: "),
        ("list_channels", json!({"cursor": cursor}), "without cursor"),
    ] {
        let answer = models.call(tool, arguments.clone()).await;
        let refusal = answer.refusal();
        assert!(refusal.contains(expected), "{tool} {arguments}: {refusal}");
    }
}
