//! Usage notices: the last crossing of each user, sent once.

use chatkeep_core::plan::{Plan, UsageStatus};
use chatkeep_store::{NoticeOutcome, PresenceEvidenceKind, UsageNotice};

use super::{Fixture, at, item, on_both, said, sized};

on_both!(
    only_the_last_crossing_is_told,
    what_was_heard_last_is_remembered,
    who_has_a_chat_and_wants_to_hear,
    pages_reach_every_notice_once,
);

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

async fn pending(fixture: &Fixture) -> Vec<UsageNotice> {
    fixture.store.accounts().pending_usage_notices(None, 10).await.unwrap()
}

async fn only_the_last_crossing_is_told(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.subscribe("C1", "U2", 5).await;
    assert!(pending(&fixture).await.is_empty());
    for (percent, time) in [(79, 10), (9, 11), (9, 12)] {
        for user in ["U1", "U2"] {
            let add = format!(
                "UPDATE users SET used_bytes = used_bytes + {} WHERE user_id = '{user}'",
                Plan::Free.quota() / 100 * percent
            );
            fixture.run(&add).await;
        }
        fixture.keep(&[sized("C1", &time.to_string(), time, 5_300_000)], time).await;
    }
    let notices = pending(&fixture).await;
    assert_eq!(notices.len(), 2);
    let [first, second] = &notices[..] else { unreachable!() };
    assert_eq!((first.user.as_str(), second.user.as_str()), ("U1", "U2"));
    assert_eq!((first.status, first.last_notified), (UsageStatus::Exceeded, UsageStatus::Ok));
    assert_eq!((first.at, first.usage.status()), (at(12), UsageStatus::Exceeded));

    assert!(
        fixture.store.accounts().settle_notice(first, NoticeOutcome::Sent, at(13)).await.unwrap()
    );
    assert!(
        !fixture.store.accounts().settle_notice(first, NoticeOutcome::Sent, at(14)).await.unwrap(),
        "told once"
    );
    let left: Vec<_> = pending(&fixture).await.into_iter().map(|notice| notice.id).collect();
    assert_eq!(left, [second.id]);
    let outcomes = "SELECT COUNT(*) FROM usage_notices WHERE user_id = 'U1' AND outcome = ";
    assert_eq!(fixture.value(&format!("{outcomes}'sent'")).await, "1");
    assert_eq!(fixture.value(&format!("{outcomes}'overtaken'")).await, "2");
}

async fn what_was_heard_last_is_remembered(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.preload("C1", "U1", Plan::Free.quota() - 10).await;
    fixture.keep(&[sized("C1", "a", 10, 60)], 10).await;
    let [full] = &pending(&fixture).await[..] else { unreachable!() };
    assert!(
        fixture.store.accounts().settle_notice(full, NoticeOutcome::Sent, at(11)).await.unwrap()
    );
    fixture.store.accounts().set_plan(&"U1".into(), Plan::Standard, at(12)).await.unwrap();
    let [free] = &pending(&fixture).await[..] else { unreachable!() };
    assert_eq!((free.status, free.last_notified), (UsageStatus::Ok, UsageStatus::Exceeded));
    assert_eq!(free.usage.quota, Plan::Standard.quota());
    // An unsent notice does not count as the last one.
    assert!(
        fixture.store.accounts().settle_notice(free, NoticeOutcome::NoChat, at(13)).await.unwrap()
    );
    fixture.store.accounts().set_plan(&"U1".into(), Plan::Free, at(14)).await.unwrap();
    let [again] = &pending(&fixture).await[..] else { unreachable!() };
    assert_eq!((again.status, again.last_notified), (UsageStatus::Exceeded, UsageStatus::Exceeded));
}

async fn who_has_a_chat_and_wants_to_hear(fixture: Fixture) {
    prepared(&fixture).await;
    let user = "U1".into();
    fixture.preload("C1", "U1", Plan::Free.quota()).await;
    fixture.store.accounts().set_plan(&user, Plan::Pro, at(9)).await.unwrap();
    let notice = async || pending(&fixture).await.remove(0);
    assert!(notice().await.chat.is_none());
    fixture.keep(&[said("C1", "a", 10, "x")], 10).await;
    let mut own = item("U1", 20, PresenceEvidenceKind::BotJoined);
    own.channel.kind = chatkeep_core::event::ChannelKind::User;
    fixture.store.members().record_presence(&[own.clone()], at(20)).await.unwrap();
    let (bot, chat) = notice().await.chat.unwrap();
    assert_eq!((bot, chat.id.as_str()), (own.bot.clone(), "U1"));
    own.at = at(30);
    own.kind = PresenceEvidenceKind::BotLeft;
    fixture.store.members().record_presence(&[own], at(30)).await.unwrap();
    assert!(notice().await.chat.is_none(), "they blocked the bot");

    assert!(notice().await.wanted);
    assert_eq!(fixture.store.accounts().wants_notices(&user).await.unwrap(), Some(true));
    assert!(fixture.store.accounts().set_notices_enabled(&user, false).await.unwrap());
    assert!(!notice().await.wanted);
    assert_eq!(fixture.store.accounts().wants_notices(&user).await.unwrap(), Some(false));
    assert!(!fixture.store.accounts().set_notices_enabled(&"nobody".into(), true).await.unwrap());
    assert_eq!(fixture.store.accounts().wants_notices(&"nobody".into()).await.unwrap(), None);
}

async fn pages_reach_every_notice_once(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2", "U3"]).await;
    for user in ["U1", "U2", "U3"] {
        fixture.subscribe("C1", user, 5).await;
    }
    let full = Plan::Free.quota() - 10;
    fixture.run(&format!("UPDATE users SET used_bytes = {full}")).await;
    fixture.keep(&[sized("C1", "a", 10, 60)], 10).await;
    let all: Vec<_> = pending(&fixture).await.into_iter().map(|notice| notice.id).collect();
    assert_eq!(all.len(), 3);
    let (mut paged, mut after) = (Vec::new(), None);
    // None of them is settled: the next page begins behind them all the same.
    while let Some(last) =
        fixture.store.accounts().pending_usage_notices(after, 1).await.unwrap().pop()
    {
        after = Some(last.id);
        paged.push(last.id);
    }
    assert_eq!(paged, all);
}
