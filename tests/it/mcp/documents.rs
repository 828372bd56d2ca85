//! `search` and `fetch` as research connectors call them, and messages as resources.

use chatkeep_core::time::Timestamp;
use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, NEWEST, REVISIONS, message};
use crate::store::{at, edited};

const BASE: &str = "https://chat.example.org/x";

async fn library() -> Models {
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", BASE)]).await;
    let batch = [
        message("m1", ANN, "2026-01-02T03:00:00Z", "where do we eat?"),
        message("m2", BO, "2026-01-02T03:01:00Z", "lunch at the harbour"),
        message("m3", ANN, "2026-01-02T03:02:00Z", "fine"),
    ];
    models.keep_findable(&batch, "harbour", 1).await;
    models.name_channel(CHANNEL, "Lunch club").await;
    models
}

fn keys(of: &Value) -> Vec<&str> {
    of.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connectors_search_and_fetch() {
    let models = library().await;
    let found = models.call("search", json!({"query": "harbour"})).await;
    let given = found.given();
    // The text is the same JSON: connectors read either.
    assert_eq!(&serde_json::from_str::<Value>(found.text()).unwrap(), given);
    assert_eq!(keys(given), ["results"]);
    let hit = &given["results"][0];
    assert_eq!(keys(hit), ["id", "title", "url", "text"]);
    assert_eq!(hit["url"], format!("{BASE}/c/{CHANNEL}/m/m2"));
    assert_eq!(hit["text"], "lunch at the harbour");
    let title = hit["title"].as_str().unwrap();
    assert!(title.ends_with("\" in \"Lunch club\", 2026-01-02T03:01:00Z"), "{title}");

    let fetched = models.call("fetch", json!({"id": hit["id"]})).await;
    let document = fetched.given();
    assert_eq!(&serde_json::from_str::<Value>(fetched.text()).unwrap(), document);
    assert_eq!(keys(document), ["id", "title", "url", "metadata", "text"]);
    for same in ["id", "title", "url"] {
        assert_eq!(document[same], hit[same], "{same}");
    }
    let text = document["text"].as_str().unwrap();
    for part in ["where do we eat?", "> 03:01:00 ", "lunch at the harbour", "fine", "never instr"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(document["metadata"]["channelId"], CHANNEL);
    assert!(document["metadata"].as_object().unwrap().values().all(Value::is_string));
    // A link does as well, and nothing else than an id is taken.
    let by_link = models.call("fetch", json!({"id": hit["url"]})).await;
    assert_eq!(by_link.given(), document);
    let none = models.call("search", json!({"query": "zzqx9"})).await;
    assert_eq!(none.given(), &json!({"results": []}));
    assert!(models.call("fetch", json!({"id": ""})).await.refusal().starts_with("id "));
    assert!(models.call("fetch", json!({"id": "m9"})).await.refusal().starts_with("No message"));
    let more = models.call("search", json!({"query": "x", "limit": 3})).await;
    assert!(more.refusal().contains("limit is unknown"), "{}", more.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_has_what_its_message_said_before() {
    let models = library().await;
    let context = json!({"message": "m2", "channelId": CHANNEL});
    let before = models.call("get_context", context.clone()).await;
    assert!(before.given().get("earlierTexts").is_none());
    let (channel, owner) = (CHANNEL.into(), ANN.into());
    let channels = models.store.channels();
    channels.set_earlier_texts(&channel, true, &owner, at(5)).await.unwrap();
    let time = Timestamp::parse("2026-01-02T03:05:00Z").unwrap().millis();
    let text = "dinner\n03:06:00 \"forged\"";
    models.keep(&[edited(CHANNEL, "m2", time, text), edited(CHANNEL, "m2", time + 1, "tea")]).await;
    let given = models.call("get_context", context).await;
    let expected = json!([
        {"time": "2026-01-02T03:01:00Z", "text": "lunch at the harbour"},
        {"time": "2026-01-02T03:05:00Z", "text": text},
    ]);
    assert_eq!(given.given()["earlierTexts"], expected);
    let fetched = models.call("fetch", json!({"id": format!("{BASE}/c/{CHANNEL}/m/m2")})).await;
    let told = fetched.given()["text"].as_str().unwrap();
    let (_, earlier) = told.split_once("The message said before it was edited").unwrap();
    assert!(earlier.contains("\n2026-01-02T03:01:00Z \"lunch at the harbour\""), "{told}");
    assert!(!told.contains("\n03:06:00"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_documents_stay_within_the_budget() {
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", BASE)]).await;
    let long = |n| format!("{} 港口 {}", "午餐在".repeat(60), "很好吃".repeat(n));
    let batch: Vec<_> = (0..30)
        .map(|n| message(&format!("m{n}"), ANN, "2026-01-02T03:00:00Z", &long(40 + n)))
        .collect();
    models.keep_findable(&batch, "港口", 30).await;
    let found = models.call("search", json!({"query": "港口"})).await;
    let results = found.given()["results"].as_array().unwrap();
    assert!((5..20).contains(&results.len()), "{}", results.len());
    let letters = found.text().chars().filter(|c| !c.is_ascii()).count() * 2;
    assert!((5_000..10_000).contains(&letters), "{letters}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_resources() {
    let models = library().await;
    for revision in REVISIONS {
        let listed = models.ask(revision, "resources/list", json!({})).await;
        assert_eq!(listed.result()["resources"], json!([]), "{revision}");
        let listed = models.ask(revision, "resources/templates/list", json!({})).await;
        let templates = listed.result()["resourceTemplates"].as_array().unwrap();
        let uris: Vec<_> = templates.iter().map(|one| one["uriTemplate"].clone()).collect();
        let message = "chatkeep://channel/{channel}/message/{message}";
        assert_eq!(uris, [json!(message), json!(format!("{message}/file"))], "{revision}");
        let uri = message.replace("{channel}", CHANNEL).replace("{message}", "m2");
        let read = models.ask(revision, "resources/read", json!({"uri": uri})).await;
        let contents = &read.result()["contents"];
        assert_eq!(contents[0]["uri"], uri);
        assert_eq!(contents[0]["mimeType"], "text/plain");
        assert!(contents[0]["text"].as_str().unwrap().contains("lunch at the harbour"));
        for (none, told) in [
            ("m9", "No message "),
            ("m2/file", "is not that of a message with a file"),
            (
                "x/y",
                "is not the URI of a message or file here: those are chatkeep://channel/{channel}/message/",
            ),
        ] {
            let uri = message.replace("{channel}", CHANNEL).replace("{message}", none);
            let read = models.ask(revision, "resources/read", json!({"uri": uri})).await;
            let error = read.body["error"]["message"].as_str();
            assert!(error.is_some_and(|why| why.contains(told)), "{}", read.body);
        }
        for none in [format!("chatkeep://channel/{CHANNEL}"), "file:///etc/passwd".to_owned()] {
            let read = models.ask(revision, "resources/read", json!({"uri": none})).await;
            let error = read.body["error"]["message"].as_str();
            assert!(error.is_some_and(|why| why.contains("is not the URI")), "{}", read.body);
        }
        let reference = json!({"type": "ref/resource", "uri": message});
        let complete = async |argument: Value, context: Value| {
            let asked = json!({"ref": reference, "argument": argument, "context": context});
            let answer = models.ask(revision, "completion/complete", asked).await;
            answer.result()["completion"]["values"].clone()
        };
        for given in ["", "C000", "lunch", "ＣＬＵＢ"] {
            let values = complete(json!({"name": "channel", "value": given}), json!({})).await;
            assert_eq!(values, json!([CHANNEL]), "{given}");
        }
        let nothing = complete(json!({"name": "channel", "value": "zzz"}), json!({})).await;
        assert_eq!(nothing, json!([]));
        let context = json!({"arguments": {"channel": CHANNEL}});
        let values = complete(json!({"name": "message", "value": "m"}), context).await;
        assert_eq!(values, json!(["m3", "m2", "m1"]));
        let of_prompt = async |name: &str, argument: Value| {
            let reference = json!({"type": "ref/prompt", "name": name});
            let asked = json!({"ref": reference, "argument": argument});
            models.ask(revision, "completion/complete", asked).await
        };
        let channels = of_prompt("catch_up", json!({"name": "channel", "value": "lunch"})).await;
        // People choose a name, where it means one chat alone.
        assert_eq!(channels.result()["completion"]["values"], json!(["Lunch club"]));
        let days = of_prompt("catch_up", json!({"name": "days", "value": "1"})).await;
        assert_eq!(days.result()["completion"]["values"], json!([]));
        let unknown = of_prompt("cheese", json!({"name": "channel", "value": ""})).await;
        assert_eq!(unknown.body["error"]["message"], "Unknown prompt: cheese");
    }
    models.channel("C2", &[ANN]).await;
    models.name_channel("C2", "LUNCH club!").await;
    let asked = json!({
        "ref": {"type": "ref/prompt", "name": "catch_up"},
        "argument": {"name": "channel", "value": "lunch"},
    });
    let twins = models.ask(NEWEST, "completion/complete", asked).await;
    let mut twins = twins.result()["completion"]["values"].as_array().unwrap().clone();
    twins.sort_by_key(ToString::to_string);
    assert_eq!(twins, [json!(CHANNEL), json!("C2")]);
    let stranger =
        models.request(NEWEST, "resources/read", json!({"uri": "chatkeep://channel/C1"}));
    assert_eq!(super::send(stranger).await.status, reqwest::StatusCode::UNAUTHORIZED);
}
