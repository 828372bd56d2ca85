//! Content of the pages: snapshots of the main ones, and what permalinks, search and languages do.

use std::collections::BTreeSet;

use chatkeep_i18n::Language;
use chatkeep_store::PresenceEvidenceKind;
use reqwest::StatusCode;
use serde_json::Value;

use super::{GROUP, MINUTE, PLAIN, START, Scene, now};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, item, said};

/// Returns a page without the hashes in the names of its files and in its position in the news.
pub(super) fn settled(page: &str) -> String {
    let mut parts = page.split("/console/assets/");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let mut names = part.splitn(3, '.');
        let (name, _, rest) = (names.next().unwrap(), names.next(), names.next().unwrap());
        text.extend(["/console/assets/", name, ".HASH.", rest]);
    }
    for (start, kept) in [("data-place=\"", "PLACE"), ("name=\"form\" value=\"", "FORM")] {
        if let Some((before, rest)) = text.split_once(start) {
            let (_, rest) = rest.split_once('"').unwrap();
            text = format!("{before}{start}{kept}\"{rest}");
        }
    }
    text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns a page without what differs from run to run: times, names of zones that come and go, and
/// numbers that are counted meanwhile.
pub(super) fn without_times(page: &str) -> String {
    let mut text = settled(page);
    for (start, end) in [
        ("<time datetime=\"", "</time>"),
        ("<datalist id=\"zones\">", "</datalist>"),
        (" max=\"20", "\""),
        ("Messages since ", ":"),
        ("messages since ", ","),
        ("<p class=\"soft\">Asked ", "</p>"),
    ] {
        let mut parts = text.split(start);
        let mut kept = parts.next().unwrap().to_owned();
        for part in parts {
            let (_, rest) = part.split_once(end).unwrap();
            kept.extend([start, "…", end, rest]);
        }
        text = kept;
    }
    text.replace("<b>–</b>", "<b>0</b>")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_pages_are_as_before() {
    let scene = Scene::new().await;
    let group = format!("/c/{GROUP}");
    let pages = [
        ("home", "/console".to_owned(), Some("Uowner")),
        ("permalink", format!("{group}/m/edited"), Some("Uowner")),
        ("timeline", format!("{group}?around=thai"), Some("Uadmin")),
        ("search", format!("{group}/search"), Some("Uowner")),
        ("export", format!("{group}/export"), Some("Uowner")),
        ("missing", group.clone(), Some("Ustranger")),
        ("sign_in", "/console/sign-in".to_owned(), None),
    ];
    for (name, path, user) in pages {
        let page = scene.page(&path, user, "en").await;
        insta::assert_snapshot!(name, settled(&page.body));
    }
    let page = scene.page("/console", Some("Uowner"), "zh-TW").await;
    insta::assert_snapshot!("home_zh", settled(&page.body));
    for (name, rest) in [
        ("people", "people"),
        ("person", "people/Uguest"),
        ("settings", "settings"),
        ("overview", "assistant"),
        ("texts", "assistant/texts"),
        ("rule_new", "assistant/rules/new"),
        ("import", "assistant/rules/import"),
    ] {
        let page = scene.open(&format!("{group}/{rest}")).await;
        insta::assert_snapshot!(name, without_times(&page.body));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permalink_tells_what_became_of_its_message() {
    let base = "https://chat.example.org";
    let scene = Scene::with(&[("CHATKEEP_API_BASE_URL", base.to_owned())]).await;
    let page = scene.store.messages().message(&GROUP.into(), &"edited".into()).await.unwrap();
    assert!(page.is_some());
    // Cookies travel over TLS only with this address, so pages are asked for with a key's reader.
    let key = key(&scene).await;
    let ask = async |path: String| -> Value {
        let http = crate::harness::http::client(DEADLINE);
        let answer = http.get(scene.url(&path)).bearer_auth(&key).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.json().await.unwrap()
    };
    let messages = format!("/api/v1/channels/{GROUP}/backup/messages");
    let expected = format!("{base}/c/{GROUP}/m/edited");
    let one = ask(format!("{messages}/edited")).await;
    assert_eq!(one["url"], expected.clone());
    let page = ask(format!("{messages}?around=edited&limit=1")).await;
    assert_eq!(page["messages"][0]["url"], expected.clone());
    let search = format!("/api/v1/channels/{GROUP}/backup/search?q=four");
    // A replica of the index needs a moment after the start.
    until("the search is available", DEADLINE, async || {
        let http = crate::harness::http::client(DEADLINE);
        let asked = http.get(scene.url(&search)).bearer_auth(&key);
        asked.send().await.unwrap().status() == StatusCode::OK
    })
    .await;
    until("the message is found", DEADLINE, async || {
        ask(search.clone()).await["hits"][0]["message"]["url"] == expected.clone()
    })
    .await;
    // Older events may be deleted by now.
    let told = [said(GROUP, "told", START + 3 * 86_400_000, "something new")];
    scene.store.messages().ingest(&told, now()).await.unwrap();
    let feed = ask("/api/v1/events?limit=100".to_owned()).await;
    let urls = feed["events"].as_array().unwrap();
    let urls = urls.iter().filter_map(|event| event["data"]["message"]["url"].as_str());
    let urls: Vec<_> = urls.collect();
    let permanent = |url: &&str| url.starts_with(&format!("{base}/c/{GROUP}/m/"));
    assert!(!urls.is_empty() && urls.iter().all(permanent), "{feed}");
}

/// Creates a key of the owner.
pub(super) async fn key(scene: &Scene) -> String {
    let line = &scene.stack.line;
    scene.stack.ground.command(line, &["key", "create", "--user", "Uowner"]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_messages_say_what_happened_to_them() {
    let scene = Scene::new().await;
    let page = |id: &str| format!("/c/{GROUP}/m/{id}");
    let edited = scene.open(&page("edited")).await.body;
    assert!(edited.contains("This message was edited on 3\u{a0}Mar 2024, 01:20"), "{edited}");
    assert!(edited.contains("four o&#39;clock") && !edited.contains("three"), "{edited}");
    for (id, text) in
        [("unsent", "This message was unsent"), ("erased", "This message was deleted")]
    {
        let gone = scene.open(&page(id)).await.body;
        assert!(gone.contains("Its text is no longer kept") && gone.contains(text), "{gone}");
        assert!(!gone.contains("a secret that was unsent") && !gone.contains("to be erased"));
    }
    let plain = scene.open(&page("p003")).await.body;
    assert!(plain.contains("message number 3") && !plain.contains("role=\"status\""), "{plain}");
    assert!(plain.contains(&format!("/c/{GROUP}?around=p003#m-p003")));
    // Its days are those of the channel's zone.
    let zone = format!("UPDATE channels SET time_zone = 'Asia/Tokyo' WHERE channel_id = '{GROUP}'");
    scene.stack.sql(zone).await;
    let tokyo = scene.open(&page("edited")).await.body;
    assert!(tokyo.contains("edited on 3\u{a0}Mar 2024, 10:20"), "{tokyo}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_and_gap_is_on_one_page_in_both_directions() {
    let scene = Scene::new().await;
    // A gap after each plain message, so that some are between two pages, and one that lasts.
    let (pause, last) = (15 * MINUTE / 2, START + 3 * 86_400_000);
    let gaps = format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {PLAIN} - 1)
         INSERT INTO gaps
         SELECT '{GROUP}', {START} + i / 65 * 86400000 + i % 65 * 10 * {MINUTE} + {pause},
                {START} + i / 65 * 86400000 + i % 65 * 10 * {MINUTE} + {pause} + 1, 'quota', 1
         FROM n UNION ALL SELECT '{GROUP}', {last}, 0, 'quota', 7"
    );
    scene.stack.sql(gaps).await;
    let ids = |body: &str| -> Vec<String> {
        let parts = body.split("<li id=\"").skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
    };
    let link = |body: &str, rel: &str| {
        let start = body.find(&format!("rel=\"{rel}\""))?;
        let href = body[..start].rfind("href=\"")? + 6;
        Some(body[href..].split('"').next().unwrap().replace("&amp;", "&"))
    };
    let newest = scene.open(&format!("/c/{GROUP}")).await.body;
    assert!(newest.contains("data-news="), "the newest page hears of news");
    let (mut backwards, mut page) = (ids(&newest), newest);
    while let Some(older) = link(&page, "prev") {
        page = scene.open(&older).await.body;
        backwards.splice(0..0, ids(&page));
    }
    assert!(page.contains("This is where the backup begins"));
    let of = |kind: &str| backwards.iter().filter(|id| id.starts_with(kind)).count();
    assert_eq!(of("m-"), usize::try_from(PLAIN).unwrap() + 14);
    // Between the bot's joining and the first subscription nothing was kept.
    assert_eq!(of("gap-"), 133, "{backwards:?}");
    assert_eq!(backwards[0], "gap-1");
    assert_eq!(backwards.iter().collect::<BTreeSet<_>>().len(), backwards.len(), "twice");
    let first = scene.open(&format!("/c/{GROUP}?around=p000")).await.body;
    let (mut forwards, mut page) = (ids(&first), first);
    while let Some(newer) = link(&page, "next") {
        page = scene.open(&newer).await.body;
        forwards.extend(ids(&page));
    }
    assert_eq!(forwards, backwards);
    assert!(page.contains("132 messages were not backed up"), "{page}");
    let following = page.split("data-following=\"").nth(1).unwrap().split('"').next().unwrap();
    let news = scene.open(&following.replace("&amp;", "&")).await.body;
    let repeated = ids(&news);
    let newest = format!("gap-{}", START + 2 * 86_400_000 + 50 * MINUTE);
    assert!(repeated.contains(&format!("gap-{last}")), "{repeated:?}");
    assert!(repeated.iter().all(|id| *id > newest), "earlier ones are repeated: {repeated:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_date_leads_to_the_first_message_of_its_day() {
    let scene = Scene::new().await;
    let chosen = scene.page(&format!("/c/{GROUP}?date=2024-03-02"), Some("Uowner"), "en").await;
    assert_eq!(chosen.status, StatusCode::SEE_OTHER);
    assert_eq!(chosen.location(), format!("/c/{GROUP}?around=p065#m-p065"));
    let day = scene.open(chosen.location().split('#').next().unwrap()).await.body;
    assert!(day.contains("message number 64") && day.contains("Sat, 2 Mar 2024"));
    assert!(day.contains("name=\"date\" value=\"2024-03-02\""), "{day}");
    let later = scene.open(&format!("/c/{GROUP}?date=2030-01-01")).await.body;
    assert!(later.contains("data-news="), "after everything, it is the newest page");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_marks_its_words_and_leads_to_their_context() {
    let scene = Scene::new().await;
    let search = |rest: &str| format!("/c/{GROUP}/search?q={rest}");
    until("everything is searchable", DEADLINE, async || {
        scene.open(&search("%E6%8A%95%E5%BD%B1%E6%A9%9F")).await.body.contains("<mark>")
    })
    .await;
    let found =
        scene.open(&search("%E6%8A%95%E5%BD%B1%E6%A9%9F&sender=Uowner&from=2024-03-03")).await;
    assert!(found.body.contains("<mark>投影機</mark>"), "{}", found.body);
    assert!(found.body.contains(&format!("/c/{GROUP}?around=mention#m-mention")));
    let sender = "<option value=\"Uowner\" selected>";
    assert!(found.body.contains(sender), "a further search keeps its sender: {}", found.body);
    for chip in ["Remove filter: 林小美", "Remove filter: since 3\u{a0}Mar 2024"] {
        assert!(found.body.contains(chip), "{chip}: {}", found.body);
    }
    let none = scene.open(&search("%E6%8A%95%E5%BD%B1%E6%A9%9F&sender=Uadmin")).await.body;
    assert!(none.contains("Nothing found"), "{none}");
    let nobody = scene.open(&search("message+from:Zoe")).await.body;
    assert!(nobody.contains("Nobody in this chat is called Zoe."), "{nobody}");
    let near = scene.open(&search("message+from:%E5%B0%8F%E7%BE%8E")).await.body;
    assert!(near.contains("is called 小美. Did you mean 林小美?"), "{near}");
    let long = "x".repeat(201);
    for (wrong, sentence) in [
        ("before:2024-99-99", "A date is not valid"),
        ("message&from=x", "A date is not valid"),
        ("message+after:2024-03-02+before:2024-03-01", "No time is left to search"),
        ("message+after:2024-03-02&to=2024-02-01", "No time is left to search"),
        ("type:photo", "There is no such type. Use text, image"),
        ("has:links", "has: takes link or media."),
        ("%22open", "A quotation mark is not closed. Add"),
        ("%22%22", "This search has no words. Enter"),
        ("from:", "from: needs something after it."),
        ("-before:2024-01-01", "before: cannot be excluded"),
        (long.as_str(), "can have 200 characters at most"),
        ("message&cursor=x", "This page of results belongs to another search."),
    ] {
        let page = scene.open(&search(wrong)).await.body;
        assert!(page.contains(sentence), "{wrong}: {page}");
    }
    let apart = scene.open(&search("%E6%8A%95%E5%BD%B1%E6%A9%9F+number")).await.body;
    assert!(apart.contains("No message matches the whole search"), "{apart}");
    assert!(apart.contains("<h2 class=\"count\">Related messages</h2>"), "{apart}");
    // Filters need no words.
    for (filters, found) in [
        ("&type=sticker", "よろしく"),
        ("&sender=Ubot", "We are open"),
        ("&from=2024-03-01&to=2024-03-02", "message number 64"),
    ] {
        let page = scene.open(&search(filters)).await.body;
        assert!(page.contains("found</h2>"), "{filters}: {page}");
        assert!(page.contains(found), "{filters}: {page}");
    }
    let unasked = scene.open(&search("&sort=newest")).await.body;
    assert!(unasked.contains("Search all messages in this chat"), "{unasked}");
    // The bot is called as the console calls it.
    for query in ["open+from:Bot", "open&sender=Ubot"] {
        let page = scene.open(&search(query)).await.body;
        assert!(page.contains("1 message found") && !page.contains("Nobody"), "{query}: {page}");
        assert!(page.contains("<option value=\"Ubot\""), "{page}");
    }
    let pages = scene.open(&search("message")).await.body;
    assert!(pages.contains("More results") && pages.contains("130 messages found"), "{pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_in_the_language_of_the_browser_or_the_chosen_one() {
    let scene = Scene::new().await;
    for language in Language::ALL {
        for path in ["/console".to_owned(), format!("/c/{GROUP}"), format!("/c/{GROUP}/search")] {
            let page = scene.page(&path, Some("Uowner"), language.tag()).await;
            assert!(page.body.contains(&format!("<html lang=\"{}\">", language.tag())));
            assert!(page.body.contains(&language.text("sign-out")), "{path} {language:?}");
        }
    }
    let http = crate::harness::http::client(DEADLINE);
    let chosen = http.get(scene.url("/console/sign-in"));
    let chosen = chosen.header("cookie", "chatkeep_language=ja").header("accept-language", "th");
    let page = chosen.send().await.unwrap().text().await.unwrap();
    assert!(page.contains("<html lang=\"ja\">"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_are_told_as_they_come() {
    let scene = Scene::new().await;
    let http = crate::harness::http::client(DEADLINE);
    let cookie = format!("chatkeep_session={}", super::secret("Umember"));
    let news = http.get(scene.url(&format!("/c/{GROUP}/news"))).header("cookie", cookie);
    let mut news = news.send().await.unwrap();
    assert_eq!(news.headers()["content-type"], "text/event-stream");
    let mut heard = String::new();
    while !heard.contains("ready") {
        heard.push_str(std::str::from_utf8(&news.chunk().await.unwrap().unwrap()).unwrap());
    }
    scene
        .store
        .messages()
        .ingest(&[said(GROUP, "news", START + 500_000_000, "now")], at(START))
        .await
        .unwrap();
    while !heard.contains("event: news\ndata: messages") {
        heard.push_str(std::str::from_utf8(&news.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(!heard.contains("now"), "an event has no content: {heard}");
    // Somebody who is no longer in the group hears nothing more.
    let left = "UPDATE members SET left_at = 9999999999999 WHERE user_id = 'Umember'".to_owned();
    scene.stack.sql(left).await;
    while news.chunk().await.unwrap().is_some() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_offer_those_who_wrote_last_and_who_is_chosen() {
    let scene = Scene::new().await;
    let silent = |n: usize| format!("Usilent{n:03}");
    let joined = (0..150)
        .map(|n| item(GROUP, 1, PresenceEvidenceKind::Joined(silent(n).as_str().into())))
        .collect::<Vec<_>>();
    scene.store.members().record_presence(&joined, at(3)).await.unwrap();
    for path in ["search?sender=Usilent149&q=message", "activity-log?person=Usilent149"] {
        let page = scene.open(&format!("/c/{GROUP}/{path}")).await.body;
        let people = page.matches("<option value=\"Usilent").count();
        assert!((90..100).contains(&people), "{people}: {page}");
        assert!(page.contains("<option value=\"Usilent149\" selected>"), "{page}");
        for writer in ["Uowner", "Uadmin", "Umember"] {
            assert!(page.contains(&format!("<option value=\"{writer}\"")), "{writer}: {page}");
        }
    }
}
