//! Times in requests: a time or a day, with an offset or in the channel's zone, on every surface.

use serde_json::{Value, json};

use super::{CHANNEL, OWNER, Rest, message, send, texts, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// The second of January begins between them in Taipei.
const BEFORE: &str = "2026-01-01T15:59:59Z";
const AFTER: &str = "2026-01-01T16:00:00Z";

/// Forms of the same moment: that midnight.
const MIDNIGHTS: [&str; 7] = [
    "2026-01-02",
    "2026-01-02T00:00",
    "2026-01-02T00:00:00.000",
    "2026-01-01T16:00Z",
    "2026-01-02T00:00%2B08:00",
    // The plus sign, which a query string turns into a space.
    "2026-01-02T00:00:00+08:00",
    "2026-01-01T16:00:00.000Z",
];

async fn filled() -> Rest {
    let rest = Rest::start(&[]).await;
    rest.keep(&[message("early", OWNER, BEFORE, "word"), message("late", OWNER, AFTER, "word")])
        .await;
    send(rest.put(&under("/backup/config"), &json!({"timeZone": "Asia/Taipei"}))).await.ok();
    rest
}

fn ids(list: &Value) -> Vec<String> {
    texts(list, "id")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_is_read_alike_everywhere() {
    let rest = filled().await;
    rest.stack.ground.command(&rest.stack.line, &["reindex"]).await;
    until("both are found", DEADLINE, async || {
        send(rest.get(&under("/backup/search?q=word"))).await.ok()["total"] == 2
    })
    .await;
    for midnight in MIDNIGHTS {
        let list = async |query: String| {
            ids(
                &send(rest.get(&under(&format!("/backup/messages?{query}")))).await.ok()["messages"],
            )
        };
        assert_eq!(list(format!("from={midnight}")).await, ["late"], "{midnight}");
        assert_eq!(list(format!("to={midnight}")).await, ["early"], "{midnight}");
        assert_eq!(list(format!("around={midnight}")).await, ["late", "early"], "{midnight}");
        let paths = [
            under(&format!("/backup/search?q=word&from={midnight}")),
            format!("/search?q=word&channelId={CHANNEL}&from={midnight}"),
            // In a query of words a blank ends the clause.
            under(&format!("/backup/search?q=after:{}", midnight.replace('+', "%2B"))),
        ];
        for path in paths {
            let found = send(rest.get(&path)).await.ok();
            let hits = found["hits"].as_array().unwrap();
            let found: Vec<_> = hits.iter().map(|hit| &hit["message"]["id"]).collect();
            assert_eq!(found, ["late"], "{path}");
        }
        let export =
            send(rest.get(&under(&format!("/backup/export?format=jsonl&to={midnight}")))).await;
        let lines = String::from_utf8_lossy(&export.body).into_owned();
        assert!(lines.contains("\"early\"") && !lines.contains("\"late\""), "{midnight} {lines}");
        let path = under(&format!("/backup/messages?before={midnight}&dryRun=true"));
        assert_eq!(send(rest.delete(&path)).await.ok()["deletedCount"], 1, "{midnight}");
        let given = midnight.replace("%2B", "+");
        let args = ["export", "--channel", CHANNEL, "--from", &given];
        let lines = rest.stack.ground.command(&rest.stack.line, &args).await;
        assert!(!lines.contains("\"early\"") && lines.contains("\"late\""), "{given} {lines}");
    }
    // Many channels have no zone in common: their days are those of the service.
    let found = send(rest.get("/search?q=word&to=2026-01-02")).await.ok();
    assert_eq!(found["total"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_time_is_refused_by_name() {
    let rest = filled().await;
    for wrong in ["yesterday", "2026-02-30", "2026-01-02T25:00", "2026-1-2", "%2B2026-01-02"] {
        for (path, field) in [
            (under(&format!("/backup/messages?from={wrong}")), "from"),
            (under(&format!("/backup/search?q=x&to={wrong}")), "to"),
            (format!("/search?q=x&from={wrong}"), "from"),
            (under(&format!("/backup/export?format=csv&to={wrong}")), "to"),
        ] {
            let refused = send(rest.get(&path)).await.refused(400, "invalid_request");
            assert_eq!(refused["field"], field, "{path}");
            assert!(refused["error"].as_str().unwrap().contains("a day such as"), "{refused}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_and_numbers_of_queries_are_written_as_in_bodies() {
    let rest = filled().await;
    for (query, field) in [
        ("date=2026-1-2", "date"),
        ("date=%202026-01-02", "date"),
        ("date=%2B2026-01-02", "date"),
        ("date=2026/01/02", "date"),
        ("limit=%2B5", "limit"),
        ("limit=005", "limit"),
        ("limit=5.0", "limit"),
    ] {
        let path = under(&format!("/backup/messages?{query}"));
        let refused = send(rest.get(&path)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], field, "{query}");
    }
    let days = under("/assistant/unanswered?days=%2B5");
    assert_eq!(send(rest.get(&days)).await.refused(400, "invalid_request")["field"], "days");
    send(rest.get(&under("/backup/messages?date=2026-01-02&limit=5"))).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_whose_times_leave_none_is_refused() {
    let rest = filled().await;
    for query in [
        "q=word after:2026-01-20 before:2026-01-10",
        "q=after:2026-01-20 before:2026-01-20",
        "q=word after:2026-01-20&to=2026-01-20",
        "q=word before:2026-01-10&from=2026-01-10",
    ] {
        let query = query.replace(' ', "%20");
        for path in [under(&format!("/backup/search?{query}")), format!("/search?{query}")] {
            let refused = send(rest.get(&path)).await.refused(400, "invalid_request");
            assert_eq!(refused["field"], "q", "{path}");
            let why = refused["error"].as_str().unwrap();
            assert!(why.starts_with("no time is left: before: and to must be later"), "{why}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_year_has_four_digits() {
    let rest = filled().await;
    for wrong in [
        "%2B262142-12-31T23:59:59Z",
        "-262143-01-01T00:00:00Z",
        "%2B262142-12-31",
        "9999-12-31T23:59:59-23:59",
    ] {
        for (path, field) in [
            (under(&format!("/backup/messages?from={wrong}")), "from"),
            (under(&format!("/backup/search?q=x&to={wrong}")), "to"),
            (under(&format!("/backup/search?q=before:{wrong}")), "q"),
            (under(&format!("/backup/export?format=csv&to={wrong}")), "to"),
        ] {
            let refused = send(rest.get(&path)).await.refused(400, "invalid_request");
            assert_eq!(refused["field"], field, "{path}");
        }
    }
    let path = under("/backup/messages?date=%2B262142-12-31");
    assert_eq!(send(rest.get(&path)).await.refused(400, "invalid_request")["field"], "date");
    for all in
        ["from=0000-01-01&to=9999-12-31", "to=9999-12-31T23:59:59Z", "from=0000-01-01T00:00Z"]
    {
        let list = send(rest.get(&under(&format!("/backup/messages?{all}")))).await.ok();
        assert_eq!(list["messages"].as_array().unwrap().len(), 2, "{all}");
    }
}
