//! Tests that every kind of error names its origin, its key, and the allowed values.

use super::super::Config;
use super::{error, load, sources, told};

#[test]
fn errors_name_origin_key_and_what_is_allowed() {
    let cases = [
        ("listen = 5", None, "my.toml, line 1: listen is 5; allowed: a text in quotes"),
        (
            "[workers]\n\nbatch = \"x\"",
            None,
            "my.toml, line 3: workers.batch is \"x\"; allowed: a whole number",
        ),
        (
            "[workers]\nbatch = 100000000000000000000",
            None,
            "my.toml, line 2: workers.batch is 100000000000000000000; allowed: a whole number \
             from -9223372036854775808 to 9223372036854775807",
        ),
        (
            "[workers]\nbatch = [1]",
            None,
            "my.toml, line 2: workers.batch is of type array; allowed: a whole number",
        ),
        (
            "",
            Some(("CHATKEEP_WORKERS_BATCH", "many")),
            "environment CHATKEEP_WORKERS_BATCH: workers.batch is \"many\"; allowed: a whole number",
        ),
        (
            "",
            Some(("CHATKEEP_REPLY_PUSH_FALLBACK", "yes")),
            "environment CHATKEEP_REPLY_PUSH_FALLBACK: reply.push_fallback is \"yes\"; allowed: \
             true or false",
        ),
        (
            "",
            Some(("CHATKEEP_LISTEN", "here")),
            "environment CHATKEEP_LISTEN: listen is \"here\"; allowed: an address and port",
        ),
        (
            "time_zone = \"Taipei\"",
            None,
            "my.toml, line 1: time_zone is \"Taipei\"; allowed: the IANA name of a time zone, such \
             as \"Asia/Taipei\" (did you mean Asia/Taipei?)",
        ),
        (
            "",
            Some(("CHATKEEP_TIME_ZONE", "Asia/Tokio")),
            "environment CHATKEEP_TIME_ZONE: time_zone is \"Asia/Tokio\"; allowed: the IANA name \
             of a time zone, such as \"Asia/Taipei\" (did you mean Asia/Tokyo?)",
        ),
        ("data = \" \"", None, "my.toml, line 1: data is empty; allowed: a text that is not empty"),
        (
            "[log]\nformat = \"xml\"",
            None,
            "my.toml, line 2: log.format is \"xml\"; allowed: \"auto\", \"text\" or \"json\"",
        ),
        (
            "[log]\nfilter = \"inof\"",
            None,
            "my.toml, line 2: log.filter is \"inof\"; allowed: a level",
        ),
        (
            "line = 5",
            None,
            "my.toml, line 1: line is not a section; allowed: settings under [line]",
        ),
        ("data = \"x\"\na = \nb = 1", None, "my.toml, line 2: "),
        ("[line]\n[line]", None, "my.toml, line 2: "),
        ("data = \"a\"\ndata = \"hunter2\"", None, "my.toml, line 2: duplicate key data"),
    ];
    for (file, variable, expected) in cases {
        let found = error(file, variable.as_slice());
        assert!(found.starts_with(expected), "{found}");
    }
    let flag = Config::load(sources("", &[], &[("listen", "x")])).unwrap_err();
    assert!(told(&flag).starts_with("--listen: listen is \"x\"; allowed: "), "{flag}");
}

#[test]
fn unknown_keys_are_errors_that_name_the_likely_one() {
    let cases = [
        (
            "[worker]\nbatch = 1",
            "my.toml, line 2: unknown setting worker.batch (did you mean workers.batch?)",
        ),
        (
            "[line]\nlisten = \"x\"",
            "my.toml, line 2: unknown setting line.listen (did you mean listen?)",
        ),
        (
            "[reply]\nconcurrency = 1",
            "my.toml, line 2: unknown setting reply.concurrency (did you mean \
             workers.concurrency?)",
        ),
        ("\nnothing_like_it = 1", "my.toml, line 2: unknown setting nothing_like_it"),
        ("[wrokers]", "my.toml, line 1: unknown setting wrokers"),
    ];
    for (file, expected) in cases {
        assert_eq!(error(file, &[]), expected);
    }
    assert!(load("[workers]\n[line]", &[]).is_ok(), "an empty section is no mistake");
    let flag = Config::load(sources("", &[], &[("listn", "x")])).unwrap_err();
    assert_eq!(told(&flag), "--listn: unknown setting listn (did you mean listen?)");
}

