//! Pages of the assistant: messages that were answered wrongly, drafts in addresses, and imports.

use axum::http::StatusCode;
use chatkeep_core::assistant::{AssistantConfig, NoMatchScope, QaMode, Strictness};
use chatkeep_i18n::Language;

use super::{Answer, ConsoleBench, GROUP, escaped};

const OVERVIEW: &str = "/c/C1/assistant";
const TEXTS: &str = "/c/C1/assistant/texts";
const RULES: &str = "/c/C1/assistant/rules";

/// Adds a rule and returns the path of its page.
async fn added(bench: &ConsoleBench, keywords: &str, answer: &str, not_for: &str) -> String {
    let form = [("keywords", keywords), ("answer", answer), ("notFor", not_for)];
    let added = bench.post(&format!("{RULES}/new"), "Uadmin", &form).await;
    assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.body);
    let (list, id) = added.location().split_once("#rule-").unwrap();
    assert_eq!(list, "/c/C1/assistant/rules?sort=changed&done=added");
    format!("{RULES}/{id}")
}

/// Returns the text of a field of several lines, as the page writes it.
fn area<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("<textarea name=\"{name}\"")).unwrap();
    let (_, rest) = rest.split_once(">\n").unwrap();
    rest.split("</textarea>").next().unwrap()
}

async fn opened(bench: &ConsoleBench, path: &str) -> Answer {
    let page = bench.open(path, "Uadmin").await;
    assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
    page
}

#[tokio::test]
async fn a_message_that_was_answered_wrongly_is_put_under_not_for() {
    let bench = ConsoleBench::new().await;
    bench.say("m1", "Umember", "2026-02-28T01:00:00Z", "is <that> my\nfees?").await;
    let rule = added(&bench, "fees", "10", "no fees").await;
    let long = format!("notFor={}fees", "word+".repeat(200));
    let keys = [
        "rule-not-for-added",
        "rule-not-for-part",
        "rule-not-for-keyword",
        "rule-not-for-gone",
        "rule-not-for-edited",
    ];
    for (query, said, field) in [
        ("", None, Some("no fees")),
        ("asked=m1", Some("rule-not-for-added"), Some("no fees\nis <that> my fees?")),
        (
            "notFor=which+fees+%26+when",
            Some("rule-not-for-added"),
            Some("no fees\nwhich fees & when"),
        ),
        // It is there already, which the page does not have to tell.
        ("notFor=no%0Afees", Some("rule-not-for-added"), Some("no fees")),
        ("notFor=FEES!", Some("rule-not-for-keyword"), Some("no fees")),
        ("notFor=%20%0A", None, Some("no fees")),
        ("asked=nothing", Some("rule-not-for-gone"), Some("no fees")),
        ("reply=m1", Some("rule-not-for-gone"), Some("no fees")),
        (long.as_str(), Some("rule-not-for-part"), None),
    ] {
        let page = opened(&bench, &format!("{rule}?{query}")).await.body;
        let english = |key: &str| escaped(&Language::English.text(key));
        let told: Vec<_> = keys.into_iter().filter(|key| page.contains(&english(key))).collect();
        assert_eq!(told, said.into_iter().collect::<Vec<_>>(), "{query}");
        if let Some(field) = field {
            assert_eq!(area(&page, "notFor"), escaped(field), "{query}");
        }
        assert_eq!(area(&page, "keywords"), "fees", "{query}");
    }
    let unknown = bench.open(&format!("{RULES}/qa_0?asked=m1"), "Uadmin").await;
    unknown.says(StatusCode::NOT_FOUND, &Language::English.text("rule-missing-text"));
}

