//! Surfaces that show what is kept: REST, MCP, the console, webhooks, commands, logs.

use std::collections::HashSet;

use chatkeep_api::catalogue;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::talk::Talk;
use super::{GONE, NEVER, SHOWN, World, cookie};
use crate::console::routes::routes;
use crate::harness::http;
use crate::harness::wait::until;
use crate::hooks::sink::Received;
use crate::stack::DEADLINE;

/// Beginnings of surfaces that show what is kept.
const READERS: [&str; 10] = [
    "/api/channels/{c}/backup/messages",
    "/api/channels/{c}/backup/export?format=jsonl",
    "/api/channels/{c}/backup/export?format=csv",
    "/api/channels/{c}/backup/export?format=html",
    "/api/channels/{c}/backup/exports/exp_",
    "get_messages",
    "/c/{c}",
    "/c/{c}/export/file?format=html",
    "/c/{c}/export/file?format=csv",
    "/c/{c}/export/file?format=jsonl",
];

/// Beginnings of surfaces that show what a message said before it was edited.
const EARLIER: [&str; 11] = [
    "/api/channels/{c}/backup/messages/",
    "/api/channels/{c}/backup/export?format=jsonl",
    "/api/channels/{c}/backup/export?format=html",
    "/api/channels/{c}/backup/exports/exp_",
    "get_context ",
    "fetch ",
    "chatkeep://channel/{c}/message/",
    "/c/{c}/m/",
    "/c/{c}/export/file?format=html",
    "/c/{c}/export/file?format=jsonl",
    "export {c} ",
];

/// A surface, and what it shows.
type Shown = (String, String);

/// Returns the addresses of a page for all of these values, with what it is asked for.
fn expanded(pattern: &str, values: &[(&str, Vec<String>)]) -> Vec<String> {
    let mut paths = vec![pattern.to_owned()];
    for (name, values) in values.iter().filter(|(name, _)| pattern.contains(name)) {
        let each = |path: String| values.iter().map(move |value| path.replace(name, value));
        paths = paths.into_iter().flat_map(each).collect();
    }
    assert!(paths.iter().all(|path| !path.contains('{')), "no value for {pattern}");
    let queries: &[&str] = match pattern {
        "/console/my-data/file" => &["?format=json", "?format=html"],
        "/c/{channel}/search" => &["?q=hours", "?q=ok7shown0x1z"],
        "/c/{channel}/activity" => &["", "?period=all"],
        "/c/{channel}/activity-log" => &["", "?show=reads"],
        "/c/{channel}/export/file" => &["?format=html", "?format=csv", "?format=jsonl"],
        "/c/{channel}/rows" => &["?id=none"],
        "/c/{channel}/assistant/unanswered/rule" | "/c/{channel}/assistant/try" => &["?text=hours"],
        _ => &[""],
    };
    let paths = paths.iter();
    paths.flat_map(|path| queries.iter().map(move |query| format!("{path}{query}"))).collect()
}

/// Checks that what was said before an edit is on the surfaces that have it, and on no others.
fn shows_earlier_texts_where_it_may(talk: &Talk, shown: &[Shown]) {
    let beginnings = EARLIER.map(|beginning| beginning.replace("{c}", &talk.channel));
    for (surface, text) in shown {
        let may_show = beginnings.iter().any(|beginning| surface.starts_with(beginning))
            // The owner is the one who stays.
            || surface.starts_with("/console/my-data/file");
        for (word, is_shown) in talk.earlier.iter().filter(|(word, _)| !surface.contains(word)) {
            assert!(may_show || !text.contains(word), "{word} at {surface}: {text}");
            let is_whole = surface.starts_with(&beginnings[1]);
            assert!(!(is_whole && *is_shown) || text.contains(word), "{word} not at {surface}");
        }
    }
}

