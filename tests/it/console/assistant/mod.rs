//! Pages of the assistant, but for its rules: a chat with rules and with what people said there.

mod history;
mod journeys;
mod settings;

use chatkeep_core::assistant::RuleDraft;
use chatkeep_store::RuleChange;

use super::{GROUP, MINUTE, Page, Scene, now, of};

/// Texts of people, and how often each is said.
pub(super) const TEXTS: [(&str, usize); 14] = [
    ("hours", 3),
    ("Hours?", 2),
    ("what are your hours?", 4),
    ("huors", 2),
    ("wifi password", 2),
    ("the wifi pasword please", 3),
    ("rules", 2),
    ("show me the rules", 2),
    ("where is the parking garage?", 5),
    ("Where is the parking garage", 2),
    ("can I bring my dog?", 2),
    ("see you tomorrow", 7),
    ("好的，謝謝", 3),
    ("haha", 4),
];

pub(super) fn path(rest: &str) -> String {
    format!("/c/{GROUP}/assistant{rest}")
}

pub(super) fn draft(keywords: &[&str], question: &str, answer: &str) -> RuleDraft {
    RuleDraft {
        keywords: keywords.iter().map(ToString::to_string).collect(),
        question: question.to_owned(),
        answer: answer.to_owned(),
        ..RuleDraft::default()
    }
}

/// Returns the rules of the chat.
pub(super) fn rules() -> [(&'static str, RuleDraft); 2] {
    [
        ("qa_1_hours", draft(&["hours", "opening hours"], "When are you open?", "9:00 to 18:00")),
        ("qa_2_wifi", draft(&["wifi password"], "", "ask the desk")),
    ]
}

/// Starts the program with rules, the group rules, and what people said in the last days.
pub(super) async fn scene() -> Scene {
    let scene = Scene::new().await;
    fill(&scene).await;
    scene
}

async fn fill(scene: &Scene) {
    let (group, owner) = (GROUP.into(), "Uowner".into());
    let assistant = scene.store.assistant();
    for (id, rule) in &rules() {
        let id = (*id).into();
        let change = RuleChange::Add(&id, rule);
        assistant.change_rule(&group, change, None, &owner, now()).await.unwrap();
    }
    assistant.set_group_rules(&group, "Be kind", None, &owner, now()).await.unwrap();
    let change = |mut config: chatkeep_core::assistant::AssistantConfig, _| {
        config.rules.enabled = true;
        config.rules.trigger_keywords = vec!["rules".to_owned()];
        Ok::<_, std::convert::Infallible>(config)
    };
    assistant.change_assistant_config(&group, &owner, now(), change).await.unwrap().unwrap();
    let people = ["Uowner", "Uadmin", "Umember"];
    let said = TEXTS.iter().flat_map(|(text, times)| vec![*text; *times]).enumerate();
    let said: Vec<_> = said
        .map(|(number, text)| {
            let ago = i64::try_from(number).unwrap() * 7 * MINUTE;
            let text = chatkeep_core::message::Content::text(text);
            of(people[number % 3], &format!("now{number}"), now().millis() - ago, &text)
        })
        .collect();
    scene.store.messages().ingest(&said, now()).await.unwrap();
}

/// Returns the value of a field of the form that a page has.
pub(super) fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let start = page.find(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{page}"));
    page[start..].split('"').nth(3).unwrap()
}

/// Opens an examination when it is finished.
pub(super) async fn finished(scene: &Scene, rest: &str) -> Page {
    let mut page = scene.open(&path(rest)).await;
    for _ in 0..100 {
        if !page.body.contains("http-equiv=\"refresh\"") {
            return page;
        }
        assert!(page.body.contains("<progress max=\"100\""), "{}", page.body);
        page = scene.open(&path(rest)).await;
    }
    panic!("it never ends: {}", page.body);
}