#[tokio::test]
async fn a_draft_with_texts_that_are_not_for_it_is_edited_further() {
    let bench = ConsoleBench::new().await;
    let rule = added(&bench, "fees", "10", "").await;
    for (query, texts) in [
        ("draft=true&keyword=fees&answer=12&notFor=one", "one"),
        ("draft=true&keyword=fees&answer=12&notFor=one&notFor=two", "one\ntwo"),
    ] {
        let page = opened(&bench, &format!("{rule}?{query}")).await.body;
        assert_eq!((area(&page, "notFor"), area(&page, "answer")), (texts, "12"));
        let told = escaped(&Language::English.text("rule-not-for-added"));
        assert!(!page.contains(&told), "no message was answered: {page}");
    }
}

/// Returns the version of the rules that a form was filled with.
fn version(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"version\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn an_import_shows_a_hundred_rows_and_tells_of_the_others() {
    let bench = ConsoleBench::new().await;
    let path = format!("{RULES}/import");
    let rows: Vec<_> = (0..150).map(|n| format!("k{n},\"=a{n}\"")).collect();
    let table = format!("\u{feff}keywords,answer\r\n{}", rows.join("\r\n"));
    let shown = |page: &str| page.matches("class=\"says\"").count();
    for language in Language::ALL {
        let counted =
            |key: &str, count: i64| escaped(&language.format(key, &[("count", count.into())]));
        let form = [("csv", table.as_str())];
        let page = bench.post_in(&path, ("Uadmin", language), &form).await;
        page.says(StatusCode::OK, &language.text("import-ready"));
        assert_eq!(shown(&page.body), 100);
        for (key, count) in [("import-added", 150), ("import-more", 50), ("import-confirm", 150)] {
            assert!(page.body.contains(&counted(key, count)), "{key}: {}", page.body);
        }
        // Of a table with one bad row, only that one is shown.
        let bad = format!("{table}\r\n,answer without a keyword\r\n");
        let page = bench.post_in(&path, ("Uadmin", language), &[("csv", &bad)]).await;
        assert_eq!((page.status, shown(&page.body)), (StatusCode::UNPROCESSABLE_ENTITY, 1));
        assert!(page.body.contains(&counted("import-nothing-until", 1)), "{}", page.body);
        assert!(!page.body.contains("name=\"confirmed\""), "it cannot be imported");
    }
    let checked = bench.post(&path, "Uadmin", &[("csv", &table)]).await.body;
    let version = version(&checked).to_owned();
    let form = [("csv", table.as_str()), ("confirmed", "yes"), ("version", version.as_str())];
    bench.post(&path, "Uadmin", &form).await.leads_to("/c/C1/assistant/rules?done=imported");
    let list = opened(&bench, RULES).await;
    list.says(StatusCode::OK, "150 rules");
    // The same form once more is one about rules that have changed since.
    let again = bench.post(&path, "Uadmin", &form).await;
    assert_ne!(again.status, StatusCode::SEE_OTHER, "nothing is imported twice");
    opened(&bench, RULES).await.says(StatusCode::OK, "150 rules");
}

#[tokio::test]
async fn a_number_of_days_that_no_choice_has_is_no_fault() {
    let bench = ConsoleBench::new().await;
    for (days, status) in [
        ("7", StatusCode::OK),
        ("1", StatusCode::OK),
        ("0", StatusCode::UNPROCESSABLE_ENTITY),
        ("4294967295", StatusCode::UNPROCESSABLE_ENTITY),
        ("4294967296", StatusCode::BAD_REQUEST),
        ("-1", StatusCode::BAD_REQUEST),
        ("x", StatusCode::BAD_REQUEST),
    ] {
        let path = format!("/c/C1/assistant/unanswered?days={days}");
        assert_eq!(bench.open(&path, "Uadmin").await.status, status, "{days}");
    }
}

/// Returns the value of the first hidden field with that name, as its form sends it.
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split('"').next().unwrap().replace("&amp;", "&")
}

