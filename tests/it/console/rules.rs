//! The assistant's rules in the console: forms, two people, tables, trials, permissions.

use chatkeep_core::assistant::{KeywordMatch, QaMode, Rule, RuleDraft};
use chatkeep_core::role::Role;
use reqwest::StatusCode;

use super::assistant::field;
use super::permissions::{asks_who_it_is, is_for_another_role, is_hidden};
use super::{GROUP, Page, Scene};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::at;

pub(super) const RULES: &str = "/c/C00000000000000000000000000console/assistant/rules";

/// Texts that tables, browsers and spreadsheets may stumble over.
const HOSTILE: [(&str, &str, &str); 5] = [
    ("密碼, 帳號", "Wi-Fi 密碼是？", "1234\n5678 👨‍👩‍👧"),
    ("รหัสไวไฟ", "\"รหัส\" อะไร", "ดูที่เคาน์เตอร์;\tครับ"),
    ("=SUM(A1)", "+1", "@everyone\n-2+3\n'=1"),
    ("ワイファイ\n\"引用\"", "'=already", "\"，、"),
    ("<b>bold</b>", "<script>alert(1)</script>", "& ampersand"),
];

/// Headers of browsers for a form of our own pages.
pub(super) const SAME_ORIGIN: [(&str, &str); 1] = [("sec-fetch-site", "same-origin")];

/// Posts a form as that person, with their token.
pub(super) async fn send(scene: &Scene, path: &str, user: &str, form: &[(&str, &str)]) -> Page {
    let token = format!("csrf-{user}");
    let mut all = vec![("csrf", token.as_str())];
    all.extend(form);
    scene.post(path, user, &all, &SAME_ORIGIN).await
}

pub(super) async fn rules(scene: &Scene) -> Vec<Rule> {
    scene.store.assistant().rules(&GROUP.into()).await.unwrap().value.items
}

pub(super) async fn add(scene: &Scene, keywords: &str, question: &str, answer: &str) {
    let form = [("keywords", keywords), ("question", question), ("answer", answer)];
    let page = send(scene, &format!("{RULES}/new"), "Uadmin", &form).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.body);
    // It comes first there, however many there are.
    let newest = format!("{RULES}?sort=changed&done=added#rule-qa_");
    assert!(page.location().starts_with(&newest), "{}", page.location());
}

