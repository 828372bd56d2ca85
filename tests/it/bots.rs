//! Several bots in one deployment: each with its own webhook path, secret, token and groups.

use chatkeep_emulator::{
    Chat, Emulator, Entry, Fault, Media, Options, Post, Target, User, signature,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::wait::until;
use crate::harness::{http, ports};
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, SECRET, Stack, TOKEN, TestEnv};

on_both!(each_bot_serves_its_own_groups);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_access_token_is_told_at_the_start_and_stops_nothing() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    let (shop, help) = (emulator().await, Help::start().await);
    // Nobody answers there: the network may be down for a while.
    let away = format!("http://{}", ports::free());
    let sections = [
        section("shop", SECRET, TOKEN, &shop.api_base()),
        section("help", Help::SECRET, "not-the-token", &help.api_base()),
        section("away", Help::SECRET, "unknown", &away),
    ];
    let path = ground.folder.path().join("bots.toml");
    std::fs::write(&path, sections.concat()).unwrap();
    ground.settings.push(("CHATKEEP_CONFIG", path.display().to_string()));
    shop.set_webhook_url(Some(format!("http://{}/webhook/line/shop", ground.address)));
    let process = ground.serve(&shop).await;
    let url = format!("http://{}/readyz", ground.address);
    let mut problems = Value::Null;
    until("the refused token is a problem", DEADLINE, async || {
        let ready: Value = reqwest::get(&url).await.unwrap().json().await.unwrap();
        problems = ready["problems"].clone();
        problems != json!([])
    })
    .await;
    assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
    assert_eq!(problems[0]["part"], "access_token:help");
    let reason = problems[0]["reason"].as_str().unwrap();
    assert!(reason.contains("CHATKEEP_LINE_HELP_ACCESS_TOKEN"), "{reason}");
    let logged = |words: &[&str]| {
        let holds = |line: &String| words.iter().all(|word| line.contains(word));
        process.stderr().iter().filter(|line| holds(line)).count()
    };
    until("each bot is told of once", DEADLINE, async || {
        logged(&["the access token works", "shop"]) == 1
            && logged(&["WARN", "CHATKEEP_LINE_HELP_ACCESS_TOKEN"]) == 1
            && logged(&["WARN", "cannot be checked yet", "away"]) == 1
    })
    .await;
    assert!(!process.stderr().join("\n").contains("not-the-token"), "a token is a secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_wrong_with_a_bot_later_is_a_problem_while_it_lasts() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let url = format!("http://{}/readyz", stack.ground.address);
    let problems = async || {
        let ready: Value = reqwest::get(&url).await.unwrap().json().await.unwrap();
        let all = ready["problems"].as_array().unwrap().clone();
        all.iter().map(|one| format!("{}: {}", one["part"], one["reason"])).collect::<Vec<_>>()
    };
    let becomes = async |expected: &[[&str; 2]]| {
        until(&format!("problems are {expected:?}"), DEADLINE, async || {
            let found = problems().await;
            let fits = |(one, [part, reason]): (&String, &[&str; 2])| {
                one.starts_with(&format!("\"{part}\"")) && one.contains(reason)
            };
            found.len() == expected.len() && found.iter().zip(expected).all(fits)
        })
        .await;
    };
    becomes(&[]).await;
    // The access token is revoked, which the next reply shows.
    let refused = || Fault::Status { status: 401, retry_after: None };
    let ask = async || {
        stack.line.say(&group.chat_id, &people[0].user_id, "wifi").await.unwrap();
    };
    stack.line.fail_next(Target::Any, usize::MAX, refused());
    ask().await;
    becomes(&[["access_token:main", "LINE refused the access token"]]).await;
    // When it works, the rest is looked at.
    stack.line.set_up(|account| (account.clock_ahead, account.use_webhook) = (-120, false));
    stack.line.clear_faults();
    becomes(&[
        ["clock", "seconds ahead of LINE's"],
        ["incoming_webhooks:main", "switched off at LINE"],
    ])
    .await;
    stack.line.set_up(|account| (account.clock_ahead, account.use_webhook) = (0, true));
    stack.line.fail_next(Target::Reply, 1, refused());
    ask().await;
    becomes(&[]).await;
    // The secret is another bot's: replies would be refused. Then it is replaced.
    let other = stack.line.sign_raw(r#"{"destination":"Uother","events":[]}"#);
    assert_eq!(stack.line.post(other).await, Some(200));
    becomes(&[["bot_identity:main", "webhooks are for Uother, another bot"]]).await;
    assert!(stack.line.connection_check().await.accepted);
    becomes(&[]).await;
    assert!(stack.process.terminate().await.success());
}

/// A second LINE account.
pub(crate) struct Help;

impl Help {
    pub(crate) const SECRET: &str = "secret-of-help";
    pub(crate) const TOKEN: &str = "token-of-help";

    pub(crate) async fn start() -> Emulator {
        let clock = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            i64::try_from(now.as_millis()).unwrap()
        };
        let mut options = Options::new(std::sync::Arc::new(clock));
        (options.channel_secret, options.access_token) = (Self::SECRET.into(), Self::TOKEN.into());
        (options.seed, options.bot_name) = (2, "Help desk".to_owned());
        Emulator::start(options).await.unwrap()
    }
}

