//! Times: shown in the channel's zone with their offset, read in it, and told as they were read.

use chatkeep_store::PresenceEvidenceKind;
use serde_json::json;

use super::{ANN, CHANNEL, Models, message, message_in, texts};
use crate::store::item;

const NEW_YORK: &str = "America/New_York";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_has_its_own_clock() {
    let models = Models::start(&[]).await;
    models.set_zone(CHANNEL, "Asia/Taipei").await;
    models
        .keep(&[
            message("m1", ANN, "2026-04-30T15:59:59Z", "april"),
            message("m2", ANN, "2026-04-30T16:00:00Z", "may"),
        ])
        .await;
    let asked = json!({"channelId": CHANNEL, "date": "2026-05-01"});
    let answer = models.call("get_messages", asked).await;
    let given = answer.given();
    assert_eq!(texts(&given["messages"], "id"), ["m2"]);
    assert_eq!(given["messages"][0]["time"], "2026-05-01T00:00:00+08:00");
    assert_eq!(given["timeZone"], "Asia/Taipei");
    let expected = json!({
        "from": "2026-05-01T00:00:00+08:00", "to": "2026-05-02T00:00:00+08:00",
        "timeZone": "Asia/Taipei",
    });
    assert_eq!(given["interpreted"], expected);
    assert!(
        answer.text().contains("\n2026-05-01 +08:00\n00:00:00 p1 \"may\""),
        "{}",
        answer.text()
    );
    let asked = json!({"channelId": CHANNEL, "from": "2026-04-30T16:00:00.5Z", "to": "2026-06"});
    let refused = models.call("get_messages", asked).await;
    assert!(refused.refusal().contains("to must be a day such as"), "{}", refused.refusal());
    let day =
        json!({"channelId": CHANNEL, "query": "may", "from": "2026-05-01", "to": "2026-05-01"});
    let refused = models.call("search_messages", day).await;
    assert!(refused.refusal().contains("to must be later than from"), "{}", refused.refusal());
    let asked = json!({"channelId": CHANNEL, "from": "2026-04-30T15:00:00.5Z"});
    let answer = models.call("get_messages", asked).await;
    assert_eq!(answer.given()["interpreted"]["from"], "2026-04-30T23:00:00.500+08:00");
    let bare = models.call("get_messages", json!({"channelId": CHANNEL})).await;
    assert!(bare.given()["interpreted"].is_null(), "nothing was read");
    for (tool, arguments) in [
        ("get_members", json!({"channelId": CHANNEL})),
        ("get_context", json!({"message": "m1"})),
        ("search_messages", json!({"query": "may", "channelId": CHANNEL})),
    ] {
        let answer = models.call(tool, arguments).await;
        assert_eq!(answer.given()["timeZone"], "Asia/Taipei", "{tool}");
        assert!(answer.text().contains("Asia/Taipei"), "{tool}");
    }
    let members = models.call("get_members", json!({"channelId": CHANNEL})).await;
    assert_eq!(members.given()["members"][0]["joinedAt"], "1970-01-01T08:00:00+08:00");
    let listed = models.call("list_channels", json!({})).await;
    assert_eq!(listed.given()["channels"][0]["timeZone"], "Asia/Taipei");
    assert_eq!(listed.given()["channels"][0]["lastMessageAt"], "2026-05-01T00:00:00+08:00");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_removed_is_no_silence() {
    let mut models = Models::start(&[]).await;
    models.channel("C2", &[ANN]).await;
    let batch = [
        message("m1", ANN, "2026-01-10T05:00:00Z", "needle one"),
        message("m2", ANN, "2026-01-20T05:00:00Z", "needle two"),
        message_in("C2", "m3", ANN, "2026-01-10T05:00:00Z", "needle three"),
    ];
    models.keep_findable(&batch, "needle", 3).await;
    models.stack.use_key("ck_ann");
    let path = format!("/channels/{CHANNEL}/backup/messages?before=2026-01-15T00:00:00Z");
    let (status, body) = models.stack.call(reqwest::Method::DELETE, &path, None).await;
    assert!(status.is_success(), "{body}");
    let removed = json!({"to": "2026-01-15T00:00:00Z", "reason": "removed"});
    let is_told = async |tool: &str, asked: serde_json::Value| {
        let answer = models.call(tool, asked).await;
        let told = answer.given()["gaps"].as_array().unwrap().contains(&removed);
        let line = "Removed, not stored from the beginning to 2026-01-15T00:00:00Z (removed).";
        assert_eq!(answer.text().contains(line), told, "{}", answer.text());
        told
    };
    let of = |more: serde_json::Value| {
        let mut asked = json!({"channelId": CHANNEL});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked
    };
    assert!(is_told("get_messages", of(json!({"date": "2026-01-10"}))).await);
    assert!(is_told("get_messages", of(json!({}))).await);
    assert!(!is_told("get_messages", of(json!({"from": "2026-01-15"}))).await);
    assert!(is_told("search_messages", of(json!({"query": "one", "to": "2026-01-12"}))).await);
    assert!(is_told("get_context", json!({"message": "m2"})).await);
    let all = models.call("search_messages", json!({"query": "needle"})).await;
    let gaps = all.given()["gaps"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["reason"] == "removed").unwrap();
    assert_eq!(gap["from"], json!(null), "{gap}");
    assert_eq!(gap["channels"].as_array().unwrap().len(), 1, "of the other nothing was removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_that_cannot_be_known_are_no_silence() {
    let models = Models::start(&[]).await;
    let begin = chatkeep_core::time::Timestamp::parse("2026-01-10T00:00:00Z").unwrap();
    let present = item("C2", begin.millis() - 70, PresenceEvidenceKind::Present(ANN.into()));
    models.store.members().record_presence(&[present], begin).await.unwrap();
    models.store.accounts().subscribe(&"C2".into(), &ANN.into(), begin).await.unwrap();
    let since = chatkeep_core::time::Timestamp::parse("2026-01-20T00:00:00Z").unwrap();
    models.key("ck_since", ANN, |key| key.not_before = Some(since)).await;
    let batch = [
        message_in("C2", "m1", ANN, "2026-01-15T00:00:00Z", "needle one"),
        message_in("C2", "m2", ANN, "2026-01-25T00:00:00Z", "needle two"),
    ];
    models.keep_findable(&batch, "needle", 2).await;
    let before = json!({"to": "2026-01-10T00:00:00Z", "reason": "before_backup"});
    let hidden = json!({"to": "2026-01-20T00:00:00Z", "reason": "not_readable"});
    let told = async |key: &str, tool: &str, asked: serde_json::Value| {
        let answer = models.call_as(key, tool, asked).await;
        let gaps = answer.given()["gaps"].as_array().unwrap().clone();
        for gap in &gaps {
            let reason = format!("({})", gap["reason"].as_str().unwrap());
            assert!(answer.text().contains(&reason), "{}", answer.text());
        }
        gaps
    };
    let list = |more: &str, value: &str| json!({"channelId": "C2", more: value});
    let find = |more: &str, value: &str| json!({"channelId": "C2", "query": "needle", more: value});
    for (key, tool, asked, expected) in [
        ("ck_ann", "get_messages", list("date", "2025-06-01"), vec![&before]),
        ("ck_ann", "get_messages", list("to", "2026-01-12"), vec![&before]),
        ("ck_ann", "get_messages", list("from", "2026-01-10"), vec![]),
        ("ck_ann", "search_messages", find("to", "2025-06-01"), vec![&before]),
        ("ck_ann", "search_messages", find("from", "2026-01-11"), vec![]),
        ("ck_since", "get_messages", list("date", "2026-01-15"), vec![&hidden]),
        ("ck_since", "get_messages", list("from", "2026-01-20"), vec![]),
        ("ck_since", "get_messages", list("from", "2026-01-19T23:59:59Z"), vec![&hidden]),
        ("ck_since", "search_messages", find("to", ""), vec![&hidden]),
        ("ck_since", "search_messages", find("from", "2026-01-20"), vec![]),
    ] {
        let gaps = told(key, tool, asked.clone()).await;
        assert_eq!(gaps.iter().collect::<Vec<_>>(), expected, "{key} {tool} {asked}");
    }
    // A page that does not reach the begin says nothing of it.
    let page = json!({"channelId": "C2", "limit": 1});
    assert_eq!(told("ck_ann", "get_messages", page).await, [] as [serde_json::Value; 0]);
    let all = told("ck_ann", "search_messages", json!({"query": "needle"})).await;
    // Each channel has its own.
    let told: Vec<_> = all.iter().filter(|gap| gap["reason"] == "before_backup").collect();
    assert_eq!((told.len(), &told[0]["to"]), (2, &before["to"]));
    assert!(told.iter().all(|gap| gap["channels"].as_array().unwrap().len() == 1), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imported_time_is_not_called_empty() {
    let models = Models::start(&[]).await;
    let time = |text: &str| chatkeep_core::time::Timestamp::parse(text).unwrap();
    let begin = time("2026-01-10T00:00:00Z");
    let present = item("C2", begin.millis() - 70, PresenceEvidenceKind::Present(ANN.into()));
    models.store.members().record_presence(&[present], begin).await.unwrap();
    models.store.accounts().subscribe(&"C2".into(), &ANN.into(), begin).await.unwrap();
    for (key, start) in [
        ("ck_early", "2026-01-03T00:00:00Z"),
        ("ck_middle", "2026-01-06T00:00:00Z"),
        ("ck_late", "2026-01-12T00:00:00Z"),
    ] {
        models.key(key, ANN, |key| key.not_before = Some(time(start))).await;
    }
    let batch = [
        message_in("C2", "m1", ANN, "2026-01-05T00:00:00Z", "needle one"),
        message_in("C2", "m2", ANN, "2026-01-15T00:00:00Z", "needle two"),
    ];
    models.keep_findable(&batch, "needle", 2).await;
    let hidden = |to: &str| json!({"to": to, "reason": "not_readable"});
    let missing = |from: Option<&str>, to: &str, reason: &str| match from {
        Some(from) => json!({"from": from, "to": to, "reason": reason}),
        None => json!({"to": to, "reason": reason}),
    };
    let (imported, before, tenth) = ("imported", "before_backup", "2026-01-10T00:00:00Z");
    let (third, sixth) = ("2026-01-03T00:00:00Z", "2026-01-06T00:00:00Z");
    let twelfth = hidden("2026-01-12T00:00:00Z");
    for (key, asked, expected) in [
        ("ck_ann", json!({"date": "2026-01-05"}), vec![missing(None, tenth, imported)]),
        ("ck_ann", json!({"date": "2026-01-07"}), vec![missing(None, tenth, imported)]),
        ("ck_ann", json!({}), vec![missing(None, tenth, imported)]),
        (
            "ck_ann",
            json!({"to": "2026-01-02"}),
            vec![missing(None, "2026-01-05T00:00:00Z", before)],
        ),
        ("ck_ann", json!({"from": "2026-01-10"}), vec![]),
        ("ck_early", json!({"date": "2026-01-02"}), vec![hidden(third)]),
        ("ck_early", json!({}), vec![hidden(third), missing(Some(third), tenth, imported)]),
        // That there are older messages is not told.
        ("ck_middle", json!({}), vec![hidden(sixth), missing(Some(sixth), tenth, before)]),
        ("ck_middle", json!({"date": "2026-01-05"}), vec![hidden(sixth)]),
        ("ck_late", json!({"date": "2026-01-05"}), vec![twelfth.clone()]),
        ("ck_late", json!({}), vec![twelfth]),
    ] {
        let mut list = json!({"channelId": "C2"});
        list.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let answer = models.call_as(key, "get_messages", list.clone()).await;
        assert_eq!(answer.given()["gaps"], json!(expected), "{key} {asked}");
        if asked.get("date").is_none() {
            list["query"] = json!("needle");
            let answer = models.call_as(key, "search_messages", list).await;
            assert_eq!(answer.given()["gaps"], json!(expected), "{key} {asked}");
        }
    }
    let all = models.call("get_messages", json!({"channelId": "C2"})).await;
    let line =
        "\nBefore backup began, only what was imported is stored from the beginning to 2026-01-10";
    assert!(all.text().contains(line), "{}", all.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overview_tells_where_its_time_cannot_be_known() {
    let models = Models::start(&[]).await;
    let now = super::now();
    let day = std::time::Duration::from_hours(24);
    let begin = now.minus(day * 2);
    let present = item("C2", begin.millis(), PresenceEvidenceKind::Present(ANN.into()));
    models.store.members().record_presence(&[present], begin).await.unwrap();
    models.store.accounts().subscribe(&"C2".into(), &ANN.into(), begin).await.unwrap();
    models.key("ck_since", ANN, |key| key.not_before = Some(now.minus(day))).await;
    let reasons = async |key: &str, days: u32| {
        let asked = json!({"channelId": "C2", "days": days});
        texts(&models.call_as(key, "get_overview", asked).await.given()["gaps"], "reason")
    };
    assert_eq!(reasons("ck_ann", 3).await, ["before_backup"]);
    assert_eq!(reasons("ck_ann", 1).await, [""; 0]);
    assert_eq!(reasons("ck_since", 3).await, ["not_readable"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_time_in_the_middle_is_told_as_it_was_read() {
    let models = Models::start(&[]).await;
    models.set_zone(CHANNEL, "Asia/Taipei").await;
    let read = async |around: &str| {
        let asked = json!({"channelId": CHANNEL, "around": around});
        models.call("get_messages", asked).await.given()["interpreted"].clone()
    };
    let expected = json!({"around": "2026-10-03T12:50:00+08:00", "timeZone": "Asia/Taipei"});
    assert_eq!(read("2026-10-03T12:50:00").await, expected);
    assert_eq!(read("2026-10-03T12:50:00Z").await, json!(null), "it has one meaning");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_of_all_channels_are_read_in_the_zone_of_the_caller() {
    let models = Models::start(&[]).await;
    models.channel("C2", &[ANN]).await;
    models.set_zone("C2", "Asia/Tokyo").await;
    let batch = [
        message("m1", ANN, "2026-01-10T04:59:59Z", "needle one"),
        message_in("C2", "m2", ANN, "2026-01-10T05:00:00Z", "needle two"),
        message("m3", ANN, "2026-07-10T03:59:59Z", "needle three"),
        message("m4", ANN, "2026-07-10T04:00:00Z", "needle four"),
    ];
    models.keep_findable(&batch, "needle", 4).await;
    let search = async |more: serde_json::Value| {
        let mut asked = json!({"query": "needle"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = models.call("search_messages", asked).await;
        let mut found = texts(&answer.given()["hits"], "id");
        found.sort();
        (found, answer.given().clone())
    };
    let (found, given) = search(json!({"from": "2026-01-10", "to": "2026-07-10"})).await;
    assert_eq!(found, ["m1", "m2"]);
    let expected =
        json!({"from": "2026-01-10T00:00:00Z", "to": "2026-07-10T00:00:00Z", "timeZone": "UTC"});
    assert_eq!((&given["interpreted"], &given["timeZone"]), (&expected, &json!("UTC")));
    // Winter and summer have different offsets.
    let dates = json!({"from": "2026-01-10", "to": "2026-07-10", "timeZone": NEW_YORK});
    let (found, given) = search(dates).await;
    assert_eq!(found, ["m2", "m3"]);
    let expected = json!({
        "from": "2026-01-10T00:00:00-05:00", "to": "2026-07-10T00:00:00-04:00",
        "timeZone": NEW_YORK,
    });
    assert_eq!((&given["interpreted"], &given["timeZone"]), (&expected, &json!(NEW_YORK)));
    for hit in given["hits"].as_array().unwrap() {
        let time = if hit["id"] == "m2" {
            "2026-01-10T00:00:00-05:00"
        } else {
            "2026-07-09T23:59:59-04:00"
        };
        assert_eq!(hit["time"], time);
    }
    let zones: Vec<_> = given["channels"].as_object().unwrap().values().collect();
    assert!(zones.iter().any(|row| row["channelId"] == "C2" && row["timeZone"] == "Asia/Tokyo"));
    // The query's own days are read alike.
    let query = json!({"query": "needle after:2026-01-10 before:2026-07-10", "timeZone": NEW_YORK});
    let (found, given) = search(query).await;
    assert_eq!(found, ["m2", "m3"]);
    assert_eq!(given["interpreted"], expected);
    let (_, given) = search(json!({"channelId": "C2"})).await;
    assert_eq!(given["timeZone"], "Asia/Tokyo", "one channel has its own clock");
    for (zone, hint) in
        [("Asia/Tapei", "(did you mean Asia/Taipei?)"), ("+08:00", "must be an IANA")]
    {
        let asked = json!({"query": "needle", "timeZone": zone});
        let refused = models.call("search_messages", asked).await;
        assert!(refused.refusal().contains(hint), "{}", refused.refusal());
    }
    let first = models.call("search_messages", json!({"query": "needle", "limit": 1})).await;
    let cursor = &first.given()["nextCursor"];
    let asked = json!({"query": "needle", "limit": 1, "cursor": cursor, "timeZone": NEW_YORK});
    let refused = models.call("search_messages", asked).await;
    assert!(refused.refusal().contains("another query"), "{}", refused.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_of_all_channels_have_the_days_of_the_service() {
    let models = Models::start(&[("CHATKEEP_TIME_ZONE", "Asia/Taipei")]).await;
    models.channel("C2", &[ANN]).await;
    let batch = [
        message("m1", ANN, "2026-04-30T15:59:59Z", "needle april"),
        message_in("C2", "m2", ANN, "2026-04-30T16:00:00Z", "needle may"),
    ];
    models.keep_findable(&batch, "needle", 2).await;
    for asked in [
        json!({"query": "needle", "from": "2026-05-01"}),
        json!({"query": "needle after:2026-05-01"}),
    ] {
        let answer = models.call("search_messages", asked).await;
        let given = answer.given();
        assert_eq!(texts(&given["hits"], "id"), ["m2"]);
        assert_eq!(given["timeZone"], "Asia/Taipei");
        assert_eq!(given["interpreted"]["from"], "2026-05-01T00:00:00+08:00");
    }
    let found = models.call("search", json!({"query": "needle before:2026-05-01"})).await;
    let titles = texts(&found.given()["results"], "title");
    assert!(titles[0].ends_with("2026-04-30T23:59:59+08:00"), "{titles:?}");
    assert_eq!(titles.len(), 1);
    for id in [CHANNEL, "C2"] {
        models.name_channel(id, "Twins").await;
    }
    let refused = models.call("get_messages", json!({"channelId": "twins"})).await;
    let last = "(last message 2026-05-01T00:00:00+08:00)";
    assert!(refused.refusal().contains(last), "{}", refused.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hours_that_clocks_skip_or_repeat_are_told() {
    let models = Models::start(&[]).await;
    models.set_zone(CHANNEL, NEW_YORK).await;
    models
        .keep(&[
            message("m1", ANN, "2026-11-01T05:30:00Z", "first half past one"),
            message("m2", ANN, "2026-11-01T06:30:00Z", "second half past one"),
        ])
        .await;
    let read = async |from: &str| {
        let asked = json!({"channelId": CHANNEL, "from": from});
        let answer = models.call("get_messages", asked).await;
        let from = answer.given()["interpreted"]["from"].as_str().unwrap().to_owned();
        (texts(&answer.given()["messages"], "time"), from)
    };
    let (both, from) = read("2026-11-01T01:30").await;
    assert_eq!(both, ["2026-11-01T01:30:00-05:00", "2026-11-01T01:30:00-04:00"]);
    assert_eq!(from, "2026-11-01T01:30:00-04:00");
    let (second, _) = read("2026-11-01T01:30-05:00").await;
    assert_eq!(second, ["2026-11-01T01:30:00-05:00"]);
    assert_eq!(read("2026-03-08T02:30").await.1, "2026-03-08T03:00:00-04:00");
    // A day of twenty-five hours.
    let asked = json!({"channelId": CHANNEL, "date": "2026-11-01"});
    let answer = models.call("get_messages", asked).await;
    assert_eq!(answer.given()["messages"].as_array().unwrap().len(), 2);
    assert_eq!(answer.given()["interpreted"]["from"], "2026-11-01T00:00:00-04:00");
    assert_eq!(answer.given()["interpreted"]["to"], "2026-11-02T00:00:00-05:00");
    let text = answer.text();
    assert!(
        text.contains("\n2026-11-01 -05:00\n01:30:00")
            && text.contains("\n2026-11-01 -04:00\n01:30:00"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_that_no_zone_could_show_are_refused_by_name() {
    let models = Models::start(&[]).await;
    models.set_zone(CHANNEL, "Asia/Taipei").await;
    models.keep(&[message("m1", ANN, "2026-04-30T16:00:00Z", "may")]).await;
    let beyond = [
        // Chrono's last second and its first one: a zone east or west of London cannot show them.
        "+262142-12-31T23:59:59Z",
        "-262143-01-01T00:00:00Z",
        "+262142-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59-23:59",
        "+262142-12-31",
        "+10000-01-01T00:00:01",
    ];
    for time in beyond {
        for (tool, field) in [
            ("get_messages", "from"),
            ("get_messages", "to"),
            ("search_messages", "from"),
            ("search_messages", "to"),
        ] {
            let mut asked = json!({"channelId": CHANNEL});
            if tool == "search_messages" {
                asked = json!({"query": "may", "timeZone": "Asia/Taipei"});
            }
            asked[field] = json!(time);
            let refused = models.call(tool, asked).await;
            assert!(refused.refusal().starts_with(field), "{tool} {time}: {}", refused.refusal());
        }
        let query = json!({"query": format!("may before:{time}"), "timeZone": "Asia/Taipei"});
        let refused = models.call("search_messages", query).await;
        assert!(refused.refusal().contains("before: takes a day"), "{}", refused.refusal());
    }
    let asked = json!({"channelId": CHANNEL, "date": "+262142-12-31"});
    let refused = models.call("get_messages", asked).await;
    assert!(refused.refusal().starts_with("date must be a day"), "{}", refused.refusal());
    // Whoever means all of them says so like this.
    let asked = json!({"channelId": CHANNEL, "from": "0000-01-01", "to": "9999-12-31T23:59:59Z"});
    let answer = models.call("get_messages", asked).await;
    assert_eq!(texts(&answer.given()["messages"], "id"), ["m1"]);
    let read = &answer.given()["interpreted"];
    assert!(read["from"].as_str().unwrap().starts_with("0000-01-01T"), "{read}");
    assert_eq!(read["to"], "9999-12-31T23:59:59.999+08:00");
}
