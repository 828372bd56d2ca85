//! The program killed at random moments: nothing acknowledged is lost, nothing is counted twice,
//! nobody gets the same answer twice.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep::demo::emulator::{Action, Post};

use super::conversation::{emulator, group};
use super::on_both;
use super::picture::Picture;
use crate::stack::{Parts, Stack};

on_both!(killed_fifty_times_during_five_thousand_messages);

const MESSAGES: usize = 5_000;
const KILLS: u64 = 50;
/// One message in so many asks something.
const QUESTIONS: usize = 25;

async fn killed_fifty_times_during_five_thousand_messages(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, channel) = (stack.line.clone(), group.chat_id.clone());
    let sender = {
        let (line, channel) = (line.clone(), channel.clone());
        tokio::spawn(async move {
            let mut sent = Vec::with_capacity(MESSAGES);
            for first in (0..MESSAGES).step_by(10) {
                // Built just before it is sent, so that questions can still be answered.
                let batch = (first..first + 10).map(|n| {
                    let text = if n % QUESTIONS == 0 {
                        "wifi".to_owned()
                    } else {
                        format!("m{n}")
                    };
                    let user = people[n % people.len()].user_id.clone();
                    let post = Post::Text(text.into());
                    let said = Action::Send {
                        chat: channel.clone(),
                        user,
                        post,
                    };
                    line.build(said).unwrap().remove(0)
                });
                let events: Vec<_> = batch.collect();
                sent.extend(events.iter().filter_map(|event| event.message_id.clone()));
                let webhooks = events.into_iter().map(|e| line.webhook(vec![e])).collect();
                for delivery in line.deliver_all(webhooks, 10).await {
                    assert!(delivery.accepted, "{delivery:?}");
                }
            }
            sent
        })
    };
    let mut kills = 0;
    let mut moment = 12_345_u64;
    while kills < KILLS || !sender.is_finished() {
        if kills < KILLS {
            moment = moment
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            // The moment itself is what is random here; nothing is waited for.
            tokio::time::sleep(Duration::from_millis(30 + (moment >> 33) % 300)).await;
            stack.crash().await;
            kills += 1;
        } else {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let sent: BTreeSet<String> = sender.await.unwrap().into_iter().collect();
    stack.drained().await;
    let dead = stack.ground.command(&line, &["dead", "list"]).await;
    assert_eq!(
        dead.lines().count(),
        1,
        "crashes are nobody's fault:\n{dead}"
    );

    let all = stack.messages(&channel).await;
    let kept: Vec<_> = all.iter().filter(|m| m["isBot"] == false).collect();
    let ids: BTreeSet<_> = kept
        .iter()
        .map(|m| m["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), kept.len(), "a message is kept twice");
    let lost: Vec<_> = sent.difference(&ids).collect();
    assert!(
        lost.is_empty(),
        "{} of {} lost: {lost:?}",
        lost.len(),
        sent.len()
    );
    let picture = Picture::of(&stack, &channel).await;
    picture.assert_counted(&all);
    let questions = i64::try_from(MESSAGES / QUESTIONS).unwrap();
    assert_eq!(
        picture.hits("ask me"),
        questions,
        "every match is counted exactly once"
    );
    assert!(line.violations().is_empty(), "{:?}", line.violations());
    let mut answered = BTreeSet::new();
    for entry in line.transcript(&channel) {
        if let Some(event) = entry.answers.clone() {
            assert!(answered.insert(event), "answered twice: {entry:?}");
        }
    }
    println!(
        "{parts:?}: {} of {questions} questions answered over {kills} kills",
        answered.len()
    );
}
