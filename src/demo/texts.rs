//! Texts of the page in the visitor's language, from the catalogue.

use std::collections::BTreeMap;

use chatkeep_i18n::{Language, Value};

/// Beginning of the keys of the page's texts.
const PREFIX: &str = "demo-page-";
/// Keys of the page's texts without their beginning, with the variables of each.
const KEYS: &[(&str, &[&str])] = &[
    ("attach", &[]),
    ("bot-answers", &[]),
    ("cancel", &[]),
    ("chat", &[]),
    ("choose-group", &[]),
    ("close", &[]),
    ("connected-again", &[]),
    ("console", &[]),
    ("curl", &[]),
    ("day-unsent", &["name"]),
    ("done-edited", &[]),
    ("done-joined", &[]),
    ("done-left", &[]),
    ("done-mode-set", &[]),
    ("done-nothing-sent", &[]),
    ("done-photo-sent", &[]),
    ("done-place-sent", &[]),
    ("done-plan-set", &[]),
    ("done-redelivered", &[]),
    ("done-sent", &[]),
    ("done-sticker-sent", &[]),
    ("done-unsent", &[]),
    ("earlier", &[]),
    ("earlier-quote", &[]),
    ("edit", &[]),
    ("edited", &["time"]),
    ("editing", &[]),
    ("empty", &[]),
    ("enlarge", &["name"]),
    ("event", &[]),
    ("events", &[]),
    ("events-none", &[]),
    ("events-text", &[]),
    ("everybody-in", &[]),
    ("file", &[]),
    ("inside", &[]),
    ("intro", &[]),
    ("join", &[]),
    ("join-next", &["name"]),
    ("joined-note", &["name"]),
    ("leave", &[]),
    ("left", &[]),
    ("left-note", &["name"]),
    ("location", &[]),
    ("look-as", &[]),
    ("media-erased", &[]),
    ("media-expired", &[]),
    ("media-failed", &[]),
    ("media-pending", &[]),
    ("media-skipped", &[]),
    ("members", &[]),
    ("mention", &[]),
    ("message", &[]),
    ("mode", &[]),
    ("mode-fuzzy", &[]),
    ("mode-fuzzy-means", &[]),
    ("mode-keyword", &[]),
    ("mode-keyword-means", &[]),
    ("mode-semantic", &[]),
    ("mode-semantic-means", &[]),
    ("more", &["name"]),
    ("needs-pro", &[]),
    ("needs-pro-now", &[]),
    ("new-messages", &[]),
    ("newest-json", &[]),
    ("not-answered", &[]),
    ("not-sent", &[]),
    ("not-yet", &[]),
    ("nothing", &[]),
    ("off", &[]),
    ("owner", &["name"]),
    ("owner-stays", &["name"]),
    ("panes", &[]),
    ("photo", &[]),
    ("photo-of", &["name"]),
    ("plan", &[]),
    ("redeliver", &[]),
    ("redeliver-text", &[]),
    ("remove", &[]),
    ("reply", &[]),
    ("replying", &[]),
    ("role-admin", &[]),
    ("role-guest", &[]),
    ("role-member", &[]),
    ("role-owner", &[]),
    ("routes", &[]),
    ("rules", &[]),
    ("scenes", &[]),
    ("send", &[]),
    ("somebody", &[]),
    ("sound", &[]),
    ("status", &["status"]),
    ("sticker", &[]),
    ("sticker-word", &[]),
    ("storage", &[]),
    ("storage-used", &["count", "used", "quota"]),
    ("title", &[]),
    ("try", &[]),
    ("unsend", &[]),
    ("unsent-quote", &[]),
    ("unsent-you", &[]),
    ("video", &[]),
];

/// Returns the page's texts by their keys without their beginning; a variable stands in braces.
pub(super) fn of(language: Language) -> BTreeMap<&'static str, String> {
    let text = |(key, variables): &(&'static str, &[&str])| {
        let places: Vec<_> = variables.iter().map(|name| format!("{{{name}}}")).collect();
        let values: Vec<_> =
            variables.iter().zip(&places).map(|(n, p)| (*n, Value::from(p))).collect();
        (*key, language.format(&format!("{PREFIX}{key}"), &values))
    };
    KEYS.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_the_page_is_in_every_language_and_every_variable_in_its_text() {
        for language in Language::ALL {
            let texts = of(language);
            for (key, variables) in KEYS {
                assert!(language.has(&format!("{PREFIX}{key}")), "{key}");
                for name in *variables {
                    let text = &texts[key];
                    assert!(text.contains(&format!("{{{name}}}")), "{language:?} {key}: {text}");
                }
            }
        }
    }

    #[test]
    fn every_text_of_the_catalogue_is_on_the_page() {
        let catalogue = include_str!("../../core/i18n/locales/en/demo.ftl");
        let script = ["app", "chat", "bubble", "behind", "client"].map(|name| {
            let root = env!("CARGO_MANIFEST_DIR");
            std::fs::read_to_string(format!("{root}/src/demo/page/{name}.js")).unwrap()
        });
        let page = include_str!("../templates/demo/index.html").to_owned() + &script.concat();
        for line in catalogue.lines() {
            let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with(' ')) else {
                continue;
            };
            let key = key.strip_prefix(PREFIX).unwrap();
            assert!(KEYS.iter().any(|(known, _)| *known == key), "{key} is not among the keys");
            let computed = ["done-", "media-", "mode-", "role-"];
            let used = computed.iter().any(|beginning| key.starts_with(beginning))
                || page.contains(&format!("\"{key}\""));
            assert!(used, "nobody shows {key}");
        }
    }
}
