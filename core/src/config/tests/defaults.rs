//! Tests of the default file: every setting, its comment and its limits.

use toml::Value;

use super::super::layers::{Layers, variable};
use super::super::redact::is_secret;
use super::super::{Config, DEFAULTS, Sources};
use super::{load, told};

/// Returns the comment right above each setting of the default file.
fn comments() -> Vec<(String, String)> {
    let (mut section, mut comment) = (String::new(), String::new());
    let mut found = Vec::new();
    for line in DEFAULTS.lines() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push_str(text);
        } else if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((name, _)) = line.split_once(" = ") {
            found.push((format!("{section}{name}"), std::mem::take(&mut comment)));
        } else {
            comment.clear();
        }
    }
    found
}

#[test]
fn the_default_file_has_these_settings() {
    let shown = format!("{:#?}", Config::load(Sources::default()).unwrap());
    for expected in [
        "listen: 127.0.0.1:8080",
        "time_zone: UTC",
        "data: \"./data\"",
        "database: Database(sqlite)",
        "bus: BusKind(embedded)",
        "\"./data/blobs\"",
        "endpoint: None",
        "region: \"us-east-1\"",
        "access_key_id: None",
        "path_style: true",
        "channel_secret: None",
        "channel_secret_previous: None",
        "media_reserve_bytes: 536870912",
        "ingress_reserve_bytes: 134217728",
        "assistant_bytes: 268435456",
        "index_bytes: 80000000",
        "database_bytes: 33554432",
        "max_head: 65536",
        "max_headers: 100",
        "max_bodies: 268435456",
        "access_token: None",
        "api_base: \"https://api.line.me\"",
        "data_api_base: \"https://api-data.line.me\"",
        "max_connections: 4096",
        "max_per_address: 256",
        "header: 10s",
        "idle: 75s",
        "max_body_bytes: 1048576",
        "rejected_per_minute: 600",
        "base_url: None",
        "per_minute: 120",
        "burst: 60",
        "issuer: None",
        "max_backlog: 2000000",
        "dedupe_window: 600s",
        "replicas: 1",
        "batch: 5000",
        "concurrency: 16",
        "lease: 30s",
        "max_attempts: 8",
        "parallel_each: 4",
        "timeout: 15s",
        "give_up: 432000s",
        "unsubscribed: None",
        "other_events: Some",
        "target: None",
        "every: None",
        "keep: 24",
        "keep_days: 30",
        "recipients: []",
        "push_fallback: false",
        "push_max_age: 600s",
        "deadline: 50s",
        "max_connections: 8",
        "127.0.0.1:9464",
        "format: Auto",
        "filter: \"info\"",
        "sample_ratio: 1.0",
        "trust_incoming: false",
        "drain: 20s",
        "warnings: []",
    ] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
}

#[test]
fn the_default_file_documents_every_setting() {
    let layers = Layers::merge(Sources::default());
    let comments = comments();
    let keys: Vec<&str> = layers.all().map(|(key, ..)| key).collect();
    assert_eq!(keys.len(), comments.len());
    for key in keys {
        let (_, comment) = comments.iter().find(|(name, _)| name == key).unwrap();
        let name = variable(key);
        let words = |name: &String| comment.split([' ', ',', '.']).any(|word| word == name);
        assert!(words(&name), "{key} does not name {name}");
        assert_eq!(words(&format!("{name}_FILE")), is_secret(key), "{key}");
        assert!(comment.len() > name.len() + 20, "{key} is not explained");
    }
}

#[test]
fn every_setting_changes_something() {
    let usual = format!("{:?}", Config::load(Sources::default()).unwrap());
    let layers = Layers::merge(Sources::default());
    for (key, value, _) in layers.all() {
        let other = match (key, value) {
            ("bus_limits.replicas", _) => "3".to_owned(),
            ("database", _) => "postgres://db/x".to_owned(),
            ("bus", _) => "nats://bus".to_owned(),
            ("time_zone", _) => "Asia/Taipei".to_owned(),
            ("log.format", _) => "json".to_owned(),
            ("log.filter", _) => "debug".to_owned(),
            ("webhooks.retry_seconds", _) => "1, 60".to_owned(),
            ("listen" | "metrics.listen", _) => "127.0.0.1:1".to_owned(),
            ("api.cors_origins" | "s3.endpoint" | "telemetry.endpoint", _) => "http://h".to_owned(),
            (_, Value::Float(number)) => (number / 2.0).to_string(),
            // On its own it lacks the client id, which has a test of its own.
            ("login.issuer", _) => continue,
            ("login.bot_prompt", _) => "aggressive".to_owned(),
            (key, _) if key.ends_with("_base") || key.ends_with("_url") => "http://h".to_owned(),
            (_, Value::Integer(number)) => (number - 1).max(2).to_string(),
            (_, Value::Boolean(on)) => (!on).to_string(),
            _ => "other".to_owned(),
        };
        let config = load("", &[(&variable(key), &other)]).unwrap();
        assert_ne!(format!("{config:?}"), usual, "{key} = {other}");
        assert!(config.warnings.is_empty(), "{key}");
    }
}

#[test]
fn numbers_are_bounded_as_their_comments_say() {
    let layers = Layers::merge(Sources::default());
    let mut bounded = 0;
    for (key, comment) in comments() {
        let Some((_, Value::Integer(_), _)) = layers.all().find(|(name, ..)| *name == key) else {
            continue;
        };
        if key == "bus_limits.replicas" {
            continue;
        }
        let (before, after) = comment.rsplit_once(" to ").unwrap();
        let min: i64 = before.rsplit(' ').next().unwrap().parse().unwrap();
        let max: i64 = after.split('.').next().unwrap().parse().unwrap();
        let with = |number: i64| load("", &[(&variable(&key), &number.to_string())]);
        assert!(with(min).is_ok() && with(max).is_ok(), "{key}");
        for outside in [min - 1, max + 1, i64::MIN, i64::MAX] {
            let text = told(&with(outside).unwrap_err());
            let expected =
                format!("{key} is {outside}; allowed: a whole number from {min} to {max}");
            assert!(text.ends_with(&expected), "{text}");
        }
        bounded += 1;
    }
    assert_eq!(bounded, 48);
    for number in ["0", "2", "4", "6"] {
        assert!(load("", &[("CHATKEEP_BUS_LIMITS_REPLICAS", number)]).is_err(), "{number}");
    }
}

#[test]
fn a_ratio_is_from_0_to_1_in_every_source() {
    let ratio = |toml: &str, variables: &[(&str, &str)]| {
        load(toml, variables).map(|config| config.telemetry.sample_ratio)
    };
    for (given, expected) in [("0", 0.0), ("0.25", 0.25), ("1", 1.0)] {
        let file = format!("[telemetry]\nsample_ratio = {given}");
        for read in [ratio(&file, &[]), ratio("", &[("CHATKEEP_TELEMETRY_SAMPLE_RATIO", given)])] {
            assert!((read.unwrap() - expected).abs() < f64::EPSILON, "{given}");
        }
    }
    for outside in ["-0.1", "1.1", "2", "nan", "inf"] {
        let text = told(&ratio("", &[("CHATKEEP_TELEMETRY_SAMPLE_RATIO", outside)]).unwrap_err());
        assert!(text.ends_with("allowed: a number from 0 to 1"), "{text}");
    }
    let text = told(&ratio("", &[("CHATKEEP_TELEMETRY_SAMPLE_RATIO", "half")]).unwrap_err());
    assert!(text.ends_with("allowed: a number"), "{text}");
}
