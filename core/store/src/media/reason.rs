//! Reasons for missing files. The column is read by this list alone: earlier versions also recorded
//! texts of errors there, which are for no reader.

use serde::{Deserialize, Serialize};

/// Reason for a file that is skipped, failed or expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaReason {
    /// The quota was used up when it came.
    Quota,
    /// It is larger than `media.max_bytes`.
    TooLarge,
    /// Its address is not one that is downloaded from.
    ForbiddenAddress,
    /// The server that has it refuses to send it.
    Refused,
    /// It was sent too slowly.
    TooSlow,
    /// Its server could not be reached.
    Unreachable,
    /// The download broke off.
    BrokeOff,
    /// The platform did not finish its preparation in time.
    NotReady,
    /// The platform could not prepare it.
    TranscodingFailed,
    /// The platform refused the request.
    PlatformError,
    /// The platform did not respond, or with a server error.
    UnknownOutcome,
    /// It could not be stored: the log of the service and its dead letters say more.
    Unavailable,
    /// The platform no longer has it.
    GoneFromPlatform,
    /// It was stored, and is gone from the media store.
    FileLost,
    /// It was stored, and its content in the media store is another one now.
    FileDamaged,
    /// Its message was imported from an export that has no files.
    NotInExport,
    /// It was imported, and that import was undone.
    ImportUndone,
}

impl MediaReason {
    /// Every reason.
    pub const ALL: [Self; 17] = [
        Self::Quota,
        Self::TooLarge,
        Self::ForbiddenAddress,
        Self::Refused,
        Self::TooSlow,
        Self::Unreachable,
        Self::BrokeOff,
        Self::NotReady,
        Self::TranscodingFailed,
        Self::PlatformError,
        Self::UnknownOutcome,
        Self::Unavailable,
        Self::GoneFromPlatform,
        Self::FileLost,
        Self::FileDamaged,
        Self::NotInExport,
        Self::ImportUndone,
    ];

    /// Name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::TooLarge => "too_large",
            Self::ForbiddenAddress => "forbidden_address",
            Self::Refused => "refused",
            Self::TooSlow => "too_slow",
            Self::Unreachable => "unreachable",
            Self::BrokeOff => "broke_off",
            Self::NotReady => "not_ready",
            Self::TranscodingFailed => "transcoding_failed",
            Self::PlatformError => "platform_error",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Unavailable => "unavailable",
            Self::GoneFromPlatform => "gone_from_platform",
            Self::FileLost => "file_lost",
            Self::FileDamaged => "file_damaged",
            Self::NotInExport => "not_in_export",
            Self::ImportUndone => "import_undone",
        }
    }

    /// Returns the reason that a text is the name of.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Returns the reason of a recorded text, by the names of every version; `Unavailable` for any
    /// other text.
    pub(crate) fn recorded(text: &str) -> Self {
        match text {
            "not in the export" => Self::NotInExport,
            "the import of its file was undone" => Self::ImportUndone,
            name => Self::parse(name).unwrap_or(Self::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_text_that_is_no_reason_is_never_told() {
        for reason in MediaReason::ALL {
            assert_eq!(MediaReason::recorded(reason.name()), reason);
        }
        assert_eq!(MediaReason::recorded("not in the export"), MediaReason::NotInExport);
        for text in ["", "the database failed: connection to 10.0.0.7 refused", "Quota"] {
            assert_eq!(MediaReason::recorded(text), MediaReason::Unavailable, "{text}");
        }
    }
}
