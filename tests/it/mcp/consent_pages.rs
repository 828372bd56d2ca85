//! Pages of consent over HTTP: their language, and refusals as pages.

use chatkeep_i18n::Language;
use reqwest::{Method, StatusCode};

use super::oauth::{BACK, Scene, form_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_are_in_the_language_of_the_reader() {
    let scene = Scene::new(&[("CHATKEEP_TIME_ZONE", "Asia/Taipei")]).await;
    let client = scene.register("Helper", BACK).await;
    let nameless = scene.register(" ", BACK).await;
    scene.let_in(&client).await;
    let name = [("name", "Helper".into())];
    let open = async |language: Language, path: &str| {
        let headers = [("accept-language", language.tag())];
        let page = scene.browser.send(Method::GET, path, &headers, None).await;
        let lang = format!("<html lang=\"{}\">", language.tag());
        assert!(page.body.contains(&lang) && page.body.contains(" · chatkeep</title>"), "{path}");
        page.body
    };
    let consents = format!("{}/oauth/consents", scene.base);
    let wrong = scene.asking(&client, &[("response_type", Some("token"))]);
    for language in Language::ALL {
        let page = open(language, &scene.asking(&client, &[])).await;
        for text in [
            language.format("consent-title", &name),
            language.text("consent-may-messages"),
            language.text("consent-all"),
            language.text("chat-nameless"),
            format!("<strong>{}</strong>", language.text("consent-place-own")),
            "<strong lang=\"\" dir=\"auto\">Helper</strong>".to_owned(),
        ] {
            assert!(page.contains(&text), "{text}: {page}");
        }
        let page = open(language, &scene.asking(&nameless, &[])).await;
        assert!(page.contains(&language.text("consent-unnamed")), "{page}");
        let page = open(language, &consents).await;
        assert!(page.contains(&language.text("consents-all")), "{page}");
        // A date of this year, in words.
        let since = language.text("consents-all");
        let row = page.split_once(&since).unwrap().1.split_once('<').unwrap().0;
        assert!(!row.contains("20") || row.contains("\u{a0}20") || row.contains("月20"), "{row}");
        let page = open(language, &wrong).await;
        assert!(page.contains(&language.format("consent-refused-title", &name)), "{page}");
    }
    // The language that was chosen in this browser counts more.
    scene.browser.plant("chatkeep_language", "th");
    let headers = [("accept-language", "ja")];
    let page = scene.browser.send(Method::GET, &consents, &headers, None).await;
    assert!(page.body.contains("<html lang=\"th\">"), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_get_pages_about_what_is_refused() {
    let scene = Scene::new(&[]).await;
    let client = scene.register("Helper", BACK).await;
    let page = scene.page(&scene.asking(&client, &[])).await;
    // A form of another session, and one that is none of ours.
    let mut forged = form_of(&page.body);
    forged.iter_mut().find(|(name, _)| name == "csrf").unwrap().1 = "guessed".to_owned();
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&forged).finish();
    let to = format!("{}/oauth/authorize", scene.base);
    let headers = [("origin", &*scene.base), ("accept", "text/html"), ("accept-language", "zh-TW")];
    for (form, status, key) in [
        (format!("{form}&decision=allow"), StatusCode::FORBIDDEN, "error-old-title"),
        ("csrf=x".to_owned(), StatusCode::BAD_REQUEST, "error-input-title"),
    ] {
        let page = scene.browser.send(Method::POST, &to, &headers, Some(form)).await;
        assert_eq!(page.status, status);
        let title = Language::TraditionalChinese.text(key);
        assert!(page.body.contains("<html lang=\"zh-Hant\">"), "{}", page.body);
        assert!(page.body.contains(&title), "{}", page.body);
    }
}
