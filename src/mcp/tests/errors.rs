//! Errors in words: what is wrong, and what to do next, whatever went wrong and whoever wrote it.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::role::Scope;
use chatkeep_services::{Caller, Defect, FieldPath, ServiceError};
use serde_json::json;

use super::{ANN, GROUP, ToolBench, bounded, key, time, token};
use crate::error::{ToolError, echo, ended};
use crate::resources;

fn told(error: ServiceError, scope: Option<Scope>) -> (String, &'static str) {
    let failure = ToolError::from(error).failure(scope, &key());
    (failure.text, failure.result)
}

fn invalid(field: FieldPath, why: &str) -> String {
    let error =
        ServiceError::Invalid { field: Some(field), why: why.to_owned(), defect: Defect::Other };
    told(error, None).0
}

#[test]
fn every_error_has_a_remedy_and_its_kind() {
    for (error, kind, remedy) in [
        (ServiceError::PermissionDenied, "denied", "call list_channels"),
        (ServiceError::NotFound, "denied", "take ids and links from the results"),
        (ServiceError::PseudonymousKey, "denied", "shows pseudonyms"),
        (ServiceError::InsufficientPermissions, "denied", "ask the person for a key that has it"),
        (ServiceError::InvalidKey, "denied", "ask the person for another one"),
        (ServiceError::Unavailable, "unavailable", "Try the same call again in a few seconds"),
        (ServiceError::Internal, "error", "tell the person"),
    ] {
        let (text, result) = told(error.clone(), Some(Scope::ReadMessages));
        assert_eq!(result, kind, "{error:?}");
        assert!(text.contains(remedy) && text.ends_with('.'), "{error:?}: {text}");
        assert!(!text.contains(".."), "{error:?}: {text}");
    }
}

#[test]
fn a_missing_scope_is_named() {
    for scope in [Scope::ReadMessages, Scope::ReadMedia, Scope::ReadMembers] {
        let (text, _) = told(ServiceError::InsufficientPermissions, Some(scope));
        assert!(text.starts_with(&format!("This key lacks {}: ", scope.name())), "{text}");
        assert!(text.ends_with("Do not try again."), "{text}");
    }
    let (text, _) = told(ServiceError::InsufficientPermissions, None);
    assert!(text.starts_with("This key lacks the scope for this: "), "{text}");
}

/// A program that a person let in has no key that somebody could replace.
#[tokio::test]
async fn a_program_without_a_key_is_told_to_connect_again() {
    let bench = ToolBench::new().await;
    let bounds = Bounds { scopes: vec![Scope::ReadMessages], ..Bounds::full() };
    let program = |bounds: Bounds| Caller { credential: token(), ..bounded(ANN, bounds) };
    let asked = json!({"channelId": GROUP});
    let lacks = |scope: &str| {
        format!(
            "This connection lacks {scope}: ask the person to connect again and allow it. Do not \
             try again."
        )
    };
    let refused = bench.try_call(program(bounds.clone()), "get_members", asked.clone()).await;
    assert_eq!(refused.unwrap_err().text, lacks("read:members"));
    let refused = bench.try_call(bounded(ANN, bounds), "get_members", asked.clone()).await;
    assert!(refused.unwrap_err().text.starts_with("This key lacks read:members: "));
    let error = ToolError::from(ServiceError::InsufficientPermissions);
    let refused = resources::refusal(&error, "chatkeep://x", Scope::ReadMedia, &token());
    assert_eq!(refused.message, lacks("read:media"));
    let ended = Bounds { expires_at: Some(time("2026-05-03T12:00:00Z")), ..Bounds::full() };
    let refused = bench.try_call(program(ended), "get_members", asked).await.unwrap_err();
    assert!(refused.text.ends_with("ask the person to connect again."), "{refused:?}");
    assert!(!refused.text.contains("key"), "{refused:?}");
}

/// Errors of services have the names of REST, which no tool has.
#[test]
fn an_argument_has_the_name_that_its_tool_gives_it() {
    let again = "Correct it and call again.";
    let q = || FieldPath::parameter("q");
    assert_eq!(invalid(q(), "q must be short"), format!("query must be short. {again}"));
    assert_eq!(invalid(q(), "no time is left"), format!("query: no time is left. {again}"));
    assert_eq!(invalid(q(), "quite wrong?"), format!("query: quite wrong? {again}"));
    let limit = FieldPath::body("/limit");
    assert_eq!(invalid(limit, "limit is wrong"), format!("limit is wrong. {again}"));
    let foreign = invalid(FieldPath::parameter("cursor"), "cursor is no cursor of this list");
    assert!(foreign.contains("call again without cursor") && foreign.ends_with("returned it."));
    // What is no text belongs to no query.
    let wrong = invalid(FieldPath::body("/cursor"), "cursor must be a string");
    assert_eq!(wrong, format!("cursor must be a string. {again}"));
    let error = ServiceError::Invalid {
        field: None,
        why: "Two of them do not go together".to_owned(),
        defect: Defect::Other,
    };
    let expected = "Two of them do not go together. Correct the arguments and call again.";
    assert_eq!(told(error, None), (expected.to_owned(), "invalid"));
    assert_eq!(
        ToolError::sentence("Nobody is called \"x\".").failure(None, &key()).text,
        "Nobody is called \"x\". Correct the arguments and call again."
    );
}

