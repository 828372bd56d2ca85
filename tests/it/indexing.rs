//! The indexer when something goes wrong between reading a channel and committing it.

use std::collections::BTreeMap;

use chatkeep_core::store::ChannelChange;
use chatkeep_workers::indexer::{Indexer, rebuild};
use chatkeep_workers::jobs::IndexJob;
use chatkeep_workers::{Outcome, Stage as _};
use tempfile::TempDir;

use crate::store::{Fixture, at, said};

/// More than the indexer reads at once.
const MANY: usize = 4_500;

/// An indexer in this process, over a store of one group that is kept.
struct Ground {
    fixture: Fixture,
    folder: TempDir,
    indexer: Indexer,
}

impl Ground {
    async fn new() -> Self {
        let (fixture, folder) = (Fixture::sqlite().await, TempDir::new().unwrap());
        for channel in ["C1", "C2"] {
            fixture.group(channel, &["U1"]).await;
            fixture.subscribe(channel, "U1", 2).await;
        }
        let indexer = Indexer::open(fixture.store.clone(), folder.path().join("index"));
        let indexer = indexer.await.unwrap();
        Self { fixture, folder, indexer }
    }

    async fn keep(&self, channel: &str, messages: usize) {
        let all = (0..messages).map(|number| said(channel, &number.to_string(), 5, "hello"));
        self.fixture.keep(&all.collect::<Vec<ChannelChange>>(), 5).await;
    }

    async fn handle(&self, messages: &[(&str, &str)], channels: &[&str]) -> Outcome {
        let job = IndexJob {
            v: 1,
            messages: messages.iter().map(|&(c, m)| (c.into(), m.into())).collect(),
            channels: channels.iter().map(|&channel| channel.into()).collect(),
        };
        self.indexer.handle(&[job]).await.remove(0)
    }

    /// Messages in the index, by channel.
    fn found(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for key in self.indexer.index().keys(None, usize::MAX).unwrap() {
            *found.entry(key.channel_id).or_default() += key.copies;
        }
        found
    }
}

#[tokio::test]
async fn nothing_is_lost_when_a_rebuilt_index_takes_over() {
    let ground = Ground::new().await;
    assert!(
        rebuild(&ground.fixture.store, ground.folder.path().join("index"), |_| ()).await.unwrap()
    );
    // The rebuilt index has nothing of this, and the indexer still writes the one before.
    ground.keep("C1", MANY).await;
    assert_eq!(ground.handle(&[], &["C1"]).await, Outcome::Done);
    assert_eq!(ground.found(), BTreeMap::from([("C1".to_owned(), MANY)]));
}

#[tokio::test]
async fn half_of_a_channel_is_never_committed() {
    let ground = Ground::new().await;
    ground.keep("C1", MANY).await;
    assert_eq!(ground.handle(&[], &["C1"]).await, Outcome::Done);
    ground.keep("C2", 1).await;

    let fixture = &ground.fixture;
    fixture.store.ask_reindexing("a", &"C1".into(), at(9)).await.unwrap();
    let fail =
        "CREATE TRIGGER fail BEFORE UPDATE ON reindexings BEGIN SELECT RAISE(FAIL, 'no'); END";
    fixture.run(fail).await;
    assert_ne!(ground.handle(&[], &["C1"]).await, Outcome::Done, "after the first page");
    assert_eq!(ground.handle(&[("C2", "0")], &[]).await, Outcome::Done);
    let both = BTreeMap::from([("C1".to_owned(), MANY), ("C2".to_owned(), 1)]);
    assert_eq!(ground.found(), both);

    fixture.run("DROP TRIGGER fail").await;
    assert_eq!(ground.handle(&[], &["C1"]).await, Outcome::Done);
    let watched = fixture.store.reindexing("a").await.unwrap().unwrap();
    assert_eq!((watched.done, watched.ended), (4_500, true));
    assert_eq!(ground.found(), both);
}
