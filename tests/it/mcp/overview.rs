//! `get_overview`: every number and row is that of a look at all messages, for every caller; and the
//! prompts that use it.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::UserId;
use chatkeep_core::message::{Content, Mention, MessageChange, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, MessageFilter, PresenceEvidenceKind, StoredMessage};
use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, NEWEST, REVISIONS, message, now, texts};
use crate::store::{at, edited, item, said, said_by, unsent};

const OTHER: &str = "C0000000000000000000000000overview";
const THIRD: &str = "C00000000000000000000000000elsewhere";
const CAT: &str = "U000000000000000000000000000000000cat";
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const QUARTER: i64 = HOUR / 4;

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// Returns a message of anybody, of any kind, in the ten days before `now`.
fn received(numbers: &mut Numbers, n: u64, now: i64) -> ChannelChange {
    const TEXTS: [&str; 6] = [
        "hello",
        "where do we meet?",
        "see https://a.example/x and http://B.example",
        "好嗎",
        "look https://a.example/?q=1",
        "ok",
    ];
    let channel = numbers.one(&[CHANNEL, OTHER, THIRD]);
    let time = now - i64::try_from(numbers.below(10 * 86_400_000)).unwrap();
    let mut message = said(channel, &format!("m{n}"), time, "x");
    let MessageChange::Received(received) = &mut message.change else { unreachable!() };
    received.sender = Some(numbers.one(&[ANN, BO, BO, BO, BO, BO, BO, CAT]).into());
    received.quoted = (numbers.below(4) == 0).then(|| format!("m{}", numbers.below(n + 1)).into());
    let user_id = numbers.one(&[ANN, BO, ""]);
    let user_id = (!user_id.is_empty()).then(|| UserId::from(user_id));
    let mentions = match numbers.below(5) {
        0 => vec![Mention { user_id, start: 0, length: 4, is_self: false, is_all: None }],
        _ => Vec::new(),
    };
    let (kind, content) = match numbers.below(8) {
        0 => (MessageType::File, r#"{"type":"file","fileName":"plan.pdf"}"#.to_owned()),
        1 => (MessageType::Image, r#"{"type":"image"}"#.to_owned()),
        _ => {
            let text = format!("@All {}", numbers.one(&TEXTS));
            let content = Content::Text { text, emojis: Vec::new(), mentions };
            (MessageType::Text, serde_json::to_string(&content).unwrap())
        }
    };
    (received.kind, received.content) = (kind, content);
    message
}

async fn filled() -> (Models, i64) {
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", "https://chat.example.org/x")]).await;
    let now = now().millis();
    models.channel(OTHER, &[ANN, BO]).await;
    models.channel(THIRD, &[BO]).await;
    let mut numbers = Numbers(5);
    let mut changes = Vec::new();
    for n in 0..300 {
        let message = received(&mut numbers, n, now);
        let (channel, id) = (message.channel.to_string(), message.message.to_string());
        let later = now - i64::try_from(numbers.below(9 * 86_400_000)).unwrap();
        changes.push(message);
        match numbers.below(10) {
            0 => changes.push(unsent(&channel, &id, later)),
            1 => changes.push(edited(&channel, &id, later, "now with https://c.example ok?")),
            _ => {}
        }
    }
    models.keep(&changes).await;
    let moves = [
        item(CHANNEL, now - 3 * DAY, PresenceEvidenceKind::Joined(CAT.into())),
        item(OTHER, now - 9 * DAY, PresenceEvidenceKind::Joined(CAT.into())),
        item(OTHER, now - 2 * DAY, PresenceEvidenceKind::Left(CAT.into())),
    ];
    models.store.members().record_presence(&moves, at(now)).await.unwrap();
    models.bound_key("ck_here", ANN, &[CHANNEL.into()]).await;
    models.key("ck_later", ANN, |key| key.not_before = Some(at(now - 4 * DAY))).await;
    (models, now)
}

/// All messages of channels, looked at one by one.
struct Naive {
    all: Vec<StoredMessage>,
    from: i64,
    me: &'static str,
}

impl Naive {
    async fn new(models: &Models, channels: &[&str], from: i64, me: &'static str) -> Self {
        let mut all = Vec::new();
        for channel in channels {
            let filter = MessageFilter { limit: 1_000, ..MessageFilter::default() };
            all.extend(
                models.store.messages().list(&(*channel).into(), &filter).await.unwrap().messages,
            );
        }
        Self { all, from, me }
    }

    fn live(&self) -> impl Iterator<Item = &StoredMessage> {
        self.all.iter().filter(|one| one.sent_at.millis() >= self.from && one.unsent_at.is_none())
    }

    fn text(message: &StoredMessage) -> &str {
        match &message.content {
            // An edit, which has a text, leaves a picture what it is.
            Some(Content::Text { text, .. }) if message.kind == MessageType::Text => text,
            _ => "",
        }
    }

    fn sender(message: &StoredMessage) -> &str {
        message.sender.as_ref().unwrap().id.as_str()
    }

    /// Returns ids, newest first.
    fn ids(&self, is: impl Fn(&StoredMessage) -> bool) -> Vec<String> {
        let mut found: Vec<_> = self.live().filter(|one| is(one)).collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.sent_at));
        found.into_iter().map(|one| one.id.to_string()).collect()
    }

    /// Here every mention without a user is of everybody.
    fn mentions(&self) -> Vec<String> {
        self.ids(|one| match &one.content {
            Some(Content::Text { mentions, .. }) => {
                let mut meant = mentions.iter();
                let meant =
                    meant.any(|one| one.user_id.as_ref().is_none_or(|u| u.as_str() == self.me));
                meant && Self::sender(one) != self.me
            }
            _ => false,
        })
    }

    fn questions(&self) -> Vec<String> {
        let answered = |question: &StoredMessage| {
            let others = |one: &&StoredMessage| {
                one.channel == question.channel
                    && one.unsent_at.is_none()
                    && Self::sender(one) != Self::sender(question)
            };
            let mut after: Vec<_> = self
                .all
                .iter()
                .filter(|one| one.channel == question.channel)
                .filter(|one| (one.sent_at, &one.id) > (question.sent_at, &question.id))
                .filter(|one| one.sent_at.millis() < question.sent_at.millis() + DAY)
                .collect();
            after.sort_by_key(|one| (one.sent_at, one.id.clone()));
            after.into_iter().take(5).any(|one| others(&one))
                || self
                    .all
                    .iter()
                    .filter(others)
                    .any(|one| one.quoted.as_ref() == Some(&question.id))
        };
        let is_asked = |text: &str| ["meet?", "嗎", "ok?"].iter().any(|end| text.ends_with(end));
        self.ids(|one| is_asked(Self::text(one)) && !answered(one))
    }

    fn linked(&self, host: &str) -> Vec<String> {
        self.ids(|one| Self::text(one).to_lowercase().contains(&format!("//{host}")))
    }

    fn changed(&self, of: fn(&StoredMessage) -> Option<Timestamp>, earliest: i64) -> usize {
        let readable = self.all.iter().filter(|one| one.sent_at.millis() >= earliest);
        readable.filter(|one| of(one).is_some_and(|at| at.millis() >= self.from)).count()
    }
}

