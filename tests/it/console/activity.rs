//! The activity of a channel: its charts, and who sees which numbers.

use chatkeep_core::id::{EventId, RuleId};
use chatkeep_i18n::Language;
use chatkeep_store::{Exchange, PresenceEvidenceKind, ReplyIntent, ReplySource};
use reqwest::StatusCode;

use super::{GROUP, MINUTE, Scene, now};
use crate::store::{answered, at, erase_person, item, said};

fn path(period: &str) -> String {
    format!("/c/{GROUP}/activity?period={period}")
}

/// Returns what is between two texts of a page, the first one included.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = &page[page.find(from).unwrap_or_else(|| panic!("no {from} in {page}"))..];
    &rest[..rest.find(to).unwrap()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_of_everything_are_shown() {
    let scene = Scene::new().await;
    let page = scene.open(&path("all")).await.body;
    // The chart over time ends today.
    let stable = r#"<section class="section" aria-labelledby="hours">"#;
    insta::assert_snapshot!("activity", between(&page, stable, "</main>"));
    assert!(page.contains("142 messages") && page.contains("Messages per month"), "{page}");
    let march = r#"<th scope="row">Mar 2024</th><td>142</td>"#;
    assert!(page.contains(march), "{page}");
    let thai = scene.page(&path("all"), Some("Uowner"), "th").await.body;
    assert!(thai.contains("มี.ค. 2567"), "{thai}");
    for language in Language::ALL {
        let page = scene.page(&path("30"), Some("Umember"), language.tag()).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.body.contains(&language.text("activity-none-title")), "{language:?}");
    }
    let wrong = scene.page(&path("8"), Some("Uowner"), "en").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_and_no_message() {
    let scene = Scene::new().await;
    let group = "C00000000000000000000000000silence";
    let evidence =
        ["Uowner", "Uguest"].map(|user| item(group, 1, PresenceEvidenceKind::Present(user.into())));
    scene.store.members().record_presence(&evidence, at(1)).await.unwrap();
    let path = format!("/c/{group}/activity");
    let page = scene.open(&path).await.body;
    assert!(page.contains("No messages yet") && !page.contains("<svg class=\"columns"), "{page}");
    scene.store.accounts().subscribe(&group.into(), &"Uowner".into(), at(2)).await.unwrap();
    let mut one = said(group, "one", now().millis() - 5, "words");
    if let chatkeep_core::message::MessageChange::Received(message) = &mut one.change {
        message.sender = Some("Uguest".into());
    }
    scene.store.messages().ingest(&[one], now()).await.unwrap();
    let page = scene.open(&path).await.body;
    for text in ["1 message<", r#"<bdi lang="">דנה לוי</bdi>"#, "1 <small>100%</small>"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // Who is erased is in no number.
    let (group, guest) = (group.into(), "Uguest".into());
    erase_person(&scene.store, &group, &guest, at(i64::MAX), now()).await;
    let page = scene.open(&path).await.body;
    assert!(page.contains("No messages yet") && !page.contains("דנה לוי"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_year_is_shown_by_weeks() {
    let scene = Scene::new().await;
    let start = now().millis() - 360 * 24 * 60 * MINUTE;
    let all: Vec<_> = (0..360)
        .map(|day| said(GROUP, &format!("y{day}"), start + day * 24 * 60 * MINUTE, "words"))
        .collect();
    scene.store.messages().ingest(&all, now()).await.unwrap();
    let page = scene.open(&path("365")).await.body;
    assert!(page.contains("360 messages") && page.contains("Messages per week"), "{page}");
    let bars = between(&page, "<svg class=\"columns", "</svg>").matches("<rect").count();
    assert!((53..=54).contains(&bars), "{bars}");
    let week = scene.open(&path("7")).await.body;
    assert_eq!(between(&week, "<svg class=\"columns", "</svg>").matches("<rect").count(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_shown_by_rule_to_those_who_may_see_rules() {
    let scene = Scene::new().await;
    let insert = |rule: &str, question: &str| {
        format!(
            "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                   created_by)
             VALUES ('{GROUP}', '{rule}', '[\"open\"]', '{question}', 'Nine to six', 1, 'Uowner')"
        )
    };
    scene.stack.ground.sql(&insert("qa_hours", "When are you open?")).await;
    scene.stack.ground.sql(&insert("qa_gone", "A removed question")).await;
    for (n, rule) in [Some("qa_hours"), Some("qa_gone"), Some("qa_hours"), None].iter().enumerate()
    {
        reply(&scene, n, *rule).await;
    }
    scene.stack.ground.sql("DELETE FROM qa_rules WHERE rule_id = 'qa_gone'").await;
    let page = scene.open(&path("7")).await.body;
    let link = format!(r#"<a href="/c/{GROUP}/assistant/rules/qa_hours">"#);
    for text in [&link, "When are you open?", "Deleted rules", "Welcome message"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.contains("2 <small>50%</small>") && !page.contains("A removed question"));
    let page = scene.page(&path("7"), Some("Umember"), "en").await.body;
    let answers = between(&page, r#"aria-labelledby="answers""#, "</section>");
    assert!(answers.contains("<span>Rules</span>") && answers.contains("3 <small>75%</small>"));
    assert!(!page.contains("When are you open?") && !page.contains("Deleted rules"), "{page}");
}

/// Records a reply of the bot.
async fn reply(scene: &Scene, n: usize, rule: Option<&str>) {
    let (event, group) = (EventId::from(format!("event-{n}").as_str()), GROUP.into());
    let rule = rule.map(RuleId::from);
    let intent = ReplyIntent {
        event: &event,
        channel: &group,
        source: if rule.is_some() { ReplySource::Qa } else { ReplySource::Welcome },
        rule: rule.as_ref(),
        message: None,
        cooldown_ms: 0,
        at: now(),
    };
    let store = scene.store.assistant();
    store.claim_reply(&intent, now()).await.unwrap();
    let own = [answered(GROUP, &format!("reply-{n}"), now().millis() - MINUTE, "Nine to six")];
    let exchange = Exchange { own: &own, ..Exchange::default() };
    store.finish_reply(&event, Ok(()), exchange, now()).await.unwrap();
}
