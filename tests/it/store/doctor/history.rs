//! Counters stay true through any history of a store.

use chatkeep_core::plan::Plan;
use chatkeep_store::ImportId;

use super::super::{
    Fixture, at, delete_before, edited, erase_person, imported_text, on_both, said, unsent,
};
use super::{DoctorFixture, picture};

on_both!(counters_are_true_after_anything, clocks_that_disagree_change_nothing);

const IMPORT: ImportId = ImportId::new(1);
const CHANNELS: [&str; 3] = ["C1", "C2", "C3"];
const USERS: [&str; 3] = ["U1", "U2", "U3"];

/// Pseudorandom sequence that is the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        i64::try_from((self.0 >> 33) % bound).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

async fn counters_are_true_after_anything(fixture: Fixture) {
    let ward = DoctorFixture::new(fixture);
    for channel in CHANNELS {
        ward.fixture.group(channel, &USERS).await;
    }
    for seed in [3, 7, 11] {
        let mut chance = Chance(seed);
        for step in 0..60 {
            // Times go back, too: processes' clocks disagree.
            let now = 1_000 + step * 10 - chance.below(25);
            happen(&ward, &mut chance, seed, step, now).await;
        }
        ward.index_all().await;
        ward.doctor(true, false).await;
        let report = ward.doctor(false, true).await;
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
    let rows = "SELECT COUNT(*) FROM messages";
    assert!(ward.fixture.value(rows).await.parse::<i64>().unwrap() > 100);
}

/// Runs one of the possible operations; no counter may be wrong after it.
async fn happen(ward: &DoctorFixture, chance: &mut Chance, seed: u64, step: i64, now: i64) {
    let store = &ward.fixture.store;
    let (channel, user) = (chance.of(&CHANNELS), chance.of(&USERS));
    let sent = now - chance.below(40);
    let any = format!("m{seed}-{}", chance.below(60));
    match chance.below(14) {
        0..=3 => {
            let batch: Vec<_> = (0..chance.below(8))
                .map(|n| said(channel, &format!("m{seed}-{}", (step + n) % 60), sent, "some words"))
                .collect();
            store.messages().ingest(&batch, at(now)).await.unwrap();
        }
        4 => drop(
            store
                .messages()
                .ingest(&[edited(channel, &any, sent, "and other words")], at(now))
                .await
                .unwrap(),
        ),
        5 => drop(store.messages().ingest(&[unsent(channel, &any, sent)], at(now)).await.unwrap()),
        6 => {
            let id = format!("p{seed}-{}", step % 20);
            store.messages().ingest(&[picture(channel, &id, sent)], at(now)).await.unwrap();
        }
        7 => {
            let id = format!("p{seed}-{}", chance.below(20));
            let content = format!("picture {}", chance.below(4));
            ward.store_file(channel, &id, &content, Some("small"), now).await;
        }
        8 => {
            let id = format!("p{seed}-{}", chance.below(20));
            store.messages().ingest(&[unsent(channel, &id, sent)], at(now)).await.unwrap();
        }
        9 | 10 => {
            store.accounts().subscribe(&channel.into(), &user.into(), at(now)).await.unwrap();
        }
        11 => drop(
            store.accounts().unsubscribe(&channel.into(), &user.into(), at(now)).await.unwrap(),
        ),
        12 => other(ward, chance, seed, step, now).await,
        _ => {
            let all = [&format!("i{seed}-{step}"), &any]
                .map(|id| imported_text(id, sent, "U3", "imported"));
            store.imports().import(IMPORT, &channel.into(), &all, at(now)).await.unwrap();
        }
    }
    for channel in CHANNELS {
        let audit = store.audits().audit_channel(&channel.into()).await.unwrap().unwrap();
        assert!(audit.differences.is_empty(), "seed {seed}, step {step}: {:?}", audit.differences);
    }
    let users = store
        .audits()
        .audit_users(None, None, &std::collections::BTreeMap::new(), 10)
        .await
        .unwrap();
    assert!(users.iter().all(|user| user.differences.is_empty()), "{seed} {step}: {users:?}");
}

async fn other(ward: &DoctorFixture, chance: &mut Chance, seed: u64, step: i64, now: i64) {
    let store = &ward.fixture.store;
    let (channel, user) = (chance.of(&CHANNELS).into(), chance.of(&USERS).into());
    match (step + i64::try_from(seed).unwrap()) % 3 {
        0 => drop(delete_before(store, &channel, at(now - 100), at(now)).await),
        1 => drop(erase_person(store, &channel, &user, at(now), at(now)).await),
        _ => {
            let plan = if chance.below(2) == 0 { Plan::Free } else { Plan::Pro };
            store.accounts().set_plan(&user, plan, at(now)).await.unwrap();
        }
    }
}

/// One process' clock is ahead of the other's: messages stored by the first one are in the baseline
/// of a subscriber by the other one, and stay there when they go.
async fn clocks_that_disagree_change_nothing(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[said("C1", "ahead", 900, "x")], 1_000).await;
    fixture.keep(&[said("C1", "behind", 901, "y")], 900).await;
    fixture.subscribe("C1", "U2", 950).await;
    let clean = async || {
        let audit = fixture.store.audits().audit_channel(&"C1".into()).await.unwrap().unwrap();
        assert!(audit.differences.is_empty(), "{:?}", audit.differences);
    };
    clean().await;
    fixture.keep(&[unsent("C1", "ahead", 960)], 960).await;
    clean().await;
    assert_eq!(fixture.used("U2").await, 0);
}
