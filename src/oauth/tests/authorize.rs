//! The question and the decision: what a request must have, what of it comes back to the program,
//! and where nobody is led.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use chatkeep_core::id::ChannelId;
use chatkeep_services::grants::GRANTABLE_SCOPES;
use url::Url;

use super::{ANN, BACK, BASE, CHANNELS, ConsentBench, RESOURCE, VERIFIER, asking, parameter};

/// States as programs make them up.
const STATES: [&str; 5] = ["", "a b&c=d#e", "%26+%2B", "日本 👍 \"<b>'", "https://a.example/?x=y"];

#[tokio::test]
async fn a_state_comes_back_as_it_was_sent() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let longest = "é".repeat(500);
    for state in STATES.into_iter().chain([longest.as_str()]) {
        let question = asking(&client, &[("state", Some(state))]);
        for decision in ["allow", "deny", "anything else"] {
            let back = bench.decide(&question, &[("decision", decision), ("reach", "all")]).await;
            assert!(back.starts_with(&format!("{BACK}?")), "{back}");
            assert_eq!(parameter(&back, "state"), state, "{back}");
            assert_eq!(parameter(&back, "iss"), BASE);
            let url = Url::parse(&back).unwrap();
            let names: Vec<_> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
            let expected = match decision {
                "allow" => vec!["code", "iss", "state"],
                _ => vec!["error", "error_description", "iss", "state"],
            };
            assert_eq!(names, expected, "{decision}");
        }
    }
    // One that is too long is told to the person; nobody is led anywhere.
    let endless = format!("{longest}x");
    let refused = bench.open(&asking(&client, &[("state", Some(&endless))])).await;
    assert_eq!((refused.status, refused.location()), (StatusCode::BAD_REQUEST, ""));
    assert_eq!(refused.json()["error"], "invalid_request");
    let back = bench.decide(&asking(&client, &[]), &[("decision", "deny")]).await;
    assert_eq!(parameter(&back, "error"), "access_denied");
    assert!(!back.contains("state="), "none was sent: {back}");
}

#[tokio::test]
async fn a_challenge_is_a_hash_by_the_one_method_that_there_is() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let (short, long) = ("a".repeat(42), "a".repeat(44));
    let odd = format!("{}+", "a".repeat(42));
    let padded = format!("{}=", "a".repeat(42));
    for change in [
        ("code_challenge", Some(short.as_str())),
        ("code_challenge", Some(long.as_str())),
        ("code_challenge", Some(odd.as_str())),
        ("code_challenge", Some(padded.as_str())),
        ("code_challenge", Some(VERIFIER)),
        ("code_challenge", None),
        ("code_challenge_method", Some("s256")),
        ("code_challenge_method", Some("plain")),
        ("code_challenge_method", None),
    ] {
        let page = bench.open(&asking(&client, &[change, ("state", Some("x"))])).await;
        assert_eq!((page.status, page.location()), (StatusCode::BAD_REQUEST, ""), "{change:?}");
        assert!(page.body.contains("code_challenge with the method S256 is required"));
        assert!(page.body.contains("error=invalid_request") && page.body.contains("state=x"));
        assert!(!page.body.contains("<form"), "there is nothing to allow: {}", page.body);
    }
}

