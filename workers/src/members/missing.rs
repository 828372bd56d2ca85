//! Names that the platform did not tell when they were asked for: it was away or slow, and nothing
//! may ever come from these people and chats again.

use std::time::Duration;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::{Store, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::cursor::Cursor;
use super::names::NameFetcher;
use crate::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob};

/// Maximum number of people, and of chats, that are asked about in one run.
const PAGE: u32 = 1_000;

/// Fetches the names of members and channels that were never fetched.
#[derive(Debug)]
pub struct MissingNames {
    names: NameFetcher,
    people: Cursor<UserId>,
    channels: Cursor<ChannelId>,
}

impl MissingNames {
    /// Creates the job.
    pub fn new(store: Store, bots: Bots, clock: SharedClock) -> Self {
        let names = NameFetcher::new(store, bots, clock);
        Self { names, people: Cursor::new(PAGE), channels: Cursor::new(PAGE) }
    }

    /// Asks about the next people and chats without a name, and returns how many of them have one
    /// now.
    async fn fetch(&self) -> Result<(usize, usize), StoreError> {
        let (people, channels) = tokio::join!(self.people(), self.channels());
        Ok((people?, channels?))
    }

    async fn people(&self) -> Result<usize, StoreError> {
        let after = self.people.get();
        let people = self.names.store.members().nameless(after.as_ref(), PAGE).await?;
        self.people.pass(&people, |one| one.user.clone());
        self.names.fetch_people(&people).await
    }

    async fn channels(&self) -> Result<usize, StoreError> {
        let after = self.channels.get();
        let channels = self.names.store.channels().nameless(after.as_ref(), PAGE).await?;
        self.channels.pass(&channels, |one| one.channel.id.clone());
        self.names.fetch_channels(&channels).await
    }
}

impl PeriodicJob for MissingNames {
    const NAME: &'static str = "missing_names";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot look for people and chats without names";
    const SCOPE: JobScope = JobScope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Later;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.fetch()).await.transpose()? {
            None | Some((0, 0)) => {}
            Some((people, chats)) => info!(people, chats, "fetched missing names"),
        }
        Ok(())
    }
}