/// Returns the settings of a bot.
pub(crate) fn section(name: &str, secret: &str, token: &str, base: &str) -> String {
    format!(
        "[[line]]\nname = \"{name}\"\nchannel_secret = \"{secret}\"\naccess_token = \"{token}\"\n\
         api_base = \"{base}\"\ndata_api_base = \"{base}\"\n"
    )
}

/// A running program with two bots, and a group of each. The stack's emulator is the shop's.
pub(crate) struct Two {
    pub(crate) stack: Stack,
    pub(crate) help: Emulator,
    pub(crate) shop_group: (Chat, Vec<User>),
    pub(crate) help_group: (Chat, Vec<User>),
    /// Keys of an owner of each.
    pub(crate) keys: [String; 2],
    /// Settings of the shop alone.
    shop_only: String,
}

impl Two {
    pub(crate) async fn start(parts: Parts) -> Self {
        let (mut ground, shop, help) =
            (TestEnv::new(parts).await, emulator().await, Help::start().await);
        let file = |name: &str, text: &str| {
            let path = ground.folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let shop_section = section("shop", SECRET, TOKEN, &shop.api_base());
        let help_section = section("help", Help::SECRET, Help::TOKEN, &help.api_base());
        let both = file("both.toml", &format!("{shop_section}{help_section}"));
        let shop_only = file("shop.toml", &shop_section);
        ground.settings.push(("CHATKEEP_CONFIG", both));
        let address = |name: &str| Some(format!("http://{}/webhook/line/{name}", ground.address));
        let [for_shop, for_help] = ["shop", "help"].map(address);
        help.set_webhook_url(for_help);
        let mut stack = Stack::on(ground, shop.clone()).await;
        shop.set_webhook_url(for_shop);
        let shop_group = group(&mut stack).await;
        let shop_key = stack.key().to_owned();
        stack.line = help.clone();
        let help_group = group(&mut stack).await;
        stack.line = shop;
        let keys = [shop_key, stack.key().to_owned()];
        Self { stack, help, shop_group, help_group, keys, shop_only }
    }

    pub(crate) async fn post(&self, path: &str, body: &str, secret: &str) -> (StatusCode, Value) {
        let url = format!("http://{}{path}", self.stack.ground.address);
        let signature = signature(secret, body.as_bytes());
        let request = http::client(DEADLINE).post(url).header("X-Line-Signature", signature);
        let answer = request.body(body.to_owned()).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }
}

/// Waits until the bot has replied in a chat.
async fn answered(line: &Emulator, chat: &str, count: usize) -> Vec<String> {
    let mut said = Vec::new();
    until("the bot has answered", DEADLINE, async || {
        let bot = line.transcript(chat).into_iter().filter(Entry::is_bot);
        said = bot.filter_map(|entry| entry.text).collect();
        said.len() == count
    })
    .await;
    said
}

async fn each_bot_serves_its_own_groups(parts: Parts) {
    let mut two = Two::start(parts).await;
    let lines = [two.stack.line.clone(), two.help.clone()];
    let groups = [two.shop_group.clone(), two.help_group.clone()];
    for (((line, (chat, people)), key), name) in
        lines.iter().zip(&groups).zip(two.keys.clone()).zip(["shop", "help"])
    {
        two.stack.use_key(&key);
        let (chat, user) = (chat.chat_id.as_str(), people[1].user_id.as_str());
        line.say(chat, user, "hours").await.unwrap();
        assert_eq!(answered(line, chat, 1).await, ["9-18"]);
        let kim = line.add_user("Kim", None);
        line.members_join(chat, &[&kim.user_id]).await.unwrap();
        let said = answered(line, chat, 2).await;
        assert_eq!(said[1], "歡迎 Kim to Test 測試", "names are asked of the right bot");

        let file = Post::File(Media::new("application/pdf", vec![7; 9]), "a.pdf".to_owned());
        line.post_message(chat, user, file).await.unwrap();
        until("the file is fetched by the right bot", DEADLINE, async || {
            let kept = two.stack.messages(chat).await;
            kept.iter().any(|message| message["mediaStatus"] == "stored")
        })
        .await;
        let detail = two.stack.get(&format!("/channels/{chat}")).await;
        assert_eq!(detail["meta"]["bot"], *name);
        // A silent member's profile is requested from the right bot.
        two.stack.act_as(&people[2].user_id).await;
        let (status, _) =
            two.stack.call(Method::GET, &format!("/channels/{chat}/members"), None).await;
        assert_eq!(status, StatusCode::OK);
        assert!(line.violations().is_empty(), "{:?}", line.violations());
    }
    if parts == Parts::Embedded {
        addresses(&two).await;
    }
}

/// Checks the path that each webhook is accepted on.
async fn addresses(two: &Two) {
    let body = r#"{"destination":"U-somebody-else","events":[]}"#;
    for (path, secret, expected) in [
        ("/webhook/line/shop", SECRET, 200),
        ("/webhook/line/help", Help::SECRET, 200),
        ("/webhook/line/shop", Help::SECRET, 401),
        ("/webhook/line/help", SECRET, 401),
    ] {
        assert_eq!(two.post(path, body, secret).await.0, expected, "{path} {secret}");
    }
    let (status, answer) = two.post("/webhook/line/nobody", body, SECRET).await;
    assert_eq!((status, &answer["code"]), (StatusCode::NOT_FOUND, &json!("not_found")));
    assert_eq!(answer["error"], "Not found");
    let (status, answer) = two.post("/webhook/line", body, SECRET).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let says = answer["error"].as_str().unwrap();
    assert!(says.ends_with("/webhook/line/help, /webhook/line/shop"), "{says}");
    until("both wrong destinations are logged", DEADLINE, async || {
        let lines = two.stack.process.stderr();
        let warned = lines.iter().filter(|line| {
            line.contains("webhooks are for U-somebody-else, another bot") && line.contains("WARN")
        });
        warned.count() == 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_single_bot_has_its_name_and_the_plain_path() {
    let stack = Stack::start(Parts::Embedded, emulator().await).await;
    for path in ["", "/main"] {
        let url = format!("http://{}/webhook/line{path}", stack.ground.address);
        stack.line.set_webhook_url(Some(url));
        assert_eq!(stack.line.connection_check().await.status, Some(200), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_does_not_know_a_bot_loses_nothing() {
    let mut two = Two::start(Parts::Servers).await;
    assert!(two.stack.process.terminate().await.success());
    let (ground, shop, help) = (&two.stack.ground, two.stack.line.clone(), two.help.clone());
    let mut front = ground.program(&shop, &["serve", "--roles", "ingress,api"]).start();
    front.ready(ground.address, "/readyz").await;
    let address = ports::free();
    let mut worker = ground
        .program(&shop, &["serve", "--roles", "worker"])
        .env("CHATKEEP_CONFIG", &two.shop_only)
        .env("CHATKEEP_LISTEN", address.to_string())
        .env("CHATKEEP_METRICS_LISTEN", ports::free().to_string())
        .env("CHATKEEP_WORKERS_MAX_ATTEMPTS", "1")
        .start();
    worker.ready(address, "/readyz").await;

    let (chat, people) = &two.help_group;
    help.say(&chat.chat_id, &people[1].user_id, "hours").await.unwrap();
    two.stack.use_key(&two.keys[1]);
    two.stack.kept(&chat.chat_id, 1).await;
    let mut dead = String::new();
    until("nobody can answer it", DEADLINE, async || {
        dead = two.stack.ground.command(&shop, &["dead", "list", "--json"]).await;
        !dead.is_empty()
    })
    .await;
    let letters: Vec<Value> =
        dead.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(letters.len(), 1, "{dead}");
    assert_eq!(letters[0]["reason"], r#"no bot named "help" is configured"#);
    assert!(letters[0]["messageId"].as_str().unwrap().starts_with("line:help:"), "{dead}");

    // The bot that it knows is served all the while.
    let (chat, people) = &two.shop_group;
    shop.say(&chat.chat_id, &people[1].user_id, "hours").await.unwrap();
    assert_eq!(answered(&shop, &chat.chat_id, 1).await, ["9-18"]);
    assert!(worker.terminate().await.success() && front.terminate().await.success());
}
