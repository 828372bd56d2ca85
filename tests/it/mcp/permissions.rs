//! Permissions: every tool for every kind of caller, in the same setting as REST, and the same data
//! by both.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::{ActivityFilter, PresenceEvidenceKind, ReadAction, Reader};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{ANN, CHANNEL, Models, TOOLS, message, message_in, quote, send};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, item};

const OTHER: &str = "C0000000000000000000000000elsewhere";

/// Expected response for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gets {
    It,
    /// The channel does not exist for them.
    Nothing,
    LacksScope,
    /// Unauthorized (401).
    NotIn,
}

async fn cast() -> Models {
    let models = Models::start(&[]).await;
    let people = ["Uadmin", "Uguest"]
        .map(|user| item(CHANNEL, 1, PresenceEvidenceKind::Present(user.into())));
    models.store.members().record_presence(&people, at(1)).await.unwrap();
    let left = [
        item(CHANNEL, 1, PresenceEvidenceKind::Joined("Uleft".into())),
        item(CHANNEL, 3, PresenceEvidenceKind::Left("Uleft".into())),
    ];
    models.store.members().record_presence(&left, at(3)).await.unwrap();
    let (channel, owner) = (ChannelId::from(CHANNEL), UserId::from(ANN));
    for (user, role) in [("Uadmin", Role::Admin), ("Uguest", Role::Guest)] {
        models.store.members().set_role(&channel, &owner, &user.into(), role, at(4)).await.unwrap();
    }
    for name in ["admin", "guest", "left", "stranger"] {
        models.key(&format!("ck_{name}"), &format!("U{name}"), |_| {}).await;
    }
    models.bound_key("ck_here", ANN, &[channel]).await;
    models.bound_key("ck_elsewhere", ANN, &[ChannelId::from(OTHER)]).await;
    models.key("ck_expired", ANN, |key| key.expires_at = Some(at(5))).await;
    models.key("ck_messages", ANN, |key| key.scopes = &[Scope::ReadMessages]).await;
    models.key("ck_members", ANN, |key| key.scopes = &[Scope::ReadMembers]).await;
    models.key("ck_keys", ANN, |key| key.scopes = &[Scope::ManageKeys]).await;
    models.key("ck_later", ANN, |key| key.not_before = Some(at(2_000_000_000_000))).await;
    models.keep(&[message("m1", ANN, "2026-01-02T03:04:05Z", "secret lunch")]).await;
    models.stack.ground.command(&models.stack.line, &["reindex"]).await;
    until("it is found", DEADLINE, async || {
        models.call("search_messages", json!({"query": "lunch"})).await.given()["total"] == 1
    })
    .await;
    models
}

