//! Every surface, with pseudonyms and without.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_api::{RouteInfo, catalogue};
use reqwest::Method;
use serde_json::{Value, json};

use super::super::exports::exported;
use super::super::{CHANNEL, MEMBER, OWNER, filled_in, message};
use super::world::{FULL, MASKED, NOBODY, SECRETS, World, pseudonym, said_by};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Answers of one key: what was asked, and everything that was said.
type Answers = Vec<(String, String)>;

/// Returns the paths of a route, each person named by their id and by their pseudonym.
fn paths(route: &RouteInfo, webhooks: &[String], export: &str) -> Vec<String> {
    let queries: &[&str] = match route.id {
        "search" | "search_channel" => &[
            "?q=lunch&limit=1",
            "?q=Mildred",
            "?q=0912345678",
            "?q=membrane.example",
            "?q=from:Mildred%20lunch",
            "?q=-Mildred%20lunch",
        ],
        "export_messages" => &["?format=jsonl", "?format=csv", "?format=html"],
        "list_members" | "list_channels" => &["", "?limit=1"],
        "list_messages" => &["", "?limit=1", "?senderId=OWNER", "?around=m3"],
        _ => &[""],
    };
    let stand_in = [OWNER, MEMBER].map(|user| pseudonym(user).id);
    let deliveries: Vec<_> = (1..30).map(|number| format!("dlv_{number}")).collect();
    let choices: [(&str, Vec<&str>); 11] = [
        ("{channelId}", vec![CHANNEL, OWNER, &stand_in[0]]),
        ("{messageId}", vec!["m1", "m2", "m3", "m4", "m5", "m6", "d1"]),
        ("{userId}", vec![MEMBER, &stand_in[1], NOBODY]),
        ("{keyId}", vec!["key_of_owner", "key_of_masked"]),
        ("{webhookId}", webhooks.iter().map(String::as_str).collect()),
        ("{deliveryId}", deliveries.iter().map(String::as_str).collect()),
        ("{jobId}", vec!["none", export]),
        ("{exportId}", vec![export]),
        ("{qaId}", vec!["qa_none"]),
        ("{savedSearchId}", vec!["none"]),
        ("OWNER", vec![OWNER, &stand_in[0]]),
    ];
    let paths = queries.iter().map(|query| format!("{}{query}", route.path)).collect();
    filled_in(route, paths, choices)
}

/// Returns the calls of a tool.
fn arguments(tool: &str) -> Vec<Value> {
    let person = pseudonym(MEMBER);
    match tool {
        "list_channels" => vec![json!({}), json!({"recent": true})],
        "get_messages" => vec![
            json!({"channelId": CHANNEL}),
            json!({"channelId": CHANNEL, "limit": 1}),
            json!({"channelId": pseudonym(OWNER).id}),
            json!({"channelId": pseudonym(OWNER).name}),
            json!({"channelId": OWNER}),
            json!({"channelId": "Octavia"}),
            json!({"channelId": CHANNEL, "senderId": person.name}),
            json!({"channelId": CHANNEL, "senderId": person.id}),
            json!({"channelId": CHANNEL, "senderId": MEMBER}),
            json!({"channelId": CHANNEL, "senderId": "Mildred"}),
            json!({"channelId": CHANNEL, "around": "m3"}),
        ],
        "search_messages" => vec![
            json!({"query": "lunch"}),
            json!({"query": "lunch", "limit": 1}),
            json!({"query": "Mildred"}),
            json!({"query": "lunch", "senderId": person.name}),
            json!({"query": "lunch", "senderId": "Mildred"}),
            json!({"query": "lunch from:Mildred", "channelId": CHANNEL}),
        ],
        "get_members" => vec![
            json!({"channelId": CHANNEL}),
            json!({"channelId": CHANNEL, "limit": 1}),
            json!({"channelId": pseudonym(OWNER).id}),
        ],
        "get_overview" => vec![
            json!({"days": 31}),
            json!({"days": 31, "channelId": CHANNEL}),
            json!({"days": 31, "channelId": pseudonym(OWNER).id}),
        ],
        "get_media" => vec![
            json!({"message": "m2", "channelId": CHANNEL}),
            json!({"message": "m3", "preview": true}),
            json!({"message": "m5"}),
        ],
        "verify_citation" => ["m1", "m2", "m3", "d1"]
            .into_iter()
            .flat_map(|id| {
                ["", "Mildred", "lunch"].map(|quoted| json!({"url": id, "quoted": quoted}))
            })
            .collect(),
        "search" => ["lunch", "Mildred", "0912345678"].map(|q| json!({"query": q})).to_vec(),
        "fetch" => ["m1", "m2", "m3", "d1"]
            .map(|id| json!({"id": id}))
            .into_iter()
            .chain([json!({"id": format!("/c/{}/m/d1", pseudonym(OWNER).id)})])
            .collect(),
        "get_context" => ["m1", "m2", "m3", "d1", "none"]
            .map(|id| json!({"message": id}))
            .into_iter()
            .chain([json!({"message": format!("/c/{}/m/d1", pseudonym(OWNER).id)})])
            .chain([json!({"message": format!("/c/{OWNER}/m/d1")})])
            .collect(),
        other => panic!("{other}: say how it is called"),
    }
}

