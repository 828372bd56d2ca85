//! Pages of the assistant's settings: overview, comparison before a switch, unanswered questions,
//! texts.

use chatkeep_core::assistant::{QaMode, Rule, RuleDraft};
use chatkeep_core::plan::Plan;
use chatkeep_i18n::Language;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_store::{NewSession, RuleChange, SignedIn};
use chatkeep_workers::assistant::{Compiled, Decision, Reply, Source};
use reqwest::StatusCode;
use serde_json::json;

use super::journeys::{DESKTOP, PHONE, browser, is_fine, shows};
use super::rules::SAME_ORIGIN;
use super::{GROUP, MINUTE, Page, Scene, now, of, secret};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, unsent};

/// What people say, and how often.
const TEXTS: [(&str, usize); 14] = [
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

fn path(rest: &str) -> String {
    format!("/c/{GROUP}/assistant{rest}")
}

fn draft(keywords: &[&str], question: &str, answer: &str) -> RuleDraft {
    RuleDraft {
        keywords: keywords.iter().map(ToString::to_string).collect(),
        question: question.to_owned(),
        answer: answer.to_owned(),
    }
}

/// Returns the rules of the chat.
fn rules() -> [(&'static str, RuleDraft); 2] {
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
fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let start = page.find(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{page}"));
    page[start..].split('"').nth(3).unwrap()
}

/// Opens an examination when it is finished.
async fn finished(scene: &Scene, rest: &str) -> Page {
    let mut page = scene.open(&path(rest)).await;
    for _ in 0..100 {
        if !page.headers.contains_key("refresh") {
            return page;
        }
        assert!(page.body.contains("<progress max=\"100\""), "{}", page.body);
        page = scene.open(&path(rest)).await;
    }
    panic!("it never ends: {}", page.body);
}

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
    let RuleDraft { keywords, question, answer } = draft;
    let (created_at, created_by) = (at(1), "Uowner".into());
    let id = id.into();
    let (hit_count, suppressed_count) = (0, 0);
    let changed_at = created_at;
    Rule {
        id,
        keywords,
        question,
        answer,
        created_at,
        created_by,
        changed_at,
        hit_count,
        suppressed_count,
    }
}

const TILES: [&str; 4] = ["New answers", "Lost answers", "Other answers", "Same answers"];

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
        assert!(page.contains(&format!("{said} messages since")), "{page}");
        assert!(page.contains(&format!("{changed} would get another answer")), "{page}");
    }
    // An edited rule: one keyword less, another answer.
    let mut edited: Vec<_> = rules().into_iter().map(|(id, draft)| rule(id, draft)).collect();
    edited[0] = rule("qa_1_hours", draft(&["parking garage", "Hours?"], "", "later"));
    let edit = "/switch?rule=qa_1_hours&keyword=parking+garage&keyword=Hours%3F&answer=later";
    let page = finished(&scene, edit).await.body;
    let expected = counted(QaMode::Keyword, Plan::Pro, &edited);
    assert_eq!(TILES.map(|label| tile(&page, label)), expected);
    assert!(expected[2] > 0 && !page.contains("Switch to"), "{expected:?}");
    // As the form of the rule leads there.
    let form = [("csrf", "csrf-Uowner"), ("keywords", "hours\r\nparking"), ("do", "compare")];
    let form = [&form[..], &[("answer", "9:00 to 18:00"), ("version", "1")]].concat();
    let to = scene.post(&path("/rules/qa_1_hours"), "Uowner", &form, &SAME_ORIGIN).await;
    assert_eq!(to.location(), path("/switch?rule=qa_1_hours&keyword=hours&keyword=parking"));
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
        ids.extend(rows.map(|row| row.split("/m/").nth(1).unwrap()[..6].to_owned()));
        let link = page.find("rel=\"next\"").map(|end| page[..end].rfind("href=\"").unwrap() + 6);
        next = link.map(|at| page[at..].split('"').next().unwrap().replace("&amp;", "&"));
    }
    let expected: usize = counted(QaMode::Fuzzy, Plan::Free, &[]).iter().sum();
    assert_eq!(ids.len(), expected);
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
    assert!(refused.body.contains("needs the plan"), "{}", refused.body);
    let switched = post(&version, "fuzzy").await;
    assert_eq!(
        (switched.status, switched.location()),
        (StatusCode::SEE_OTHER, &*path("?done=saved"))
    );
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!(config.qa.mode, QaMode::Fuzzy);
}

