//! Errors, which repeat neither whose id a request gave, nor a part of an id.

use reqwest::Method;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::super::{Answer, MEMBER, OWNER};
use super::world::{FULL, MASKED, World, pseudonym, said_by};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_tell_no_stand_in_of_a_given_id() {
    let world = World::new().await;
    world.happen().await;
    let dashes = "-".repeat(47);
    let hidden = format!("{}\u{200b}{}", &OWNER[..9], &OWNER[9..]);
    let given = [OWNER.to_owned(), format!("{dashes}{OWNER}x"), hidden, format!("{OWNER}0")];
    let own = pseudonym(OWNER).id;
    for given in &given {
        let name: String = form_urlencoded::byte_serialize(given.as_bytes()).collect();
        for path in [format!("/channels?{name}=1"), format!("/search?q=x&sort={name}")] {
            let answer = world.get(MASKED, &path).await;
            let body = text(&answer);
            assert!(!body.contains(&own), "{path}: {body}");
            answer.refused(400, "invalid_request");
        }
        for (tool, argument) in [("get_context", "message"), ("search_messages", given.as_str())] {
            let asked = json!({argument: given, "channelId": given});
            let answer = world.tool(MASKED, tool, &asked).await;
            assert!(!text(&answer).contains(&own), "{tool}: {}", text(&answer));
        }
    }
    // What it says of the stand-in itself shows no part of the id.
    for dashes in 40..80 {
        let given = format!("{}{own}", "-".repeat(dashes));
        let answer = world.tool(MASKED, "get_context", &json!({"message": given})).await;
        let body = text(&answer);
        assert!(!body.contains(&OWNER[..4]), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_stand_in_is_put_into_shows_the_id() {
    let world = World::new().await;
    world.happen().await;
    let stand_in = pseudonym(MEMBER).id;
    let shows = |answer: &Answer| said_by(answer).contains(&MEMBER.to_lowercase());
    // An echo leaves out what is invisible, and may be all lower case.
    let given =
        ["\u{200b}", "\u{2060}", "\u{ad}", "\u{202e}", "\u{feff}", "\u{1}", "\u{e0001}", "日"]
            .map(|mark| [format!("x{mark}{stand_in}"), format!("{stand_in}{mark}x")])
            .concat();
    for given in &given {
        let query = format!("from:{given}");
        for (tool, arguments) in [
            ("get_messages", json!({"channelId": given})),
            ("get_members", json!({"channelId": given})),
            ("get_context", json!({"message": given})),
            ("search_messages", json!({"query": query})),
            ("search", json!({"query": query})),
            ("fetch", json!({"id": given})),
            (given.as_str(), Value::Null),
        ] {
            let answer = world.tool(MASKED, tool, &arguments).await;
            assert!(!shows(&answer), "{tool} {given:?}: {}", text(&answer));
        }
        let uri = json!({"uri": format!("chatkeep://channel/{given}")});
        let answer = world.mcp(MASKED, "resources/read", &uri).await;
        assert!(!shows(&answer), "{given:?}: {}", text(&answer));
    }
    // A JSON Pointer escapes a slash as ~1.
    for name in [format!("/{stand_in}"), format!("~{stand_in}")] {
        let mut body = json!({"name": "a", "scopes": ["read:messages"]});
        body[name] = json!(1);
        let answer = world.call(MASKED, Method::POST, "/keys", Some(&body)).await;
        assert!(!shows(&answer), "{}", text(&answer));
        answer.refused(400, "invalid_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_a_stand_in_is_in_is_called_as_it_is() {
    let world = World::new().await;
    let path = format!("/hook/{}", pseudonym(MEMBER).id);
    let hook = world.hook(MASKED, &path).await;
    let tested = world.call(MASKED, Method::POST, &format!("/webhooks/{hook}/test"), None).await;
    tested.ok();
    until("it is called", DEADLINE, async || !world.sink.at(&path).is_empty()).await;
    assert!(world.sink.at(&format!("/hook/{MEMBER}")).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_escape_lets_a_reader_try_out_an_id() {
    let world = World::new().await;
    world.happen().await;
    let escaped = format!("%{:02x}{}", OWNER.as_bytes()[0], &OWNER[1..]);
    for link in [
        format!("/c/{escaped}"),
        format!("/c/{}%30", &OWNER[..OWNER.len() - 1]),
        format!("chatkeep://channel/{escaped}"),
        format!("chatkeep://channel/{escaped}/message/d1"),
    ] {
        let arguments = json!({"channelId": link});
        let known = world.tool(FULL, "get_messages", &arguments).await;
        let masked = world.tool(MASKED, "get_messages", &arguments).await;
        let body = text(&masked);
        assert!(!body.contains("lunch") && !body.contains(&pseudonym(OWNER).id), "{link}: {body}");
        assert!(
            link.ends_with("%30") || text(&known).contains("lunch"),
            "{link}: {}",
            text(&known)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tag_is_a_hash_of_ids() {
    let world = World::new().await;
    world.happen().await;
    let tag = async |key: &str| world.get(key, "/usage").await.headers["etag"].clone();
    assert_ne!(tag(MASKED).await, tag(FULL).await, "it is that of what is shown");
}
