//! Origins of the bot's replies, and the way from a wrong reply to its rule.

use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::Content;
use chatkeep_store::{Exchange, ReplyIntent, ReplySource, RuleChange, Store};
use reqwest::StatusCode;

use super::{GROUP, START, Scene, now};
use crate::store::{answered, at, edited, unsent};

/// Time of the replies: after everything else.
const LATE: i64 = START + 3 * 86_400_000;

/// Has the bot reply to an event, for that reason.
async fn reply(store: &Store, message: &str, source: ReplySource, rule: Option<&str>) {
    reply_to(store, message, (source, rule), (None, LATE)).await;
}

/// Has the bot reply to a message, for that reason, at that time.
async fn reply_to(
    store: &Store,
    message: &str,
    (source, rule): (ReplySource, Option<&str>),
    (asked, time): (Option<&str>, i64),
) {
    let (event, channel) = (format!("event-{message}").as_str().into(), ChannelId::from(GROUP));
    let (rule, asked) = (rule.map(Into::into), asked.map(Into::into));
    let intent = ReplyIntent {
        event: &event,
        channel: &channel,
        source,
        rule: rule.as_ref(),
        message: asked.as_ref(),
        cooldown_ms: 0,
        at: at(time),
    };
    store.assistant().claim_reply(&intent, at(time)).await.unwrap();
    let own = [answered(GROUP, message, time, &format!("reply {message}"))];
    let exchange = Exchange { own: &own, ..Exchange::default() };
    store.assistant().finish_reply(&event, Ok(()), exchange, at(time)).await.unwrap();
}

/// Returns the row of a message on a page.
fn row<'p>(page: &'p str, message: &str) -> &'p str {
    let row = page.split("<li id=\"").find(|row| row.starts_with(&format!("m-{message}\"")));
    row.unwrap_or_else(|| panic!("no {message} in {page}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_tell_what_gave_them_to_those_who_may_know() {
    let scene = Scene::new().await;
    let (group, rule) = (ChannelId::from(GROUP), "qa_1_a".into());
    let draft = RuleDraft {
        keywords: vec!["營業時間".to_owned(), "<hours>".to_owned()],
        answer: "9-18".to_owned(),
        ..RuleDraft::default()
    };
    let assistant = || scene.store.assistant();
    let change = async |change| {
        assistant().change_rule(&group, change, None, &"Uowner".into(), at(6)).await.unwrap();
    };
    change(RuleChange::Add(&rule, &draft)).await;
    reply(&scene.store, "ruled", ReplySource::Qa, Some("qa_1_a")).await;
    reply(&scene.store, "welcome", ReplySource::Welcome, None).await;
    reply(&scene.store, "unmatched", ReplySource::NoMatch, None).await;
    reply(&scene.store, "rules", ReplySource::Rules, None).await;
    let path = format!("/c/{GROUP}");
    let page = scene.page(&path, Some("Uadmin"), "en").await.body;
    let ruled = row(&page, "ruled");
    assert!(ruled.contains("Answered by a rule:"), "{ruled}");
    assert!(
        ruled.contains("營業時間, &lt;hours&gt;</a>")
            || ruled.contains("營業時間, &#60;hours&#62;</a>"),
        "{ruled}"
    );
    assert!(ruled.contains(&format!("href=\"/c/{GROUP}/assistant/rules/qa_1_a\"")), "{ruled}");
    for (message, text) in
        [("welcome", "Welcome message"), ("unmatched", "No rule matched"), ("rules", "Group rules")]
    {
        assert!(row(&page, message).contains(text), "{}", row(&page, message));
    }
    assert!(!row(&page, "answer").contains("class=\"origin\""), "nobody knows its origin");
    // Members learn that a rule answered, and not which.
    let page = scene.page(&path, Some("Umember"), "en").await.body;
    let ruled = row(&page, "ruled");
    assert!(ruled.contains("Answered by a rule<") && !ruled.contains("hours"), "{ruled}");
    assert!(!ruled.contains("assistant/rules"), "{ruled}");
    change(RuleChange::Remove(&rule)).await;
    let page = scene.page(&path, Some("Uadmin"), "en").await.body;
    assert!(row(&page, "ruled").contains("has since been deleted"), "{}", row(&page, "ruled"));
    // A reply that is gone has no origin.
    scene.store.messages().ingest(&[unsent(GROUP, "welcome", LATE + 1)], at(LATE)).await.unwrap();
    let page = scene.page(&path, Some("Uadmin"), "en").await.body;
    assert!(!row(&page, "welcome").contains("Welcome message"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_answer_leads_to_its_rule_with_the_message() {
    let scene = Scene::new().await;
    let (group, rule) = (ChannelId::from(GROUP), "qa_1_a".into());
    let keywords = vec!["hours".to_owned()];
    let draft = RuleDraft { keywords, answer: "9-18".to_owned(), ..RuleDraft::default() };
    let add = RuleChange::Add(&rule, &draft);
    let assistant = scene.store.assistant();
    assistant.change_rule(&group, add, None, &"Uowner".into(), at(6)).await.unwrap();
    let ruled = (ReplySource::Qa, Some("qa_1_a"));
    // The records of old replies are deleted one day.
    let time = now().millis();
    reply_to(&scene.store, "wrong", ruled, (Some("p003"), time)).await;
    reply_to(&scene.store, "other", ruled, (None, time)).await;
    let form = format!("/c/{GROUP}/assistant/rules/qa_1_a");
    let page = scene.page(&format!("/c/{GROUP}"), Some("Uadmin"), "en").await.body;
    let link = format!("{form}?reply=wrong");
    assert!(row(&page, "wrong").contains(&link), "{}", row(&page, "wrong"));
    let asked = scene.store.messages().message(&group, &"p003".into()).await.unwrap().unwrap();
    let Some(Content::Text { text, .. }) = asked.content else { panic!() };
    for path in [&link, &format!("{form}?asked=p003")] {
        let page = scene.page(path, Some("Uadmin"), "en").await.body;
        assert!(page.contains(&format!("\n{text}</textarea>")), "{page}");
        assert!(page.contains("Save to keep the bot from answering it"), "{page}");
    }
    for gone in ["?reply=other", "?reply=nothing", "?asked=nothing", "?reply=p003"] {
        let page = scene.page(&format!("{form}{gone}"), Some("Uadmin"), "en").await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.body.contains("is no longer there"), "{gone}: {}", page.body);
    }
    assert_eq!(scene.page(&link, Some("Umember"), "en").await.status, StatusCode::FORBIDDEN);
    // What is a keyword cannot be excluded.
    let typed = scene.page(&format!("{form}?notFor=HOURS%3F"), Some("Uadmin"), "en").await.body;
    assert!(typed.contains("is a keyword of this rule"), "{typed}");
    assert!(!typed.contains("HOURS?</textarea>"), "{typed}");
    let typed = scene.page(&format!("{form}?notFor=two%0Alines"), Some("Uadmin"), "en").await.body;
    assert!(typed.contains("\ntwo lines</textarea>"), "{typed}");
    let ingest = async |change| {
        scene.store.messages().ingest(&[change], at(time)).await.unwrap();
    };
    ingest(edited(GROUP, "p003", time + 1, "lunch?")).await;
    let page = scene.page(&link, Some("Uadmin"), "en").await.body;
    assert!(page.contains("was edited after") && !page.contains("\nlunch?"), "{page}");
    ingest(unsent(GROUP, "p003", time + 2)).await;
    let page = scene.page(&link, Some("Uadmin"), "en").await.body;
    assert!(page.contains("is no longer there") && !page.contains(&text), "{page}");
}
