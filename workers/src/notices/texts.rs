//! Texts of usage notices in the supported languages; English for all others.

use chatkeep_core::plan::UsageStatus;
use chatkeep_i18n::{Language, Value};
use chatkeep_store::UsageNotice;

/// Returns the text for a user who reads `language`, a BCP 47 tag.
pub(super) fn text(notice: &UsageNotice, language: &str) -> String {
    let percentage = notice.usage.percentage().floor().to_string();
    let quota = size(notice.usage.quota);
    let resumed = notice.last_notified == UsageStatus::Exceeded;
    let language = Language::from_tag(language).unwrap_or_default();
    let quota = ("quota", Value::from(&quota));
    let both = [quota, ("percentage", Value::from(&percentage))];
    match notice.status {
        UsageStatus::Exceeded => language.format("usage-exceeded", &[quota]),
        UsageStatus::Critical | UsageStatus::Warning if !resumed => {
            language.format("usage-filling", &both)
        }
        _ if resumed => language.format("usage-resumed", &both),
        _ => language.format("usage-relieved", &both),
    }
}

/// Formats a quota, which is whole megabytes or gigabytes, of 1,024.
fn size(bytes: i64) -> String {
    let megabytes = bytes / 1_048_576;
    match megabytes % 1_024 {
        0 => format!("{} GB", megabytes / 1_024),
        _ => format!("{megabytes} MB"),
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::plan::{Plan, Usage};
    use chatkeep_core::time::Timestamp;

    use super::*;

    fn notice(used: i64, plan: Plan, last_notified: UsageStatus) -> UsageNotice {
        let usage = Usage::new(used, plan);
        UsageNotice {
            id: 1,
            user: "U1".into(),
            status: usage.status(),
            at: Timestamp::from_millis(0),
            last_notified,
            usage,
            wanted: true,
            chat: None,
        }
    }

    #[test]
    fn a_notice_says_how_full_it_is_and_what_follows() {
        let full = notice(524_288_000, Plan::Free, UsageStatus::Critical);
        assert!(text(&full, "en").starts_with("Your backup storage (500 MB) is full."));
        assert!(text(&full, "zh-TW").contains("（500 MB）已滿"));
        let most = notice(48_318_382_080, Plan::Standard, UsageStatus::Ok);
        assert_eq!(
            text(&most, "xx"),
            "Your backup uses 90% of 50 GB. When it is full, new messages are no longer backed up."
        );
        let again = notice(500_000_000, Plan::Free, UsageStatus::Exceeded);
        assert!(text(&again, "").ends_with("95% of 500 MB. New messages are backed up again."));
        let room = notice(1, Plan::Pro, UsageStatus::Warning);
        assert_eq!(
            text(&room, "ja"),
            "バックアップは500 GBのうち0%を使用しています。空き容量に余裕ができました。"
        );
    }
}
