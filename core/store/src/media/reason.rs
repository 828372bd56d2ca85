//! Reasons for missing files. The column is read by this list alone: earlier versions also recorded
//! texts of errors there, which are for no reader.

use chatkeep_core::named;

/// Reason for a file that is skipped, failed or expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

named! {
    pub MediaReason {
        Quota = "quota",
        TooLarge = "too_large",
        ForbiddenAddress = "forbidden_address",
        Refused = "refused",
        TooSlow = "too_slow",
        Unreachable = "unreachable",
        BrokeOff = "broke_off",
        NotReady = "not_ready",
        TranscodingFailed = "transcoding_failed",
        PlatformError = "platform_error",
        UnknownOutcome = "unknown_outcome",
        Unavailable = "unavailable",
        GoneFromPlatform = "gone_from_platform",
        FileLost = "file_lost",
        FileDamaged = "file_damaged",
        NotInExport = "not_in_export",
        ImportUndone = "import_undone",
    }
}

impl MediaReason {
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
