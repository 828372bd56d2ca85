//! Pages about past messages: the comparison before a switch, and unanswered questions.

use std::collections::BTreeSet;

use chatkeep_core::assistant::{AssistantConfig, QaMode, Rule, RuleDraft};
use chatkeep_core::plan::Plan;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_store::RuleChange;
use chatkeep_workers::assistant::{Compiled, Decision, Reply, Source};
use reqwest::StatusCode;

use super::super::pages::without_times;
use super::super::rules::SAME_ORIGIN;
use super::super::{GROUP, Page, now};
use super::{TEXTS, draft, field, finished, path, rules, scene};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, unsent};

/// Returns the number that a tile of the comparison shows.
fn tile(page: &str, label: &str) -> usize {
    let end = page.find(&format!("</b> <span>{label}</span>")).unwrap_or_else(|| panic!("{page}"));
    page[..end].rsplit("<b>").next().unwrap().parse().unwrap()
}

/// Returns the number of new, lost, other and same answers of another mode, one message at a time.
fn counted(mode: QaMode, plan: Plan, edited: &[Rule]) -> [usize; 4] {
    let space = SemanticSpace::built_in();
    let rule = |(id, draft): (&str, RuleDraft)| rule(id, draft);
    let today: Vec<_> = rules().into_iter().map(rule).collect();
    let compiled = |mode, rules: &[Rule]| {
        let mut config = chatkeep_core::assistant::AssistantConfig::default();
        config.qa.mode = mode;
        config.rules.enabled = true;
        config.rules.trigger_keywords = vec!["rules".to_owned()];
        let (group_rules, rules) = ("Be kind".to_owned(), rules.to_vec());
        let source = Source { config, group_rules, rules, plan: Some(plan), link: None };
        Compiled::new(source, &space, None).unwrap()
    };
    let other = if edited.is_empty() { &today[..] } else { edited };
    let (today, other) = (compiled(QaMode::Keyword, &today), compiled(mode, other));
    let answer = |compiled: &Compiled, text| match compiled.decide(text) {
        Decision::Answer(Reply { text, .. }) => Some(text),
        Decision::NoMatch | Decision::Silent => None,
    };
    let mut counts = [0; 4];
    for (text, times) in TEXTS {
        let place = match (answer(&today, text), answer(&other, text)) {
            (None, None) => continue,
            (None, Some(_)) => 0,
            (Some(_), None) => 1,
            (Some(one), Some(other)) if one != other => 2,
            (Some(_), Some(_)) => 3,
        };
        counts[place] += times;
    }
    counts
}

fn rule(id: &str, draft: RuleDraft) -> Rule {
    Rule::new(id.into(), draft, at(1), "Uowner".into())
}

