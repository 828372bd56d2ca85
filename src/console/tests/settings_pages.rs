//! The settings of a backup at the edges of their values: days, zones, buttons, and deletion.

use axum::http::StatusCode;
use chatkeep_i18n::Language;

use super::{ConsoleBench, escaped};

const PATH: &str = "/c/C1/settings";
const SAVED: &str = "/c/C1/settings?done=saved";

/// Returns the value of a field on a page, as the page writes it.
fn value<'p>(page: &'p str, field: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("name=\"{field}\"")).unwrap();
    let (_, rest) = rest.split_once("value=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn days_are_whole_numbers_in_digits_of_any_width() {
    let bench = ConsoleBench::new().await;
    for (typed, days) in
        [("30", "30"), ("３０", "30"), (" 1\u{3000}", "1"), ("36500", "36500"), ("００７", "7")]
    {
        let form = [("action", "retention"), ("days", typed)];
        let asked = bench.post(PATH, "Uowner", &form).await;
        asked.says(StatusCode::OK, &Language::English.text("retention-title"));
        assert_eq!(value(&asked.body, "days"), days, "{typed}");
    }
    let invalid = Language::English.text("settings-days-invalid");
    for typed in
        ["0", "36501", "-1", "1.5", "4294967296", "30 days", "٣٠", "1e3", "三十", "\"><b>", "0x1e"]
    {
        for confirmed in ["", "yes"] {
            let form = [("action", "retention"), ("days", typed), ("confirmed", confirmed)];
            let refused = bench.post(PATH, "Uowner", &form).await;
            refused.says(StatusCode::UNPROCESSABLE_ENTITY, &invalid);
            assert_eq!(value(&refused.body, "days"), escaped(typed), "what was typed stays");
        }
    }
    let page = bench.open(PATH, "Uowner").await;
    assert_eq!(value(&page.body, "days"), "", "nothing was saved");
}

#[tokio::test]
async fn days_are_saved_after_the_question_and_taken_back_without_one() {
    let bench = ConsoleBench::new().await;
    let form = [("action", "retention"), ("days", "３６５００"), ("confirmed", "yes")];
    bench.post(PATH, "Uowner", &form).await.leads_to(SAVED);
    let page = bench.open(SAVED, "Uowner").await;
    page.says(StatusCode::OK, "Saved.");
    assert_eq!(value(&page.body, "days"), "36500");
    // Another form of the page shows the present days again, not those of its own fields.
    let form = [("action", "zone"), ("zone", "Nowhere"), ("days", "9")];
    let refused = bench.post(PATH, "Uowner", &form).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(value(&refused.body, "days"), "36500");
    let form = [("action", "retention"), ("days", " \u{3000}\t")];
    bench.post(PATH, "Uowner", &form).await.leads_to(SAVED);
    assert_eq!(value(&bench.open(PATH, "Uowner").await.body, "days"), "");
}

#[tokio::test]
async fn a_zone_is_known_by_its_name_and_an_unknown_one_changes_nothing() {
    let bench = ConsoleBench::new().await;
    for zone in ["Asia/Tokyo", " Europe/Lisbon\t", "UTC", "America/Argentina/Buenos_Aires"] {
        let form = [("action", "zone"), ("zone", zone)];
        bench.post(PATH, "Uadmin", &form).await.leads_to(SAVED);
        let page = bench.open(PATH, "Uadmin").await;
        assert_eq!(value(&page.body, "zone"), zone.trim());
    }
    let unknown = Language::English.text("settings-zone-unknown");
    for zone in ["Mars/Olympus", "Asia/Taipei Asia/Tokyo", "+08:00", "台北", "Asia/", "Asia"] {
        let form = [("action", "zone"), ("zone", zone)];
        let refused = bench.post(PATH, "Uadmin", &form).await;
        refused.says(StatusCode::UNPROCESSABLE_ENTITY, &unknown);
        assert_eq!(value(&refused.body, "zone"), zone);
    }
    let page = bench.open(PATH, "Uadmin").await;
    assert_eq!(value(&page.body, "zone"), "America/Argentina/Buenos_Aires");
    bench.post(PATH, "Uadmin", &[("action", "zone"), ("zone", " ")]).await.leads_to(SAVED);
    let page = bench.open(PATH, "Uadmin").await.body;
    assert_eq!(value(&page, "zone"), "");
    assert!(page.contains("placeholder=\"Asia/Taipei\""), "the zone in effect is the service's");
}

