//! The pull feed from the platform's event to the reader.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::profile::Profile;
use chatkeep_core::time::Timestamp;
use chatkeep_emulator::Entry;
use chatkeep_store::{OutboxPosition, PresenceEvidenceKind};
use serde_json::{Value, json};

use super::{CHANNEL, OWNER, Rest, message, now, send, under};
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack};
use crate::store::{at, item, said, unsent};

/// Reader that continues at its cursor.
#[derive(Default)]
struct Reader {
    cursor: Option<String>,
    seen: Vec<Value>,
}

impl Reader {
    /// Reads all events, two at a time.
    async fn read(&mut self, stack: &Stack) {
        loop {
            let cursor = self.cursor.as_deref().map(|c| format!("&cursor={c}")).unwrap_or_default();
            let page = stack.get(&format!("/events?limit=2{cursor}")).await;
            let events = page["events"].as_array().unwrap();
            assert!(events.len() <= 2);
            self.seen.extend(events.iter().cloned());
            self.cursor = page["nextCursor"].as_str().map(str::to_owned);
            assert!(self.cursor.is_some(), "there is always a place to go on");
            if page["hasMore"] == false {
                return;
            }
        }
    }

    /// Waits for an event of that type about that message or person.
    async fn wait(&mut self, stack: &Stack, kind: &str, subject: &str) -> Value {
        let mut found = Value::Null;
        until(&format!("{kind} of {subject}"), DEADLINE, async || {
            self.read(stack).await;
            let about = |event: &&Value| event["type"] == kind && subject_of(event) == subject;
            found = self.seen.iter().find(about).cloned().unwrap_or_default();
            !found.is_null()
        })
        .await;
        found
    }
}

fn subject_of(event: &Value) -> &str {
    let data = &event["data"];
    data["message"]["id"].as_str().or(data["member"]["userId"].as_str()).unwrap_or_default()
}

