//! Registration of programs, and the metadata by which they find the rest.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use chatkeep_services::grants::GRANTABLE_SCOPES;
use serde_json::{Value, json};

use super::{Answered, BACK, BASE, ConsentBench, asking};

async fn register(bench: &ConsentBench, said: impl Into<Body>) -> Answered {
    bench.send(Request::post("/oauth/register").body(said.into()).unwrap()).await
}

#[tokio::test]
async fn a_program_is_registered_as_it_says_within_the_bounds() {
    let bench = ConsentBench::new().await;
    let addresses = |count: usize| -> Vec<_> {
        (0..count).map(|nth| format!("https://a.example/{nth}")).collect()
    };
    let said = json!({"redirect_uris": addresses(20), "client_name": "Helper", "scope": "x"});
    let answer = register(&bench, said.to_string()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    let known = answer.json();
    assert_eq!(
        (&known["client_name"], &known["redirect_uris"]),
        (&json!("Helper"), &json!(addresses(20)))
    );
    assert_eq!(known["client_id_issued_at"], 1_777_809_600);
    assert!(known["client_id"].as_str().unwrap().starts_with("ckp_"));
    let again = register(&bench, said.to_string()).await.json();
    assert_ne!(again["client_id"], known["client_id"], "the same words are another program");
    for (said, error) in [
        (json!({"redirect_uris": addresses(21)}), "invalid_redirect_uri"),
        (json!({"redirect_uris": []}), "invalid_redirect_uri"),
        (json!({"redirect_uris": [BACK, "http://a.example/"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["https://a.example/#"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": BACK}), "invalid_client_metadata"),
        (json!({"redirect_uris": [null]}), "invalid_client_metadata"),
        (json!({"client_name": "x"}), "invalid_client_metadata"),
        (json!({"redirect_uris": [BACK], "client_name": 7}), "invalid_client_metadata"),
        (json!([]), "invalid_client_metadata"),
    ] {
        let refused = register(&bench, said.to_string()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{said}");
        assert_eq!(refused.json()["error"], error, "{said}");
    }
    for broken in
        ["", "{", "redirect_uris=https%3A%2F%2Fa.example%2F", "{\"redirect_uris\":[\"\\ud800\"]}"]
    {
        let refused = register(&bench, broken).await;
        assert_eq!(refused.json()["error"], "invalid_client_metadata", "{broken}");
    }
}

#[tokio::test]
async fn a_registration_that_is_refused_is_told_its_field_and_the_reason() {
    let bench = ConsentBench::new().await;
    let addresses: Vec<_> = (0..21).map(|nth| format!("https://a.example/{nth}")).collect();
    for (said, why) in [
        (json!({"redirect_uris": addresses}), "redirect_uris must have 1 to 20 addresses"),
        (json!({"redirect_uris": []}), "redirect_uris must have 1 to 20 addresses"),
        (json!({"redirect_uris": ["http://a.example/"]}), "redirect_uris must be https, http on"),
        (json!({"redirect_uris": BACK}), "redirect_uris is required: a list of addresses"),
        (json!({"client_name": "x"}), "redirect_uris is required: a list of addresses"),
        (json!({"redirect_uris": [BACK], "client_name": 5}), "client_name must be a string"),
        (json!("x"), "The body must be a JSON object with redirect_uris"),
    ] {
        let refused = register(&bench, said.to_string()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{said}");
        let told = refused.json();
        let told = told["error_description"].as_str().unwrap();
        assert!(told.starts_with(why), "{said}: {told}");
    }
}

#[tokio::test]
async fn a_name_is_one_line_that_people_can_read() {
    let bench = ConsentBench::new().await;
    for (given, shown) in [
        (json!("Two\nlines\u{2028}here"), "Two lines here".to_owned()),
        (json!("re\u{202e}verse\u{200b}d\u{e0041}"), "reversed".to_owned()),
        (json!("長".repeat(80)), "長".repeat(80)),
        (json!("長".repeat(81)), format!("{}…", "長".repeat(80))),
        (json!("<b>&\"'"), "<b>&\"'".to_owned()),
        (json!(null), "An unnamed app".to_owned()),
        (json!(" \u{200b} "), "An unnamed app".to_owned()),
        (json!("\u{3164}"), "An unnamed app".to_owned()),
        (json!("\u{2800}"), "An unnamed app".to_owned()),
        (json!("\u{115f}\u{1160}"), "An unnamed app".to_owned()),
    ] {
        let said = json!({"redirect_uris": [BACK], "client_name": given}).to_string();
        let known = register(&bench, said).await.json();
        assert_eq!(known["client_name"], shown, "{given}");
    }
    // On the page it is text, whatever it is.
    let said = json!({"redirect_uris": [BACK], "client_name": "</title><script>x"}).to_string();
    let client = register(&bench, said).await.json()["client_id"].as_str().unwrap().to_owned();
    let page = bench.open(&asking(&client, &[])).await;
    assert!(
        !page.body.contains("<script>") && page.body.contains("&lt;script&gt;x"),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn every_endpoint_of_the_metadata_is_there() {
    let bench = ConsentBench::new().await;
    let document = format!("{BASE}/.well-known/oauth-authorization-server");
    let metadata = bench.open(&document).await.json();
    assert_eq!(metadata["issuer"], BASE);
    let mut found = 0;
    for (name, value) in metadata.as_object().unwrap() {
        let Some(address) = value.as_str().filter(|_| name.ends_with("_endpoint")) else {
            continue;
        };
        let path = address.strip_prefix(BASE).unwrap();
        for method in ["GET", "POST"] {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            let status = bench.send(request).await.status;
            assert_ne!(status, StatusCode::NOT_FOUND, "{name}");
            // Only people come with GET.
            let is_for_people = name == "authorization_endpoint" || method == "POST";
            assert_eq!(status != StatusCode::METHOD_NOT_ALLOWED, is_for_people, "{method} {name}");
        }
        found += 1;
    }
    assert_eq!(found, 4);
    let scopes: Vec<_> = GRANTABLE_SCOPES.iter().map(|scope| scope.name()).collect();
    assert_eq!(metadata["scopes_supported"], json!(scopes));
    for (list, only) in [
        ("response_types_supported", "code"),
        ("code_challenge_methods_supported", "S256"),
        ("token_endpoint_auth_methods_supported", "none"),
    ] {
        assert_eq!(metadata[list], Value::from(vec![only]), "{list}");
    }
}
