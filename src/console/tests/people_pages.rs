//! The people of a chat: pages of many, and those who are called nothing.

use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::UserId;
use chatkeep_i18n::Language;
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind};

use super::{ConsoleBench, GROUP, JOINED, at, escaped};

const PEOPLE: &str = "/c/C1/people";

/// Lets that many people join the group.
async fn join(bench: &ConsoleBench, count: usize) {
    let evidence = (0..count).map(|number| PresenceEvidence {
        channel: ChannelRef { id: GROUP.into(), kind: ChannelKind::Group },
        platform: PlatformKind::Line,
        bot: String::new(),
        at: at(JOINED),
        kind: PresenceEvidenceKind::Joined(UserId::new(format!("Up{number:03}"))),
    });
    let evidence: Vec<_> = evidence.collect();
    bench.db.members().record_presence(&evidence, at(JOINED)).await.unwrap();
}

/// Returns the number of people on a page, and the address of the next one.
fn listed(page: &str) -> (usize, Option<String>) {
    let next = page.split_once("\" rel=\"next\"").and_then(|(before, _)| {
        let href = before.rsplit("href=\"").next()?;
        Some(href.replace("&amp;", "&"))
    });
    (page.matches("href=\"/c/C1/people/").count(), next)
}

#[tokio::test]
async fn a_search_for_what_nobody_sees_lists_everybody_page_by_page() {
    let bench = ConsoleBench::new().await;
    join(&bench, 120).await;
    for query in ["", "?q=", "?q=%E2%80%8B", "?q=+%EF%BB%BF%E2%80%8B"] {
        let first = bench.open(&format!("{PEOPLE}{query}"), "Uowner").await.body;
        let (count, next) = listed(&first);
        assert_eq!(count, 100, "{query}");
        assert!(first.contains("name=\"q\" value=\"\""), "{query}: {first}");
        let last = bench.open(&next.unwrap(), "Uowner").await.body;
        // Who may not read is on another page.
        assert_eq!(listed(&last), (23, None), "{query}");
    }
}

#[tokio::test]
async fn a_filter_calls_nobody_by_a_name_that_cannot_be_seen() {
    let bench = ConsoleBench::new().await;
    bench.rename("Umember", "\u{200b}").await;
    bench.say("m1", "Umember", "2026-02-28T01:00:00Z", "hello").await;
    for language in Language::ALL {
        let page = bench.open_in("/c/C1/search", "Uowner", language).await.body;
        let name = escaped(&language.text("name-unknown"));
        let option = format!("<option value=\"Umember\">{name}</option>");
        assert!(page.contains(&option), "{option}: {page}");
    }
}
