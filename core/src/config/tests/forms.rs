//! Tests of the forms in which a setting may be written, in a file and in a variable.

use std::time::Duration;

use super::super::BlobsKind;
use super::{error, load};
use crate::id::MAX_ID;

#[test]
fn all_forms_of_toml_mean_the_same() {
    for file in [
        "[workers]\nbatch = 1234",
        "workers.batch = 1234",
        "workers = { batch = 1234 }",
        "[workers]\nbatch = 1_234 # a comment",
        "[workers]\nbatch = +1234",
        "[workers]\nbatch = 0x4d2",
        "[workers]\nbatch = 0b10011010010",
        "[workers]\r\n\"batch\" = 1234\r\n",
        "\u{feff}[workers]\nbatch = 1234",
    ] {
        assert_eq!(load(file, &[]).unwrap().workers.batch, 1_234, "{file}");
    }
}

#[test]
fn lines_are_counted_however_they_end() {
    let expected = "my.toml, line 3: listen is 5; allowed: a text in quotes";
    for file in ["data = \"x\"\n\nlisten = 5", "data = \"x\"\r\n\r\nlisten = 5\r\n"] {
        assert_eq!(error(file, &[]), expected);
    }
    let long = "data = \"\"\"\na\nb\"\"\"\nlisten = 5";
    assert!(error(long, &[]).starts_with("my.toml, line 4: listen is 5"));
}

#[test]
fn numbers_and_switches_of_a_file_are_no_texts_and_no_fractions() {
    for (file, found) in [
        ("[workers]\nbatch = \"7\"", "workers.batch is \"7\"; allowed: a whole number"),
        ("[workers]\nbatch = 7.0", "workers.batch is 7.0; allowed: a whole number"),
        ("[workers]\nbatch = true", "workers.batch is true; allowed: a whole number"),
        ("[reply]\npush_fallback = 1", "reply.push_fallback is 1; allowed: true or false"),
        ("[reply]\npush_fallback = \"true\"", "reply.push_fallback is \"true\"; allowed: true"),
        ("data = true", "data is true; allowed: a text in quotes"),
        ("data = [\"x\"]", "data is of type array; allowed: a text in quotes"),
        ("data = 2026-01-02", "data is of type datetime; allowed: a text in quotes"),
    ] {
        let error = error(file, &[]);
        assert!(error.contains(found), "{error}");
    }
}

#[test]
fn spaces_around_a_number_or_switch_of_a_variable_do_not_matter() {
    let batch = |text: &str| load("", &[("CHATKEEP_WORKERS_BATCH", text)]);
    for text in ["7", " 7 ", "+7", "007", "7\n"] {
        assert_eq!(batch(text).unwrap().workers.batch, 7, "{text:?}");
    }
    for text in ["", " ", "7.0", "0x7", "1_000", "７", "7 7", "-7", "seven", "1e2"] {
        assert!(batch(text).is_err(), "{text:?}");
    }
    let push = |text: &str| load("", &[("CHATKEEP_REPLY_PUSH_FALLBACK", text)]);
    for (text, expected) in [("true", true), (" false\n", false)] {
        assert_eq!(push(text).unwrap().reply.push_fallback, expected, "{text:?}");
    }
    for text in ["TRUE", "1", "0", "on", "yes", ""] {
        assert!(push(text).is_err(), "{text:?}");
    }
}

#[test]
fn pauses_between_deliveries_are_a_list_of_seconds() {
    let pauses = |text: &str| {
        let config = load("", &[("CHATKEEP_WEBHOOKS_RETRY_SECONDS", text)])?;
        Ok::<_, super::ConfigError>(config.webhooks.retries)
    };
    let most = ["1"; 20].join(",");
    assert_eq!(pauses(" 1 ,604800").unwrap(), [1, 604_800].map(Duration::from_secs));
    assert_eq!(pauses(&most).unwrap().len(), 20);
    let more = format!("{most},1");
    for text in ["", "0", "604801", "1,", ",1", "1,,2", "-1", "1.5", "1;2", "٣", &more] {
        assert!(pauses(text).is_err(), "{text:?}");
    }
}

#[test]
fn origins_are_web_addresses_without_a_path() {
    let origins = |text: &str| {
        let config = load("", &[("CHATKEEP_API_CORS_ORIGINS", text)])?;
        Ok::<_, super::ConfigError>(config.api.cors_origins)
    };
    for text in ["", " ", " , "] {
        assert!(origins(text).unwrap().is_empty(), "{text:?}");
    }
    let two = origins("https://A.example.org/, http://[::1]:8080,").unwrap();
    assert_eq!(two, ["https://a.example.org", "http://[::1]:8080"]);
    for text in [
        "*",
        "null",
        "a.example.org",
        "https://a.example.org/path",
        "https://a.example.org?x",
        "https://me@a.example.org",
        "ftp://a.example.org",
        "https://a.example.org https://b.example.org",
    ] {
        assert!(origins(text).is_err(), "{text}");
    }
}

#[test]
fn operators_are_ids_as_long_as_any_other() {
    let operators = |text: &str| {
        let config = load("", &[("CHATKEEP_CONSOLE_OPERATORS", text)])?;
        let ids = config.console.operators.into_iter().map(crate::id::UserId::into_string);
        Ok::<Vec<_>, super::ConfigError>(ids.collect())
    };
    let longest = "U".repeat(MAX_ID);
    assert_eq!(operators(&format!(" U1,, {longest} ,")).unwrap(), ["U1".to_owned(), longest]);
    assert!(operators("").unwrap().is_empty());
    for text in ["U".repeat(MAX_ID + 1), "U1,U\u{7}2".to_owned(), "\u{fffd}".to_owned()] {
        assert!(operators(&text).is_err(), "{text:?}");
    }
}

#[test]
fn nothing_is_a_place_and_zero_is_never() {
    let snapshot = |file: &str| load(&format!("[snapshot]\n{file}"), &[]).map(|all| all.snapshot);
    let off = snapshot("target = \"\"\nevery_hours = 0\nbefore_migration_days = 0").unwrap();
    assert_eq!((off.target, off.every, off.before_migration), (None, None, None));
    let on = snapshot("target = \"s3://bucket/a/\"\nevery_hours = 1").unwrap();
    let place = BlobsKind::S3 { bucket: "bucket".to_owned(), prefix: "a".to_owned() };
    assert_eq!((on.target, on.every), (Some(place), Some(Duration::from_hours(1))));
    for bad in
        ["target = \"s3://bu\"", "target = \"ftp://x\"", "target = \" \"", "every_hours = -1"]
    {
        assert!(snapshot(bad).is_err(), "{bad}");
    }
}