impl World {
    async fn rest(&self, key: &str, webhooks: &[String]) -> Answers {
        let mut answers = Vec::new();
        let export = exported(&self.rest, CHANNEL, FULL).await;
        // What is deleted cannot be read: reading comes first.
        let mut routes = catalogue();
        routes.sort_by_key(|route| (route.method == Method::DELETE, route.method != Method::GET));
        for route in &routes {
            // Keys and webhooks that are deleted have tests of their own.
            if matches!(route.id, "delete_key" | "rotate_key" | "delete_webhook") {
                continue;
            }
            for path in paths(route, webhooks, &export) {
                let body = json!({});
                let has_body = [Method::POST, Method::PUT].contains(&route.method);
                // The other key reads alone: it would change what is compared.
                if key == FULL && route.method != Method::GET {
                    continue;
                }
                let body = has_body.then_some(&body);
                let answer = self.call(key, route.method.clone(), &path, body).await;
                assert!(answer.status.as_u16() < 500, "{path}: {}", answer.status);
                let path = format!("{} {path}", route.method);
                answers.push((path, said_by(&answer)));
            }
        }
        answers
    }

    async fn models(&self, key: &str) -> Answers {
        let mut answers = Vec::new();
        let listed = self.mcp(key, "tools/list", &json!({})).await.ok();
        for tool in listed["result"]["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            for arguments in arguments(name) {
                let answer = self.tool(key, name, &arguments).await;
                answers.push((format!("{name} {arguments}"), said_by(&answer)));
            }
        }
        let other = ["resources/list", "resources/templates/list", "prompts/list"];
        for method in other {
            let answer = self.mcp(key, method, &json!({})).await;
            answers.push((method.to_owned(), said_by(&answer)));
        }
        let stand_in = pseudonym(OWNER).id;
        for (channel, message) in
            [(CHANNEL, "m1"), (CHANNEL, "m2"), (OWNER, "d1"), (&stand_in, "d1")]
        {
            for end in ["", "/file"] {
                let uri = format!("chatkeep://channel/{channel}/message/{message}{end}");
                let answer = self.mcp(key, "resources/read", &json!({"uri": uri})).await;
                answers.push((uri, said_by(&answer)));
            }
        }
        for (name, value) in [("channel", ""), ("channel", "Octavia"), ("message", "")] {
            let asked = json!({
                "ref": {"type": "ref/resource", "uri": "chatkeep://channel/{channel}/message/{message}"},
                "argument": {"name": name, "value": value},
                "context": {"arguments": {"channel": CHANNEL}},
            });
            let answer = self.mcp(key, "completion/complete", &asked).await;
            answers.push((format!("complete {name} {value}"), said_by(&answer)));
        }
        answers
    }

    async fn hooks(&self, path: &str) -> Answers {
        until("the webhook is told", DEADLINE, async || self.sink.at(path).len() >= 8).await;
        let told = self.sink.at(path);
        told.iter().map(|told| (path.to_owned(), told.body.to_lowercase())).collect()
    }

    async fn all(&self, key: &str, path: &str, webhooks: &[String]) -> Answers {
        let mut answers = self.hooks(path).await;
        answers.extend(self.models(key).await);
        answers.extend(self.rest(key, webhooks).await);
        answers
    }
}