/// Returns the expected responses of each caller for messages, members, and the list of channels.
fn expected() -> Vec<(&'static str, Gets, Gets, Gets)> {
    use Gets::{It, LacksScope, NotIn, Nothing};
    vec![
        ("ck_ann", It, It, It),
        ("ck_bo", It, It, It),
        ("ck_admin", It, It, It),
        ("ck_guest", Nothing, Nothing, Nothing),
        ("ck_left", Nothing, Nothing, Nothing),
        ("ck_stranger", Nothing, Nothing, Nothing),
        ("ck_here", It, It, It),
        ("ck_elsewhere", Nothing, Nothing, Nothing),
        ("ck_messages", It, LacksScope, It),
        ("ck_members", LacksScope, It, It),
        ("ck_keys", LacksScope, LacksScope, It),
        ("ck_expired", NotIn, NotIn, NotIn),
        ("ck_nobodys", NotIn, NotIn, NotIn),
        ("", NotIn, NotIn, NotIn),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_serves_whom_rest_serves_and_nobody_else() {
    let models = cast().await;
    let here = json!({"channelId": CHANNEL});
    let found = json!({"channelId": CHANNEL, "query": "lunch"});
    let around = json!({"channelId": CHANNEL, "around": "m1"});
    let link = json!({"message": format!("/c/{CHANNEL}/m/m1")});
    for (key, messages, members, channels) in expected() {
        for (tool, arguments, has, gets) in [
            ("get_messages", &here, "/messages/0", messages),
            ("search_messages", &found, "/hits/0", messages),
            ("get_members", &here, "/members/0", members),
            ("get_overview", &here, "/totals/messages", messages),
            ("get_messages", &around, "/messages/0", messages),
            ("get_context", &json!({"message": "m1"}), "/messages/0", messages),
            ("get_context", &link, "/messages/0", messages),
            ("search", &json!({"query": "lunch"}), "/results/0", messages),
            (
                "fetch",
                &json!({"id": format!("chatkeep://channel/{CHANNEL}/message/m1")}),
                "/text",
                messages,
            ),
        ] {
            let answer = models.call_as(key, tool, arguments.clone()).await;
            let cell = format!("{tool} as {key}: {} {}", answer.status, answer.body);
            match gets {
                Gets::It => assert!(answer.given().pointer(has).is_some(), "{cell}"),
                // It looks for nothing else.
                Gets::Nothing if tool == "search" => {
                    assert_eq!(answer.given(), &json!({"results": []}), "{cell}");
                }
                Gets::Nothing => {
                    let of_message = ["get_context", "fetch"].contains(&tool);
                    let kind = if of_message { "message" } else { "channel" };
                    assert!(answer.refusal().starts_with(&format!("No {kind} ")), "{cell}");
                }
                Gets::LacksScope => assert!(answer.refusal().contains("lacks read:"), "{cell}"),
                Gets::NotIn => assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{cell}"),
            }
            if gets != Gets::It {
                let body = answer.body.to_string();
                assert!(!body.contains("lunch") && !body.contains(ANN), "{cell}");
            }
            assert_eq!(gets == Gets::It, rest_gives(&models, key, tool).await, "{cell}");
        }
        let listed = models.call_as(key, "list_channels", json!({})).await;
        let cell = format!("list_channels as {key}: {}", listed.body);
        let row = &listed.given_or_null()["channels"][0];
        let told = row["messages"] == 1 && row["lastMessageAt"] == "2026-01-02T03:04:05Z";
        assert_eq!(told, messages == Gets::It, "what was written needs the scope: {cell}");
        match channels {
            Gets::It => assert_eq!(row["channelId"], CHANNEL, "{cell}"),
            Gets::NotIn => assert_eq!(listed.status, StatusCode::UNAUTHORIZED, "{cell}"),
            _ => assert_eq!(listed.given()["channels"], json!([]), "{cell}"),
        }
        let recent = models.call_as(key, "list_channels", json!({"recent": true})).await;
        match messages {
            Gets::NotIn => assert_eq!(recent.status, StatusCode::UNAUTHORIZED, "{cell}"),
            Gets::LacksScope => assert!(recent.refusal().contains("read:messages"), "{cell}"),
            shown => {
                let lines = &recent.given()["channels"][0]["recent"][0]["id"];
                assert_eq!(lines == "m1", shown == Gets::It, "{cell}");
            }
        }
        // Searching everywhere covers the readable channels.
        let all = models.call_as(key, "search_messages", json!({"query": "lunch"})).await;
        match messages {
            Gets::It => assert_eq!(all.given()["total"], 1, "{cell}"),
            Gets::Nothing => assert_eq!(all.given()["total"], 0, "{cell}"),
            Gets::LacksScope => assert!(all.refusal().contains("lacks read:messages"), "{cell}"),
            Gets::NotIn => assert_eq!(all.status, StatusCode::UNAUTHORIZED, "{cell}"),
        }
    }
}

/// Returns true if REST returns the same to the same caller.
async fn rest_gives(models: &Models, key: &str, tool: &str) -> bool {
    let path = match tool {
        "get_messages" | "get_overview" => "backup/messages",
        "search_messages" | "search" => "backup/search?q=lunch",
        "get_context" | "fetch" => "backup/messages/m1",
        _ => "members",
    };
    let address = models.stack.ground.address;
    let url = format!("http://{address}/api/channels/{CHANNEL}/{path}");
    send(models.http.get(url).bearer_auth(key)).await.status == StatusCode::OK
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_serve_whom_the_tools_serve() {
    let models = cast().await;
    let uri = format!("chatkeep://channel/{CHANNEL}/message/m1");
    let ask = async |key: &str, method: &str, params: Value| {
        send(models.request(super::NEWEST, method, params).bearer_auth(key)).await
    };
    for (key, messages, ..) in expected() {
        let read = ask(key, "resources/read", json!({"uri": uri})).await;
        let file = ask(key, "resources/read", json!({"uri": format!("{uri}/file")})).await;
        let completed = ask(
            key,
            "completion/complete",
            json!({
                "ref": {"type": "ref/resource", "uri": "chatkeep://channel/{channel}/message/{message}"},
                "argument": {"name": "message", "value": ""},
                "context": {"arguments": {"channel": CHANNEL}},
            }),
        )
        .await;
        let cell = format!("{key}: {} {} {}", read.body, file.body, completed.body);
        match messages {
            Gets::It => {
                assert!(read.result()["contents"][0]["text"].as_str().unwrap().contains("lunch"));
                assert_eq!(completed.result()["completion"]["values"], json!(["m1"]), "{cell}");
            }
            Gets::NotIn => {
                for answer in [&read, &file, &completed] {
                    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{cell}");
                }
            }
            Gets::LacksScope => {
                for answer in [&read, &completed] {
                    assert_eq!(answer.body["error"]["code"], -32602, "{cell}");
                    let why = answer.body["error"]["message"].as_str().unwrap();
                    assert!(why.contains("lacks read:messages"), "{cell}");
                }
            }
            Gets::Nothing => {
                let why = read.body["error"]["message"].as_str().unwrap();
                assert!(why.starts_with("No message"), "{cell}");
                assert_eq!(completed.result()["completion"]["values"], json!([]), "{cell}");
            }
        }
        // It is a text; who lacks the scope does not learn that.
        if messages != Gets::NotIn {
            let why = file.body["error"]["message"].as_str().unwrap();
            let of_file =
                why.contains("is not that of a message with a file that this key may read");
            assert!(!of_file || messages != Gets::Nothing, "{cell}");
            let of_nothing = why.starts_with("No message");
            assert!(of_nothing || of_file || why.contains("lacks read:media"), "{cell}");
        }
        if messages != Gets::It {
            assert!(!cell.contains("lunch") && !cell.contains(ANN), "{cell}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_reads_nothing_older_than_it_may() {
    let models = cast().await;
    models.keep(&[message("m2", ANN, "2033-06-01T00:00:00Z", "open lunch")]).await;
    models.stack.ground.command(&models.stack.line, &["reindex"]).await;
    until("both are found", DEADLINE, async || {
        models.call("search_messages", json!({"query": "lunch"})).await.given()["total"] == 2
    })
    .await;
    let ids = |list: &Value| super::texts(list, "id");
    for arguments in [json!({}), json!({"from": "2020-01-01"}), json!({"limit": 1})] {
        let mut arguments = arguments;
        arguments["channelId"] = json!(CHANNEL);
        let read = models.call_as("ck_later", "get_messages", arguments.clone()).await;
        assert_eq!(ids(&read.given()["messages"]), ["m2"], "{arguments}");
        assert!(read.given()["nextCursor"].is_null(), "{arguments}");
        arguments["query"] = json!("lunch");
        let found = models.call_as("ck_later", "search_messages", arguments).await;
        assert_eq!(ids(&found.given()["hits"]), ["m2"]);
    }
    // What it may not read is as what does not exist, also as the context of what it may.
    let answered = quote("m3", ANN, "2033-06-02T00:00:00Z", "about that", "m1");
    models.keep(&[answered]).await;
    let context = models.call_as("ck_later", "get_context", json!({"message": "m3"})).await;
    assert_eq!(ids(&context.given()["messages"]), ["m2", "m3"]);
    assert_eq!(context.given()["quotes"], json!([]));
    assert_eq!(context.given()["moreBefore"], false);
    let listed = models.call_as("ck_later", "list_channels", json!({"recent": true})).await;
    assert_eq!(ids(&listed.given()["channels"][0]["recent"]), ["m3", "m2"]);
    assert!(listed.given()["channels"][0]["messages"].is_null(), "older ones are not counted");
    for (tool, argument) in [("get_context", "message"), ("get_messages", "around")] {
        let refused = async |id: &str| {
            let given = format!("/c/{CHANNEL}/m/{id}");
            let arguments = json!({"channelId": CHANNEL, argument: given});
            let answer = models.call_as("ck_later", tool, arguments).await;
            answer.refusal().replace(&given, "it")
        };
        assert_eq!(refused("m1").await, refused("m9").await, "{tool}");
    }
    let day = json!({"channelId": CHANNEL, "date": "2026-01-02"});
    let read = models.call_as("ck_later", "get_messages", day).await;
    assert_eq!(read.given()["messages"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_read_is_as_what_does_not_exist() {
    let models = cast().await;
    models.channel(OTHER, &["Uadmin"]).await;
    models.name_channel(OTHER, "Secret plans").await;
    models.keep(&[message_in(OTHER, "m5", "Uadmin", "2026-01-02T03:04:05Z", "secret")]).await;
    let refused = async |key: &str, tool: &str, arguments: Value, given: &str| {
        let answer = models.call_as(key, tool, arguments).await;
        answer.refusal().replace(given, "it")
    };
    for key in ["ck_bo", "ck_stranger", "ck_left", "ck_guest"] {
        for (real, none) in [
            (format!("/c/{OTHER}/m/m5"), "/c/C00000000000000000000000000000nowhere/m/m5"),
            ("m5".to_owned(), "m6"),
        ] {
            let context = async |given: &str| {
                refused(key, "get_context", json!({"message": given}), given).await
            };
            let answer = context(&real).await;
            assert_eq!(answer, context(none).await, "{key} {real}");
            assert!(!answer.contains(OTHER), "{answer}");
        }
        for (real, none) in
            [(OTHER, "C00000000000000000000000000000nowhere"), ("Secret plans", "x")]
        {
            for (tool, mut arguments) in [
                ("get_messages", json!({})),
                ("get_members", json!({})),
                ("get_overview", json!({})),
                ("search_messages", json!({"query": "x"})),
            ] {
                let mut channel = async |given: &str| {
                    arguments["channelId"] = json!(given);
                    refused(key, tool, arguments.clone(), given).await
                };
                assert_eq!(channel(real).await, channel(none).await, "{key} {tool} {real}");
            }
        }
    }
    // A key for one channel finds no other by its name.
    models.name_channel(CHANNEL, "Lunch").await;
    let named = json!({"channelId": "lunch"});
    assert_eq!(
        models.call_as("ck_here", "get_messages", named.clone()).await.given()["timeZone"],
        "UTC"
    );
    let refused = models.call_as("ck_elsewhere", "get_messages", named).await;
    assert!(refused.refusal().starts_with("No channel"), "{}", refused.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_no_key() {
    let models = Models::start(&[]).await;
    let session = models
        .request(super::NEWEST, "tools/list", json!({}))
        .header("cookie", "chatkeep_session=whatever")
        .header("sec-fetch-site", "same-origin");
    assert_eq!(send(session).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_that_reads_is_in_the_activity_log() {
    let models = Models::start(&[]).await;
    models.keep(&[message("m1", ANN, "2026-01-02T03:04:05Z", "secret lunch")]).await;
    models.stack.drained().await;
    let calls = [
        ("list_channels", json!({})),
        ("get_members", json!({"channelId": CHANNEL})),
        ("get_media", json!({"message": "m1"})),
        ("get_messages", json!({"channelId": CHANNEL})),
        ("get_context", json!({"message": "m1"})),
        ("list_channels", json!({"recent": true})),
        ("get_overview", json!({})),
        ("get_overview", json!({"channelId": CHANNEL})),
        ("search_messages", json!({"query": "lunch"})),
        ("search_messages", json!({"query": "lunch", "channelId": CHANNEL})),
        ("search", json!({"query": "lunch"})),
        ("fetch", json!({"id": format!("/c/{CHANNEL}/m/m1")})),
        ("verify_citation", json!({"url": "m1", "quoted": "lunch"})),
    ];
    let called: BTreeSet<_> = calls.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(called, BTreeSet::from(TOOLS), "a tool that is not called here");
    for (tool, arguments) in calls {
        let answer = models.call_as("ck_bo", tool, arguments).await;
        // The message has no file.
        assert!(tool == "get_media" || answer.result()["isError"] != true, "{}", answer.body);
    }
    let pattern = "chatkeep://channel/{channel}/message/{message}";
    let uri = pattern.replace("{channel}", CHANNEL).replace("{message}", "m1");
    let completion = json!({
        "ref": {"type": "ref/resource", "uri": pattern},
        "argument": {"name": "message", "value": ""},
        "context": {"arguments": {"channel": CHANNEL}},
    });
    for (method, params) in [
        ("resources/read", json!({"uri": uri})),
        ("resources/read", json!({"uri": format!("{uri}/file")})),
        ("completion/complete", completion),
    ] {
        send(models.request(super::NEWEST, method, params).bearer_auth("ck_bo")).await;
    }
    let (key, all) = (Reader::Key("key_of_bo".into()), ActivityFilter::default());
    let expected = [
        (key.clone(), ReadAction::List, 8),
        (key.clone(), ReadAction::Media, 2),
        (key.clone(), ReadAction::Open, 4),
        (key, ReadAction::Search, 3),
    ];
    until("the reads are written", DEADLINE, async || {
        let reads =
            models.store.activity_log().reads(&CHANNEL.into(), &all, None, 100).await.unwrap();
        let reads = reads.into_iter().map(|read| (read.reader, read.action, read.requests));
        reads.collect::<Vec<_>>() == expected
    })
    .await;
}
