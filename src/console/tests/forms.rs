//! Forms: which ones are taken, and what is said about the others, at the edges of both.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use chatkeep_core::http::guard::Forbidden;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::{Defect, FieldPath, ServiceError};

use super::{Answer, ConsoleBench, FORM, body_of, cookie, escaped, values_of};
use crate::error::PageError;
use crate::form::{FormErrors, count, limit_hint, lines, query_of, sentence, unbroken};

const ACCOUNT: &str = "/console/account";

const DEFECTS: [Defect; 17] = [
    Defect::Empty,
    Defect::TooLong { max: 12_345 },
    Defect::TooManyKeywords { max: 12_345 },
    Defect::TooFewKeywords { min: 1 },
    Defect::TooManyTexts { max: 12_345 },
    Defect::IsKeyword,
    Defect::IsNotFor,
    Defect::NoTime,
    Defect::NoScope,
    Defect::NoEvent,
    Defect::Past,
    Defect::Address(Forbidden::NoAddress),
    Defect::Address(Forbidden::NotHttps),
    Defect::Address(Forbidden::Credentials),
    Defect::Address(Forbidden::Private),
    Defect::Other,
    Defect::TooLong { max: 7 },
];

#[test]
fn each_defect_has_a_sentence_of_its_own_with_its_limit() {
    for language in Language::ALL {
        let sentences = DEFECTS.map(|defect| sentence(defect, language));
        let different: HashSet<_> = sentences.iter().collect();
        assert_eq!(different.len(), DEFECTS.len(), "{sentences:?}");
        for (defect, sentence) in DEFECTS.into_iter().zip(&sentences) {
            let (Defect::TooLong { max }
            | Defect::TooManyKeywords { max }
            | Defect::TooManyTexts { max }) = defect
            else {
                continue;
            };
            let told = if max == 7 { "7" } else { "12,345" };
            assert!(sentence.contains(told), "{defect:?}: {sentence}");
        }
    }
}

/// Returns the templates in a folder and in those in it.
fn templates(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { templates(&path) } else { vec![path] }).collect()
}

#[test]
fn browsers_fill_in_no_form_that_has_a_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut found = 0;
    for path in templates(&folder) {
        let template = fs::read_to_string(&path).unwrap();
        for form in template.split("<form ").skip(1) {
            let form = form.split("</form>").next().unwrap();
            let is_versioned =
                form.contains("version\" value=") || form.contains("\"seen\" value=");
            let is_typed = ["type=\"checkbox\"", " rows=", "<select"]
                .iter()
                .any(|control| form.contains(control));
            if is_versioned && is_typed {
                assert!(form.contains("call forms::versioned()"), "{}: {form}", path.display());
                found += 1;
            }
        }
    }
    assert_eq!(found, 4, "overview, texts, a rule, a webhook");
}

fn invalid(field: FieldPath) -> ServiceError {
    ServiceError::defective(field, Defect::Empty)
}

#[test]
fn an_entry_of_a_list_is_counted_from_one() {
    for language in Language::ALL {
        let what = sentence(Defect::Empty, language);
        for (pointer, field, line) in [
            ("/keywords/0", "/keywords", Some(1_i64)),
            ("/notFor/49", "/notFor", Some(50)),
            ("/assistant/rules/triggerKeywords/9", "/assistant/rules/triggerKeywords", Some(10)),
            ("/name", "/name", None),
            ("/keywords", "/keywords", None),
        ] {
            let errors = FormErrors::of(invalid(FieldPath::body(pointer)), language).unwrap();
            let told = match line {
                Some(line) => {
                    let values = [("line", Value::from(line)), ("what", Value::from(&what))];
                    language.format("form-in-entry", &values)
                }
                None => what.clone(),
            };
            assert_eq!(errors.of_field(field), Some(told.as_str()), "{pointer}");
            assert_eq!(errors.whole, Some(language.text("form-invalid")), "it may be out of sight");
        }
    }
}

#[test]
fn a_field_is_not_taken_for_one_whose_name_begins_with_its_own() {
    let errors = FormErrors::at("/channelIdsOld/3", "x".to_owned());
    for (field, expected) in [
        ("/channelIdsOld", Some("x")),
        ("/channelIdsOld/3", Some("x")),
        ("/channelIds", None),
        ("/channelIdsOld/30", None),
        ("channelIdsOld", None),
    ] {
        assert_eq!(errors.of_field(field), expected, "{field}");
    }
}

