//! The assistant's settings.

pub(super) mod config;
pub(super) mod past;
pub(super) mod qa;
pub(super) mod texts;
pub(super) mod trial;

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_services::assistant::SettingRevision;
use serde::Serialize;
use utoipa::ToSchema;

/// The fields of [`RevisionView`].
const REVISION: [&str; 2] = ["updatedAt", "updatedBy"];

/// Last change of a settings object.
#[derive(Serialize, ToSchema)]
#[schema(as = Revision)]
#[serde(rename_all = "camelCase")]
struct RevisionView {
    /// Time of the last change; before the first change, the time at which the channel was first
    /// seen.
    updated_at: Timestamp,
    /// ID of the user who made the last change; `system` before the first.
    updated_by: UserId,
}

impl From<SettingRevision> for RevisionView {
    fn from(revision: SettingRevision) -> Self {
        Self { updated_at: revision.updated_at, updated_by: revision.updated_by }
    }
}
