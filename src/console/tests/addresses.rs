//! Addresses: of confirmations, pictures and jobs, of other languages, and of files of the pages.

use axum::body::Body;
use axum::http::{Request, StatusCode, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::time::Timestamp;
use chatkeep_http::is_local;
use chatkeep_i18n::Language;
use chatkeep_store::{ChannelJob, JobKind, JobStatus};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use super::{Answer, at, values_of};
use crate::assets::ASSETS;
use crate::form::{Done, query_of};
use crate::is_file;
use crate::job;
use crate::picture::{channel_picture, person_picture};
use crate::visitor::switch_language;

const ALL: [Done; 11] = [
    Done::Saved,
    Done::Owner,
    Done::Added,
    Done::AddedBefore,
    Done::ShownBefore,
    Done::Deleted,
    Done::Imported,
    Done::Sent,
    Done::SignedOut,
    Done::Erasing,
    Done::Unsent,
];

#[test]
fn a_confirmation_is_said_by_the_page_that_its_address_leads_to() {
    for language in Language::ALL {
        let mut said: Vec<_> = ALL
            .into_iter()
            .map(|done| {
                for path in ["/c/C%201", "/c/C1/rules?q=%23a%3Fb&sort=hits", "/x?", "/x#a?b"] {
                    let address = done.address(path);
                    let query = address.split_once('?').unwrap().1;
                    let query = query.split('#').next();
                    assert!(Done::sentence(query, language).is_some(), "{address}");
                }
                Done::sentence(done.address("/").strip_prefix("/?"), language).unwrap()
            })
            .collect();
        said.sort();
        said.dedup();
        assert_eq!(said.len(), ALL.len(), "each says something else: {said:?}");
    }
}

#[test]
fn a_confirmation_keeps_the_rest_of_the_address() {
    for (path, address) in [
        ("/c/C1", "/c/C1?done=saved"),
        ("/c/C1?q=a%26b", "/c/C1?q=a%26b&done=saved"),
        ("/c/C1#rule-qa_1", "/c/C1?done=saved#rule-qa_1"),
        ("/c/C1?sort=hits#a?b#c", "/c/C1?sort=hits&done=saved#a?b#c"),
        // What an earlier form did is said no longer.
        ("/c/C1?done=unsent", "/c/C1?done=saved"),
        ("/c/C1?done=unsent&q=%20&%64one=added#x", "/c/C1?q=%20&done=saved#x"),
        ("/c/C1?q=done&undone=1&done", "/c/C1?q=done&undone=1&done=saved"),
    ] {
        assert_eq!(Done::Saved.address(path), address);
        let response = Done::Saved.at(path);
        assert_eq!(response.headers()[header::LOCATION], address);
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    }
    for nothing in
        [None, Some(""), Some("done"), Some("done="), Some("done=Saved"), Some("x=saved")]
    {
        assert_eq!(Done::sentence(nothing, Language::English), None, "{nothing:?}");
    }
    let quoted = Done::sentence(Some("q=1&done=%73aved"), Language::English);
    assert_eq!(quoted.as_deref(), Some("Saved."));
}

/// Returns the address and the cookie to which a choice of the language leads.
fn switched(address: &str, secure: bool) -> Option<(String, Option<String>)> {
    let response = switch_language(secure, &address.parse::<Uri>().unwrap())?;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let value = |name| {
        let value = response.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    Some((value(header::LOCATION).unwrap(), value(header::SET_COOKIE)))
}

#[test]
fn a_chosen_language_leads_back_to_the_page_with_all_else_that_it_was_asked_for() {
    for (address, to, tag) in [
        ("/c/C1?lang=ja", "/c/C1", Some("ja")),
        ("/c/C1?lang=zh-TW", "/c/C1", Some("zh-Hant")),
        ("/c/C1?id=1&lang=th&id=2&id=1", "/c/C1?id=1&id=2&id=1", Some("th")),
        ("/c/C1?lang=th&lang=ja", "/c/C1", Some("th")),
        ("/c/C1?done=saved&lang=EN-gb&q=%E6%97%A5+a", "/c/C1?q=%E6%97%A5+a", Some("en")),
        ("/c/C%2F1?lang=", "/c/C%2F1", None),
        ("/c/C1?lang=fr&q=1", "/c/C1?q=1", None),
    ] {
        for secure in [false, true] {
            let (location, cookie) = switched(address, secure).unwrap();
            assert_eq!(location, to, "{address}");
            let chosen = cookie.as_deref().and_then(|cookie| cookie.split(';').next());
            let expected = tag.map(|tag| format!("chatkeep_language={tag}"));
            assert_eq!(chosen, expected.as_deref(), "{address}");
            let is_secure = cookie.is_some_and(|cookie| cookie.contains("; Secure"));
            assert_eq!(is_secure, secure && tag.is_some(), "{address}");
        }
    }
    for other in ["/c/C1", "/c/C1?", "/c/C1?q=lang", "/c/C1?Lang=ja", "/lang=ja"] {
        assert_eq!(switched(other, false), None, "{other}");
    }
}

#[test]
fn only_pictures_are_files_of_pages() {
    for (path, expected) in [
        ("/c/C1/picture", true),
        ("/c/C%2F1/people/U1/picture", true),
        ("/c/C1/people/U1/picture/", false),
        ("/c/C1/people/picture", false),
        ("/c/C1/picture/x", false),
        ("/c/picture", false),
        ("/picture", false),
        ("c/C1/picture", false),
        ("/C/C1/picture", false),
        ("/c/C1/m/U1/picture", false),
        ("/c/C1/news", false),
    ] {
        assert_eq!(is_file(path), expected, "{path}");
    }
}

#[test]
fn the_address_of_a_picture_changes_with_the_picture_and_names_no_other_server() {
    let person = |address| person_picture(&"C/1".into(), &"U 1".into(), address);
    let channel = |address| channel_picture(&"C/1".into(), address);
    assert_eq!((person(None), channel(None)), (None, None));
    let (one, other) = ("https://a.example/1", "https://a.example/2");
    for of in [person(Some(one)), channel(Some(one))] {
        let of = of.unwrap();
        assert!(of.starts_with("/c/C%2F1/") && !of.contains("a.example"), "{of}");
        assert!(is_file(of.split_once('?').unwrap().0), "{of}");
    }
    assert_ne!(person(Some(one)), person(Some(other)));
    assert_ne!(channel(Some(one)), channel(Some(other)));
    assert_eq!(person(Some(one)), person(Some(one)));
}

fn running(done: i64, total: i64, status: JobStatus) -> ChannelJob {
    ChannelJob {
        id: "job 1".to_owned(),
        channel: "C1".into(),
        kind: JobKind::Deletion,
        sent_before: Timestamp::default(),
        created_by: "U1".into(),
        created_at: at(super::NOW),
        total,
        done,
        freed_bytes: 0,
        status,
        error: None,
        finished_at: None,
    }
}

#[test]
fn the_page_of_a_job_leads_back_to_where_it_was_begun() {
    for back in ["/c/C1/settings", "/c/C%201/people?show=left&q=a%26b#x", "/c/%E6%97%A5/settings"] {
        let job = running(0, 1, JobStatus::Pending);
        let response = job::begun(&job, "/c/C1", back);
        let to = response.headers()[header::LOCATION].to_str().unwrap();
        assert!(to.starts_with("/c/C1/jobs/job%201?back="), "{to}");
        assert_eq!(values_of(to, "back"), [back]);
        assert!(is_local(&values_of(to, "back")[0]), "the page takes it: {back}");
    }
}

#[test]
fn a_job_tells_how_far_it_is_in_every_language() {
    for language in Language::ALL {
        let told = |job: &ChannelJob| job::title_and_text(job, language);
        let of = |title: &str| language.text(title);
        for status in [JobStatus::Pending, JobStatus::Running] {
            let job = running(1_234, 56_789, status);
            let (title, sentence) = told(&job);
            assert_eq!(title, of("job-running-title"));
            assert!(sentence.contains("1,234") && sentence.contains("56,789"), "{sentence}");
            let delayed = ChannelJob { error: Some("it says why".to_owned()), ..job };
            let (title, sentence) = told(&delayed);
            assert_eq!(title, of("job-delayed-title"));
            assert!(!sentence.contains("it says why"), "the log is for operators: {sentence}");
        }
        let done = ChannelJob { freed_bytes: 1_610_612_736, ..running(2, 2, JobStatus::Done) };
        let (title, sentence) = told(&done);
        assert_eq!(title, of("job-done-title"));
        assert!(sentence.contains("1.5\u{a0}GB"), "{sentence}");
        let nothing = told(&running(0, 0, JobStatus::Done)).1;
        assert!(!nothing.contains('0'), "nothing to delete has no size: {nothing}");
        assert_eq!(told(&running(1, 2, JobStatus::Failed)).0, of("job-failed-title"));
    }
    let one = ChannelJob { freed_bytes: 0, ..running(1, 1, JobStatus::Done) };
    let sentence = job::title_and_text(&one, Language::English).1;
    assert_eq!(sentence, "1 message was deleted, which freed 0\u{a0}KB.");
}

#[test]
fn a_query_is_read_as_it_was_written() {
    let pairs = [("q", "a&b=c+d %"), ("日", "👋"), ("empty", "")];
    let address = format!("/x?{}", query_of(&pairs));
    for (name, value) in pairs {
        assert_eq!(values_of(&address, name), [value]);
    }
}

#[tokio::test]
async fn each_file_of_the_pages_is_served_under_the_hash_of_its_content() {
    let files = [
        (&ASSETS.style, "text/css; charset=utf-8", "assets/console.css"),
        (&ASSETS.script, "text/javascript; charset=utf-8", "assets/console.js"),
        (&ASSETS.rules, "text/javascript; charset=utf-8", "assets/rules.js"),
        (&ASSETS.progress, "text/javascript; charset=utf-8", "assets/progress.js"),
        (&ASSETS.export, "text/javascript; charset=utf-8", "assets/export.js"),
        (&ASSETS.icon, "image/svg+xml", "assets/icon.svg"),
    ];
    let get = async |path: &str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        Answer::of(crate::assets::router().oneshot(request).await.unwrap()).await
    };
    for (asset, kind, file) in files {
        let source = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let content = std::fs::read_to_string(source).unwrap();
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(content.as_bytes())[..9]);
        let (name, ending) = file.strip_prefix("assets/").unwrap().split_once('.').unwrap();
        assert_eq!(asset.path, format!("/console/assets/{name}.{hash}.{ending}"));
        let answer = get(&asset.path).await;
        assert_eq!((answer.status, &answer.body), (StatusCode::OK, &content), "{file}");
        assert_eq!(answer.headers[header::CONTENT_TYPE], kind);
        let caching = &answer.headers[header::CACHE_CONTROL];
        assert!(caching.to_str().unwrap().ends_with("immutable"), "{caching:?}");
        let old = asset.path.replace(&hash, "AAAAAAAAAAAA");
        assert_eq!(get(&old).await.status, StatusCode::NOT_FOUND, "of another version");
    }
}
