//! Search from a process that has no index of its own: over NATS, or in the folder of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::Database;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::MessageType;
use chatkeep_core::time::SystemClock;
use chatkeep_search::{
    ParsedQuery, SearchError, SearchFallback, SearchRequest, SearchResults, SearchService, Sort,
};
use chatkeep_store::Store;
use chrono_tz::Tz;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::harness::wait::until;
use crate::harness::{http, ports};
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};
use crate::store::{add_group, at, said, unbounded_key};

on_both!(what_one_process_indexes_another_finds);

async fn search(stack: &Stack) -> SearchService {
    let elsewhere = if let Some(nats) = &stack.ground.nats {
        let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
        let bus = NatsBus::connect(&nats.url(), limits, clock).await.unwrap();
        SearchFallback::Bus(Bus::Nats(bus))
    } else {
        SearchFallback::folder(stack.ground.folder.path().join("index"))
    };
    SearchService::new(None, elsewhere)
}

fn find(channel: &str, query: &str) -> SearchRequest {
    let query = ParsedQuery::parse(query, Tz::UTC).unwrap();
    let first = SearchRequest::new(query, vec![ChannelId::from(channel)], 10);
    SearchRequest { sort: Sort::Newest, ..first }
}

fn messages(found: &SearchResults) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.message.as_str()).collect()
}

async fn what_one_process_indexes_another_finds(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, ann, hua) = (group.chat_id.as_str(), &people[0].user_id, &people[1].user_id);
    let mut said = Vec::new();
    for (user, text) in [(ann, "lunch at noon"), (hua, "午餐 lunch?"), (ann, "LUNCH is over")] {
        let told = stack.line.say(chat, user, text).await.unwrap();
        said.push(told.message_id().unwrap().to_owned());
    }
    let search = search(&stack).await;
    until("the messages can be found", DEADLINE, async || {
        let found = search.find(find(chat, "lunch")).await;
        matches!(found, Ok(found) if found.total == 3)
    })
    .await;

    let found = search.find(find(chat, "lunch")).await.unwrap();
    assert_eq!(messages(&found), [&said[2], &said[1], &said[0]]);
    let found = search.find(find(chat, "午餐")).await.unwrap();
    assert_eq!((messages(&found), found.total), (vec![said[1].as_str()], 1));
    assert_eq!(found.hits[0].channel.as_str(), chat);

    pages(&search, chat, &said).await;
    names_and_limits(&search, chat, [ann, hua], &said).await;
    if parts == Parts::Embedded {
        beside(&stack).await;
    } else {
        away(&mut stack, &search, chat).await;
    }
}

async fn pages(search: &SearchService, chat: &str, said: &[String]) {
    let mut page = SearchRequest { limit: 2, ..find(chat, "lunch") };
    let first = search.find(page.clone()).await.unwrap();
    assert_eq!((messages(&first), first.total), (vec![&*said[2], &*said[1]], 3));
    page.cursor.clone_from(&first.next);
    let last = search.find(page.clone()).await.unwrap();
    assert_eq!((messages(&last), &last.next), (vec![&*said[0]], &None));
    page.sort = Sort::Relevance;
    page.cursor = None;
    let best = search.find(page).await.unwrap();
    assert!(best.hits[0].score > 0.0);
}

async fn names_and_limits(
    search: &SearchService,
    chat: &str,
    people: [&String; 2],
    said: &[String],
) {
    let query = "lunch from:明華";
    assert_eq!(
        ParsedQuery::parse(query, Tz::UTC).unwrap().names().into_iter().collect::<Vec<_>>(),
        ["明華"]
    );
    let named = SearchRequest {
        people: BTreeMap::from([("明華".to_owned(), vec![people[1].as_str().into()])]),
        ..find(chat, query)
    };
    assert_eq!(messages(&search.find(named).await.unwrap()), [&said[1]]);
    let nobody = search.find(find(chat, query)).await.unwrap();
    assert_eq!(nobody.total, 0, "a name means nobody by itself");

    let usual = find(chat, "lunch");
    let by = SearchRequest { sender: Some(people[0].as_str().into()), ..usual.clone() };
    assert_eq!(messages(&search.find(by).await.unwrap()), [&said[2], &said[0]]);
    let typed = SearchRequest { kind: Some(MessageType::Image), ..usual.clone() };
    assert_eq!(search.find(typed).await.unwrap().total, 0);
    let sent = search.find(usual.clone()).await.unwrap().hits[0].sent_at;
    let until = SearchRequest { to: Some(sent), ..usual.clone() };
    assert!(!messages(&search.find(until).await.unwrap()).contains(&said[2].as_str()));
    let since = SearchRequest { from: Some(sent), ..usual.clone() };
    assert_eq!(messages(&search.find(since).await.unwrap())[0], said[2]);
    for channels in [vec![], vec![ChannelId::from("C-other")]] {
        let elsewhere = SearchRequest { channels, ..usual.clone() };
        assert_eq!(search.find(elsewhere).await.unwrap().total, 0);
    }
}