#[test]
fn a_refusal_is_said_in_the_form_or_has_a_page() {
    let in_form = || {
        [
            ServiceError::Stale,
            ServiceError::Conflict("it is so"),
            ServiceError::PlanRequired,
            ServiceError::RulesTooLarge { bytes: i64::MAX },
            ServiceError::TooManyRules,
            ServiceError::TooManyKeys,
            ServiceError::TooManyWebhooks,
            ServiceError::TooManySavedSearches,
            ServiceError::WebhookDisabled,
            ServiceError::Unavailable,
        ]
    };
    for language in Language::ALL {
        let said: HashSet<_> =
            in_form().map(|error| FormErrors::of(error, language).unwrap().whole.unwrap()).into();
        assert_eq!(said.len(), in_form().len(), "{said:?}");
        assert!(!said.iter().any(|sentence| sentence.contains("it is so")), "{said:?}");
        let busy = FormErrors::of(ServiceError::RequestRunning, language).unwrap();
        assert_eq!(busy.whole, Some(language.text("form-busy")));
        let unknown = ServiceError::Invalid {
            field: None,
            why: "a sentence of the database".to_owned(),
            defect: Defect::Other,
        };
        let unknown = FormErrors::of(unknown, language).unwrap();
        assert_eq!(unknown.whole, Some(language.text("form-invalid")));
        let beyond = ServiceError::InsufficientFor { field: FieldPath::body("/channelIds") };
        let beyond = FormErrors::of(beyond, language).unwrap();
        let sentence = language.text("form-beyond-bounds");
        assert_eq!(beyond.of_field("/channelIds"), Some(sentence.as_str()));
        assert_eq!(beyond.status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
    for (error, page) in [
        (ServiceError::InvalidKey, PageError::SignedOut),
        (ServiceError::PermissionDenied, PageError::NoChannel),
        (ServiceError::InsufficientPermissions, PageError::NoChannel),
        (ServiceError::NotFound, PageError::NoMessage),
        (ServiceError::Internal, PageError::Internal),
    ] {
        assert_eq!(FormErrors::of(error, Language::Thai).unwrap_err(), page);
    }
}

#[test]
fn lines_of_a_field_are_those_of_every_system() {
    for (field, expected) in [
        ("a\r\nb\nc", &["a", "b", "c"][..]),
        ("\n\u{3000}密碼 \t\r\n\n", &["密碼"]),
        ("a, b、c", &["a, b、c"]),
        ("\u{feff}", &["\u{feff}"]),
        ("", &[]),
        ("\r\n \u{a0}\r\n", &[]),
    ] {
        assert_eq!(lines(field), expected, "{field:?}");
    }
    assert_eq!(unbroken("a\r\n\r\nb\rc\n\r"), "a\n\nb\rc\n\r");
}

#[test]
fn a_number_that_no_text_has_is_the_largest_that_one_has() {
    assert_eq!(count(u64::MAX), Value::from(i64::MAX));
    assert_eq!(count(usize::MIN), Value::from(0_i64));
    assert_eq!(count(-3_i32), Value::from(-3_i64));
    for language in Language::ALL {
        assert!(limit_hint(5_000, language).contains("5,000"), "{language:?}");
    }
    assert_eq!(query_of(&[]), "");
}

/// Sends that body to the page of the account, with these headers.
async fn send(bench: &ConsoleBench, headers: &[(&str, &str)], body: String) -> Answer {
    let mut request = Request::post(ACCOUNT).header(header::COOKIE, cookie("Uowner"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    bench.ask(request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn only_forms_of_our_pages_are_taken() {
    let bench = ConsoleBench::new().await;
    let body = || body_of("Uowner", &[("notices", "on")]);
    for (kind, taken) in [
        (FORM, true),
        ("application/x-www-form-urlencoded; charset=UTF-8", true),
        ("multipart/form-data; boundary=x", false),
        ("text/plain", false),
        ("application/json", false),
        ("", false),
    ] {
        let answer = send(&bench, &[("content-type", kind)], body()).await;
        let status = if taken { StatusCode::SEE_OTHER } else { StatusCode::BAD_REQUEST };
        assert_eq!(answer.status, status, "{kind}");
    }
    assert_eq!(send(&bench, &[], body()).await.status, StatusCode::BAD_REQUEST);
    for (origin, taken) in [
        ("http://127.0.0.1:8080", true),
        ("http://127.0.0.1:8081", false),
        ("https://127.0.0.1:8080", false),
        ("http://localhost:8080", false),
        ("null", false),
        ("", false),
    ] {
        let answer = send(&bench, &[("content-type", FORM), ("origin", origin)], body()).await;
        let status = if taken { StatusCode::SEE_OTHER } else { StatusCode::FORBIDDEN };
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[tokio::test]
async fn the_first_token_of_a_form_counts() {
    let bench = ConsoleBench::new().await;
    for (body, taken) in [
        ("csrf=csrf-Uowner&csrf=x&notices=on", true),
        ("notices=on&csrf=%63srf-Uowner", true),
        ("csrf=x&csrf=csrf-Uowner", false),
        ("csrf=csrf-Umember", false),
        ("CSRF=csrf-Uowner", false),
        ("csrf=", false),
        ("", false),
        ("\u{feff}csrf=csrf-Uowner", false),
    ] {
        let answer = send(&bench, &[("content-type", FORM)], body.to_owned()).await;
        let status = if taken { StatusCode::SEE_OTHER } else { StatusCode::FORBIDDEN };
        assert_eq!(answer.status, status, "{body}");
    }
}

#[tokio::test]
async fn only_the_character_that_databases_refuse_is_refused() {
    let bench = ConsoleBench::new().await;
    for (field, taken) in [
        ("x=%00", false),
        ("x=a\0b", false),
        ("%00=x", false),
        ("x=%2500", true),
        ("x=%25%30%30", true),
        ("x=%E0%B8%81%F0%9F%91%8B", true),
        ("x=%ED%A0%80", true),
        ("x=%", true),
        ("x=%0", true),
    ] {
        let body = format!("csrf=csrf-Uowner&notices=on&{field}");
        let answer = send(&bench, &[("content-type", FORM)], body).await;
        let status = if taken { StatusCode::SEE_OTHER } else { StatusCode::BAD_REQUEST };
        assert_eq!(answer.status, status, "{field:?}");
    }
}

#[tokio::test]
async fn a_form_that_is_too_large_is_told_in_the_language_of_its_sender() {
    let bench = ConsoleBench::new().await;
    let body = format!("{}&x={}", body_of("Uowner", &[]), "a".repeat(3 * 1_024 * 1_024));
    for language in Language::ALL {
        let headers = [("content-type", FORM), ("accept-language", language.tag())];
        let answer = send(&bench, &headers, body.clone()).await;
        answer.says(StatusCode::PAYLOAD_TOO_LARGE, &language.text("error-large-text"));
    }
}

#[tokio::test]
async fn a_form_has_as_many_bytes_as_a_request_of_the_api() {
    let bench = ConsoleBench::new().await;
    let long = "x".repeat(1_200_000);
    let sent = bench.post("/console/account", "Uowner", &[("other", &long)]).await;
    sent.says(StatusCode::PAYLOAD_TOO_LARGE, &Language::English.text("error-large-text"));
    // A table of rules is larger.
    let import = "/c/C1/assistant/rules/import";
    let sent = bench.post(import, "Uadmin", &[("csv", &long)]).await;
    assert_ne!(sent.status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// Returns what a page says was done.
fn done(page: &str) -> Option<&str> {
    let (_, said) = page.split_once("<p class=\"done\" role=\"status\">")?;
    Some(said.split('<').next().unwrap_or_default())
}

#[tokio::test]
async fn a_page_that_changed_nothing_does_not_say_that_it_did() {
    let bench = ConsoleBench::new().await;
    // Without script, the form of a page that has just said so is sent to the same address.
    let path = "/c/C1/settings?done=saved";
    let page = bench.open(path, "Uowner").await.body;
    assert_eq!(done(&page), Some("Saved."));
    let refused = bench.post(path, "Uowner", &[("action", "retention"), ("days", "0")]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(done(&refused.body), None, "nothing was saved");
    let asked = bench.post(path, "Uowner", &[("action", "unsubscribe")]).await;
    asked.says(StatusCode::OK, &Language::English.text("unsubscribe-title"));
    assert_eq!(done(&asked.body), None, "it only asks");
    let unknown = bench.post(path, "Uowner", &[("action", "nothing")]).await;
    assert_eq!((unknown.status, done(&unknown.body)), (StatusCode::BAD_REQUEST, None));
}

#[tokio::test]
async fn the_page_of_a_form_that_was_not_taken_says_so_whatever_it_said_before() {
    let bench = ConsoleBench::new().await;
    let request = Request::post("/c/C1/settings?done=saved").header(header::CONTENT_TYPE, FORM);
    let sent = bench.ask(request.body(Body::from("csrf=x&action=zone")).unwrap()).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.body);
    let next = values_of(sent.location(), "next").remove(0);
    let page = bench.open(&next, "Uowner").await.body;
    let unsent = escaped(&Language::English.text("done-unsent"));
    assert_eq!(done(&page), Some(unsent.as_str()), "{next}");
}