/// Fields of the overview's form.
const OVERVIEW: [(&str, &str); 8] = [
    ("csrf", "csrf-Uowner"),
    ("enabled", "yes"),
    ("qa", "yes"),
    ("rules", "yes"),
    ("mode", "keyword"),
    ("match", "contains"),
    ("scope", "addressed"),
    ("cooldown", "60"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_edit_the_second_is_told() {
    let scene = scene().await;
    let page = scene.open(&path("")).await.body;
    let version = field(&page, "version").to_owned();
    let mut admin = OVERVIEW.to_vec();
    (admin[0].1, admin[7].1) = ("csrf-Uadmin", "300");
    admin.retain(|(name, _)| *name != "qa");
    admin.push(("version", &version));
    let saved = scene.post(&path(""), "Uadmin", &admin, &SAME_ORIGIN).await;
    assert_eq!(saved.location(), path("?done=saved"));
    assert!(scene.open(saved.location()).await.body.contains("Saved."));
    let mut owner = OVERVIEW.to_vec();
    owner.push(("version", &version));
    let stale = scene.post(&path(""), "Uowner", &owner, &SAME_ORIGIN).await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.body.contains("Somebody else changed this"), "{}", stale.body);
    // What was typed is kept, and what is there now stands beside it.
    assert!(stale.body.contains("name=\"qa\" value=\"yes\" checked"), "{}", stale.body);
    assert!(stale.body.contains("value=\"60\" selected"), "{}", stale.body);
    for present in ["Now: off", "Now: 5 minutes"] {
        assert!(stale.body.contains(present), "{present}: {}", stale.body);
    }
    let present = field(&stale.body, "version").to_owned();
    owner.pop();
    owner.push(("version", &present));
    let saved = scene.post(&path(""), "Uowner", &owner, &SAME_ORIGIN).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert!(config.qa.enabled && config.qa.cooldown_seconds == 60);
    // Looking first saves nothing.
    owner.push(("do", "compare"));
    owner[4].1 = "fuzzy";
    let compare = scene.post(&path(""), "Uowner", &owner, &SAME_ORIGIN).await;
    assert_eq!(compare.location(), path("/switch?mode=fuzzy&match=contains"));
    let forged = scene.post(&path(""), "Uowner", &owner[1..], &SAME_ORIGIN).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
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
    let filtered = scene.open(&format!("{choose}&q=OPEN")).await.body;
    assert!(!filtered.contains("qa_2_wifi") && filtered.contains("qa_1_hours"), "{filtered}");
    let none = scene.open(&format!("{choose}&q=zzz")).await.body;
    assert!(none.contains("No rule found"), "{none}");
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
}

/// Fields of the form of texts, as somebody fills them in.
fn texts<'a>(version: &'a str, rules_version: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("csrf", "csrf-Uowner"),
        ("version", version),
        ("rules_version", rules_version),
        ("welcome", "yes"),
        ("welcome_text", "Hi {displayName}\r\nin {groupName}"),
        ("rules", "yes"),
        ("rules_text", "Be kind & <b>calm</b>"),
        ("rules_words", "rules\r\n\r\n 版規 "),
        ("no_match", "Sorry?"),
        ("link_words", "dashboard"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_saved_and_refused_ones_are_kept() {
    let scene = scene().await;
    let page = scene.open(&path("/texts")).await.body;
    assert!(page.contains("api.base_url"), "without an address there is no link: {page}");
    let versions = ["version", "rules_version"].map(|name| field(&page, name).to_owned());
    let mut form = texts(&versions[0], &versions[1]);
    let long = "x".repeat(101);
    let words = format!("fine\n{long}");
    form[7].1 = &words;
    let wrong = scene.post(&path("/texts"), "Uowner", &form, &SAME_ORIGIN).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let beside = wrong.body.find("id=\"rules-words-wrong\"").unwrap();
    assert!(wrong.body[beside..].contains("This is too long: up to 100 characters."));
    for typed in [&*long, "Hi {displayName}\nin {groupName}", "Be kind &amp; &lt;b&gt;", "Sorry?"] {
        assert!(wrong.body.contains(typed), "{typed}: {}", wrong.body);
    }
    assert!(!wrong.body.contains("There now:"), "nobody else changed anything");
    let saved = scene
        .post(&path("/texts"), "Uowner", &texts(&versions[0], &versions[1]), &SAME_ORIGIN)
        .await;
    assert_eq!(saved.location(), path("/texts?done=saved"), "{}", saved.body);
    let (group, assistant) = (GROUP.into(), scene.store.assistant());
    let config = assistant.assistant_config(&group).await.unwrap();
    assert_eq!(config.welcome.message, "Hi {displayName}\nin {groupName}");
    assert_eq!(config.rules.trigger_keywords, ["rules", "版規"]);
    assert_eq!(config.qa.no_match_reply.as_deref(), Some("Sorry?"));
    assert_eq!(config.link.trigger_keywords, ["dashboard"]);
    assert!(config.welcome.enabled && !config.link.enabled);
    let kind = assistant.group_rules(&group).await.unwrap().value.text;
    assert_eq!(kind, "Be kind & <b>calm</b>");
    // The second of two is told, whichever text it was.
    let mut late = texts(&versions[0], &versions[1]);
    (late[4].1, late[9].1) = ("Welcome", "link");
    let stale = scene.post(&path("/texts"), "Uowner", &late, &SAME_ORIGIN).await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.body.contains("Somebody else changed this") && stale.body.contains(">Welcome<"));
    assert!(stale.body.contains("There now:") && stale.body.contains("dashboard"));
    assert_eq!(assistant.assistant_config(&group).await.unwrap(), config);
    let mut fresh = late;
    let versions = ["version", "rules_version"].map(|name| field(&stale.body, name).to_owned());
    (fresh[1].1, fresh[2].1) = (&versions[0], &versions[1]);
    let saved = scene.post(&path("/texts"), "Uowner", &fresh, &SAME_ORIGIN).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
}

/// Returns the text of the preview of a page, as it is read.
fn previewed(page: &str) -> Option<String> {
    let text = page.split("id=\"preview-text\">").nth(1)?.split("</p>").next()?;
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&quot;", "\""), ("&amp;", "&")];
    Some(escapes.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_is_what_the_bot_says() {
    let mut scene = Scene::new().await;
    let line = &scene.stack.line;
    let [ann, kim] = ["Ann <3", "Kim"].map(|name| line.add_user(name, None).user_id);
    let group = line.add_group("讀書會 & Friends", None, &[&ann]).chat_id;
    line.bot_joins(&group).await.unwrap();
    line.say(&group, &ann, "hello").await.unwrap();
    scene.stack.act_as(&ann).await;
    scene.stack.known(&group).await;
    scene.stack.post(&format!("/channels/{group}/backup/subscribe"), json!({})).await;
    // Ann looks at the page as she would be welcomed.
    let (session, token) = (format!("session-{ann}").into(), format!("csrf-{ann}"));
    let (secret, user) = (secret(&ann), ann.as_str().into());
    let session = NewSession { id: &session, secret: &secret, csrf: &token };
    let person = SignedIn { user: &user, display_name: Some("Kim"), picture_url: None };
    scene.store.sessions().sign_in(&person, &session, now()).await.unwrap();
    let at = format!("/c/{group}/assistant/texts");
    let templates =
        ["{displayName}, welcome to {groupName}! {other} {displayName}", "歡迎 {displayName}"];
    for template in templates {
        let form = [("csrf", &*token), ("welcome_text", template), ("do", "preview")];
        let page = scene.post(&at, &ann, &form, &SAME_ORIGIN).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let preview = previewed(&page.body).unwrap_or_else(|| panic!("{}", page.body));
        let config = json!({"assistant": {"welcome": {"enabled": true, "message": template}}});
        scene.stack.put(&format!("/channels/{group}/assistant/config"), config).await;
        let line = &scene.stack.line;
        line.members_join(&group, &[&kim]).await.unwrap();
        until(&format!("the welcome {preview:?}"), DEADLINE, async || {
            let said = line.transcript(&group).into_iter().filter_map(|entry| entry.text);
            said.into_iter().any(|text| text == preview)
        })
        .await;
        line.members_leave(&group, &[&kim]).await.unwrap();
    }
    let form = [("csrf", &*token), ("welcome_text", "  "), ("do", "preview")];
    let empty = scene.post(&at, &ann, &form, &SAME_ORIGIN).await;
    assert!(empty.body.contains("Write a text to see it here."), "{}", empty.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admins_open_the_pages() {
    let scene = scene().await;
    let pages = ["", "/switch", "/switch?mode=fuzzy", "/unanswered", "/unanswered/rule", "/texts"];
    let elsewhere = GROUP.replace("console", "unknown");
    for rest in pages {
        let path = path(rest);
        for user in ["Ustranger", "Uguest", "Uleft", "Umember"] {
            let refused = scene.page(&path, Some(user), "en").await;
            assert_eq!(refused.status, StatusCode::NOT_FOUND, "{user} {path}");
            let unknown = scene.page(&path.replace(GROUP, &elsewhere), Some(user), "en").await;
            assert_eq!(refused.body, unknown.body.replace(&elsewhere, GROUP), "{user} {path}");
        }
        for user in ["Uadmin", "Uowner"] {
            let shown = scene.page(&path, Some(user), "en").await;
            assert_eq!(shown.status, StatusCode::OK, "{user} {path}");
        }
        let nobody = scene.page(&path, None, "en").await;
        assert_eq!(nobody.status, StatusCode::SEE_OTHER, "{path}");
    }
    let form = [("csrf", "csrf-Umember"), ("version", "0"), ("mode", "fuzzy"), ("match", "exact")];
    let mut overview = OVERVIEW.to_vec();
    overview[0].1 = "csrf-Umember";
    overview.push(("version", "0"));
    let mut all = texts("0", "0");
    all[0].1 = "csrf-Umember";
    for (rest, form) in [("", &overview[..]), ("/switch", &form), ("/texts", &all)] {
        let refused = scene.post(&path(rest), "Umember", form, &SAME_ORIGIN).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{rest}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_are_fine_at_every_size_in_every_language() {
    let scene = scene().await;
    let browser = browser(&scene).await;
    for rest in ["/switch?mode=fuzzy", "/unanswered"] {
        finished(&scene, rest).await;
    }
    let pages =
        ["", "/switch", "/switch?mode=fuzzy", "/unanswered", "/unanswered?days=7", "/texts"];
    let pages = pages.into_iter().chain(["/unanswered/rule?keyword=where+is+it"]);
    let pages: Vec<_> = pages.map(path).collect();
    let looks = [(PHONE, "light"), (DESKTOP, "dark"), (PHONE, "dark"), (DESKTOP, "light")];
    for (language, (size, scheme)) in Language::ALL.into_iter().zip(looks) {
        browser.plant("chatkeep_language", language.tag()).await;
        browser.resize(size.0, size.1).await;
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.command("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        for path in &pages {
            browser.open(&scene.url(path)).await;
            is_fine(&browser, &format!("{path} {language:?} {size:?} {scheme}")).await;
        }
    }
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_finds_a_mode_and_writes_a_welcome() {
    let scene = scene().await;
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    // With script the preview follows what is typed.
    browser.open(&scene.url(&path("/texts"))).await;
    let typed = "const text = document.querySelector('#welcome'); text.value = 'Hi {displayName}!';
        text.dispatchEvent(new Event('input', {bubbles: true}))";
    browser.script(typed).await;
    let preview = "return document.querySelector('#preview-text')?.textContent";
    shows(&browser, preview, &json!("Hi 林小美!")).await;
    is_fine(&browser, "the preview").await;

    // Everything works without script.
    browser.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    browser.open(&scene.url(&path("/texts"))).await;
    let type_in = "document.querySelector('#welcome').value = 'Hello {displayName}'";
    browser.script(type_in).await;
    let press = |selector: &str| format!("document.querySelector(\"{selector}\").click()");
    browser.script(&press("[data-preview-button]")).await;
    shows(&browser, preview, &json!("Hello 林小美")).await;
    browser.script(&press("[name=welcome]")).await;
    browser.script(&press("button.main")).await;
    let done = "return document.querySelector('.done')?.textContent";
    shows(&browser, done, &json!("Saved.")).await;
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!((config.welcome.enabled, &*config.welcome.message), (true, "Hello {displayName}"));

    browser.open(&scene.url(&path(""))).await;
    browser.script(&press("input[value=fuzzy]")).await;
    browser.script(&press("button[value=compare]")).await;
    let tiles = "return document.querySelectorAll('.figures.four a').length";
    shows(&browser, tiles, &json!(4)).await;
    browser.script(&press("form.switch button.main")).await;
    shows(&browser, done, &json!("Saved.")).await;
    let chosen = "return document.querySelector('[name=mode]:checked').value";
    assert_eq!(browser.script(chosen).await, json!("fuzzy"));
    browser.close().await;
}