impl World {
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.stack.ground.address)
    }

    /// Returns the body of a response. Of what is not there, that of the refusal.
    async fn read(&self, path: &str, key: &str) -> String {
        let client = http::client(DEADLINE);
        let response = client.get(self.url(path)).bearer_auth(key).send().await.unwrap();
        let answers = response.status().is_success() || response.status() == StatusCode::NOT_FOUND;
        assert!(answers, "{path}: {}", response.status());
        response.text().await.unwrap()
    }

    /// Returns what every route that reads responds.
    async fn rest(&self, talk: &Talk) -> Vec<Shown> {
        let mut shown = Vec::new();
        let ids = self.ids(talk).await;
        for route in catalogue().iter().filter(|route| route.method == Method::GET) {
            let query = match route.id {
                "search" | "search_channel" => format!("?q={SHOWN}{}x1z", talk.seed),
                "export_messages" => "?format=html".to_owned(),
                "list_members" => "?role=guest".to_owned(),
                _ => String::new(),
            };
            let path = format!("/api{}{query}", route.path).replace("{channelId}", &talk.channel);
            if path.contains("{messageId}") {
                for id in &ids {
                    let path = path.replace("{messageId}", id);
                    shown.push((path.clone(), self.read(&path, &talk.key).await));
                }
            } else if !path.contains('{') {
                shown.push((path.clone(), self.read(&path, &talk.key).await));
            }
        }
        for format in ["jsonl", "csv"] {
            let path = format!("/api/channels/{}/backup/export?format={format}", talk.channel);
            shown.push((path.clone(), self.read(&path, &talk.key).await));
        }
        shown.push(self.exported(talk).await);
        shown
    }

    /// Returns the document of an export that is written in the background now.
    async fn exported(&self, talk: &Talk) -> Shown {
        let path = format!("/api/channels/{}/backup/exports", talk.channel);
        let begun = http::client(DEADLINE).post(self.url(&path)).bearer_auth(&talk.key);
        let begun = begun.json(&json!({"format": "jsonl"})).send().await.unwrap();
        let export: Value = serde_json::from_str(&begun.text().await.unwrap()).unwrap();
        let path = format!("{path}/{}", export["id"].as_str().unwrap());
        until("the export is completed", DEADLINE, async || {
            let export = self.read(&path, &talk.key).await;
            serde_json::from_str::<Value>(&export).unwrap()["status"] == "done"
        })
        .await;
        let document = format!("{path}/document");
        let text = self.read(&document, &talk.key).await;
        (document, text)
    }

    /// Returns what a delivery of the webhook's would send now.
    async fn deliveries(&self, talk: &Talk) -> Vec<Shown> {
        let mut shown = Vec::new();
        let read = async |path: &str| -> Value {
            serde_json::from_str(&self.read(path, &talk.key).await).unwrap()
        };
        let webhooks = read("/api/webhooks").await;
        for webhook in webhooks["webhooks"].as_array().unwrap() {
            let path =
                format!("/api/webhooks/{}/deliveries", webhook["webhookId"].as_str().unwrap());
            let list = read(&path).await;
            shown.push((path.clone(), list.to_string()));
            for delivery in list["deliveries"].as_array().unwrap().iter().take(8) {
                let path = format!("{path}/{}", delivery["deliveryId"].as_str().unwrap());
                shown.push((path.clone(), read(&path).await.to_string()));
            }
        }
        shown
    }

    /// Checks that no search finds it.
    async fn is_not_found(&self, talk: &Talk) {
        let found = self.read(&format!("/api/search?q={SHOWN}{}", talk.seed), &talk.key).await;
        let found: Value = serde_json::from_str(&found).unwrap();
        assert!(found["total"].as_i64().unwrap() > 0, "what is kept is found: {found}");
        for (word, _) in &talk.earlier {
            let path = format!("/api/search?q={word}");
            let found: Value = serde_json::from_str(&self.read(&path, &talk.key).await).unwrap();
            assert_eq!(found["total"], 0, "{path}: {found}");
        }
        for mark in [NEVER, GONE] {
            for number in 1..=talk.words {
                // A part of them is enough.
                if number % 5 != talk.seed % 5 {
                    continue;
                }
                let path = format!("/api/search?q={mark}{}x{number}z", talk.seed);
                let found: Value =
                    serde_json::from_str(&self.read(&path, &talk.key).await).unwrap();
                assert_eq!(found["total"], 0, "{path}: {found}");
            }
        }
    }

    async fn tools(&self, talk: &Talk) -> Vec<Shown> {
        let mut shown = Vec::new();
        for (tool, arguments) in [
            ("list_channels", json!({})),
            ("get_messages", json!({"channelId": talk.channel, "limit": 100})),
            ("search_messages", json!({"query": format!("{SHOWN}{}x1z", talk.seed)})),
            ("get_members", json!({"channelId": talk.channel})),
            ("list_channels", json!({"recent": true})),
            ("search", json!({"query": format!("{SHOWN}{}x1z", talk.seed)})),
            ("get_overview", json!({"channelId": talk.channel, "days": 31})),
        ] {
            let text = self.tool(talk, tool, arguments).await;
            assert!(!text.contains("\"isError\":true"), "{tool}: {text}");
            shown.push((tool.to_owned(), text));
        }
        if !talk.is_thorough() {
            return shown;
        }
        let uri = |id: &str| format!("chatkeep://channel/{}/message/{id}", talk.channel);
        for id in self.ids(talk).await {
            for (tool, arguments) in [
                ("get_context", json!({"message": id})),
                ("get_media", json!({"message": id, "preview": true})),
                ("verify_citation", json!({"url": id, "quoted": "hours"})),
                ("fetch", json!({"id": id})),
            ] {
                shown.push((format!("{tool} {id}"), self.tool(talk, tool, arguments).await));
            }
            for uri in [uri(&id), format!("{}/file", uri(&id))] {
                let read = self.ask(talk, "resources/read", json!({"uri": uri})).await;
                shown.push((uri, read));
            }
        }
        let list = self.ask(talk, "tools/list", json!({})).await;
        let list: Value = serde_json::from_str(&list).unwrap();
        for tool in list["result"]["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            let called = shown.iter().any(|(call, _)| call.split(' ').next() == Some(name));
            assert!(called, "{name} is not called here");
        }
        shown
    }

    async fn tool(&self, talk: &Talk, tool: &str, arguments: Value) -> String {
        self.ask(talk, "tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    async fn ask(&self, talk: &Talk, method: &str, params: Value) -> String {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = http::client(DEADLINE).post(self.url("/mcp")).json(&call);
        let request = request
            .bearer_auth(&talk.key)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{method}");
        response.text().await.unwrap()
    }

    /// Returns the pages of the console, as the owner sees them.
    async fn pages(&self, talk: &Talk) -> Vec<Shown> {
        let mut shown = Vec::new();
        let webhook =
            self.get("/api/webhooks", &talk.key).await["webhooks"][0]["webhookId"].clone();
        let webhook = webhook.as_str().unwrap();
        let log = format!("/api/webhooks/{webhook}/deliveries");
        let log = self.get(&log, &talk.key).await["deliveries"].clone();
        let deliveries = log.as_array().unwrap().iter().take(8);
        let deliveries = deliveries.map(|one| one["deliveryId"].as_str().unwrap().to_owned());
        let rules = format!("/api/channels/{}/assistant/qa", talk.channel);
        let rules = self.get(&rules, &talk.key).await["items"].clone();
        let rules = rules.as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap());
        let values = [
            ("{channel}", vec![talk.channel.clone()]),
            ("{message}", self.ids(talk).await),
            ("{user}", talk.people.iter().map(|user| user.user_id.clone()).collect()),
            ("{person}", talk.people.iter().map(|user| user.user_id.clone()).collect()),
            ("{webhook}", vec![webhook.to_owned()]),
            ("{delivery}", deliveries.collect()),
            ("{rule}", rules.map(str::to_owned).collect()),
            // There are none.
            ("{job}", vec!["job_none".to_owned()]),
            ("{export}", vec!["exp_none".to_owned()]),
            ("{key}", vec!["key_none".to_owned()]),
            ("{consent}", vec!["grant_none".to_owned()]),
        ];
        // What is told to an open page is gathered all along.
        let opens = routes().into_iter().filter(|route| {
            let is_own = route.pattern.starts_with("/console/account");
            let is_rare = is_own || route.pattern.contains("{message}");
            let opens = route.opens && route.pattern != "/" && !route.pattern.ends_with("/news");
            opens && (talk.is_thorough() || !is_rare)
        });
        for route in opens {
            for path in expanded(&route.pattern, &values) {
                let client = http::client(DEADLINE).get(self.url(&path));
                let page = client.header("cookie", cookie(talk.seed)).send().await.unwrap();
                let status = page.status();
                let answers = status.is_success() || status == StatusCode::NOT_FOUND;
                assert!(answers, "{path}: {status}");
                shown.push((path, page.text().await.unwrap()));
            }
        }
        shown
    }

    /// Returns the ids of some messages of a conversation.
    async fn ids(&self, talk: &Talk) -> Vec<String> {
        let list = format!("/api/channels/{}/backup/messages?limit=100", talk.channel);
        let list = self.get(&list, &talk.key).await;
        let ids = list["messages"].as_array().unwrap().iter().step_by(4);
        ids.map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    }

    async fn get(&self, path: &str, key: &str) -> Value {
        serde_json::from_str(&self.read(path, key).await).unwrap()
    }

    /// Returns what commands of the operator say.
    async fn commands(&self) -> Vec<Shown> {
        let mut shown = Vec::new();
        let channel = self.talks[0].channel.as_str();
        for args in [
            &["dead", "list", "--json"][..],
            &["doctor", "--deep"],
            &["status"],
            &["channel", "list"],
            &["bus", "list"],
            &["export", channel, "--format", "jsonl", "--out", "-"],
            &["search", "hours"],
        ] {
            let mut process = self.stack.ground.program(&self.stack.line, args).start();
            process.finish_within(DEADLINE).await;
            let said = [process.stdout(), process.stderr()].concat().join("\n");
            shown.push((args.join(" "), said));
        }
        shown.push(("metrics".to_owned(), self.stack.metrics().await));
        shown
    }

    /// Checks every surface, while the program runs.
    pub(super) async fn nothing_is_shown(&self) {
        until("the webhooks have heard", DEADLINE, async || {
            let heard = self.sink.at("/all");
            let heard: HashSet<_> = heard.iter().map(Received::id).collect();
            heard.len() >= self.talks.iter().map(|talk| talk.stay.len()).sum()
        })
        .await;
        for talk in &self.talks {
            let mut shown = [
                self.rest(talk).await,
                self.deliveries(talk).await,
                self.tools(talk).await,
                self.pages(talk).await,
            ]
            .concat();
            shown.push(("news".to_owned(), talk.news.lock().unwrap().clone()));
            if talk.seed == 0 {
                shown.extend(self.commands().await);
            }
            for reader in READERS {
                let path = reader.replace("{c}", &talk.channel);
                let mut of_reader = shown.iter().filter(|(surface, _)| surface.starts_with(&path));
                assert!(of_reader.any(|(_, text)| text.contains(SHOWN)), "{reader} shows nothing");
            }
            shows_earlier_texts_where_it_may(talk, &shown);
            for (surface, text) in &shown {
                let gone = talk.gone.iter().map(String::as_str).chain([NEVER, GONE]);
                for word in gone.filter(|word| !surface.contains(*word)) {
                    assert!(!text.contains(word), "{word} at {surface}: {text}");
                }
            }
            self.is_not_found(talk).await;
        }
        let logs = [self.stack.process.stdout(), self.stack.process.stderr()].concat();
        for line in logs {
            assert!(![NEVER, GONE, SHOWN].iter().any(|word| line.contains(word)), "{line}");
        }
        // What is taken back later was told before.
        for told in self.sink.at("/all") {
            assert!(!told.body.contains(NEVER), "{}", told.body);
        }
    }
}
