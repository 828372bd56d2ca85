//! Forms of what callers write, for the documentation; the services check them.
//!
//! A keyword has at least one character that can be seen: the pattern leaves out white space and what
//! Unicode calls ignorable, as far as a pattern of 16-bit units can.

use utoipa::ToSchema;

/// Keyword of a rule.
#[derive(ToSchema)]
#[schema(
    min_length = 1,
    max_length = 100,
    pattern = r"[^\s\u0000\u0085\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8]"
)]
pub(super) struct Keyword(#[expect(dead_code, reason = "only its form is used")] String);

/// Text that a rule must not answer.
#[derive(ToSchema)]
#[schema(
    min_length = 1,
    max_length = 500,
    pattern = r"[^\s\u0000\u0085\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8]"
)]
pub(super) struct NotForText(#[expect(dead_code, reason = "only its form is used")] String);

/// ID of a channel, as a request gives it.
#[derive(ToSchema)]
#[schema(min_length = 2, max_length = 100, pattern = r"^([CRU]|[a-z0-9]+:)[!-~]+$")]
pub(super) struct ChannelIdInput(#[expect(dead_code, reason = "only its form is used")] String);
