//! Tests of "did you mean": each setting is found again when two of its letters are exchanged.

use super::super::layers::{Layers, variable};
use super::super::{Config, ConfigError, Sources};
use super::{error, load, sources, told};

/// Exchanges the first two letters that differ in the last part of a path.
fn mistyped(key: &str) -> String {
    let mut letters: Vec<char> = key.chars().collect();
    let start = key.rfind('.').map_or(0, |dot| dot + 1);
    let place = (start..letters.len() - 1).find(|at| letters[*at] != letters[at + 1]).unwrap();
    letters.swap(place, place + 1);
    letters.iter().collect()
}

/// Returns the name that a message proposes.
fn proposed(message: &str) -> &str {
    let (_, rest) = message.split_once("(did you mean ").expect(message);
    rest.split_once("?)").expect(message).0
}

#[test]
fn a_mistyped_flag_or_variable_names_the_setting_that_was_meant() {
    for key in Layers::merge(Sources::default()).all().map(|(key, ..)| key) {
        let typo = mistyped(key);
        let unknown = Config::load(sources("", &[], &[(&typo, "x")])).unwrap_err();
        assert_eq!(proposed(&told(&unknown)), key);
        let warnings = load("", &[(&variable(&typo), "x")]).unwrap().warnings;
        assert_eq!(proposed(&warnings[0]), variable(key), "{warnings:?}");
    }
}

#[test]
fn what_nobody_meant_is_not_proposed() {
    for name in ["zzzzzzzzzz", "群組", "a.b.c.d", ".", "line.main.x"] {
        let unknown = Config::load(sources("", &[], &[(name, "x")])).unwrap_err();
        assert_eq!(told(&unknown), format!("--{name}: unknown setting {name}"));
    }
    // A whole section in another place is found by the name of the setting.
    let message = error("[media.workers]\nbatch = 1", &[]);
    assert_eq!(proposed(&message), "workers.batch");
}

#[test]
fn an_error_concerns_the_settings_that_it_may_have_changed() {
    let concerned = |file: &str, setting: &str| load(file, &[]).unwrap_err().concerns(setting);
    for (file, setting, expected) in [
        ("[workers]\nbatch = 0", "workers.batch", true),
        ("[workers]\nbatch = 0", "workers.", true),
        ("[workers]\nbatch = 0", "media.", false),
        ("[workers]\nbtach = 1", "workers.batch", true),
        ("[worker]\nbatch = 1", "workers.batch", true),
        ("nothing_like_it = 1", "data", false),
        ("data =", "workers.batch", true),
    ] {
        assert_eq!(concerned(file, setting), expected, "{file} {setting}");
    }
    assert!(ConfigError::Twice { name: variable("line.access_token") }.concerns("line."));
    assert!(!ConfigError::NotText { name: variable("bus") }.concerns("database"));
    assert!(ConfigError::Incomplete.concerns("anything"));
}