#[tokio::test]
async fn only_the_address_that_a_program_named_is_led_to() {
    let bench = ConsentBench::new().await;
    let local = bench.register(BACK).await;
    let remote = bench.register("https://app.example/back?tenant=7").await;
    let allow = [("decision", "allow"), ("reach", "all")];
    for address in ["http://127.0.0.1:1/callback", "http://127.0.0.1/callback"] {
        let back = bench.decide(&asking(&local, &[("redirect_uri", Some(address))]), &allow).await;
        assert!(back.starts_with(&format!("{address}?code=ckc_")), "{back}");
    }
    let own = ("redirect_uri", Some("https://app.example/back?tenant=7"));
    let back = bench.decide(&asking(&remote, &[own]), &allow).await;
    assert!(back.starts_with("https://app.example/back?tenant=7&code=ckc_"), "{back}");
    for (client, address) in [
        (&local, "http://127.0.0.1:33418/callback/"),
        (&local, "http://127.0.0.1:33418/callback?x=y"),
        (&local, "http://localhost:33418/callback"),
        (&local, "http://[::1]:33418/callback"),
        (&local, "https://127.0.0.1:33418/callback"),
        (&local, "http://user@127.0.0.1:33418/callback"),
        (&remote, "https://app.example/back"),
        (&remote, "https://app.example:443/back?tenant=7"),
        (&remote, "HTTPS://app.example/back?tenant=7"),
        (&remote, "https://app.example/back?tenant=7#x"),
        (&remote, "https://app.example.evil.example/back?tenant=7"),
    ] {
        let refused = bench.open(&asking(client, &[("redirect_uri", Some(address))])).await;
        assert_eq!(
            (refused.status, refused.location()),
            (StatusCode::BAD_REQUEST, ""),
            "{address}"
        );
        assert_eq!(refused.json()["error"], "invalid_request", "{address}");
        assert!(!refused.body.contains("app.example") && !refused.body.contains("127."));
    }
}

#[tokio::test]
async fn who_is_not_signed_in_comes_back_to_the_same_question() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let question = asking(&client, &[("state", Some("a&b=ü")), ("resource", Some(RESOURCE))]);
    let path = question.strip_prefix(BASE).unwrap();
    for cookie in ["", "__Host-chatkeep=unknown", "chatkeep_session=x"] {
        let request = Request::get(path).header(header::COOKIE, cookie);
        let led = bench.send(request.body(Body::empty()).unwrap()).await;
        let login = Url::parse(BASE).unwrap().join(led.location()).unwrap();
        assert_eq!(
            (login.path(), led.headers[header::CACHE_CONTROL].as_bytes()),
            ("/auth/login", &b"no-store"[..])
        );
        assert_eq!(parameter(login.as_str(), "returnTo"), path);
    }
    // A form without a session, or with another one's token, changes nothing.
    let page = bench.open(&question).await;
    let fields = page.fields();
    let mut fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.extend([("decision", "allow"), ("reach", "all")]);
    assert_eq!(bench.post("/oauth/authorize", &fields).await.status, StatusCode::FORBIDDEN);
    let forged: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, if *name == "csrf" { "guessed" } else { *value }))
        .collect();
    assert_eq!(bench.submit("/oauth/authorize", &forged).await.status, StatusCode::FORBIDDEN);
    assert!(bench.services.grants.consents(&ANN.into()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_parameter_twice_or_a_needed_one_left_out_is_no_question() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let question = asking(&client, &[]);
    for wrong in [
        format!("{question}&client_id={client}"),
        format!("{question}&code_challenge_method=plain"),
        asking(&client, &[("redirect_uri", None)]),
        asking(&client, &[("client_id", None)]),
        format!("{BASE}/oauth/authorize"),
    ] {
        let refused = bench.open(&wrong).await;
        assert_eq!((refused.status, refused.location()), (StatusCode::BAD_REQUEST, ""), "{wrong}");
    }
    // What nobody knows is ignored.
    let page = bench.open(&format!("{question}&prompt=consent&prompt=login")).await;
    assert_eq!(page.status, StatusCode::OK);
}

/// A parameter without a value is as good as none (RFC 6749, section 3.1), and a program that asks
/// for no scope is asked about those for reading texts.
#[tokio::test]
async fn an_empty_parameter_is_left_out() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let bare = bench.open(&asking(&client, &[])).await;
    let permissions = |page: &str| page.matches("<li>").count();
    for name in ["scope", "resource"] {
        let page = bench.open(&asking(&client, &[(name, Some(""))])).await;
        assert_eq!(page.status, StatusCode::OK, "{name}: {}", page.body);
        assert_eq!(permissions(&page.body), permissions(&bare.body), "{name}");
        assert_eq!(page.fields(), bare.fields(), "the form does not repeat {name}");
    }
    let allowed = asking(&client, &[("scope", Some("")), ("resource", Some(""))]);
    assert!(bench.allow(&allowed).await.starts_with("ckc_"));
}

