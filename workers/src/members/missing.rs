//! Names that the platform did not tell when they were asked for: it was away or slow, and their
//! owners may never write again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::id::UserId;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::Members;
use crate::periodic::{FirstRun, JobFailure, PeriodicJob, Scope};

/// Maximum number of people who are asked about in one run.
const PAGE: u32 = 1_000;

/// Fetches the profiles of members that were never fetched.
#[derive(Debug)]
pub struct MissingNames {
    members: Members,
    /// Last person of the run before: the next run goes on there, so that those whom the platform
    /// refuses are in nobody's way.
    last: Mutex<Option<UserId>>,
}

impl MissingNames {
    /// Creates the job.
    pub fn new(store: Store, bots: Bots, clock: SharedClock) -> Self {
        Self { members: Members::new(store, bots, clock, 1), last: Mutex::default() }
    }

    /// Asks about the next people without a profile, and returns how many have a name now.
    async fn fetch(&self) -> Result<usize, JobFailure> {
        let after = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let people = self.members.store.members().nameless(after.as_ref(), PAGE).await?;
        let is_last_page = people.len() < PAGE as usize;
        let last = people.last().filter(|_| !is_last_page).map(|one| one.user.clone());
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
        Ok(self.members.name(&people).await?)
    }
}

impl PeriodicJob for MissingNames {
    const NAME: &'static str = "missing_names";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot look for people without names";
    const SCOPE: Scope = Scope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Later;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.fetch()).await.transpose()? {
            None | Some(0) => {}
            Some(people) => info!(people, "names fetched that were missing"),
        }
        Ok(())
    }
}
