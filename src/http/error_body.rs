//! Body of error responses.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::error_code::ErrorCode;

/// Body that [`super::respond::finish`] writes.
#[derive(Clone, Debug)]
pub(super) struct ErrorBody {
    pub(super) error: Cow<'static, str>,
    pub(super) code: ErrorCode,
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
    /// Stable machine-readable error code. Further ones may be added. Known ones:
    /// `invalid_request`, `invalid_body`, `login_not_pending`, `rules_too_large`, `too_many_rules`,
    /// `invalid_api_key`, `invalid_signature`, `login_unconfirmed`, `not_signed_in`, `forged`,
    /// `host_not_allowed`, `insufficient_permissions`, `invalid_csrf_token`, `login_denied`,
    /// `origin_not_allowed`, `permission_denied`, `plan_required`, `pseudonymous_key`,
    /// `media_erased`, `media_expired`, `media_failed`, `media_missing`, `media_pending`,
    /// `media_skipped`, `no_preview`, `not_found`, `unknown_api_version`, `method_not_allowed`,
    /// `not_acceptable`, `request_timeout`, `answer_not_kept`, `conflict`, `request_interrupted`,
    /// `too_many_keys`, `cursor_expired`, `precondition_failed`, `body_too_large`, `uri_too_long`,
    /// `unsupported_media_type`, `range_not_satisfiable`, `idempotency_key_reused`, `rate_limited`,
    /// `headers_too_large`, `internal`, `unavailable`.
    #[schema(value_type = String)]
    pub(super) code: ErrorCode,
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