/// Returns the form of the overview as a page fills it, with a mode and a cooldown.
fn overview<'f>(
    page: &'f (String, String),
    mode: &'f str,
    cooldown: &'f str,
) -> Vec<(&'static str, &'f str)> {
    vec![
        ("version", page.0.as_str()),
        ("seen", page.1.as_str()),
        ("enabled", "yes"),
        ("qa", "yes"),
        ("mode", mode),
        ("match", "exact"),
        ("strictness", "balanced"),
        ("scope", "always"),
        ("cooldown", cooldown),
    ]
}

/// Opens a page with a form, and returns its version and its digests.
async fn filled(bench: &ConsoleBench, path: &str) -> (String, String) {
    let page = opened(bench, path).await.body;
    (hidden(&page, "version"), hidden(&page, "seen"))
}

/// Sets the cooldown as somebody else does meanwhile.
async fn set_cooldown(bench: &ConsoleBench, seconds: u32) {
    let change = |mut config: AssistantConfig, _| {
        config.qa.cooldown_seconds = seconds;
        Ok::<_, ()>(config)
    };
    let (store, now) = (bench.db.assistant(), bench.console.clock.now());
    let changed = store.change_assistant_config(&GROUP.into(), &"Uowner".into(), now, change).await;
    changed.unwrap().unwrap();
}

#[tokio::test]
async fn a_change_on_another_page_is_in_nobodys_way() {
    let bench = ConsoleBench::new().await;
    let page = filled(&bench, OVERVIEW).await;
    let texts = filled(&bench, TEXTS).await;
    let welcome = [("version", texts.0.as_str()), ("seen", &texts.1), ("welcome_text", "Hi")];
    let to_texts = "/c/C1/assistant/texts?done=saved";
    bench.post(TEXTS, "Uadmin", &welcome).await.leads_to(to_texts);
    // The page of before has another version, and all of its fields are as they were.
    let form = overview(&page, "fuzzy", "0");
    bench.post(OVERVIEW, "Uadmin", &form).await.leads_to("/c/C1/assistant?done=saved");
    let texts = filled(&bench, TEXTS).await;
    set_cooldown(&bench, 60).await;
    let welcome = [("version", texts.0.as_str()), ("seen", &texts.1), ("welcome_text", "Hello")];
    bench.post(TEXTS, "Uadmin", &welcome).await.leads_to(to_texts);
    let config = bench.db.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!((config.qa.mode, config.qa.cooldown_seconds), (QaMode::Fuzzy, 60));
    assert_eq!(config.welcome.message, "Hello");
    // The same texts of an earlier page are out of date, and only what others changed is told.
    let again = [
        ("version", texts.0.as_str()),
        ("seen", &texts.1),
        ("welcome_text", "Hey"),
        ("no_match", "Sorry?"),
    ];
    let stale = bench.post(TEXTS, "Uadmin", &again).await;
    stale.says(StatusCode::UNPROCESSABLE_ENTITY, &Language::English.text("form-stale"));
    assert_eq!(stale.body.matches("Saved now:").count(), 1, "{}", stale.body);
}

#[tokio::test]
async fn of_a_form_that_is_out_of_date_only_what_others_changed_is_told() {
    let bench = ConsoleBench::new().await;
    let page = filled(&bench, OVERVIEW).await;
    set_cooldown(&bench, 300).await;
    let stale = bench.post(OVERVIEW, "Uadmin", &overview(&page, "fuzzy", "0")).await;
    stale.says(StatusCode::UNPROCESSABLE_ENTITY, &Language::English.text("form-stale"));
    assert_eq!(stale.body.matches("class=\"now\"").count(), 1, "{}", stale.body);
    assert!(stale.body.contains("Now: 5 minutes"), "{}", stale.body);
    // The next attempt is against what is shown.
    let shown = (hidden(&stale.body, "version"), hidden(&stale.body, "seen"));
    let form = overview(&shown, "fuzzy", "0");
    bench.post(OVERVIEW, "Uadmin", &form).await.leads_to("/c/C1/assistant?done=saved");
}