#[tokio::test]
async fn a_resource_is_compared_as_an_address() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    for same in [RESOURCE, "https://chat.example.org/mcp/", "HTTPS://Chat.Example.ORG:443/mcp"] {
        let code = bench.allow(&asking(&client, &[("resource", Some(same))])).await;
        let tokens = bench.exchange(&client, &code).await;
        assert_eq!(tokens.status, StatusCode::OK, "{same}: {}", tokens.body);
    }
    for other in ["https://chat.example.org/api", "http://chat.example.org/mcp", "nonsense"] {
        let page = bench.open(&asking(&client, &[("resource", Some(other))])).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{other}");
        assert!(page.body.contains("error=invalid_target"), "{other}: {}", page.body);
    }
}

#[tokio::test]
async fn what_is_missing_is_another_error_than_what_is_not_supported() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    for (kind, error) in [
        (None, "error=invalid_request"),
        (Some(""), "error=invalid_request"),
        (Some("token"), "error=unsupported_response_type"),
    ] {
        let page = bench.open(&asking(&client, &[("response_type", kind)])).await;
        assert_eq!((page.status, page.location()), (StatusCode::BAD_REQUEST, ""), "{kind:?}");
        assert!(page.body.contains(error), "{kind:?}: {}", page.body);
    }
    // Files are among the scopes that can be granted.
    let page = bench.open(&asking(&client, &[("scope", Some("write:backup"))])).await;
    for scope in GRANTABLE_SCOPES {
        assert!(page.body.contains(scope.name()), "{} in {}", scope.name(), page.body);
    }
}

#[tokio::test]
async fn a_choice_is_all_or_some_of_the_persons_own_channels() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let page = bench.open(&asking(&client, &[])).await;
    for channel in CHANNELS {
        assert_eq!(page.body.matches(&format!("value=\"{channel}\"")).count(), 1, "{channel}");
    }
    let fields = page.fields();
    let with = |more: &[(&'static str, &'static str)]| {
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fields.chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let allow = ("decision", "allow");
    for none in [vec![], vec![("channel", "Cforeign")]] {
        let chosen = [vec![allow, ("reach", "chosen")], none].concat();
        let again = bench.submit("/oauth/authorize", &with(&chosen)).await;
        assert_eq!(again.status, StatusCode::OK, "{}", again.body);
        assert!(again.body.contains("role=\"alert\"") && !page.body.contains("role=\"alert\""));
        assert_eq!(again.fields(), fields, "it asks the same again");
    }
    for wrong in [vec![allow], vec![allow, ("reach", "some")]] {
        let refused = bench.submit("/oauth/authorize", &with(&wrong)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }
    let both = [allow, ("reach", "chosen"), ("channel", CHANNELS[0]), ("channel", CHANNELS[1])];
    let back = bench.submit("/oauth/authorize", &with(&both)).await;
    let tokens = bench.exchange(&client, &parameter(back.location(), "code")).await.json();
    let mut channels = bench.caller(&tokens).await.unwrap().bounds.channels.unwrap();
    channels.sort();
    assert_eq!(channels, CHANNELS.map(ChannelId::from));
    let listed = bench.open(&format!("{BASE}/oauth/consents")).await;
    assert!(listed.body.contains("2 chats, allowed since"), "{}", listed.body);
    // Of each form of the list the consent is withdrawn, and its tokens end.
    let fields = listed.fields();
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let done = bench.submit("/oauth/consents", &fields).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, "/oauth/consents"));
    assert!(bench.caller(&tokens).await.is_err());
    assert!(bench.services.grants.consents(&ANN.into()).await.unwrap().is_empty());
}
