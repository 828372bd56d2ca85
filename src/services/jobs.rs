//! Jobs of a channel by their ids: deletions, erasures and exports.

use async_recursion::async_recursion as boxed;
use chatkeep_store::{ChannelJob, ExportJob};

use super::access::JobAccess;
use super::export_jobs::EXPORT_ID;
use super::{ServiceError, Services};

/// Job of a channel.
#[derive(Clone, Debug)]
pub enum Job {
    /// Deletion or erasure.
    Removal(ChannelJob),
    /// Export.
    Export(ExportJob),
}

impl Services {
    /// Returns a job of a channel that the caller may see. The beginning of its id says of which kind
    /// it is.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] without access to jobs of that kind, and as
    /// [`deletion`](super::deletion::DeletionService::job) and
    /// [`exports`](super::export_jobs::ExportJobService::export) do.
    #[boxed]
    pub async fn job(&self, access: &JobAccess, id: &str) -> Result<Job, ServiceError> {
        if id.starts_with(EXPORT_ID) {
            let exports = access.exports.as_ref().ok_or(ServiceError::PermissionDenied)?;
            return Ok(Job::Export(self.export_jobs.export(exports, id).await?));
        }
        let removals = access.removals.as_ref().ok_or(ServiceError::PermissionDenied)?;
        Ok(Job::Removal(self.deletion.job(removals, id).await?))
    }
}
