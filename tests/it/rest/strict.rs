//! One rule for all routes: unknown input is refused, and the error names its place. The routes
//! come from the table of all routes, and the input of each from the document.

use chatkeep_api::{RouteInfo, catalogue, openapi};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{CHANNEL, MEMBER, Rest, send, under};

/// Returns a path of the route, for objects that do not exist beside the channel.
fn path_of(route: &RouteInfo) -> String {
    let path = route.path.replace("{channelId}", CHANNEL).replace("{userId}", MEMBER);
    let known = [
        "{messageId}",
        "{keyId}",
        "{webhookId}",
        "{deliveryId}",
        "{jobId}",
        "{exportId}",
        "{qaId}",
        "{savedSearchId}",
    ];
    let path = known.iter().fold(path, |path, name| path.replace(name, "none"));
    assert!(!path.contains('{'), "{}: say what it is", route.path);
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_compared_with_a_version_is_not_changed_by_one() {
    let rest = Rest::start(&[]).await;
    let body = json!({"name": "n", "query": "q"});
    let made = send(rest.post("/saved-searches", &body)).await.ok();
    let one = format!("/saved-searches/{}", made["savedSearchId"].as_str().unwrap());
    let tag = send(rest.get(&one)).await.header("etag").to_owned();
    let change = json!({"name": "other"});
    for request in [
        rest.put(&one, &change),
        rest.delete(&one),
        rest.put(&under("/backup/config"), &json!({"retentionDays": 9})),
        rest.put("/me/notices", &json!({"usage": false})),
    ] {
        let refused = send(request.header("If-Match", &tag)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], "If-Match", "{refused}");
    }
    assert_eq!(send(rest.get(&one).header("If-Match", &tag)).await.ok(), made, "nothing changed");
    let changed = send(rest.put(&one, &change).header("If-Match", "*")).await.ok();
    assert_eq!(changed["name"], "other", "whatever version there is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_text_names_nothing() {
    let rest = Rest::start(&[]).await;
    for path in ["/backup/messages/%ff", "/backup/media/%ff", "/backup/messages/%00"] {
        send(rest.get(&under(path))).await.refused(404, "not_found");
    }
    send(rest.get("/channels/%ff/backup/messages")).await.refused(403, "permission_denied");
}

/// Returns the schema of the route's body, if it has one.
fn body_of<'d>(document: &'d Value, route: &RouteInfo) -> Option<&'d Value> {
    let method = route.method.as_str().to_lowercase();
    let operation = &document["paths"][format!("/api{}", route.path)][method];
    assert!(operation["responses"]["400"].is_object(), "{}", route.id);
    operation.pointer("/requestBody/content/application~1json/schema")
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let name = schema["$ref"].as_str().map(|to| to.trim_start_matches('#'));
    name.map_or(schema, |name| document.pointer(name).unwrap())
}

fn takes_null(schema: &Value) -> bool {
    let null = json!("null");
    let one_of = schema["oneOf"].as_array();
    schema["type"] == null
        || schema["type"].as_array().is_some_and(|types| types.contains(&null))
        || one_of.is_some_and(|choices| choices.iter().any(takes_null))
}

/// Body with one odd value in it: its JSON Pointer, and true if the document allows it.
struct Odd {
    pointer: String,
    body: Value,
    allowed: bool,
}

