//! Permissions: every tool for every kind of caller, in the same setting as REST, and the same data
//! by both.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::{ActivityFilter, PresenceEvidenceKind, ReadAction, Reader};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{ANN, CHANNEL, Models, message, send};
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
    for (key, messages, members, channels) in expected() {
        for (tool, arguments, has, gets) in [
            ("get_messages", &here, "/messages/0", messages),
            ("search_messages", &found, "/hits/0", messages),
            ("get_members", &here, "/members/0", members),
        ] {
            let answer = models.call_as(key, tool, arguments.clone()).await;
            let cell = format!("{tool} as {key}: {} {}", answer.status, answer.body);
            match gets {
                Gets::It => assert!(answer.given().pointer(has).is_some(), "{cell}"),
                Gets::Nothing => assert!(answer.refusal().contains("No channel"), "{cell}"),
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
        match channels {
            Gets::It => assert_eq!(listed.given()["channels"][0]["channelId"], CHANNEL, "{cell}"),
            Gets::NotIn => assert_eq!(listed.status, StatusCode::UNAUTHORIZED, "{cell}"),
            _ => assert_eq!(listed.given()["channels"], json!([]), "{cell}"),
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
        "get_messages" => "backup/messages",
        "search_messages" => "backup/search?q=lunch",
        _ => "members",
    };
    let address = models.stack.ground.address;
    let url = format!("http://{address}/api/channels/{CHANNEL}/{path}");
    send(models.http.get(url).bearer_auth(key)).await.status == StatusCode::OK
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
    let day = json!({"channelId": CHANNEL, "date": "2026-01-02"});
    let read = models.call_as("ck_later", "get_messages", day).await;
    assert_eq!(read.given()["messages"], json!([]));
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
    for (tool, arguments) in [
        ("list_channels", json!({})),
        ("get_members", json!({"channelId": CHANNEL})),
        ("get_messages", json!({"channelId": CHANNEL})),
        ("search_messages", json!({"query": "lunch"})),
        ("search_messages", json!({"query": "lunch", "channelId": CHANNEL})),
    ] {
        models.call_as("ck_bo", tool, arguments).await.given();
    }
    let (key, all) = (Reader::Key("key_of_bo".into()), ActivityFilter::default());
    let expected = [(key.clone(), ReadAction::List, 1), (key, ReadAction::Search, 2)];
    until("the reads are written", DEADLINE, async || {
        let reads =
            models.store.activity_log().reads(&CHANNEL.into(), &all, None, 100).await.unwrap();
        let reads = reads.into_iter().map(|read| (read.reader, read.action, read.requests));
        reads.collect::<Vec<_>>() == expected
    })
    .await;
}
