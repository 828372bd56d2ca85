//! Texts of usage notices in the supported languages; English for all others.

use chatkeep_core::plan::UsageStatus;
use chatkeep_store::UsageNotice;

/// Returns the text for a user who reads `language`, a BCP 47 tag.
pub(super) fn text(notice: &UsageNotice, language: &str) -> String {
    let percentage = notice.usage.percentage().floor();
    let quota = size(notice.usage.quota);
    let resumed = notice.last_notified == UsageStatus::Exceeded;
    match language.split('-').next().unwrap_or_default() {
        "zh" => chinese(notice.status, resumed, percentage, &quota),
        "ja" => japanese(notice.status, resumed, percentage, &quota),
        "th" => thai(notice.status, resumed, percentage, &quota),
        _ => english(notice.status, resumed, percentage, &quota),
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

fn english(status: UsageStatus, resumed: bool, percentage: f64, quota: &str) -> String {
    let used = format!("Your backup uses {percentage}% of {quota}.");
    match status {
        UsageStatus::Exceeded => format!(
            "Your backup is full ({quota}). New messages are not kept for you until you raise \
             your plan, cancel a subscription or delete old backups; then it resumes by itself."
        ),
        UsageStatus::Critical | UsageStatus::Warning if !resumed => {
            format!("{used} When it is full, new messages are no longer kept.")
        }
        _ if resumed => format!("{used} New messages are kept again."),
        _ => format!("{used} There is room again."),
    }
}

fn chinese(status: UsageStatus, resumed: bool, percentage: f64, quota: &str) -> String {
    let used = format!("您的備份已使用 {quota} 的 {percentage}%。");
    match status {
        UsageStatus::Exceeded => format!(
            "您的備份空間（{quota}）已滿，新訊息暫停備份。升級方案、取消訂閱或刪除舊備份後，\
             會自動恢復備份。"
        ),
        UsageStatus::Critical | UsageStatus::Warning if !resumed => {
            format!("{used}空間用完後，新訊息將不再備份。")
        }
        _ if resumed => format!("{used}新訊息已恢復備份。"),
        _ => format!("{used}空間已經足夠。"),
    }
}

fn japanese(status: UsageStatus, resumed: bool, percentage: f64, quota: &str) -> String {
    let used = format!("バックアップは{quota}のうち{percentage}%を使用しています。");
    match status {
        UsageStatus::Exceeded => format!(
            "バックアップの容量（{quota}）がいっぱいになり、新しいメッセージの保存を停止しています。\
             プランの変更、購読の解除、古いバックアップの削除を行うと自動的に再開します。"
        ),
        UsageStatus::Critical | UsageStatus::Warning if !resumed => {
            format!("{used}いっぱいになると、新しいメッセージは保存されません。")
        }
        _ if resumed => format!("{used}新しいメッセージの保存を再開しました。"),
        _ => format!("{used}空き容量が増えました。"),
    }
}

fn thai(status: UsageStatus, resumed: bool, percentage: f64, quota: &str) -> String {
    let used = format!("ข้อมูลสำรองของคุณใช้ไป {percentage}% จาก {quota}");
    match status {
        UsageStatus::Exceeded => format!(
            "พื้นที่สำรองข้อมูลของคุณ ({quota}) เต็มแล้ว ข้อความใหม่จะไม่ถูกเก็บ \
             จนกว่าคุณจะอัปเกรดแพ็กเกจ ยกเลิกการติดตาม หรือลบข้อมูลสำรองเก่า แล้วระบบจะเก็บต่อโดยอัตโนมัติ"
        ),
        UsageStatus::Critical | UsageStatus::Warning if !resumed => {
            format!("{used} เมื่อเต็มแล้วข้อความใหม่จะไม่ถูกเก็บ")
        }
        _ if resumed => format!("{used} ระบบเก็บข้อความใหม่ต่อแล้ว"),
        _ => format!("{used} มีพื้นที่ว่างแล้ว"),
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
        assert!(text(&full, "en").starts_with("Your backup is full (500 MB)."));
        assert!(text(&full, "zh-TW").contains("（500 MB）已滿"));
        let most = notice(48_318_382_080, Plan::Standard, UsageStatus::Ok);
        assert_eq!(
            text(&most, "xx"),
            "Your backup uses 90% of 50 GB. When it is full, new messages are no longer kept."
        );
        let again = notice(500_000_000, Plan::Free, UsageStatus::Exceeded);
        assert!(text(&again, "").ends_with("95% of 500 MB. New messages are kept again."));
        let room = notice(1, Plan::Pro, UsageStatus::Warning);
        assert_eq!(
            text(&room, "ja"),
            "バックアップは500 GBのうち0%を使用しています。空き容量が増えました。"
        );
    }
}
