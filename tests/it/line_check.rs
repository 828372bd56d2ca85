//! `chatkeep line check` against an emulated LINE that is set up wrongly, in each way that it can be.

use std::path::PathBuf;

use chatkeep_emulator::{Account, ChatMode, Emulator, Fault, Target, TokenKind};
use serde_json::Value;

use crate::bots::{Help, section};
use crate::harness::ports;
use crate::pipeline::conversation::emulator;
use crate::stack::{Parts, SECRET, Stack, TOKEN, TestEnv};

/// Questions to the operator, whatever LINE says.
const LOOK: [&str; 3] = ["ask-redelivery", "ask-replies", "ask-groups"];

/// Findings of a run, and how it ended.
struct Checked {
    code: Option<i32>,
    lines: Vec<Value>,
    said: String,
}

impl Checked {
    /// Runs the check in that environment.
    async fn run(ground: &TestEnv, line: &Emulator, args: &[&str]) -> Self {
        let args = [&["line", "check", "--json"], args].concat();
        let mut process = ground.program(line, &args).start();
        let code = process.finish().await.code();
        let lines: Vec<Value> =
            process.stdout().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let said = process.stderr().join("\n");
        for secret in [SECRET, TOKEN, Help::SECRET, Help::TOKEN, "not-the-token"] {
            let told = process.stdout().join("\n");
            assert!(!told.contains(secret) && !said.contains(secret), "{told}\n{said}");
        }
        Self { code, lines, said }
    }

    /// Returns the codes of the findings about a bot with one of these severities.
    fn codes(&self, bot: &str, severities: &[&str]) -> Vec<&str> {
        let of = |line: &&Value| {
            line["bot"] == bot && severities.contains(&line["severity"].as_str().unwrap())
        };
        self.lines.iter().filter(of).map(|line| line["code"].as_str().unwrap()).collect()
    }

    /// Asserts that this alone is wrong or unclear about the bot, and returns its sentence.
    fn only(&self, severity: &str, code: &str) -> &Value {
        let found = self.codes("main", &["wrong", "unanswered", "warning"]);
        assert_eq!(found, [code], "{:#?}", self.lines);
        let line = self.lines.iter().find(|line| line["code"] == code).unwrap();
        assert_eq!(line["severity"], severity);
        let expected = match severity {
            "wrong" => 1,
            "unanswered" => 2,
            _ => 0,
        };
        assert_eq!(self.code, Some(expected), "{}", self.said);
        &line["sentence"]
    }
}

/// A running program whose public address is the one that it listens on, and which LINE sends to.
async fn stack() -> Stack {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    let base = format!("http://{}", ground.address);
    ground.settings.push(("CHATKEEP_API_BASE_URL", base));
    Stack::on(ground, emulator().await).await
}

async fn check(stack: &Stack) -> Checked {
    Checked::run(&stack.ground, &stack.line, &[]).await
}

