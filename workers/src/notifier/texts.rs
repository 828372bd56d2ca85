//! Texts of notices about disabled webhook endpoints in the supported languages; English for all
//! others.

use chatkeep_core::http::host_of;
use chatkeep_i18n::Language;
use chatkeep_store::{DisabledReason, PendingNotice};

/// Returns the text for an owner who reads `language`, a BCP 47 tag.
pub(super) fn text(webhook: &PendingNotice, language: &str) -> String {
    let language = Language::from_tag(language).unwrap_or_default();
    let key = match webhook.reason {
        DisabledReason::KeyEnded => "webhook-key-ended",
        DisabledReason::Gone => "webhook-gone",
        DisabledReason::Failing => "webhook-failing",
    };
    let host = host_of(&webhook.url).unwrap_or_default();
    language.format(key, &[("host", (&*host).into())])
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
            url: "https://hidden:hidden@example.org/hook?key=hidden".to_owned(),
            reason: DisabledReason::Failing,
            at: Timestamp::from_millis(0),
            chat: None,
        };
        let sent = text(&webhook, "fr");
        assert!(sent.contains("(example.org)") && sent.contains("for days"), "{sent}");
        assert!(!sent.contains("hidden"));
        webhook.reason = DisabledReason::Gone;
        assert!(text(&webhook, "zh-TW").contains("（example.org）"));
        assert_ne!(text(&webhook, "ja"), text(&webhook, "th"));
        webhook.reason = DisabledReason::KeyEnded;
        for language in ["en", "zh", "ja", "th"] {
            let sent = text(&webhook, language);
            assert!(sent.contains("API") && sent.contains("example.org"), "{sent}");
            assert!(!sent.contains("hidden"));
        }
    }
}
