//! An outage of bus or database: the ingress reports it, and everything recovers by itself.

use std::time::Duration;

use chatkeep_emulator::{Action, Emulator, Post, Signed};

use super::conversation::{emulator, group};
use crate::harness::postgres::{Durability, Postgres};
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

fn message(line: &Emulator, chat: &str, user: &str, text: &str) -> Signed {
    let post = Post::Text(text.into());
    let send = Action::Send { chat: chat.to_owned(), user: user.to_owned(), post };
    line.sign(line.build(send).unwrap(), false)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_bus_the_ingress_answers_503_and_recovers() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat, user) = (stack.line.clone(), group.chat_id, people[1].user_id.clone());
    assert_eq!(line.post(message(&line, &chat, &user, "before")).await, Some(200));
    stack.kept(&chat, 1).await;

    stack.ground.nats.as_mut().unwrap().kill();
    until("the ingress refuses", DEADLINE, async || {
        line.post(message(&line, &chat, &user, "refused")).await == Some(503)
    })
    .await;
    assert!(!stack.ready().await);

    stack.ground.nats.as_mut().unwrap().restart().await;
    let mut accepted = 0;
    until("the ingress recovers", DEADLINE, async || {
        accepted +=
            usize::from(line.post(message(&line, &chat, &user, "after")).await == Some(200));
        accepted > 0
    })
    .await;
    until("what was accepted is kept", DEADLINE, async || {
        let kept = stack.messages(&chat).await;
        let after = kept.iter().filter(|message| message["content"] == "after").count();
        after == accepted && kept.iter().any(|message| message["content"] == "before")
    })
    .await;
    assert!(stack.ready().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_without_its_data_is_the_bus_of_further_processes_too() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat, user) = (stack.line.clone(), group.chat_id, people[1].user_id.clone());
    stack.ground.nats.as_mut().unwrap().lose_everything().await;
    until("the ingress recovers", DEADLINE, async || {
        line.post(message(&line, &chat, &user, "after")).await == Some(200)
    })
    .await;
    let lost = "the bus has lost its data";
    until("the loss is told", DEADLINE, async || {
        stack.process.stderr().iter().any(|line| line.contains(lost))
    })
    .await;
    // The bus is compared at the start, and every minute after that.
    let (mut further, _) = stack.serve("worker").await;
    let coverage = format!("/channels/{chat}/backup/coverage");
    until("coverage shows an outage", DEADLINE, async || {
        let (_, coverage) = stack.call(reqwest::Method::GET, &coverage, None).await;
        let gaps = coverage["gaps"].as_array().cloned().unwrap_or_default();
        gaps.iter().any(|gap| gap["reason"] == "outage")
    })
    .await;
    assert!(further.terminate().await.success());
    until("what is accepted is kept", DEADLINE, async || {
        stack.messages(&chat).await.iter().any(|message| message["content"] == "after")
    })
    .await;
    assert!(stack.ready().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_database_events_wait_on_the_bus() {
    let mut postgres = Postgres::start(Durability::Process).await;
    let mut ground = TestEnv::new(Parts::Servers).await;
    ground.database = Some(postgres.create_database().await);
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat, user) = (stack.line.clone(), group.chat_id, people[1].user_id.clone());

    postgres.stop().await;
    for n in 0..20 {
        let text = format!("meanwhile {n}");
        assert_eq!(line.post(message(&line, &chat, &user, &text)).await, Some(200));
    }
    assert!(!stack.ready().await);
    let (status, _) = stack.call(reqwest::Method::GET, "/me", None).await;
    assert_eq!(status, 503);

    postgres.restart().await;
    until("the database is back", DEADLINE, async || stack.ready().await).await;
    stack.kept(&chat, 20).await;
    let dead = stack.ground.command(&line, &["dead", "list", "--json"]).await;
    assert_eq!(dead, "", "waiting must not use up an event's attempts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_platform_holds_nothing_but_its_own_reply() {
    use chatkeep_emulator::{Fault, Target};
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat) = (stack.line.clone(), group.chat_id.as_str());
    let user = people[1].user_id.as_str();
    line.fail_next(Target::Reply, 1, Fault::CutAfter);
    let cut = line.say(chat, user, "hours").await.unwrap();
    line.fail_next(Target::Reply, 1, Fault::Delay(Duration::from_secs(2)));
    line.say(chat, user, "wifi").await.unwrap();
    line.say(chat, user, "rules").await.unwrap();
    // Three messages, two replies; the cut one's outcome is unknown and it is not sent again.
    stack.kept(chat, 5).await;
    stack.drained().await;
    assert_eq!(line.replies_to(cut.event_id().unwrap()).len(), 1);
    assert!(line.violations().is_empty(), "{:?}", line.violations());
}
