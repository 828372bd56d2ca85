//! Pages of one's own data and of its erasure, whatever else a person may do in a chat.

use axum::http::StatusCode;
use chatkeep_i18n::Language;

use super::{ConsoleBench, NAME, escaped};

const LIST: &str = "/console/my-data";
const CHAT: &str = "/console/my-data/chats/C1";

#[tokio::test]
async fn the_name_of_the_chat_in_any_width_erases_what_one_wrote() {
    let bench = ConsoleBench::new().await;
    bench.say("m1", "Umember", "2026-02-28T01:00:00Z", "my own words").await;
    bench.say("m2", "Uadmin", "2026-02-28T01:01:00Z", "words of others").await;
    for typed in ["", "週末", "Readers", "週末 Reader", "C1", "Name of Umember"] {
        let form = [("action", "erase"), ("typed", typed)];
        let refused = bench.post(CHAT, "Umember", &form).await;
        let mistyped = Language::English.text("person-erase-mistyped");
        refused.says(StatusCode::UNPROCESSABLE_ENTITY, &mistyped);
        let kept = format!("name=\"typed\" value=\"{}\"", escaped(typed));
        assert!(refused.body.contains(&kept) && refused.body.contains(NAME), "{typed}");
    }
    let form = [("action", "erase"), ("typed", " 週末\u{3000}ｒｅａｄｅＲＳ\u{200b}")];
    let begun = bench.post(CHAT, "Umember", &form).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    let job = begun.location().to_owned();
    assert!(job.starts_with("/console/my-data/chats/C1?job="), "{job}");
    for language in Language::ALL {
        let page = bench.open_in(&job, "Umember", language).await;
        page.says(StatusCode::OK, &language.text("job-done-title"));
        assert!(!page.body.contains("name=\"typed\""), "there is nothing left to erase");
        let other = bench.open_in(&job, "Uadmin", language).await;
        assert_eq!(other.status, StatusCode::NOT_FOUND, "it is somebody else's");
    }
    let talk = bench.open("/c/C1", "Uadmin").await.body;
    assert!(!talk.contains("my own words") && talk.contains("words of others"), "{talk}");
}

#[tokio::test]
async fn who_may_not_read_sees_what_is_kept_and_no_way_to_the_chat() {
    let bench = ConsoleBench::new().await;
    bench.say("m1", "Uguest", "2026-02-28T01:00:00Z", "a guest was here").await;
    for language in Language::ALL {
        for (user, reads) in [("Umember", true), ("Uguest", false)] {
            let page = bench.open_in(CHAT, user, language).await;
            page.says(StatusCode::OK, NAME);
            let link = page.body.contains("href=\"/c/C1\"");
            assert_eq!(link, reads, "{user}: {}", page.body);
            // Who wrote nothing has nothing to erase.
            assert_eq!(page.body.contains("name=\"typed\""), user == "Uguest");
        }
        let stranger = bench.open_in(LIST, "Ustranger", language).await;
        stranger.says(StatusCode::OK, &language.text("my-data-empty-title"));
        let stranger = bench.open_in(CHAT, "Ustranger", language).await;
        assert_eq!(stranger.status, StatusCode::NOT_FOUND);
        assert!(!stranger.body.contains(NAME), "{}", stranger.body);
    }
    let closed = bench.open("/c/C1", "Uguest").await;
    assert_eq!(closed.status, StatusCode::NOT_FOUND, "the chat itself stays closed");
}

#[tokio::test]
async fn who_opts_out_is_told_so_wherever_it_matters() {
    let bench = ConsoleBench::new().await;
    let out = |path: &'static str| bench.post(path, "Umember", &[("action", "out")]);
    out(CHAT).await.leads_to("/console/my-data/chats/C1?done=saved");
    for language in Language::ALL {
        let tag = format!("<span class=\"tag\">{}</span>", language.text("my-data-not-kept"));
        for path in [LIST, CHAT] {
            let page = bench.open_in(path, "Umember", language).await;
            assert!(page.body.contains(&tag), "{path}: {}", page.body);
            let other = bench.open_in(path, "Uadmin", language).await;
            assert!(!other.body.contains(&tag), "{path}: {}", other.body);
        }
    }
    out(LIST).await.leads_to("/console/my-data?done=saved");
    for language in Language::ALL {
        let page = bench.open_in(LIST, "Umember", language).await;
        page.says(StatusCode::OK, &language.text("my-data-all-out"));
    }
    for action in ["", "OUT", "erase-all", "job"] {
        for path in [LIST, CHAT] {
            let refused = bench.post(path, "Umember", &[("action", action)]).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}: {action}");
        }
    }
    for format in ["", "pdf", "HTML", "html%20"] {
        let refused = bench.open(&format!("{LIST}/file?format={format}"), "Umember").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{format}");
    }
}

#[tokio::test]
async fn an_unknown_erasure_is_no_missing_message() {
    let bench = ConsoleBench::new().await;
    let page = bench.open("/console/my-data/chats/C1?job=nothing", "Uowner").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    let message = escaped(&Language::English.text("message-missing-title"));
    assert!(!page.body.contains(&message), "{}", page.body);
}