const TILES: [&str; 4] = ["New answers", "Lost answers", "Different answers", "Same answers"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compared_rule_is_saved_or_edited_further() {
    let scene = scene().await;
    let compared = async |rest: &str, form: &[(&str, &str)]| {
        let form = [&[("csrf", "csrf-Uowner"), ("do", "compare")], form].concat();
        let to = scene.post(&path(rest), "Uowner", &form, &SAME_ORIGIN).await;
        assert_eq!(to.status, StatusCode::SEE_OTHER, "{}", to.body);
        finished(&scene, to.location().strip_prefix(&path("")).unwrap()).await.body
    };
    let saved = scene.open(&path("/rules/qa_1_hours")).await.body;
    let version = field(&saved, "version").to_owned();
    let texts = [("keywords", "hours\r\nparking"), ("answer", "a\r\n\"b\""), ("notFor", "x")];
    let page =
        compared("/rules/qa_1_hours", &[&texts[..], &[("version", &version)]].concat()).await;
    let own = path("/rules/qa_1_hours");
    assert!(page.contains(&format!("action=\"{own}\"")), "{page}");
    for (name, value) in [
        ("keywords", "hours\nparking"),
        ("answer", "a\n&quot;b&quot;"),
        ("notFor", "x"),
        ("version", &version),
    ] {
        assert!(page.contains(&format!("name=\"{name}\" value=\"{value}\"")), "{name}: {page}");
    }
    // The link leads to the form as it was left.
    let edit = page.split("href=\"").find(|link| link.starts_with(&format!("{own}?draft=")));
    let edit = edit.unwrap().split('"').next().unwrap().replace("&amp;", "&");
    let form = scene.open(&edit).await.body;
    assert_eq!(field(&form, "version"), version);
    for text in ["\nhours\nparking</textarea>", "\na\n&quot;b&quot;</textarea>", "\nx</textarea>"] {
        assert!(form.contains(text), "{text}: {form}");
    }
    // An answer that is as it was is not in the address, and is saved as it is.
    let page = compared("/rules/qa_1_hours", &[("keywords", "x"), ("answer", "9:00 to 18:00")]);
    assert!(page.await.contains("name=\"answer\" value=\"9:00 to 18:00\""));
    let new = compared("/rules/new", &[("keywords", "k"), ("answer", "A")]).await;
    assert!(new.contains(&format!("action=\"{}\"", path("/rules/new"))), "{new}");
    assert!(new.contains(&path("/rules/new?draft=true")) && new.contains("Add rule</button>"));
    // Of an answer that no address can have, the beginning is compared.
    let long = "長".repeat(3_000);
    let long = compared("/rules/new", &[("keywords", "k"), ("answer", &long)]).await;
    assert!(long.contains("too long to be saved from here"), "{long}");
    assert!(!long.contains("draft=true") && !long.contains("Add rule</button>"), "{long}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_counts_what_every_message_would_get() {
    let scene = scene().await;
    let owner = "Uowner".into();
    scene.store.accounts().set_plan(&owner, Plan::Pro, now()).await.unwrap();
    for (name, mode) in [("fuzzy", QaMode::Fuzzy), ("semantic", QaMode::Semantic)] {
        let page = finished(&scene, &format!("/switch?mode={name}")).await.body;
        let shown = TILES.map(|label| tile(&page, label));
        let expected = counted(mode, Plan::Pro, &[]);
        assert_eq!(shown, expected, "{name}");
        assert!(expected[0] > 5 && expected[3] > 5, "{expected:?}");
        let said: usize = TEXTS.iter().map(|(_, times)| times).sum();
        let changed = expected[..3].iter().sum::<usize>();
        assert!(page.contains(&format!(": {said}. ")), "{page}");
        assert!(page.contains(&format!("{changed} would get a different answer")), "{page}");
    }
    // An edited rule: one keyword less, another answer.
    let mut edited: Vec<_> = rules().into_iter().map(|(id, draft)| rule(id, draft)).collect();
    edited[0] = rule("qa_1_hours", draft(&["parking garage", "Hours?"], "", "later"));
    let edit = "/switch?rule=qa_1_hours&keyword=parking+garage&keyword=Hours%3F&answer=later";
    let page = finished(&scene, edit).await.body;
    let expected = counted(QaMode::Keyword, Plan::Pro, &edited);
    assert_eq!(TILES.map(|label| tile(&page, label)), expected);
    assert!(expected[2] > 0 && !page.contains("Switch to"), "{expected:?}");
    // Whoever compares it in another mode compares the same rule.
    assert!(page.contains("name=\"keyword\" value=\"parking garage\""), "{page}");
    assert!(page.contains("name=\"rule\" value=\"qa_1_hours\""), "{page}");
    // As the form of the rule leads there.
    let form = [("csrf", "csrf-Uowner"), ("keywords", "hours\r\nparking"), ("do", "compare")];
    let form = [&form[..], &[("answer", "9:00 to 18:00"), ("version", "1")]].concat();
    let to = scene.post(&path("/rules/qa_1_hours"), "Uowner", &form, &SAME_ORIGIN).await;
    let compared = "/switch?rule=qa_1_hours&keyword=hours&keyword=parking&version=1";
    assert_eq!(to.location(), path(compared));
    let empty = [("csrf", "csrf-Uowner"), ("answer", "x"), ("do", "compare")];
    let empty = scene.post(&path("/rules/new"), "Uowner", &empty, &SAME_ORIGIN).await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(empty.body.contains("Please add at least one keyword."), "{}", empty.body);
    // An address cannot have all of a long rule: the form stays, with what was typed.
    let words: Vec<_> = (0..50).map(|number| format!("{number}{}", "長".repeat(90))).collect();
    let form = [("csrf", "csrf-Uowner"), ("keywords", &words.join("\n")), ("do", "compare")];
    for rest in ["/rules/qa_1_hours", "/rules/new"] {
        let long = scene.post(&path(rest), "Uowner", &form, &SAME_ORIGIN).await;
        assert_eq!(long.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", long.body);
        assert!(long.body.contains("too long to compare") && long.body.contains(&words[49]));
    }
    let gone = scene.post(&path("/rules/qa_9"), "Uowner", &form, &SAME_ORIGIN).await;
    assert!(gone.body.contains("deleted this rule in the meantime"), "{}", gone.body);
    // A rule that is too long is refused as where it is saved.
    let refused = scene.page(&path("/switch?keyword=+&answer=x"), Some("Uowner"), "en").await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.body);
    assert!(refused.body.contains("Please fill this in."), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_lists_messages_and_switches() {
    let scene = scene().await;
    let page = finished(&scene, "/switch?mode=fuzzy").await.body;
    let first = page.find("class=\"compared\"").unwrap();
    assert!(page[first..].contains("New answers") && page.contains("No answer"), "{page}");
    assert!(page.contains(&format!("/c/{GROUP}/m/now")), "messages have their permalinks");
    let same = page[first..].find("<dl class=\"one\">");
    let different = page[first..].rfind("<span class=\"tag\">New answers").unwrap();
    assert!(same.is_none_or(|same| same > different), "the different ones come first");
    // Every page of the list together has every message that gets an answer, once.
    let mut ids = Vec::new();
    let mut next = Some(path("/switch?mode=fuzzy"));
    while let Some(address) = next {
        let page = scene.open(&address).await.body;
        let rows = page.split("class=\"asked\"").skip(1);
        let id = |row: &str| row.split("/m/").nth(1)?.split('"').next().map(str::to_owned);
        ids.extend(rows.map(|row| id(row).unwrap()));
        let link = page.find("rel=\"next\"").map(|end| page[..end].rfind("href=\"").unwrap() + 6);
        next = link.map(|at| page[at..].split('"').next().unwrap().replace("&amp;", "&"));
    }
    let expected: usize = counted(QaMode::Fuzzy, Plan::Free, &[]).iter().sum();
    assert_eq!(ids.len(), expected);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), expected, "twice: {ids:?}");
    scene.open(&path(&format!("/switch?mode=fuzzy&page={}", usize::MAX))).await;
    let lost = finished(&scene, "/switch?mode=fuzzy&show=lost").await.body;
    assert!(lost.contains("There is no such message."), "{lost}");
    // A message that is unsent later is not shown from memory.
    scene.store.messages().ingest(&[unsent(GROUP, "now0", now().millis())], now()).await.unwrap();
    let gone = scene.open(&path("/switch?mode=fuzzy&show=same")).await.body;
    assert!(gone.contains("This message was unsent"), "{gone}");

    let version = field(&page, "version").to_owned();
    let form = |version: &str, mode: &str| {
        let form = [("csrf", "csrf-Uowner"), ("version", version), ("mode", mode)];
        form.map(|(name, value)| (name, value.to_owned()))
    };
    let post = async |version: &str, mode: &str| {
        let form = form(version, mode);
        let mut form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        form.push(("match", "exact"));
        scene.post(&path("/switch"), "Uowner", &form, &SAME_ORIGIN).await
    };
    let stale = post("999", "fuzzy").await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", stale.body);
    assert!(stale.body.contains("Somebody else changed this"), "{}", stale.body);
    let refused = post(&version, "semantic").await;
    assert!(refused.body.contains("needs the “Pro” plan"), "{}", refused.body);
    let switched = post(&version, "fuzzy").await;
    assert_eq!(
        (switched.status, switched.location()),
        (StatusCode::SEE_OTHER, &*path("?done=saved"))
    );
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!(config.qa.mode, QaMode::Fuzzy);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_questions_lead_to_rules() {
    let scene = scene().await;
    let page = finished(&scene, "/unanswered").await.body;
    let asked = page.find("where is the parking garage?").unwrap();
    assert!(page[asked..].contains("Asked 7 times"), "{page}");
    assert!(asked < page.find("can I bring my dog?").unwrap(), "the most frequent first");
    let question = "question=where+is+the+parking+garage%3F&amp;keyword=where+is";
    assert!(page.contains(&format!("{}?{question}", path("/rules/new"))), "{page}");
    assert!(page.contains(&format!("/c/{GROUP}/m/now")), "examples have their permalinks");
    assert!(page.contains("aria-current=\"page\">30 days"), "{page}");
    let choose = format!("{}?keyword=can+I+bring+my+dog%3F", path("/unanswered/rule"));
    assert!(page.contains(&choose), "{page}");
    let choice = scene.open(&choose).await.body;
    let rule = format!("{}?keyword=can+I+bring+my+dog%3F", path("/rules/qa_2_wifi"));
    assert!(choice.contains(&rule) && choice.contains("When are you open?"), "{choice}");
    let filtered = scene.open(&format!("{choose}&q=ＯＰＥＮ")).await.body;
    assert!(!filtered.contains("qa_2_wifi") && filtered.contains("qa_1_hours"), "{filtered}");
    let none = scene.open(&format!("{choose}&q=zzz")).await.body;
    assert!(none.contains("No rule found"), "{none}");
    scene.open(&path(&format!("/unanswered?page={}", usize::MAX))).await;
    let wrong = scene.page(&path("/unanswered?days=0"), Some("Uowner"), "en").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);

    // The list of chats tells admins, and nobody else.
    let has_note = |page: &Page| page.body.contains("have no answer yet");
    until("the note about questions", DEADLINE, async || has_note(&scene.open("/console").await))
        .await;
    let home = scene.page("/console", Some("Umember"), "en").await;
    assert!(!has_note(&home), "{}", home.body);
    assert!(scene.open(&path("")).await.body.contains("</b> <span>Unanswered questions"));

    // A rule for it takes it from the list.
    let rule = draft(&["where is the parking garage"], "", "behind the house");
    let (id, group, owner) = ("qa_3".into(), GROUP.into(), "Uowner".into());
    let change = RuleChange::Add(&id, &rule);
    scene.store.assistant().change_rule(&group, change, None, &owner, now()).await.unwrap();
    let page = finished(&scene, "/unanswered").await.body;
    assert!(!page.contains("parking") && page.contains("dog"), "{page}");

    // Modes with a likeness name the rule that is nearest.
    let fuzzy = |mut config: AssistantConfig, _| -> Result<_, ()> {
        config.qa.mode = QaMode::Fuzzy;
        Ok(config)
    };
    let assistant = scene.store.assistant();
    assistant.change_assistant_config(&group, &owner, now(), fuzzy).await.unwrap().unwrap();
    let page = finished(&scene, "/unanswered").await.body;
    let nearest = page.split("class=\"nearest\">").nth(1).unwrap_or_else(|| panic!("{page}"));
    let nearest = nearest.split("</p>").next().unwrap();
    assert!(nearest.contains(&path("/rules/qa_")), "{nearest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_a_chat_with_rules_are_as_before() {
    let scene = scene().await;
    for (name, rest) in [
        ("rules", "/rules"),
        ("rule", "/rules/qa_1_hours"),
        ("switch", "/switch?mode=fuzzy"),
        ("unanswered", "/unanswered"),
    ] {
        let page = finished(&scene, rest).await;
        insta::assert_snapshot!(name, without_times(&page.body));
    }
}