/// Returns the first message of a chat that is as wanted.
fn message_of(stack: &Stack, channel: &str, wanted: impl Fn(&Entry) -> bool) -> String {
    let said = stack.line.transcript(channel).into_iter().filter(wanted);
    said.filter(|entry| entry.text.is_some()).find_map(|entry| entry.message_id).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_follows_what_happens() {
    for parts in [Parts::Embedded, Parts::Servers] {
        let mut stack = Stack::start(parts, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let (channel, ann) = (group.chat_id.as_str(), people[0].user_id.as_str());
        let mut reader = Reader::default();
        let said = async |text: &str| {
            let told = stack.line.say(channel, ann, text).await.unwrap();
            told.message_id().unwrap().to_owned()
        };
        // Of messages before the first subscription everything but the content is in the events.
        let before = message_of(&stack, channel, |entry| !entry.is_bot());
        let event = reader.wait(&stack, "message.received", &before).await;
        let message = &event["data"]["message"];
        assert_eq!(
            (&message["kept"], &message["reason"]),
            (&json!(false), &json!("not_subscribed"))
        );
        assert_eq!((&message["content"], &message["backedUpAt"]), (&Value::Null, &Value::Null));
        assert_eq!(message["sender"]["userId"], ann);
        let first = said("good morning").await;
        let event = reader.wait(&stack, "message.received", &first).await;
        assert_eq!(event["data"]["channelId"], channel);
        let message = &event["data"]["message"];
        assert_eq!((&message["kept"], &message["reason"]), (&json!(true), &Value::Null));
        assert_eq!(message["content"], "good morning");
        assert_eq!(event["timestamp"], event["data"]["message"]["timestamp"]);
        stack.line.edit(&first, "good evening").await.unwrap();
        let event = reader.wait(&stack, "message.edited", &first).await;
        assert_eq!(event["data"]["message"]["content"], "good evening");
        let second = said("I should not say this").await;
        reader.wait(&stack, "message.received", &second).await;
        stack.line.unsend(&second).await.unwrap();
        let event = reader.wait(&stack, "message.unsent", &second).await;
        assert!(event["data"]["message"]["content"].is_null());
        let kim = stack.line.add_user("Kim", None).user_id;
        stack.line.members_join(channel, &[&kim]).await.unwrap();
        let event = reader.wait(&stack, "member.joined", &kim).await;
        assert_eq!(event["data"]["member"]["status"], "active");
        stack.line.members_leave(channel, &[&kim]).await.unwrap();
        let event = reader.wait(&stack, "member.left", &kim).await;
        assert_eq!(event["data"]["member"]["status"], "left");

        let question = said("hours").await;
        stack.drained().await;
        let answer = message_of(&stack, channel, |entry| entry.text.as_deref() == Some("9-18"));
        let greets = |entry: &Entry| entry.text.as_deref().is_some_and(|t| t.starts_with("歡迎"));
        let welcome = message_of(&stack, channel, greets);
        let event = reader.wait(&stack, "message.sent", &answer).await;
        assert_eq!(event["data"]["message"]["isBot"], true);
        assert_eq!(event["data"]["message"]["content"], "9-18");

        again(&stack).await;
        reader.read(&stack).await;
        let told: Vec<_> = reader
            .seen
            .iter()
            .map(|event| (event["type"].as_str().unwrap(), subject_of(event)))
            .collect();
        let place = |subject: &str| told.iter().position(|(_, about)| *about == subject).unwrap();
        assert!(place(&kim) < place(&welcome), "{told:?}");
        // Kim may be gone before the welcome is stored.
        let told: Vec<_> = told.iter().copied().filter(|(_, about)| *about != welcome).collect();
        let expected = [
            ("message.received", before.as_str()),
            ("message.received", &first),
            ("message.edited", &first),
            ("message.received", &second),
            ("message.unsent", &second),
            ("member.joined", &kim),
            ("member.left", &kim),
            ("message.received", &question),
            ("message.sent", &answer),
        ];
        assert_eq!(told, expected, "in order, and nothing twice");
        check_whole(&stack, &reader).await;
        assert!(stack.process.terminate().await.success());
    }
}

/// Delivers every webhook once more: no new events.
async fn again(stack: &Stack) {
    let numbers: std::collections::BTreeSet<_> =
        stack.line.deliveries().iter().map(|attempt| attempt.webhook).collect();
    for number in numbers {
        assert!(stack.line.redeliver(number).await.unwrap().accepted);
    }
    stack.drained().await;
}

/// Checks that a reader from the beginning gets the same ids, and no retracted content.
async fn check_whole(stack: &Stack, reader: &Reader) {
    let whole = stack.get("/events?limit=100").await;
    let ids = |events: &[Value]| events.iter().map(|e| e["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(whole["events"].as_array().unwrap()), ids(&reader.seen));
    assert!(!whole.to_string().contains("I should not say this"), "not in the past either");
    assert_eq!(whole["hasMore"], json!(false));
    let next = whole["nextCursor"].as_str().unwrap();
    let end = stack.get(&format!("/events?cursor={next}")).await;
    assert_eq!((&end["events"], &end["hasMore"]), (&json!([]), &json!(false)));
    // Cursors of earlier versions had no time.
    let place = OutboxPosition::of_event(reader.seen[0]["id"].as_str().unwrap()).unwrap();
    let earlier = json!({"f": "events", "k": [place.0, place.1]}).to_string();
    let earlier = URL_SAFE_NO_PAD.encode(earlier);
    let rest = stack.get(&format!("/events?limit=100&cursor={earlier}")).await;
    assert_eq!(ids(rest["events"].as_array().unwrap()), ids(&reader.seen[1..]));
}

/// Subjects are read for a whole page at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_many_events_tells_what_pages_of_one_tell() {
    let rest = Rest::start(&[]).await;
    // Nobody subscribes it: no message is kept.
    let channel = "C00000000000000000000000000000quiet";
    let mut evidence = vec![
        item(channel, 1, PresenceEvidenceKind::BotJoined),
        item(channel, 1, PresenceEvidenceKind::Present(OWNER.into())),
    ];
    for (time, person) in [(10, "U1"), (11, "U2"), (12, "U3")] {
        evidence.push(item(channel, time, PresenceEvidenceKind::Joined(person.into())));
    }
    evidence.push(item(channel, 20, PresenceEvidenceKind::Left("U2".into())));
    rest.store.members().record_presence(&evidence, now()).await.unwrap();
    let kim = Profile { display_name: "Kim".to_owned(), picture_url: None, language: None };
    rest.store.members().save_profiles(&[("U1".into(), Some(kim))].into(), now()).await.unwrap();
    let mut batch = vec![message("kept", OWNER, "2026-01-02T03:04:05Z", "here")];
    for (time, id) in [(30, "a"), (31, "b"), (32, "c")] {
        batch.push(said(channel, id, time, "nobody keeps this"));
    }
    rest.keep(&batch).await;
    rest.keep(&[unsent(channel, "b", 40)]).await;

    let whole = send(rest.get("/events?limit=100")).await.ok();
    assert_eq!(whole["hasMore"], json!(false));
    let whole = whole["events"].as_array().unwrap();
    let (mut single, mut path) = (Vec::new(), "/events?limit=1".to_owned());
    loop {
        let page = send(rest.get(&path)).await.ok();
        single.extend(page["events"].as_array().unwrap().iter().cloned());
        if page["hasMore"] == json!(false) {
            break;
        }
        path = format!("/events?limit=1&cursor={}", page["nextCursor"].as_str().unwrap());
    }
    assert_eq!(*whole, single);
    let of = |wanted: &str| {
        let events = whole.iter().filter(|event| event["data"]["channelId"] == wanted);
        events.map(|event| &event["data"]).collect::<Vec<_>>()
    };
    let people = of(channel).into_iter().map(|data| &data["member"]).filter(|one| one.is_object());
    let people: Vec<_> = people.map(|one| (&one["userId"], &one["status"])).collect();
    let [active, left] = [json!("active"), json!("left")];
    let [u1, u2, u3] = [json!("U1"), json!("U2"), json!("U3")];
    assert_eq!(people, [(&u1, &active), (&u2, &left), (&u2, &left), (&u3, &active)]);
    let told = of(channel).into_iter().map(|data| &data["message"]).filter(|one| one.is_object());
    let told: Vec<_> = told.map(|one| (&one["id"], &one["sender"]["displayName"])).collect();
    let kim = json!("Kim");
    let [a, b, c] = ["a", "b", "c"].map(|id| json!(id));
    let expected = [(&a, &kim), (&c, &kim), (&b, &Value::Null)];
    assert_eq!(told, expected, "nothing of what was unsent, but that it was");
    let unsent = of(channel).into_iter().find(|data| data["message"]["id"] == "b").unwrap();
    let unsent = &unsent["message"];
    assert_eq!((&unsent["kept"], &unsent["reason"]), (&json!(false), &json!("not_subscribed")));
    let times = (&unsent["timestamp"], &unsent["unsentAt"]);
    let [sent, taken_back] = [31, 40].map(|time| json!(at(time).to_string()));
    assert_eq!(times, (&sent, &taken_back));
    let kept = of(CHANNEL).into_iter().find(|data| data["message"]["id"] == "kept").unwrap();
    assert_eq!(kept["message"]["content"], "here");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_whose_later_events_are_not_retained_is_refused() {
    let rest = Rest::start(&[]).await;
    let latest = send(rest.get("/events?cursor=latest")).await.ok();
    assert_eq!((&latest["events"], &latest["hasMore"]), (&json!([]), &json!(false)));
    let said = async |id: &str| {
        rest.keep(&[message(id, OWNER, "2026-01-02T03:04:05Z", "hello")]).await;
    };
    let after = async |cursor: &Value| {
        let cursor = cursor["nextCursor"].as_str().unwrap();
        send(rest.get(&format!("/events?limit=1&cursor={cursor}"))).await
    };
    let id = |page: &Value| page["events"][0]["data"]["message"]["id"].clone();
    said("a").await;
    said("b").await;
    let first = after(&latest).await.ok();
    let second = after(&first).await.ok();
    assert_eq!((id(&first), id(&second)), (json!("a"), json!("b")), "from now on");

    let before = at(now().millis() + 1);
    assert!(rest.store.outbox().purge_outbox_events(before).await.unwrap() >= 2);
    said("c").await;
    for cursor in [&latest, &first] {
        after(cursor).await.refused(410, "cursor_expired");
    }
    let third = after(&second).await.ok();
    assert_eq!(id(&third), "c", "nothing was missed");
    assert_eq!(id(&send(rest.get("/events")).await.ok()), "c", "from the oldest on");
    let latest = send(rest.get("/events?cursor=latest")).await.ok();
    assert_eq!(after(&latest).await.ok()["events"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_told_and_so_is_its_undoing() {
    let rest = Rest::start(&[]).await;
    for (key, since) in [("ck_since", "2024-01-06"), ("ck_later", "2024-01-07")] {
        let since = Timestamp::parse(&format!("{since}T00:00:00Z")).unwrap();
        rest.key(key, OWNER, |key| key.not_before = Some(since)).await;
    }
    let file = rest.stack.ground.folder.path().join("chat.txt");
    std::fs::write(&file, include_str!("../transfer/line_en.txt")).unwrap();
    let file = file.display().to_string();
    let zone = ["--time-zone", "UTC"];
    let import = ["import", &file, "--channel", CHANNEL, zone[0], zone[1]];
    rest.stack.ground.command(&rest.stack.line, &import).await;
    let told = async |key: &str| {
        let page = send(rest.with(key, "/events?limit=100")).await.ok();
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| json!([event["type"], event["data"]])).collect::<Vec<_>>()
    };
    let (from, to) = ("2024-01-05T09:31:00.000Z", "2024-01-06T00:02:00.001Z");
    let about = |kind: &str, from: Option<&str>, to: Option<&str>| {
        let import = json!({"from": from, "to": to});
        json!([kind, {"channelId": CHANNEL, "import": import}])
    };
    let added = |from: &str| about("import.added", Some(from), Some(to));
    assert_eq!(told("ck_owner").await, [added(from)]);
    let list = under(&format!("/backup/messages?from={from}&to={to}"));
    let listed = send(rest.get(&list)).await.ok();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 7, "all of them");
    // Nothing about times that a key may not read.
    assert_eq!(told("ck_since").await, [added("2024-01-06T00:00:00.000Z")]);
    assert_eq!(told("ck_later").await, Vec::<Value>::new());

    rest.stack.ground.command(&rest.stack.line, &["import", "undo", "1"]).await;
    assert_eq!(told("ck_owner").await, [added(from), about("import.undone", None, None)]);
    assert_eq!(send(rest.get(&list)).await.ok()["messages"], json!([]));
}
