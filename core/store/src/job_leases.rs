//! Leases of periodic jobs that run in one process of the deployment at a time.
//!
//! Times are the database's own, for the clocks of several machines differ. A lease that ends later
//! than twice its time from now is none: the clock was set back since.

use async_recursion::async_recursion as boxed;

use std::time::Duration;

use super::db::Sql;
use super::processes::at_now;
use super::{JobStore, StoreError};
use crate::query::query;

const CLAIM: Sql = at_now!(
    "INSERT INTO job_leases (name, process_id, until)
     SELECT $1, $2, n.now + $3 FROM (SELECT ",
    " AS now) n WHERE TRUE
     ON CONFLICT (name) DO UPDATE SET process_id = excluded.process_id, until = excluded.until
     WHERE job_leases.process_id = excluded.process_id
        OR job_leases.until <= excluded.until - $3
        OR job_leases.until > excluded.until + $3"
);
const TAKE_OVER: Sql = at_now!(
    "UPDATE job_leases SET process_id = $2, until = n.now + $3 FROM (SELECT ",
    " AS now) n WHERE name = $1 AND (until <= n.now OR until > n.now + $3 + $3)"
);
const RELEASE: &str = "DELETE FROM job_leases WHERE name = $1 AND process_id = $2";

impl JobStore<'_> {
    /// Takes the lease of a job for a process, or extends it, by `time` from now. Returns `false`
    /// while another process holds it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn take_job_lease(
        &self,
        name: &str,
        process: &str,
        time: Duration,
    ) -> Result<bool, StoreError> {
        self.lease_job(CLAIM, name, process, time).await
    }

    /// Takes the lease of a job, as [`Self::take_job_lease`] does, if it ended without being
    /// released: the process that held it died, or lost the database. Returns `false` while it is
    /// held, and once it is released.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn take_over_job_lease(
        &self,
        name: &str,
        process: &str,
        time: Duration,
    ) -> Result<bool, StoreError> {
        self.lease_job(TAKE_OVER, name, process, time).await
    }

    async fn lease_job(
        &self,
        sql: Sql,
        name: &str,
        process: &str,
        time: Duration,
    ) -> Result<bool, StoreError> {
        let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let mut tx = self.store.db.begin().await?;
        let taken = tx.execute(query(sql).bind(name).bind(process).bind(time)).await?;
        tx.commit().await?;
        Ok(taken > 0)
    }

    /// Releases the lease of a job, if the process still holds it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn release_job_lease(&self, name: &str, process: &str) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RELEASE).bind(name).bind(process)).await?;
        tx.commit().await
    }
}