/// Returns bodies with a null in each place, and with an unknown member in each object.
fn odd(document: &Value, schema: &Value) -> Vec<Odd> {
    let schema = resolved(document, schema);
    let alternatives = schema["oneOf"].as_array().into_iter().flatten();
    let mut found: Vec<_> = alternatives.flat_map(|schema| odd(document, schema)).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let within = |inner: Odd| Odd {
            pointer: format!("/{name}{}", inner.pointer),
            body: json!({ name: inner.body }),
            allowed: inner.allowed,
        };
        if property["readOnly"] == true {
            continue;
        }
        let null = Odd {
            pointer: String::new(),
            body: Value::Null,
            allowed: takes_null(resolved(document, property)),
        };
        found.push(within(null));
        found.extend(odd(document, property).into_iter().map(within));
    }
    if schema["properties"].is_object() {
        let body = json!({"nope": 1});
        found.push(Odd { pointer: "/nope".to_owned(), body, allowed: false });
    }
    if schema["items"].is_object() {
        let null = Odd { pointer: String::new(), body: Value::Null, allowed: false };
        let inner = odd(document, &schema["items"]).into_iter().chain([null]);
        found.extend(inner.map(|inner| Odd {
            pointer: format!("/0{}", inner.pointer),
            body: json!([inner.body]),
            allowed: inner.allowed,
        }));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_takes_a_parameter_that_it_does_not_know() {
    let rest = Rest::start(&[]).await;
    for route in catalogue() {
        let path = path_of(&route);
        let request = rest.request(route.method.clone(), &format!("{path}?nope=1"));
        let request = if route.method == Method::GET { request } else { request.json(&json!({})) };
        let refused = send(request).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], "nope", "{}: {refused}", route.id);
        assert!(refused["error"].as_str().unwrap().starts_with("nope is unknown"));
        // Permissions are checked first.
        let request = rest.request(route.method.clone(), &format!("{path}?nope=1"));
        send(request.bearer_auth("more")).await.refused(401, "invalid_api_key");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_takes_a_body_that_it_does_not_know() {
    let rest = Rest::start(&[]).await;
    let document = serde_json::to_value(openapi()).unwrap();
    let (mut with, mut nulls) = (0, 0);
    for route in catalogue() {
        let path = path_of(&route);
        let ask = |body: Value| {
            let request = rest.request(route.method.clone(), &path);
            send(request.header("content-type", "application/json").body(body.to_string()))
        };
        let refused = |answer: super::Answer, field: &str| {
            let refused = answer.refused(400, "invalid_request");
            assert_eq!(refused["field"], field, "{}: {refused}", route.id);
            refused
        };
        for body in [json!([]), json!(7), Value::Null] {
            refused(ask(body).await, "");
        }
        let Some(schema) = body_of(&document, &route) else {
            refused(ask(json!({"nope": 1})).await, "/nope");
            refused(ask(json!("x".repeat(100_000))).await, "");
            continue;
        };
        with += 1;
        for Odd { pointer, body, allowed } in odd(&document, schema) {
            let text = body.to_string();
            let answer = ask(body).await;
            if allowed {
                nulls += 1;
                assert_ne!(answer.json()["field"], pointer.as_str(), "{} {text}", route.id);
            } else {
                let sentence = refused(answer, &pointer)["error"].to_string();
                let null = !pointer.ends_with("/nope") && sentence.contains("must not be null");
                assert!(null || sentence.contains("is unknown"), "{text}: {sentence}");
            }
        }
    }
    assert!(with > 10 && nulls >= 6, "{with} bodies, {nulls} places where null means something");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_without_a_body_takes_an_empty_one() {
    let rest = Rest::start(&[]).await;
    let path = under("/backup/subscribe");
    for (body, field) in
        [("", None), ("{}", None), (" ", None), ("{\"plan\":\"pro\"}", Some("/plan"))]
    {
        let answer = send(rest.request(Method::POST, &path).body(body)).await;
        match field {
            None => assert_eq!(answer.ok(), json!({"success": true}), "{body:?}"),
            Some(field) => assert_eq!(answer.refused(400, "invalid_request")["field"], field),
        }
    }
    // A member may not delete: that is reported before the errors of the request.
    let all = under("/backup/messages?before=2020-01-01T00:00:00Z&nope=1");
    send(rest.delete(&all).bearer_auth("another")).await.refused(401, "invalid_api_key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentences_are_for_people_and_fields_for_programs() {
    let rest = Rest::start(&[]).await;
    let (qa, config) = (under("/assistant/qa"), under("/assistant/config"));
    let role = under(&format!("/members/{MEMBER}/role"));
    for (method, path, body, field, sentence) in [
        (
            Method::PUT,
            &role,
            json!({"role": "owner"}),
            "/role",
            "role must be one of admin, member, guest",
        ),
        (Method::PUT, &role, json!({}), "/role", "role is missing"),
        (Method::POST, &qa, json!({"keywords": ["k"]}), "/answer", "answer is missing"),
        (
            Method::POST,
            &qa,
            rule(json!({"keywords": []})),
            "/keywords",
            "keywords must contain at least 1 keyword",
        ),
        (
            Method::POST,
            &qa,
            rule(json!({"keywords": ["a", " "]})),
            "/keywords/1",
            "keywords[1] must not be empty",
        ),
        (Method::POST, &qa, rule(json!({"answer": ""})), "/answer", "answer must not be empty"),
        (
            Method::PUT,
            &config,
            json!({"assistant": {"qa": {"mode": "magic"}}}),
            "/assistant/qa/mode",
            "assistant.qa.mode must be one of keyword, fuzzy, semantic",
        ),
        (
            Method::PUT,
            &config,
            json!({"assistant": {"enabled": null}}),
            "/assistant/enabled",
            "assistant.enabled must not be null",
        ),
        (
            Method::PUT,
            &config,
            json!({"assistant": {"qa": {"cooldownSeconds": 86_401}}}),
            "/assistant/qa/cooldownSeconds",
            "assistant.qa.cooldownSeconds must be at most 86400",
        ),
        (
            Method::POST,
            &under("/assistant/backtest"),
            json!({"keywordMatch": "within"}),
            "/keywordMatch",
            "keywordMatch must be one of exact, contains",
        ),
        (
            Method::POST,
            &under("/assistant/backtest"),
            json!({"rules": [rule(json!({})), rule(json!({"keywords": ["x".repeat(101)]}))]}),
            "/rules/1/keywords/0",
            "rules[1].keywords[0] is longer than 100 characters",
        ),
    ] {
        let answer = send(rest.request(method, path).json(&body)).await;
        let refused = answer.refused(400, "invalid_request");
        assert_eq!(
            (&refused["field"], &refused["error"]),
            (&json!(field), &json!(sentence)),
            "{body}"
        );
    }
}

/// Returns a rule with other members than usual.
fn rule(more: Value) -> Value {
    let mut whole = json!({"keywords": ["k"], "answer": "a"});
    let more: Map<String, Value> = serde_json::from_value(more).unwrap();
    whole.as_object_mut().unwrap().extend(more);
    whole
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_are_refused_by_name() {
    let rest = Rest::start(&[]).await;
    for (query, field, sentence) in [
        ("limit=0", "limit", "limit must be a whole number from 1 to 100"),
        ("limit=", "limit", "limit must not be empty"),
        ("cursor=zzz", "cursor", "cursor is not a cursor of this list"),
        ("senderId=", "senderId", "senderId must not be empty"),
        ("date=2026-02-30", "date", "date must be a day such as 2026-01-31"),
        ("order=up", "order", "order must be one of desc, asc"),
        ("order=asc&order=asc", "order", "order is given more than once"),
    ] {
        let answer = send(rest.get(&under(&format!("/backup/messages?{query}")))).await;
        let refused = answer.refused(400, "invalid_request");
        assert_eq!((&refused["field"], &refused["error"]), (&json!(field), &json!(sentence)));
    }
    let missing = send(rest.get("/search")).await.refused(400, "invalid_request");
    assert_eq!((&missing["field"], &missing["error"]), (&json!("q"), &json!("q is missing")));
}
