//! Owner of the streams: the description of `EVENTS` names it, which every server has.

use std::sync::PoisonError;

use async_nats::jetstream::stream::Config;
use tokio::time::timeout;

use super::{CONFIRM, NatsBus, unavailable};
use crate::{BusError, BusOwner, Stream};

impl NatsBus {
    /// Claims the streams for a database; refused ones are not used until a further claim succeeds.
    pub(crate) async fn claim(&self, owner: &BusOwner) -> Result<(), BusError> {
        let claimed = self.answered(self.claim_events(owner)).await;
        match &claimed {
            Ok(()) => self.set_foreign(None),
            Err(BusError::Foreign(whose)) => self.set_foreign(Some(whose)),
            Err(_) => {}
        }
        claimed
    }

    /// Gives the streams to a database, whoever has them.
    pub(crate) async fn adopt(&self, owner: &BusOwner) -> Result<(), BusError> {
        self.answered(self.name_owner(owner)).await?;
        self.set_foreign(None);
        Ok(())
    }

    /// Checks that no claim of this process was refused.
    pub(super) fn check_owner(&self) -> Result<(), BusError> {
        let foreign = *self.inner.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        foreign.map_or(Ok(()), |whose| Err(BusError::Foreign(whose)))
    }

    fn set_foreign(&self, whose: Option<&'static str>) {
        *self.inner.foreign.lock().unwrap_or_else(PoisonError::into_inner) = whose;
    }

    async fn claim_events(&self, owner: &BusOwner) -> Result<(), BusError> {
        let found = self.events().await?;
        let known = found.description.as_deref().and_then(BusOwner::parse);
        if known.as_ref() == Some(owner) {
            self.remember(owner);
            return Ok(());
        }
        if let Some(known) = known {
            known.admit(owner)?;
        }
        self.name_owner(owner).await?;
        // Another one may have done so at the same moment: the last one has it.
        let written = self.events().await?;
        let written = written.description.as_deref().and_then(BusOwner::parse);
        written.map_or(Ok(()), |written| written.admit(owner))
    }

    async fn name_owner(&self, owner: &BusOwner) -> Result<(), BusError> {
        // What is set up anew meanwhile has the owner, too.
        self.remember(owner);
        let _one_at_a_time = self.inner.specs.lock().await;
        let config = Config { description: Some(owner.text()), ..self.events().await? };
        let updated = self.inner.context.update_stream(config).await;
        updated.map(drop).map_err(|error| unavailable(&error))
    }

    /// Returns the settings of the stream of events.
    async fn events(&self) -> Result<Config, BusError> {
        let stream = self.inner.context.get_stream(Stream::Events.name()).await;
        Ok(stream.map_err(|error| unavailable(&error))?.cached_info().config.clone())
    }

    fn remember(&self, owner: &BusOwner) {
        let mut known = self.inner.owner.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(owner.text());
    }

    /// Returns the description of streams that are created.
    pub(super) fn owner_text(&self) -> Option<String> {
        self.inner.owner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a request also while the streams are another database's.
    async fn answered<T>(
        &self,
        request: impl Future<Output = Result<T, BusError>>,
    ) -> Result<T, BusError> {
        self.check_connection()?;
        let unanswered = |_| BusError::Unavailable("no confirmation in time".into());
        timeout(CONFIRM, request).await.map_err(unanswered)?
    }
}
