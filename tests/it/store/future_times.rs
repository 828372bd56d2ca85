//! Times that a wrong clock put into the future.

use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::{Claim, JobKind, NewChannelJob, ReplyIntent, ReplySource, RuleChange};

use super::{Fixture, at, on_both, said};

on_both!(what_a_wrong_clock_put_off_is_due);

const DAY: i64 = 86_400_000;

async fn what_a_wrong_clock_put_off_is_due(fixture: Fixture) {
    let store = &fixture.store;
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    for message in 0..3 {
        fixture.keep(&[said("C1", &format!("m{message}"), 10, "early")], 10).await;
    }
    // The clock is ten days ahead: a deletion begins and its worker dies; somebody opts out.
    let ahead = at(10 * DAY);
    let (channel, by) = (ChannelId::from("C1"), UserId::from("U1"));
    let kind = &JobKind::Deletion;
    let (channel, by, worker) = (&channel, &by, Some("A"));
    let new = NewChannelJob { id: "j1", channel, kind, sent_before: ahead, by, worker };
    store.jobs().begin_job(&new, ahead).await.unwrap();
    store.members().set_opted_out(&"U2".into(), None, true, || ahead).await.unwrap();
    store.members().set_opted_out(&"U2".into(), None, false, || at(10 * DAY + 5)).await.unwrap();
    store
        .members()
        .set_opted_out(&"U2".into(), Some(channel), true, || at(10 * DAY + 9))
        .await
        .unwrap();
    let opted_out = async |time: i64| {
        let known = store.members().opt_outs([&"U2".into()]).await.unwrap();
        known.refuse(channel, &"U2".into(), at(time))
    };
    assert!(store.jobs().claim_job("B", "", at(DAY)).await.unwrap().is_none());
    assert!(!opted_out(DAY + 1).await);

    // Somebody asks, and a rule with a cooldown answers.
    let draft = RuleDraft { keywords: vec!["hours".to_owned()], ..RuleDraft::default() };
    let rule = "qa_1".into();
    let add = RuleChange::Add(&rule, &draft);
    store.assistant().change_rule(channel, add, None, by, ahead).await.unwrap();
    let claim = async |event: &str, time: i64| {
        let event = event.into();
        let intent = ReplyIntent {
            event: &event,
            channel,
            source: ReplySource::Qa,
            rule: Some(&rule),
            message: None,
            cooldown_ms: DAY,
            at: at(time),
        };
        store.assistant().claim_reply(&intent, at(time)).await.unwrap()
    };
    assert_eq!(claim("E1", 10 * DAY).await, Claim::Granted);

    assert_eq!(store.jobs().reset_future_times(at(DAY)).await.unwrap(), 6);
    assert_eq!(claim("E2", DAY + 1).await, Claim::Suppressed, "it was asked just now");
    let claimed = store.jobs().claim_job("B", "", at(DAY)).await.unwrap();
    assert_eq!(claimed.map(|job| job.id).as_deref(), Some("j1"));
    assert!(opted_out(DAY + 1).await && !opted_out(DAY - 1).await, "in the order of their changes");
    // What is sent from now on is stored.
    fixture.keep(&[said("C1", "late", DAY + 1, "late")], DAY + 1).await;
    let late = store.messages().message(channel, &"late".into()).await.unwrap();
    assert!(late.is_some());
    assert_eq!(store.jobs().reset_future_times(at(DAY)).await.unwrap(), 0);
}
