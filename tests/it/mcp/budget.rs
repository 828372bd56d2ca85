//! Size of answers: within the budget as they are sent, whatever people write.

use chatkeep_core::id::UserId;
use chatkeep_core::profile::Profile;
use serde_json::{Value, json};

use super::{BO, CHANNEL, Models, NEWEST, now};
use crate::harness::numbers::Numbers;
use crate::store::{at, said_by};

/// Maximum of estimated tokens of a result: about ten thousand, the parts around its rows included.
const MOST: usize = 11_000;
/// Characters of the longest message on LINE.
const LONGEST: usize = 5_000;
const WORD: &str = "needle";

/// Parts of texts that are longer in JSON, take many tokens, or are left out.
const PARTS: [&str; 14] = [
    "\"",
    "\\",
    "\\\"",
    "\n",
    "\t",
    "\u{1}",
    "\u{202e}",
    "😀",
    "👩‍👩‍👧",
    "日本語",
    "สวัสดี",
    "e\u{301}",
    "<b>&\"'</b>",
    "words and words ",
];

/// Estimates the tokens of a result as it is sent.
fn tokens(result: &Value) -> usize {
    let sent = serde_json::to_string(result).unwrap();
    let ascii = sent.bytes().filter(u8::is_ascii).count();
    let others = sent.chars().filter(|character| !character.is_ascii());
    let others: usize = others.map(|character| 1 + usize::from(character > '\u{ffff}')).sum();
    ascii.div_ceil(3) + others
}

/// Returns a text of the longest length that ends with these parts in turn.
fn long(parts: &[&str]) -> String {
    let parts = parts.iter().cycle().flat_map(|part| part.chars());
    format!("{WORD}? ").chars().chain(parts).take(LONGEST).collect()
}

/// Returns the longest texts: of each part alone, and of parts at random.
fn texts() -> Vec<String> {
    let mut numbers = Numbers(20_261_124);
    let mut texts: Vec<_> = PARTS.iter().map(|part| long(&[part])).collect();
    for _ in 0..10 {
        let parts: Vec<_> = (0..60).map(|_| numbers.pick(&PARTS)).collect();
        texts.push(long(&parts));
    }
    texts
}

/// Returns what is shown of a text: without what nobody sees.
fn shown(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '\u{1}' | '\u{202e}'))
        .collect::<String>()
        .replace('\t', " ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_within_the_budget_as_they_are_sent() {
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", "https://chat.example.org/x")]).await;
    let name = "\"\\\"😀".repeat(50);
    let profile = Profile { display_name: name.clone(), picture_url: None, language: None };
    let names = [(UserId::from(BO), Some(profile))].into();
    models.store.members().save_profiles(&names, at(2)).await.unwrap();
    models.name_channel(CHANNEL, &name).await;
    let texts = texts();
    let batch: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| {
            // Of the last hour, so that an overview has them.
            let time = now().millis() - (60 - i64::try_from(n).unwrap()) * 60_000;
            said_by(BO, CHANNEL, &format!("m{n:02}"), time, text)
        })
        .collect();
    models.keep_findable(&batch, WORD, texts.len()).await;
    let within = async |tool: &str, arguments: Value| {
        let answer = models.call(tool, arguments.clone()).await;
        let tokens = tokens(answer.result());
        assert!(tokens <= MOST, "{tool} {arguments}: {tokens} tokens");
        answer.given().clone()
    };
    for (n, text) in texts.iter().enumerate() {
        let id = format!("m{n:02}");
        let url = format!("https://chat.example.org/x/c/{CHANNEL}/m/{id}");
        let context = within("get_context", json!({"message": id, "before": 0, "after": 0})).await;
        let row = &context["messages"][0];
        let (given, cut) = (row["text"].as_str().unwrap(), row["cut"].as_u64().unwrap_or_default());
        let whole = shown(text);
        assert!(whole.starts_with(given.trim_end_matches('…')), "{id}");
        let left = whole.chars().count() - given.trim_end_matches('…').chars().count();
        // White space at the cut is left out, and is none of what is left.
        assert!(cut <= left as u64 && (cut > 0) == given.ends_with('…'), "{id}: {cut} of {left}");
        assert_eq!(context["truncated"], cut > 0, "{id}");
        let bytes = serde_json::to_string(&whole).unwrap().len();
        assert!(cut == 0 || bytes > LONGEST + 1_000, "{id}: ordinary texts are whole");
        within("get_context", json!({"message": id})).await;
        let document = within("fetch", json!({"id": url})).await;
        assert!(document["text"].as_str().unwrap().contains("\n> "), "{id}: the message is there");
        let checked = within("verify_citation", json!({"url": url, "quoted": WORD})).await;
        assert_eq!((&checked["verdict"], &checked["message"]["id"]), (&json!("same"), &json!(id)));
        let around = json!({"channelId": CHANNEL, "around": id, "limit": 1});
        let one = within("get_messages", around).await;
        assert_eq!(one["messages"][0]["id"], id);
        let uri = format!("chatkeep://channel/{CHANNEL}/message/{id}");
        let read = models.ask(NEWEST, "resources/read", json!({"uri": uri})).await;
        assert!(tokens(read.result()) <= MOST, "{uri}");
    }
    for limit in [2, 20, 100] {
        let rows = within("get_messages", json!({"channelId": CHANNEL, "limit": limit})).await;
        assert!(!rows["messages"].as_array().unwrap().is_empty());
        let hits = within("search_messages", json!({"query": WORD, "limit": limit})).await;
        assert!(!hits["hits"].as_array().unwrap().is_empty());
    }
    assert!(
        !within("search", json!({"query": WORD})).await["results"].as_array().unwrap().is_empty()
    );
    within("get_overview", json!({})).await;
    within("get_overview", json!({"channelId": CHANNEL})).await;
    within("list_channels", json!({"recent": true})).await;
    within("list_channels", json!({})).await;
    within("get_members", json!({"channelId": CHANNEL})).await;
}
