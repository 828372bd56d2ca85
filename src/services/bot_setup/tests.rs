//! Tests of the texts of findings; the checks themselves are tested against an emulated platform.

use std::collections::BTreeSet;

use chatkeep_i18n::Language;
use chatkeep_platform::RefusalReason;

use super::*;

/// Returns a finding of each kind.
fn all() -> Vec<SetupFinding> {
    use SetupFinding as Is;

    let text = |text: &str| text.to_owned();
    let (setting, ours, bot) = (text("CHATKEEP_X"), text("https://ours"), text("shop"));
    let address = ours.clone();
    let mut all = vec![
        Is::TokenWorks { name: text("Desk") },
        Is::TokenMissing { setting: setting.clone() },
        Is::TokenRefused { setting: setting.clone() },
        Is::TokenExpires { hours: 1, setting: setting.clone() },
        Is::TokenUnverified,
        Is::SecretFits,
        Is::SecretMissing { setting: setting.clone() },
        Is::SecretOther { channel: text("2000000001"), setting: setting.clone() },
        Is::SecretSwapped { bot: bot.clone(), setting: setting.clone() },
        Is::SameChannel { bot: bot.clone() },
        Is::BotAnswers,
        Is::PeopleAnswer,
        Is::ClockRight,
        Is::ClockAhead { seconds: 60 },
        Is::ClockBehind { seconds: 60 },
        Is::NoPublicAddress,
        Is::NotHttps { ours: ours.clone() },
        Is::WebhookWorks { address: address.clone() },
        Is::WebhookSet { address: address.clone() },
        Is::WebhookUnset { ours: ours.clone() },
        Is::WebhookNowhere,
        Is::WebhookElsewhere { found: text("https://found"), ours: ours.clone() },
        Is::WebhookOfOther { bot, ours },
        Is::WebhookOff,
        Is::WebhookUnreachable { address: address.clone(), reason: text("TLS") },
        Is::WebhookUnsigned { address: address.clone(), setting },
        Is::WebhookRefused { address, status: 404 },
        Is::QuotaLeft { used: 1, limit: 200 },
        Is::QuotaNearlyUsed { used: 190, limit: 200 },
        Is::QuotaUnlimited { used: 1 },
        Is::QuotaUsedUp { limit: 200 },
        Is::AskRedelivery,
        Is::AskReplies,
        Is::AskGroups,
    ];
    for subject in [
        Subject::Account,
        Subject::Token,
        Subject::Secret,
        Subject::Webhook,
        Subject::WebhookTest,
        Subject::SettingWebhook,
        Subject::Quota,
    ] {
        all.push(SetupFinding::unanswered(subject, &PlatformError::Unknown(None)));
    }
    for error in [
        PlatformError::Unavailable { retry_after: std::time::Duration::ZERO },
        PlatformError::RateLimited { retry_after: None },
        PlatformError::Unauthorized,
        PlatformError::Refused { status: 403, reason: RefusalReason::default() },
    ] {
        all.push(SetupFinding::unanswered(Subject::Account, &error));
    }
    all
}

#[test]
fn every_finding_has_a_sentence_in_every_language() {
    for language in Language::ALL {
        for finding in all() {
            let told = [Some(finding.sentence(language)), finding.place(language)];
            for text in told.into_iter().flatten() {
                assert!(!text.is_empty() && !text.contains("{ $"), "{finding:?}: {text}");
                assert!(!text.starts_with("line-"), "{language:?} has no text {text}");
            }
        }
    }
    let hours = SetupFinding::TokenExpires { hours: 2, setting: String::new() };
    assert_eq!(hours.sentence(Language::English), "The access token expires in 2 hours.");
}

#[test]
fn what_is_wrong_has_a_place_and_a_code_of_its_own() {
    let codes: BTreeSet<_> = all().iter().map(SetupFinding::code).collect();
    assert_eq!(codes.len(), 35);
    for finding in all() {
        let fine = finding.severity() == Severity::Fine;
        let placeless =
            matches!(finding, SetupFinding::Unanswered { .. } | SetupFinding::TokenUnverified);
        assert_eq!(finding.place(Language::English).is_none(), fine || placeless, "{finding:?}");
    }
}

#[test]
fn every_text_about_a_finding_is_shown() {
    let english = include_str!("../../../core/i18n/locales/en/operator.ftl");
    let source = include_str!("finding.rs");
    for line in english.lines().filter(|line| line.starts_with("line-")) {
        let key = line.split(" =").next().unwrap();
        assert!(source.contains(&format!("\"{key}\"")), "nobody shows {key}");
    }
}

fn bot(name: &str) -> ConfiguredBot {
    ConfiguredBot {
        name: name.to_owned(),
        platform: "line",
        setup: None,
        secret: None,
        token_setting: String::new(),
        secret_setting: String::new(),
    }
}

fn service(names: &[&str], base: Option<&str>) -> BotSetupService {
    let bots = names.iter().map(|name| bot(name)).collect();
    BotSetupService::new(bots, base, &["U1".into()], Arc::new(chatkeep_core::time::SystemClock))
}

#[test]
fn a_single_bot_has_two_addresses_and_each_of_several_one() {
    let base = Some("https://chat.example.org/x");
    let one = service(&["main"], base);
    let addresses =
        ["https://chat.example.org/x/webhook/line", "https://chat.example.org/x/webhook/line/main"];
    assert_eq!(one.addresses(&one.bots[0]), addresses);
    for (address, ours) in [
        (addresses[0], true),
        (addresses[1], true),
        ("https://CHAT.example.org:443/x/webhook/line", true),
        ("https://chat.example.org/x/webhook/line/", false),
        ("https://chat.example.org/webhook/line", false),
        ("not an address", false),
    ] {
        assert_eq!(one.is_address_of(&one.bots[0], address), ours, "{address}");
    }
    let two = service(&["shop", "help"], base);
    assert_eq!(two.addresses(&two.bots[1]), ["https://chat.example.org/x/webhook/line/help"]);
    let unknown = service(&["main"], None);
    assert!(unknown.addresses(&unknown.bots[0]).is_empty());
}

#[test]
fn only_named_people_in_a_session_are_operators() {
    let service = service(&["main"], None);
    let caller = |user: &str, credential: Credential| Caller {
        user: user.into(),
        credential,
        bounds: chatkeep_core::bounds::Bounds::full(),
        mask: chatkeep_view::pseudonyms::Mask::none(),
    };
    let (session, key) = (Credential::Session("s".into()), Credential::Key("k".into()));
    assert!(service.operator(&caller("U1", session.clone())).is_some());
    assert!(service.operator(&caller("U2", session)).is_none());
    assert!(service.operator(&caller("U1", key)).is_none());
}

#[tokio::test]
async fn a_bot_that_is_not_configured_is_an_error() {
    let service = service(&["shop", "help"], None);
    let operator = BotOperator(());
    let error = service.check(&operator, Some("shpo")).await.unwrap_err();
    assert_eq!(error.to_string(), "no bot named \"shpo\" is configured, only shop, help");
    let reports = service.check(&operator, Some("help")).await.unwrap();
    let codes: Vec<_> = reports[0].findings.iter().map(SetupFinding::code).collect();
    assert_eq!((reports[0].bot.as_str(), codes), ("help", vec!["secret-missing", "token-missing"]));
    assert!(service.set_webhooks(&operator, None).await.unwrap().is_empty());
}
