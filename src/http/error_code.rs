//! Codes of errors, one list of all of them: clients rely on them, so none changes its meaning.

use std::fmt;

use serde::{Serialize, Serializer};

/// Declares the codes with their texts.
macro_rules! codes {
    ($($name:ident = $code:literal,)*) => {
        /// Stable code of an error, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $(#[doc = concat!("`", $code, "`.")] $name,)*
        }

        impl ErrorCode {
            /// All codes, by status.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns its text.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }
        }
    };
}

codes! {
    InvalidRequest = "invalid_request",
    InvalidBody = "invalid_body",
    LoginNotPending = "login_not_pending",
    RulesTooLarge = "rules_too_large",
    TooManyRules = "too_many_rules",
    InvalidApiKey = "invalid_api_key",
    InvalidSignature = "invalid_signature",
    LoginUnconfirmed = "login_unconfirmed",
    NotSignedIn = "not_signed_in",
    Forged = "forged",
    HostNotAllowed = "host_not_allowed",
    InsufficientPermissions = "insufficient_permissions",
    InvalidCsrfToken = "invalid_csrf_token",
    LoginDenied = "login_denied",
    OriginNotAllowed = "origin_not_allowed",
    PermissionDenied = "permission_denied",
    PlanRequired = "plan_required",
    PseudonymousKey = "pseudonymous_key",
    MediaErased = "media_erased",
    MediaExpired = "media_expired",
    MediaFailed = "media_failed",
    MediaMissing = "media_missing",
    MediaPending = "media_pending",
    MediaSkipped = "media_skipped",
    NoPreview = "no_preview",
    NotFound = "not_found",
    UnknownApiVersion = "unknown_api_version",
    MethodNotAllowed = "method_not_allowed",
    NotAcceptable = "not_acceptable",
    RequestTimeout = "request_timeout",
    AnswerNotKept = "answer_not_kept",
    Conflict = "conflict",
    RequestInterrupted = "request_interrupted",
    TooManyKeys = "too_many_keys",
    CursorExpired = "cursor_expired",
    PreconditionFailed = "precondition_failed",
    BodyTooLarge = "body_too_large",
    UriTooLong = "uri_too_long",
    UnsupportedMediaType = "unsupported_media_type",
    RangeNotSatisfiable = "range_not_satisfiable",
    IdempotencyKeyReused = "idempotency_key_reused",
    RateLimited = "rate_limited",
    HeadersTooLarge = "headers_too_large",
    Internal = "internal",
    Unavailable = "unavailable",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use utoipa::PartialSchema as _;

    use super::super::ErrorView;
    use super::*;

    /// Returns the words in backquotes that stand in the first column of the table of errors.
    fn documented() -> BTreeSet<&'static str> {
        let rules = include_str!("../../docs/behaviour.md");
        let (_, errors) = rules.split_once("\n### Errors\n").unwrap();
        let (errors, _) = errors.split_once("\n### ").unwrap();
        let (_, errors) = errors.split_once("\n| --- ").unwrap();
        let code =
            |row: &'static str| row.strip_prefix("| `")?.split_once('`').map(|(code, _)| code);
        errors.lines().filter_map(code).collect()
    }

    #[test]
    fn every_code_is_documented() {
        let all: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.text()).collect();
        assert_eq!(documented(), all);
        let schema = serde_json::to_value(ErrorView::schema()).unwrap();
        let described = schema["properties"]["code"]["description"].as_str().unwrap();
        let named: BTreeSet<_> = described.split('`').skip(1).step_by(2).collect();
        assert_eq!(named, all, "{described}");
    }
}
