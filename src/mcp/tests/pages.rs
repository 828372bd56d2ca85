//! Lists by cursors: whatever is chosen comes whole and once, also while more is written and where
//! answers are cut, and a cursor serves no other list.

use std::collections::BTreeSet;

use chatkeep_core::message::Content;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, PresenceEvidenceKind};
use serde_json::{Value, json};

use super::{ANN, BO, GROUP, ToolBench, at, each, evidence, said, sent, time, with};

/// A message as it was stored.
struct Entry {
    id: String,
    sender: &'static str,
    sent_at: Timestamp,
}

/// Returns forty messages of two people on three days, some of them of the same moment; later ones
/// may have lower ids.
fn entries() -> Vec<Entry> {
    let begin = time("2026-04-30T20:00:00Z").millis();
    let entry = |nth: i64| Entry {
        id: format!("m{:02}", (nth * 17) % 40),
        sender: if nth % 3 == 0 { ANN } else { BO },
        sent_at: at(begin + nth / 3 * 9_000_000),
    };
    (0..40).map(entry).collect()
}

async fn filled() -> (ToolBench, Vec<Entry>) {
    let (bench, entries) = (ToolBench::new().await, entries());
    let message =
        |entry: &Entry| sent((GROUP, &entry.id), entry.sender, entry.sent_at, &Content::text("x"));
    bench.keep(&entries.iter().map(message).collect::<Vec<_>>()).await;
    (bench, entries)
}

/// Returns the ids of all rows of a list from a page on, page by page.
async fn walk(bench: &ToolBench, tool: &str, rows: (&str, &str), asked: &Value) -> Vec<String> {
    let (mut asked, mut all) = (asked.clone(), Vec::new());
    loop {
        let answer = bench.call(tool, asked.clone()).await;
        let ids = each(&answer.given[rows.0], rows.1);
        assert!(!ids.is_empty() || answer.given["nextCursor"].is_null(), "{asked}");
        all.extend(ids.into_iter().map(str::to_owned));
        let Some(cursor) = answer.given["nextCursor"].as_str() else { return all };
        asked["cursor"] = json!(cursor);
    }
}

async fn messages(bench: &ToolBench, asked: &Value) -> Vec<String> {
    let asked = with(&json!({"channelId": GROUP}), asked);
    walk(bench, "get_messages", ("messages", "id"), &asked).await
}

/// Returns whether an entry is one of those that are asked for.
type Condition<'a> = &'a dyn Fn(&Entry) -> bool;