/// A call takes its time: a key that was valid when the request came may have ended meanwhile.
#[tokio::test]
async fn a_key_that_ends_meanwhile_is_told_as_one() {
    let bench = ToolBench::new().await;
    let expires_at = Some(time("2026-05-03T12:00:01Z"));
    let ending = || bounded(ANN, Bounds { expires_at, ..Bounds::full() });
    let calls = [
        ("list_channels", json!({})),
        ("list_channels", json!({"recent": true})),
        ("get_messages", json!({"channelId": GROUP})),
        ("get_overview", json!({})),
        ("get_members", json!({"channelId": GROUP})),
    ];
    for (tool, arguments) in &calls {
        bench.try_call(ending(), tool, arguments.clone()).await.unwrap();
    }
    bench.clock.advance(Duration::from_secs(1));
    for (tool, arguments) in calls {
        let refused = bench.try_call(ending(), tool, arguments).await.unwrap_err();
        let told = "This key has expired: ask the person for another one. Do not try again.";
        assert_eq!((refused.text.as_str(), refused.result), (told, "denied"), "{tool}");
    }
    let uri = format!("chatkeep://channel/{GROUP}/message/m1");
    let refused = resources::read(&bench.services, ending(), &uri).await.unwrap_err();
    assert_eq!(refused.failure(None, &key()).result, "denied");
}

#[test]
fn what_was_given_is_repeated_cut_and_quoted() {
    assert_eq!(echo("Family"), "\"Family\"");
    assert_eq!(echo(""), "\"\"");
    assert_eq!(echo("a\"b\n\u{202e}c\u{e0041}"), "\"a\\\"b\\nc\"");
    let long = echo(&"長".repeat(500));
    assert_eq!(long, format!("\"{}…\"", "長".repeat(80)));
    let family = "👩‍👩‍👧";
    let cut = echo(&family.repeat(100));
    assert_eq!(cut, format!("\"{}…\"", family.repeat(16)), "none of them is torn");
    assert_eq!([ended("a"), ended("a."), ended("a?")], ["a.", "a.", "a?"]);
}

#[test]
fn what_does_not_exist_and_what_may_not_be_read_are_told_alike() {
    let none = ToolError::no_message("m1").failure(None, &key());
    assert!(none.text.starts_with("No message \"m1\" that this key may read: it was deleted, "));
    let hint = String::new();
    let no_channel = ToolError::NoChannel { given: "Family\"".to_owned(), hint };
    let told = no_channel.failure(None, &key());
    let expected =
        "No channel \"Family\\\"\" that this key may read: call list_channels for ids and names.";
    assert_eq!((told.text.as_str(), told.result, none.result), (expected, "denied", "denied"));
}

#[test]
fn an_error_about_a_resource_has_its_code() {
    let code = |error: &ToolError| {
        let refusal = resources::refusal(error, "chatkeep://x", Scope::ReadMessages, &key());
        (refusal.code.0, refusal.data.is_some())
    };
    let not_found = code(&ToolError::no_message("x"));
    assert!(not_found.1, "it names the URI");
    assert_eq!(code(&ToolError::no_resource("x", "is none".to_owned())), not_found);
    assert_ne!(not_found.0, -32602);
    for (error, expected) in [
        (ServiceError::Internal, -32603),
        (ServiceError::Unavailable, -32603),
        (ServiceError::InsufficientPermissions, -32602),
    ] {
        assert_eq!(code(&error.into()), (expected, false));
    }
    let told = resources::refusal(
        &ToolError::no_resource("a\nb", "is no URI".to_owned()),
        "a\nb",
        Scope::ReadMessages,
        &key(),
    );
    assert_eq!(told.message, "\"a\\nb\" is no URI.");
}

#[test]
fn the_scope_that_is_asked_for_is_that_of_the_resource() {
    for (uri, scope) in [
        ("chatkeep://channel/C1/message/m1", Scope::ReadMessages),
        ("chatkeep://channel/C1/message/m1/file", Scope::ReadMedia),
        ("chatkeep://channel/C1/message/file", Scope::ReadMessages),
        ("chatkeep://channel/C1/message/m1/file/", Scope::ReadMessages),
        ("https://chat.example.org/c/C1/m/m1", Scope::ReadMessages),
        ("", Scope::ReadMessages),
    ] {
        assert_eq!(resources::scope(uri), scope, "{uri}");
    }
}
