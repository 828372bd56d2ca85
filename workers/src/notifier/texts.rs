//! Texts of notices about disabled webhook endpoints in the supported languages; English for all
//! others.

use chatkeep_store::{DisabledReason, PendingNotice};

/// Returns the text for an owner who reads `language`, a BCP 47 tag.
pub(super) fn text(webhook: &PendingNotice, language: &str) -> String {
    let host = host(&webhook.url);
    let language = language.split('-').next().unwrap_or_default();
    match webhook.reason {
        DisabledReason::KeyEnded => key_ended(host, language),
        reason => unheard(host, language, reason == DisabledReason::Gone),
    }
}

/// Returns the text for an endpoint whose API key has ended.
fn key_ended(host: &str, language: &str) -> String {
    match language {
        "zh" => format!("建立您的 webhook（{host}）的 API 金鑰已失效，因此已停用。"),
        "ja" => format!("Webhook（{host}）を作成した API キーが失効したため、無効にしました。"),
        "th" => format!("คีย์ API ที่สร้างเว็บฮุค ({host}) หมดอายุหรือถูกลบ จึงถูกปิดใช้งาน"),
        _ => format!(
            "The API key that made your webhook ({host}) has ended, so the webhook was disabled."
        ),
    }
}

/// Returns the text for an endpoint that is gone, or does not respond.
fn unheard(host: &str, language: &str, gone: bool) -> String {
    match (language, gone) {
        ("zh", true) => format!("您的 webhook（{host}）回應已不存在，已停用。"),
        ("zh", false) => format!("您的 webhook（{host}）連續多日無法送達，已停用。"),
        ("ja", true) => format!("Webhook（{host}）は存在しないと応答したため、無効にしました。"),
        ("ja", false) => format!("Webhook（{host}）に何日も送信できないため、無効にしました。"),
        ("th", true) => format!("เว็บฮุค ({host}) แจ้งว่าไม่มีอยู่แล้ว จึงถูกปิดใช้งาน"),
        ("th", false) => format!("เว็บฮุค ({host}) ส่งไม่สำเร็จหลายวัน จึงถูกปิดใช้งาน"),
        (_, true) => format!("Your webhook ({host}) says that it is gone, so it was disabled."),
        (_, false) => {
            format!("Your webhook ({host}) could not be reached for days, so it was disabled.")
        }
    }
}

/// Returns only the host: the rest of an address may hold a secret.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chatkeep_core::time::Timestamp;

    #[test]
    fn an_owner_learns_which_and_why_but_no_secret() {
        let mut webhook = PendingNotice {
            id: "wh_1".into(),
            user: "U1".into(),
            url: "https://example.org/hook?key=hidden".to_owned(),
            reason: DisabledReason::Failing,
            at: Timestamp::from_millis(0),
            chat: None,
        };
        let told = text(&webhook, "fr");
        assert!(told.contains("(example.org)") && told.contains("for days"), "{told}");
        assert!(!told.contains("hidden"));
        webhook.reason = DisabledReason::Gone;
        assert!(text(&webhook, "zh-TW").contains("（example.org）"));
        assert_ne!(text(&webhook, "ja"), text(&webhook, "th"));
        webhook.reason = DisabledReason::KeyEnded;
        for language in ["en", "zh", "ja", "th"] {
            let told = text(&webhook, language);
            assert!(told.contains("API") && told.contains("example.org"), "{told}");
            assert!(!told.contains("hidden"));
        }
    }
}
