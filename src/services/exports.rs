//! A channel's messages as one document, which is written as they are read.

use bytes::Bytes;
use chatkeep_store::{ReadAction, Store};
use chrono_tz::Tz;
use futures_util::Stream;

use super::access::{ChannelAccess, Member, ReadMessages};
use super::messages::point_in_time;
use super::{FieldPath, ServiceError};
use crate::transfer::{Export, Format, MediaLinks, TransferError, export};
use crate::view::Links;
use crate::when::When;

/// Request for an export.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExportRequest {
    /// Format of the document.
    pub(crate) format: Format,
    /// Sent at or after this time; read in the channel's zone.
    pub(crate) from: Option<When>,
    /// Sent before this time; read in the channel's zone.
    pub(crate) to: Option<When>,
}

/// Exports. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ExportService {
    store: Store,
    /// Zone of channels without one of their own.
    time_zone: Tz,
    /// Addresses of the messages' pages.
    links: Links,
}

impl ExportService {
    pub(super) const fn new(store: Store, time_zone: Tz, links: Links) -> Self {
        Self { store, time_zone, links }
    }

    /// Exports the messages of a channel that the caller may read, oldest first. An error in the
    /// stream ends the document half-way.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a time beyond the range of a calendar.
    pub(crate) async fn document(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        request: ExportRequest,
    ) -> Result<
        impl Stream<Item = Result<Bytes, TransferError>> + Send + 'static + use<>,
        ServiceError,
    > {
        let channel = self.store.channels().channel(access.without_reading()).await?;
        let zone = channel.ok_or(ServiceError::PermissionDenied)?.zone(self.time_zone);
        let wanted = Export {
            format: request.format,
            from: point_in_time(FieldPath::FROM, request.from, zone)?.max(access.not_before()),
            to: point_in_time(FieldPath::TO, request.to, zone)?,
            not_before: access.not_before(),
            zone,
            media: MediaLinks::None,
            links: self.links.clone(),
        };
        let channel = access.read(ReadAction::Export).clone();
        Ok(export(self.store.clone(), channel, wanted))
    }
}