#[test]
fn a_password_in_a_flag_is_a_warning() {
    let warned = |key, address| {
        let warnings = Config::load(sources("", &[], &[(key, address)])).unwrap().warnings;
        assert!(!format!("{warnings:?}").contains("hunter2"), "{warnings:?}");
        warnings.concat()
    };
    for (key, address) in [
        ("database", "postgres://me:hunter2@db/x"),
        ("database", "postgresql://db/x?user=me&password=hunter2"),
        ("bus", "nats://me:hunter2@a,b"),
        ("bus", "tls://hunter2@a"),
    ] {
        let variable = format!("CHATKEEP_{}_FILE", key.to_uppercase());
        let warning = warned(key, address);
        assert!(warning.starts_with(&format!("--{key} ")) && warning.contains(&variable));
    }
    for (key, address) in [
        ("database", "postgres://me@db/x?sslmode=require"),
        ("database", "sqlite"),
        ("bus", "nats://a:4222,b"),
        ("blobs", "s3://bucket"),
    ] {
        assert_eq!(warned(key, address), "");
    }
    let elsewhere = [("CHATKEEP_DATABASE", "postgres://me:hunter2@db/x")];
    assert!(load("", &elsewhere).unwrap().warnings.is_empty());
}

#[test]
fn settings_without_the_one_that_they_need_are_named() {
    let file = "[login]\nprompt = \"consent\"\nscopes = \"profile\"\n\
                [snapshot]\nkeep = 7\nrecipients = \"\"\nbefore_migration_days = 7\n\
                [s3]\nregion = \"eu\"\n[telemetry]\nsample_ratio = 0.5";
    let unused = load(file, &[("CHATKEEP_S3_PATH_STYLE", "false")]).unwrap().unused;
    assert_eq!(
        unused,
        [
            "my.toml, line 2: login.prompt has no effect without login.issuer",
            "my.toml, line 5: snapshot.keep has no effect without snapshot.target",
            "environment CHATKEEP_S3_PATH_STYLE: s3.path_style has no effect without a bucket \
             (s3://…) in blobs or snapshot.target",
            "my.toml, line 9: s3.region has no effect without a bucket (s3://…) in blobs or \
             snapshot.target",
            "my.toml, line 11: telemetry.sample_ratio has no effect without telemetry.endpoint",
        ]
    );
    let switches = [
        ("CHATKEEP_LOGIN_ISSUER", "https://issuer"),
        ("CHATKEEP_LOGIN_CLIENT_ID", "me"),
        ("CHATKEEP_SNAPSHOT_TARGET", "s3://bucket"),
        ("CHATKEEP_TELEMETRY_ENDPOINT", "http://h"),
    ];
    assert_eq!(load(file, &switches).unwrap().unused, [""; 0]);
    assert_eq!(load("", &[]).unwrap().unused, [""; 0]);
}

#[test]
fn a_mistyped_variable_is_a_warning() {
    let mut given = vec![("CHATKEEP_LISTN", "hunter2"), ("CHATKEEP_CONFIG", "y")];
    // Of other programs, and for MCP clients.
    given.extend([("CHATKEEPER", "z"), ("CHATKEEP_KEY", "ck_x")]);
    let config = load("", &given).unwrap();
    assert_eq!(
        config.warnings,
        ["environment CHATKEEP_LISTN is not a setting and is ignored (did you mean \
          CHATKEEP_LISTEN?)"]
    );
    let config = load("", &[("CHATKEEP_NUT", "x")]).unwrap();
    let ignored = "environment CHATKEEP_NUT is not a setting and is ignored";
    assert_eq!(config.warnings, [ignored], "the prefix makes nothing similar");
    let config = load("", &[("CHATKEEP_LISTEN_FILE", "/x")]).unwrap();
    assert_eq!(config.warnings.len(), 1, "only secrets come from files");
}
