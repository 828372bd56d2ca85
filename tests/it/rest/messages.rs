//! Reading messages, deleting old ones, erasing a person's messages, coverage.

use chatkeep_core::time::Timestamp;
use chatkeep_store::PresenceEvidenceKind;
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, OWNER, Rest, message, now, send, texts, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, item, unsent};

/// Stores ten messages, a minute apart, from noon on.
async fn ten() -> Rest {
    let rest = Rest::start(&[]).await;
    let batch: Vec<_> = (0..10)
        .map(|n| {
            let user = if n % 2 == 0 { OWNER } else { MEMBER };
            message(
                &format!("m{n}"),
                user,
                &format!("2026-01-02T12:0{n}:00Z"),
                &format!("text {n}"),
            )
        })
        .collect();
    rest.keep(&batch).await;
    rest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_has_its_address_and_a_caller_finds_their_own() {
    let rest = ten().await;
    let path = under("/backup/messages?senderId=me&from=2026-01-02T12:08:00Z");
    let found = send(rest.get(&path)).await.ok();
    assert_eq!(texts(&found["messages"], "id"), ["m8"], "by the owner");
    // No public address is set: that of the listener is the one.
    let base = format!("http://{}", rest.stack.ground.address);
    let url = format!("{base}/c/{CHANNEL}/m/m8");
    assert_eq!(found["messages"][0]["url"], url);
    let args = ["export", "--channel", CHANNEL];
    let exported = rest.stack.ground.command(&rest.stack.line, &args).await;
    assert!(exported.contains(&url), "{exported}");
    // Still no link that people of the chat could follow.
    let link = json!({"assistant": {"link": {"enabled": true}}});
    send(rest.put(&under("/assistant/config"), &link)).await.refused(400, "invalid_request");
    rest.stack.ground.command(&rest.stack.line, &["reindex"]).await;
    for (query, expected) in [("text", 10), ("text&senderId=me", 5), ("text%20from:me", 5)] {
        for path in [under(&format!("/backup/search?q={query}")), format!("/search?q={query}")] {
            until("they are found", DEADLINE, async || {
                send(rest.get(&path)).await.ok()["total"] == expected
            })
            .await;
        }
    }
}

async fn ids(rest: &Rest, query: &str) -> Vec<String> {
    let path = under(&format!("/backup/messages{query}"));
    texts(&send(rest.get(&path)).await.ok()["messages"], "id")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn around_gives_both_sides_and_goes_on() {
    let rest = ten().await;
    assert_eq!(ids(&rest, "?around=m5&limit=4").await, ["m7", "m6", "m5", "m4"]);
    assert_eq!(ids(&rest, "?around=m5&limit=4&order=asc").await, ["m4", "m5", "m6", "m7"]);
    assert_eq!(ids(&rest, "?around=m5&limit=1").await, ["m5"]);
    let time = "2026-01-02T12:05:00Z";
    let by_time = ids(&rest, &format!("?around={time}&limit=4")).await;
    assert_eq!(by_time, ["m6", "m5", "m4", "m3"], "a time stands before what was sent then");
    assert_eq!(ids(&rest, "?around=m0&limit=4").await, ["m2", "m1", "m0"]);
    assert_eq!(ids(&rest, "?around=m9&limit=4").await, ["m9", "m8"]);
    assert_eq!(ids(&rest, "?around=2030-01-01T00:00:00Z&limit=4").await, ["m9", "m8"]);
    let filtered = ids(&rest, &format!("?around=m5&limit=4&senderId={MEMBER}")).await;
    assert_eq!(filtered, ["m9", "m7", "m5", "m3"]);
    for bad in ["nothing", "2026-13-01"] {
        let path = under(&format!("/backup/messages?around={bad}"));
        send(rest.get(&path)).await.refused(404, "not_found");
    }
    let before = "2020-01-01T00:00:00Z";
    assert_eq!(ids(&rest, &format!("?around={before}&limit=1")).await, ["m0"]);
    for (query, order, mut expected) in [
        ("limit=4", "desc", vec!["m3", "m2", "m1", "m0"]),
        ("limit=5", "asc", vec!["m8", "m9"]),
        ("limit=1", "asc", vec!["m6", "m7", "m8", "m9"]),
    ] {
        let path = under(&format!("/backup/messages?around=m5&{query}&order={order}"));
        let mut link = send(rest.get(&path)).await.header("link").to_owned();
        while let Some(target) = link.strip_suffix(">; rel=\"next\"") {
            let page = send(rest.get(target.strip_prefix("</api").unwrap())).await;
            for id in texts(&page.ok()["messages"], "id") {
                assert_eq!(id, expected.remove(0), "{order}");
            }
            page.header("link").clone_into(&mut link);
        }
        assert!(expected.is_empty(), "{order}: {expected:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_and_days_choose() {
    let rest = ten().await;
    rest.keep(&[
        message("late", OWNER, "2026-01-02T15:59:59.999Z", "still the day"),
        message("night", OWNER, "2026-01-02T16:00:00Z", "the next day in Taipei"),
    ])
    .await;
    let range = "?from=2026-01-02T12:03:00Z&to=2026-01-02T12:05:00Z&order=asc";
    assert_eq!(ids(&rest, range).await, ["m3", "m4"]);
    let range = format!("{range}&senderId={MEMBER}");
    assert_eq!(ids(&rest, &range).await, ["m3"]);
    assert!(ids(&rest, "?type=image").await.is_empty());
    assert_eq!(ids(&rest, "?type=text&limit=2").await, ["night", "late"]);
    assert_eq!(ids(&rest, "?date=2026-01-02").await.len(), 12);
    assert!(ids(&rest, "?date=2026-01-03").await.is_empty());
    let zone = send(rest.put(&under("/backup/config"), &json!({"timeZone": "Asia/Taipei"}))).await;
    assert_eq!(zone.ok()["config"]["backup"]["timeZone"], "Asia/Taipei");
    assert_eq!(ids(&rest, "?date=2026-01-02").await.len(), 11);
    assert_eq!(ids(&rest, "?date=2026-01-03").await, ["night"]);
    let within = "?date=2026-01-02&from=2026-01-02T12:08:00Z&order=asc";
    assert_eq!(ids(&rest, within).await, ["m8", "m9", "late"]);
    let wrong = rest.put(&under("/backup/config"), &json!({"timeZone": "Mars/Olympus"}));
    assert_eq!(send(wrong).await.refused(400, "invalid_request")["field"], "/timeZone");
    for bad in ["date=2026-02-30", "date=yesterday", "from=noon", "type=song", "order=up"] {
        let path = under(&format!("/backup/messages?{bad}"));
        let refused = send(rest.get(&path)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], bad.split('=').next().unwrap());
    }
}

async fn usage(rest: &Rest) -> (i64, i64) {
    let usage = send(rest.get("/usage")).await.ok();
    let channel = &usage["channels"][CHANNEL];
    assert_eq!(usage["totalBytes"], channel["bytes"]);
    (channel["bytes"].as_i64().unwrap(), channel["messageCount"].as_i64().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_messages_are_deleted_as_the_dry_run_says() {
    let rest = ten().await;
    let path = under("/backup/messages?before=2026-01-02T12:04:00Z");
    let dry = send(rest.delete(&format!("{path}&dryRun=true"))).await.ok();
    let before = usage(&rest).await;
    assert_eq!(before.1, 10, "a dry run changes nothing");
    let done = send(rest.delete(&path)).await.ok();
    assert_eq!(done, dry);
    assert_eq!(done["deletedCount"], 4);
    let after = usage(&rest).await;
    assert_eq!((before.0 - after.0, after.1), (done["freedBytes"].as_i64().unwrap(), 6));
    assert_eq!(ids(&rest, "?order=asc&limit=1").await, ["m4"]);
    send(rest.get(&under("/backup/messages/m0"))).await.refused(404, "not_found");
    let again = send(rest.delete(&path)).await.ok();
    assert_eq!(again, json!({"deletedCount": 0, "freedBytes": 0}));
    let events = send(rest.get("/events")).await.ok();
    let told = events["events"].as_array().unwrap();
    let told: Vec<_> = told.iter().map(|e| e["data"]["message"]["id"].as_str().unwrap()).collect();
    assert_eq!(told, ["m4", "m5", "m6", "m7", "m8", "m9"], "what is gone is not told any more");
    for bad in ["", "?before=soon", "?before=2026-01-02T12:04:00Z&dryRun=perhaps"] {
        let path = under(&format!("/backup/messages{bad}"));
        send(rest.delete(&path)).await.refused(400, "invalid_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_keeps_nothing_out_that_is_sent_later() {
    let rest = ten().await;
    // Whoever wants to be rid of everything names a day to come.
    let all = under("/backup/messages?before=2999-01-01");
    let dry = send(rest.delete(&format!("{all}&dryRun=true"))).await.ok();
    assert_eq!(dry["deletedCount"], 10);
    assert_eq!(send(rest.delete(&all)).await.ok(), dry);
    let sent = now().plus(std::time::Duration::from_millis(1)).to_string();
    rest.keep(&[message("later", MEMBER, &sent, "what was said after that")]).await;
    assert_eq!(ids(&rest, "").await, ["later"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_wrote_is_erased_by_them_or_the_owner() {
    let mut rest = ten().await;
    let of_member = under(&format!("/members/{MEMBER}/data"));
    let of_owner = under(&format!("/members/{OWNER}/data"));
    rest.stack.use_key("ck_member");
    send(rest.delete(&of_owner)).await.refused(403, "permission_denied");
    let erased = send(rest.delete(&of_member)).await.ok();
    assert_eq!(erased["erasedCount"], 5);
    assert!(erased["freedBytes"].as_i64().unwrap() > 100);
    let all = send(rest.get(&under("/backup/messages?order=asc"))).await.ok();
    assert_eq!(texts(&all["messages"], "id").len(), 10, "tombstones stay");
    for message in all["messages"].as_array().unwrap() {
        let number: u32 = message["id"].as_str().unwrap()[1..].parse().unwrap();
        let gone = number % 2 == 1;
        assert_eq!(message["unsentAt"].is_string(), gone);
        assert_eq!((message["content"].is_null(), message["sender"].is_null()), (gone, gone));
        assert_eq!(message["bytes"] == 0, gone);
    }
    assert!(ids(&rest, &format!("?senderId={MEMBER}")).await.is_empty());
    // Whoever has copies is told what to erase.
    let unsent = async || {
        let events = send(rest.get("/events?limit=100")).await.ok()["events"].clone();
        let unsent =
            events.as_array().unwrap().iter().filter(|one| one["type"] == "message.unsent");
        let ids: Vec<_> = unsent.map(|one| one["data"]["message"]["id"].clone()).collect();
        ids
    };
    let mut told: Vec<_> = unsent().await;
    told.sort_by_key(ToString::to_string);
    assert_eq!(told, ["m1", "m3", "m5", "m7", "m9"]);
    let again = send(rest.delete(&of_member)).await.ok();
    assert_eq!(again, json!({"erasedCount": 0, "freedBytes": 0}));
    assert_eq!(unsent().await.len(), 5, "once");
    rest.stack.use_key("ck_owner");
    assert_eq!(usage(&rest).await.1, 5);
    // Late deliveries are not stored, their messages from now on are.
    rest.keep(&[message("m1", MEMBER, "2026-01-02T12:01:00Z", "text 1")]).await;
    rest.keep(&[message("m-late", MEMBER, "2026-01-02T12:01:30Z", "late")]).await;
    rest.keep(&[message("m-new", MEMBER, "2126-01-02T12:01:30Z", "new")]).await;
    assert_eq!(ids(&rest, &format!("?senderId={MEMBER}")).await, ["m-new"]);
    assert_eq!(send(rest.delete(&of_owner)).await.ok()["erasedCount"], 5);
    assert_eq!(send(rest.delete(&under("/members/Unobody/data"))).await.ok()["erasedCount"], 0);
    assert_eq!(usage(&rest).await.1, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coverage_and_gaps_are_told() {
    let rest = ten().await;
    let coverage = async || send(rest.get(&under("/backup/coverage"))).await.ok();
    let shown = coverage().await;
    assert_eq!(shown["channelId"], CHANNEL);
    assert_eq!(shown["since"], "1970-01-01T00:00:00.002Z");
    assert_eq!(shown["firstMessageAt"], "2026-01-02T12:00:00.000Z");
    assert_eq!(shown["lastMessageAt"], "2026-01-02T12:09:00.000Z");
    // The moment before the first subscription is none.
    assert_eq!((&shown["gaps"], &shown["missingMedia"]), (&json!([]), &json!([])));
    let subscribe = under("/backup/subscribe");
    assert_eq!(send(rest.delete(&subscribe)).await.ok(), json!({"success": true}));
    let gaps = coverage().await["gaps"].clone();
    assert_eq!((&gaps[0]["reason"], &gaps[0]["to"]), (&json!("unsubscribed"), &Value::Null));
    let again = send(rest.request(Method::POST, &subscribe)).await;
    assert_eq!(again.status.as_u16(), 201);
    assert_eq!(send(rest.request(Method::POST, &subscribe)).await.status.as_u16(), 200);
    let (channel, owner, accounts) = (CHANNEL.into(), OWNER.into(), rest.store.accounts());
    let day = |day: &str| Timestamp::parse(&format!("2100-01-{day}T00:00:00Z")).unwrap();
    accounts.unsubscribe(&channel, &owner, day("01")).await.unwrap();
    accounts.subscribe(&channel, &owner, day("02")).await.unwrap();
    let gaps = coverage().await["gaps"].clone();
    let newest = gaps.as_array().unwrap().last().unwrap();
    let expected = json!({"from": "2100-01-01T00:00:00.000Z", "to": "2100-01-02T00:00:00.000Z",
                          "reason": "unsubscribed", "skipped": null});
    assert_eq!(*newest, expected, "{gaps}");
    let list = send(rest.get(&under("/backup/messages"))).await.ok();
    assert_eq!(list["gaps"], gaps, "the list shows them, too");
    let early = under("/backup/messages?to=2026-01-02T13:00:00Z");
    assert_eq!(send(rest.get(&early)).await.ok()["gaps"], json!([]));
    // Nobody ever subscribes to this one.
    let lonely = "C00000000000000000000000000000077";
    let seen = item(lonely, 1, PresenceEvidenceKind::Present(OWNER.into()));
    rest.store.members().record_presence(&[seen], at(1)).await.unwrap();
    let list = send(rest.get(&format!("/channels/{lonely}/backup/messages"))).await.ok();
    let never = json!([{"from": "1970-01-01T00:00:00.001Z", "to": null,
                        "reason": "unsubscribed", "skipped": null}]);
    assert_eq!((&list["messages"], &list["gaps"]), (&json!([]), &never));
    let coverage = send(rest.get(&format!("/channels/{lonely}/backup/coverage"))).await.ok();
    assert_eq!((&coverage["since"], &coverage["gaps"]), (&Value::Null, &never));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gaps_are_those_of_the_page() {
    let rest = ten().await;
    let (member, channel) = (MEMBER.into(), CHANNEL.into());
    let out = Timestamp::parse("2026-01-03T00:00:00Z").unwrap();
    let members = rest.store.members();
    members.set_opted_out(&member, Some(&channel), true, || out).await.unwrap();
    let days = (3..=27).map(|day| {
        message(&format!("no{day}"), MEMBER, &format!("2026-01-{day:02}T10:00:00Z"), "not kept")
    });
    rest.keep(&days.collect::<Vec<_>>()).await;
    rest.keep(&[message("last", OWNER, "2026-01-20T12:00:00Z", "kept")]).await;
    let part = |from: &str, to: &str, skipped: i64| {
        let time = |day: &str| format!("2026-01-{day}T00:00:00.000Z");
        json!({"from": time(from), "to": time(to), "reason": "opted_out", "skipped": skipped})
    };
    let page = async |query: &str| {
        let path = under(&format!("/backup/messages?limit=1{query}"));
        let page = send(rest.get(&path)).await.ok();
        let cursor = page["nextCursor"].as_str().unwrap_or_default().to_owned();
        (page["gaps"].clone(), cursor)
    };
    let (newest, cursor) = page("").await;
    assert_eq!(newest, json!([part("20", "28", 8)]));
    let (second, cursor) = page(&format!("&cursor={cursor}")).await;
    assert_eq!(second, json!([part("03", "21", 18)]));
    let (third, _) = page(&format!("&cursor={cursor}")).await;
    assert_eq!(third, json!([]), "nothing is missing between the two");
    let (oldest, _) = page("&order=asc").await;
    assert_eq!(oldest, json!([]), "the time before the subscription is a moment");
    let (around, _) = page("&around=m5").await;
    assert_eq!(around, json!([]));
    let coverage = send(rest.get(&under("/backup/coverage"))).await.ok();
    assert_eq!(coverage["gaps"], json!([part("03", "28", 25)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_and_its_tombstone() {
    let rest = ten().await;
    let path = under("/backup/messages/m3");
    let shown = send(rest.get(&path)).await.ok();
    assert_eq!((&shown["content"], &shown["type"]), (&json!("text 3"), &json!("text")));
    assert_eq!((&shown["channelId"], &shown["isBot"]), (&json!(CHANNEL), &json!(false)));
    assert_eq!(shown["sender"]["userId"], MEMBER);
    assert_eq!(shown["timestamp"], "2026-01-02T12:03:00.000Z");
    rest.keep(&[unsent(CHANNEL, "m3", 1_800_000_000_000)]).await;
    let gone = send(rest.get(&path)).await.ok();
    assert!(gone["content"].is_null() && gone["unsentAt"].is_string(), "{gone}");
    assert_eq!(gone["bytes"], 0);
    for none in ["m99", "..%2F..%2Fkeys"] {
        let path = under(&format!("/backup/messages/{none}"));
        send(rest.get(&path)).await.refused(404, "not_found");
    }
}
