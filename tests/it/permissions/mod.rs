//! Permissions: every route of the API against every kind of caller. The expectation is derived
//! from the route's declared requirements, so that a route that requires less than it declares is
//! detected; a route without an entry in [`operation`] fails.

mod fixture;
mod operations;

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_api::{Need, RouteInfo, Tag, catalogue};
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::{ActivityFilter, ReadAction, Reader};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{now, said};

use fixture::{Caller, PermissionFixture};
use operations::operation;

const CHANNEL: &str = "C00000000000000000000000000permitted";
/// Channel that keys may be bound to, without any of the callers in it.
const OTHER: &str = "C0000000000000000000000000000elsewhere";
/// Person who is the object of calls.
const TARGET: &str = "U00000000000000000000000000000target";

/// Expected refusal of a caller; `None`: the call is allowed.
type Refusal = Option<(StatusCode, &'static str)>;

const UNKNOWN: Refusal = Some((StatusCode::UNAUTHORIZED, "Invalid or missing API key"));
const LACKS_SCOPE: Refusal = Some((StatusCode::FORBIDDEN, "Insufficient permissions"));
/// A picture may show anybody, questions are shown as they were asked, and a saved search or a draft
/// rule would tell who has what it looks for.
const UNMASKABLE: Refusal = Some((
    StatusCode::FORBIDDEN,
    "This is not available to a key that shows pseudonyms: use a key without them",
));
const DENIED: Refusal = Some((StatusCode::FORBIDDEN, "Permission denied"));

/// Returns the expected response to that caller at that route; `own`: about themself.
fn expected(route: &RouteInfo, caller: &Caller, own: bool) -> Refusal {
    if route.need == Need::Nothing {
        return None;
    }
    if !caller.valid {
        return UNKNOWN;
    }
    match route.need {
        Need::Job { removals, exports } => expected_of_job(caller, [removals, exports]),
        Need::Scope(scope) | Need::Channel { scope, .. } if !caller.bounds.has(scope) => {
            LACKS_SCOPE
        }
        Need::Channel { .. } if !caller.sees || caller.channel != CHANNEL => DENIED,
        Need::Channel { role: Role::Guest, .. } => {
            let may = match route.id {
                "unsubscribe" => caller.role >= Role::Member || caller.subscribed,
                "set_own_backup" => caller.known,
                "erase_member_data" => caller.role == Role::Owner || (own && caller.known),
                other => panic!("{other} decides for itself: say here what is right"),
            };
            if may { None } else { DENIED }
        }
        // About the whole account.
        _ if route.id == "set_notices" && caller.bounds.channels.is_some() => DENIED,
        _ if is_unmaskable(route) && caller.bounds.pseudonyms.is_some() => UNMASKABLE,
        Need::Channel { role, .. } if caller.role < role => DENIED,
        _ => None,
    }
}

/// The job is an erasure of the target, who has no key here.
fn expected_of_job(caller: &Caller, [removals, exports]: [Scope; 2]) -> Refusal {
    if !caller.bounds.has(removals) && !caller.bounds.has(exports) {
        return LACKS_SCOPE;
    }
    if !caller.sees || caller.channel != CHANNEL {
        return DENIED;
    }
    if caller.bounds.has(removals) && caller.role == Role::Owner { None } else { DENIED }
}

fn is_unmaskable(route: &RouteInfo) -> bool {
    matches!(route.id, "get_media" | "list_unanswered" | "backtest_rules")
        || (route.id.contains("export") && route.id != "export_messages")
        || route.id.contains("saved_search")
}

impl PermissionFixture {
    /// Checks one cell of the table.
    async fn check(&mut self, route: &RouteInfo, caller: &Caller, own: bool) {
        let operation = operation(route.id)
            .unwrap_or_else(|| panic!("{}: a new route needs an entry in operation()", route.id));
        let key = self.prepare(route, caller).await;
        let delivery = match (route.tag, caller.valid) {
            (Tag::Webhooks, true) => self.webhook(caller).await,
            _ => "dlv_1".to_owned(),
        };
        if caller.valid && route.path.starts_with("/saved-searches") {
            self.saved_search(caller).await;
        }
        let export = match expected(route, caller, own) {
            None if route.path.contains("{exportId}") => self.export(route, caller).await,
            _ => "exp_none".to_owned(),
        };
        let user = if own { caller.user.as_str() } else { TARGET };
        let rule = if route.id == "delete_rule" { "qa_gone" } else { "qa_kept" };
        let path = route
            .path
            .replace("{channelId}", caller.channel)
            .replace("{userId}", user)
            .replace("{qaId}", rule)
            .replace("{messageId}", "m1")
            .replace("{jobId}", "job_kept")
            .replace("{exportId}", &export)
            .replace("{keyId}", key.as_str())
            .replace("{savedSearchId}", &format!("ss_{}", caller.name))
            .replace("{webhookId}", &format!("wh_{}", caller.name))
            .replace("{deliveryId}", &delivery);
        assert!(!path.contains('{'), "{path}: say what the parameter is");
        let address = self.stack.ground.address;
        let url = format!("http://{address}{}{path}{}", caller.prefix, operation.query);
        let mut request = self.http.request(route.method.clone(), url);
        if let Some(header) = &caller.header {
            request = request.header("authorization", header);
        }
        if !operation.body.is_null() {
            request = request.json(&operation.body);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body: Value = answer.json().await.unwrap_or_default();
        let cell = format!("{} as {}: {status} {body}", route.id, caller.name);
        match expected(route, caller, own) {
            None => {
                let fileless = route.id == "get_media" && status == StatusCode::NOT_FOUND;
                assert!(status.is_success() || fileless, "{cell}");
                assert!(body.pointer(operation.has).is_some(), "{cell}");
            }
            Some((refused, error)) => {
                assert_eq!((status, &body["error"]), (refused, &json!(error)), "{cell}");
                assert!(body["code"].is_string() && body["requestId"].is_string(), "{cell}");
                assert_eq!(body.as_object().unwrap().len(), 3, "nothing else is told: {cell}");
                let challenge = headers.get("www-authenticate").is_some();
                assert_eq!(challenge, refused == StatusCode::UNAUTHORIZED, "{cell}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_serves_whom_it_says_and_nobody_else() {
    let mut cast = PermissionFixture::new().await;
    let callers = std::mem::take(&mut cast.callers);
    let routes = catalogue();
    let ids: BTreeSet<_> = routes.iter().map(|route| route.id).collect();
    assert_eq!(ids.len(), routes.len(), "an operation's name names one route");
    let mut cells = 0;
    for route in &routes {
        for caller in &callers {
            cast.check(route, caller, false).await;
            cells += 1;
            if route.path.contains("{userId}") && route.id != "set_member_role" {
                cast.check(route, caller, true).await;
                cells += 1;
            }
        }
    }
    println!("{cells} cells: {} routes, {} callers", routes.len(), callers.len());
}

/// Returns the action under which a route that may read messages or files is in the activity log;
/// `None` for one that shows none.
fn recorded(id: &str) -> Option<ReadAction> {
    Some(match id {
        "list_messages" => ReadAction::List,
        "get_message" => ReadAction::Open,
        "search" | "search_channel" => ReadAction::Search,
        "export_messages" | "get_export_document" => ReadAction::Export,
        "list_media" | "get_media" => ReadAction::Media,
        "list_events" => ReadAction::Events,
        // What was typed for a search, and nothing of messages.
        "list_unanswered" | "backtest_rules" => ReadAction::History,
        // Times and numbers.
        "list_saved_searches"
        | "get_saved_search"
        | "get_coverage"
        | "list_exports"
        | "create_export"
        | "get_export"
        | "delete_export" => return None,
        other => panic!("{other} may read messages or files: say here how that is recorded"),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_reads_is_in_the_activity_log() {
    let mut cast = PermissionFixture::new().await;
    // Events of long ago may be purged already.
    let fresh = said(CHANNEL, "fresh", now().millis(), "fresh");
    cast.store.messages().ingest(&[fresh], now()).await.unwrap();
    let callers = std::mem::take(&mut cast.callers);
    let [admin, guest] =
        ["admin", "guest"].map(|name| callers.iter().find(|caller| caller.name == name).unwrap());
    let mut expected: BTreeMap<&str, i64> = BTreeMap::new();
    for route in &catalogue() {
        let (Need::Scope(scope) | Need::Channel { scope, .. }) = route.need else { continue };
        if ![Scope::ReadMessages, Scope::ReadMedia].contains(&scope) {
            continue;
        }
        cast.check(route, admin, false).await;
        if matches!(route.need, Need::Channel { .. }) {
            cast.check(route, guest, false).await;
        }
        if let Some(action) = recorded(route.id) {
            *expected.entry(action.name()).or_default() += 1;
        }
    }
    assert_eq!(expected.len(), ReadAction::ALL.len(), "every action is one of REST");
    let (reader, all) = (Reader::Key(admin.key.clone()), ActivityFilter::default());
    until("the reads are written", DEADLINE, async || {
        let reads =
            cast.store.activity_log().reads(&CHANNEL.into(), &all, None, 100).await.unwrap();
        assert!(reads.iter().all(|read| read.reader == reader), "whoever is refused reads nothing");
        assert!(reads.iter().all(|read| read.reader_name.as_deref() == Some("test")));
        let mut found: BTreeMap<&str, i64> = BTreeMap::new();
        for read in reads {
            *found.entry(read.action.name()).or_default() += read.requests;
        }
        found == expected
    })
    .await;
}
