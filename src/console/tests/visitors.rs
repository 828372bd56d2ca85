//! Visitors: the language that they read, the refusals that they get, and the headers of all pages.

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use chatkeep_core::role::Role;
use chatkeep_i18n::Language;
use chatkeep_services::ServiceError;

use super::{Answer, ConsoleBench, GROUP, NAME, cookie, escaped, values_of};
use crate::error::{PageError, error_page};
use crate::visitor::{Visitor, address_of, language_of, secured};
use crate::{DemoPerson, DemoRole, Entrances, demo_people};

#[test]
fn the_language_is_the_chosen_one_or_else_that_which_the_browser_prefers() {
    for (cookies, accepted, language) in [
        (&[][..], "", Language::English),
        (&[], "fr, *;q=0.5", Language::English),
        (&[], "ja;q=0.5, th;q=0.6", Language::Thai),
        (&["chatkeep_language=ja"], "th", Language::Japanese),
        (&["a=1; chatkeep_language=zh-Hant; b=2"], "th", Language::TraditionalChinese),
        (&["a=1", "chatkeep_language=th"], "ja", Language::Thai),
        (&["chatkeep_language=xx"], "ja", Language::Japanese),
        (&["chatkeep_language="], "ja", Language::Japanese),
        (&["my_chatkeep_language=th"], "ja", Language::Japanese),
        (&["=; ;;chatkeep_language=TH"], "ja", Language::Thai),
    ] {
        let mut headers = HeaderMap::new();
        for line in cookies {
            headers.append(header::COOKIE, line.parse().unwrap());
        }
        headers.insert(header::ACCEPT_LANGUAGE, accepted.parse().unwrap());
        assert_eq!(language_of(&headers), language, "{cookies:?} {accepted}");
    }
}

fn visitor(address: &'static str, language: Language) -> Visitor {
    Visitor::stranger(language, Uri::from_static(address))
}

