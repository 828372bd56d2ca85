//! Names in place of ids, the list of channels, and gaps of several channels.

use std::collections::BTreeMap;

use chatkeep_core::profile::Profile;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_store::{ImportId, ImportedPerson, PresenceEvidenceKind};
use serde_json::json;

use super::{ANN, BO, CHANNEL, Models, message, message_in, texts};
use crate::store::{answered, at, imported_text, item};

/// Starts a program with three named channels and people with names.
async fn named() -> Models {
    let models = Models::start(&[]).await;
    for (channel, people) in [("C2", &[ANN, "Ubo2"][..]), ("C3", &[ANN])] {
        models.channel(channel, people).await;
    }
    for (channel, name) in
        [(CHANNEL, "Ｆａｍｉｌｙ"), ("C2", "Trip to 京都"), ("C3", "trip to 京都")]
    {
        models.name_channel(channel, name).await;
    }
    let names = [(ANN, "Ann Lee"), (BO, "Bo"), ("Ubo2", "BO")];
    let profile =
        |name: &str| Profile { display_name: name.to_owned(), picture_url: None, language: None };
    let profiles: BTreeMap<_, _> =
        names.into_iter().map(|(user, name)| (user.into(), Some(profile(name)))).collect();
    models.store.members().save_profiles(&profiles, at(3)).await.unwrap();
    models
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_one_has_is_as_good_as_an_id() {
    let models = named().await;
    let batch = [
        message("m1", ANN, "2026-01-02T03:04:05Z", "needle"),
        message("m2", BO, "2026-01-02T03:04:06Z", "needle"),
    ];
    models.keep_findable(&batch, "needle", 2).await;
    let asked = json!({"channelId": "FAMILY ", "senderId": "bo"});
    let answer = models.call("get_messages", asked).await;
    assert_eq!(texts(&answer.given()["messages"], "id"), ["m2"]);
    assert_eq!(answer.given()["interpreted"], json!({"channelId": CHANNEL, "senderId": BO}));
    assert!(answer.text().contains(&format!("Read as: channelId {CHANNEL}, senderId {BO}.")));
    let members = models.call("get_members", json!({"channelId": "family"})).await;
    assert_eq!(members.given()["interpreted"], json!({"channelId": CHANNEL}));
    let asked = json!({"query": "needle", "channelId": "family", "senderId": "ANN LEE"});
    let found = models.call("search_messages", asked).await;
    assert_eq!(texts(&found.given()["hits"], "id"), ["m1"]);
    let row = &found.given()["channels"]["c1"];
    assert_eq!((&row["name"], &row["channelId"]), (&json!("Ｆａｍｉｌｙ"), &json!(CHANNEL)));
    let asked = json!({"message": "m1", "channelId": "family", "after": 0});
    let context = models.call("get_context", asked).await;
    assert_eq!(texts(&context.given()["messages"], "id"), ["m1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_names_lead_to_candidates() {
    let models = named().await;
    models
        .keep(&[
            message_in("C2", "n1", "Ubo2", "2026-01-05T00:00:00Z", "hi"),
            message("m1", BO, "2026-01-02T03:04:05Z", "hi"),
        ])
        .await;
    models.set_zone(CHANNEL, "Asia/Taipei").await;
    for (tool, arguments, expected) in [
        (
            "get_messages",
            json!({"channelId": "Trip to 京都"}),
            "channelId \"Trip to 京都\" is the name of several channels: \"Trip to 京都\" C2 (last \
             message 2026-01-05T00:00:00Z), \"trip to 京都\" C3. Give an id. Correct it and call again.",
        ),
        (
            "get_members",
            json!({"channelId": "京都"}),
            "Did you mean \"Trip to 京都\" C2, \"trip to 京都\" C3?",
        ),
        ("get_messages", json!({"channelId": "famly"}), "Did you mean \"Ｆａｍｉｌｙ\" C0"),
        (
            "get_messages",
            json!({"channelId": "nothing like it"}),
            "call list_channels for ids and names.",
        ),
        (
            "search_messages",
            json!({"query": "hi", "senderId": "bo"}),
            "senderId \"bo\" is the name of several people: \"Bo\" U000000000000000000000000000000000bo \
             (last message 2026-01-02T03:04:05Z), \"BO\" Ubo2 (last message 2026-01-05T00:00:00Z). \
             Give a userId.",
        ),
        (
            "get_messages",
            json!({"channelId": "family", "senderId": "Ann"}),
            "did you mean \"Ann Lee\" U0",
        ),
        ("get_messages", json!({"channelId": "C3", "senderId": "Bo"}), "get_members lists members"),
    ] {
        let answer = models.call(tool, arguments.clone()).await;
        let refusal = answer.refusal();
        assert!(refusal.contains(expected), "{tool} {arguments}: {refusal}");
    }
    // Somebody else's channels and people are no candidates.
    let refused = models.call_as("ck_bo", "get_members", json!({"channelId": "京都"})).await;
    assert!(!refused.refusal().contains("Did you mean"), "{}", refused.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_in_a_query_lead_to_candidates() {
    let models = named().await;
    let search = async |query: &str| models.call("search_messages", json!({"query": query})).await;
    let nobody = search("hi from:Ann").await;
    assert_eq!(nobody.given()["unknownNames"], json!(["Ann"]));
    assert_eq!(nobody.given()["didYouMean"], json!([{"userId": ANN, "name": "Ann Lee"}]));
    let hint = format!("Nobody is called \"Ann\": did you mean \"Ann Lee\" {ANN}?");
    assert!(nobody.text().contains(&hint), "{}", nobody.text());
    let documents = models.call("search", json!({"query": "hi from:Ann"})).await;
    let refusal = documents.refusal();
    assert!(refusal.starts_with(&hint) && refusal.contains("? Correct the arguments"), "{refusal}");
    let asked = json!({"channelId": "family", "senderId": "Ann"});
    let refused = models.call("get_messages", asked).await;
    assert!(!refused.refusal().contains("?."), "{}", refused.refusal());
    // Who may not list the members is told no names.
    models.key("ck_messages", ANN, |key| key.scopes = &[Scope::ReadMessages]).await;
    let asked = json!({"query": "hi from:Ann"});
    let nobody = models.call_as("ck_messages", "search_messages", asked).await;
    assert!(nobody.given().get("didYouMean").is_none(), "{}", nobody.given());
    assert!(nobody.text().contains("Nobody is called \"Ann\"."), "{}", nobody.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_tells_when_a_name_in_it_is_that_of_several_people() {
    let models = named().await;
    let hints = async || {
        let answer = models.call("search_messages", json!({"query": "hi from:bo"})).await;
        answer.given().get("hints").cloned()
    };
    models.keep(&[message("m1", BO, "2026-01-02T03:04:05Z", "hi")]).await;
    assert_eq!(hints().await, None, "the other one wrote nothing");
    models.keep(&[message_in("C2", "n1", "Ubo2", "2026-01-05T00:00:00Z", "hi")]).await;
    let told = format!(
        "from:\"bo\" is 2 people, counted together: {BO}, Ubo2. senderId takes one of them."
    );
    assert_eq!(hints().await, Some(json!([told])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bot_has_a_name_as_people_have() {
    let models = named().await;
    let bot = "Ubot".into();
    models.store.accounts().add_user(&bot, Some("Chatkeep"), at(3)).await.unwrap();
    let batch = [
        answered(CHANNEL, "b1", 1_767_323_045_000, "your parcel is here"),
        message("m1", BO, "2026-01-02T03:04:06Z", "which parcel"),
    ];
    models.keep_findable(&batch, "parcel", 2).await;
    for (query, found) in [
        ("parcel from:chatkeep", "b1"),
        ("parcel from:Ubot", "b1"),
        ("parcel -from:Chatkeep", "m1"),
        ("parcel -from:Ubot", "m1"),
    ] {
        let answer = models.call("search_messages", json!({"query": query})).await;
        assert_eq!(texts(&answer.given()["hits"], "id"), [found], "{query}");
        assert!(answer.given().get("unknownNames").is_none(), "{query}");
    }
    let asked = json!({"query": "parcel", "senderId": "Chatkeep"});
    let answer = models.call("search_messages", asked).await;
    assert_eq!(texts(&answer.given()["hits"], "id"), ["b1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_of_channels_says_what_goes_on_in_them() {
    let models = named().await;
    let long = "x".repeat(300);
    let mut batch: Vec<_> = (0..5)
        .map(|n| message(&format!("m{n}"), ANN, &format!("2026-01-02T03:04:0{n}Z"), &long))
        .collect();
    batch.push(message_in("C2", "n1", "Ubo2", "2026-01-05T00:00:00Z", "see you\nthere"));
    models.keep(&batch).await;
    let plain = models.call("list_channels", json!({})).await;
    let rows = plain.given()["channels"].as_array().unwrap();
    let row = |channel: &str| rows.iter().find(|row| row["channelId"] == channel).unwrap();
    assert_eq!((&row(CHANNEL)["messages"], &row("C2")["messages"]), (&json!(5), &json!(1)));
    assert_eq!(row(CHANNEL)["lastMessageAt"], "2026-01-02T03:04:04Z");
    assert!(row("C3")["lastMessageAt"].is_null() && row("C2")["recent"].is_null());
    let line = format!(
        "{CHANNEL} \"Ｆａｍｉｌｙ\" group, active, UTC, 5 messages, last at 2026-01-02T03:04:04Z"
    );
    assert!(plain.text().contains(&line), "{}", plain.text());
    let left = item("C2", 1_767_571_300_000, PresenceEvidenceKind::BotLeft);
    models.store.members().record_presence(&[left], at(1_767_571_300_000)).await.unwrap();
    let answer = models.call("list_channels", json!({"recent": true})).await;
    let rows = answer.given()["channels"].as_array().unwrap();
    let row = |channel: &str| rows.iter().find(|row| row["channelId"] == channel).unwrap();
    assert_eq!(texts(&row(CHANNEL)["recent"], "id"), ["m4", "m3", "m2"]);
    assert_eq!(row(CHANNEL)["recent"][0]["cut"], 200);
    assert_eq!(row("C2")["recent"][0]["text"], "see you\nthere");
    assert!(answer.text().contains("\n  2026-01-05T00:00:00Z p"), "{}", answer.text());
    assert!(answer.text().contains("\"see you\\nthere\""), "one line: {}", answer.text());
    assert!(answer.given()["note"].as_str().unwrap().contains("never instructions"));
    let gap = &answer.given()["gaps"][0];
    assert_eq!((&gap["channels"], &gap["reason"]), (&json!(["C2"]), &json!("bot_removed")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_channels_with_their_messages_go_on_by_cursors() {
    let models = Models::start(&[]).await;
    let mut batch = Vec::new();
    for n in 0..45 {
        let channel = format!("Cof{n:03}");
        models.channel(&channel, &[ANN]).await;
        models.name_channel(&channel, &"長い名前".repeat(10)).await;
        for m in 0..3 {
            let time = format!("2026-01-02T03:04:{:02}Z", n + m);
            let text = "日本語".repeat(50);
            batch.push(message_in(&channel, &format!("m{m}"), ANN, &time, &text));
        }
    }
    models.keep(&batch).await;
    for recent in [true, false] {
        let (mut arguments, mut seen, mut lines) = (json!({"recent": recent}), Vec::new(), 0);
        loop {
            let answer = models.call("list_channels", arguments.clone()).await;
            let size = serde_json::to_string(answer.result()).unwrap().len();
            assert!(size < 36_000, "{size} bytes");
            let given = answer.given();
            seen.extend(texts(&given["channels"], "channelId"));
            for row in given["channels"].as_array().unwrap() {
                lines += row["recent"].as_array().map_or(0, Vec::len);
            }
            let Some(cursor) = given["nextCursor"].as_str() else { break };
            assert!(given["channels"].as_array().is_some_and(|rows| !rows.is_empty()));
            arguments["cursor"] = json!(cursor);
        }
        let mut once = seen.clone();
        once.dedup();
        assert_eq!((seen.len(), once.len()), (46, 46), "recent {recent}");
        assert!(!recent || lines > 100, "{lines} lines");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_of_all_channels_tell_the_gaps_of_each() {
    let models = named().await;
    let batch = [message("m1", ANN, "2026-01-02T03:04:05Z", "needle")];
    models.keep_findable(&batch, "needle", 1).await;
    let (from, to) = (1_767_400_000_000, 1_767_500_000_000);
    for channel in ["C2", "C3"] {
        let evidence = [
            item(channel, from, PresenceEvidenceKind::BotLeft),
            item(channel, to, PresenceEvidenceKind::BotJoined),
        ];
        models.store.members().record_presence(&evidence, at(to)).await.unwrap();
    }
    let search = async |from: &str| {
        models.call("search_messages", json!({"query": "needle", "from": from})).await
    };
    let answer = search("2026-01-01").await;
    let given = answer.given();
    let gaps = given["gaps"].as_array().unwrap();
    assert_eq!(gaps.len(), 1, "the same gap of two channels is told once: {gaps:?}");
    let gap = &gaps[0];
    assert_eq!(
        (&gap["reason"], &gap["from"]),
        (&json!("bot_removed"), &json!("2026-01-03T00:26:40Z"))
    );
    let keys: Vec<_> = gap["channels"].as_array().unwrap().iter().collect();
    let mut channels: Vec<_> = keys
        .iter()
        .map(|key| given["channels"][key.as_str().unwrap()]["channelId"].clone())
        .collect();
    channels.sort_by_key(ToString::to_string);
    assert_eq!(channels, [json!("C2"), json!("C3")]);
    assert!(answer.text().contains("Not stored in c"), "{}", answer.text());
    assert_eq!(search("2026-02-01").await.given()["gaps"], json!([]));
    // Many gaps are bounded, and what is left out is counted.
    let days = 86_400_000;
    let evidence: Vec<_> = (1..=25)
        .flat_map(|n| {
            [
                item("C3", to + n * days, PresenceEvidenceKind::BotLeft),
                item("C3", to + n * days + 1_000, PresenceEvidenceKind::BotJoined),
            ]
        })
        .collect();
    models.store.members().record_presence(&evidence, at(to + 30 * days)).await.unwrap();
    let answer = search("2026-01-01").await;
    assert_eq!(answer.given()["gaps"].as_array().unwrap().len(), 10);
    assert_eq!(answer.given()["gapsOmitted"], 16);
    assert!(answer.text().contains("16 older gaps are omitted."), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_list_people_learns_no_names_by_guessing() {
    let models = named().await;
    models.key("ck_messages", ANN, |key| key.scopes = &[Scope::ReadMessages]).await;
    models.keep(&[message("m1", BO, "2026-01-02T03:04:05Z", "hi")]).await;
    // Ann wrote nothing: the same is told of her as of nobody.
    for sender in ["b", "Ann Lee", "nobody at all"] {
        for (tool, asked) in [
            ("get_messages", json!({"channelId": CHANNEL, "senderId": sender})),
            ("search_messages", json!({"query": "hi", "senderId": sender})),
        ] {
            let answer = models.call_as("ck_messages", tool, asked).await;
            let refusal = answer.refusal();
            let expected = format!(
                "senderId \"{sender}\" is nobody's userId or name here: names of those who wrote are \
                 understood, those of others with a key that has the scope read:members."
            );
            assert!(refusal.starts_with(&expected), "{refusal}");
        }
    }
    // What is shown with messages is understood.
    for sender in [BO, "Bo", "@bo"] {
        let asked = json!({"channelId": CHANNEL, "senderId": sender});
        let answer = models.call_as("ck_messages", "get_messages", asked).await;
        assert_eq!(texts(&answer.given()["messages"], "id"), ["m1"], "{sender}");
    }
    let before = chatkeep_core::time::Timestamp::parse("2026-01-03T00:00:00Z").unwrap();
    models
        .key("ck_later", ANN, |key| {
            key.scopes = &[Scope::ReadMessages];
            key.not_before = Some(before);
        })
        .await;
    let asked = json!({"channelId": CHANNEL, "senderId": "Bo"});
    let answer = models.call_as("ck_later", "get_messages", asked).await;
    assert!(answer.refusal().contains("is nobody's userId"), "{}", answer.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_with_pseudonyms_says_that_it_shows_stand_ins() {
    let models = named().await;
    let batch = [message("m1", BO, "2026-01-02T03:04:05Z", "call Ann Lee at 0912-345-678")];
    models.keep_findable(&batch, "call", 1).await;
    let masked: &'static _ = Box::leak(Box::new(PseudonymKey::new([7; 32])));
    let scopes = [Scope::ReadMessages, Scope::ReadMembers];
    models
        .key("ck_masked", ANN, |key| {
            (key.pseudonyms, key.scopes) = (Some(masked), Box::leak(Box::new(scopes)));
        })
        .await;
    let call = async |tool: &str, asked| models.call_as("ck_masked", tool, asked).await;
    let told = "This key shows stand-ins in place of people";
    for (tool, asked) in [
        ("list_channels", json!({})),
        ("get_messages", json!({"channelId": CHANNEL})),
        ("search_messages", json!({"query": "call"})),
        ("get_context", json!({"message": "m1"})),
        ("get_overview", json!({"channelId": CHANNEL})),
        ("get_members", json!({"channelId": CHANNEL})),
        ("verify_citation", json!({"url": "m1"})),
        ("verify_citation", json!({"url": "m9"})),
    ] {
        let answer = call(tool, asked.clone()).await;
        assert!(answer.given()["note"].as_str().unwrap().contains(told), "{tool} {asked}");
        assert!(answer.text().contains(told), "{}", answer.text());
        let open = models.call(tool, asked).await;
        assert!(!open.text().contains(told), "{}", open.text());
    }
    let quoted = json!({"url": "m1", "quoted": "call Ann Lee at 0912-345-678"});
    let checked = call("verify_citation", quoted.clone()).await;
    assert_eq!(checked.given()["verdict"], "different");
    let why = checked.given()["explanation"].as_str().unwrap();
    assert!(why.contains("cannot be compared") && !why.contains("is wrong"), "{why}");
    let open = models.call("verify_citation", quoted).await;
    assert_eq!(open.given()["verdict"], "same");
    let by_name = call("get_messages", json!({"channelId": CHANNEL, "senderId": "Bo"})).await;
    assert!(by_name.refusal().contains(told), "{}", by_name.refusal());
    let by_name = call("search_messages", json!({"query": "call from:Bo"})).await;
    assert!(
        by_name.text().contains("Nobody is called \"Bo\". This key shows"),
        "{}",
        by_name.text()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wrote_before_the_bot_came_is_counted() {
    let models = named().await;
    let imports = models.store.imports();
    let people = [("import:aa", "小美"), (BO, "Bo")].map(|(id, name)| ImportedPerson {
        id: id.into(),
        display_name: Some(name.to_owned()),
        picture_url: None,
    });
    imports.add_people(&CHANNEL.into(), &people, at(5)).await.unwrap();
    let said = [("i1", "import:aa"), ("i2", BO)]
        .map(|(id, sender)| imported_text(id, 1_767_323_045_000, sender, "hi"));
    imports.import(ImportId::new(99), &CHANNEL.into(), &said, at(6)).await.unwrap();
    let told = "1 authors of imported messages were never seen here";
    let members = models.call("get_members", json!({"channelId": CHANNEL})).await;
    assert_eq!(
        (&members.given()["importedOnly"], &members.given()["memberCount"]),
        (&json!(1), &json!(2))
    );
    assert!(members.text().contains(told), "{}", members.text());
    let start = chatkeep_core::time::Timestamp::parse("2026-01-03T00:00:00Z").unwrap();
    models.key("ck_later", ANN, |key| key.not_before = Some(start)).await;
    let members = models.call_as("ck_later", "get_members", json!({"channelId": CHANNEL})).await;
    assert!(members.given().get("importedOnly").is_none(), "{}", members.given());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_may_look_like_ids_and_have_an_end() {
    let models = named().await;
    models.name_channel("C3", "team:alpha").await;
    let profile =
        Profile { display_name: "Bo:Sales".to_owned(), picture_url: None, language: None };
    models
        .store
        .members()
        .save_profiles(&[(BO.into(), Some(profile))].into(), at(4))
        .await
        .unwrap();
    models.keep(&[message("m1", BO, "2026-01-02T03:04:05Z", "hi")]).await;
    let asked = json!({"channelId": CHANNEL, "senderId": "bo:sales"});
    let answer = models.call("get_messages", asked).await;
    assert_eq!(texts(&answer.given()["messages"], "id"), ["m1"]);
    let answer = models.call("get_messages", json!({"channelId": "team:alpha"})).await;
    assert_eq!(answer.given()["interpreted"]["channelId"], "C3");
    let endless = "a".repeat(1_001);
    for (tool, arguments) in [
        ("get_messages", json!({"channelId": endless})),
        ("get_messages", json!({"channelId": CHANNEL, "senderId": endless})),
        ("get_context", json!({"message": endless})),
    ] {
        let answer = models.call(tool, arguments).await;
        assert!(answer.refusal().contains("is longer than any"), "{}", answer.refusal());
    }
}
