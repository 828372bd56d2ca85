//! A channel's messages as one document, which is written as they are read.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::{Channel, ReadAction, Store};
use chatkeep_transfer::pack::{ExportTarget, PackProgress, pack};
use chatkeep_transfer::{Export, Format, MediaLinks, MediaSource, TransferError, export};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chatkeep_view::when::When;
use chrono_tz::Tz;
use futures_util::stream::{BoxStream, StreamExt as _};

use super::access::{ChannelAccess, Member, ReadMessages};
use super::documents::{self, DocumentError, permitted};
use super::messages::point_in_time;
use super::operator::Operator;
use super::user_permits::UserPermits;
use super::{FieldPath, ServiceError};

/// Request for an export.
#[derive(Clone, Copy, Debug)]
pub struct ExportRequest {
    /// Format of the document.
    pub format: Format,
    /// Sent at or after this time; read in the channel's zone.
    pub from: Option<When>,
    /// Sent before this time; read in the channel's zone.
    pub to: Option<When>,
    /// Language of a page for reading.
    pub language: Language,
}

/// Request for an export to a target.
#[derive(Debug)]
pub struct PackRequest<'a> {
    /// Format of the document.
    pub format: Format,
    /// Earliest time of sending.
    pub from: Option<Timestamp>,
    /// Time before which messages were sent.
    pub to: Option<Timestamp>,
    /// Time zone of days and of the times on a page.
    pub zone: Tz,
    /// Language of a page for reading.
    pub language: Language,
    /// Source of the files, for a target that takes them.
    pub media: Option<Arc<dyn MediaSource>>,
    /// Destination.
    pub target: &'a ExportTarget,
}

/// Exports. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ExportService {
    store: Store,
    /// Zone of channels without one of their own.
    time_zone: Tz,
    /// Addresses of the messages' pages.
    links: Links,
    permits: UserPermits,
}

impl ExportService {
    /// Creates the service; commands have it without the others.
    pub fn new(store: Store, time_zone: Tz, links: Links) -> Self {
        Self { store, time_zone, links, permits: documents::permits() }
    }

    /// Returns the permits of documents that are written while they are sent.
    pub(super) fn permits(&self) -> UserPermits {
        self.permits.clone()
    }

    /// Writes the messages of any channel to a target, with their files where it takes them.
    ///
    /// # Errors
    /// Returns an error when the store or the media store fails, or the target cannot be written;
    /// nothing is left of it then.
    pub async fn pack(
        &self,
        _: &Operator,
        channel: &Channel,
        request: PackRequest<'_>,
        watch: impl FnMut(PackProgress),
    ) -> Result<PackProgress, TransferError> {
        let PackRequest { format, from, to, zone, language, media, target } = request;
        let wanted = Export {
            format,
            from,
            to,
            not_before: None,
            zone,
            language,
            media: MediaLinks::None,
            links: self.links.clone(),
            mask: Mask::none(),
        };
        pack(&self.store, &channel.id, wanted, media, target, watch).await
    }

    /// Exports the messages sent until now of a channel that the caller may read, oldest first. An
    /// error in the stream ends the document half-way, also once the caller may not read them any
    /// more.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a time beyond the range of a calendar,
    /// [`ServiceError::Unavailable`] when too many documents are being sent, or too many to this
    /// user.
    #[boxed]
    pub async fn document(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        request: ExportRequest,
    ) -> Result<BoxStream<'static, Result<Bytes, DocumentError>>, ServiceError> {
        let permit = self.permits.take(access.user()).ok_or(ServiceError::Unavailable)?;
        let (zone, from, before) = self.range(access, request, access.now()).await?;
        let wanted = Export {
            format: request.format,
            from,
            to: Some(before),
            not_before: access.not_before(),
            zone,
            language: request.language,
            media: MediaLinks::None,
            links: self.links.clone(),
            mask: access.caller.mask.clone(),
        };
        let channel = access.read(ReadAction::Export).clone();
        let document = export(self.store.clone(), channel, wanted).boxed();
        Ok(permitted(document, access.clone(), permit))
    }

    /// Returns the number of messages that an export would have now.
    ///
    /// # Errors
    /// Those of [`Self::document`].
    #[boxed]
    pub async fn count(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        request: ExportRequest,
    ) -> Result<i64, ServiceError> {
        let (_, from, before) = self.range(access, request, access.now()).await?;
        Ok(self.store.messages().count(access.without_reading(), from, Some(before)).await?)
    }

    /// Returns the channel's zone, and the times between which messages are exported: none that are
    /// sent later than now.
    pub(super) async fn range(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        request: ExportRequest,
        now: Timestamp,
    ) -> Result<(Tz, Option<Timestamp>, Timestamp), ServiceError> {
        let channel = self.store.channels().channel(access.without_reading()).await?;
        let zone = channel.ok_or(ServiceError::PermissionDenied)?.zone(self.time_zone);
        let from = point_in_time(FieldPath::FROM, request.from, zone)?.max(access.not_before());
        let to = point_in_time(FieldPath::TO, request.to, zone)?;
        Ok((zone, from, to.map_or(now, |to| to.min(now))))
    }
}
