//! Pages of the account: what is missing there, the days of keys, and sessions.

use axum::http::StatusCode;
use chatkeep_i18n::Language;

use super::{ConsoleBench, at, escaped};

const KEYS: &str = "/console/account/keys";
const SESSIONS: &str = "/console/account/sessions";

#[tokio::test]
async fn what_an_account_does_not_have_is_not_found_in_any_language() {
    let bench = ConsoleBench::new().await;
    let paths = [
        "keys/nothing/replace",
        "keys/nothing/delete",
        "webhooks/nothing",
        "webhooks/nothing/edit",
        "webhooks/nothing/secret",
        "webhooks/nothing/delete",
        "webhooks/nothing/deliveries/dlv_1",
        "mcp/nothing/end",
    ];
    let form = [
        ("confirmed", "yes"),
        ("overlap", "0"),
        ("action", "test"),
        ("reach", "all"),
        ("url", "https://hooks.example/"),
        ("event", "message.sent"),
    ];
    for language in Language::ALL {
        let missing = language.text("gone-text");
        for path in paths {
            let path = format!("/console/account/{path}");
            let page = bench.open_in(&path, "Uowner", language).await;
            page.says(StatusCode::NOT_FOUND, &missing);
            let page = bench.post_in(&path, ("Uowner", language), &form).await;
            page.says(StatusCode::NOT_FOUND, &missing);
        }
    }
}

#[tokio::test]
async fn only_own_sessions_are_ended() {
    let bench = ConsoleBench::new().await;
    for id in ["session-Uadmin", "", "OTHERS", "session-"] {
        let refused = bench.post(SESSIONS, "Uowner", &[("session", id)]).await;
        refused.says(StatusCode::NOT_FOUND, &Language::English.text("gone-text"));
    }
    for user in ["Uowner", "Uadmin"] {
        assert_eq!(bench.open(SESSIONS, user).await.status, StatusCode::OK, "{user}");
    }
    let ended = bench.post(SESSIONS, "Uowner", &[("session", "others")]).await;
    ended.leads_to("/console/account/sessions?done=signed-out");
    assert_eq!(bench.open(SESSIONS, "Uowner").await.status, StatusCode::OK, "one's own stays");
    let left = bench.post(SESSIONS, "Uowner", &[("session", "session-Uowner")]).await;
    left.leads_to("/console/sign-in");
    assert!(left.headers.contains_key("set-cookie"), "the cookie goes, too");
    assert_eq!(bench.open(SESSIONS, "Uowner").await.status, StatusCode::SEE_OTHER);
    assert_eq!(bench.open(SESSIONS, "Uadmin").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_key_works_on_its_last_day_and_has_ended_at_midnight() {
    let bench = ConsoleBench::new().await;
    let form = |end: &'static str| {
        [("name", "<b>讀</b>"), ("scope", "read:messages"), ("reach", "all"), ("end", end)]
    };
    let past = bench.post(&format!("{KEYS}/new"), "Uowner", &form("2026-02-28")).await;
    past.says(StatusCode::UNPROCESSABLE_ENTITY, &Language::English.text("defect-past"));
    assert!(past.body.contains("value=\"2026-02-28\""), "what was typed stays");
    let made = bench.post(&format!("{KEYS}/new"), "Uowner", &form("2026-03-01")).await;
    made.says(StatusCode::OK, "<b>讀</b>");
    let ended = escaped(&Language::English.text("key-ended"));
    for (now, is_over) in [
        ("2026-03-01T04:00:00Z", false),
        ("2026-03-01T15:59:59.999Z", false),
        ("2026-03-01T16:00:00Z", true),
    ] {
        bench.hands.set(at(now));
        let page = bench.open(KEYS, "Uowner").await;
        page.says(StatusCode::OK, "<b>讀</b>");
        let days = page.body.matches("1\u{a0}Mar</dd>").count();
        assert_eq!(days, 2, "made and ended on that day: {}", page.body);
        let tag = page.body.contains(&format!("<span class=\"tag warn\">{ended}</span>"));
        assert_eq!(tag, is_over, "{now}");
        assert_eq!(page.body.contains("/replace\""), !is_over, "{now}");
        assert!(page.body.contains("/delete\""), "{now}");
    }
}

#[tokio::test]
async fn a_key_is_replaced_with_an_overlap_in_seconds_and_nothing_else() {
    let bench = ConsoleBench::new().await;
    let form = [("name", "one"), ("scope", "read:messages"), ("reach", "all")];
    let made = bench.post(&format!("{KEYS}/new"), "Uowner", &form).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.body);
    let list = bench.open(KEYS, "Uowner").await.body;
    let path = list.split("href=\"").find(|part| part.contains("/replace\"")).unwrap();
    let path = path.split('"').next().unwrap();
    for overlap in ["", "x", "-1", "1.5", "4294967296", "３６００"] {
        let refused = bench.post(path, "Uowner", &[("overlap", overlap)]).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{overlap}");
    }
    let other = bench.post(path, "Uadmin", &[("overlap", "0")]).await;
    other.says(StatusCode::NOT_FOUND, &Language::English.text("gone-text"));
    let replaced = bench.post(path, "Uowner", &[("overlap", "0")]).await;
    replaced.says(StatusCode::OK, &Language::English.text("key-old-ended"));
}

#[tokio::test]
async fn notices_are_wanted_as_long_as_the_box_is_ticked() {
    let bench = ConsoleBench::new().await;
    let wanted = async || {
        bench.open("/console/account", "Umember").await.body.contains("value=\"on\" checked")
    };
    assert!(wanted().await, "unless somebody says so, notices are sent");
    for (form, wants) in [
        (&[][..], false),
        (&[("notices", "on")], true),
        (&[("notices", "yes")], false),
        (&[("notices", "on"), ("action", "other")], true),
    ] {
        let saved = bench.post("/console/account", "Umember", form).await;
        saved.leads_to("/console/account?done=saved");
        assert_eq!(wanted().await, wants, "{form:?}");
    }
}
