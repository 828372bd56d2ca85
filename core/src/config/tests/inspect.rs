//! Tests of the inspection: every value with its origin, every problem at once, no secret.

use super::super::{Config, Inspection, SettingValue};
use super::{sources, told};

fn inspect(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Inspection {
    Config::inspect(sources(file, environment, flags))
}

/// Returns value and origin of a setting.
fn setting<'a>(inspection: &'a Inspection, key: &str) -> (&'a SettingValue, &'a str) {
    let found = inspection.settings.iter().find(|setting| setting.key == key).unwrap();
    (&found.value, &found.origin)
}

#[test]
fn every_setting_has_its_value_and_its_origin() {
    let environment = [("CHATKEEP_REPLY_PUSH_FALLBACK", "true")];
    let flags = [("listen", "127.0.0.1:1")];
    let found = inspect("[workers]\n\nbatch = 7\n", &environment, &flags);
    assert!(found.problems.is_empty() && found.warnings.is_empty());
    for (key, value, origin) in [
        ("workers.batch", SettingValue::Number(7), "my.toml, line 3"),
        ("workers.concurrency", SettingValue::Number(16), "the defaults"),
        (
            "reply.push_fallback",
            SettingValue::Switch(true),
            "environment CHATKEEP_REPLY_PUSH_FALLBACK",
        ),
        ("listen", SettingValue::Text("127.0.0.1:1".to_owned()), "--listen"),
        ("line.access_token", SettingValue::Text(String::new()), "the defaults"),
        ("database", SettingValue::Text("sqlite".to_owned()), "the defaults"),
    ] {
        assert_eq!(setting(&found, key), (&value, origin), "{key}");
    }
}

#[test]
fn bots_are_listed_by_name() {
    let found = inspect("[[line]]\nname = \"shop\"\naccess_token = \"hunter2\"", &[], &[]);
    assert_eq!(
        setting(&found, "line.shop.access_token"),
        (&SettingValue::Secret, "my.toml, line 3")
    );
    assert_eq!(setting(&found, "line.shop.api_base").1, "the defaults");
    assert!(!found.settings.iter().any(|setting| setting.key == "line.access_token"));
}

#[test]
fn all_problems_are_found_at_once() {
    let file = "listen = 5\n[worker]\nbatch = 1\n[workers]\nbatch = 0\nconcurrency = 9999\n\
                [[line]]\nname = \"Shop\"\n[[line]]\nname = \"help\"\napi_base = \"x\"";
    let environment =
        [("CHATKEEP_LOGIN_ISSUER", "https://id.example.org"), ("CHATKEEP_WROKERS", "1")];
    let found = inspect(file, &environment, &[("listn", "x")]);
    let problems: Vec<_> = found.problems.iter().map(|problem| told(problem)).collect();
    for expected in [
        "my.toml, line 8: name of a [[line]] is \"Shop\"; allowed: ",
        "my.toml, line 1: listen is 5; allowed: a text in quotes",
        "my.toml, line 3: unknown setting worker.batch (did you mean workers.batch?)",
        "--listn: unknown setting listn (did you mean listen?)",
        "my.toml, line 5: workers.batch is 0; allowed: a whole number from 1 to 5000",
        "my.toml, line 6: workers.concurrency is 9999; allowed: a whole number from 1 to 1024",
        "the defaults: login.client_id is empty; allowed: a text that is not empty",
        "my.toml, line 11: line.help.api_base is \"x\"; allowed: an address such as",
    ] {
        let count = problems.iter().filter(|problem| problem.starts_with(expected)).count();
        assert_eq!(count, 1, "{expected}: {problems:#?}");
    }
    assert_eq!(problems.len(), 8, "{problems:#?}");
    assert_eq!(found.warnings.len(), 1);
    let first = told(&Config::load(sources(file, &environment, &[])).unwrap_err());
    assert_eq!(first, problems[0]);
    let broken = inspect("a = \nb = 1", &[("CHATKEEP_WORKERS_BATCH", "x")], &[]);
    assert_eq!(broken.problems.len(), 2, "what is no TOML hides nothing else");
}

#[test]
fn a_number_that_is_too_large_hides_no_other_problem() {
    let file = "[workers]\nbatch = 99999999999999999999\nconcurrency = 9999\n\
                [bus_limits]\nreplicas = 0xfffffffffffffffffff";
    let found = inspect(file, &[], &[]);
    let problems: Vec<_> = found.problems.iter().map(|problem| told(problem)).collect();
    assert_eq!(problems.len(), 3, "{problems:#?}");
    for expected in [
        "line 2: workers.batch is 100000000000000000000; allowed: a whole number from",
        "line 5: bus_limits.replicas is 75557863725914320000000; allowed: a whole number from",
        "line 3: workers.concurrency is 9999",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{problems:#?}");
    }
    let secret = inspect("[line]\naccess_token = 123456789012345678901234", &[], &[]).problems;
    assert_eq!(secret.len(), 1);
    assert!(!told(&secret[0]).contains("1234"), "{}", told(&secret[0]));
}

#[test]
fn no_secret_is_in_an_inspection() {
    let file = "[line]\nchannel_secret = \"hunter2\"\n[login]\nprompt = \"http://a:hunter2@b\"";
    for (database, bus, shown) in [
        ("postgres://me:hunter2@db/x?password=hunter2", "nats://me:hunter2@a,b", 2),
        ("mysql://hunter2", "hunter2", 0),
    ] {
        let environment = [
            ("CHATKEEP_LINE_ACCESS_TOKEN", "hunter2"),
            ("CHATKEEP_DATABASE", database),
            ("CHATKEEP_BUS", bus),
            ("CHATKEEP_LINE_ACCES_TOKEN", "hunter2"),
        ];
        let found = inspect(file, &environment, &[]);
        let json = serde_json::to_string(&found.settings).unwrap();
        assert_eq!(found.warnings.len(), 1);
        let all = format!("{:?} {:?} {:?} {json}", found.settings, found.problems, found.warnings);
        if let Some(config) = &found.config {
            assert!(!config.shown.contains("hunter2"), "{}", config.shown);
        }
        assert!(!all.contains("hunter2"), "{all}");
        assert_eq!(all.matches("://…@").count() / 2, shown + 1, "{all}");
        assert_eq!(setting(&found, "line.access_token").0, &SettingValue::Secret);
    }
}

#[test]
fn operators_are_named_by_their_ids() {
    let named = |text: &str| {
        let config = Config::load(sources("", &[("CHATKEEP_CONSOLE_OPERATORS", text)], &[]));
        config.map(|config| config.console.operators)
    };
    assert!(named("").unwrap().is_empty() && named(" , ").unwrap().is_empty());
    assert_eq!(named("U1, google:5 ,").unwrap(), ["U1".into(), "google:5".into()]);
    assert!(named("U1,\u{7}").is_err());
}
