//! Trials of the assistant: on a text, on past messages, and the warnings on saving a rule.

use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, ReplyIntent, ReplySource};
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, Rest, message, now, send, texts, under};

impl Rest {
    async fn rule(&self, keywords: &[&str], answer: &str) -> Value {
        let rule = json!({"keywords": keywords, "answer": answer});
        send(self.post(&under("/assistant/qa"), &rule)).await.ok()
    }

    async fn configure(&self, assistant: Value) {
        let body = json!({ "assistant": assistant });
        send(self.put(&under("/assistant/config"), &body)).await.ok();
    }

    async fn attempt(&self, text: &str) -> Value {
        send(self.post(&under("/assistant/try"), &json!({ "text": text }))).await.ok()
    }

    /// Stores a message of today.
    async fn said(&self, id: &str, text: &str) {
        self.keep(&[message(id, MEMBER, &now().to_string(), text)]).await;
    }

    async fn backtest(&self, body: &Value) -> Value {
        send(self.post(&under("/assistant/backtest"), body)).await.ok()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_is_tried_without_a_trace() {
    let rest = Rest::start(&[]).await;
    let nothing = rest.attempt("hello?").await;
    assert_eq!((&nothing["reply"], &nothing["source"]), (&Value::Null, &json!("none")));

    let rules = rest.rule(&["營業時間", "opening hours"], "9-18").await;
    let id = rules["items"][0]["id"].clone();
    rest.configure(json!({"rules": {"enabled": true, "triggerKeywords": ["rules"]}})).await;
    let body = json!({"content": "be kind"});
    send(rest.put(&under("/assistant/rules"), &body)).await.ok();

    let exact = rest.attempt("Opening HOURS?").await;
    let expected = json!({
        "reply": "9-18", "source": "qa", "ruleId": id, "mode": "keyword", "score": 1.0,
        "candidates": [{"ruleId": id, "score": 1.0, "excluded": false}],
    });
    assert_eq!(exact, expected, "a change holds at once");
    let trigger = rest.attempt("rules").await;
    assert_eq!((&trigger["reply"], &trigger["source"]), (&json!("be kind"), &json!("rules")));
    assert_eq!(rest.attempt("opning huors").await["source"], "none");

    rest.configure(json!({"qa": {"mode": "fuzzy", "noMatchReply": "?"}})).await;
    let typo = rest.attempt("opning huors").await;
    assert_eq!((&typo["ruleId"], &typo["mode"]), (&id, &json!("fuzzy")));
    let score = typo["score"].as_f64().unwrap();
    assert!(score > 0.3 && score < 1.0, "{typo}");
    let other = rest.attempt("see you tomorrow").await;
    assert_eq!((&other["reply"], &other["source"]), (&json!("?"), &json!("noMatch")));
    rest.configure(json!({"qa": {"noMatchScope": "addressed"}})).await;
    assert_eq!(rest.attempt("see you tomorrow").await["source"], "none", "in a group");

    let listed = send(rest.get(&under("/assistant/qa"))).await.ok();
    assert_eq!(listed["items"][0]["hitCount"], 0);
    assert!(listed.get("warnings").is_none());
    assert!(rest.store.assistant().replies(&CHANNEL.into(), 10).await.unwrap().is_empty());
    for bad in [json!({"text": " "}), json!({"text": "x".repeat(5_001)}), json!({})] {
        send(rest.post(&under("/assistant/try"), &bad)).await.refused(400, "invalid_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_saves_a_rule_is_warned() {
    let rest = Rest::start(&[]).await;
    rest.configure(json!({"rules": {"enabled": true, "triggerKeywords": ["版規"]}})).await;
    let first = rest.rule(&["Hours", "open"], "9-18").await;
    assert_eq!(first["warnings"], json!([]));
    let second = rest.rule(&["ｈｏｕｒｓ?", "版規", "new"], "10-19").await;
    let ids = texts(&second["items"], "id");
    let expected = json!([
        {"code": "keyword_shared", "keyword": "hours", "ruleIds": ids},
        {"code": "keyword_is_trigger", "keyword": "版規", "ruleIds": [ids[1]]},
    ]);
    assert_eq!(second["warnings"], expected);
    let path = under(&format!("/assistant/qa/{}", ids[1]));
    let mended = json!({"keywords": ["new"], "answer": "10-19"});
    assert_eq!(send(rest.put(&path, &mended)).await.ok()["warnings"], json!([]));
    let asked = json!({"keywords": ["new"], "question": "When?", "answer": "10-19"});
    send(rest.put(&path, &asked)).await.ok();
    let kept = send(rest.put(&path, &mended)).await.ok();
    assert_eq!(kept["items"][1]["question"], "When?", "what is left out stays");
    let emptied = json!({"keywords": ["new"], "question": "", "answer": "10-19"});
    assert_eq!(send(rest.put(&path, &emptied)).await.ok()["items"][1]["question"], "");

    assert_eq!(rest.rule(&["？", "ok"], "yes").await["warnings"], json!([]));
    rest.configure(json!({"qa": {"keywordMatch": "contains"}})).await;
    let short = rest.rule(&["no?", "1"], "no").await;
    let id = texts(&short["items"], "id").pop().unwrap();
    let expected = json!([{"code": "keyword_short", "keyword": "1", "ruleIds": [id]}]);
    assert_eq!(short["warnings"], expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_does_not_answer_what_it_is_not_for() {
    let rest = Rest::start(&[]).await;
    rest.configure(json!({"qa": {"mode": "fuzzy", "keywordMatch": "contains"}})).await;
    let rule = json!({"keywords": ["hours"], "answer": "9-18", "notFor": ["Happy hours!"]});
    let saved = send(rest.post(&under("/assistant/qa"), &rule)).await.ok();
    let id = saved["items"][0]["id"].as_str().unwrap();
    assert_eq!(saved["items"][0]["notFor"], json!(["Happy hours!"]));
    assert_eq!(rest.attempt("your hours?").await["ruleId"], id);
    let happy = rest.attempt("happy hours").await;
    assert_eq!((&happy["reply"], &happy["source"]), (&Value::Null, &json!("none")));
    let near = &happy["candidates"][0];
    assert_eq!((&near["ruleId"], &near["excluded"]), (&json!(id), &json!(true)), "{happy}");
    assert_eq!(happy["score"], 0.0, "no rule may answer");
    let other = json!({"keywords": ["happy hour"], "answer": "17-18"});
    let other = send(rest.post(&under("/assistant/qa"), &other)).await.ok();
    let other = &other["items"][1]["id"];
    let tried = rest.attempt("happy hours").await;
    let near = tried["candidates"].as_array().unwrap();
    let near = near.iter().find(|near| near["ruleId"] == *other).unwrap();
    assert_eq!((&tried["ruleId"], &tried["score"]), (other, &near["score"]), "{tried}");
    let path = under(&format!("/assistant/qa/{id}"));
    let without = json!({"keywords": ["hours"], "answer": "9-17"});
    let kept = send(rest.put(&path, &without)).await.ok();
    assert_eq!(kept["items"][0]["notFor"], json!(["Happy hours!"]), "what is left out stays");
    for (field, not_for) in [
        ("/notFor/2", json!(["a", "A", "ＨＯＵＲＳ?"])),
        ("/notFor/0", json!([" "])),
        ("/notFor/0", json!(["x".repeat(501)])),
        ("/notFor", json!((0..51).map(|n| n.to_string()).collect::<Vec<_>>())),
    ] {
        let bad = json!({"keywords": ["hours"], "answer": "9-17", "notFor": not_for});
        let refused = send(rest.put(&path, &bad)).await;
        assert_eq!(refused.refused(400, "invalid_request")["field"], field);
    }
    // Nor may a keyword that is added later be one of the texts.
    let clash = json!({"keywords": ["new", "happy hours"], "answer": "9-17"});
    let refused = send(rest.put(&path, &clash)).await;
    assert_eq!(refused.refused(400, "invalid_request")["field"], "/keywords/1");
    let none = json!({"keywords": ["hours"], "answer": "9-17", "notFor": []});
    send(rest.put(&path, &none)).await.ok();
    assert_eq!(rest.attempt("happy hours").await["ruleId"], id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stricter_the_fewer_answers() {
    let rest = Rest::start(&[]).await;
    rest.configure(json!({"qa": {"mode": "fuzzy"}})).await;
    rest.rule(&["where can I park my car", "parking lot"], "Behind the house").await;
    let text = "parking for friends";
    rest.said("q1", text).await;
    let mut answered = Vec::new();
    for strictness in ["careful", "balanced", "eager"] {
        rest.configure(json!({"qa": {"strictness": strictness}})).await;
        let read = send(rest.get(&under("/assistant/config"))).await.ok();
        assert_eq!(read["assistant"]["qa"]["strictness"], strictness);
        let tried = rest.attempt(text).await;
        let tested = rest.backtest(&json!({"strictness": strictness})).await["answered"].clone();
        assert_eq!(json!(i32::from(tried["source"] == "qa")), tested, "{tried}");
        answered.push((tried["score"].as_f64().unwrap(), tried["source"] == "qa"));
    }
    let score = answered[0].0;
    assert_eq!(answered, [(score, false), (score, true), (score, true)]);
    let bad = json!({"assistant": {"qa": {"strictness": "lax"}}});
    send(rest.put(&under("/assistant/config"), &bad)).await.refused(400, "invalid_request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_questions_are_grouped() {
    let rest = Rest::start(&[]).await;
    rest.configure(json!({"qa": {"mode": "fuzzy"}})).await;
    rest.rule(&["opening hours"], "9-18").await;
    rest.said("q1", "Where can I park my car?").await;
    rest.said("q2", "where can i park the car??").await;
    rest.said("q3", "請問停車場在哪裡？").await;
    rest.said("q4", "opening hours?").await;
    rest.said("q5", "see you tomorrow").await;
    let path = under("/assistant/unanswered");
    let told = send(rest.get(&path)).await;
    let again = rest.get(&path).header("if-none-match", told.header("etag"));
    assert_eq!(send(again).await.status, 304, "the beginning of the days moves, and nothing else");
    let told = told.ok();
    assert_eq!((&told["scanned"], told.get("nextCursor")), (&json!(5), Some(&Value::Null)));
    let questions = told["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 2, "{told}");
    assert_eq!(questions[0]["count"], 2);
    assert_eq!(questions[0]["messageIds"].as_array().unwrap().len(), 2);
    assert_eq!(questions[1]["text"], "請問停車場在哪裡？");
    assert_eq!(send(rest.get(&format!("{path}?limit=1"))).await.ok()["questions"][0]["count"], 2);

    rest.rule(&["where can I park my car"], "behind the house").await;
    let told = send(rest.get(&path)).await.ok();
    assert_eq!(texts(&told["questions"], "text"), ["請問停車場在哪裡？"], "now there is a rule");
    for bad in ["days=0", "days=366", "days=x", "limit=0"] {
        send(rest.get(&format!("{path}?{bad}"))).await.refused(400, "invalid_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_is_tried_on_what_was_said() {
    let rest = Rest::start(&[]).await;
    let rules = rest.rule(&["hours"], "9-18").await;
    let hours = rules["items"][0]["id"].as_str().unwrap().to_owned();
    for (id, text) in [("m1", "hours"), ("m2", "parking"), ("m3", "good night")] {
        rest.said(id, text).await;
    }
    let (event, channel, rule) = ("E1".into(), CHANNEL.into(), hours.as_str().into());
    let given = ReplyIntent {
        event: &event,
        channel: &channel,
        source: ReplySource::Qa,
        rule: Some(&rule),
        message: Some(&"m1".into()),
        cooldown_ms: 0,
        at: now(),
    };
    rest.store.assistant().claim_reply(&given, now()).await.unwrap();

    let same = rest.backtest(&json!({})).await;
    let path = under("/assistant/backtest");
    let mut bare = send(rest.request(Method::POST, &path)).await.ok();
    bare["from"] = same["from"].clone();
    assert_eq!(bare, same, "without a body everything has its default");
    assert_eq!((&same["scanned"], &same["answered"]), (&json!(3), &json!(1)));
    assert_eq!((&same["wasAnswered"], &same["changed"]), (&json!(1), &json!(0)));

    let drafts = json!([
        {"id": hours, "keywords": ["opening times"], "answer": "9-18"},
        {"keywords": ["parking"], "answer": "behind the house"},
    ]);
    let tried = rest.backtest(&json!({"rules": drafts, "days": 7})).await;
    assert_eq!((&tried["answered"], &tried["changed"]), (&json!(1), &json!(2)));
    let changes = tried["changes"].as_array().unwrap();
    let of = |id: &str| changes.iter().find(|change| change["message"]["id"] == id).unwrap();
    assert_eq!(of("m1")["was"], json!({"source": "qa", "ruleId": hours}));
    assert_eq!(of("m1")["draft"], json!({"source": "none", "ruleId": null}));
    assert_eq!(of("m2")["draft"], json!({"source": "qa", "ruleId": "draft_2"}));

    let semantic = json!({"mode": "semantic"});
    let path = under("/assistant/backtest");
    send(rest.post(&path, &semantic)).await.refused(403, "plan_required");
    rest.store.accounts().set_plan(&super::OWNER.into(), Plan::Pro, now()).await.unwrap();
    assert_eq!(rest.backtest(&semantic).await["mode"], "semantic");
    for bad in [
        json!({"days": 0}),
        json!({"rules": [{"keywords": [], "answer": "a"}]}),
        json!({"rules": [{"keywords": ["k"]}]}),
        json!({"mode": "magic"}),
    ] {
        send(rest.post(&path, &bad)).await.refused(400, "invalid_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_matching_of_keywords_is_tried_on_what_was_said() {
    let rest = Rest::start(&[]).await;
    rest.rule(&["hours"], "9-18").await;
    rest.said("m1", "what are your hours today?").await;
    rest.said("m2", "hours").await;
    for (of_channel, answered) in [("exact", 1), ("contains", 2)] {
        rest.configure(json!({"qa": {"keywordMatch": of_channel}})).await;
        assert_eq!(rest.backtest(&json!({})).await["answered"], answered, "the channel's");
        for (tested, answered) in [("exact", 1), ("contains", 2)] {
            let tested = rest.backtest(&json!({"keywordMatch": tested})).await;
            assert_eq!(tested["answered"], answered, "{tested}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_history_is_looked_at_page_by_page() {
    let rest = Rest::start(&[]).await;
    let texts = ["where do I park?", "good night"];
    let today = now().millis();
    let one = |number: i64, hours: i64| {
        let at = Timestamp::from_millis(today - hours * 3_600_000 + number).to_string();
        message(&format!("m{number}"), MEMBER, &at, texts[usize::from(number % 2 == 1)])
    };
    let keep = async |changes: Vec<ChannelChange>| {
        for some in changes.chunks(2_000) {
            rest.keep(some).await;
        }
    };
    keep((0..2_600).map(|number| one(number, 12)).collect()).await;
    let draft = json!({"rules": [{"keywords": ["where do I park"], "answer": "behind the house"}]});
    let tried = rest.backtest(&draft).await;
    assert_eq!((&tried["scanned"], &tried["complete"]), (&json!(2_600), &json!(true)));
    assert_eq!((&tried["answered"], &tried["changed"]), (&json!(1_300), &json!(1_300)));
    let changes = tried["changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]["message"]["id"]), (100, &json!("m2598")));
    let unanswered = send(rest.get(&under("/assistant/unanswered"))).await.ok();
    assert_eq!((&unanswered["scanned"], &unanswered["complete"]), (&json!(2_600), &json!(true)));
    assert_eq!(unanswered["questions"][0]["count"], 1_300);

    keep((2_600..20_600).map(|number| one(number, 36)).collect()).await;
    let tried = rest.backtest(&draft).await;
    assert!(tried["scanned"].as_u64().unwrap() < 20_600, "{}", tried["scanned"]);
    assert_eq!(tried["complete"], false);
    let within = json!({"rules": draft["rules"], "days": 1});
    assert_eq!(rest.backtest(&within).await["complete"], true, "what is asked for, all of it");
}
