//! Body of error responses.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Body that [`super::respond::finish`] writes.
#[derive(Clone, Debug)]
pub(super) struct ErrorBody {
    pub(super) error: Cow<'static, str>,
    pub(super) code: &'static str,
    pub(super) field: Option<Cow<'static, str>>,
    pub(super) retry_after: Option<u64>,
    /// Additional members of one response.
    pub(super) more: Map<String, Value>,
}

/// Body of every error response.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView<'a> {
    /// Human-readable message.
    pub(super) error: &'a str,
    /// Stable machine-readable error code.
    pub(super) code: &'a str,
    /// Location of the invalid, missing or unknown value: in a body its JSON Pointer, such as
    /// `/assistant/qa/mode` or `/keywords/0` (empty for the whole body), otherwise the name of the
    /// parameter or header.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) field: Option<&'a str>,
    /// Seconds to wait before trying again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) retry_after: Option<u64>,
    /// ID of the request, as in the service's log.
    pub(super) request_id: &'a str,
}
