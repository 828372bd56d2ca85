//! Keys that show pseudonyms: their creation, what they give on, and what they do not get.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{CHANNEL, MEMBER, message, now};
use super::world::{FULL, MASKED, World};

/// Returns the stand-in that a key shows for the sender of a message.
async fn stand_in(world: &World, key: &str) -> String {
    let page = world.get(key, &format!("/channels/{CHANNEL}/backup/messages/m1")).await.ok();
    page["sender"]["userId"].as_str().unwrap().to_owned()
}

async fn made(world: &World, key: &str, body: Value) -> Value {
    world.call(key, Method::POST, "/keys", Some(&body)).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pseudonyms_belong_to_a_key_and_those_that_replace_it() {
    let world = World::new().await;
    world.happen().await;
    let body = json!({"name": "n", "scopes": ["read:messages", "manage:keys"], "pseudonyms": true});
    let one = made(&world, FULL, body.clone()).await;
    let other = made(&world, FULL, body).await;
    assert_eq!((&one["pseudonyms"], &other["pseudonyms"]), (&json!(true), &json!(true)));
    let (first, second) = (one["key"].as_str().unwrap(), other["key"].as_str().unwrap());
    let shown = stand_in(&world, first).await;
    assert!(shown.starts_with("person-") && shown != stand_in(&world, second).await);
    let rotate = format!("/keys/{}/rotate", one["keyId"].as_str().unwrap());
    let next = world.call(FULL, Method::POST, &rotate, Some(&json!({}))).await.ok();
    assert_eq!(next["pseudonyms"], true);
    let replacing = next["key"].as_str().unwrap();
    assert_eq!(stand_in(&world, replacing).await, shown);
    let listed = world.get(replacing, "/keys").await.ok();
    let listed = listed["keys"].as_array().unwrap();
    assert_eq!(listed.len(), 2, "the key and the one that replaces it: {listed:?}");
    assert!(listed.iter().all(|key| key["pseudonyms"] == true));
    let all = world.get(FULL, "/keys").await.ok();
    let plain = all["keys"].as_array().unwrap().iter().find(|key| key["keyId"] == "key_of_owner");
    assert_eq!(plain.unwrap()["pseudonyms"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_with_pseudonyms_never_gives_more_than_it_has() {
    let world = World::new().await;
    world.happen().await;
    let wish = |more: Value| {
        let mut body = json!({"name": "n", "scopes": ["read:messages"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let own = made(&world, MASKED, wish(json!({}))).await;
    assert_eq!(own["pseudonyms"], true);
    assert_eq!(
        stand_in(&world, own["key"].as_str().unwrap()).await,
        stand_in(&world, MASKED).await
    );
    let more = wish(json!({"pseudonyms": false}));
    let refused = world.call(MASKED, Method::POST, "/keys", Some(&more)).await;
    refused.refused(403, "insufficient_permissions");
    for scope in ["write:members", "write:backup", "write:assistant"] {
        let admin = wish(json!({"pseudonyms": true, "scopes": [scope]}));
        let refused = world.call(FULL, Method::POST, "/keys", Some(&admin)).await;
        refused.refused(409, "conflict");
    }
    let message = format!("/channels/{CHANNEL}/backup/media/m4");
    world.get(MASKED, &message).await.refused(403, "pseudonymous_key");
    world.get(MASKED, &format!("{message}?preview=true")).await.refused(403, "pseudonymous_key");
    let list = world.get(MASKED, &format!("/channels/{CHANNEL}/backup/media")).await.ok();
    assert_eq!(list["media"][0]["fileName"], "file.pdf");
    let role = format!("/channels/{CHANNEL}/members/{MEMBER}/role");
    let refused = world.call(MASKED, Method::PUT, &role, Some(&json!({"role": "admin"}))).await;
    refused.refused(403, "insufficient_permissions");
    let hook = world.hook(FULL, "/full").await;
    world.get(MASKED, &format!("/webhooks/{hook}")).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_asked_is_not_for_readers_of_pseudonyms() {
    const ASKED: &str = "does Mildred come at noon?";
    let world = World::new().await;
    world.rest.keep(&[message("q1", MEMBER, &now().to_string(), ASKED)]).await;
    let of_history = |what: &str| format!("/channels/{CHANNEL}/assistant/{what}");
    let unanswered = of_history("unanswered");
    let known = world.get(FULL, &unanswered).await.ok();
    assert_eq!(known["questions"][0]["text"], ASKED);
    world.get(MASKED, &unanswered).await.refused(403, "pseudonymous_key");
    // Which messages a draft answers tells who has the name or number in it.
    let draft = json!({"rules": [{"keywords": [ASKED], "answer": "yes"}], "mode": "keyword"});
    let backtest = of_history("backtest");
    let known = world.call(FULL, Method::POST, &backtest, Some(&draft)).await.ok();
    assert_eq!(known["changed"], 1);
    let refused = world.call(MASKED, Method::POST, &backtest, Some(&draft)).await;
    refused.refused(403, "pseudonymous_key");
}