/// Returns the secrets that an answer tells, those that its own request named left out.
fn told(asked: &str, said: &str) -> Vec<&'static str> {
    let asked = asked.to_lowercase();
    SECRETS.into_iter().filter(|secret| said.contains(secret) && !asked.contains(secret)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_surface_tells_who_anybody_is() {
    let world = World::new().await;
    let masked = world.hook(MASKED, "/masked").await;
    let full = world.hook(FULL, "/full").await;
    world.happen().await;
    let webhooks = [masked, full];
    let everything = world.all(FULL, "/full", &webhooks).await;
    let seen: BTreeSet<_> = everything.iter().flat_map(|(asked, said)| told(asked, said)).collect();
    let missing: Vec<_> = SECRETS.into_iter().filter(|secret| !seen.contains(secret)).collect();
    assert!(missing.is_empty(), "nothing would be found of {missing:?}");
    let answers = world.all(MASKED, "/masked", &webhooks).await;
    let mut leaks = 0;
    for (asked, said) in &answers {
        let told = told(asked, said);
        if !told.is_empty() {
            leaks += 1;
            println!("{asked} tells {told:?}: {said}\n");
        }
    }
    assert_eq!(leaks, 0, "of {} answers", answers.len());
    let stand_in = pseudonym(MEMBER);
    let shows = |text: &str| answers.iter().any(|(_, said)| said.contains(&text.to_lowercase()));
    assert!(shows(&stand_in.id) && shows(&stand_in.name), "somebody is shown");
    // Links in texts are masked; their hosts are told apart from the texts, too.
    let told_by = |answers: &Answers, tool: &str, text: &str| {
        answers.iter().any(|(asked, said)| asked.starts_with(tool) && said.contains(text))
    };
    for tool in ["get_messages", "get_overview"] {
        assert!(told_by(&everything, tool, "octavia.example"), "{tool}");
        assert!(told_by(&answers, tool, "elsewhere.example"), "{tool}");
    }
    println!("{} answers", answers.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stand_ins_are_understood_and_ids_are_not() {
    let world = World::new().await;
    world.happen().await;
    let (member, owner) = (pseudonym(MEMBER), pseudonym(OWNER));
    let list = format!("/channels/{CHANNEL}/backup/messages?senderId=");
    let count = async |sender: &str| {
        let page = world.get(MASKED, &format!("{list}{sender}")).await.ok();
        page["messages"].as_array().unwrap().len()
    };
    assert_eq!((count(&member.id).await, count(&owner.id).await), (6, 2));
    assert_eq!(
        (count(MEMBER).await, count(NOBODY).await, count("person-aaaaaaaaaaaa").await),
        (0, 0, 0)
    );
    let own = |id: &str| format!("/channels/{id}/backup/messages");
    let page = world.get(MASKED, &own(&owner.id)).await.ok();
    assert_eq!(page["messages"][0]["channelId"], json!(owner.id));
    assert_eq!(page["messages"][0]["content"], json!(format!("{} has lunch", owner.name)));
    let mut refusals = Vec::new();
    for id in [OWNER, NOBODY, "person-aaaaaaaaaaaa"] {
        refusals.push(
            world.get(MASKED, &own(id)).await.refused(403, "permission_denied")["error"].clone(),
        );
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    // A page goes on where it ended, also in lists that go by id.
    let mut path = "/channels?limit=1".to_owned();
    let mut ids = Vec::new();
    loop {
        let page = world.get(MASKED, &path).await.ok();
        ids.push(page["channels"][0]["channelId"].as_str().unwrap().to_owned());
        let Some(next) = page["nextCursor"].as_str() else { break };
        path = format!("/channels?limit=1&cursor={next}");
    }
    assert_eq!(ids, [CHANNEL.to_owned(), owner.id]);
    let by_name = json!({"channelId": CHANNEL, "senderId": member.name});
    let answer = world.tool(MASKED, "get_messages", &by_name).await.ok();
    let rows = answer["result"]["structuredContent"]["messages"].as_array().unwrap().len();
    assert_eq!(rows, 6, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_are_not_completed_letter_by_letter() {
    const MESSAGE: &str = "chatkeep://channel/{channel}/message/{message}";
    let world = World::new().await;
    world.happen().await;
    let complete = async |key: &str, name: &str, value: &str| {
        let asked = json!({
            "ref": {"type": "ref/resource", "uri": MESSAGE},
            "argument": {"name": name, "value": value},
            "context": {"arguments": {"channel": CHANNEL}},
        });
        let answer = world.mcp(key, "completion/complete", &asked).await.ok();
        let values = answer["result"]["completion"]["values"].as_array().unwrap().clone();
        values.into_iter().map(|value| value.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let own = pseudonym(OWNER).id;
    for length in 2..=OWNER.len() {
        let start = &OWNER[..length];
        assert_eq!(complete(MASKED, "channel", start).await, [] as [&str; 0], "{start}");
        assert_eq!(complete(FULL, "channel", start).await, [OWNER], "{start}");
    }
    for start in [&own, &own[..9], "person-"] {
        assert_eq!(complete(MASKED, "channel", start).await, [own.as_str()], "{start}");
    }
    assert_eq!(complete(MASKED, "channel", &CHANNEL[..5]).await, [CHANNEL]);
    // Whoever writes a file to import chooses the ids in it.
    let id = format!("export:{OWNER}:1");
    world.rest.keep(&[message(&id, MEMBER, "2026-01-02T03:04:12Z", "imported")]).await;
    let start = &id[..12];
    assert_eq!(complete(FULL, "message", start).await, [id.as_str()]);
    assert_eq!(complete(MASKED, "message", start).await, [] as [&str; 0]);
    let shown = format!("export:{own}:1");
    for start in [shown.as_str(), &shown[..16], "export:"] {
        assert_eq!(complete(MASKED, "message", start).await, [shown.as_str()], "{start}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_cursors_are_refused() {
    let world = World::new().await;
    world.happen().await;
    let of_members = format!("members:{CHANNEL}:None:None");
    for (path, binding) in [
        ("/channels".to_owned(), "channels"),
        ("/subscriptions".to_owned(), "subscriptions"),
        (format!("/channels/{CHANNEL}/members"), &of_members),
    ] {
        for start in ["U0", "U1", &OWNER[..OWNER.len() - 1], OWNER] {
            let cursor = json!({"f": binding, "k": start}).to_string();
            let path = format!("{path}?cursor={}", URL_SAFE_NO_PAD.encode(cursor));
            world.get(MASKED, &path).await.refused(400, "invalid_request");
            world.get(FULL, &path).await.ok();
        }
        // Other spellings of what a list would give.
        let escaped = format!("\\u0055{}", &OWNER[1..]);
        for spelled in [
            format!(r#"{{"k":"{OWNER}","f":"{binding}"}}"#),
            format!(r#"{{ "f":"{binding}","k":"{OWNER}"}}"#),
            format!(r#"{{"f":"{binding}","k":"{escaped}"}}"#),
        ] {
            let path = format!("{path}?cursor={}", URL_SAFE_NO_PAD.encode(&spelled));
            for key in [MASKED, FULL] {
                world.get(key, &path).await.refused(400, "invalid_request");
            }
        }
        // What was given goes on.
        let (mut next, mut pages) = (Some(format!("{path}?limit=1")), 0);
        while let Some(page) = next {
            let page = world.get(MASKED, &page).await.ok();
            next =
                page["nextCursor"].as_str().map(|cursor| format!("{path}?limit=1&cursor={cursor}"));
            pages += 1;
        }
        assert_eq!(pages, 2, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_can_be_cited() {
    let world = World::new().await;
    world.happen().await;
    let page = world.get(MASKED, &format!("/channels/{CHANNEL}/backup/messages/m2")).await.ok();
    let shown = page["content"].as_str().unwrap();
    assert!(shown.contains(&pseudonym(MEMBER).id), "{shown}");
    for (quoted, expected) in [(shown, "same"), (MEMBER, "different")] {
        let asked = json!({"url": "m2", "quoted": quoted});
        let answer = world.tool(MASKED, "verify_citation", &asked).await.ok();
        let verdict = &answer["result"]["structuredContent"]["verdict"];
        assert_eq!(verdict, expected, "{quoted}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_finds_what_may_be_read() {
    let world = World::new().await;
    world.happen().await;
    let total = async |key: &str, query: &str| {
        let found = world.get(key, &format!("/search?q={query}")).await.ok();
        assert_eq!(
            found["hits"].as_array().map_or(0, Vec::len) as u64,
            found["total"].as_u64().unwrap()
        );
        found["total"].as_u64().unwrap()
    };
    for query in ["Mildred", "Octavia", "0912-345-678", "membrane", "s3cr3tT0k3n99", "secret-plan"]
    {
        assert!(total(FULL, query).await > 0, "{query} is there");
        assert_eq!(total(MASKED, query).await, 0, "{query}");
    }
    for query in ["lunch", "noon", "nothing%20note"] {
        assert_eq!(total(MASKED, query).await, total(FULL, query).await, "{query}");
    }
    // A hidden word is as good as one that nobody used, beside a visible one too.
    for sort in ["relevance", "newest"] {
        for hidden in ["Mildred", "Octavia", "0912-345-678", "membrane", "old-nickname"] {
            let found = async |word: &str| {
                let path = format!("/search?q=lunch%20{word}&sort={sort}");
                let found = world.get(MASKED, &path).await.ok();
                (found["total"].clone(), found["hits"].clone(), found["nextCursor"].clone())
            };
            assert_eq!(found(hidden).await, found("zyzzyva").await, "{hidden}");
        }
    }
    let name = pseudonym(MEMBER).name.replace(' ', "%20");
    assert_eq!(total(MASKED, &format!("lunch%20from:%22{name}%22")).await, 2);
    let unknown = world.get(MASKED, "/search?q=lunch%20from:%22Mildred%20Membrane%22").await.ok();
    assert_eq!(
        (&unknown["total"], &unknown["unknownNames"]),
        (&json!(0), &json!(["Mildred Membrane"]))
    );
    world.get(MASKED, "/search?q=lunch%20-Mildred").await.refused(400, "invalid_request");
    // Pages of the small index go on as any others.
    let first = world.get(MASKED, "/search?q=lunch&limit=1").await.ok();
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = world.get(MASKED, &format!("/search?q=lunch&limit=1&cursor={cursor}")).await.ok();
    assert_ne!(first["hits"][0]["message"]["id"], second["hits"][0]["message"]["id"]);
}
