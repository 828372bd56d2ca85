//! Check of a permission that was given before: for what is sent over a longer time.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::{Bounds, Subject};

use super::{AccessService, AtLeast, Caller, ChannelAccess, Credential, HasScope, Scoped};
use crate::ServiceError;

impl<R: AtLeast, S: HasScope> ChannelAccess<R, S> {
    /// Checks once more what was checked when the access was given, and that the credential was not
    /// taken back since.
    ///
    /// # Errors
    /// Those of [`AccessService::channel`].
    pub(crate) async fn still_granted(&self) -> Result<(), ServiceError> {
        self.service.still_holds(&self.caller, &Subject::of_itself(Some(S::SCOPE))).await?;
        let role = self.service.role(&self.caller, &self.channel).await?;
        if role < R::ROLE { Err(ServiceError::PermissionDenied) } else { Ok(()) }
    }
}

impl<S: HasScope> Scoped<S> {
    /// Checks once more what was checked when the access was given, and that the credential was not
    /// taken back since.
    ///
    /// # Errors
    /// Those of [`AccessService::scoped`].
    pub(crate) async fn still_granted(&self) -> Result<(), ServiceError> {
        self.service.still_holds(&self.caller, &Subject::of_itself(Some(S::SCOPE))).await
    }
}

impl AccessService {
    /// Checks that a credential still exists, with the bounds that its caller has, and covers the
    /// subject.
    #[boxed]
    async fn still_holds(
        &self,
        caller: &Caller,
        subject: &Subject<'_>,
    ) -> Result<(), ServiceError> {
        let now = self.clock.now();
        caller.admit(subject, now)?;
        let user = &caller.user;
        let holds = match &caller.credential {
            Credential::Key(id) => {
                let key = self.store.keys().key_of(user, id).await?;
                // A key that is replaced ends earlier than it would have.
                key.map(|key| key.bounds()).is_some_and(|bounds| {
                    !bounds.ended(now) && endless(&bounds) == endless(&caller.bounds)
                })
            }
            // The scopes and channels of a consent never change.
            Credential::Token { grant, .. } => self.store.oauth().has_consent(user, grant).await?,
            Credential::Session(id) => self.store.sessions().has_session(user, id).await?,
        };
        if holds { Ok(()) } else { Err(ServiceError::InvalidKey) }
    }
}

/// Returns bounds without their end.
fn endless(bounds: &Bounds) -> Bounds {
    Bounds { expires_at: None, ..bounds.clone() }
}