/// Opens a comparison when it is finished.
async fn compared(bench: &ConsoleBench, path: &str) -> String {
    for _ in 0..100 {
        let page = opened(bench, path).await.body;
        if !page.contains("http-equiv=\"refresh\"") {
            return page;
        }
    }
    panic!("it never ends");
}

/// Returns the first address of a page's links that begins so.
fn link(page: &str, start: &str) -> String {
    let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let mut links = links.filter(|link| link.starts_with(start));
    links.next().unwrap_or_else(|| panic!("{start}: {page}")).replace("&amp;", "&")
}

#[tokio::test]
async fn a_switch_saves_all_of_the_form_that_it_was_compared_from() {
    let bench = ConsoleBench::new().await;
    let switch = "/c/C1/assistant/switch";
    let page = filled(&bench, OVERVIEW).await;
    let mut form = overview(&page, "fuzzy", "300");
    form.extend([("welcome", "yes"), ("do", "compare")]);
    let compare = bench.post(OVERVIEW, "Uadmin", &form).await;
    assert_eq!(compare.status, StatusCode::SEE_OTHER, "{}", compare.body);
    let result = compared(&bench, compare.location()).await;
    let config = async || bench.db.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert!(!config().await.welcome.enabled, "looking saves nothing");
    // The way back leads to the form as it was left.
    assert!(!result.contains(&Language::English.text("switch-stay")), "{result}");
    let edit = link(&result, &format!("{OVERVIEW}?draft="));
    let back = opened(&bench, &edit).await.body;
    for chosen in [
        "name=\"welcome\" value=\"yes\" checked",
        "name=\"mode\" value=\"fuzzy\" checked",
        "value=\"300\" selected",
    ] {
        assert!(back.contains(chosen), "{chosen}: {back}");
    }
    assert_eq!((hidden(&back, "version"), hidden(&back, "seen")), page);
    assert!(!back.contains("class=\"now\""), "nobody else changed anything: {back}");
    let overview = hidden(&result, "overview");
    let form = [
        ("version", page.0.as_str()),
        ("mode", "fuzzy"),
        ("match", "exact"),
        ("strictness", "eager"),
        ("overview", &overview),
    ];
    bench.post(switch, "Uadmin", &form).await.leads_to("/c/C1/assistant?done=saved");
    let saved = config().await;
    assert!(saved.welcome.enabled && saved.qa.enabled && !saved.rules.enabled);
    assert_eq!((saved.qa.mode, saved.qa.strictness), (QaMode::Fuzzy, Strictness::Eager));
    assert_eq!((saved.qa.cooldown_seconds, saved.qa.no_match_scope), (300, NoMatchScope::Always));
    // Whoever is too late sees the form, and what is there now.
    set_cooldown(&bench, 60).await;
    let stale = bench.post(switch, "Uadmin", &form).await;
    stale.says(StatusCode::UNPROCESSABLE_ENTITY, &Language::English.text("form-stale"));
    assert!(stale.body.contains("Now: 1 minute"), "{}", stale.body);
    assert!(stale.body.contains(&format!("action=\"{OVERVIEW}\"")), "{}", stale.body);
    assert_eq!(config().await.qa.cooldown_seconds, 60, "nothing is overwritten");
}

#[tokio::test]
async fn a_form_whose_comparison_is_empty_is_led_back_to() {
    let bench = ConsoleBench::new().await;
    let page = filled(&bench, OVERVIEW).await;
    let mut form = overview(&page, "keyword", "900");
    form.push(("do", "compare"));
    let compare = bench.post(OVERVIEW, "Uadmin", &form).await;
    let result = compared(&bench, compare.location()).await;
    assert!(!result.contains("name=\"version\""), "nothing to switch to: {result}");
    let back = opened(&bench, &link(&result, &format!("{OVERVIEW}?draft="))).await.body;
    assert!(back.contains("value=\"900\" selected"), "{back}");
}
