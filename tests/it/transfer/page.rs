//! Exports for people: the page in a real browser, the table in a CSV reader.

use serde_json::json;

use super::home::Home;
use super::{GROUP, on_both};
use crate::harness::browser::Browser;
use crate::stack::Parts;

on_both!(a_table_reads_back);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_shows_the_conversation_and_runs_nothing() {
    let home = Home::with_messages(Parts::Embedded).await;
    home.sql(&format!(
        "INSERT INTO gaps VALUES ('{GROUP}', 1767323200000, 1767323300000, 'quota', 4)"
    ))
    .await;
    let out = home.path("chat.html").display().to_string();
    let args = ["export", "--channel", GROUP, "--format", "html", "--time-zone", "Asia/Taipei"];
    home.run(&args.into_iter().chain(["--out", &out]).collect::<Vec<_>>()).await.succeeded();
    let browser = Browser::start().await;
    browser.open(&format!("file://{out}")).await;
    let text = browser.script("return document.body.innerText").await;
    let text = text.as_str().unwrap();
    for shown in [
        "Fri, 2 Jan 2026",
        "11:04",
        "早安！ 👨‍👩‍👧‍👦 สวัสดี\nsecond line",
        "<script>alert(1)</script>",
        "小明 👋",
        "สมชาย <b>",
        "edited text",
        "edited",
        "This message was unsent",
        "預算.xlsx",
        "📍 東京駅",
        "in my words",
        "=SUM(A1:A9)",
        "Backup paused: storage full · 2\u{a0}Jan 2026 11:06 – 2\u{a0}Jan 2026 11:08 · 4 messages were not \
         backed up",
        "Times in Asia/Taipei",
        "13 messages",
    ] {
        assert!(text.contains(shown), "{shown:?} in {text}");
    }
    assert!(!text.contains("(moon) hi") && !text.contains("xxxx"), "{text}");
    let count = |what: &str| format!("return document.querySelectorAll({what:?}).length");
    assert_eq!(browser.script(&count("article")).await, json!(13));
    assert_eq!(browser.script(&count("script, link, iframe, form")).await, json!(0));
    assert_eq!(browser.script(&count("a.quote[href='#m-m00']")).await, json!(1));
    let quoted = "return document.querySelector(document.querySelector('.quote').hash).innerText";
    assert!(browser.script(quoted).await.as_str().unwrap().contains("早安"));
    // The page keeps inside the window, however long a word is.
    let wide = "return document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.script(wide).await, json!(true));
    let fetched = "return performance.getEntriesByType('resource').length";
    assert_eq!(browser.script(fetched).await, json!(0));
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

async fn a_table_reads_back(parts: Parts) {
    let home = Home::with_messages(parts).await;
    let bytes = home.export("chat.csv").await;
    let table = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap();
    let mut reader = csv::Reader::from_reader(table);
    let columns = reader.headers().unwrap().clone();
    let column = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 13);
    let messages = home.messages().await;
    for (row, message) in rows.iter().zip(&messages) {
        assert_eq!(row[column("id")], *message.id.as_str());
        assert_eq!(row[column("timestamp")], message.sent_at.to_string());
        assert_eq!(row[column("type")], *message.kind.name());
    }
    let text = &rows[0][column("content")];
    assert!(text.contains("second line\ttab \"quoted\" \\ <script>") && text.contains('\n'));
    assert_eq!(&rows[11][column("content")], "'=SUM(A1:A9)");
    assert_eq!(&rows[2][column("fileName")], "'=1+1.png");
    assert_eq!(&rows[7][column("latitude")], "35.68123612345679");
    assert_eq!((&rows[3][column("mediaStatus")], &rows[12][column("content")]), ("erased", ""));
}
