//! The form of the assistant: what it says of present values, what it changes, and its figures.

use chatkeep_core::assistant::{
    AssistantConfig, KeywordMatch, NoMatchScope, QaConfig, QaMode, Strictness,
};
use chatkeep_services::Nullable;

use super::*;

fn settings(config: AssistantConfig) -> AssistantSettings {
    let effective_mode = config.qa.mode;
    AssistantSettings { version: 4, config, effective_mode, semantic: false }
}

/// Returns settings with these switches: all of it, questions, welcome, group rules.
fn switched([enabled, qa, welcome, rules]: [bool; 4]) -> AssistantSettings {
    let mut config = AssistantConfig { enabled, ..AssistantConfig::default() };
    (config.qa.enabled, config.welcome.enabled, config.rules.enabled) = (qa, welcome, rules);
    settings(config)
}

fn with_qa(qa: QaConfig) -> AssistantSettings {
    settings(AssistantConfig { qa, ..AssistantConfig::default() })
}

fn sent(fields: &str) -> OverviewForm {
    serde_html_form::from_str(fields).unwrap()
}

fn all_switches() -> impl Iterator<Item = [bool; 4]> {
    (0_u8..16).map(|bits| [1, 2, 4, 8].map(|bit| bits & bit != 0))
}

#[test]
fn a_form_that_nobody_changed_changes_nothing() {
    for switches in all_switches() {
        let change = OverviewForm::of(&switched(switches)).change();
        let qa = change.qa.unwrap();
        let given = [
            change.enabled,
            qa.enabled,
            change.welcome.unwrap().enabled,
            change.rules.unwrap().enabled,
        ];
        assert_eq!(given, switches.map(Some));
    }
    for mode in QaMode::ALL {
        for keyword_match in KeywordMatch::ALL {
            for (strictness, scope) in Strictness::ALL
                .into_iter()
                .flat_map(|one| [(one, NoMatchScope::Always), (one, NoMatchScope::Addressed)])
            {
                let present = QaConfig {
                    mode,
                    keyword_match,
                    strictness,
                    no_match_scope: scope,
                    cooldown_seconds: 77,
                    ..QaConfig::default()
                };
                let form = OverviewForm::of(&with_qa(present));
                let qa = form.change().qa.unwrap();
                assert_eq!((qa.mode, qa.keyword_match), (Some(mode), Some(keyword_match)));
                assert_eq!((qa.strictness, qa.no_match_scope), (Some(strictness), Some(scope)));
                assert_eq!((qa.cooldown_seconds, form.version), (Some(77), 4));
                assert!(matches!(qa.no_match_reply, Nullable::Unchanged), "it is on another page");
            }
        }
    }
}