#[tokio::test]
async fn a_form_without_a_button_of_the_page_is_refused() {
    let bench = ConsoleBench::new().await;
    let forms: [&[(&str, &str)]; 4] =
        [&[], &[("action", "")], &[("action", "Retention"), ("days", "1")], &[("days", "1")]];
    for form in forms {
        let refused = bench.post(PATH, "Uowner", form).await;
        refused.says(StatusCode::BAD_REQUEST, &Language::English.text("error-input-text"));
    }
}

#[tokio::test]
async fn a_deletion_ends_at_midnight_of_the_chat_and_leads_to_its_job_and_back() {
    let bench = ConsoleBench::new().await;
    bench.say("old", "Umember", "2026-02-28T15:59:59.999Z", "of February").await;
    bench.say("new", "Umember", "2026-02-28T16:00:00Z", "of March").await;
    let form = [("action", "delete"), ("before", "2026-03-01")];
    let asked = bench.post(PATH, "Uowner", &form).await;
    asked.says(StatusCode::OK, &Language::English.text("delete-title"));
    assert_eq!(value(&asked.body, "before"), "2026-03-01");
    let form = [form[0], form[1], ("confirmed", "yes")];
    let begun = bench.post(PATH, "Uowner", &form).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    let job = begun.location().to_owned();
    assert!(job.starts_with("/c/C1/jobs/") && job.ends_with("?back=%2Fc%2FC1%2Fsettings"), "{job}");
    for language in Language::ALL {
        let page = bench.open_in(&job, "Uowner", language).await;
        page.says(StatusCode::OK, &language.text("job-done-title"));
        assert!(page.body.contains("href=\"/c/C1/settings\""), "{}", page.body);
    }
    for (user, status) in [("Umember", StatusCode::NOT_FOUND), ("Ustranger", StatusCode::NOT_FOUND)]
    {
        assert_eq!(bench.open(&job, user).await.status, status, "{user}");
    }
    let talk = bench.open("/c/C1", "Umember").await.body;
    assert!(talk.contains("of March") && !talk.contains("of February"), "{talk}");
    let page = bench.open(PATH, "Umember").await;
    page.says(StatusCode::OK, &Language::English.text("coverage-removed"));
    assert!(page.body.contains("1\u{a0}Mar"), "{}", page.body);
    let again = bench.post(PATH, "Uowner", &[("action", "delete"), ("before", "2026-03-01")]).await;
    let nothing = Language::English.text("settings-before-nothing");
    again.says(StatusCode::UNPROCESSABLE_ENTITY, &nothing);
}

#[tokio::test]
async fn the_day_of_a_deletion_is_one_of_the_calendar() {
    let bench = ConsoleBench::new().await;
    bench.say("m1", "Umember", "2026-02-28T16:00:00Z", "hello").await;
    let invalid = Language::English.text("settings-before-invalid");
    for before in ["", " ", "2026-02-29", "2026-3-1", "２０２６-03-01", "2026-03-01T00:00", "soon"]
    {
        for confirmed in ["", "yes"] {
            let form = [("action", "delete"), ("before", before), ("confirmed", confirmed)];
            let refused = bench.post(PATH, "Uowner", &form).await;
            refused.says(StatusCode::UNPROCESSABLE_ENTITY, &invalid);
            assert_eq!(value(&refused.body, "before"), before);
        }
    }
    for (before, says) in [
        ("0000-01-01", "settings-before-nothing"),
        ("2026-03-01", "settings-before-nothing"),
        ("2026-03-02", "delete-title"),
        ("9999-12-31", "delete-title"),
    ] {
        let form = [("action", "delete"), ("before", before)];
        let answer = bench.post(PATH, "Uowner", &form).await;
        assert!(answer.body.contains(&Language::English.text(says)), "{before}: {}", answer.body);
        assert_eq!(answer.status == StatusCode::OK, says == "delete-title", "{before}");
    }
    assert!(
        bench.open("/c/C1", "Umember").await.body.contains("hello"),
        "questions delete nothing"
    );
}
