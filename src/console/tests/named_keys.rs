//! Texts whose keys are made of names: whoever adds a name is told of the text that is missing.

use chatkeep_core::plan::Plan;
use chatkeep_core::role::{Role, Scope};
use chatkeep_i18n::Language;
use chatkeep_services::bot_setup::Severity;
use chatkeep_store::{
    DeliveryFailure, DeliveryStatus, GapReason, MediaStatus, OutboxEventKind, TEST_EVENT,
};

/// Returns the keys that pages make of names.
fn made() -> Vec<String> {
    let mut keys = Vec::new();
    let mut add = |before: &str, name: &str, after: &str| {
        let name = name.replace([':', '.'], "-");
        keys.push(format!("{before}{name}{after}"));
    };
    for role in Role::ALL {
        add("role-", role.name(), "");
        add("role-", role.name(), "-hint");
    }
    for scope in Scope::ALL {
        add("scope-", scope.name(), "");
    }
    for plan in Plan::ALL {
        add("plan-", plan.name(), "");
    }
    for reason in GapReason::ALL {
        add("gap-", reason.name(), "");
    }
    for status in MediaStatus::ALL.into_iter().filter(|one| *one != MediaStatus::Stored) {
        add("media-", status.name(), "");
    }
    for status in DeliveryStatus::ALL {
        add("delivery-is-", status.name(), "");
    }
    for failure in DeliveryFailure::ALL {
        add("delivery-failed-", &failure.name().replace('_', "-"), "");
    }
    for kind in OutboxEventKind::ALL.map(OutboxEventKind::name).into_iter().chain([TEST_EVENT]) {
        add("event-", kind, "");
    }
    let all =
        [Severity::Wrong, Severity::Unanswered, Severity::Warning, Severity::Look, Severity::Fine];
    for severity in all {
        add("operator-line-is-", severity.name(), "");
    }
    for number in 1..=12 {
        add("month-", &number.to_string(), "");
    }
    for number in 1..=7 {
        add("weekday-", &number.to_string(), "");
        add("weekday-long-", &number.to_string(), "");
    }
    keys
}

#[test]
fn every_name_of_which_a_key_is_made_has_a_text_in_every_language() {
    for language in Language::ALL {
        for key in made() {
            assert!(language.has(&key), "{language:?} has no text {key}");
        }
    }
}

#[test]
fn texts_of_one_kind_differ_from_each_other() {
    let kinds = [
        "role-",
        "scope-",
        "plan-",
        "gap-",
        "media-",
        "delivery-",
        "event-",
        "operator-line-is-",
        "month-",
        "weekday-",
    ];
    for language in Language::ALL {
        for kind in kinds {
            let keys = made().into_iter().filter(|key| key.starts_with(kind));
            let mut texts: Vec<_> = keys.map(|key| language.text(&key)).collect();
            let all = texts.len();
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len(), all, "{kind} in {language:?}: {texts:?}");
        }
    }
}
