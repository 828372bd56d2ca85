//! Compiled assistants: shared, and the same in every process within a second of a change.

use std::sync::Arc;

use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::id::{ChannelId, RuleId};
use chatkeep_core::time::SystemClock;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_store::RuleChange;
use chatkeep_workers::assistant::{Assistants, Decision};
use tokio_util::sync::CancellationToken;

use crate::harness::nats::Nats;
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{Fixture, at, on_both};

on_both!(
    a_change_is_seen_here_at_once_and_by_notice_elsewhere,
    a_change_is_seen_without_a_notice,
    many_messages_share_what_is_compiled,
);

async fn bus(nats: &Nats) -> Bus {
    let clock = Arc::new(SystemClock);
    Bus::Nats(NatsBus::connect(&nats.url(), BusLimits::default(), clock).await.unwrap())
}

fn assistants(fixture: &Fixture) -> Assistants {
    Assistants::new(fixture.store.clone(), SemanticSpace::built_in())
}

async fn add_rule(fixture: &Fixture, keyword: &str) {
    let draft = RuleDraft {
        keywords: vec![keyword.to_owned()],
        answer: "yes".to_owned(),
        ..RuleDraft::default()
    };
    let id = RuleId::new(format!("qa_1_{keyword}"));
    let add = RuleChange::Add(&id, &draft);
    fixture
        .store
        .assistant()
        .change_rule(&channel(), add, None, &"U1".into(), at(6))
        .await
        .unwrap();
}

fn channel() -> ChannelId {
    "C1".into()
}

async fn answers(assistants: &Assistants, text: &str) -> bool {
    let compiled = assistants.of(&channel()).await.unwrap();
    compiled.is_some_and(|compiled| matches!(compiled.decide(text), Decision::Answer(_)))
}

async fn a_change_is_seen_here_at_once_and_by_notice_elsewhere(fixture: Fixture) {
    let nats = Nats::start().await;
    let (near, far) = (bus(&nats).await, bus(&nats).await);
    let (here, there) = (assistants(&fixture), assistants(&fixture));
    let stop = CancellationToken::new();
    tokio::spawn(there.listen(&far, stop.clone()).await.unwrap());
    fixture.group("C1", &["U1"]).await;
    for keyword in ["one", "two", "three"] {
        assert!(!answers(&here, keyword).await && !answers(&there, keyword).await);
        add_rule(&fixture, keyword).await;
        here.changed(&channel(), &near).await;
        assert!(answers(&here, keyword).await, "{keyword}");
        until("the other process knows", DEADLINE, async || answers(&there, keyword).await).await;
    }
    stop.cancel();
}

async fn a_change_is_seen_without_a_notice(fixture: Fixture) {
    let assistants = assistants(&fixture);
    fixture.group("C1", &["U1"]).await;
    assert!(assistants.of(&channel()).await.unwrap().is_none());
    for keyword in ["one", "two"] {
        add_rule(&fixture, keyword).await;
        until("it has looked", DEADLINE, async || answers(&assistants, keyword).await).await;
    }
}

async fn many_messages_share_what_is_compiled(fixture: Fixture) {
    let assistants = assistants(&fixture);
    fixture.group("C1", &["U1"]).await;
    add_rule(&fixture, "one").await;
    let channel = channel();
    let asked = (0..16).map(|_| assistants.of(&channel));
    let compiled = futures_util::future::join_all(asked).await;
    let compiled: Vec<_> = compiled.into_iter().map(|found| found.unwrap().unwrap()).collect();
    assert!(compiled.iter().all(|one| Arc::ptr_eq(one, &compiled[0])));
}