#[tokio::test]
async fn each_refusal_is_a_page_in_the_language_of_the_visitor() {
    let bench = ConsoleBench::new().await;
    let here = "/c/C1/assistant/rules/qa_1";
    let cases = [
        (PageError::NoChannel, StatusCode::NOT_FOUND, "missing-text"),
        (PageError::LowRole { least: Role::Admin }, StatusCode::FORBIDDEN, "role-low-text"),
        (PageError::LowRole { least: Role::Owner }, StatusCode::FORBIDDEN, "role-low-owner-text"),
        (PageError::NoMessage, StatusCode::NOT_FOUND, "message-missing-text"),
        (PageError::NoPerson, StatusCode::NOT_FOUND, "person-missing-text"),
        (PageError::NoRule, StatusCode::NOT_FOUND, "rule-missing-text"),
        (PageError::NoExport, StatusCode::NOT_FOUND, "gone-text"),
        (PageError::NoPage, StatusCode::NOT_FOUND, "error-page-text"),
        (PageError::Method, StatusCode::METHOD_NOT_ALLOWED, "error-page-text"),
        (PageError::TooLarge, StatusCode::PAYLOAD_TOO_LARGE, "error-large-text"),
        (PageError::Hasty { seconds: 9 }, StatusCode::TOO_MANY_REQUESTS, "error-hasty-text"),
        (PageError::NotInAccount, StatusCode::NOT_FOUND, "gone-text"),
        (PageError::Input, StatusCode::BAD_REQUEST, "error-input-text"),
        (PageError::OldForm, StatusCode::FORBIDDEN, "error-old-form-text"),
        (PageError::Stale, StatusCode::CONFLICT, "error-stale-text"),
        (PageError::Busy, StatusCode::SERVICE_UNAVAILABLE, "error-busy-title"),
        (PageError::Internal, StatusCode::INTERNAL_SERVER_ERROR, "error-title"),
    ];
    for language in Language::ALL {
        for (error, status, key) in &cases {
            let page = error_page(&bench.console, &visitor(here, language), error);
            let answer = Answer::of(page).await;
            answer.says(*status, &language.text(key));
            let tag = format!("<html lang=\"{}\">", language.tag());
            assert!(answer.body.contains(&tag), "{error:?}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn a_form_that_no_page_fills_again_is_opened_anew() {
    let bench = ConsoleBench::new().await;
    for language in Language::ALL {
        let page =
            error_page(&bench.console, &visitor("/oauth/authorize", language), &PageError::OldForm);
        Answer::of(page).await.says(StatusCode::FORBIDDEN, &language.text("error-old-text"));
    }
}

#[test]
fn only_a_page_that_is_opened_says_what_was_done() {
    for (method, address, page) in [
        (Method::GET, "/c/C1?done=saved&q=a%26b", "/c/C1?done=saved&q=a%26b"),
        (Method::HEAD, "/c/C1?done=saved", "/c/C1?done=saved"),
        (Method::POST, "/c/C1?done=saved&q=a%26b", "/c/C1?q=a%26b"),
        (Method::POST, "/c/C1?%64one=saved", "/c/C1"),
        (Method::POST, "/c/C1?q=done&done", "/c/C1?q=done"),
        (Method::POST, "/c/C%2F1?q=%E6%97%A5+a", "/c/C%2F1?q=%E6%97%A5+a"),
        (Method::DELETE, "/c/C1", "/c/C1"),
    ] {
        let known = address_of(&method, &Uri::from_static(address));
        assert_eq!(known, page, "{method} {address}");
    }
}

#[tokio::test]
async fn who_was_too_fast_is_told_how_long_to_wait() {
    let bench = ConsoleBench::new().await;
    for (seconds, told) in [
        (0, "Try again in 1 second."),
        (1, "Try again in 1 second."),
        (60, "Try again in 60 seconds."),
        (u32::MAX, "Try again in 4,294,967,295 seconds."),
    ] {
        let error = PageError::Hasty { seconds };
        let page = error_page(&bench.console, &visitor("/console", Language::English), &error);
        Answer::of(page).await.says(StatusCode::TOO_MANY_REQUESTS, told);
    }
}

#[tokio::test]
async fn who_is_not_signed_in_comes_back_to_the_page_that_they_wanted() {
    let bench = ConsoleBench::new().await;
    let led = async |address: &'static str, error: PageError| {
        let visitor = visitor(address, Language::English);
        let answer = Answer::of(error_page(&bench.console, &visitor, &error)).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
        let (page, _) = answer.location().split_once('?').unwrap();
        assert_eq!(page, "/console/sign-in");
        values_of(answer.location(), "next").concat()
    };
    let address = "/c/C1/search?q=%E6%97%A5&from=2026-01-01";
    assert_eq!(led(address, PageError::SignedOut).await, address);
    let form = led("/c/C1/settings?x=1", PageError::SignedOutForm).await;
    assert_eq!(form, "/c/C1/settings?x=1&done=unsent");
    assert_eq!(led("/console/sign-out", PageError::SignedOutForm).await, "/console");
    // Where people sign in elsewhere, they are led there.
    let entrances = Entrances { sign_in: Some("/demo/who"), home: "/demo", framed: true };
    let demo = ConsoleBench::with(entrances).await;
    let visitor = visitor("/console/sign-out", Language::English);
    let answer = Answer::of(error_page(&demo.console, &visitor, &PageError::SignedOutForm)).await;
    assert_eq!(answer.location(), "/demo/who?next=%2Fdemo");
    demo.open("/", "Uowner").await.leads_to("/demo");
}

#[test]
fn refusals_of_services_tell_nothing_of_what_is_hidden() {
    let hidden = [
        ServiceError::InsufficientPermissions,
        ServiceError::PseudonymousKey,
        ServiceError::PermissionDenied,
    ];
    for error in hidden {
        assert_eq!(PageError::from(error), PageError::NoChannel);
    }
    for (error, page) in [
        (ServiceError::InvalidKey, PageError::SignedOut),
        (ServiceError::NotFound, PageError::NoMessage),
        (ServiceError::Stale, PageError::Stale),
        (ServiceError::CursorExpired, PageError::Input),
        (ServiceError::RequestRunning, PageError::Busy),
        (ServiceError::Unavailable, PageError::Busy),
        (ServiceError::Internal, PageError::Internal),
    ] {
        assert_eq!(PageError::from(error), page);
    }
}

#[tokio::test]
async fn a_page_has_the_policy_of_its_deployment_and_other_headers_stay() {
    for (framed, ancestors) in [(false, "'none'"), (true, "'self'")] {
        let bench = ConsoleBench::with(Entrances { framed, ..Entrances::default() }).await;
        for (path, user) in [("/console", "Uowner"), ("/c/none", "Uowner"), ("/c/C1", "Unobody")] {
            let page = bench.open(path, user).await;
            let policy = page.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'; "), "{path}: {policy}");
            assert!(policy.ends_with(&format!("frame-ancestors {ancestors}")), "{path}: {policy}");
            assert_eq!(page.headers[header::VARY], "Accept-Language, Cookie", "{path}");
            assert_eq!(page.headers.get_all(header::CONTENT_SECURITY_POLICY).iter().count(), 1);
        }
        let secret = ([(header::CACHE_CONTROL, "no-store")], "");
        let secret = secured(axum::response::IntoResponse::into_response(secret), framed);
        assert_eq!(secret.headers()[header::CACHE_CONTROL], "no-store");
    }
}

#[tokio::test]
async fn a_session_ends_for_pages_when_it_was_not_used_for_a_month() {
    let bench = ConsoleBench::new().await;
    bench.hands.advance(std::time::Duration::from_hours(30 * 24 - 1));
    assert_eq!(bench.open("/console", "Ustranger").await.status, StatusCode::OK);
    bench.hands.advance(std::time::Duration::from_hours(2));
    bench
        .open("/c/C1?older=x", "Umember")
        .await
        .leads_to("/console/sign-in?next=%2Fc%2FC1%3Folder%3Dx");
}

#[tokio::test]
async fn a_cookie_of_another_name_or_in_other_company_is_read_right() {
    let bench = ConsoleBench::new().await;
    let asked = async |cookie: &str| {
        let request = Request::get("/console").header(header::COOKIE, cookie);
        bench.ask(request.body(Body::empty()).unwrap()).await.status
    };
    let own = cookie("Uowner");
    assert_eq!(asked(&format!("a=1; {own}; b=2")).await, StatusCode::OK);
    for other in [own.to_uppercase(), format!("__Host-{own}"), format!("{own}x"), String::new()] {
        assert_eq!(asked(&other).await, StatusCode::SEE_OTHER, "{other}");
    }
}

#[tokio::test]
async fn pages_of_operators_are_none_where_there_are_no_operators() {
    let bench = ConsoleBench::new().await;
    for user in ["Uowner", "Unobody"] {
        let page = bench.open("/console/operator/line", user).await;
        assert_eq!((page.status, &*page.body), (StatusCode::NOT_FOUND, ""), "{user}");
    }
    let set = bench.post("/console/operator/line", "Uowner", &[("bot", "main")]).await;
    assert_eq!(set.status, StatusCode::NOT_FOUND);
    let home = bench.open("/console", "Uowner").await.body;
    assert!(home.contains(NAME) && !home.contains("/console/operator"), "{home}");
}

#[tokio::test]
async fn the_menu_leads_to_the_same_page_in_each_language() {
    let bench = ConsoleBench::new().await;
    let address = format!("/c/{GROUP}/search?q=%E6%97%A5+%26a&type=image");
    let page = bench.open_in(&address, "Uowner", Language::Japanese).await.body;
    for language in Language::ALL {
        let query = format!("?q=%E6%97%A5+%26a&type=image&lang={}", language.tag());
        let link = format!("href=\"{}\" lang=\"{}\"", escaped(&query), language.tag());
        let (_, rest) = page.split_once(&link).unwrap_or_else(|| panic!("{link}: {page}"));
        let is_current = rest.split('>').next().unwrap().contains("aria-current");
        assert_eq!(is_current, language == Language::Japanese, "{language:?}");
        assert!(rest.contains(language.own_name()));
    }
}

#[tokio::test]
async fn the_page_of_the_demo_offers_its_people_and_leads_nowhere_else() {
    let people = || {
        [DemoRole::Owner, DemoRole::Member, DemoRole::Stranger].map(|role| DemoPerson {
            id: format!("U\"{role:?}"),
            name: "<b>Ann".to_owned(),
            role,
        })
    };
    let address = Uri::from_static("/demo/who");
    for (next, kept) in [
        (Some("/c/C1?a=b"), "/c/C1?a=b"),
        (Some("//evil.example"), "/console"),
        (Some("https://evil.example"), "/console"),
        (None, "/console"),
    ] {
        let response = demo_people(&HeaderMap::new(), &address, people().to_vec(), next);
        let page = Answer::of(response).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.body.contains(&format!("value=\"{}\"", escaped(kept))), "{}", page.body);
        assert!(!page.body.contains("evil") && !page.body.contains("<b>Ann"), "{}", page.body);
        assert!(page.body.contains("U&quot;Owner"), "{}", page.body);
        for key in ["demo-role-owner", "demo-role-member", "demo-role-stranger"] {
            assert!(page.body.contains(&Language::English.text(key)), "{key}");
        }
    }
    let chosen = Uri::from_static("/demo/who?lang=th");
    let response = demo_people(&HeaderMap::new(), &chosen, Vec::new(), None);
    Answer::of(response).await.leads_to("/demo/who");
}