#[test]
fn a_form_of_a_browser_has_no_field_for_a_switch_that_is_off() {
    let rest = "version=9&mode=fuzzy&match=contains&scope=addressed&cooldown=60";
    let change = sent(&format!("{rest}&qa=yes&rules=on")).change();
    assert_eq!((change.enabled, change.qa.as_ref().unwrap().enabled), (Some(false), Some(true)));
    assert_eq!(change.welcome.unwrap().enabled, Some(false));
    assert_eq!(change.rules.unwrap().enabled, Some(true));
    assert!(change.link.is_none(), "the page of the texts has that switch");
    // A page of an earlier version has no field for the strictness: it stays.
    let qa = change.qa.unwrap();
    assert_eq!((qa.strictness, qa.mode), (None, Some(QaMode::Fuzzy)));
    for wrong in [
        "version=9&mode=fuzzy&match=contains&scope=addressed",
        "version=9&mode=Fuzzy&match=contains&scope=addressed&cooldown=60",
        "version=9&mode=fuzzy&match=contains&scope=addressed&cooldown=-1",
        "version=9&mode=fuzzy&match=contains&scope=never&cooldown=60",
        "version=&mode=fuzzy&match=contains&scope=always&cooldown=60",
        "",
    ] {
        assert!(serde_html_form::from_str::<OverviewForm>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_switch_tells_its_present_state_only_where_the_form_differs() {
    let present = switched([true, false, true, false]);
    for given in all_switches() {
        let form = OverviewForm::of(&switched(given));
        for language in Language::ALL {
            let shown = switches(&form, &present.config, language);
            assert_eq!(shown.each_ref().map(|one| one.on), given, "what was typed stays");
            let names = shown.each_ref().map(|one| one.name);
            assert_eq!(names, ["enabled", "qa", "welcome", "rules"]);
            let states = shown.map(|one| one.now);
            for (n, (given, present)) in
                given.into_iter().zip([true, false, true, false]).enumerate()
            {
                let key = if present { "overview-on" } else { "overview-off" };
                let state = super::super::words::now(&language.text(key), language);
                assert_eq!(states[n], (given != present).then_some(state));
            }
        }
    }
}

/// Returns the values of a field that are chosen, and those that cannot be.
fn chosen(choices: &Choices) -> (Vec<&str>, Vec<&str>) {
    let values = |of: fn(&choices::Choice) -> bool| {
        let options = choices.options.iter().filter(|option| of(option));
        options.map(|option| option.value.as_str()).collect::<Vec<_>>()
    };
    (values(|option| option.chosen), values(|option| !option.possible))
}

#[test]
fn a_form_may_change_its_fields_while_they_are_as_they_were() {
    let form = OverviewForm::of(&switched([true, false, true, false]));
    let present =
        |version, config: AssistantConfig| AssistantSettings { version, ..settings(config) };
    let unchanged = switched([true, false, true, false]).config;
    let mut other = unchanged.clone();
    other.welcome.message = "Hello".to_owned();
    for config in [unchanged.clone(), other] {
        assert_eq!(form.version_for(&present(9, config)), 9, "its fields are as they were");
    }
    let qa = |qa| AssistantConfig { qa, ..unchanged.clone() };
    for config in [
        switched([false, false, true, false]).config,
        switched([true, true, true, false]).config,
        switched([true, false, false, false]).config,
        switched([true, false, true, true]).config,
        qa(QaConfig { mode: QaMode::Fuzzy, ..unchanged.qa.clone() }),
        qa(QaConfig { keyword_match: KeywordMatch::Contains, ..unchanged.qa.clone() }),
        qa(QaConfig { strictness: Strictness::Eager, ..unchanged.qa.clone() }),
        qa(QaConfig { no_match_scope: NoMatchScope::Addressed, ..unchanged.qa.clone() }),
        qa(QaConfig { cooldown_seconds: 1, ..unchanged.qa.clone() }),
    ] {
        assert_eq!(form.version_for(&present(9, config.clone())), 4, "{config:?}");
        let earlier = OverviewForm { seen: SeenValues::default(), ..form.clone() };
        assert_eq!(earlier.version_for(&present(9, config)), 4, "the page of an earlier version");
    }
}

#[test]
fn a_value_that_is_as_it_was_is_not_told() {
    let language = Language::English;
    let mut form = OverviewForm::of(&with_qa(QaConfig::default()));
    let present = QaConfig { cooldown_seconds: 60, ..QaConfig::default() };
    let settings = with_qa(present);
    (form.mode, form.keyword_match) = (QaMode::Fuzzy, KeywordMatch::Contains);
    (form.strictness, form.scope) = (Some(Strictness::Eager), NoMatchScope::Addressed);
    form.welcome = Some("yes".to_owned());
    let config = &settings.config;
    let chosen_here = [
        modes(&form, &settings, language),
        matches(&form, config, language),
        strictnesses(&form, config, language),
        scopes(&form, config, language),
    ];
    assert!(chosen_here.iter().all(|choices| choices.now.is_none()), "nobody else changed them");
    assert!(switches(&form, config, language).iter().all(|switch| switch.now.is_none()));
    let changed = cooldowns(&form, config, language).now;
    assert!(changed.is_some_and(|now| now.contains("1 minute")), "somebody else changed it");
}

#[test]
fn an_address_carries_all_of_a_form() {
    for switches in all_switches() {
        let mut form = OverviewForm::of(&switched(switches));
        form.strictness = form.strictness.filter(|_| switches[0]);
        let address = form.address("/c/C1/assistant");
        let (page, query) = address.split_once('?').unwrap();
        assert_eq!(page, "/c/C1/assistant");
        let again = OverviewForm::in_query(Some(query)).unwrap();
        assert_eq!(format!("{again:?}"), format!("{form:?}"));
    }
    for query in [None, Some(""), Some("draft="), Some("draft=mode%3Dfuzzy"), Some("mode=fuzzy")] {
        assert!(OverviewForm::in_query(query).is_none(), "{query:?}");
    }
}

#[test]
fn a_mode_beyond_the_plan_can_only_be_kept() {
    let present = |mode, semantic| {
        let kept = with_qa(QaConfig { mode, ..QaConfig::default() });
        AssistantSettings { semantic, ..kept }
    };
    for language in Language::ALL {
        for (settings, impossible) in [
            (present(QaMode::Keyword, false), vec!["semantic"]),
            (present(QaMode::Fuzzy, true), vec![]),
            // Somebody chose it under a larger plan.
            (present(QaMode::Semantic, false), vec![]),
        ] {
            let mut form = OverviewForm::of(&settings);
            let own = modes(&form, &settings, language);
            assert_eq!(chosen(&own), (vec![settings.config.qa.mode.name()], impossible));
            assert_eq!(own.now, None);
            let hint = &own.options.iter().find(|one| one.value == "semantic").unwrap().hint;
            let key =
                if settings.semantic { "qa-mode-semantic-hint" } else { "qa-mode-semantic-pro" };
            assert_eq!(*hint, language.text(key));
            // Somebody else chose the present one since the form was filled.
            (form.mode, form.seen) = (QaMode::Keyword, SeenValues::default());
            let other = modes(&form, &settings, language);
            assert_eq!(chosen(&other).0, ["keyword"]);
            assert_eq!(other.now.is_some(), settings.config.qa.mode != QaMode::Keyword);
        }
    }
}

#[test]
fn each_choice_tells_the_present_value_that_somebody_else_set() {
    let language = Language::English;
    let present = QaConfig {
        keyword_match: KeywordMatch::Exact,
        strictness: Strictness::Careful,
        no_match_scope: NoMatchScope::Addressed,
        ..QaConfig::default()
    };
    let settings = with_qa(present);
    let config = &settings.config;
    let form =
        sent("version=1&mode=keyword&match=contains&strictness=eager&scope=always&cooldown=0");
    for (choices, value, key) in [
        (matches(&form, config, language), "contains", "overview-match-exact"),
        (strictnesses(&form, config, language), "eager", "overview-strictness-careful"),
        (scopes(&form, config, language), "always", "overview-scope-addressed"),
    ] {
        assert_eq!(chosen(&choices), (vec![value], vec![]), "{}", choices.name);
        let told = choices.now.unwrap();
        assert!(told.contains(&language.text(key)), "{told}");
    }
    // Without a strictness, the present one stays and is chosen.
    let form = sent("version=1&mode=keyword&match=exact&scope=addressed&cooldown=0");
    let kept = strictnesses(&form, config, language);
    assert_eq!((chosen(&kept).0, kept.now.is_none()), (vec!["careful"], true));
    assert!(matches(&form, config, language).now.is_none());
    assert!(scopes(&form, config, language).now.is_none());
}

#[test]
fn a_pause_that_no_choice_has_is_a_choice_too() {
    let of = |present: u32, typed: u32| {
        let settings = with_qa(QaConfig { cooldown_seconds: present, ..QaConfig::default() });
        let mut form = OverviewForm::of(&settings);
        (form.cooldown, form.seen) = (typed, SeenValues::default());
        let shown = cooldowns(&form, &settings.config, Language::English);
        let values: Vec<u32> =
            shown.options.iter().map(|option| option.value.parse().unwrap()).collect();
        assert!(values.is_sorted_by(|one, next| one < next), "each once: {values:?}");
        assert_eq!(chosen(&shown).0, [typed.to_string()]);
        (values.len(), shown.now)
    };
    assert_eq!(of(0, 0), (8, None));
    assert_eq!(of(86_400, 86_400), (8, None));
    assert_eq!(of(45, 45), (9, None));
    let (count, now) = of(45, 90_000);
    assert_eq!(count, 10);
    assert!(now.unwrap().contains("45 seconds"));
}

#[test]
fn figures_lead_to_their_pages_and_an_unknown_one_is_a_dash() {
    let figures = |unanswered| AssistantFigures {
        rules: 3,
        answers: 1_234,
        not_given: Vec::new(),
        unanswered,
    };
    for language in Language::ALL {
        let shown = cards(&figures(None), "/c/C1", language);
        let links: Vec<_> = shown.iter().map(|card| card.href.as_str()).collect();
        let expected = ["rules", "rules?sort=hits", "unanswered"];
        assert_eq!(links, expected.map(|page| format!("/c/C1/assistant/{page}")));
        let numbers: Vec<_> = shown.iter().map(|card| card.number.as_str()).collect();
        assert_eq!(numbers, ["3", "1,234", "–"]);
        assert_eq!(cards(&figures(Some(0)), "/c/C1", language)[2].number, "0", "none is known");
    }
}

#[test]
fn replies_that_were_not_given_are_summed_up() {
    use ReplyFailureReason::{ExpiredToken, Interrupted, PlatformError, Quota, Unavailable};
    for language in Language::ALL {
        assert!(not_given(&[], language).is_none());
        assert!(not_given(&[(Quota, 0)], language).is_none());
        let counts = [
            (ExpiredToken, 1_000),
            (Quota, 200),
            (Unavailable, 30),
            (PlatformError, 4),
            (Interrupted, 1),
        ];
        let told = not_given(&counts, language).unwrap();
        assert!(told.heading.contains("1,235"), "{}", told.heading);
        let different: std::collections::HashSet<_> = told.reasons.iter().collect();
        assert_eq!(different.len(), counts.len());
        for (reason, number) in told.reasons.iter().zip(["1,000", "200", "30", "4", "1"]) {
            assert!(reason.contains(number), "{reason}");
        }
    }
}
