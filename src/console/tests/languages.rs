//! All pages in all languages: each says everything in the language of its reader, and its parts
//! refer to parts that it has.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use axum::http::StatusCode;
use chatkeep_i18n::Language;

use super::{Answer, ConsoleBench, escaped};

/// Pages that an owner opens.
const PAGES: [&str; 41] = [
    "/console",
    "/console/account",
    "/console/account/keys",
    "/console/account/keys/new",
    "/console/account/keys/new?for=reading",
    "/console/account/webhooks",
    "/console/account/webhooks/new",
    "/console/account/mcp",
    "/console/account/sessions",
    "/console/my-data",
    "/console/my-data/chats/C1",
    "/console/sign-in?problem=other_browser",
    "/console/sign-in?problem=denied",
    "/c/C1",
    "/c/C1/m/m1",
    "/c/C1/m/m2",
    "/c/C1/search",
    "/c/C1/search?q=weather&type=text&sender=Umember&from=2026-02-28&to=2026-03-01&sort=newest",
    "/c/C1/media",
    "/c/C1/activity",
    "/c/C1/activity?period=7",
    "/c/C1/activity?period=all",
    "/c/C1/people",
    "/c/C1/people?show=guests",
    "/c/C1/people?show=left",
    "/c/C1/people?q=nobody",
    "/c/C1/people/Umember",
    "/c/C1/people/Uowner",
    "/c/C1/settings",
    "/c/C1/activity-log",
    "/c/C1/assistant",
    "/c/C1/assistant/rules",
    "/c/C1/assistant/rules?q=nothing",
    "/c/C1/assistant/rules/new?keyword=hours&question=When",
    "/c/C1/assistant/rules/import",
    "/c/C1/assistant/try?text=When%20is%20it",
    "/c/C1/assistant/switch",
    "/c/C1/assistant/texts",
    "/c/C1/assistant/unanswered/rule?keyword=hours",
    "/c/C1/export",
    "/c/C1/exports",
];

/// Fields of a form with their values.
type Fields = &'static [(&'static str, &'static str)];

/// Forms with something wrong, and the key of what is said about it.
const WRONG: [(&str, Fields, &str); 13] = [
    ("/c/C1/settings", &[("action", "retention"), ("days", "x")], "settings-days-invalid"),
    ("/c/C1/settings", &[("action", "zone"), ("zone", "Nowhere")], "settings-zone-unknown"),
    ("/c/C1/settings", &[("action", "delete"), ("before", "soon")], "settings-before-invalid"),
    (
        "/c/C1/settings",
        &[("action", "delete"), ("before", "2020-02-29")],
        "settings-before-nothing",
    ),
    ("/c/C1/people/Umember", &[("action", "erase"), ("typed", "x")], "person-erase-mistyped"),
    ("/console/my-data", &[("action", "erase"), ("typed", "x")], "person-erase-mistyped"),
    ("/console/my-data/chats/C1", &[("action", "erase"), ("typed", "")], "person-erase-mistyped"),
    ("/console/account/keys/new", &[("end", "soon")], "defect-no-day"),
    ("/console/account/keys/new", &[("name", "x"), ("reach", "chosen")], "reach-none-chosen"),
    ("/console/account/webhooks/new", &[("reach", "chosen")], "reach-none-chosen"),
    ("/c/C1/assistant/rules/new", &[("answer", "x")], "form-invalid"),
    ("/c/C1/assistant/rules/import", &[("csv", " \n")], "import-empty"),
    ("/c/C1/assistant/try", &[("text", "")], "defect-empty"),
];

/// Texts of the console without variables, as pages write them.
struct WholeTexts {
    by_language: HashMap<Language, HashSet<String>>,
}

impl WholeTexts {
    fn read() -> Self {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core/i18n/locales/en/console.ftl");
        let file = fs::read_to_string(file).unwrap();
        let keys = file.lines().filter(|line| !line.starts_with([' ', '#', '-']));
        let keys: Vec<_> = keys.filter_map(|line| Some(line.split_once(" =")?.0)).collect();
        assert!(keys.len() > 500, "{}", keys.len());
        let texts = |language: Language| -> HashSet<String> {
            let texts = keys.iter().map(|key| language.text(key));
            // Numbers and marks are those of every language.
            let texts = texts.filter(|text| text.chars().any(char::is_alphabetic));
            texts.filter(|text| !text.contains("{$")).map(|text| escaped(text.trim())).collect()
        };
        let by_language = Language::ALL.into_iter().map(|language| (language, texts(language)));
        Self { by_language: by_language.collect() }
    }