/// Checks that without the process with the index, search is unavailable, not empty; then it
/// recovers.
async fn away(stack: &mut Stack, search: &SearchService, chat: &str) {
    stack.process.kill().await;
    until("nobody answers", DEADLINE, async || {
        matches!(search.find(find(chat, "lunch")).await, Err(SearchError::Unavailable(_)))
    })
    .await;
    stack.process = stack.ground.serve(&stack.line).await;
    until(
        "search is back",
        DEADLINE,
        async || matches!(search.find(find(chat, "lunch")).await, Ok(found) if found.total == 3),
    )
    .await;
}

/// Runs a process that serves REST calls only beside the one that owns the data folder's bus.
async fn beside(stack: &Stack) {
    let address = ports::free();
    let mut api = stack
        .ground
        .program(&stack.line, &["serve", "--roles", "api"])
        .env("CHATKEEP_LISTEN", address.to_string())
        .env("CHATKEEP_METRICS_LISTEN", "")
        .start();
    api.ready(address, "/readyz").await;
    let url = format!("http://{address}/api/me");
    let answer = http::client(DEADLINE).get(url).bearer_auth(stack.key()).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    assert!(api.terminate().await.success());
    assert!(stack.ready().await, "the other one does not mind");
}

/// Starts a process with many messages that its search index is filled with; returns it and the
/// number of the messages.
async fn with_many_messages() -> (Stack, usize) {
    const MESSAGES: usize = 5_000;
    let ground = TestEnv::new(Parts::Embedded).await;
    let store = Store::open(&Database::Sqlite, ground.folder.path(), 2).await.unwrap();
    add_group(&store, "C1", &["U1"]).await;
    let (id, user) = ("key_1".into(), "U1".into());
    store.accounts().subscribe(&"C1".into(), &user, at(1)).await.unwrap();
    let messages: Vec<_> =
        (0..MESSAGES).map(|n| said("C1", &format!("m{n}"), 2, "hello")).collect();
    for batch in messages.chunks(1_000) {
        store.messages().ingest(batch, at(2)).await.unwrap();
    }
    store.keys().add_key(&unbounded_key(&id, "ck_1", &user), at(2)).await.unwrap();
    let mut stack = Stack::on(ground, emulator().await).await;
    stack.use_key("ck_1");
    (stack, MESSAGES)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_filled_while_the_rest_goes_on() {
    let (stack, messages) = with_many_messages().await;
    let readiness = async || {
        let url = format!("http://{}/readyz", stack.ground.address);
        let answer = http::client(DEADLINE).get(url).send().await.unwrap();
        // Webhooks are received all the time.
        assert_eq!(answer.status(), StatusCode::OK);
        answer.json::<Value>().await.unwrap()
    };
    until("everything can be found", DEADLINE, async || {
        let told = readiness().await;
        let path = "/channels/C1/backup/search?q=hello";
        let (status, body) = stack.call(Method::GET, path, None).await;
        assert!(
            status == StatusCode::SERVICE_UNAVAILABLE || body["total"] == messages,
            "part of what there is was found: {body}"
        );
        assert!(told["search"] != "ok" || status == StatusCode::OK, "{told} {body}");
        assert_eq!(told["search"] == "ok", told["searchReason"].is_null(), "{told}");
        status == StatusCode::OK
    })
    .await;
    assert_eq!(readiness().await["search"], "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_serves_searches_is_ready_once_it_finds_everything() {
    let (stack, messages) = with_many_messages().await;
    for roles in ["api,search", "search"] {
        let (mut process, address) = stack.serve(roles).await;
        let told = http::client(DEADLINE).get(format!("http://{address}/readyz")).send().await;
        let told: Value = told.unwrap().json().await.unwrap();
        assert_eq!(told["search"], "ok", "{roles}: {told}");
        if roles == "api,search" {
            let url = format!("http://{address}/api/channels/C1/backup/search?q=hello");
            let answer = http::client(DEADLINE).get(url).bearer_auth("ck_1").send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.json::<Value>().await.unwrap()["total"], messages);
        }
        assert!(process.terminate().await.success());
    }
}
