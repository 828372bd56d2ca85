//! Access to the jobs of a channel, of which each kind needs another scope.

use std::marker::PhantomData;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Subject;
use chatkeep_core::id::ChannelId;

use super::{
    AccessService, AtLeast as _, Caller, ChannelAccess, HasScope as _, Member, Reaches,
    ReadMessages, WriteBackup,
};
use crate::ServiceError;

/// A caller who may see a channel, with a credential for one kind of its jobs at least; the use case
/// decides who may see which.
#[derive(Clone, Debug)]
pub struct JobAccess {
    /// Access to deletions and erasures, with the scope for them.
    pub(crate) removals: Option<Reaches<WriteBackup>>,
    /// Access to exports, with the scope for them and as a member.
    pub(crate) exports: Option<ChannelAccess<Member, ReadMessages>>,
}

impl AccessService {
    /// Checks that the caller's credential has the scope for one kind of jobs at least, before
    /// anything is looked up.
    ///
    /// # Errors
    /// [`ServiceError::InsufficientPermissions`] without a scope, [`ServiceError::InvalidKey`] when
    /// the credential has ended.
    pub fn any_jobs(&self, caller: &Caller) -> Result<(), ServiceError> {
        match self.scoped::<WriteBackup>(caller.clone()) {
            Err(ServiceError::InsufficientPermissions) => {
                self.scoped::<ReadMessages>(caller.clone()).map(drop)
            }
            other => other.map(drop),
        }
    }

    /// Checks what the caller may see of the jobs of a channel.
    ///
    /// # Errors
    /// Those of [`Self::any_jobs`]; [`ServiceError::PermissionDenied`] for a channel that the
    /// credential is not valid for, or without either access.
    #[boxed]
    pub async fn jobs(
        &self,
        caller: Caller,
        channel: ChannelId,
    ) -> Result<JobAccess, ServiceError> {
        self.any_jobs(&caller)?;
        let role = match self.role(&caller, &channel).await {
            Ok(role) => Some(role),
            Err(ServiceError::PermissionDenied) => None,
            Err(error) => return Err(error),
        };
        // Nothing of a channel that the credential is not valid for.
        caller.admit(&Subject::of_channel(&channel, None), self.clock.now())?;
        let has = |scope| caller.bounds.has(scope);
        let removals = has(WriteBackup::SCOPE).then(|| Reaches {
            channel: channel.clone(),
            caller: caller.clone(),
            role,
            proof: PhantomData,
        });
        let role = role.filter(|role| has(ReadMessages::SCOPE) && *role >= Member::ROLE);
        let exports = role.map(|role| ChannelAccess {
            channel,
            caller,
            role,
            service: self.clone(),
            recorder: self.recorder(),
            proof: PhantomData,
        });
        if removals.is_none() && exports.is_none() {
            return Err(ServiceError::PermissionDenied);
        }
        Ok(JobAccess { removals, exports })
    }
}
