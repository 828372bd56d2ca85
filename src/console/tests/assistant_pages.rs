//! Pages of the assistant: messages that were answered wrongly, drafts in addresses, and imports.

use axum::http::StatusCode;
use chatkeep_i18n::Language;

use super::{Answer, ConsoleBench, escaped};

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