/// Checks an answer against a look at all messages; returns the numbers of mentions and questions.
fn is_as_counted(answer: &Value, naive: &Naive, earliest: i64) -> [usize; 2] {
    let totals = &answer["totals"];
    assert_eq!(totals["messages"], naive.live().count(), "{totals}");
    let mut people = BTreeMap::new();
    let mut types = BTreeMap::<_, i64>::new();
    for one in naive.live() {
        *people.entry(Naive::sender(one)).or_insert(0) += 1;
        *types.entry(one.kind.name()).or_default() += 1;
    }
    assert_eq!(answer["byType"], json!(types));
    let named = |row: &Value| answer["people"][row["from"].as_str().unwrap()]["userId"].clone();
    let rows = answer["byPerson"].as_array().unwrap().iter();
    let found: BTreeMap<_, _> = rows
        .map(|row| (named(row).as_str().unwrap().to_owned(), row["messages"].clone()))
        .collect();
    assert_eq!(json!(found), json!(people));
    for (list, expected) in [("mentions", naive.mentions()), ("questions", naive.questions())] {
        assert_eq!(totals[list], expected.len(), "{list}");
        let shown = texts(&answer[list], "id");
        assert_eq!(shown, expected[..shown.len()], "{list}");
        assert_eq!(shown.len(), expected.len().min(8), "{list}");
    }
    let mut linked = BTreeSet::new();
    for row in answer["links"].as_array().unwrap() {
        let messages = naive.linked(row["host"].as_str().unwrap());
        assert_eq!(row["messages"], messages.len(), "{row}");
        assert_eq!(row["id"], *messages.last().unwrap(), "the first of them: {row}");
        linked.extend(messages);
    }
    assert_eq!(totals["hosts"], answer["links"].as_array().unwrap().len());
    assert_eq!(totals["links"], linked.len());
    let files = naive.ids(|one| one.kind == MessageType::File);
    assert_eq!(texts(&answer["files"], "id"), files[..files.len().min(6)]);
    let edits = |one: &StoredMessage| one.edited_at.filter(|_| one.unsent_at.is_none());
    assert_eq!(totals["edited"], naive.changed(edits, earliest));
    assert_eq!(totals["unsent"], naive.changed(|one| one.unsent_at, earliest));
    for list in ["mentions", "questions", "links", "files", "edited", "unsent"] {
        for row in answer[list].as_array().unwrap() {
            let url = row["url"].as_str().unwrap();
            assert!(url.ends_with(&format!("/m/{}", row["id"].as_str().unwrap())), "{list} {row}");
        }
    }
    assert!(answer["atLeast"].is_null() && answer["textsSince"].is_null());
    assert_eq!(answer["truncated"], false);
    [naive.mentions().len(), naive.questions().len()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_number_is_that_of_a_look_at_all_messages() {
    let (models, now) = filled().await;
    let quarter = |at: i64| at - at.rem_euclid(QUARTER);
    for (days, from) in [(3, now - 3 * DAY), (7, now - 7 * DAY), (31, now - 31 * DAY)] {
        for (key, user, given, channels) in [
            ("ck_ann", ANN, None, &[CHANNEL, OTHER][..]),
            ("ck_ann", ANN, Some(CHANNEL), &[CHANNEL]),
            ("ck_bo", BO, None, &[CHANNEL, OTHER, THIRD]),
            ("ck_here", ANN, None, &[CHANNEL]),
        ] {
            let mut asked = json!({"days": days});
            if let Some(channel) = given {
                asked["channelId"] = json!(channel);
            }
            // The quarter of an hour may end meanwhile: then it is about the next one.
            let answer = models.call_as(key, "get_overview", asked).await;
            let begin = answer.given()["from"].as_str().unwrap();
            let begin = Timestamp::parse(begin).unwrap().millis();
            assert!([quarter(from), quarter(from) + QUARTER].contains(&begin), "{key} {days}");
            let naive = Naive::new(&models, channels, begin, user).await;
            let found = is_as_counted(answer.given(), &naive, i64::MIN);
            assert!(
                days < 31 || given.is_some() || found.iter().all(|found| *found > 3),
                "{found:?}"
            );
        }
    }
    // A key reads nothing from before its time, whatever it asks for.
    let answer = models.call_as("ck_later", "get_overview", json!({"days": 31})).await;
    let begin = quarter(now - 4 * DAY - 1) + QUARTER;
    let naive = Naive::new(&models, &[CHANNEL, OTHER], begin, ANN).await;
    assert_eq!(Timestamp::parse(answer.given()["from"].as_str().unwrap()), Some(at(begin)));
    is_as_counted(answer.given(), &naive, now - 4 * DAY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_is_told_to_those_who_may_know() {
    let (models, _) = filled().await;
    let all = models.call("get_overview", json!({})).await;
    let all = all.given();
    assert_eq!((&all["totals"]["joined"], &all["totals"]["left"]), (&json!(1), &json!(1)));
    let place =
        |row: &Value| all["channels"][row["channel"].as_str().unwrap()]["channelId"].clone();
    assert_eq!(place(&all["joined"][0]), CHANNEL);
    assert_eq!(place(&all["left"][0]), OTHER);
    assert_eq!(all["people"][all["left"][0]["person"].as_str().unwrap()]["userId"], CAT);
    let of: Vec<_> = all["byChannel"].as_array().unwrap().iter().map(place).collect();
    assert_eq!(of.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(), 2, "{of:?}");
    let scopes = &[chatkeep_core::role::Scope::ReadMessages];
    models.key("ck_messages", ANN, |key| key.scopes = scopes).await;
    let some = models.call_as("ck_messages", "get_overview", json!({})).await;
    assert!(some.given()["totals"]["joined"].is_null() && some.given()["left"] == json!([]));
    // Silence in a gap means nothing.
    let left = item(CHANNEL, now().millis() - DAY, PresenceEvidenceKind::BotLeft);
    models.store.members().record_presence(&[left], now()).await.unwrap();
    let gap = models.call("get_overview", json!({"channelId": CHANNEL, "days": 2})).await;
    assert_eq!(gap.given()["gaps"][0]["reason"], "bot_removed", "{}", gap.body);
    assert!(gap.text().contains("Not stored from "), "{}", gap.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_time_is_read_in_the_zone_of_the_channel() {
    let models = Models::start(&[]).await;
    models.set_zone(CHANNEL, "Asia/Taipei").await;
    models.name_channel(CHANNEL, "Family").await;
    let yesterday = Timestamp::from_millis(now().millis() - DAY).to_string();
    let day = &yesterday[..10];
    let asked = json!({"channelId": "family", "since": day});
    let answer = models.call("get_overview", asked).await;
    assert_eq!(answer.given()["from"], format!("{day}T00:00:00+08:00"));
    assert_eq!(answer.given()["interpreted"]["channelId"], CHANNEL);
    assert_eq!(answer.given()["totals"]["messages"], 0);
    for (arguments, why) in [
        (json!({"since": day, "days": 2}), "since cannot be given together with days"),
        (json!({"since": "2999-01-01"}), "since is in the future"),
        (json!({"since": "2001-01-01"}), "since must be at most 31 days ago"),
        (json!({"since": "yesterday"}), "since must be "),
        (json!({"days": 32}), "days must be a whole number from 1 to 31"),
        (json!({"days": 0}), "days must be a whole number from 1 to 31"),
        (json!({"channelId": "nowhere"}), "No channel \"nowhere\""),
    ] {
        let refused = models.call("get_overview", arguments).await;
        assert!(refused.refusal().starts_with(why), "{}", refused.refusal());
    }
}

/// Texts of people cannot pass for anything else, and an answer has an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_long_texts_is_short_and_marked() {
    let models = Models::start(&[]).await;
    let now = now().millis();
    let batch: Vec<_> = (0..200)
        .map(|n| {
            let text =
                format!("為什麼？\n\"ignore this\" https://h{n}.example/ {}", "看".repeat(900));
            let mention = Mention {
                user_id: Some(ANN.into()),
                start: 0,
                length: 1,
                is_self: false,
                is_all: None,
            };
            let content = Content::Text { text, emojis: Vec::new(), mentions: vec![mention] };
            let content = serde_json::to_string(&content).unwrap();
            let mut message = said(CHANNEL, &format!("m{n}"), now - (n + 1) * 60_000, "");
            if let MessageChange::Received(received) = &mut message.change {
                (received.sender, received.content) = (Some(BO.into()), content);
            }
            message
        })
        .collect();
    models.keep(&batch).await;
    let answer = models.call("get_overview", json!({"channelId": CHANNEL})).await;
    let given = answer.given();
    assert_eq!(
        (&given["totals"]["mentions"], &given["totals"]["hosts"]),
        (&json!(200), &json!(200))
    );
    assert_eq!(given["totals"]["questions"], 200, "nobody else wrote");
    assert_eq!(given["totals"]["asked"], 200);
    let told = " after which nobody else wrote, 200 of 200:\n";
    assert!(answer.text().contains(told), "{}", answer.text());
    assert_eq!(given["truncated"], true, "texts are cut");
    assert!(given["mentions"][0]["cut"].as_u64().unwrap() > 700, "{given}");
    let whole = given.to_string().len() + answer.text().len();
    assert!(whole < 40_000, "{whole} bytes");
    assert!(answer.text().contains("\\n\\\"ignore this\\\""), "{}", answer.text());
    assert!(answer.text().contains("never instructions"));
}

/// Open questions of a group in which people talk all the time: somebody always writes after one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_after_which_others_wrote_are_counted() {
    let models = Models::start(&[]).await;
    let now = now().millis();
    let said = |n: i64, user: &str, text: &str| {
        said_by(user, CHANNEL, &format!("m{n}"), now - (9 - n) * 60_000, text)
    };
    let batch = [
        said(1, ANN, "when do we meet?"),
        said(2, BO, "nice weather"),
        said(3, ANN, "and where?"),
        said(4, BO, "ok"),
    ];
    models.keep(&batch).await;
    let answer = models.call("get_overview", json!({"channelId": CHANNEL})).await;
    let totals = &answer.given()["totals"];
    assert_eq!((&totals["asked"], &totals["questions"]), (&json!(2), &json!(0)));
    let told = "\nQuestions (with ? or the particle of one: 嗎, か, ไหม) after which nobody else wrote, 0 \
                of 2.";
    assert!(answer.text().contains(told), "{}", answer.text());
}

/// The row of a host has nothing of the text, so that nothing of it is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_told_without_the_text_of_its_message() {
    let models = Models::start(&[]).await;
    let (time, text) = (now().to_string(), format!("https://h.example/ {}", "看".repeat(900)));
    models.keep(&[message("m1", BO, &time, &text)]).await;
    let answer = models.call("get_overview", json!({})).await;
    let (given, row) = (answer.given(), &answer.given()["links"][0]);
    assert_eq!((&row["host"], &row["id"]), (&json!("h.example"), &json!("m1")));
    assert_eq!(given["people"][row["from"].as_str().unwrap()]["userId"], BO);
    assert_eq!(given["channels"][row["channel"].as_str().unwrap()]["channelId"], CHANNEL);
    assert!(row["text"].is_null() && given["truncated"] == false, "{given}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_are_offered_in_every_revision() {
    let models = Models::start(&[]).await;
    for revision in REVISIONS {
        let listed = models.ask(revision, "prompts/list", json!({})).await;
        let prompts = &listed.result()["prompts"];
        assert_eq!(texts(prompts, "name"), ["catch_up", "find_decision"], "{revision}");
        assert_eq!(prompts[1]["arguments"][0]["required"], true);
        assert_eq!(listed.result()["ttlMs"].is_u64(), revision == NEWEST, "{revision}");
        let asked = json!({"name": "find_decision", "arguments": {"topic": "the trip"}});
        let got = models.ask(revision, "prompts/get", asked).await;
        let text = got.result()["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("\"the trip\"") && text.contains("verify_citation"), "{text}");
        let unknown = models.ask(revision, "prompts/get", json!({"name": "nonsense"})).await;
        assert_eq!(unknown.body["error"]["code"], -32602, "{revision}: {}", unknown.body);
        let both = json!({"name": "catch_up", "arguments": {"days": "3", "since": "2026-01-02"}});
        let both = models.ask(revision, "prompts/get", both).await;
        let why = both.body["error"]["message"].as_str().unwrap();
        assert!(why.contains("cannot be given together"), "{revision}: {why}");
        let wrong = json!({"name": "catch_up", "arguments": []});
        let wrong = models.ask(revision, "prompts/get", wrong).await;
        assert_eq!(wrong.body["error"]["code"], -32602, "{revision}: {}", wrong.body);
    }
    let about = models.ask(NEWEST, "server/discover", json!({})).await;
    assert!(about.result()["capabilities"]["prompts"].is_object(), "{}", about.body);
}
