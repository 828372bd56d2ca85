//! Safety of pages: policies, forms, redirects, hostile texts.

use reqwest::StatusCode;

use super::routes::routes;
use super::{GROUP, Scene};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_allow_nothing_but_their_own_files() {
    let scene = Scene::new().await;
    let open = routes().into_iter().filter(|route| route.opens && route.pattern != "/");
    // The news do not end.
    let open = open.filter(|route| !route.pattern.ends_with("/news"));
    let mut pages: Vec<_> = open.map(|route| (route.path(), Some("Uowner"))).collect();
    pages.extend([
        ("/console/sign-in".to_owned(), None),
        (format!("/c/{GROUP}/m/nothing"), Some("Uowner")),
        (format!("/c/{GROUP}/m/nothing"), Some("Ustranger")),
    ]);
    for (path, user) in pages {
        let page = scene.page(&path, user, "en").await;
        let kind = page.headers.get("content-type").map(|kind| kind.to_str().unwrap());
        if kind != Some("text/html; charset=utf-8") || path.ends_with("/export/file") {
            // Not a page: a file, or the way to a page.
            let expected = kind.is_none() || !page.body.contains("<script");
            assert!(expected, "{path}: {kind:?}");
            continue;
        }
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers["referrer-policy"], "same-origin", "{path}");
        assert_eq!(page.headers["cache-control"], "private, no-cache", "{path}");
        assert_eq!(page.headers["x-content-type-options"], "nosniff", "{path}");
        for inline in ["<style", " style=", "<script>", " onclick=", "javascript:", "=\"http://"] {
            assert!(!page.body.contains(inline), "{path} has {inline}: {}", page.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_kept_for_good_and_the_first_load_is_light() {
    let scene = Scene::with(&[("CHATKEEP_RATE_LIMIT_PER_MINUTE", "600".to_owned())]).await;
    let page = scene.open(&format!("/c/{GROUP}")).await;
    let limit = "x-ratelimit-limit";
    assert!(page.headers.contains_key(limit));
    let mut bytes = page.body.len();
    let files = page.body.split('"').filter(|part| part.starts_with("/console/assets/"));
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 3);
    for path in files {
        let file = scene.page(path, None, "en").await;
        assert_eq!(file.status, StatusCode::OK);
        assert_eq!(file.headers["cache-control"], "public, max-age=31536000, immutable");
        assert!(!file.headers.contains_key(limit), "files of pages are no requests of theirs");
        bytes += file.body.len();
    }
    // Not even compressed.
    assert!(bytes < 100_000, "{bytes} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_texts_are_shown_and_not_run() {
    let scene = Scene::new().await;
    let page = scene.open(&format!("/c/{GROUP}")).await.body;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(page.contains(r#"href="https://example.org/a?b=1&amp;c=" rel="noopener noreferrer"#));
    assert!(page.contains("預算 &lt;2024&gt;.xlsx"));
    for gone in ["a secret that was unsent", "to be erased", "three o'clock"] {
        assert!(!page.contains(gone), "{gone}");
    }
    let hostile = format!("/c/{GROUP}/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    assert!(!scene.open(&hostile).await.body.contains("<script>alert"));
    let page = scene.page("/c/%FF", Some("Uowner"), "en").await;
    assert!(page.status.is_client_error(), "{}", page.status);
    for wrong in ["?older=x", "?newer=", "?date=2024-13-01", "?date=x"] {
        let page = scene.page(&format!("/c/{GROUP}{wrong}"), Some("Uowner"), "ja").await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{wrong}");
        assert!(page.body.contains("URLが正しくありません"), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_has_the_character_that_databases_refuse() {
    let scene = Scene::new().await;
    let refused = async |path: &str, status: StatusCode, said: &str| {
        let page = scene.page(path, Some("Uowner"), "en").await;
        assert_eq!(page.status, status, "{path}: {}", page.body);
        assert!(page.body.contains(said), "{path}: {}", page.body);
        assert!(page.headers.contains_key("content-security-policy"), "{path}");
    };
    for route in routes() {
        for path in route.with_nul() {
            if route.opens {
                refused(&path, StatusCode::NOT_FOUND, "Page not found").await;
            }
            if route.posts {
                let form = [("csrf", "csrf-Uowner")];
                let page = scene.post(&path, "Uowner", &form, &[]).await;
                assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}: {}", page.body);
            }
        }
        // What is around all routes leads from there.
        if route.opens && route.pattern != "/" {
            for name in ["around", "older", "q", "sender", "id", "cursor", "text", "rule"] {
                let path = format!("{}?{name}=a%00", route.path());
                refused(&path, StatusCode::BAD_REQUEST, "<html").await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_field_of_a_form_has_the_character_that_databases_refuse() {
    let scene = Scene::new().await;
    for route in routes().into_iter().filter(|route| route.posts) {
        for field in ["action", "anything"] {
            let form = [("csrf", "csrf-Uowner"), (field, "a\0")];
            let page = scene.post(&route.path(), "Uowner", &form, &[]).await;
            assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}: {}", route.pattern, page.body);
            assert!(page.body.contains("This link does not work"), "{}", page.body);
        }
    }
    // What is no table is said beside its field.
    let form = [("csrf", "csrf-Uowner"), ("csv", "PK\0")];
    let path = format!("/c/{GROUP}/assistant/rules/import");
    let page = scene.post(&path, "Uowner", &form, &[]).await;
    assert!(page.body.contains("This is not a CSV table."), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_form_needs_the_token_of_its_session() {
    let scene = Scene::new().await;
    let foreign = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    let forged = [
        ("", &[][..]),
        ("wrong", &[]),
        ("csrf-Umember", &[]),
        ("csrf-Uowner", &foreign),
        ("csrf-Uowner", &foreign[..1]),
    ];
    for route in routes().into_iter().filter(|route| route.posts) {
        let path = route.path();
        // Refused forms lead back to the page of their address.
        assert!(route.opens || path == "/console/sign-out", "{path} cannot be opened");
        for (token, headers) in forged {
            let refused = scene.post(&path, "Uowner", &[("csrf", token)], headers).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {token} {headers:?}");
            assert!(
                refused.body.contains("Please open the page again"),
                "{path}: {}",
                refused.body
            );
        }
        let nobody = scene.submit_bare(&path, &[("csrf", "csrf-Uowner")], &[]).await;
        assert_eq!(nobody.status, StatusCode::SEE_OTHER, "{path}: {}", nobody.body);
        assert!(nobody.location().starts_with("/console/sign-in?next="), "{}", nobody.location());
    }
    scene.open("/console").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_out_ends_the_session() {
    let scene = Scene::new().await;
    let path = "/console/sign-out";
    // Whoever is signed out already is led to the sign-in, and from there home.
    let gone = scene.post(path, "Unobody", &[("csrf", "x")], &[]).await;
    assert_eq!(gone.location(), "/console/sign-in?next=%2Fconsole");
    let left = scene.post(path, "Uowner", &[("csrf", "csrf-Uowner")], &[]).await;
    assert_eq!((left.status, left.location()), (StatusCode::SEE_OTHER, "/console/sign-in"));
    let cookie = left.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("chatkeep_session=;") && cookie.contains("Max-Age=0"), "{cookie}");
    let home = scene.page("/console", Some("Uowner"), "en").await;
    assert_eq!(home.status, StatusCode::SEE_OTHER);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_looked_up_is_not_taken_for_signed_out() {
    let scene = Scene::new().await;
    scene.stack.sql("ALTER TABLE sessions RENAME TO gone".to_owned()).await;
    let page = scene.page("/console", Some("Uowner"), "en").await;
    assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", page.body);
    assert!(page.body.contains("<html lang=\"en\">"), "{}", page.body);
    scene.stack.sql("ALTER TABLE gone RENAME TO sessions".to_owned()).await;
    scene.open("/console").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_stay_on_this_service() {
    let scene = Scene::new().await;
    for next in ["https://evil.example", "//evil.example", "/%5Cevil.example", "/%09/evil", "x"] {
        let page = scene.page(&format!("/console/sign-in?next={next}"), Some("Uowner"), "en").await;
        assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, "/console"), "{next}");
    }
    let page = scene.page("/console/sign-in?next=/c/C1%3Fa%3Db", Some("Uowner"), "en").await;
    assert_eq!(page.location(), "/c/C1?a=b");
    // The switch of the language keeps the page and nothing else.
    let page = scene.page("/c/C1?q=a+b&lang=th&x=%26", Some("Uowner"), "en").await;
    assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, "/c/C1?q=a+b&x=%26"));
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("chatkeep_language=th; HttpOnly; SameSite=Lax; Path=/"), "{cookie}");
    let page = scene.page("//evil.example/?lang=th", None, "en").await;
    assert!(!page.headers.get("location").is_some_and(|to| to.as_bytes().starts_with(b"//")));
}