    /// Returns texts of a page that are those of other languages.
    fn foreign<'p>(&self, page: &'p str, language: Language) -> Vec<&'p str> {
        let own = &self.by_language[&language];
        let others: Vec<_> =
            self.by_language.iter().filter(|(other, _)| **other != language).collect();
        let nodes = page.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim()));
        // A single letter is the initial of a name.
        nodes
            .filter(|node| node.chars().nth(1).is_some())
            .filter(|node| !own.contains(*node))
            // The choice of languages has them in their own words.
            .filter(|node| Language::ALL.iter().all(|one| one.own_name() != *node))
            .filter(|node| others.iter().any(|(_, texts)| texts.contains(*node)))
            .collect()
    }

    /// Asserts that a page is one of that language, and whole.
    fn check(&self, answer: &Answer, language: Language, about: &str) {
        let (page, tag) = (&answer.body, language.tag());
        assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{about} in {tag}");
        assert_eq!(self.foreign(page, language), [""; 0], "{about} in {tag}");
        for raw in ["{$", "{ $", "\u{fffd}"] {
            assert!(!page.contains(raw), "{about} in {tag} has {raw}");
        }
        // The punctuation of Chinese and Japanese is as wide as a letter: no space follows it.
        let (_, body) = page.split_once("<body").unwrap();
        for mark in ["。", "：", "！", "？", "，", "、"] {
            let after = body.split(mark).skip(1).find(|after| after.starts_with(' '));
            assert!(after.is_none(), "{about} in {tag}: a space after {mark}{}", after.unwrap());
        }
        let ids: Vec<_> = attributes(page, "id").collect();
        let different: HashSet<_> = ids.iter().copied().collect();
        assert_eq!(different.len(), ids.len(), "{about}: an id twice: {ids:?}");
        for name in ["for", "aria-labelledby", "aria-describedby", "list", "data-copy"] {
            let to = attributes(page, name).flat_map(str::split_whitespace);
            let lost: Vec<_> = to.filter(|id| !different.contains(id)).collect();
            assert!(lost.is_empty(), "{about}: {name} of {lost:?}");
        }
        for form in page.split("<form ").skip(1).filter(|form| form.starts_with("method=\"post\""))
        {
            let form = form.split("</form>").next().unwrap();
            assert!(form.contains("name=\"csrf\" value=\"csrf-U"), "{about}: {form}");
        }
    }
}

/// Returns the values of an attribute on a page.
fn attributes<'p>(page: &'p str, name: &str) -> impl Iterator<Item = &'p str> {
    let start = format!(" {name}=\"");
    let parts: Vec<_> = page.split(start.as_str()).skip(1).collect();
    parts.into_iter().filter_map(|part| Some(part.split_once('"')?.0))
}

/// Returns a bench with messages of people in all scripts, a rule, and somebody who opted for less.
async fn filled() -> ConsoleBench {
    let bench = ConsoleBench::new().await;
    for (id, user, time, words) in [
        ("m1", "Umember", "2026-02-28T01:00:00Z", "明天還開會嗎"),
        ("m2", "Uadmin", "2026-02-28T16:30:00Z", "雨が止んだら行きます"),
        ("m3", "Uowner", "2026-03-01T03:59:00Z", "ฝนตกหนักมาก 👨‍👩‍👧"),
    ] {
        bench.say(id, user, time, words).await;
    }
    let rule = [("keywords", "hours\nนาฬิกา"), ("answer", "9–18"), ("question", "何時ですか")];
    let added = bench.post("/c/C1/assistant/rules/new", "Uadmin", &rule).await;
    assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.body);
    bench
}

/// Creates a webhook; returns the path of its page.
async fn webhook(bench: &ConsoleBench) -> String {
    const PATH: &str = "/console/account/webhooks";
    let form =
        [("url", "https://example.org/hook"), ("event", "message.received"), ("reach", "all")];
    let made = bench.post(&format!("{PATH}/new"), "Uowner", &form).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.body);
    let list = bench.open(PATH, "Uowner").await.body;
    let mut links = attributes(&list, "href").filter_map(|href| href.strip_prefix(PATH));
    let page = links.find(|rest| rest.len() > 1 && *rest != "/new");
    format!("{PATH}{}", page.expect("a webhook in the list"))
}

#[tokio::test]
async fn every_page_is_whole_in_every_language() {
    let (bench, texts) = (filled().await, WholeTexts::read());
    let webhook = webhook(&bench).await;
    for language in Language::ALL {
        for path in PAGES.into_iter().chain([webhook.as_str()]) {
            let page = bench.open_in(path, "Uowner", language).await;
            assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
            texts.check(&page, language, path);
        }
    }
}

#[tokio::test]
async fn the_pages_of_an_admin_and_of_a_member_are_whole_too() {
    let (bench, texts) = (filled().await, WholeTexts::read());
    for language in Language::ALL {
        for user in ["Uadmin", "Umember"] {
            for path in ["/console", "/c/C1", "/c/C1/settings", "/c/C1/people/Uguest"] {
                let page = bench.open_in(path, user, language).await;
                assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
                texts.check(&page, language, &format!("{path} of {user}"));
            }
        }
        for path in ["/console", "/console/my-data", "/console/my-data/chats/C1"] {
            let page = bench.open_in(path, "Uguest", language).await;
            assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
            texts.check(&page, language, &format!("{path} of a guest"));
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_form_is_said_in_every_language() {
    let (bench, texts) = (filled().await, WholeTexts::read());
    for language in Language::ALL {
        for (path, form, key) in WRONG {
            let page = bench.post_in(path, ("Uowner", language), form).await;
            page.says(StatusCode::UNPROCESSABLE_ENTITY, &language.text(key));
            texts.check(&page, language, &format!("{path} with {form:?}"));
        }
    }
}

#[tokio::test]
async fn questions_before_what_cannot_be_undone_are_asked_in_every_language() {
    let (bench, texts) = (filled().await, WholeTexts::read());
    for language in Language::ALL {
        for (action, field, value, key) in [
            ("unsubscribe", "zone", "", "unsubscribe-text"),
            ("retention", "days", "３０", "retention-title"),
            ("delete", "before", "2026-03-01", "delete-title"),
        ] {
            let form = [("action", action), (field, value)];
            let page = bench.post_in("/c/C1/settings", ("Uowner", language), &form).await;
            page.says(StatusCode::OK, &language.text(key));
            assert!(page.body.contains("name=\"confirmed\" value=\"yes\""), "{}", page.body);
            texts.check(&page, language, action);
        }
    }
}