#[tokio::test]
async fn whatever_is_chosen_comes_whole_by_pages_of_any_size() {
    let (bench, mut entries) = filled().await;
    entries.sort_by(|one, other| (one.sent_at, &one.id).cmp(&(other.sent_at, &other.id)));
    // Both are times of messages: the one is within, the other is not.
    let (from, to) = ("2026-05-01T03:30:00Z", "2026-05-01T11:00:00Z");
    let within = |entry: &Entry| (time(from)..time(to)).contains(&entry.sent_at);
    let is_may_first = |entry: &Entry| entry.sent_at.to_string().starts_with("2026-05-01");
    let of_ann = |entry: &Entry| entry.sender == ANN;
    let chosen: [(Value, Condition<'_>); 6] = [
        (json!({}), &|_| true),
        (json!({"senderId": ANN}), &of_ann),
        (json!({"from": from, "to": to}), &within),
        (json!({"date": "2026-05-01"}), &is_may_first),
        (json!({"date": "2026-05-01", "senderId": ANN, "to": to}), &|entry| {
            is_may_first(entry) && of_ann(entry) && entry.sent_at < time(to)
        }),
        (json!({"from": "2026-05-03"}), &|_| false),
    ];
    for (asked, is_chosen) in chosen {
        let expected: Vec<_> =
            entries.iter().filter(|entry| is_chosen(entry)).map(|entry| entry.id.clone()).collect();
        for limit in [1, 3, 7, 100] {
            let asked = with(&asked, &json!({"limit": limit}));
            let ascending = with(&asked, &json!({"order": "asc"}));
            assert_eq!(messages(&bench, &ascending).await, expected, "{ascending}");
            let mut newest_first = messages(&bench, &asked).await;
            newest_first.reverse();
            assert_eq!(newest_first, expected, "{asked}");
        }
    }
}

#[tokio::test]
async fn what_is_written_meanwhile_shifts_no_page() {
    let (bench, _) = filled().await;
    for (order, earlier, later) in [
        ("desc", "2026-04-02T00:00:00Z", "2026-05-03T10:00:00Z"),
        ("asc", "2026-04-01T00:00:00Z", "2026-05-03T11:00:00Z"),
    ] {
        let whole = messages(&bench, &json!({"limit": 100, "order": order})).await;
        let asked = json!({"channelId": GROUP, "limit": 9, "order": order});
        let first = bench.call("get_messages", asked.clone()).await;
        let mut read: Vec<_> =
            each(&first.given["messages"], "id").into_iter().map(str::to_owned).collect();
        assert_eq!(read, whole[..9]);
        // One before everything and one behind it: on one side the list was read already.
        let new = [format!("first of {order}"), format!("last of {order}")];
        let changes: Vec<ChannelChange> =
            vec![said(&new[0], ANN, earlier, "x"), said(&new[1], ANN, later, "x")];
        bench.keep(&changes).await;
        let cursor = with(&asked, &json!({"cursor": first.given["nextCursor"]}));
        read.extend(walk(&bench, "get_messages", ("messages", "id"), &cursor).await);
        let added = if order == "desc" { &new[0] } else { &new[1] };
        assert_eq!(read.len(), whole.len() + 1, "{order}");
        assert_eq!(read.last(), Some(added));
        assert_eq!(read[..whole.len()], whole);
    }
}

#[tokio::test]
async fn a_page_around_a_message_has_it_in_its_middle_and_goes_on() {
    let (bench, _) = filled().await;
    for order in ["desc", "asc"] {
        let whole = messages(&bench, &json!({"limit": 100, "order": order})).await;
        let middle = &whole[20];
        for limit in 1..=9 {
            let asked = json!({"around": middle, "limit": limit, "order": order});
            let page = bench.call("get_messages", with(&json!({"channelId": GROUP}), &asked)).await;
            let ids = each(&page.given["messages"], "id");
            assert_eq!(ids.len(), limit, "{asked}");
            let place = ids.iter().position(|id| id == middle).unwrap();
            assert!(place.abs_diff(limit - 1 - place) <= 1, "{ids:?} around {middle}");
            // It goes on to the end of the list, without a hole and without a repetition.
            let read = messages(&bench, &asked).await;
            let begin = whole.iter().position(|id| *id == read[0]).unwrap();
            assert_eq!(read, whole[begin..], "{asked}");
        }
    }
    for (nth, expected) in [(0, 3), (39, 3)] {
        let whole = messages(&bench, &json!({"limit": 100})).await;
        let asked = json!({"channelId": GROUP, "around": whole[nth], "limit": 5});
        let page = bench.call("get_messages", asked).await;
        let ids = each(&page.given["messages"], "id");
        assert!(ids.len() >= expected && ids.contains(&whole[nth].as_str()), "{ids:?}");
    }
}

#[tokio::test]
async fn a_cursor_serves_its_own_list_alone() {
    let (bench, _) = filled().await;
    bench.channel("Cother", &[ANN]).await;
    let asked = json!({"channelId": GROUP, "limit": 5, "from": "2026-04-30"});
    let page = bench.call("get_messages", asked.clone()).await;
    let cursor = page.given["nextCursor"].as_str().unwrap();
    let other = "call again without cursor, or with exactly the arguments";
    for change in [
        json!({"order": "asc"}),
        json!({"from": "2026-05-01"}),
        json!({"from": ""}),
        json!({"to": "2026-05-02"}),
        json!({"date": "2026-05-01"}),
        json!({"senderId": BO}),
        json!({"channelId": "Cother"}),
    ] {
        let changed = with(&with(&asked, &json!({"cursor": cursor})), &change);
        let told = bench.refusal("get_messages", changed).await;
        assert!(told.contains(other), "{change}: {told}");
    }
    for broken in [&cursor[1..], &cursor[..cursor.len() - 1], "日本", "e30", "bnVsbA", "=", "W10"]
    {
        let changed = with(&asked, &json!({"cursor": broken}));
        let told = bench.refusal("get_messages", changed).await;
        assert!(told.contains(other), "{broken}: {told}");
    }
    // What no cursor can be is told as that.
    for (wrong, why) in [(json!(7), "must be a string: "), (json!("a\u{0}b"), "contains U+0000. ")]
    {
        let told = bench.refusal("get_messages", with(&asked, &json!({"cursor": wrong}))).await;
        assert!(told.starts_with(&format!("cursor {why}")), "{told}");
    }
    for (tool, arguments) in
        [("list_channels", json!({})), ("get_members", json!({"channelId": GROUP}))]
    {
        let told = bench.refusal(tool, with(&arguments, &json!({"cursor": cursor}))).await;
        assert!(told.contains(other), "{tool}: {told}");
    }
}

#[tokio::test]
async fn people_with_long_names_go_on_where_an_answer_is_cut() {
    let bench = ToolBench::new().await;
    let mut people = vec![ANN.to_owned()];
    people.extend((0..100).map(|nth| format!("U{:03}", (nth * 37) % 100)));
    let there: Vec<_> = people.iter().map(String::as_str).collect();
    bench.channel("Cmany", &there).await;
    let left: Vec<_> = people[61..]
        .iter()
        .map(|id| evidence("Cmany", 9, PresenceEvidenceKind::Left(id.as_str().into())))
        .collect();
    bench.store.members().record_presence(&left, at(9)).await.unwrap();
    for id in &people {
        bench.name_person(id, &format!("{id} {}", "長い\"名前".repeat(20))).await;
    }
    let list = async |more: Value| {
        let asked = with(&json!({"channelId": "Cmany"}), &more);
        walk(&bench, "get_members", ("members", "userId"), &asked).await
    };
    let first = bench.call("get_members", json!({"channelId": "Cmany", "limit": 100})).await;
    let shown = first.given["members"].as_array().unwrap().len();
    assert!(first.given["truncated"] == true && (20..80).contains(&shown), "{shown}");
    assert!(first.text.contains(&format!("{shown} people on this page; more follow.")));
    for (more, expected) in [
        (json!({}), &people[..]),
        (json!({"status": "active"}), &people[..61]),
        (json!({"status": "left"}), &people[61..]),
    ] {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        for limit in [7, 100] {
            let read = list(with(&more, &json!({"limit": limit}))).await;
            assert_eq!(read, expected, "{more} by {limit}");
        }
    }
}

/// Pages that are cut are shorter than the store's: what is missing between them is still told.
#[tokio::test]
async fn every_gap_is_told_on_some_page_of_an_answer_that_is_cut() {
    let bench = ToolBench::new().await;
    let begin = time("2026-05-01T00:00:00Z").millis();
    let hour = |nth: i64| at(begin + nth * 3_600_000);
    let long = Content::text("長".repeat(900));
    let changes: Vec<_> =
        (0..30).map(|nth| sent((GROUP, &format!("m{nth:02}")), BO, hour(nth), &long)).collect();
    bench.keep(&changes).await;
    let mut expected = BTreeSet::new();
    for nth in [2, 9, 10, 17, 25] {
        let (from, to) = (hour(nth).millis() + 600_000, hour(nth).millis() + 1_200_000);
        bench.absent(GROUP, &at(from).to_string(), &at(to).to_string()).await;
        expected.insert(at(from).to_string().replace(".000Z", "Z"));
    }
    for order in ["desc", "asc"] {
        let mut asked = json!({"channelId": GROUP, "limit": 30, "order": order});
        let (mut told, mut pages) = (BTreeSet::new(), 0);
        loop {
            let answer = bench.call("get_messages", asked.clone()).await;
            pages += 1;
            let times = each(&answer.given["messages"], "time");
            let first = time(times.iter().min().unwrap()).millis();
            let last = time(times.iter().max().unwrap()).millis();
            let gaps = answer.given["gaps"].as_array().unwrap().iter();
            for gap in gaps.filter(|gap| gap["reason"] == "bot_removed") {
                // What is beyond the page and its nearest messages is another page's.
                let from = gap["from"].as_str().unwrap();
                let at = time(from).millis();
                assert!((first - 3_600_000..last + 3_600_000).contains(&at), "{from}");
                told.insert(from.to_owned());
            }
            let Some(cursor) = answer.given["nextCursor"].as_str() else { break };
            asked["cursor"] = json!(cursor);
        }
        assert!(pages > 2, "{pages} pages");
        assert_eq!(told, expected, "{order}");
    }
}