/// Returns the version that a form carries.
fn version(page: &Page) -> String {
    field(&page.body, "version").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_added_with_every_limit_said_beside_its_field() {
    let scene = Scene::new().await;
    let page = scene.page(RULES, Some("Uadmin"), "en").await;
    assert!(page.body.contains("No rules yet") && !page.body.contains("rules.csv"));
    let (new, long) = (format!("{RULES}/new"), "長".repeat(5_001));
    let many = (0..51).map(|n| format!("k{n}")).collect::<Vec<_>>().join("\n");
    let wide = "x".repeat(101);
    for (form, field, sentence) in [
        (
            [("keywords", ""), ("question", "Q"), ("answer", "typed A\r\nB")],
            "keywords",
            "at least one",
        ),
        ([("keywords", &*many), ("question", ""), ("answer", "A")], "keywords", "up to 50."),
        ([("keywords", &*wide), ("question", ""), ("answer", "A")], "keywords", "up to 100 char"),
        ([("keywords", "k"), ("question", "Q"), ("answer", " ")], "answer", "Please fill this in"),
        ([("keywords", "k"), ("question", "Q"), ("answer", &long)], "answer", "up to 5,000 char"),
        ([("keywords", "k"), ("question", &long), ("answer", "A")], "question", "up to 500 char"),
        (
            [("keywords", "k"), ("notFor", "a\nK!"), ("answer", "A")],
            "not-for",
            "Entry 2: This is a",
        ),
        ([("keywords", "k"), ("notFor", &many), ("answer", "A")], "not-for", "up to 50."),
    ] {
        let page = send(&scene, &new, "Uadmin", &form).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{field} {sentence}");
        let wrong = page.body.split(&format!("id=\"{field}-wrong\">")).nth(1);
        let wrong = wrong.unwrap_or_else(|| panic!("{field}: {}", page.body));
        let wrong = wrong.split('<').next().unwrap();
        assert!(wrong.contains(sentence), "{field}: {wrong}");
        assert!(!page.body.contains('\u{fffd}'), "{field}: line breaks are shown as characters");
        for (_, typed) in form {
            assert!(
                page.body.contains(&typed.replace("\r\n", "\n")),
                "{field}: what was typed is lost"
            );
        }
    }
    assert!(rules(&scene).await.is_empty());
    add(&scene, "wifi\r\n 密碼 \r\n\r\nwifi", "Q", "one\r\ntwo").await;
    let [rule] = rules(&scene).await.try_into().unwrap();
    assert_eq!((rule.keywords.join("|"), &*rule.answer), ("wifi|密碼".to_owned(), "one\ntwo"));
    let listed = scene.page(&format!("{RULES}?done=added"), Some("Uowner"), "en").await;
    for part in ["Added.", "1 rule", "Not used yet", "<li>密碼</li>", "rules.csv"] {
        assert!(listed.body.contains(part), "{part}: {}", listed.body);
    }
    // An address fills the form in.
    let filled = format!("{new}?question=why%3F&keyword=a&keyword=b%2Cc");
    let page = scene.page(&filled, Some("Uadmin"), "en").await.body;
    assert!(page.contains("\na\nb,c</textarea>") && page.contains("\nwhy?</textarea>"), "{page}");
    let filled = format!("{RULES}/{}?keyword=wifi&keyword=new", rule.id);
    let page = scene.page(&filled, Some("Uadmin"), "en").await.body;
    assert!(page.contains("\nwifi\n密碼\nnew</textarea>"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_of_two_people_is_told() {
    let scene = Scene::new().await;
    add(&scene, "wifi", "Q", "first").await;
    let path = format!("{RULES}/{}", rules(&scene).await[0].id);
    let seen = version(&scene.page(&path, Some("Uadmin"), "en").await);
    let form = |answer: &'static str, version: &str| {
        [("keywords", "wifi".to_owned()), ("question", "Q".to_owned())]
            .into_iter()
            .chain([("answer", answer.to_owned()), ("version", version.to_owned())])
            .collect::<Vec<_>>()
    };
    let save = async |user: &str, answer: &'static str, version: &str| {
        let form = form(answer, version);
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        send(&scene, &format!("{path}?sort=hits"), user, &form).await
    };
    let saved = save("Uowner", "by the owner", &seen).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER);
    let expected = format!("{RULES}?sort=hits&done=saved#rule-");
    assert!(saved.location().starts_with(&expected), "{}", saved.location());
    let refused = save("Uadmin", "by the admin", &seen).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    for part in ["Somebody else changed this", "by the admin", "What is there now", "by the owner"]
    {
        assert!(refused.body.contains(part), "{part}: {}", refused.body);
    }
    assert_eq!(rules(&scene).await[0].answer, "by the owner");
    let saved = save("Uadmin", "by both", &version(&refused)).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER);

    // Deleting asks, and does not delete what has changed since.
    let asked = send(&scene, &path, "Uadmin", &[("do", "delete")]).await;
    assert!(asked.status == StatusCode::OK && asked.body.contains("Delete this rule?"));
    assert!(asked.body.contains(r#"<p class="soft"><bdi lang="">週末讀書會"#), "{}", asked.body);
    assert_eq!(rules(&scene).await.len(), 1);
    let confirmed = [("do", "delete"), ("confirmed", "yes"), ("version", &*version(&asked))];
    let stale = [("do", "delete"), ("confirmed", "yes"), ("version", &*seen)];
    assert_eq!(send(&scene, &path, "Uadmin", &stale).await.status, StatusCode::CONFLICT);
    let deleted = send(&scene, &path, "Uadmin", &confirmed).await;
    assert_eq!(deleted.location(), format!("{RULES}?done=deleted"));
    assert!(rules(&scene).await.is_empty());
    assert_eq!(scene.page(&path, Some("Uadmin"), "en").await.status, StatusCode::NOT_FOUND);
    let gone = save("Uowner", "typed too late", "9").await;
    assert_eq!(gone.status, StatusCode::UNPROCESSABLE_ENTITY);
    for part in ["deleted this rule in the meantime", "typed too late", &format!("{RULES}/new")] {
        assert!(gone.body.contains(part), "{part}: {}", gone.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_other_rules_are_in_nobodys_way() {
    let scene = Scene::new().await;
    add(&scene, "wifi", "", "first").await;
    add(&scene, "hours", "", "9-18").await;
    let path = async |keyword: &str| {
        let rules = rules(&scene).await;
        let rule = rules.iter().find(|rule| rule.keywords[0] == keyword).unwrap();
        format!("{RULES}/{}", rule.id)
    };
    let (wifi, hours) = (path("wifi").await, path("hours").await);
    let elsewhere = async |answer: &str| {
        let form = [("keywords", "hours"), ("answer", answer)];
        assert_eq!(send(&scene, &hours, "Uowner", &form).await.status, StatusCode::SEE_OTHER);
    };
    let page = scene.page(&wifi, Some("Uadmin"), "en").await;
    let (listed, seen) = (version(&page), field(&page.body, "seen").to_owned());
    let form = |answer: &'static str| {
        [("keywords", "wifi"), ("answer", answer), ("version", &*listed), ("seen", &*seen)]
    };
    elsewhere("10-19").await;
    let saved = send(&scene, &wifi, "Uadmin", &form("second")).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
    let refused = send(&scene, &wifi, "Uadmin", &form("third")).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "now it is another rule");
    assert!(refused.body.contains("Somebody else changed this"), "{}", refused.body);

    // Whoever deletes it learns that it is not what it was; what others become is no matter.
    let delete = [("do", "delete"), ("version", &*listed), ("seen", &*seen)];
    let asked = send(&scene, &wifi, "Uadmin", &delete).await;
    assert!(asked.body.contains("Somebody else changed this rule in the meantime."));
    elsewhere("11-20").await;
    let (listed, seen) = (version(&asked), field(&asked.body, "seen").to_owned());
    let delete = [("do", "delete"), ("version", &*listed), ("seen", &*seen)];
    let again = send(&scene, &wifi, "Uadmin", &delete).await;
    assert!(!again.body.contains("Somebody else"), "{}", again.body);
    let confirmed = [delete.as_slice(), &[("confirmed", "yes")]].concat();
    let deleted = send(&scene, &wifi, "Uadmin", &confirmed).await;
    assert_eq!(deleted.location(), format!("{RULES}?done=deleted"), "{}", deleted.body);
    assert_eq!(rules(&scene).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_sorted_found_and_warned_about() {
    let scene = Scene::new().await;
    add(&scene, "wifi\n密碼", "first", "a").await;
    add(&scene, "ＷＩＦＩ", "second", "b").await;
    add(&scene, "版規\n？", "third", "c").await;
    let change = |mut config: chatkeep_core::assistant::AssistantConfig, _| -> Result<_, ()> {
        config.rules.enabled = true;
        config.rules.trigger_keywords = vec!["版規".to_owned()];
        config.qa.keyword_match = KeywordMatch::Contains;
        Ok(config)
    };
    let (group, user) = (GROUP.into(), "Uowner".into());
    let store = scene.store.assistant();
    store.change_assistant_config(&group, &user, at(9), change).await.unwrap().unwrap();
    let page = scene.open(RULES).await.body;
    for part in [
        "This one answers, because it is the oldest.",
        "also in an older rule, which answers instead",
        "shows the group rules or the link, so this rule does not answer",
        "“?” is so short that it occurs in messages about anything",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part}: {page}");
    }
    let order = |page: &str| {
        let mut places: Vec<_> =
            ["first", "second", "third"].into_iter().map(|name| (page.find(name), name)).collect();
        places.retain(|(place, _)| place.is_some());
        places.sort_unstable();
        places.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(order(&page), ["first", "second", "third"]);
    let newest = scene.open(&format!("{RULES}?sort=changed")).await.body;
    assert_eq!(order(&newest), ["third", "second", "first"]);
    assert_eq!(newest.matches(">Changed: ").count(), 3, "{newest}");
    let wifi = scene.open(&format!("{RULES}?q=Wifi&sort=hits")).await.body;
    assert_eq!(order(&wifi), ["first", "second"]);
    assert!(wifi.contains("?q=Wifi&amp;sort=hits\"") || wifi.contains("?q=Wifi&#38;sort=hits\""));
    let none = scene.open(&format!("{RULES}?q=nowhere")).await.body;
    assert!(none.contains("No rule found") && none.contains("nowhere"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_out_and_in_again_changes_nothing() {
    let scene = Scene::new().await;
    for (keywords, question, answer) in HOSTILE {
        add(&scene, keywords, question, answer).await;
    }
    let limited = [("keywords", "hours"), ("answer", "9-18"), ("notFor", "a, b\r\n=1\n\"ฟรี\"")];
    send(&scene, &format!("{RULES}/new"), "Uadmin", &limited).await;
    let before = rules(&scene).await;
    assert_eq!(before[5].not_for, ["a, b", "=1", "\"ฟรี\""]);
    let file = scene.open(&format!("{RULES}.csv")).await;
    assert_eq!(file.headers["content-type"], "text/csv; charset=utf-8");
    assert!(file.headers["content-disposition"].to_str().unwrap().contains("rules.csv"));
    assert!(file.body.starts_with("\u{feff}id,keywords,question,answer,not_for,hits\r\n"));
    for part in ["'=SUM(A1)", ",'+1,", "\"'@everyone\n'-2+3\n''=1\"", "''=already"] {
        assert!(file.body.contains(part), "{part}: {}", file.body);
    }
    let (import, browser) = (format!("{RULES}/import"), file.body.replace('\n', "\r\n"));
    for table in [file.body.as_str(), &browser] {
        let page = send(&scene, &import, "Uadmin", &[("csv", table)]).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        for part in ["6 unchanged", "All these rules are there already."] {
            assert!(page.body.contains(part), "{part}: {}", page.body);
        }
        assert!(!page.body.contains("name=\"confirmed\"") && !page.body.contains("<script>alert"));
    }
    // Elsewhere, the table makes the same rules in the same order.
    for rule in &before {
        let path = format!("{RULES}/{}", rule.id);
        let asked = send(&scene, &path, "Uadmin", &[("do", "delete")]).await;
        let confirmed = [("do", "delete"), ("confirmed", "yes"), ("version", &*version(&asked))];
        assert_eq!(send(&scene, &path, "Uadmin", &confirmed).await.status, StatusCode::SEE_OTHER);
    }
    let page = send(&scene, &import, "Uadmin", &[("csv", &file.body)]).await;
    assert!(page.body.contains("6 new") && page.body.contains("Import 6 rules"), "{}", page.body);
    let seen = version(&page);
    assert!(rules(&scene).await.is_empty(), "a check changes nothing");
    let form = [("csv", &*file.body), ("confirmed", "yes"), ("version", &*seen)];
    let done = send(&scene, &import, "Uadmin", &form).await;
    assert_eq!(done.location(), format!("{RULES}?done=imported"), "{}", done.body);
    let texts = |rules: Vec<Rule>| -> Vec<_> { rules.into_iter().map(RuleDraft::from).collect() };
    assert_eq!(texts(rules(&scene).await), texts(before));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_all_or_nothing() {
    let scene = Scene::new().await;
    add(&scene, "wifi", "Q", "old").await;
    let import = format!("{RULES}/import");
    let bad = "keywords,question,answer\nwifi,Q,new\nfresh,,\nWIFI!,,again\n,,no keyword\n";
    let page = send(&scene, &import, "Uadmin", &[("csv", bad)]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    for part in [
        "1 changed",
        "3 not possible",
        "Nothing was imported. Correct 3 rows",
        "Answer: Please fill this in.",
        "Row 2 is for the same rule.",
        "Keywords: Please add at least one keyword.",
        "Row 5",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(!page.body.contains("name=\"confirmed\""), "nothing to confirm");
    let forced = [("csv", bad), ("confirmed", "yes"), ("version", "1")];
    let forced = send(&scene, &import, "Uadmin", &forced).await;
    assert_eq!(forced.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(rules(&scene).await[0].answer, "old");

    let good = "wifi\tnew\nfresh\tadded";
    let seen = version(&send(&scene, &import, "Uadmin", &[("csv", good)]).await);
    add(&scene, "between", "", "x").await;
    let form = [("csv", good), ("confirmed", "yes"), ("version", &*seen)];
    let stale = send(&scene, &import, "Uadmin", &form).await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.body.contains("Somebody else changed the rules"), "{}", stale.body);
    assert_eq!(rules(&scene).await.len(), 2);
    let seen = version(&stale);
    let form = [("csv", good), ("confirmed", "yes"), ("version", &*seen)];
    assert_eq!(send(&scene, &import, "Uadmin", &form).await.status, StatusCode::SEE_OTHER);
    let answers: Vec<_> = rules(&scene).await.into_iter().map(|rule| rule.answer).collect();
    assert_eq!(answers, ["new", "x", "added"]);
    let empty = send(&scene, &import, "Uadmin", &[("csv", " \n")]).await;
    assert!(empty.body.contains("There is no rule in this table."), "{}", empty.body);
    let huge = "x".repeat(17 * 1024 * 1024);
    let huge = send(&scene, &import, "Uadmin", &[("csv", &huge)]).await;
    assert_eq!(huge.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trial_tells_what_each_mode_answers_and_why() {
    let scene = Scene::new().await;
    add(&scene, "opening hours", "When are you open?", "9-18").await;
    add(&scene, "refund", "", "within 30 days").await;
    let path = format!("/c/{GROUP}/assistant/try");
    let tried = async |text: &str| {
        let page = send(&scene, &path, "Uadmin", &[("text", text)]).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        page.body
    };
    let exact = tried("Opening hours?").await;
    assert!(exact.contains("A rule answers.") && exact.contains("Needs the “Pro” plan"), "{exact}");
    assert_eq!(exact.matches("It has the keyword “opening hours”").count(), 3, "{exact}");
    assert!(exact.contains("<mark>opening hours</mark>"), "{exact}");
    let typo = tried("opning huors").await;
    for part in
        ["No rule answers: the bot says nothing.", "The message is not a keyword.", "is enough"]
    {
        assert!(typo.contains(part), "{part}: {typo}");
    }
    assert!(typo.contains(&format!("{RULES}/qa_")), "{typo}");
    let far = tried("opening of the new museum downtown").await;
    assert!(far.contains("would be needed"), "{far}");
    let strange = tried("☃").await;
    assert!(strange.contains("anything in common"), "{strange}");
    let change = |mut config: chatkeep_core::assistant::AssistantConfig, _| -> Result<_, ()> {
        config.enabled = false;
        config.qa.mode = QaMode::Fuzzy;
        Ok(config)
    };
    let (group, user) = (GROUP.into(), "Uowner".into());
    let store = scene.store.assistant();
    store.change_assistant_config(&group, &user, at(9), change).await.unwrap().unwrap();
    until("the settings are in use", DEADLINE, async || {
        tried("opening hours").await.contains("The assistant is switched off")
    })
    .await;
    assert!(tried("opening hours").await.contains("It has the keyword"), "as if it were on");
    let linked = scene.open(&format!("{path}?text=refund")).await.body;
    assert!(linked.contains("within 30 days") && linked.contains("\nrefund</textarea>"));
    let empty = send(&scene, &path, "Uadmin", &[("text", " ")]).await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(empty.body.contains("Please fill this in."));
    let hits: i64 = rules(&scene).await.iter().map(|rule| rule.hit_count).sum();
    assert_eq!(hits, 0, "a trial counts nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admins_open_and_send_the_assistant() {
    let scene = Scene::new().await;
    add(&scene, "wifi", "Q", "kept").await;
    let rule = rules(&scene).await[0].id.clone();
    let pages = ["/rules", "/rules.csv", "/rules/new", "/rules/import", "/try"].map(str::to_owned);
    let pages: Vec<_> = pages.into_iter().chain([format!("/rules/{rule}")]).collect();
    let form = [("keywords", "x"), ("answer", "y"), ("csv", "k,a"), ("text", "wifi")];
    for page in &pages {
        let path = format!("/c/{GROUP}/assistant{page}");
        asks_who_it_is(&scene, &path).await;
        for user in ["Uguest", "Uleft", "Ustranger"] {
            is_hidden(&scene, &path, user).await;
        }
        is_for_another_role(&scene, &path, "Umember", "admins or the owner").await;
        for user in ["Uadmin", "Uowner"] {
            assert_eq!(scene.page(&path, Some(user), "en").await.status, StatusCode::OK, "{path}");
        }
        if matches!(page.as_str(), "/rules" | "/rules.csv") {
            continue;
        }
        let refused = send(&scene, &path, "Umember", &form).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    let kept: Vec<_> = rules(&scene).await.into_iter().map(|rule| rule.answer).collect();
    assert_eq!(kept, ["kept"]);
    // Who is made an admin may at once.
    let (group, owner) = (GROUP.into(), "Uowner".into());
    let members = scene.store.members();
    members.set_role(&group, &owner, &"Umember".into(), Role::Admin, at(5)).await.unwrap();
    assert_eq!(scene.page(RULES, Some("Umember"), "th").await.status, StatusCode::OK);
}
