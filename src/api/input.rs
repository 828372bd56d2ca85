//! Forms of what callers write, for the documentation; the services check them.

use utoipa::ToSchema;

/// Keyword of a rule.
#[derive(ToSchema)]
#[schema(min_length = 1, max_length = 100, pattern = r"[^\s\u0000\u0085]")]
pub(super) struct Keyword(#[expect(dead_code, reason = "only its form is used")] String);

/// ID of a channel.
#[derive(ToSchema)]
#[schema(min_length = 2, max_length = 100, pattern = r"^([CRU]|[a-z0-9]+:)[!-~]+$")]
pub(super) struct ChannelName(#[expect(dead_code, reason = "only its form is used")] String);