/// Returns the address of webhooks.
fn ours(stack: &Stack) -> String {
    format!("http://{}/webhook/line", stack.ground.address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_set_up_well_passes_and_the_rest_is_asked() {
    let stack = stack().await;
    let checked = check(&stack).await;
    assert_eq!(checked.code, Some(0), "{:#?}", checked.lines);
    assert_eq!(checked.codes("main", &["wrong", "unanswered", "warning"]), [""; 0]);
    assert_eq!(checked.codes("main", &["look"]), LOOK);
    let fine = [
        "token-works",
        "bot-answers",
        "clock-right",
        "secret-fits",
        "webhook-works",
        "quota-unlimited",
    ];
    assert_eq!(checked.codes("main", &["fine"]), fine);
    for look in checked.lines.iter().filter(|line| line["severity"] == "look") {
        assert!(look["place"].as_str().unwrap().starts_with("LINE "), "{look}");
    }
    // The other address of the only bot is as good.
    stack.line.set_webhook_url(Some(format!("{}/main", ours(&stack))));
    assert_eq!(check(&stack).await.code, Some(0));
    assert_eq!(stack.line.violations(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_read_one_sentence_each_with_the_place() {
    let stack = stack().await;
    stack.line.set_up(|account| account.use_webhook = false);
    let mut process = stack.ground.program(&stack.line, &["line", "check"]).start();
    let code = process.finish().await.code();
    let told = process.stdout().join("\n");
    assert_eq!(
        (code, process.stderr().join("\n").as_str()),
        (Some(1), "chatkeep: 1 problem found")
    );
    let expected = "main  wrong       “Use webhook” is off, so LINE sends no webhooks.\n                  → LINE \
                    Developers console → Messaging API → Webhook settings";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains("main  fine        LINE accepts the access token;"), "{told}");
}

/// Asserts what is found alone after a change of the account.
async fn finds(stack: &Stack, change: fn(&mut Account), severity: &str, code: &str, told: &str) {
    let before = stack.line.account();
    stack.line.set_up(change);
    let checked = check(stack).await;
    let sentence = checked.only(severity, code);
    assert!(sentence.as_str().unwrap().contains(told), "{sentence}");
    stack.line.set_up(|account| *account = before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_the_account_is_named() {
    let stack = stack().await;
    let wrong = "wrong";
    finds(&stack, |it| it.use_webhook = false, wrong, "webhook-off", "is off").await;
    let used_up = |it: &mut Account| (it.quota, it.pushed) = (Some(200), 200);
    finds(&stack, used_up, wrong, "quota-used-up", "All 200 messages").await;
    let nearly = |it: &mut Account| (it.quota, it.pushed) = (Some(200), 180);
    finds(&stack, nearly, "warning", "quota-nearly-used", "180 of the 200").await;
    finds(&stack, |it| it.clock_ahead = 120, wrong, "clock-behind", "seconds behind LINE’s").await;
    finds(&stack, |it| it.clock_ahead = -120, wrong, "clock-ahead", "seconds ahead of LINE’s")
        .await;
    let expires = |it: &mut Account| it.token = TokenKind::Expiring(7_200);
    finds(&stack, expires, "warning", "token-expires", "expires in 2 hours").await;
    stack.line.set_up(|account| account.token = TokenKind::Expiring(30 * 86_400));
    assert_eq!(check(&stack).await.code, Some(0), "a token that expires much later is fine");
    stack.line.set_up(|account| (account.quota, account.pushed) = (Some(200), 3));
    let checked = check(&stack).await;
    assert!(checked.codes("main", &["fine"]).contains(&"quota-left"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_whose_people_also_answer_is_as_good() {
    let stack = stack().await;
    stack.line.set_up(|account| account.chat_mode = ChatMode::Chat);
    let checked = check(&stack).await;
    assert_eq!(checked.code, Some(0), "{:#?}", checked.lines);
    assert_eq!(checked.codes("main", &["look"]), [&["people-answer"], LOOK.as_slice()].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_the_webhook_address_is_named_and_fixed() {
    let stack = stack().await;
    let ours = ours(&stack);
    let set = |url: Option<&str>| stack.line.set_webhook_url(url.map(str::to_owned));
    for (address, code) in [
        (None, "webhook-unset"),
        (Some("https://other.example.org/hook?key=hunter2"), "webhook-elsewhere"),
    ] {
        set(address);
        let checked = check(&stack).await;
        let sentence = checked.only("wrong", code).as_str().unwrap().to_owned();
        assert!(sentence.contains(&ours) && !sentence.contains("hunter2"), "{sentence}");
        let fixed = Checked::run(&stack.ground, &stack.line, &["--fix"]).await;
        assert_eq!((fixed.code, stack.line.webhook_url()), (Some(0), Some(ours.clone())));
        assert_eq!(fixed.lines[0]["code"], "webhook-set");
    }
    // It is left alone where it is right.
    let calls = stack.line.calls().len();
    let fixed = Checked::run(&stack.ground, &stack.line, &["--fix"]).await;
    assert_eq!(fixed.lines[0]["code"], "token-works");
    assert!(!stack.line.calls()[calls..].iter().any(|call| call.method == "PUT"));
    // What LINE refuses stays wrong.
    set(None);
    stack.line.fail_next(Target::Info, 2, Fault::Status { status: 500, retry_after: None });
    let failed = Checked::run(&stack.ground, &stack.line, &["--fix"]).await;
    assert_eq!(failed.lines[0]["code"], "unanswered");
    assert_eq!(failed.code, Some(2), "{:#?}", failed.lines);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_address_that_does_not_work_is_named() {
    let mut stack = stack().await;
    // Something else answers there.
    let base = format!("http://{}/elsewhere", stack.ground.address);
    stack.ground.settings.push(("CHATKEEP_API_BASE_URL", base.clone()));
    stack.line.set_webhook_url(Some(format!("{base}/webhook/line")));
    let checked = check(&stack).await;
    let sentence = checked.only("wrong", "webhook-refused");
    assert!(sentence.as_str().unwrap().contains("with status 404"), "{sentence}");
    // Nobody does.
    let base = format!("http://{}", ports::free());
    stack.ground.settings.push(("CHATKEEP_API_BASE_URL", base.clone()));
    stack.line.set_webhook_url(Some(format!("{base}/webhook/line")));
    let checked = check(&stack).await;
    let sentence = checked.only("wrong", "webhook-unreachable");
    assert!(sentence.as_str().unwrap().contains("COULD_NOT_CONNECT"), "{sentence}");
    // LINE would not send there at all, and nothing is set then.
    let base = "http://chat.example.org".to_owned();
    stack.ground.settings.push(("CHATKEEP_API_BASE_URL", base.clone()));
    stack.line.set_webhook_url(None);
    let checked = Checked::run(&stack.ground, &stack.line, &["--fix"]).await;
    assert_eq!(checked.codes("main", &["wrong"]), ["not-https", "webhook-unset"]);
    assert_eq!((checked.code, stack.line.webhook_url()), (Some(1), None));
    // Nobody knows what it should be.
    stack.ground.settings.push(("CHATKEEP_API_BASE_URL", String::new()));
    let checked = check(&stack).await;
    assert_eq!(checked.codes("main", &["wrong"]), ["webhook-nowhere"]);
    stack.line.set_webhook_url(Some(ours(&stack)));
    check(&stack).await.only("warning", "no-public-address");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_that_are_missing_or_wrong_are_named() {
    let mut stack = stack().await;
    let mut with = async |name: &'static str, value: &str| {
        let settings = stack.ground.settings.len();
        stack.ground.settings.push((name, value.to_owned()));
        let checked = check(&stack).await;
        stack.ground.settings.truncate(settings);
        checked
    };
    let (token, secret) = ("CHATKEEP_LINE_ACCESS_TOKEN", "CHATKEEP_LINE_CHANNEL_SECRET");
    let checked = with(token, "not-the-token").await;
    checked.only("wrong", "token-refused");
    let place = checked.lines[0]["place"].as_str().unwrap();
    assert!(place.contains(&format!("then {token}, or where `chatkeep config show`")), "{place}");
    with(token, "").await.only("wrong", "token-missing");
    with(secret, "").await.only("wrong", "secret-missing");
    let checked = with(secret, Help::SECRET).await;
    let sentence = checked.only("wrong", "secret-other");
    assert!(sentence.as_str().unwrap().contains("channel 2000000001"), "{sentence}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_with_another_secret_refuses_the_test_webhook() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    let base = format!("http://{}", ground.address);
    ground.settings.push(("CHATKEEP_API_BASE_URL", base));
    ground.settings.push(("CHATKEEP_LINE_CHANNEL_SECRET", Help::SECRET.to_owned()));
    let mut stack = Stack::on(ground, emulator().await).await;
    // The command has the right one.
    stack.ground.settings.pop();
    check(&stack).await.only("wrong", "webhook-unsigned");
    assert!(stack.process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_that_line_does_not_answer_are_no_verdict() {
    let stack = stack().await;
    stack.line.fail_next(Target::Info, 1, Fault::Status { status: 500, retry_after: None });
    let checked = check(&stack).await;
    let sentence = checked.only("unanswered", "unanswered").as_str().unwrap();
    assert_eq!(sentence, "Account of the bot: LINE did not answer (no valid answer).");
    assert_eq!(checked.said, "chatkeep: LINE did not answer 1 question");
    let line = emulator().await;
    line.shutdown().await;
    let checked = Checked::run(&stack.ground, &line, &[]).await;
    let sentence = checked.only("unanswered", "unanswered").as_str().unwrap();
    assert!(sentence.ends_with("(it cannot be reached)."), "{sentence}");
    let mut unknown = stack.ground.program(&line, &["line", "check", "--bot", "shop"]).start();
    assert_eq!(unknown.finish().await.code(), Some(2));
    let said = unknown.stderr().join("\n");
    assert_eq!(said, "chatkeep: no bot named \"shop\" is configured, only main");
}

/// Two bots with an emulator each, in a program that does not run.
struct Pair {
    ground: TestEnv,
    shop: Emulator,
    help: Emulator,
    settings: PathBuf,
}

impl Pair {
    async fn new() -> Self {
        let mut ground = TestEnv::bare(Parts::Embedded).await;
        let settings = ground.folder.path().join("bots.toml");
        ground.settings.push(("CHATKEEP_CONFIG", settings.display().to_string()));
        ground.settings.push(("CHATKEEP_API_BASE_URL", format!("http://{}", ground.address)));
        Self { ground, shop: emulator().await, help: Help::start().await, settings }
    }

    async fn check(&self, sections: &[String]) -> Checked {
        std::fs::write(&self.settings, sections.concat()).unwrap();
        Checked::run(&self.ground, &self.shop, &[]).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bots_that_were_mixed_up_are_named() {
    let pair = Pair::new().await;
    let (shop, help) = (pair.shop.api_base(), pair.help.api_base());
    let mixed = |checked: &Checked, bot: &str| {
        let wrong = checked.codes(bot, &["wrong"]).into_iter();
        wrong.filter(|code| !code.starts_with("webhook-un")).map(str::to_owned).collect::<Vec<_>>()
    };
    // The secrets are swapped.
    let swapped =
        [section("shop", Help::SECRET, TOKEN, &shop), section("help", SECRET, Help::TOKEN, &help)];
    let checked = pair.check(&swapped).await;
    assert_eq!(checked.code, Some(1));
    for (bot, other) in [("shop", "help"), ("help", "shop")] {
        assert_eq!(mixed(&checked, bot), ["secret-swapped"], "{:#?}", checked.lines);
        let found = checked.lines.iter();
        let mut found = found.filter(|line| line["bot"] == bot && line["code"] == "secret-swapped");
        let sentence = found.next().unwrap()["sentence"].as_str().unwrap();
        assert!(sentence.contains(&format!("“{other}”")), "{sentence}");
    }
    // Both have the token of one.
    let twins = [section("shop", SECRET, TOKEN, &shop), section("help", SECRET, TOKEN, &shop)];
    let checked = pair.check(&twins).await;
    for bot in ["shop", "help"] {
        assert_eq!(mixed(&checked, bot), ["same-channel"], "{:#?}", checked.lines);
    }
    // Nothing is set with a token that may be the other's.
    let sent_to = || [pair.shop.webhook_url(), pair.help.webhook_url()];
    let unset = sent_to();
    for mixed_up in [&swapped, &twins] {
        std::fs::write(&pair.settings, mixed_up.concat()).unwrap();
        let checked = Checked::run(&pair.ground, &pair.shop, &["--fix"]).await;
        assert!(checked.lines.iter().all(|line| line["code"] != "webhook-set"));
        assert_eq!((checked.code, sent_to()), (Some(1), unset.clone()), "{:#?}", checked.lines);
    }
    // The webhooks of one go to the other.
    let right =
        [section("shop", SECRET, TOKEN, &shop), section("help", Help::SECRET, Help::TOKEN, &help)];
    let url = |bot: &str| format!("http://{}/webhook/line/{bot}", pair.ground.address);
    pair.shop.set_webhook_url(Some(url("help")));
    let checked = pair.check(&right).await;
    assert_eq!(checked.codes("shop", &["wrong"]), ["webhook-of-other"]);
    assert_eq!(checked.codes("help", &["wrong"]), ["webhook-unset"]);
    // Each gets its own address, or the chosen one alone.
    let chosen = ["--fix", "--bot", "help"];
    let checked = Checked::run(&pair.ground, &pair.shop, &chosen).await;
    assert!(checked.lines.iter().all(|line| line["bot"] == "help"), "{:#?}", checked.lines);
    let urls = || [pair.shop.webhook_url().unwrap(), pair.help.webhook_url().unwrap()];
    assert_eq!(urls(), [url("help"), url("help")]);
    Checked::run(&pair.ground, &pair.shop, &["--fix"]).await;
    assert_eq!(urls(), [url("shop"), url("help")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_of_token_that_line_tells_nothing_of_is_no_error() {
    let stack = stack().await;
    stack.line.set_up(|account| account.token = TokenKind::Stateless);
    check(&stack).await.only("warning", "token-unverified");
}
