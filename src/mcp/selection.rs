//! Channels that a call is about: one that it names, or all that the caller may read.

use chatkeep_core::id::ChannelId;
use chatkeep_services::access::{ReadMessages, Scoped};
use chatkeep_services::gaps::TimeSpan;
use chatkeep_services::{Caller, Services};
use chrono_tz::Tz;

use super::channel::{self, OpenChannel, default_zone};
use super::channel_table::ChannelTable;
use super::error::ToolError;
use super::gap::GapRows;
use super::result_builder::ResultBuilder;
use super::time::AnswerZone;

/// Channels of a call.
pub(super) struct Selection {
    pub(super) access: Scoped<ReadMessages>,
    only: Option<OpenChannel<ReadMessages>>,
    /// All of them.
    pub(super) ids: Vec<ChannelId>,
    /// Their time zones, each once.
    pub(super) zones: Vec<Tz>,
    /// Names and numbers that refer to them.
    table: ChannelTable,
}

impl Selection {
    /// Opens the channel that a text names, or all that the caller may read.
    ///
    /// # Errors
    /// Returns an error without the scope, as of [`channel::open`], and when the store fails.
    pub(super) async fn open(
        services: &Services,
        caller: Caller,
        given: Option<&str>,
    ) -> Result<Self, ToolError> {
        let access = services.access.scoped::<ReadMessages>(caller.clone())?;
        if let Some(given) = given {
            let only = channel::open::<ReadMessages>(services, caller, given).await?;
            let known = services.channels.one(&only.access).await?;
            let table = channel::table_of_one(&known, only.zone);
            let (ids, zones) = (vec![only.id().clone()], vec![only.zone.0]);
            return Ok(Self { access, ids, zones, only: Some(only), table });
        }
        let names = services.channels.names(&caller).await?;
        let table = channel::table_of(services, &names);
        let mut zones: Vec<_> =
            names.iter().map(|channel| channel::zone_of(services, channel).0).collect();
        zones.sort_unstable_by_key(|zone| zone.name());
        zones.dedup();
        let ids = names.into_iter().map(|channel| channel.into_row().id).collect();
        Ok(Self { access, only: None, ids, zones, table })
    }

    /// Returns the one channel; `None` for all.
    pub(super) fn only(&self) -> Option<&ChannelId> {
        self.only.as_ref().map(OpenChannel::id)
    }

    /// Returns the id of the one channel if it was given otherwise.
    pub(super) fn resolved_id(&self) -> Option<String> {
        self.only.as_ref().and_then(OpenChannel::resolved_id)
    }

    /// Returns the zone of the one channel; of all channels the service's.
    pub(super) fn zone(&self, services: &Services) -> AnswerZone {
        self.only.as_ref().map_or_else(|| default_zone(services), |only| only.zone)
    }

    /// Returns the gaps of the channels in a time, whose cost comes before that of the rows; the
    /// channels that they name are in the builder's table, which knows all of them then.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn gaps(
        &mut self,
        services: &Services,
        span: TimeSpan,
        builder: &mut ResultBuilder<'_>,
    ) -> Result<GapRows, ToolError> {
        builder.channels = std::mem::take(&mut self.table);
        let (bounds, zone) = (&self.access.caller.bounds, builder.zone());
        let gaps = services.messages.gaps_of(bounds, &self.ids, span).await?;
        let rows = match &self.only {
            Some(_) => GapRows::of_channel(&gaps, zone),
            None => GapRows::of_channels(&gaps, zone, &mut builder.channels),
        };
        builder.spend_gaps(&rows);
        builder.spend_channels();
        Ok(rows)
    }
}
